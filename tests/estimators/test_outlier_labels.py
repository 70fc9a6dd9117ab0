"""The vocabulary of scikit-learn for outliers says what `outlier_scores` and `is_outlier` say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import robustream as rs

ROWS = np.random.default_rng(0).normal(size=(400, 4)) @ np.diag([5.0, 3.0, 1.0, 1.0])
TARGET = ROWS @ [1.0, -1.0, 2.0, 0.0] + np.random.default_rng(1).normal(size=400)
BAD = [3, 50, 399]


@pytest.fixture
def rows():
    X = ROWS.copy()
    X[BAD] = 80.0
    return X


@pytest.fixture
def target():
    y = TARGET.copy()
    y[BAD] = -200.0
    return y


@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(2), rs.TrimmedPCA(2)], ids=lambda model: type(model).__name__)
def test_components(model, rows):
    model = clone(model)
    labels = model.fit_predict(rows)
    assert labels.dtype.kind == "i"
    assert set(labels) == {-1, 1}
    np.testing.assert_array_equal(labels == -1, model.is_outlier(rows))
    assert (labels[BAD] == -1).all()
    decision = model.decision_function(rows)
    np.testing.assert_array_equal(decision < 0, labels == -1)
    np.testing.assert_allclose(decision, -model.outlier_scores(rows) - model.offset_)
    np.testing.assert_array_equal(clone(model).fit_predict(rows, np.ones(len(rows))), labels)


@pytest.mark.parametrize(
    "model", [rs.OutlierRobustRegressor(), rs.TrimmedRegressor(trim=0.05)], ids=lambda model: type(model).__name__
)
def test_regression(model, target):
    model = clone(model)
    labels = model.fit_predict(ROWS, target)
    np.testing.assert_array_equal(labels == -1, model.is_outlier(ROWS, target))
    assert (labels[BAD] == -1).all()
    assert model.offset_ == -model.cutoff_
    assert not hasattr(model, "decision_function")
