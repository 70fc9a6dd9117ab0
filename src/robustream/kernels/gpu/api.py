"""The public kernels for arrays on a GPU: input is checked here, once, and results come back in kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from robustream.errors import InvalidInputError
from robustream.kernels.device_arrays import library_of
from robustream.kernels.gpu import trimmed_pairs
from robustream.kernels.gpu.device import as_device_array, load_cupy, matrix, of_library
from robustream.kernels.gpu.numpy_proxy import DeviceRows, on_host
from robustream.kernels.gpu.selection import column_medians, kept_sums_by_digits
from robustream.kernels.median import MedianInfo
from robustream.kernels.median import geometric_median as median_on_host
from robustream.kernels.reference import kept_count

__all__ = ["all_finite", "geometric_median", "in_kind", "trimmed_covariance", "trimmed_cross", "trimmed_inner"]


def trimmed_inner(x: Any, y: Any, trim: float) -> float:
    """Sum the products of two vectors without the largest ones in magnitude."""
    left, right = _finite(as_device_array(x), "x"), _finite(as_device_array(y), "y")
    if left.ndim != 1 or right.ndim != 1:
        raise InvalidInputError(f"x and y must be 1-dimensional, got shapes {left.shape} and {right.shape}.")
    _same_rows(left, right, "x", "y")
    real = load_cupy().result_type(left, right)
    first, second = (matrix(vector[:, None].astype(real, copy=False), "x") for vector in (left, right))
    only = load_cupy().zeros(1, "int32")
    return float(kept_sums_by_digits(first, second, kept_count(len(left), trim), only)[0])


def trimmed_covariance(X: Any, trim: float) -> Any:
    """Average the kept products of every pair of columns, without centring."""
    return in_kind(trimmed_pairs.trimmed_covariance(_finite(matrix(X, "X"), "X"), trim), X)


def trimmed_cross(X: Any, Y: Any, trim: float) -> Any:
    """Average the kept products of every column of X with every column of Y."""
    left, right = _finite(matrix(X, "X"), "X"), _finite(as_device_array(Y), "Y")
    _same_rows(left, right, "X", "Y")
    return in_kind(trimmed_pairs.trimmed_cross(left, right, trim), X)


def geometric_median(points: Any, weights: Any, **options: Any) -> Any:
    """Find the point with the least weighted sum of distances to the given points."""
    array = _finite(as_device_array(points), "points")
    found, info = _median_of(array, None if weights is None else on_host(weights), **options)
    return in_kind(found, points), info


def in_kind(result: Any, like: Any) -> Any:
    """Return a result as the library of the argument would: NumPy for what a learner works on, else where that lies."""
    return on_host(result) if isinstance(like, DeviceRows) else of_library(result, library_of(like) or "cupy")


def all_finite(array: Any) -> bool:
    """Return whether all is finite, by one sum unless that overflows."""
    cupy = load_cupy()
    total = array.sum(dtype="float64" if array.dtype.kind == "f" else None)
    return bool(cupy.isfinite(total)) or bool(cupy.isfinite(array).all())


def _finite(array: Any, name: str) -> Any:
    if not all_finite(array):
        raise InvalidInputError(f"{name} must be finite, got NaN or infinity. Drop or fill those rows first.")
    return array


def _same_rows(left: Any, right: Any, left_name: str, right_name: str) -> None:
    if len(left) != len(right):
        raise InvalidInputError(
            f"{left_name} and {right_name} must have the same number of rows, got {len(left)} and {len(right)}."
        )


# With more points than this, their table of inner products costs more than a copy of them.
_MOST_POINTS = 8192
_BLOCK_BYTES = 1 << 29


def _median_of(points: Any, weights: Any = None, **options: Any) -> tuple[Any, MedianInfo]:
    """Find the point with the least weighted sum of distances to points (T, ...), and what is known about it.

    All that the median depends on is the table of inner products of the points. It is summed on the GPU; the median of
    as many points in a space of as many dimensions is found by the certified solver of the host; the mixture of the
    points that makes up the median is summed on the GPU again.
    """
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
