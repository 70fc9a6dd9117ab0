"""Estimates that are copies of one another, number for number: they tell one thing, however often it is said.

A file that is read under several names, a node that answers from its cache and a sensor that hangs give the same
estimate again and again. Counted fully, 40% of such copies would have the error of a single batch at 40% weight.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from robustream.aggregators.core import Places
from robustream.batch import Estimate
from robustream.spaces import Array, Point

__all__ = ["count_copies_once"]


def count_copies_once(estimates: Sequence[Estimate], weights: Array) -> Array:
    """Give weights with which the copies of an estimate count together as much as the heaviest of them.

    Unless repetition is the nature of the estimates: one that most agree on to the last digit wins, and where hardly
    any occurs once only, as with whole numbers, all count.

    >>> points = np.array([[1.0, 2.0], [1.0, 2.0], [0.9, 2.0], [1.1, 2.0], [1.1, 2.1]])
    >>> count_copies_once([Estimate(k, "", 9, (point,)) for k, point in enumerate(points)], np.ones(5))
    array([0.5, 0.5, 1. , 1. , 1. ])
    """
    groups = _groups(estimates)
    if not groups:
        return weights
    total = float(weights.sum())
    shares = [float(weights[group].sum()) / total for group in groups]
    if max(shares) > 0.5 * (1 + 1e-9) or sum(shares) > 0.75:
        return weights
    once = weights.copy()
    for group in groups:
        once[group] *= weights[group].max() / weights[group].sum()
    return once


def _groups(estimates: Sequence[Estimate]) -> list[Places]:
    """Give the places of estimates that occur at least twice, an array for each."""
    points = [estimate.point or () for estimate in estimates]
    if not points:
        return []
    # Parts that only some batches are asked for, as their own variances, say nothing about copies.
    shared = [place for place in range(len(points[0])) if all(point[place] is not None for point in points)]
    if not shared:
        return []
    groups = [list(range(len(points)))]
    # The first number tells nearly all apart, that of each part most of the others; few are compared as a whole.
    for places, key in ((shared[:1], _first_numbers), (shared, _first_numbers), (shared, _all_numbers)):
        groups = [alike for group in groups for alike in _alike(points, group, places, key)]
    return [np.array(group) for group in groups]


def _alike(
    points: Sequence[Point], members: list[int], parts: list[int], key: Callable[[Point, list[int]], Hashable]
) -> list[list[int]]:
    """Give the groups of at least two members whose points have the same key in some of their parts."""
    keys = [key(points[member], parts) for member in members]
    if len(set(keys)) == len(keys):
        # The usual case. A list for each would wake the garbage collector, which costs more than all this.
        return []
    found: dict[Hashable, list[int]] = {}
    for member, its_key in zip(members, keys, strict=True):
        found.setdefault(its_key, []).append(member)
    return [group for group in found.values() if len(group) > 1]


def _first_numbers(point: Point, parts: list[int]) -> Hashable:
    if len(parts) == 1:  # a number, where a tuple for each would wake the garbage collector as well
        return _first_number(point[parts[0]])
    return tuple(_first_number(point[part]) for part in parts)


def _first_number(part: Array | None) -> float | None:
    return None if part is None or not part.size else float(part.item(0))


def _all_numbers(point: Point, parts: list[int]) -> Hashable:
    return tuple(None if (part := point[place]) is None else part.tobytes() for place in parts)
