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
Where cells are missing anyway the other cells of the row tell which are bad (`cells`).
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from robustream.kernels.device_arrays import is_device_array
from robustream.majority.evidence import Array, shortest_half, valleys
from robustream.majority.gaps import conditional, covariance_with_gaps

Mask = NDArray[np.bool_]
Keys = NDArray[np.uint64]
Places = NDArray[np.intp]

MANY = 5.0  # times the mean number of copies: a row that has more is an artefact
APART = 4.0  # spreads between two groups with a valley, and between a code and a column's other values
FEW = 0.01  # share of the rows from which on a filled-in value matters
VALLEY = 2.5  # z of the best valley of all views, and nats of a second scale: 0.6% of 3,600 honest samples have more
FEWEST = 8  # points, or cells of a column, of which anything can be said
_ASKED = 50  # rows with many copies that are looked at, those with the most first
FARTHEST = 50.0  # scales: cells beyond have no more say in what others are filled with


@njit(cache=True, error_model="numpy", nogil=True)
def _mixed(points: Array, states: Keys) -> Keys:
    """Return the states of hashes that have taken in more words: each word times an odd number of its column, added.

    The words are those of numbers in double precision, so that single precision does not matter.
    """
    n, p = points.shape
    odd = np.empty(p, np.uint64)
    for j in range(p):
        k = np.uint64(j + 1) * np.uint64(0x9E3779B97F4A7C15)
        odd[j] = ((k ^ (k >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)) | np.uint64(1)
    mixed = np.empty(n, np.uint64)
    for i in range(n):
        h = states[i] * np.uint64(0xBF58476D1CE4E5B9)
        for j in range(p):
            word = np.float64(points[i, j] + 0.0).view(np.uint64)  # minus zero is zero
            h += (word ^ (word >> np.uint64(32))) * odd[j]  # round numbers have their bits on top alone
        mixed[i] = h ^ (h >> np.uint64(29))
    return mixed


def row_states(points: Array, states: Keys | None = None) -> Keys:
    """Return the states of a hash of each row's content, which may go on from those of other columns."""
    if states is None:
        states = np.full_like(points[:, 0], 0x9E3779B97F4A7C15, dtype=np.uint64)
    if not is_device_array(points):
        return np.asarray(_mixed(points, states))
    from robustream.kernels.gpu.numpy_proxy import DeviceTable, rows_of
    from robustream.kernels.gpu.rows import row_states as mixed_on_gpu

    mixed: Keys = DeviceTable(mixed_on_gpu(rows_of(points), rows_of(states)))  # type: ignore[assignment]
    return mixed


def row_keys(points: Array, states: Keys | None = None) -> Keys:
    """Return a hash of each row's content: equal rows have equal keys, and order carries no meaning."""
    keys = row_states(points, states)
    keys *= np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(32))


def copies(points: Array, keys: Keys, everyone: Keys, row: Callable[[int], Array]) -> tuple[NDArray[np.intp], Keys]:
    """Return which rows of a sample sorted by keys count, and the keys of rows that are copied all over.

    The sample is chosen by keys, so that it has all copies of a row or none: they are counted among everyone. `row`
    returns one of all rows.
    """
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    ordered = np.sort(everyone)
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    if len(starts) == len(everyone) or len(first) < 2:
        return first, keys[:0]
    counts = np.diff(np.append(starts, len(everyone)))
    many = counts > MANY * len(everyone) / len(starts)
    # Chance that makes one row many times over makes others twice.
    alone = counts[~many][counts[~many] > 1].sum() <= FEW * counts[~many].sum()
    discrete = equal_by_chance(points[first])
    most = np.argsort(-counts, kind="stable")[: min(np.count_nonzero(many), _ASKED)]
    # Where values are rounded or heaped there are rows with any number of copies; an artefact has far more than others.
    next_counts = np.append(np.sort(counts)[::-1][1:], 0)[: len(most)]
    leaps = np.flatnonzero(counts[most] > MANY * next_counts)
    most = most[: leaps[-1] + 1] if len(leaps) else most[:0]
    own = [
        key
        for key, count in zip(ordered[starts[most]], counts[most] / len(everyone), strict=True)
        if _is_own(row(int(np.argmax(everyone == key))), float(count), points[keys != key], alone, discrete)
    ]
    artefacts = np.array(own, everyone.dtype)
    if not len(artefacts) and (discrete or many.any()):
        return np.arange(len(points)), artefacts
    return first[~np.isin(keys[first], artefacts)], artefacts


