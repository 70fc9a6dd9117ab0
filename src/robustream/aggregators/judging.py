"""How the parts of an estimate are judged: in which coordinates, how strictly, and in which words.

The parts that people ask for (coefficients, level, subspace, mean) are filtered as plain coordinates. Those that say
how noisy a batch was (scales and variances) differ between honest batches too: they speak against a batch only where
it is off by a large factor, and by far more than the batches differ among themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from robustream.aggregators.cloud import Cloud
from robustream.aggregators.core import Mask, Places, effective_count
from robustream.aggregators.repeats import once_each
from robustream.aggregators.spectral import WILD, Reason, sift
from robustream.kernels.device_arrays import place_wide
from robustream.spaces import Array, Part, Points, Space

__all__ = ["Judged", "judge"]

_NORMAL_MAD = 1.482602218505602
_BLOCK = 4_000_000  # numbers worked on at a time, so that wide estimates need no further copies of themselves
# Units need not be known better than to a tenth, and sorting is what a value of many estimates would cost most.
_ROWS_FOR_SPREAD = 256
# Of the common unit; measured on one real table, as its neighbours are.
_LEAST_SPREAD = 0.1
_ROUNDING = 1e-6  # of the largest distance in a coordinate
_FARTHEST = 1e6  # spreads; squares of these and their sums fit single precision
# A batch that is noisier by a factor has an estimate that lies off by that factor: from the same one on it is no
# estimate of the same thing, and one with as much too little noise has been fitted to something else.
_SCALE_FACTOR = float(np.log(WILD))
# Measured, the largest of honest log scales exceeds it in 2 of 1,000 samples of 8 and hardly ever in larger ones where
# they are normal, in 1 of 50 to 1 of 10 (of 8 to 100) where they have the tails of a t law with 3 degrees of freedom.
_SCALE_SPREADS = 12.0


class Judged(NamedTuple):
    """The verdict on the points of one part, in their order."""

    kept: Mask
    factors: Array  # what the weight of each is multiplied by
    distances: Array  # from the centre of the kept ones, over the typical one of those
    reasons: dict[int, str]


# Gives offsets from a common value in units of what each estimate knows.
Weigh: TypeAlias = Callable[[Array], Array]


def judge(part: Part, points: Points, weights: Array, kept: Mask, weigh: Weigh | None = None) -> Judged:
    """Judge one part of all estimates; `kept` marks those that no earlier part spoke against."""
    if part.role == "passenger" or not kept.any():
        return Judged(kept.copy(), np.ones(len(points)), np.ones(len(points)), {})
    if part.role == "noise":
        return _judge_noise(part, points, weights, kept)
    scalable = part.space.has_units
    points = place_wide(points)
    cloud = _compare(part.space, points, weights, kept, weigh)
    found = sift(cloud, weights, kept)
    if scalable and weights[kept & ~found.kept].sum() > 0.02 * weights.sum():
        # Bad estimates inflate the scale of the coordinates they are bad in, by up to 4 for 45% of them.
        first = found
        cloud = _compare(part.space, points, weights, first.kept, weigh)
        found = sift(cloud, weights, kept)
        if (
            weights[found.kept].sum() < weights[first.kept].sum()
            and weights[first.kept & ~found.kept].sum() > 0.1 * weights.sum()
        ):
            # Another majority, and a smaller one.
            found = sift(cloud, weights, first.kept)
            found = found._replace(reasons=first.reasons | found.reasons)
    factors = np.where(found.kept, found.weighing(cloud, weights, found.kept), 1.0)
    distances = cloud.distances(cloud.mean(np.where(found.kept, weights * factors, 0.0)))
    typical = float(np.median(distances[found.kept]))
    relative = distances / typical if typical > 0 else np.where(distances > 0, np.inf, 0.0)
    reasons = {place: _words(part.name, reason) for place, reason in found.reasons.items()}
    return Judged(found.kept, factors, relative, reasons)


def _words(name: str, reason: Reason) -> str:
    amount = f"{reason.amount:.3g}" if reason.amount < _FARTHEST / 10 else "very many"
    if reason.along_direction:
        return f"{name}: {amount} spreads from the others, along a direction in which the estimates vary most"
    if np.isinf(reason.amount):
        return f"{name}: differs, where most of the estimates are identical"
    return f"{name}: {amount} times as far from the others as is typical"


def _compare(space: Space, points: Points, weights: Array, kept: Mask, weigh: Weigh | None) -> Cloud:
    """Give points in coordinates that can be compared: each Euclidean one in units of its spread among the kept."""
    if not space.has_units:
        return Cloud.of(space.comparable(points).astype(np.float32))
    raw = space.coordinates(points)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = raw.sum(axis=1)
    rows = _spread_out(sums, _representatives(weights, once_each(raw, sums, weights, kept)))
    if weigh is not None:
        raw = weigh(np.clip(raw, -1e150, 1e150) - np.median(raw[rows], axis=0))
    center, spread = np.empty(raw.shape[1]), np.empty(raw.shape[1])
    step = max(1, _BLOCK // len(rows))
    for start in range(0, raw.shape[1], step):
        block = slice(start, start + step)
        center[block], spread[block] = _center_and_spread(raw[rows, block])
    if weigh is not None:
        # All have the same unit, that of the predictions; none matters a hundred times more than the others.
        spread = np.maximum(spread, _LEAST_SPREAD * np.sqrt(np.mean(np.square(spread))))
    return Cloud.in_spreads(raw, center, spread, _FARTHEST)


def _spread_out(sums: Array, rows: Places) -> Places:
    """Give so many of the rows that spreads are known well enough: each k-th in the order of their sums.

    The order of arrival has no say in it, and a group that is far off is in it with its own share.
    """
    if len(rows) <= _ROWS_FOR_SPREAD:
        return rows
    order = np.argsort(sums[rows], kind="stable")
    return rows[order[np.linspace(0, len(rows) - 1, _ROWS_FOR_SPREAD).astype(int)]]


def _center_and_spread(sample: Array) -> tuple[Array, Array]:
    """Give the median of each column and the spread of its majority."""
    ordered = np.clip(sample.T, -1e300, 1e300, order="C")
    ordered.sort(axis=1)
    count = len(sample)
    center = 0.5 * (ordered[:, (count - 1) // 2] + ordered[:, count // 2])
    half = _shortest(ordered, count // 2 + 1) / (2 * 0.6745)
    quarter = _shortest(ordered, count // 4 + 1) / 0.3186
    # With 45% of the values in a group of their own the shortest half is 2.5 times too wide, or spans both; a quarter
    # is 1.8 times too wide, unless the group is of identical values.
    spread = np.clip(quarter, 0.4 * half, half) if count >= 40 else half
    # Among values that are equal to the last digit a rounding error is no spread.
    largest = np.maximum(ordered[:, -1] - center, center - ordered[:, 0])
    rounded = (quarter == 0) & (spread <= _ROUNDING * largest) if count >= 4 else False
    same = np.flatnonzero((spread == 0) | rounded)
    if len(same):
        spread[same] = _unit_of_different(np.abs(ordered[same] - center[same, None]))
    return center, np.maximum(spread, 8 * np.finfo(np.float64).eps * np.abs(center))


def _unit_of_different(distances: Array) -> Array:
    """Give the median of those distances in each row that are not 0, and 1 where all are.

    A value that most estimates agree on, as the coefficient of a rare flag, has the unit of those that differ.
    """
    ordered, count = np.sort(distances, axis=1), distances.shape[1]
    zeros = (ordered == 0).sum(axis=1)
    middle = np.stack([zeros + (count - zeros - 1) // 2, zeros + (count - zeros) // 2], axis=1)
    median = np.take_along_axis(ordered, np.minimum(middle, count - 1), axis=1).mean(axis=1)
    return np.where(zeros < count, median, 1.0)


def _shortest(ordered: Array, number: int) -> Array:
    """Give the width of the shortest interval that holds a number of the sorted values of each row."""
    return np.asarray((ordered[:, number - 1 :] - ordered[:, : ordered.shape[1] - number + 1]).min(axis=1))


def _representatives(weights: Array, kept: Mask) -> Places:
    """Give places such that plain medians over them are weighted medians: each as often as its weight says."""
    places = np.flatnonzero(kept)
    inner = weights[places]
    if np.ptp(inner) <= 1e-12 * inner.max():
        return places
    cumulative = np.cumsum(inner) / inner.sum()
    return places[np.searchsorted(cumulative, (np.arange(len(places)) + 0.5) / len(places))]


def _judge_noise(part: Part, points: Points, weights: Array, kept: Mask) -> Judged:
    """Drop what is off by a large factor in most of its entries; nothing where there are too few to tell."""
    logs = _log_scales(part, points)
    kept = kept.copy()
    rows = _representatives(weights, kept)
    nothing = Judged(kept, np.ones(len(points)), np.ones(len(points)), {})
    if effective_count(weights[kept]) < 4:
        return nothing
    deviations = np.abs(logs - np.median(logs[rows], axis=0))
    spread = _NORMAL_MAD * np.median(deviations[rows], axis=0)
    # A single column may be constant in one batch, so that its scale means nothing there.
    off = np.median(deviations, axis=1)
    limit = max(_SCALE_FACTOR, _SCALE_SPREADS * float(np.median(spread)))
    bad = np.flatnonzero(kept & (off > limit))
    if not len(bad) or weights[kept].sum() - weights[bad].sum() < 0.5 * weights.sum():
        return nothing
    kept[bad] = False
    reasons = {int(place): f"{part.name}: off by a factor of {np.exp(min(off[place], 300.0)):.3g}" for place in bad}
    return nothing._replace(kept=kept, reasons=reasons)


def _log_scales(part: Part, points: Points) -> Array:
    """Give the logarithms of standard deviations that the points stand for."""
    if part.is_log:
        return part.space.coordinates(points)
    values = part.space.scales(points)
    middle = float(np.median(values))
    return np.asarray(np.log(np.maximum(values, max(1e-6 * middle, 1e-150))))
