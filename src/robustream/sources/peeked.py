"""A look at the first usable batch of a source that may be readable only once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from robustream.batch import Batch
from robustream.sources.base import Partition, Source

__all__ = ["peek"]


def peek(source: Source) -> tuple[Batch | None, Source]:
    """Give the first usable batch, or if there is none the first batch, and a source that yields it again."""
    batches = iter(source.batches())
    seen: list[Batch] = []
    for batch in batches:
        seen.append(batch)
        if batch.failure is None:
            return batch, _Peeked(source, seen, batches)
    return seen[0] if seen else None, source


class _Peeked(Source):
    """A source whose first batches were taken out already; the first reading from its start goes on from there."""

    def __init__(self, source: Source, seen: Sequence[Batch], rest: Iterator[Batch]) -> None:
        self._source = source
        self._seen = list(seen)
        self._rest: Iterator[Batch] | None = rest

    @property
    def count(self) -> int | None:
        """Give the number of batches, if it is known."""
        return self._source.count

    @property
    def feature_names(self) -> Sequence[str] | None:
        """Give the names of the columns, if the source knows them."""
        return getattr(self._source, "feature_names", None)

    def batches(self, start: int = 0) -> Iterator[Batch]:
        rest, self._rest = self._rest, None
        if rest is None:
            return self._source.batches(start)
        seen, self._seen = self._seen, []
        return (batch for batch in chain(seen, rest) if batch.index >= start)

    def partitions(self) -> Sequence[Partition] | None:
        """Give the partitions of the source."""
        return self._source.partitions()

    def fingerprint(self) -> str | None:
        """Give the digest of the source."""
        return self._source.fingerprint()
