"""What a batch tells of its own uncertainty: the covariance of a fit, and how the rows it believes scatter.

**Covariance of a weighted fit.** Rows z with residuals r and weights w solve sum w z r = 0, and the covariance of the
solution is B S B' with S = sum (w r / (1 - h))^2 z z': each row speaks by its own residual, so that uneven noise is no
problem, and leverages h make up for what a row draws the fit towards itself (MacKinnon and White's HC3). B is the
inverse of the slope of the equation. Where rows have weights of their own, w is the product of both: the variance is
that of rows drawn independently, each of which counts as often as its weight says (the sandwich of survey statistics
and of weighted least squares). It does not change if all weights do by a factor. Where weights are 0 or 1 that is sum w
z z'; where they fall with the residual, as those of a t law or of a posterior do, a shift of the line also changes
them, and the slope is sum psi'(r) z z' with psi(r) = w r (Huber 1967). psi' is read off the rows: the mean weight is a
function of the residual, by bins.

**Variances of principal components.** Each row asks of the covariance matrix that it move towards its own square, and
eigenvectors and eigenvalues follow, to first order (Anderson 1963). How rows differ in that tells the variance of their
mean, whatever the law of the rows: for a normal one it is Anderson's formula, for an elliptical one that with its
kurtosis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import expit

from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.rows import over_rows, row_blocks
from robustream.spaces import Array
from robustream.spaces.linear import parameter_rows
from robustream.spaces.principal import sorted_directions, turning

__all__ = ["LARGEST_VARIANCE", "LEVELS", "Fitted", "direction_variance", "fit_rows", "residual_quantiles"]

# Levels of the quantiles of residuals that a batch brings: even steps of the log odds, from 1 in 2,000 on.
LEVELS = expit(np.linspace(-7.6, 7.6, 61))
# Numbers beyond which a batch does not bring the covariance of its coefficients (32 MB): the spread of batches tells.
LARGEST_VARIANCE = 4_000_000
# Bins over which the weights are read as a function of the residual, and the fewest rows in one.
_BINS, _FEWEST_IN_BIN = 40, 10
# Least part of the plain slope that falling weights may leave: below, the rows have no line to speak of.
_LEAST_SLOPE = 0.2
# Of more rows than this many, evenly spaced ones tell variances of principal components to about 5%.
_ROWS_FOR_VARIANCE = 2000
# Stands for a variance without end, since estimates are finite: far beyond that of any loading, which is at most 1.
_NO_DIRECTION = 1e6


class Fitted(NamedTuple):
    """A weighted fit as its rows see it."""

    residuals: Array  # rows x outputs
    leverage: Array  # the share of itself that each row has in its own fitted value
    squares: Array  # weighted sum of the squared residuals of each output
    variance: Array | None  # covariance of coefficients and level, outputs x (columns + 1) squared


def fit_rows(
    X: Array,
    Y: Array,
    weights: Array,
    center: Array,
    coef: Array,
    inverse: Array,
    *,
    intercept: bool,
    want_variance: bool,
    times: Array | None = None,
) -> Fitted:
    """Pass the rows with the coefficients known: residuals, leverages, and the covariance of the fit.

    `center` is that of columns and targets, `inverse` that of the weighted mean moments of the columns about it. The
    level is that at the centre, and has no variance where no intercept is fitted. There is no covariance where it would
    have too many numbers. `times` is the part of the weights that says how often rows count; the rest is belief.
    """
    rows, columns = X.shape
    outputs, size, total = Y.shape[1], columns + 1, float(weights.sum())
    wanted = want_variance and outputs * size**2 <= LARGEST_VARIANCE
    residuals, leverage = np.empty_like(Y, dtype=float), np.empty_like(weights)
    level, (root, triangular) = float(intercept), _root(inverse)
    on_device = is_device_array(X)

    def work(tile: slice) -> tuple[Array, Array]:
        squares, meat = np.zeros(outputs), np.zeros((outputs if wanted else 0, size, size))
        score = score_plainly if on_device else _Scores(triangular)
        for block in row_blocks(tile, columns, X):
            parts = X[block], Y[block], weights[block]
            residuals[block], leverage[block], more, of_rows = score(*parts, center, coef, root, total, level, wanted)
            squares += more
            meat += of_rows
        return squares, meat

    found = over_rows(work, rows, columns, X)
    squares, meat = (np.sum(sums, axis=0) for sums in zip(*found, strict=True))
    if not wanted:
        return Fitted(residuals, leverage, squares, None)
    # Of white rows the plain slope is the identity.
    back, variance = np.eye(size), np.empty_like(meat)
    back[:-1, :-1] = root
    for output, middle in enumerate(meat):
        slopes = _slopes(residuals[:, output], weights if times is None else weights / times)
        bread = back
        if slopes is not None:
            slopes = slopes if times is None else slopes * times
            bread = back @ _inverse_slope(X, center[:columns], root, triangular, slopes, level, total)
        variance[output] = bread @ middle @ bread.T
    return Fitted(residuals, leverage, squares, variance)


def _root(inverse: Array) -> tuple[Array, bool]:
    """Return R with R R' = inverse, and whether it is a lower triangle; centered rows times R are white."""
    triangle, failed = linalg.lapack.dpotrf(inverse, lower=True, clean=True)
    if not failed:
        return np.asarray(triangle), True
    unit = np.sqrt(np.where(np.diag(inverse) > 0, np.diag(inverse), 1.0))
    values, vectors = np.linalg.eigh(inverse / np.outer(unit, unit))
    return np.asarray(unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))), False


