"""Reading while others compute: an iterator run by a thread of its own, a bounded number of items ahead."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import TypeVar

from robustream.sources.checking import check_count

__all__ = ["read_ahead"]

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
        _empty(queue)
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


def _empty(queue: Queue[tuple[bool, object]]) -> None:
    with suppress(Empty):
        while True:
            queue.get_nowait()
