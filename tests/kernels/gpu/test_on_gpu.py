"""The kernels on a GPU against the specification, and estimators there against estimators here."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs
from robustream.batch import Estimate
from robustream.kernels import reference
from robustream.kernels.device_arrays import host_array, is_device_array, place_wide, wide_on_gpu
from robustream.kernels.gpu.selection import column_medians
from robustream.spaces import Euclidean, Part, Parts

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
    np.testing.assert_allclose(np.abs(host_array(there.components_)), np.abs(here.components_), atol=1e-3)
    assert [r.verdict for r in here.batch_report_] == [r.verdict for r in there.batch_report_]
    here = rs.OutlierRobustRegressor(**options).fit(X, y)
    there = rs.OutlierRobustRegressor(**options, **more).fit(rows, targets)
    np.testing.assert_allclose(host_array(there.coef_), here.coef_, atol=1e-3)


@pytest.mark.parametrize("aggregator", [rs.aggregators.Filtered(), rs.aggregators.GeometricMedian()], ids=repr)
def test_wide_estimates_get_the_same_verdicts_and_value(cupy, aggregator):
    rng, count, size = np.random.default_rng(8), 60, 150_000
    state = aggregator.init(Parts((Part("coefficients", Euclidean((size,))),)))
    for index in range(count):
        point = rng.standard_normal(size, dtype=np.float32) + (index < 0.4 * count)
        point[:100] = 0  # most agree on these
        point[index] += 1
        state, _ = aggregator.step(state, Estimate(index, "", 100, (point,)))
    found = []
    for wanted in (False, True):
        fresh = state._replace(newest=state.newest)  # another tuple, since the last one is remembered
        with wide_on_gpu(wanted):
            assert is_device_array(place_wide(np.zeros((count, size)))) == wanted
            found.append((aggregator.value(fresh)[0], aggregator.assess(fresh)))
    np.testing.assert_allclose(found[1][0], found[0][0], atol=1e-5)
    assert [one.rejected for one in found[1][1]] == [one.rejected for one in found[0][1]]
    np.testing.assert_allclose([a.distance for a in found[1][1]], [a.distance for a in found[0][1]], rtol=1e-4)
