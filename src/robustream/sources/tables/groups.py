"""Files whose rows are numbered and stored in groups: where batches lie, and how groups are read as batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import pyarrow as pa

from robustream.sources.arrays import batch_count
from robustream.sources.tables.base import Pieces, TableFile

__all__ = ["GroupedFile", "GroupedPieces", "regroup"]


@dataclass(frozen=True)
class GroupedFile(TableFile):
    """A file whose footer tells its columns and the rows of each of its groups."""

    path: str
    size: int
    columns: Mapping[str, str]
    doubled: frozenset[str]
    groups: tuple[int, ...]
    certain: bool = True

    @property
    def rows(self) -> int:
        return sum(self.groups)


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
        """Give the number of pieces."""
        return batch_count(self.rows, self.rows_per_batch) if self.rows else 0

    @cached_property
    def rows(self) -> int:
        """Give the number of rows."""
        return sum(self.groups)

    def slice_of(self, place: int) -> slice:
        """Give the rows of a piece."""
        return slice(place * self.rows // self.count, (place + 1) * self.rows // self.count)

    def label(self, place: int) -> str:
        rows = self.slice_of(place)
        return f"{self.path}#{rows.start}-{rows.stop - 1}"

    def starts(self) -> Sequence[int]:
        """Give the first piece of each group: one that begins in it, after those that begin in the group before."""
        ends = list(accumulate(self.groups))
        group_of = [bisect_right(ends, self.slice_of(place).start) for place in range(self.count)]
        return [place for place, group in enumerate(group_of) if place == 0 or group != group_of[place - 1]]

    def covering(self, start: int, stop: int) -> tuple[list[int], int, list[int]]:
        """Give the groups that hold some pieces, the rows to skip in the first, and the size of each piece."""
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
