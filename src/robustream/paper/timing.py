"""The speed claims: time and memory of online, distributed and centralized methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators import GeometricMedian
from robustream.bench.fresh import run_fresh
from robustream.bench.memory import peak_above
from robustream.bench.timing import same_threads
from robustream.estimators import OutlierRobustPCA
from robustream.learners import LinearProblem, PrincipalProblem, Trimmed
from robustream.paper.cells import Cell, Memory, Row
from robustream.paper.sizes import Size
from robustream.sources import SimulatedPCA, SimulatedRegression

__all__ = ["SPEED_METHODS", "measure", "speed_cells"]

SPEED_METHODS = ("ORL-PCA", "batch RC-PCA", "DRL", "ours", "batch RoTR", "DRL for regression")
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
    task = _TASKS[method]
    with same_threads(threads):
        # What is compiled and loaded on the first call is not the method's.
        task.run(task.source(2, 20 * columns, columns, components))
        source = task.source(batches, rows, columns, components)
        timings: dict[str, float] = {}
        peak = peak_above(lambda: timings.update(task.run(source)))
    return {**timings, "peak_bytes": peak}


def _components(batches: int, rows: int, columns: int, components: int) -> SimulatedPCA:
    return SimulatedPCA(batches, rows, columns, components, outliers=FRACTION, dtype=np.float32)


def _regression(batches: int, rows: int, columns: int, components: int) -> SimulatedRegression:
    return SimulatedRegression(batches, rows, columns, outliers=FRACTION, dtype=np.float32)


def _online(source: Any, **options: Any) -> dict[str, float]:
    model = OutlierRobustPCA(source.components, **options)
    seconds = 0.0
    for batch in source:
        started = perf_counter()
        model.partial_fit(batch.X)
        seconds += perf_counter() - started
    started = perf_counter()
    _ = model.components_
    return {"seconds": seconds + perf_counter() - started}


def _centralized(source: Any) -> dict[str, float]:
    X: NDArray[Any] = np.empty((source.count * source.rows, source.columns), np.float32)
    y = None if isinstance(source, SimulatedPCA) else np.empty(len(X), np.float32)
    for batch in source:
        place = slice(batch.index * source.rows, (batch.index + 1) * source.rows)
        X[place] = batch.X
        if y is not None:
            y[place] = batch.y
    started = perf_counter()
    _learner(source).estimate(source.batch(0)._replace(X=X, y=y), np.random.default_rng(0))
    return {"seconds": perf_counter() - started}


def _distributed(source: Any) -> dict[str, float]:
    """Time each node by itself, as if all ran at once: the slowest one and the median of their answers count."""
    learner = _learner(source)
    space = learner.space(source.columns, 0 if isinstance(source, SimulatedPCA) else 1)
    nodes, answers = [], []
    for batch in source:
        started = perf_counter()
        point = learner.estimate(batch, np.random.default_rng(0)).point
        nodes.append(perf_counter() - started)
        answers.append(np.asarray(space.express(space.primary, point)))
    started = perf_counter()
    GeometricMedian().settle(space.parts[space.primary].space, answers, np.ones(len(answers)))
    gathered = perf_counter() - started
    return {
        "seconds": max(nodes) + gathered,
        "node_seconds": float(np.median(nodes)),
        "median_seconds": gathered,
        "sent_bytes": float(sum(answer.nbytes for answer in answers)),
    }


def _learner(source: Any) -> Any:
    if isinstance(source, SimulatedPCA):
        return Trimmed(0.5).pca(PrincipalProblem(source.components))
    return Trimmed(0.5).regression(LinearProblem(fit_intercept=False))


class _Task(NamedTuple):
    """The data of a method, and the method."""

    source: Callable[[int, int, int, int], Any]
    run: Callable[[Any], dict[str, float]]


_TASKS = {
    "ORL-PCA": _Task(_components, lambda source: _online(source, learner="trimmed", aggregator="online-median")),
    "ours": _Task(_components, _online),
    "batch RC-PCA": _Task(_components, _centralized),
    "DRL": _Task(_components, _distributed),
    "batch RoTR": _Task(_regression, _centralized),
    "DRL for regression": _Task(_regression, _distributed),
}
