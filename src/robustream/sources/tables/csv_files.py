"""CSV files: cut by bytes, so that any piece can be read without the ones before it.

Piece k of n holds the lines that begin between the bytes size * k / n and size * (k + 1) / n. A file that fits the head
is cut by rows. A compressed file is unpacked once to learn its size, and then read forward. Line breaks inside quoted
fields are not supported: a piece that begins in such a field cannot be read, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv as pa_csv

from robustream.sources.arrays import cut
from robustream.sources.tables.base import Outcome, Pieces, TableFile
from robustream.sources.tables.conversion import Selection, rows_of_table
from robustream.sources.tables.csv_bytes import lines_between, measure, open_text
from robustream.sources.tables.csv_head import HEAD_BYTES, Dialect, Head, first_lines, line_ends, read_head
from robustream.sources.tables.reasons import UnusableError, explain, some_names

__all__ = ["CsvFile", "CsvPieces", "look_at_csv", "outcome_of_lines"]

# What an unknown compressed file is taken to unpack to, until it has been measured.
_USUAL_COMPRESSION = 4


@dataclass(frozen=True)
class CsvFile(TableFile):
    """A CSV file as its first lines describe it."""

    path: str
    size: int
    compression: str | None
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
        unpacked = self.size * (_USUAL_COMPRESSION if self.compression else 1) - self.head.begin
        return max(1, round(unpacked / self.head.bytes_per_row))

    def pieces(self, rows_per_batch: int) -> Pieces:
        head = self.head
        if head.complete:
            return self._pieces_by_rows(rows_per_batch)
        size = measure(self.path, self.compression) if self.compression else self.size
        rows_size = size - head.begin
        count = max(1, round(rows_size / (head.bytes_per_row * rows_per_batch)))
        borders = tuple(head.begin + rows_size * place // count for place in range(count + 1))
        return CsvPieces(self.path, self.compression, head.dialect, borders)

    def _pieces_by_rows(self, rows_per_batch: int) -> CsvPieces:
        head = self.head
        slices = cut(head.rows, rows_per_batch) if head.rows else []
        if len(slices) < 2:
            ends = {head.rows: head.end}
        else:
            with open_text(self.path, self.compression) as file:
                data, complete = first_lines(file, HEAD_BYTES)
            ends = {row + 1: head.begin + end for row, end in enumerate(line_ends(data[head.begin :]))}
            if not complete or len(ends) != head.rows:
                raise UnusableError("the file has changed since it was first looked at")
        borders = (head.begin, *(ends[rows.stop] for rows in slices))
        rows = (0, *(rows.stop for rows in slices))
        return CsvPieces(self.path, self.compression, head.dialect, borders, rows)


def look_at_csv(path: str, size: int, compression: str | None, *, header: bool, separator: str | None) -> CsvFile:
    """Read the first lines of a file."""
    with open_text(path, compression) as file:
        return CsvFile(path, size, compression, read_head(file, header=header, separator=separator))


@dataclass(frozen=True)
class CsvPieces(Pieces):
    """Batches of a CSV file; where the whole file was looked at, its rows are numbered too."""

    path: str
    compression: str | None
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
        return range(1 if self.compression else self.count)

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        with open_text(self.path, self.compression) as file:
            for lines in lines_between(file, self.borders[start : stop + 1]):
                # An unusable piece leaves the next ones as they are: each begins at a line of its own.
                yield outcome_of_lines(lines, self.dialect, selection)


def outcome_of_lines(lines: bytes, dialect: Dialect, selection: Selection) -> Outcome:
    """Give the rows of some lines, or why there are none."""
    try:
        return rows_of_table(_parse(lines, dialect, selection), selection)
    except Exception as error:
        return UnusableError(_explain(error, dialect))


def _parse(lines: bytes, dialect: Dialect, selection: Selection) -> pa.Table:
    """Give the selected columns of some lines."""
    absent = [name for name in selection.names if name not in dialect.names]
    if absent:
        raise UnusableError(f"it has no column {some_names(absent)}")
    types = {name: pa.bool_() if name in dialect.true_false else pa.float64() for name in selection.names}
    types |= dict.fromkeys(selection.text_targets, pa.string())
    if not lines.strip():
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    return pa_csv.read_csv(
        pa.BufferReader(lines),
        # A block must hold a line. Two blocks for two cores; smaller ones gain nothing here.
        read_options=pa_csv.ReadOptions(column_names=list(dialect.names), block_size=max(1 << 20, len(lines) // 2)),
        parse_options=pa_csv.ParseOptions(delimiter=dialect.separator),
        convert_options=pa_csv.ConvertOptions(
            column_types=types, include_columns=list(selection.names), strings_can_be_null=True
        ),
    )


def _explain(error: Exception, dialect: Dialect) -> str:
    text = str(error)
    if found := re.search(r"In CSV column #(\d+):.*invalid value '(.*)'", text, re.DOTALL):
        name, value = dialect.names[int(found[1])], found[2]
        return f"column {name!r} holds {value[:40]!r} where a number is needed"
    if found := re.search(r"Expected (\d+) columns, got (\d+)(.*)", text, re.DOTALL):
        line = f"; it begins {found[3].lstrip(': ')[:40]!r}" if found[3].strip(": ") else ""
        return f"a line has {found[2]} fields where {found[1]} are needed (line breaks in quotes are not read){line}"
    return explain(error, "CSV")
