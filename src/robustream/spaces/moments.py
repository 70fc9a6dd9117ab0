"""Second moments of columns and targets together, from which a linear model is solved once, at the end.

Where batches have few rows for their columns, their own solutions are poor, and the mean of poor solutions is no
good one. Their moments are merely noisy, and the mean of noisy moments is a good one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.spaces.base import Array, Point
from robustream.spaces.euclidean import Euclidean
from robustream.spaces.linear import LinearSolution, invert_moments, without_constants
from robustream.spaces.product import Part, ProductSpace, Quantity

__all__ = ["MomentModels", "MomentPoint"]

# How many moments of columns, and how many of columns with targets, batches are judged by at most.
_SOME = 1 << 15


class MomentPoint(NamedTuple):
    """What is stored of a batch: centre and covariance of the columns followed by the targets."""

    covariance: Array  # (columns + outputs) x (columns + outputs)
    center: Array  # columns + outputs


class MomentValue(NamedTuple):
    """The settled parts."""

    moments: Array | None = None
    center: Array | None = None
    some_moments: Array | None = None


@dataclass(frozen=True)
class MomentModels(ProductSpace):
    """Covariance and centre of columns and targets; `alpha` is the ridge penalty of the final solution."""

    point_type: ClassVar[type[MomentPoint]] = MomentPoint
    value_type: ClassVar[type[MomentValue]] = MomentValue

    columns: int
    outputs: int
    alpha: float = 0.0

    @property
    def parts(self) -> tuple[Part, ...]:
        size = self.columns + self.outputs
        # Bad targets show in few of the moments, where they would be lost among those of the columns; so batches are
        # judged by some of both, and all moments follow that verdict.
        return (
            Part("second moments", Euclidean((size, size)), "passenger"),
            Part("centre", Euclidean((size,))),
            Part("some second moments", Euclidean((len(_some_places(self.columns, self.outputs)),))),
        )

    @property
    def primary(self) -> int:
        return 0

    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        moments, center = _named(point)
        name = MomentValue._fields[part]
        if name == "center":
            return center
        return moments if name == "moments" else moments.ravel()[_some_places(self.columns, self.outputs)]

    def answer(self, settled: Sequence[Array | None], rows: int, averaged: bool) -> LinearSolution:
        """Solve for the coefficients; `rows` is the number of rows behind the moments."""
        value = MomentValue(*settled)
        covariance, center = value.moments, value.center
        assert covariance is not None
        assert center is not None
        covariance = without_constants(covariance, center[: self.columns])
        bread, cross = invert_moments(covariance, self.columns, self.alpha), covariance[: self.columns, self.columns :]
        coef = (bread @ cross).T
        level = center[self.columns :] - coef @ center[: self.columns]
        explained = np.einsum("op,po->o", coef, cross)
        unexplained = np.maximum(np.diag(covariance)[self.columns :] - explained, 0.0)
        scale = np.sqrt(unexplained * rows / max(1, rows - self.columns - 1))
        return LinearSolution(coef, level, scale, None, None)

    def quantities(self, points: Sequence[Point], settled: Sequence[Array | None], answer: Any) -> list[Quantity]:
        """Return the coefficients that each batch asks for, to first order around the settled ones."""
        covariance = MomentValue(*settled).moments
        assert covariance is not None
        bread = invert_moments(covariance, self.columns, self.alpha)
        coef = bread @ covariance[: self.columns, self.columns :]
        asked: list[Array] = []
        for point in points:
            moments = _named(point).covariance
            columns, cross = moments[: self.columns, : self.columns], moments[: self.columns, self.columns :]
            asked.append((coef + bread @ (cross - columns @ coef - self.alpha * coef)).T)
        return [Quantity("coefficients", Euclidean(), asked, answer.coef)]


@cache
def _some_places(columns: int, outputs: int) -> NDArray[np.int64]:
    """Return places in the table of moments: some of columns, and some of columns with targets."""
    size, rng = columns + outputs, np.random.default_rng(columns)
    pairs = rng.integers(0, columns, (2, _SOME))
    with_targets = rng.integers(0, columns, _SOME), columns + rng.integers(0, outputs, _SOME)
    inside = np.unique(pairs.min(axis=0) * size + pairs.max(axis=0))
    return np.concatenate([inside, np.unique(with_targets[0] * size + with_targets[1])])


def _named(point: Point) -> MomentPoint:
    """Return a point that may be a plain tuple, as one from a worker is, with names."""
    return MomentPoint(*point)  # type: ignore[arg-type]
