"""CSV files: cut by bytes, so that any piece can be read without the ones before it.

Piece k of n holds the lines that begin between the bytes size * k / n and size * (k + 1) / n. A file that fits the head
is cut by rows. A compressed file, or one in UTF-16, is unpacked once to learn its size, and then read forward. If
fields go over several lines, the file is read once to find where records begin.

Lines in which something is wrong are read a second time, cell by cell: numbers as people write them are numbers, and
what holds none is taken for missing, and counted. That takes several times as long, and is done only for those pieces
of a file that need it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from robustream.batch import Illegible
from robustream.sources.arrays import cut
from robustream.sources.tables.csv_dialect import (
    HEAD_BYTES,
    LACKING,
    LONGEST_LINE,
    Dialect,
    Head,
    Wanted,
    as_utf_8,
    describe_head,
    first_lines,
    first_text,
    line_breaks,
    row_ends,
)
from robustream.sources.tables.error_text import UnusableError, explain, some_names
from robustream.sources.tables.numbers import FALSE_WORDS, TRUE_WORDS, read_numbers
from robustream.sources.tables.pieces import CHANGED, Outcome, Pieces, TableFile
from robustream.sources.tables.rows import rows_of_table
from robustream.sources.tables.schema import Selection

__all__ = ["CsvPieces", "Packing", "encoding_of", "lines_between", "look_at_csv", "outcome_of_lines"]

# What an unknown compressed file is taken to unpack to, until it has been measured.
_USUAL_COMPRESSION = 4

_STEP = 1 << 20
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_MISSING = pa.array([*{value.strip() for value in LACKING}, ""])
_TRUE = ["1", *(spell(word) for word in TRUE_WORDS for spell in (str, str.title, str.upper))]
_FALSE = ["0", *(spell(word) for word in FALSE_WORDS for spell in (str, str.title, str.upper))]
_SHOWN = 40


class Packing(NamedTuple):
    """What must be undone before a file is text in UTF-8; nothing in a plain file."""

    compression: str | None = None
    encoding: str | None = None

    @property
    def plain(self) -> bool:
        """Whether there is nothing to undo."""
        return self == Packing()


def encoding_of(first: bytes) -> str | None:
    """Name the encoding that the first bytes of a text tell; None for UTF-8."""
    return "utf-16" if first[:2] in _UTF_16 else None


def look_at_csv(path: str, size: int, compression: str | None, wanted: Wanted) -> TableFile:
    """Read the first lines of a file."""
    with _open(path, Packing(compression)) as file:
        packing = Packing(compression, encoding_of(file.read(2)))
    with _open(path, packing) as file:
        head = describe_head(*first_lines(file, HEAD_BYTES), wanted)
    rows = head.rows
    if not rows and head.complete:
        raise UnusableError("it has one line, which should name the columns, and no rows")
    if not head.complete:
        unpacked = size * (_USUAL_COMPRESSION if packing.compression else 1) - head.begin
        rows = max(1, round(unpacked / head.bytes_per_row))
    example = partial(_example, path, packing, head)
    return TableFile(path, size, head.columns, rows, partial(_cut, path, size, packing, head), example)


def _example(path: str, packing: Packing, head: Head, name: str) -> str | None:
    with _open(path, packing) as file:
        found = first_text(first_lines(file, HEAD_BYTES)[0], head, name)
    return None if found is None else f"{found[0][:_SHOWN]!r} in line {found[1]} of {path}"


def _cut(path: str, size: int, packing: Packing, head: Head, rows_per_batch: int) -> CsvPieces:
    if head.complete:
        return _cut_by_rows(path, packing, head, rows_per_batch)
    if not packing.plain:
        with _open(path, packing) as file:
            size = sum(map(len, iter(partial(file.read, _STEP), b"")))
    rows_size = size - head.begin
    count = max(1, round(rows_size / (head.bytes_per_row * rows_per_batch)))
    borders = tuple(head.begin + rows_size * place // count for place in range(count + 1))
    if head.dialect.breaks_in_quotes:
        with _open(path, packing) as file:
            borders = _borders_at_records(file, borders)
    return CsvPieces(path, packing, head.dialect, borders)


def _cut_by_rows(path: str, packing: Packing, head: Head, rows_per_batch: int) -> CsvPieces:
    slices = cut(head.rows, rows_per_batch) if head.rows else []
    ends = {head.rows: head.end}
    if len(slices) > 1:
        with _open(path, packing) as file:
            data, complete = first_lines(file, HEAD_BYTES)
        quoted = head.dialect.breaks_in_quotes
        ends = {row + 1: head.begin + end for row, end in enumerate(row_ends(data[head.begin :], quoted))}
        if not complete or len(ends) != head.rows:
            raise UnusableError(CHANGED)
    borders = (head.begin, *(ends[rows.stop] for rows in slices))
    return CsvPieces(path, packing, head.dialect, borders, (0, *(rows.stop for rows in slices)))


def _borders_at_records(file: pa.NativeFile, borders: Sequence[int]) -> tuple[int, ...]:
    """Return borders moved to where the next record begins, the first and the last as they are; read to the end."""
    wanted, moved = list(borders[1:-1]), [borders[0]]
    position = quotes = 0
    while wanted and (chunk := file.read(_STEP)):
        ends, quotes = line_breaks(chunk, quotes)
        starts = ends + position + 1
        while wanted and len(starts) and wanted[0] <= starts[-1]:
            moved.append(int(starts[np.searchsorted(starts, wanted.pop(0))]))
        position += len(chunk)
    return (*moved, *([borders[-1]] * len(wanted)), borders[-1])


@dataclass(frozen=True)
class CsvPieces(Pieces):
    """Batches of a CSV file; where the whole file was looked at, its rows are numbered too."""

    path: str
    packing: Packing
    dialect: Dialect
    borders: tuple[int, ...]
    rows: tuple[int, ...] = ()

    format = "CSV"

    @property
    def count(self) -> int:  # type: ignore[override]
        """The number of pieces."""
        return len(self.borders) - 1

    def label(self, place: int) -> str:
        if self.rows:
            return f"{self.path}#{self.rows[place]}-{self.rows[place + 1] - 1}"
        return f"{self.path}#bytes {self.borders[place]}-{self.borders[place + 1] - 1}"

    def starts(self) -> Sequence[int]:
        return range(self.count if self.packing.plain else 1)

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        with _open(self.path, self.packing) as file:
            for lines in lines_between(file, self.borders[start : stop + 1]):
                # An unusable piece leaves the next ones as they are: each begins at a line of its own.
                yield outcome_of_lines(lines, self.dialect, selection)


def _open(path: str, packing: Packing) -> pa.NativeFile:
    """Open a file as text in UTF-8."""
    file = pa.input_stream(path, compression=packing.compression) if packing.compression else pa.OSFile(path)
    return pa.transcoding_input_stream(file, packing.encoding, "utf-8") if packing.encoding else file


def lines_between(file: pa.NativeFile, borders: Sequence[int]) -> Iterator[bytes]:
    """Yield, for each two neighbouring borders, the lines that begin at or after the first and before the second.

    Parameters
    ----------
    file : opened at its beginning; one that can seek is not read before the first border.
    borders : bytes in rising order. A line begins after a line break, and at byte 0.
    """
    # One byte more than asked tells whether a line begins right at the border.
    position = max(0, borders[0] - 1)
    text = io.BufferedReader(file, _STEP)
    if file.seekable():
        text.seek(position)
    else:
        left = position
        while left > 0 and (skipped := text.read(min(_STEP, left))):
            left -= len(skipped)
    if borders[0] > 0:
        position += len(_rest_of_line(text))
    for stop in borders[1:]:
        lines = text.read(stop - position) if position < stop else b""
        if lines and not lines.endswith(b"\n"):
            lines += _rest_of_line(text)
        position += len(lines)
        yield lines


def _rest_of_line(text: io.BufferedReader) -> bytes:
    line = text.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise UnusableError(f"a line is longer than {LONGEST_LINE >> 20} MB: this is not a CSV file")
    return line


def outcome_of_lines(lines: bytes, dialect: Dialect, selection: Selection) -> Outcome:
    """Return the rows of some lines, or why there are none."""
    if absent := [name for name in selection.names if name not in dialect.names]:
        return UnusableError(f"it has no column {some_names(absent)}")
    try:
        try:
            return rows_of_table(_parse(lines, dialect, selection), selection)
        except pa.ArrowInvalid:
            table, illegible = _repair(lines, dialect, selection)
            return rows_of_table(table, selection)._replace(illegible=illegible)
    except Exception as error:
        return UnusableError(explain(error, "CSV"))


def _parse(lines: bytes, dialect: Dialect, selection: Selection) -> pa.Table:
    """Return the selected columns of lines in which nothing is wrong."""
    types = {name: pa.bool_() if name in dialect.true_false else pa.float64() for name in selection.names}
    types |= dict.fromkeys(selection.texts, pa.string())
    if not lines.strip():
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    # A block must hold a line. Two blocks for two cores; smaller ones gain nothing here.
    options = pa_csv.ReadOptions(column_names=list(dialect.names), block_size=max(1 << 20, len(lines) // 2))
    nulls, words = bool(selection.text_targets), {"true_values": _TRUE, "false_values": _FALSE}
    return _read(lines, dialect, options, types, nulls, decimal_point=dialect.decimal, **words)


def _repair(lines: bytes, dialect: Dialect, selection: Selection) -> tuple[pa.Table, tuple[Illegible, ...]]:
    """Return the selected columns of some lines, with nulls for what cannot be read, and what that is.

    A line with too few or too many fields is a row of nulls, so that all others keep their places.
    """
    misfits: dict[int, Any] = {}

    def set_aside(row: Any) -> str:
        misfits[row.number - 1] = row
        return "skip"

    # A byte that is no text must cost only its own cell.
    readable = as_utf_8(lines)
    # Rows are numbered only where a single thread reads them.
    options = pa_csv.ReadOptions(
        column_names=list(dialect.names), block_size=max(1 << 20, len(readable) + 1), use_threads=False
    )
    types = dict.fromkeys(selection.names, pa.string())
    text = _read(readable, dialect, options, types, bool(selection.text_targets), set_aside)
    good = iter(range(text.num_rows))
    lines_of_rows = range(text.num_rows + len(misfits))
    places = pa.array([None if line in misfits else next(good) for line in lines_of_rows], pa.int64())
    illegible = [_describe_lines(misfits)] if misfits else []
    columns: dict[str, pa.Array] = {}
    for name in selection.names:
        columns[name] = text.column(name).combine_chunks().take(places)
        if name not in selection.texts:
            columns[name], cells = _numbers(columns[name], name, dialect)
            illegible += cells
    return pa.table(columns), tuple(illegible)


def _read(
    lines: bytes,
    dialect: Dialect,
    options: pa_csv.ReadOptions,
    types: dict[str, Any],
    nulls_in_text: bool,
    handler: Any = None,
    **more: Any,
) -> pa.Table:
    return pa_csv.read_csv(
        pa.BufferReader(lines),
        read_options=options,
        parse_options=pa_csv.ParseOptions(
            delimiter=dialect.separator, newlines_in_values=dialect.breaks_in_quotes, invalid_row_handler=handler
        ),
        convert_options=pa_csv.ConvertOptions(
            column_types=types, include_columns=list(types), strings_can_be_null=nulls_in_text, **more
        ),
    )


def _describe_lines(misfits: dict[int, Any]) -> Illegible:
    line, row = next(iter(misfits.items()))
    begins = f"; it begins {row.text[:_SHOWN]!r}" if row.text else ""
    reason = f"a line has {row.actual_columns} fields where {row.expected_columns} are needed{begins}"
    return Illegible(None, len(misfits), line, reason)


def _numbers(column: pa.Array, name: str, dialect: Dialect) -> tuple[pa.Array, list[Illegible]]:
    cells = pc.utf8_trim_whitespace(column)
    cells = pc.if_else(pc.is_in(cells, value_set=_MISSING), None, cells)
    different = cells.dictionary_encode()
    values = different.dictionary.to_pylist()
    numbers = read_numbers(values, dialect.decimal, known=dialect.decimal_known)
    if name in dialect.true_false:
        words = dict.fromkeys(TRUE_WORDS, 1.0) | dict.fromkeys(FALSE_WORDS, 0.0)
        numbers = [words.get(cell.lower(), number) for cell, number in zip(values, numbers, strict=True)]
    found = pa.array(numbers, pa.float64()).take(different.indices)
    count = found.null_count - cells.null_count
    if not count:
        return found, []
    first = pc.index(pc.and_(found.is_null(), cells.is_valid()), True).as_py()
    reason = f"column {name!r} holds {cells[first].as_py()[:_SHOWN]!r} where a number is needed"
    return found, [Illegible(name, count, first, reason)]