def _is_own(row: Array, share: float, others: Array, alone: bool, discrete: bool) -> bool:
    """Return whether a share of copies of a row cannot be chance: a value is its own, or no other rows are equal.

    Where each value is that of many others as well, as a target at its limit for each of a few levels of x is, chance
    makes rows equal. In a table of discrete values a row of zeros is that of nothing.
    """
    if discrete and not row.any():
        return False
    shared = ((others == row) | (np.isnan(others) & np.isnan(row))).mean(axis=0) if len(others) else np.zeros(len(row))
    return bool(shared.min(initial=1.0) <= min(FEW, share / MANY) or (discrete and alone))


def sorted_columns(points: Array) -> Array:
    """Return the columns as sorted rows; missing cells come last."""
    return np.sort(np.ascontiguousarray(points.T), axis=1)


@njit(cache=True, error_model="numpy", nogil=True)
def ties(ordered: Array) -> Places:
    """Return how many cells of each sorted column equal the one before; missing ones equal none."""
    tied = np.zeros(len(ordered), np.intp)
    for j in range(len(ordered)):
        for i in range(1, ordered.shape[1]):
            tied[j] += ordered[j, i] == ordered[j, i - 1]
    return tied


def equal_by_chance(points: Array) -> bool:
    """Tell whether different rows are those of a discrete table, in which chance makes rows equal."""
    return bool(ties(sorted_columns(points)).min(initial=len(points)) >= 0.5 * (len(points) - 1))


def voices(times: Array, most: int) -> Places:
    """Return the places of rows that count so many times, each as often as it does: at most about so many in all."""
    total = float(times.sum())
    repeats = np.maximum(np.round(times * min(1.0, most / total)), 1.0).astype(np.intp)
    return np.repeat(np.arange(len(times)), repeats)


def filled_values(points: Array, tied: Places, zeros: bool = False) -> list[tuple[int, float]]:
    """Return columns and the values that were filled into them; `tied` are the `ties` of the columns.

    Zeros are left alone, as those of sparse data, unless something else can tell whether they are any.

    At an end of a column a value that many have is that of censored or zero-inflated data, unless it stands apart from
    all others, as the codes -999 and 9999 do; what is a code in one column is one in the others.
    """
    found, ends = list[tuple[int, float]](), list[tuple[int, float, bool]]()
    near = Counter[float]()  # in how many columns an end lies not quite so far away
    for j in np.flatnonzero(tied > FEW * len(points)):
        values, counts = np.unique(points[~np.isnan(points[:, j]), j], return_counts=True)
        top = int(np.argmax(counts))
        alone = tied[j] - (counts[top] - 1) < FEW * len(points)  # everything else is continuous
        inside = 0 < top < len(values) - 1 and counts[top] <= len(points) / 2  # what most have is the column's own
        if alone and counts[top] > FEW * len(points) and inside and (zeros or values[top] != 0):
            found.append((int(j), float(values[top])))
        for end, neighbour in ((0, 1), (-1, -2)) if len(values) > 2 else ():
            away = abs(values[end] - values[neighbour])
            if not FEW * len(points) < counts[end] <= len(points) / 2 or (values[end] == 0 and not zeros):
                continue
            if len(values) > FEWEST:
                inner = points[(points[:, j] > values[0]) & (points[:, j] < values[-1]), j]
                lower, upper = np.quantile(inner, [0.25, 0.75])
                usual = (counts.sum() - counts[end]) / (len(values) - 1)
                if counts[end] > MANY * usual and end % len(values) == top:
                    ends.append((int(j), float(values[end]), bool(away > APART * (upper - lower) / 1.349)))
            else:
                # Of few values each has many copies: a code lies far beyond them all, or beyond those of two columns.
                width = np.ptp(np.delete(values, end))
                near[float(values[end])] += int(away > APART * width)
                ends.append((int(j), float(values[end]), bool(away > FARTHEST * width)))
    codes = {value for _, value, apart in ends if apart} | {value for value, columns in near.items() if columns > 1}
    return found + [(j, value) for j, value, _ in ends if value in codes]


