"""The batches of many files, one file after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate, pairwise

from robustream.batch import Batch
from robustream.sources.base import Partition, Source
from robustream.sources.checking import check_count
from robustream.sources.tables.base import Pieces
from robustream.sources.tables.conversion import Selection
from robustream.sources.tables.partitions import FilePartition
from robustream.sources.tables.selected import Selected

__all__ = ["TableSource"]

# A worker is sent at least this much, so that opening the file does not cost more than reading it.
_PARTITION_BYTES = 16_000_000


class TableSource(Selected, Source):
    """Batches of the files of a `Tables`, cut at the borders of files; made by `Tables.in_batches`.

    Parameters
    ----------
    pieces : the cuts of each file, in order.
    selection : the columns to read.
    rows_per_batch : the rows wanted in a batch.
    """

    def __init__(self, pieces: Sequence[Pieces], selection: Selection, rows_per_batch: int) -> None:
        self._pieces = tuple(each for each in pieces if each.count)
        self._selection = selection
        self._rows_per_batch = rows_per_batch
        self._ends = list(accumulate(each.count for each in self._pieces))

    @property
    def count(self) -> int:
        """Give the number of batches."""
        return self._ends[-1] if self._ends else 0

    def batches(self, start: int = 0) -> Iterator[Batch]:
        start = check_count("start", start, least=0)
        for place in range(bisect_right(self._ends, start), len(self._pieces)):
            pieces = self._pieces[place]
            first_index = self._ends[place] - pieces.count
            yield from self._partition(place, 0, pieces.count).read(max(0, start - first_index))

    def partitions(self) -> Sequence[Partition]:
        """Give parts of files that begin where reading can begin at no cost, none of them very small."""
        row_bytes = self._selection.dtype.itemsize * len(self._selection.names)
        least = max(1, _PARTITION_BYTES // max(1, row_bytes * self._rows_per_batch))
        partitions: list[Partition] = []
        for place, pieces in enumerate(self._pieces):
            borders = [0]
            for start in pieces.starts():
                if start - borders[-1] >= least:
                    borders.append(start)
            partitions += [self._partition(place, first, stop) for first, stop in pairwise([*borders, pieces.count])]
        return partitions

    def fingerprint(self) -> str:
        """Give a digest of the files (name, size, first and last bytes), the columns and the batch size."""
        digest = blake2b(digest_size=16)
        digest.update(repr((self._selection, self._rows_per_batch)).encode())
        for pieces in self._pieces:
            digest.update(pieces.fingerprint().encode())
        return digest.hexdigest()

    def _partition(self, place: int, first: int, stop: int) -> FilePartition:
        pieces = self._pieces[place]
        first_index = self._ends[place] - pieces.count + first
        return FilePartition(pieces, self._selection, first_index, first, stop - first)
