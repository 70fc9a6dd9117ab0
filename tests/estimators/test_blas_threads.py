"""Whatever way rows come in, the small products of a batch use one BLAS thread."""

from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_info, threadpool_limits

import robustream as rs

X = np.random.default_rng(0).normal(size=(300, 3))


def look() -> int:
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def by_fit(model):
    model.fit(X, X[:, 0])


def by_partial_fit(model):
    for start in range(0, 300, 10):
        model.partial_fit(X[start : start + 10], X[start : start + 10, 0])


def by_robustream_fit(model):
    rs.fit(model, [(X[:150], X[:150, 0]), (X[150:], X[150:, 0])])


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one core")
@pytest.mark.parametrize("enter", [by_fit, by_partial_fit, by_robustream_fit])
def test_each_entry_keeps_blas_to_one_thread(enter, monkeypatch):
    inner, seen = LinearRegression.fit, []
    monkeypatch.setattr(LinearRegression, "fit", lambda *rows, **more: (seen.append(look()), inner(*rows, **more))[1])
    with threadpool_limits(2):
        before = look()
        enter(rs.OutlierRobust(LinearRegression(), batch_size=100))
        assert look() == before
    assert len(seen) > 1
    # The first fit, to a few made-up rows, only shows which attributes the estimator has.
    assert set(seen[1:]) == {1}


@pytest.mark.parametrize("attribute", ["value", "answer"])
def test_reading_the_answer_keeps_blas_to_one_thread(attribute, monkeypatch):
    model = rs.OutlierRobustPCA(1, batch_size=60).fit(X)
    aggregator = type(model.run_.plan.aggregator)
    inner, seen = aggregator.value, []
    monkeypatch.setattr(aggregator, "value", lambda self, state: (seen.append(look()), inner(self, state))[1])
    model.partial_fit(X)
    with threadpool_limits(2):
        getattr(model.run_, attribute)
    assert seen == [1]
