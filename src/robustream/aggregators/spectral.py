"""The filter on plain coordinates: which points are too far out, or lie together on one side of the others.

Estimates of low quality lie far out too, but in all directions: they are told from bad ones by what remains of
their distance once the direction in question is taken out, and they are weighed down, not thrown away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from robustream.aggregators.cloud import Cloud
from robustream.aggregators.core import Mask, Places, effective_count, find_core, find_cut, weighted_median
from robustream.aggregators.mixture import APART, FEW, find_split
from robustream.aggregators.quality import Quality, effective_dimensions, fit_quality
from robustream.aggregators.repeats import repeated_groups, too_far
from robustream.aggregators.weighing import (
    Weighing,
    equal_weights,
    median_weights,
    quality_weights,
    spatial_median,
    tail_weights,
)
from robustream.spaces import Array

__all__ = ["WILD", "Reason", "Sifted", "sift"]

# Beyond this many typical distances a point is no estimate of the same thing. Honest batches whose spread differs
# by a factor of 5 stay below it; their weight falls with the square of the distance anyway.
WILD = 8.0
_DIRECTIONS = 4
# A tail that is longer than this is the nature of the points: honest batches differ by season, place or mix.
_TAIL = 0.3
# Nor is there a majority where nearly half would have to go: 45% may be bad, and a few good ones look bad by chance.
_MAJORITY = 0.52
_ROUNDS = 50
# Singular values of noise in many dimensions are nearly the same; a few points that leave are then a matter of chance.
_MANY = 50
_EVEN = 0.8
_CHANCE = 0.01


class Reason(NamedTuple):
    """Why a point was dropped: how many typical distances or spreads it lies off."""

    along_direction: bool
    amount: float


class Sifted(NamedTuple):
    """Which points are kept, and why the others are not."""

    kept: Mask
    reasons: dict[int, Reason]
    weighing: Weighing = quality_weights


def sift(cloud: Cloud, weights: Array, kept: Mask) -> Sifted:
    """Drop points that the majority of the weight contradicts; never more than leaves half of all the weight.

    `kept` marks those that are still in play.
    """
    total = float(weights.sum())
    kept = kept.copy()
    reasons: dict[int, Reason] = {}
    if kept.sum() < 3:
        return Sifted(kept, reasons)
    center = spatial_median(cloud, weights, kept)
    _drop_wild(cloud, weights, center, kept, reasons, total)
    once = _drop_repeated(cloud, weights, kept, reasons, total)
    weighing = _drop_along_directions(cloud, once, center, kept, reasons)
    if _drop_on_axes(cloud, once, kept, reasons):
        weighing = _drop_along_directions(cloud, once, center, kept, reasons)
    return Sifted(kept, reasons, weighing)


def _drop_along_directions(
    cloud: Cloud, weights: Array, center: Array, kept: Mask, reasons: dict[int, Reason]
) -> Weighing:
    """Drop what stands apart along leading directions, until nothing does; tell how to weigh the others."""
    total, least = float(weights.sum()), _least(weights, kept)
    cloud, center = _fewer_coordinates(cloud, center, kept)
    block = _first_block(cloud.dimension)
    separation = APART
    groups: list[int] = []
    tail: list[int] = []
    for _ in range(_ROUNDS):
        center = spatial_median(cloud, weights, kept, center)
        view = _look(cloud, weights, center, kept, block, separation)
        if view is None:
            return equal_weights
        if not view.leaving.any():
            return view.weighing
        places = np.flatnonzero(kept)
        leaving = places[view.leaving]
        (groups if view.groups else tail).extend(int(place) for place in leaving)
        kept[leaving] = False
        reasons |= {
            int(place): Reason(True, float(amount))
            for place, amount in zip(leaving, view.deviations[view.leaving], strict=True)
        }
        if weights[kept].sum() < least or weights[tail].sum() > _TAIL * total:
            # They differ by their nature. Only a minority in groups of their own can be told to be bad.
            back = tail if weights[kept].sum() + weights[tail].sum() >= least else groups + tail
            kept[back] = True
            for place in back:
                del reasons[place]
            return tail_weights
        if view.even and weights[leaving].sum() <= _CHANCE * total:
            # No point has a direction for itself, so that none can have hidden behind these few.
            return view.weighing
        # What is left after a cut is no normal sample: two groups in it must lie farther apart.
        block, separation = view.directions, 2.5
    return quality_weights


def _least(weights: Array, kept: Mask) -> float:
    """Give the weight that must stay: a clear majority of what is still in play, and half of all."""
    return max(_MAJORITY * float(weights[kept].sum()), 0.5 * (1 - 1e-9) * float(weights.sum()))


def _drop_wild(
    cloud: Cloud, weights: Array, center: Array, kept: Mask, reasons: dict[int, Reason], total: float
) -> None:
    distances = cloud.distances(center)
    typical = weighted_median(distances[kept], weights[kept])
    count = effective_count(weights[kept])
    limit = WILD * (1 + 100 / count**2) * typical
    wild = np.flatnonzero(kept & (distances > max(limit, 1e-6)))
    if len(wild) and weights[kept].sum() - weights[wild].sum() >= 0.5 * total:
        kept[wild] = False
        for place in wild:
            reasons[int(place)] = Reason(False, float(distances[place] / typical) if typical > 0 else np.inf)


def _drop_repeated(cloud: Cloud, weights: Array, kept: Mask, reasons: dict[int, Reason], total: float) -> Array:
    """Drop repeated points that lie farther out than the others; give weights that count the others of them once."""
    groups = repeated_groups(cloud.points, cloud.norms, kept)
    others = kept.copy()
    for group in groups:
        others[group] = False
    if not groups or weights[others].sum() < 0.5 * total:
        return weights
    distances = cloud.distances(spatial_median(cloud, weights, others))
    typical = weighted_median(distances[others], weights[others])
    once = weights.copy()
    for group in groups:
        distance = float(distances[group[0]])
        once[group] *= min(1.0, float(weights[others].max() / weights[group].sum()))
        if too_far(distance, distances[others], weights[others]):
            kept[group] = False
            reasons |= {int(place): Reason(False, distance / typical if typical > 0 else np.inf) for place in group}
    return once


def _drop_on_axes(cloud: Cloud, weights: Array, kept: Mask, reasons: dict[int, Reason]) -> bool:
    """Drop a group that is off in single coordinates.

    Among many coordinates these are no leading direction: 45% of 100 points off by 10 spreads in 1 of 200
    coordinates were found there in 8 of 20 trials, and in all along the coordinates that vary most.
    """
    before, least = int(kept.sum()), _least(weights, kept)
    if cloud.dimension < 2 or before < FEW:
        return False
    # Brought in to 6 spreads, so that a few far values do not make a coordinate stand out.
    moments = cloud.moments(kept.astype(np.float64), limit=6.0)
    for axis in _largest(moments, 3):
        places = np.flatnonzero(kept)
        along = cloud.points[places, axis].astype(np.float64)
        split = find_split(along, weights[places], choices=cloud.dimension)
        if split is None or not split.certain:
            continue
        leaving = places[split.minority]
        if weights[kept].sum() - weights[leaving].sum() >= least:
            amounts = np.abs(along - split.center)[split.minority] / max(split.spread, 1e-6)
            kept[leaving] = False
            reasons |= {int(k): Reason(True, float(amount)) for k, amount in zip(leaving, amounts, strict=True)}
    return int(kept.sum()) < before


def _largest(values: Array, number: int) -> Places:
    """Give the places of the largest values, in their order; most of what a sort of all would do is not needed."""
    rank = max(len(values) - number, 0)
    places = np.flatnonzero(values >= np.partition(values, rank)[rank])
    return np.asarray(places[np.argsort(-values[places], kind="stable")][:number])


class _View(NamedTuple):
    """What stands apart along the leading directions: which, by how many spreads, and whether more may."""

    leaving: Mask
    deviations: Array
    groups: bool  # whether those that leave are a group of their own
    weighing: Weighing
    directions: Array
    even: bool = False  # whether the points vary alike along all of them


def _look(cloud: Cloud, weights: Array, center: Array, kept: Mask, block: Array, separation: float) -> _View | None:
    """Look along the directions in which the kept points vary most."""
    inner, all_squares = weights[kept], np.where(kept, cloud.squared_distances(center), 0.0)
    squares = all_squares[kept]
    typical = weighted_median(squares, inner)
    if typical == 0:
        return None
    quality = fit_quality(squares, inner, effective_dimensions(cloud, center, all_squares, weights))
    # In units of its own spread no far point is a direction of its own; a group is.
    units = np.zeros(len(weights))
    units[kept] = np.sqrt(inner / inner.sum() / quality.variances(squares))
    directions, offsets, sizes = _leading(cloud, center, units, block)
    projections = np.ascontiguousarray(offsets[kept].T)
    smallest = 1e-6 * np.sqrt(typical)
    total = float(weights.sum())
    doubtful = False
    # Groups first: where there are two, the core of a direction that does not part them can be the smaller one.
    for along in projections:
        split = find_split(along, inner, separation)
        if split is not None and split.certain:
            return _View(
                split.minority,
                np.abs(along - split.center) / max(split.spread, smallest),
                True,
                quality_weights,
                directions,
            )
        doubtful |= split is not None
    deviations = np.zeros(len(inner))
    leaving = np.zeros(len(inner), dtype=bool)
    for along in projections:
        values = _in_own_spreads(along, squares, inner, quality)
        core = find_core(values, inner)
        far = np.abs(values - core.center) / max(core.spread, smallest)
        cut = find_cut(far, inner)
        if cut is None or inner[far <= cut].sum() < 0.5 * total:
            # A core of less than half is no majority: that of many identical points, for instance.
            continue
        leaving |= far > cut
        deviations = np.maximum(deviations, far)
    alike = equal_weights if np.isinf(quality.degrees) else quality_weights
    even = cloud.dimension >= _MANY and float(sizes[-1]) > _EVEN * float(sizes[0])
    return _View(leaving, deviations, False, median_weights if doubtful else alike, directions, even)


def _in_own_spreads(along: Array, squares: Array, weights: Array, quality: Quality) -> Array:
    """Give offsets along a direction over each point's own spread, judged by its distance without that direction.

    A poor estimate may lie as far off as its quality says, one that is biased in this direction may not. Of a few
    dimensions alone little can be judged.
    """
    if quality.dimensions < 2 or np.isinf(quality.degrees):
        return along
    across = np.maximum(squares - np.square(along), 0.0)
    dimensions = quality.dimensions - 1
    cautious = Quality(max(quality.degrees, 30 / dimensions), weighted_median(across, weights), dimensions)
    return np.asarray(along / np.sqrt(cautious.variances(across)))


def _leading(cloud: Cloud, center: Array, units: Array, block: Array) -> tuple[Array, Array, Array]:
    """Give leading right singular directions of the offsets times units, the offsets along them, singular values.

    By subspace iteration from the last directions found, and always of all points: those from which alone a direction
    was found would stand apart along it.
    """
    basis, before = block, 0.0
    squares = np.square(units).astype(block.dtype)[:, None]
    for _ in range(7):
        basis, triangle = np.linalg.qr(cloud.across(squares * cloud.along(basis, center), center))
        size = float(np.abs(np.diag(triangle)).sum())
        if abs(size - before) < 0.03 * size:
            break
        before = size
    offsets = cloud.along(basis, center).astype(np.float64)
    _, sizes, turned = linalg.svd(units[:, None] * offsets, full_matrices=False)
    return np.asarray(basis @ turned.T.astype(basis.dtype)), np.asarray(offsets @ turned.T), np.asarray(sizes)


def _first_block(dimension: int) -> Array:
    rng = np.random.default_rng(0)
    width = min(dimension, _DIRECTIONS)
    return (
        np.eye(dimension, dtype=np.float32)
        if dimension == width
        else rng.normal(size=(dimension, width)).astype(np.float32)
    )


def _fewer_coordinates(cloud: Cloud, center: Array, kept: Mask) -> tuple[Cloud, Array]:
    """Where coordinates outnumber points, go over to coordinates in their span; distances stay."""
    count = len(cloud.points)
    if cloud.dimension <= 2 * count:
        return cloud, center
    offsets = np.where(kept[:, None], cloud.points - center, 0)
    values, vectors = linalg.eigh((offsets @ offsets.T).astype(np.float64))
    coordinates = vectors * np.sqrt(np.maximum(values, 0.0))
    return Cloud.of(coordinates.astype(center.dtype)), np.zeros(count, center.dtype)
