"""`robustream bench stream`: files larger than memory, time and memory beside peers.

Each task reads the same Parquet files, some of them garbage, in a fresh process, which tells its time and its memory;
tasks run in turns, so that whatever else the machine does falls on all of them. `tolerance` has the runs that should
stop by themselves.
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from robustream.bench.measurement import (
    Figure,
    PeakOfTree,
    Step,
    Target,
    processor_seconds,
    resident_of_tree,
    run_fresh,
)
from robustream.bench.tolerance import PROBLEMS, measure_tolerance
from robustream.errors import InvalidInputError

__all__ = ["COMPONENTS", "FILES", "Race", "make_files", "stream_steps"]

COMPONENTS = 5
# A tenth of the files is measured as well: it must be a tenth of each kind.
FILES = 100
BYTES_PER_CELL = np.dtype(np.float32).itemsize
_ROWS_AT_ONCE = 50_000
_MOST_OF_DISK = 0.8


def kind_of_file(place: int) -> str:
    """Tell what a file holds: good rows, rows of another law, or a part of a file that cannot be read.

    >>> [kind_of_file(place) for place in range(10)].count("good")
    8
    """
    return {3: "wrong", 7: "truncated"}.get(place % 10, "good")


def make_files(folder: Path, rows: int, columns: int, seed: int = 0) -> list[Path]:
    """Write the files into a folder, in pieces, and give their paths.

    Files that are there already are taken as they are. Each is written under another name first, so that one that was
    interrupted is not taken for whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{rows}x{columns}-{place:03d}.parquet" for place in range(FILES)]
    absent = [place for place, path in enumerate(paths) if not path.exists()]
    _check_room(folder, len(absent) * (rows // FILES) * columns * BYTES_PER_CELL)
    for place in absent:
        unfinished = paths[place].with_suffix(".unfinished")
        _write(unfinished, _tables(seed, place, rows // FILES, columns))
        if kind_of_file(place) == "truncated":
            os.truncate(unfinished, unfinished.stat().st_size // 2)
        unfinished.rename(paths[place])
    return paths


def _write(path: Path, tables: Iterator[pa.Table]) -> None:
    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _tables(seed: int, place: int, rows: int, columns: int) -> Iterator[pa.Table]:
    directions = _directions(seed, columns)
    rng = np.random.default_rng([seed, place])
    wrong = kind_of_file(place) == "wrong"
    if wrong:
        directions = 3 * directions[:, rng.permutation(columns)]
    names = [f"x{column}" for column in range(columns)]
    for first in range(0, rows, _ROWS_AT_ONCE):
        count = min(_ROWS_AT_ONCE, rows - first)
        X = rng.standard_normal((count, columns), dtype=np.float32)
        X += rng.standard_normal((count, COMPONENTS), dtype=np.float32) @ directions
        yield pa.table(dict(zip(names, np.ascontiguousarray(X.T), strict=True)))


def _directions(seed: int, columns: int) -> NDArray[Any]:
    """Return rows that are orthogonal, with lengths from 6 down to 2 times the noise."""
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(columns, COMPONENTS))).Q
    return (basis * np.linspace(6, 2, COMPONENTS)).T.astype(np.float32)


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > _MOST_OF_DISK * free:
        raise InvalidInputError(
            f"the files need {needed / 1e9:.1f} GB, and {folder} has {free / 1e9:.1f} GB free: ask for fewer rows"
        )


READ = "pyarrow alone"
PEER = "IncrementalPCA"
DEFAULT = "default learner"
TWO = "default learner, n_jobs=2"
LOCAL = "default learner, engine='local'"
TRIMMED = "trimmed learner"
TRIMMED_TWO = "trimmed learner, n_jobs=2"

_CALL = "from robustream.bench import stream\nprint(json.dumps(stream.perform(*arguments)))"


class Usage(NamedTuple):
    """What a task took."""

    wall: float  # seconds
    processor: float  # seconds of all its threads and processes
    imported: int | None  # bytes that were resident before it began
    peak: int | None  # bytes that were resident at most, all its processes together


def use(task: str, paths: Sequence[str], batch_rows: int) -> Usage:
    """Perform a task in a fresh process."""
    return Usage(*run_fresh(_CALL, task, list(paths), batch_rows))


def perform(task: str, paths: Sequence[str], batch_rows: int) -> Usage:
    """Perform a task in this process, which should be fresh."""
    work = TASKS[task](paths, batch_rows)
    imported, begun, used = resident_of_tree(), perf_counter(), processor_seconds()
    with PeakOfTree() as memory:
        work()
    return Usage(perf_counter() - begun, processor_seconds() - used, imported, memory.peak)


def _read(paths: Sequence[str], batch_rows: int) -> Callable[[], Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def work() -> None:
        for path in paths:
            with suppress(pa.ArrowInvalid), pq.ParquetFile(path) as file:
                for _ in file.iter_batches(batch_rows):
                    pass

    return work


def _incremental(paths: Sequence[str], batch_rows: int) -> Callable[[], Any]:
    from sklearn.decomposition import IncrementalPCA
    from threadpoolctl import threadpool_limits

    from robustream.sources.tables.files import Tables

    def work() -> None:
        model = IncrementalPCA(COMPONENTS)
        # One thread for BLAS, as in our own workers: several take many times as long where others use the cores.
        with threadpool_limits(1):
            for batch in Tables(paths).in_batches(batch_rows).batches():
                if batch.failure is None:
                    model.partial_fit(batch.X)

    return work


def _ours(
    paths: Sequence[str], batch_rows: int, *, learner: str = "refined", n_jobs: int | None = None, engine: Any = None
) -> Callable[[], Any]:
    import robustream.kernels._trimmed_tile
    import robustream.sources.tables.files  # noqa: F401
    from robustream.estimators import OutlierRobustPCA
    from robustream.runs.fit import fit

    model = OutlierRobustPCA(COMPONENTS, learner=learner, n_jobs=n_jobs)  # batches as large as it makes them
    return lambda: fit(model, list(paths), engine=engine).components_


# A task imports what it needs, and gives the work that is measured.
TASKS: Mapping[str, Callable[[Sequence[str], int], Callable[[], Any]]] = {
    READ: _read,
    PEER: _incremental,
    DEFAULT: _ours,
    TWO: partial(_ours, n_jobs=2),
    LOCAL: partial(_ours, engine="local"),
    TRIMMED: partial(_ours, learner="trimmed"),
    TRIMMED_TWO: partial(_ours, learner="trimmed", n_jobs=2),
}


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
    batch_rows : the rows of a batch of pyarrow and of IncrementalPCA; ours are as large as it makes them.
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


# Rows and columns that were learned before rows come one by one, and how many of these are timed.
LEARNED, ROW_COLUMNS, ROWS_TIMED = 100_000, 20, 400
ROW_TARGET = Target("<=", 1)


def measure_single_rows() -> list[Figure]:
    """Score and learn rows one by one after 100,000 others, beside river's linear regression where it is installed."""
    from robustream.estimators import OutlierRobustRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(LEARNED + ROWS_TIMED, ROW_COLUMNS))
    y = X @ rng.normal(size=ROW_COLUMNS) + rng.normal(size=len(X))
    model = OutlierRobustRegressor()
    for first in range(0, LEARNED, 1_000):
        model.partial_fit(X[first : first + 1_000], y[first : first + 1_000])
    begun = perf_counter()
    for row in range(LEARNED, len(X)):
        model.predict(X[row : row + 1])
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    taken = 1e3 * (perf_counter() - begun) / ROWS_TIMED
    how, group = f"mean of {ROWS_TIMED} rows", f"one row scored and learned, {ROW_COLUMNS} columns"
    figures = [Figure(group, f"after {LEARNED:,} rows", taken, "ms", ROW_TARGET, how)]
    if find_spec("river") is not None:
        figures.append(Figure(group, "river's LinearRegression", _river_milliseconds(X, y), "ms", None, how))
    return figures


def _river_milliseconds(X: NDArray[Any], y: NDArray[Any]) -> float:
    model = import_module("river.linear_model").LinearRegression()
    rows = [dict(enumerate(row)) for row in X[-ROWS_TIMED:].tolist()]
    begun = perf_counter()
    for row, target in zip(rows, y[-ROWS_TIMED:].tolist(), strict=True):
        model.predict_one(row)
        model.learn_one(row, target)
    return 1e3 * (perf_counter() - begun) / ROWS_TIMED


BATCH_ROWS = 10_000
TOLERANCE_TARGET = Target(">=", 93)


def stream_steps(folder: Path, rows: int, columns: int, *, quick: bool = False) -> list[Step]:
    """Return all measurements; quick ones with fewer turns and runs, and the same targets."""
    race = Race(folder, rows, columns, BATCH_ROWS, 1 if quick else 3)
    steps = [Step("rows one by one", measure_single_rows), *race.steps()]
    for learner, runs in (("classical", 25 if quick else 100), ("refined", 5 if quick else 25)):
        for problem in PROBLEMS:
            target = TOLERANCE_TARGET if runs >= 100 else None
            call = partial(measure_tolerance, problem, learner, runs, target)
            steps.append(Step(f"tolerance: {problem.title}, {learner}", call))
    return steps
