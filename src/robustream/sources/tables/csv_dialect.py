"""The dialect of a CSV file, guessed from its first lines: separator, decimal point, quotes, names, kinds of columns.

Text that says in no way how it is encoded is UTF-8, or else what Windows wrote in Western Europe for decades.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow.csv as pa_csv

from robustream.errors import InvalidInputError
from robustream.sources.tables.error_text import UnusableError
from robustream.sources.tables.lines import BYTE_ORDER_MARK, LineHead, row_ends
from robustream.sources.tables.numbers import are_answers, read_numbers
from robustream.sources.tables.schema import columns_of, numbered

__all__ = [
    "LACKING",
    "Dialect",
    "Head",
    "Wanted",
    "as_utf_8",
    "describe_head",
    "first_text",
    "usual_kind",
]

LACKING = frozenset(pa_csv.ConvertOptions().null_values)

_SNIFFED_BYTES, _SNIFFED_LINES = 1 << 16, 20
_KIND_LINES, _KIND_CELLS = 100, 4_000
_OTHERWISE = "cp1252"
_SEPARATORS = (",", ";", "\t", "|")

# What files begin with that are saved under the name of a CSV file and are none; the first that is found counts.
_NO_TABLE: tuple[tuple[bytes, str], ...] = (
    (rb"<(!doctype\s+html|html|head|body)\b", "this is a web page, not a table; was it saved in place of a download?"),
    (rb"<(\?xml|!--)", "this is XML, not a CSV file"),
    (rb"%PDF-", "this is a PDF document, not a CSV file"),
    (rb"PK\x03\x04|\xd0\xcf\x11\xe0", "this is a zip archive or a workbook of Excel, not a CSV file"),
    (rb"PAR1", "this is a Parquet file; let its name end in .parquet"),
    (rb"ARROW1", "this is an Arrow file; let its name end in .arrow"),
    (rb"\x1f\x8b|\x28\xb5\x2f\xfd|BZh", "this is compressed; let its name end in .csv.gz, .csv.zst or .csv.bz2"),
)

_INTEGER = re.compile(r"\s*[+-]?\d+\s*")
_WITH_POINT = re.compile(r"\s*[+-]?(\d*|\d{1,3}(,\d{3})+)\.\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
_WITH_COMMA = re.compile(r"\s*[+-]?(\d*|\d{1,3}(\.\d{3})+),\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
# A comma before three digits may as well part thousands.
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*")
_DATE = re.compile(r"\d{4}[-/]\d\d[-/]\d\d([ T].*)?|\d\d?([./-])\d\d?\2\d{2,4}( .*)?|\d\d:\d\d(:\d\d.*)?")


@dataclass(frozen=True)
class Wanted:
    """What a person says of CSV files; None is for the files to tell."""

    header: bool = True
    separator: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("separator", self.separator), ("decimal", self.decimal)):
            if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n'):
                raise InvalidInputError(f"{name} must be a single character, got {value!r}.", name)
        if self.decimal is not None and self.decimal == self.separator:
            raise InvalidInputError(
                f"separator and decimal must differ, got {self.decimal!r} for both.", "separator", "decimal"
            )


@dataclass(frozen=True)
class Dialect:
    """How the lines of a file are to be read."""

    separator: str
    names: tuple[str, ...]
    true_false: frozenset[str]  # columns that hold words for true and false
    decimal: str = "."
    decimal_known: bool = True  # whether the file shows what is before the decimals
    breaks_in_quotes: bool = False  # whether quoted fields may go over several lines


@dataclass(frozen=True)
class Head(LineHead):
    """What the first lines of a CSV file tell."""

    dialect: Dialect


def describe_head(data: bytes, complete: bool, wanted: Wanted) -> Head:
    """Say what the first lines tell; one that was cut off is left out."""
    data = data if complete else data[: data.rfind(b"\n") + 1]
    if not data.strip():
        raise UnusableError("the file is empty")
    for pattern, words in _NO_TABLE:
        if re.match(rb"\s*(?:" + pattern + rb")", data[:1024].removeprefix(BYTE_ORDER_MARK), re.IGNORECASE):
            raise UnusableError(words)
    if b"\0" in data:
        raise UnusableError("this is not text in UTF-8: it has bytes of zeros (UTF-16, or not a CSV file)")
    if b"\r" in data and b"\n" not in data:
        raise UnusableError("its lines end in carriage returns alone; convert them to line feeds")
    begin = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    while data[begin : begin + 1] in (b"\r", b"\n"):
        begin += 1
    separator = wanted.separator or _guess_separator(data[begin : begin + _SNIFFED_BYTES].decode("utf-8", "replace"))
    quoted = _has_breaks_in_quotes(data[begin:], separator)
    ends = [begin + end for end in row_ends(data[begin:], quoted)]
    if quoted and not complete:
        ends.pop()  # nobody knows where that record ends
    fields = _fields(as_utf_8(data[begin : ends[0]]).decode("utf-8"), separator)
    names = tuple(sys.intern(field.strip()) for field in fields) if wanted.header else tuple(numbered(len(fields)))
    begin, rows = (ends[0], len(ends) - 1) if wanted.header else (begin, len(ends))
    cells = _first_cells(data[begin:], separator, len(names))
    decimal = wanted.decimal or _guess_decimal(cells, separator)
    known = (
        wanted.decimal is not None or separator == "," or any(_WITH_POINT.fullmatch(c) for row in cells for c in row)
    )
    columns = columns_of(names, _guess_kinds(cells, len(names), decimal, known), certain=False)
    true_false = frozenset(name for name, kind in columns.kinds.items() if kind in ("boolean", "yes/no"))
    dialect = Dialect(separator, names, true_false, decimal, known, quoted)
    return Head(columns, begin, max(begin, ends[-1]), rows, complete, dialect)


def first_text(data: bytes, head: Head, name: str) -> tuple[str, int] | None:
    """Return the first cell of a column that is neither a number nor missing, and its line, counted from 1."""
    place, before = head.dialect.names.index(name), data[: head.begin].count(b"\n")
    text = as_utf_8(data[head.begin : head.end]).decode("utf-8")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=head.dialect.separator)
    try:
        for row in reader:
            cell = row[place].strip() if place < len(row) else ""
            if cell not in LACKING and read_numbers([cell], head.dialect.decimal) == [None]:
                return cell, before + reader.line_num
    except csv.Error:
        pass
    return None


def as_utf_8(lines: bytes) -> bytes:
    """Return lines in UTF-8; each line by itself, since files are glued together from several.

    >>> as_utf_8("größe\\n".encode("cp1252") + "größe".encode()).decode()
    'größe\\ngröße'
    """
    try:
        lines.decode("utf-8")
        return lines
    except UnicodeDecodeError:
        if b"\n" not in lines:
            return lines.decode(_OTHERWISE, "replace").encode()
        return b"\n".join(map(as_utf_8, lines.split(b"\n")))


def _has_breaks_in_quotes(data: bytes, separator: str) -> bool:
    """Tell whether some record of the first lines of a file, as long as its first one, goes over several lines.

    >>> _has_breaks_in_quotes(b'a,b\\n1,"x\\ny"\\n2,z\\n', ","), _has_breaks_in_quotes(b'a,b\\n1,5"\\n2,7"\\n', ",")
    (True, False)
    """
    # A stray quote leaves an odd number of them in its line too: then only the fields can tell.
    if not any(line.count(b'"') % 2 for line in data.split(b"\n")):
        return False
    reader = csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline=""), delimiter=separator)
    fields, line = 0, 0
    try:
        for record in reader:
            fields = fields or len(record)
            if reader.line_num > line + 1 and len(record) == fields and fields > 1:
                return True
            line = reader.line_num
    except csv.Error:
        # Reading will say what is wrong with the line, and where.
        pass
    return False


def _fields(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(line, newline=""), delimiter=separator), [])
    except csv.Error as error:
        raise UnusableError(f"this is not a CSV file: {error}") from error


def _guess_separator(text: str) -> str:
    """Choose the separator that cuts most lines as it cuts the first one, into most fields.

    >>> _guess_separator("a;b\\n1,5;2\\n"), _guess_separator("a\\n1\\n")
    (';', ',')
    """
    lines = text.splitlines()
    lines = lines[:_SNIFFED_LINES] if len(lines) < 3 else lines[: min(_SNIFFED_LINES, len(lines) - 1)]

    def quality(separator: str) -> tuple[int, int]:
        fields = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        number, times = max(Counter(fields).items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        return (times if number > 1 and number == fields[0] else 0), number

    return max(_SEPARATORS, key=quality)


def _guess_decimal(rows: Sequence[Iterable[str]], separator: str) -> str:
    """Choose between the point and the comma: files with semicolons mostly come from where decimals follow a comma.

    >>> _guess_decimal([["1,5", "2"]], ";"), _guess_decimal([["1.5", "2"]], ";"), _guess_decimal([["1,500"]], "|")
    (',', '.', '.')
    """
    if separator == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    points = sum(_WITH_POINT.fullmatch(cell) is not None for cell in cells)
    commas = sum(_WITH_COMMA.fullmatch(cell) is not None for cell in cells)
    if separator == ";":
        return "," if commas >= points else "."
    commas -= sum(_THOUSANDS.fullmatch(cell) is not None for cell in cells)
    return "," if commas > points else "."


def _first_cells(data: bytes, separator: str, columns: int) -> list[list[str]]:
    """Return the cells of the first rows, those that have a cell for each column."""
    lines = max(2, min(_KIND_LINES, _KIND_CELLS // max(1, columns)))
    text = b"\n".join(data.split(b"\n", lines)[:lines]).decode("utf-8", "replace")
    rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            if len(row) == columns:
                rows.append(row)
    except csv.Error:
        # Reading will say what is wrong with the line, and where.
        pass
    return rows


def _guess_kinds(rows: Sequence[Sequence[str]], columns: int, decimal: str = ".", known: bool = True) -> list[str]:
    """Return the kind of each column; most of its cells decide, so that a stray word does not make numbers text.

    >>> cells = [["1", "2.5", "x", "2024-01-01", "", "true", "5 mi"], ["oops", "3", "y", "", "", "false", "7 mi"]]
    >>> _guess_kinds([*cells, ["4", "4", "z", "2024-01-03", "", "true", "9 mi"]], 7)
    ['integer', 'float64', 'text', 'date', 'null', 'boolean', 'written']
    """
    counts: list[Counter[str]] = [Counter() for _ in range(columns)]
    for row in rows:
        for count, cell in zip(counts, row, strict=True):
            count[_kind_of_cell(cell, decimal)] += 1
    kinds = [usual_kind(count) for count in counts]
    for place in [place for place, kind in enumerate(kinds) if kind == "text"]:
        cells = [cell for cell in (row[place].strip() for row in rows) if cell not in LACKING]
        if are_answers(cells):
            kinds[place] = "yes/no"
        elif 2 * sum(number is not None for number in read_numbers(cells, decimal, known=known)) > len(cells):
            kinds[place] = "written"
    return kinds


def _kind_of_cell(cell: str, decimal: str) -> str:
    if cell.strip() in LACKING:
        return "null"
    if _INTEGER.fullmatch(cell):
        return "integer"
    try:
        # The other sign of the two is no number here, as in reading.
        float(cell if decimal == "." else cell.translate({ord(decimal): ".", ord("."): "?"}))
    except ValueError:
        if cell.lower() in ("true", "false"):
            return "boolean"
        return "date" if _DATE.fullmatch(cell) else "text"
    return "float64"


def usual_kind(count: Counter[str]) -> str:
    """Return the kind of a column from the kinds of its cells; numbers of both sorts together outvote the rest."""
    del count["null"]
    if not count:
        return "null"
    if 2 * (count["integer"] + count["float64"]) > count.total():
        return "float64" if count["float64"] else "integer"
    return max(("text", "date", "boolean", "other"), key=lambda kind: count[kind])
