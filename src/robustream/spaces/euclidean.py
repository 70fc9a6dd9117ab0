"""Vectors, matrices and numbers with the ordinary distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.threads import run_tiles
from robustream.spaces.base import Array, Points, Space

__all__ = ["Euclidean"]

_AT_ONCE = 1 << 20  # numbers that are mixed at a time


@dataclass(frozen=True)
class Euclidean(Space):
    """Arrays of one shape; a shape of None leaves it to the first point that arrives.

    >>> plane = Euclidean((2,))
    >>> plane.distances(np.array([0.0, 0.0]), [np.array([3.0, 4.0])])
    array([5.])
    """

    has_units: ClassVar[bool] = True

    shape: tuple[int, ...] | None = None

    def why_not(self, point: Array) -> str | None:
        if self.shape is not None and point.shape != self.shape:
            return f"has shape {point.shape} where {self.shape} was needed"
        return None if np.isfinite(point).all() else "has values that are not finite"

    def coordinates(self, points: Points) -> Array:
        if isinstance(points, np.ndarray) or is_device_array(points):  # they lie side by side already
            return cast(Array, points).reshape(len(points), -1).astype(np.float64, copy=False)
        return np.stack([np.asarray(point, dtype=np.float64).ravel() for point in points])

    def origin(self, like: Array) -> Array:
        return np.zeros_like(like)

    def mix(self, mixtures: Points, weights: Array) -> Array:
        total = np.empty(mixtures[0].size)
        if isinstance(mixtures, np.ndarray):
            rows = mixtures.reshape(len(mixtures), -1)

            def add(block: slice) -> None:
                total[block] = np.einsum("i,ij->j", weights, rows[:, block])
        else:
            flat = [mixture.ravel() for mixture in mixtures]

            def add(block: slice) -> None:
                total[block] = np.einsum("i,ij->j", weights, np.stack([mixture[block] for mixture in flat]))

        # A few numbers of all points at a time, so that no copy of the points as a whole is made; not by BLAS, whose
        # own threads would get in the way of these.
        step = max(1, _AT_ONCE // len(mixtures))
        if len(total) <= step:
            add(slice(0, len(total)))
        else:
            run_tiles(add, [slice(start, start + step) for start in range(0, len(total), step)])
        return total.reshape(mixtures[0].shape).astype(mixtures[0].dtype, copy=False)

    def distances(self, mixture: Array, points: Points) -> Array:
        difference = self.coordinates(points) - np.asarray(mixture, dtype=np.float64).ravel()
        return _row_norms(difference)

    def project(self, mixture: Array) -> Array:
        return mixture

    def entries(self, points: Points, rows: slice) -> Array:
        return np.stack([np.atleast_1d(point)[rows] for point in points])

    def entry_rows(self, like: Array) -> int:
        return int(np.atleast_1d(like).shape[0])

    def from_entries(self, entries: Array, like: Array) -> Array:
        return entries.reshape(like.shape).astype(like.dtype, copy=False)


def _row_norms(rows: Array) -> Array:
    """Norms that neither overflow nor vanish: the largest entry of each row is taken out first."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(np.square(rows / unit[:, None]).sum(axis=1))
