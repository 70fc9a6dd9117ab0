"""The refined learner: what the plain method would give on the clean rows of the batch alone.

Nothing need be said about how many rows are bad, or how. Rows are left out only where there is evidence against them
(`robustream.majority`); an ordinary table, with its long tails, counts, rare flags and bends, gets exactly the plain
answer. What was left out, and why, goes with the estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.learners.base import Learner, LinearProblem, PrincipalLearner, PrincipalProblem, Recipe, Solved
from robustream.learners.classical import BATCHES_FOR_SPREAD
from robustream.learners.cutoffs import ROWS_FOR_DISTANCES, residual_cutoff
from robustream.learners.moments import principal_point, principal_point_of_rows, require_finite
from robustream.learners.pooled import TOO_LONG, PooledRegression, row_weights
from robustream.spaces import Array, LinearModels, MomentModels
from robustream.spaces.linear import LinearPoint, invert_moments, solve_moments, without_constants

if TYPE_CHECKING:  # its compiled loops are loaded with the first batch
    from robustream.majority import Group

__all__ = ["Refined", "RefinedPrincipal", "RefinedRegression"]

Mask: TypeAlias = NDArray[np.bool_]

# Beyond this many columns a batch would need more rows than is practical for a solution of its own.
WIDEST_SOLVED = 500
# Beyond this many columns the scatter matrix itself is too dear, and rows are judged by their length alone.
WIDEST_SCATTER = 2000
# Of more outputs than this the leading directions of their residuals are looked at, since each costs a search.
MOST_TARGETS = 3


@dataclass(frozen=True)
class Refined(Recipe):
    """Evidence against rows first, then the plain method on the rest."""

    name: ClassVar[str] = "refined"

    def pca(self, problem: PrincipalProblem) -> Learner:
        return RefinedPrincipal(problem)

    def regression(self, problem: LinearProblem) -> Learner:
        return RefinedRegression(problem)


@dataclass(frozen=True)
class RefinedPrincipal(PrincipalLearner):
    """Principal components of the rows, or cells, that no evidence speaks against."""

    judges_rows = True

    def minimum_rows(self, n_columns: int) -> int:
        # The moments of all batches are pooled: a batch need only be large enough to be judged as a whole.
        return max(30, 4 * n_columns, 5 * self.problem.n_components)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        rows = np.ascontiguousarray(batch.X)
        if rows.shape[1] > WIDEST_SCATTER:
            return self._by_length(rows)
        from robustream.majority import majority

        fit = majority(rows)
        require_finite(fit.scatter)
        require_finite(np.square(fit.center))
        dtype = rows.dtype
        total = float(fit.weights.sum())
        mean, covariance = fit.center.astype(dtype), fit.scatter * (total / max(total - 1, 1.0))
        log_scale, moments = np.zeros_like(mean), None
        if rows.shape[1] <= WIDEST_SOLVED:
            moments = covariance.astype(dtype)
        if self.problem.standardize:
            deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
            deviation = np.where(deviation > 0, deviation, 1.0)
            log_scale = np.log(deviation).astype(dtype)
            covariance = covariance / np.outer(deviation, deviation)
        believed = np.flatnonzero(_believed(fit.groups, len(rows)))
        if fit.cells is not None:
            whole = believed[~fit.cells[believed].any(axis=1)]
            believed = whole if 2 * len(whole) > len(believed) else believed
        some = believed[:: max(len(believed) // ROWS_FOR_DISTANCES, 1)]
        standard = ((rows[some] - mean) / np.exp(log_scale)).astype(dtype, copy=False)
        point = principal_point(
            mean, log_scale, covariance.astype(dtype), self.problem.n_components, standard, len(believed)
        )
        filled = 0 if fit.cells is None else int(fit.cells.sum())
        return Solved(point._replace(moments=moments), _counted(fit.groups, len(rows)), filled)

    def _by_length(self, rows: Array) -> Solved:
        kept = rows[row_weights(rows) > 0]
        mean = kept.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        centered = kept - mean
        log_scale = np.zeros_like(mean)
        if self.problem.standardize:
            deviation = centered.std(axis=0)
            log_scale = np.log(np.where(deviation > 0, deviation, 1)).astype(rows.dtype)
            centered /= np.exp(log_scale)
        point = principal_point_of_rows(mean, log_scale, centered, self.problem.n_components)
        return Solved(point, {TOO_LONG: float(len(rows) - len(kept))})


@dataclass(frozen=True)
class RefinedRegression(Learner):
    """Least squares on the rows of the majority's line; pooled moments where the table is wide."""

    judges_rows = True
    problem: LinearProblem

    def space(self, n_columns: int, n_outputs: int) -> LinearModels | MomentModels:
        if n_columns > WIDEST_SOLVED:
            return self._pooled().space(n_columns, n_outputs)
        return LinearModels(n_columns, n_outputs, self.problem.alpha)

    def required_rows(self, n_columns: int) -> int:
        return 2 if self.problem.fit_intercept else 1

    def minimum_rows(self, n_columns: int) -> int:
        if n_columns > WIDEST_SOLVED:
            return self._pooled().minimum_rows(n_columns)
        # The moments of all batches are pooled: a batch need only be large enough to be judged as a whole, and the
        # fewer calls are joined, the fewer good ones are spoiled by bad ones.
        return max(30, 5 * (n_columns + 1))

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        assert batch.y is not None
        if batch.X.shape[1] > WIDEST_SOLVED:
            return self._pooled().solve(batch, rng)
        # One layout in memory, so that rows give the same bits wherever they come from.
        rows, targets = np.ascontiguousarray(batch.X), np.ascontiguousarray(batch.y).reshape(batch.rows, -1)
        columns, dtype = rows.shape[1], rows.dtype
        from robustream.majority import mend

        mended, filled = mend(rows.astype(np.float64))
        if filled:
            rows = mended.astype(dtype)
        weights, believed, groups = _row_weights(mended, targets.astype(np.float64))
        center, moments = _joint_moments(rows, targets, weights, self.problem.fit_intercept)
        require_finite(moments)
        if batch.rows > 1 and not np.any(np.diag(moments)[:columns] > 0):
            # Its mean would count as much as anyone's, with nothing to judge it by.
            raise ValueError("no column varies, so that nothing can be learned about the coefficients")
        coef = solve_moments(without_constants(moments, center[:columns]), columns, self.problem.alpha)
        centered = rows - center[:columns]
        residuals = (targets - center[columns:]) - centered @ coef.T
        freedom = max(1.0, float(weights.sum()) - columns - self.problem.fit_intercept)
        scale = np.sqrt(weights @ np.square(residuals) / freedom)
        variance = None
        if batch.index < BATCHES_FOR_SPREAD:
            variance = _sandwich(centered, residuals, weights, moments).astype(dtype)
        point = LinearPoint(
            coef.astype(dtype),
            center[:columns].astype(dtype),
            center[columns:].astype(dtype),
            np.log(np.maximum(scale, np.finfo(dtype).tiny)).astype(dtype),
            variance,
            residual_cutoff(residuals[believed], scale),
            moments.astype(dtype),
        )
        return Solved(point, _counted(groups, batch.rows), filled)

    def _pooled(self) -> PooledRegression:
        return PooledRegression(self.problem)


