"""Principal component models: a mean, a subspace, the spectrum in it, the noise around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from robustream.spaces.base import Array, Point, known_moments, move_moments, without_gaps
from robustream.spaces.euclidean import Euclidean
from robustream.spaces.factored import LowRank, Subspace, fix_signs
from robustream.spaces.product import Chance, Law, Part, PartMean, ProductSpace, Quantity, usual_chance

__all__ = [
    "PrincipalAnswer",
    "PrincipalModels",
    "PrincipalPoint",
    "PrincipalValue",
    "Spectrum",
    "largest_over_cutoffs",
    "noise_variance",
    "principal_distances",
    "sorted_directions",
    "turning",
]

# Rounding errors up to this many units in the last place are no distance.
_DIGITS = 1e4
# How many directions a batch tells the variances of: this over the square of the columns, since each costs as much as
# the covariance matrix, but never fewer than the next number.
_TOLD, _FEWEST_TOLD = 100_000, 2


# Parts that a point has under the same name, whatever is settled.
_AS_IT_IS = frozenset(["log_scale", "log_cutoffs", "scores", "variance"])


class PrincipalPoint(NamedTuple):
    """What is stored of a batch's principal components."""

    mean: Array  # columns
    log_scale: Array  # columns; zeros unless the columns were standardised
    basis: Array  # columns x components, orthonormal
    eigenvalues: Array  # components
    total_variance: Array  # a number
    log_cutoffs: Array  # two numbers: logarithms of the cut-offs for orthogonal and score distances
    moments: Array | None = None  # covariance of the rows it believes, in the units of the columns
    scores: Array | None = None  # how far out the rows lie that it believes (`learners.calibration`)
    # Of each of the first directions the variances of its loadings and, last, of the variance along it, in units of the
    # largest such variance: told x (columns + 1).
    variance: Array | None = None


class _ReadPoint(PrincipalPoint):
    """A point with zeros for unknown moments, and what is asked of it again and again."""

    known: NDArray[np.bool_] | None  # which columns it knows the moments of; None if all

    @cached_property
    def noise(self) -> float:
        """The mean variance of the directions outside the subspace."""
        return noise_variance(self.eigenvalues, self.total_variance, len(self.mean))


def _named(point: Point) -> _ReadPoint:
    """Return a point that may be a plain tuple, as one from a worker is, with names; unknown moments are zero."""
    if isinstance(point, _ReadPoint):
        return point
    principal = _ReadPoint(*point)  # type: ignore[arg-type]
    moments, known = (None, None) if principal.moments is None else known_moments(principal.moments)
    if known is not None:
        principal = principal._replace(moments=moments)
    principal.known = known
    return principal


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
    scores: Array | None = None
    variance: Array | None = None


