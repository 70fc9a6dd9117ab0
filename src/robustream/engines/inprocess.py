"""The engine that is no engine: tasks run one by one in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from robustream.engines.base import Engine, Result, TaskFunction, call_task, check_limits

__all__ = ["InProcessEngine"]


class InProcessEngine(Engine):
    """Runs tasks here, one at a time, when their result is asked for.

    It is the specification of the others, and what to debug with. A task that kills its process kills this one.

    Examples
    --------
    >>> [(result.index, result.payload) for result in InProcessEngine().imap(str.encode, ["a", "b"])]
    [(0, b'a'), (1, b'b')]
    """

    isolated: ClassVar[bool] = False

    @property
    def slots(self) -> int:
        """Return 1."""
        return 1

    def imap(
        self,
        fn: TaskFunction,
        tasks: Iterable[Any],
        *,
        window: int | None = None,
        retries: int = 2,
        timeout: float | None = None,
        name: Callable[[Any], str] | None = None,
    ) -> Iterator[Result]:
        """Yield the result of each task, in order; a task that runs is never interrupted by `timeout`."""
        check_limits(window, retries, timeout)
        return _run(fn, tasks, None if timeout is None else time.monotonic() + timeout)

    def close(self) -> None:
        """Do nothing: nothing was started."""


def _run(fn: TaskFunction, tasks: Iterable[Any], end: float | None) -> Iterator[Result]:
    for index, task in enumerate(tasks):
        if end is not None and time.monotonic() >= end:
            return
        yield Result(index, *call_task(fn, task))
