"""Where batches begin and end, and the rows that wait until there are enough of them for a batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.errors import InvalidInputError
from robustream.kernels.device_arrays import host_array, is_device_array
from robustream.sources.arrays import cut

__all__ = [
    "BatchSize",
    "Rows",
    "check_batch_size",
    "copy_rows",
    "cut_call",
    "cut_table",
    "cut_whole",
    "first_rows",
    "join_rows",
    "name_rows",
    "rows_per_batch",
    "stratified_order",
    "table_bytes",
]

BatchSize = int | Literal["auto"]

# Large enough that the search of a batch, which costs the same whatever its size, is a part of the passes over its
# rows; small enough that a batch of wide rows stays in memory.
_COMFORTABLE_ROWS = 100_000
_COMFORTABLE_BYTES = 24_000_000
# The same of a stream whose end nobody knows, and of a call: an answer is wanted early, and where a fault begins.
_ROWS_OF_A_STREAM = 10_000
_FEWEST_BATCHES = 8
# How many times the learner's minimum a batch has if there are rows enough.
_COMFORT = 5
_USUAL_BATCHES = 100
# A batch of this many rows shows a tenth of bad ones as a group.
_ROWS_TO_JUDGE = 500
# A table in memory up to this size is one batch for a learner that judges rows; its passes copy it about twice.
_TABLE_BYTES = 256_000_000
# The same on a GPU, where the passes take at most so many times the memory of the table, in double precision.
_DEVICE_TABLE_BYTES, _DEVICE_COPIES = 1_000_000_000, 16


class Rows(NamedTuple):
    """Rows with their targets, if there are any."""

    X: NDArray[Any]
    y: NDArray[Any] | None
    weights: NDArray[Any] | None = None  # how often each row counts; None where each counts once


def check_batch_size(batch_size: Any) -> BatchSize:
    """Return the batch size, or raise InvalidInputError."""
    if isinstance(batch_size, str) and batch_size == "auto":
        return "auto"
    if isinstance(batch_size, (int, np.integer)) and not isinstance(batch_size, bool) and batch_size >= 1:
        return int(batch_size)
    raise InvalidInputError(f"batch_size must be 'auto' or a whole number of rows >= 1, got {batch_size!r}")


def rows_per_batch(n_rows: int | None, minimum: int, batch_size: BatchSize, row_bytes: int = 0) -> int:
    """Return the number of rows wanted in a batch; `n_rows` is that of the whole data set, None if it is unknown.

    With 'auto' there are at least 8 batches and about 100, if there are rows enough for that: fewer than 8 can neither
    outvote a bad one nor show their own spread, and a batch of the fewest rows that a learner can do with tells its
    bad rows less well than a larger one. Wide rows make batches of fewer rows, within that.
    """
    if batch_size != "auto":
        return batch_size
    comfortable = max(_COMFORT * minimum, _ROWS_TO_JUDGE)
    most = _ROWS_OF_A_STREAM if n_rows is None else _COMFORTABLE_ROWS
    most = max(min(most, _COMFORTABLE_BYTES // max(1, row_bytes)), comfortable)
    if n_rows is None:
        return most
    if n_rows < _FEWEST_BATCHES * comfortable:
        return n_rows
    return min(max(n_rows // _USUAL_BATCHES, comfortable), n_rows // _FEWEST_BATCHES, most)


def cut_whole(n_rows: int, minimum: int, batch_size: BatchSize) -> list[slice]:
    """Cut all rows of a table, in their order, for a learner that does not judge rows."""
    return cut(n_rows, min(n_rows, rows_per_batch(n_rows, minimum, batch_size)))


def cut_call(n_rows: int, minimum: int, batch_size: BatchSize) -> list[slice]:
    """Cut the rows of one call of partial_fit in the same way; one that is not large is a batch."""
    return cut(n_rows, min(n_rows, max(_ROWS_OF_A_STREAM, _COMFORT * minimum) if batch_size == "auto" else batch_size))


def table_bytes(X: Any) -> int:
    """Return how large a table that is one batch may be where X lies."""
    if not is_device_array(X):
        return _TABLE_BYTES
    from robustream.kernels.gpu.device import free_bytes

    return max(min(_DEVICE_TABLE_BYTES, free_bytes() // _DEVICE_COPIES), _TABLE_BYTES // 4)


def cut_table(
    n_rows: int, minimum: int, row_bytes: int, batch_size: BatchSize, most: int = _TABLE_BYTES
) -> list[slice]:
    """Cut the rows of a table for a learner that finds bad rows by itself: one batch, up to the most bytes.

    Larger tables are dealt out like cards, so that the order of the rows does not matter: each batch has its share of
    every stretch. A batch size that the user gave cuts in the given order.
    """
    if batch_size != "auto":
        return cut(n_rows, min(n_rows, batch_size))
    parts = min(-(-n_rows * row_bytes // most), max(1, n_rows // minimum))
    return [slice(part, n_rows, parts) for part in range(parts)] if parts > 1 else [slice(0, n_rows)]


def name_rows(piece: slice, first: int) -> str:
    """Return the label of a batch of rows, counted from the first row of the stream."""
    if piece.step is None or piece.step == 1:
        return f"rows {first + piece.start}-{first + piece.stop - 1}"
    return f"every {piece.step}th row from {first + piece.start} to {first + piece.stop - 1}"


def stratified_order(labels: NDArray[Any], n_batches: int) -> tuple[NDArray[np.intp], list[slice]]:
    """Return an order of the rows and cuts of it such that each batch has its share of every class.

    Within a class the rows keep their order, so that a run of bad rows still falls into few batches.
    """
    _, inverse = np.unique(labels, return_inverse=True)
    share = np.empty(len(labels))
    for label in range(inverse.max() + 1):
        rows = np.flatnonzero(inverse == label)
        share[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    batch = np.minimum((share * n_batches).astype(int), n_batches - 1)
    order = np.argsort(batch, kind="stable")
    borders = np.searchsorted(batch[order], np.arange(n_batches + 1))
    return order, [slice(int(a), int(b)) for a, b in pairwise(borders)]


def copy_rows(X: NDArray[Any], y: NDArray[Any] | None, weights: NDArray[Any] | None = None) -> Rows:
    """Return copies of rows that are to wait: the caller may reuse its buffer, and those on a GPU come to the host."""
    copies = (None if part is None else np.asarray(host_array(part).copy()) for part in (y, weights))
    return Rows(np.asarray(host_array(X).copy()), *copies)


def first_rows(waiting: Sequence[Rows], count: int) -> list[Rows]:
    """Return the first so many of the waiting rows, call by call."""
    first: list[Rows] = []
    for rows in waiting:
        if count <= 0:
            break
        y, weights = (None if part is None else part[:count] for part in (rows.y, rows.weights))
        first.append(Rows(rows.X[:count], y, weights))
        count -= len(rows.X)
    return first


def join_rows(waiting: Sequence[Rows]) -> Rows:
    """Return all waiting rows as one batch."""
    targets = [rows.y for rows in waiting if rows.y is not None]
    weights = None
    if any(rows.weights is not None for rows in waiting):
        weights = np.concatenate([np.ones(len(rows.X)) if rows.weights is None else rows.weights for rows in waiting])
    return Rows(np.concatenate([rows.X for rows in waiting]), np.concatenate(targets) if targets else None, weights)
