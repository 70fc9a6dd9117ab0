"""Passes over the rows of a table, in blocks that stay in a core's cache, on several threads where it is large.

A pass that makes an array as large as the table is bound by memory, and each such array costs as much as the plain
method takes in all. So the rows are taken block by block, and what is made of a block is used before the next. Blocks
and tiles of blocks are fixed by the shape of the table alone, and the sums of tiles are added in their order: the
number of threads never changes a bit. Rows on a GPU are taken there, in blocks that only its memory bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.threads import run_tiles

__all__ = ["over_rows", "row_blocks", "weighted_moments"]

Array = NDArray[np.floating[Any]]
Result = TypeVar("Result")

# A block, and a second one that is made of it, fit into a second-level cache.
BLOCK_BYTES = 400_000
# Cells of a tile: about a millisecond of work, so that handing it to a thread costs nothing, and waiting for the
# slowest thread, on a busy machine, not much.
TILE_CELLS = 1_000_000
# Cells of a block on a GPU: 256 MB of double precision, which takes long beside the launch of a kernel.
GPU_BLOCK_CELLS = 1 << 25


def row_blocks(rows: slice, columns: int, like: Any = None) -> Iterator[slice]:
    """Return the blocks of a stretch of rows, for a table that lies where `like` does."""
    step = max(64, (GPU_BLOCK_CELLS if is_device_array(like) else BLOCK_BYTES // 8) // max(columns, 1))
    for first in range(rows.start, rows.stop, step):
        yield slice(first, min(first + step, rows.stop))


def over_rows(function: Callable[[slice], Result], rows: int, columns: int, like: Any = None) -> list[Result]:
    """Return what a function gives for each tile of rows, in their order; on several threads if there are several.

    A table on a GPU, where `like` lies, is one tile.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(300_000.0).reshape(-1, 3)
    >>> bool(sum(over_rows(lambda tile: x[tile].sum(), *x.shape)) == x.sum())
    True
    """
    step = rows if is_device_array(like) else max(64, TILE_CELLS // max(columns, 1))
    tiles = [slice(first, min(first + step, rows)) for first in range(0, rows, step)]
    if len(tiles) == 1:
        return [function(tiles[0])]
    found: dict[int, Result] = {}

    def work(place: int) -> None:
        found[place] = function(tiles[place])

    run_tiles(work, range(len(tiles)))
    return [found[place] for place in range(len(tiles))]


def weighted_moments(
    parts: Sequence[Array], weights: Array | None, shift: Array, *, about_mean: bool = True, single: bool = False
) -> tuple[float, Array, Array]:
    """Return the sum of the weights, and mean and covariance (divisor: that sum) of columns that lie in several arrays.

    Sums are taken of deviations from `shift`, which should be near the mean: then no digits are lost, and a column that
    never changes has mean `shift` and variance 0 exactly. Without `about_mean` the second moments are those about it.

    Parameters
    ----------
    parts : arrays with the same rows, side by side.
    weights : of the rows, or None where each is 1.
    shift : as many numbers as the parts have columns.
    single : whether products of single rows are taken in single precision, at half of the cost; sums are not.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([[1.0, 5.0], [3.0, 5.0], [9.0, 9.0]]), np.array([[0.0], [4.0], [7.0]])
    >>> total, mean, covariance = weighted_moments([x, y], np.array([1.0, 1.0, 0.0]), np.array([1.0, 5.0, 0.0]))
    >>> total, mean.tolist(), covariance.diagonal().tolist()
    (2.0, [2.0, 5.0, 2.0], [1.0, 0.0, 4.0])
    """
    rows, columns = len(parts[0]), len(shift)

    roots, precision = None if weights is None else np.sqrt(weights), np.dtype(np.float32 if single else np.float64)
    fill = _fill_plainly if is_device_array(parts[0]) else _fill

    def products(tile: slice) -> Array:
        total, blocks = np.zeros((columns + 1, columns + 1)), list(row_blocks(tile, columns, parts[0]))
        # One array for all blocks: fresh memory costs as much as what is done with it.
        space: Array = np.empty_like(parts[0], shape=(blocks[0].stop - blocks[0].start, columns + 1), dtype=precision)
        for block in blocks:
            # The last column is the root of the weight: one product gives weights, sums and squares.
            taken = space[: block.stop - block.start]
            fill(taken, [part[block] for part in parts], None if roots is None else roots[block], shift)
            total += taken.T @ taken
        return total

    sums = over_rows(products, rows, columns, parts[0])
    total = sums[0] if len(sums) == 1 else np.sum(sums, axis=0)
    size = float(total[columns, columns])
    offset, second = total[:columns, columns] / size, total[:columns, :columns] / size
    if about_mean:
        second = second - np.outer(offset, offset)
        # What rounding leaves of a variance must not be negative.
        np.fill_diagonal(second, np.maximum(second.diagonal(), 0.0))
    return size, shift + offset, second


def _fill_plainly(taken: Array, parts: Sequence[Array], roots: Array | None, shift: Array) -> None:
    """Fill in deviations of rows from a place and a last column of 1, all times the roots of weights."""
    first = 0
    for part in parts:
        last = first + part.shape[1]
        np.subtract(part, shift[first:last], out=taken[:, first:last])
        first = last
    taken[:, first] = 1.0
    if roots is not None:
        taken *= roots[:, None]


def _fill(taken: Array, parts: Sequence[Array], roots: Array | None, shift: Array) -> None:
    """Do what `_fill_plainly` does, compiled: rows are often so short that NumPy's loops hardly begin."""
    from robustream.kernels.row_loops import deviations  # Numba comes with the first batch

    first, none = 0, np.zeros(0)
    for part in parts:
        last = first + part.shape[1]
        deviations(np.ascontiguousarray(part), shift[first:last], none if roots is None else roots, first, taken)
        first = last
    taken[:, first] = 1.0 if roots is None else roots
