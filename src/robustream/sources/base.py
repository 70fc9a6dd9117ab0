"""A source yields batches in a fixed order and can start again at any position.

`source.batches(start=k)` gives the batches from index k on, the same as those of a full pass. Each batch carries
its index and a label that a person can act on. Sources wrap one another: a corrupted source is a source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from robustream.batch import Batch

__all__ = ["Source"]


class Source(ABC):
    """Batches in order, restartable at a position."""

    @abstractmethod
    def batches(self, start: int = 0) -> Iterator[Batch]:
        """Yield the batches from index `start` on."""

    @property
    @abstractmethod
    def count(self) -> int | None:
        """Give the number of batches, or None if it is unknown or unbounded."""

    def __iter__(self) -> Iterator[Batch]:
        """Yield all batches."""
        return self.batches()
