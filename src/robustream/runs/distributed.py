"""Distributed learning: partitions are estimated elsewhere, their estimates folded here in the order of their index.

The order of completion therefore changes nothing: the result has the bits of the online run over the same batches,
for every aggregator. Replies that come too early wait, in memory and then on disk, so that the driver holds no more
than the aggregator's budget and a window. There is no barrier: a partition that dies, lies or dawdles costs itself.

    gathered = gather(plan, begin(plan, columns, outputs), partitions, engine, enough=0.8)
    gathered = gather_missing(plan, gathered, engine)      # later, if somebody wants the stragglers after all
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from robustream.batch import Estimate
from robustream.engines import Engine
from robustream.engines.base import Result
from robustream.errors import BelowQuorumError, DamagedFileError, InvalidInputError, NewerFormatError
from robustream.runs.nodes import NodeReport, PartitionRecord
from robustream.runs.online import Plan, Stream, absorb
from robustream.runs.outlying import Examined
from robustream.runs.payload import Batches, decode_estimates
from robustream.runs.remote import EstimatePartition, partition_name
from robustream.runs.waiting import WaitingRoom
from robustream.sources.base import Partition
from robustream.spaces import ProductSpace

__all__ = ["Gathered", "Gathering", "fold_missing", "gather", "gather_missing"]

# What replies that came early may take in memory before they wait on disk.
_WAITING_BYTES = 64_000_000
_NAMED_AT_MOST = 20


class Gathered(NamedTuple):
    """What a run knows now, and how its partitions fared."""

    stream: Stream
    report: NodeReport


def gather(
    plan: Plan,
    stream: Stream,
    partitions: Sequence[Partition],
    engine: Engine,
    *,
    enough: float | None = None,
    deadline: float | None = None,
    quorum: float = 0.5,
    most_rows: int | None = None,
    on_result: Callable[[PartitionRecord], Any] | None = None,
    retries: int = 2,
) -> Gathered:
    """Estimate partitions on an engine and fold what arrives into a run.

    Parameters
    ----------
    plan, stream : the run; `begin(plan, columns, outputs)` gives one without batches.
    partitions : whose batches follow those that the run has seen.
    engine : where the work is done.
    enough : the share of partitions after which the others are given up as late.
    deadline : seconds after which the others are given up as late.
    quorum : unless more than this share of the batches is usable, BelowQuorumError is raised; its `partial` is what
        would have been returned.
    most_rows : what a batch can have; a larger claim is cut to it.
    on_result : called with the record of each partition as its reply comes.
    retries : how often a partition is tried again after its worker died.
    """
    work = Gathering(plan, _space(plan, stream), partitions, engine, enough, deadline, on_result, retries)
    before = stream.ledger
    for examined in work.examined():
        estimate = cap_rows(examined.estimate, most_rows)
        stream = absorb(plan, stream._replace(rows_seen=stream.rows_seen + estimate.rows), estimate)
    gathered = Gathered(fold_missing(stream, work.report), work.report)
    usable, total = gathered.stream.ledger.usable - before.usable, gathered.stream.ledger.total - before.total
    _require(gathered, usable, total, quorum)
    return gathered


def gather_missing(
    plan: Plan,
    gathered: Gathered,
    engine: Engine,
    *,
    enough: float | None = None,
    deadline: float | None = None,
    quorum: float = 0.5,
    most_rows: int | None = None,
    on_result: Callable[[PartitionRecord], Any] | None = None,
    retries: int = 2,
) -> Gathered:
    """Try the partitions once more that were late or failed, and fold in what comes.

    An aggregator that depends on the order of arrival sees them after all others.
    """
    stream, report = gathered
    work = Gathering(plan, _space(plan, stream), report.missing, engine, enough, deadline, on_result, retries)
    for examined in work.examined():
        estimate = cap_rows(examined.estimate, most_rows)
        state, info = plan.aggregator.step(stream.state, estimate)
        ledger = stream.ledger.revise(estimate, info.accepted, info.reason)
        stream = stream._replace(state=state, ledger=ledger, rows_seen=stream.rows_seen + estimate.rows)
    after = Gathered(stream, report.revised(work.report))
    _require(after, stream.ledger.usable, stream.ledger.total, quorum)
    return after


class Gathering:
    """One pass over partitions on an engine; `report` is complete once `examined` has ended."""

    def __init__(
        self,
        plan: Plan,
        space: ProductSpace,
        partitions: Sequence[Partition],
        engine: Engine,
        enough: float | None = None,
        deadline: float | None = None,
        on_result: Callable[[PartitionRecord], Any] | None = None,
        retries: int = 2,
        examine: bool = False,
    ) -> None:
        if enough is not None and not 0 < enough <= 1:
            raise InvalidInputError(f"enough must be a share of the partitions, above 0 and at most 1, got {enough!r}")
        if deadline is not None and not deadline > 0:
            raise InvalidInputError(f"deadline must be a positive number of seconds, got {deadline!r}")
        self._function = EstimatePartition(plan.learner, plan.seed, examine)
        self._space, self._partitions, self._engine = space, partitions, engine
        self._wanted = len(partitions) if enough is None else math.ceil(enough * len(partitions) - 1e-9)
        self._deadline, self._retries = deadline, retries
        self._on_result = on_result or _ignore
        self._records: dict[int, PartitionRecord] = {}

    @property
    def report(self) -> NodeReport:
        """How the partitions fared; those without a word so far are late."""
        late = "no reply before the cut-off"
        return NodeReport(
            tuple(
                self._records.get(number) or PartitionRecord(partition, "late", late)
                for number, partition in enumerate(self._partitions)
            )
        )

    def examined(self) -> Iterator[Examined]:
        """Yield what came of each batch in the order of their index; a failed partition gives failed estimates."""
        following = 0
        with WaitingRoom(_WAITING_BYTES) as waiting:
            for result in self._results():
                record, examined = self._receive(result)
                self._records[result.index] = record
                self._on_result(record)
                if result.index > following:
                    if record.outcome == "arrived" and result.payload is not None:
                        waiting.put(result.index, result.payload)
                    continue
                yield from examined
                following += 1
                while following in self._records:
                    yield from self._open(following, waiting)
                    following += 1
            # Whoever was late is passed over.
            for number in range(following, len(self._partitions)):
                if number in self._records:
                    yield from self._open(number, waiting)

    def _results(self) -> Iterator[Result]:
        results = self._engine.imap(
            self._function, self._partitions, retries=self._retries, timeout=self._deadline, name=partition_name
        )
        try:
            for _ in range(self._wanted):
                result = next(results, None)
                if result is None:
                    return
                yield result
        finally:
            results.close()  # type: ignore[attr-defined]

    def _receive(self, result: Result) -> tuple[PartitionRecord, list[Examined]]:
        partition = self._partitions[result.index]
        record = PartitionRecord(partition, "arrived", "", result.worker, result.seconds, len(result.payload or b""))
        if result.payload is None:
            record = record._replace(outcome="failed", reason=result.error or "no reply")
            return record, _failures(record)
        try:
            return record, self._decode(partition, result.payload)
        except (DamagedFileError, NewerFormatError) as error:
            record = record._replace(outcome="failed", reason=f"its reply is damaged: {error}")
            return record, _failures(record)

    def _open(self, number: int, waiting: WaitingRoom) -> list[Examined]:
        record = self._records[number]
        # Checked once already, but decoded anew: what waits is kept as bytes.
        return self._decode(record.partition, waiting.take(number)) if number in waiting else _failures(record)

    def _decode(self, partition: Partition, payload: bytes) -> list[Examined]:
        return decode_estimates(payload, self._space, Batches(partition.first_index, partition.count))


def fold_missing(stream: Stream, report: NodeReport) -> Stream:
    """Enter the batches of late partitions into the book, and keep their indices for them."""
    ledger, following = stream.ledger, stream.next_index
    for record in report.records:
        first = record.partition.first_index
        following = max(following, first + record.partition.count)
        if record.outcome == "late":
            for index in range(first, first + record.partition.count):
                ledger = ledger.miss(index, _batch_label(record.partition, index), record.reason)
    return stream._replace(ledger=ledger, next_index=following)


def cap_rows(estimate: Estimate, most_rows: int | None) -> Estimate:
    """Cut a claimed number of rows to what a batch can have."""
    return estimate if most_rows is None else estimate._replace(rows=min(estimate.rows, most_rows))


def _failures(record: PartitionRecord) -> list[Examined]:
    first = record.partition.first_index
    return [
        Examined(Estimate(index, _batch_label(record.partition, index), 0, None, record.reason), ())
        for index in range(first, first + record.partition.count)
    ]


def _space(plan: Plan, stream: Stream) -> ProductSpace:
    return plan.learner.space(stream.columns, stream.outputs)


def _batch_label(partition: Partition, index: int) -> str:
    if partition.count == 1:
        return partition.label
    return f"{partition.label}, batch {index - partition.first_index + 1} of {partition.count}"


def _require(gathered: Gathered, usable: int, total: int, quorum: float) -> None:
    if usable > quorum * total:
        return
    missing = [f"{record.label} ({record.reason})" for record in gathered.report.records if record.outcome != "arrived"]
    shown = "; ".join(missing[:_NAMED_AT_MOST])
    more = f"; and {len(missing) - _NAMED_AT_MOST} more" if len(missing) > _NAMED_AT_MOST else ""
    raise BelowQuorumError(
        f"only {usable} of {total} batches gave a usable estimate, more than {quorum:.0%} are needed; missing are "
        f"{shown}{more}",
        gathered,
    )


def _ignore(_: PartitionRecord) -> None:
    """Do nothing."""
