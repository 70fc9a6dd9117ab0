"""`robustream bench distributed`: engines beside bare pools and bare Dask, how work scales, what gathering takes.

The gatherer is measured with simulated partitions: a reply is made in place of a node's work, and everything after that
is the real thing (checksum, checks, aggregator), with as many partitions and coordinates as one likes.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from robustream.aggregators import Filtered
from robustream.batch import Batch
from robustream.bench.measurement import (
    Comparison,
    Figure,
    Step,
    Target,
    compare,
    peak_above,
    run_fresh,
    seconds_of,
)
from robustream.engines import DaskEngine, Engine, InProcessEngine, LocalEngine
from robustream.learners import PrincipalProblem, Refined, Solved
from robustream.learners.base import Learner
from robustream.runs import Layout, Plan, Run
from robustream.runs.distributed import drive_elsewhere
from robustream.sources import open_tables
from robustream.sources.base import Partition
from robustream.spaces import Euclidean, Part, Parts, ProductSpace

__all__ = ["distributed_steps"]

SECONDS = 0.1


def nothing(_: int) -> bytes:
    """Take no time."""
    return b""


def slow_megabyte(_: int) -> bytes:
    """Take a tenth of a second without using the processor, and give a megabyte back."""
    time.sleep(SECONDS)
    return bytes(1_000_000)


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


def _exhaust(engine: Engine, function: Callable[[int], bytes], tasks: int) -> None:
    for result in engine.imap(function, range(tasks)):
        assert result.error is None, result.error


def _overhead(title: str, tasks: int, comparison: Comparison, target: Target) -> Figure:
    return comparison.figure(GROUP, f"{tasks:,} tasks that do nothing, {title}", target, tasks=tasks, workers=WORKERS)


def measure_replies(title: str, make_engine: Callable[[], Engine], repeats: int, target: Target) -> Figure:
    """Time replies of a megabyte through an engine, in multiples of the time that the tasks alone take."""
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


COLUMNS = 100
COMPONENTS = 5
ROWS_IN_FILE = 100_000
ROWS_IN_BATCH = 10_000


def measure_two_workers(rows: int, repeats: int, target: Target) -> Figure:
    """Compare one local worker with two on the same PCA; workers are started before the clock is."""
    plan = Plan(Refined().pca(PrincipalProblem(COMPONENTS)), Filtered())
    with tempfile.TemporaryDirectory(prefix="robustream-bench-") as folder:
        write_table(Path(folder), rows)
        partitions = open_tables(folder).in_batches(ROWS_IN_BATCH).partitions()
        assert partitions is not None

        def fit(engine: LocalEngine) -> None:
            assert drive_elsewhere(Run.begin(plan, Layout(COLUMNS)), partitions, engine).value

        with LocalEngine(n_jobs=1) as one, LocalEngine(n_jobs=2) as two:
            comparison = compare(lambda: fit(one), lambda: fit(two), repeats)
    title = f"PCA of {rows:,} x {COLUMNS} float32 in files, 2 local workers faster than 1"
    return comparison.figure("scaling", title, target, partitions=len(partitions))


def write_table(folder: Path, rows: int) -> None:
    """Write Parquet files of rows around a few directions."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((COMPONENTS, COLUMNS), dtype=np.float32) * 3
    for number, first in enumerate(range(0, rows, ROWS_IN_FILE)):
        count = min(ROWS_IN_FILE, rows - first)
        X = rng.standard_normal((count, COMPONENTS), dtype=np.float32) @ loadings
        X += rng.standard_normal(X.shape, dtype=np.float32)
        table = pa.table({f"x{column}": X[:, column] for column in range(COLUMNS)})
        # Numbers without structure do not compress; trying costs the reader time.
        parquet.write_table(table, folder / f"part-{number:03}.parquet", compression="none", use_dictionary=False)


def measure_gathering(partitions: int, coordinates: int, budget: str) -> Figure:
    """Time the gatherer for each reply, and the answer at the end."""
    found = run_fresh(_CODE, partitions, coordinates, budget)
    return Figure(
        "gathering",
        f"{partitions:,} replies of {coordinates:,} coordinates: gatherer's time for each",
        1000 * found["seconds"] / partitions,
        "ms",
        None,
        "one run in a fresh process with looks at the answer, less the time in which replies are made",
        found,
    )


