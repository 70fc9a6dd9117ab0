"""Coordinates of a few points with very many numbers each: as many as there are points, with the same distances.

Everything that aggregators ask of points follows from their inner products. These are summed once, in blocks; the
points are never converted or copied as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from robustream.spaces.base import Array

__all__ = ["LARGE", "compact_coordinates"]

# From so many numbers on a point is large.
LARGE = 1 << 20
_BLOCK = 1 << 16
_LOOK = 4096
# How much is added to the diagonal, so that equal points have a factor too.
_RIDGE = 1e-13


def compact_coordinates(points: Sequence[Array]) -> Array:
    """Embed points isometrically, up to rounding, as rows of a (points x points) array.

    >>> plane = compact_coordinates([np.zeros(9), np.full(9, 1.0), np.full(9, 3.0)])
    >>> bool(np.isclose(np.linalg.norm(plane[2] - plane[1]), 6.0, rtol=1e-5))
    True
    """
    flat = [point.ravel() for point in points]
    middle = _amid(flat)
    products = np.zeros((len(flat), len(flat)))
    for start in range(0, flat[0].size, _BLOCK):
        block = np.stack([point[start : start + _BLOCK] for point in flat]).astype(np.float64)
        # Seen from one amid them nothing cancels.
        block -= block[middle].copy()
        products += block @ block.T
    length = np.sqrt(np.diag(products))
    unit = np.where(length > 0, length, 1.0)
    # A factor of the scaled products is exact for each pair in its own units, whatever the size of the others.
    scaled = products / np.outer(unit, unit)
    scaled[np.diag_indices_from(scaled)] += _RIDGE * len(flat)
    return np.asarray(linalg.cholesky(scaled, lower=True) * unit[:, None])


def _amid(flat: Sequence[Array]) -> int:
    """Give a point that most others are near, by some of their numbers."""
    places = np.linspace(0, flat[0].size - 1, num=_LOOK).astype(np.intp)
    some = np.stack([point[places] for point in flat]).astype(np.float64)
    distances = [float(np.median(np.abs(some - row).mean(axis=1))) for row in some]
    return int(np.argmin(distances))
