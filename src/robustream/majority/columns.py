"""What single columns and cells say before rows are compared: copies, filled-in values, lattices, bad cells.

Exact equality has probability zero under a continuous law, so that it is evidence by itself:

* equal rows count once in the search; a row that is copied many times more than rows are on average is an artefact;
* one value that fills a part of an otherwise continuous column is an artefact, unless it is zero (sparse data) or
  lies at an end of the column (censored, zero-inflated data), where only a valley can tell.

Where values repeat because the column is discrete, each is spread over the gap to its neighbours, so that densities
make sense; a code such as 9999 keeps its distance, since nothing is spread further than three times its neighbour's
gap.

Single bad cells are taken as missing only if they come one by one, and over so many rows that leaving the rows out
would cost too much. They are then filled by conditional means for the search, and left out of the moments by pairs.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from robustream.majority.evidence import Array, shortest_half, valleys

Mask = NDArray[np.bool_]
Keys = NDArray[np.uint64]

MANY = 5.0  # times the mean number of copies: a row that has more is an artefact
FEW = 0.05  # share of the rows from which on a filled-in value matters
LATTICE = 0.7  # share of the rows that have a repeated value from which on a column is discrete
MENDED = 0.15  # the same where x is given: rows stay in use, with what their other cells say of the bad one
VALLEY = 2.5  # z score of the best valley of all views: 0.6% of 3,600 samples without groups have more
SPREAD_OUT = 0.4  # share of rows with a bad cell from which on cells are left out, not rows


@njit(cache=True)
def _hash(bits: Keys) -> Keys:
    n, p = bits.shape
    keys = np.empty(n, np.uint64)
    for i in range(n):
        h = np.uint64(0x9E3779B97F4A7C15)
        for j in range(p):
            word = bits[i, j]
            if word != np.uint64(0x8000000000000000):  # minus zero is zero
                h ^= word
            h *= np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(29)
        h *= np.uint64(0x94D049BB133111EB)
        keys[i] = h ^ (h >> np.uint64(32))
    return keys


def row_keys(points: Array) -> Keys:
    """Return a hash of each row's content (SplitMix64): equal rows have equal keys, and order carries no meaning."""
    return _hash(points.view(np.uint64))


def copies(points: Array, keys: Keys) -> tuple[NDArray[np.intp], Keys]:
    """Return which rows of a sample sorted by keys count, and the keys of rows that are copied all over."""
    n = len(points)
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    if len(first) == n or len(first) < 2:
        return first, keys[:0]
    ordered = np.sort(points[first], axis=0)
    if (
        np.mean(ordered[1:] != ordered[:-1], axis=0).max(initial=0) <= 0.5
    ):  # chance makes rows of a discrete table equal
        return np.arange(n), keys[:0]
    many = np.diff(np.append(first, n)) > MANY * n / len(first)
    return first[~many], keys[first[many]]


def filled_values(points: Array) -> list[tuple[int, float]]:
    """Return columns and the values that were filled into them."""
    found = []
    ordered = np.sort(points, axis=0)
    ties = np.count_nonzero(ordered[1:] == ordered[:-1], axis=0)
    for j in np.flatnonzero(ties > FEW * len(points)):
        values, counts = np.unique(points[:, j], return_counts=True)
        top = int(np.argmax(counts))
        alone = ties[j] - (counts[top] - 1) < FEW * len(points)  # everything else is continuous
        if alone and counts[top] > FEW * len(points) and 0 < top < len(values) - 1 and values[top] != 0:
            found.append((int(j), float(values[top])))
    return found


def spread_lattice(points: Array, rng: np.random.Generator) -> tuple[Array, bool]:
    """Return points with repeated values of discrete columns spread by triangular noise, and whether there are any."""
    points = points.copy()
    ordered = np.sort(points, axis=0)
    spread = False
    for j in np.flatnonzero(np.count_nonzero(ordered[1:] == ordered[:-1], axis=0)):
        values, at, counts = np.unique(points[:, j], return_inverse=True, return_counts=True)
        if len(values) < 2 or counts[counts > 1].sum() < LATTICE * len(points):
            continue
        spread, gaps = True, np.diff(values)
        left, right = np.append(np.inf, gaps), np.append(gaps, np.inf)
        near = np.minimum(left, right)
        neighbour = np.where(left <= right, np.append(0, near[:-1]), np.append(near[1:], 0))
        reach = np.where(counts > 1, np.minimum(near, 3 * neighbour), 0)
        points[:, j] += reach[at] * rng.triangular(-1, 0, 1, len(points))
    return points, spread


def cell_limits(scaled: Array, evidence: float, least: float = SPREAD_OUT) -> Array | None:
    """Return the size from which on cells of each column are bad; None unless bad cells come one by one, all over.

    `least` is the share of rows with a bad cell that is asked for.
    """
    size = np.abs(scaled)
    if np.mean(size.max(axis=1) > 3) <= least:  # too few rows have any cell that is far out
        return None
    z, threshold = valleys(size.T).T
    limit = np.where((z > evidence) & (np.mean(size <= threshold, axis=0) > 0.75), threshold, np.inf)
    bad = size > limit
    share = bad.mean(axis=0)
    # the number of bad cells of a row varies as if they fell independently: not in the same rows, nor by turns
    dispersion = np.var(bad.sum(axis=1)) / max(np.sum(share * (1 - share)), 1e-12)
    independent = 1 - 4 * np.sqrt(2 / len(size)) < dispersion < 1.5
    return limit if independent and np.mean(bad.any(axis=1)) > least else None


def mend(x: Array) -> tuple[Array, int]:
    """Return rows with single bad cells at their conditional means given the others, and how many cells there were.

    For regressions, where x is given: targets on conditional means of x have the same line. Cells are mended only where
    they come one by one in at least half of the columns, so that an honest column of two kinds is left alone.
    """
    n, p = x.shape
    keys = row_keys(np.ascontiguousarray(x))
    size = max(1500, 10 * p)
    some = np.argpartition(keys, size)[:size] if size < n else np.arange(n)
    sample, _ = spread_lattice(x[some], np.random.default_rng(0))
    center, unit = shortest_half(np.sort(sample.T, axis=1))
    if p < 4 or not np.all(unit > 0):
        return x, 0
    limit = cell_limits((sample - center) / unit, VALLEY, MENDED)
    if limit is None or np.mean(np.isfinite(limit)) < 0.5:
        return x, 0
    scaled = (x - center) / unit
    bad = np.abs(scaled) > limit
    return fill(scaled, bad) * unit + center, int(bad.sum())


def fill(scaled: Array, bad: Mask, sweeps: int = 5) -> Array:
    """Return scaled points with bad cells at their conditional means given the others, by Gauss and Seidel."""
    z = np.where(bad, 0, scaled)
    known = (~bad).astype(float)
    values, vectors = np.linalg.eigh((z.T @ z / np.maximum(known.T @ known, 1)).astype(float))
    precision = (vectors / np.maximum(values, 0.01 * values.mean())) @ vectors.T
    rows = [np.flatnonzero(column) for column in bad.T]
    for _ in range(sweeps):
        for j, r in enumerate(rows):
            if len(r):
                z[r, j] -= z[r] @ precision[:, j] / precision[j, j]
    return z
