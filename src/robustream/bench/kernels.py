"""`robustream bench kernels`: the kernels, one batch, one stream, memory and start, beside NumPy and scikit-learn."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from functools import partial
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import IncrementalPCA
from sklearn.linear_model import HuberRegressor

from robustream.aggregators import Filtered
from robustream.batch import Batch, Estimate
from robustream.bench.measurement import (
    Comparison,
    Figure,
    Step,
    Target,
    compare,
    peak_above,
    run_fresh,
    same_threads,
    say_threads,
)
from robustream.estimators import OutlierRobustPCA
from robustream.kernels.median import geometric_median
from robustream.kernels.reference import kept_count
from robustream.kernels.trimmed import trimmed_covariance
from robustream.learners import Learner, LinearProblem, PrincipalProblem, Refined
from robustream.sources import SimulatedPCA
from robustream.spaces import Euclidean, Part, Parts

__all__ = ["kernel_steps"]


def measure_against_product(
    rows: int, columns: int, trim: float, threads: int, repeats: int, target: Target | None = None
) -> Figure:
    """Time `trimmed_covariance` in multiples of `X.T @ X`."""
    X = _normal(rows, columns)
    with same_threads(threads):
        times = compare(lambda: trimmed_covariance(X, trim), lambda: X.T @ X, repeats)
    size = f"{rows:,} x {columns} float32, trim {trim}, {say_threads(threads)}"
    return times.figure("trimmed_covariance", f"trimmed_covariance: time against X.T @ X, {size}", target)


def measure_against_partition(
    rows: int, columns: int, trim: float, threads: int, repeats: int, target: Target | None = None
) -> Figure:
    """Return how many times faster `trimmed_covariance` is than `partition_covariance`."""
    X = _normal(rows, columns)
    with same_threads(threads):
        times = compare(lambda: trimmed_covariance(X, trim), lambda: partition_covariance(X, trim), repeats)
    size = f"{rows:,} x {columns} float32, trim {trim}, {say_threads(threads)}"
    title = f"trimmed_covariance: speed against np.partition, {size}"
    return times.figure("trimmed_covariance", title, target)._replace(value=1 / times.ratio)


def partition_covariance(X: NDArray[Any], trim: float) -> NDArray[Any]:
    """Do what `trimmed_covariance` does in NumPy, as fast as a careful user would have it.

    Only half of the pairs, columns one behind the other, kept products summed by a dot product with their mask;
    ties at the border are all kept, which is cheaper than sharing the places left.
    """
    columns = np.ascontiguousarray(X.T)
    count, rows = columns.shape
    kept = kept_count(rows, trim)
    result = np.empty((count, count), X.dtype)
    products, magnitudes = np.empty(rows, X.dtype), np.empty(rows, X.dtype)
    for i in range(count):
        for j in range(i, count):
            np.multiply(columns[i], columns[j], out=products)
            np.abs(products, out=magnitudes)
            threshold = np.partition(magnitudes, kept - 1)[kept - 1]
            result[i, j] = result[j, i] = products.dot(magnitudes <= threshold) / kept
    return result


def measure_median(points: int, dimension: int, tolerance: float, target: Target | None = None) -> Figure:
    """Count how often `geometric_median` reads the points until its certified relative gap is small enough."""
    cloud = np.random.default_rng(0).standard_normal((points, dimension))
    _, info = geometric_median(cloud, tolerance=tolerance, return_info=True)
    return Figure(
        "geometric_median",
        f"geometric_median: passes over {points:,} points in {dimension:,} dimensions to a relative gap of "
        f"{tolerance:g}",
        # A gap that was not reached makes the number of passes worthless.
        float(info.passes) if info.relative_gap <= tolerance else float("inf"),
        "passes",
        target,
        "counted in one run",
        {"relative_gap": info.relative_gap, "passes": info.passes},
    )


def _normal(rows: int, columns: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)


COMPONENTS = 5
_CONTAMINATED = 0.2


def measure_batches(rows: int, columns: int, repeats: int, target: Target | None = None) -> list[Figure]:
    """Compare a refined batch with IncrementalPCA.partial_fit and HuberRegressor.fit, with and without bad rows."""
    figures = []
    for kind, share in (("clean", 0.0), (f"{_CONTAMINATED:.0%} bad rows", _CONTAMINATED)):
        X, y = _rows(rows, columns, share)
        # The later index spares the learner the standard errors that only the first batches need.
        batch = Batch(100, "", X, y)
        size = f"{rows:,} x {columns} float32, {kind}, 1 thread"
        for title, learner, peer in (
            (
                "PCA against IncrementalPCA.partial_fit",
                Refined().pca(PrincipalProblem(COMPONENTS)),
                lambda X=X: IncrementalPCA(COMPONENTS).partial_fit(X),
            ),
            (
                "regression against HuberRegressor.fit",
                Refined().regression(LinearProblem()),
                lambda X=X, y=y: HuberRegressor().fit(X, y),
            ),
        ):
            with same_threads(1):
                times = compare(partial(_estimate, learner, batch), peer, repeats)
            figures.append(times.figure("batch", f"refined {title}, {size}", target))
    return figures


def _estimate(learner: Learner, batch: Batch) -> Estimate:
    return learner.estimate(batch, np.random.default_rng(0))


def measure_aggregation(
    estimates: int, coordinates: int, columns: int, repeats: int, target: Target | None = None
) -> Figure:
    """Compare the filtered value after one more estimate with the refined PCA (5 components) of one batch."""
    rng = np.random.default_rng(0)
    aggregator = Filtered()
    state = aggregator.init(Parts((Part("vector", Euclidean((coordinates,))),)))
    for index in range(estimates):
        state, _ = aggregator.step(state, Estimate(index, "", 1, (rng.normal(size=coordinates),)))
    X, _ = _rows(10_000, columns, 0.0)
    learner = Refined().pca(PrincipalProblem(5))

    def one_more() -> None:
        after, _ = aggregator.step(state, Estimate(estimates, "", 1, (rng.normal(size=coordinates),)))
        aggregator.value(after)

    with same_threads(1):
        times = compare(one_more, partial(_estimate, learner, Batch(100, "", X)), repeats)
    title = (
        f"filtered value of {estimates:,} estimates of {coordinates:,} coordinates against a refined PCA batch "
        f"of 10,000 x {columns}"
    )
    return times.figure("batch", title, target)


def _rows(rows: int, columns: int, share: float) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    y = (X @ rng.standard_normal(columns) + rng.standard_normal(rows)).astype(np.float32)
    bad = slice(0, int(share * rows))
    X[bad], y[bad] = 10 * rng.uniform(-1, 1, X[bad].shape), -10 * y[bad]
    return X, y


MEGABYTE = 1e6
HOW = "peak of the resident set in a fresh process, one run"
_CALL = "from robustream.bench import kernels\nprint(json.dumps(kernels.{name}(*arguments)))"


def measure_trimmed_memory(rows: int, columns: int, trim: float, threads: int, target: Target | None = None) -> Figure:
    """Return what `trimmed_covariance` needs beyond input and output, in multiples of one column."""
    extra = run_fresh(_CALL.format(name="trimmed_peak"), rows, columns, trim, threads)
    return Figure(
        "memory",
        f"trimmed_covariance, beyond input and output, {rows:,} x {columns} float32, {say_threads(threads)}",
        _number(extra) / (rows * np.dtype(np.float32).itemsize),
        "columns",
        target,
        HOW,
        {"bytes": extra},
    )


def measure_stream_memory(
    model: str, batches: int, rows: int, columns: int, threads: int, target: Target | None = None
) -> Figure:
    """Return what a model needs above the import and beyond one batch, over a stream."""
    # A first run leaves compiled code behind, as an earlier use of the library would have.
    run_fresh(_CALL.format(name="stream_peak"), model, 1, rows, columns, threads)
    peak = run_fresh(_CALL.format(name="stream_peak"), model, batches, rows, columns, threads)
    batch = rows * columns * np.dtype(np.float32).itemsize
    return Figure(
        "memory",
        f"{model}, above the import (with Numba) and one batch, {batches} batches of {rows:,} x {columns} float32",
        (_number(peak) - batch) / MEGABYTE,
        "MB",
        target,
        HOW,
        {"bytes": peak, "batch_bytes": batch},
    )


def trimmed_peak(rows: int, columns: int, trim: float, threads: int) -> int | None:
    """Return the bytes that `trimmed_covariance` needs beyond input and output; for a fresh process."""
    rng = np.random.default_rng(0)
    with same_threads(threads):
        # Code is compiled and threads are started on an input too small to leave memory behind.
        trimmed_covariance(rng.standard_normal((256, columns), dtype=np.float32), trim)
        X = np.empty((rows, columns), np.float32)
        rng.standard_normal(out=X, dtype=np.float32)
        output = columns * columns * X.itemsize
        peak = peak_above(lambda: trimmed_covariance(X, trim))
    return None if peak is None else max(0, peak - output)


def stream_peak(model: str, batches: int, rows: int, columns: int, threads: int) -> int | None:
    """Return the peak in bytes above the import of a model that sees a stream; for a fresh process.

    The library loads Numba when it is first needed; here that counts as part of the import.
    """
    import robustream.kernels._trimmed_tile  # noqa: F401

    estimator = MODELS[model]()
    rng = np.random.default_rng(0)

    def run() -> None:
        batch: NDArray[Any] = np.empty((rows, columns), np.float32)
        for _ in range(batches):
            rng.standard_normal(out=batch, dtype=np.float32)
            estimator.partial_fit(batch)
        _ = estimator.components_

    with same_threads(threads):
        return peak_above(run)


def _number(value: int | None) -> float:
    return math.nan if value is None else float(value)


_IMPORT = """
from time import perf_counter
started = perf_counter()
exec(arguments[0])
print(json.dumps(perf_counter() - started))
"""

_FIRST_FIT = """
from time import perf_counter
import numpy
import robustream
name, rows, columns = arguments
X = numpy.random.default_rng(0).standard_normal((rows, columns))
model = getattr(robustream, name)()
seconds = []
for _ in range(2):
    started = perf_counter()
    model.fit(X).components_
    seconds.append(perf_counter() - started)
