"""The arithmetic that learners share: centring, robust units, eigenvectors, linear systems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from robustream.learners.calibration import score_sketch
from robustream.learners.cutoffs import principal_cutoffs
from robustream.spaces import Array
from robustream.spaces.covariance import CovariancePoint, whitening
from robustream.spaces.factored import fix_signs
from robustream.spaces.principal import PrincipalPoint, largest_over_cutoffs, noise_variance, principal_distances
from robustream.weights import stand_ins

__all__ = [
    "LeastSquares",
    "covariance_point",
    "least_squares",
    "median_scale",
    "principal_point",
    "principal_point_of_rows",
    "scaled_rows",
]

# 1 / the MAD of the standard normal law: makes the median absolute deviation a standard deviation.
NORMAL_MAD = 1.482602218505602


def require_finite(array: Array) -> None:
    """Raise where sums of squares have overflowed: the values of the batch are too large to be of use."""
    if not np.isfinite(array).all():
        raise ArithmeticError("its values are so large that their products are not finite")


def median_scale(rows: Array, center: Array) -> Array:
    """Give the median absolute deviation of each column, as a standard deviation; never 0.

    A column with more than half of its values equal has MAD 0; the deviations of the values that differ are
    used then, and 1 for a constant column.
    """
    deviations = np.abs(rows - center)
    scale = np.median(deviations, axis=0) * NORMAL_MAD
    for column in np.flatnonzero(scale == 0):
        different = deviations[deviations[:, column] > 0, column]
        scale[column] = np.median(different) * NORMAL_MAD if different.size else 1.0
    return np.asarray(scale)


def principal_point(
    mean: Array, log_scale: Array, covariance: Array, n_components: int, standard: Array, rows: float | None = None
) -> PrincipalPoint:
    """Give the estimate that a covariance matrix amounts to.

    `standard` are ordinary rows, centred and scaled: all, or some of them and their whole number, or weight.
    """
    columns = covariance.shape[0]
    require_finite(covariance)
    values, vectors = linalg.eigh(covariance, subset_by_index=(columns - n_components, columns - 1))
    basis = fix_signs(np.ascontiguousarray(vectors[:, ::-1]))
    eigenvalues, total = values[::-1].copy(), np.asarray(np.trace(covariance))
    square = float(np.sum(np.square(covariance, dtype=np.float64)))
    cutoffs, scores = _calibrated(standard, basis, eigenvalues, float(total), square, rows or len(standard))
    return PrincipalPoint(mean, log_scale, basis, eigenvalues, total, cutoffs, scores=scores)


def principal_point_of_rows(
    mean: Array, log_scale: Array, centered: Array, n_components: int, weights: Array | None = None
) -> PrincipalPoint:
    """Give the estimate from centred rows: by the smaller of the two Gram matrices' decompositions."""
    count, columns = centered.shape
    rows: float = count
    scaled = centered
    if weights is not None:
        rows, scaled, centered = float(weights.sum()), scaled_rows(centered, weights), centered[stand_ins(weights)]
    freedom = max(1, rows - 1)
    if count >= columns:
        return principal_point(mean, log_scale, scaled.T @ scaled / freedom, n_components, centered, rows)
    require_finite(scaled)
    _, singular, transposed = linalg.svd(scaled, full_matrices=count < n_components)
    eigenvalues = np.zeros(n_components, dtype=centered.dtype)
    kept = min(n_components, singular.size)
    eigenvalues[:kept] = singular[:kept] ** 2 / freedom
    basis = fix_signs(np.ascontiguousarray(transposed[:n_components].T))
    total = np.asarray(np.square(singular).sum() / freedom)
    square = float(np.sum(np.square(singular, dtype=np.float64) ** 2)) / freedom**2
    cutoffs, scores = _calibrated(centered, basis, eigenvalues, float(total), square, rows)
    return PrincipalPoint(mean, log_scale, basis, eigenvalues, total, cutoffs, scores=scores)


def scaled_rows(rows: Array, weights: Array) -> Array:
    """Give rows whose plain products are the weighted ones of the rows."""
    return np.asarray(rows * np.sqrt(weights)[:, None], dtype=rows.dtype)


