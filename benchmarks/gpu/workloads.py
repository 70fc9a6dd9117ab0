"""The paper's largest workloads as streams that are made on the device."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np
from common import FLOAT, Floors, Results
from threadpoolctl import threadpool_limits

import robustream as rs


def normal(rng: Any, shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(shape, dtype=FLOAT)


def wait() -> float:
    cupy.cuda.Device().synchronize()
    return time.perf_counter()


class Clock:
    """How long the batches took to make and to learn from."""

    def __init__(self) -> None:
        self.made = self.learned = 0.0

    def drive(self, batches: Iterator[tuple[Any, ...]], learn: Any) -> None:
        mark = wait()
        for batch in batches:
            now = wait()
            self.made += now - mark
            learn(*batch)
            mark = wait()
            self.learned += mark - now


def subspace_error(basis: Any, truth: Any) -> float:
    return float(np.linalg.norm(basis @ basis.T - truth @ truth.T))


def principal(results: Results, floors: Floors, count: int, rows: int = 1_000_000, columns: int = 100) -> None:
    """ORL-PCA over a hundred batches of a million rows, 40 of them garbage."""
    host = np.random.default_rng(3)
    truth, other = (np.linalg.qr(host.normal(size=(columns, 5)))[0] for _ in range(2))
    spread = np.array([4.0, 3.5, 3.0, 2.5, 2.0])
    garbage = set(host.choice(count, int(0.4 * count), replace=False).tolist())

    def batches(pooled: list[Any]) -> Iterator[tuple[Any]]:
        rng = cupy.random.Generator(cupy.random.Philox4x3210(5))
        for index in range(count):
            bad = index in garbage
            directions = cupy.asarray(((other * 8 if bad else truth) * spread).T.astype(FLOAT))
            X = normal(rng, (rows, columns))
            X += normal(rng, (rows, 5)) @ directions
            if bad:
                X += 3
            elif pooled:
                pooled[0] += (X.T @ X).get().astype(np.float64)
            yield (X,)

    pooled = [np.zeros((columns, columns))]
    for _ in batches(pooled):
        pass
    oracle = subspace_error(np.linalg.eigh(pooled[0])[1][:, -5:], truth)
    for learner, aggregator in (("refined", "filtered"), (rs.learners.Trimmed(0.2), "online-median")):
        model, clock = rs.OutlierRobustPCA(5, learner=learner, aggregator=aggregator, batch_size=rows), Clock()
        # The matrices left to the host are small: more threads get into each other's way.
        with threadpool_limits(2):
            clock.drive(batches([]), model.partial_fit)
        start = time.perf_counter()
        error = subspace_error(model.components_.get().T, truth)
        settled = time.perf_counter() - start
        read = rows * count * columns * 4 / floors.read / 1e12
        name = learner if isinstance(learner, str) else "trimmed"
        total = clock.learned + settled
        results.add(
            f"ORL-PCA {rows * count:,} x {columns}, 40% garbage batches, {name} and {aggregator}",
            f"{total:.1f} s, {rows * count / total / 1e6:.0f} million rows/s, "
            f"error {error / oracle:.3f} times the oracle's",
            f"bytes {read:.2f} s",
            f"{read / total:.0%}",
            f"made in {clock.made:.1f} s, learned in {clock.learned:.1f} s, settled in {settled:.1f} s",
        )


def tags(results: Results, floors: Floors, refined: bool, count: int, rows: int = 500_000) -> None:
    """ORL-LR over the size of the paper's training set, features in half precision, tags of +1 and -1."""
    columns, outputs = 4096, 200
    host = np.random.default_rng(4)
    truth = host.normal(size=(outputs, columns)).astype(FLOAT)
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    garbage = set(host.choice(count, int(0.3 * count), replace=False).tolist())

    def batches() -> Iterator[tuple[Any, Any]]:
        rng = cupy.random.Generator(cupy.random.Philox4x3210(6))
        weights = cupy.asarray(truth.T.astype(np.float16))
        X = cupy.empty((rows, columns), np.float16)
        for index in range(count):
            for first in range(0, rows, 50_000):
                X[first : first + 50_000] = normal(rng, (50_000, columns))
            scores = X @ weights
            scores += 0.5 * normal(rng, (rows, outputs)).astype(np.float16)
            flipped = -1 if index in garbage else 1
            yield X, cupy.where(scores > 0, flipped, -flipped).astype(FLOAT)

    learner = "refined" if refined else rs.learners.Trimmed(0.2)
    aggregator = rs.aggregators.Filtered(budget="16 GB") if refined else "online-median"
    model = rs.OutlierRobustRegressor(learner=learner, aggregator=aggregator, fit_intercept=False, batch_size=rows)
    clock = Clock()
    clock.drive(batches(), model.partial_fit)
    start = time.perf_counter()
    coef = model.coef_.get()
    settled = time.perf_counter() - start
    directions = coef / np.linalg.norm(coef, axis=1, keepdims=True)
    error = float(np.sqrt(np.mean(np.sum((directions - truth) ** 2, axis=1))))
    total = clock.made + clock.learned + settled
    read = rows * count * columns * 2 / floors.read / 1e12
    results.add(
        f"ORL-LR {rows * count:,} x {columns:,} half precision, 200 tags, 30% garbage batches, "
        + ("refined and filtered" if refined else "trimmed and online-median"),
        f"{total:.1f} s in all, error of the directions {error:.4f}",
        f"bytes {read:.2f} s",
        f"{read / clock.learned:.0%} of learning",
        f"made in {clock.made:.1f} s, learned in {clock.learned:.1f} s, settled in {settled:.1f} s",
    )


def sending(results: Results, rows: int = 500_000, count: int = 16, columns: int = 100) -> None:
    """Batches on the host: the copy of one while another is worked on, against copies and work one after the other."""
    X = np.random.default_rng(5).normal(size=(rows * count, columns)).astype(FLOAT)
    pieces = [X[first : first + rows] for first in range(0, len(X), rows)]
    cupy.asarray(pieces[0])
    start = wait()
    there = [cupy.asarray(piece) for piece in pieces]
    copied = wait() - start
    options = {"learner": "classical", "batch_size": rows}
    for model, data in (
        (rs.OutlierRobustPCA(5, **options), None),
        (rs.OutlierRobustPCA(5, device="cuda", **options), X),
    ):
        with threadpool_limits(2):
            model.partial_fit(there[0] if data is None else pieces[0])
            start = wait()
            if data is None:
                for piece in there:
                    model.partial_fit(piece)
                resident = wait() - start
            else:
                model.fit(data)
                sent = wait() - start
    results.add(
        f"OutlierRobustPCA(device='cuda'), classical, {count} host batches of {rows:,} x {columns}",
        f"{sent:.2f} s",
        f"copies {copied:.2f} s, resident {resident:.2f} s",
        f"{copied / sent:.0%}",
        "copies run beside the work of the batch before",
    )