def score_plainly(
    X: Array,
    Y: Array,
    weights: Array,
    center: Array,
    coef: Array,
    root: Array,
    total: float,
    level: float,
    wanted: bool,
) -> tuple[Array, Array, Array, Array]:
    """Return residuals, leverages, weighted squares, and sums of squares of what white rows say of the fit."""
    columns = X.shape[1]
    centered = X - center[:columns]
    residuals = Y - center[columns:] - centered @ coef.T
    white = parameter_rows(centered @ root, level > 0)
    own = np.clip(weights * np.einsum("ij,ij->i", white, white) / total, 0.0, 0.99)
    meat = np.zeros((len(coef) if wanted else 0, columns + 1, columns + 1))
    for output in range(len(meat)):
        scored = white * (weights * residuals[:, output] / (1 - own) / total)[:, None]
        meat[output] = scored.T @ scored
    return residuals, own, weights @ np.square(residuals), meat


class _Scores:
    """Does what `score_plainly` does, compiled and by BLAS, in arrays that stay in the cache."""

    def __init__(self, triangular: bool) -> None:
        self.triangular = triangular
        self.centered = self.scored = np.empty((0, 0))

    def __call__(
        self,
        X: Array,
        Y: Array,
        weights: Array,
        center: Array,
        coef: Array,
        root: Array,
        total: float,
        level: float,
        wanted: bool,
    ) -> tuple[Array, Array, Array, Array]:
        from robustream.kernels.row_loops import residuals_of, score_rows  # Numba comes with the first batch

        rows, columns = X.shape
        if len(self.centered) < rows:
            self.centered, self.scored = np.empty((rows, columns)), np.empty((rows, columns + 1))
        centered, scored = self.centered[:rows], self.scored[:rows]
        residuals, own, squares = np.empty((rows, len(coef))), np.empty(rows), np.empty(len(coef))
        X, Y, coef = np.ascontiguousarray(X), np.ascontiguousarray(Y), np.ascontiguousarray(coef)
        residuals_of(X, Y, center, coef, centered, residuals)
        white = _whitened(centered, root, self.triangular)
        meat = np.empty((len(coef) if wanted else 0, columns + 1, columns + 1))
        for output in range(len(coef)):
            squares[output] = score_rows(white, residuals[:, output], weights, total, level, wanted, own, scored)
            if wanted:
                meat[output] = scored.T @ scored
        return residuals, own, squares, meat


def _whitened(centered: Array, root: Array, triangular: bool) -> Array:
    """Return rows times the root; those of a triangle are overwritten, at half of the work."""
    if not triangular:
        return np.asarray(centered @ root)
    white = linalg.blas.dtrmm(1.0, root, centered.T, lower=1, trans_a=1, overwrite_b=1)
    return np.asarray(white.T)


