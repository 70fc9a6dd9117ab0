"""Time of a fit beside the plain method, by rows, columns and contamination: python benchmarks/table_speed.py.

One thread; the best of three, both in the same run. Plain is the covariance and its eigenvectors, or the normal
equations.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

import robustream as rs

SHAPES = ((1_200, 20), (30_000, 8), (100_000, 5), (100_000, 20), (60_000, 60))
STREAMS = ((300, 60), (1_000, 60), (10_000, 20))  # rows of a batch, batches


def best(work, times=3):
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def plain_components(X):
    centered = X - X.mean(axis=0)
    np.linalg.eigh(centered.T @ centered / len(X))


def plain_line(X, y):
    A = np.column_stack([X, np.ones(len(X))])
    np.linalg.solve(A.T @ A, A.T @ y)


def spoil(X, y, how):
    bad = len(X) // 10 if how == "10% shifted" else 3 * len(X) // 10
    if how == "10% shifted":
        X[:bad, 0] += 30
        y[:bad] += 30
    elif how == "30% in a cluster":
        X[:bad] = 12 + 0.5 * np.random.default_rng(1).normal(size=(bad, X.shape[1]))
        y[:bad] = -40


def stream(X, y, size):
    model = rs.OutlierRobustRegressor()
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size], y[start : start + size])
    return model.coef_


def main() -> None:
    warnings.simplefilter("ignore", rs.errors.RowsLeftOutWarning)
    rng = np.random.default_rng(0)
    for rows, columns in SHAPES:
        for how in ("clean", "10% shifted", "30% in a cluster"):
            X = rng.normal(size=(rows, columns)) * np.append([4.0, 3.0], np.ones(columns - 2))
            y = X @ rng.normal(size=columns) + rng.normal(size=rows)
            spoil(X, y, how)
            shown = f"{rows:,} x {columns}, {how}:"
            for kind, plain, ours in (
                ("PCA", lambda X=X: plain_components(X), lambda X=X: rs.OutlierRobustPCA(2).fit(X).components_),
                (
                    "regression",
                    lambda X=X, y=y: plain_line(X, y),
                    lambda X=X, y=y: rs.OutlierRobustRegressor().fit(X, y).coef_,
                ),
            ):
                beside, taken = best(plain), best(ours)
                shown += f"  {kind} {1e3 * taken:.0f} ms, {taken / beside:.0f} times plain"
            print(shown, flush=True)
    for size, batches in STREAMS:
        X = rng.normal(size=(size * batches, 20))
        y = X @ rng.normal(size=20) + rng.normal(size=len(X))
        y[rng.random(len(X)) < 0.1] += 30
        beside = best(
            lambda X=X, y=y, size=size: [plain_line(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]
        )
        taken = best(lambda X=X, y=y, size=size: stream(X, y, size), 1)
        print(
            f"stream of {size:,} x 20, 10% bad: {taken / beside:.0f} times plain, {len(X) / taken:,.0f} rows a second",
            flush=True,
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
