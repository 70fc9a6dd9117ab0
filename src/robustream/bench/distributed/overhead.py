"""What an engine adds: to tasks that do nothing, and to tasks that take a while and give much back."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from robustream.bench.distributed.tasks import SECONDS, nothing, slow_megabyte
from robustream.bench.figures import Figure, Target
from robustream.bench.timing import MEDIAN_OF_RATIOS, Comparison, compare, seconds_of
from robustream.engines import DaskEngine, Engine, LocalEngine

__all__ = ["measure_dask_overhead", "measure_dask_replies", "measure_local_overhead", "measure_local_replies"]

GROUP = "engines"
WORKERS = 2
REPLIES = 64


def measure_local_overhead(tasks: int, repeats: int, target: Target) -> Figure:
    """Compare the local engine with Python's process pool, on tasks that do nothing."""
    with LocalEngine(n_jobs=WORKERS) as engine, ProcessPoolExecutor(WORKERS) as pool:
        comparison = compare(
            lambda: _exhaust(engine, nothing, tasks), lambda: deque(pool.map(nothing, range(tasks)), 0), repeats
        )
    return _overhead("local engine beside ProcessPoolExecutor.map", tasks, comparison, target)


def measure_dask_overhead(tasks: int, repeats: int, target: Target) -> Figure:
    """Compare the Dask engine with bare Dask on the same cluster, on tasks that do nothing."""
    with DaskEngine(n_workers=WORKERS) as engine:
        client = engine.client
        comparison = compare(
            lambda: _exhaust(engine, nothing, tasks),
            lambda: client.gather(client.map(nothing, range(tasks), pure=False)),
            repeats,
        )
    return _overhead("Dask engine beside client.map and gather", tasks, comparison, target)


def measure_local_replies(repeats: int, target: Target) -> Figure:
    """Time replies of a megabyte through the local engine."""
    return _replies("local engine", lambda: LocalEngine(n_jobs=WORKERS), repeats, target)


def measure_dask_replies(repeats: int, target: Target) -> Figure:
    """Time replies of a megabyte through the Dask engine."""
    return _replies("Dask engine", lambda: DaskEngine(n_workers=WORKERS), repeats, target)


def _exhaust(engine: Engine, function: Callable[[int], bytes], tasks: int) -> None:
    for result in engine.imap(function, range(tasks)):
        assert result.error is None, result.error


def _overhead(title: str, tasks: int, comparison: Comparison, target: Target) -> Figure:
    return Figure(
        GROUP,
        f"{tasks:,} tasks that do nothing, {title}",
        comparison.ratio,
        "x",
        target,
        MEDIAN_OF_RATIOS,
        {"tasks": tasks, "workers": WORKERS, **comparison.details()},
    )


def _replies(title: str, make_engine: Callable[[], Engine], repeats: int, target: Target) -> Figure:
    ideal = SECONDS * math.ceil(REPLIES / WORKERS)
    with make_engine() as engine:
        _exhaust(engine, slow_megabyte, WORKERS)
        seconds = [seconds_of(lambda: _exhaust(engine, slow_megabyte, REPLIES)) for _ in range(repeats)]
    return Figure(
        GROUP,
        f"{REPLIES} tasks of {SECONDS} s that give 1 MB, {title}, over the ideal",
        statistics.median(seconds) / ideal,
        "x",
        target,
        "median of repeats over the time of tasks without any engine",
        {"seconds": seconds, "ideal": ideal, "workers": WORKERS},
    )