print(json.dumps(seconds))
"""


def measure_import(repeats: int, target: Target | None = None) -> Figure:
    """Time the import of all that robustream exports in multiples of `import sklearn`, each in a fresh process."""
    seconds: dict[str, list[float]] = {"from robustream import *": [], "import sklearn": []}
    # The first round reads files that no one has read yet, and does not count.
    for repeat in range(repeats + 1):
        for statement, samples in seconds.items():
            sample = run_fresh(_IMPORT, statement)
            if repeat:
                samples.append(sample)
    title = "from robustream import * against import sklearn, fresh processes"
    return Comparison(*seconds.values()).figure("start", title, target)


def measure_first_fit(estimator: str, rows: int, columns: int, repeats: int) -> list[Figure]:
    """Time the first fit in a fresh process, with an empty and with a filled cache of compiled code."""
    with TemporaryDirectory() as folder:
        environment = {"NUMBA_CACHE_DIR": folder}
        cold = run_fresh(_FIRST_FIT, estimator, rows, columns, environment=environment)
        warm = [run_fresh(_FIRST_FIT, estimator, rows, columns, environment=environment) for _ in range(repeats)]
    medians = [statistics.median(seconds) for seconds in zip(*warm, strict=True)]
    figures = (("cold", *cold, "one run"), ("warm", *medians, f"median of {repeats}"))
    return [
        Figure(
            "start",
            f"first fit of {estimator}, {rows:,} x {columns}, {kind} Numba cache",
            first,
            "s",
            how=f"{how}, without the import",
            details={"second_fit_seconds": second},
        )
        for kind, first, second, how in figures
    ]


PEER = "IncrementalPCA"
PAPER = "ORL-PCA"
DEFAULT = "OutlierRobustPCA with its defaults"
MODELS: Mapping[str, Callable[[], Any]] = {
    PAPER: lambda: OutlierRobustPCA(COMPONENTS, learner="trimmed", aggregator="online-median"),
    DEFAULT: lambda: OutlierRobustPCA(COMPONENTS),
    PEER: lambda: IncrementalPCA(COMPONENTS),
}


def measure_stream(
    batches: int, rows: int, columns: int, threads: int, targets: Mapping[str, Target] | None = None
) -> list[Figure]:
    """Time each model over a stream in multiples of scikit-learn's; the batches are made off the clock."""
    stream = SimulatedPCA(batches, rows, columns, COMPONENTS, outliers=0.1, dtype=np.float32)
    models = {name: make() for name, make in MODELS.items()}
    seconds = dict.fromkeys(models, 0.0)
    names = list(models)
    with same_threads(threads):
        # One batch for models that are thrown away: code is compiled or loaded off the clock too.
        for make in MODELS.values():
            _ = make().partial_fit(stream.batch(0).X).components_
        for batch in stream:
            for name in names:
                started = perf_counter()
                models[name].partial_fit(batch.X)
                seconds[name] += perf_counter() - started
            # Whoever comes first finds the batch in no cache, so the first place goes round.
            names.append(names.pop(0))
        for name, model in models.items():
            started = perf_counter()
            _ = model.components_
            seconds[name] += perf_counter() - started
    return [
        Figure(
            "stream",
            f"{name} against {PEER}, {batches} batches of {rows:,} x {columns} float32, {say_threads(threads)}",
            seconds[name] / seconds[PEER],
            "x",
            (targets or {}).get(name),
            "ratio of the total times, each batch goes to all models in turns",
            {"seconds": seconds[name], "peer_seconds": seconds[PEER]},
        )
        for name in models
        if name != PEER
    ]


