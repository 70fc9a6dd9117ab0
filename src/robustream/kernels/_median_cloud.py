"""Weighted points read block by block, and all that one reading tells about the sum of distances to a place.

A place is kept as an unevaluated sum ``high + low``: ``x - high`` is then rounded relative to the distance
itself, so that points at 1e8 with a spread of 1e-2, or a median very near a point, lose no digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "EPSILON",
    "Cloud",
    "Evaluation",
    "Floats",
    "Place",
    "evaluate",
    "row_blocks",
    "row_norms",
    "weighted_quantile",
]

Floats = npt.NDArray[np.float64]
EPSILON = float(np.finfo(np.float64).eps)
_BLOCK_ELEMENTS = 1 << 18
_SUMMED_AT_ONCE = 4096
# Below this a reciprocal overflows; the points are scaled so that their usual distance is far above it.
_SMALLEST = 1e-290


def row_blocks(points: npt.NDArray[Any]) -> Iterator[slice]:
    """Consecutive rows of (count, dimension) points, few enough at a time to stay in a cache."""
    count, dimension = points.shape
    height = min(max(1, _BLOCK_ELEMENTS // dimension), _SUMMED_AT_ONCE)
    for start in range(0, count, height):
        yield slice(start, min(start + height, count))


class Place(NamedTuple):
    """A point of the space as the unevaluated sum of a leading part and a remainder."""

    high: Floats
    low: Floats

    @classmethod
    def at(cls, point: Floats) -> Place:
        """The place of an exactly known point."""
        return cls(point, np.zeros_like(point))

    def moved(self, step: Floats) -> Place:
        """This place plus a step, the rounding error of the addition kept in the low part."""
        total = self.high + step
        shift = total - self.high
        low = self.low + ((self.high - (total - shift)) + (step - shift))
        high = total + low
        return Place(high, low - (high - total))


@dataclass
class Cloud:
    """Points (count, dimension) with positive weights, read times 2**-exponent; it counts full readings."""

    points: npt.NDArray[np.floating[Any]]
    weights: Floats
    exponent: int = 0
    passes: int = 0
    total: float = field(init=False)

    def __post_init__(self) -> None:
        self.total = float(self.weights.sum())

    def rows(self, index: npt.NDArray[np.intp]) -> Floats:
        """A float64 copy of some of the points, scaled."""
        return np.ldexp(self.points[index].astype(np.float64), -self.exponent)

    def point(self, index: int) -> Floats:
        """One point, scaled."""
        return self.rows(np.array([index]))[0]

    def blocks(self, place: Place | None = None) -> Iterator[tuple[slice, Floats]]:
        """One pass over the points, or their differences from a place, a few rows at a time.

        The caller may overwrite a block, but not keep it: its memory is used again.
        """
        self.passes += 1
        memory = np.empty(0)
        has_low = place is not None and bool(place.low.any())
        for index in row_blocks(self.points):
            rows = self.points[index]
            memory = memory if memory.size else np.empty(rows.shape)
            block = memory[: len(rows)]
            if self.exponent:
                np.ldexp(rows, -self.exponent, out=block, dtype=np.float64)
                rows = block
            if place is None:
                np.copyto(block, rows)
            else:
                np.subtract(rows, place.high, out=block)
                if has_low:
                    block -= place.low
            yield index, block

    def rounding(self) -> float:
        """A bound on the relative rounding error of the sums made here, which are blocked or pairwise."""
        lengths = [min(n, _SUMMED_AT_ONCE) + n / _SUMMED_AT_ONCE for n in self.points.shape]
        return EPSILON * (16.0 + sum(lengths))


class Evaluation(NamedTuple):
    """What one pass tells about the sum of weighted distances, f, at a place.

    Points within the near radius are kept apart: f may be bent there, and any pull of at most their weight
    is a subgradient of their share up to twice their small distances.
    """

    place: Place
    distances: Floats
    objective: float
    far_gradient: Floats
    near_gradient: Floats
    near_weight: float
    curvature: float
    outer: Floats | None
    slopes: Floats | None
    lower_bound: float
    stationarity: float

    @property
    def gradient(self) -> Floats:
        """The sum of all unit vectors from the points to the place, weighted."""
        return self.far_gradient + self.near_gradient


def row_norms(block: Floats) -> Floats:
    """Euclidean norms of the rows, safe where their squares would overflow or underflow."""
    count, dimension = block.shape
    whole = dimension - dimension % _SUMMED_AT_ONCE
    parts = block[:, :whole].reshape(count, whole // _SUMMED_AT_ONCE, _SUMMED_AT_ONCE)
    rest = block[:, whole:]
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", rest, rest) + np.einsum("ikj,ikj->ik", parts, parts).sum(axis=1)
    norms = np.sqrt(squares)
    for index in np.flatnonzero((norms < 1e-140) | (norms > 1e150)):
        largest = float(np.abs(block[index]).max())
        if largest > 0.0:
            norms[index] = largest * np.linalg.norm(block[index] / largest)
    return norms


def weighted_quantile(values: Floats, weights: Floats) -> float:
    """The lower weighted median of some numbers."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(cumulative, 0.5 * cumulative[-1])]])


