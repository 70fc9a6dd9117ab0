"""Linear models y = coef x + intercept, as one batch estimates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from robustream.spaces.base import Array, Point, known_moments, move_moments, without_gaps
from robustream.spaces.euclidean import Euclidean
from robustream.spaces.product import Chance, Law, Part, PartMean, Places, ProductSpace, Quantity

__all__ = [
    "LinearModels",
    "LinearPoint",
    "LinearSolution",
    "LinearValue",
    "invert_moments",
    "parameter_rows",
    "residual_distances",
    "solve_moments",
    "varying",
    "without_constants",
]

# Moments square the rounding errors of the rows: what is smaller than this power of the rounding has no digit left.
_NO_DIGITS = 0.75

# Units in the last place of a centre, within which a column that never changes seems to.
_DIGITS = 16


# Batches whose noise differs by a larger factor (its logarithm) differ in that, whatever their errors are.
_SAME_NOISE = float(np.log(1e6))

# Parts that a point has under the same name, whatever is settled.
_AS_IT_IS = frozenset(["coef", "log_scale", "log_cutoff", "quantiles", "scores"])
_LEVEL = 1  # the place of the level among the parts, after the coefficients

_CHUNK = 4_000_000  # numbers worked on at a time (32 MB)


class LinearPoint(NamedTuple):
    """What is stored of a batch's regression."""

    coef: Array  # outputs x columns
    x_center: Array  # columns
    y_center: Array  # outputs: the fitted value at x_center
    log_scale: Array  # outputs: logarithm of the residual scale
    # Covariance of coefficients and y_center, outputs x (columns + 1) squared, where the batch has worked it out.
    variance: Array | None
    log_cutoff: Array  # a number: logarithm of the cut-off for outlying rows, in units of the scale
    moments: Array | None = None  # covariance of the columns and targets of the rows it believes, about the centres
    quantiles: Array | None = None  # of the residuals of the rows it believes, outputs x levels
    scores: Array | None = None  # how far out the rows lie that it believes, over the cut-off (`learners.calibration`)


class _ReadPoint(LinearPoint):
    """A point with zeros for unknown moments, and what is asked of it again and again."""

    known: NDArray[np.bool_] | None  # which columns and targets it knows the moments of; None if all

    @cached_property
    def varies(self) -> NDArray[np.bool_] | None:
        """Which columns vary; None if all."""
        assert self.moments is not None
        spread = varying(self.moments, self.x_center)
        return None if spread.all() else spread

    @cached_property
    def least_difference(self) -> Array:
        """How far the predictions for each output may be from others and differ by rounding alone.

        That is nothing at all, unless the batch fits exactly. Then half the digits count: columns that follow from
        others cost the other half.
        """
        assert self.moments is not None
        rounding = _rounding(self.moments, np.append(self.x_center, self.y_center), self.coef)[:, -1]
        eps = float(np.finfo(self.moments.dtype).eps)
        return np.where(np.exp(self.log_scale) <= rounding, rounding * eps ** (0.5 - _NO_DIGITS), 0.0)


def _named(point: Point) -> _ReadPoint:
    """Return a point that may be a plain tuple, as one from a worker is, with names; unknown moments are zero."""
    if isinstance(point, _ReadPoint):
        return point
    linear = _ReadPoint(*point)  # type: ignore[arg-type]
    moments, known = (None, None) if linear.moments is None else known_moments(linear.moments)
    if known is not None:
        linear = linear._replace(moments=moments)
    linear.known = known
    return linear


class LinearValue(NamedTuple):
    """The settled parts."""

    coef: Array | None = None
    level: Array | None = None
    log_scale: Array | None = None
    log_cutoff: Array | None = None
    center: Array | None = None
    moments: Array | None = None
    variance: Array | None = None
    quantiles: Array | None = None
    scores: Array | None = None


