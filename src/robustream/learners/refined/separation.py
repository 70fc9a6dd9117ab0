"""One-dimensional questions: where is the majority, and is a foreign group cut off from it?

A long tail alone is no evidence: counts, log-normal and t columns have one. A valley in the density with a
second hill behind it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.spaces import Array

N_BINS = 256


class Cut(NamedTuple):
    """The majority lies in (low, high]; strength is a z score of the valley that separates the rest."""

    strength: float
    low: float
    high: float


NO_CUT = Cut(0.0, -np.inf, np.inf)


def shortest_half(columns: Array) -> tuple[Array, Array]:
    """Centre and normal-consistent scale of the shortest half of each column."""
    return shortest_half_of_sorted(np.sort(columns, axis=0))


def shortest_half_of_sorted(ordered: Array) -> tuple[Array, Array]:
    """Do the same for columns that are sorted already."""
    n = len(ordered)
    half = n // 2
    width = ordered[half:] - ordered[: n - half]
    first = np.argmin(width, axis=0)
    index = np.arange(ordered.shape[1])
    low, high = ordered[first, index], ordered[first + half, index]
    return (low + high) / 2, (high - low) / 1.349


def core(columns: Array, n_steps: int = 12) -> tuple[Array, Array]:
    """Centre and spread of each column's majority; 40% of outliers do not inflate them.

    The weight exp(-z^2 / 2) halves the variance of a normal sample, hence the factor 2.
    """
    centre, scale = shortest_half(columns)
    floor = 1e-3 * scale + 1e-100
    for _ in range(n_steps):
        deviation = columns - centre
        weight = np.exp(-0.5 * np.minimum(np.abs(deviation / np.maximum(scale, floor)), 30.0) ** 2)
        total = weight.sum(axis=0)
        shift = (weight * deviation).sum(axis=0) / total
        scale = np.sqrt(2 * (weight * (deviation - shift) ** 2).sum(axis=0) / total)
        centre = centre + shift
    return centre, np.maximum(scale, floor)


def valley(values: Array, bandwidth: float = 0.15, depth: float = 0.6) -> Cut:
    """The deepest valley of one sample, and the side of it that holds the majority.

    Parameters
    ----------
    values : sample of one variable
    bandwidth : of the density, in units of the shortest half's scale
    depth : the valley's density must be below this share of the lower hill's
    """
    n = len(values)
    centre, scale = shortest_half(values[:, None])
    if not scale[0] > 0 or n < 20:
        return NO_CUT
    # In asinh units a power tail falls like an exponential and a log-normal one like a normal, both without
    # a second hill, while a foreign group that is merely wider shows one on each side.
    spread = np.arcsinh(np.clip((values - centre[0]) / scale[0], -1e6, 1e6))
    low = spread.min()
    step = (spread.max() - low) / (N_BINS - 3)
    position = np.floor((spread - low) / step).astype(np.intp) + 1
    counts = np.bincount(position, minlength=N_BINS).astype(float)
    h = max(bandwidth / step, 0.5)
    reach = int(min(np.ceil(4 * h), N_BINS))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / h) ** 2)
    # With peak 1 the smoothed density is the number of rows within a window of effective width.
    smooth = np.convolve(counts, kernel / np.sqrt(2.0))[reach : reach + N_BINS]
    hill_left = np.maximum.accumulate(smooth)
    hill_right = np.maximum.accumulate(smooth[::-1])[::-1]
    hill = np.minimum(hill_left, hill_right)
    strength = np.sqrt(2.0) * (np.sqrt(hill) - np.sqrt(smooth))
    strength[smooth > depth * hill] = 0.0
    best = int(np.argmax(strength))
    if strength[best] <= 0:
        return NO_CUT
    # The middle of a flat bottom leaves both groups whole.
    flat = np.flatnonzero(smooth <= smooth[best] + 0.5)
    flat = flat[(flat >= best - _run(flat, best, -1)) & (flat <= best + _run(flat, best, 1))]
    middle = 0.5 * (flat[0] + flat[-1])
    threshold = centre[0] + scale[0] * np.sinh(low + (middle - 0.5) * step)
    if np.mean(values <= threshold) >= 0.5:
        return Cut(float(strength[best]), -np.inf, float(threshold))
    return Cut(float(strength[best]), float(threshold), np.inf)


def _run(sorted_index: NDArray[np.intp], start: int, direction: int) -> int:
    """Length of the run of consecutive integers that leaves start in one direction."""
    members = set(sorted_index.tolist())
    length = 0
    while start + direction * (length + 1) in members:
        length += 1
    return length
