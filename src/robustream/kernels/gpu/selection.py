"""Exact order statistics on the GPU, found digit by digit from the top of the numbers' bits.

Medians and thresholds of magnitudes of every column; and kept sums of chosen pairs of columns, for few rows and where
the brackets of `trimmed_pairs` missed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robustream.kernels.gpu.device import kernel, load_cupy, matrix, multiprocessors

__all__ = ["bits_type", "column_medians", "column_thresholds", "digit_places", "kept_sums_by_digits"]

# As in the kernels: what is ordered, and how.
_AS_IT_IS, _MAGNITUDE = range(2)
_DIGIT, _LANES, _THREADS = 8, 32, 512
_BLOCKS_PER_MULTIPROCESSOR = 4


def column_medians(X: Any) -> Any:
    """Return the median of each column, as NumPy does: the mean of the two middle values of an even number."""
    table = matrix(X, "X")
    cupy, rows = load_cupy(), table.shape[0]
    found = _select(table, (rows + 1) // 2, _AS_IT_IS)
    lower = found.values(_AS_IT_IS)
    if rows % 2:
        return lower
    # The second of the two middle values is the same again, or the next above.
    above = cupy.full(len(lower), np.iinfo(found.keys.dtype).max, found.keys.dtype)
    grid, arguments = _launch(table, found.keys)
    kernel("next_above", table.dtype, found.real, _AS_IT_IS)(grid, (_THREADS,), (*arguments, above))
    upper = found.values(_AS_IT_IS, cupy.where(found.ranks < found.alike, found.keys, above))
    # Halved first where the sum may overflow; the same otherwise.
    total = lower + upper
    return cupy.where(cupy.isfinite(total), total / 2, lower / 2 + upper / 2)


def column_thresholds(table: Any, kept: int) -> tuple[Any, Any]:
    """Return the magnitude of rank `kept` in each column, and the share of those tied with it that is kept."""
    found = _select(table, kept, _MAGNITUDE)
    return found.values(_MAGNITUDE), found.ranks / found.alike


class _Selected(NamedTuple):
    """The key of a rank in each column, the rank among the values with that key, and how many these are."""

    keys: Any
    ranks: Any
    alike: Any
    real: Any

    def values(self, what: int, keys: Any = None) -> Any:
        """Return the numbers that keys stand for."""
        keys = self.keys if keys is None else keys
        numbers = load_cupy().empty(len(keys), self.real)
        arguments = (np.int32(len(keys)), keys, numbers)
        kernel("values_of", self.real, what)((-(-len(keys) // 128),), (128,), arguments)
        return numbers


def _select(table: Any, rank: int, what: int) -> _Selected:
    cupy, columns = load_cupy(), table.shape[1]
    real = np.float64 if table.dtype == np.float64 else np.float32
    bits = bits_type(real)
    known, ranks = cupy.zeros(columns, bits), cupy.full(columns, rank, np.int32)
    alike, histograms = cupy.empty(columns, np.int32), cupy.zeros((columns, 1 << _DIGIT), np.int32)
    grid, arguments = _launch(table, known)
    for shift, _ in digit_places(8 * np.dtype(real).itemsize, _DIGIT):
        kernel("tally_columns", table.dtype, real, what)(grid, (_THREADS,), (*arguments, np.int32(shift), histograms))
        picked = (np.int32(columns), np.int32(1 << _DIGIT), histograms, np.int32(shift), known, ranks, alike)
        kernel("pick_digit", bits)((-(-columns // 8),), (256,), picked)
    return _Selected(known, ranks, alike, real)


def _launch(table: Any, keys: Any) -> tuple[tuple[int, int], tuple[Any, ...]]:
    rows, columns = table.shape
    groups = -(-columns // _LANES)
    rows_at_once = _THREADS // _LANES
    splits = max(1, min(-(-rows // (8 * rows_at_once)), _BLOCKS_PER_MULTIPROCESSOR * multiprocessors() // groups))
    # In the place of the centres of deviations, which neither order needs, any address will do.
    return (splits, groups), (table, np.int64(rows), np.int32(columns), keys, keys)


# As in the kernels.
_PRODUCT_DIGIT = 11
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
    """Return the lowest bit and the width of each digit of a number, from the top.

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
    """Return the integers that numbers of a type are ordered by."""
    return np.uint64 if np.dtype(dtype) == np.float64 else np.uint32


def _with_strides(left: Any, right: Any, pairs: int) -> tuple[Any, ...]:
    """Return each table with the distances between its rows and between its columns."""
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
    alike, histograms = cupy.empty(count, np.int32), cupy.zeros((count, 1 << _PRODUCT_DIGIT), np.int32)
    # Each part adds its own counts to those of all, which is dear where parts are many.
    splits = int(min(max(1, rows // (32 * _THREADS)), max(1, 2048 // count)))
    shape, common = ((splits, count), (_THREADS,)), (*tables, np.int64(rows), np.int32(right_columns), pairs, known)
    for shift, width in digit_places(8 * np.dtype(real).itemsize - 1, _PRODUCT_DIGIT):
        places = (np.int32(shift), np.int32(width))
        kernel("tally_products", dtype, real)(*shape, (*common, *places, histograms))
        picked = (np.int32(count), np.int32(1 << _PRODUCT_DIGIT), histograms, np.int32(shift), known, ranks, alike)
        kernel("pick_digit", bits)((-(-count // 8),), (256,), picked)
    below, tied = cupy.empty((count, splits)), cupy.empty((count, splits))
    kernel("sum_products", dtype, real)(*shape, (*common, below, tied))
    # The places left at the border are shared by all products that tie there.
    return below.sum(axis=1) + ranks / alike * tied.sum(axis=1)
