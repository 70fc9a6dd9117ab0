"""Linear models y = coef x + intercept, as one batch estimates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from robustream.spaces.base import Array, Point
from robustream.spaces.euclidean import Euclidean
from robustream.spaces.product import Part, ProductSpace, Quantity

__all__ = [
    "LinearModels",
    "LinearPoint",
    "LinearSolution",
    "LinearValue",
    "invert_moments",
    "residual_distances",
    "solve_moments",
    "varying",
    "without_constants",
]

# Units in the last place of a centre, within which a column that never changes seems to.
_DIGITS = 16


_CHUNK = 4_000_000  # numbers worked on at a time (32 MB)


class LinearPoint(NamedTuple):
    """What is stored of a batch's regression."""

    coef: Array  # outputs x columns
    x_center: Array  # columns
    y_center: Array  # outputs: the fitted value at x_center
    log_scale: Array  # outputs: logarithm of the residual scale
    coef_variance: Array | None  # outputs x columns, where the batch has worked it out
    log_cutoff: Array  # a number: logarithm of the cut-off for outlying rows, in units of the scale
    moments: Array | None = None  # covariance of the columns and targets of the rows it believes, about the centres


class LinearValue(NamedTuple):
    """The settled parts."""

    coef: Array | None = None
    level: Array | None = None
    log_scale: Array | None = None
    coef_variance: Array | None = None
    log_cutoff: Array | None = None
    center: Array | None = None
    moments: Array | None = None


class LinearSolution(NamedTuple):
    """The settled model; None where the batches could not tell."""

    coef: Array
    level: Array
    scale: Array
    coef_variance: Array | None
    cutoff: float | None


@dataclass(frozen=True)
class LinearModels(ProductSpace):
    """Coefficients, level, residual scale; the variance of the coefficients, cut-off and moments come along.

    The level of a batch is taken at the settled coefficients: the intercept of a batch far from x = 0 is as
    uncertain as its slope times that distance, while its mean is known well. Batches are judged by their
    coefficients. Where they bring the second moments of the rows they believe, the answer is solved from the mean of
    these: it is that of all believed rows together, rare values and drift between batches included.
    """

    point_type: ClassVar[type[LinearPoint]] = LinearPoint
    value_type: ClassVar[type[LinearValue]] = LinearValue

    columns: int
    outputs: int
    alpha: float = 0.0

    @property
    def parts(self) -> tuple[Part, ...]:
        size = self.columns + self.outputs
        return (
            Part("coefficients", Euclidean((self.outputs, self.columns))),
            Part("level", Euclidean((self.outputs,))),
            Part("log residual scale", Euclidean((self.outputs,)), "noise", is_log=True),
            Part("coefficient variance", Euclidean((self.outputs, self.columns)), "passenger"),
            Part("log cut-off", Euclidean(()), "passenger"),
            Part("centre", Euclidean((size,)), "passenger"),
            Part("second moments", Euclidean((size, size)), "passenger"),
        )

    @property
    def primary(self) -> int:
        return 0

    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        linear = _named(point)
        name, known = LinearValue._fields[part], LinearValue(*(settled or ()))
        if name == "coef":
            return linear.coef
        if name == "level":
            coef = linear.coef if known.coef is None else known.coef
            return np.asarray(linear.y_center - coef @ linear.x_center)
        if name == "log_scale":
            return linear.log_scale
        if name == "coef_variance":
            return linear.coef_variance
        if name == "log_cutoff":
            return linear.log_cutoff
        if linear.moments is None:
            return None
        center = np.concatenate([linear.x_center, linear.y_center])
        if name == "center":
            return center
        # About the settled centre: what differs between batches belongs to the moments of all rows.
        offset = np.zeros_like(center) if known.center is None else center - known.center
        return linear.moments + np.outer(offset, offset)

    def known(self, part: int, point: Point) -> Array | None:
        linear = _named(point)
        if part != self.primary or linear.moments is None:
            return None
        spread = varying(linear.moments, linear.x_center)
        return None if spread.all() else np.broadcast_to(spread, linear.coef.shape)

    def weigher(self, part: int, points: Sequence[Point]) -> Callable[[Array], Array] | None:
        """Return L' (coef - common) for moments L L': as long as the predictions for the batch's rows differ.

        It has the same spread for all honest batches, be their rows near together or far apart, where coefficients
        of a column that hardly varies in some of them differ by orders of magnitude.
        """
        moments = [_named(point).moments for point in points]
        known = [matrix[: self.columns, : self.columns] for matrix in moments if matrix is not None]
        return partial(_weigh, known) if part == self.primary and len(known) == len(points) else None

    def answer(self, settled: Sequence[Array | None], rows: int, averaged: bool) -> LinearSolution:
        """Read the model off the settled parts; from the moments only if all parts are means of the same batches."""
        coef, level, log_scale, variance, log_cutoff, center, moments = settled
        assert coef is not None
        assert level is not None
        assert log_scale is not None
        if averaged and moments is not None and center is not None:
            moved = without_constants(moments, center[: self.columns])
            coef = solve_moments(moved, self.columns, self.alpha).astype(coef.dtype)
            level = center[self.columns :] - coef @ center[: self.columns]
        cutoff = None if log_cutoff is None else float(np.exp(log_cutoff))
        return LinearSolution(coef, level, np.exp(log_scale), variance, cutoff)

    def quantities(self, points: Sequence[Point], settled: Sequence[Array | None], answer: Any) -> list[Quantity]:
        each = [_named(point).coef for point in points]
        # What is reported may be solved from the moments of all batches together.
        return [Quantity("coefficients", Euclidean(), each, answer.coef)]

    def row_scores(self, point: Point, X: NDArray[Any], y: NDArray[Any] | None) -> Array:
        linear = _named(point)
        assert y is not None
        residuals = y.reshape(len(y), -1) - linear.y_center - (X - linear.x_center) @ linear.coef.T
        return residual_distances(residuals, np.exp(linear.log_scale))


