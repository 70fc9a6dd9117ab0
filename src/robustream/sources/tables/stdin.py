"""A table that comes through a pipe: Arrow or CSV on standard input, unbounded, read once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import BinaryIO

import pyarrow as pa

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.base import Source
from robustream.sources.checking import check_choice, check_count
from robustream.sources.tables.csv import outcome_of_lines
from robustream.sources.tables.csv_dialect import Head, Wanted, describe_head
from robustream.sources.tables.encoder import Encoder
from robustream.sources.tables.error_text import Limits, UnusableError, explain
from robustream.sources.tables.frames import StreamSource
from robustream.sources.tables.lines import encoding_of, first_lines
from robustream.sources.tables.missing import MISSING, batch_of_rows
from robustream.sources.tables.pieces import Outcome
from robustream.sources.tables.schema import Selected, Selection, choose_columns, columns_of_schema

__all__ = ["PipedSource", "PipedTable"]

_NAME = "standard input"
_ARROW_STREAM = b"\xff\xff\xff\xff"
_ARROW_FILE = b"ARROW1\0\0"
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_STEP = 1 << 16
_USUAL_LIMITS = Limits()


class PipedTable(Selected):
    """A table from a stream of bytes: an Arrow stream, or CSV, either of them plain or compressed by gzip or zstd.

    It has the attributes of `Tables`, as far as they can be known, and can be read once.

    Parameters
    ----------
    stream : what to read; by default standard input.
    target, columns, exclude, missing, header, separator, decimal, text_target, keep, numeric_only, encoder, limits,
    weight : as for `Tables`; levels of categories must be named.
    """

    def __init__(
        self,
        stream: BinaryIO | None = None,
        *,
        target: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        exclude: str | Sequence[str] = (),
        missing: str = "skip",
        header: bool = True,
        separator: str | None = None,
        decimal: str | None = None,
        text_target: bool = False,
        keep: Sequence[str] = (),
        numeric_only: bool = False,
        encoder: Encoder | None = None,
        limits: Limits = _USUAL_LIMITS,
        weight: str | None = None,
    ) -> None:
        check_choice("missing", missing, MISSING)
        try:
            self._pipe = _Pipe(sys.stdin.buffer if stream is None else stream)
            if self._pipe.is_arrow:
                self._content: pa.RecordBatchReader | Head = pa.ipc.open_stream(self._pipe.as_file())
                known = columns_of_schema(self._content.schema)
            else:
                self._content = describe_head(*self._pipe.first_lines(limits), Wanted(header, separator, decimal))
                known = self._content.columns
        except (UnusableError, pa.ArrowException, OSError) as error:
            raise InvalidInputError(f"Nothing can be read from {_NAME}: {explain(error)}.") from error
        self._selection = choose_columns(
            [known],
            target=target,
            columns=columns,
            exclude=exclude,
            missing=missing,
            text_target=text_target,
            keep=keep,
            numeric_only=numeric_only,
            encoder=encoder,
            weight=weight,
        )
        self._selection = replace(self._selection, limits=limits)

    @property
    def rows(self) -> None:
        """None: nobody knows how many rows will come."""

    @property
    def problems(self) -> dict[str, str]:
        """Nothing: there are no files."""
        return {}

    def in_batches(self, rows_per_batch: int) -> Source:
        """Cut the rows into batches of so many rows; the last one may have fewer."""
        rows_per_batch = check_count("rows_per_batch", rows_per_batch)
        if isinstance(self._content, Head):
            return PipedSource(self._pipe, self._content, self._selection, rows_per_batch)
        return StreamSource(self._open_once, self._selection, rows_per_batch, f"{_NAME}#")

    def _open_once(self) -> pa.RecordBatchReader:
        self._pipe.use_once()
        return self._content


class PipedSource(Source):
    """Batches of lines that come through a pipe; made by `PipedTable.in_batches`, and read once."""

    def __init__(self, pipe: _Pipe, head: Head, selection: Selection, rows_per_batch: int) -> None:
        self._pipe = pipe
        self._head = head
        self._selection = selection
        self._rows_per_batch = rows_per_batch

    @property
    def count(self) -> None:
        """None: nobody knows how many batches will come."""

    def batches(self, start: int = 0) -> Iterator[Batch]:
        start = check_count("start", start, least=0)
        self._pipe.use_once()
        return self._read(start)

    def _read(self, start: int) -> Iterator[Batch]:
        first_row = start * self._rows_per_batch
        for index, (outcome, rows) in enumerate(self._outcomes(start), start):
            label = f"{_NAME}#{first_row}-{first_row + max(1, rows) - 1}"
            if isinstance(outcome, UnusableError):
                yield Batch.unreadable(index, label, str(outcome))
            else:
                yield batch_of_rows(index, label, outcome, self._selection)
            first_row += rows

    def _outcomes(self, start: int) -> Iterator[tuple[Outcome, int]]:
        dialect = self._head.dialect
        chunks = self._pipe.chunks(self._head.begin)
        groups = lines_in_groups(chunks, self._rows_per_batch, dialect.breaks_in_quotes, self._selection.limits)
        try:
            for lines, rows in islice(groups, start, None):
                yield outcome_of_lines(dialect, lines, self._selection), rows
        except Exception as error:
            # What comes after a broken place of a stream cannot be found again.
            yield UnusableError(f"the stream broke off: {explain(error)}"), 0


class _Pipe:
    """A stream of bytes that can be read once: looked at first, and unpacked if it is compressed or in UTF-16."""

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
        """Whether Arrow comes."""
        return self._file.prefix.startswith((_ARROW_STREAM, _ARROW_FILE))

    def as_file(self) -> pa.PythonFile:
        """Give the stream to pyarrow. An Arrow file is an Arrow stream after its first eight bytes."""
        if self._file.prefix == _ARROW_FILE:
            self._file.prefix = b""
        return pa.PythonFile(self._file, mode="r")

    def first_lines(self, limits: Limits) -> tuple[bytes, bool]:
        """Return the first lines, and whether that is all; they come again with `chunks`."""
        self._head, complete = first_lines(self._file, _STEP, limits)
        return self._head, complete

    def chunks(self, begin: int) -> Iterator[bytes]:
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


class _Prefixed:
    """A stream with some bytes put back at its beginning, as a file that pyarrow can read."""

    def __init__(self, prefix: bytes, stream: BinaryIO) -> None:
        self.prefix = prefix
        self._stream = stream
        self.closed = False

    def read(self, size: int) -> bytes:
        taken, self.prefix = self.prefix[:size], self.prefix[size:]
        return taken if len(taken) == size else taken + self._stream.read(size - len(taken))

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        # The stream stays open: it belongs to somebody else.
        self.closed = True


def lines_in_groups(
    chunks: Iterator[bytes], size: int, breaks_in_quotes: bool = False, limits: Limits = _USUAL_LIMITS
) -> Iterator[tuple[bytes, int]]:
    """Yield groups of rows that are not empty, with their number: `size`, and in the last group what is left.

    >>> list(lines_in_groups(iter([b"1\\n2", b"2\\n\\n3\\n"]), 2))
    [(b'1\\n22', 2), (b'3', 1)]
    """
    lines = _lines(chunks, limits)
    rows = (line for line in (_join_records(lines) if breaks_in_quotes else lines) if line and line != b"\r")
    while group := _group(rows, size, limits):
        yield b"\n".join(group), len(group)


def _group(rows: Iterator[bytes], size: int, limits: Limits) -> list[bytes]:
    group: list[bytes] = []
    taken = 0
    for row in islice(rows, size):
        group.append(row)
        taken += len(row)
        limits.check_batch(taken, "a batch of lines")
    return group


def _lines(chunks: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > limits.max_line_bytes:
            raise limits.too_long()
        yield from whole
    yield rest


def _join_records(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Put lines together that are one record.

    >>> list(_join_records(iter([b'1,"a', b'b"', b"2,c"])))
    [b'1,"a\\nb"', b'2,c']
    """
    held: list[bytes] = []
    quotes = 0
    for line in lines:
        held.append(line)
        quotes += line.count(b'"')
        if quotes % 2 == 0:
            yield b"\n".join(held)
            held, quotes = [], 0
    if held:
        yield b"\n".join(held)
