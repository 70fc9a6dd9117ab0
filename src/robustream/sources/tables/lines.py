"""Files of lines (CSV, JSON lines): cut by bytes, so that any piece can be read without the ones before it.

Piece k of n holds the lines that begin between the bytes size * k / n and size * (k + 1) / n. A file that fits the head
is cut by rows. A file that is compressed, in UTF-16, in a zip archive or a workbook is unpacked once to learn its size,
and then read forward. If quoted fields go over several lines, the file is read once to find where records begin:
outside of quotes the number of quotes before a place is even, since a quote within quotes is written twice.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustream.sources.arrays import cut
from robustream.sources.tables.error_text import BombError, Limits, UnusableError, in_bytes
from robustream.sources.tables.excel import text_of_workbook
from robustream.sources.tables.paths import WORKBOOK, open_archive, open_file
from robustream.sources.tables.pieces import CHANGED, Outcome, Pieces, TableFile, fingerprint_of_file
from robustream.sources.tables.schema import Columns, Selection

__all__ = [
    "BYTE_ORDER_MARK",
    "HEAD_BYTES",
    "LineHead",
    "LinePieces",
    "Packing",
    "encoding_of",
    "first_lines",
    "lines_between",
    "open_text",
    "packing_of",
    "row_ends",
    "table_of_lines",
]

HEAD_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# What an unknown compressed file is taken to unpack to, until it has been measured.
_USUAL_COMPRESSION = 4

_STEP = 1 << 20
# Numbers in text shrink to a third or a tenth, lines that are nearly all alike to a hundredth. What unpacks to more
# than so many times its size, beyond so many bytes, was made to fill the machine that unpacks it.
_MOST_UNPACKED = 200
_LEAST_BOMB = 1 << 26
_USUAL_LIMITS = Limits()
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_QUOTE, _LINE_BREAK = 34, 10


class Packing(NamedTuple):
    """What must be undone before a file is text in UTF-8; nothing in a plain file."""

    compression: str | None = None
    encoding: str | None = None
    archive: str | None = None  # the zip archive that the file is in

    @property
    def plain(self) -> bool:
        """Whether there is nothing to undo."""
        return self == Packing()


@dataclass(frozen=True)
class LineHead:
    """What the first lines of a file tell.

    The rows begin at the byte `begin`; `rows` of them were seen, up to the byte `end`, and `complete` says whether
    that is all there is.
    """

    columns: Columns
    begin: int
    end: int
    rows: int
    complete: bool

    @property
    def bytes_per_row(self) -> float:
        """The mean length of a line."""
        return max(1.0, (self.end - self.begin) / max(1, self.rows))


# Makes rows of some lines, or says why there are none.
Parser = Callable[[bytes, Selection], Outcome]


def encoding_of(first: bytes) -> str | None:
    """Name the encoding that the first bytes of a text tell; None for UTF-8."""
    return "utf-16" if first[:2] in _UTF_16 else None


def packing_of(path: str, compression: str | None, archive: str | None) -> Packing:
    """Return how a file is packed."""
    with open_text(path, Packing(compression, None, archive)) as file:
        return Packing(compression, encoding_of(file.read(2)), archive)


def open_text(path: str, packing: Packing) -> pa.NativeFile:
    """Open a file as text in UTF-8."""
    if packing.archive is not None:
        # The member keeps the archive open until it is closed itself.
        with open_archive(packing.archive) as archive:
            file = pa.PythonFile(archive.open(path[len(packing.archive) + 1 :]), mode="r")
    elif packing.compression == WORKBOOK:
        return pa.BufferReader(text_of_workbook(path))
    else:
        file = open_file(path)
    if packing.compression:
        file = pa.CompressedInputStream(file, packing.compression)
    return pa.transcoding_input_stream(file, packing.encoding, "utf-8") if packing.encoding else file


def first_lines(file: pa.NativeFile | BinaryIO, size: int, limits: Limits = _USUAL_LIMITS) -> tuple[bytes, bool]:
    """Return `size` bytes, more if two lines need more, and whether that is everything."""
    chunks: list[bytes] = []
    breaks = 0
    while len(chunks) * size < max(size, limits.max_line_bytes):
        chunks.append(file.read(size))
        breaks += chunks[-1].count(b"\n")
        if len(chunks[-1]) < size:
            return b"".join(chunks), True
        if breaks >= 2:
            return b"".join(chunks), False
    raise BombError(str(limits.too_long("no line ends within the first")))


def row_ends(data: bytes, breaks_in_quotes: bool = False) -> list[int]:
    """Return the place after each row that is not empty; what is left behind the last line break is one, too.

    >>> row_ends(b"1,2\\n\\n3,4"), row_ends(b'1,"a\\nb"\\n\\n2,c', True)
    ([4, 8], [8, 12])
    """
    if breaks_in_quotes:
        ends = [*(_line_breaks(data, 0)[0] + 1).tolist(), len(data)]
        return [end for start, end in pairwise([0, *ends]) if data[start:end].strip(b"\r\n")]
    lines = data.split(b"\n")
    places = accumulate(len(line) + 1 for line in lines)
    return [min(end, len(data)) for line, end in zip(lines, places, strict=True) if line.strip(b"\r")]


def _line_breaks(data: bytes, quotes: int) -> tuple[NDArray[np.int64], int]:
    """Return the line breaks that end a record, and the number of quotes up to the end; `quotes` came before."""
    characters = np.frombuffer(data, dtype=np.uint8)
    before = quotes + np.cumsum(characters == _QUOTE)
    ends = np.flatnonzero((characters == _LINE_BREAK) & (before % 2 == 0))
    return ends, int(before[-1]) if len(before) else quotes


def table_of_lines(
    path: str,
    size: int,
    packing: Packing,
    head: LineHead,
    parse: Parser,
    *,
    format: str,
    breaks_in_quotes: bool = False,
    example: Callable[[str], str | None] = lambda name: None,
) -> TableFile:
    """Return what is known of a file of lines from its head."""
    rows = head.rows
    if not head.complete:
        unpacked = size * (_USUAL_COMPRESSION if packing.compression else 1) - head.begin
        rows = max(1, round(unpacked / head.bytes_per_row))

    def pieces(rows_per_batch: int) -> LinePieces:
        by_rows: tuple[int, ...] = ()
        if head.complete:
            borders, by_rows = _cut_by_rows(path, packing, head, rows_per_batch, breaks_in_quotes)
        else:
            borders = _cut_by_bytes(path, size, packing, head, rows_per_batch, breaks_in_quotes)
        return LinePieces(path, packing, parse, borders, by_rows, format)

    return TableFile(path, size, head.columns, rows, pieces, example)


def _cut_by_bytes(
    path: str, size: int, packing: Packing, head: LineHead, rows_per_batch: int, breaks_in_quotes: bool
) -> tuple[int, ...]:
    if not packing.plain:
        size = _unpacked_bytes(path, size, packing)
    rows_size = size - head.begin
    count = max(1, round(rows_size / (head.bytes_per_row * rows_per_batch)))
    borders = tuple(head.begin + rows_size * place // count for place in range(count + 1))
    if breaks_in_quotes:
        with open_text(path, packing) as file:
            borders = _borders_at_records(file, borders)
    return borders


def _unpacked_bytes(path: str, size: int, packing: Packing) -> int:
    """Return the bytes of a file when it is unpacked, which is found out by doing that."""
    if packing.archive is not None:
        with open_archive(packing.archive) as archive:
            size = archive.getinfo(path[len(packing.archive) + 1 :]).compress_size
    most, unpacked = max(_LEAST_BOMB, _MOST_UNPACKED * size), 0
    with open_text(path, packing) as file:
        for chunk in iter(partial(file.read, _STEP), b""):
            unpacked += len(chunk)
            if unpacked > most:
                raise BombError(
                    f"it unpacks to more than {_MOST_UNPACKED} times its {in_bytes(size)}, as no table of numbers does"
                )
    return unpacked


def _cut_by_rows(
    path: str, packing: Packing, head: LineHead, rows_per_batch: int, breaks_in_quotes: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    slices = cut(head.rows, rows_per_batch) if head.rows else []
    ends = {head.rows: head.end}
    if len(slices) > 1:
        with open_text(path, packing) as file:
            data, complete = first_lines(file, HEAD_BYTES)
        ends = {row + 1: head.begin + end for row, end in enumerate(row_ends(data[head.begin :], breaks_in_quotes))}
        if not complete or len(ends) != head.rows:
            raise UnusableError(CHANGED)
    return (head.begin, *(ends[rows.stop] for rows in slices)), (0, *(rows.stop for rows in slices))


def _borders_at_records(file: pa.NativeFile, borders: Sequence[int]) -> tuple[int, ...]:
    """Return borders moved to where the next record begins, the first and the last as they are; read to the end."""
    wanted, moved = list(borders[1:-1]), [borders[0]]
    position = quotes = 0
    while wanted and (chunk := file.read(_STEP)):
        ends, quotes = _line_breaks(chunk, quotes)
        starts = ends + position + 1
        while wanted and len(starts) and wanted[0] <= starts[-1]:
            moved.append(int(starts[np.searchsorted(starts, wanted.pop(0))]))
        position += len(chunk)
    return (*moved, *([borders[-1]] * len(wanted)), borders[-1])


@dataclass(frozen=True)
class LinePieces(Pieces):
    """Batches of a file of lines; where the whole file was looked at, its rows are numbered too."""

    path: str
    packing: Packing
    parse: Parser
    borders: tuple[int, ...]
    rows: tuple[int, ...] = ()
    format: str = "CSV"

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
        with open_text(self.path, self.packing) as file:
            for lines in lines_between(file, self.borders[start : stop + 1], selection.limits):
                # An unusable piece leaves the next ones as they are: each begins at a line of its own.
                yield lines if isinstance(lines, UnusableError) else self.parse(lines, selection)

    def fingerprint(self) -> str:
        if self.packing.archive is None:
            return super().fingerprint()
        return f"{fingerprint_of_file(self.packing.archive)} {self.path[len(self.packing.archive) + 1 :]}"


def lines_between(
    file: pa.NativeFile, borders: Sequence[int], limits: Limits = _USUAL_LIMITS
) -> Iterator[bytes | UnusableError]:
    """Yield, for each two neighbouring borders, the lines that begin at or after the first and before the second.

    Parameters
    ----------
    file : opened at its beginning; one that can seek is not read before the first border.
    borders : bytes in rising order. A line begins after a line break, and at byte 0.
    limits : the most bytes of a line, and of what lies between two borders.
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
    long_until = 0  # where the last line ended that was too long
    if borders[0] > 0:
        size, _ = _rest_of_line(text, 0)
        position += size
        long_until = position if size > limits.max_line_bytes else 0
    for stop in borders[1:]:
        limits.check_batch(stop - position, "a batch of lines")
        lines = text.read(stop - position) if position < stop else b""
        position += len(lines)
        if lines and not lines.endswith(b"\n"):
            size, rest = _rest_of_line(text, limits.max_line_bytes)
            lines, position = lines + rest, position + size
            long_until = position if size > limits.max_line_bytes else long_until
        yield limits.too_long() if stop <= long_until else lines


def _rest_of_line(text: io.BufferedReader, most: int) -> tuple[int, bytes]:
    """Read to the end of a line, however far that is; return its size and its first bytes, no more than `most`."""
    size, parts = 0, []
    while part := text.readline(_STEP):
        if size + len(part) <= most:
            parts.append(part)
        size += len(part)
        if part.endswith(b"\n"):
            break
    return size, b"".join(parts)
