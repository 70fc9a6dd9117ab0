"""The speed claims: time and memory of online, distributed and centralized principal components."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.bench.fresh import run_fresh
from robustream.bench.memory import peak_above
from robustream.bench.timing import same_threads
from robustream.estimators import OutlierRobustPCA
from robustream.kernels.median import geometric_median
from robustream.learners import PrincipalProblem, Trimmed
from robustream.paper.cells import Cell, Memory, Row
from robustream.paper.sizes import Size
from robustream.sources import SimulatedPCA
from robustream.spaces import Subspace

__all__ = ["SPEED_METHODS", "measure", "speed_cells"]

SPEED_METHODS = ("ORL-PCA", "batch RC-PCA", "DRL", "ours")
FRACTION = 0.1
# One for all: matrices this small gain nothing from more, and lose a lot on a machine that is not quiet.
THREADS = 1
_CALL = "from robustream.paper.timing import measure\nprint(json.dumps(measure(*arguments)))"


class Speed(NamedTuple):
    """The settings of a cell."""

    method: str
    batches: int
    rows: int
    columns: int
    components: int


def speed_cells(size: Size) -> Iterator[Cell]:
    """Give one cell for each method, which runs alone."""
    for method in SPEED_METHODS:
        settings = Speed(method, size.batches, size.rows, size.columns, size.components)
        cost = 20 * size.total_rows / 1e6 + 3
        yield Cell("speed", method.replace(" ", "-"), run_speed, settings, cost, alone=True)


def run_speed(settings: Speed, memory: Memory) -> list[Row]:
    """Measure in a fresh process: memory that was used before would hide what is used now."""
    measured = run_fresh(_CALL, *settings, THREADS)
    data = settings.batches * settings.rows * settings.columns * 4
    return [{**settings._asdict(), "threads": THREADS, "data_bytes": data, **measured}]


def measure(method: str, batches: int, rows: int, columns: int, components: int, threads: int) -> dict[str, Any]:
    """Give seconds and the peak of memory above the start; rows that must be held count, their making does not."""
    with same_threads(threads):
        # What is compiled and loaded on the first call is not the method's.
        _ACTIONS[method](SimulatedPCA(2, 20 * columns, columns, components, dtype=np.float32))
        source = SimulatedPCA(batches, rows, columns, components, outliers=FRACTION, dtype=np.float32)
        timings: dict[str, float] = {}
        peak = peak_above(lambda: timings.update(_ACTIONS[method](source)))
    return {**timings, "peak_bytes": peak}


def _online(source: SimulatedPCA, **options: Any) -> dict[str, float]:
    model = OutlierRobustPCA(source.components, **options)
    seconds = 0.0
    for batch in source:
        started = perf_counter()
        model.partial_fit(batch.X)
        seconds += perf_counter() - started
    started = perf_counter()
    _ = model.components_
    return {"seconds": seconds + perf_counter() - started}


def _centralized(source: SimulatedPCA) -> dict[str, float]:
    X: NDArray[Any] = np.empty((source.count * source.rows, source.columns), np.float32)
    for batch in source:
        X[batch.index * source.rows : (batch.index + 1) * source.rows] = batch.X
    started = perf_counter()
    _learner(source).estimate(source.batch(0)._replace(X=X), np.random.default_rng(0))
    return {"seconds": perf_counter() - started}


def _distributed(source: SimulatedPCA) -> dict[str, float]:
    """Time each node by itself, as if all ran at once: the slowest one and the median of their answers count."""
    learner = _learner(source)
    nodes, bases = [], []
    for batch in source:
        started = perf_counter()
        point = learner.estimate(batch, np.random.default_rng(0)).point
        nodes.append(perf_counter() - started)
        assert point is not None
        bases.append(np.asarray(point[2]))
    started = perf_counter()
    geometric_median(Subspace(source.columns, source.components).coordinates(bases))
    gathered = perf_counter() - started
    return {
        "seconds": max(nodes) + gathered,
        "node_seconds": float(np.median(nodes)),
        "median_seconds": gathered,
        "sent_bytes": float(sum(basis.nbytes for basis in bases)),
    }


def _learner(source: SimulatedPCA) -> Any:
    return Trimmed(0.5).pca(PrincipalProblem(source.components))


_ACTIONS: dict[str, Callable[[SimulatedPCA], dict[str, float]]] = {
    "ORL-PCA": lambda source: _online(source, learner="trimmed", aggregator="online-median"),
    "ours": _online,
    "batch RC-PCA": _centralized,
    "DRL": _distributed,
}
