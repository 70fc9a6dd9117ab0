"""The refined learner: what the plain method would give on the clean rows of the batch alone.

Nothing need be said about how many rows are bad, or how. Rows are left out only where there is evidence against them
(`robustream.majority`); an ordinary table, with its long tails, counts, rare flags and bends, gets exactly the plain
answer. What was left out, and why, goes with the estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch, RowGroup
from robustream.kernels.device_arrays import is_device_array, rows_in_place
from robustream.kernels.rows import weighted_moments
from robustream.learners.base import (
    CovarianceLearner,
    Learner,
    LinearProblem,
    PrincipalLearner,
    PrincipalProblem,
    Recipe,
    Solved,
    Together,
)
from robustream.learners.calibration import score_sketch
from robustream.learners.classical import BATCHES_FOR_SPREAD
from robustream.learners.cutoffs import ROWS_FOR_DISTANCES, residual_cutoff
from robustream.learners.moments import (
    covariance_point,
    principal_point,
    principal_point_of_rows,
    require_finite,
    scaled_rows,
)
from robustream.learners.pooled import TOO_LONG, PooledRegression, row_weights
from robustream.learners.together import RowSearch, lines_together, majorities_together
from robustream.learners.uncertainty import direction_variance, fit_rows, residual_quantiles
from robustream.spaces import Array, LinearModels, MomentModels
from robustream.spaces.base import unknown_moments
from robustream.spaces.linear import LinearPoint, invert_moments, residual_distances, solve_moments, without_constants
from robustream.weights import stand_ins

if TYPE_CHECKING:  # its compiled loops are loaded with the first batch
    from robustream.majority import Group, Line, Majority

__all__ = ["Refined", "RefinedCovariance", "RefinedPrincipal", "RefinedRegression"]

Mask: TypeAlias = NDArray[np.bool_]

# Units in the last place of the targets that residuals of an exact fit may have.
_ROUNDING = 16
# Beyond this many columns a batch would need more rows than is practical for a solution of its own.
WIDEST_SOLVED = 500
# Beyond this many columns the scatter matrix itself is too dear, and rows are judged by their length alone.
WIDEST_SCATTER = 2000
# Of more outputs than this the leading directions of their residuals are looked at, since each costs a search.
MOST_TARGETS = 3
# Median residuals of the believed rows that half of those left out must exceed: five deviations of normal noise.
TOO_FAR = 7.4
# Times the median residual of rows with bad cells that filling these in may leave. Of 926 real tables without bad cells
# one is spoiled, 21 without this.
MENDS = 0.7
# Groups, rows and most columns of the jackknife that tells the variance of coefficients where cells are missing.
JACKKNIFE_GROUPS, JACKKNIFE_ROWS, JACKKNIFE_COLUMNS = 10, 2000, 50


@dataclass(frozen=True)
class Refined(Recipe):
    """Evidence against rows first, then the plain method on the rest.

    Parameters
    ----------
    keep_groups : bool, default=False
        Whether rows that stand apart are taken for honest: they are told, none is left out, and the answer is the plain
        one.
    """

    name: ClassVar[str] = "refined"
    keep_groups: bool = False
    uses_gaps: ClassVar[bool] = True

    def pca(self, problem: PrincipalProblem) -> Learner:
        return RefinedPrincipal(problem, self.keep_groups)

    def regression(self, problem: LinearProblem) -> Learner:
        return RefinedRegression(problem, self.keep_groups)

    def covariance(self) -> Learner:
        return RefinedCovariance(self.keep_groups)


class Believed(NamedTuple):
    """What the rows of a batch that no evidence speaks against amount to."""

    mean: Array
    covariance: Array  # as float64
    some: Array  # ordinary rows, enough of them to tell their distances
    times: Array | None  # how often each of these counts; None where each counts once
    number: int  # ordinary rows in all
    rows: float  # what these count for together
    left_out: Mapping[str, float]
    cells: int
    groups: tuple[RowGroup, ...]
    unknown: Mask  # columns without a single cell

    @property
    def told(self) -> Array:
        """Ordinary rows that count once each."""
        return self.some if self.times is None else self.some[stand_ins(self.times)]

    @classmethod
    def of(cls, batch: Batch, keep_groups: bool = False, fit: Majority | None = None) -> Believed:
        """Return it for rows of which a scatter matrix is not too dear; `fit` is their majority, where it is known."""
        from robustream.majority import conditional, covariance_with_gaps, majority, moments

        rows, gaps = _rows_with_gaps(batch.X)
        if fit is None:
            fit = majority(rows, times=batch.weights)
        whole = rows if gaps is None else conditional(rows.astype(float), gaps, fit.center, fit.scatter)
        told = _told(batch, fit.groups, [whole])
        if keep_groups:
            every = np.ones_like(fit.weights) if batch.weights is None else batch.weights
            if gaps is None:
                center, scatter = moments(rows.astype(float), every)
            else:
                center, scatter = covariance_with_gaps(rows.astype(float), gaps, every)
            fit = fit._replace(center=center, scatter=scatter, weights=every, groups=(), cells=gaps)
        require_finite(fit.scatter)
        require_finite(np.square(fit.center))
        total = float(fit.weights.sum())
        believed = np.flatnonzero(_believed(fit.groups, fit.weights))
        if fit.cells is not None and gaps is None:
            clean = believed[~fit.cells[believed].any(axis=1)]
            believed = clean if 2 * len(clean) > len(believed) else believed
        some = believed[:: max(len(believed) // ROWS_FOR_DISTANCES, 1)]
        ordinary, cells = np.asarray(rows[some]), 0 if fit.cells is None else int(fit.cells.sum())
        if fit.cells is not None and gaps is not None:
            # Draws from the conditional laws: distances of rows with gaps are then those of whole rows.
            noise = np.random.default_rng(0).normal(size=ordinary.shape)
            drawn = conditional(ordinary.astype(np.float64), fit.cells[some], fit.center, fit.scatter, noise)
            ordinary, cells = drawn.astype(rows.dtype), cells - int(gaps.sum())
        return cls(
            fit.center.astype(rows.dtype),
            fit.scatter * (total / max(total - 1, 1.0)),
            ordinary,
            None if batch.weights is None else batch.weights[some],
            len(believed),
            len(believed) if batch.weights is None else float(batch.weights[believed].sum()),
            _counted(fit.groups),
            cells,
            told,
            _empty_columns(gaps, rows.shape[1]),
        )


@dataclass(frozen=True)
class RefinedPrincipal(PrincipalLearner):
    """Principal components of the rows, or cells, that no evidence speaks against."""

    judges_rows = takes_weights = caps_weights = searches_together = True
    keep_groups: bool = False

    def minimum_rows(self, n_columns: int) -> int:
        # The moments of all batches are pooled: a batch need only be large enough to be judged as a whole.
        return max(30, 4 * n_columns, 5 * self.problem.n_components)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        if batch.X.shape[1] > WIDEST_SCATTER:
            return self._by_length(_require_whole(np.ascontiguousarray(batch.X), WIDEST_SCATTER), batch.weights)
        return self._sum_up(batch)

    def search_together(self, batches: Sequence[Batch]) -> Together:
        if not _may_be_joined(batches, WIDEST_SCATTER):
            return Together()
        return majorities_together(batches, self._sum_up)

    def _sum_up(self, batch: Batch, fit: Majority | None = None) -> Solved:
        found, dtype = Believed.of(batch, self.keep_groups, fit), batch.X.dtype
        mean, covariance = found.mean, found.covariance
        log_scale, moments, variance = np.zeros_like(mean), None, None
        if batch.X.shape[1] <= WIDEST_SOLVED:
            moments = unknown_moments(covariance.astype(dtype), found.unknown)
        if self.problem.standardize:
            deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
            deviation = np.where(deviation > 0, deviation, 1.0)
            log_scale = np.log(deviation).astype(dtype)
            covariance = covariance / np.outer(deviation, deviation)
        standard = ((found.some - mean) / np.exp(log_scale)).astype(dtype, copy=False)
        told = standard if found.times is None else standard[stand_ins(found.times)]
        point = principal_point(mean, log_scale, covariance.astype(dtype), self.problem.n_components, told, found.rows)
        if moments is not None and batch.index < BATCHES_FOR_SPREAD:
            count, standardized = self.space(batch.X.shape[1], 0).told, self.problem.standardize
            variance = direction_variance(
                standard, covariance, count, found.number, standardized=standardized, times=found.times
            ).astype(dtype)
        return Solved(point._replace(moments=moments, variance=variance), found.left_out, found.cells, found.groups)

    def _by_length(self, rows: Array, weights: Array | None) -> Solved:
        kept, weights = _of_usual_length(rows, weights, self.keep_groups)
        mean = np.average(kept.astype(np.float64), axis=0, weights=weights).astype(rows.dtype)
        centered = kept - mean
        log_scale = np.zeros_like(mean)
        if self.problem.standardize:
            squares = np.square(centered) if weights is None else np.square(scaled_rows(centered, weights))
            deviation = np.sqrt(squares.sum(axis=0) / (len(kept) if weights is None else weights.sum()))
            log_scale = np.log(np.where(deviation > 0, deviation, 1)).astype(rows.dtype)
            centered /= np.exp(log_scale)
        point = principal_point_of_rows(mean, log_scale, centered, self.problem.n_components, weights)
        return Solved(point, {TOO_LONG: float(len(rows) - len(kept))})


@dataclass(frozen=True)
class RefinedCovariance(CovarianceLearner):
    """Mean and covariance of the rows, or cells, that no evidence speaks against."""

    judges_rows = takes_weights = caps_weights = searches_together = True
    keep_groups: bool = False

    def minimum_rows(self, n_columns: int) -> int:
        return max(30, 4 * n_columns)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        if batch.X.shape[1] > WIDEST_SCATTER:
            rows = _require_whole(np.ascontiguousarray(batch.X), WIDEST_SCATTER)
            kept, weights = _of_usual_length(rows, batch.weights, self.keep_groups)
            mean = np.average(kept.astype(np.float64), axis=0, weights=weights).astype(rows.dtype)
            centered = kept - mean
            scaled = centered if weights is None else scaled_rows(centered, weights)
            total = len(kept) if weights is None else float(weights.sum())
            covariance = scaled.T @ scaled / max(total - 1, 1)
            left_out = {TOO_LONG: float(len(rows) - len(kept))}
            told = (centered if weights is None else centered[stand_ins(weights)])[:ROWS_FOR_DISTANCES]
            return Solved(covariance_point(mean, covariance, told, total), left_out)
        return self._sum_up(batch)

    def search_together(self, batches: Sequence[Batch]) -> Together:
        if not _may_be_joined(batches, WIDEST_SCATTER):
            return Together()
        return majorities_together(batches, self._sum_up)

    def _sum_up(self, batch: Batch, fit: Majority | None = None) -> Solved:
        found = Believed.of(batch, self.keep_groups, fit)
        covariance = found.covariance.astype(batch.X.dtype)
        point = covariance_point(found.mean, covariance, found.told - found.mean, found.rows)
        point = point._replace(covariance=unknown_moments(covariance, found.unknown))
        return Solved(point, found.left_out, found.cells, found.groups)


@dataclass(frozen=True)
class RefinedRegression(Learner):
    """Least squares on the rows of the majority's line; pooled moments where the table is wide."""

    judges_rows = takes_weights = caps_weights = searches_together = True
    problem: LinearProblem
    keep_groups: bool = False

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
            _require_whole(batch.X, WIDEST_SOLVED)
            return self._pooled().solve(batch, rng)
        return self._sum_up(batch)

    def search_together(self, batches: Sequence[Batch]) -> Together:
        if not _may_be_joined(batches, WIDEST_SOLVED):
            return Together()
        return lines_together(batches, self._search_joined, self._moments_as_filled, self._sum_up)

    def _search_joined(self, batch: Batch) -> RowSearch:
        """Return what speaks against the rows and cells of batches one after another, and not against batches."""
        return self._search(batch, ordered=False)

    def _search(self, batch: Batch, ordered: bool = True) -> RowSearch:
        """Return what speaks against rows and cells, and against stretches of rows where their order is that given."""
        from robustream.majority import bad_cells, row_states

        assert batch.y is not None
        # One layout in memory, so that rows give the same bits wherever they come from.
        rows, gaps = _rows_with_gaps(batch.X)
        targets = rows_in_place(batch.y.reshape(batch.rows, -1))

        # Rows on a GPU are taken to double precision block by block, in the passes over them.
        exact = rows if is_device_array(rows) else rows.astype(np.float64, copy=False)
        states = row_states(exact)
        missing, noise, times, given = gaps, None, batch.weights, exact
        goals = targets.astype(np.float64, copy=False)
        if gaps is not None:
            targets, goals = np.asarray(targets), np.asarray(goals)
            exact, noise = _fill(exact, goals, gaps, times)
            rows, states = exact.astype(rows.dtype), row_states(exact)
        filled, looked = 0, _row_weights(exact, goals, states, noise, times, ordered)
        bad = bad_cells(given, row_states(given) if gaps is not None else states)
        if bad is not None:  # a bad cell is a missing one
            every, goals = bad if gaps is None else gaps | bad, np.asarray(goals)
            mended, more = _fill(np.asarray(given), goals, every, times)
            other = _row_weights(mended, goals, row_states(mended), more, times, ordered)
            some = np.asarray(bad.any(axis=1))
            if np.any(
                _middle(mended, goals, other[0], some) < MENDS * _middle(np.asarray(exact), goals, looked[0], some)
            ):
                rows, targets, missing, noise = mended.astype(rows.dtype), np.asarray(targets), every, more
                filled, looked = int(bad.sum()), other
        weights, believed, groups, divided = looked
        return RowSearch(rows, targets, gaps, missing, noise, filled, weights, believed, groups, divided)

    def _moments(self, found: RowSearch) -> tuple[float, Array, Array]:
        """Return the sum of the weights, and mean and covariance of the columns and targets of the believed rows."""
        if found.missing is None:
            return _joint_moments(found.rows, found.targets, found.weights, self.problem.fit_intercept)
        counted = np.ones(len(found.rows)) if found.weights is None else found.weights
        parts = found.rows, found.targets, found.missing, counted
        return float(counted.sum()), *_moments_with_gaps(*parts, self.problem.fit_intercept)

    def _moments_as_filled(self, found: RowSearch) -> tuple[float, Array, Array]:
        """Return the same of the rows with their gaps filled: what lines leave of them is as noisy as it looks."""
        return _joint_moments(found.rows, found.targets, found.weights, self.problem.fit_intercept)

    def _sum_up(self, batch: Batch, found: RowSearch | None = None) -> Solved:
        """Return the plain answer of the rows that a search believes."""
        found = found or self._search(batch)
        rows, targets, gaps, missing, noise, filled, weights, believed, groups, _, known = found
        columns, dtype, times = rows.shape[1], rows.dtype, batch.weights
        told = groups
        if self.keep_groups:
            weights, believed, groups, known = None, np.ones_like(believed), (), None
            if filled:  # the plain answer is that of the cells as they were given
                rows, filled, missing, noise = rows_in_place(batch.X), 0, gaps, None
                if gaps is not None:
                    exact, noise = _fill(np.asarray(rows, dtype=np.float64), targets.astype(np.float64), gaps, times)
                    rows = exact.astype(dtype)
        if times is not None:
            weights = times if weights is None else weights * times
        counted = np.ones_like(believed, dtype=float) if weights is None else weights
        told_of = found._replace(rows=rows, targets=targets, missing=missing, weights=weights)
        total, center, moments = known or self._moments(told_of)
        require_finite(moments)
        if batch.rows > 1 and not np.any(np.diag(moments)[:columns] > 0):
            # Its mean would count as much as anyone's, with nothing to judge it by.
            raise ValueError("no column varies, so that nothing can be learned about the coefficients")
        inverse = invert_moments(moments, columns, self.problem.alpha)
        varied = without_constants(moments, center[:columns])
        coef = solve_moments(varied, columns, self.problem.alpha, inverse if varied is moments else None)
        fit = fit_rows(
            rows,
            targets,
            counted,
            center,
            coef,
            inverse,
            intercept=self.problem.fit_intercept,
            want_variance=batch.index < BATCHES_FOR_SPREAD,
            times=times,
        )
        if missing is not None and noise is not None:
            # In units in which all rows have the same noise: gaps add to it.
            residuals = fit.residuals / noise[:, None]
            variance = None
            if batch.index < BATCHES_FOR_SPREAD:
                variance = _variance_with_gaps(rows, targets, missing, counted, center[:columns], self.problem)
            fit = fit._replace(residuals=residuals, squares=counted @ np.square(residuals), variance=variance)
        scale = np.sqrt(fit.squares / max(1.0, total - columns - self.problem.fit_intercept))
        # An exact fit leaves residuals that are rounding, more in one batch and less in another.
        scale = np.maximum(scale, _ROUNDING * np.finfo(dtype).eps * np.sqrt(np.mean(np.square(targets), axis=0)))
        ordinary, leverage = fit.residuals, fit.leverage
        if not believed.all():
            ordinary, leverage = ordinary[believed], leverage[believed]
        if times is not None:
            some = stand_ins(times[believed])
            ordinary, leverage = ordinary[some], leverage[some]
        cutoff = residual_cutoff(ordinary, scale)
        held_back = ordinary / (1 - leverage)[:, None]
        point = LinearPoint(
            coef.astype(dtype),
            center[:columns].astype(dtype),
            center[columns:].astype(dtype),
            np.log(np.maximum(scale, np.finfo(dtype).tiny)).astype(dtype),
            None if fit.variance is None else fit.variance.astype(dtype),
            cutoff,
            unknown_moments(moments.astype(dtype), np.append(_empty_columns(gaps, columns), np.zeros(len(coef), bool))),
            residual_quantiles(ordinary, leverage).astype(dtype),
            score_sketch(residual_distances(held_back, scale) / np.exp(cutoff)).astype(dtype),
        )
        scores = np.abs(fit.residuals) / np.maximum(scale, 1e-300) if told else None
        apart = _told(batch, told, [rows, targets], scores)
        return Solved(point, _counted(groups), filled, apart)

    def _pooled(self) -> PooledRegression:
        return PooledRegression(self.problem, self.keep_groups)


