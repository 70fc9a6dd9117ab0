"""Ranges of lines out of a text file: those that begin between two bytes, whoever asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from robustream.sources.tables.csv_head import LONGEST_LINE
from robustream.sources.tables.reasons import UnusableError

__all__ = ["lines_between", "measure", "open_text"]

_STEP = 1 << 20


def open_text(path: str, compression: str | None) -> pa.NativeFile:
    """Open a file that may be compressed."""
    return pa.input_stream(path, compression=compression) if compression else pa.OSFile(path)


def measure(path: str, compression: str) -> int:
    """Give the size of a compressed file when it is unpacked, by unpacking it."""
    size = 0
    with open_text(path, compression) as file:
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
