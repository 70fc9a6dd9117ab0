"""Kept sums of chosen pairs, the threshold found digit by digit: for few rows, and where brackets missed."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustream.kernels.gpu.device import kernel, load_cupy

__all__ = ["bits_type", "digit_places", "kept_sums_by_digits"]

# As in the kernels.
_DIGIT = 11
_THREADS = 512
_PAIRS_AT_ONCE = 4096
# From so many pairs on columns are read so often that it pays to lay them out one behind the other.
_PAIRS_FOR_COLUMNS = 64


def kept_sums_by_digits(left: Any, right: Any, kept: int, pairs: Any) -> Any:
    """Sum the `kept` smallest products of each of some pairs, which are numbered i * columns of right + j."""
    cupy = load_cupy()
    sums = cupy.empty(len(pairs))
    tables = _with_strides(left, right, len(pairs))
    for first in range(0, len(pairs), _PAIRS_AT_ONCE):
        part = slice(first, first + _PAIRS_AT_ONCE)
        sums[part] = _sums(tables, left.dtype, right.shape[1], left.shape[0], kept, pairs[part])
    return sums


def digit_places(bits: int, digit: int) -> list[tuple[int, int]]:
    """Give the lowest bit and the width of each digit of a number, from the top.

    >>> digit_places(31, 11)
    [(20, 11), (9, 11), (0, 9)]
    """
    places = []
    while bits > 0:
        width = min(digit, bits)
        bits -= width
        places.append((bits, width))
    return places


def bits_type(dtype: Any) -> Any:
    """Give the integers that numbers of a type are ordered by."""
    return np.uint64 if np.dtype(dtype) == np.float64 else np.uint32


def _with_strides(left: Any, right: Any, pairs: int) -> tuple[Any, ...]:
    """Give each table with the distances between its rows and between its columns."""
    first = _one_with_strides(left, pairs)
    return (*first, *(first if right is left else _one_with_strides(right, pairs)))


def _one_with_strides(table: Any, pairs: int) -> tuple[Any, Any, Any]:
    if pairs >= _PAIRS_FOR_COLUMNS:
        return load_cupy().ascontiguousarray(table.T), np.int64(1), np.int64(table.shape[0])
    return table, np.int64(table.shape[1]), np.int64(1)


def _sums(tables: tuple[Any, ...], dtype: Any, right_columns: int, rows: int, kept: int, pairs: Any) -> Any:
    cupy, count = load_cupy(), len(pairs)
    real = np.float64 if dtype == np.float64 else np.float32
    bits = bits_type(real)
    known, ranks = cupy.zeros(count, bits), cupy.full(count, kept, np.int32)
    alike, histograms = cupy.empty(count, np.int32), cupy.zeros((count, 1 << _DIGIT), np.int32)
    # Each part adds its own counts to those of all, which is dear where parts are many.
    splits = int(min(max(1, rows // (32 * _THREADS)), max(1, 2048 // count)))
    shape, common = ((splits, count), (_THREADS,)), (*tables, np.int64(rows), np.int32(right_columns), pairs, known)
    for shift, width in digit_places(8 * np.dtype(real).itemsize - 1, _DIGIT):
        places = (np.int32(shift), np.int32(width))
        kernel("tally_products", dtype, real)(*shape, (*common, *places, histograms))
        picked = (np.int32(count), np.int32(1 << _DIGIT), histograms, np.int32(shift), known, ranks, alike)
        kernel("pick_digit", bits)((-(-count // 8),), (256,), picked)
    below, tied = cupy.empty((count, splits)), cupy.empty((count, splits))
    kernel("sum_products", dtype, real)(*shape, (*common, below, tied))
    # The places left at the border are shared by all products that tie there.
    return below.sum(axis=1) + ranks / alike * tied.sum(axis=1)
