"""A file of rows, as far as it can be known from its head or its footer, and the pieces that it is cut into.

Each format has a function that looks at a file once and returns a `TableFile`, and a class of `Pieces`, which reads. A
piece becomes a batch. Pieces are small descriptions that can be sent to another process; they open the file when they
are read. Formats that store rows in groups (Parquet, Arrow, ORC) share `GroupedPieces`.
"""

from __future__ import annotations

import os
import zlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import pyarrow as pa

from robustream.files.addresses import find, is_address, shown
from robustream.sources.arrays import batch_count
from robustream.sources.tables.error_text import UnusableError, explain
from robustream.sources.tables.rows import Rows
from robustream.sources.tables.schema import Columns, Selection

__all__ = [
    "CHANGED",
    "GroupedPieces",
    "JoinedPieces",
    "Outcome",
    "Pieces",
    "RespelledPieces",
    "TableFile",
    "UnreadablePieces",
    "fingerprint_of_file",
    "regroup",
]

CHANGED = "the file has changed since it was first looked at"

_LOOKED_AT = 1 << 16
# The bytes of a number in memory.
_CELL = 8

Outcome = Rows | UnusableError


class Pieces(ABC):
    """Consecutive rows of a file, cut into batches."""

    path: str
    count: int
    format: str = "table"  # for people

    @abstractmethod
    def label(self, place: int) -> str:
        """Name a piece so that a person finds its rows."""

    @abstractmethod
    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        """Yield the rows of the pieces from `start` up to `stop`, or the reason why a piece has none.

        What it raises is the reason of the piece that was due, and of those after it up to the next of `starts`.
        """

    def starts(self) -> Sequence[int]:
        """Return the pieces at which reading can begin at no cost, in rising order, the first of all among them."""
        return range(self.count)

    def fingerprint(self) -> str:
        """Return a digest that differs for another file."""
        return fingerprint_of_file(self.path)


def fingerprint_of_file(path: str) -> str:
    """Return a digest of a file's name, its size, and its first and last 64 kB; no protection against forgery.

    Of an object elsewhere it has the time at which that was written, in place of the bytes.
    """
    name = os.path.basename(shown(path))
    try:
        if is_address(path):
            found = find(path)
            return f"{name} {found.kind} {found.size} {found.written}"
        # Devices and pipes would wait for whoever writes to them.
        if not os.path.isfile(path):
            return f"{name} not a file"
        with open(path, "rb") as file:
            first = zlib.crc32(file.read(_LOOKED_AT))
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOOKED_AT))
            return f"{name} {size} {first:08x} {zlib.crc32(file.read()):08x}"
    except OSError as error:
        return f"{name} {type(error).__name__}"


@dataclass(frozen=True)
class TableFile:
    """What is known of a file.

    Parameters
    ----------
    path, size : where it is, and its bytes.
    columns : its columns with their kinds.
    rows : the number of rows, or a guess.
    pieces : cuts the file into pieces of about that many rows; none if it has no rows.
    example : shows a cell of a column that is no number, and where it is, if the format can tell.
    """

    path: str
    size: int
    columns: Columns
    rows: int
    pieces: Callable[[int], Pieces]
    example: Callable[[str], str | None] = lambda name: None


@dataclass(frozen=True)
class UnreadablePieces(Pieces):
    """The batches that an unusable file counts as."""

    path: str
    count: int
    reason: str

    def label(self, place: int) -> str:
        return self.path if self.count == 1 else f"{self.path}#{place + 1} of {self.count}"

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        for _ in range(start, stop):
            yield UnusableError(self.reason)


@dataclass(frozen=True)
class JoinedPieces(Pieces):
    """Files of one piece each as one batch: their rows stand or fall together."""

    members: tuple[Pieces, ...]
    count: int = 1

    @property
    def path(self) -> str:  # type: ignore[override]
        """The first and the last file."""
        return f"{self.members[0].path} to {self.members[-1].path} ({len(self.members)} files)"

    def label(self, place: int) -> str:
        return self.path

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        parts: list[Rows] = []
        for member in self.members:
            try:
                outcome = next(member.read(0, 1, selection))
            except Exception as error:
                outcome = UnusableError(explain(error, member.format))
            if isinstance(outcome, UnusableError):
                yield UnusableError(f"{member.path}: {outcome}")
                return
            parts.append(outcome)
        firsts = accumulate((len(part.X) for part in parts), initial=0)
        illegible = [
            cells._replace(row=first + cells.row)
            for part, first in zip(parts, firsts, strict=False)
            for cells in part.illegible
        ]
        targets = [part.y for part in parts if part.y is not None]
        X = np.concatenate([part.X for part in parts])
        columns = [part.columns for part in parts if part.columns is not None]
        y = np.concatenate(targets) if targets else None
        along = pa.concat_tables(columns, promote_options="permissive") if columns else None
        stats: Counter[str] = Counter()
        for part in parts:
            stats.update(part.stats)
        weights = [part.weights for part in parts if part.weights is not None]
        yield Rows(X, y, tuple(illegible), along, stats, np.concatenate(weights) if weights else None)

    def fingerprint(self) -> str:
        return "\n".join(member.fingerprint() for member in self.members)


