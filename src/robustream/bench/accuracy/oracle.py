"""The oracle: the plain method on the clean rows alone, and how far an estimate is from the truth.

Where noise or rows have heavy tails, the plain method is maximum likelihood with their law known. Where single cells
are bad, the oracle gets the rows as they were before: a harder measure than the few rows without a bad cell.
"""

from __future__ import annotations

import math

import numpy as np

from robustream.bench.accuracy.contamination import Array, Sample, leading_subspace
from robustream.sources import subspace_error

__all__ = ["least_squares", "oracle_pca", "oracle_regression", "pca_error", "regression_error"]

# Steps of expectation maximization, which the change of the fit stops earlier. The scatter is divided by the sum of
# the weights, not by the rows: the same at the maximum, and reached in far fewer steps (Kent, Tyler and Vardi, 1994).
STEPS = 500
SMALL = 1e-9


def oracle_regression(sample: Sample) -> Array:
    """Return the coefficients that the clean rows give."""
    X, y = sample.clean_X, sample.clean_y
    if math.isinf(sample.law):
        return least_squares(X, y)
    # The likelihood can have several maxima: the oracle takes the one at the truth.
    coef, variance = sample.truth, 1.0
    level = float(np.median(y - X @ coef))
    for _ in range(STEPS):
        residuals = y - level - X @ coef
        weights = (sample.law + 1) / (sample.law + residuals**2 / variance)
        variance = float(np.average(residuals**2, weights=weights))
        centers = weights @ np.column_stack([X, y]) / weights.sum()
        before, coef = coef, least_squares(X, y, weights)
        level = float(centers[-1] - centers[:-1] @ coef)
        if np.linalg.norm(X @ (coef - before)) <= SMALL * np.sqrt(len(X)):
            break
    return coef


def least_squares(X: Array, y: Array, weights: Array | None = None) -> Array:
    """Return the coefficients of (weighted) least squares with an intercept, of least norm where not unique."""
    w = np.ones(len(X)) if weights is None else weights
    centered = X - w @ X / w.sum()
    spread = np.sqrt(w @ centered**2 / w.sum())
    units = np.where(spread > 0, spread, 1.0)
    root = np.sqrt(w)
    solution = np.linalg.lstsq(centered / units * root[:, None], (y - w @ y / w.sum()) * root, rcond=1e-10)[0]
    return np.asarray(solution / units)


def oracle_pca(sample: Sample) -> Array:
    """Return the leading subspace that the clean rows give, as columns."""
    X = sample.clean_X
    mean, scatter = X.mean(axis=0), np.cov(X.T)
    for _ in range(STEPS if math.isfinite(sample.law) else 0):
        centered = X - mean
        distances = np.sum(centered * np.linalg.solve(scatter, centered.T).T, axis=1)
        weights = (sample.law + X.shape[1]) / (sample.law + distances)
        mean = weights @ X / weights.sum()
        before, scatter = scatter, np.cov(X.T, aweights=weights, ddof=0)
        if np.linalg.norm(scatter - before) <= SMALL * np.linalg.norm(scatter):
            break
    return leading_subspace(scatter, sample.components, standardize=sample.standardize)


def regression_error(sample: Sample, coef: Array) -> float:
    """Return the root mean square of the difference in prediction, but for a constant, on the oracle's rows.

    It is ||S^(1/2) (coef - truth)|| with the covariance S of these rows: columns of all scales count alike, and
    directions in which the rows do not vary do not count.
    """
    centered = sample.clean_X - sample.clean_X.mean(axis=0)
    return float(np.sqrt(np.mean(np.square(centered @ (np.asarray(coef) - sample.truth)))))


def pca_error(sample: Sample, basis: Array) -> float:
    """Return the distance of a basis (as columns) from the true subspace, in the paper's metric."""
    return subspace_error(basis, sample.truth)
