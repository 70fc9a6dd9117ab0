"""Processor time of fits and of calls beside the plain method: python benchmarks/processor_time.py table|stream.

One thread; medians of repeated runs, ours and the plain method in turns. `process_time` says more than wall time where
others use the machine, too. A tenth of the rows is bad (three tenths in "apart30").
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

import robustream as rs

TABLES = ((200, 5), (1_200, 20), (10_000, 20), (100_000, 20), (100_000, 5), (100_000, 100))
CALLS = ((100, 20, 40), (1_000, 20, 40), (10_000, 20, 20), (1_000, 5, 40), (1_000, 100, 30))  # rows, columns, calls
KINDS = ("clean", "apart", "scatter", "flip", "vert", "apart30")


def rows(n, p, kind, seed=0):
    law, rng = np.random.default_rng(p), np.random.default_rng(seed)  # all calls of a stream have one law
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * law.normal(size=(p, p)) / np.sqrt(p)) * np.linspace(3, 1, p)
    y = X @ law.normal(size=p) + rng.normal(size=n)
    bad = rng.permutation(n)[: n * 3 // 10 if kind == "apart30" else n // 10]
    if kind.startswith("apart"):
        X[bad] += 10
        y[bad] -= 20
    elif kind == "scatter":
        X[bad], y[bad] = rng.normal(size=(len(bad), p)) * 20, rng.normal(size=len(bad)) * 50
    elif kind == "flip":
        y[bad] = -y[bad]
    elif kind == "vert":
        y[bad] += 30
    return X, y


def moments(X, y=None):
    if y is None:
        return np.cov(X.T)
    A = np.column_stack([X, np.ones(len(X)), y])
    return A.T @ A


def solve(G, regression):
    return np.linalg.solve(G[:-1, :-1], G[:-1, -1]) if regression else np.linalg.eigh(G)


def plain(parts, regression):
    return solve(sum(moments(X, y if regression else None) for X, y in parts), regression)


def ours(parts, regression, stream):
    model = rs.OutlierRobustRegressor() if regression else rs.OutlierRobustPCA(2)
    for X, y in parts:
        (model.partial_fit if stream else model.fit)(X, *([y] if regression else []))
    return model.coef_ if regression else model.components_


def milliseconds(work, repeats):
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * float(np.median(times))


def main() -> None:
    stream = sys.argv[1:] == ["stream"]
    warnings.simplefilter("ignore", rs.errors.RowsLeftOutWarning)
    with threadpool_limits(1):
        for n, p, calls in CALLS if stream else [(n, p, 1) for n, p in TABLES]:
            for kind in KINDS:
                parts = [rows(n, p, kind, seed) for seed in range(calls)]
                repeats = 3 if stream else max(3, min(30, 3_000_000 // (n * p)))
                line = f"{n:7,} x {p:3} {kind:8}"
                for regression in (False, True):
                    a = milliseconds(lambda: plain(parts, regression), repeats) / calls  # noqa: B023
                    b = milliseconds(lambda: ours(parts, regression, stream), repeats) / calls  # noqa: B023
                    line += f"   {'regression' if regression else 'PCA'} {a:6.3f} {b:7.2f} ms {b / a:6.1f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
