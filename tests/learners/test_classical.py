"""The plain learners against scikit-learn, on ordinary and on awkward tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge

from robustream.batch import Batch
from robustream.learners import Classical, LinearProblem, PrincipalProblem
from robustream.spaces.linear import LinearPoint
from robustream.spaces.principal import PrincipalPoint


def solve(learner, rows, targets=None, index=0):
    estimate = learner.estimate(Batch(index, "", rows, targets), np.random.default_rng(0))
    assert estimate.failure is None, estimate.failure
    return estimate.point


def regression(rows, targets, **problem):
    return LinearPoint(*solve(Classical().regression(LinearProblem(**problem)), rows, targets))


@pytest.mark.parametrize("shape", [(200, 6), (30, 50), (7, 7)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pca_equals_scikit_learn(shape, dtype):
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=shape) * np.linspace(5, 1, shape[1]) + 1000).astype(dtype)
    point = PrincipalPoint(*solve(Classical().pca(PrincipalProblem(3)), rows))
    peer = PCA(3).fit(rows.astype(np.float64))
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(point.basis @ point.basis.T, peer.components_.T @ peer.components_, atol=tolerance)
    np.testing.assert_allclose(point.eigenvalues, peer.explained_variance_, rtol=tolerance)
    np.testing.assert_allclose(point.mean, peer.mean_, rtol=1e-6)
    total = np.var(rows.astype(np.float64), axis=0, ddof=1).sum()
    np.testing.assert_allclose(point.total_variance, total, rtol=tolerance)
    assert point.basis.dtype == dtype


def test_standardized_columns_have_no_units():
    rows = np.random.default_rng(0).normal(size=(300, 4)) @ np.random.default_rng(1).normal(size=(4, 4))
    learner = Classical().pca(PrincipalProblem(2, standardize=True))
    plain = PrincipalPoint(*solve(learner, rows))
    scaled = PrincipalPoint(*solve(learner, rows * [1e-6, 1, 1e3, 1e6]))
    np.testing.assert_allclose(plain.basis, scaled.basis, atol=1e-8)
    np.testing.assert_allclose(scaled.log_scale - plain.log_scale, np.log([1e-6, 1, 1e3, 1e6]), atol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 3), st.booleans())
@settings(max_examples=40, deadline=None)
def test_regression_equals_scikit_learn(seed, columns, outputs, intercept):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, columns)) * 10.0 ** rng.integers(-1, 2, columns)
    targets = rng.normal(size=(40, outputs)) + 5
    point = regression(rows, targets, fit_intercept=intercept)
    peer = LinearRegression(fit_intercept=intercept).fit(rows, targets)
    fitted = (rows - point.x_center) @ point.coef.T + point.y_center
    np.testing.assert_allclose(fitted, peer.predict(rows), atol=1e-6)


def test_ridge_has_scikit_learns_penalty_for_each_row():
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(50, 4)) * [1, 10, 0.1, 1] + 3, rng.normal(size=(50, 2))
    point = regression(rows, targets, alpha=0.3)
    np.testing.assert_allclose(point.coef, Ridge(alpha=0.3 * 50).fit(rows, targets).coef_, atol=1e-10)


def test_ridge_with_more_columns_than_rows():
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(20, 60)), rng.normal(size=(20, 1))
    point = regression(rows, targets, alpha=0.1)
    np.testing.assert_allclose(point.coef, np.atleast_2d(Ridge(alpha=2.0).fit(rows, targets).coef_), atol=1e-8)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda rows: np.column_stack([rows, rows[:, 0]]), id="a column twice"),
        pytest.param(lambda rows: np.column_stack([rows, rows @ np.ones(rows.shape[1])]), id="a sum of columns"),
        pytest.param(lambda rows: np.column_stack([rows, np.full(len(rows), 7.0)]), id="a constant column"),
        pytest.param(lambda rows: np.repeat(rows, 3, axis=0), id="every row three times"),
        pytest.param(lambda rows: rows[:3], id="fewer rows than columns"),
        pytest.param(lambda rows: np.round(rows), id="whole numbers"),
    ],
)
def test_awkward_tables_are_fitted_as_well_as_lstsq_does(spoil):
    rows = spoil(np.random.default_rng(0).normal(size=(60, 5)))
    targets = np.random.default_rng(1).normal(size=(len(rows), 1))
    point = regression(rows, targets)
    fitted = (rows - point.x_center) @ point.coef.T + point.y_center
    np.testing.assert_allclose(fitted, LinearRegression().fit(rows, targets).predict(rows), atol=1e-8)
    # Of all exact solutions the short one: no coefficient explodes.
    assert np.abs(point.coef).max() < 10


def test_far_means_cost_no_digits_in_single_precision():
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(2000, 3)) + 1000).astype(np.float32)
    targets = ((rows - 1000) @ [1, 2, 3] + 5)[:, None].astype(np.float32)
    np.testing.assert_allclose(regression(rows, targets).coef, [[1, 2, 3]], atol=1e-3)


def test_the_variance_of_the_coefficients_is_the_sandwich():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    noise = rng.normal(size=(400, 1)) * (0.1 + np.abs(rows[:, :1]))
    point = regression(rows, rows @ [[1.0], [2.0]] + noise)
    centered = rows - rows.mean(axis=0)
    residuals = (rows @ [[1.0], [2.0]] + noise) - (rows - point.x_center) @ point.coef.T - point.y_center
    bread = np.linalg.inv(centered.T @ centered)
    leverage = np.einsum("ij,jk,ik->i", centered, bread, centered) + 1 / 400
    design = np.column_stack([centered, np.ones(400)])
    bread = np.linalg.inv(design.T @ design)
    sandwich = bread @ (design * (residuals[:, 0] / (1 - leverage))[:, None] ** 2).T @ design @ bread
    np.testing.assert_allclose(point.variance[0], sandwich, rtol=1e-8, atol=1e-12)


def test_later_batches_leave_the_variance_to_the_spread():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    learner = Classical().regression(LinearProblem())
    assert LinearPoint(*solve(learner, rows, rows[:, :1], index=8)).variance is None


def test_units_of_the_columns_do_not_matter():
    """Scales from 1e-6 to 1e6: scikit-learn's least squares drops the small columns here."""
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(60, 5)), rng.normal(size=(60, 1))
    units = np.array([1e-6, 1e-3, 1.0, 1e3, 1e6])
    np.testing.assert_allclose(
        regression(rows * units, targets).coef * units, regression(rows, targets).coef, rtol=1e-9
    )
