"""Online learning: fold estimates of batches, one after another, into an aggregate.

A `Stream` is all that a run knows, as plain data; every function here gives a new one and leaves the old one
alone, so that a call that fails halfway changes nothing.

A call is a border: rows of different calls are joined into one batch only while each call alone is below the
learner's minimum. Otherwise one bad call would spoil the good rows of its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators import Aggregator
from robustream.batch import Batch, Estimate
from robustream.errors import BelowQuorumError
from robustream.kernels.device_arrays import host_array
from robustream.learners import Learner
from robustream.runs.cutting import BatchSize, cut_call
from robustream.runs.ledger import Ledger
from robustream.runs.workers import estimate_in_order
from robustream.spaces import Array

__all__ = [
    "Plan",
    "Rows",
    "Stream",
    "absorb",
    "begin",
    "feed",
    "fold",
    "fold_cuts",
    "require_quorum",
    "settle",
    "with_pending",
]


# Batches that an error names.
_NAMED_AT_MOST = 20


class Plan(NamedTuple):
    """What is to be done with each batch; fixed when a run begins."""

    learner: Learner
    aggregator: Aggregator
    batch_size: BatchSize = "auto"
    half_life: float | None = None
    seed: int = 0
    workers: int = 1


class Rows(NamedTuple):
    """Rows that wait for more of their kind."""

    X: NDArray[Any]
    y: NDArray[Any] | None


class Stream(NamedTuple):
    """What a run has learned so far."""

    columns: int
    outputs: int
    state: Any
    pending: tuple[Rows, ...] = ()
    rows_seen: int = 0
    next_index: int = 0
    ledger: Ledger = Ledger()

    @property
    def pending_rows(self) -> int:
        """The number of rows that are not part of any batch yet."""
        return sum(len(rows.X) for rows in self.pending)


def begin(plan: Plan, columns: int, outputs: int) -> Stream:
    """Give the run before its first batch."""
    space = plan.learner.space(columns, outputs)
    return Stream(columns, outputs, plan.aggregator.init(space, half_life=plan.half_life, seed=plan.seed))


def feed(plan: Plan, stream: Stream, X: NDArray[Any], y: NDArray[Any] | None) -> Stream:
    """Take the rows of one call in, by the rule of borders."""
    minimum = plan.learner.minimum_rows(stream.columns)
    if len(X) >= minimum:
        return fold_cuts(plan, stream, X, y, cut_call(len(X), minimum, plan.batch_size))
    pending = (*stream.pending, Rows(_copied(X), None if y is None else _copied(y)))
    after = stream._replace(pending=pending, rows_seen=stream.rows_seen + len(X))
    if after.pending_rows < minimum:
        return after
    joined = _join(pending)
    label = f"{len(joined.X)} rows of {len(pending)} small calls up to row {after.rows_seen - 1}"
    return fold(plan, after._replace(pending=()), [(label, joined)])


def fold_cuts(plan: Plan, stream: Stream, X: NDArray[Any], y: NDArray[Any] | None, cuts: Sequence[slice]) -> Stream:
    """Take rows in, cut into batches as told."""
    first_row = stream.rows_seen
    after = stream._replace(rows_seen=first_row + len(X))
    return fold(plan, after, (_slice(X, y, piece, first_row) for piece in cuts))


def fold(plan: Plan, stream: Stream, pieces: Iterable[tuple[str, Rows]]) -> Stream:
    """Estimate each piece as a batch and step the aggregator, in order."""
    batches = (Batch(index, label, rows.X, rows.y) for index, (label, rows) in enumerate(pieces, stream.next_index))
    for estimate in estimate_in_order(plan.learner, batches, plan.seed, plan.workers):
        stream = absorb(plan, stream, estimate)
    return stream


def absorb(plan: Plan, stream: Stream, estimate: Estimate) -> Stream:
    """Take one estimate in; its rows have been counted already."""
    state, info = plan.aggregator.step(stream.state, estimate)
    return stream._replace(
        state=state,
        next_index=stream.next_index + 1,
        ledger=stream.ledger.enter(estimate, info.accepted, info.reason),
    )


def with_pending(plan: Plan, stream: Stream) -> Stream:
    """Give the run as if the waiting rows were a batch now, with the weight that so few rows deserve."""
    if not stream.pending or stream.pending_rows < plan.learner.required_rows(stream.columns):
        return stream
    joined = _join(stream.pending)
    batch = Batch(stream.next_index, f"{len(joined.X)} rows still waiting for more", joined.X, joined.y)
    estimate = next(iter(estimate_in_order(plan.learner, [batch], plan.seed, 1)))
    minimum = plan.learner.minimum_rows(stream.columns)
    return absorb(plan, stream, estimate._replace(weight=min(1.0, len(joined.X) / minimum)))


def settle(plan: Plan, stream: Stream) -> tuple[Array | None, ...]:
    """Give the value of each part."""
    return plan.aggregator.value(stream.state)


def require_quorum(stream: Stream, share: float = 0.5) -> None:
    """Raise unless more than a share of the batches gave a usable estimate: better no answer than a wrong one."""
    usable, total = stream.ledger.usable, stream.ledger.total
    if usable > share * total:
        return
    missing = [record for record in stream.ledger.records if record.verdict in ("failed", "late")]
    shown = "; ".join(f"{record.label}: {record.reason}" for record in missing[:_NAMED_AT_MOST])
    shown += f"; and {len(missing) - _NAMED_AT_MOST} more" if len(missing) > _NAMED_AT_MOST else ""
    raise BelowQuorumError(
        f"only {usable} of {total} batches gave a usable estimate, more than {share:.0%} are needed ({shown})"
    )


def _slice(X: NDArray[Any], y: NDArray[Any] | None, piece: slice, first_row: int) -> tuple[str, Rows]:
    label = f"rows {first_row + piece.start}-{first_row + piece.stop - 1}"
    return label, Rows(X[piece], None if y is None else y[piece])


def _copied(rows: NDArray[Any]) -> NDArray[Any]:
    """Copy rows that are to wait, since the caller may reuse its buffer; few as they are, those on a GPU come over."""
    return np.asarray(host_array(rows).copy())


def _join(pending: Sequence[Rows]) -> Rows:
    targets = [rows.y for rows in pending if rows.y is not None]
    return Rows(np.concatenate([rows.X for rows in pending]), np.concatenate(targets) if targets else None)