def _of_usual_length(rows: Array, weights: Array | None, every: bool) -> tuple[Array, Array | None]:
    """Return the rows that are neither far too long nor far too short, or every one, and their weights."""
    if every:
        return rows, weights
    kept = row_weights(rows) > 0
    return rows[kept], None if weights is None else weights[kept]


def _require_whole(rows: Array, widest: int) -> Array:
    """Return rows without missing cells, or raise ValueError."""
    if _any_missing(rows):
        raise ValueError(
            f"cells are missing, and gaps of more than {widest} columns ({rows.shape[1]}) cannot be filled by each "
            "other: leave columns out, fill the gaps before, or leave rows with gaps out (robustream.fit with "
            "missing='skip')"
        )
    return rows


def _rows_with_gaps(values: Array) -> tuple[Array, Mask | None]:
    """Return rows one behind the other and which of their cells are missing, None if none is; with gaps on the host."""
    rows: Array = rows_in_place(values)
    if not _any_missing(rows):
        return rows, None
    return np.asarray(rows), np.asarray(np.isnan(rows))


def _any_missing(rows: Array) -> bool:
    if is_device_array(rows):
        return bool(np.isnan(rows).any())
    from robustream.kernels.row_loops import any_missing  # Numba comes with the first batch

    return bool(any_missing(rows))


