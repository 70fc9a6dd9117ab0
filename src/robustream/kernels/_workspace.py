"""The sizes in which the compiled kernels work, and the arrays in which they do it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLUMN_STRIDE", "FEW", "GROUP_BYTES", "NEAR", "ROWS_PER_PASS", "VECTOR_BYTES", "Workspace", "new_workspace"]

# A group is four vectors: sums of one do not wait for those of the next.
VECTOR_BYTES = 64
GROUP_BYTES = 4 * VECTOR_BYTES
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
