"""What is typical of each column: its middle, its unit, and whether rows can be judged by it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.separation import shortest_half_of_sorted
from robustream.spaces import Array

__all__ = ["Columns", "typical_columns"]

FEW_LEVELS = 30
# Squares of what is farther away would take the digits of all others; a t law with one degree of freedom gets there
# once in a hundred thousand rows.
FARTHEST = 1e5
CODE = 3.0  # ranges of the other values; a common value that is farther off is a code, as 9999 for what is not known


class Columns(NamedTuple):
    """What is typical of each column: a middle value, a unit that is never 0, whether rows can be judged by it."""

    middle: Array
    unit: Array
    continuous: NDArray[np.bool_]
    grain: Array  # step between the levels of a rounded column, in its unit; 0 where few values repeat

    def standard(self, X: Array) -> Array:
        """Give the continuous columns of X in their units, in single precision: enough to judge rows by."""
        if not self.continuous.all():
            X = X[:, self.continuous]
        near = X - self.middle[self.continuous].astype(X.dtype)
        near /= self.unit[self.continuous].astype(X.dtype)
        return np.clip(near, -FARTHEST, FARTHEST, out=near).astype(np.float32, copy=False)

    def blurred(self, standard: Array, rng: np.random.Generator) -> Array:
        """Give standard rows with the rounding of their columns undone at random: between levels there are valleys."""
        grain = self.grain[self.continuous]
        rounded = np.flatnonzero(grain)
        standard[:, rounded] += rng.uniform(-0.5, 0.5, (len(standard), len(rounded))) * grain[rounded]
        return standard

    def spread(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Give flags of all columns from those of the continuous ones."""
        everything = np.zeros((len(flags), len(self.unit)), bool)
        everything[:, self.continuous] = flags
        return everything


def distinct_rows(X: Array) -> Array:
    """X with each of its rows once; in some order."""
    X = np.ascontiguousarray(X)
    bits = X.view(f"u{X.dtype.itemsize}").astype(np.uint64)
    # Whole numbers modulo 2^64, so that equal rows have equal keys whatever the order of summation.
    factors = np.random.default_rng(0).integers(0, 2**64, X.shape[1], dtype=np.uint64) | np.uint64(1)
    keys = ((bits ^ (bits >> np.uint64(29))) * factors).sum(axis=1)
    first = np.unique(keys, return_index=True)[1]
    return X if len(first) == len(X) else X[first]


def typical_columns(X: Array) -> Columns:
    """Look at each column of a sample.

    Copies of one row are counted once: a cluster of equal rows must not make its columns look discrete.
    """
    rows = len(X)
    ordered = np.sort(X.T, axis=1)
    middle = ordered[:, rows // 2].astype(np.float64)
    levels = _levels(ordered)
    if rows > levels.max(initial=0):  # else no two rows are equal
        distinct = distinct_rows(X)
        if len(distinct) < rows:
            ordered = np.sort(distinct.T, axis=1)
    n = ordered.shape[1]
    # A quarter of the rows on one value: a flag, a group or a count of mostly zeros.
    lag = max(n // 4, 1)
    common = np.any(ordered[:, lag:] == ordered[:, :-lag], axis=1) if n > lag else np.ones(len(ordered), bool)
    for column in np.flatnonzero(common):
        common[column] = not _has_code(ordered[column], lag)
    # Between the levels of a rating or a small count there are valleys that mean nothing.
    common |= levels < min(FEW_LEVELS, 0.5 * rows)
    unit = shortest_half_of_sorted(ordered.T)[1].astype(np.float64)
    stuck = np.flatnonzero(~(unit > 0))
    away = np.abs(ordered[stuck].astype(np.float64) - ordered[stuck, n // 2, None])
    mean_away = np.sum(away, axis=1) / np.maximum(np.sum(away > 0, axis=1), 1)
    unit[stuck] = np.where(mean_away > 0, mean_away, 1.0)
    grain = np.zeros(len(unit))
    for column in np.flatnonzero((levels < 0.5 * rows) & ~common):
        grain[column] = np.median(np.diff(np.unique(ordered[column]))) / unit[column]
    return Columns(middle, unit, ~common, grain)


def _has_code(ordered: Array, lag: int) -> bool:
    """Tell whether the common value of a sorted column is far off from a majority of values that differ."""
    spike = ordered[:-lag][ordered[lag:] == ordered[:-lag]]
    if not len(spike):
        return False
    others = ordered[ordered != spike[0]]
    if 2 * len(others) <= len(ordered) or _levels(others[None])[0] < FEW_LEVELS:
        return False
    gap = max(float(spike[0] - others[-1]), float(others[0] - spike[0]))
    return gap > CODE * float(others[-1] - others[0])


def _levels(ordered: Array) -> NDArray[np.intp]:
    """Count the different values of each sorted row."""
    return 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
