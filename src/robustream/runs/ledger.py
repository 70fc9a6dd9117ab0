"""The book of batches: what came, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from robustream.aggregators import Assessment
from robustream.aggregators.paged import Paged
from robustream.batch import BAD_CELLS, CAPPED, BatchRecord, Estimate, RowGroup, Verdict

__all__ = ["Ledger"]

# A record takes about 250 bytes: the book stays below some 25 MB however long the stream.
_MOST_RECORDS = 100_000
# So many go at once: to take one out for each that comes would cost more than many a batch.
_SURPLUS = 10_000


class Ledger(NamedTuple):
    """Records in the order of arrival; beyond a limit the oldest kept ones are only counted."""

    listed: Paged[BatchRecord] = Paged()
    usable: int = 0
    total: int = 0

    @classmethod
    def of(cls, records: Sequence[BatchRecord], usable: int, total: int) -> Ledger:
        """Return the book with these records."""
        return cls(Paged(records), usable, total)

    @property
    def records(self) -> tuple[BatchRecord, ...]:
        """The records that are still listed."""
        return tuple(self.listed)

    def enter(self, estimate: Estimate, accepted: bool, reason: str) -> Ledger:
        """Return the book with one more batch."""
        return self._with(_record_of(estimate, accepted, reason), accepted)

    def miss(self, index: int, label: str, reason: str) -> Ledger:
        """Return the book with a batch that did not come in time."""
        return self._with(BatchRecord(index, label, 0, "late", 0.0, float("nan"), reason), False)

    def revise(self, estimate: Estimate, accepted: bool, reason: str) -> Ledger:
        """Return the book with another word on a batch that was late or had failed."""
        entered = _record_of(estimate, accepted, reason)
        records = [
            entered if record.index == entered.index and record.verdict in ("late", "failed") else record
            for record in self.records
        ]
        return Ledger.of(records, self.usable + accepted, self.total)

    def report(self, assessments: Iterable[Assessment]) -> list[BatchRecord]:
        """Return the records with what the aggregator thinks of those it still holds."""
        known = {assessment.index: assessment for assessment in assessments}
        return [_judged(record, known.get(record.index)) for record in self.records]

    def _with(self, record: BatchRecord, accepted: bool) -> Ledger:
        longer = Ledger(self.listed.appended(record), self.usable + accepted, self.total + 1)
        if len(longer.listed) < _MOST_RECORDS + _SURPLUS:
            return longer
        return Ledger.of(_without_oldest(longer.records, _SURPLUS), longer.usable, longer.total)


def _record_of(estimate: Estimate, accepted: bool, reason: str) -> BatchRecord:
    verdict: Verdict = "kept" if accepted else "failed"
    weight = estimate.weight if accepted else 0.0
    left_out = estimate.left_out
    said = [f"{rows} rows: {why}" for why, rows in left_out.items()]
    if BAD_CELLS in estimate.stats:
        said.append(f"{int(estimate.stats[BAD_CELLS])} single cells were taken as missing")
    reasons = "; ".join(said)
    return BatchRecord(
        estimate.index,
        estimate.label,
        estimate.rows,
        verdict,
        weight,
        float("nan"),
        reason,
        min(sum(left_out.values()), estimate.rows),
        reasons,
        RowGroup.all_from(estimate.stats),
        estimate.total_weight,
        min(int(estimate.stats.get(CAPPED, 0)), estimate.rows),
    )


def _without_oldest(records: Sequence[BatchRecord], surplus: int) -> list[BatchRecord]:
    """Leave out the oldest that were kept; of the others, none as long as there are such."""
    others_last = sorted(range(len(records)), key=lambda place: records[place].verdict != "kept")
    gone = set(others_last[:surplus])
    return [record for place, record in enumerate(records) if place not in gone]


def _judged(record: BatchRecord, assessment: Assessment | None) -> BatchRecord:
    if record.verdict != "kept" or assessment is None:
        return record
    return record._replace(
        verdict="rejected" if assessment.rejected else "kept",
        weight=assessment.weight,
        distance=assessment.distance,
        reason=assessment.reason,
    )
