"""The compiled kernel: exact trimmed sums of all pairs of columns in one tile.

For each pair a bracket that should hold its threshold comes from a sample of the rows. One pass over the rows then
counts and sums the products below the bracket and collects the few inside, among which the threshold is found
exactly. A pair whose bracket missed, or held too much, goes through the rows again with a better one.

Brackets are half-open intervals of ordinals: the bits of a float >= 0 read as an integer, which keep the order. Order
statistics are found by counting, which vectorises, instead of by moving values about. The code keeps to loops and to
arrays made outside: each NumPy function used in it would be compiled too.
"""

# Numba has few annotations.
# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast
from zlib import crc32

import numba
import numpy as np
from numba.core import types
from numpy.typing import NDArray

from robustream.kernels._llvm import (
    GROUP_BYTES,
    VECTOR_BYTES,
    collect,
    compiled,
    count_below,
    float_of,
    multiply,
    ordinal_of,
    tally,
    transpose,
)

__all__ = ["Workspace", "new_workspace", "tile_kernel"]

# Short enough that a lane adds up only 16 float32 products before they go on in float64, which bounds the rounding
# error by 16 units in the last place, and that the columns of a tile stay in the second-level cache.
ROWS_PER_PASS = 1024
# Columns in a buffer lie this far apart; with a power of two they would compete for the same places of the cache.
COLUMN_STRIDE = ROWS_PER_PASS + 64
# How close counting comes to a threshold before what is left moves to a small buffer, and the room which that needs.
NEAR = 24
FEW = 64

Array = NDArray[Any]


class Workspace(NamedTuple):
    """What the kernel overwrites while it works on a tile."""

    store: Array
    left_columns: Array
    right_columns: Array
    left_sample: Array
    right_sample: Array
    products: Array
    few: Array
    ones: Array
    needed: Array
    pairs: Array
    sums: Array


def new_workspace(dtype: np.dtype[Any], lefts: int, rights: int, sample_size: int, capacity: int) -> Workspace:
    """Return arrays for tiles of so many columns, in which each pair can collect ``capacity`` products."""
    group, lanes = GROUP_BYTES // dtype.itemsize, VECTOR_BYTES // dtype.itemsize
    return Workspace(
        store=np.empty((lefts * rights, capacity + group), dtype),
        left_columns=np.empty(max(lefts, lanes) * COLUMN_STRIDE, dtype),
        right_columns=np.empty(max(rights, lanes) * COLUMN_STRIDE, dtype),
        left_sample=np.empty(lefts * sample_size, dtype),
        right_sample=np.empty(rights * sample_size, dtype),
        products=np.empty(sample_size + group, dtype),
        few=np.empty(FEW + group, dtype),
        ones=np.ones(ROWS_PER_PASS, dtype),
        needed=np.empty((2, max(lefts, rights)), np.bool_),
        pairs=np.empty((lefts * rights, 7), np.int64),
        sums=np.empty((lefts * rights, 2)),
    )


@compiled
def narrow(
    values: Any,
    groups: int,
    rank: int,
    slack_below: int,
    slack_above: int,
    bracket: tuple[int, int, int, int],
    hint: int,
    step: int,
) -> tuple[int, int, int, int]:
    """Shrink a bracket around the value with this rank until few other values lie to each side of it.

    Parameters
    ----------
    values : array
        Made of whole groups, with NaN where there is no value.
    slack_below, slack_above : int
        How many values may stay in the bracket below and above the one with the rank.
    bracket : tuple
        Its two ends, then the number of values below each: low_count <= rank < high_count. So is the result.
    hint, step : int
        A first guess of the value, and how far from it to look on; outside the bracket it does not count.
    """
    low, high, low_count, high_count = bracket
    halve, direction = False, 0
    while high - low > 1:
        if rank - low_count > slack_below:
            aim = rank - 0.5 * slack_below
        elif high_count - 1 - rank > slack_above:
            aim = rank + 1 + 0.5 * slack_above
        else:
            break
        width = high - low
        if low < hint < high:
            middle = hint
        else:
            # Interpolation suits the even spread inside a narrow bracket; elsewhere halving is the safe step.
            share = 0.5 if halve else (aim - low_count) / (high_count - low_count)
            middle = low + int(share * width)
            if middle <= low:
                middle = low + 1
            elif middle >= high:
                middle = high - 1
        count = count_below(values, groups, float_of(middle, values[0]))
        if count <= rank:
            low, low_count, side = middle, count, 1
        else:
            high, high_count, side = middle, count, -1
        halve = 2 * (high - low) > width
        # From the guess on in growing steps, until the value has been passed.
        hint = -1 if direction == -side else middle + side * step
        direction = side
        step *= 4
    return low, high, low_count, high_count


