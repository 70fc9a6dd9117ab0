"""The head of a CSV file: its separator and decimal point, the names and kinds of its columns, the bytes of a row."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa

from robustream.errors import InvalidInputError
from robustream.sources.tables.csv_encodings import as_utf_8
from robustream.sources.tables.csv_guesses import guess_decimal, guess_separator
from robustream.sources.tables.csv_kinds import first_cells, guess_kinds
from robustream.sources.tables.csv_quotes import has_breaks_in_quotes, record_ends
from robustream.sources.tables.described import Described, doubled_names
from robustream.sources.tables.kinds import columns_of
from robustream.sources.tables.npy_files import numbered
from robustream.sources.tables.reasons import UnusableError

__all__ = [
    "HEAD_BYTES",
    "LONGEST_LINE",
    "Dialect",
    "Head",
    "Wanted",
    "describe_head",
    "first_lines",
    "read_head",
    "row_ends",
]

HEAD_BYTES = 1 << 20
LONGEST_LINE = 1 << 24
_SNIFFED = 1 << 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Wanted:
    """What a person says of CSV files; None is for the files to tell."""

    header: bool = True
    separator: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("separator", self.separator), ("decimal", self.decimal)):
            if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n'):
                raise InvalidInputError(f"{name} must be a single character; {value!r} came.")
        if self.decimal is not None and self.decimal == self.separator:
            raise InvalidInputError(f"separator and decimal must differ; {self.decimal!r} came for both.")


@dataclass(frozen=True)
class Dialect:
    """How the lines of a file are to be read."""

    separator: str
    names: tuple[str, ...]
    true_false: frozenset[str]  # columns that hold words for true and false
    decimal: str = "."
    breaks_in_quotes: bool = False  # whether quoted fields may go over several lines


@dataclass(frozen=True)
class Head(Described):
    """What the first lines of a file tell.

    The rows begin at the byte `begin`; `rows` of them were seen, up to the byte `end`, and `complete` says whether
    that is all there is.
    """

    dialect: Dialect
    columns: Mapping[str, str]
    doubled: frozenset[str]
    begin: int
    end: int
    rows: int
    complete: bool
    certain: bool = False

    @property
    def bytes_per_row(self) -> float:
        """Give the mean length of a line."""
        return max(1.0, (self.end - self.begin) / max(1, self.rows))


def read_head(file: pa.NativeFile, wanted: Wanted) -> Head:
    """Look at the first lines of an open file."""
    data, complete = first_lines(file, HEAD_BYTES)
    return describe_head(data, complete, wanted)


def describe_head(data: bytes, complete: bool, wanted: Wanted) -> Head:
    """Say what the first lines tell; one that was cut off is left out."""
    data = data if complete else data[: data.rfind(b"\n") + 1]
    if not data.strip():
        raise UnusableError("the file is empty")
    if b"\0" in data:
        raise UnusableError("this is not text in UTF-8: it has bytes of zeros (UTF-16, or not a CSV file)")
    if b"\r" in data and b"\n" not in data:
        raise UnusableError("its lines end in carriage returns alone; convert them to line feeds")
    begin = len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0
    while data[begin : begin + 1] in (b"\r", b"\n"):
        begin += 1
    separator = wanted.separator or guess_separator(data[begin : begin + _SNIFFED].decode("utf-8", "replace"))
    quoted = has_breaks_in_quotes(data[begin:], separator)
    ends = [begin + end for end in row_ends(data[begin:], quoted)]
    if quoted and not complete:
        ends.pop()  # nobody knows where that record ends
    fields = _fields(as_utf_8(data[begin : ends[0]]).decode("utf-8"), separator)
    names = tuple(sys.intern(field.strip()) for field in fields) if wanted.header else tuple(numbered(len(fields)))
    begin, rows = (ends[0], len(ends) - 1) if wanted.header else (begin, len(ends))
    cells = first_cells(data[begin:], separator, len(names))
    decimal = wanted.decimal or guess_decimal(cells, separator)
    columns = columns_of(names, guess_kinds(cells, len(names), decimal))
    true_false = frozenset(name for name, kind in columns.items() if kind == "boolean")
    dialect = Dialect(separator, names, true_false, decimal, quoted)
    return Head(dialect, columns, doubled_names(names), begin, max(begin, ends[-1]), rows, complete)


def row_ends(data: bytes, breaks_in_quotes: bool) -> list[int]:
    """Give the place after each row that is not empty.

    >>> row_ends(b"1,2\\n\\n3,4", False)
    [4, 8]
    """
    if breaks_in_quotes:
        return record_ends(data)
    lines = data.split(b"\n")
    ends = accumulate(len(line) + 1 for line in lines)
    return [min(end, len(data)) for line, end in zip(lines, ends, strict=True) if line.strip(b"\r")]


def _fields(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(line, newline=""), delimiter=separator), [])
    except csv.Error as error:
        raise UnusableError(f"this is not a CSV file: {error}") from error


def first_lines(file: pa.NativeFile, size: int) -> tuple[bytes, bool]:
    """Give `size` bytes, more if two lines need more, and whether that is everything."""
    chunks: list[bytes] = []
    line_breaks = 0
    while len(chunks) * size < LONGEST_LINE:
        chunks.append(file.read(size))
        line_breaks += chunks[-1].count(b"\n")
        if len(chunks[-1]) < size:
            return b"".join(chunks), True
        if line_breaks >= 2:
            return b"".join(chunks), False
    raise UnusableError(f"no line ends within the first {LONGEST_LINE >> 20} MB: this is not a CSV file")