def _calibrated(
    standard: Array, basis: Array, eigenvalues: Array, total: float, square: float, rows: float
) -> tuple[Array, Array]:
    """Return the cut-offs of ordinary rows, and a sketch of their scores, as if each had been held back.

    A row draws the model towards itself by its leverage, and would lie farther out without.
    """
    noise = noise_variance(eigenvalues, total, len(basis))
    distances = principal_distances(standard, basis.T, eigenvalues, noise)
    cutoffs = principal_cutoffs(distances, len(basis), eigenvalues, total, square, rows)
    scores = largest_over_cutoffs(distances, np.exp(cutoffs)) / np.sqrt(1 - _own_share(np.square(distances[1]), rows))
    return cutoffs, score_sketch(scores).astype(basis.dtype)


def _own_share(squares: Array, rows: float) -> Array:
    """Return the share of its squared distance that a row takes off by having a say in mean and covariance.

    Of n rows about (1 + square) / n, to first order: that of the mean, and that of its own outer product.
    """
    return np.clip((1 + squares) / rows, 0.0, 0.5)


def covariance_point(mean: Array, covariance: Array, centered: Array, rows: float) -> CovariancePoint:
    """Give the estimate that a covariance matrix amounts to; `centered` are some of so many ordinary rows."""
    require_finite(covariance)
    white = centered @ whitening(covariance)
    axes = white.shape[1]
    if not axes:  # nothing varies
        return CovariancePoint(mean, covariance, np.zeros(()))
    squares = np.square(white).sum(axis=1, dtype=np.float64)
    distances = np.zeros(len(white)), np.sqrt(squares)
    log_cutoff = principal_cutoffs(distances, axes, np.ones(axes), float(axes), float(axes), rows)[1]
    scores = score_sketch(np.sqrt(squares / (1 - _own_share(squares, rows))) / np.exp(log_cutoff))
    return CovariancePoint(mean, covariance, np.asarray(log_cutoff), scores.astype(covariance.dtype))


class LeastSquares(NamedTuple):
    """Coefficients (outputs x columns) and, on request, (X'X)^-1 X' in the units of the columns."""

    coef: Array
    influence: Array | None
    degrees_of_freedom: float


def least_squares(centered: Array, targets: Array, alpha: float, *, want_influence: bool) -> LeastSquares:
    """Solve min mean |targets - centered coef'|^2 + alpha |coef|^2.

    Columns are brought to unit length first, so that their units do not matter. The normal equations are used
    while they keep at least half of the digits, else a singular value decomposition of the rows, which also
    gives the shortest solution where the columns are collinear or outnumber the rows.
    """
    rows, columns = centered.shape
    length = np.sqrt(np.square(centered).sum(axis=0))
    length = np.where(length > 0, length, 1).astype(centered.dtype)
    unit = centered / length
    # In unit columns the penalty differs from column to column.
    penalty = alpha * rows / np.square(length.astype(np.float64))
    gram = unit.T @ unit
    require_finite(gram)
    values, vectors = linalg.eigh(gram.astype(np.float64) + np.diag(penalty))
    if rows > columns and values[0] > values[-1] * np.sqrt(np.finfo(centered.dtype).eps):
        inverse = (vectors / values) @ vectors.T
        coef = (unit.T @ targets).T @ inverse
        influence = inverse @ unit.T if want_influence else None
        used = float(np.trace(inverse @ gram)) if alpha else float(columns)
    else:
        coef, influence, used = _by_decomposition(unit, targets, penalty, want_influence)
    coef = np.asarray(coef / length, dtype=centered.dtype)
    if influence is not None:
        influence = influence / length[:, None]
    return LeastSquares(coef, influence, used)


def _by_decomposition(
    unit: Array, targets: Array, penalty: Array, want_influence: bool
) -> tuple[Array, Array | None, float]:
    rows = unit.shape[0]
    matrix = unit.astype(np.float64)
    if penalty.any():
        matrix = np.vstack([matrix, np.diag(np.sqrt(penalty))])
    left, singular, right = linalg.svd(matrix, full_matrices=False)
    kept = singular > singular[0] * max(matrix.shape) * np.finfo(unit.dtype).eps if singular.size else singular > 0
    pseudo_inverse = (right[kept].T / singular[kept]) @ left[:rows, kept].T
    coef = (pseudo_inverse @ targets).T
    return coef, pseudo_inverse if want_influence else None, float(np.square(left[:rows, kept]).sum())
