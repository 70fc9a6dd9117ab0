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
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

from robustream.errors import InvalidInputError

__all__ = ["Engine", "Reply", "Result", "TaskFunction", "call_task", "check_limits", "own_name", "say_deaths"]

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
        """Give the number of tasks that can run at the same time."""

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
        fn : takes a task and gives bytes; sent by pickle.
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
        """Give the engine."""
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
            error = f"a task must give bytes, this one gave {_type_name(value)}"
    # A task that raises SystemExit or KeyboardInterrupt must not end the worker.
    except BaseException as raised:
        error = describe_error(raised)
    return Reply(payload, error, own_name(), time.perf_counter() - started)


def describe_error(error: BaseException) -> str:
    """Say in one line what was raised, even if the error cannot say it."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:
        lines = []
    return f"{_type_name(error)}: {lines[0] if lines else 'no message'}"


def own_name() -> str:
    """Give host:process of this process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def say_deaths(deaths: int) -> str:
    """Give the error of a task whose workers died."""
    return f"its worker died while working on it, {deaths} time{'s' if deaths > 1 else ''} in a row"


def check_limits(slots: int, window: int | None, retries: int, timeout: float | None) -> int:
    """Give the window, or say what is wrong with the arguments of `imap`."""
    if window is not None and window < 1:
        raise InvalidInputError(f"window must be at least 1 task, got {window!r}")
    if retries < 0:
        raise InvalidInputError(f"retries must not be negative, got {retries!r}")
    if timeout is not None and not timeout > 0:
        raise InvalidInputError(f"timeout must be a positive number of seconds, got {timeout!r}")
    return slots if window is None else window


def _type_name(value: object) -> str:
    return type(value).__name__
