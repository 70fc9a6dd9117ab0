"""Exact trimmed products of all pairs of columns, on the GPU.

The way of the compiled kernel of the processor: a bracket around each pair's threshold, one pass that sums below it and
collects inside it, the exact threshold among the few collected. Three things make the brackets narrow: a sample, two
counts over a part of the rows, a count over all of them. Pairs whose bracket missed go the way of `selection`.

`Plan` says how pairs are shared out: panels of columns for blocks of threads, groups of columns for threads. For small
tables the launches of all kernels are recorded once and replayed with one call: with few rows the host takes longer to
launch the kernels one by one than the GPU takes to run them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from robustream.kernels.gpu.device import kernel, load_cupy, matrix, multiprocessors
from robustream.kernels.gpu.products import are_signs, sign_product
from robustream.kernels.gpu.selection import kept_sums_by_digits
from robustream.kernels.reference import kept_count

__all__ = ["trimmed_covariance", "trimmed_cross"]

# As in the kernels: columns of a group, rows of a stage, most threads of a block.
SIDE, STAGE, THREADS = 4, 32, 352
# Up to as many columns one block of threads takes all pairs of them.
ONE_PANEL = 104
PANEL = 56
# A count over one stage out of so many comes before the count over all; it pays from so many rows on.
PART, ROWS_FOR_PART = 8, 1 << 15
# The places counted there, as multiples of the guess.
LOW, HIGH = 0.95, 1.05
# Stages that a block of threads takes at least.
FEWEST_STAGES = 4
# What may be collected at once.
WORKSPACE_BYTES = 4 << 30


class Plan(NamedTuple):
    """The arguments that the kernels of pairs have in common, in their order."""

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

    @cache  # noqa: B019 - plans are few and small
    def arguments(self) -> tuple[Any, ...]:
        """Return the numbers as the kernels expect them."""
        return (np.int64(self.rows), *(np.int32(value) for value in self[1:]))

    @property
    def in_parts(self) -> bool:
        """Whether a part of the rows is counted first."""
        return self.rows >= ROWS_FOR_PART

    @cache  # noqa: B019
    def grid(self) -> tuple[int, int, int]:
        """Return parts of the rows, panels of left and of right columns."""
        left = -(-(self.left_stop - self.left_first) // self.left_width)
        right = -(-self.right_columns // self.right_width)
        panels = left * right if not self.triangle or self.same else left * (right + 1) // 2
        stages = -(-self.rows // (STAGE * self.skip))
        # A block for each place there is, or so many that the last ones to end are a small share.
        blocks = 2 * multiprocessors() if panels < 8 else 16 * multiprocessors()
        # With few rows what blocks leave behind is more work than the rows: a block takes some stages at least.
        most = max(1, min(-(-stages // FEWEST_STAGES), -(-blocks // panels)))
        # No more than are needed for as many stages each.
        return -(-stages // -(-stages // most)), left, right

    def threads(self) -> int:
        """Return the threads of a block."""
        return len(_tiles(self.left_width, self.right_width, self.same))

    def tiles(self) -> Any:
        """Return the groups of columns of each thread."""
        return _device_tiles(self.left_width, self.right_width, self.same)

    def buffer_bytes(self, real: Any) -> int:
        """Return the shared memory for two stages of rows."""
        pitch = self.left_width if self.same else self.left_width + self.right_width
        return 2 * STAGE * pitch * np.dtype(real).itemsize

    @cache  # noqa: B019
    def collecting_bytes(self, real: Any) -> int:
        """Return the shared memory for the pass that collects: sums, counts and cursors as well."""
        return self.threads() * (SIDE * SIDE + 1) * (8 + 4 + 2) + self.buffer_bytes(real)

    def doubt(self) -> float:
        """Return by what share the slope of a threshold may be wrong."""
        return 0.22 if self.in_parts else 0.2

    @cache  # noqa: B019
    def capacity(self, kept: int) -> int:
        """Return how many products a part of the rows may have inside a bracket: more than almost ever."""
        share = kept / self.rows
        counted = self.rows / PART if self.in_parts else 2048
        off = 3.5 * np.sqrt(share * (1 - share) / counted)
        inside = 2.5 * self.rows * (self.doubt() * off + 5 * np.sqrt(off / self.rows) + 4 / self.rows) / self.grid()[0]
        return min(8 * int(2 + (inside + 6 * np.sqrt(inside)) / 8), 65_000)

    def fragment_bytes(self, kept: int, real: Any) -> int:
        """Return the memory for what the pass that collects leaves behind."""
        pairs = (self.left_stop - self.left_first) * self.right_columns
        return self.grid()[0] * pairs * (8 + 4 + 2 + np.dtype(real).itemsize * self.capacity(kept))

    @cache  # noqa: B019
    def slabs(self, kept: int, real: Any) -> list[Plan]:
        """Cut the left columns so that what is collected for a slab fits into the workspace."""
        if self.same:
            return [self]
        for panels in range(-(-self.left_columns // self.left_width), 0, -1):
            columns = panels * self.left_width
            trial = self._replace(left_stop=min(self.left_columns, columns))
            if panels == 1 or trial.fragment_bytes(kept, real) <= WORKSPACE_BYTES:
                break
        return [
            self._replace(left_first=first, left_stop=min(first + columns, self.left_columns))
            for first in range(0, self.left_columns, columns)
        ]


@cache
def plan_of(rows: int, left_columns: int, right_columns: int, triangle: bool) -> Plan:
    """Plan the work on tables of some size; a triangle of pairs where both are the same."""
    same = triangle and left_columns <= ONE_PANEL
    most = ONE_PANEL if same else PANEL
    widths = _width(left_columns, most), _width(right_columns, most)
    return Plan(rows, left_columns, right_columns, *widths, int(same), int(triangle), 1, 0, left_columns)


def _width(columns: int, most: int) -> int:
    """Return the columns of a panel: panels of about the same width, in whole groups."""
    panels = -(-columns // most)
    return -(-columns // (panels * SIDE)) * SIDE


@cache
def _tiles(left_width: int, right_width: int, same: int) -> tuple[int, ...]:
    """Return the groups that each thread works on: the left one in the upper half of a number."""
    lefts, rights = left_width // SIDE, right_width // SIDE
    tiles = tuple(i << 16 | j for i in range(lefts) for j in range(i if same else 0, rights))
    assert len(tiles) <= THREADS
    return tiles


@cache
def _device_tiles(left_width: int, right_width: int, same: int) -> Any:
    return load_cupy().asarray(np.array(_tiles(left_width, right_width, same), np.int32))


# Up to this size a table is copied into the place that a recording reads from.
SMALL_BYTES = 1 << 23
_RECORDINGS = 4


class Workspace(NamedTuple):
    """All memory that the passes over a pair of tables need, results included."""

    means: Any
    limits: Any  # thresholds, slopes and the two ends of the brackets
    numbers: Any  # two tables of counts, and last the number of pairs that failed
    failed: Any  # which they are, in no order
    sample: Any
    findings: Any

    def missed(self) -> Any:
        """Return the pairs that failed, in order; this waits for the GPU."""
        count = int(self.numbers[-1:].get()[0])
        return load_cupy().sort(self.failed[:count]) if count else ()


class _Recording:
    """The passes over a table of one shape, at one place in memory."""

    def __init__(
        self, plan: Plan, dtype: Any, kept: int, prepare: Callable[..., Any], run: Callable[..., None]
    ) -> None:
        cupy = load_cupy()
        self.lock = threading.Lock()
        self.table = cupy.zeros((plan.rows, plan.left_columns), dtype)
        self.work: Workspace = prepare(plan, kept, dtype)
        self.stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.get_current_stream().synchronize()
        with self.stream:
            # Once without recording, so that everything is compiled and in place.
            run(plan, self.table, self.table, kept, self.work)
            self.stream.synchronize()
            self.stream.begin_capture()
            run(plan, self.table, self.table, kept, self.work)
            self.graph = self.stream.end_capture()

    def play(self, table: Any) -> tuple[Any, Any]:
        with self.lock:
            self.table.data.copy_from_device_async(table.data, table.nbytes)
            self.graph.launch()
            means = self.work.means.copy()
            return means, self.work.missed()


def replayed(table: Any, kept: int, prepare: Callable[..., Any], run: Callable[..., None]) -> tuple[Any, Any]:
    """Return the means of all pairs of columns of a small table, and the pairs that failed."""
    device = int(load_cupy().cuda.Device().id)
    return _recording(device, table.shape, np.dtype(table.dtype).char, kept, prepare, run).play(table)


@lru_cache(_RECORDINGS)
def _recording(
    device: int, shape: tuple[int, int], char: str, kept: int, prepare: Callable[..., Any], run: Callable[..., None]
) -> _Recording:
    return _Recording(plan_of(*shape, shape[1], True), np.dtype(char), kept, prepare, run)


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
    """Return how many rows a warp of 32 threads holds in registers."""
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