def spread_lattice(points: Array, rng: np.random.Generator, tied: Places | None = None) -> tuple[Array, bool]:
    """Return points with repeated values of discrete columns spread by triangular noise, and whether there are any.

    `tied` are the `ties` of the columns, where they are known; where there are none the points come back as they are.
    """
    tied = ties(sorted_columns(points)) if tied is None else tied
    if not tied.any():
        return points, False
    points = points.copy()
    spread = False
    for j in np.flatnonzero(tied):
        there = np.flatnonzero(~np.isnan(points[:, j]))
        values, at, counts = np.unique(points[there, j], return_inverse=True, return_counts=True)
        # A column of mostly one value has a shortest half without width: the others are what the column is about.
        if len(values) > 2 and counts.max() > len(there) / 2:
            continue
        if len(values) < 2 or counts[counts > 1].sum() < len(there) / 2:
            continue
        spread, gaps = True, np.diff(values)
        left, right = np.append(np.inf, gaps), np.append(gaps, np.inf)
        near = np.minimum(left, right)
        neighbour = np.where(left <= right, np.append(0, near[:-1]), np.append(near[1:], 0))
        reach = np.where(counts > 1, np.minimum(near, 3 * neighbour), 0)
        points[there, j] += reach[at] * rng.triangular(-1, 0, 1, len(points))[there]
    return points, spread


def column_units(points: Array, ordered: Array | None = None) -> tuple[Array, Array]:
    """Return centre and scale of the shortest half of each column's cells; the scale is 0 where there are too few.

    `ordered` are the `sorted_columns`, where they are known.
    """
    ordered = sorted_columns(points) if ordered is None else ordered
    if not len(points) or not np.isnan(ordered[:, -1]).any():
        return shortest_half(ordered) if len(points) else (np.zeros(len(ordered)), np.zeros(len(ordered)))
    there = np.count_nonzero(~np.isnan(ordered), axis=1)
    halves = [
        shortest_half(row[None, :k]) if k >= FEWEST else (0.0, 0.0) for row, k in zip(ordered, there, strict=True)
    ]
    return np.array([float(np.ravel(h[0])[0]) for h in halves]), np.array([float(np.ravel(h[1])[0]) for h in halves])


class Completed(NamedTuple):
    """Rows with missing cells drawn from their conditional laws, and the law that they are drawn from."""

    rows: Array
    center: Array
    covariance: Array


def complete(
    scaled: Array, missing: Mask, sample: Places, keys: Keys, start: tuple[Array, Array] | None = None
) -> Completed:
    """Return scaled rows with missing cells drawn from their conditional laws, as a sample of the rows tells these.

    Draws, unlike means, leave the spread and the tails of the rows as they are for whoever looks at them next. What is
    random is fixed by the order of the keys. Long rows have less say, by 1 / (1 + mean square by its median).
    """
    known = ~missing[sample]
    cells = np.where(known, np.clip(scaled[sample], -FARTHEST, FARTHEST), 0.0).astype(float)
    squares = np.square(cells).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    weights = 1 / (1 + squares / max(float(np.median(squares)), 1e-12))
    weights /= weights.max(initial=1e-12)
    center, covariance = covariance_with_gaps(cells, missing[sample], weights, start)
    noise = np.empty(scaled.shape)
    noise[np.argsort(keys)] = np.random.default_rng(0).normal(size=scaled.shape)
    few = scaled.shape[1] / max(float(weights.sum()), 1.0)
    rows = conditional(np.where(missing, 0.0, scaled), missing, center, covariance, noise, few)
    return Completed(rows, center, covariance)


def cell_limits(scaled: Array, least: float) -> Array | None:
    """Return the size from which on cells of each column are bad; None unless bad cells come one by one, all over.

    `least` is the share of rows with a bad cell that is asked for.
    """
    size = np.abs(scaled)
    if np.mean(size.max(axis=1) > 3) <= least:  # too few rows have any cell that is far out
        return None
    z, threshold = valleys(size.T).T
    limit = np.where((z > VALLEY) & (np.mean(size <= threshold, axis=0) > 0.75), threshold, np.inf)
    bad = size > limit
    share = bad.mean(axis=0)
    # the number of bad cells of a row varies as if they fell independently: not in the same rows, nor by turns
    dispersion = np.var(bad.sum(axis=1)) / max(np.sum(share * (1 - share)), 1e-12)
    independent = 1 - 4 * np.sqrt(2 / len(size)) < dispersion < 1.5
    return limit if independent and np.mean(bad.any(axis=1)) > least else None


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
