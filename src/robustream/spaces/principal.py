"""Principal component models: a mean, a subspace, the spectrum in it, the noise around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from robustream.spaces.base import Array, Point
from robustream.spaces.euclidean import Euclidean
from robustream.spaces.factored import LowRank, Subspace, fix_signs
from robustream.spaces.product import Part, ProductSpace

__all__ = ["PrincipalModels", "PrincipalPoint", "Spectrum", "noise_variance"]


class PrincipalPoint(NamedTuple):
    """What is stored of a batch's principal components."""

    mean: Array  # columns
    log_scale: Array  # columns; zeros unless the columns were standardised
    basis: Array  # columns x components, orthonormal
    eigenvalues: Array  # components
    total_variance: Array  # a number
    log_cutoffs: Array  # two numbers: logarithms of the cut-offs for orthogonal and score distances


class Spectrum(NamedTuple):
    """The final directions with their variances, and the noise variance of the other directions."""

    components: Array  # components x columns
    explained_variance: Array
    noise_variance: float
    total_variance: float

    def explaining(self, share: float) -> Spectrum:
        """Give the first directions that together explain a share of the total variance; all if they fall short."""
        explained = np.cumsum(self.explained_variance, dtype=np.float64)
        wanted = share * self.total_variance * (1 - 1e-12)
        count = min(int(np.searchsorted(explained, wanted)) + 1, len(explained))
        noise = noise_variance(self.explained_variance[:count], self.total_variance, self.components.shape[1])
        return Spectrum(self.components[:count], self.explained_variance[:count], noise, self.total_variance)


@dataclass(frozen=True)
class PrincipalModels(ProductSpace):
    """Column scales, mean, subspace, variance above the noise within it, and noise variance.

    A batch's covariance is modelled as noise * I + U (L - noise) U'. The second term is a low-rank matrix that
    can be compared and mixed between batches whose bases differ; eigenvalues one by one cannot.
    """

    columns: int
    components: int

    @property
    def parts(self) -> tuple[Part, ...]:
        return (
            Part("log column scale", Euclidean((self.columns,)), "noise"),
            Part("mean", Euclidean((self.columns,))),
            Part("subspace", Subspace(self.columns, self.components)),
            Part("signal variance", LowRank(self.columns, self.components), "noise"),
            Part("noise variance", Euclidean(()), "noise"),
            Part("log cut-offs", Euclidean((2,)), "passenger"),
        )

    @property
    def primary(self) -> int:
        return 2

    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        principal = PrincipalPoint(*point)  # type: ignore[arg-type]
        if part < 3:
            value = (principal.log_scale, principal.mean, principal.basis)[part]
            # Means are compared in the settled units of the columns.
            return value / _scale(settled) if part == 1 else value
        if part == 5:
            return principal.log_cutoffs
        noise = noise_variance(principal.eigenvalues, principal.total_variance, self.columns)
        if part == 4:
            return np.asarray(noise, dtype=principal.basis.dtype)
        above = np.sqrt(np.maximum(principal.eigenvalues - noise, 0.0))
        return principal.basis * above.astype(principal.basis.dtype)

    def restore(self, part: int, value: Array, settled: Sequence[Array | None]) -> Array:
        return value * _scale(settled) if part == 1 else value

    def answer(self, settled: Sequence[Array | None], rows: int, averaged: bool) -> Spectrum:
        basis, signal, noise = settled[2:5]
        assert basis is not None
        assert signal is not None
        assert noise is not None
        return self.spectrum(basis, signal, noise)

    def spectrum(self, basis: Array, signal: Array, noise: Array) -> Spectrum:
        """Turn the settled subspace into directions, ordered by the settled variance along them."""
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
    known = settled[0] if settled else None
    return np.ones(()) if known is None else np.exp(known)


def noise_variance(eigenvalues: Array, total_variance: Array | float, columns: int) -> float:
    """Give the mean variance of the directions outside the subspace; 0 if there are none."""
    outside = columns - len(eigenvalues)
    return max(0.0, float(total_variance - eigenvalues.sum()) / outside) if outside else 0.0