def _may_be_joined(batches: Sequence[Batch], widest: int) -> bool:
    """Tell whether batches can be searched as one table: on the host, without weights or gaps, and not too wide.

    With gaps the law that fills them is better sought in each batch: bad batches would spoil it for all.

    Copies of a batch count once among batches; in a table of them they would count as often as they come.
    """
    first = {(batch.X[0] + 0.0).tobytes() for batch in batches}  # minus zero is zero
    return (
        batches[0].X.shape[1] <= widest
        and len(first) == len(batches)
        and not any(
            batch.failure or batch.weights is not None or is_device_array(batch.X) or _any_missing(batch.X)
            for batch in batches
        )
    )


def _empty_columns(gaps: Mask | None, columns: int) -> Mask:
    return np.zeros(columns, bool) if gaps is None else np.asarray(gaps.all(axis=0))


def _believed(groups: tuple[Group, ...], like: Array) -> Mask:
    """Mark the rows that are in no group, of as many as `like` has numbers."""
    believed: Mask = np.ones_like(like, dtype=bool)
    for group in groups:
        believed &= ~group.members
    return believed


_Weights: TypeAlias = tuple[Array | None, Mask, tuple["Group", ...], bool]


def _row_weights(
    X: Array, Y: Array, states: NDArray[np.uint64], noise: Array | None, times: Array | None, ordered: bool
) -> _Weights:
    """Return the weights of the rows, shared by all outputs, which rows are believed, and what was left out.

    The weights are None where each is 1. Last, whether there are groups of which none has the majority.
    """
    found = None
    # Rows of a stretch that are left out one by one hide it, and rows that are left out can hide it, too.
    out = _stretches(X, Y, None) if ordered else None
    if out is None:
        found = _weights_of_rows(X, Y, states, noise, times)
        out = _stretches(X, Y, found[1]) if ordered and found[2] else None
    if out is None:
        assert found is not None
        return found
    from robustream.majority import HALF_OF_ROWS, Group

    rest = np.flatnonzero(~out)
    some = [None if part is None else part[rest] for part in (noise, times)]
    weights, believed, groups, divided = _weights_of_rows(X[rest], Y[rest], states[rest], *some)
    if np.count_nonzero(believed) < HALF_OF_ROWS * len(X):  # together with a stretch no part has the majority
        return found or _weights_of_rows(X, Y, states, noise, times)

    def among_all(values: Any) -> Any:
        every = np.zeros_like(values, shape=len(X))
        every[rest] = values
        return every

    apart = ~among_all(np.ones_like(believed))
    told = [group._replace(members=among_all(group.members)) for group in groups]
    told.append(Group(int(out.sum()), float(out.mean()), np.nan, "a stretch of rows contradicts the others", apart))
    weights = np.ones_like(believed, dtype=float) if weights is None else weights
    return among_all(weights), among_all(believed), tuple(told), divided


