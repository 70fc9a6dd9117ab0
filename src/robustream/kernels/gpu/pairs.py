"""Exact trimmed products of all pairs of columns, on the GPU.

The way of the compiled kernel of the processor: a bracket around each pair's threshold, one pass that sums below it and
collects inside it, the exact threshold among the few collected. Three things make the brackets narrow: a sample, a
count over a part of the rows, a count over all of them. Pairs whose bracket missed go the way of `digits`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from robustream.kernels.gpu.device import kernel, load_cupy, matrix, multiprocessors
from robustream.kernels.gpu.digits import kept_sums_by_digits
from robustream.kernels.gpu.signs import are_signs, sign_product
from robustream.kernels.reference import kept_count

__all__ = ["trimmed_covariance", "trimmed_cross"]

# As in the kernels: columns of a group, rows of a stage, most threads of a block.
_SIDE, _STAGE, _THREADS = 4, 32, 352
# Up to as many columns one block of threads takes all pairs of them.
_ONE_PANEL = 104
_PANEL = 64
# With so few rows a sample has nothing to add.
_FEWEST_ROWS = 4096
# A count over a part of the rows pays from this many on.
_ROWS_FOR_PART = 1 << 17
_PART = 16
# What may be collected at once.
_WORKSPACE_BYTES = 4 << 30


def trimmed_covariance(X: Any, trim: float) -> Any:
    """Average the kept products of every pair of columns, without centring; the result stays on the GPU."""
    table = matrix(X, "X")
    kept = kept_count(table.shape[0], trim)
    return (kept_sums(table, table, kept) / kept).astype(_real(table))


def trimmed_cross(X: Any, Y: Any, trim: float) -> Any:
    """Average the kept products of every column of X with every column of Y (or with the vector Y)."""
    left = matrix(X, "X")
    right = matrix(Y if Y.ndim == 2 else Y[:, None], "Y")
    kept = kept_count(left.shape[0], trim)
    real = np.result_type(_real(left), _real(right))
    if are_signs(right):
        sums = sign_product(left, right, kept)
    else:
        if left.dtype != right.dtype:
            left, right = left.astype(real, copy=False), right.astype(real, copy=False)
        sums = kept_sums(left, right, kept)
    means = (sums / kept).astype(real)
    return means if Y.ndim == 2 else means[:, 0]


def kept_sums(left: Any, right: Any, kept: int) -> Any:
    """Sum, for each column of left and of right, the `kept` products that are smallest in magnitude."""
    cupy = load_cupy()
    shape = (left.shape[1], right.shape[1])
    totals = cupy.zeros(shape)
    if left.shape[0] < _FEWEST_ROWS:
        pairs = _all_pairs(*shape, right is left)
        totals.ravel()[pairs] = kept_sums_by_digits(left, right, kept, pairs)
        return _mirrored(totals, right is left)
    real = _real(left)
    thresholds, slopes, lows, highs = (cupy.empty(shape, real) for _ in range(4))
    _find_brackets(left, right, kept, thresholds, slopes, lows, highs)
    failures, failed = cupy.zeros(1, np.int32), cupy.empty(left.shape[1] * right.shape[1], np.int32)
    plan = _Plan.of(left, right)
    for first, stop in _slabs(plan, left, right, kept):
        _collect(
            plan._replace(left_first=first, left_stop=stop), left, right, kept, lows, highs, totals, failures, failed
        )
    missed = int(failures[0])
    if missed:
        pairs = cupy.sort(failed[:missed])
        totals.ravel()[pairs] = kept_sums_by_digits(left, right, kept, pairs)
    return _mirrored(totals, right is left)


class _Plan(NamedTuple):
    """How pairs are shared out: panels of columns for blocks of threads, groups of columns for threads."""

    rows: int
    left_columns: int
    right_columns: int
    left_width: int
    right_width: int
    same: int
    triangle: int
    skip: int
    left_first: int
    left_stop: int

    @classmethod
    def of(cls, left: Any, right: Any) -> _Plan:
        rows, columns = left.shape
        same = int(right is left and columns <= _ONE_PANEL)
        widths = (
            (_width(columns, _ONE_PANEL), _width(columns, _ONE_PANEL))
            if same
            else (_width(columns, _PANEL), _width(right.shape[1], _PANEL))
        )
        return cls(rows, columns, right.shape[1], *widths, same, int(right is left), 1, 0, columns)

    def arguments(self) -> tuple[Any, ...]:
        return (np.int64(self.rows), *(np.int32(value) for value in self[1:]))

    def panels(self) -> tuple[int, int]:
        return -(-(self.left_stop - self.left_first) // self.left_width), -(-self.right_columns // self.right_width)

    def threads(self) -> int:
        return len(_tiles(self.left_width, self.right_width, self.same))

    def tiles(self) -> Any:
        return _device_tiles(self.left_width, self.right_width, self.same)

    def row_blocks(self, per_multiprocessor: int) -> int:
        """Give into how many parts the rows are cut so that all multiprocessors have work."""
        left, right = self.panels()
        panels = left * right if not self.triangle or self.same else left * (right + 1) // 2
        stages = -(-self.rows // (_STAGE * self.skip))
        return max(1, min(stages, -(-per_multiprocessor * multiprocessors() // panels)))

    def buffer_bytes(self, real: Any) -> int:
        pitch = self.left_width if self.same else self.left_width + self.right_width
        return 2 * _STAGE * pitch * np.dtype(real).itemsize


def _find_brackets(left: Any, right: Any, kept: int, thresholds: Any, slopes: Any, lows: Any, highs: Any) -> None:
    cupy, real, rows = load_cupy(), _real(left), left.shape[0]
    share, pairs = (kept - 0.5) / rows, thresholds.size
    size = 32 * 256 // np.dtype(real).itemsize
    left_sample = _sample(left, size)
    right_sample = left_sample if right is left else _sample(right, size)
    columns = (np.int32(left.shape[1]), np.int32(right.shape[1]), np.int32(right is left))
    rank = np.int32(min(size - 1, int(share * size)))
    kernel("guess", real)((-(-pairs // 8),), (256,), (left_sample, right_sample, *columns, rank, thresholds, slopes))
    counts = cupy.zeros(thresholds.shape, np.int32)
    plan, grid = _Plan.of(left, right), ((-(-pairs // 256),), (256,))
    if rows >= _ROWS_FOR_PART:
        part = plan._replace(skip=_PART)
        _count(part, left, right, thresholds, counts)
        stages = len(range(0, -(-rows // _STAGE), _PART))
        counted = min(rows, stages * _STAGE)
        aimed = (np.int64(pairs), np.float64(counted), np.float64(share), slopes, counts, thresholds)
        kernel("aim", real)(*grid, aimed)
    _count(plan, left, right, thresholds, counts)
    enclosed = (np.int64(pairs), np.float64(rows), np.float64(share), slopes, counts, thresholds, lows, highs)
    kernel("enclose", real)(*grid, enclosed)


def _count(plan: _Plan, left: Any, right: Any, thresholds: Any, counts: Any) -> None:
    arguments = (*plan.arguments(), left, right, plan.tiles(), thresholds, counts)
    kernel("count_below", left.dtype, thresholds.dtype)(
        (plan.row_blocks(2), *plan.panels()),
        (plan.threads(),),
        arguments,
        shared_mem=plan.buffer_bytes(thresholds.dtype),
    )


def _collect(
    plan: _Plan, left: Any, right: Any, kept: int, lows: Any, highs: Any, totals: Any, failures: Any, failed: Any
) -> None:
    cupy, real = load_cupy(), _real(left)
    blocks = plan.row_blocks(2)
    pairs = (plan.left_stop - plan.left_first) * plan.right_columns
    capacity = _capacity(plan.rows, kept, blocks)
    below, sums = cupy.empty((blocks, pairs), np.int32), cupy.empty((blocks, pairs))
    found, inside = cupy.empty((blocks, pairs), np.uint16), cupy.empty((blocks, pairs, capacity), real)
    findings = (below, sums, found, inside, np.int32(capacity))
    shared = plan.threads() * _SIDE * _SIDE * (8 + 4 + 2) + plan.buffer_bytes(real)
    kernel("collect_inside", left.dtype, real)(
        (blocks, *plan.panels()),
        (plan.threads(),),
        (*plan.arguments(), left, right, plan.tiles(), lows, highs, *findings),
        shared_mem=shared,
    )
    arguments = (*plan.arguments(), np.int32(blocks), np.int32(kept), lows, highs, *findings, totals, failures, failed)
    kernel("settle", real)((-(-pairs // 4),), (128,), arguments)


def _capacity(rows: int, kept: int, blocks: int) -> int:
    """Give how many products a part of the rows may have inside a bracket; a few more than almost ever."""
    share = kept / rows
    counted = rows / _PART if rows >= _ROWS_FOR_PART else 2048
    off = 3.5 * np.sqrt(share * (1 - share) / counted)
    inside = 2.5 * rows * (0.25 * off + 5 * np.sqrt(off / rows) + 4 / rows) / blocks
    return min(8 * int(2 + (inside + 6 * np.sqrt(inside)) / 8), 65_000)


def _slabs(plan: _Plan, left: Any, right: Any, kept: int) -> list[tuple[int, int]]:
    """Cut the left columns so that what is collected for a slab fits into the workspace."""
    columns = left.shape[1]
    if plan.same:
        return [(0, columns)]
    width = plan.left_width
    for panels in range(-(-columns // width), 0, -1):
        trial = plan._replace(left_stop=min(columns, panels * width))
        blocks = trial.row_blocks(2)
        column_bytes = (
            right.shape[1] * blocks * (14 + np.dtype(_real(left)).itemsize * _capacity(plan.rows, kept, blocks))
        )
        if panels * width * column_bytes <= _WORKSPACE_BYTES or panels == 1:
            return [(first, min(first + panels * width, columns)) for first in range(0, columns, panels * width)]
    return []


def _sample(table: Any, size: int) -> Any:
    """Copy evenly spread rows, one at random out of each stretch, column by column."""
    cupy, columns = load_cupy(), table.shape[1]
    sample = cupy.empty((columns, size), _real(table))
    arguments = (table, np.int32(columns), _sample_rows(table.shape[0], size), np.int32(size), sample)
    kernel("gather", table.dtype, sample.dtype)((-(-columns // 32), -(-size // 8)), (32, 8), arguments)
    return sample


@cache
def _sample_rows(rows: int, size: int) -> Any:
    places = np.arange(size) + np.random.default_rng(rows).random(size)
    return load_cupy().asarray((places * (rows / size)).astype(np.int64))


def _width(columns: int, most: int) -> int:
    """Give the columns of a panel: panels of about the same width, in whole groups."""
    panels = -(-columns // most)
    return -(-columns // (panels * _SIDE)) * _SIDE


def _tiles(left_width: int, right_width: int, same: int) -> list[int]:
    """Give the groups that each thread works on: the left one in the upper half of a number."""
    lefts, rights = left_width // _SIDE, right_width // _SIDE
    return [i << 16 | j for i in range(lefts) for j in range(i if same else 0, rights)]


@cache
def _device_tiles(left_width: int, right_width: int, same: int) -> Any:
    tiles = _tiles(left_width, right_width, same)
    assert len(tiles) <= _THREADS
    return load_cupy().asarray(np.array(tiles, np.int32))


def _all_pairs(left_columns: int, right_columns: int, triangle: bool) -> Any:
    pairs = np.arange(left_columns * right_columns, dtype=np.int32).reshape(left_columns, right_columns)
    return load_cupy().asarray(pairs[np.triu_indices(left_columns)] if triangle else pairs.ravel())


def _mirrored(sums: Any, symmetric: bool) -> Any:
    cupy = load_cupy()
    return cupy.triu(sums) + cupy.triu(sums, 1).T if symmetric else sums


def _real(table: Any) -> Any:
    return np.float64 if table.dtype == np.float64 else np.float32
