"""The book of batches: what came, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from robustream.aggregators import Assessment
from robustream.batch import BatchRecord, Estimate
from robustream.runs.growing import Growing

__all__ = ["Ledger"]

# A record takes about 250 bytes: the book stays below some 25 MB however long the stream.
_MOST_RECORDS = 100_000
# So many go at once: to take one out for each that comes would cost more than many a batch.
_SURPLUS = 10_000


class Ledger(NamedTuple):
    """Records in the order of arrival; beyond a limit the oldest kept ones are only counted."""

    records: Growing[BatchRecord] = Growing()
    uncounted: int = 0
    usable: int = 0
    total: int = 0

    def enter(self, estimate: Estimate, accepted: bool, reason: str) -> Ledger:
        """Give the book with one more batch."""
        verdict = BatchRecord(
            estimate.index,
            estimate.label,
            estimate.rows,
            "kept" if accepted else "failed",
            estimate.weight if accepted else 0.0,
            float("nan"),
            reason,
        )
        records, uncounted = self.records.with_item(verdict), self.uncounted
        if len(records) >= _MOST_RECORDS + _SURPLUS:
            records = _without_oldest(records, _SURPLUS)
            uncounted += _SURPLUS
        return Ledger(records, uncounted, self.usable + accepted, self.total + 1)

    def miss(self, index: int, label: str, reason: str) -> Ledger:
        """Give the book with a batch that did not come in time."""
        late = BatchRecord(index, label, 0, "late", 0.0, float("nan"), reason)
        return self._replace(records=self.records.with_item(late), total=self.total + 1)

    def revise(self, estimate: Estimate, accepted: bool, reason: str) -> Ledger:
        """Give the book with another word on a batch that was late or had failed."""
        entered = Ledger().enter(estimate, accepted, reason).records[0]
        records = [
            entered if record.index == entered.index and record.verdict in ("late", "failed") else record
            for record in self.records
        ]
        return self._replace(records=Growing(records), usable=self.usable + accepted)

    def report(self, assessments: Iterable[Assessment]) -> list[BatchRecord]:
        """Give the records with what the aggregator thinks of those it still holds."""
        known = {assessment.index: assessment for assessment in assessments}
        return [_judged(record, known.get(record.index)) for record in self.records]


def _without_oldest(records: Sequence[BatchRecord], surplus: int) -> Growing[BatchRecord]:
    """Leave out the oldest that were kept; of the others, none as long as there are such."""
    others_last = sorted(range(len(records)), key=lambda place: records[place].verdict != "kept")
    gone = set(others_last[:surplus])
    return Growing([record for place, record in enumerate(records) if place not in gone])


def _judged(record: BatchRecord, assessment: Assessment | None) -> BatchRecord:
    if record.verdict != "kept" or assessment is None:
        return record
    return record._replace(
        verdict="rejected" if assessment.rejected else "kept",
        weight=assessment.weight,
        distance=assessment.distance,
        reason=assessment.reason,
    )
