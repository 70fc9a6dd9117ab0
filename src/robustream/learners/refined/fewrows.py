"""Foreign rows of a table so small that no valley can be told from chance.

A subset of the rows that lies close together is searched for, and a group beyond a jump in the distances from it is
foreign if the jump is larger than any that the same search finds in noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robustream.spaces import Array

__all__ = ["far_group"]

Mask = NDArray[np.bool_]

MOST_ROWS, MOST_COLUMNS = 50, 8
N_SUBSETS = 200
NOISE_SEARCHES = 5
NOISE_JUMP = 1.25  # times the largest jump in noise
KEEP_AT_LEAST = 0.6
SMALLEST_GROUP = 3  # rows; one or two far ones are a long tail


def far_group(U: Array, rng: np.random.Generator) -> Mask:
    """Mark the rows of a foreign group, none where there is no evidence of one or other means are better."""
    n, k = U.shape
    nobody = np.zeros(n, bool)
    if n > MOST_ROWS or not 1 <= k <= MOST_COLUMNS or n < 4 * (k + 1):
        return nobody
    distance = close_distances(U.astype(np.float64), rng)
    jump, limit = _largest_jump(distance)
    noise = (rng.standard_normal((n, k)) for _ in range(NOISE_SEARCHES))
    if any(jump <= NOISE_JUMP * _largest_jump(close_distances(rows, rng))[0] for rows in noise):
        return nobody
    return distance >= limit


def close_distances(U: Array, rng: np.random.Generator) -> Array:
    """Distance of each row from the closest half, by its own scatter: the best of many random starts."""
    n, k = U.shape
    half = n // 2 + 1
    each = n // (k + 1)
    starts = [rng.permutation(n)[: each * (k + 1)] for _ in range(-(-N_SUBSETS // each))]
    rows = np.concatenate(starts).reshape(-1, k + 1)
    for _ in range(4):
        chosen = U[rows]
        centre = chosen.mean(axis=1, keepdims=True)
        centred = chosen - centre
        scatter = centred.transpose(0, 2, 1) @ centred / len(rows[0])
        scatter += (1e-6 * np.trace(scatter, axis1=1, axis2=2)[:, None, None] + 1e-12) * np.eye(k)
        all_centred = U - centre
        squared = np.sum((all_centred @ np.linalg.inv(scatter)) * all_centred, axis=2)
        rows = np.argpartition(squared, half - 1, axis=1)[:, :half]
    best = np.argmin(np.linalg.slogdet(scatter)[1])
    return np.cbrt(squared[best])


def _largest_jump(distance: Array) -> tuple[float, float]:
    """The largest ratio of neighbouring distances that parts a group, and where the group begins."""
    ordered = np.sort(distance)
    first, last = int(np.ceil(KEEP_AT_LEAST * len(ordered))), len(ordered) - SMALLEST_GROUP
    jumps = ordered[first : last + 1] / ordered[first - 1 : last]
    place = int(np.argmax(jumps))
    return float(jumps[place]), float(ordered[first + place])
