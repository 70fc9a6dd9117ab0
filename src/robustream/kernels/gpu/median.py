"""The geometric median of points on the GPU.

All that the median depends on is the table of inner products of the points. It is summed on the GPU; the median of as
many points in a space of as many dimensions is found by the certified solver of the host; the mixture of the points
that makes up the median is summed on the GPU again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from robustream.kernels.gpu.columns import column_medians
from robustream.kernels.gpu.device import load_cupy
from robustream.kernels.median import MedianInfo
from robustream.kernels.median import geometric_median as median_on_host

__all__ = ["geometric_median"]

# With more points than this, their table of inner products costs more than a copy of them.
_MOST_POINTS = 8192
_BLOCK_BYTES = 1 << 29


def geometric_median(points: Any, weights: Any = None, **options: Any) -> tuple[Any, MedianInfo]:
    """Find the point with the least weighted sum of distances to points (T, ...), and what is known about it."""
    cupy, count = load_cupy(), len(points)
    flat = points.reshape(count, -1)
    real = np.float32 if flat.dtype == np.float32 else np.float64
    if count > _MOST_POINTS or flat.shape[1] <= count:
        found, info = median_on_host(flat.get(), weights, return_info=True, **options)
        return cupy.asarray(found).reshape(points.shape[1:]), info
    step = max(1, _BLOCK_BYTES // (8 * count))
    blocks = [slice(first, first + step) for first in range(0, flat.shape[1], step)]
    # Seen from a point amid them, nothing cancels.
    middle = cupy.concatenate([column_medians(cupy.ascontiguousarray(flat[:, block])) for block in blocks])
    products = cupy.zeros((count, count))
    for block in blocks:
        offsets = flat[:, block].astype(np.float64) - middle[block].astype(np.float64)
        products += offsets @ offsets.T
    values, vectors = linalg.eigh(products.get())
    coordinates = vectors * np.sqrt(np.maximum(values, 0.0))
    _, info = median_on_host(coordinates, weights, return_info=True, **options)
    shares = cupy.asarray(info.coefficients)
    found = cupy.empty(flat.shape[1], real)
    for block in blocks:
        center = middle[block].astype(np.float64)
        found[block] = center + shares @ (flat[:, block].astype(np.float64) - center)
    return found.reshape(points.shape[1:]), info
