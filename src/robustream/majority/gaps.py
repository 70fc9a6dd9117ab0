"""Mean and covariance of rows with gaps: maximum likelihood under a normal law, by expectation maximisation.

For a row with observed cells o and missing cells m, and the precision K = inv(covariance),

    E[x_m | x_o] = mean_m - inv(K_mm) K_mo (x_o - mean_o),        Cov[x_m | x_o] = inv(K_mm).

A step replaces each gap by its conditional mean, takes the weighted mean and covariance of the filled rows, and adds
the mean of the conditional covariances: what the gaps leave open. Filling alone would make columns too narrow and too
closely related. Each row has a pattern of its own where there are many columns, and costs one small Cholesky
decomposition of as many rows as it has gaps.

**Assumption.** That a cell is missing may depend on the cells that are there, not on the value that is missing (missing
at random; Rubin 1976). The normal law is needed for efficiency only: the answer is consistent for any law whose
conditional means are linear and whose gaps come at random.

**Convergence.** Each step leaves the share of the information that is missing of the error before: about the share of
missing cells for variances, far more where y hardly leaves its line. Steps are therefore extrapolated two by two
(SQUAREM; Varadhan and Roland 2008), and end when further ones would change the law by less than SETTLED of its
sampling error, in units in which the law is round.

References: Dempster, Laird and Rubin (1977); Little and Rubin (2019), Statistical analysis with missing data.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import linalg

from robustream.majority.evidence import Array

Mask = NDArray[np.bool_]

STEPS = 25  # most pairs of steps
LANES = 16  # rows that are worked on side by side
SETTLED = 0.05  # sampling errors of a covariance that further steps may still change
RIDGE = 0.01  # times the squared ratio of columns to rows: keeps conditional means of few rows from being made up
DIGITS = 1e-10  # least variance of a column given the others, in units of its own: below is rounding


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
def _triangle(precision: Array, places: NDArray[np.int64], k: int, lower: Array) -> None:
    """Write the Cholesky triangle of the first k places' part of a precision matrix."""
    for a in range(k):
        for b in range(a + 1):
            total = precision[places[a], places[b]]
            for c in range(b):
                total -= lower[a, c] * lower[b, c]
            if a == b:
                lower[a, a] = np.sqrt(max(total, 1e-300))
            else:
                lower[a, b] = total / lower[b, b]


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
def _condition(
    deviations: Array, products: Array, missing: Mask, precision: Array, weights: Array, noise: Array
) -> Array:
    """Write conditional means into the missing cells of centred rows; return the weighted sum of their covariances.

    `products` are deviations @ precision with zeros in the missing cells. Where `noise` has rows, its standard normal
    numbers make the means draws from the conditional laws. The sum is over all rows: that of a sample of them is not
    what the other rows leave open, and steps that follow it need not settle. Without `weights` there is none.

    Rows with about as many gaps are worked on side by side, LANES at a time, so that one instruction serves several;
    those with fewer gaps than the most of them have the identity in the places that they do not need.
    """
    n, p = deviations.shape
    open_ = np.zeros((p, p))
    gaps = np.zeros(n, np.int64)
    for i in range(n):
        for j in range(p):
            gaps[i] += missing[i, j]
    order = np.argsort(gaps, kind="mergesort")
    most = gaps[order[n - 1]] if n else 0
    begin = np.searchsorted(gaps[order], 1)
    places = np.zeros((most, LANES), np.int64)
    lower, inverse = np.empty((most, most, LANES)), np.empty((most, most, LANES))
    right, sums = np.empty((most, LANES)), np.empty(LANES)
    for start in range(begin, n, LANES):
        here = min(LANES, n - start)
        k = gaps[order[start + here - 1]]
        for lane in range(LANES):
            i, own = order[start + min(lane, here - 1)], 0
            for j in range(p):
                if missing[i, j]:
                    places[own, lane] = j
                    own += 1
            for a in range(k):
                for b in range(a + 1):
                    lower[a, b, lane] = precision[places[a, lane], places[b, lane]] if a < own else 0.0
                if a >= own:
                    lower[a, a, lane] = 1.0
                right[a, lane] = -products[i, places[a, lane]] if a < own else 0.0
        for a in range(k):  # the Cholesky triangle, with the inverses of its diagonal
            for b in range(a + 1):
                for lane in range(LANES):
                    sums[lane] = lower[a, b, lane]
                for c in range(b):
                    for lane in range(LANES):
                        sums[lane] -= lower[a, c, lane] * lower[b, c, lane]
                for lane in range(LANES):
                    if a == b:
                        lower[a, a, lane] = 1 / np.sqrt(max(sums[lane], 1e-300))
                    else:
                        lower[a, b, lane] = sums[lane] * lower[b, b, lane]
        for a in range(k):
            for lane in range(LANES):
                sums[lane] = right[a, lane]
            for c in range(a):
                for lane in range(LANES):
                    sums[lane] -= lower[a, c, lane] * right[c, lane]
            for lane in range(LANES):
                right[a, lane] = sums[lane] * lower[a, a, lane]
        for lane in range(here if len(noise) else 0):
            i = order[start + lane]
            for a in range(gaps[i]):
                right[a, lane] += noise[i, places[a, lane]]
        for a in range(k - 1, -1, -1):
            for lane in range(LANES):
                sums[lane] = right[a, lane]
            for c in range(a + 1, k):
                for lane in range(LANES):
                    sums[lane] -= lower[c, a, lane] * right[c, lane]
            for lane in range(LANES):
                right[a, lane] = sums[lane] * lower[a, a, lane]
        for lane in range(here):
            i = order[start + lane]
            for a in range(gaps[i]):
                deviations[i, places[a, lane]] = right[a, lane]
        if len(weights) == 0:
            continue
        for b in range(k):  # the inverse of the triangle, one column after another, and its product with itself
            for lane in range(LANES):
                inverse[b, b, lane] = lower[b, b, lane]
            for a in range(b + 1, k):
                for lane in range(LANES):
                    sums[lane] = 0.0
                for c in range(b, a):
                    for lane in range(LANES):
                        sums[lane] -= lower[a, c, lane] * inverse[b, c, lane]
                for lane in range(LANES):
                    inverse[b, a, lane] = sums[lane] * lower[a, a, lane]
        for a in range(k):
            for b in range(a + 1):
                for lane in range(LANES):
                    sums[lane] = 0.0
                for c in range(a, k):
                    for lane in range(LANES):
                        sums[lane] += inverse[a, c, lane] * inverse[b, c, lane]
                for lane in range(here):
                    i = order[start + lane]
                    if a < gaps[i]:
                        open_[places[a, lane], places[b, lane]] += weights[i] * sums[lane]
    for a in range(p):
        for b in range(a):
            open_[b, a] = open_[a, b]
    return open_


