"""Time and memory of online, distributed and centralized methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators import GeometricMedian
from robustream.bench.measurement import peak_above, run_fresh, same_threads
from robustream.estimators import OutlierRobustPCA
from robustream.learners import LinearProblem, PrincipalProblem, Trimmed
from robustream.paper.experiment import Case, Claim, Context, Criterion, Experiment, Table
from robustream.paper.results import Cell, Memory, Results, Row
from robustream.sources import SimulatedPCA, SimulatedRegression

__all__ = ["EXPERIMENT", "SPEED_METHODS", "measure", "speed_cells"]

SPEED_METHODS = ("ORL-PCA", "batch RC-PCA", "DRL", "ours", "batch RoTR", "DRL for regression")
FRACTION = 0.1
# One for all: matrices this small gain nothing from more, and lose a lot on a machine that is not quiet.
THREADS = 1
_CALL = "from robustream.paper.speed import measure\nprint(json.dumps(measure(*arguments)))"


class Speed(NamedTuple):
    """The settings of a cell."""

    method: str
    batches: int
    rows: int
    columns: int
    components: int


def speed_cells(context: Context) -> Iterator[Cell]:
    """Return one cell for each method, which runs alone."""
    size = context.size
    for method in SPEED_METHODS:
        settings = Speed(method, size.batches, size.rows, size.columns, size.components)
        cost = 20 * size.total_rows / 1e6 + 3
        name = method.replace(" ", "-")
        yield Cell("speed", name, run_speed, settings, cost, alone=True, ours=method == "ours")


def run_speed(settings: Speed, memory: Memory) -> list[Row]:
    """Measure in a fresh process: memory that was used before would hide what is used now."""
    measured = run_fresh(_CALL, *settings, THREADS)
    data = settings.batches * settings.rows * settings.columns * 4
    return [{**settings._asdict(), "threads": THREADS, "data_bytes": data, **measured}]


def measure(method: str, batches: int, rows: int, columns: int, components: int, threads: int) -> dict[str, Any]:
    """Return seconds and the peak of memory above the start; rows that must be held count, their making does not."""
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


def _against_online(results: Results, field: str, unit: float) -> list[Case]:
    """Compare batch RC-PCA with ORL-PCA."""
    online, batch = (results.mean(field, method=name) / unit for name in ("ORL-PCA", "batch RC-PCA"))
    return [Case("the same rows and cores", {"ORL-PCA": online, "batch RC-PCA": batch, "factor": batch / online})]


def _against_nodes(results: Results, nodes: str, batch: str) -> list[Case]:
    """Compare the centralized method with the slowest of k nodes and the median of their answers."""
    distributed, centralized = (results.mean("seconds", method=name) for name in (nodes, batch))
    numbers = {"distributed": distributed, "centralized": centralized, "factor": centralized / distributed}
    return [Case(f"{results.mean('batches', method=nodes):.0f} nodes timed one by one", numbers)]


def _communication(results: Results) -> list[Case]:
    """Compare what is sent with the data."""
    some = results.where(method="DRL")
    sent, data = some.mean("sent_bytes"), some.mean("data_bytes")
    return [Case("eigenvectors", {"kB sent": sent / 1e3, "MB of data": data / 1e6, "share": sent / data})]


def _data(results: Results) -> list[Case]:
    """Work out what the rows take; no run is needed for that."""
    megabytes = 1e6 * 100 * 8 / 1e6
    return [Case("1e6 x 100 doubles", {"MB": megabytes, "the paper": 8000.0, "the paper / MB": 8000 / megabytes})]


_PAPER = {"ORL-PCA": ("212 s", "8 MB"), "batch RC-PCA": ("about 27 hours; 60 s", "8,000 MB"), "DRL": ("0.6 s", "")}


def _tables(results: Results) -> Sequence[Table]:
    lines = [
        [
            str(row["method"]),
            f"{row['seconds']:.2f}",
            "-" if row["peak_bytes"] is None else f"{float(row['peak_bytes']) / 1e6:,.0f}",
            *_PAPER.get(str(row["method"]), ("", "")),
        ]
        for row in results.rows
    ]
    size = [f"{row['batches'] * row['rows']:,} x {row['columns']}" for row in results.rows[:1]]  # type: ignore[operator]
    caption = f"{''.join(size)} rows in float32 on {THREADS} thread; the making of data is not counted."
    return (Table(caption, ("method", "seconds", "peak MB", "paper: time", "paper: memory"), lines),)


EXPERIMENT = Experiment(
    name="speed",
    title="Time and memory",
    place="Section 6, Online setting and Distributed setting",
    says=(
        "ORL-PCA takes 212 s and 8 MB; batch RC-PCA about 27 hours and 8,000 MB; distributed 0.6 s, centralized 60 s. "
        "Communication is negligible."
    ),
    setup=(
        "Each method alone in a fresh process. Memory is the peak above the start, rows that must be held included. "
        "For the distributed method the nodes are timed one by one; the slowest and the median of the answers count. "
        "10% outliers, one half trimmed."
    ),
    remark=(
        "Times are upper limits where the machine had other work. 27 hours and 60 seconds are both given for the "
        "centralized method on the same data. ORL-PCA and batch RC-PCA work out the same products: a factor in the "
        "hundreds is a matter of memory and implementation, not of the method."
    ),
    cells=speed_cells,
    pictures=(),
    tables=_tables,
    claims=(
        Claim(
            "Section 6, Online setting",
            "ORL-PCA needs far less memory than batch RC-PCA.",
            partial(_against_online, field="peak_bytes", unit=1e6),
            Criterion("factor", at_least=10),
            printed="8 MB / 8,000 MB",
            reading="peak above the start of the process, MB",
            column="ORL-PCA|batch RC-PCA",
            headline=True,
        ),
        Claim(
            "Section 6, Online setting",
            "ORL-PCA is far quicker than batch RC-PCA.",
            partial(_against_online, field="seconds", unit=1.0),
            Criterion("factor", at_least=10),
            printed="212 s / 27 hours",
            reading="one thread each, seconds",
            column="ORL-PCA|batch RC-PCA",
        ),
        Claim(
            "Section 6, Distributed setting",
            "The distributed way is far quicker than the centralized one.",
            partial(_against_nodes, nodes="DRL", batch="batch RC-PCA"),
            Criterion("factor", at_least=10),
            printed="0.6 s / 60 s",
            column="distributed|centralized",
        ),
        Claim(
            "Section 6, Distributed setting",
            "For regression the distributed way is quicker as well.",
            partial(_against_nodes, nodes="DRL for regression", batch="batch RoTR"),
            Criterion("factor", at_least=10),
            column="distributed|centralized",
        ),
        Claim(
            "Section 6, Distributed setting",
            "Communication is negligible.",
            _communication,
            Criterion("share", at_most=0.01),
        ),
        Claim(
            "Section 6, Online setting",
            "A million rows of 100 columns take 8,000 MB.",
            _data,
            Criterion("the paper / MB", at_most=1.25),
            printed="8,000 MB",
            reading="doubles; the paper's number is ten times too large",
            column="MB",
        ),
    ),
)
