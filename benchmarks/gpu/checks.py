"""Every kernel against its twin on the processor, on inputs made to be awkward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np
from common import FLOAT, Results

import robustream as rs
from robustream.kernels import reference
from robustream.kernels.device_arrays import host_array
from robustream.kernels.gpu.products import tall_product
from robustream.kernels.gpu.selection import column_medians


def tables(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    normal = rng.normal(size=(9000, 12))
    yield "normal", normal.astype(FLOAT)
    yield "normal, 100 columns", rng.normal(size=(20_000, 100)).astype(FLOAT)
    yield "normal, 130 columns, odd rows", rng.normal(size=(6001, 130)).astype(FLOAT)
    yield "normal, 3 columns, 200,001 rows", rng.normal(size=(200_001, 3)).astype(FLOAT)
    yield "double precision", normal
    yield "half precision", normal.astype(np.float16)
    yield "few levels", rng.integers(-3, 4, size=(9000, 9)).astype(FLOAT)
    yield "mostly zeros", (normal * (rng.random(normal.shape) < 0.3)).astype(FLOAT)
    yield "Cauchy", rng.standard_cauchy(size=(9000, 7)).astype(FLOAT)
    yield "sorted", np.sort(normal, axis=0).astype(FLOAT)
    yield "products overflow", (normal * 1e19).astype(FLOAT)
    yield "products vanish", (normal * 1e-22).astype(FLOAT)
    yield "constant", np.ones((5000, 3), FLOAT)
    yield "300 rows", rng.normal(size=(300, 5)).astype(FLOAT)
    yield "one column", rng.normal(size=(9000, 1)).astype(FLOAT)


def deviation(got: Any, X: Any, Y: Any, trim: float, most: int = 40) -> float:
    """Give the largest error relative to the mean size of the kept products."""
    X, Y = (table.astype(FLOAT) if table.dtype == np.float16 else table for table in (X, Y))
    kept = reference.kept_count(len(X), trim)
    places = [(i, j) for i in range(X.shape[1]) for j in range(Y.shape[1])]
    chosen = np.random.default_rng(0).permutation(len(places))[:most]
    worst = 0.0
    with np.errstate(over="ignore"):
        for i, j in (places[k] for k in chosen):
            want = reference.kept_sum(X[:, i].copy(), Y[:, j].copy(), kept) / kept
            want = float(np.asarray(want).astype(got.dtype))  # tiny means have few digits
            size = np.partition(np.abs(X[:, i] * Y[:, j]), kept - 1)[:kept].mean(dtype=np.float64)
            error = abs(float(got[i, j]) - want) / (float(size) or 1.0)
            worst = max(worst, 0.0 if float(got[i, j]) == want else error)
    return worst


def check_kernels(results: Results) -> None:
    rng = np.random.default_rng(1)
    worst = 0.0
    for name, table in tables(rng):
        for trim in (0.0, 0.001, 0.2, 0.5, 0.99):
            error = deviation(rs.trimmed_covariance(cupy.asarray(table), trim).get(), table, table, trim)
            assert error < 1e-5, (name, trim, error)
            worst = max(worst, error)
    results.add("check: trimmed_covariance, 15 tables x 5 trims", f"largest error {worst:.1e}", note="of the kept size")
    X, Y = rng.normal(size=(7000, 150)).astype(FLOAT), rng.normal(size=(7000, 70)).astype(FLOAT)
    signs = np.where(Y > 0, 1, -1).astype(FLOAT)
    worst = 0.0
    for left, right in ((X, Y), (X.astype(float), Y), (X, Y[:, :1]), (X, signs), (X.astype(np.float16), signs)):
        for trim in (0.0, 0.3, 0.5):
            got = rs.trimmed_cross(cupy.asarray(left), cupy.asarray(right), trim).get()
            worst = max(worst, deviation(got, left, right, trim))
    assert worst < 1e-5, worst
    results.add("check: trimmed_cross, real and sign targets", f"largest error {worst:.1e}", note="of the kept size")
    for dtype in (np.float16, np.float32, np.float64):
        for rows in (1, 2, 3, 5000, 5001):
            table = rng.normal(size=(rows, 70)).astype(dtype)
            exact = table.astype(FLOAT) if dtype == np.float16 else table
            middle = np.median(exact, axis=0)
            assert np.array_equal(column_medians(cupy.asarray(table)).get(), middle), (dtype, rows)
    results.add("check: medians", "equal to the last bit")
    left, right = (cupy.random.standard_normal((50_000, size), dtype=FLOAT) for size in (600, 520))
    error = 0.0
    for other in (right, left):
        want = left.T.astype(np.float64) @ other.astype(np.float64)
        error = max(error, float(abs(tall_product(left, other) - want).max() / len(left)))
    assert error < 1e-5, error
    results.add(
        "check: products of long tables by short numbers", f"largest error {error:.1e}", note="of a mean square"
    )
    points = rng.normal(size=(60, 500)) + 1e3
    points[:20] += rng.normal(size=500) * 50
    want, got = rs.geometric_median(points), rs.geometric_median(cupy.asarray(points)).get()
    error = float(np.linalg.norm(want - got) / np.linalg.norm(want - points.mean(axis=0)))
    assert error < 1e-6, error
    results.add("check: geometric_median, 60 points of 500 numbers", f"error {error:.1e}")


def check_estimators(results: Results) -> None:
    rng = np.random.default_rng(2)
    scale = np.linspace(1, 4, 40)
    X = (rng.normal(size=(240_000, 40)) * scale).astype(FLOAT)
    X[:12_000] = 30 * rng.normal(size=40)
    X[60_000:120_000] = (rng.normal(size=(60_000, 40)) * scale[::-1]).astype(FLOAT)
    y = (X @ rng.normal(size=40) + 2 + rng.normal(size=len(X))).astype(FLOAT)
    y[100_000:140_000] *= -1
    for learner in ("refined", "classical", rs.learners.Trimmed(0.3)):
        size = {"batch_size": 20_000, "learner": learner}
        name = learner if isinstance(learner, str) else "trimmed"
        for place, send in (("CuPy array", cupy.asarray), ("host array, device='cuda'", None)):
            device = {} if send else {"device": "cuda"}
            rows, targets = (send(X), send(y)) if send else (X, y)
            host, there = (rs.OutlierRobustPCA(3, **size, **more) for more in ({}, device))
            host.fit(X), there.fit(rows)
            same = [r.verdict for r in host.batch_report_] == [r.verdict for r in there.batch_report_]
            found, basis = host_array(there.components_), host.components_
            turned = np.linalg.norm(found.T @ found - basis.T @ basis)
            other, model = (rs.OutlierRobustRegressor(**size, **more) for more in ({}, device))
            other.fit(X, y), model.fit(rows, targets)
            same &= [r.verdict for r in other.batch_report_] == [r.verdict for r in model.batch_report_]
            apart = np.linalg.norm(host_array(model.coef_) - other.coef_) / np.linalg.norm(other.coef_)
            results.add(
                f"check: {name} learner, {place}",
                f"subspace {turned:.1e}, coefficients {apart:.1e} from the host's",
                note="same verdicts" if same else "VERDICTS DIFFER",
            )
