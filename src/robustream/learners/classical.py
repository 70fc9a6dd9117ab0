"""The plain methods: sample principal components and least squares. Best on clean rows, at the mercy of dirty ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robustream.batch import Batch
from robustream.kernels.device_arrays import host_array
from robustream.learners.base import (
    CovarianceLearner,
    Learner,
    LinearProblem,
    PrincipalLearner,
    PrincipalProblem,
    Recipe,
    Solved,
)
from robustream.learners.calibration import score_sketch
from robustream.learners.cutoffs import residual_cutoff
from robustream.learners.moments import covariance_point, least_squares, principal_point_of_rows, scaled_rows
from robustream.learners.uncertainty import LARGEST_VARIANCE, residual_quantiles
from robustream.spaces import Array, LinearModels
from robustream.spaces.linear import LinearPoint, residual_distances
from robustream.weights import stand_ins

__all__ = ["Classical", "ClassicalCovariance", "ClassicalPCA", "ClassicalRegression"]

# With this many batches or more, standard errors come from their spread and not from within the batches.
BATCHES_FOR_SPREAD = 8


@dataclass(frozen=True)
class Classical(Recipe):
    """The plain method on each batch."""

    name: ClassVar[str] = "classical"

    def pca(self, problem: PrincipalProblem) -> Learner:
        return ClassicalPCA(problem)

    def regression(self, problem: LinearProblem) -> Learner:
        return ClassicalRegression(problem)

    def covariance(self) -> Learner:
        return ClassicalCovariance()


@dataclass(frozen=True)
class ClassicalPCA(PrincipalLearner):
    """Mean and leading eigenvectors of the sample covariance matrix."""

    takes_weights = True

    def minimum_rows(self, n_columns: int) -> int:
        return max(20, 2 * n_columns, 5 * self.problem.n_components)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        mean, weights = _mean(batch.X, batch.weights), batch.weights
        centered = batch.X - mean
        log_scale = np.zeros_like(mean)
        if self.problem.standardize:
            scaled = centered if weights is None else scaled_rows(centered, weights)
            deviation = np.sqrt(np.square(scaled).sum(axis=0) / max(1, _total(batch) - 1))
            log_scale = np.log(np.where(deviation > 0, deviation, 1)).astype(mean.dtype)
            centered /= np.exp(log_scale)
        return Solved(principal_point_of_rows(mean, log_scale, centered, self.problem.n_components, weights))


@dataclass(frozen=True)
class ClassicalCovariance(CovarianceLearner):
    """Mean and sample covariance matrix."""

    takes_weights = True

    def minimum_rows(self, n_columns: int) -> int:
        return max(20, 2 * n_columns)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        mean, weights = _mean(batch.X, batch.weights), batch.weights
        centered = batch.X - mean
        scaled = centered if weights is None else scaled_rows(centered, weights)
        covariance = scaled.T @ scaled / max(1, _total(batch) - 1)
        ordinary = centered if weights is None else centered[stand_ins(weights)]
        return Solved(covariance_point(mean, covariance, ordinary, _total(batch)))


@dataclass(frozen=True)
class ClassicalRegression(Learner):
    """Least squares, or ridge regression with a penalty on the mean squared error."""

    takes_weights = True
    problem: LinearProblem

    def space(self, n_columns: int, n_outputs: int) -> LinearModels:
        return LinearModels(n_columns, n_outputs)

    def required_rows(self, n_columns: int) -> int:
        return 2 if self.problem.fit_intercept else 1

    def minimum_rows(self, n_columns: int) -> int:
        return max(20, 5 * n_columns)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        assert batch.y is not None
        rows, columns = batch.X.shape
        targets = batch.y.reshape(rows, -1)
        x_center, y_center = np.zeros(columns, batch.X.dtype), np.zeros(targets.shape[1], batch.X.dtype)
        if self.problem.fit_intercept:
            x_center, y_center = _mean(batch.X, batch.weights), _mean(targets, batch.weights)
        centered, targets = batch.X - x_center, targets - y_center
        want_influence = batch.index < BATCHES_FOR_SPREAD
        shares: Array | None = None
        if batch.weights is None:
            fit = least_squares(centered, targets, self.problem.alpha, want_influence=want_influence)
        else:
            # Rows times the root of their weight: their plain products are the weighted ones.
            root, total, shares = np.sqrt(batch.weights)[:, None], _total(batch), batch.weights / _total(batch)
            scaled = [np.asarray(part * root, dtype=part.dtype) for part in (centered, targets)]
            alpha = self.problem.alpha * total / rows
            fit = least_squares(scaled[0], scaled[1], alpha, want_influence=want_influence)
            if fit.influence is not None:
                fit = fit._replace(influence=fit.influence * root.T)
        residuals = targets - centered @ fit.coef.T
        freedom = max(1.0, _total(batch) - fit.degrees_of_freedom - self.problem.fit_intercept)
        squares = np.square(residuals).sum(axis=0) if batch.weights is None else batch.weights @ np.square(residuals)
        scale = np.sqrt(squares / freedom)
        variance, leverage = None, np.full(rows, min(1 / rows, 0.5) if self.problem.fit_intercept else 0.0)
        if shares is not None:
            leverage = np.minimum(shares, 0.5) * self.problem.fit_intercept
        if fit.influence is not None:
            leverage = np.clip(leverage + host_array((centered * fit.influence.T).sum(axis=1)), 0.0, 0.99)
            variance = self._variance(fit.influence, host_array(residuals) / (1 - leverage)[:, None], shares)
        log_scale = np.log(np.maximum(scale, np.finfo(scale.dtype).tiny)).astype(targets.dtype)
        if batch.weights is not None:
            some = stand_ins(batch.weights)
            residuals, leverage = residuals[some], leverage[some]
        cutoff = residual_cutoff(residuals, scale)
        quantiles = residual_quantiles(host_array(residuals), leverage).astype(batch.X.dtype)
        held_back = host_array(residuals) / (1 - leverage)[:, None]
        scores = score_sketch(residual_distances(held_back, host_array(scale)) / np.exp(cutoff)).astype(batch.X.dtype)
        return Solved(LinearPoint(fit.coef, x_center, y_center, log_scale, variance, cutoff, None, quantiles, scores))

    def _variance(self, influence: Array, residuals: Array, shares: Array | None) -> Array | None:
        """Return the covariance of coefficients and level by the rows' own residuals (see `learners.uncertainty`).

        `shares` are those of the rows in the level, None where they are equal.
        """
        columns, rows = influence.shape
        outputs = residuals.shape[1]
        if outputs * (columns + 1) ** 2 > LARGEST_VARIANCE:
            return None
        found = np.zeros((outputs, columns + 1, columns + 1), influence.dtype)
        for output, square in enumerate(np.square(residuals, dtype=np.float64).T):
            found[output, :-1, :-1] = host_array((influence * square) @ influence.T)
            if self.problem.fit_intercept:
                each = square if shares is None else square * shares * rows
                found[output, -1, :-1] = found[output, :-1, -1] = host_array(influence @ each) / rows
                found[output, -1, -1] = (each.sum() if shares is None else each @ shares * rows) / rows**2
        return found


def _total(batch: Batch) -> float:
    """Give what the rows count for together."""
    return batch.rows if batch.weights is None else float(batch.weights.sum())


def _mean(rows: Array, weights: Array | None) -> Array:
    """Give the column means, summed in double precision."""
    if weights is not None:
        return np.asarray(weights @ rows / weights.sum(), dtype=rows.dtype)
    return np.asarray(rows.mean(axis=0, dtype=np.float64), dtype=rows.dtype)
