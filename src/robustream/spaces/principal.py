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

__all__ = ["PrincipalModels", "PrincipalPoint", "Spectrum"]


class PrincipalPoint(NamedTuple):
    """What is stored of a batch's principal components."""

    mean: Array  # columns
    log_scale: Array  # columns; zeros unless the columns were standardised
    basis: Array  # columns x components, orthonormal
    eigenvalues: Array  # components
    total_variance: Array  # a number


class Spectrum(NamedTuple):
    """The final directions with their variances, and the noise variance of the other directions."""

    components: Array  # components x columns
    explained_variance: Array
    noise_variance: float
    total_variance: float


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
            Part("log column scale", Euclidean((self.columns,))),
            Part("mean", Euclidean((self.columns,))),
            Part("subspace", Subspace(self.columns, self.components)),
            Part("signal variance", LowRank(self.columns, self.components)),
            Part("noise variance", Euclidean(())),
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
        noise = _noise_variance(principal, self.columns, self.components)
        if part == 4:
            return np.asarray(noise, dtype=principal.basis.dtype)
        above = np.sqrt(np.maximum(principal.eigenvalues - noise, 0.0))
        return principal.basis * above.astype(principal.basis.dtype)

    def restore(self, part: int, value: Array, settled: Sequence[Array | None]) -> Array:
        return value * _scale(settled) if part == 1 else value

    def spectrum(self, basis: Array, signal: Array, noise: Array) -> Spectrum:
        """Turn the settled subspace into directions, ordered by the settled variance along them."""
        inner = basis.T.astype(np.float64) @ signal
        values, vectors = linalg.eigh(inner @ inner.T)
        directions = fix_signs(basis @ vectors[:, ::-1].astype(basis.dtype))
        noise_variance = max(float(noise), 0.0)
        variance = np.maximum(values[::-1], 0.0) + noise_variance
        total = float(variance.sum()) + (self.columns - self.components) * noise_variance
        return Spectrum(
            np.ascontiguousarray(directions.T),
            variance.astype(basis.dtype, copy=False),
            noise_variance,
            total,
        )


def _scale(settled: Sequence[Array | None] | None) -> Array:
    known = settled[0] if settled else None
    return np.ones(()) if known is None else np.exp(known)


def _noise_variance(point: PrincipalPoint, columns: int, components: int) -> float:
    """Give the mean variance of the directions outside the subspace."""
    if columns == components:
        return 0.0
    return max(0.0, float(point.total_variance - point.eigenvalues.sum()) / (columns - components))
