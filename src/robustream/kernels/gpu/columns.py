"""Exact order statistics of every column on the GPU: medians, median absolute deviations, thresholds of magnitudes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robustream.kernels.gpu.device import kernel, load_cupy, matrix, multiprocessors
from robustream.kernels.gpu.digits import bits_type, digit_places

__all__ = ["column_medians", "column_thresholds", "median_deviations"]

# As in the kernels: what is ordered, and how.
_AS_IT_IS, _MAGNITUDE, _DEVIATION = range(3)
_DIGIT, _LANES, _THREADS = 8, 32, 512
_BLOCKS_PER_MULTIPROCESSOR = 4


def column_medians(X: Any) -> Any:
    """Give the median of each column, as NumPy does: the mean of the two middle values of an even number."""
    return _medians(matrix(X, "X"), _AS_IT_IS, None)


def median_deviations(X: Any, centers: Any) -> Any:
    """Give the median of the absolute deviations of each column from its centre."""
    return _medians(matrix(X, "X"), _DEVIATION, centers)


def column_thresholds(table: Any, kept: int) -> tuple[Any, Any]:
    """Give the magnitude of rank `kept` in each column, and the share of those tied with it that is kept."""
    found = _select(table, kept, _MAGNITUDE, None)
    return found.values(_MAGNITUDE), found.ranks / found.alike


class _Selected(NamedTuple):
    """The key of a rank in each column, the rank among the values with that key, and how many these are."""

    keys: Any
    ranks: Any
    alike: Any
    real: Any

    def values(self, what: int, keys: Any = None) -> Any:
        """Give the numbers that keys stand for."""
        keys = self.keys if keys is None else keys
        numbers = load_cupy().empty(len(keys), self.real)
        arguments = (np.int32(len(keys)), keys, numbers)
        kernel("values_of", self.real, what)((-(-len(keys) // 128),), (128,), arguments)
        return numbers


def _medians(table: Any, what: int, centers: Any) -> Any:
    cupy, rows = load_cupy(), table.shape[0]
    found = _select(table, (rows + 1) // 2, what, centers)
    lower = found.values(what)
    if rows % 2:
        return lower
    # The second of the two middle values is the same again, or the next above.
    above = cupy.full(len(lower), np.iinfo(found.keys.dtype).max, found.keys.dtype)
    grid, arguments = _launch(table, found.real, centers, found.keys)
    kernel("next_above", table.dtype, found.real, what)(grid, (_THREADS,), (*arguments, above))
    upper = found.values(what, cupy.where(found.ranks < found.alike, found.keys, above))
    # Halved first where the sum may overflow; the same otherwise.
    total = lower + upper
    return cupy.where(cupy.isfinite(total), total / 2, lower / 2 + upper / 2)


def _select(table: Any, rank: int, what: int, centers: Any) -> _Selected:
    cupy, columns = load_cupy(), table.shape[1]
    real = np.float64 if table.dtype == np.float64 else np.float32
    bits = bits_type(real)
    known, ranks = cupy.zeros(columns, bits), cupy.full(columns, rank, np.int32)
    alike, histograms = cupy.empty(columns, np.int32), cupy.zeros((columns, 1 << _DIGIT), np.int32)
    grid, arguments = _launch(table, real, centers, known)
    for shift, _ in digit_places(8 * np.dtype(real).itemsize, _DIGIT):
        kernel("tally_columns", table.dtype, real, what)(grid, (_THREADS,), (*arguments, np.int32(shift), histograms))
        picked = (np.int32(columns), np.int32(1 << _DIGIT), histograms, np.int32(shift), known, ranks, alike)
        kernel("pick_digit", bits)((-(-columns // 8),), (256,), picked)
    return _Selected(known, ranks, alike, real)


def _launch(table: Any, real: Any, centers: Any, keys: Any) -> tuple[tuple[int, int], tuple[Any, ...]]:
    rows, columns = table.shape
    groups = -(-columns // _LANES)
    rows_at_once = _THREADS // _LANES
    splits = max(1, min(-(-rows // (8 * rows_at_once)), _BLOCKS_PER_MULTIPROCESSOR * multiprocessors() // groups))
    center = keys if centers is None else load_cupy().asarray(centers, real)
    return (splits, groups), (table, np.int64(rows), np.int32(columns), center, keys)
