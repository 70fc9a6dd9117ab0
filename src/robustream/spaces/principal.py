"""Principal component models: a mean, a subspace, the spectrum in it, the noise around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from robustream.spaces.base import Array, Point
from robustream.spaces.euclidean import Euclidean
from robustream.spaces.factored import LowRank, Subspace, fix_signs
from robustream.spaces.product import Part, ProductSpace, Quantity

__all__ = [
    "PrincipalAnswer",
    "PrincipalModels",
    "PrincipalPoint",
    "PrincipalValue",
    "Spectrum",
    "largest_over_cutoffs",
    "noise_variance",
    "principal_distances",
]

# Rounding errors up to this many units in the last place are no distance.
_DIGITS = 1e4


class PrincipalPoint(NamedTuple):
    """What is stored of a batch's principal components."""

    mean: Array  # columns
    log_scale: Array  # columns; zeros unless the columns were standardised
    basis: Array  # columns x components, orthonormal
    eigenvalues: Array  # components
    total_variance: Array  # a number
    log_cutoffs: Array  # two numbers: logarithms of the cut-offs for orthogonal and score distances
    moments: Array | None = None  # covariance of the rows it believes, in the units of the columns


class PrincipalValue(NamedTuple):
    """The settled parts."""

    log_scale: Array | None = None
    mean: Array | None = None
    subspace: Array | None = None
    signal: Array | None = None
    noise: Array | None = None
    log_cutoffs: Array | None = None
    center: Array | None = None
    moments: Array | None = None


class Spectrum(NamedTuple):
    """The final directions with their variances, and the noise variance of the other directions."""

    components: Array  # components x columns
    explained_variance: Array
    noise_variance: float
    total_variance: float

    def explaining(self, share: float) -> Spectrum:
        """Return the first directions that together explain a share of the total variance; all if they fall short."""
        explained = np.cumsum(self.explained_variance, dtype=np.float64)
        wanted = share * self.total_variance * (1 - 1e-12)
        count = min(int(np.searchsorted(explained, wanted)) + 1, len(explained))
        noise = noise_variance(self.explained_variance[:count], self.total_variance, self.components.shape[1])
        return Spectrum(self.components[:count], self.explained_variance[:count], noise, self.total_variance)


class PrincipalAnswer(NamedTuple):
    """The settled model."""

    mean: Array
    scale: Array
    spectrum: Spectrum
    cutoffs: Array


