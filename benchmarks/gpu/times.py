"""Times of the kernels at the paper's sizes, beside the floors."""

from __future__ import annotations

import cupy
import numpy as np
from common import FLOAT, Floors, Results, milliseconds

from robustream.kernels.gpu import trimmed_pairs
from robustream.kernels.gpu.selection import column_medians


def time_kernels(results: Results, floors: Floors) -> None:
    X = cupy.random.standard_normal((1_000_000, 100), dtype=FLOAT)
    product = milliseconds(lambda: X.T @ X)
    results.add("plain float32 product X'X, 1,000,000 x 100", f"{product:.3f} ms", note="for comparison")
    for rows in (1_000_000, 100_000, 10_000):
        table = X[:rows]
        taken = milliseconds(lambda table=table: trimmed_pairs.trimmed_covariance(table, 0.2), 21)
        # At least: multiply, compare, count; then multiply, compare twice, add, count, collect.
        least = 9 * rows * 5050 / floors.issue * 1e3
        read = 2 * table.nbytes / floors.read / 1e9
        results.add(
            f"trimmed_covariance {rows:,} x 100 float32, trim 0.2",
            f"{taken:.3f} ms",
            f"instructions {least:.3f} ms, bytes {read:.3f} ms",
            f"{least / taken:.0%}, {read / taken:.0%}",
            f"{taken / product:.1f} times the plain product" if rows == 1_000_000 else "",
        )
    whole = cupy.round(2 * X)
    taken = milliseconds(lambda: trimmed_pairs.trimmed_covariance(whole, 0.2), 5)
    results.add("the same, 1,000,000 rows of few levels", f"{taken:.1f} ms", note="every pair ties: digit by digit")
    taken = milliseconds(lambda: column_medians(X))
    read = X.nbytes / floors.read / 1e9
    results.add("column medians 1,000,000 x 100", f"{taken:.3f} ms", f"bytes {read:.3f} ms", f"{read / taken:.0%}")
    whole = None
    X = cupy.random.standard_normal((500_000, 4096), dtype=FLOAT)
    Y = cupy.random.standard_normal((500_000, 200), dtype=FLOAT)
    taken = milliseconds(lambda: trimmed_pairs.trimmed_cross(X, Y, 0.2), 3, 1)
    least = 9 * 500_000 * 4096 * 200 / floors.issue * 1e3
    read = 2 * (X.nbytes + Y.nbytes) / floors.read / 1e9
    results.add(
        "trimmed_cross 4,096 x 200 real targets x 500,000 rows",
        f"{taken:.1f} ms",
        f"instructions {least:.1f} ms, bytes {read:.1f} ms",
        f"{least / taken:.0%}, {read / taken:.0%}",
    )
    signs = cupy.where(Y > 0, 1, -1).astype(FLOAT)
    for table, name in ((X, "float32"), (X.astype(np.float16), "float16")):
        taken = milliseconds(lambda table=table: trimmed_pairs.trimmed_cross(table, signs, 0.2), 5)
        read = (table.nbytes + signs.nbytes) / floors.read / 1e9
        least = 2 * 500_000 * 4096 * 200 / floors.single / 1e9
        results.add(
            f"trimmed_cross, targets of +1 and -1, {name} features",
            f"{taken:.1f} ms",
            f"float32 product {least:.1f} ms, bytes {read:.1f} ms",
            f"{least / taken:.0%}, {read / taken:.0%}",
            "four passes select, one splits, matrix units multiply",
        )
