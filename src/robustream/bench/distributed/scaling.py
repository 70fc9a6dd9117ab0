"""Two workers against one, on a table in files that they read themselves."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from robustream.aggregators import Filtered
from robustream.bench.figures import Figure, Target
from robustream.bench.timing import MEDIAN_OF_RATIOS, compare
from robustream.engines import LocalEngine
from robustream.learners import PrincipalProblem, Refined
from robustream.runs.distributed import gather
from robustream.runs.online import Plan, begin, settle
from robustream.sources import open_tables

__all__ = ["measure_two_workers"]

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
            settle(plan, gather(plan, begin(plan, COLUMNS, 0), partitions, engine).stream)

        with LocalEngine(n_jobs=1) as one, LocalEngine(n_jobs=2) as two:
            comparison = compare(lambda: fit(one), lambda: fit(two), repeats)
    return Figure(
        "scaling",
        f"PCA of {rows:,} x {COLUMNS} float32 in files, 2 local workers faster than 1",
        comparison.ratio,
        "x",
        target,
        MEDIAN_OF_RATIOS,
        {"partitions": len(partitions), **comparison.details()},
    )


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
