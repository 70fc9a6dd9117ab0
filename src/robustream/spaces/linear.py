"""Linear models y = coef x + intercept, as one batch estimates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robustream.spaces.base import Array, Point
from robustream.spaces.euclidean import Euclidean
from robustream.spaces.product import Part, ProductSpace

__all__ = ["LinearModels", "LinearPoint", "LinearSolution"]


class LinearPoint(NamedTuple):
    """What is stored of a batch's regression."""

    coef: Array  # outputs x columns
    x_center: Array  # columns
    y_center: Array  # outputs: the fitted value at x_center
    log_scale: Array  # outputs: logarithm of the residual scale
    coef_variance: Array | None  # outputs x columns, where the batch has worked it out
    log_cutoff: Array  # a number: logarithm of the cut-off for outlying rows, in units of the scale


class LinearSolution(NamedTuple):
    """The settled model; None where the batches could not tell."""

    coef: Array
    level: Array
    scale: Array
    coef_variance: Array | None
    cutoff: float | None


@dataclass(frozen=True)
class LinearModels(ProductSpace):
    """Coefficients, level, residual scale, sometimes the variance of the coefficients, cut-off for outlying rows.

    The level of a batch is taken at the settled coefficients: the intercept of a batch far from x = 0 is as
    uncertain as its slope times that distance, while its mean is known well.
    """

    columns: int
    outputs: int

    @property
    def parts(self) -> tuple[Part, ...]:
        return (
            Part("coefficients", Euclidean((self.outputs, self.columns))),
            Part("level", Euclidean((self.outputs,))),
            Part("log residual scale", Euclidean((self.outputs,))),
            Part("coefficient variance", Euclidean((self.outputs, self.columns))),
            Part("log cut-off", Euclidean(())),
        )

    @property
    def primary(self) -> int:
        return 0

    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        linear = LinearPoint(*point)  # type: ignore[arg-type]
        if part == 0:
            return linear.coef
        if part == 1:
            coef = linear.coef if settled is None or settled[0] is None else settled[0]
            return np.asarray(linear.y_center - coef @ linear.x_center)
        return (linear.log_scale, linear.coef_variance, linear.log_cutoff)[part - 2]

    def solution(self, settled: Sequence[Array | None], rows: int) -> LinearSolution:
        """Read the model off the settled parts."""
        coef, level, log_scale, variance, log_cutoff = settled
        assert coef is not None
        assert level is not None
        assert log_scale is not None
        cutoff = None if log_cutoff is None else float(np.exp(log_cutoff))
        return LinearSolution(coef, level, np.exp(log_scale), variance, cutoff)

    def coefficients_of(self, points: Sequence[Point], settled: Sequence[Array | None]) -> Array:
        """Give the coefficients of each batch."""
        return np.stack([LinearPoint(*point).coef for point in points])  # type: ignore[arg-type]
