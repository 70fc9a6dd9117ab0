"""Points side by side in a common unit, and the few passes over all of them that the filter is made of.

Whatever is looked for, each pass reads the points once, as they lie: those that are out of play have no weight, and
a centre is taken off the result. Copies of a thousand points would cost more than all that is worked out from them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robustream.kernels.device_arrays import is_device_array
from robustream.spaces import Array

__all__ = ["Cloud"]

_BLOCK = 60_000  # numbers worked on at a time, so that what is written is still at hand when it is read


class Cloud(NamedTuple):
    """Points as rows, in single precision, centred near their middle, with their squared lengths."""

    points: Array
    norms: Array

    @classmethod
    def of(cls, points: Array) -> Cloud:
        """Take points as they are.

        >>> Cloud.of(np.array([[3.0, 4.0]], dtype=np.float32)).norms
        array([25.])
        """
        # In single precision, to about a millionth, but much faster.
        return cls(points, np.einsum("ij,ij->i", points, points).astype(np.float64))

    @classmethod
    def in_spreads(cls, raw: Array, center: Array, spread: Array, farthest: float) -> Cloud:
        """Take points from their centre in units of the spread of each coordinate, brought in to the farthest."""
        points = np.empty_like(raw, dtype=np.float32)
        norms = np.empty(len(raw))
        units = 1 / np.maximum(spread, 1e-300)
        step = _rows_at_once(raw)
        with np.errstate(over="ignore"):
            for start in range(0, len(raw), step):
                block = points[start : start + step]
                block[:] = (raw[start : start + step] - center) * units
                np.clip(block, -farthest, farthest, out=block)
                norms[start : start + step] = np.einsum("ij,ij->i", block, block)
        return cls(points, norms)

    @property
    def dimension(self) -> int:
        """Give the number of coordinates."""
        return int(self.points.shape[1])

    def mean(self, weights: Array) -> Array:
        """Give the weighted mean."""
        return np.asarray((weights / weights.sum()).astype(self.points.dtype) @ self.points)

    def squared_distances(self, center: Array) -> Array:
        """Give squared distances to a centre in the midst of the points, so that little cancels."""
        along = (self.points @ center).astype(np.float64)
        return np.maximum(self.norms - 2 * along + float(np.dot(center, center)), 0.0)

    def distances(self, center: Array) -> Array:
        """Give the distances to a centre in the midst of the points."""
        return np.sqrt(self.squared_distances(center))

    def along(self, directions: Array, center: Array) -> Array:
        """Give the offsets from a centre along some directions, a column for each."""
        return np.asarray(self.points @ directions - center @ directions)

    def across(self, coefficients: Array, center: Array) -> Array:
        """Give combinations of the offsets from a centre, one for each column of coefficients."""
        return np.asarray(self.points.T @ coefficients - np.outer(center, coefficients.sum(axis=0)))

    def moments(self, weights: Array, limit: float) -> Array:
        """Give the mean square of each coordinate, values brought in to a limit."""
        total = np.zeros(self.dimension)
        step = _rows_at_once(self.points)
        for start in range(0, len(self.points), step):
            block = np.square(self.points[start : start + step])
            np.minimum(block, limit**2, out=block)
            total += weights[start : start + step].astype(block.dtype) @ block
        return total / float(weights.sum())


def _rows_at_once(points: Array) -> int:
    """Give how many points to work on at a time; on a GPU all, which has no small memory that is much faster."""
    return len(points) if is_device_array(points) else max(1, _BLOCK // points.shape[1])
