"""Bytes from a pipe: looked at before they are read, unpacked if they are compressed, cut into lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

import pyarrow as pa

from robustream.errors import InvalidInputError
from robustream.sources.tables.csv_bytes import encoding_of
from robustream.sources.tables.csv_head import LONGEST_LINE, first_lines
from robustream.sources.tables.csv_quotes import join_records
from robustream.sources.tables.reasons import UnusableError

__all__ = ["Pipe", "lines_in_groups"]

_ARROW_STREAM = b"\xff\xff\xff\xff"
_ARROW_FILE = b"ARROW1\0\0"
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_STEP = 1 << 16


class Pipe:
    """A stream of bytes that can be read once."""

    def __init__(self, stream: BinaryIO) -> None:
        self._file = _Prefixed(stream.read(8), stream)
        for magic, codec in _COMPRESSED.items():
            if self._file.prefix.startswith(magic):
                unpacked = pa.CompressedInputStream(self.as_file(), codec)
                self._file = _Prefixed(unpacked.read(8), unpacked)
                break
        if encoding := encoding_of(self._file.prefix):
            text = pa.transcoding_input_stream(self.as_file(), encoding, "utf-8")
            self._file = _Prefixed(text.read(8), text)
        self._head = b""
        self._used = False

    @property
    def is_arrow(self) -> bool:
        """Tell whether Arrow comes."""
        return self._file.prefix.startswith((_ARROW_STREAM, _ARROW_FILE))

    def as_file(self) -> pa.PythonFile:
        """Give the stream to pyarrow. An Arrow file is an Arrow stream after its first eight bytes."""
        if self._file.prefix == _ARROW_FILE:
            self._file.prefix = b""
        return pa.PythonFile(self._file, mode="r")

    def first_lines(self) -> tuple[bytes, bool]:
        """Give the first lines, and whether that is all; they come again with `lines`."""
        self._head, complete = first_lines(self._file, _STEP)
        return self._head, complete

    def lines(self, begin: int) -> Iterator[bytes]:
        """Yield all bytes from the byte `begin` on, as they come."""
        yield self._head[begin:]
        self._head = b""
        while more := self._file.read(_STEP):
            yield more

    def use_once(self) -> None:
        """Note that the stream is being read; refuse the second time."""
        if self._used:
            raise InvalidInputError("Standard input can be read only once; write it to a file to read it again.")
        self._used = True


def lines_in_groups(chunks: Iterator[bytes], size: int, breaks_in_quotes: bool = False) -> Iterator[tuple[bytes, int]]:
    """Yield groups of rows that are not empty, with their number: `size`, and in the last group what is left.

    >>> list(lines_in_groups(iter([b"1\\n2", b"2\\n\\n3\\n"]), 2))
    [(b'1\\n22', 2), (b'3', 1)]
    """
    lines = _lines(chunks)
    rows = (line for line in (join_records(lines) if breaks_in_quotes else lines) if line and line != b"\r")
    while group := list(islice(rows, size)):
        yield b"\n".join(group), len(group)


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise UnusableError(f"a line is longer than {LONGEST_LINE >> 20} MB: this is not a CSV file")
        yield from whole
    yield rest


class _Prefixed:
    """A stream with some bytes put back at its beginning, as a file that pyarrow can read."""

    def __init__(self, prefix: bytes, stream: BinaryIO) -> None:
        self.prefix = prefix
        self._stream = stream
        self.closed = False

    def read(self, size: int) -> bytes:
        """Read `size` bytes, fewer only at the end."""
        taken, self.prefix = self.prefix[:size], self.prefix[size:]
        return taken if len(taken) == size else taken + self._stream.read(size - len(taken))

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def writable(self) -> bool:
        """Say that it cannot be written."""
        return False

    def seekable(self) -> bool:
        """Say that there is no way back."""
        return False

    def close(self) -> None:
        """Leave the stream open: it belongs to somebody else."""
        self.closed = True
