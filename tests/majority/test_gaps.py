"""Rows with gaps: maximum likelihood, and bad cells told by the others of their row."""

from __future__ import annotations

import numpy as np
import pytest

from robustream import OutlierRobustRegressor
from robustream.majority import (
    bad_cells,
    conditional,
    covariance_with_gaps,
    majority,
    open_variance,
)
from robustream.majority.gaps import Law


def table(n, p, missing, seed=0):
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(p).normal(size=(p, p)) + 2 * np.eye(p)
    rows = rng.normal(size=(n, p)) @ mix + 5.0
    return rows, rng.random((n, p)) < missing, mix.T @ mix


def log_likelihood(rows, missing, center, covariance):
    total = 0.0
    for row, gaps in zip(rows, missing, strict=True):
        there = ~gaps
        if there.any():
            spread = covariance[np.ix_(there, there)]
            deviation = row[there] - center[there]
            total -= 0.5 * (np.linalg.slogdet(spread)[1] + deviation @ np.linalg.solve(spread, deviation))
    return total


def test_conditional_means_and_what_they_leave_open_are_those_of_the_formula():
    rows, missing, covariance = table(40, 6, 0.4)
    center, coef = np.full(6, 5.0), np.arange(6.0)
    filled = conditional(np.where(missing, np.nan, rows), missing, center, covariance)
    opened = open_variance(missing, covariance, coef)
    for row, gaps, got, variance in zip(rows, missing, filled, opened, strict=True):
        m, o = np.flatnonzero(gaps), np.flatnonzero(~gaps)
        inner = np.linalg.solve(covariance[np.ix_(o, o)], covariance[np.ix_(o, m)]).T
        np.testing.assert_allclose(got[m], center[m] + inner @ (row[o] - center[o]), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(got[o], row[o])
        left = covariance[np.ix_(m, m)] - inner @ covariance[np.ix_(o, m)]
        assert variance == pytest.approx(coef[m] @ left @ coef[m], rel=1e-5, abs=1e-6)


def test_it_is_the_maximum_of_the_likelihood():
    rows, missing, _ = table(300, 4, 0.3)
    center, covariance = covariance_with_gaps(np.where(missing, np.nan, rows), missing, np.ones(300))
    best = log_likelihood(rows, missing, center, covariance)
    rng = np.random.default_rng(1)
    for _ in range(20):
        turn = np.eye(4) + 0.05 * rng.normal(size=(4, 4))
        assert log_likelihood(rows, missing, center, turn @ covariance @ turn.T) < best
        assert log_likelihood(rows, missing, center + 0.2 * rng.normal(size=4), covariance) < best


def test_without_gaps_it_is_the_plain_covariance_and_weights_count():
    rows, _, _ = table(200, 5, 0.0)
    none = np.zeros(rows.shape, bool)
    center, covariance = covariance_with_gaps(rows, none, np.ones(200))
    np.testing.assert_allclose(covariance, np.cov(rows.T, ddof=0), rtol=1e-6)
    twice = covariance_with_gaps(rows, none, np.repeat([2.0, 0.0], 100))
    np.testing.assert_allclose(twice[1], np.cov(rows[:100].T, ddof=0), rtol=1e-6)
    np.testing.assert_allclose(center, rows.mean(axis=0))
    assert Law(center, covariance).length(np.linalg.inv(covariance), np.zeros(5, bool)) == pytest.approx(np.sqrt(5))


def test_an_empty_column_is_not_known():
    rows, missing, _ = table(300, 4, 0.2)
    missing[:, 2] = True
    center, covariance = covariance_with_gaps(np.where(missing, np.nan, rows), missing, np.ones(300))
    assert center[2] == 0
    assert not covariance[2].any()
    three = [0, 1, 3]
    same = covariance_with_gaps(rows[:, three], missing[:, three], np.ones(300))[1]
    np.testing.assert_allclose(covariance[np.ix_(three, three)], same, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_gaps_bad_cells_and_bad_rows_at_once(gaps):
    rng = np.random.default_rng(3)
    n, p = 800, 20
    mix = rng.normal(size=(4, p))
    x = rng.normal(size=(n, 4)) @ mix + rng.normal(size=(n, p))
    cells = rng.random((n, p)) < 0.05
    bad = np.arange(n) < 160
    x = np.where(bad[:, None], x + 4.0, np.where(cells, x + 25 * rng.choice([-1, 1], (n, p)), x))
    missing = rng.random((n, p)) < gaps
    found = majority(np.where(missing, np.nan, x))
    good, gone = ~bad, missing | cells
    oracle = covariance_with_gaps(x[good], gone[good], np.ones(good.sum()))[1]
    truth = mix.T @ mix + np.eye(p)
    unit = np.sqrt(np.diag(truth))

    def error(covariance):
        return np.linalg.norm((covariance - truth) / np.outer(unit, unit))

    assert np.mean(found.weights[bad] > 0.5) < 0.05
    assert np.mean(found.weights[good] > 0.5) > 0.95
    assert error(found.scatter) < 1.25 * error(oracle)


def test_long_tails_with_gaps_are_no_bad_cells():
    rng = np.random.default_rng(4)
    x = rng.standard_t(3, size=(600, 10))
    missing = rng.random(x.shape) < 0.2
    found = majority(np.where(missing, np.nan, x))
    np.testing.assert_array_equal(found.cells, missing)


def test_of_many_rows_it_is_the_maximum_too():
    """Where y hardly leaves its line, what the gaps leave open is told by y, row by row: none may be skipped."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 8))
    rows = np.column_stack([x, x @ np.arange(1.0, 9.0) + rng.normal(size=6000)])
    missing = rng.random(rows.shape) < 0.25
    missing[:, -1] = False
    _, spread = covariance_with_gaps(rows, missing, np.ones(6000))
    coef = np.linalg.solve(spread[:-1, :-1], spread[:-1, -1])
    # With every cell their standard error would be 0.013; the gaps alone leave open about 40 times the noise.
    assert np.abs(coef - np.arange(1.0, 9.0)).max() < 0.15
    center = rows.mean(axis=0)
    best = log_likelihood(rows[:600], missing[:600], center, spread)
    for scale in (0.9, 1.1):
        other = spread.copy()
        other[-1, :-1] *= scale
        other[:-1, -1] *= scale
        other[-1, -1] *= scale**2
        assert log_likelihood(rows[:600], missing[:600], center, other) < best


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("exactly", [0, 2], ids=["any number in a row", "two in a row or none"])
def test_bad_cells_of_a_regression_are_missing_ones_with_gaps_or_without(gaps, exactly):
    rng = np.random.default_rng(5)
    n, p = 1500, 20
    x = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    coef = np.linspace(-1, 1, p)
    y = x @ coef + rng.normal(size=n)
    cells = rng.random((n, p)) < 0.05
    if exactly:
        cells = rng.random((n, p)).argsort(axis=1) < exactly
        cells[rng.random(n) > 0.4] = False
    bad = np.arange(n) < n // 5
    y[bad] += 30.0
    spoilt = np.where(cells, x + 12 * rng.choice([-1, 1], (n, p)), x)
    missing = rng.random((n, p)) < gaps
    found = OutlierRobustRegressor().fit(np.where(missing, np.nan, spoilt), y).coef_
    joint, gone = np.column_stack([x, y])[~bad], np.pad(missing | cells, ((0, 0), (0, 1)))[~bad]
    spread = covariance_with_gaps(joint, gone, np.ones(len(joint)))[1]
    best = np.linalg.solve(spread[:-1, :-1], spread[:-1, -1])
    # Nearly the same rows and cells: what differs is a small part of the sampling error.
    assert np.linalg.norm(found - coef) < 1.25 * np.linalg.norm(best - coef)


def test_long_tails_of_a_regression_are_no_bad_cells():
    rng = np.random.default_rng(6)
    x = rng.standard_t(2, size=(1500, 10))
    assert bad_cells(x) is None
    assert bad_cells(np.exp(x / 2)) is None


def test_what_stands_apart_for_its_noise_is_found_where_gaps_make_some_rows_noisy():
    """Bad targets, of which the noise of rows with gaps hides a part from whoever looks at rows as they are."""
    rng = np.random.default_rng(7)
    n, p = 3000, 10
    coef = np.array([6.0, -5, 2, 0, 1, 3, -2, 0, 0.5, 4])
    x = rng.normal(size=(n, p))
    y, bad = x @ coef + rng.normal(size=n), np.arange(n) < 150
    y[bad] = rng.choice([-1, 1], 150) * rng.uniform(80, 600, 150)
    missing = rng.random((n, p)) < 0.25 * (rng.random((n, 1)) < 0.4)
    found = OutlierRobustRegressor().fit(np.where(missing, np.nan, x), y).coef_
    whole = ~bad & ~missing.any(axis=1)
    # Rows without gaps alone, of which there are more than half, have this error; those with gaps are used as well.
    assert np.linalg.norm(found - coef) < 2 * np.sqrt(p / whole.sum())


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_long_tails_are_no_bad_cells_of_a_regression(gaps, seed):
    """Floor space, plots and taxes: what is far out in one column is what the line is known by."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(400, 6)) @ np.diag([1.5, 1.0, 1.0, 0.5, 1.2, 1.5]))
    y = X @ [1.0, 2.0, -1.0, 1.0, 0.5, 1.0] + rng.normal(size=400)
    X[rng.random(X.shape) < gaps] = np.nan
    ours, all_cells = OutlierRobustRegressor().fit(X, y), OutlierRobustRegressor(keep_groups=True).fit(X, y)
    np.testing.assert_allclose(ours.coef_, all_cells.coef_, rtol=1e-6)
