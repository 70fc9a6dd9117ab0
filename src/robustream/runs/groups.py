"""Groups of rows or batches that stand apart from the majority: told, and never silently dropped.

Rows that fall into two groups have two readings: dirt, or a second honest population. No method can decide this. The
answer follows the majority, unless `keep_groups=True` takes all groups for honest; what stands apart is listed with
its size, where it lies and how far off, a few of its rows, and the batches that it is in.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from robustream.batch import BatchRecord, RowGroup
from robustream.errors import RowsLeftOutWarning
from robustream.runs.notes import left_out_of

__all__ = ["Group", "groups_of", "say_large_group", "say_left_out", "warn_of_groups"]

# Shares of the rows, in one group and left out in all, from which on people should know at once.
_LARGE, _MANY = 0.1, 0.25
# Rows of a group that are named.
_EXAMPLES = 5
_REJECTED = "batches that contradict the others"


class Group(NamedTuple):
    """Rows that stand apart for one reason, over all batches, or all batches that were rejected."""

    reason: str
    rows: int
    share: float  # of all rows
    distance: float  # from the believed rows, in their spreads; of batches, from the others; NaN where it says nothing
    where: Mapping[str, float]  # the columns in which it differs most, with its mean there
    examples: tuple[tuple[str, int], ...]  # a few rows of it: the label of the batch, and the place there
    batches: tuple[str, ...]  # labels of the batches that it is in
    left_out: bool  # whether the answer does not follow it
    whole_batches: bool = False  # whether it is that of the rejected batches

    def __str__(self) -> str:
        where = ", ".join(f"{name} {value:.4g}" for name, value in self.where.items())
        far = f", {self.distance:.3g} spreads off" if np.isfinite(self.distance) else ""
        count = f"{len(self.batches):,} batches" if len(self.batches) > 1 else "1 batch"
        return f"{self.rows:,} rows ({self.share:.1%}) in {count}{far}: {self.reason}" + (where and f" (mean {where})")


def groups_of(records: Sequence[BatchRecord], names: Sequence[str]) -> list[Group]:
    """Return the groups, the largest first; `names` are those of the columns, and of the targets after them."""
    usable = [record for record in records if record.verdict in ("kept", "rejected")]
    seen = max(1, sum(record.rows for record in usable))
    found: dict[str, list[tuple[BatchRecord, RowGroup]]] = {}
    for record in usable:
        for group in record.groups if record.verdict == "kept" else ():
            found.setdefault(group.reason, []).append((record, group))
    groups = [_together(reason, members, names, seen) for reason, members in found.items()]
    rejected = [record for record in usable if record.verdict == "rejected"]
    if rejected:
        rows = sum(record.rows for record in rejected)
        distance, labels = float(np.median([one.distance for one in rejected])), tuple(one.label for one in rejected)
        groups.append(Group(_REJECTED, rows, rows / seen, distance, {}, (), labels, True, True))
    return sorted(groups, key=lambda group: -group.rows)


def _together(reason: str, members: Sequence[tuple[BatchRecord, RowGroup]], names: Sequence[str], seen: int) -> Group:
    rows = sum(group.rows for _, group in members)
    distances = [group.distance for _, group in members if np.isfinite(group.distance)]
    largest = max((group for _, group in members), key=lambda group: group.rows)
    where = {names[column]: mean for column, mean in largest.where if column < len(names)}
    examples = [(record.label, row) for record, group in members for row in group.examples][:_EXAMPLES]
    return Group(
        reason,
        rows,
        rows / seen,
        float(np.median(distances)) if distances else float("nan"),
        where,
        tuple(examples),
        tuple(record.label for record, _ in members),
        any(record.left_out for record, _ in members),
    )


def say_large_group(groups: Sequence[Group]) -> str:
    """Say that there are two readings, where a group that was left out is large; nothing otherwise."""
    large = next((group for group in groups if group.left_out and group.share > _LARGE), None)
    if large is None:
        return ""
    reading = "they may be bad, or a second honest population"
    return f"A group of {large.share:.0%} of the rows stands apart ({large.reason}): {reading}."


def say_left_out(records: Sequence[BatchRecord], groups: Sequence[Group]) -> str:
    """Say where a group of more than a tenth of the rows, or a quarter of them in all, was left out; else nothing."""
    found, large = left_out_of(records), say_large_group(groups)
    if not large and not (found.seen and found.rows >= _MANY * found.seen):
        return ""
    told = large or "They may be bad, or a second honest population."
    return f"{found.sentence()}; the answer is that of the majority. {told} The rows alone cannot tell"


def warn_of_groups(records: Sequence[BatchRecord], groups: Sequence[Group]) -> None:
    """Warn, once, where a group of more than a tenth of the rows, or a quarter of them in all, was left out."""
    if said := say_left_out(records, groups):
        warnings.warn(
            f"{said}: groups_ has the groups, batch_report_ the reasons, and keep_groups=True takes all for honest",
            RowsLeftOutWarning,
            stacklevel=4,
        )
