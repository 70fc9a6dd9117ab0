"""Matrix products of short numbers with sums in single and, over many rows, in double precision.

`tall_product` gives second moments of long tables. `sign_product` is the trimmed product with targets of +1 and -1:
what is kept of a column is the same for all targets. The kept part of the rows is written as a sum of short numbers
(bfloat16), whose products with +1 and -1 the matrix units give exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robustream.kernels.gpu.device import kernel, load_cupy
from robustream.kernels.gpu.selection import column_thresholds

__all__ = ["are_signs", "short_cross", "sign_product", "tall_product"]

_ONE, _ZERO = np.ones(1, np.float32), np.zeros(1, np.float32)
# What may lie about as sums of short stretches of rows, and as parts of rows.
_SUMS_BYTES, _PARTS_BYTES = 1 << 30, 4 << 30
_ROWS_OF_SUM = 2048


def short_cross(left: Any, right: Any, rows_of_sum: int) -> Any:
    """Return left' right for rows of half precision or, as unsigned integers, bfloat16; summed in double precision.

    Parameters
    ----------
    left, right : arrays of shape (n, p) and (n, m), both of one type, rows one behind the other
    rows_of_sum : int
        How many rows are summed in single precision.
    """
    cupy = load_cupy()
    rows, columns, outputs = left.shape[0], left.shape[1], right.shape[1]
    sums = cupy.zeros((columns, outputs))
    whole = rows // rows_of_sum
    at_once = max(1, _SUMS_BYTES // (4 * columns * outputs))
    for first in range(0, whole, at_once):
        count = min(at_once, whole - first)
        place = slice(first * rows_of_sum, (first + count) * rows_of_sum)
        sums += _batched(left[place], right[place], count).sum(axis=0, dtype=np.float64)
    if whole * rows_of_sum < rows:
        sums += _batched(left[whole * rows_of_sum :], right[whole * rows_of_sum :], 1)[0]
    return sums


def tall_product(left: Any, right: Any) -> Any:
    """Return left' right of long tables in single precision, to 1e-5 of a mean square, by the units for short numbers.

    A number is the sum of two of eight bits each and a rest. What is left out, the product of the two second parts and
    the rests, is three millionths of a sum of squares, and the units cut sums off, which loses five more; sums of mixed
    signs lose a hundredth of that. Of a table with itself one of the three products is another's transpose.
    """
    same = right is left
    sums = load_cupy().zeros((left.shape[1], right.shape[1]))
    step = max(_ROWS_OF_SUM, _PARTS_BYTES // (4 * (left.shape[1] + right.shape[1])) // _ROWS_OF_SUM * _ROWS_OF_SUM)
    for first in range(0, len(left), step):
        block = slice(first, first + step)
        left_parts = _two_parts(left[block])
        right_parts = left_parts if same else _two_parts(right[block])
        products = load_cupy().zeros((2, *sums.shape), np.float32)
        for i, j in ((0, 0), (0, 1)) if same else ((0, 0), (0, 1), (1, 0)):
            for start in range(0, len(left_parts[i]), _ROWS_OF_SUM):
                stretch = slice(start, start + _ROWS_OF_SUM)
                _batched(left_parts[i][stretch], right_parts[j][stretch], 1, products[i + j : i + j + 1])
        sums += products[0]
        sums += products[1]
        if same:
            sums += products[1].T
    return sums.astype(np.float32)


def _two_parts(table: Any) -> Any:
    cupy = load_cupy()
    parts = cupy.empty((2, *table.shape), np.uint16)
    everything, whole = cupy.full(table.shape[1], np.inf, np.float32), cupy.ones(table.shape[1])
    arguments = (table, np.int64(table.size), np.int32(table.shape[1]), everything, whole, parts)
    kernel("split_kept", table.dtype, 2)((4096,), (256,), arguments)
    return parts


def _batched(left: Any, right: Any, count: int, products: Any = None) -> Any:
    """Return the products of `count` stretches of rows, each in single precision, added to those given."""
    cupy = load_cupy()
    from cupy.cuda import device, runtime
    from cupy_backends.cuda.libs import cublas  # type: ignore[import-not-found]

    kind = runtime.CUDA_R_16F if left.dtype == np.float16 else runtime.CUDA_R_16BF
    rows, columns, outputs = len(left) // count, left.shape[1], right.shape[1]
    added = _ZERO if products is None else _ONE
    products = cupy.empty((count, columns, outputs), np.float32) if products is None else products
    # The library stores columns one behind the other, so that it sees all matrices transposed.
    cublas.gemmStridedBatchedEx(
        device.get_cublas_handle(),
        cublas.CUBLAS_OP_N,
        cublas.CUBLAS_OP_T,
        outputs,
        columns,
        rows,
        _ONE.ctypes.data,
        right.data.ptr,
        kind,
        outputs,
        rows * outputs,
        left.data.ptr,
        kind,
        columns,
        rows * columns,
        added.ctypes.data,
        products.data.ptr,
        runtime.CUDA_R_32F,
        outputs,
        columns * outputs,
        count,
        cublas.CUBLAS_COMPUTE_32F,
        cublas.CUBLAS_GEMM_DEFAULT,
    )
    return products


_BLOCK_BYTES = 2 << 30


def are_signs(matrix: Any) -> bool:
    """Return whether every entry is +1 or -1; a look at the first row usually settles it."""
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
