"""The paper's learners: what they compute, and what the notes on the paper measured."""

from __future__ import annotations

import numpy as np
import pytest

from robustream import trimmed_covariance, trimmed_cross
from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.learners import LinearProblem, PrincipalProblem, Trimmed, resolve_recipe
from robustream.sources import SimulatedPCA, SimulatedRegression, coefficient_error, subspace_error
from robustream.spaces.linear import LinearPoint
from robustream.spaces.principal import PrincipalPoint


def pca(recipe, rows, components=2, **problem):
    learner = recipe.pca(PrincipalProblem(components, **problem))
    return PrincipalPoint(*learner.estimate(Batch(0, "", rows), np.random.default_rng(0)).point)


def regression(recipe, rows, targets, **problem):
    learner = recipe.regression(LinearProblem(**problem))
    return LinearPoint(*learner.estimate(Batch(0, "", rows, targets), np.random.default_rng(0)).point)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 4)) * [4, 2, 1, 1] + 3
    return rows, rows @ rng.normal(size=(4, 2)) + rng.normal(size=(500, 2))


def test_pca_is_the_decomposition_of_the_trimmed_covariance(table):
    point = pca(Trimmed(0.3), table[0])
    values, vectors = np.linalg.eigh(trimmed_covariance(table[0], 0.3))
    np.testing.assert_allclose(point.eigenvalues, values[:-3:-1])
    np.testing.assert_allclose(point.basis @ point.basis.T, vectors[:, -2:] @ vectors[:, -2:].T, atol=1e-9)
    np.testing.assert_array_equal(point.mean, 0)


def test_centring_is_by_the_median(table):
    np.testing.assert_allclose(pca(Trimmed(0.3, center=True), table[0]).mean, np.median(table[0], axis=0))


def test_regression_is_the_trimmed_cross_product(table):
    rows, targets = table
    point = regression(Trimmed(0.3), rows, targets, fit_intercept=False)
    np.testing.assert_allclose(point.coef, trimmed_cross(rows, targets, 0.3).T)
    np.testing.assert_array_equal(point.y_center, 0)


def test_scaled_regression_has_no_units(table):
    rows, targets = table
    units = np.array([1e-3, 1.0, 1e3, 10.0])
    recipe = Trimmed(0.3, center=True, scale=True)
    plain, scaled = regression(recipe, rows, targets), regression(recipe, rows * units, targets)
    np.testing.assert_allclose(scaled.coef * units, plain.coef, rtol=1e-9)


def test_columns_without_spread_are_left_alone():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=200), np.full(200, 5.0), (rng.random(200) < 0.1) * 1.0])
    point = regression(Trimmed(0.1, center=True, scale=True), rows, rows[:, :1])
    assert np.isfinite(point.coef).all()
    assert point.coef[0, 1] == 0


def test_signs_as_targets_keep_all_columns_on_the_same_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 5))
    targets = np.sign(rows[:, :3] + 0.1 * rng.normal(size=(400, 3)))
    point = regression(Trimmed(0.5, center=True), rows, targets)
    centered = rows - np.median(rows, axis=0)
    np.testing.assert_allclose(point.coef, trimmed_cross(centered, targets, 0.5).T)


def test_what_was_measured_of_rc_pca():
    """10,000 rows, 20% outliers, trim 0.2: about 0.28 where the clean rows give 0.22; half-trimming clean data, 1.0."""
    errors, clean_errors, halved = [], [], []
    for seed in range(3):
        source = SimulatedPCA(batches=1, rows=10_000, outliers=0.2, seed=seed, dtype=np.float32)
        batch = source.batch(0)
        clean = batch.X[~source.outlier_rows(0)]
        errors.append(subspace_error(pca(Trimmed(0.2), batch.X, 5).basis, source.basis))
        clean_errors.append(subspace_error(pca(Trimmed(0.0), clean, 5).basis, source.basis))
        halved.append(subspace_error(pca(Trimmed(0.5), clean, 5).basis, source.basis))
    assert 0.24 < np.mean(errors) < 0.32
    assert 0.19 < np.mean(clean_errors) < 0.25
    assert np.mean(halved) > 0.8


def test_what_was_measured_of_rotr():
    """20% outliers, trim 0.2: about 0.44, of which most is shrinkage; half-trimming clean data, 0.97."""
    errors, rescaled, halved = [], [], []
    for seed in range(3):
        source = SimulatedRegression(batches=1, rows=10_000, outliers=0.2, seed=seed)
        batch = source.batch(0)
        targets = batch.y.reshape(len(batch.X), -1)
        coef = regression(Trimmed(0.2), batch.X, targets, fit_intercept=False).coef[0]
        truth = source.coef.ravel()
        errors.append(coefficient_error(coef, truth))
        rescaled.append(coefficient_error(coef * (coef @ truth) / (coef @ coef), truth))
        clean = ~source.outlier_rows(0)
        point = regression(Trimmed(0.5), batch.X[clean], targets[clean], fit_intercept=False)
        halved.append(coefficient_error(point.coef[0], truth))
    assert 0.35 < np.mean(errors) < 0.53
    assert np.mean(rescaled) < 0.25
    assert np.mean(halved) > 0.9


@pytest.mark.parametrize("trim", [-0.1, 1.0, 2, np.nan, "half", None])
def test_bad_trims_are_refused(trim):
    with pytest.raises(InvalidInputError, match="trim"):
        Trimmed(trim)


@pytest.mark.parametrize("wrong", ["robust", 1, None, Trimmed])
def test_unknown_learners_are_refused_with_the_list(wrong):
    with pytest.raises(InvalidInputError, match="classical"):
        resolve_recipe(wrong)