COLUMNS = 100
PRODUCT_TARGETS = {10_000: Target("<=", 20, aim=12), 100_000: Target("<=", 15)}
PARTITION_TARGET = Target(">=", 20)
# "A few columns": blocks of rows and the products near the thresholds of one tile, for each thread.
COLUMNS_TARGET = Target("<=", 8)
STREAM_TARGETS = {PAPER: Target("<", 1)}
STREAM_MEMORY_TARGET = Target("<=", 100)
BATCH_TARGET = Target("<=", 1)
PASSES_TARGET = Target("<=", 60)
IMPORT_TARGET = Target("<", 2)


def kernel_steps(threads: int, *, quick: bool = False) -> list[Step]:
    """Return all measurements; quick ones use fewer repeats and shorter streams, and the same targets."""
    return [*_product_steps(threads, quick), *_memory_steps(threads, quick), *_other_steps(threads, quick)]


def _product_steps(threads: int, quick: bool) -> list[Step]:
    steps = []
    for count in sorted({1, threads}):
        for rows, target in PRODUCT_TARGETS.items():
            repeats = (7 if rows <= 10_000 else 3) if quick else (21 if rows <= 10_000 else 9)
            for trim in (0.2, 0.5):
                call = partial(measure_against_product, rows, COLUMNS, trim, count, repeats, target)
                steps.append(Step(f"X.T @ X, {rows:,} rows, trim {trim}, {say_threads(count)}", call))
    for count in sorted({1, threads}):
        call = partial(measure_against_partition, 10_000, COLUMNS, 0.2, count, 1 if quick else 5, PARTITION_TARGET)
        steps.append(Step(f"np.partition, {say_threads(count)}", call))
    return steps