class LinearSolution(NamedTuple):
    """The settled model; None where the batches could not tell."""

    coef: Array
    level: Array
    scale: Array
    cutoff: float | None
    # Covariance of coefficients and level as one batch knows them, outputs x (columns + 1) squared.
    variance: Array | None = None
    r_squared: Array | None = None  # of each output, over the rows that are believed
    quantiles: Array | None = None  # of the residuals, outputs x levels
    # What of each coefficient and the level is rounding, outputs x (columns + 1); infinite for constant columns.
    rounding: Array | None = None
    exact: NDArray[np.bool_] | None = None  # whether an output varies, and the residuals are rounding all of them
    center: Array | None = None  # of the columns, and their covariance: what gaps are filled by
    covariance: Array | None = None


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

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        size = self.columns + self.outputs
        return (
            Part("coefficients", Euclidean((self.outputs, self.columns))),
            Part("level", Euclidean((self.outputs,)), said="level of the target"),
            Part("log residual scale", Euclidean((self.outputs,)), "noise", is_log=True, said="noise"),
            Part("log cut-off", Euclidean(()), "passenger"),
            Part("centre", Euclidean((size,)), "passenger"),
            Part("second moments", Euclidean((size, size)), "passenger"),
            Part("variance", Euclidean((self.outputs, self.columns + 1, self.columns + 1)), "passenger"),
            Part("residual quantiles", Euclidean(), "passenger"),
            Part("row scores", Euclidean(), "passenger"),
        )

    @property
    def primary(self) -> int:
        return 0

    def entry_name(self, part: int, entry: int) -> str:
        if part != self.primary:
            return super().entry_name(part, entry)
        output, column = divmod(entry, self.columns)
        return f"slope of {self.column_name(column)}" + (f" for output {output}" if self.outputs > 1 else "")

    def relative_errors(self, part: int, points: Sequence[Point]) -> Array | None:
        moments = [_named(point).moments for point in points]
        known = [np.diag(matrix)[: self.columns] for matrix in moments if matrix is not None]
        if part != self.primary or len(known) < len(points):
            return None
        # A coefficient is known the better the more its column varies, and the less noise there is.
        deviations = np.sqrt(np.maximum(np.stack(known).astype(np.float64), 0.0))
        logs = np.stack([_named(point).log_scale for point in points]).astype(np.float64)
        noise = np.exp(np.clip(logs - np.median(logs, axis=0), -_SAME_NOISE, _SAME_NOISE))
        return np.asarray((noise[:, :, None] / deviations[:, None, :]).reshape(len(points), -1))

    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        linear, name = _named(point), LinearValue._fields[part]
        if name in _AS_IT_IS:
            value: Array | None = getattr(linear, name)
            return value
        known = LinearValue(*(settled or ()))
        if name == "level":
            coef = linear.coef if known.coef is None else known.coef
            return np.asarray(linear.y_center - coef @ linear.x_center)
        if name == "variance":
            return None if linear.variance is None else self._variance_in_common(linear, known.center)
        if linear.moments is None:
            return None
        center = np.concatenate([linear.x_center, linear.y_center])
        if name == "center":
            return center
        # About the settled centre: what differs between batches belongs to the moments of all rows.
        offset = np.zeros_like(center) if known.center is None else center - known.center
        return linear.moments + np.outer(offset, offset)

    def _variance_in_common(self, linear: LinearPoint, center: Array | None) -> Array:
        """Return a batch's covariance in terms that can be averaged: of its equation about the settled centre.

        Without moments, of its coefficients and intercept.
        """
        assert linear.variance is not None
        if linear.moments is None:
            return move_level(linear.variance, -linear.x_center)
        slope = _slope(linear.moments, self.columns, self.alpha)
        moved = np.eye(self.columns + 1)
        moved[:-1, -1] = 0.0 if center is None else linear.x_center - center[: self.columns]
        moved = moved @ slope
        return np.asarray(moved @ linear.variance @ moved.T, dtype=linear.coef.dtype)

    def read(self, point: Point) -> Point:
        return _named(point)

    def known(self, part: int, point: Point) -> NDArray[np.bool_] | None:
        linear = _named(point)
        if linear.moments is None:
            return None
        name = LinearValue._fields[part]
        if name in ("center", "moments"):
            known = linear.known
            return known if known is None or name == "center" else np.outer(known, known)
        if part != self.primary:
            return None
        return None if linear.varies is None else np.broadcast_to(linear.varies, linear.coef.shape)

    def weigher(self, part: int, points: Sequence[Point]) -> Callable[[Array], Array] | None:
        """Return L' (coef - common) for moments L L': as long as the predictions for the batch's rows differ.

        It has the same spread for all honest batches, be their rows near together or far apart, where coefficients
        of a column that hardly varies in some of them differ by orders of magnitude. Batches whose noise is nothing
        but rounding do not differ where their predictions hardly do: that is rounding, too.
        """
        linear = [_named(point) for point in points]
        known = [point.moments[: self.columns, : self.columns] for point in linear if point.moments is not None]
        if part > _LEVEL or len(known) < len(points):
            return None
        least = np.stack([point.least_difference for point in linear])
        if part == self.primary:
            return partial(_weigh, known, least)
        return partial(_without_rounding, least) if least.any() else None

    @property
    def targets(self) -> int:
        return self.outputs

    def law(self, point: Point) -> Law | None:
        linear = _named(point)
        if linear.moments is None or linear.known is not None:
            return None
        return Law(np.concatenate([linear.x_center, linear.y_center]), linear.moments)

    def chance(self, part: int, points: Sequence[Point], rows: Array) -> Chance | None:
        linear = [_named(point) for point in points]
        if part > _LEVEL or any(point.moments is None for point in linear):
            return None
        # L'(coef - common) and the level have the variance of the noise over the number of rows.
        noise = np.stack([np.exp(2 * np.clip(point.log_scale, -300, 300)) for point in linear]).astype(np.float64)
        usual = np.median(noise / rows[:, None], axis=0)
        return Chance(usual if part == _LEVEL else np.repeat(usual, self.columns), 1.0)

    def where(self, part: int, points: Sequence[Point]) -> Places | None:
        linear = [_named(point) for point in points]
        variances = [np.diag(point.moments)[: self.columns] for point in linear if point.moments is not None]
        if part > _LEVEL or not variances:
            return None
        unit, center = np.sqrt(np.median(variances, axis=0)), np.stack([point.x_center for point in linear])
        fixed = center[:, (unit == 0) & (np.ptp(center, axis=0) > 0)]
        # In units of the spread within batches: what rows of the same places differ by says nothing.
        return Places(center[:, unit > 0] / unit[unit > 0], fixed)

    def restate(
        self, part: int, mean: PartMean, before: Sequence[Array | None], after: Sequence[Array | None]
    ) -> Array | None:
        name, old, new = LinearValue._fields[part], LinearValue(*before), LinearValue(*after)
        value = mean.value
        if name == "level" and old.coef is not None and new.coef is not None:
            if mean.companion is None:
                return None
            return np.asarray(value + (old.coef - new.coef) @ mean.companion, dtype=value.dtype)
        if name not in ("moments", "variance") or old.center is None or new.center is None:
            return value
        if name == "moments":
            return move_moments(value, old.center, new.center)
        shear = np.eye(self.columns + 1)
        shear[:-1, -1] = (old.center - new.center)[: self.columns]
        return np.asarray(shear @ value @ shear.T, dtype=value.dtype)

    def companion(self, part: int, point: Point) -> Array | None:
        # The level at other coefficients differs by what these say of the centre of the columns.
        return _named(point).x_center if part == _LEVEL else None

    def answer(self, settled: Sequence[Array | None], rows: int, averaged: bool) -> LinearSolution:
        """Read the model off the settled parts; from the moments only if all parts are means of the same batches."""
        coef, level, log_scale, log_cutoff, center, moments, variance, quantiles, _ = settled
        assert coef is not None
        assert level is not None
        assert log_scale is not None
        r_squared = rounding = exact = None
        if moments is not None and center is not None:
            columns = self.columns
            moved = without_constants(moments, center[:columns])
            if averaged:
                coef = solve_moments(moved, columns, self.alpha).astype(coef.dtype)
                level = center[columns:] - coef @ center[:columns]
            r_squared = explained_share(moved, coef)
            rounding = _rounding(moved, center, coef)
            varies = np.sqrt(np.diag(moved)[columns:]) > rounding[:, -1]
            exact = varies & (np.exp(log_scale) <= rounding[:, -1])
            if variance is not None:
                bread = np.zeros((columns + 1, columns + 1))
                bread[:-1, :-1], bread[-1, -1] = invert_moments(moved, columns, self.alpha), 1.0
                variance = move_level(bread @ variance @ bread, -center[:columns])
        cutoff = None if log_cutoff is None else float(np.exp(log_cutoff))
        told = coef, level, np.exp(log_scale), cutoff, variance, r_squared, quantiles, rounding, exact
        if moments is None or center is None:
            return LinearSolution(*told)
        return LinearSolution(*told, center[: self.columns], moments[: self.columns, : self.columns])

    def asked(self, points: Sequence[Point], settled: Sequence[Array | None], answer: LinearSolution) -> Array:
        """Return coefficients and intercept that each point asks for, points x outputs x (columns + 1).

        Their mean is the answer, to first order, so that their spread tells its error.
        """
        linear = [_named(point) for point in points]
        center, moments = LinearValue(*settled).center, LinearValue(*settled).moments
        if moments is None or center is None or any(point.moments is None for point in linear):
            middle = np.mean([point.x_center for point in linear], axis=0)
            coef = np.stack([point.coef for point in linear]).astype(np.float64)
            levels = [p.y_center - answer.coef @ p.x_center - (p.coef - answer.coef) @ middle for p in linear]
            return np.concatenate([coef, np.stack(levels)[..., None]], axis=-1)
        together = [self.express(LinearValue._fields.index("moments"), point, settled) for point in points]
        means = [np.concatenate([point.x_center, point.y_center]) for point in linear]
        return asked_of_moments(together, means, moments, center, answer, self.alpha)

    def informed(self, points: Sequence[Point], shares: Array, settled: Sequence[Array | None]) -> Array | None:
        """Return the share that each point has in what is known of each column's coefficient, points x columns.

        By the variance of the column about the common centre. None where points bring no moments.
        """
        linear, center = [_named(point) for point in points], LinearValue(*settled).center
        if center is None or any(point.moments is None for point in linear):
            return None
        own = [np.diag(point.moments)[: self.columns] for point in linear if point.moments is not None]
        offsets = np.stack([point.x_center for point in linear]) - center[: self.columns]
        known = (np.stack(own) + np.square(offsets)).astype(np.float64) * shares[:, None]
        return known / np.maximum(known.sum(axis=0), np.finfo(np.float64).tiny)

    def quantities(self, points: Sequence[Point], settled: Sequence[Array | None], answer: Any) -> list[Quantity]:
        each = [_named(point).coef for point in points]
        # What is reported may be solved from the moments of all batches together.
        return [Quantity("coefficients", Euclidean(), each, answer.coef)]

    def row_scores(self, point: Point, X: NDArray[Any], y: NDArray[Any] | None) -> Array:
        linear = _named(point)
        assert y is not None
        residuals = y.reshape(len(y), -1) - linear.y_center - without_gaps(X - linear.x_center) @ linear.coef.T
        return residual_distances(residuals, np.exp(linear.log_scale))


