"""The book of batches: what came, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from robustream.aggregators import Assessment
from robustream.batch import BatchRecord, Estimate

__all__ = ["Ledger"]

# A record takes about 250 bytes: the book stays below some 25 MB however long the stream.
_MOST_RECORDS = 100_000


class Ledger(NamedTuple):
    """Records in the order of arrival; beyond a limit the oldest kept ones are only counted."""

    records: tuple[BatchRecord, ...] = ()
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
        records, uncounted = (*self.records, verdict), self.uncounted
        if len(records) > _MOST_RECORDS:
            oldest = next((k for k, record in enumerate(records) if record.verdict == "kept"), 0)
            records, uncounted = records[:oldest] + records[oldest + 1 :], uncounted + 1
        return Ledger(records, uncounted, self.usable + accepted, self.total + 1)

    def miss(self, index: int, label: str, reason: str) -> Ledger:
        """Give the book with a batch that did not come in time."""
        late = BatchRecord(index, label, 0, "late", 0.0, float("nan"), reason)
        return self._replace(records=(*self.records, late), total=self.total + 1)

    def revise(self, estimate: Estimate, accepted: bool, reason: str) -> Ledger:
        """Give the book with another word on a batch that was late or had failed."""
        entered = Ledger().enter(estimate, accepted, reason).records[0]
        records = tuple(
            entered if record.index == entered.index and record.verdict in ("late", "failed") else record
            for record in self.records
        )
        return self._replace(records=records, usable=self.usable + accepted)

    def report(self, assessments: Iterable[Assessment]) -> list[BatchRecord]:
        """Give the records with what the aggregator thinks of those it still holds."""
        known = {assessment.index: assessment for assessment in assessments}
        return [_judged(record, known.get(record.index)) for record in self.records]


def _judged(record: BatchRecord, assessment: Assessment | None) -> BatchRecord:
    if record.verdict != "kept" or assessment is None:
        return record
    return record._replace(
        verdict="rejected" if assessment.rejected else "kept",
        weight=assessment.weight,
        distance=assessment.distance,
        reason=assessment.reason,
    )
