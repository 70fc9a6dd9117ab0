"""Covariance models: a centre and the second moments about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from robustream.spaces.base import Array, Point, known_moments, move_moments
from robustream.spaces.euclidean import Euclidean
from robustream.spaces.factored import fix_signs
from robustream.spaces.product import Chance, Law, Part, PartMean, ProductSpace, Quantity, usual_chance

__all__ = ["CovarianceAnswer", "CovarianceModels", "CovariancePoint", "whitening"]

# How many correlations batches are judged by at most.
_SOME = 1 << 15


class CovariancePoint(NamedTuple):
    """What is stored of a batch's covariance."""

    mean: Array  # columns
    covariance: Array  # columns x columns, of the rows it believes
    log_cutoff: Array  # a number: logarithm of the cut-off for distances
    scores: Array | None = None  # how far out the rows lie that it believes, over the cut-off (`learners.calibration`)


class _ReadPoint(CovariancePoint):
    """A point with zeros for unknown moments, and what is asked of it again and again."""

    known: NDArray[np.bool_] | None  # which columns it knows the moments of; None if all

    @cached_property
    def deviation(self) -> Array:
        """The standard deviations of the columns."""
        return _deviation(self.covariance)


def _named(point: Point) -> _ReadPoint:
    """Return a point that may be a plain tuple, as one from a worker is, with names; unknown moments are zero."""
    if isinstance(point, _ReadPoint):
        return point
    own = _ReadPoint(*point)  # type: ignore[arg-type]
    covariance, known = known_moments(own.covariance)
    if known is not None:
        own = own._replace(covariance=covariance)
    own.known = known
    return own


class CovarianceValue(NamedTuple):
    """The settled parts."""

    log_scale: Array | None = None
    mean: Array | None = None
    correlations: Array | None = None
    log_cutoff: Array | None = None
    center: Array | None = None
    moments: Array | None = None
    scores: Array | None = None


class CovarianceAnswer(NamedTuple):
    """The settled model."""

    location: Array
    covariance: Array
    white: Array  # columns x axes: what makes rows white
    cutoff: float


