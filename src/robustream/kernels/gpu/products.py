"""Matrix products of short numbers with sums in single and, over many rows, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustream.kernels.gpu.device import load_cupy

__all__ = ["short_cross"]

_ONE, _ZERO = np.ones(1, np.float32), np.zeros(1, np.float32)
# What may lie about as sums of short stretches of rows.
_SUMS_BYTES = 1 << 30


def short_cross(left: Any, right: Any, rows_of_sum: int) -> Any:
    """Give left' right for rows of half precision or, as unsigned integers, bfloat16; summed in double precision.

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


def _batched(left: Any, right: Any, count: int) -> Any:
    """Give the products of `count` stretches of rows, each in single precision."""
    cupy = load_cupy()
    from cupy.cuda import device, runtime
    from cupy_backends.cuda.libs import cublas  # type: ignore[import-not-found]

    kind = runtime.CUDA_R_16F if left.dtype == np.float16 else runtime.CUDA_R_16BF
    rows, columns, outputs = len(left) // count, left.shape[1], right.shape[1]
    products = cupy.empty((count, columns, outputs), np.float32)
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
        _ZERO.ctypes.data,
        products.data.ptr,
        runtime.CUDA_R_32F,
        outputs,
        columns * outputs,
        count,
        cublas.CUBLAS_COMPUTE_32F,
        cublas.CUBLAS_GEMM_DEFAULT,
    )
    return products
