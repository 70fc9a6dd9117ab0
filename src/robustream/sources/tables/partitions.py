"""Consecutive pieces of one file, read by whoever gets them; whatever happens, each piece becomes a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from robustream.batch import Batch
from robustream.sources.base import Partition
from robustream.sources.tables.base import Outcome, Pieces
from robustream.sources.tables.conversion import Selection
from robustream.sources.tables.reasons import UnusableError, explain
from robustream.sources.tables.screening import batch_of_rows

__all__ = ["FilePartition"]


@dataclass(frozen=True)
class FilePartition(Partition):
    """The pieces of a file from `first_piece` on.

    Parameters
    ----------
    pieces : the file and its cuts.
    selection : the columns to read.
    first_index : the index of the first batch in the stream.
    first_piece : its place in the file.
    count : how many there are.
    """

    pieces: Pieces
    selection: Selection
    first_index: int
    first_piece: int
    count: int

    @property
    def label(self) -> str:  # type: ignore[override]
        """Name the file, and the batches of it if they are not all."""
        if self.count == self.pieces.count:
            return self.pieces.path
        return f"{self.pieces.label(self.first_piece)} and {self.count - 1} after it"

    def read(self, start: int = 0) -> Iterator[Batch]:
        place = start
        while place < self.count:
            for outcome in self._outcomes(place):
                index, label = self.first_index + place, self.pieces.label(self.first_piece + place)
                if isinstance(outcome, UnusableError):
                    yield Batch.unreadable(index, label, str(outcome))
                else:
                    yield batch_of_rows(index, label, outcome, self.selection)
                place += 1

    def _outcomes(self, place: int) -> Iterator[Outcome]:
        """Yield what becomes of the pieces from `place` on, up to where a broken reading can begin again."""
        due, stop = self.first_piece + place, self.first_piece + self.count
        try:
            for outcome in self.pieces.read(due, stop, self.selection):
                yield outcome
                due += 1
            reason = "the file ends before these rows; it has changed since it was first looked at"
        except Exception as error:
            reason = explain(error, self.pieces.format)
        # What is read forward from the same place as the broken piece would break there again.
        again = next((start for start in self.pieces.starts() if start > due), stop)
        for _ in range(due, min(again, stop)):
            yield UnusableError(reason)
