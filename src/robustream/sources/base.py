"""A source yields batches in a fixed order and can start again at any position.

`source.batches(start=k)` gives the batches from index k on, the same as those of a full pass. Each batch carries
its index and a label that a person can act on. Sources wrap one another: a corrupted source is a source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from robustream.batch import Batch
from robustream.errors import InvalidInputError

__all__ = ["OneBatch", "Partition", "Source", "batch_at"]


class Partition(ABC):
    """A run of consecutive batches that one worker reads by itself; it can be sent to another process.

    What belongs together in reading (the batches of a row group of a file) is one partition; what belongs together in
    judging is a batch. The list of partitions is the library's own: no engine may merge or split them.
    """

    first_index: int
    count: int
    label: str

    @abstractmethod
    def read(self, start: int = 0) -> Iterator[Batch]:
        """Yield the batches from the `start`-th of this partition on: `count - start` of them, whatever happens.

        Batches that cannot be had come as `Batch.unreadable`.
        """


class Source(ABC):
    """Batches in order, restartable at a position."""

    @abstractmethod
    def batches(self, start: int = 0) -> Iterator[Batch]:
        """Yield the batches from index `start` on."""

    @property
    @abstractmethod
    def count(self) -> int | None:
        """Return the number of batches, or None if it is unknown or unbounded."""

    def __iter__(self) -> Iterator[Batch]:
        """Yield all batches."""
        return self.batches()

    def partitions(self) -> Sequence[Partition] | None:
        """Return what workers elsewhere can read by themselves; None if only this process can read the batches.

        By default each batch is a partition, read by a copy of this source: right for sources that are small to send
        and start anywhere at no cost.
        """
        if self.count is None:
            return None
        return [OneBatch(self, index) for index in range(self.count)]

    @property
    def own_thread(self) -> bool:
        """Whether only the thread that drives the run may read: a cursor of SQLite serves the one that made it."""
        return False

    @property
    def read_once(self) -> bool:
        """Whether the rows are gone once they were read, as those of a reader, a cursor or a generator."""
        return False

    def fingerprint(self) -> str | None:
        """Return a short digest that differs for other data or other batches; None if that cannot be told.

        A checkpoint keeps it, so that a run is not resumed on other data.
        """
        return None


@dataclass(frozen=True)
class OneBatch(Partition):
    """One batch of a source that can be copied to another process."""

    source: Source
    first_index: int
    count: int = 1

    @property
    def label(self) -> str:  # type: ignore[override]
        """Name the batch by its place."""
        return f"batch {self.first_index}"

    def read(self, start: int = 0) -> Iterator[Batch]:
        """Yield the batch."""
        if start == 0:
            yield next(self.source.batches(self.first_index))


def batch_at(source: Source, index: int) -> Batch:
    """Return one batch of a source.

    >>> import numpy as np
    >>> from robustream.sources import ArraySource
    >>> batch_at(ArraySource(np.zeros((6, 1)), batch_size=2), 2).label
    'rows 4-5'
    """
    for batch in source.batches(start=index):
        return batch
    raise InvalidInputError(f"index must be that of a batch; the source has no batch {index!r}.")
