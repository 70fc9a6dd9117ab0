"""A run on an engine: partitions are estimated by its workers, their estimates folded here in the order of their index.

The order of completion therefore changes nothing: the result has the bits of a run in one process over the same
batches, for every aggregator. There is no barrier: a partition that dies, lies or dawdles costs itself.

Replies that come early wait for those before them, in memory and within a bound. Where that is reached, no further
partition is handed out until the oldest open one is there; with a cut-off, which allows to go on without stragglers,
those before the replies that wait are given up as late instead.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from robustream.batch import Batch, Estimate
from robustream.engines import DaskEngine, Engine, InProcessEngine, LocalEngine
from robustream.engines.base import Result
from robustream.errors import DamagedFileError, InvalidInputError, NewerFormatError
from robustream.kernels.threads import one_blas_thread
from robustream.runs.loop import RunOptions, drive
from robustream.runs.node_report import NodeReport, PartitionRecord
from robustream.runs.run import Run, unchanged_on_error
from robustream.runs.wire import EstimatePartition, decode_reply, partition_name
from robustream.runs.worst_rows import BatchResult
from robustream.sources.base import Partition

__all__ = ["CutOff", "drive_elsewhere", "fold_in_late", "open_engine"]

# What replies that came early may take in memory.
_WAITING_BYTES = 64_000_000
_LATE = "no reply before the cut-off"


class CutOff(NamedTuple):
    """When stragglers are given up: after a share of the partitions, or after some seconds."""

    enough: float | None = None
    deadline: float | None = None


def drive_elsewhere(
    run: Run,
    partitions: Sequence[Partition],
    engine: Engine,
    options: RunOptions = RunOptions(),  # noqa: B008 (a named tuple never changes)
    cut_off: CutOff = CutOff(),  # noqa: B008
    *,
    most_rows: int | None = None,
) -> Run:
    """Drive a run over partitions that follow the batches it has seen; those that were given up are entered as late.

    `most_rows` is what a batch can have: a larger claim is cut to it.
    """
    replies = _Replies(run, _remaining(partitions, run.next_index), engine, cut_off, most_rows)
    # One thread for BLAS, as in the workers, which need the cores; and then the bits do not depend on their number.
    with one_blas_thread():
        run = drive(run, replies.in_order(), options)
    run = replace(run, nodes=replies.report)
    return run if run.ended is not None else _enter_late(run, replies.report)


def fold_in_late(model: Any, engine: Any = None) -> Any:
    """Try the partitions once more that were late or failed in `robustream.fit`, and take in what comes.

    Parameters
    ----------
    model : an estimator that `robustream.fit` fitted on an engine.
    engine : None, "local", "dask" or Engine, default=None
        Where to read and learn from them; None is this process.

    Returns
    -------
    model : the same object; `batch_report_` and `node_report_` say what has changed.
    """
    run: Run | None = getattr(model, "run_", None)
    if run is None or run.nodes is None:
        raise InvalidInputError("fold_in_late is for a model that robustream.fit fitted on an engine")
    with unchanged_on_error(model), open_engine(InProcessEngine() if engine is None else engine, None) as started:
        # An aggregator that depends on the order of arrival sees them after all others.
        replies = _Replies(run, run.nodes.missing, started, CutOff(), run.nodes.most_rows)
        nodes = run.nodes
        for result in replies.in_order():
            run = run.revise(result.estimate)
        model.run_ = replace(run, nodes=nodes.revised(replies.report))
    return model


@contextmanager
def open_engine(engine: Any, n_jobs: int | None) -> Iterator[Engine]:
    """Yield the engine that was asked for; one that is started here ends here."""
    if isinstance(engine, Engine):
        yield engine
        return
    if engine not in ("local", "dask"):
        raise InvalidInputError(f"engine must be None, 'local', 'dask' or an Engine, got {engine!r}")
    with LocalEngine(n_jobs) if engine == "local" else DaskEngine(n_workers=n_jobs) as started:
        yield started


class _Replies:
    """One pass over partitions on an engine; `report` is complete once `in_order` has ended."""

    def __init__(
        self, run: Run, partitions: Sequence[Partition], engine: Engine, cut_off: CutOff, most_rows: int | None
    ) -> None:
        enough, deadline = cut_off
        if enough is not None and not 0 < enough <= 1:
            raise InvalidInputError(f"enough must be a share of the partitions, above 0 and at most 1, got {enough!r}")
        if deadline is not None and not deadline > 0:
            raise InvalidInputError(f"deadline must be a positive number of seconds, got {deadline!r}")
        self._task = EstimatePartition(run.plan.learner, run.plan.seed, run.space)
        self._space, self._partitions, self._engine, self._most_rows = run.space, partitions, engine, most_rows
        self._wanted = len(partitions) if enough is None else math.ceil(enough * len(partitions) - 1e-9)
        self._deadline, self._gives_up = deadline, cut_off != CutOff()
        self._records: dict[int, PartitionRecord] = {}
        self._waiting: dict[int, list[BatchResult]] = {}
        self._waiting_bytes = 0
        self._following = 0  # the oldest open partition

    @property
    def report(self) -> NodeReport:
        """How the partitions fared; those without a word so far are late."""
        return NodeReport(
            tuple(
                self._records.get(number) or PartitionRecord(partition, "late", _LATE)
                for number, partition in enumerate(self._partitions)
            ),
            self._most_rows,
        )

    def in_order(self) -> Iterator[BatchResult]:
        """Yield what came of each batch in the order of their index; a failed partition gives failed estimates."""
        for result in self._results():
            if result.index < self._following:
                continue  # given up before it came
            record, results = self._receive(result)
            self._records[result.index] = record
            self._waiting[result.index] = results
            self._waiting_bytes += record.size
            if self._gives_up and self._waiting_bytes > _WAITING_BYTES:
                self._following = min(self._waiting)
            yield from self._in_front()
        # Whoever was late is passed over.
        while self._waiting:
            self._following = min(self._waiting)
            yield from self._in_front()

    def _in_front(self) -> Iterator[BatchResult]:
        """Yield what waits for nobody any more."""
        while self._following in self._waiting:
            self._waiting_bytes -= self._records[self._following].size
            yield from self._waiting.pop(self._following)
            self._following += 1

    def _results(self) -> Iterator[Result]:
        """Yield results as they come, until there are enough or the time is up."""
        end = None if self._deadline is None else time.monotonic() + self._deadline
        given = taken = 0

        def tasks() -> Iterator[Partition]:
            nonlocal given
            while given < len(self._partitions) and (self._gives_up or self._waiting_bytes <= _WAITING_BYTES):
                given += 1
                yield self._partitions[given - 1]

        # A new call goes on where the one before ended because too much was waiting.
        while given < len(self._partitions) and taken < self._wanted:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            first = given
            results = self._engine.imap(self._task, tasks(), timeout=left, name=partition_name)
            try:
                for result in results:
                    yield result._replace(index=first + result.index)
                    taken += 1
                    if taken == self._wanted:
                        return
            finally:
                results.close()  # type: ignore[attr-defined]

    def _receive(self, result: Result) -> tuple[PartitionRecord, list[BatchResult]]:
        partition = self._partitions[result.index]
        record = PartitionRecord(partition, "arrived", "", result.worker, result.seconds, len(result.payload or b""))
        if result.payload is None:
            record = record._replace(outcome="failed", reason=result.error or "no reply")
            return record, _failures(record)
        try:
            return record, decode_reply(result.payload, self._space, partition, self._most_rows)
        except (DamagedFileError, NewerFormatError) as error:
            record = record._replace(outcome="failed", reason=f"its reply is damaged: {error}")
            return record, _failures(record)


def _enter_late(run: Run, report: NodeReport) -> Run:
    """Enter the batches of late partitions into the book, and keep their indices for them."""
    late = [
        (index, _batch_label(record.partition, index), record.reason)
        for record in report.records
        if record.outcome == "late"
        for index in range(record.partition.first_index, record.partition.first_index + record.partition.count)
    ]
    ends = [record.partition.first_index + record.partition.count for record in report.records]
    return run.miss(late, max(ends, default=0))


def _failures(record: PartitionRecord) -> list[BatchResult]:
    first = record.partition.first_index
    return [
        BatchResult(Estimate(index, _batch_label(record.partition, index), 0, None, record.reason), ())
        for index in range(first, first + record.partition.count)
    ]


def _batch_label(partition: Partition, index: int) -> str:
    if partition.count == 1:
        return partition.label
    return f"{partition.label}, batch {index - partition.first_index + 1} of {partition.count}"


def _remaining(partitions: Sequence[Partition], position: int) -> list[Partition]:
    """Return what is left to read from a position on, which may lie within a partition."""
    left: list[Partition] = []
    for partition in partitions:
        if partition.first_index >= position:
            left.append(partition)
        elif partition.first_index + partition.count > position:
            left.append(_Tail(partition, position - partition.first_index))
    return left


@dataclass(frozen=True)
class _Tail(Partition):
    """A partition without its first batches."""

    whole: Partition
    passed: int

    @property
    def first_index(self) -> int:  # type: ignore[override]
        return self.whole.first_index + self.passed

    @property
    def count(self) -> int:  # type: ignore[override]
        return self.whole.count - self.passed

    @property
    def label(self) -> str:  # type: ignore[override]
        return self.whole.label

    def read(self, start: int = 0) -> Iterator[Batch]:
        return self.whole.read(self.passed + start)
