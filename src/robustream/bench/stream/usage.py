"""Processor time and resident memory of this process and of those it started."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType

__all__ = ["PeakOfTree", "processor_seconds", "resident_of_tree"]

_PROCESSES = Path("/proc")
_EVERY = 0.02  # seconds


def processor_seconds() -> float:
    """Return the seconds that this process and its ended children have kept processors busy."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def resident_of_tree() -> int | None:
    """Return the resident bytes, shared pages counted for each process; None where the system does not tell."""
    sizes = [_status(process, "VmRSS") for process in _tree(os.getpid())]
    known = [size for size in sizes if size is not None]
    return sum(known) if known else None


class PeakOfTree:
    """Watches the resident memory while a block runs; a single process cannot hide a peak, several can a short one."""

    def __init__(self) -> None:
        self.peak: int | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)

    def __enter__(self) -> PeakOfTree:
        # On Linux this makes the present size the highest so far.
        with suppress(OSError):
            (_PROCESSES / "self" / "clear_refs").write_text("5", encoding="ascii")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._raise_to(_status(os.getpid(), "VmHWM"))

    def _watch(self) -> None:
        while not self._over.wait(_EVERY):
            self._raise_to(resident_of_tree())

    def _raise_to(self, size: int | None) -> None:
        if size is not None:
            self.peak = max(self.peak or 0, size)


def _tree(process: int) -> Iterator[int]:
    yield process
    for children in (_PROCESSES / str(process) / "task").glob("*/children"):
        # A thread, or a process, may have ended meanwhile.
        with suppress(OSError):
            for child in children.read_text(encoding="ascii").split():
                yield from _tree(int(child))


def _status(process: int, field: str) -> int | None:
    try:
        status = (_PROCESSES / str(process) / "status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    return None if found is None else 1024 * int(found.group(1))
