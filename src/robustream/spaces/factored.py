"""Symmetric matrices M = F F' that are kept as their factor F (p x r), so that no p x p is needed.

`Subspace` holds projectors (F has orthonormal columns), `LowRank` any such matrix of rank d. Distances are
Frobenius distances of the matrices. A mixture is again a factor, with more columns:
a F F' + b G G' = [sqrt(a) F, sqrt(b) G][...]'.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from robustream.spaces.base import Array, Points, Space

__all__ = ["LowRank", "Subspace", "fix_signs", "leading_directions", "middle_subspace"]

# Rows of Gram matrix worked on at a time hold about this many numbers (32 MB).
_CHUNK = 4_000_000
# Beyond it a direction is off by about a right angle, and may be so by any amount.
_LARGEST_TANGENT = 8.0


@dataclass(frozen=True)
class _Factored(Space):
    """What projectors and other factored matrices share; `rank` is the number of columns of a point."""

    columns: int
    rank: int

    def why_not(self, point: Array) -> str | None:
        if point.shape != (self.columns, self.rank):
            return f"has shape {point.shape} where {(self.columns, self.rank)} was needed"
        return None if np.isfinite(point).all() else "has values that are not finite"

    def origin(self, like: Array) -> Array:
        return np.zeros_like(like)

    def mix(self, mixtures: Points, weights: Array) -> Array:
        dtype = mixtures[0].dtype
        used = np.flatnonzero(weights > 0)
        if len(used) == 0:
            return np.zeros_like(mixtures[0])
        factor = np.concatenate([mixtures[k] for k in used.tolist()], axis=1)
        factor = factor * np.repeat(np.sqrt(weights[used]), [mixtures[k].shape[1] for k in used.tolist()])
        return _compress(factor).astype(dtype, copy=False)

    def distances(self, mixture: Array, points: Points) -> Array:
        center = np.asarray(mixture, dtype=np.float64)
        return np.array([_distance(np.asarray(point, dtype=np.float64), center) for point in points])

    def entries(self, points: Points, rows: slice) -> Array:
        return np.stack([point[rows] @ point.T for point in points])

    def entry_rows(self, like: Array) -> int:
        return self.columns

    def from_entries(self, entries: Array, like: Array) -> Array:
        values, vectors = linalg.eigh((entries + entries.T) / 2)
        factor = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
        return self.project(factor[:, : max(self.rank, 1)].astype(like.dtype, copy=False))

    def coordinates(self, points: Points) -> Array:
        gram = self._gram(points)
        gram -= gram.mean(axis=0)
        gram -= gram.mean(axis=1, keepdims=True)
        values, vectors = linalg.eigh(gram)
        kept = values > values[-1] * len(points) * np.finfo(np.float64).eps
        coordinates: Array = vectors[:, kept] * np.sqrt(values[kept])
        return coordinates if coordinates.shape[1] else np.zeros((len(points), 1))

    @abstractmethod
    def _gram(self, points: Points) -> Array:
        """Return the inner products of the points, less some common point."""


@dataclass(frozen=True)
class Subspace(_Factored):
    """Subspaces of dimension `rank`, as orthonormal p x rank factors of their projectors.

    >>> planes = Subspace(columns=3, rank=1)
    >>> east, north = np.eye(3)[:, :1], np.eye(3)[:, 1:2]
    >>> planes.distances(east, [east, north]).round(4)
    array([0.    , 1.4142])
    """

    def project(self, mixture: Array) -> Array:
        return leading_directions(mixture, self.rank)

    def comparable(self, points: Points) -> Array:
        """Return coordinates around a common subspace: how far each of its directions would have to be moved.

        With U = R A + E they are the entries of E inv(A), as long as the tangents of the angles: symmetric around 0 for
        good subspaces, and large for those that have a direction at a right angle; not so large that these are wild
        where half of all are off by 45 degrees, as where no subspace is better than others. Distances of projectors
        would bring in squares as coordinates of their own, never negative, so that good subspaces stood apart along
        them; the isometric coordinates need all pairs of points, besides: 0.4 s for 1,000 of 100 x 5.
        """
        stacked = np.stack([np.asarray(point, dtype=np.float64) for point in points])
        reference = middle_subspace(stacked)
        inside = reference.T @ stacked
        outside = stacked - reference @ inside
        left, cosines, right = np.linalg.svd(inside)
        inverse = (left / np.maximum(cosines, 1 / _LARGEST_TANGENT)[:, None, :]) @ right
        coordinates = (outside @ inverse.transpose(0, 2, 1)).reshape(len(stacked), -1)
        return np.asarray(coordinates - np.median(coordinates, axis=0))

    def squared_size(self, point: Array) -> float:
        return float(point.shape[1])  # the squared norm of a projector is its rank

    @property
    def diameter(self) -> float:
        """That of subspaces which have no direction in common."""
        return float(np.sqrt(2 * min(self.rank, self.columns - self.rank)))

    def _gram(self, points: Points) -> Array:
        """Inner products of P_i - P_R for a reference R near the middle.

        With U_i = R A_i + E_i: P_i - P_R = R (A A' - I) R' + R A E' + E A' R' + E E'. Each term is as small as
        the points are close, so that nothing cancels, as it would in d - ||U_i' U_j||^2.
        """
        stacked = np.stack([np.asarray(point, dtype=np.float64) for point in points])
        reference = leading_directions(np.concatenate(list(stacked), axis=1), self.rank)
        inside = np.einsum("pk,tpd->tkd", reference, stacked)
        outside = stacked - reference @ inside
        square = inside @ inside.transpose(0, 2, 1) - np.eye(self.rank)
        cross = inside @ outside.transpose(0, 2, 1)
        count = len(points)
        gram = square.reshape(count, -1) @ square.reshape(count, -1).T
        gram += 2 * (cross.reshape(count, -1) @ cross.reshape(count, -1).T)
        gram += _squared_blocks(outside)
        return gram


@dataclass(frozen=True)
class LowRank(_Factored):
    """Positive semidefinite matrices of rank at most `rank`, as p x rank factors."""

    def project(self, mixture: Array) -> Array:
        vectors, values, _ = linalg.svd(mixture, full_matrices=False)
        factor = np.zeros((self.columns, self.rank), dtype=mixture.dtype)
        kept = min(self.rank, values.size)
        factor[:, :kept] = fix_signs(vectors[:, :kept]) * values[:kept]
        return factor

    def scales(self, points: Points) -> Array:
        sizes = [np.asarray(point, dtype=np.float64).ravel() for point in points]
        # The largest entry is taken out first: the squares of 1e200 overflow.
        peaks = np.array([max(float(np.abs(size).max(initial=0.0)), 1e-300) for size in sizes])
        return np.array([[p * np.linalg.norm(size / p)] for p, size in zip(peaks, sizes, strict=True)])

    def _gram(self, points: Points) -> Array:
        return _squared_blocks(np.stack([np.asarray(point, dtype=np.float64) for point in points]))


def leading_directions(factor: Array, rank: int) -> Array:
    """Return an orthonormal basis of the `rank` leading left singular directions of a factor.

    A factor with fewer columns is completed, so that the result always has `rank` columns.
    """
    if factor.shape[1] > factor.shape[0]:
        factor = _compress(factor)
    vectors, values, _ = linalg.svd(factor, full_matrices=factor.shape[1] < rank)
    del values
    return fix_signs(vectors[:, :rank])


def middle_subspace(stacked: Array) -> Array:
    """Return the subspace nearest to all: the leading directions of the mean projector."""
    count, columns, rank = stacked.shape
    joined = stacked.transpose(1, 0, 2).reshape(columns, count * rank)
    if columns > count * rank:
        return leading_directions(joined, rank)
    return np.asarray(linalg.eigh(joined @ joined.T, subset_by_index=(columns - rank, columns - 1))[1])


def fix_signs(vectors: Array) -> Array:
    """Turn each column so that its largest entry is positive: eigenvectors have no sign of their own."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1, signs).astype(vectors.dtype))


def _compress(factor: Array) -> Array:
    """Return a factor of the same matrix with at most as many columns as rows: exact to rounding, no truncation."""
    if factor.shape[1] <= factor.shape[0]:
        return factor
    triangle = linalg.qr(factor.T, mode="r")[0][: factor.shape[0]]
    return np.ascontiguousarray(triangle.T)


def _distance(first: Array, second: Array) -> float:
    """Return ||F F' - G G'|| as a sum of squares, so that close matrices keep their digits.

    With B = Q' G and E = G - Q B for an orthonormal basis Q of F = Q S:
    F F' - G G' = Q (S S' - B B') Q' - Q B E' - E B' Q' - E E', three orthogonal parts.
    """
    basis, triangle = linalg.qr(first, mode="economic")
    inside = basis.T @ second
    outside = second - basis @ inside
    spread = outside.T @ outside
    square = triangle @ triangle.T - inside @ inside.T
    total = np.square(square).sum() + 2 * np.sum((inside @ spread) * inside) + np.square(spread).sum()
    return float(np.sqrt(max(total, 0.0)))


def _squared_blocks(factors: Array) -> Array:
    """Return the matrix of ||F_i' F_j||_F^2 for factors stacked as (count, p, r)."""
    count, columns, rank = factors.shape
    flat = factors.transpose(0, 2, 1).reshape(count * rank, columns)
    result = np.empty((count, count))
    step = max(1, _CHUNK // max(1, count * rank * rank))
    for start in range(0, count, step):
        stop = min(count, start + step)
        products = flat[start * rank : stop * rank] @ flat.T
        result[start:stop] = np.square(products).reshape(stop - start, rank, count, rank).sum(axis=(1, 3))
    return result