def measure_gathering_memory(partitions: int, coordinates: int, budget: str, target: Target) -> Figure:
    """Measure how far memory rises, in multiples of its rise with a quarter of the replies: it should be the same."""
    few, many = (run_fresh(_CODE, count, coordinates, budget) for count in (partitions // 4, partitions))
    known = few["peak"] and many["peak"]
    return Figure(
        "gathering",
        f"{partitions:,} replies of {coordinates:,} coordinates, {budget} kept: peak memory beside a quarter of them",
        many["peak"] / few["peak"] if known else math.nan,
        "x",
        target,
        "each in a fresh process, looks at the answer included",
        {"few": few, "many": many},
    )


_CODE = """
import json
from robustream.bench.distributed import gather_peak
print(json.dumps(gather_peak(*arguments)))
"""


@dataclass(frozen=True)
class _Drawing(Learner):
    """Draws a point instead of learning one."""

    coordinates: int

    def space(self, n_columns: int, n_outputs: int) -> ProductSpace:
        return Parts((Part("point", Euclidean((self.coordinates,))),))

    def required_rows(self, n_columns: int) -> int:
        return 1

    def minimum_rows(self, n_columns: int) -> int:
        return 1

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        return Solved((rng.standard_normal(self.coordinates, dtype=np.float32),))


@dataclass(frozen=True)
class _Simulated(Partition):
    first_index: int
    count: int = 1

    @property
    def label(self) -> str:  # type: ignore[override]
        return f"node {self.first_index}"

    def read(self, start: int = 0) -> Iterator[Batch]:
        yield Batch(self.first_index, self.label, np.zeros((1, 1)))


def gather_peak(partitions: int, coordinates: int, budget: str) -> dict[str, Any]:
    """Gather simulated replies; give seconds, bytes, and how far memory rose in each phase; for a fresh process."""
    plan = Plan(_Drawing(coordinates), Filtered(budget=budget))
    nodes = [_Simulated(index) for index in range(partitions)]
    found: dict[str, Any] = {}
    run = Run.begin(plan, Layout(1))
    # What is loaded when it is first needed is loaded before, buffers of the linear algebra too.
    small = Run.begin(Plan(_Drawing(1_000), Filtered()), Layout(1))
    assert drive_elsewhere(small, nodes[:40], InProcessEngine()).value

    def fold() -> None:
        nonlocal run
        started = time.perf_counter()
        run = drive_elsewhere(run, nodes, InProcessEngine())
        found["gathered"] = time.perf_counter() - started
        report = run.nodes
        assert report is not None
        found["working"] = sum(record.seconds for record in report.records)
        found["bytes"] = sum(record.size for record in report.records)

    def answer() -> None:
        started = time.perf_counter()
        assert run.value
        found["settled"] = time.perf_counter() - started

    found["peak"] = peak_above(fold)
    found["answer_peak"] = peak_above(answer)
    found["seconds"] = found["gathered"] - found["working"]
    return found


OVERHEAD_TARGET = Target("<=", 3)
LOCAL_REPLIES_TARGET = Target("<=", 1.15)
DASK_REPLIES_TARGET = Target("<=", 1.25)
SCALING_TARGET = Target(">=", 1.6)
# It is the aggregator's budget that decides, not the number of replies.
MEMORY_TARGET = Target("<=", 1.2)


def distributed_steps(*, quick: bool = False) -> list[Step]:
    """Return all measurements; those of Dask only where it is installed, smaller and fewer ones if quick."""
    repeats = 3 if quick else 7
    rows, partitions = (200_000, 500) if quick else (2_000_000, 2_000)
    local, dask = partial(LocalEngine, n_jobs=WORKERS), partial(DaskEngine, n_workers=WORKERS)
    steps = [
        Step("local engine, tasks that do nothing", partial(measure_local_overhead, 1_000, repeats, OVERHEAD_TARGET)),
        Step(
            "local engine, large replies",
            partial(measure_replies, "local engine", local, repeats, LOCAL_REPLIES_TARGET),
        ),
    ]
    if find_spec("distributed") is not None:
        steps += [
            Step("Dask engine, tasks that do nothing", partial(measure_dask_overhead, 1_000, repeats, OVERHEAD_TARGET)),
            Step(
                "Dask engine, large replies",
                partial(measure_replies, "Dask engine", dask, repeats, DASK_REPLIES_TARGET),
            ),
        ]
    steps.append(Step("two workers and one", partial(measure_two_workers, rows, 1 if quick else 3, SCALING_TARGET)))
    steps += [
        Step(f"gathering, {coordinates:,} coordinates", partial(measure_gathering, partitions, coordinates, "256 MB"))
        for coordinates in (1_000, 100_000)
    ]
    largest = 100_000 if quick else 1_000_000
    steps.append(
        Step("gathering, memory", partial(measure_gathering_memory, partitions, largest, "64 MB", MEMORY_TARGET)),
    )
    return steps