def _stretches(X: Array, Y: Array, believed: Mask | None) -> Mask | None:
    """Mark the rows of stretches in which a target contradicts the others; None if there are none."""
    from robustream.majority import bad_stretches

    found = [bad_stretches(X, Y[:, output], believed) for output in range(min(Y.shape[1], MOST_TARGETS))]
    marked = [out for out in found if out is not None]
    return np.any(marked, axis=0) if marked else None


def _weights_of_rows(
    X: Array, Y: Array, states: NDArray[np.uint64], noise: Array | None, times: Array | None
) -> _Weights:
    """Return what `_row_weights` does, whatever the order of the rows."""
    if Y.shape[1] > MOST_TARGETS:
        centered = X - X.mean(axis=0)
        coef = np.linalg.lstsq(centered, Y - Y.mean(axis=0), rcond=None)[0]
        residuals = Y - Y.mean(axis=0) - centered @ coef
        # Bad rows show in the directions in which residuals vary most, if they are bad in many targets, and else in
        # the targets whose residuals spread most for their median one.
        middle = np.median(np.abs(residuals - np.median(residuals, axis=0)), axis=0)
        uneven = residuals.std(axis=0) / np.maximum(middle, 1e-9 * np.abs(residuals).max(axis=0) + 1e-300)
        worst = Y[:, np.argsort(-uneven, kind="stable")[:MOST_TARGETS]]
        residuals /= np.maximum(residuals.std(axis=0), 1e-300)
        leading = residuals @ np.linalg.svd(residuals, full_matrices=False)[2][:MOST_TARGETS].T
        Y = np.column_stack([leading, worst])
    lines = [_line(X, rows_in_place(Y[:, output]), states, noise, times) for output in range(Y.shape[1])]
    weights, believed = lines[0].weights, lines[0].believed
    for line in lines[1:]:
        weights, believed = np.minimum(weights, line.weights), believed & line.believed
    divided = any(line.divided for line in lines)
    # Each output may be believed of other rows, and none of all.
    if np.all(weights == 1) or weights.sum() < X.shape[1] + 1:
        return None, np.ones_like(believed), (), divided
    return weights, believed, tuple(group for line in lines for group in line.groups), divided


