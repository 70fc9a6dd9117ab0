"""The loop of a run: estimates are folded in the order of their batches, and after each one callbacks are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from robustream.errors import FailedBatchError
from robustream.kernels.threads import one_blas_thread
from robustream.runs.notes import Look
from robustream.runs.progress import Callback, FitEvent
from robustream.runs.run import Run
from robustream.runs.stopping import FEWEST_BATCHES, STOPPING_CONFIDENCE, error_bound, is_look
from robustream.runs.workers import map_in_order
from robustream.runs.worst_rows import BatchResult, examine_batch
from robustream.sources.base import Source
from robustream.sources.lookahead import read_ahead

__all__ = ["RunOptions", "drive", "drive_here"]


class RunOptions(NamedTuple):
    """What is looked at after each batch."""

    model: Any = None  # shows the run as it stands, at every moment
    total: int | None = None  # batches in all, if that is known
    callbacks: Sequence[Callback] = ()
    tolerance: float | None = None
    stop_at_failure: bool = False
    keep: Callable[[Run], None] | None = None  # writes a checkpoint if one is due


def drive_here(run: Run, source: Source, options: RunOptions) -> Run:
    """Drive a run in this process: one thread reads ahead, this one where it must, and the others estimate."""
    batches = source.batches(run.next_index)
    if not source.own_thread:
        batches = read_ahead(batches, 2 * run.plan.workers)
    examine = partial(examine_batch, run.plan.learner, run.plan.seed, run.space)
    # One thread for BLAS, however many workers there are: then the bits do not depend on their number.
    with one_blas_thread():
        results = map_in_order(examine, batches, run.plan.workers, apart=source.own_thread)
        try:
            return drive(run, results, options)
        finally:
            results.close()  # type: ignore[attr-defined]
            if (close := getattr(batches, "close", None)) is not None:
                close()


def drive(run: Run, results: Iterator[BatchResult], options: RunOptions) -> Run:
    """Fold what comes of the batches, in order, until they end or the answer is good enough."""
    for result in results:
        usable_before = run.ledger.usable
        run = _take_in(run, result)
        if options.model is not None:
            options.model.run_ = run
        if result.estimate.failure is not None and options.stop_at_failure:
            raise FailedBatchError(f"{result.estimate.label}: {result.estimate.failure}")
        if run.ledger.usable > usable_before:
            run = _look(run, options.tolerance)
        run = _tell(run, result, options)
        # Once a partition was passed over as late, the number of batches no longer says where to go on.
        if options.keep is not None and result.estimate.index + 1 == run.next_index:
            options.keep(run)
        if run.ended is not None:
            break
    return run


def _take_in(run: Run, result: BatchResult) -> Run:
    estimate = result.estimate
    # A plain tuple, as one that came from a worker is: then the model file is the same wherever the work was done.
    point = None if estimate.point is None else tuple(estimate.point)
    return replace(run.step(estimate._replace(point=point)), history=run.history.note(result))


def _look(run: Run, tolerance: float | None) -> Run:
    """Look at how far the answer is known, if it is time: batches that failed tell nothing, and do not count."""
    usable = run.ledger.usable
    if not is_look(usable):
        return run
    history = run.history.look(Look(run.next_index, run.rows_seen, error_bound(run)))
    if tolerance is None or usable < FEWEST_BATCHES:
        return replace(run, history=history)
    bound = error_bound(run, STOPPING_CONFIDENCE)
    ended = f"the relative error is below {tolerance:g}, with 95% confidence" if bound <= tolerance else None
    return replace(run, history=history, ended=ended)


def _tell(run: Run, result: BatchResult, options: RunOptions) -> Run:
    failed = run.ledger.total - run.ledger.usable
    event = FitEvent(options.model, run.next_index, options.total, run.rows_seen, failed, result.estimate)
    # All callbacks hear of the batch, also if the first one ends the run.
    answers = [callback(event) for callback in options.callbacks]
    if any(answer is True for answer in answers):
        return replace(run, ended=run.ended or "a callback asked for it")
    return run
