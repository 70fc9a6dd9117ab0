"""When the answer is good enough: a bound on its relative error, from how much the batches differ.

The answer is about the mean of K estimates whose differences show their common covariance S. Its squared error is then
a sum of squares with mean trace(S) / K and, by the first two moments (Box), about as many degrees of freedom as the
spread effectively has dimensions, trace(S)^2 / trace(S^2). The trace is itself estimated: hence a quantile of F.

Who looks again and again stops where the spread happens to look small. That is the only luck there is: the differences
of normal estimates tell nothing about the error of their mean, so that no look is chosen for its small error. The looks
are few (the number of batches grows by a quarter from one to the next), and each has a confidence of 97%. Simulated for
1 to 100 dimensions, wherever the stop may fall, all looks together then keep more than 95%. To share the 5% among the
looks, as if their errors were chosen, would take up to four times as many rows.

A bias that all batches share cannot be seen in their differences.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import fdtri

from robustream.runs.run import Run
from robustream.spaces import Array, LinearModels, MomentModels, PrincipalModels, ProductSpace
from robustream.spaces.factored import Subspace

__all__ = ["FEWEST_BATCHES", "STOPPING_CONFIDENCE", "error_bound", "is_look"]

FEWEST_BATCHES = 16
# What a look must have for all looks together to have 95%.
STOPPING_CONFIDENCE = 0.97
_FIRST_LOOK = 4
_GROWTH = 1.25
_ALPHA = 0.05


def is_look(batches: int) -> bool:
    """Tell whether the answer is looked at after that many batches."""
    if batches < _FIRST_LOOK:
        return False
    return math.floor(_step_of(batches)) > math.floor(_step_of(batches - 1))


def error_bound(run: Run, confidence: float = 1 - _ALPHA) -> float:
    """Return what the relative error of the answer exceeds only with a chance of 1 - confidence.

    The error of coefficients is relative to their length; that of a subspace is the distance of the projectors relative
    to their norm. It is infinite where the estimates are not kept, or are too few to show a spread.
    """
    if len(run.believed) < 2:
        return math.inf
    trace = square = size = 0.0
    fewest = math.inf
    for spread in _spreads(run):
        count = len(spread.coordinates)
        if count < 2:
            return math.inf
        centered = spread.coordinates - spread.coordinates.mean(axis=0)
        gram = centered @ centered.T
        trace += float(np.trace(gram)) / (count - 1) / count
        # Products of different estimates only: the squares of each with itself would make the spread look narrow.
        off_diagonal = float(np.square(gram).sum() - np.square(np.diag(gram)).sum())
        square += off_diagonal / (count * (count - 1)) / count**2
        size += spread.squared_size
        fewest = min(fewest, count)
    if not size > 0:
        return 0.0 if trace == 0 else math.inf
    dimension = max(1.0, trace**2 / square) if square > 0 else 1.0
    factor = run.plan.aggregator.variance_factor(dimension)
    quantile = float(fdtri(dimension, dimension * (fewest - 1), confidence))
    return math.sqrt(trace * factor * quantile / size)


class _Spread(NamedTuple):
    coordinates: Array  # estimates x coordinates, all distances kept
    squared_size: float  # of the answer that they are estimates of


def _spreads(run: Run) -> list[_Spread]:
    """Return the estimates of what the answer is made of."""
    space, points, value = run.space, run.believed, run.value
    if isinstance(space, (LinearModels, MomentModels)):
        coef = run.answer.coef
        each = space.coefficients_of(points, value)
        return [_Spread(each.reshape(len(each), -1).astype(np.float64), float(np.square(coef, dtype=np.float64).sum()))]
    if isinstance(space, PrincipalModels):
        return [_spread_of_part(space, space.primary, run)]
    return [_spread_of_part(space, place, run) for place, part in enumerate(space.parts) if part.role == "answer"]


def _spread_of_part(space: ProductSpace, place: int, run: Run) -> _Spread:
    settled = run.value[place]
    expressed = [space.express(place, point, run.value) for point in run.believed]
    present = [part for part in expressed if part is not None]
    if settled is None or not present:
        return _Spread(np.empty((0, 0)), 0.0)
    part = space.parts[place].space
    # The squared norm of a projector is its rank.
    size = settled.shape[1] if isinstance(part, Subspace) else np.square(settled, dtype=np.float64).sum()
    return _Spread(part.coordinates(present).astype(np.float64), float(size))


def _step_of(batches: int) -> float:
    return math.log(batches / _FIRST_LOOK, _GROWTH) if batches > 0 else -1.0