def _line(X: Array, y: Array, states: NDArray[np.uint64], noise: Array | None, times: Array | None) -> Line:
    """Return the majority's line, where gaps make the noise of some rows larger than that of others.

    In units of their noise rows of another line need not stand apart from the majority: those with many gaps are drawn
    near. So the rows are first looked at as they are, which finds more. That is believed only if the rows that it
    leaves out are too far off for their noise as well: else they may be ordinary ones with gaps in columns that matter.
    The others are looked at in units of their noise.
    """
    from robustream.majority import Line, majority_line

    if noise is None:
        return majority_line(X, y, states=states, times=times)
    line = majority_line(X, y, states=states, times=times)
    believed = line.believed
    if line.groups and not believed.all():
        design = np.column_stack([X, np.ones(len(X))]) / noise[:, None]
        coef = np.linalg.lstsq(design[believed], (y / noise)[believed], rcond=None)[0]
        sizes = np.abs(y / noise - design @ coef)
        if np.median(sizes[~believed]) > TOO_FAR * np.median(sizes[believed]):
            some = [None if part is None else part[believed] for part in (noise, times)]
            rest = majority_line(X[believed], y[believed], states=states[believed], noise=some[0], times=some[1])
            weights = np.zeros(len(y))
            weights[believed] = rest.weights
            return Line(weights, (*line.groups, *(_among(group, believed) for group in rest.groups)), rest.divided)
    return majority_line(X, y, states=states, noise=noise, times=times)