def _believed(groups: tuple[Group, ...], rows: int) -> Mask:
    """Mark the rows that are in no group."""
    return ~np.any([np.zeros(rows, bool), *(group.members for group in groups)], axis=0)


def _row_weights(X: Array, Y: Array) -> tuple[Array, Mask, tuple[Group, ...]]:
    """Return the weights of the rows, shared by all outputs, which rows are believed, and what was left out."""
    from robustream.majority import majority_line

    if Y.shape[1] > MOST_TARGETS:
        centered = X - X.mean(axis=0)
        coef = np.linalg.lstsq(centered, Y - Y.mean(axis=0), rcond=None)[0]
        residuals = Y - Y.mean(axis=0) - centered @ coef
        residuals /= np.maximum(residuals.std(axis=0), 1e-300)
        Y = residuals @ np.linalg.svd(residuals, full_matrices=False)[2][:MOST_TARGETS].T
    lines = [majority_line(X, np.ascontiguousarray(y)) for y in Y.T]
    weights = np.min([line.weights for line in lines], axis=0)
    believed = np.all([line.believed for line in lines], axis=0)
    if weights.sum() < X.shape[1] + 1:  # each output may be believed of other rows, and none of all
        return np.ones(len(X)), np.ones(len(X), bool), ()
    return weights, believed, tuple(group for line in lines for group in line.groups)


def _joint_moments(X: Array, Y: Array, weights: Array, fit_intercept: bool) -> tuple[Array, Array]:
    """Return the weighted mean of columns and targets, and their covariance about it (about 0 without intercept)."""
    joint = np.concatenate([X, Y], axis=1).astype(np.float64)
    total = float(weights.sum())
    plain = bool(np.all(weights == 1))
    center = np.zeros(joint.shape[1])
    if fit_intercept:
        # From the first row: the mean of a column that never changes is exact, and means far from 0 lose no digits.
        center = joint[0].copy()
        joint -= center
        offset = joint.mean(axis=0) if plain else weights @ joint / total
        joint -= offset
        center += offset
    if not plain:
        joint *= np.sqrt(weights)[:, None]
    return center, joint.T @ joint / total


def _sandwich(centered: Array, residuals: Array, weights: Array, moments: Array) -> Array:
    """Return the variance of each coefficient (outputs x columns) of a weighted fit, by its own residuals."""
    total = float(weights.sum())
    bread = invert_moments(moments, centered.shape[1], 0.0) / total
    influence = bread @ (centered * weights[:, None]).T
    freedom = max(1.0, total - centered.shape[1] - 1)
    return (np.square(influence) @ np.square(residuals)).T * (total / freedom)


def _counted(groups: tuple[Group, ...], rows: int) -> Mapping[str, float]:
    """Return how many rows were left out for each reason; a row that several outputs speak against counts once."""
    counts: Counter[str] = Counter()
    left = np.ones(rows, bool)
    for group in groups:
        counts[group.reason] += int(np.count_nonzero(group.members & left))
        left &= ~group.members
    return {reason: float(count) for reason, count in counts.items() if count}
