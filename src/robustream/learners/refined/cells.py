"""Single bad cells: found column by column, then treated as missing (expectation-maximisation).

A few per cent of bad cells spoil most rows when there are many columns, so dropping rows would leave none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.separation import shortest_half, valley
from robustream.spaces import Array

Mask = NDArray[np.bool_]

EVIDENCE = 3.0


def column_limits(sample: Array) -> Array:
    """Bounds (2 x p) outside which a column holds cells that a valley separates from its majority."""
    p = sample.shape[1]
    limits = np.stack([np.full(p, -np.inf), np.full(p, np.inf)])
    for j in range(p):
        inside = np.ones(len(sample), bool)
        for _ in range(2):  # once for each side
            cut = valley(sample[inside, j])
            majority = sample[(sample[:, j] > cut.low) & (sample[:, j] <= cut.high), j]
            centre, spread = shortest_half(majority[:, None])
            # A narrow hill inside the column belongs to rows; bad cells lie outside.
            if cut.strength < EVIDENCE or min(centre[0] - cut.low, cut.high - centre[0]) < 2 * spread[0]:
                break
            limits[0, j], limits[1, j] = max(limits[0, j], cut.low), min(limits[1, j], cut.high)
            inside = (sample[:, j] > limits[0, j]) & (sample[:, j] <= limits[1, j])
    return limits


def come_singly(flags: Mask) -> bool:
    """Whether flags are spread over rows and columns like accidents to single cells.

    Cells that go bad on their own are binomial along rows; those of foreign rows come together, in the same
    columns.
    """
    count = flags.sum(axis=1)
    limit = max(0.4 * flags.shape[1], 1)
    few, many = (count > 0) & (count <= limit), count > limit
    if few.mean() < 0.1 or few.sum() < 2 * many.sum():
        return False
    calm = count[~many]
    return bool(np.var(calm) <= 2 * np.mean(calm) + 0.1 and flags[few].mean(axis=0).max() < 0.5)


def few_far_cells(sample: Array, kept: Mask) -> bool:
    """A cheap look before the search of the columns, in units of the rows kept so far."""
    some = sample[kept]
    centre, unit = shortest_half(some[:: max(len(some) // 400, 1)])
    return come_singly(np.abs(sample - centre) > 4 * unit)


def flag_cells(X: Array, sample: Array) -> tuple[Mask | None, Mask]:
    """Bad cells where the batch is in the cell regime (else None), and rows that are bad as a whole.

    The regime: most columns have bad cells, which come singly.
    """
    limits = column_limits(sample)
    whole = np.zeros(len(X), bool)
    touched = np.isfinite(limits).any(axis=0)
    if touched.sum() < max(3, 0.5 * X.shape[1]):
        return None, whole
    flags = (limits[0] >= X) | (limits[1] < X)
    if not come_singly(flags):
        return None, whole
    return flags, flags.mean(axis=1) > 0.4


def conditional(X: Array, flags: Mask, mean: Array, scatter: Array) -> tuple[Array, Array]:
    """Rows with flagged cells at their conditional means, and the sum of their conditional covariances."""
    p = X.shape[1]
    ridge = 1e-9 * np.diag(np.maximum(np.diag(scatter), 1e-300))
    precision = np.linalg.inv(scatter + ridge)
    filled = np.where(flags, 0.0, X - mean)
    pull = filled @ precision
    added = np.zeros((p, p))
    count = flags.sum(axis=1)
    for m in np.unique(count[count > 0]):
        rows = np.flatnonzero(count == m)
        cells = np.nonzero(flags[rows])[1].reshape(len(rows), m)
        covariance = np.linalg.inv(precision[cells[:, :, None], cells[:, None, :]])
        filled[rows[:, None], cells] = -np.einsum("rab,rb->ra", covariance, pull[rows[:, None], cells])
        np.add.at(added, (cells[:, :, None], cells[:, None, :]), covariance)
    return filled + mean, added


def moments_with_missing(X: Array, flags: Mask, n_steps: int = 12) -> tuple[Array, Array, Array]:
    """Mean, covariance and completed rows by maximum likelihood, flagged cells being missing."""
    unit = np.ones(X.shape[1])
    known = ~flags
    mean = np.sum(np.where(known, X, 0.0), axis=0) / np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - mean, 0.0)
    unit = np.sqrt(np.sum(centred**2, axis=0) / np.maximum(known.sum(axis=0), 1))
    unit = np.where(unit > 0, unit, 1.0)
    U = centred / unit
    # Pairwise counts, shrunk a little so that the start is positive definite.
    pairs = known.T.astype(np.float64) @ known
    scatter = 0.9 * (U.T @ U) / np.maximum(pairs, 1.0)
    scatter[np.diag_indices_from(scatter)] = 1.0
    values, vectors = np.linalg.eigh(scatter)
    scatter = (vectors * np.maximum(values, 1e-3)) @ vectors.T
    location: Array = np.zeros(len(unit))
    completed: Array = U
    for _ in range(n_steps):
        completed, added = conditional(U, flags, location, scatter)
        location = completed.mean(axis=0)
        deviation = completed - location
        scatter = (deviation.T @ deviation + added) / len(U)
    return mean + unit * location, scatter * np.outer(unit, unit), mean + unit * completed
