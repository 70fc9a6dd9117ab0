"""`robustream bench scale`: a regression over a billion rows that are made as they are read, a tenth of them bad.

The rows of a batch are made anew from its number, so that the run can be killed and resumed, and needs no disk. Making
them takes time of its own, on the thread that reads ahead; it is measured alone on a few batches and shown beside. With
a folder the rows are written to Parquet files first, and read from these.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from robustream.batch import Batch
from robustream.bench.measurement import Figure, PeakOfTree, Target, resident_of_tree
from robustream.errors import RowsLeftOutWarning
from robustream.estimators import OutlierRobustRegressor
from robustream.runs.fit import fit
from robustream.runs.progress import FitEvent
from robustream.sources.base import Source

__all__ = ["Scale", "ScaledRows", "measure_scale", "write_files"]

BATCH_ROWS = 100_000
BAD = 0.1
# The issue of scale: a billion rows in half an hour and in a gigabyte.
FASTEST, MEMORY = Target(">=", 1e9 / 1800), Target("<", 1000)
_SAMPLED = 5  # batches of which the making is timed


class Scale(NamedTuple):
    """How much there is."""

    rows: int = 1_000_000_000
    columns: int = 20
    seed: int = 0

    @property
    def batches(self) -> int:
        """The number of batches; the last may be smaller."""
        return -(-self.rows // BATCH_ROWS)


class ScaledRows(Source):
    """Batches of y = x'b + noise, of which a tenth of the rows lies 10 noise scales above the line."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.coef = np.random.default_rng(scale.seed).normal(size=scale.columns).astype(np.float32)
        # Normal numbers take longer to draw than a fit takes for them: rows are taken from one table of these, each
        # with its own scale, so that no two rows are equal, and noise of its own.
        self._table = np.random.default_rng([scale.seed, 1]).standard_normal(
            (BATCH_ROWS + 1, scale.columns), dtype=np.float32
        )

    @property
    def count(self) -> int:
        """The number of batches."""
        return self.scale.batches

    def fingerprint(self) -> str:
        """Return what tells these rows from others."""
        return f"scale {tuple(self.scale)}"

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """Yield the batches from a number on."""
        for index in range(start, self.count):
            yield self.batch(index)

    def batch(self, index: int) -> Batch:
        """Return one batch, which its number alone decides."""
        rng = np.random.default_rng([self.scale.seed, 2, index])
        rows = min(BATCH_ROWS, self.scale.rows - index * BATCH_ROWS)
        shift = int(rng.integers(BATCH_ROWS))
        size = rng.random(rows, dtype=np.float32) + np.float32(0.5)
        X = np.roll(self._table[:-1], shift, axis=0)[:rows] * size[:, None]
        y = X @ self.coef + rng.standard_normal(rows, dtype=np.float32)
        y[rng.random(rows, dtype=np.float32) < BAD] += 10
        return Batch(index, f"rows {index * BATCH_ROWS:,} and on", X, y)


def write_files(source: ScaledRows, folder: Path) -> list[Path]:
    """Write the batches to Parquet files, those that are there already left as they are, and return their paths."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for index in range(source.count):
        path = folder / f"scale-{source.scale.rows}x{source.scale.columns}-{index:06d}.parquet"
        paths.append(path)
        if not path.exists():
            batch = source.batch(index)
            columns = {f"x{place}": column for place, column in enumerate(np.ascontiguousarray(batch.X.T))}
            unfinished = path.with_suffix(".unfinished")
            pq.write_table(pa.table({**columns, "y": batch.y}), unfinished)
            unfinished.rename(path)
    return paths


def measure_scale(
    scale: Scale, checkpoint: Path, *, folder: Path | None = None, n_jobs: int = 1, progress: bool = False
) -> list[Figure]:
    """Fit all rows, going on from the checkpoint if there is one, and return rows a second, memory and error."""
    source = ScaledRows(scale)
    paths = None if folder is None else [str(path) for path in write_files(source, folder)]
    begun = perf_counter()
    for index in range(min(_SAMPLED, source.count)):
        source.batch(index)
    making = (perf_counter() - begun) / min(_SAMPLED, source.count)
    before, first = resident_of_tree(), list[int]()

    def note(event: FitEvent) -> None:
        if not first:
            first.append(event.rows - event.estimate.rows)

    model = OutlierRobustRegressor(n_jobs=n_jobs, batch_size=BATCH_ROWS)
    with PeakOfTree() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsLeftOutWarning)
        begun = perf_counter()
        given = source if paths is None else paths
        fit(
            model,
            given,
            target=None if paths is None else "y",
            checkpoint=checkpoint,
            resume=True,
            callbacks=[note],
            progress=progress,
        )
        taken = perf_counter() - begun
    done = model.n_samples_seen_ - (first[0] if first else model.n_samples_seen_)
    error = float(np.linalg.norm(model.coef_ - source.coef))
    # The noise has variance 1 and each column E[size^2] = 13/12; a tenth of the rows is left out.
    ideal = float(np.sqrt(scale.columns / ((1 - BAD) * scale.rows * 13 / 12)))
    title = f"{scale.rows:,} x {scale.columns}, 10% bad rows, {'made as read' if paths is None else 'Parquet'}"
    peak = float("nan") if memory.peak is None else memory.peak / 1e6
    details = {"seconds": taken, "rows of this run": done, "before": before, "seconds to make a batch": making}
    rate = done / taken if done else float("nan")
    minutes = scale.rows / rate / 60 if done else float("nan")
    return [
        Figure("rows a second", f"{title} ({minutes:.2g} minutes for all)", rate, "", FASTEST, "this run", details),
        Figure("rows a second", "the same rows made and not fitted", BATCH_ROWS / making, ""),
        Figure("peak memory", title, peak, "MB", MEMORY, "resident, all processes"),
        Figure(
            "error / that of least squares on the clean rows", title, error / ideal, "x", Target("<=", 1.5), "theory"
        ),
    ]
