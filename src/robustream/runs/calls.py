"""Calls of a stream that wait for one another: searched as one table, joined into one batch, or each by itself.

**Calls that are batches.** The search of a batch costs the same whatever its size. So calls of up to some thousands of
rows wait until there are sixteen of them, and are searched as one table where they are alike (`learners.together`).
Each keeps its own estimate and its own vote. Nothing of that is for people to see: an answer, or a report, that is
asked for counts the calls that wait.

**Calls of fewer rows** than a batch needs are joined into one: right where all calls have a few bad rows, and where few
calls are bad as a whole. Where nearly half of some twenty calls are bad, chance makes them the majority of one batch,
or leaves it without any. Then those that agree are joined, and have their share of the vote of one batch, so that all
calls of the stream decide, and not those that happened to be joined; where none stand apart, each has its share.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from robustream.aggregators import Aggregator, Filtered
from robustream.batch import Batch, Estimate
from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.threads import one_blas_thread
from robustream.learners import Learner
from robustream.learners.base import Together
from robustream.learners.together import NOISIER
from robustream.runs.batching import Rows, join_rows
from robustream.runs.workers import batch_generator, estimate_batch
from robustream.spaces import Array, Point, ProductSpace

__all__ = ["FEWEST_TOGETHER", "are_enough", "estimate_calls", "estimate_together", "may_wait"]

# Calls that are searched as one table, and the most rows and bytes of them: beyond these passes over the rows take
# longer than the search. A call of more than a quarter of these does not wait: too few would be searched together.
_TOGETHER, _ROWS_TOGETHER, _BYTES_TOGETHER = 16, 160_000, 32_000_000
# Of fewer calls chance makes bad ones the majority more often, and little is saved.
FEWEST_TOGETHER = 4
# How often calls that differ are parted from the others before each is searched by itself.
_PARTINGS = 2
# In how many parts calls that contradict each other are joined, about.
_PARTS = 8
# A call with this many more rows than columns has an estimate: of coefficients, of a level, and of what is left.
_ROWS_BEYOND_COLUMNS = 2
# Where a batch leaves out no more than this share of its rows, bad calls are too few to be anyone's majority.
_SAFE_SHARE = 0.1
# A batch of calls that contradict each other is noisier than the calls by themselves, by at least this factor.
_TORN = float(np.log(NOISIER))
# A call with bad rows leaves them out itself, or is noisier than the batch that leaves them out, by at least this
# factor; bad rows that lie among good ones make a larger share of calls dirty, by at least the other one, than they are
# of all rows.
_DIRTY, _SCATTERED = float(np.log(2.0)), 2.0


def may_wait(learner: Learner, rows: Rows) -> bool:
    """Return whether a call that is a batch may wait for others to be searched with."""
    if not learner.searches_together or rows.weights is not None or is_device_array(rows.X):
        return False
    return FEWEST_TOGETHER * len(rows.X) <= _ROWS_TOGETHER and FEWEST_TOGETHER * rows.X.nbytes <= _BYTES_TOGETHER


def are_enough(calls: Sequence[Rows]) -> bool:
    """Return whether calls that wait are to be searched now, before one more of their size comes."""
    more = 1 + 1 / max(len(calls), 1)
    return (
        len(calls) >= _TOGETHER
        or more * sum(len(rows.X) for rows in calls) > _ROWS_TOGETHER
        or more * sum(rows.X.nbytes for rows in calls) > _BYTES_TOGETHER
    )


@one_blas_thread()
def estimate_together(
    learner: Learner,
    aggregator: Aggregator,
    space: ProductSpace,
    seed: int,
    batches: Sequence[Batch],
    partings: int = _PARTINGS,
) -> list[Estimate]:
    """Return the estimate of each batch; those that are alike are searched as one table.

    Where they are not, each is searched by itself; those that agree then are searched as one table once more, since
    that finds more of the bad rows.
    """
    together = _search(learner, batches) if len(batches) >= FEWEST_TOGETHER else Together()
    if together.solve is not None:
        return [
            learner.estimate(batch, batch_generator(seed, batch), solve)
            for batch, solve in zip(batches, together.solve, strict=True)
        ]
    odd = together.odd
    if odd is None or all(odd) or not partings:
        own = [estimate_batch(learner, seed, batch) for batch in batches]
        if not partings or not isinstance(aggregator, Filtered) or aggregator.keep_groups:
            return own
        apart = _apart(aggregator, space, own)
        if not 0 < sum(apart) <= len(batches) - FEWEST_TOGETHER:
            return own
        agreeing = list(compress(batches, [not each for each in apart]))
        again = iter(estimate_together(learner, aggregator, space, seed, agreeing, 0))
        return [estimate if each else next(again) for estimate, each in zip(own, apart, strict=True)]
    others = [not each for each in odd]
    parts = [
        iter(estimate_together(learner, aggregator, space, seed, list(compress(batches, part)), partings - 1))
        for part in (others, odd)
    ]
    return [next(parts[each]) for each in odd]


def _apart(aggregator: Aggregator, space: ProductSpace, estimates: Sequence[Estimate]) -> list[bool]:
    """Return which of several estimates have none, or stand apart from the others."""
    state = aggregator.init(space)
    for index, estimate in enumerate(estimates):
        state = aggregator.step(state, estimate._replace(index=index))[0]
    kept = {each.index for each in aggregator.assess(state) if not each.rejected}
    return [index not in kept for index in range(len(estimates))]


def _search(learner: Learner, batches: Sequence[Batch]) -> Together:
    try:
        with np.errstate(all="ignore"):
            return learner.search_together(batches)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):  # one of them cannot be used
        return Together()


def estimate_calls(
    learner: Learner, aggregator: Aggregator, space: ProductSpace, seed: int, calls: Sequence[Rows], label: str
) -> list[Estimate]:
    """Return the estimate of all calls as one batch, or those of each, with the weight that so few rows deserve."""
    rows = join_rows(calls)
    columns, whole = rows.X.shape[1], Batch(0, label, rows.X, rows.y, weights=rows.weights)
    # Who drops no estimate, or judges no rows, has nothing to gain.
    votes = isinstance(aggregator, Filtered) and not aggregator.keep_groups and learner.judges_rows
    if not votes or len(calls) < 2 or min(len(call.X) for call in calls) < columns + _ROWS_BEYOND_COLUMNS:
        return [estimate_batch(learner, seed, whole)]
    batches = [
        Batch(0, f"{len(call.X)} rows, call {number} of {label}", call.X, call.y, weights=call.weights)
        for number, call in enumerate(calls, 1)
    ]
    together = _search(learner, batches) if learner.searches_together else Together()
    if together.whole is not None:  # they are alike
        return [learner.estimate(whole, batch_generator(seed, whole), together.whole)]
    joined = estimate_batch(learner, seed, whole)
    # Together they have the vote that they would have as one batch: else calls that happened to be joined with others
    # that contradict them would outvote whole batches of calls that agree.
    own = [estimate_batch(learner, seed, batch)._replace(weight=batch.rows / whole.rows) for batch in batches]
    if not _are_at_odds(space, joined, own):
        return [joined]
    apart = _apart(aggregator, space, own)
    if not any(apart) or any(estimate.point is None for estimate in own):
        return own
    # Those that agree are joined, in a few parts: these tell far more than one call does, and still show a majority.
    found = []
    for part in _parts([not each for each in apart], [len(call.X) for call in calls]):
        some = join_rows([calls[k] for k in part])
        name = f"{len(some.X)} rows of {len(part)} calls among {label}"
        estimate = estimate_batch(learner, seed, Batch(0, name, some.X, some.y, weights=some.weights))
        found.append(estimate._replace(weight=len(some.X) / whole.rows))
    return found


def _parts(agree: Sequence[bool], rows: Sequence[int]) -> list[list[int]]:
    """Return calls in parts of about an eighth of all rows, none with calls of both sides."""
    found = []
    for side in (True, False):
        part, size = list[int](), 0
        for k in (k for k in range(len(rows)) if agree[k] is side):
            part.append(k)
            size += rows[k]
            if size * _PARTS >= sum(rows):
                found.append(part)
                part, size = [], 0
        if part and found and agree[found[-1][0]] is side:
            found[-1] += part
        elif part:
            found.append(part)
    return found


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
