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
FEWEST = 20  # values; fewer show no valley
BANDWIDTH = 0.15  # of densities, in units of the shortest half's scale
DEPTH = 0.6  # a valley's density must be below this share of the lower hill's


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


def valley(values: Array) -> Cut:
    """The deepest valley of one sample, and the side of it that holds the majority."""
    return strongest_valley(values[:, None])[1]


def strongest_valley(samples: Array, keep: int = 0) -> tuple[int, Cut]:
    """The column with the most evident valley that leaves at least keep values in its majority, and that valley.

    All columns are searched at once: of many short samples most time would go into the calls.
    """
    ordered = np.sort(samples.T, axis=1)
    if len(samples) < FEWEST:
        return 0, NO_CUT
    smooth, bins = _densities(ordered)
    strength = _valley_strength(smooth)
    deepest = np.argmax(strength, axis=1)
    height = strength[np.arange(len(ordered)), deepest]
    for column in np.argsort(-height, kind="stable"):
        if not height[column] > 0:
            break
        # The middle of a flat bottom leaves both groups whole.
        first, last = _run(smooth[column] <= smooth[column, deepest[column]] + 0.5, int(deepest[column]))
        threshold = float(bins.value(0.5 * (first + last) + 0.5)[column])
        below = int(np.searchsorted(ordered[column], threshold, side="right"))
        if max(below, len(samples) - below) >= keep:
            evidence = float(height[column])
            majority_below = 2 * below >= len(samples)
            return int(column), Cut(evidence, *((-np.inf, threshold) if majority_below else (threshold, np.inf)))
    return 0, NO_CUT


class _Bins(NamedTuple):
    """N_BINS bins for each of several samples, equal in asinh units; the first and the last one stay empty.

    In asinh units a power tail falls like an exponential and a log-normal one like a normal, both without a second
    hill, while a foreign group that is merely wider shows one on each side.
    """

    centre: Array
    scale: Array
    low: Array
    step: Array

    def value(self, place: float | Array) -> Array:
        """Give the value at a place, counted in bins, of each sample."""
        return self.centre + self.scale * np.sinh(self.low + (place - 1) * self.step)


def _densities(ordered: Array) -> tuple[Array, _Bins]:
    """Smoothed counts of each sorted sample (rows); all 0 for one without spread."""
    n = ordered.shape[1]
    centre, scale = (side.astype(np.float64) for side in shortest_half_of_sorted(ordered.T))
    some = np.flatnonzero(scale > 0)
    scale[scale <= 0] = 1.0
    low, high = (np.arcsinh(np.clip((ordered[:, end] - centre) / scale, -1e6, 1e6)) for end in (0, -1))
    step = np.maximum((high - low) / (N_BINS - 3), 1e-12)
    bins = _Bins(centre, scale, low, step)
    edges = bins.value(np.arange(2.0, N_BINS - 1.0)[:, None]).T.astype(ordered.dtype)
    below = np.zeros((len(ordered), N_BINS - 1))
    for row in some:
        below[row, 1:-1] = np.searchsorted(ordered[row], edges[row])
        below[row, -1] = n
    counts = np.zeros((len(ordered), N_BINS))
    counts[:, 1:-1] = np.diff(below, axis=1)
    # Convolution with a normal kernel of peak 1 / sqrt(2), a multiplication after Fourier's transform: the smoothed
    # density is the number of rows within a window of effective width.
    width = np.maximum(BANDWIDTH / step, 0.5)[:, None]
    frequency = 2 * np.pi * np.fft.rfftfreq(2 * N_BINS)
    kernel = width * np.sqrt(np.pi) * np.exp(-0.5 * np.square(width * frequency))
    smooth = np.fft.irfft(np.fft.rfft(counts, 2 * N_BINS, axis=1) * kernel, axis=1)[:, :N_BINS]
    return np.maximum(smooth, 0.0), bins


def _valley_strength(smooth: Array) -> Array:
    """Evidence of a valley at each place of densities: a z score against the lower of the hills on its sides."""
    left = np.maximum.accumulate(smooth, axis=1)
    right = np.maximum.accumulate(smooth[:, ::-1], axis=1)[:, ::-1]
    hill = np.minimum(left, right)
    strength = np.sqrt(2.0) * (np.sqrt(hill) - np.sqrt(smooth))
    return np.where(smooth <= DEPTH * hill, strength, 0.0)


def _run(members: NDArray[np.bool_], start: int) -> tuple[int, int]:
    """First and last place of the run of members around start."""
    strangers = np.flatnonzero(~members)
    after = int(np.searchsorted(strangers, start))
    low = int(strangers[after - 1]) + 1 if after else 0
    return low, (int(strangers[after]) if after < len(strangers) else len(members)) - 1
