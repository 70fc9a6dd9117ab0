"""All cores of this machine: worker processes that are kept between calls and replaced when they die.

Each worker has one task at a time, so that a death has exactly one culprit. Python's own process pool loses every
pending task when one worker dies.
"""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from robustream.engines.base import Engine, Result, TaskFunction, check_limits, describe_error, say_deaths
from robustream.engines.process import WorkerProcess
from robustream.engines.shared import Shelf, dump
from robustream.engines.wire import unpack_reply
from robustream.engines.worker import FUNCTION, TASK
from robustream.errors import EngineError, InvalidInputError
from robustream.kernels.threads import get_threads

__all__ = ["LocalEngine"]

_MOST_FAILED_STARTS = 3


class LocalEngine(Engine):
    """Runs tasks in processes of this machine.

    The first call starts the workers; it takes as long as importing robustream. Inside them the kernels and linear
    algebra use one thread each. Workers end with the engine, or with the driver's process however that ends.

    Parameters
    ----------
    n_jobs : int or None
        The number of processes; None for as many as cores, -1 and below as scikit-learn counts.

    Examples
    --------
    >>> with LocalEngine(n_jobs=2) as engine:
    ...     sorted(result.payload for result in engine.imap(str.encode, ["a", "b", "c"]))
    [b'a', b'b', b'c']
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
            raise InvalidInputError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")
        if os.name != "posix":
            raise EngineError("LocalEngine needs a POSIX system; use DaskEngine() here")
        cores = get_threads()
        self._slots = cores if n_jobs is None else n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
        self._workers: list[WorkerProcess] = []
        self._call: _Call | None = None
        self._calls = 0
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, _stop_all, self._workers, self._owner)

    @property
    def slots(self) -> int:
        """Give the number of processes."""
        return self._slots

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
        """Yield the result of each task as it comes; workers that are still busy at the end are killed."""
        window = check_limits(self.slots, window, retries, timeout)
        if self._call is not None:
            raise InvalidInputError("this engine is busy with another call of imap: finish it, or close its iterator")
        self._calls += 1
        end = None if timeout is None else time.monotonic() + timeout
        return self._run(_Call(self._calls, fn, enumerate(tasks), window, retries, end))

    def close(self) -> None:
        """End all workers; the next call would start new ones."""
        _stop_all(self._workers, self._owner)

    def _run(self, call: _Call) -> Iterator[Result]:
        self._call = call
        try:
            while True:
                call.pull(len(self._busy()), self.slots)
                self._hand_out(call)
                unfinished = bool(call.queue or self._busy())
                if unfinished:
                    self._listen(call)
                if call.results:
                    # While the caller is busy with this one, the workers go on with what they have.
                    yield call.results.popleft()
                    call.taken += 1
                elif call.over or not unfinished:
                    return
        finally:
            self._call = None
            for worker in self._busy():
                self._dismiss(worker)
            call.clear()

    def _busy(self) -> list[WorkerProcess]:
        return [worker for worker in self._workers if worker.task is not None]

    def _hand_out(self, call: _Call) -> None:
        """Give each idle worker a task, and start workers for the tasks that remain."""
        for worker in self._workers:
            if call.queue and worker.ready and worker.task is None:
                if worker.function != call.number:
                    worker.send(FUNCTION, call.function)
                    worker.function = call.number
                worker.task = call.queue.popleft()
                worker.send(TASK, call.jobs[worker.task].body)
        starting = sum(not worker.ready for worker in self._workers)
        for _ in range(min(len(call.queue) - starting, self.slots - len(self._workers))):
            self._workers.append(WorkerProcess())

    def _listen(self, call: _Call) -> None:
        """Take in what has arrived; wait for something if there is nothing to give to the caller."""
        active = {worker.fileno(): worker for worker in self._workers if worker.task is not None or not worker.ready}
        for descriptor in wait(active, 0 if call.results else call.seconds_left):
            worker = active[descriptor]  # type: ignore[index]  # what was given comes back
            try:
                message = worker.inbox.poll()
            except EOFError:
                self._bury(call, worker)
                continue
            if message is None:
                continue
            if not worker.ready:
                worker.ready, call.failed_starts = True, 0
            elif worker.task is not None:
                call.finish(worker.task, Result(worker.task, *unpack_reply(message)))
                worker.task = None

    def _bury(self, call: _Call, worker: WorkerProcess) -> None:
        status = self._dismiss(worker)
        if not worker.ready:
            call.failed_starts += 1
            if call.failed_starts >= _MOST_FAILED_STARTS:
                raise EngineError(
                    f"{call.failed_starts} workers in a row could not start (exit status {status}); "
                    "what they wrote to the error stream says why"
                )
        elif worker.task is not None:
            call.mourn(worker.task, worker.name)

    def _dismiss(self, worker: WorkerProcess) -> int:
        self._workers.remove(worker)
        return worker.stop()


@dataclass
class _Job:
    body: bytes
    shelf: Shelf
    deaths: int = 0


class _Call:
    """One call of imap: what waits, what came, and how far it may go."""

    def __init__(
        self,
        number: int,
        fn: TaskFunction,
        tasks: Iterator[tuple[int, Any]],
        window: int,
        retries: int,
        end: float | None,
    ) -> None:
        self._shelf = Shelf()
        self.number, self.function = number, dump(fn, self._shelf)
        self.queue: deque[int] = deque()
        self.jobs: dict[int, _Job] = {}
        self.results: deque[Result] = deque()
        self.taken = 0
        self.failed_starts = 0
        self._tasks, self._pulled, self._exhausted = tasks, 0, False
        self._window, self._retries, self._end = window, retries, end

    @property
    def seconds_left(self) -> float | None:
        """The time until the end; None without one."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.seconds_left == 0.0

    def pull(self, busy: int, slots: int) -> None:
        """Take tasks from their iterable, no more than can run and than the window allows."""
        while not self._exhausted and len(self.queue) + busy < slots and self._pulled - self.taken < self._window:
            index, task = next(self._tasks, (-1, None))
            if index < 0:
                self._exhausted = True
                return
            self._pulled += 1
            shelf = Shelf()
            try:
                self.jobs[index] = _Job(dump(task, shelf), shelf)
            # A pickler runs code of the task's own and may raise anything.
            except Exception as error:
                shelf.clear()
                self.results.append(Result(index, None, f"the task cannot be sent: {describe_error(error)}"))
            else:
                self.queue.append(index)

    def finish(self, index: int, result: Result) -> None:
        """Take in a result."""
        self.jobs.pop(index).shelf.clear()
        self.results.append(result)

    def clear(self) -> None:
        """Free the shared memory of what was not finished."""
        for job in self.jobs.values():
            job.shelf.clear()
        self._shelf.clear()

    def mourn(self, index: int, worker: str) -> None:
        """Try a task again whose worker died, unless it was tried often enough."""
        job = self.jobs[index]
        job.deaths += 1
        if job.deaths > self._retries:
            self.finish(index, Result(index, None, say_deaths(job.deaths), worker))
        else:
            self.queue.append(index)


def _stop_all(workers: list[WorkerProcess], owner: int) -> None:
    # A forked copy of the driver must leave the workers of the original alone.
    if os.getpid() == owner:
        while workers:
            workers.pop().stop()
