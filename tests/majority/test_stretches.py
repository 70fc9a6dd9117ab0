"""Stretches of a table whose targets contradict the rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

import robustream as rs
from robustream.majority import bad_stretches


def series(rng, n, p, memory):
    """Return columns that depend on the row before."""
    return lfilter([1.0], [1.0, -memory], rng.normal(size=(n + 200, p)), axis=0)[200:]


@pytest.mark.parametrize("bad", ["flipped", "shuffled", "noise"])
@pytest.mark.parametrize("seed", range(3))
def test_a_stretch_that_noise_hides_is_found(bad, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, 4))
    y = X @ [0.6, 0.4, -0.3, 0.2] + rng.normal(size=3000)
    clean, there = y.copy(), slice(800, 1700)
    y[there] = {"flipped": -y[there], "shuffled": rng.permutation(y[there]), "noise": rng.normal(size=900)}[bad]
    out = bad_stretches(X, y)
    assert out is not None
    assert out[900:1600].all()
    assert not out[:700].any()
    assert not out[1800:].any()
    model, plain = rs.OutlierRobustRegressor().fit(X, y), rs.OutlierRobustRegressor(learner="classical")
    oracle = plain.fit(np.delete(X, there, axis=0), np.delete(clean, there)).coef_
    # About 100 rows at either end may be on the wrong side of it, which moves a coefficient by at most 2 x 200 / 2100.
    assert np.abs(model.coef_ - oracle).max() < 0.19 * np.abs(oracle).max() + 4 / np.sqrt(2100)
    assert "a stretch of rows" in model.batch_report_[0].left_out_reason


@pytest.mark.parametrize("memory", [0.0, 0.9, 0.99])
def test_honest_series_have_none(memory):
    found = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, noise = series(rng, 1000, 1 + seed % 3, memory), series(rng, 1000, 1, memory)[:, 0]
        y = X.sum(axis=1) / X.std() + noise / noise.std() * (0.5, 1, 3)[seed % 3]
        found += bad_stretches(X, y) is not None
    assert found <= 1  # of 3,600 such series 1 had one


@pytest.mark.parametrize("order", ["shuffled", "by a column", "by the target"])
def test_without_an_order_of_its_own_a_table_has_none(order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = X.sum(axis=1) + rng.normal(size=3000)
    y[:900] *= -1
    places = {"shuffled": rng.permutation(3000), "by a column": np.argsort(X[:, 0]), "by the target": np.argsort(y)}
    assert bad_stretches(X[places[order]], y[places[order]]) is None


def test_what_lies_elsewhere_is_no_stretch():
    """A bend in a table that comes by place."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    X[600:1200, 0] += 4
    y = np.where(X[:, 0] > 2, 4 - X[:, 0], X[:, 0]) + 0.5 * X[:, 1] + rng.normal(size=2000)
    assert bad_stretches(X, y) is None


def test_rows_without_a_say_have_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] + rng.normal(size=2000)
    believed = np.ones(2000, bool)
    y[300:900] *= -1
    believed[300:900] = False
    assert bad_stretches(X, y, believed) is None
