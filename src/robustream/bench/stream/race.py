"""The tasks in turns, so that whatever else the machine does falls on all of them; and the figures of it."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from robustream.bench.figures import Figure, Target
from robustream.bench.stream.data import FILES, make_files
from robustream.bench.stream.tasks import DEFAULT, LOCAL, PEER, READ, TASKS, TRIMMED, TRIMMED_TWO, TWO, Usage, use
from robustream.bench.suite import Step

__all__ = ["Race"]

PEER_TARGETS = {
    DEFAULT: Target("<=", 1),
    TWO: Target("<=", 1),
    TRIMMED: Target("<=", 0.333),
    TRIMMED_TWO: Target("<=", 0.333),
}
BUSY_TARGETS = {TWO: Target(">=", 0.8), LOCAL: Target(">=", 0.8)}
MEMORY_TARGET = Target("<", 1000)
FLAT_TARGET = Target("<=", 1.2)
_MEGABYTE = 1e6
_HOW = "each task in a fresh process, in turns; medians of the ratios"


class Race:
    """All tasks over the files, some times in turns; before that once over a tenth of the files.

    Parameters
    ----------
    folder : where the files are, or are made.
    rows, columns : of all files together.
    batch_rows : the rows of a batch, the same for everybody.
    repeats : how many turns.
    tasks : names of `TASKS`.
    """

    def __init__(
        self,
        folder: Path,
        rows: int,
        columns: int,
        batch_rows: int,
        repeats: int,
        tasks: Sequence[str] = tuple(TASKS),
    ) -> None:
        self._folder = folder
        self._rows, self._columns, self._batch_rows = rows, columns, batch_rows
        self._repeats = repeats
        self._tasks = tasks
        self._paths: list[str] = []
        self._of_tenth: dict[str, Usage] = {}
        self._of_all: dict[str, list[Usage]] = {task: [] for task in tasks}

    def steps(self) -> Iterable[Step]:
        """Return the steps: make the files, measure, compare."""
        size = f"{self._rows:,} x {self._columns}"
        yield Step(f"Parquet files, {size}", self._make)
        for task in self._tasks:
            yield Step(f"{task}, a tenth of the files", partial(self._measure_tenth, task))
        for turn in range(self._repeats):
            for task in self._tasks:
                yield Step(f"{task}, turn {turn + 1}", partial(self._measure_all, task))
        yield Step("ratios", self.figures)

    def _make(self) -> list[Figure]:
        self._paths = [str(path) for path in make_files(self._folder, self._rows, self._columns)]
        return []

    def _measure_tenth(self, task: str) -> list[Figure]:
        # It comes first, so that files are in memory and code is compiled when it counts.
        self._of_tenth[task] = use(task, self._paths[: FILES // 10], self._batch_rows)
        return []

    def _measure_all(self, task: str) -> list[Figure]:
        self._of_all[task].append(use(task, self._paths, self._batch_rows))
        return []

    def figures(self) -> list[Figure]:
        """Return what came of it."""
        compared = [task for task in self._tasks if task not in (READ, PEER)]
        return [
            *(self._ratio(task, READ, {}, "wall") for task in self._tasks if task != READ),
            *(self._ratio(task, PEER, PEER_TARGETS, "wall") for task in compared),
            *(self._ratio(task, PEER, {}, "processor") for task in compared),
            *(self._busy(task) for task in self._tasks),
            *(self._peak(task) for task in self._tasks),
            *(self._growth(task) for task in compared),
        ]

    def _ratio(self, task: str, other: str, targets: Mapping[str, Target], what: str) -> Figure:
        pairs = list(zip(self._of_all[task], self._of_all[other], strict=True))
        ratio = statistics.median(getattr(ours, what) / getattr(theirs, what) for ours, theirs in pairs)
        details = {
            "seconds": [getattr(ours, what) for ours, _ in pairs],
            "peer_seconds": [getattr(theirs, what) for _, theirs in pairs],
        }
        name = "wall time" if what == "wall" else "processor time"
        return Figure(f"{name} / {other}", task, ratio, "x", targets.get(task), _HOW, details)

    def _busy(self, task: str) -> Figure:
        cores = os.cpu_count() or 1
        share = statistics.median(usage.processor / usage.wall for usage in self._of_all[task]) / cores
        return Figure(f"share of {cores} cores busy", task, share, "", BUSY_TARGETS.get(task), _HOW)

    def _peak(self, task: str) -> Figure:
        usages = self._of_all[task]
        peak = max(_bytes(usage.peak) for usage in usages)
        above = max(_bytes(usage.peak) - _bytes(usage.imported) for usage in usages)
        target = None if task in (READ, PEER) else MEMORY_TARGET
        title = task if math.isnan(above) else f"{task} ({above / _MEGABYTE:.0f} MB above the import)"
        how = "resident, all processes of a task, pages that they share counted for each"
        return Figure("peak memory", title, peak / _MEGABYTE, "MB", target, how, {"imported": usages[0].imported})

    def _growth(self, task: str) -> Figure:
        peak = max(_bytes(usage.peak) for usage in self._of_all[task])
        ratio = peak / _bytes(self._of_tenth[task].peak)
        return Figure("peak memory, all files / a tenth of them", task, ratio, "x", FLAT_TARGET, "the same measure")


def _bytes(size: int | None) -> float:
    return math.nan if size is None else float(size)
