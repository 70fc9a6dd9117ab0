"""The paper's robust learners for one batch: RC-PCA (Alg. 3) and RoTR (Alg. 5), from trimmed inner products.

Trimming shrinks: with half of the products trimmed on clean data the coefficients are a small fraction of the
true ones. The direction is right; the length is not. RoTR also presumes centred columns of unit variance
without correlation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.kernels.device_arrays import host_array
from robustream.kernels.trimmed import trimmed_covariance, trimmed_cross
from robustream.learners.base import Learner, LinearProblem, PrincipalLearner, PrincipalProblem, Recipe, Solved
from robustream.learners.calibration import score_sketch
from robustream.learners.cutoffs import residual_cutoff
from robustream.learners.moments import NORMAL_MAD, median_scale, principal_point
from robustream.learners.uncertainty import LARGEST_VARIANCE, residual_quantiles
from robustream.spaces import Array, LinearModels
from robustream.spaces.linear import LinearPoint, residual_distances
from robustream.weights import stand_ins

__all__ = ["Trimmed", "TrimmedPrincipal", "TrimmedProducts"]


@dataclass(frozen=True)
class Trimmed(Recipe):
    """RC-PCA and RoTR.

    Parameters
    ----------
    trim : float, default=0.5
        The share of products to trim, in [0, 1); half if the share of outliers is unknown.
    center : bool, default=False
        Whether to centre the columns by their medians; the paper does not.
    scale : bool, default=False
        Whether to bring the columns of a regression to unit scale by their MAD; the paper does not.
    """

    name: ClassVar[str] = "trimmed"

    trim: float = 0.5
    center: bool = False
    scale: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.trim, (int, float, np.floating)) and 0 <= self.trim < 1):
            raise InvalidInputError(f"trim must be a number in [0, 1), got {self.trim!r}")

    def pca(self, problem: PrincipalProblem) -> Learner:
        return TrimmedPrincipal(problem, self.trim, self.center)

    def regression(self, problem: LinearProblem) -> Learner:
        return TrimmedProducts(problem, self.trim, self.center, self.scale)


@dataclass(frozen=True)
class TrimmedPrincipal(PrincipalLearner):
    """RC-PCA: leading eigenvectors of the matrix of trimmed inner products."""

    takes_weights = caps_weights = True
    trim: float
    center: bool

    def minimum_rows(self, n_columns: int) -> int:
        return max(20, 2 * n_columns, 5 * self.problem.n_components)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        rows = _repeated(batch).X
        mean = np.zeros(rows.shape[1], rows.dtype)
        log_scale = np.zeros_like(mean)
        if self.center:
            mean = np.median(rows, axis=0).astype(rows.dtype)
            rows = rows - mean
        if self.problem.standardize:
            scale = median_scale(rows, np.zeros_like(mean)).astype(rows.dtype)
            log_scale = np.log(scale)
            rows = rows / scale
        covariance = trimmed_covariance(rows, self.trim)
        return Solved(principal_point(mean, log_scale, covariance, self.problem.n_components, rows))


@dataclass(frozen=True)
class TrimmedProducts(Learner):
    """RoTR: the coefficient of a column is its trimmed inner product with the target."""

    takes_weights = caps_weights = True
    problem: LinearProblem
    trim: float
    center: bool
    scale: bool

    def space(self, n_columns: int, n_outputs: int) -> LinearModels:
        return LinearModels(n_columns, n_outputs)

    def required_rows(self, n_columns: int) -> int:
        return 2

    def minimum_rows(self, n_columns: int) -> int:
        return max(20, 2 * n_columns)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        number = batch.rows
        batch = _repeated(batch)
        assert batch.y is not None
        rows, targets = batch.X, batch.y.reshape(batch.rows, -1)
        x_center = np.zeros(rows.shape[1], rows.dtype)
        unit = np.ones_like(x_center)
        if self.center:
            x_center = np.median(rows, axis=0).astype(rows.dtype)
            rows = rows - x_center
            # Targets of +1/-1 are left as they are: all columns then trim the same rows for every target.
            if not bool((np.abs(targets) == 1).all()):
                targets = targets - np.median(targets, axis=0).astype(targets.dtype)
        if self.scale:
            unit = median_scale(rows, np.zeros_like(x_center)).astype(rows.dtype)
            rows = rows / unit
        standard_coef = trimmed_cross(rows, targets, self.trim).T / (1.0 + self.problem.alpha)
        coef = np.asarray(standard_coef / unit, dtype=rows.dtype)
        residuals = batch.y.reshape(batch.rows, -1) - (batch.X - x_center) @ coef.T
        y_center = np.zeros(targets.shape[1], rows.dtype)
        if self.problem.fit_intercept:
            y_center = np.median(residuals, axis=0).astype(rows.dtype)
        scale = _spread(residuals - y_center)
        log_scale = np.log(np.maximum(scale, np.finfo(rows.dtype).tiny))
        # A mean of products of a unit column with the target varies as the target does, fitted part included.
        spread = _spread(targets - np.median(targets, axis=0))
        variance = np.square(spread[:, None] / unit) / number
        # That of a median of normal residuals for the level; the columns are taken to be unrelated, as the method does.
        level = np.square(scale) * (np.pi / 2 / number if self.problem.fit_intercept else 0.0)
        each = np.concatenate([variance, level[:, None]], axis=1)
        together = each[:, :, None] * np.eye(each.shape[1]) if each.size * each.shape[1] <= LARGEST_VARIANCE else None
        cutoff = residual_cutoff(residuals - y_center, scale)
        quantiles = residual_quantiles(host_array(residuals - y_center), np.zeros(batch.rows))
        together = None if together is None else together.astype(rows.dtype)
        sizes = residual_distances(host_array(residuals - y_center), host_array(scale)) / np.exp(cutoff)
        scores, quantiles = score_sketch(sizes).astype(rows.dtype), quantiles.astype(rows.dtype)
        return Solved(LinearPoint(coef, x_center, y_center, log_scale, together, cutoff, None, quantiles, scores))


def _repeated(batch: Batch) -> Batch:
    """Give the batch with rows repeated as often as they count: trimming counts rows."""
    if batch.weights is None:
        return batch
    some = stand_ins(batch.weights)
    return batch._replace(X=batch.X[some], y=None if batch.y is None else batch.y[some], weights=None)


def _spread(centered: Array) -> Array:
    return np.asarray(np.median(np.abs(centered), axis=0) * NORMAL_MAD)
