"""Points that are repeated exactly: a file read twice, a node that answers from its cache, or bad nodes that agree.

Repeated bad points are the worst case for everything that looks for where points are dense: 45% of all in one place
are a denser core than the other 55%. So the others, if they are the majority, are asked first, each of them once.
"""

from __future__ import annotations

import numpy as np

from robustream.aggregators.core import Mask, Places, find_core, loosest_cut
from robustream.spaces import Array

__all__ = ["once_each", "repeated_groups", "too_far"]

_FEWEST = 3
# Spreads of the others' distances; far less than for one point among many, since one draw stands for many points.
_CUT = 3.5


def repeated_groups(points: Array, sums: Array, kept: Mask) -> list[Places]:
    """Give the places of the kept points that occur at least three times, one array for each such point.

    `sums` are equal, to the last digit, for points that are: their sums or lengths. One that overflows is found equal
    to none.
    """
    places = np.flatnonzero(kept)
    with np.errstate(over="ignore", invalid="ignore"):
        order = places[np.argsort(sums[places], kind="stable")]
        borders = np.flatnonzero(np.diff(sums[order])) + 1
    starts, ends = np.append(0, borders), np.append(borders, len(order))
    groups = []
    for run in np.flatnonzero(ends - starts >= _FEWEST):
        left = order[starts[run] : ends[run]]
        while len(left) >= _FEWEST:
            same = (points[left] == points[left[0]]).all(axis=1)
            if same.sum() >= _FEWEST:
                groups.append(np.sort(left[same]))
            left = left[~same]
    return groups


def once_each(points: Array, sums: Array, weights: Array, kept: Mask) -> Mask:
    """Mark the kept points, repeated ones once, unless those that are not repeated are a minority."""
    groups = repeated_groups(points, sums, kept)
    single = kept.copy()
    for group in groups:
        single[group] = False
    if not groups or weights[single].sum() < 0.5 * weights.sum():
        return kept
    single[[group[0] for group in groups]] = True
    return single


def too_far(distance: float, others: Array, weights: Array) -> bool:
    """Tell whether a repeated point lies farther from the centre of the others than these do."""
    core = find_core(others, weights)
    return distance > core.center + max(_CUT, loosest_cut(len(others)) - 2) * core.spread
