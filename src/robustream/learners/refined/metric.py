"""Whitening: distances of rows from the centre of others, in units of their scatter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robustream.learners.refined.tails import t_weights
from robustream.spaces import Array

__all__ = ["Metric", "core_metric", "fit_metric", "lengths", "radius"]

CORE = 0.55  # share of the rows whose scatter the core has
ROWS_PER_AXIS = 50  # with fewer, rows inside the core would look closer than those outside for no other reason


class Metric(NamedTuple):
    """Whitening of the kept rows: z = (x - center) @ whiten."""

    center: Array
    whiten: Array

    def scores(self, X: Array) -> Array:
        return (X - self.center.astype(X.dtype)) @ self.whiten.astype(X.dtype)


def lengths(scores: Array) -> Array:
    """Squared length of each row."""
    return np.einsum("ij,ij->i", scores, scores)


def radius(scores: Array) -> Array:
    """Cube root of the mean square: nearly normal for normal rows (Wilson and Hilferty)."""
    return np.cbrt(lengths(scores) / max(scores.shape[1], 1))


def fit_metric(U: Array, weights: Array | None = None) -> Metric:
    """Whiten rows in the directions that their number can support."""
    w = np.ones(len(U), U.dtype) if weights is None else weights.astype(U.dtype)
    mean = (w @ U) / w.sum()
    V = U - mean
    if weights is not None:
        V *= np.sqrt(w)[:, None]
    values, vectors = np.linalg.eigh((V.T @ V).astype(np.float64) / len(V))
    if values[0] < 1e-4 * values[-1]:  # in single precision these would be rounding errors
        values, vectors = np.linalg.eigh(V.T.astype(np.float64) @ V / len(V))
    rank = int(np.sum(values > 1e-9 * values[-1]))
    rank = max(min(rank, len(U) // 4), 1)
    order = np.argsort(values)[::-1][:rank]
    return Metric(mean, vectors[:, order] / np.sqrt(np.maximum(values[order], 1e-300)))


def core_metric(U: Array, metric: Metric) -> Metric | None:
    """Whiten the innermost rows, whatever the others do; None where there are too few rows to choose from.

    Weights of a Cauchy law first: rows spread over decades would else rule the scatter and hide in it. Then
    concentration, as in the minimum covariance determinant.
    """
    if len(U) < ROWS_PER_AXIS * metric.whiten.shape[1]:
        return None
    for _ in range(5):
        squared = lengths(metric.scores(U))
        rank = metric.whiten.shape[1]
        metric = fit_metric(U, t_weights(rank * squared / max(float(np.median(squared)), 1e-300), 1.0, rank))
    for _ in range(4):
        squared = lengths(metric.scores(U))
        metric = fit_metric(U[squared <= np.quantile(squared, CORE)])
    return metric
