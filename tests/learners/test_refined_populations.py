"""Bad rows that no valley parts from the majority, and ordinary rows that look a little like them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from robustream.learners.refined.groups import between, lie_around
from robustream.learners.refined.metric import core_metric, fit_metric, lengths
from robustream.learners.refined.populations import Normal, evidence, fit_populations, two_populations
from robustream.learners.refined.scatter import foreign_rows, location_scatter


def turned(rng, rows, columns, leading):
    """Normal rows with a few leading components in random directions; and those directions."""
    axes = np.linalg.qr(rng.normal(size=(columns, columns)))[0]
    spread = np.r_[np.full(leading, 4.0), np.linspace(1.0, 0.6, columns - leading)]
    return rng.normal(size=(rows, columns)) * spread @ axes, axes[:leading]


def sine(components, truth):
    return np.sqrt(max(len(truth) - np.sum((components @ truth.T) ** 2), 0.0))


def leading_axes(scatter, count):
    return np.linalg.eigh(scatter)[1][:, ::-1][:, :count].T


@pytest.mark.parametrize(("rows", "columns", "share"), [(3000, 12, 0.1), (800, 30, 0.25), (1500, 60, 0.4)])
def test_a_population_with_another_scatter_has_no_say(rows, columns, share):
    ours, oracle = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, truth = turned(rng, rows, columns, 2)
        bad = np.arange(rows) < share * rows
        X[bad] = turned(rng, int(bad.sum()), columns, 2)[0]
        fit = location_scatter(X, rng)
        assert fit.ordinary[~bad].mean() > 0.9
        assert fit.ordinary[bad].mean() < 0.4
        ours.append(sine(leading_axes(fit.scatter, 2), truth))
        oracle.append(sine(leading_axes(np.cov(X[~bad].T), 2), truth))
    assert np.linalg.norm(ours) < 1.15 * np.linalg.norm(oracle)


def ordinary_rows(law, rng, shape):
    if law == "t3 columns":
        return rng.standard_t(3, shape)
    if law == "t3 rows":
        return rng.normal(size=shape) / np.sqrt(rng.chisquare(3, (shape[0], 1)) / 3)
    if law == "log-normal":
        return np.exp(rng.normal(size=shape))
    if law == "one heavy column":
        rows = rng.normal(size=shape)
        rows[:, 0] = rng.standard_t(2, shape[0])
        return rows
    if law == "volatility":
        return rng.normal(size=shape) * np.exp(rng.normal(size=(shape[0], 1)) * (np.arange(shape[1]) < 3))
    return getattr(rng, law)(size=shape)


LAWS = ["normal", "uniform", "laplace", "exponential", "t3 columns", "t3 rows", "log-normal"]


@pytest.mark.parametrize("law", [*LAWS, "one heavy column", "volatility"])
@pytest.mark.parametrize("shape", [(700, 4), (1500, 10)])
def test_long_tails_are_no_second_population(law, shape):
    for seed in range(6):
        rows = ordinary_rows(law, np.random.default_rng(seed), shape)
        assert two_populations(fit_metric(rows).scores(rows)) is None


def test_normal_rows_are_not_searched_for_populations():
    """The cheap look at them decides, so that a clean batch costs no time."""
    for seed in range(10):
        rows = np.random.default_rng(seed).normal(size=(1500, 10))
        assert evidence(fit_metric(rows).scores(rows)) == 0


def test_two_normal_laws_are_found_again():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(1000, 3)) * [6.0, 0.3, 1.0]
    Y = np.vstack([rng.normal(size=(3000, 3)), wide + 1])
    fit = fit_populations(Y, np.where(np.abs(Y[:, 0]) > 3, 0.1, 0.9))
    assert fit.share == pytest.approx(0.25, abs=0.02)
    np.testing.assert_allclose((fit.other.mean - 1) / wide.std(axis=0), 0, atol=0.15)
    np.testing.assert_allclose(np.linalg.norm(fit.other.factor, axis=1), wide.std(axis=0), rtol=0.15)
    belonging = fit.belonging(Y)
    assert belonging[:3000].mean() > 0.9 > 0.3 > belonging[3000:].mean()


def test_the_density_is_the_normal_one():
    rng = np.random.default_rng(0)
    factor = np.tril(rng.uniform(0.5, 1.5, (3, 3)))
    law, Y = Normal(np.arange(3.0), factor), rng.normal(size=(5, 3))
    known = multivariate_normal(law.mean, factor @ factor.T).logpdf(Y)
    np.testing.assert_allclose(law.log_density(Y) - 1.5 * np.log(2 * np.pi), known)


@pytest.mark.parametrize(("columns", "share"), [(4, 0.4), (12, 0.25), (40, 0.1)])
def test_garbage_that_spreads_over_decades_is_found(columns, share):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.gamma(2, size=(1500, columns))
        bad = np.arange(1500) < share * 1500
        X[bad] = 20 * rng.standard_cauchy((int(bad.sum()), columns))
        labels = foreign_rows(X, rng).labels
        assert (labels[~bad] == 0).mean() > 0.98
        assert (labels[bad] != 0).mean() > 0.98


def test_the_core_does_not_mind_the_rest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    X[:400] *= 1000 * rng.standard_cauchy((400, 1))
    core = core_metric(X, fit_metric(X))
    assert core is not None
    assert np.median(lengths(core.scores(X[400:]))) < 0.01 * np.median(lengths(core.scores(X[:400])))
    assert core_metric(X[:100], fit_metric(X[:100])) is None


def test_a_wider_group_around_skewed_rows_is_no_class():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.gamma(2, size=(1500, 4)) - 2
        bad = np.arange(1500) < 150
        X[bad] *= 10
        labels = foreign_rows(X, rng).labels
        assert (labels[bad] != 0).mean() > 0.85
        assert (labels[~bad] == 0).mean() > 0.95


def test_classes_on_both_sides_do_not_lie_around():
    rng = np.random.default_rng(0)
    assert lie_around(5 * rng.normal(size=(200, 3)))
    assert not lie_around(rng.normal(size=(200, 3)) + np.where(rng.random(200) < 0.5, 9, -9)[:, None] * [1, 0, 0])
    assert not lie_around(5 * rng.normal(size=(200, 3)) + 9)


def test_few_very_far_rows_of_a_group_do_not_move_its_border():
    rng = np.random.default_rng(0)
    majority, group = rng.normal(size=500), 20 + rng.normal(size=100)
    border = between(majority, group)[0]
    group[:5] = 1e6
    assert between(majority, group)[0] == pytest.approx(border, rel=0.1)
