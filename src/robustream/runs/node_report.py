"""Who was asked, who answered, how long it took, and whom the aggregate trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from robustream.batch import BatchRecord
from robustream.sources.base import Partition

__all__ = ["NodeReport", "PartitionRecord", "Standing", "WorkerRecord"]

Outcome = Literal["arrived", "failed", "late"]


class PartitionRecord(NamedTuple):
    """What became of one partition: whether its reply arrived and could be read, or why not."""

    partition: Partition
    outcome: Outcome
    reason: str = ""
    worker: str = ""
    seconds: float = 0.0
    size: int = 0  # bytes of the reply

    @property
    def label(self) -> str:
        """The partition's label."""
        return self.partition.label


class Standing(NamedTuple):
    """How the batches of a partition fared: trusted ones were kept by the aggregate."""

    label: str
    worker: str
    seconds: float
    size: int
    trusted: int
    rejected: int
    failed: int
    late: int
    reason: str

    @property
    def in_order(self) -> bool:
        """Whether all of its batches are trusted."""
        return self.rejected == self.failed == self.late == 0


class WorkerRecord(NamedTuple):
    """The sum over the partitions that a worker answered for last."""

    worker: str
    partitions: int
    seconds: float
    trusted: int
    rejected: int
    failed: int


class NodeReport(NamedTuple):
    """One record for each partition, in their order."""

    records: tuple[PartitionRecord, ...]
    most_rows: int | None = None  # that a batch can have: larger claims are cut to it

    @property
    def missing(self) -> list[Partition]:
        """The partitions that were late or failed, for another try."""
        return [record.partition for record in self.records if record.outcome != "arrived"]

    def standings(self, batches: Iterable[BatchRecord]) -> list[Standing]:
        """Return each partition with what the aggregate thinks of its batches now."""
        by_index = {record.index: record for record in batches}
        return [_standing(record, by_index) for record in self.records]

    def culprits(self, batches: Iterable[BatchRecord]) -> list[str]:
        """Name the partitions of which a batch was rejected, failed or late."""
        return [standing.label for standing in self.standings(batches) if not standing.in_order]

    def workers(self, batches: Iterable[BatchRecord]) -> list[WorkerRecord]:
        """Return the sums for each worker, the slowest first."""
        groups: dict[str, list[Standing]] = {}
        for standing in self.standings(batches):
            if standing.worker:
                groups.setdefault(standing.worker, []).append(standing)
        summed = [_sum_up(worker, standings) for worker, standings in groups.items()]
        return sorted(summed, key=lambda record: -record.seconds)

    def revised(self, later: NodeReport) -> NodeReport:
        """Return the report with what another try said about some of its partitions."""
        news = {record.partition.first_index: record for record in later.records}
        return self._replace(records=tuple(news.get(record.partition.first_index, record) for record in self.records))


def _standing(record: PartitionRecord, by_index: dict[int, BatchRecord]) -> Standing:
    first = record.partition.first_index
    found = [by_index[index] for index in range(first, first + record.partition.count) if index in by_index]
    verdicts = Counter(batch.verdict for batch in found)
    # A long run only counts what it kept and no longer lists.
    unlisted = record.partition.count - len(found)
    reason = record.reason or next((batch.reason for batch in found if batch.verdict != "kept"), "")
    return Standing(
        record.label,
        record.worker,
        record.seconds,
        record.size,
        verdicts["kept"] + unlisted,
        verdicts["rejected"],
        verdicts["failed"],
        verdicts["late"],
        reason,
    )


def _sum_up(worker: str, standings: Sequence[Standing]) -> WorkerRecord:
    return WorkerRecord(
        worker,
        len(standings),
        sum(standing.seconds for standing in standings),
        sum(standing.trusted for standing in standings),
        sum(standing.rejected for standing in standings),
        sum(standing.failed for standing in standings),
    )
