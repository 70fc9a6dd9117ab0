"""The head of a CSV file: its separator, the names and kinds of its columns, the bytes that a row takes."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate

import pyarrow as pa
import pyarrow.csv as pa_csv

from robustream.sources.tables.described import Described, doubled_names
from robustream.sources.tables.kinds import columns_of, kind_of
from robustream.sources.tables.npy_files import numbered
from robustream.sources.tables.reasons import UnusableError

__all__ = ["HEAD_BYTES", "LONGEST_LINE", "Dialect", "Head", "describe_head", "first_lines", "line_ends", "read_head"]

HEAD_BYTES = 1 << 20
LONGEST_LINE = 1 << 26
_LINES_LOOKED_AT = 1000
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
    """Say what the first lines tell."""
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
    separator = separator or _sniff(data[begin:].decode("utf-8", "replace").splitlines()[:20])
    fields = next(csv.reader([first], delimiter=separator), [])
    names = tuple(sys.intern(field.strip()) for field in fields) if header else tuple(numbered(len(fields)))
    begin = end_of_first if header else begin
    columns = columns_of(names, _kinds(data[begin:], separator, len(names)))
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
    """Give about `size` bytes of whole lines, at least two lines if there are, and whether that is everything."""
    data = b""
    while len(data) < LONGEST_LINE:
        more = file.read(size)
        data += more
        if len(more) < size:
            return data, True
        if data.count(b"\n") >= 2:
            return data[: data.rfind(b"\n") + 1], False
    raise UnusableError(f"no line ends within the first {LONGEST_LINE >> 20} MB: this is not a CSV file")


def _sniff(lines: list[str]) -> str:
    """Choose the separator that cuts most lines alike, into most fields."""

    def quality(separator: str) -> tuple[int, int]:
        fields = Counter(len(row) for row in csv.reader(lines, delimiter=separator) if row)
        number, times = max(fields.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        return (times if number > 1 else 0), number

    try:
        return max(_SEPARATORS, key=quality)
    except csv.Error as error:
        raise UnusableError(f"this is not a CSV file: {error}") from error


def _kinds(data: bytes, separator: str, columns: int) -> list[str]:
    """Guess what columns hold from the first rows; a few stray words do not make a column of numbers text."""
    lines = b"\n".join(data.splitlines()[:_LINES_LOOKED_AT])
    places = numbered(columns)  # names may be doubled
    if not lines.strip():
        return ["null"] * columns
    table = _parse(lines, separator, places, {})
    kinds = [kind_of(column.type) for column in table.columns]
    texts = [place for place, kind in zip(places, kinds, strict=True) if kind == "text"]
    if texts:
        cells = _parse(lines, separator, places, dict.fromkeys(texts, pa.string()))
        mostly = {place: _mostly_numbers(cells.column(place).to_pylist()) for place in texts}
        kinds = ["float64" if mostly.get(place) else kind for place, kind in zip(places, kinds, strict=True)]
    return kinds


def _parse(lines: bytes, separator: str, places: list[str], types: dict[str, pa.DataType]) -> pa.Table:
    return pa_csv.read_csv(
        BytesIO(lines),
        read_options=pa_csv.ReadOptions(column_names=places, block_size=len(lines) + 1, use_threads=False),
        parse_options=pa_csv.ParseOptions(delimiter=separator, invalid_row_handler=lambda row: "skip"),
        convert_options=pa_csv.ConvertOptions(column_types=types, check_utf8=False),
    )


def _mostly_numbers(cells: list[str | None]) -> bool:
    present = [cell for cell in cells if cell]
    return 2 * sum(map(_is_number, present)) > len(present)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
