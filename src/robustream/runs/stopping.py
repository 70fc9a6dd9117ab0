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

import numpy as np
from scipy.special import fdtri

from robustream.runs.run import Run

__all__ = ["FEWEST_BATCHES", "STOPPING_CONFIDENCE", "error_bound", "is_look"]

FEWEST_BATCHES = 16
# What a look must have for all looks together to have 95%.
STOPPING_CONFIDENCE = 0.97
_FIRST_LOOK = 4
_GROWTH = 1.25
_ALPHA = 0.05


def is_look(batches: int) -> bool:
    """Return whether the answer is looked at after that many batches."""
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
    for quantity in run.quantities:
        count = len(quantity.points)
        if count < 2 or quantity.value is None:
            return math.inf
        coordinates = quantity.space.coordinates(quantity.points).astype(np.float64)
        centered = coordinates - coordinates.mean(axis=0)
        own = np.square(centered).sum(axis=1)
        trace += float(own.sum()) / (count - 1) / count
        # Products of different estimates only: the squares of each with itself would make the spread look narrow. Of
        # the products of rows and of columns the smaller matrix has the same sum of squares.
        gram = centered @ centered.T if count < centered.shape[1] else centered.T @ centered
        off_diagonal = float(np.square(gram).sum() - np.square(own).sum())
        square += off_diagonal / (count * (count - 1)) / count**2
        size += quantity.space.squared_size(quantity.value)
        fewest = min(fewest, count)
    if not size > 0:
        return 0.0 if trace == 0 else math.inf
    dimension = max(1.0, trace**2 / square) if square > 0 else 1.0
    factor = run.plan.aggregator.variance_factor(dimension)
    quantile = float(fdtri(dimension, dimension * (fewest - 1), confidence))
    return math.sqrt(trace * factor * quantile / size)


def _step_of(batches: int) -> float:
    return math.log(batches / _FIRST_LOOK, _GROWTH) if batches > 0 else -1.0