def _weigh(moments: Sequence[Array], offsets: Array) -> Array:
    count, columns = len(moments), len(moments[0])
    rows = offsets.reshape(count, -1, columns)
    weighed = np.empty_like(rows)
    step = max(1, _CHUNK // columns**2)
    for start in range(0, count, step):
        block = slice(start, start + step)
        stacked = np.stack(moments[block]).astype(np.float64)
        weighed[block] = rows[block] @ _triangles(stacked, float(np.finfo(moments[0].dtype).eps))
    return weighed.reshape(offsets.shape)


def _triangles(moments: Array, rounding: float) -> Array:
    """Return lower triangles L with L L' = moments, stacked; what rounding takes is made up for on the diagonal."""
    diagonal = np.einsum("bii->bi", moments)
    # A column that never changes has no say: nothing is known of its coefficient.
    diagonal += np.where(diagonal > 0, 100 * len(diagonal[0]) * rounding * diagonal, 1e-300)
    try:
        return np.asarray(np.linalg.cholesky(moments))
    except np.linalg.LinAlgError:
        return np.asarray(np.sqrt(diagonal)[:, :, None] * np.eye(diagonal.shape[1]))


def varying(moments: Array, center: Array) -> NDArray[np.bool_]:
    """Return which columns vary by more than the rounding of their centres."""
    rounding = _DIGITS * np.finfo(moments.dtype).eps * np.abs(center)
    return np.asarray(np.diag(moments)[: len(center)] > np.square(rounding))


def without_constants(moments: Array, center: Array) -> Array:
    """Return moments in which a column that never changes has none: its coefficient is then 0, as in scikit-learn."""
    constant = np.flatnonzero(~varying(moments, center))
    if not len(constant):
        return moments
    cleared = moments.copy()
    cleared[constant], cleared[:, constant] = 0, 0
    return cleared


def invert_moments(moments: Array, columns: int, alpha: float) -> Array:
    """Return the inverse of the columns' moments with the penalty, or its shortest substitute where there is none."""
    inner = moments[:columns, :columns].astype(np.float64)
    inner[np.diag_indices(columns)] += alpha
    unit = np.sqrt(np.where(np.diag(inner) > 0, np.diag(inner), 1.0))
    scaled = inner / np.outer(unit, unit)
    # Moments square the rounding errors of the rows: what is below has no digit left.
    least = float(np.finfo(moments.dtype).eps) ** 0.75
    inverse = _inverse_of_certain(scaled, least)
    if inverse is None:
        values, vectors = linalg.eigh(scaled)
        kept = values > values[-1] * least
        inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return inverse / np.outer(unit, unit)


def _inverse_of_certain(matrix: Array, least: float) -> Array | None:
    """Return the inverse by Cholesky's triangle, or None unless no eigenvalue is below `least` times the largest.

    An eigendecomposition takes seven times as long. The product of the largest sums of magnitudes in a row is never
    below the ratio of the extreme eigenvalues.
    """
    triangle, failed = linalg.lapack.dpotrf(matrix, lower=True)
    if failed:
        return None
    # Zero above the diagonal.
    half, _ = linalg.lapack.dpotri(triangle, lower=True, overwrite_c=True)
    inverse = half + half.T
    inverse[np.diag_indices(len(half))] /= 2
    condition = np.abs(matrix).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max()
    return inverse if condition * least < 1 else None


def solve_moments(moments: Array, columns: int, alpha: float) -> Array:
    """Return the coefficients (outputs x columns) that second moments amount to."""
    return (invert_moments(moments, columns, alpha) @ moments[:columns, columns:]).T


def residual_distances(residuals: Array, scale: Array) -> Array:
    """Return the largest residual of each row over its outputs, in units of their scales."""
    safe = np.maximum(scale, np.finfo(np.float64).tiny)
    return np.asarray((np.abs(residuals) / safe).max(axis=1), dtype=np.float64)


def _named(point: Point) -> LinearPoint:
    """Return a point that may be a plain tuple, as one from a worker is, with names."""
    return LinearPoint(*point)  # type: ignore[arg-type]
