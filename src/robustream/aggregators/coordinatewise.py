"""Statistics taken coordinate by coordinate: cheap, robust in each coordinate, blind to what they do together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import floor
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from robustream.aggregators.retaining import Retaining, Settled
from robustream.errors import InvalidInputError
from robustream.spaces import Array, Space

__all__ = ["CoordinateMedian", "TrimmedMean", "weighted_medians"]

# Numbers worked on at a time (32 MB), so that projectors of many columns never stand all in memory.
_CHUNK = 4_000_000


class _Coordinatewise(Retaining):
    """Applies a one-dimensional statistic to the entries of the points, in slices."""

    @abstractmethod
    def statistic(self, entries: Array, weights: Array) -> Array:
        """Give the statistic over the first axis."""

    def settle(self, space: Space, points: Sequence[Array], weights: Array) -> Settled:
        """Work through the entries slice by slice."""
        rows = space.entry_rows(points[0])
        row_size = space.entries(points[:1], slice(0, 1)).size if rows else 1
        step = max(1, _CHUNK // max(1, row_size * len(points)))
        slices = [
            self.statistic(space.entries(points, slice(start, start + step)), weights) for start in range(0, rows, step)
        ]
        entries = np.concatenate(slices) if slices else np.zeros(points[0].shape)
        return Settled(space.from_entries(entries, points[0]), weights / weights.sum())


def weighted_medians(entries: Array, weights: Array) -> Array:
    """Return the weighted median of each column: the middle of the values at which half of the weight is reached."""
    if np.ptp(weights) == 0:
        return np.asarray(np.median(entries, axis=0))
    order = np.argsort(entries, axis=0)
    ordered = np.take_along_axis(entries, order, axis=0)
    cumulative = np.cumsum(weights[order], axis=0) / weights.sum()
    lower = (cumulative < 0.5).sum(axis=0, keepdims=True)
    upper = np.minimum((cumulative <= 0.5).sum(axis=0, keepdims=True), len(weights) - 1)
    middle = np.take_along_axis(ordered, lower, axis=0) + np.take_along_axis(ordered, upper, axis=0)
    return np.asarray(middle[0] / 2)


class CoordinateMedian(_Coordinatewise):
    """The (weighted) median of each coordinate."""

    name: ClassVar[str] = "coordinate-median"

    def statistic(self, entries: Array, weights: Array) -> Array:
        """Give the weighted median of each coordinate."""
        return weighted_medians(entries, weights)

    def variance_factor(self, dimension: float) -> float:
        """Give pi / 2, the price of the median for normal estimates."""
        return float(np.pi / 2)


class TrimmedMean(_Coordinatewise):
    """The mean of each coordinate without a share of the smallest and of the largest values.

    Parameters
    ----------
    trim : float, default=0.45
        The share dropped on each side, in [0, 0.5): up to that share of the batches may be bad.
    budget : int or str, default="256 MB"
        How many estimates to keep.
    """

    name: ClassVar[str] = "trimmed-mean"

    def __init__(self, trim: float = 0.45, budget: int | str = "256 MB") -> None:
        super().__init__(budget)
        if not 0 <= trim < 0.5:
            raise InvalidInputError(f"trim must lie in [0, 0.5) on each side, got {trim!r}")
        self.trim = trim

    def statistic(self, entries: Array, weights: Array) -> Array:
        """Give the mean of the values whose cumulative weight lies between the trimmed tails."""
        if np.ptp(weights) == 0:
            dropped = floor(self.trim * len(entries))
            ordered = np.sort(entries, axis=0)
            return np.asarray(ordered[dropped : len(entries) - dropped].mean(axis=0))
        order = np.argsort(entries, axis=0)
        upper = np.cumsum(weights[order], axis=0) / weights.sum()
        lower = upper - weights[order] / weights.sum()
        share = np.clip(np.minimum(upper, 1 - self.trim) - np.maximum(lower, self.trim), 0, None)
        ordered = np.take_along_axis(entries, order, axis=0)
        return np.asarray((share * ordered).sum(axis=0) / share.sum(axis=0))

    def variance_factor(self, dimension: float) -> float:
        """Give the asymptotic variance of the trimmed mean for normal estimates."""
        if self.trim == 0:
            return 1.0
        cut = float(ndtri(1 - self.trim))
        inside = (1 - 2 * self.trim) - 2 * cut * np.exp(-(cut**2) / 2) / np.sqrt(2 * np.pi)
        return float((inside + 2 * self.trim * cut**2) / (1 - 2 * self.trim) ** 2)
