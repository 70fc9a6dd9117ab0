"""What a run notices on its way, besides the answer: for the report, and the same for the same data.

Nothing here depends on the clock or on the number of workers, so that a run that was stopped and resumed leaves the
same book as one that was not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from robustream.runs.outlying import Examined, OutlyingRow

__all__ = ["History", "Look"]

# What the rows that may turn out the worst may take in memory, and how many there are at most.
_MOST_BYTES = 16_000_000
_MOST_ROWS = 5_000


class Look(NamedTuple):
    """How far the answer was known after some batches."""

    batches: int
    rows: int
    error_bound: float  # of the relative error, with 95% confidence; infinite while nothing can be said


class History(NamedTuple):
    """Rows dropped and cells missing, rows that fit badly to their own batch, and how the answer settled."""

    counts: Mapping[str, float] = {}
    outlying: tuple[OutlyingRow, ...] = ()
    looks: tuple[Look, ...] = ()

    def note(self, examined: Examined) -> History:
        """Give the history with one more batch."""
        counts = dict(self.counts)
        for name, number in examined.estimate.stats.items():
            counts[name] = counts.get(name, 0.0) + float(number)
        return self._replace(counts=counts, outlying=_worst((*self.outlying, *examined.outlying)))

    def look(self, look: Look) -> History:
        """Give the history with one more look at the answer."""
        return self._replace(looks=(*self.looks, look))


def _worst(rows: tuple[OutlyingRow, ...]) -> tuple[OutlyingRow, ...]:
    size = rows[0].x.nbytes + 200 if rows else 1
    most = max(3, min(_MOST_ROWS, _MOST_BYTES // size))
    # Pruned only when a fifth too many have gathered: sorting for each batch would cost more than the batch.
    if len(rows) <= most + most // 5 + 3:
        return rows
    best = sorted(rows, key=lambda row: (-row.score, row.index, row.row))[:most]
    return tuple(sorted(best, key=lambda row: (row.index, row.row)))


def total_dropped(counts: Mapping[str, float]) -> int:
    """Give the number of rows that were left out for missing, infinite or unreadable cells."""
    return int(counts.get("rows dropped", 0.0))


def cells_by_column(counts: Mapping[str, float], what: Iterable[str] = ("missing", "infinite")) -> dict[str, int]:
    """Give the cells of each column that were counted as one of these kinds."""
    cells: dict[str, int] = {}
    for name, number in counts.items():
        kind, _, column = name.partition(":")
        if column and kind in what:
            cells[column] = cells.get(column, 0) + int(number)
    return cells
