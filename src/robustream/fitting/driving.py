"""The loop of a run: estimates are folded in the order of their batches, and after each one callbacks are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from robustream.errors import FailedBatchError
from robustream.estimators._snapshot import Snapshot
from robustream.fitting.events import Callback, FitEvent
from robustream.fitting.history import History, Look
from robustream.fitting.stopping import FEWEST_BATCHES, STOPPING_CONFIDENCE, error_bound, is_look
from robustream.runs.online import Plan, Stream, absorb
from robustream.runs.outlying import Examined

__all__ = ["Moment", "Watch", "drive"]


class Moment(NamedTuple):
    """A run after a batch: what it learned, what it noticed, and why it ended early, if it did."""

    stream: Stream
    history: History
    ended: str | None = None


class Watch(NamedTuple):
    """What is looked at after each batch."""

    total: int | None = None
    callbacks: Sequence[Callback] = ()
    tolerance: float | None = None
    stop_at_failure: bool = False
    keep: Callable[[Moment], None] | None = None  # writes a checkpoint if one is due


def drive(model: Any, plan: Plan, begin: Moment, examined: Iterator[Examined], watch: Watch) -> Moment:
    """Fold what comes of the batches, in order, until they end or the answer is good enough.

    The model shows the run as it stands, at every moment.
    """
    moment = begin
    for one in examined:
        usable_before = moment.stream.ledger.usable
        moment = _take_in(plan, moment, one)
        model._take(plan, moment.stream)
        if one.estimate.failure is not None and watch.stop_at_failure:
            raise FailedBatchError(f"{one.estimate.label}: {one.estimate.failure}")
        if moment.stream.ledger.usable > usable_before:
            moment = _look(model._snapshot, moment, watch.tolerance)
        moment = _tell(model, moment, one, watch)
        # Once a partition was passed over as late, the number of batches no longer says where to go on.
        if watch.keep is not None and one.estimate.index + 1 == moment.stream.next_index:
            watch.keep(moment)
        if moment.ended is not None:
            break
    return moment


def _take_in(plan: Plan, moment: Moment, examined: Examined) -> Moment:
    estimate = examined.estimate
    # What was noticed goes into the history once; the aggregator keeps estimates, and need not keep that too.
    counted = moment.stream._replace(rows_seen=moment.stream.rows_seen + estimate.rows)
    # A plain tuple, as one that came from a worker is: then the model file is the same wherever the work was done.
    point = None if estimate.point is None else tuple(estimate.point)
    stream = absorb(plan, counted, estimate._replace(stats={}, point=point))
    return Moment(stream, moment.history.note(examined))


def _look(snapshot: Snapshot, moment: Moment, tolerance: float | None) -> Moment:
    """Look at how far the answer is known, if it is time: batches that failed tell nothing, and do not count."""
    usable = moment.stream.ledger.usable
    if not is_look(usable):
        return moment
    look = Look(moment.stream.next_index, moment.stream.rows_seen, error_bound(snapshot))
    history = moment.history.look(look)
    if tolerance is None or usable < FEWEST_BATCHES:
        return moment._replace(history=history)
    bound = error_bound(snapshot, STOPPING_CONFIDENCE)
    ended = f"the relative error is below {tolerance:g}, with 95% confidence" if bound <= tolerance else None
    return moment._replace(history=history, ended=ended)


def _tell(model: Any, moment: Moment, examined: Examined, watch: Watch) -> Moment:
    stream = moment.stream
    failed = stream.ledger.total - stream.ledger.usable
    event = FitEvent(model, stream.next_index, watch.total, stream.rows_seen, failed, examined.estimate)
    # All callbacks hear of the batch, also if the first one ends the run.
    answers = [callback(event) for callback in watch.callbacks]
    if any(answer is True for answer in answers):
        return moment._replace(ended=moment.ended or "a callback asked for it")
    return moment
