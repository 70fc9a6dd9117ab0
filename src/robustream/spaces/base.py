"""A space says what the points are, how far apart they lie, how they mix, and how a mix becomes a point again.

Every space here is a subset of a Hilbert space, so aggregators need nothing but this:

- `coordinates` embeds points isometrically in R^r: geometry (medians, filters) happens there;
- `mix` takes a convex combination of points to a *mixture*, which may lie outside the subset (the mean of two
  projectors is no projector), `blend` does the same one point at a time, and `project` comes back;
- `entries` are the plain coordinates in which coordinate-wise statistics are taken;
- `comparable` are coordinates in which honest points scatter evenly, for filters; they need not keep distances.

A new space is one file with one class; `robustream.testing.check_space` says whether it keeps its promises.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Point", "Points", "Space", "known_moments", "move_moments", "unknown_moments", "without_gaps"]

Array: TypeAlias = NDArray[np.floating[Any]]
# A point of a product space: one array for each thing that was estimated, None where the batch could not tell.
Point: TypeAlias = tuple[Array | None, ...]
# Points of one space, one after another, or side by side in one array.
Points: TypeAlias = Sequence[Array] | Array


def unknown_moments(moments: Array, unknown: NDArray[np.bool_]) -> Array:
    """Return moments that say that columns are not known to a batch, which had no cell of them.

    A variance below zero cannot be, and stands for that.
    """
    if not unknown.any():
        return moments
    marked = moments.copy()
    marked[unknown], marked[:, unknown] = 0, 0
    marked[unknown, unknown] = -1
    return marked


def known_moments(moments: Array) -> tuple[Array, NDArray[np.bool_] | None]:
    """Return moments with zeros for columns that are not known, and which columns are; None if all."""
    known = np.diag(moments) >= 0
    if known.all():
        return moments, None
    cleared = moments.copy()
    cleared[~known, ~known] = 0
    return cleared, known


def without_gaps(values: Array) -> Array:
    """Return values with 0 in place of NaN and large numbers in place of infinity; as they are where all are finite."""
    return values if np.isfinite(values.sum()) else np.nan_to_num(values)


def move_moments(moments: Array, before: Array, after: Array) -> Array:
    """Return second moments about a mean, of those about another place near it."""
    offset = after - before
    return np.asarray(moments - np.outer(offset, offset), dtype=moments.dtype)


class Space(ABC):
    """Points that can be compared and mixed."""

    # Whether each coordinate is a quantity of its own, which may be brought to its own unit.
    has_units: ClassVar[bool] = False

    @abstractmethod
    def why_not(self, point: Array) -> str | None:
        """Return the reason why an array is no point of this space, or None if it is one."""

    @abstractmethod
    def coordinates(self, points: Points) -> Array:
        """Embed points as rows of a (points x r) array such that all distances are kept."""

    @abstractmethod
    def origin(self, like: Array) -> Array:
        """Return the mixture that stands for zero, of the shape and type that a point has."""

    @abstractmethod
    def mix(self, mixtures: Points, weights: Array) -> Array:
        """Return the convex combination of points or mixtures."""

    @abstractmethod
    def distances(self, mixture: Array, points: Points) -> Array:
        """Return the distance of a mixture (or a point) to each point."""

    @abstractmethod
    def project(self, mixture: Array) -> Array:
        """Return the point nearest to a mixture."""

    @abstractmethod
    def entries(self, points: Points, rows: slice) -> Array:
        """Return some rows of the linear coordinates of all points, (points x rows x ...), for work in slices."""

    @abstractmethod
    def entry_rows(self, like: Array) -> int:
        """Return the number of rows that `entries` can be asked for."""

    @abstractmethod
    def from_entries(self, entries: Array, like: Array) -> Array:
        """Return the point nearest to linear coordinates that were worked out one by one."""

    def comparable(self, points: Points) -> Array:
        """Return coordinates of points, one row each, around which honest ones scatter evenly."""
        return self.coordinates(points)

    def squared_size(self, point: Array) -> float:
        """Return the squared distance of a point to zero, which relative errors are relative to."""
        return float(np.square(point, dtype=np.float64).sum())

    @property
    def diameter(self) -> float:
        """The largest distance that two points can have."""
        return float(np.inf)

    def scales(self, points: Points) -> Array:
        """Return the standard deviations that points stand for where they are variances, one row for each point."""
        return np.sqrt(np.maximum(self.coordinates(points), 0.0))

    def blend(self, mixture: Array, point: Array, weight: float) -> Array:
        """Move a mixture towards a point by a weight between 0 and 1."""
        return self.mix([mixture, point], np.array([1.0 - weight, weight]))