@compiled
def pad(values: Any, start: int, count: int) -> int:
    """Fill the last group of some values with NaN and return the number of groups."""
    group = GROUP_BYTES // values.itemsize
    groups = (count + group - 1) // group
    for place in range(start + count, start + groups * group):
        values[place] = np.nan
    return groups


@compiled
def kept_sum(store: Any, count: int, rank: int, low: int, high: int, ones: Any, few: Any) -> float:
    """Sum the values of the store up to the one with this rank in magnitude; ties with it share the places left."""
    # Typed, or the functions called here would be compiled once more for each constant.
    none, near, no_hint = np.int64(0), np.int64(NEAR), np.int64(-1)
    like, group = store[0], GROUP_BYTES // store.itemsize
    groups = pad(store, none, count)
    low, high, low_count, _ = narrow(store, groups, rank, near, near, (low, high, none, count), no_hint, none)
    rank -= low_count
    total, found, tied_sum = 0.0, none, 0.0
    for first in range(0, groups, ROWS_PER_PASS // group):
        length, place = ROWS_PER_PASS // group, first * group
        if length > groups - first:
            length = groups - first
        lowest, highest = float_of(low, like), float_of(high - 1, like)
        if low + 1 == high:
            results = tally(store, place, ones, 0, length, lowest, highest)
            found += results[2]
            tied_sum += results[3]
        else:
            results = collect(store, place, ones, 0, length, lowest, highest, few, 0, found, few.size - group)
            found = results[2]
        total += results[1]
    if low + 1 == high:
        return total + (rank + 1) / found * tied_sum
    length = pad(few, none, found)
    low, high, _, _ = narrow(few, length, rank, none, none, (low, high, none, found), no_hint, none)
    # What the bracket still holds is one magnitude, so its ends need not meet.
    below, below_sum, tied, tied_sum = tally(few, 0, ones, 0, length, float_of(low, like), float_of(high - 1, like))
    return total + below_sum + (rank + 1 - below) / tied * tied_sum


@compiled
def middle_bracket(
    values: Any, count: int, ranks: tuple[int, int], limits: tuple[int, int], hint: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Return a bracket that holds the values with ranks from the first to the last of two, and little else.

    As in ``narrow`` a bracket is returned as its ends and the number of values below each.

    Parameters
    ----------
    values : array
        With room for one more group after its ``count`` values.
    ranks : tuple
        Where no value within the limits has the rank, the limit on its side stays.
    limits : tuple
        The result lies within this bracket.
    hint : tuple
        A bracket to start from, good or bad.
    """
    low, high = limits
    groups = pad(values, np.int64(0), count)
    low_count = count_below(values, groups, float_of(low, values[0]))
    end = float_of(high, values[0])
    # The highest bracket ends one after infinity: that is NaN, with which nothing compares.
    high_count = count if np.isnan(end) else count_below(values, groups, end)
    slack, step = (ranks[1] - ranks[0]) // 8, (hint[1] - hint[0]) // 8 + 1
    bracket = (low, high, low_count, high_count)
    if low_count <= ranks[0] < high_count:
        bracket = narrow(values, groups, ranks[0], slack, count, bracket, hint[0], step)
        bracket = (bracket[0], high, bracket[2], high_count)
    if low_count <= ranks[1] < high_count:
        upper = narrow(values, groups, ranks[1], count, slack, bracket, hint[1], step)
        bracket = (bracket[0], upper[1], bracket[2], upper[3])
    return bracket


@compiled
def fetch_columns(
    matrix: Any, first_column: int, count: int, needed: Any, first_row: int, rows: int, columns: Any
) -> int:
    """Copy the needed ones of some columns one behind the other, with NaN up to the end of a group.

    Returns how many other columns lie before the first one.
    """
    lanes = VECTOR_BYTES // matrix.itemsize
    whole, before = 0, 0
    if matrix.strides[1] == matrix.itemsize and matrix.shape[1] >= lanes:
        whole = rows // lanes * lanes
        if count < lanes and first_column + lanes > matrix.shape[1]:
            before = first_column + lanes - matrix.shape[1]
        for first in range(0, count, lanes):
            # The last block may begin inside the one before it rather than end outside the tile.
            start = first if first == 0 or first + lanes <= count else count - lanes
            wanted = False
            for column in range(start, count if count < start + lanes else start + lanes):
                wanted |= needed[column]
            if wanted:
                for row in range(0, whole, lanes):
                    place, column = start * COLUMN_STRIDE + row, first_column + start - before
                    transpose(matrix, first_row + row, column, columns, place, COLUMN_STRIDE)
    for column in range(count):
        if needed[column]:
            place = (column + before) * COLUMN_STRIDE
            for row in range(whole, rows):
                columns[place + row] = matrix[first_row + row, first_column + column]
            pad(columns, place, rows)
    return before


@compiled
def fetch_sample(matrix: Any, first_column: int, count: int, rows: Any, sample: Any) -> None:
    """Copy some rows of some columns, one column behind the other."""
    for place in range(rows.size):
        for column in range(count):
            sample[column * rows.size + place] = matrix[rows[place], first_column + column]


# The columns of the table of pairs. A threshold is in [FLOOR, CEILING); tried now is the bracket [LOW, HIGH).
# BELOW and INSIDE count the products below and inside the bracket.
LOW, HIGH, FLOOR, CEILING, BELOW, INSIDE, ACTIVE = range(7)

SETTLED, MISSED, CROWDED = range(3)
# After so many misses brackets are no longer guessed but halved.
GUESSES = 6


@compiled
def guess(
    left: Any,
    i: int,
    right: Any,
    j: int,
    products: Any,
    rank: float,
    spread: float,
    room: float,
    pair: Any,
    hint: Any,
) -> None:
    """Take a bracket from the products of the sampled rows: within ``spread`` of the expected rank.

    Where that is more than ``room`` of the sample there must be many ties, and the bracket holds a single value.
    """
    group = GROUP_BYTES // products.itemsize
    size = products.size - group
    multiply(left, i * size, right, j * size, size // group, products)
    ranks = int(np.floor(rank - spread)), int(np.ceil(rank + spread))
    limits, start = (pair[FLOOR], pair[CEILING]), (hint[LOW], hint[HIGH])
    low, high, below, end = middle_bracket(products, size, ranks, limits, start)
    if end - below > room:
        middle = int(rank)
        if middle < below:
            middle = below
        elif middle >= end:
            middle = end - 1
        low, high, below, end = middle_bracket(products, size, (middle, middle), (low, high), start)
    pair[LOW], pair[HIGH] = low, high


@compiled
def pass_over_rows(
    left: Any, right: Any, tile: tuple[int, int, int, int], same: bool, right_columns: Any, space: Workspace
) -> None:
    """Count, sum and collect for the active pairs."""
    left_first, left_stop, right_first, right_stop = tile
    lefts, rights = left_stop - left_first, right_stop - right_first
    store, pairs, sums = space.store, space.pairs, space.sums
    for column in range(space.needed.shape[1]):
        space.needed[0, column] = space.needed[1, column] = False
    for pair in range(lefts * rights):
        if pairs[pair, ACTIVE]:
            space.needed[0, pair // rights] = True
            space.needed[0 if same else 1, pair % rights] = True
            pairs[pair, BELOW] = pairs[pair, INSIDE] = 0
            sums[pair, 0] = sums[pair, 1] = 0.0
    group = GROUP_BYTES // store.itemsize
    capacity, flat = store.shape[1] - group, store.reshape(store.size)
    for first_row in range(0, left.shape[0], ROWS_PER_PASS):
        rows = left.shape[0] - first_row
        if rows > ROWS_PER_PASS:
            rows = ROWS_PER_PASS
        groups = (rows + group - 1) // group
        before = fetch_columns(left, left_first, lefts, space.needed[0], first_row, rows, space.left_columns)
        right_before = before
        if not same:
            right_before = fetch_columns(right, right_first, rights, space.needed[1], first_row, rows, right_columns)
        for pair in range(lefts * rights):
            if not pairs[pair, ACTIVE]:
                continue
            i, j = (pair // rights + before) * COLUMN_STRIDE, (pair % rights + right_before) * COLUMN_STRIDE
            low, high = float_of(pairs[pair, LOW], flat[0]), float_of(pairs[pair, HIGH] - 1, flat[0])
            if low == high:
                results = tally(space.left_columns, i, right_columns, j, groups, low, high)
                pairs[pair, INSIDE] += results[2]
                sums[pair, 1] += results[3]
            else:
                place, found = pair * store.shape[1], pairs[pair, INSIDE]
                results = collect(
                    space.left_columns, i, right_columns, j, groups, low, high, flat, place, found, capacity
                )
                pairs[pair, INSIDE] = results[2]
            pairs[pair, BELOW] += results[0]
            sums[pair, 0] += results[1]


@compiled
def settle(pair: Any, sums: Any, rank: int, store: Any, ones: Any, few: Any) -> int:
    """Put the sum of what is kept into ``sums[0]`` if the threshold lies inside the bracket and can be found."""
    capacity = store.size - GROUP_BYTES // store.itemsize
    rank -= pair[BELOW]
    if rank < 0:
        pair[CEILING] = pair[LOW]
        return MISSED
    if rank >= pair[INSIDE]:
        pair[FLOOR] = pair[HIGH]
        return MISSED
    if pair[HIGH] - pair[LOW] == 1:
        sums[0] += (rank + 1) / pair[INSIDE] * sums[1]
        return SETTLED
    if pair[INSIDE] <= capacity:
        sums[0] += kept_sum(store, pair[INSIDE], rank, pair[LOW], pair[HIGH], ones, few)
        return SETTLED
    pair[FLOOR], pair[CEILING] = pair[LOW], pair[HIGH]
    return CROWDED


@compiled
def thin(pair: Any, rank: int, store: Any, deviations: float) -> None:
    """Take a narrower bracket from what was collected: as good as a sample of all that lies inside.

    Without deviations it is a bracket around a single value, which settles a pair with very many ties.
    """
    capacity = store.size - GROUP_BYTES // store.itemsize
    share = (rank - pair[BELOW] + 0.5) / pair[INSIDE]
    centre, spread = share * capacity, deviations * np.sqrt(share * (1.0 - share) * capacity)
    ranks, limits = (int(centre - spread), int(centre + spread)), (pair[LOW], pair[HIGH])
    pair[LOW], pair[HIGH], _, _ = middle_bracket(store, capacity, ranks, limits, limits)


@compiled
def pair_tile(
    left: Any,
    right: Any,
    tile: tuple[int, int, int, int],
    triangle: bool,
    kept: int,
    sample_rows: Any,
    sample_rank: float,
    spread: float,
    space: Workspace,
    totals: Any,
) -> None:
    """Write the kept sums of all pairs of some columns of ``left`` and ``right`` into ``totals``.

    Parameters
    ----------
    left, right : arrays of shape (n, p) and (n, m)
        Finite numbers of one dtype.
    tile : tuple
        First and one past the last column of left, then of right.
    triangle : bool
        Leave out the pairs below the diagonal.
    kept : int
        The number of products kept of each pair.
    sample_rows : array of int
        The rows from which the first brackets come, a whole number of groups. Empty to collect all products; the
        workspace must then have room for them.
    sample_rank, spread : float
        The rank of the threshold to be expected in the sample, and how far off it may well be.
    space : Workspace
        Overwritten.
    totals : array of float64, shape (p, m)
        Where the results go.
    """
    left_first, left_stop, right_first, right_stop = tile
    lefts, rights = left_stop - left_first, right_stop - right_first
    same = triangle and left_first == right_first and left_stop == right_stop
    right_columns, right_sample = space.right_columns, space.right_sample
    fetch_sample(left, left_first, lefts, sample_rows, space.left_sample)
    if same:
        right_columns, right_sample = space.left_columns, space.left_sample
    else:
        fetch_sample(right, right_first, rights, sample_rows, right_sample)
    pairs, products = space.pairs, space.products
    top = ordinal_of(left.dtype.type(np.inf)) + 1
    previous, active = 0, 0
    capacity = space.store.shape[1] - GROUP_BYTES // left.itemsize
    room = capacity / left.shape[0] * sample_rows.size
    for pair in range(lefts * rights):
        i, j = pair // rights, pair % rights
        pairs[pair, LOW] = pairs[pair, FLOOR] = 0
        pairs[pair, HIGH] = pairs[pair, CEILING] = top
        pairs[pair, ACTIVE] = not triangle or left_first + i <= right_first + j
        if pairs[pair, ACTIVE]:
            active += 1
            if sample_rows.size:
                # The pair before this one is often alike, and its bracket a good place to start.
                row, hint = pairs[pair], pairs[previous]
                guess(space.left_sample, i, right_sample, j, products, sample_rank, spread, room, row, hint)
                previous = pair

    misses, wider = 0, spread
    while active:
        pass_over_rows(left, right, tile, same, right_columns, space)
        misses += 1
        wider *= 2.0
        for pair in range(lefts * rights):
            if not pairs[pair, ACTIVE]:
                continue
            i, j = pair // rights, pair % rights
            outcome = settle(pairs[pair], space.sums[pair], kept - 1, space.store[pair], space.ones, space.few)
            if outcome == SETTLED:
                totals[left_first + i, right_first + j] = space.sums[pair, 0]
                pairs[pair, ACTIVE] = False
                active -= 1
            elif misses > GUESSES:
                # Whatever misled the brackets, halving what is left comes to an end.
                pairs[pair, LOW] = pairs[pair, FLOOR]
                pairs[pair, HIGH] = pairs[pair, FLOOR] + (pairs[pair, CEILING] - pairs[pair, FLOOR] + 1) // 2
            elif outcome == CROWDED:
                thin(pairs[pair], kept - 1, space.store[pair], 3.0 if misses % 2 else 0.0)
            else:
                row = pairs[pair]
                guess(space.left_sample, i, right_sample, j, products, sample_rank, wider, room, row, row)


def _stamped(stamp: int) -> Callable[..., None]:
    """Return ``pair_tile`` in a shell that Numba tells apart by the stamp when it looks into its cache."""

    def tile_sums(
        left: Any,
        right: Any,
        tile: Any,
        triangle: Any,
        kept: Any,
        rows: Any,
        rank: Any,
        spread: Any,
        space: Any,
        totals: Any,
    ) -> None:
        if stamp >= 0:
            pair_tile(left, right, tile, triangle, kept, rows, rank, spread, space, totals)

    return tile_sums


@cache
def tile_kernel(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile ``pair_tile`` for one dtype: once for matrices of any layout, writeable or not."""
    matrix = types.Array(numba.from_dtype(dtype), 2, "A", readonly=True)
    space = types.NamedTuple([numba.typeof(array) for array in new_workspace(dtype, 1, 1, 0, 1)], Workspace)
    rows, totals = types.Array(types.int64, 1, "C"), types.Array(types.float64, 2, "C")
    tile, whole, real = types.UniTuple(types.int64, 4), types.int64, types.float64
    signature = types.void(matrix, matrix, tile, types.boolean, whole, rows, real, real, space, totals)
    # Numba sees a change of this file only, not of the one that the kernel is made of as well.
    stamp = crc32(Path(__file__).with_name("_llvm.py").read_bytes())
    try:
        kernel = numba.njit(signature, nogil=True, cache=True)(_stamped(stamp))
    except RuntimeError:  # there is no folder to keep the machine code in: compile anew in each process
        kernel = numba.njit(signature, nogil=True)(_stamped(stamp))
    return cast(Callable[..., None], kernel)
