"""An engine runs one function over many tasks somewhere else and yields results as they come.

    with LocalEngine() as engine:
        for result in engine.imap(function, tasks):
            ...                     # result.index, result.payload or result.error

The contract is small, so that an adapter to another engine is one file:

- every task gives exactly one result: bytes, or the reason why there are none; nothing that a task does, dying
  included, is raised in the driver or costs another task its result;
- a task is tried again only if its worker died, at most `retries` times; what it raises is its answer;
- tasks are pulled from their iterable as results are taken, never more than `window` ahead, so that it may be
  unbounded;
- closing the iterator is the cut-off: tasks that still run are given up and their slots are free for the next call;
- the function and the tasks travel by pickle, results only as bytes: a reply that cannot be decoded must not be able
  to break the engine.

`robustream.testing.check_engine` tells whether an engine keeps this contract.
"""

from __future__ import annotations

import os
import pickle
import socket
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

from robustream.engines.shared_memory import Segments, dump
from robustream.errors import InvalidInputError
from robustream.kernels.threads import limit_threads

__all__ = [
    "Call",
    "Engine",
    "Job",
    "Reply",
    "Result",
    "TaskFunction",
    "call_pickled",
    "call_task",
    "check_limits",
    "describe_error",
]

TaskFunction: TypeAlias = Callable[[Any], bytes]


class Result(NamedTuple):
    """What became of one task: its payload, or why there is none."""

    index: int  # type: ignore[assignment]
    payload: bytes | None
    error: str | None
    worker: str = ""  # host:process of whoever worked on it last
    seconds: float = 0.0  # how long the last try took


class Engine(ABC):
    """Runs a function over tasks."""

    # Whether tasks run in processes of their own, so that they can die or be given up without harm to the driver.
    isolated: ClassVar[bool] = True

    @property
    @abstractmethod
    def slots(self) -> int:
        """Return the number of tasks that can run at the same time."""

    @abstractmethod
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
        """Yield the result of each task as it comes.

        Parameters
        ----------
        fn : takes a task and returns bytes; sent by pickle.
        tasks : pulled one by one.
        window : how many tasks may be pulled ahead of the results taken; by default as many as there are slots.
        retries : how often a task is tried again after its worker died.
        timeout : seconds after which the iterator ends as if it had been closed.
        name : gives a task a name for people, where the engine can show one.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of everything that the engine started itself."""

    def __enter__(self) -> Self:
        """Return the engine."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the engine."""
        self.close()


class Reply(NamedTuple):
    """What a worker says about one task; plain values only."""

    payload: bytes | None
    error: str | None
    worker: str
    seconds: float


def call_task(fn: TaskFunction, task: Any) -> Reply:
    """Call the function, and turn whatever happens into plain values."""
    started = time.perf_counter()
    payload: bytes | None = None
    error: str | None = None
    try:
        value: object = fn(task)
        if isinstance(value, bytes | bytearray | memoryview):
            payload = bytes(value)
        else:
            error = f"a task must return bytes, got {type(value).__name__}"
    # A task that raises SystemExit or KeyboardInterrupt must not end the worker.
    except BaseException as raised:
        error = describe_error(raised)
    return Reply(payload, error, _own_name(), time.perf_counter() - started)


def call_pickled(function: bytes, task: bytes) -> Reply:
    """Load both and call; one thread for the kernels, since the engine fills the cores with tasks."""
    with limit_threads(1):
        try:
            loaded, argument = pickle.loads(function), pickle.loads(task)
        except BaseException as error:
            return Reply(None, f"the worker cannot load the task: {describe_error(error)}", _own_name(), 0.0)
        return call_task(loaded, argument)


def describe_error(error: BaseException) -> str:
    """Return in one line what was raised, even if the error cannot say it."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:
        lines = []
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"


def _own_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def check_limits(window: int | None, retries: int, timeout: float | None) -> None:
    """Say what is wrong with the arguments of `imap`."""
    if window is not None and window < 1:
        raise InvalidInputError(f"window must be at least 1 task, got {window!r}")
    if retries < 0:
        raise InvalidInputError(f"retries must not be negative, got {retries!r}")
    if timeout is not None and not timeout > 0:
        raise InvalidInputError(f"timeout must be a positive number of seconds, got {timeout!r}")


@dataclass
class Job:
    """One task of a call, ready to be sent."""

    index: int
    name: str
    body: bytes
    segments: Segments = field(repr=False)
    deaths: int = 0


class Call:
    """One call of `imap`, the same for every engine with workers: what waits, what is under way, what came.

    The engine pulls tasks, takes them from `queue`, and says of each that it is finished or that its worker died.
    """

    def __init__(
        self,
        fn: TaskFunction,
        tasks: Iterable[Any],
        window: int | None,
        retries: int,
        timeout: float | None,
        *,
        name: Callable[[Any], str] | None = None,
        share_memory: bool = False,
    ) -> None:
        check_limits(window, retries, timeout)
        self.queue: deque[Job] = deque()
        self.results: deque[Result] = deque()
        self.taken = 0  # how many results the caller is done with
        self._end = None if timeout is None else time.monotonic() + timeout
        self._window, self._retries, self._name, self._share_memory = window, retries, name, share_memory
        self._tasks, self._pulled, self._exhausted = enumerate(tasks), 0, False
        self._unfinished: dict[int, Job] = {}
        self._segments = Segments()
        self.function = self._dump(fn, self._segments)

    @property
    def seconds_left(self) -> float | None:
        """The time until the end; None without one."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def pull(self, room: int) -> None:
        """Take tasks from their iterable until there are `room` unfinished ones, or as many as the window allows."""
        window = room if self._window is None else self._window
        while not self._exhausted and len(self._unfinished) < room and self._pulled - self.taken < window:
            index, task = next(self._tasks, (-1, None))
            if index < 0:
                self._exhausted = True
                return
            self._pulled += 1
            segments = Segments()
            try:
                job = Job(index, self._name(task) if self._name else "task", self._dump(task, segments), segments)
            # A pickler runs code of the task's own and may raise anything.
            except Exception as error:
                segments.clear()
                self.results.append(Result(index, None, f"the task cannot be sent: {describe_error(error)}"))
            else:
                self._unfinished[index] = job
                self.queue.append(job)

    def finish(
        self, job: Job, payload: bytes | None, error: str | None, worker: str = "", seconds: float = 0.0
    ) -> None:
        """Take in the result of a task."""
        del self._unfinished[job.index]
        job.segments.clear()
        self.results.append(Result(job.index, payload, error, worker, seconds))

    def worker_died(self, job: Job, worker: str = "", times: int = 1) -> bool:
        """Return whether a task whose worker died is to be tried again; if not, it is finished."""
        job.deaths += times
        if job.deaths <= self._retries:
            return True
        often = f"{job.deaths} time{'s' if job.deaths > 1 else ''}"
        self.finish(job, None, f"its worker died while working on it, {often} in a row", worker)
        return False

    def close(self) -> None:
        """Free the shared memory of what was not finished."""
        for job in self._unfinished.values():
            job.segments.clear()
        self._segments.clear()

    def _dump(self, value: Any, segments: Segments) -> bytes:
        return dump(value, segments if self._share_memory else None)
