"""The rows of a batch that fit worst to what the batch itself says: candidates for the worst rows of a whole run.

A run sees each row once, and knows its answer only at the end. So each batch names a few rows, with their values, and
those of the batches that are believed are measured once more when the answer stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch, Estimate
from robustream.learners import Learner
from robustream.learners.cutoffs import principal_distances, residual_distances
from robustream.runs.workers import estimate_batch
from robustream.spaces import Array, LinearModels, Point, PrincipalModels
from robustream.spaces.linear import LinearPoint
from robustream.spaces.principal import PrincipalPoint, noise_variance

__all__ = ["BatchResult", "OutlyingRow", "examine_batch", "most_outlying"]

# Named by each batch; beyond about a thousand columns fewer, since their values travel with the estimate.
_ROWS_NAMED = 3
_MOST_CELLS = 4096
_CELLS_AT_ONCE = 100_000


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


def examine_batch(learner: Learner, seed: int, batch: Batch) -> BatchResult:
    """Return the estimate of a batch and its most outlying rows."""
    estimate = estimate_batch(learner, seed, batch)
    return BatchResult(estimate, most_outlying(learner, batch, estimate))


def most_outlying(learner: Learner, batch: Batch, estimate: Estimate) -> tuple[OutlyingRow, ...]:
    """Return the rows of a batch that lie farthest from its own estimate; none where rows have no scores."""
    if estimate.point is None:
        return ()
    outputs = 0 if batch.y is None else 1 if batch.y.ndim == 1 else batch.y.shape[1]
    space = learner.space(batch.X.shape[1], outputs)
    if isinstance(space, PrincipalModels):
        scores = _principal_scores(estimate.point, batch)
    elif isinstance(space, LinearModels):
        scores = _linear_scores(estimate.point, batch)
    else:
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


def _principal_scores(point: Point, batch: Batch) -> Array:
    principal = PrincipalPoint(*point)  # type: ignore[arg-type]
    scale = np.exp(principal.log_scale)
    noise = noise_variance(principal.eigenvalues, principal.total_variance, batch.X.shape[1])
    cutoffs = np.exp(principal.log_cutoffs)

    def measure(rows: slice) -> Array:
        standard = (batch.X[rows] - principal.mean) / scale
        orthogonal, score = principal_distances(standard, principal.basis.T, principal.eigenvalues, noise)
        return np.maximum(orthogonal / cutoffs[0], score / cutoffs[1])

    return _in_blocks(batch, measure)


def _linear_scores(point: Point, batch: Batch) -> Array:
    linear = LinearPoint(*point)  # type: ignore[arg-type]
    assert batch.y is not None
    targets = batch.y.reshape(len(batch.y), -1)
    scale = np.exp(linear.log_scale)

    def measure(rows: slice) -> Array:
        residuals = targets[rows] - linear.y_center - (batch.X[rows] - linear.x_center) @ linear.coef.T
        return residual_distances(residuals, scale)

    return _in_blocks(batch, measure)


def _in_blocks(batch: Batch, measure: Callable[[slice], Array]) -> Array:
    """Measure some rows after the others: what stays in the cache takes a quarter of the time."""
    step = max(1, _CELLS_AT_ONCE // batch.X.shape[1])
    return np.concatenate([measure(slice(first, first + step)) for first in range(0, len(batch.X), step)])
