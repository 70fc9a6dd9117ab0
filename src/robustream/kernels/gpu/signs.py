"""The trimmed product with targets of +1 and -1: what is kept of a column is the same for all targets.

The kept part of the rows is written as a sum of short numbers (bfloat16), whose products with +1 and -1 the matrix
units give exactly. Their sums are short ones in single precision, added up in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robustream.kernels.gpu.columns import column_thresholds
from robustream.kernels.gpu.device import kernel, load_cupy
from robustream.kernels.gpu.products import short_cross

__all__ = ["are_signs", "sign_product"]

_BLOCK_BYTES = 2 << 30
_ROWS_OF_SUM = 2048


def are_signs(matrix: Any) -> bool:
    """Tell whether every entry is +1 or -1; a look at the first row usually settles it."""
    cupy = load_cupy()
    return bool((cupy.abs(matrix[:1]) == 1).all()) and bool((cupy.abs(matrix) == 1).all())


def sign_product(left: Any, signs: Any, kept: int) -> Any:
    """Sum, for each column of left, the `kept` entries that are smallest in magnitude, times the signs."""
    cupy = load_cupy()
    thresholds, shares = column_thresholds(left, kept)
    if left.dtype == np.float64:
        return _in_double(left, signs, thresholds, shares)
    # Eight bits of a number are in each part: three hold single precision, two hold half precision.
    parts = 2 if left.dtype == np.float16 else 3
    rows, columns = left.shape
    targets = _shortened(signs)
    sums = cupy.zeros((columns, signs.shape[1]))
    step = max(_ROWS_OF_SUM, _BLOCK_BYTES // (2 * parts * columns) // _ROWS_OF_SUM * _ROWS_OF_SUM)
    pieces = cupy.empty((parts, min(step, rows), columns), np.uint16)
    for first in range(0, rows, step):
        block = left[first : first + step]
        place = pieces.ravel()[: parts * block.size].reshape(parts, *block.shape)
        arguments = (block, np.int64(block.size), np.int32(columns), thresholds, shares, place)
        kernel("split_kept", left.dtype, parts)((4096,), (256,), arguments)
        for part in place:
            sums += short_cross(part, targets[first : first + step], _ROWS_OF_SUM)
    return sums


def _shortened(signs: Any) -> Any:
    short = load_cupy().empty(signs.shape, np.uint16)
    kernel("shorten", signs.dtype)((4096,), (256,), (signs, np.int64(signs.size), short))
    return short


def _in_double(left: Any, signs: Any, thresholds: Any, shares: Any) -> Any:
    cupy, rows = load_cupy(), left.shape[0]
    step = max(1, _BLOCK_BYTES // (8 * left.shape[1]))
    sums = cupy.zeros((left.shape[1], signs.shape[1]))
    for first in range(0, rows, step):
        block = left[first : first + step]
        size = cupy.abs(block)
        weighted = cupy.where(size < thresholds, block, cupy.where(size == thresholds, shares * block, 0.0))
        sums += weighted.T @ signs[first : first + step].astype(np.float64)
    return sums
