"""The refined learner: what the plain method would give on the clean rows of the batch alone.

Nothing need be said about how many rows are bad, or how. Rows are set aside only where there is evidence that they form
a foreign group; an ordinary table, with its heavy tails, counts and rare flags, gets exactly the plain answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.learners.base import Learner, LinearProblem, PrincipalLearner, PrincipalProblem, Recipe
from robustream.learners.classical import BATCHES_FOR_SPREAD
from robustream.learners.cutoffs import ROWS_FOR_DISTANCES, residual_cutoff
from robustream.learners.moments import principal_point, principal_point_of_rows, require_finite
from robustream.learners.pooled import PooledRegression, row_weights
from robustream.learners.refined.groups import EVIDENCE
from robustream.learners.refined.regression import RefinedFit, refined_regression
from robustream.learners.refined.scatter import location_scatter
from robustream.learners.refined.separation import valley
from robustream.spaces import Array, LinearModels, MomentModels, Point
from robustream.spaces.linear import LinearPoint, invert_moments

__all__ = ["Refined", "RefinedPrincipal", "RefinedRegression"]

# Beyond this many columns a batch would need more rows than is practical for a solution of its own.
WIDEST_SOLVED = 500
# Beyond this many columns the scatter matrix itself is too dear, and rows are judged by their length alone.
WIDEST_SCATTER = 2000


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

    def minimum_rows(self, n_columns: int) -> int:
        # A scatter matrix from fewer rows is too poor to tell foreign rows by.
        return max(50, 12 * n_columns, 5 * self.problem.n_components)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Point:
        if batch.X.shape[1] > WIDEST_SCATTER:
            return self._by_length(batch.X)
        fit = location_scatter(batch.X, rng)
        require_finite(fit.scatter)
        dtype = batch.X.dtype
        mean, covariance = fit.center.astype(dtype), fit.scatter
        log_scale = np.zeros_like(mean)
        if self.problem.standardize:
            deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
            deviation = np.where(deviation > 0, deviation, 1.0)
            log_scale = np.log(deviation).astype(dtype)
            covariance = covariance / np.outer(deviation, deviation)
        ordinary = np.flatnonzero(fit.ordinary)
        some = ordinary[:: max(len(ordinary) // ROWS_FOR_DISTANCES, 1)]
        standard = (fit.completed[some] - mean) / np.exp(log_scale)
        standard = standard.astype(dtype, copy=False)
        return principal_point(
            mean, log_scale, covariance.astype(dtype), self.problem.n_components, standard, len(ordinary)
        )

    def _by_length(self, rows: Array) -> Point:
        kept = rows[row_weights(rows) > 0]
        mean = kept.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        centered = kept - mean
        log_scale = np.zeros_like(mean)
        if self.problem.standardize:
            deviation = centered.std(axis=0)
            log_scale = np.log(np.where(deviation > 0, deviation, 1)).astype(rows.dtype)
            centered /= np.exp(log_scale)
        return principal_point_of_rows(mean, log_scale, centered, self.problem.n_components)


@dataclass(frozen=True)
class RefinedRegression(Learner):
    """Least squares on the rows that fit, found from a robust start; pooled moments where the table is wide."""

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
        # Since the moments of all batches are pooled, a batch need only be large enough to tell its bad rows, and
        # the fewer calls are joined, the fewer good ones are spoiled by bad ones.
        return max(50, min(15 * n_columns, max(1000, 5 * n_columns)))

    def solve(self, batch: Batch, rng: np.random.Generator) -> Point:
        assert batch.y is not None
        if batch.X.shape[1] > WIDEST_SOLVED:
            return self._pooled().solve(batch, rng)
        targets = batch.y.reshape(batch.rows, -1)
        fit = refined_regression(batch.X, targets, rng, self.problem.fit_intercept, self.problem.alpha)
        require_finite(fit.moments)
        columns, dtype = batch.X.shape[1], batch.X.dtype
        if batch.rows > 1 and not np.any(np.diag(fit.moments)[:columns] > 0):
            # Its mean would count as much as anyone's, with nothing to judge it by.
            raise ValueError("no column varies, so that nothing can be learned about the coefficients")
        cutoff = residual_cutoff(fit.residuals[_ordinary(fit)], fit.scale)
        variance = None
        if batch.index < BATCHES_FOR_SPREAD:
            variance = _sandwich(batch.X - fit.center[:columns], fit).astype(dtype)
        return LinearPoint(
            fit.coef.astype(dtype),
            fit.center[:columns].astype(dtype),
            fit.center[columns:].astype(dtype),
            np.log(np.maximum(fit.scale, np.finfo(dtype).tiny)).astype(dtype),
            variance,
            cutoff,
            fit.moments.astype(dtype),
        )

    def _pooled(self) -> PooledRegression:
        return PooledRegression(self.problem)


def _ordinary(fit: RefinedFit) -> NDArray[np.bool_]:
    """Mark the ordinary rows: all in use where their residuals have long tails but no second hill."""
    used = fit.row_weights > 0
    if fit.residuals.shape[1] == 1 and valley(fit.residuals[used, 0]).strength < EVIDENCE:
        return used
    return fit.row_weights > 0.5


def _sandwich(centered: Array, fit: RefinedFit) -> Array:
    """Give the variance of each coefficient (outputs x columns) of a weighted fit, by its own residuals."""
    total = float(fit.row_weights.sum())
    bread = invert_moments(fit.moments, centered.shape[1], 0.0) / total
    influence = bread @ (centered * fit.row_weights[:, None]).T
    freedom = max(1.0, total - centered.shape[1] - 1)
    return (np.square(influence) @ np.square(fit.residuals)).T * (total / freedom)
