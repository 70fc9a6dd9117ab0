"""Second moments of columns and targets together, from which a linear model is solved once, at the end.

Where batches have few rows for their columns, their own solutions are poor, and the mean of poor solutions is no
good one. Their moments are merely noisy, and the mean of noisy moments is a good one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.spaces.base import Array, Point
from robustream.spaces.euclidean import Euclidean
from robustream.spaces.linear import (
    LinearSolution,
    asked_of_moments,
    explained_share,
    invert_moments,
    without_constants,
)
from robustream.spaces.product import Part, PartMean, ProductSpace, Quantity

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

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        size = self.columns + self.outputs
        # Bad targets show in few of the moments, where they would be lost among those of the columns; so batches are
        # judged by some of both, and all moments follow that verdict.
        return (
            Part("second moments", Euclidean((size, size)), "passenger"),
            Part("centre", Euclidean((size,)), said="means"),
            Part("some second moments", Euclidean((len(_some_places(self.columns, self.outputs)),))),
        )

    @property
    def primary(self) -> int:
        return 0

    def entry_name(self, part: int, entry: int) -> str:
        if MomentValue._fields[part] == "center":
            return f"mean of {self._variable(entry)}"
        size = self.columns + self.outputs
        place = entry if part == self.primary else int(_some_places(self.columns, self.outputs)[entry])
        first, second = (self._variable(variable) for variable in divmod(place, size))
        return f"variance of {first}" if first == second else f"covariance of {first} and {second}"

    def _variable(self, place: int) -> str:
        if place < self.columns:
            return self.column_name(place)
        return f"output {place - self.columns}" if self.outputs > 1 else "the target"

    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        moments, center = _named(point)
        name = MomentValue._fields[part]
        if name == "center":
            return center
        return moments if name == "moments" else moments.ravel()[_some_places(self.columns, self.outputs)]

    def restate(
        self, part: int, mean: PartMean, before: Sequence[Array | None], after: Sequence[Array | None]
    ) -> Array | None:
        return mean.value  # each part stands for itself

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
        return LinearSolution(coef, level, scale, None, r_squared=explained_share(covariance, coef))

    def asked(self, points: Sequence[Point], settled: Sequence[Array | None], answer: LinearSolution) -> Array:
        """Return coefficients and intercept that each point asks for, points x outputs x (columns + 1)."""
        value, named = MomentValue(*settled), [_named(point) for point in points]
        assert value.moments is not None
        assert value.center is not None
        moments, means = [point.covariance for point in named], [point.center for point in named]
        return asked_of_moments(moments, means, value.moments, value.center, answer, self.alpha)

    def informed(self, points: Sequence[Point], shares: Array, settled: Sequence[Array | None]) -> Array | None:
        """Return None: moments are few batches' for wide tables, and the share of each column is not told apart."""
        return None

    def quantities(self, points: Sequence[Point], settled: Sequence[Array | None], answer: Any) -> list[Quantity]:
        """Return the coefficients that each batch asks for, to first order around the settled ones."""
        asked = list(self.asked(points, settled, answer)[..., :-1])
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
