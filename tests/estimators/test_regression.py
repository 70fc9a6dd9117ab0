"""Outlier-robust regression as a scikit-learn user meets it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score

import robustream as rs
from robustream.sources import CorruptedBatches, SimulatedRegression, coefficient_error


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3)) * [1, 5, 0.2] + [0, 100, 3]
    return rows, rows @ [1.0, -2.0, 3.0] + 7 + rng.normal(size=2000)


@pytest.mark.parametrize("learner", ["refined", "classical"])
def test_one_batch_of_clean_rows_is_least_squares(table, learner):
    rows, target = table
    model = rs.OutlierRobustRegressor(batch_size=2000, learner=learner).fit(rows, target)
    plain = LinearRegression().fit(rows, target)
    np.testing.assert_allclose(model.coef_, plain.coef_)
    np.testing.assert_allclose(model.intercept_, plain.intercept_)
    np.testing.assert_allclose(model.score(rows, target), plain.score(rows, target))


@pytest.mark.parametrize("aggregator", sorted(set(rs.aggregators.AGGREGATORS) - {"online-median"}))
def test_clean_batches_give_nearly_the_plain_answer(table, aggregator):
    rows, target = table
    model = rs.OutlierRobustRegressor(aggregator=aggregator, batch_size=100).fit(rows, target)
    plain = LinearRegression().fit(rows, target)
    # Both vary by about the standard error; the intercept is far from the data, its value at the centre is not.
    assert np.all(np.abs(model.coef_ - plain.coef_) < 4 * model.coef_stderr_)
    center = rows.mean(axis=0)
    assert abs(center @ (model.coef_ - plain.coef_) + model.intercept_ - plain.intercept_) < 4 / np.sqrt(2000)
    assert model.scale_ == pytest.approx(1.0, rel=0.1)


def test_the_level_follows_the_coefficients_where_x_drifts():
    """Batches that lie at different places of one line: the intercept belongs to the settled slope."""
    rng = np.random.default_rng(0)
    model = rs.OutlierRobustRegressor()
    for index in range(30):
        rows = rng.normal(size=(100, 2)) + 50 * index
        model.partial_fit(rows, rows @ [1.0, 2.0] + 5 + rng.normal(size=100))
    center = 50 * 15.0
    assert abs(center * (model.coef_.sum() - 3) + model.intercept_ - 5) < 0.3


@pytest.mark.parametrize("kind", ["random", "colluding", "constant"])
@pytest.mark.parametrize("order", ["first", "last", "burst"])
def test_forty_percent_bad_batches_in_any_order(kind, order):
    source = SimulatedRegression(batches=25, rows=500, columns=8)
    dirty = CorruptedBatches(source, 0.4, kind, order)
    models = {name: rs.OutlierRobustRegressor(aggregator=name) for name in ("geometric-median", "mean")}
    clean = rs.OutlierRobustRegressor()
    for batch in dirty:
        for model in models.values():
            model.partial_fit(batch.X, batch.y)
        if batch.index not in dirty.bad_indices:
            clean.partial_fit(batch.X, batch.y)
    errors = {name: coefficient_error(model.coef_, source.coef) for name, model in models.items()}
    oracle = coefficient_error(clean.coef_, source.coef)
    assert errors["geometric-median"] < 6 * oracle
    if kind == "colluding":
        assert errors["mean"] > 6 * errors["geometric-median"]


def test_several_outputs(table):
    rows, target = table
    both = np.column_stack([target, -2 * target])
    model = rs.OutlierRobustRegressor(batch_size=200).fit(rows, both)
    assert model.coef_.shape == model.coef_stderr_.shape == (2, 3)
    assert model.intercept_.shape == model.scale_.shape == (2,)
    assert model.predict(rows).shape == (2000, 2)
    np.testing.assert_allclose(model.coef_[1], -2 * model.coef_[0], rtol=1e-6)
    column = rs.OutlierRobustRegressor(batch_size=200).fit(rows, target[:, None])
    assert column.coef_.shape == (1, 3)
    assert column.predict(rows).shape == (2000, 1)
    alone = rs.OutlierRobustRegressor(batch_size=200).fit(rows, target)
    assert alone.coef_.shape == (3,)
    assert np.ndim(alone.intercept_) == np.ndim(alone.scale_) == 0


@pytest.mark.parametrize("batch_size", [2000, 50])
def test_standard_errors_have_the_right_size(batch_size):
    """Over repetitions, errors in units of the standard error have unit variance."""
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(60):
        rows = rng.normal(size=(2000, 4))
        model = rs.OutlierRobustRegressor(batch_size=batch_size).fit(rows, rows @ np.ones(4) + rng.normal(size=2000))
        scores.append((model.coef_ - 1) / model.coef_stderr_)
    # 240 squared scores: their mean has standard error sqrt(2/240) = 0.09; the MAD of 40 batches adds about 0.06.
    assert abs(np.mean(np.square(scores)) - 1) < 0.4


def test_without_intercept(table):
    rows, target = table
    model = rs.OutlierRobustRegressor(fit_intercept=False, batch_size=2000).fit(rows, target)
    plain = LinearRegression(fit_intercept=False).fit(rows, target)
    np.testing.assert_allclose(model.coef_, plain.coef_)
    assert model.intercept_ == 0


def test_trimmed_learner_with_fewer_than_eight_batches_has_standard_errors(table):
    rows, target = table
    model = rs.OutlierRobustRegressor(learner="trimmed", batch_size=1000).fit(rows - rows.mean(axis=0), target)
    assert np.all(model.coef_stderr_ > 0)


def test_pandas_and_cross_validation(table):
    frame = pd.DataFrame(table[0], columns=["a", "b", "c"])
    model = rs.OutlierRobustRegressor(batch_size=100)
    assert cross_val_score(model, frame, pd.Series(table[1]), cv=3).min() > 0.95
    assert list(model.fit(frame, table[1]).feature_names_in_) == ["a", "b", "c"]


def test_one_bad_row_has_bounded_influence(table):
    """However wild one row, it spoils one batch of twenty."""
    rows, target = table
    model = rs.OutlierRobustRegressor(batch_size=100).fit(rows, target)
    for size in (1e3, 1e9):
        wild_rows, wild_target = rows.copy(), target.copy()
        wild_rows[10], wild_target[10] = size, -size
        spoiled = rs.OutlierRobustRegressor(batch_size=100).fit(wild_rows, wild_target)
        assert np.all(np.abs(spoiled.coef_ - model.coef_) < 2 * model.coef_stderr_)


def test_rotr_of_the_paper():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5000, 5))
    truth = np.array([1.0, -2.0, 3.0, 0.0, 0.5])
    target = rows @ truth + rng.normal(size=5000) + 20
    model = rs.TrimmedRegressor(trim=0.1).fit(rows * [1, 10, 0.1, 1, 1] + 50, target)
    direction = model.coef_ * [1, 10, 0.1, 1, 1]
    assert direction @ truth / np.linalg.norm(direction) / np.linalg.norm(truth) > 0.98
    assert np.linalg.norm(direction) < np.linalg.norm(truth)
    assert model.score(rows * [1, 10, 0.1, 1, 1] + 50, target) > 0.5
    assert rs.TrimmedRegressor(fit_intercept=False).fit(rows, target).intercept_ == 0


def test_rotr_with_many_sign_targets():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 4))
    targets = np.sign(rows @ rng.normal(size=(4, 6)))
    model = rs.TrimmedRegressor(trim=0.2).fit(rows, targets)
    assert model.coef_.shape == (6, 4)
    assert np.mean(np.sign(model.predict(rows)) == targets) > 0.85


@pytest.mark.parametrize("value", [1.0, 7.0, 0.1, -1e6, 1e-6])
@pytest.mark.parametrize("batch_size", ["auto", 20_000])
def test_a_column_that_never_changes_gets_no_coefficient(value, batch_size):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(20_000, 3)), np.full(20_000, value)])
    model = rs.OutlierRobustRegressor(batch_size=batch_size).fit(rows, rows[:, 0] + 5 + rng.normal(size=20_000))
    assert model.coef_[3] == 0
    # Ten standard errors of a mean of 20,000.
    assert abs(model.intercept_ - 5) < 0.07


@pytest.mark.parametrize("targets", [4, 6, 20])
@pytest.mark.parametrize("kind", ["shifted", "turned", "scattered"])
def test_one_bad_target_among_many_is_seen(targets, kind):
    rng = np.random.default_rng(targets)
    X, coef = rng.normal(size=(1000, 3)), 3 * rng.normal(size=(3, targets))
    Y = X @ coef + rng.normal(size=(1000, targets))
    Y[:200, 0] = {"shifted": Y[:200, 0] + 20, "turned": -Y[:200, 0], "scattered": 50 * rng.normal(size=200)}[kind]
    model = rs.OutlierRobustRegressor().fit(X, Y)
    # Five standard errors of a coefficient of 800 rows; few bad rows that lie near the line stay.
    np.testing.assert_allclose(model.coef_, coef.T, atol=5 / np.sqrt(800))


@pytest.mark.parametrize("seed", range(3))
def test_targets_at_a_limit_for_each_of_a_few_levels_are_no_copies(seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((2000, 2)) < [0.3, 0.5]).astype(float)
    y = np.maximum(0.0, 0.5 + X @ [0.3, 0.3] + rng.normal(size=2000))
    model = rs.OutlierRobustRegressor().fit(X, y)
    plain = np.linalg.lstsq(np.column_stack([X, np.ones(2000)]), y, rcond=None)[0]
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), plain, rtol=1e-9)
