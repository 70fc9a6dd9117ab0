"""What is true of the paper's methods in its own settings, at a tenth of its size or less."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs
from robustream.learners import Trimmed
from robustream.sources import CorruptedBatches, SimulatedPCA, SimulatedRegression, coefficient_error, subspace_error

SEEDS = range(3)


def root_mean_square(values):
    return float(np.sqrt(np.mean(np.square(values))))


def regression_error(batches, coef, aggregator, learner):
    model = rs.OutlierRobustRegressor(learner=learner, aggregator=aggregator, fit_intercept=False)
    for batch in batches:
        model.partial_fit(batch.X, batch.y)
    return coefficient_error(model.coef_, coef)


def pca_error(batches, basis, **options):
    model = rs.OutlierRobustPCA(basis.shape[1], **{"learner": "classical", "aggregator": "geometric-median"} | options)
    for batch in batches:
        model.partial_fit(batch.X)
    return subspace_error(model.components_.T, basis)


def test_regression_with_forty_percent_of_the_batches_made_of_outliers():
    """Trim 0.2: the median stays within 1.2 times its clean error, averaging goes beyond 3 times."""
    errors = {"clean": [], "median": [], "mean": [], "clean mean": []}
    for seed in SEEDS:
        clean = SimulatedRegression(batches=50, rows=1000, seed=seed)
        fractions = np.zeros(50)
        fractions[np.random.default_rng(seed).permutation(50)[:20]] = 1.0
        dirty = SimulatedRegression(batches=50, rows=1000, seed=seed, outliers=fractions)
        errors["clean"].append(regression_error(clean, clean.coef, "geometric-median", Trimmed(0.2)))
        errors["median"].append(regression_error(dirty, clean.coef, "geometric-median", Trimmed(0.2)))
        errors["clean mean"].append(regression_error(clean, clean.coef, "mean", Trimmed(0.2)))
        errors["mean"].append(regression_error(dirty, clean.coef, "mean", Trimmed(0.2)))
    assert root_mean_square(errors["median"]) < 1.2 * root_mean_square(errors["clean"])
    assert root_mean_square(errors["mean"]) > 3 * root_mean_square(errors["clean mean"])


def test_pca_with_forty_percent_colluding_batches():
    """The median's error is at most half of averaging's; against incoherent garbage averaging holds up as well."""
    errors = {(kind, name): [] for kind in ("colluding", "random") for name in ("geometric-median", "mean")}
    for seed in SEEDS:
        source = SimulatedPCA(batches=30, rows=2000, columns=50, components=3, seed=seed)
        for kind, name in errors:
            dirty = CorruptedBatches(source, 0.4, kind, seed=seed)
            errors[kind, name].append(pca_error(dirty, source.basis, aggregator=name))
    rms = {key: root_mean_square(value) for key, value in errors.items()}
    assert rms["colluding", "geometric-median"] < 0.5 * rms["colluding", "mean"]
    assert rms["random", "mean"] < 3 * rms["random", "geometric-median"]


def test_the_filter_needs_the_right_constant():
    """A sweep of c_a: too small never settles, too large stops short; the best lies between.

    Even the best stays well behind the exact median of the same estimates, which needs no constant.
    """
    constants = [1e-4, 1e-2, 0.3, 1.0, 3.0, 100.0]
    errors = {constant: [] for constant in constants}
    exact = []
    for seed in SEEDS:
        source = SimulatedRegression(batches=60, rows=500, columns=20, seed=seed)
        fractions = np.zeros(60)
        fractions[40:] = 1.0  # a third of the batches, late: the filter has no defence against a bad start
        dirty = SimulatedRegression(batches=60, rows=500, columns=20, seed=seed, outliers=fractions)
        exact.append(regression_error(dirty, source.coef, "geometric-median", "classical"))
        for constant in constants:
            filtered = rs.aggregators.OnlineMedian(convexity=constant)
            errors[constant].append(regression_error(dirty, source.coef, filtered, "classical"))
    rms = {constant: root_mean_square(value) for constant, value in errors.items()}
    best = min(rms, key=rms.get)
    assert best not in (constants[0], constants[-1])
    assert rms[best] < 0.3
    assert min(rms[constants[0]], rms[constants[-1]]) > 0.9
    assert root_mean_square(exact) < 0.3 * rms[best]


def test_orl_pca_is_the_trimmed_learner_under_the_online_median():
    """Alg. 4 written out on dense matrices gives the same subspace."""
    source = SimulatedPCA(batches=12, rows=400, columns=12, components=2, outliers=0.1)
    constant = 0.5
    sigma = np.zeros((12, 12))
    for step, batch in enumerate(source, start=1):
        vectors = np.linalg.eigh(rs.trimmed_covariance(batch.X, 0.5))[1][:, -2:]
        projector = vectors @ vectors.T
        weight = min(1.0, 2 / (constant * step) / np.linalg.norm(sigma - projector))
        sigma = (1 - weight) * sigma + weight * projector
    expected = np.linalg.eigh(sigma)[1][:, -2:]
    model = rs.OutlierRobustPCA(2, learner="trimmed", aggregator=rs.aggregators.OnlineMedian(convexity=constant))
    for batch in source:
        model.partial_fit(batch.X)
    assert subspace_error(model.components_.T, expected) < 1e-8


def test_averaging_eigenvectors_is_worse_than_averaging_projectors():
    """Eigenvectors have no order or sign of their own: their mean is no estimate of anything."""
    source = SimulatedPCA(batches=20, rows=1000, columns=20, components=3, dtype=np.float64)
    rng = np.random.default_rng(0)
    bases = []
    for batch in source:
        basis = np.linalg.eigh(batch.X.T @ batch.X)[1][:, -3:]
        bases.append(basis * rng.choice([-1, 1], size=3))
    averaged = np.linalg.svd(np.mean(bases, axis=0))[0][:, :3]
    assert pca_error(source, source.basis, aggregator="mean") < 0.5 * subspace_error(averaged, source.basis)


@pytest.mark.parametrize("outliers", [0.0, 0.1, 0.3])
def test_plain_pca_breaks_where_trimming_does_not(outliers):
    plain, trimmed = [], []
    for seed in SEEDS:
        source = SimulatedPCA(batches=1, rows=4000, columns=50, components=3, outliers=outliers, seed=seed)
        plain.append(pca_error(source, source.basis))
        trimmed.append(pca_error(source, source.basis, learner=Trimmed(max(outliers, 0.01))))
    if outliers:
        assert root_mean_square(trimmed) < 0.6 * root_mean_square(plain)
    else:
        assert root_mean_square(plain) <= 1.05 * root_mean_square(trimmed)
