"""The head of a CSV file: its separator, the names and kinds of its columns, the bytes that a row takes."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa

from robustream.sources.tables.csv_kinds import guess_kinds
from robustream.sources.tables.described import Described, doubled_names
from robustream.sources.tables.kinds import columns_of
from robustream.sources.tables.npy_files import numbered
from robustream.sources.tables.reasons import UnusableError

__all__ = ["HEAD_BYTES", "LONGEST_LINE", "Dialect", "Head", "describe_head", "first_lines", "line_ends", "read_head"]

HEAD_BYTES = 1 << 20
LONGEST_LINE = 1 << 24
_SNIFFED = 1 << 16
_SEPARATORS = (",", ";", "\t")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Dialect:
    """How the lines of a file are to be read."""

    separator: str
    names: tuple[str, ...]
    true_false: frozenset[str]  # columns that hold words for true and false


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


def read_head(file: pa.NativeFile, *, header: bool, separator: str | None) -> Head:
    """Look at the first lines of an open file."""
    data, complete = first_lines(file, HEAD_BYTES)
    return describe_head(data, complete, header=header, separator=separator)


def describe_head(data: bytes, complete: bool, *, header: bool, separator: str | None) -> Head:
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
    end_of_first = data.find(b"\n", begin) + 1 or len(data)
    first = data[begin:end_of_first].decode("utf-8")
    separator = separator or _sniff(data[begin : begin + _SNIFFED].decode("utf-8", "replace"))
    try:
        fields = next(csv.reader([first], delimiter=separator), [])
    except csv.Error as error:
        raise UnusableError(f"this is not a CSV file: {error}") from error
    names = tuple(sys.intern(field.strip()) for field in fields) if header else tuple(numbered(len(fields)))
    begin = end_of_first if header else begin
    columns = columns_of(names, guess_kinds(data[begin:], separator, len(names)))
    true_false = frozenset(name for name, kind in columns.items() if kind == "boolean")
    dialect = Dialect(separator, names, true_false)
    return Head(dialect, columns, doubled_names(names), begin, len(data), len(line_ends(data[begin:])), complete)


def line_ends(data: bytes) -> list[int]:
    """Give the place after each line that is not empty.

    >>> line_ends(b"1,2\\n\\n3,4")
    [4, 8]
    """
    lines = data.split(b"\n")
    ends = accumulate(len(line) + 1 for line in lines)
    return [min(end, len(data)) for line, end in zip(lines, ends, strict=True) if line.strip(b"\r")]


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


def _sniff(text: str) -> str:
    """Choose the separator that cuts most lines alike, into most fields."""
    lines = text.splitlines()
    lines = lines[:20] if len(lines) < 3 else lines[: min(20, len(lines) - 1)]

    def quality(separator: str) -> tuple[int, int]:
        fields = Counter(len(row) for row in csv.reader(lines, delimiter=separator) if row)
        number, times = max(fields.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        return (times if number > 1 else 0), number

    return max(_SEPARATORS, key=quality)
