"""The kernels on a GPU against the specification, and estimators there against estimators here."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs
from robustream.kernels import reference
from robustream.kernels.gpu.columns import column_medians, median_deviations

TABLES = {
    "normal": lambda rng: rng.normal(size=(9001, 12)).astype(np.float32),
    "double": lambda rng: rng.normal(size=(9000, 5)),
    "wide": lambda rng: rng.normal(size=(5000, 130)).astype(np.float32),
    "ties": lambda rng: rng.integers(-3, 4, size=(9000, 6)).astype(np.float32),
    "zeros": lambda rng: (rng.normal(size=(9000, 6)) * (rng.random((9000, 6)) < 0.3)).astype(np.float32),
    "cauchy": lambda rng: rng.standard_cauchy(size=(9000, 6)).astype(np.float32),
    "sorted": lambda rng: np.sort(rng.normal(size=(9000, 6)), axis=0).astype(np.float32),
    "overflow": lambda rng: (rng.normal(size=(9000, 4)) * 1e19).astype(np.float32),
    "few rows": lambda rng: rng.normal(size=(300, 5)).astype(np.float32),
}


@pytest.mark.parametrize("trim", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("name", TABLES)
def test_covariance_keeps_what_the_specification_keeps(cupy, name, trim):
    table = TABLES[name](np.random.default_rng(1))
    got = rs.trimmed_covariance(cupy.asarray(table), trim).get()
    assert np.array_equal(got, got.T, equal_nan=True)
    some = slice(0, 8)
    want = reference.trimmed_covariance(table[:, some], trim)
    finite = np.isfinite(want)
    np.testing.assert_array_equal(np.isfinite(got[some, some]), finite)
    # Relative to the size of what is kept: entries off the diagonal are small by chance.
    size = np.abs(want[finite]).max(initial=0.0)
    np.testing.assert_allclose(got[some, some][finite], want[finite], atol=1e-6 * size)


@pytest.mark.parametrize("signs", [False, True])
def test_cross_keeps_what_the_specification_keeps(cupy, signs):
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(7000, 70)).astype(np.float32), rng.normal(size=(7000, 9)).astype(np.float32)
    Y = np.where(Y > 0, 1, -1).astype(np.float32) if signs else Y
    got = rs.trimmed_cross(cupy.asarray(X), cupy.asarray(Y), 0.3).get()
    np.testing.assert_allclose(got[:6], reference.trimmed_cross(X[:, :6], Y, 0.3), atol=1e-6)


@pytest.mark.parametrize("rows", [1, 2, 5000, 5001])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_medians_are_those_of_numpy(cupy, dtype, rows):
    table = np.random.default_rng(3).normal(size=(rows, 40)).astype(dtype)
    middle = np.median(table, axis=0)
    np.testing.assert_array_equal(column_medians(cupy.asarray(table)).get(), middle)
    got = median_deviations(cupy.asarray(table), cupy.asarray(middle)).get()
    np.testing.assert_array_equal(got, np.median(np.abs(table - middle), axis=0))


def test_the_geometric_median_is_the_same(cupy):
    points = np.random.default_rng(4).normal(size=(40, 300)) + 1e3
    points[:12] += 50
    np.testing.assert_allclose(rs.geometric_median(cupy.asarray(points)).get(), rs.geometric_median(points), rtol=1e-8)


@pytest.mark.parametrize("place", ["resident", "sent"])
@pytest.mark.parametrize("learner", ["refined", "classical", "trimmed"])
def test_estimators_agree_with_those_on_the_host(cupy, learner, place):
    rng = np.random.default_rng(5)
    X = (rng.normal(size=(120_000, 20)) * np.linspace(1, 4, 20)).astype(np.float32)
    X[:3000] += 30  # a quarter of the first batch
    y = (X @ rng.normal(size=20) + rng.normal(size=len(X))).astype(np.float32)
    y[20_000:40_000] *= -1
    options = {"learner": learner, "batch_size": 12_000}
    rows, targets, more = (cupy.asarray(X), cupy.asarray(y), {}) if place == "resident" else (X, y, {"device": "cuda"})
    here, there = rs.OutlierRobustPCA(2, **options).fit(X), rs.OutlierRobustPCA(2, **options, **more).fit(rows)
    np.testing.assert_allclose(np.abs(there.components_), np.abs(here.components_), atol=1e-3)
    assert [r.verdict for r in here.batch_report_] == [r.verdict for r in there.batch_report_]
    here = rs.OutlierRobustRegressor(**options).fit(X, y)
    there = rs.OutlierRobustRegressor(**options, **more).fit(rows, targets)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-3)


def test_answers_come_back_where_the_rows_are(cupy):
    rng = np.random.default_rng(6)
    X = (rng.normal(size=(30_000, 6)) * [5, 3, 1, 1, 1, 1]).astype(np.float32)
    y = X[:, 0] - X[:, 1]
    rows = cupy.asarray(X)
    pca = rs.OutlierRobustPCA(2, learner="classical", batch_size=10_000).fit(rows)
    line = rs.OutlierRobustRegressor(learner="classical", batch_size=10_000).fit(rows, cupy.asarray(y))
    for answer in (pca.transform, pca.outlier_scores, pca.score_samples, line.predict):
        for count in (50, 30_000):
            there = answer(rows[:count])
            assert isinstance(there, cupy.ndarray)
            np.testing.assert_allclose(there.get(), answer(X[:count]), rtol=1e-3, atol=1e-3)
