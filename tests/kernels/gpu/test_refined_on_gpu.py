"""The default learner on rows on a GPU: the same verdicts as on the host, and no table comes over."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs
from robustream.kernels.device_arrays import rows_in_place
from robustream.kernels.gpu import numpy_proxy
from robustream.majority.columns import row_keys

ROWS, BAD = 30_000, 9_000
KINDS = ("clean", "shifted", "wide", "other line", "overlap", "tails", "cells", "copies", "filled", "few")
pytestmark = pytest.mark.filterwarnings("ignore:.*:UserWarning")


def table(kind: str, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(KINDS.index(kind))
    X = rng.normal(size=(ROWS, columns)) @ rng.normal(size=(columns, columns))
    y = X.sum(axis=1) + rng.normal(size=ROWS)
    if kind == "shifted":
        X[:BAD] += 30
        y[:BAD] -= 200
    elif kind == "wide":
        X[:BAD] *= 20
        y[:BAD] = 50 * rng.normal(size=BAD)
    elif kind == "other line":
        y[:BAD] = 5 - 2 * X[:BAD].sum(axis=1)
    elif kind == "overlap":
        y[:BAD] = 1 - 0.3 * X[:BAD].sum(axis=1) + 2 * rng.normal(size=BAD)
    elif kind == "tails":
        X *= rng.standard_t(3, size=(ROWS, 1))
        y = X.sum(axis=1) + rng.standard_t(2, size=ROWS)
    elif kind == "cells":
        X[rng.random(X.shape) < 0.1] += 1000
    elif kind == "copies":
        X[:BAD], y[:BAD] = X[0], y[0]
    elif kind == "filled":
        X[:BAD, 1] = X[5, 1]
    elif kind == "few":
        X[:20] *= 1e4
        y[20:40] += 1e6
    return X, y


@pytest.fixture
def no_table_comes_over(monkeypatch):
    """Fail where a table, or a number for each row, is copied from the GPU or to it."""

    def refuse(inner):
        def call(values, *given, **named):
            table = values.array if isinstance(values, numpy_proxy.DeviceRows) else values
            moves = isinstance(values, (numpy_proxy.DeviceRows, np.ndarray))
            assert not (moves and table.size >= ROWS), f"{table.shape} was copied"
            return inner(values, *given, **named)

        return call

    monkeypatch.setattr(numpy_proxy.DeviceRows, "__array__", refuse(numpy_proxy.DeviceRows.__array__))
    monkeypatch.setattr(numpy_proxy, "_copied", refuse(numpy_proxy._copied))
    monkeypatch.setattr(numpy_proxy, "as_device_array", refuse(numpy_proxy.as_device_array))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_have_the_same_hash_wherever_they_lie(cupy, dtype):
    X = table("clean")[0].astype(dtype)
    X[::7, 2], X[::5, 3], X[3] = 0.0, -0.0, X[4]
    keys = row_keys(rows_in_place(cupy.asarray(X)))
    np.testing.assert_array_equal(np.asarray(keys), row_keys(X.astype(np.float64)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_components_and_verdicts_are_those_of_the_host(cupy, no_table_comes_over, kind, dtype):
    X = table(kind)[0].astype(dtype)
    here, there = rs.OutlierRobustCovariance().fit(X), rs.OutlierRobustCovariance().fit(cupy.asarray(X))
    _same(here, there)
    scale = np.abs(here.covariance_).max()
    # Posteriors are worked out in single precision.
    tolerance = 1e-6 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(there.covariance_.get(), here.covariance_, rtol=0, atol=tolerance * scale)
    components = [np.abs(np.asarray(m)) for m in (rs.OutlierRobustPCA(2).fit(X).components_,)]
    found = np.abs(rs.OutlierRobustPCA(2).fit(cupy.asarray(X)).components_.get())
    np.testing.assert_allclose(found, components[0], rtol=0, atol=10 * tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_lines_and_verdicts_are_those_of_the_host(cupy, no_table_comes_over, kind, dtype):
    X, y = (part.astype(dtype) for part in table(kind))
    here = rs.OutlierRobustRegressor().fit(X, y)
    there = rs.OutlierRobustRegressor().fit(cupy.asarray(X), cupy.asarray(y))
    _same(here, there)
    # Rows that are ten thousand times as long as others cost digits of what is summed in another order.
    tolerance = 1e-6 if dtype == np.float64 and kind != "few" else 1e-5
    for name in ("coef_", "coef_stderr_"):
        value, other = getattr(here, name), getattr(there, name).get()
        atol = tolerance * np.abs(value).max()
        if kind == "overlap":  # a part of the rows adds up to a twentieth of the variance: 0.22 standard errors, twice
            atol = 0.5 * here.coef_stderr_.max() if name == "coef_" else 0.05 * value.max()
        np.testing.assert_allclose(other, value, rtol=0, atol=atol, err_msg=name)
    assert float(there.scale_) == pytest.approx(float(here.scale_), rel=0.02 if kind == "overlap" else tolerance)


def test_a_stream_of_batches_on_the_gpu(cupy):
    def batches(place):
        for number in range(4):
            X, y = table("shifted")
            X += np.random.default_rng(number).normal(size=X.shape)
            X[number, 1] = np.nan
            yield place(X.astype(np.float32)), place(y.astype(np.float32))

    here, there = (rs.fit(rs.OutlierRobustRegressor(), lambda p=p: batches(p)) for p in (np.asarray, cupy.asarray))
    _same(here, there)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=0, atol=1e-5)
    worst = [[row[:2] for row in model.fit_notes_["worst_rows"]] for model in (here, there)]
    assert worst[0] == worst[1]
    assert worst[0]
    here, there = (
        rs.fit(rs.OutlierRobustPCA(2), lambda p=p: (X for X, _ in batches(p))) for p in (np.asarray, cupy.asarray)
    )
    _same(here, there)
    np.testing.assert_allclose(np.abs(there.components_), np.abs(here.components_), rtol=0, atol=1e-4)


def test_a_table_on_the_gpu_as_a_source(cupy):
    X, y = table("shifted")
    model = rs.fit(rs.OutlierRobustRegressor(), cupy.asarray(X), target=cupy.asarray(y))
    np.testing.assert_allclose(model.coef_, rs.OutlierRobustRegressor().fit(X, y).coef_, rtol=0, atol=1e-6)


def test_several_targets(cupy):
    X, y = table("shifted")
    for outputs in (2, 5):
        Y = np.stack([y + number * X[:, 0] for number in range(outputs)], axis=1)
        here = rs.OutlierRobustRegressor().fit(X, Y)
        there = rs.OutlierRobustRegressor().fit(cupy.asarray(X), cupy.asarray(Y))
        _same(here, there)
        np.testing.assert_allclose(there.coef_.get(), here.coef_, atol=1e-6)


def test_groups_that_are_kept_leave_the_plain_answer(cupy):
    X, y = table("shifted")
    model = rs.OutlierRobustRegressor(keep_groups=True).fit(cupy.asarray(X), cupy.asarray(y))
    design = np.column_stack([X, np.ones(ROWS)])
    np.testing.assert_allclose(model.coef_.get(), np.linalg.lstsq(design, y)[0][:-1], atol=1e-8)
    assert model.groups_


def test_a_table_beyond_the_memory_is_dealt_out(cupy, monkeypatch):
    X, y = table("shifted")
    monkeypatch.setattr("robustream.kernels.gpu.device.free_bytes", lambda: 0)
    monkeypatch.setattr("robustream.runs.batching._TABLE_BYTES", 4 * X.nbytes // 3)
    model = rs.OutlierRobustRegressor().fit(cupy.asarray(X), cupy.asarray(y))
    assert model.n_batches_seen_ == 3
    np.testing.assert_allclose(model.coef_.get(), 1.0, atol=0.05)


def _same(here, there):
    assert [group.reason for group in there.groups_] == [group.reason for group in here.groups_]
    # On the host models of overlapping groups are fitted to a part of a large table.
    for group, other in zip(there.groups_, here.groups_, strict=True):
        assert group.rows == pytest.approx(other.rows, rel=0.01)
    mine, others = (model.batch_report_ for model in (here, there))
    assert [record.left_out for record in mine] == pytest.approx([record.left_out for record in others], rel=0.01)
