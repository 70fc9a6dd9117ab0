"""Tasks for the checks of engines: they echo, raise, block, die, and reply with what nobody can read.

They import nothing heavy and signal through files and named pipes, since they run in other processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any, NoReturn

__all__ = [
    "CannotArrive",
    "CannotLeave",
    "block_or_echo",
    "die_if_three",
    "die_the_first_time",
    "echo",
    "pass_the_token",
    "pipe",
    "raise_if_odd",
    "repeat",
    "reply_with",
    "signatures",
]


def echo(task: str) -> bytes:
    """Return the task back."""
    return task.encode()


def repeat(size: int) -> bytes:
    """Return that many bytes in a pattern."""
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def sign(folder: Path) -> list[int]:
    """Write down which process is here, and give all that were, this one last."""
    # One short append is one write, also if several processes do it at once.
    with (folder / "pids").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return signatures(folder)


def signatures(folder: Path) -> list[int]:
    """Return the processes that were here."""
    return [int(line) for line in (folder / "pids").read_text().split()]


def pipe(folder: Path, name: str) -> Path:
    """Return a named pipe, made by whoever needs it first."""
    path = folder / name
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path)
    return path


class UnspeakableError(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def raise_if_odd(folder: Path, number: int) -> bytes:
    """Raise for odd numbers, each time in another way."""
    sign(folder)
    if number == 1:
        raise ValueError(f"{number} is odd\nand this is a second line")
    if number == 3:
        raise SystemExit(1)
    if number == 5:
        raise UnspeakableError
    return b"even"


def _explode(*_: Any) -> NoReturn:
    raise RuntimeError("this object must never be loaded")


class Undecodable:
    """Can be pickled, cannot be loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _explode, ()


class CannotLeave:
    """A task that cannot be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        raise RuntimeError("this object cannot be pickled")


class CannotArrive(Undecodable):
    """A task that the worker cannot load."""


def reply_with(kind: str) -> Any:
    """Reply with bytes, or with something that is none."""
    return {
        "nothing": None,
        "text": "text",
        "undecodable": Undecodable(),
        "unpicklable": CannotLeave(),
        "bytes": b"bytes",
    }[kind]


def die_the_first_time(folder: Path, number: int) -> bytes:
    """Kill the process that works on task 2, once."""
    if number == 2 and len(sign(folder)) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return b"alive"


def die_if_three(folder: Path, number: int) -> bytes:
    """Kill the process that works on task 3, always."""
    if number == 3:
        sign(folder)
        os.kill(os.getpid(), signal.SIGKILL)
    return b"alive"


def block_or_echo(folder: Path, task: tuple[str, int]) -> bytes:
    """Return the number back, or say that the work has begun (`block`) and never end."""
    kind, place = task
    if kind == "echo":
        return str(place).encode()
    if kind == "block":
        # Whoever checks reads this; until then it blocks as well.
        pipe(folder, f"begun-{place}").write_text(str(os.getpid()))
    # Nobody ever writes here.
    pipe(folder, f"never-{place}").read_text()
    return b"unblocked"


def pass_the_token(folder: Path, count: int, place: int) -> bytes:
    """Pass a token round a ring twice: nobody comes through unless all are there at the same time."""
    own, following = pipe(folder, f"ring-{place}"), pipe(folder, f"ring-{(place + 1) % count}")
    for _ in range(2):
        if place == 0:
            following.write_text("token")
            own.read_text()
        else:
            own.read_text()
            following.write_text("token")
    return b"met"