def _among(group: Group, places: Mask) -> Group:
    """Return a group of some of the rows as one of all of them."""
    members = np.zeros(len(places), bool)
    members[places] = group.members
    return group._replace(share=float(members.mean()), members=members)


def _middle(rows: Array, targets: Array, weights: Array | None, some: Mask) -> Array:
    """Return the median residual that weighted least squares leaves of each target of some rows."""
    counted = np.ones(len(rows)) if weights is None else weights
    center, moments = _joint_moments(rows, targets, counted, True)[1:]
    coef = solve_moments(moments, rows.shape[1], 0.0)
    columns = rows.shape[1]
    residuals = (targets - center[columns:] - (rows - center[:columns]) @ coef.T)[some]
    return np.asarray(np.median(np.abs(residuals), axis=0))


def _fill(rows: Array, targets: Array, missing: Mask, times: Array | None) -> tuple[Array, Array]:
    """Return rows with gaps at what their other cells say of them, and how many times the noise of others they have.

    Given x alone, so that the targets can still speak against a row: y less its line then has the noise of the line and
    what the gaps leave open of coef'x. The law of columns and targets is that of their majority.
    """
    from robustream.majority import conditional, majority, open_variance

    columns = rows.shape[1]
    joint = np.concatenate([np.where(missing, np.nan, rows), targets], axis=1)
    law = majority(joint, cells=False, times=times)
    spread = law.scatter[:columns, :columns]
    coef = solve_moments(law.scatter, columns, 0.0)
    left = np.diag(law.scatter)[columns:] - np.einsum("op,po->o", coef, law.scatter[:columns, columns:])
    left = np.maximum(left, 1e-12 * np.diag(law.scatter)[columns:])
    opened = [open_variance(missing, spread, each) / max(float(s), 1e-300) for each, s in zip(coef, left, strict=True)]
    filled = conditional(rows, missing, law.center[:columns], spread, few=columns / max(float(law.weights.sum()), 1.0))
    return filled, np.sqrt(1 + np.mean(opened, axis=0))