@dataclass(frozen=True)
class CovarianceModels(ProductSpace):
    """Column scales, mean and correlations, by which batches are judged; cut-off, centre and moments come along.

    Scales as logarithms and correlations are free of the columns' units, and those of honest batches scatter evenly.
    The answer is the mean of the second moments of the rows that batches believe, what differs between them included.
    """

    point_type: ClassVar[type[CovariancePoint]] = CovariancePoint
    value_type: ClassVar[type[CovarianceValue]] = CovarianceValue

    columns: int

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        # The scale is what is asked for here, so that batches with another one contradict the others.
        return (
            Part("log column scale", Euclidean((self.columns,)), is_log=True),
            Part("mean", Euclidean((self.columns,))),
            Part("correlations", Euclidean((len(_some_pairs(self.columns)[0]),))),
            Part("log cut-off", Euclidean(()), "passenger"),
            Part("centre", Euclidean((self.columns,)), "passenger"),
            Part("second moments", Euclidean((self.columns, self.columns)), "passenger"),
            Part("row scores", Euclidean(), "passenger"),
        )

    @property
    def primary(self) -> int:
        return 2

    def entry_name(self, part: int, entry: int) -> str:
        if part != self.primary:
            return f"{self.parts[part].noun} of {self.column_name(entry)}"
        first, second = (self.column_name(int(places[entry])) for places in _some_pairs(self.columns))
        return f"correlation of {first} and {second}"

    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        own, name = _named(point), CovarianceValue._fields[part]
        value = CovarianceValue(*(settled or ()))
        if name == "log_scale":
            return np.log(own.deviation)
        if name == "mean":
            return own.mean if value.log_scale is None else own.mean / np.exp(value.log_scale)
        if name == "correlations":
            deviation = own.deviation
            first, second = _some_pairs(self.columns)
            return np.asarray(own.covariance[first, second] / (deviation[first] * deviation[second]))
        if name == "log_cutoff":
            return own.log_cutoff
        if name == "scores":
            return own.scores
        if name == "center":
            return own.mean
        # About the settled centre: what differs between batches belongs to the moments of all rows.
        offset = np.zeros_like(own.mean) if value.center is None else own.mean - value.center
        return own.covariance + np.outer(offset, offset)

    def law(self, point: Point) -> Law | None:
        own = _named(point)
        return None if own.known is not None else Law(own.mean, own.covariance)

    def read(self, point: Point) -> Point:
        return _named(point)

    def known(self, part: int, point: Point) -> NDArray[np.bool_] | None:
        columns, name = _named(point).known, CovarianceValue._fields[part]
        if columns is None or name in ("log_cutoff", "scores"):
            return None
        if name == "correlations":
            first, second = _some_pairs(self.columns)
            return np.asarray(columns[first] & columns[second])
        return np.outer(columns, columns) if name == "moments" else columns

    def chance(self, part: int, points: Sequence[Point], rows: Array) -> Chance | None:
        name, laws = CovarianceValue._fields[part], [self.law(point) for point in points]
        if name not in ("log_scale", "mean", "correlations") or any(law is None for law in laws):
            return None
        if name == "mean":  # in units of the settled deviations, which are near those of most batches
            found = [law.covariance for law in laws if law is not None]
            return usual_chance([each / np.outer(_deviation(each), _deviation(each)) for each in found], rows)
        # Those of normal rows are a half and at most 1, over the number of rows.
        size = self.columns if name == "log_scale" else len(_some_pairs(self.columns)[0])
        return Chance(np.ones(size), float(np.median(rows)))

    def restore(self, part: int, value: Array, settled: Sequence[Array | None]) -> Array:
        log_scale = CovarianceValue(*settled).log_scale
        if CovarianceValue._fields[part] != "mean" or log_scale is None:
            return value
        return value * np.exp(log_scale)

    def restate(
        self, part: int, mean: PartMean, before: Sequence[Array | None], after: Sequence[Array | None]
    ) -> Array | None:
        old, new = CovarianceValue(*before).center, CovarianceValue(*after).center
        if CovarianceValue._fields[part] != "moments" or old is None or new is None:
            return mean.value
        return move_moments(mean.value, old, new)

    def answer(self, settled: Sequence[Array | None], rows: int, averaged: bool) -> CovarianceAnswer:
        """Read the model off the settled parts."""
        value = CovarianceValue(*settled)
        assert value.mean is not None
        assert value.center is not None
        assert value.moments is not None
        assert value.log_cutoff is not None
        moments, center = value.moments, value.center
        if not averaged:
            # Entries that were settled one by one need not make a covariance together.
            values, vectors = linalg.eigh((moments + moments.T) / 2)
            if values[0] < 0:
                moments = ((vectors * np.maximum(values, 0.0)) @ vectors.T).astype(moments.dtype)
            center = value.mean
        return CovarianceAnswer(center, moments, whitening(moments), float(np.exp(value.log_cutoff)))

    def quantities(self, points: Sequence[Point], settled: Sequence[Array | None], answer: Any) -> list[Quantity]:
        # In the units of the columns: else the widest one alone would decide.
        unit = _deviation(answer.covariance)
        units = np.outer(unit, unit)
        each = [_named(point).covariance / units for point in points]
        return [Quantity("covariance in units of the columns", Euclidean(), each, answer.covariance / units)]

    def row_scores(self, point: Point, X: NDArray[Any], y: NDArray[Any] | None) -> Array:
        own = _named(point)
        # A missing cell speaks neither for nor against a row.
        return np.linalg.norm(np.nan_to_num(X - own.mean) @ whitening(own.covariance), axis=1)


def whitening(covariance: Array) -> Array:
    """Return W (columns x axes) with W' covariance W = I, the axes of no variance left out.

    They are the axes of the correlations, the widest first, so that the units of the columns have no say.
    """
    deviation = _deviation(covariance).astype(np.float64)
    values, vectors = linalg.eigh(covariance / np.outer(deviation, deviation))
    least = len(covariance) * float(np.finfo(covariance.dtype).eps) * max(float(values[-1]), 0.0)
    use = values > least
    axes = fix_signs(vectors[:, use][:, ::-1]) / np.sqrt(values[use][::-1])
    return np.asarray(axes / deviation[:, None])


def _deviation(covariance: Array) -> Array:
    """Return the standard deviations; 1 for columns that never change."""
    variance = np.diag(covariance)
    return np.sqrt(np.where(variance > 0, variance, 1)).astype(covariance.dtype, copy=False)


@cache
def _some_pairs(columns: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of columns that batches are judged by: all, or some where there are many."""
    first, second = np.triu_indices(columns, 1)
    if len(first) > _SOME:
        chosen = np.sort(np.random.default_rng(columns).choice(len(first), _SOME, replace=False))
        first, second = first[chosen], second[chosen]
    return first, second