class Spectrum(NamedTuple):
    """The final directions with their variances, and the noise variance of the other directions."""

    components: Array  # components x columns
    explained_variance: Array
    noise_variance: float
    total_variance: float

    @property
    def largest(self) -> float:
        """The largest variance, as a unit: 1 where nothing varies."""
        return float(self.explained_variance[0]) or 1.0

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

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return (
            Part("log column scale", Euclidean((self.columns,)), "noise", is_log=True, said="spread of the columns"),
            Part("mean", Euclidean((self.columns,))),
            Part("subspace", Subspace(self.columns, self.components)),
            Part(
                "signal variance", LowRank(self.columns, self.components), "noise", said="spread along the components"
            ),
            Part("noise variance", Euclidean(()), "noise", said="noise around the components"),
            Part("log cut-offs", Euclidean((2,)), "passenger"),
            Part("centre", Euclidean((self.columns,)), "passenger"),
            Part("second moments", Euclidean((self.columns, self.columns)), "passenger"),
            Part("row scores", Euclidean(), "passenger"),
            Part("variance", Euclidean((self.told, self.columns + 1)), "passenger"),
        )

    @property
    def told(self) -> int:
        """The number of directions that a batch tells the variances of."""
        return min(self.components, max(_FEWEST_TOLD, _TOLD // self.columns**2))

    @property
    def primary(self) -> int:
        return 2

    def entry_name(self, part: int, entry: int) -> str:
        return f"{self.parts[part].noun} of {self.column_name(entry)}"

    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        principal = _named(point)
        name = PrincipalValue._fields[part]
        if name in ("log_scale", "subspace", "signal", "noise") and principal.known is not None:
            return None  # directions without some of the columns are those of another table
        if name in _AS_IT_IS:
            value: Array | None = getattr(principal, name)
            return value
        if name == "mean":
            # Compared in the settled units of the columns.
            return principal.mean / _scale(settled)
        if name == "subspace":
            return principal.basis
        if name in ("center", "moments"):
            if principal.moments is None or name == "center":
                return None if principal.moments is None else principal.mean
            # About the settled centre: what differs between batches belongs to the moments of all rows.
            known = PrincipalValue(*(settled or ())).center
            offset = np.zeros_like(principal.mean) if known is None else principal.mean - known
            return np.asarray(principal.moments + np.outer(offset, offset))
        if name == "noise":
            return np.asarray(principal.noise, dtype=principal.basis.dtype)
        above = np.sqrt(np.maximum(principal.eigenvalues - principal.noise, 0.0))
        return principal.basis * above.astype(principal.basis.dtype)

    def read(self, point: Point) -> Point:
        return _named(point)

    def known(self, part: int, point: Point) -> NDArray[np.bool_] | None:
        columns = _named(point).known
        if columns is None or PrincipalValue._fields[part] not in ("mean", "center", "moments"):
            return None
        return np.outer(columns, columns) if PrincipalValue._fields[part] == "moments" else columns

    def law(self, point: Point) -> Law | None:
        principal = _named(point)
        if principal.moments is None or principal.known is not None:
            return None
        return Law(principal.mean, principal.moments)

    def chance(self, part: int, points: Sequence[Point], rows: Array) -> Chance | None:
        laws = [self.law(point) for point in points]
        if (
            PrincipalValue._fields[part] not in ("mean", "subspace")
            or self.standardize
            or any(law is None for law in laws)
        ):
            return None
        return usual_chance([law.covariance for law in laws if law is not None], rows)

    def restore(self, part: int, value: Array, settled: Sequence[Array | None]) -> Array:
        return value * _scale(settled) if PrincipalValue._fields[part] == "mean" else value

    def restate(
        self, part: int, mean: PartMean, before: Sequence[Array | None], after: Sequence[Array | None]
    ) -> Array | None:
        old, new = PrincipalValue(*before).center, PrincipalValue(*after).center
        if PrincipalValue._fields[part] != "moments" or old is None or new is None:
            return mean.value
        return move_moments(mean.value, old, new)

    def answer(self, settled: Sequence[Array | None], rows: int, averaged: bool) -> PrincipalAnswer:
        """Read the model off the settled parts; from the moments only if all parts are means of the same batches."""
        log_scale, mean, subspace, signal, noise, log_cutoffs, center, moments, *_ = settled
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

    def asked(self, points: Sequence[Point], settled: Sequence[Array | None], answer: PrincipalAnswer) -> Array | None:
        """Return how far each point would move loadings and variances, points x components x (columns + 1).

        It is to first order, in units of the largest variance, and up to a shift that all have in common; None where
        points bring no moments.
        """
        place, count = PrincipalValue._fields.index("moments"), len(answer.spectrum.components)
        whole = PrincipalValue(*settled).moments
        if whole is None:
            return None
        found = np.empty((len(points), count, self.columns + 1))
        units = np.outer(answer.scale, answer.scale).astype(np.float64) * answer.spectrum.largest
        whole = whole / units
        values, vectors = sorted_directions(whole)
        for row, point in enumerate(points):
            moments = self.express(place, point, settled)
            if moments is None:
                return None
            change = moments / units
            if self.standardize:  # the scales of the columns move as well
                half = np.diag(change) * (answer.spectrum.largest / 2)
                change = change - (half[:, None] + half) * whole
            found[row, :, :-1] = (vectors.T @ (change @ vectors[:, :count])).T
        found[:, :, -1] = np.einsum("bkk->bk", found[:, :, :count])
        for k in range(count):
            found[:, k, :-1] = found[:, k, :-1] @ turning(values, vectors, k).T
        return found

    def quantities(self, points: Sequence[Point], settled: Sequence[Array | None], answer: Any) -> list[Quantity]:
        # Means and variances have other units; the paper's theory is about the subspace.
        return [self.quantity(self.primary, points, settled)]

    def row_scores(self, point: Point, X: NDArray[Any], y: NDArray[Any] | None) -> Array:
        principal = _named(point)
        # A missing cell speaks neither for nor against a row.
        centered = X - principal.mean
        if self.standardize:
            centered /= np.exp(principal.log_scale)
        standard = without_gaps(centered)
        distances = principal_distances(standard, principal.basis.T, principal.eigenvalues, principal.noise)
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


def sorted_directions(covariance: Array) -> tuple[Array, Array]:
    """Return all eigenvalues of a covariance matrix, the largest first, and the eigenvectors as columns."""
    values, vectors = linalg.eigh(covariance.astype(np.float64))
    # Eigenvalues that differ by rounding alone are equal.
    rounding = np.finfo(covariance.dtype).eps * len(values) * float(values[-1])
    close = np.diff(values, prepend=-np.inf) <= rounding
    for place in np.flatnonzero(close):
        values[place] = values[place - 1]
    return values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1])


