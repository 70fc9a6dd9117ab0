"""The list of measurements of `robustream bench kernels`, with their targets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from robustream.bench.batches import measure_aggregation, measure_batches
from robustream.bench.figures import Figure, Target
from robustream.bench.kernels import measure_against_partition, measure_against_product, measure_median
from robustream.bench.memory import measure_stream_memory, measure_trimmed_memory
from robustream.bench.startup import measure_first_fit, measure_import
from robustream.bench.streaming import DEFAULT, PAPER, PEER, measure_stream
from robustream.bench.timing import say_threads

__all__ = ["Step", "kernel_steps"]

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


class Step(NamedTuple):
    """One measurement: what to show while it runs, and what to call."""

    title: str
    measure: Callable[[], Figure | list[Figure]]

    def run(self) -> list[Figure]:
        """Return its figures."""
        figures = self.measure()
        return figures if isinstance(figures, list) else [figures]


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
        Step(
            "one batch of the default learner",
            partial(measure_batches, 10_000, COLUMNS, 3 if quick else 9, BATCH_TARGET),
        ),
        Step("one more estimate", partial(measure_aggregation, 1_000, 1_000, 100, 3 if quick else 9, BATCH_TARGET)),
        # 200 columns times 5 components: the batches that estimates of so many coordinates come from.
        Step("one of its batches", partial(measure_aggregation, 1_000, 1_000, 200, 3 if quick else 9, BATCH_TARGET)),
        Step("passes of geometric_median", partial(measure_median, 1_000, 10_000, 1e-8, PASSES_TARGET)),
        Step("import", partial(measure_import, repeats, IMPORT_TARGET)),
        *(
            Step(
                f"first fit of {estimator}",
                partial(measure_first_fit, estimator, 2_000, 20, 1 if quick else 5),
            )
            for estimator in ("TrimmedPCA", "OutlierRobustPCA")
        ),
    ]
