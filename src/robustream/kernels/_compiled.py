"""The compiled kernel: exact trimmed sums of all pairs of columns in one tile.

For each pair a bracket that should hold its threshold comes from a sample of the rows. One pass over the rows then
counts and sums the products below the bracket and collects the few inside, among which the threshold is found
exactly. A pair whose bracket missed, or held too much, goes through the rows again with a better one.

The code keeps to loops and to arrays made outside: each NumPy function used in it would be compiled too.
"""

# Numba has few annotations.
# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast
from zlib import crc32

import numba
import numpy as np
from numba.core import types

from robustream.kernels._fetch import fetch_columns, fetch_sample
from robustream.kernels._select import kept_sum, middle_bracket
from robustream.kernels._vector import collect, compiled, float_of, multiply, ordinal_of, tally
from robustream.kernels._workspace import (
    COLUMN_STRIDE,
    GROUP_BYTES,
    ROWS_PER_PASS,
    Workspace,
    new_workspace,
)

__all__ = ["tile_kernel"]

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
    # Numba sees a change of this file only, not of those that the kernel is made of as well.
    folder = Path(__file__).parent
    names = ("_fetch.py", "_select.py", "_vector.py", "_workspace.py")
    stamp = sum(crc32((folder / name).read_bytes()) for name in names)
    try:
        kernel = numba.njit(signature, nogil=True, cache=True)(_stamped(stamp))
    except RuntimeError:  # there is no folder to keep the machine code in: compile anew in each process
        kernel = numba.njit(signature, nogil=True)(_stamped(stamp))
    return cast(Callable[..., None], kernel)
