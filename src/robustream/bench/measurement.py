"""What every measurement is made of: figures with targets, times in turns, fresh processes, memory, the machine.

Most figures are ratios of two things timed in turns in one run, so that a busy or a slow machine changes both.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Literal, NamedTuple

from threadpoolctl import threadpool_info, threadpool_limits

from robustream.errors import RobustreamError
from robustream.kernels.threads import limit_threads

__all__ = [
    "MEDIAN_OF_RATIOS",
    "Comparison",
    "Figure",
    "FreshProcessError",
    "PeakOfTree",
    "Step",
    "Target",
    "compare",
    "describe_environment",
    "peak_above",
    "processor_seconds",
    "resident_of_tree",
    "run_fresh",
    "same_threads",
    "say_threads",
    "seconds_of",
]


class Target(NamedTuple):
    """A bound that a figure should keep, and perhaps a better value to aim for."""

    relation: Literal["<=", "<", ">="]
    bound: float
    aim: float | None = None

    def met_by(self, value: float) -> bool:
        """Return whether a value keeps the bound."""
        if self.relation == "<=":
            return value <= self.bound
        return value < self.bound if self.relation == "<" else value >= self.bound

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:g}" + ("" if self.aim is None else f" (aim {self.aim:g})")


class Figure(NamedTuple):
    """One line of the results.

    `unit` follows the number ("x" for ratios); `how` says what the number was made of; `details` holds the raw
    numbers, such as the seconds of each side.
    """

    group: str
    title: str
    value: float
    unit: str
    target: Target | None = None
    how: str = ""
    details: Mapping[str, Any] = {}

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None if there is none, or no value (NaN: this system cannot tell)."""
        return None if self.target is None or math.isnan(self.value) else self.target.met_by(self.value)

    def as_data(self) -> dict[str, Any]:
        """Return the figure as plain data for JSON, which has neither NaN nor infinity."""
        return {
            "group": self.group,
            "title": self.title,
            "value": self.value if math.isfinite(self.value) else None,
            "unit": self.unit,
            "target": None if self.target is None else str(self.target),
            "met": self.met,
            "how": self.how,
            "details": dict(self.details),
        }


MEDIAN_OF_RATIOS = "median of the ratios of repeats in turns"
# A call much shorter than this is repeated within one sample, or the clock and the scheduler would be measured.
SHORTEST_SAMPLE = 0.02


class Step(NamedTuple):
    """One measurement: what to show while it runs, and what to call."""

    title: str
    measure: Callable[[], Figure | list[Figure]]

    def run(self) -> list[Figure]:
        """Return its figures."""
        figures = self.measure()
        return figures if isinstance(figures, list) else [figures]


class Comparison(NamedTuple):
    """Seconds for one call of each side, repeat by repeat."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """Our time in multiples of theirs: the median over repeats."""
        return statistics.median(ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True))

    def figure(self, group: str, title: str, target: Target | None = None, **details: Any) -> Figure:
        """Return the ratio as a figure."""
        raw = {**details, "seconds": self.ours, "peer_seconds": self.theirs}
        return Figure(group, title, self.ratio, "x", target, MEDIAN_OF_RATIOS, raw)


def seconds_of(action: Callable[[], Any], calls: int = 1) -> float:
    """Time one call, as the mean of several."""
    started = perf_counter()
    for _ in range(calls):
        action()
    return (perf_counter() - started) / calls


def compare(ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int) -> Comparison:
    """Time both in turns, after a call of each that does not count."""
    sides = (ours, theirs)
    calls = []
    for side in sides:
        side()
        calls.append(max(1, math.ceil(SHORTEST_SAMPLE / max(seconds_of(side), 1e-9))))
    samples = [[seconds_of(side, number) for side, number in zip(sides, calls, strict=True)] for _ in range(repeats)]
    return Comparison([sample[0] for sample in samples], [sample[1] for sample in samples])


@contextmanager
def same_threads(threads: int) -> Iterator[None]:
    """Return our kernels and NumPy's linear algebra the same number of threads."""
    with threadpool_limits(threads), limit_threads(threads):
        yield


def say_threads(threads: int) -> str:
    """Say how many threads, in words for a title."""
    return "1 thread" if threads == 1 else f"{threads} threads"


class FreshProcessError(RobustreamError, RuntimeError):
    """The process of a measurement failed."""


def run_fresh(code: str, *arguments: Any, environment: Mapping[str, str] | None = None) -> Any:
    """Run code in a new interpreter and give the JSON value of the last line that it printed.

    The code finds the arguments in the list `arguments`.

    >>> run_fresh("import json; print(json.dumps(2 * arguments[0]))", 21)
    42
    """
    preamble = "import json, sys; arguments = json.loads(sys.argv[1])\n"
    finished = subprocess.run(
        [sys.executable, "-c", preamble + code, json.dumps(arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    if finished.returncode != 0:
        last = (finished.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise FreshProcessError(f"a measurement in a fresh process ended with {finished.returncode}: {last}")
    return json.loads(finished.stdout.strip().splitlines()[-1])


PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "threadpoolctl")


def describe_environment(threads: int) -> dict[str, Any]:
    """Return processor, versions, linear algebra libraries and date; nothing that names the machine or its user."""
    from robustream import __version__

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "robustream": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "packages": {name: _version(name) for name in PACKAGES},
        "blas": [
            {key: library.get(key) for key in ("internal_api", "version", "architecture", "num_threads")}
            for library in threadpool_info()
            if library.get("user_api") == "blas"
        ],
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def processor_seconds() -> float:
    """Return the seconds that this process and its ended children have kept processors busy."""
    return sum(os.times()[:4])


def resident_of_tree() -> int | None:
    """Return the resident bytes of this process and its children, shared pages counted for each; None if unknown."""
    try:
        import psutil
    except ImportError:
        return None
    process, total = psutil.Process(), 0
    for member in (process, *process.children(recursive=True)):
        # It may have ended meanwhile.
        with suppress(psutil.NoSuchProcess):
            total += member.memory_info().rss
    return total


class PeakOfTree:
    """Watches the resident memory while a block runs; a single process cannot hide a peak, several can a short one."""

    def __init__(self) -> None:
        self.peak = resident_of_tree()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)

    def __enter__(self) -> PeakOfTree:
        # On Linux this makes the present size the highest so far. Where it is refused an earlier peak stands, and the
        # result is too large rather than too small.
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        # Linux tells how high this process was, however short. (The peak of `getrusage` may be that of its parent.)
        with suppress(OSError):
            found = re.search(
                r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
            )
            self._raise_to(1024 * int(found[1]) if found else None)

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self._raise_to(resident_of_tree())

    def _raise_to(self, size: int | None) -> None:
        if size is not None and self.peak is not None:
            self.peak = max(self.peak, size)


def peak_above(action: Callable[[], Any]) -> int | None:
    """Run an action and return how many bytes the resident memory rose at most; None where no one can tell."""
    before = resident_of_tree()
    with PeakOfTree() as memory:
        action()
    return None if before is None or memory.peak is None else memory.peak - before