def covariance_with_gaps(
    rows: Array, missing: Mask, weights: Array, start: tuple[Array, Array] | None = None, steps: int = STEPS
) -> tuple[Array, Array]:
    """Return centre and covariance (divisor: sum of the weights) of weighted rows of which some cells are missing.

    Columns without any cell have centre 0 and covariance 0. `start` is a centre and a covariance to begin from.
    """
    if not weights.all():
        use = weights > 0
        rows, missing, weights = rows[use], missing[use], weights[use]
    p = rows.shape[1]
    total = max(float(weights.sum()), 1e-300)
    counts = weights @ ~missing
    seen, empty = np.maximum(counts, 1e-300), counts <= 0
    middle = weights @ np.where(missing, 0.0, rows) / seen
    base = np.where(missing, 0.0, rows - middle)
    unit = np.sqrt(weights @ np.square(base) / seen)
    unit = np.where(unit > 0, unit, 1.0)
    base /= unit
    if start is None:
        absent = missing.astype(np.float64)
        unpaired = (absent * weights[:, None]).T @ absent  # the weight of rows that lack both of two cells
        both = total - np.add.outer(total - counts, total - counts) + unpaired
        matrix = (base * weights[:, None]).T @ base / np.maximum(both, 1.0)
    else:
        matrix = start[1] / np.outer(unit, unit)
        matrix /= max(float(np.diag(matrix)[~empty].mean()), 1e-300) if not empty.all() else 1.0
    ridge = RIDGE * (p / total) ** 2
    none = np.zeros((0, p))

    def step(law: Law) -> Law:
        precision = _precision(law.covariance, ridge, empty)
        z = base - law.center
        z[missing] = 0.0
        open_ = _condition(z, z @ precision, missing, precision, weights, none) / total
        offset = weights @ z / total
        return Law(law.center + offset, (z * weights[:, None]).T @ z / total + open_ - np.outer(offset, offset))

    law = Law(np.zeros(p), matrix)
    error = SETTLED * p / np.sqrt(total)
    for _ in range(steps):
        first = step(law)
        if steps == 1:
            law = first
            break
        second = step(first)
        moved, turned = first - law, second - first
        change = turned.length(_precision(second.covariance, ridge, empty), empty)
        rate = min(change / max(moved.length(_precision(second.covariance, ridge, empty), empty), 1e-300), 0.99)
        if change * rate / (1 - rate) < error:
            law = second
            break
        law = _extrapolated(law, moved, turned, second)
    center, covariance = middle + law.center * unit, law.covariance * np.outer(unit, unit)
    if empty.any():
        center[empty] = 0.0
        covariance[empty], covariance[:, empty] = 0.0, 0.0
    return center, covariance


