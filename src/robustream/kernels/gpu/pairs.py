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
from robustream.kernels.gpu.replay import SMALL_BYTES, Workspace, replayed
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
    if plan.rows < _FEWEST_ROWS:
        means = cupy.empty((plan.left_columns, plan.right_columns), real)
        missed = _all_pairs(plan)
    elif plan.same and left.nbytes <= SMALL_BYTES:
        means, missed = replayed(left, kept, _workspace, _all_passes)
    else:
        work = _workspace(plan, kept, left.dtype)
        _all_passes(plan, left, right, kept, work)
        means, missed = work.means, work.missed()
    if len(missed):
        # Converted on the host: CuPy would set numbers below the normal range to 0.
        rest = cupy.asarray((kept_sums_by_digits(left, right, kept, missed).get() / kept).astype(real))
        means.ravel()[missed] = rest
        if right is left:
            means.T[missed // plan.right_columns, missed % plan.right_columns] = rest
    return means


def _workspace(plan: Plan, kept: int, dtype: Any) -> Workspace:
    cupy, real = load_cupy(), np.float64 if dtype == np.float64 else np.float32
    shape, pairs = (plan.left_columns, plan.right_columns), plan.left_columns * plan.right_columns
    size = _sample_size(real)
    sample = cupy.empty((plan.left_columns + (0 if plan.triangle else plan.right_columns), size), real)
    fragments = max(slab.fragment_bytes(kept, real) for slab in plan.slabs(kept, real))
    return Workspace(
        cupy.empty(shape, real),
        cupy.empty((4, *shape), real),
        cupy.empty(2 * pairs + 1, np.int32),
        cupy.empty(pairs, np.int32),
        sample,
        cupy.empty(fragments, np.uint8),
    )


def _all_passes(plan: Plan, left: Any, right: Any, kept: int, work: Workspace) -> None:
    """Do all that can be done without a look at what came out."""
    work.numbers.data.memset_async(0, work.numbers.nbytes)
    _guess(plan, left, right, kept, work)
    _find_brackets(plan, left, right, kept, work)
    for slab in plan.slabs(kept, _real(left)):
        _collect(slab, left, right, kept, work)


def _guess(plan: Plan, left: Any, right: Any, kept: int, work: Workspace) -> None:
    """Put thresholds and slopes of a sample into the first two of the limits."""
    real = _real(left)
    size = _sample_size(real)
    left_sample = right_sample = work.sample[: plan.left_columns]
    _sample(left, size, left_sample)
    if not plan.triangle:
        right_sample = work.sample[plan.left_columns :]
        _sample(right, size, right_sample)
    columns = (np.int32(plan.left_columns), np.int32(plan.right_columns), np.int32(plan.triangle))
    rank = np.int32(min(size - 1, int((kept - 0.5) / plan.rows * size)))
    arguments = (left_sample, right_sample, *columns, rank, work.limits[0], work.limits[1])
    kernel("guess", real)((-(-work.means.size // 8),), (256,), arguments)


def _find_brackets(plan: Plan, left: Any, right: Any, kept: int, work: Workspace) -> None:
    """Put the ends of the brackets into the last two of the limits; the counts are zeros on entry."""
    real, (thresholds, slopes, lows, highs) = _real(left), work.limits
    share, pairs = (kept - 0.5) / plan.rows, np.int64(thresholds.size)
    counts = work.numbers[: 2 * thresholds.size].reshape(2, *thresholds.shape)
    grid = ((-(-thresholds.size // 256),), (256,))
    if plan.in_parts:
        part = plan._replace(skip=PART)
        for factor, counted in zip((LOW, HIGH), counts, strict=True):
            _count(part, left, right, thresholds, factor, counted)
        stages = len(range(0, -(-plan.rows // STAGE), PART))
        rows = np.float64(min(plan.rows, stages * STAGE))
        aimed = (pairs, rows, np.float64(share), real(LOW), real(HIGH), *counts, slopes, thresholds)
        kernel("aim", real)(*grid, aimed)
        counts.data.memset_async(0, counts.nbytes)
    _count(plan, left, right, thresholds, 1.0, counts[0])
    known = (np.float64(plan.rows), np.float64(share), np.float64(plan.doubt()))
    kernel("enclose", real)(*grid, (pairs, *known, slopes, counts[0], thresholds, lows, highs))


def _count(plan: Plan, left: Any, right: Any, thresholds: Any, factor: float, counts: Any) -> None:
    real = _real(left)
    arguments = (*plan.arguments(), left, right, plan.tiles(), thresholds, real(factor), counts)
    counter = kernel("count_below", left.dtype, real)
    counter(plan.grid(), (plan.threads(),), arguments, shared_mem=plan.buffer_bytes(real))


def _collect(plan: Plan, left: Any, right: Any, kept: int, work: Workspace) -> None:
    real, size = _real(left), np.dtype(_real(left)).itemsize
    grid, capacity = plan.grid(), plan.capacity(kept)
    pairs = (plan.left_stop - plan.left_first) * plan.right_columns
    fragments = grid[0] * pairs
    # All findings in one piece of memory, the widest numbers first.
    sums = work.findings.data.ptr
    inside = sums + 8 * fragments
    below = inside + size * capacity * fragments
    found = below + 4 * fragments
    findings = (np.intp(below), np.intp(sums), np.intp(found), np.intp(inside), np.int32(capacity))
    brackets = (work.limits[2], work.limits[3], *findings)
    collector = kernel("collect_inside", left.dtype, real)
    arguments = (*plan.arguments(), left, right, plan.tiles(), *brackets)
    collector(grid, (plan.threads(),), arguments, shared_mem=plan.collecting_bytes(real))
    numbers = (*plan.arguments(), np.int32(grid[0]), np.int32(kept))
    kernel("settle", real)((-(-pairs // 4),), (128,), (*numbers, *brackets, work.means, work.numbers[-1:], work.failed))


def _sample(table: Any, size: int, target: Any) -> None:
    """Copy evenly spread rows, one at random out of each stretch, column by column."""
    columns = table.shape[1]
    arguments = (table, np.int32(columns), _sample_rows(table.shape[0], size), np.int32(size), target)
    kernel("gather", table.dtype, _real(table))((-(-columns // 32), -(-size // 8)), (32, 8), arguments)


def _sample_size(real: Any) -> int:
    """Give how many rows a warp of 32 threads holds in registers."""
    return 32 * 256 // np.dtype(real).itemsize


@cache
def _sample_rows(rows: int, size: int) -> Any:
    places = np.arange(size) + np.random.default_rng(rows).random(size)
    return load_cupy().asarray((places * (rows / size)).astype(np.int64))


def _all_pairs(plan: Plan) -> Any:
    pairs = np.arange(plan.left_columns * plan.right_columns, dtype=np.int32)
    square = pairs.reshape(plan.left_columns, plan.right_columns)
    return load_cupy().asarray(square[np.triu_indices(plan.left_columns)] if plan.triangle else pairs)


def _real(table: Any) -> Any:
    return np.float64 if table.dtype == np.float64 else np.float32