def turning(values: Array, vectors: Array, which: int) -> Array:
    """Return the matrix that takes V' D v to the change of the eigenvector v with a change D, to first order.

    V are all eigenvectors. The eigenvalue changes by the entry of v itself. NaN says that the eigenvalue is equal to
    another, and the vector not determined.
    """
    gaps = values[which] - values
    gaps[which] = np.inf
    return np.asarray(vectors / np.where(gaps == 0, np.nan, gaps))


# Up to so many components distances are worked out row by row; BLAS is faster for more.
_MOST_COMPILED = 8


def principal_distances(
    standard: Array, components: Array, explained_variance: Array, noise: float
) -> tuple[Array, Array]:
    """Return the orthogonal and the score distance of centred rows, both in units of their variances."""
    tiny = np.finfo(np.float64).tiny
    outside, factors = standard.shape[1] - len(components), 1 / np.maximum(explained_variance, tiny)
    if isinstance(standard, np.ndarray) and len(components) <= _MOST_COMPILED and standard.flags.c_contiguous:
        from robustream.kernels.row_loops import subspace_squares  # Numba comes with the first batch

        score, left = np.empty(len(standard)), np.empty(len(standard))
        largest = subspace_squares(standard, np.ascontiguousarray(components), factors, score, left)
    else:
        scores = standard @ components.T
        score = np.square(scores.astype(np.float64)) @ factors
        left = np.square(standard - scores @ components).sum(axis=1, dtype=np.float64) if outside else score
        largest = float(np.square(standard).max(initial=0.0))
    if outside == 0:
        return np.zeros(len(standard)), np.sqrt(score)
    # Where all variance lies within the subspace, what is left of a row is rounding error.
    floor = (_DIGITS * np.finfo(standard.dtype).eps) ** 2 * (largest + 1.0)
    variance = max(noise, float(floor), tiny)
    return np.sqrt(left / (variance * outside)), np.sqrt(score)


def largest_over_cutoffs(distances: tuple[Array, Array], cutoffs: Array) -> Array:
    """Return the larger of the two distances, each over its cut-off: above 1 a row is outlying."""
    return np.maximum(distances[0] / cutoffs[0], distances[1] / cutoffs[1])
