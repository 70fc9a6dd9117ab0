"""A file of rows, as far as it can be known from its head or its footer, and the pieces that it is cut into.

Each format has one class of `TableFile`, which is looked at once, and one of `Pieces`, which reads. A piece becomes
a batch. Pieces are small descriptions that can be sent to another process; they open the file when they are read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from robustream.sources.fingerprints import fingerprint_of_file
from robustream.sources.tables.conversion import Rows, Selection
from robustream.sources.tables.described import Described
from robustream.sources.tables.reasons import UnusableError

__all__ = ["Pieces", "TableFile", "UnreadablePieces"]

Outcome = Rows | UnusableError


class Pieces(ABC):
    """Consecutive rows of a file, cut into batches."""

    path: str
    count: int

    @abstractmethod
    def label(self, place: int) -> str:
        """Name a piece so that a person finds its rows."""

    @abstractmethod
    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        """Yield the rows of the pieces from `start` up to `stop`, or the reason why a piece has none.

        What it raises is the reason of the piece that was due, and of those after it up to the next of `starts`.
        """

    def starts(self) -> Sequence[int]:
        """Give the pieces at which reading can begin at no cost, in rising order, the first of all among them."""
        return range(self.count)

    def fingerprint(self) -> str:
        """Give a digest that differs for another file."""
        return fingerprint_of_file(self.path)

    @property
    def format(self) -> str:
        """Name the format for people."""
        return "table"


class TableFile(Described):
    """What is known of a file: its columns with their kinds, its size, its rows."""

    path: str
    size: int

    @property
    @abstractmethod
    def rows(self) -> int:
        """Give the number of rows, or a guess."""

    @abstractmethod
    def pieces(self, rows_per_batch: int) -> Pieces:
        """Cut the file into pieces of about that many rows; none if it has no rows."""


@dataclass(frozen=True)
class UnreadablePieces(Pieces):
    """The batches that an unusable file counts as."""

    path: str
    count: int
    reason: str

    def label(self, place: int) -> str:
        return self.path if self.count == 1 else f"{self.path}#{place + 1} of {self.count}"

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        for _ in range(start, stop):
            yield UnusableError(self.reason)
