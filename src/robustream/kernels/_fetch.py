"""Copying columns out of a matrix, whose rows usually lie one behind the other, to where each is contiguous."""

from __future__ import annotations

from typing import Any

from robustream.kernels._select import pad
from robustream.kernels._vector import compiled, transpose
from robustream.kernels._workspace import COLUMN_STRIDE, VECTOR_BYTES

__all__ = ["fetch_columns", "fetch_sample"]


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
