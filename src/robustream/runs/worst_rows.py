"""The rows of a batch that fit worst to what the batch itself says: candidates for the worst rows of a whole run.

A run sees each row once, and knows its answer only at the end. So each batch names a few rows, with their values, and
those of the batches that are believed are measured once more when the answer stands.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch, Estimate
from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.rows import GPU_BLOCK_CELLS
from robustream.learners import Learner
from robustream.runs.workers import estimate_batch
from robustream.spaces import Array, Point, ProductSpace

__all__ = ["BatchResult", "OutlyingRow", "examine_batch", "most_outlying"]

# Named by each batch; beyond about a thousand columns fewer, since their values travel with the estimate.
_ROWS_NAMED = 3
_MOST_CELLS = 4096
_CELLS_AT_ONCE = 300_000


class OutlyingRow(NamedTuple):
    """A row with its place and its values."""

    index: int  # type: ignore[assignment]  # of its batch
    label: str  # of its batch
    row: int  # its place among the rows that the batch came with
    score: float
    x: NDArray[Any]
    y: NDArray[Any] | None


class BatchResult(NamedTuple):
    """What came of a batch: its estimate, and the rows that fit worst to it."""

    estimate: Estimate
    outlying: tuple[OutlyingRow, ...]


def examine_batch(learner: Learner, seed: int, space: ProductSpace, batch: Batch) -> BatchResult:
    """Return the estimate of a batch, a point of the space, and its most outlying rows."""
    batch = batch.counted()
    estimate = estimate_batch(learner, seed, batch)
    if batch.lost:
        estimate = estimate._replace(stats={**estimate.stats, **batch.lost})
    return BatchResult(estimate, most_outlying(space, batch, estimate))


def most_outlying(space: ProductSpace, batch: Batch, estimate: Estimate) -> tuple[OutlyingRow, ...]:
    """Return the rows of a batch that lie farthest from its own estimate; none where rows have no scores."""
    if estimate.point is None:
        return ()
    scores = _row_scores(space, batch, estimate.point)
    if scores is None:
        return ()
    count = min(_ROWS_NAMED, max(1, _MOST_CELLS // batch.X.shape[1]), len(scores))
    worst = np.argpartition(scores, len(scores) - count)[len(scores) - count :]
    return tuple(
        OutlyingRow(
            batch.index,
            batch.label,
            batch.place_of(int(row)),
            float(scores[row]),
            batch.X[row].copy(),
            None if batch.y is None else np.array(batch.y[row]),
        )
        for row in sorted(worst.tolist())
    )


def _row_scores(space: ProductSpace, batch: Batch, point: Point) -> Array | None:
    """Measure some rows after the others: what stays in the cache takes a quarter of the time."""
    step = max(1, (GPU_BLOCK_CELLS if is_device_array(batch.X) else _CELLS_AT_ONCE) // batch.X.shape[1])
    scores = []
    for first in range(0, len(batch.X), step):
        rows = slice(first, first + step)
        found = space.row_scores(point, batch.X[rows], None if batch.y is None else batch.y[rows])
        if found is None:
            return None
        scores.append(found)
    return np.concatenate(scores)