@dataclass(frozen=True)
class RespelledPieces(Pieces):
    """Pieces of a file that spells names of columns otherwise; `spelled` has its spelling of the usual names."""

    pieces: Pieces
    spelled: dict[str, str]

    @property
    def path(self) -> str:  # type: ignore[override]
        return self.pieces.path

    @property
    def count(self) -> int:  # type: ignore[override]
        return self.pieces.count

    @property
    def format(self) -> str:  # type: ignore[override]
        return self.pieces.format

    def label(self, place: int) -> str:
        return self.pieces.label(place)

    def starts(self) -> Sequence[int]:
        return self.pieces.starts()

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        usual = {name: best for best, name in self.spelled.items()}
        for outcome in self.pieces.read(start, stop, selection.respelled(self.spelled)):
            if isinstance(outcome, Rows) and outcome.illegible:
                illegible = tuple(
                    cells._replace(column=usual.get(cells.column or "", cells.column)) for cells in outcome.illegible
                )
                outcome = outcome._replace(illegible=illegible)
            yield outcome

    def fingerprint(self) -> str:
        return self.pieces.fingerprint()


@dataclass(frozen=True)
class GroupedPieces(Pieces):
    """Pieces of a file that knows how many rows each of its groups has.

    Parameters
    ----------
    path : the file.
    groups : the rows of each group; a file that can be read from any row has a single group.
    rows_per_batch : the size wanted; see `robustream.sources.cut`.
    """

    path: str
    groups: tuple[int, ...]
    rows_per_batch: int

    @cached_property
    def count(self) -> int:  # type: ignore[override]
        """The number of pieces."""
        return batch_count(self.rows, self.rows_per_batch) if self.rows else 0

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        return sum(self.groups)

    def slice_of(self, place: int) -> slice:
        """Return the rows of a piece."""
        return slice(place * self.rows // self.count, (place + 1) * self.rows // self.count)

    def check_group(self, rows: int, selection: Selection, what: str) -> None:
        """Raise if so many rows, which must be in memory at once, take too much of it."""
        selection.limits.check_batch(rows * _CELL * len(selection.names), f"{what} of {rows:,} rows")

    def label(self, place: int) -> str:
        rows = self.slice_of(place)
        return f"{self.path}#{rows.start}-{rows.stop - 1}"

    def starts(self) -> Sequence[int]:
        """Return the first piece of each group: one that begins in it, after those that begin in the group before."""
        ends = list(accumulate(self.groups))
        group_of = [bisect_right(ends, self.slice_of(place).start) for place in range(self.count)]
        return [place for place, group in enumerate(group_of) if place == 0 or group != group_of[place - 1]]

    def covering(self, start: int, stop: int) -> tuple[list[int], int, list[int]]:
        """Return the groups that hold some pieces, the rows to skip in the first, and the size of each piece."""
        wanted = [self.slice_of(place) for place in range(start, stop)]
        ends = list(accumulate(self.groups))
        first, last = bisect_right(ends, wanted[0].start), bisect_right(ends, wanted[-1].stop - 1)
        before = ends[first] - self.groups[first]
        return list(range(first, last + 1)), wanted[0].start - before, [rows.stop - rows.start for rows in wanted]


def regroup(
    batches: Iterator[pa.RecordBatch], skip: int, sizes: Iterable[int], *, keep_rest: bool = False
) -> Iterator[pa.Table]:
    """Yield the rows of record batches in tables of the sizes that are wanted; nothing is copied.

    Parameters
    ----------
    batches : record batches of any sizes.
    skip : rows to leave out at the beginning.
    sizes : rows of each table. If the rows run out, fewer tables come.
    keep_rest : whether rows that are too few for the last table come as well.
    """
    held: list[pa.RecordBatch] = []
    waiting = 0
    wanted = iter(sizes)
    size = next(wanted, None)
    for batch in batches:
        if skip >= batch.num_rows:
            skip -= batch.num_rows
            continue
        held.append(batch.slice(skip))
        waiting += batch.num_rows - skip
        skip = 0
        while size is not None and waiting >= size:
            table = pa.Table.from_batches(held)
            yield table.slice(0, size)
            waiting -= size
            held = table.slice(size).to_batches() if waiting else []
            size = next(wanted, None)
        if size is None:
            return
    if keep_rest and held:
        yield pa.Table.from_batches(held)