@dataclass(frozen=True)
class PrincipalModels(ProductSpace):
    """Column scales, mean, subspace, variance above the noise within it, and noise variance; cut-offs and moments.

    A batch's covariance is modelled as noise * I + U (L - noise) U'. The second term is a low-rank matrix that
    can be compared and mixed between batches whose bases differ; eigenvalues one by one cannot. Where batches bring the
    second moments of the rows they believe, the answer is that of their mean: of all believed rows together, what
    differs between batches included.
    """

    point_type: ClassVar[type[PrincipalPoint]] = PrincipalPoint
    value_type: ClassVar[type[PrincipalValue]] = PrincipalValue

    columns: int
    components: int
    standardize: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        return (
            Part("log column scale", Euclidean((self.columns,)), "noise", is_log=True),
            Part("mean", Euclidean((self.columns,))),
            Part("subspace", Subspace(self.columns, self.components)),
            Part("signal variance", LowRank(self.columns, self.components), "noise"),
            Part("noise variance", Euclidean(()), "noise"),
            Part("log cut-offs", Euclidean((2,)), "passenger"),
            Part("centre", Euclidean((self.columns,)), "passenger"),
            Part("second moments", Euclidean((self.columns, self.columns)), "passenger"),
        )

    @property
    def primary(self) -> int:
        return 2

    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        principal = _named(point)
        name = PrincipalValue._fields[part]
        if name == "log_scale":
            return principal.log_scale
        if name == "mean":
            # Compared in the settled units of the columns.
            return principal.mean / _scale(settled)
        if name == "subspace":
            return principal.basis
        if name == "log_cutoffs":
            return principal.log_cutoffs
        if name in ("center", "moments"):
            if principal.moments is None or name == "center":
                return None if principal.moments is None else principal.mean
            # About the settled centre: what differs between batches belongs to the moments of all rows.
            known = PrincipalValue(*(settled or ())).center
            offset = np.zeros_like(principal.mean) if known is None else principal.mean - known
            return principal.moments + np.outer(offset, offset)
        noise = noise_variance(principal.eigenvalues, principal.total_variance, self.columns)
        if name == "noise":
            return np.asarray(noise, dtype=principal.basis.dtype)
        above = np.sqrt(np.maximum(principal.eigenvalues - noise, 0.0))
        return principal.basis * above.astype(principal.basis.dtype)

    def restore(self, part: int, value: Array, settled: Sequence[Array | None]) -> Array:
        return value * _scale(settled) if PrincipalValue._fields[part] == "mean" else value

    def answer(self, settled: Sequence[Array | None], rows: int, averaged: bool) -> PrincipalAnswer:
        """Read the model off the settled parts; from the moments only if all parts are means of the same batches."""
        log_scale, mean, subspace, signal, noise, log_cutoffs, center, moments = settled
        assert log_scale is not None
        assert mean is not None
        assert subspace is not None
        assert signal is not None
        assert noise is not None
        assert log_cutoffs is not None
        scale, cutoffs = np.asarray(np.exp(log_scale)), np.asarray(np.exp(log_cutoffs))
        if not averaged or moments is None or center is None:
            return PrincipalAnswer(mean, scale, self.spectrum(subspace, signal, noise), cutoffs)
        if self.standardize:
            deviation = np.sqrt(np.maximum(np.diag(moments), 0.0))
            scale = np.where(deviation > 0, deviation, 1.0).astype(mean.dtype)
        return PrincipalAnswer(center, scale, self.spectrum_of(moments / np.outer(scale, scale)), cutoffs)

    def answer_of(self, point: Point) -> PrincipalAnswer:
        """Return the model of a single batch."""
        return self.answer([self.express(place, point) for place in range(len(self.parts))], 0, True)

    def quantities(self, points: Sequence[Point], settled: Sequence[Array | None], answer: Any) -> list[Quantity]:
        # Means and variances have other units; the paper's theory is about the subspace.
        return [self.quantity(self.primary, points, settled)]

    def row_scores(self, point: Point, X: NDArray[Any], y: NDArray[Any] | None) -> Array:
        principal = _named(point)
        noise = noise_variance(principal.eigenvalues, principal.total_variance, self.columns)
        standard = (X - principal.mean) / np.exp(principal.log_scale)
        distances = principal_distances(standard, principal.basis.T, principal.eigenvalues, noise)
        return largest_over_cutoffs(distances, np.exp(principal.log_cutoffs))

    def spectrum_of(self, covariance: Array) -> Spectrum:
        """Return the leading directions of a covariance matrix."""
        size = self.columns
        values, vectors = linalg.eigh(covariance.astype(np.float64), subset_by_index=(size - self.components, size - 1))
        directions, variance = fix_signs(np.ascontiguousarray(vectors[:, ::-1])), np.maximum(values[::-1], 0.0)
        total = float(np.trace(covariance))
        dtype = covariance.dtype
        return Spectrum(
            np.ascontiguousarray(directions.T).astype(dtype),
            variance.astype(dtype),
            noise_variance(variance, total, size),
            total,
        )

    def spectrum(self, basis: Array, signal: Array, noise: Array) -> Spectrum:
        """Return the settled subspace as directions, ordered by the settled variance along them."""
        inner = basis.T.astype(np.float64) @ signal
        values, vectors = linalg.eigh(inner @ inner.T)
        directions = fix_signs(basis @ vectors[:, ::-1].astype(basis.dtype))
        floor = max(float(noise), 0.0)
        variance = np.maximum(values[::-1], 0.0) + floor
        total = float(variance.sum()) + (self.columns - self.components) * floor
        return Spectrum(
            np.ascontiguousarray(directions.T),
            variance.astype(basis.dtype, copy=False),
            floor,
            total,
        )


def _scale(settled: Sequence[Array | None] | None) -> Array:
    known = PrincipalValue(*(settled or ())).log_scale
    return np.ones(()) if known is None else np.exp(known)


def noise_variance(eigenvalues: Array, total_variance: Array | float, columns: int) -> float:
    """Return the mean variance of the directions outside the subspace; 0 if there are none."""
    outside = columns - len(eigenvalues)
    return max(0.0, float(total_variance - eigenvalues.sum()) / outside) if outside else 0.0


def principal_distances(
    standard: Array, components: Array, explained_variance: Array, noise: float
) -> tuple[Array, Array]:
    """Return the orthogonal and the score distance of centred rows, both in units of their variances."""
    scores = standard @ components.T
    tiny = np.finfo(np.float64).tiny
    score = np.sqrt(np.square(scores.astype(np.float64)) @ (1 / np.maximum(explained_variance, tiny)))
    outside = standard.shape[1] - len(components)
    if outside == 0:
        return np.zeros(len(standard)), score
    residual = standard - scores @ components
    # Where all variance lies within the subspace, what is left of a row is rounding error.
    floor = (_DIGITS * np.finfo(standard.dtype).eps) ** 2 * (np.square(standard).max(initial=0.0) + 1.0)
    variance = max(noise, float(floor), tiny)
    orthogonal = np.sqrt(np.square(residual).sum(axis=1, dtype=np.float64) / (variance * outside))
    return orthogonal, score


def largest_over_cutoffs(distances: tuple[Array, Array], cutoffs: Array) -> Array:
    """Return the larger of the two distances, each over its cut-off: above 1 a row is outlying."""
    return np.maximum(distances[0] / cutoffs[0], distances[1] / cutoffs[1])


def _named(point: Point) -> PrincipalPoint:
    """Return a point that may be a plain tuple, as one from a worker is, with names."""
    return PrincipalPoint(*point)  # type: ignore[arg-type]