class Law(NamedTuple):
    """Centre and covariance in the units of the columns, or a difference of two."""

    center: Array
    covariance: Array

    def __sub__(self, other: "Law") -> "Law":
        return Law(self.center - other.center, self.covariance - other.covariance)

    def length(self, precision: Array, empty: Mask) -> float:
        """Return how large a difference is beside the law itself: in units in which the law is round."""
        product = precision @ np.where(np.logical_or.outer(empty, empty), 0.0, self.covariance)
        return float(np.sqrt(max(float(np.sum(product * product.T)), 0.0)))


def _extrapolated(law: Law, moved: Law, turned: Law, second: Law) -> Law:
    """Return where steps would lead if they went on as the last two (SQUAREM), or the second if that is no law."""
    bend = turned - moved
    size = float(np.linalg.norm(bend.covariance))
    reach = max(float(np.linalg.norm(moved.covariance)) / max(size, 1e-300), 1.0)
    while reach > 1.01:
        covariance = law.covariance + 2 * reach * moved.covariance + reach**2 * bend.covariance
        if not linalg.lapack.dpotrf(covariance + DIGITS * np.eye(len(covariance)), lower=True)[1]:
            return Law(law.center + 2 * reach * moved.center + reach**2 * bend.center, covariance)
        reach = (reach + 1) / 2
    return second


def conditional(
    rows: Array, missing: Mask, center: Array, covariance: Array, noise: Array | None = None, few: float = 0.0
) -> Array:
    """Return rows with missing cells at their conditional means under a normal law with this centre and covariance.

    With `noise`, standard normal numbers for each cell, they are draws from the conditional laws. `few` is the ratio of
    columns to the rows that the covariance was learned from, if these were few.
    """
    variance = np.diag(covariance)
    unit = np.sqrt(np.where(variance > 0, variance, 1.0))
    z = np.where(missing, 0.0, (rows - center) / unit)
    precision = _precision(covariance / np.outer(unit, unit), RIDGE * few**2, variance <= 0)
    p = z.shape[1]
    _condition(z, z @ precision, missing, precision, np.zeros(0), np.zeros((0, p)) if noise is None else noise)
    return np.where(missing, z * unit + center, rows)


def _precision(matrix: Array, ridge: float, empty: Mask) -> Array:
    """Return the inverse of a correlation matrix, with variances that are rounding made up for."""
    inner = (matrix + matrix.T) / 2
    inner[np.diag_indices(len(inner))] *= 1 + ridge
    inner[np.diag_indices(len(inner))] += np.where(empty, 1.0, DIGITS)
    lower, failed = linalg.lapack.dpotrf(inner, lower=True, clean=True)
    if not failed:
        half, failed = linalg.lapack.dpotri(lower, lower=True)
    if failed:  # pairs of cells that never occur together need not make a covariance
        values, vectors = np.linalg.eigh(inner)
        return np.asarray((vectors / np.maximum(values, 0.01 * values.mean())) @ vectors.T)
    return np.asarray(half + np.tril(half, -1).T)


def correlation_precision(covariance: Array) -> Array:
    """Return the inverse of a covariance in the units of its columns, columns without variance apart."""
    variance = np.diag(covariance)
    unit = np.sqrt(np.where(variance > 0, variance, 1.0))
    return _precision(covariance / np.outer(unit, unit), 0.0, variance <= 0) / np.outer(unit, unit)


@njit(cache=True, error_model="numpy", nogil=True)
def _open_variance(missing: Mask, precision: Array, coef: Array) -> Array:
    n, p = missing.shape
    out = np.zeros(n)
    places, lower, right = np.empty(p, np.int64), np.empty((p, p)), np.empty(p)
    for i in range(n):
        k = 0
        for j in range(p):
            if missing[i, j]:
                places[k] = j
                k += 1
        _triangle(precision, places, k, lower)
        for a in range(k):
            total = coef[places[a]]
            for c in range(a):
                total -= lower[a, c] * right[c]
            right[a] = total / lower[a, a]
            out[i] += right[a] ** 2
    return out


def open_variance(missing: Mask, covariance: Array, coef: Array) -> Array:
    """Return the variance of coef'x that the missing cells of each row leave open, given the cells that are there."""
    variance = np.diag(covariance)
    unit = np.sqrt(np.where(variance > 0, variance, 1.0))
    precision = _precision(covariance / np.outer(unit, unit), 0.0, variance <= 0)
    return np.asarray(_open_variance(missing, precision, np.where(variance > 0, coef * unit, 0.0)))