def _inverse_slope(
    X: Array, center: Array, root: Array, triangular: bool, slopes: Array, level: float, total: float
) -> Array:
    """Return the inverse of the slope of the weighted equation, of white rows."""
    size = X.shape[1] + 1

    def work(tile: slice) -> Array:
        found = np.zeros((size, size))
        for block in row_blocks(tile, size, X):
            centered = X[block] - center
            white = centered @ root if is_device_array(X) else _whitened(centered, root, triangular)
            white = parameter_rows(white, level > 0)
            found += (white * slopes[block, None]).T @ white
        return found

    values, vectors = np.linalg.eigh(np.sum(over_rows(work, X.shape[0], X.shape[1], X), axis=0) / total)
    return np.asarray((vectors / np.maximum(values, _LEAST_SLOPE)) @ vectors.T)


def _slopes(residual: Array, weights: Array) -> Array | None:
    """Return psi' of each row; None where weights are 0 or 1, and do not fall with the residual."""
    if np.all((weights == 0) | (weights == 1)) or len(residual) < 4 * _FEWEST_IN_BIN:
        return None
    from robustream.kernels.row_loops import bin_means, slopes_at  # Numba comes with the first batch

    count = max(4, min(_BINS, len(residual) // _FEWEST_IN_BIN))
    if is_device_array(residual):
        parts = np.array_split(np.argsort(residual, kind="stable"), count)
        at = np.array([residual[part].mean() for part in parts])
        pull = np.array([(weights[part] * residual[part]).mean() for part in parts])
    else:  # numbers are sorted sooner than places
        ends = np.array([part[-1] for part in np.array_split(np.sort(residual), count)])
        at, pull = bin_means(residual, weights, ends[:-1])
    steps = np.diff(at)
    if not np.all(steps > 0):
        return None
    places, values = (at[1:] + at[:-1]) / 2, np.diff(pull) / steps
    if is_device_array(residual):
        there: Array = np.interp(residual, places, values)  # on the GPU
        return there
    slopes = np.empty(len(residual))
    slopes_at(residual, places, values, slopes)
    return slopes


def direction_variance(
    standard: Array, covariance: Array, count: int, rows: int, *, standardized: bool, times: Array | None = None
) -> Array:
    """Return the variances of loadings and, last, of the variance along each of the first directions.

    `standard` are ordinary rows, centred, and scaled if `standardized`: all, or some of so many `rows`, with how often
    each counts. The unit is the largest variance, since the fourth power of large numbers may be none.
    """
    values, vectors = sorted_directions(covariance)
    unit = float(values[0]) if values[0] > 0 else 1.0
    values /= unit
    step = max(len(standard) // _ROWS_FOR_VARIANCE, 1)
    some = standard[::step] / np.sqrt(unit)
    # In single precision: a variance is known to some percent.
    some, basis, sizes = some.astype(np.float32), vectors.astype(np.float32), values.astype(np.float32)
    # The mean of the weights is 1, so that all of 1 are the plain case.
    shares = None if times is None else times[::step, None] / times[::step].mean()
    scores, squares = some @ basis, np.square(some) * np.float32(unit)
    found = np.empty((count, len(values) + 1))
    for k in range(count):
        pull = scores * scores[:, k : k + 1]
        if standardized:  # the scales of the columns move as well
            pull -= (squares @ (basis * basis[:, k : k + 1])) * ((sizes + sizes[k]) / 2)
        pull -= pull.mean(axis=0) if shares is None else (shares * pull).mean(axis=0)
        if shares is not None:
            pull *= shares
        spread, turn = (pull.T @ pull).astype(np.float64) / len(pull), turning(values, vectors, k)
        found[k] = np.append(((turn @ spread) * turn).sum(axis=1), spread[k, k])
    found /= max(rows - 1, 1)
    return np.where(found <= _NO_DIRECTION, found, _NO_DIRECTION)


def residual_quantiles(residuals: Array, leverage: Array) -> Array:
    """Return the quantiles at LEVELS of residuals (rows x outputs) as if rows had been held back, outputs x levels.

    Such a residual is the noise of its row and, independent of it, what the line is off by there.
    """
    noise = residuals / (1 - leverage)[:, None]
    if is_device_array(noise):
        return np.asarray(np.quantile(noise, LEVELS, axis=0, method="weibull")).T
    noise.sort(axis=0)
    place = np.clip((len(noise) + 1) * LEVELS - 1, 0, len(noise) - 1)
    return np.stack([np.interp(place, np.arange(len(noise)), column) for column in noise.T])
