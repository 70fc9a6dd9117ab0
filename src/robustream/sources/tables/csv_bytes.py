"""Ranges of lines out of a text file: those that begin between two bytes, whoever asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa

from robustream.sources.tables.csv_head import LONGEST_LINE
from robustream.sources.tables.reasons import UnusableError

__all__ = ["Packing", "encoding_of", "lines_between", "measure", "open_text", "packing_of"]

_STEP = 1 << 20
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Packing(NamedTuple):
    """What must be undone before a file is text in UTF-8."""

    compression: str | None = None
    encoding: str | None = None

    @property
    def plain(self) -> bool:
        """Tell whether there is nothing to undo: then a byte of the file is a byte of the text."""
        return self == Packing()


def packing_of(path: str, compression: str | None) -> Packing:
    """Tell how a file is packed: the first two bytes of UTF-16 say so."""
    with open_text(path, Packing(compression)) as file:
        return Packing(compression, encoding_of(file.read(2)))


def encoding_of(first: bytes) -> str | None:
    """Name the encoding that the first bytes of a text tell; None for UTF-8."""
    return "utf-16" if first[:2] in _UTF_16 else None


def open_text(path: str, packing: Packing) -> pa.NativeFile:
    """Open a file as text in UTF-8."""
    file = pa.input_stream(path, compression=packing.compression) if packing.compression else pa.OSFile(path)
    return pa.transcoding_input_stream(file, packing.encoding, "utf-8") if packing.encoding else file


def measure(path: str, packing: Packing) -> int:
    """Give the size of a packed file when it is unpacked, by unpacking it."""
    size = 0
    with open_text(path, packing) as file:
        while chunk := file.read(_STEP):
            size += len(chunk)
    return size


def lines_between(file: pa.NativeFile, borders: Sequence[int]) -> Iterator[bytes]:
    """Yield, for each two neighbouring borders, the lines that begin at or after the first and before the second.

    Parameters
    ----------
    file : opened at its beginning; one that can seek is not read before the first border.
    borders : bytes in rising order. A line begins after a line break, and at byte 0.
    """
    # One byte more than asked tells whether a line begins right at the border.
    position = max(0, borders[0] - 1)
    if file.seekable():
        file.seek(position)
    else:
        _skip(file, position)
    held = b""
    first = True
    for start, stop in pairwise(borders):
        while position + len(held) < stop and (more := file.read(max(_STEP, stop - position - len(held)))):
            held += more
        if first and start > 0:
            held, position = _drop_line(file, held, position)
        first = False
        if position >= stop:
            yield b""
            continue
        end = _end_of_line(file, held, stop - 1 - position)
        held = end[0]
        yield held[: end[1]]
        held, position = held[end[1] :], position + end[1]


def _drop_line(file: pa.NativeFile, held: bytes, position: int) -> tuple[bytes, int]:
    held, end = _end_of_line(file, held, 0)
    return held[end:], position + end


def _end_of_line(file: pa.NativeFile, held: bytes, place: int) -> tuple[bytes, int]:
    """Give the bytes, with more of the file if needed, and the place after the first line break from `place` on."""
    searched = place
    while (found := held.find(b"\n", searched)) < 0:
        searched = len(held)
        if searched - place > LONGEST_LINE:
            raise UnusableError(f"a line is longer than {LONGEST_LINE >> 20} MB: this is not a CSV file")
        if not (more := file.read(_STEP)):
            return held, len(held)
        held += more
    return held, found + 1


def _skip(file: pa.NativeFile, size: int) -> None:
    while size > 0 and (chunk := file.read(min(_STEP, size))):
        size -= len(chunk)