def evaluate(
    cloud: Cloud, place: Place, near_radius: float, *, direction: Floats | None = None, hessian: bool = False
) -> Evaluation:
    """Sum the weighted distances to a place, with gradient and, on request, slopes and second derivatives.

    With u_i the unit vector from point i and d_i its distance, the Hessian is ``curvature * I - outer``:
    curvature = sum w_i / d_i and outer = sum w_i / d_i u_i u_i'. Both leave out the near points.
    """
    count, dimension = cloud.points.shape
    distances = np.empty(count)
    far_gradient, near_gradient = np.zeros(dimension), np.zeros(dimension)
    outer = np.zeros((dimension, dimension)) if hessian else None
    slopes = None if direction is None else np.empty(count)
    curvature = near_weight = near_loss = 0.0
    pulled = np.empty(dimension)
    for index, block in cloud.blocks(place):
        weights = cloud.weights[index]
        norms = distances[index] = row_norms(block)
        near = norms <= near_radius
        pull = np.divide(weights, norms, out=np.zeros_like(norms), where=norms > _SMALLEST)
        if near.any():
            near_gradient -= pull[near] @ block[near]
            near_weight += float(weights[near].sum())
            near_loss += float(weights[near] @ norms[near])
            pull[near] = 0.0
        far_gradient -= np.dot(pull, block, out=pulled)
        curvature += float(pull.sum())
        if slopes is not None and direction is not None:
            slopes[index] = np.divide(-(block @ direction), norms, out=np.zeros_like(norms), where=norms > _SMALLEST)
        if outer is not None:
            block *= np.divide(np.sqrt(pull), norms, out=np.zeros_like(norms), where=pull > 0.0)[:, None]
            outer += block.T @ block
    objective = float(np.sum(cloud.weights * distances))
    # Any minimiser lies within 2 f / W, since W |m - m*| <= f(m) + f(m*); along that way f falls by no more
    # than the length of a subgradient. Near points may choose theirs freely, at a loss of twice their share.
    plain = float(np.linalg.norm(far_gradient + near_gradient))
    excess = max(0.0, float(np.linalg.norm(far_gradient)) - near_weight)
    reach = 2.0 * objective / cloud.total
    lower_bound = objective - min(plain * reach, excess * reach + 2.0 * near_loss)
    lower_bound -= 4.0 * cloud.rounding() * objective
    stationarity = 2.0 * min(plain, excess) / cloud.total
    return Evaluation(
        place,
        distances,
        objective,
        far_gradient,
        near_gradient,
        near_weight,
        curvature,
        outer,
        slopes,
        lower_bound,
        stationarity,
    )
