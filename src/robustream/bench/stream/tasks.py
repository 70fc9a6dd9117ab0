"""What is measured: each task reads the same files in a fresh process, which tells its time and its memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

from robustream.bench.fresh import run_fresh
from robustream.bench.stream.data import COMPONENTS
from robustream.bench.stream.usage import PeakOfTree, processor_seconds, resident_of_tree

__all__ = ["DEFAULT", "LOCAL", "PEER", "READ", "TASKS", "TRIMMED", "TRIMMED_TWO", "TWO", "Usage", "perform", "use"]

READ = "pyarrow alone"
PEER = "IncrementalPCA"
DEFAULT = "default learner"
TWO = "default learner, n_jobs=2"
LOCAL = "default learner, engine='local'"
TRIMMED = "trimmed learner"
TRIMMED_TWO = "trimmed learner, n_jobs=2"

_CALL = "from robustream.bench.stream import tasks\nprint(json.dumps(tasks.perform(*arguments)))"


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
    from robustream.fitting import fit

    model = OutlierRobustPCA(COMPONENTS, learner=learner, batch_size=batch_rows, n_jobs=n_jobs)
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
