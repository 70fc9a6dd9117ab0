"""Time two things in turns, so that whatever else the machine does falls on both."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from robustream.kernels.threads import limit_threads

__all__ = ["MEDIAN_OF_RATIOS", "Comparison", "compare", "same_threads", "say_threads", "seconds_of"]

MEDIAN_OF_RATIOS = "median of the ratios of repeats in turns"
# A call much shorter than this is repeated within one sample, or the clock and the scheduler would be measured.
SHORTEST_SAMPLE = 0.02


class Comparison(NamedTuple):
    """Seconds for one call of each side, repeat by repeat."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """Our time in multiples of theirs: the median over repeats."""
        return statistics.median(ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True))

    def details(self) -> dict[str, Any]:
        """Return the raw numbers."""
        return {"seconds": self.ours, "peer_seconds": self.theirs}


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
