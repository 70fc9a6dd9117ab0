"""CSV files: cut by bytes, so that any piece can be read without the ones before it.

Piece k of n holds the lines that begin between the bytes size * k / n and size * (k + 1) / n. A file that fits the head
is cut by rows. A compressed file, or one in UTF-16, is unpacked once to learn its size, and then read forward. If
fields go over several lines, the file is read once to find where records begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from robustream.sources.arrays import cut
from robustream.sources.tables.base import Outcome, Pieces, TableFile
from robustream.sources.tables.conversion import Selection
from robustream.sources.tables.csv_bytes import Packing, lines_between, measure, open_text, packing_of
from robustream.sources.tables.csv_head import HEAD_BYTES, Dialect, Head, Wanted, first_lines, read_head, row_ends
from robustream.sources.tables.csv_parsing import outcome_of_lines
from robustream.sources.tables.csv_quotes import borders_at_records
from robustream.sources.tables.reasons import UnusableError

__all__ = ["CsvFile", "CsvPieces", "look_at_csv"]

# What an unknown compressed file is taken to unpack to, until it has been measured.
_USUAL_COMPRESSION = 4


@dataclass(frozen=True)
class CsvFile(TableFile):
    """A CSV file as its first lines describe it."""

    path: str
    size: int
    packing: Packing
    head: Head
    certain: bool = False

    @property
    def columns(self) -> Mapping[str, str]:  # type: ignore[override]
        """Give the kinds of the columns, as far as the head tells."""
        return self.head.columns

    @property
    def doubled(self) -> frozenset[str]:  # type: ignore[override]
        """Give the names that more than one column has."""
        return self.head.doubled

    @property
    def rows(self) -> int:
        if self.head.complete:
            return self.head.rows
        unpacked = self.size * (_USUAL_COMPRESSION if self.packing.compression else 1) - self.head.begin
        return max(1, round(unpacked / self.head.bytes_per_row))

    def pieces(self, rows_per_batch: int) -> Pieces:
        head = self.head
        if head.complete:
            return self._pieces_by_rows(rows_per_batch)
        size = self.size if self.packing.plain else measure(self.path, self.packing)
        rows_size = size - head.begin
        count = max(1, round(rows_size / (head.bytes_per_row * rows_per_batch)))
        borders = tuple(head.begin + rows_size * place // count for place in range(count + 1))
        if head.dialect.breaks_in_quotes:
            with open_text(self.path, self.packing) as file:
                borders = borders_at_records(file, borders)
        return CsvPieces(self.path, self.packing, head.dialect, borders)

    def _pieces_by_rows(self, rows_per_batch: int) -> CsvPieces:
        head = self.head
        slices = cut(head.rows, rows_per_batch) if head.rows else []
        if len(slices) < 2:
            ends = {head.rows: head.end}
        else:
            with open_text(self.path, self.packing) as file:
                data, complete = first_lines(file, HEAD_BYTES)
            quoted = head.dialect.breaks_in_quotes
            ends = {row + 1: head.begin + end for row, end in enumerate(row_ends(data[head.begin :], quoted))}
            if not complete or len(ends) != head.rows:
                raise UnusableError("the file has changed since it was first looked at")
        borders = (head.begin, *(ends[rows.stop] for rows in slices))
        rows = (0, *(rows.stop for rows in slices))
        return CsvPieces(self.path, self.packing, head.dialect, borders, rows)


def look_at_csv(path: str, size: int, compression: str | None, wanted: Wanted) -> CsvFile:
    """Read the first lines of a file."""
    packing = packing_of(path, compression)
    with open_text(path, packing) as file:
        return CsvFile(path, size, packing, read_head(file, wanted))


@dataclass(frozen=True)
class CsvPieces(Pieces):
    """Batches of a CSV file; where the whole file was looked at, its rows are numbered too."""

    path: str
    packing: Packing
    dialect: Dialect
    borders: tuple[int, ...]
    rows: tuple[int, ...] = ()

    @property
    def count(self) -> int:  # type: ignore[override]
        """Give the number of pieces."""
        return len(self.borders) - 1

    @property
    def format(self) -> str:
        return "CSV"

    def label(self, place: int) -> str:
        if self.rows:
            return f"{self.path}#{self.rows[place]}-{self.rows[place + 1] - 1}"
        return f"{self.path}#bytes {self.borders[place]}-{self.borders[place + 1] - 1}"

    def starts(self) -> Sequence[int]:
        return range(self.count if self.packing.plain else 1)

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        with open_text(self.path, self.packing) as file:
            for lines in lines_between(file, self.borders[start : stop + 1]):
                # An unusable piece leaves the next ones as they are: each begins at a line of its own.
                yield outcome_of_lines(lines, self.dialect, selection)