def _memory_steps(threads: int, quick: bool) -> list[Step]:
    steps = []
    for rows in (100_000,) if quick else (100_000, 1_000_000):
        # At 100,000 rows buffers of a fixed size (8 MB a thread) are many columns; they must not grow from there.
        target = COLUMNS_TARGET if rows > 100_000 else None
        call = partial(measure_trimmed_memory, rows, COLUMNS, 0.2, threads, target)
        steps.append(Step(f"memory of trimmed_covariance of {rows:,} rows", call))
    batches = 10 if quick else 100
    for model, target in ((PAPER, STREAM_MEMORY_TARGET), (DEFAULT, None), (PEER, None)):
        if target is not None or not quick:
            call = partial(measure_stream_memory, model, batches, 10_000, COLUMNS, threads, target)
            steps.append(Step(f"memory of {model} over a stream", call))
    return steps


def _other_steps(threads: int, quick: bool) -> list[Step]:
    batches = 10 if quick else 100
    repeats = 3 if quick else 9
    return [
        Step(
            "PCA over a stream against IncrementalPCA",
            partial(measure_stream, batches, 10_000, COLUMNS, threads, STREAM_TARGETS),
        ),
        Step("one batch of the default learner", partial(measure_batches, 10_000, COLUMNS, repeats, BATCH_TARGET)),
        Step("one more estimate", partial(measure_aggregation, 1_000, 1_000, 100, repeats, BATCH_TARGET)),
        # 200 columns times 5 components: the batches that estimates of so many coordinates come from.
        Step("one of its batches", partial(measure_aggregation, 1_000, 1_000, 200, repeats, BATCH_TARGET)),
        Step("passes of geometric_median", partial(measure_median, 1_000, 10_000, 1e-8, PASSES_TARGET)),
        Step("import", partial(measure_import, repeats, IMPORT_TARGET)),
        *(
            Step(f"first fit of {estimator}", partial(measure_first_fit, estimator, 2_000, 20, 1 if quick else 5))
            for estimator in ("TrimmedPCA", "OutlierRobustPCA")
        ),
    ]
