"""A table that comes through a pipe: Arrow or CSV on standard input, unbounded, read once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import BinaryIO

import pyarrow as pa

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.base import Source
from robustream.sources.checking import check_choice, check_count
from robustream.sources.tables.base import Outcome
from robustream.sources.tables.conversion import Selection, rows_of_table
from robustream.sources.tables.csv_head import Head, Wanted, describe_head
from robustream.sources.tables.csv_parsing import outcome_of_lines
from robustream.sources.tables.described import ArrowColumns, Described
from robustream.sources.tables.groups import regroup
from robustream.sources.tables.pipes import Pipe, lines_in_groups
from robustream.sources.tables.reasons import UnusableError, explain
from robustream.sources.tables.schema import choose_columns
from robustream.sources.tables.screening import MISSING, batch_of_rows
from robustream.sources.tables.selected import Selected

__all__ = ["PipedSource", "PipedTable"]

_NAME = "standard input"


class PipedTable(Selected):
    """A table from a stream of bytes: an Arrow stream, or CSV, either of them plain or compressed by gzip or zstd.

    It has the attributes of `Tables`, as far as they can be known, and can be read once.

    Parameters
    ----------
    stream : what to read; by default standard input.
    target, columns, exclude, missing, header, separator, decimal, text_target : as for `Tables`.
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
    ) -> None:
        check_choice("missing", missing, MISSING)
        described: Described
        try:
            self._pipe = Pipe(sys.stdin.buffer if stream is None else stream)
            if self._pipe.is_arrow:
                self._content: pa.RecordBatchReader | Head = pa.ipc.open_stream(self._pipe.as_file())
                described = ArrowColumns.of(self._content.schema)
            else:
                data, complete = self._pipe.first_lines()
                described = self._content = describe_head(data, complete, Wanted(header, separator, decimal))
        except (UnusableError, pa.ArrowException, OSError) as error:
            raise InvalidInputError(f"Nothing can be read from {_NAME}: {explain(error)}.") from error
        self._selection = choose_columns(
            [described], target=target, columns=columns, exclude=exclude, missing=missing, text_target=text_target
        )

    @property
    def rows(self) -> None:
        """Give None: nobody knows how many rows will come."""

    @property
    def problems(self) -> dict[str, str]:
        """Give nothing: there are no files."""
        return {}

    def in_batches(self, rows_per_batch: int) -> PipedSource:
        """Cut the rows into batches of so many rows; the last one may have fewer."""
        return PipedSource(self._pipe, self._content, self._selection, check_count("rows_per_batch", rows_per_batch))


class PipedSource(Source):
    """Batches of a table that comes through a pipe; made by `PipedTable.in_batches`, and read once."""

    def __init__(
        self, pipe: Pipe, content: pa.RecordBatchReader | Head, selection: Selection, rows_per_batch: int
    ) -> None:
        self._pipe = pipe
        self._content = content
        self._selection = selection
        self._rows_per_batch = rows_per_batch

    @property
    def count(self) -> None:
        """Give None: nobody knows how many batches will come."""

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
        try:
            yield from self._from_lines(start) if isinstance(self._content, Head) else self._from_arrow(start)
        except Exception as error:
            # What comes after a broken place of a stream cannot be found again.
            yield UnusableError(f"the stream broke off: {explain(error)}"), 0

    def _from_lines(self, start: int) -> Iterator[tuple[Outcome, int]]:
        assert isinstance(self._content, Head)
        head = self._content
        chunks, quoted = self._pipe.lines(head.begin), head.dialect.breaks_in_quotes
        for place, (lines, rows) in enumerate(lines_in_groups(chunks, self._rows_per_batch, quoted)):
            if place >= start:
                yield outcome_of_lines(lines, head.dialect, self._selection), rows

    def _from_arrow(self, start: int) -> Iterator[tuple[Outcome, int]]:
        assert not isinstance(self._content, Head)
        size = self._rows_per_batch
        for table in regroup(iter(self._content), start * size, repeat(size), keep_rest=True):
            try:
                outcome: Outcome = rows_of_table(table, self._selection)
            except Exception as error:
                outcome = UnusableError(explain(error, "Arrow"))
            yield outcome, table.num_rows