def _moments_with_gaps(
    rows: Array, targets: Array, missing: Mask, weights: Array, fit_intercept: bool
) -> tuple[Array, Array]:
    """Return mean and covariance of columns and targets by maximum likelihood (about 0 without intercept)."""
    from robustream.majority import covariance_with_gaps

    joint = np.concatenate([rows, targets], axis=1).astype(np.float64)
    gaps = np.concatenate([missing, np.zeros(targets.shape, bool)], axis=1)
    center, moments = covariance_with_gaps(joint, gaps, weights)
    if fit_intercept:
        return center, moments
    return np.zeros_like(center), moments + np.outer(center, center)


def _variance_with_gaps(
    rows: Array, targets: Array, missing: Mask, weights: Array, x_center: Array, problem: LinearProblem
) -> Array | None:
    """Return the covariance of coefficients and level, as `fit_variance` does, by a jackknife over groups of rows.

    What the gaps cost is mostly what is not known of the law that fills them, which no formula by rows has in it. None
    where so few rows, or so many columns, would make that too coarse or too dear.
    """
    columns = rows.shape[1]
    some = np.flatnonzero(weights > 0)
    some = some[:: max(len(some) // JACKKNIFE_ROWS, 1)]
    if columns > JACKKNIFE_COLUMNS or len(some) < 5 * JACKKNIFE_GROUPS * columns // (JACKKNIFE_GROUPS - 1):
        return None
    group, found = np.arange(len(some)) % JACKKNIFE_GROUPS, []
    for each in range(JACKKNIFE_GROUPS):
        left = some[group != each]
        parts = rows[left], targets[left], missing[left], weights[left]
        center, moments = _moments_with_gaps(*parts, problem.fit_intercept)
        coef = solve_moments(moments, columns, problem.alpha)
        level = center[columns:] + coef @ (x_center - center[:columns])
        found.append(np.column_stack([coef, level * problem.fit_intercept]))
    differences = np.stack(found) - np.mean(found, axis=0)
    share = len(some) / float(np.count_nonzero(weights > 0)) * (JACKKNIFE_GROUPS - 1) / JACKKNIFE_GROUPS
    return np.asarray(np.einsum("goi,goj->oij", differences, differences) * share)


def _joint_moments(X: Array, Y: Array, weights: Array | None, fit_intercept: bool) -> tuple[float, Array, Array]:
    """Return the sum of the weights, the mean of columns and targets, and their covariance (about 0, no intercept)."""
    # From a row: the mean of a column that never changes is exact, and means far from 0 lose no digits.
    some = 0 if weights is None else int(np.argmax(weights))
    near = np.concatenate([X[some], Y[some]]).astype(np.float64)
    shift = near if fit_intercept else np.zeros_like(near)
    total, mean, second = weighted_moments([X, Y], weights, shift, about_mean=fit_intercept)
    return total, mean if fit_intercept else shift, second


# Rows of a group that are named, columns in which it is described, and rows that tell where it lies.
_EXAMPLES, _COLUMNS_TOLD, _ROWS_TOLD = 3, 3, 1000


def _told(
    batch: Batch, groups: tuple[Group, ...], parts: Sequence[Array], scores: Array | None = None
) -> tuple[RowGroup, ...]:
    """Return what people are told of groups: where they lie, how far off, and a few of their rows.

    `parts` are the columns, in arrays side by side. `scores` are residuals in units of their scale: how far off rows of
    a regression are. Of large groups evenly spaced rows tell where they lie.
    """
    if not groups:
        return ()

    def some(places: NDArray[np.intp]) -> Array:
        chosen = places[:: max(len(places) // _ROWS_TOLD, 1)]
        return np.concatenate([np.asarray(part[chosen]) for part in parts], axis=1).astype(np.float64)

    believed = _believed(groups, parts[0][:, 0])
    others = some(np.flatnonzero(believed) if believed.any() else np.arange(batch.rows))
    middle, spread = others.mean(axis=0), others.std(axis=0)
    told: dict[str, RowGroup] = {}
    for group in sorted(groups, key=lambda one: -one.rows):
        members = np.flatnonzero(group.members)
        if group.reason in told or not len(members):
            continue
        mean = some(members).mean(axis=0)
        differs = np.abs(mean - middle) / np.where(spread > 0, spread, np.inf)
        columns = np.argsort(-differs, kind="stable")[:_COLUMNS_TOLD]
        far = float(group.distance)
        if scores is not None:
            far = float(np.median(scores[members].max(axis=1)))
        told[group.reason] = RowGroup(
            group.reason,
            len(members),
            far,
            tuple((int(column), float(mean[column])) for column in columns),
            tuple(batch.place_of(int(row)) for row in members[:_EXAMPLES]),
        )
    return tuple(told.values())


def _counted(groups: tuple[Group, ...]) -> Mapping[str, float]:
    """Return how many rows were left out for each reason; a row that several outputs speak against counts once."""
    counts: Counter[str] = Counter()
    left: Mask | np.bool_ = np.True_
    for group in groups:
        counts[group.reason] += int(np.count_nonzero(group.members & left))
        left = left & ~group.members
    return {reason: float(count) for reason, count in counts.items() if count}