def _rounding(moments: Array, center: Array, coef: Array) -> Array:
    """Return how large coefficients and levels (outputs x (columns + 1)) may be and stand for nothing but rounding."""
    columns = coef.shape[1]
    size = np.sqrt(np.diag(moments)[columns:] + np.square(center[columns:].astype(np.float64)))
    size = size + np.abs(coef) @ np.abs(center[:columns])
    digits = float(np.finfo(moments.dtype).eps) ** _NO_DIGITS
    with np.errstate(divide="ignore"):
        units = 1 / np.sqrt(np.diag(moments)[:columns].astype(np.float64))
    return np.asarray(digits * size[:, None] * np.append(units, 1.0))


def _without_rounding(least: Array, offsets: Array) -> Array:
    """Return offsets (one row for each point) with 0 in place of those that are rounding."""
    rows = offsets.reshape(*least.shape, -1)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.where(lengths > least[..., None], rows, 0.0).reshape(offsets.shape)


def _weigh(moments: Sequence[Array], least: Array, offsets: Array) -> Array:
    count, columns = len(moments), len(moments[0])
    rows = offsets.reshape(count, -1, columns)
    weighed = np.empty_like(rows)
    step = max(1, _CHUNK // columns**2)
    for start in range(0, count, step):
        block = slice(start, start + step)
        stacked = np.stack(moments[block]).astype(np.float64)
        weighed[block] = rows[block] @ _triangles(stacked, float(np.finfo(moments[0].dtype).eps))
    return _without_rounding(least, weighed).reshape(offsets.shape) if least.any() else weighed.reshape(offsets.shape)


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
    least = float(np.finfo(moments.dtype).eps) ** _NO_DIGITS
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


def solve_moments(moments: Array, columns: int, alpha: float, inverse: Array | None = None) -> Array:
    """Return the coefficients (outputs x columns) that second moments amount to; their inverse may be known."""
    inverse = invert_moments(moments, columns, alpha) if inverse is None else inverse
    return (inverse @ moments[:columns, columns:]).T


def _slope(moments: Array, columns: int, alpha: float) -> Array:
    """Return by how much the equation for coefficients and the level at the centre changes with these."""
    slope = np.eye(columns + 1)
    slope[:-1, :-1] = moments[:columns, :columns] + alpha * np.eye(columns)
    return slope


def parameter_rows(centered: Array, intercept: bool) -> Array:
    """Return what rows say of coefficients and level: their columns, and 1 where there is a level."""
    return np.column_stack([centered, np.full_like(centered[:, 0], 1.0 if intercept else 0.0)])


def move_level(variance: Array, offset: Array) -> Array:
    """Return the covariance of coefficients and the level at another place, `offset` away."""
    moved = np.eye(len(offset) + 1)
    moved[-1, :-1] = offset
    return np.asarray(moved @ variance @ moved.T)


def explained_share(moments: Array, coef: Array) -> Array:
    """Return the share of the targets' variance that coefficients explain, for each output; NaN where there is none."""
    columns = coef.shape[1]
    inner, cross = moments[:columns, :columns], moments[:columns, columns:]
    total = np.diag(moments)[columns:].astype(np.float64)
    left = total - 2 * np.einsum("op,po->o", coef, cross) + np.einsum("op,pq,oq->o", coef, inner, coef)
    return np.asarray(1 - left / np.where(total > 0, total, np.nan))


def asked_of_moments(
    moments: Sequence[Array | None],
    means: Sequence[Array],
    settled: Array,
    center: Array,
    answer: LinearSolution,
    alpha: float,
) -> Array:
    """Return what each batch asks for, to first order around the answer; its moments are about the settled centre."""
    columns = answer.coef.shape[1]
    bread = invert_moments(without_constants(settled, center[:columns]), columns, alpha)
    coef = answer.coef.astype(np.float64)
    found = np.empty((len(means), len(coef), columns + 1))
    for place, (matrix, mean) in enumerate(zip(moments, means, strict=True)):
        assert matrix is not None
        pull = matrix[:columns, columns:].T - coef @ matrix[:columns, :columns] - alpha * coef
        offset = mean - center
        found[place, :, :-1] = coef + pull @ bread
        residual = offset[columns:] - coef @ offset[:columns]
        found[place, :, -1] = answer.level + residual - (pull @ bread) @ center[:columns]
    return found


def residual_distances(residuals: Array, scale: Array) -> Array:
    """Return the largest residual of each row over its outputs, in units of their scales."""
    safe = np.maximum(scale, np.finfo(np.float64).tiny)
    largest: Array = (np.abs(residuals) / safe).max(axis=1).astype(np.float64, copy=False)
    return largest
