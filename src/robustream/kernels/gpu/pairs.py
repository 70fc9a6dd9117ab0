"""Exact trimmed products of all pairs of columns, on the GPU.

The way of the compiled kernel of the processor: a bracket around each pair's threshold, one pass that sums below it and
collects inside it, the exact threshold among the few collected. Three things make the brackets narrow: a sample, two
counts over a part of the rows, a count over all of them. Pairs whose bracket missed go the way of `digits`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from robustream.kernels.gpu.device import kernel, load_cupy, matrix
from robustream.kernels.gpu.digits import kept_sums_by_digits
from robustream.kernels.gpu.plan import HIGH, LOW, PART, STAGE, Plan, plan_of
from robustream.kernels.gpu.signs import are_signs, sign_product
from robustream.kernels.reference import kept_count

__all__ = ["trimmed_covariance", "trimmed_cross"]

# With so few rows a sample has nothing to add.
_FEWEST_ROWS = 4096


def trimmed_covariance(X: Any, trim: float) -> Any:
    """Average the kept products of every pair of columns, without centring; the result stays on the GPU."""
    table = matrix(X, "X")
    return _kept_means(table, table, kept_count(table.shape[0], trim))


def trimmed_cross(X: Any, Y: Any, trim: float) -> Any:
    """Average the kept products of every column of X with every column of Y (or with the vector Y)."""
    left = matrix(X, "X")
    right = matrix(Y if Y.ndim == 2 else Y[:, None], "Y")
    kept = kept_count(left.shape[0], trim)
    real = np.result_type(_real(left), _real(right))
    if are_signs(right):
        means = (sign_product(left, right, kept) / kept).astype(real)
    else:
        if left.dtype != right.dtype:
            left, right = left.astype(real, copy=False), right.astype(real, copy=False)
        means = _kept_means(left, right, kept)
    return means if Y.ndim == 2 else means[:, 0]


def _kept_means(left: Any, right: Any, kept: int) -> Any:
    """Average, for each column of left and of right, the `kept` products that are smallest in magnitude."""
    cupy, real = load_cupy(), _real(left)
    plan = plan_of(left.shape[0], left.shape[1], right.shape[1], right is left)
    shape = (plan.left_columns, plan.right_columns)
    means = cupy.empty(shape, real)
    if plan.rows < _FEWEST_ROWS:
        missed = _all_pairs(*shape, right is left)
    else:
        # Thresholds, slopes and the two ends of the brackets.
        limits = cupy.empty((4, *shape), real)
        _guess(plan, left, right, kept, limits)
        # Two tables of counts, and the number of pairs that fail; then which.
        numbers = cupy.zeros(2 * means.size + 1, np.int32)
        _find_brackets(plan, left, right, kept, limits, numbers[:-1].reshape(2, *shape))
        failures, failed = numbers[-1:], cupy.empty(means.size, np.int32)
        for slab in plan.slabs(kept, real):
            _collect(slab, left, right, kept, limits, means, failures, failed)
        missed = cupy.sort(failed[:count]) if (count := int(failures.get()[0])) else ()
    if len(missed):
        # Converted on the host: CuPy would set numbers below the normal range to 0.
        rest = cupy.asarray((kept_sums_by_digits(left, right, kept, missed).get() / kept).astype(real))
        means.ravel()[missed] = rest
        if right is left:
            means.T[missed // plan.right_columns, missed % plan.right_columns] = rest
    return means


def _guess(plan: Plan, left: Any, right: Any, kept: int, limits: Any) -> None:
    """Put thresholds and slopes of a sample into the first two of the limits."""
    real, size = _real(left), 8192 // left.itemsize if left.dtype == np.float64 else 2048
    left_sample = _sample(left, size)
    right_sample = left_sample if right is left else _sample(right, size)
    columns = (np.int32(plan.left_columns), np.int32(plan.right_columns), np.int32(plan.triangle))
    rank = np.int32(min(size - 1, int((kept - 0.5) / plan.rows * size)))
    blocks = (-(-limits[0].size // 8),)
    kernel("guess", real)(blocks, (256,), (left_sample, right_sample, *columns, rank, limits[0], limits[1]))


def _find_brackets(plan: Plan, left: Any, right: Any, kept: int, limits: Any, counts: Any) -> None:
    """Put the ends of the brackets into the last two of the limits; the counts are zeros on entry."""
    real, (thresholds, slopes, lows, highs) = _real(left), limits
    share, pairs = (kept - 0.5) / plan.rows, np.int64(thresholds.size)
    grid = ((-(-thresholds.size // 256),), (256,))
    if plan.in_parts:
        part = plan._replace(skip=PART)
        for factor, counted in zip((LOW, HIGH), counts, strict=True):
            _count(part, left, right, thresholds, factor, counted)
        stages = len(range(0, -(-plan.rows // STAGE), PART))
        rows = np.float64(min(plan.rows, stages * STAGE))
        aimed = (pairs, rows, np.float64(share), real(LOW), real(HIGH), *counts, slopes, thresholds)
        kernel("aim", real)(*grid, aimed)
        counts.fill(0)
    _count(plan, left, right, thresholds, 1.0, counts[0])
    known = (np.float64(plan.rows), np.float64(share), np.float64(plan.doubt()))
    kernel("enclose", real)(*grid, (pairs, *known, slopes, counts[0], thresholds, lows, highs))


def _count(plan: Plan, left: Any, right: Any, thresholds: Any, factor: float, counts: Any) -> None:
    real = _real(left)
    arguments = (*plan.arguments(), left, right, plan.tiles(), thresholds, real(factor), counts)
    counter = kernel("count_below", left.dtype, real)
    counter(plan.grid(), (plan.threads(),), arguments, shared_mem=plan.buffer_bytes(real))


def _collect(plan: Plan, left: Any, right: Any, kept: int, limits: Any, means: Any, failures: Any, failed: Any) -> None:
    cupy, real = load_cupy(), _real(left)
    grid, capacity = plan.grid(), plan.capacity(kept)
    pairs = (plan.left_stop - plan.left_first) * plan.right_columns
    fragments, size = grid[0] * pairs, np.dtype(real).itemsize
    # One piece of memory for all findings, the widest numbers first: making an array takes longer than some kernels.
    space = cupy.empty(fragments * (8 + 4 + 2 + size * capacity) + 16, np.uint8)
    sums = space.data.ptr
    inside = sums + 8 * fragments
    below = inside + size * capacity * fragments
    found = below + 4 * fragments
    findings = (np.intp(below), np.intp(sums), np.intp(found), np.intp(inside), np.int32(capacity))
    arguments = (*plan.arguments(), left, right, plan.tiles(), limits[2], limits[3], *findings)
    collector = kernel("collect_inside", left.dtype, real)
    collector(grid, (plan.threads(),), arguments, shared_mem=plan.collecting_bytes(real))
    numbers = (*plan.arguments(), np.int32(grid[0]), np.int32(kept))
    settled = (*numbers, limits[2], limits[3], *findings, means, failures, failed)
    kernel("settle", real)((-(-pairs // 4),), (128,), settled)


def _sample(table: Any, size: int) -> Any:
    """Copy evenly spread rows, one at random out of each stretch, column by column."""
    columns = table.shape[1]
    sample = load_cupy().empty((columns, size), _real(table))
    arguments = (table, np.int32(columns), _sample_rows(table.shape[0], size), np.int32(size), sample)
    kernel("gather", table.dtype, _real(table))((-(-columns // 32), -(-size // 8)), (32, 8), arguments)
    return sample


@cache
def _sample_rows(rows: int, size: int) -> Any:
    places = np.arange(size) + np.random.default_rng(rows).random(size)
    return load_cupy().asarray((places * (rows / size)).astype(np.int64))


def _all_pairs(left_columns: int, right_columns: int, triangle: bool) -> Any:
    pairs = np.arange(left_columns * right_columns, dtype=np.int32).reshape(left_columns, right_columns)
    return load_cupy().asarray(pairs[np.triu_indices(left_columns)] if triangle else pairs.ravel())


def _real(table: Any) -> Any:
    return np.float64 if table.dtype == np.float64 else np.float32
