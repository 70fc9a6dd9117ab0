"""The refined learner: the plain answer on ordinary tables, the clean rows' answer on dirty ones."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression

import robustream as rs
from robustream.majority import bad_cells
from robustream.sources import subspace_error


def clean_table(kind, rng, rows=1500):
    normal = rng.normal(size=(rows, 5))
    if kind == "ratings":
        normal[:, :2] = rng.integers(1, 6, size=(rows, 2))
    elif kind == "counts":
        normal[:, :2] = rng.poisson(0.3, size=(rows, 2))
    elif kind == "groups":
        normal[:, :3] = np.eye(3)[rng.integers(0, 3, rows)]
    elif kind == "rare flag":
        normal[:, 0] = rng.random(rows) < 0.02
    elif kind == "constant":
        normal[:, 0] = 7
    elif kind == "collinear":
        normal[:, 0] = normal[:, 1] + normal[:, 2]
    elif kind == "heavy":
        normal = rng.standard_t(3, size=(rows, 5))
    elif kind == "log-normal":
        normal = np.exp(normal)
    return normal


KINDS = ["normal", "ratings", "counts", "groups", "rare flag", "constant", "collinear", "heavy", "log-normal"]


@pytest.mark.parametrize("kind", KINDS)
def test_clean_regression_is_least_squares(kind):
    changes = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = clean_table(kind, rng)
        y = X @ [1.0, 2.0, 0.0, -1.0, 0.5] + rng.normal(size=len(X))
        plain = LinearRegression().fit(X, y).predict(X)
        change = rs.OutlierRobustRegressor(batch_size=len(X)).fit(X, y).predict(X) - plain
        changes.append(np.sqrt(np.mean(np.square(change))))
    # In one clean sample out of a hundred or so the residuals look suspicious and are weighted.
    assert np.median(changes) < 1e-6


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"heavy"}))
def test_clean_pca_is_plain_pca(kind):
    X = clean_table(kind, np.random.default_rng(0))
    model, plain = rs.OutlierRobustPCA(5, batch_size=len(X)).fit(X), PCA(5).fit(X)
    np.testing.assert_allclose(model.explained_variance_, plain.explained_variance_, rtol=1e-6, atol=1e-9)


def test_discrete_places_alone():
    """A rating beside a constant column: five different rows, many times each."""
    for seed in range(4):
        X = np.column_stack([np.random.default_rng(seed).integers(0, 5, 800), np.full(800, 7)])
        assert rs.OutlierRobustPCA(1).fit(X).explained_variance_[0] == pytest.approx(np.var(X[:, 0], ddof=1))


@pytest.mark.parametrize(("rows", "columns"), [(20, 3), (300, 100), (400, 100), (200, 50)])
def test_few_rows_for_the_columns_are_no_evidence(rows, columns):
    """A robust search fits part of any few rows well; what it finds in noise must not count as evidence."""
    flagged, errors = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rows, columns))
        y = X[:, 0] + rng.normal(size=rows)
        model = rs.OutlierRobustRegressor().fit(X, y)
        flagged.append(model.is_outlier(X, y).mean())
        errors.append(np.linalg.norm(model.coef_ - LinearRegression().fit(X, y).coef_))
    assert np.mean(flagged) < 0.06
    assert np.median(errors) < 1e-6


@pytest.mark.parametrize(("rows", "columns"), [(50, 3), (50, 5), (80, 5), (100, 5)])
def test_small_clean_tables_get_least_squares(rows, columns):
    flagged, ours, plain = [], [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rows, columns))
        truth = rng.normal(size=columns)
        y = X @ truth + rng.normal(size=rows)
        model = rs.OutlierRobustRegressor().fit(X, y)
        flagged.append(model.is_outlier(X, y).mean())
        ours.append(np.linalg.norm(model.coef_ - truth))
        plain.append(np.linalg.norm(LinearRegression().fit(X, y).coef_ - truth))
    assert np.mean(flagged) < 0.03
    assert np.sqrt(np.mean(np.square(ours))) < 1.1 * np.sqrt(np.mean(np.square(plain)))


@pytest.mark.parametrize("kind", ["vertical", "leverage"])
def test_small_dirty_tables(kind):
    ours, oracle = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, truth = rng.normal(size=(60, 4)), rng.normal(size=4)
        bad = np.arange(60) < 12
        if kind == "leverage":
            X[bad] += 10
        y = X @ truth + rng.normal(size=60)
        y[bad] = y[bad] + 12 if kind == "vertical" else -y[bad]
        ours.append(np.linalg.norm(rs.OutlierRobustRegressor().fit(X, y).coef_ - truth))
        oracle.append(np.linalg.norm(LinearRegression().fit(X[~bad], y[~bad]).coef_ - truth))
    assert np.sqrt(np.mean(np.square(ours))) < 1.3 * np.sqrt(np.mean(np.square(oracle)))


@pytest.mark.parametrize("kind", ["equal", "decaying"])
def test_one_ordinary_row_in_a_hundred_is_an_outlier_of_the_components(kind):
    spread = np.ones(30) if kind == "equal" else np.arange(1, 31) ** -0.5
    rates = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        fitted, fresh = (rng.normal(size=(3000, 30)) * spread * [4, 4, *np.ones(28)] for _ in range(2))
        rates.append(rs.OutlierRobustPCA(2).fit(fitted).is_outlier(fresh).mean())
    assert 0.007 < np.mean(rates) < 0.0135


@pytest.mark.parametrize("dirty", [False, True])
def test_single_precision_gives_the_same_model(dirty):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 30)) * np.geomspace(1e-3, 1e3, 30) + 1e3 * np.geomspace(1e-3, 1e3, 30)
    y = X @ (1 / np.geomspace(1e-3, 1e3, 30)) + rng.normal(size=4000)
    if dirty:
        X[:800] += 8 * rng.normal(size=(800, 30)) * np.geomspace(1e-3, 1e3, 30)
    double = rs.OutlierRobustRegressor(batch_size=4000).fit(X, y)
    single = rs.OutlierRobustRegressor(batch_size=4000).fit(X.astype(np.float32), y.astype(np.float32))
    # Single precision has about three digits left of columns a thousand times farther away than they are wide.
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=2e-2)
    assert single.coef_.dtype == np.float32


def test_no_variance_outside_the_subspace_makes_no_outliers():
    rng = np.random.default_rng(0)
    for X, components in (
        (np.column_stack([np.full(5000, 7.0), rng.normal(size=5000)]), 1),
        (rng.normal(size=(5000, 3)) @ np.column_stack([np.eye(3), [1, 1, 0]]), 3),
    ):
        assert rs.OutlierRobustPCA(components).fit(X).is_outlier(X).mean() < 0.03


@pytest.mark.parametrize("kind", ["far", "plane", "point"])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_dirty_pca_is_that_of_the_clean_rows(kind, share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)) * [6, 4, 1, 1, 1, 1, 1, 1]
    bad = np.arange(2000) < share * 2000
    if kind == "far":
        X[bad] = rng.uniform(-60, 60, size=(bad.sum(), 8))
    elif kind == "plane":
        X[bad] = rng.normal(size=(bad.sum(), 2)) @ rng.normal(size=(2, 8)) * 15
    else:
        X[bad] = 25
    model = rs.OutlierRobustPCA(2).fit(X)
    assert subspace_error(model.components_.T, PCA(2).fit(X[~bad]).components_.T) < 0.03


@pytest.mark.parametrize("kind", ["leverage", "vertical", "flip"])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_dirty_regression_is_that_of_the_clean_rows(kind, share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = X @ np.arange(1.0, 7.0) + rng.normal(size=3000)
    bad = np.arange(3000) < share * 3000
    if kind == "leverage":
        X[bad] *= 8
        y[bad] = -X[bad] @ np.arange(1.0, 7.0)
    elif kind == "vertical":
        y[bad] += 30
    else:
        y[bad] *= -1
    model = rs.OutlierRobustRegressor(batch_size=3000).fit(X, y)
    oracle = LinearRegression().fit(X[~bad], y[~bad])
    # A fraction of the oracle's own error, about sqrt(6 / 3000); good rows that lie among bad leverage go with it.
    assert np.linalg.norm(model.coef_ - oracle.coef_) < 0.8 * np.sqrt(6 / 3000)


def test_bad_cells():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20)) * np.linspace(6, 1, 20)
    dirty = np.where(rng.random(X.shape) < 0.05, 60.0, X)
    model = rs.OutlierRobustPCA(3).fit(dirty)
    assert subspace_error(model.components_.T, np.eye(20)[:, :3]) < 2 * subspace_error(
        PCA(3).fit(X).components_.T, np.eye(20)[:, :3]
    )


def spotted(X, y, gaps):
    """Return how many rows a regression on rows with gaps leaves out."""
    model = rs.OutlierRobustRegressor().partial_fit(np.where(gaps, np.nan, X), y)
    return model.batch_report_[0].left_out


@pytest.mark.parametrize("seed", [3, 5, 6])
def test_rows_of_another_line_are_found_among_rows_with_gaps(seed):
    rng = np.random.default_rng(seed)
    mix = np.linalg.cholesky(0.7 ** np.abs(np.subtract.outer(np.arange(30), np.arange(30)))).T
    X = rng.normal(size=(500, 30)) @ mix
    y = X @ rng.normal(size=30) + rng.normal(size=500)
    X[:100] += 10 * rng.normal(size=30) / np.sqrt(30)
    y[:100] += 15
    assert 97 <= spotted(X, y, rng.random(X.shape) < 0.2) <= 103


@pytest.mark.parametrize("where", ["a column that matters", "half of the columns"])
def test_rows_whose_gaps_make_them_noisy_are_no_other_line(where):
    """Some rows lack a column with a large coefficient: their residuals are wider, for an honest reason."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(800, 8))
        y = X @ [5.0, 1, 1, 1, 0, 0, 0, 0] + rng.normal(size=800)
        gaps = np.zeros(X.shape, bool)
        gaps[rng.random(800) < 0.25, : 1 if where == "a column that matters" else 4] = True
        assert spotted(X, y, gaps) == 0


def test_copies_of_a_row_with_gaps_do_not_make_the_cells_of_others_bad():
    rng = np.random.default_rng(3)
    mix = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(20), np.arange(20)))).T
    X = rng.normal(size=(600, 20)) @ mix
    bad = rng.random(X.shape) < 0.05
    X[bad] = rng.choice([-10.0, 10.0], bad.sum())
    X[:120], bad[:120] = X[0], False
    X[rng.random(X.shape) < 0.2] = np.nan
    found = bad_cells(X)[120:]
    there = ~np.isnan(X[120:])
    assert np.mean(found[bad[120:] & there]) > 0.98
    assert np.mean(found[~bad[120:] & there]) < 0.01
