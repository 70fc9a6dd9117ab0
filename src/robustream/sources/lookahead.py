"""Batches before their time: read by a thread while others compute, or looked at before a run begins."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from queue import Full, Queue
from typing import TypeVar

from robustream.batch import Batch
from robustream.sources.base import Partition, Source
from robustream.sources.checking import check_count

__all__ = ["peek", "read_ahead"]

Item = TypeVar("Item")

# A reader that waits for somebody else (a pipe) cannot be interrupted; whoever gives up does not wait for it longer.
_PATIENCE = 5.0
_CHECK_EVERY = 0.1


def read_ahead(items: Iterator[Item], depth: int = 2) -> Iterator[Item]:
    """Yield the items of an iterator, which a thread fetches up to `depth` items ahead.

    What the iterator raises is raised here, after the items before it. When this one is closed or given up, the thread
    ends and the iterator is closed.

    Parameters
    ----------
    items : the iterator; it must not be used by anybody else afterwards.
    depth : how many items may wait; at most one more is being fetched.

    Examples
    --------
    >>> list(read_ahead(iter(range(5))))
    [0, 1, 2, 3, 4]
    """
    check_count("depth", depth)
    return _consume(items, Queue(depth), threading.Event())


def _consume(items: Iterator[Item], queue: Queue[tuple[bool, object]], stop: threading.Event) -> Iterator[Item]:
    thread = threading.Thread(target=_produce, args=(items, queue, stop), name="read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            is_item, value = queue.get()
            if is_item:
                yield value  # type: ignore[misc]
            elif value is None:
                return
            else:
                assert isinstance(value, BaseException)
                raise value
    finally:
        stop.set()
        # A reader that waits for room in the queue is let go at once.
        while not queue.empty():
            queue.get_nowait()
        thread.join(_PATIENCE)


def _produce(items: Iterator[object], queue: Queue[tuple[bool, object]], stop: threading.Event) -> None:
    last: object = None
    try:
        for item in items:
            _put(queue, (True, item), stop)
            del item  # else it would be held while the next one is made
            if stop.is_set():
                break
    except BaseException as error:
        last = error
    finally:
        # A generator can only be closed by the thread that runs it.
        if stop.is_set() and (close := getattr(items, "close", None)) is not None:
            close()
        _put(queue, (False, last), stop)


def _put(queue: Queue[tuple[bool, object]], value: tuple[bool, object], stop: threading.Event) -> None:
    while not stop.is_set():
        with suppress(Full):
            queue.put(value, timeout=_CHECK_EVERY)
            return


def peek(source: Source) -> tuple[Batch | None, Source]:
    """Return the first usable batch, or if there is none the first batch, and a source that yields it again."""
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
        """Return the number of batches, if it is known."""
        return self._source.count

    @property
    def feature_names(self) -> Sequence[str] | None:
        """Return the names of the columns, if the source knows them."""
        return getattr(self._source, "feature_names", None)

    def batches(self, start: int = 0) -> Iterator[Batch]:
        rest, self._rest = self._rest, None
        if rest is None:
            return self._source.batches(start)
        seen, self._seen = self._seen, []
        return (batch for batch in chain(seen, rest) if batch.index >= start)

    @property
    def read_once(self) -> bool:
        """Whether the source can be read only once."""
        return self._source.read_once

    @property
    def own_thread(self) -> bool:
        """Whether the thread that drives the run must read."""
        return self._source.own_thread

    def partitions(self) -> Sequence[Partition] | None:
        """Return the partitions of the source."""
        return self._source.partitions()

    def fingerprint(self) -> str | None:
        """Return the digest of the source."""
        return self._source.fingerprint()
