"""Calls of few rows: joined into one batch, or each by an estimate of its own.

Joined, calls are one batch of which bad rows are left out: right where all calls have a few bad rows, and where few
calls are bad as a whole. Where nearly half of some twenty calls are bad, chance makes them the majority of one batch,
or leaves it without any. Then each call has a vote of its own, so that all calls of the stream decide, and not those
that happened to be joined. Of a call so small bad rows cannot be told: it has its vote only if its rows agree among
themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robustream.aggregators import Aggregator, Filtered
from robustream.batch import Batch, Estimate
from robustream.learners import Learner
from robustream.runs.batching import Rows, join_rows
from robustream.runs.workers import estimate_batch
from robustream.spaces import Array, Point, ProductSpace

__all__ = ["estimate_calls"]

# A call with this many more rows than columns has an estimate: of coefficients, of a level, and of what is left.
_ROWS_BEYOND_COLUMNS = 2
# Where a batch leaves out no more than this share of its rows, bad calls are too few to be anyone's majority.
_SAFE_SHARE = 0.1
# A batch of calls that contradict each other is noisier than the calls by themselves, by at least this factor.
_TORN = float(np.log(1.25))
# A call with bad rows leaves them out itself, or is noisier than the batch that leaves them out, by at least this
# factor; bad rows that lie among good ones make a larger share of calls dirty, by at least the other one, than they are
# of all rows.
_DIRTY, _SCATTERED = float(np.log(2.0)), 2.0


def estimate_calls(
    learner: Learner, aggregator: Aggregator, space: ProductSpace, seed: int, calls: Sequence[Rows], label: str
) -> list[Estimate]:
    """Return the estimate of all calls as one batch, or those of each, with the weight that so few rows deserve."""
    whole = join_rows(calls)
    columns = whole.X.shape[1]
    joined = estimate_batch(learner, seed, Batch(0, label, whole.X, whole.y, weights=whole.weights))
    # Who drops no estimate, or judges no rows, has nothing to gain.
    votes = isinstance(aggregator, Filtered) and not aggregator.keep_groups and learner.judges_rows
    if not votes or len(calls) < 2 or min(len(rows.X) for rows in calls) < columns + _ROWS_BEYOND_COLUMNS:
        return [joined]
    minimum = learner.minimum_rows(columns)
    own = []
    for number, rows in enumerate(calls, 1):
        batch = Batch(0, f"{len(rows.X)} rows, call {number} of {label}", rows.X, rows.y, weights=rows.weights)
        own.append(estimate_batch(learner, seed, batch)._replace(weight=min(1.0, len(rows.X) / minimum)))
    return own if _are_at_odds(space, joined, own) else [joined]


def _are_at_odds(space: ProductSpace, joined: Estimate, own: Sequence[Estimate]) -> bool:
    """Return whether calls contradict each other, and not only single rows the others."""
    usable = [(estimate.point, bool(estimate.left_out)) for estimate in own if estimate.point is not None]
    if joined.point is None or not usable:
        return bool(usable)
    excess = np.stack([_log_scales(space, point) for point, _ in usable]) - _log_scales(space, joined.point)
    left_out = sum(joined.left_out.values()) / max(joined.rows, 1)
    dirty = np.any(excess > _DIRTY, axis=1) | np.array([some for _, some in usable])
    if dirty.mean() > _SCATTERED * left_out:
        return False
    return bool(left_out > _SAFE_SHARE or np.any(np.median(excess, axis=0) < -_TORN))


def _log_scales(space: ProductSpace, point: Point) -> Array:
    """Return how large the parts of a point are that tell scales and noise, one logarithm for each; NaN if unknown."""
    found = []
    for place, part in enumerate(space.parts):
        if part.role == "passenger" or not (part.is_log or part.role == "noise"):
            continue
        value = space.express(place, point)
        if value is None:
            found.append(np.nan)
        elif part.is_log:
            found.append(float(np.mean(value)))
        else:  # a variance, or directions as long as the deviations along them
            size = float(np.linalg.norm(np.asarray(value, dtype=np.float64)))
            found.append(np.log(max(size, 1e-300)) / (2 if np.ndim(value) == 0 else 1))
    return np.array(found)
