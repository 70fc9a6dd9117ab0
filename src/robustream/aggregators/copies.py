"""Estimates that are copies of one another, number for number: they tell one thing, however often it is said.

A file that is read under several names, a node that answers from its cache and a sensor that hangs give the same
estimate again and again. Counted fully, 40% of such copies would have the error of a single batch at 40% weight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np

from robustream.aggregators.core import Places
from robustream.batch import Estimate
from robustream.spaces import Array

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
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for place, estimate in enumerate(estimates):
        # The first number of each part tells nearly all apart; only the others are compared as a whole.
        alike[tuple(part.item(0) for part in estimate.point or () if part is not None and part.size)].append(place)
    groups: list[Places] = []
    for candidates in alike.values():
        if len(candidates) == 1:
            continue
        same: dict[Hashable, list[int]] = defaultdict(list)
        for place in candidates:
            point = estimates[place].point or ()
            same[tuple(None if part is None else part.tobytes() for part in point)].append(place)
        groups += [np.array(group) for group in same.values() if len(group) > 1]
    return groups
