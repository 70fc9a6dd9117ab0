"""Finding order statistics by counting, which vectorises, instead of by moving values about.

Brackets are half-open intervals of ordinals: the bits of a float >= 0 read as an integer, which keep the order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robustream.kernels._vector import collect, compiled, count_below, float_of, tally
from robustream.kernels._workspace import GROUP_BYTES, NEAR, ROWS_PER_PASS

__all__ = ["kept_sum", "middle_bracket", "pad"]


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
