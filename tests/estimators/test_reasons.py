"""Which cells make rows outliers, p values of rows, and false-discovery rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import robustream as rs
from robustream.errors import InvalidInputError, NotEnoughRowsError

COLUMNS = 8


def factors(rng, rows, columns=COLUMNS):
    loadings = np.random.default_rng(1).normal(size=(2, columns))
    return rng.normal(size=(rows, 2)) @ loadings * 2 + 0.5 * rng.normal(size=(rows, columns)) + 10


def line(rng, rows):
    X = factors(rng, rows, 4)
    return X, X @ [1.0, -2.0, 0.5, 3.0] + 4 + rng.normal(size=rows)


def with_bad_rows(X, y, rng, share=0.3):
    bad = rng.random(len(X)) < share
    X, y = X.copy(), y.copy()
    X[bad] = X[bad][:, ::-1] + 8
    y[bad] = rng.normal(size=bad.sum()) * 5 - 30
    return X, y


@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(2), rs.OutlierRobustCovariance()], ids=["pca", "covariance"])
def test_a_planted_cell_is_the_first_reason_of_a_row(model):
    rng = np.random.default_rng(0)
    model.fit(factors(rng, 2000))
    rows = factors(rng, 400)
    clean, at = rows.copy(), rng.integers(0, COLUMNS, 400)
    rows[np.arange(400), at] += rng.choice([-6.0, 6.0], 400)
    first = model.explain(rows).first()
    assert len(first.row) > 0.95 * 400
    assert np.mean(first.column == [f"x{k}" for k in at[first.row]]) > 0.95
    # Given the other cells one is known up to about the noise of 0.5.
    true = clean[first.row, at[first.row]]
    assert np.median(np.abs(first.expected - true)) < 0.6
    assert np.median(first.share) > 0.8


@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(2), rs.OutlierRobustCovariance()], ids=["pca", "covariance"])
def test_missing_cells_are_no_reasons_and_hide_none(model):
    rng = np.random.default_rng(0)
    model.fit(factors(rng, 2000))
    rows = factors(rng, 400)
    clean, at = rows.copy(), rng.integers(0, COLUMNS, 400)
    rows[np.arange(400), at] += rng.choice([-6.0, 6.0], 400)
    gaps = rng.random(rows.shape) < 0.25
    gaps[np.arange(400), at] = False
    rows[gaps] = np.nan
    found = model.explain(rows)
    assert np.isfinite(found.value).all()
    first = found.first()
    assert len(first.row) > 0.9 * 400
    assert np.mean(first.column == [f"x{k}" for k in at[first.row]]) > 0.95
    assert np.median(np.abs(first.expected - clean[first.row, at[first.row]])) < 0.7


def test_reasons_of_rows_with_gaps_are_those_of_the_law_of_the_others():
    """Without a column, a row is measured by the covariance of the other columns, as if there had been no others."""
    rng = np.random.default_rng(0)
    X = factors(rng, 2000)
    model, smaller = rs.OutlierRobustCovariance().fit(X), rs.OutlierRobustCovariance().fit(X[:, :-2])
    rows = factors(rng, 50)
    rows[:, 0] += 8
    rows[:, -2:] = np.nan
    found, expected = model.explain(rows, most=1), smaller.explain(rows[:, :-2], most=1)
    same = np.intersect1d(found.row, expected.row)
    assert len(same) > 45
    for name in ("expected", "share"):
        values, others = (dict(zip(one.row, getattr(one, name), strict=True)) for one in (found, expected))
        np.testing.assert_allclose([values[row] for row in same], [others[row] for row in same], rtol=1e-6)


def test_a_bad_target_and_a_bad_cell_of_x_are_told_apart():
    rng = np.random.default_rng(0)
    model = rs.OutlierRobustRegressor().fit(*line(rng, 2000))
    X, y = line(rng, 400)
    at = rng.integers(0, 5, 400)
    true = np.column_stack([X, y])[np.arange(400), at]
    y[at == 4] += 12
    X[np.flatnonzero(at < 4), at[at < 4]] += 12
    first = model.explain(X, y).first()
    names = np.array(["x0", "x1", "x2", "x3", "y"])
    assert len(first.row) > 0.9 * 400
    assert np.mean(first.column == names[at[first.row]]) > 0.95
    assert np.median(np.abs(first.expected - true[first.row])) < 1


def test_two_bad_cells_are_both_found_and_replaced_together():
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(COLUMNS)]
    model = rs.OutlierRobustPCA(2).fit(pd.DataFrame(factors(rng, 2000), columns=names))
    rows = factors(rng, 100)
    clean = rows.copy()
    rows[:, [1, 5]] += [8.0, -8.0]
    found = model.explain(pd.DataFrame(rows, columns=names), most=2)
    assert list(found.columns) == ["row", "column", "value", "expected", "share", "score"]
    both = found[found.column.isin(["x1", "x5"])]
    assert len(both) > 0.95 * 200
    column = both.column.map({"x1": 1, "x5": 5})
    assert np.median(np.abs(both.expected - clean[both.row, column])) < 0.7
    assert len(model.explain(pd.DataFrame([model.mean_], columns=names))) == 0  # nothing to explain


def test_the_reason_of_a_model_without_moments_is_the_target():
    rng = np.random.default_rng(0)
    X, y = line(rng, 500)
    model = rs.OutlierRobustRegressor(learner="classical").fit(X, y)
    y[:5] += 50
    first = model.explain(X[:5], y[:5]).first()
    assert list(first.column) == ["y"] * 5
    np.testing.assert_allclose(first.expected, model.predict(X[:5]), rtol=1e-3)
    with pytest.raises(InvalidInputError, match="most"):
        model.explain(X, y, most=0)


@pytest.mark.parametrize("batch_size", ["auto", 500])
def test_p_values_of_ordinary_rows_are_uniform(batch_size):
    rng = np.random.default_rng(0)
    X, y = with_bad_rows(*line(rng, 5000), rng)
    regression = rs.OutlierRobustRegressor(batch_size=batch_size).fit(X, y)
    others = rs.OutlierRobustPCA(2, batch_size=batch_size), rs.OutlierRobustCovariance(batch_size=batch_size)
    fresh, target = line(rng, 10_000)
    for chances in (
        regression.outlier_pvalues(fresh, target),
        *(other.fit(X).outlier_pvalues(fresh) for other in others),
    ):
        for level in (0.01, 0.05, 0.2, 0.5):
            # The standard error of a share of 10,000 rows, and of the 3,500 that it is calibrated on.
            tolerance = 4 * np.sqrt(level * (1 - level) * (1 / 10_000 + 1 / 3500))
            assert np.mean(chances <= level) == pytest.approx(level, abs=tolerance + 0.1 * level)
        assert chances.min() > 0


def test_the_false_discovery_rate_holds():
    """At 5% asked for, at most 6% on average over 20 tables, with 30% bad rows in the calibration data."""
    wrong = {"regression": [], "pca": [], "covariance": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = with_bad_rows(*line(rng, 2000), rng)
        fresh, target = line(rng, 1000)
        bad = np.arange(1000) < 100
        target[bad] += 10
        flags = rs.OutlierRobustRegressor().fit(X, y).is_outlier(fresh, target, false_discovery_rate=0.05)
        wrong["regression"].append(np.mean(~bad[flags]))
        assert flags[bad].mean() > 0.95
        fresh[bad, 1] += 10
        for name, model in (("pca", rs.OutlierRobustPCA(2)), ("covariance", rs.OutlierRobustCovariance())):
            flags = model.fit(X).is_outlier(fresh, false_discovery_rate=0.05)
            wrong[name].append(np.mean(~bad[flags]))
            assert flags[bad].mean() > 0.95
    for rates in wrong.values():
        assert np.mean(rates) < 0.06


def test_a_few_gross_outliers_of_many_rows_are_found_and_long_tails_are_not_taken_for_them():
    """5 of 3,000 would need a p value of 0.00008, and 2,000 rows alone allow none below 0.0005."""
    wrong = {"normal": [], "t3": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        for name, found in wrong.items():
            X, y = line(rng, 5000)
            y += rng.standard_t(3, 5000) if name == "t3" else 0.0
            model = rs.OutlierRobustRegressor().fit(X[:2000], y[:2000])
            bad = np.arange(2000, 5000) < 2005
            target = y[2000:] + 1000 * bad
            flags = model.is_outlier(X[2000:], target, false_discovery_rate=0.05)
            assert flags[bad].all()
            found.append(np.mean(~bad[flags]))
    for rates in wrong.values():
        # The mean of 20 tables of which each has a share among about five rows.
        assert np.mean(rates) < 0.1


def test_small_batches_do_not_hide_outliers():
    """Their rows lie farther out under their own models, of few rows, than others do under the model of all."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(10):
        model = rs.OutlierRobustCovariance(batch_size=250).fit(factors(rng, 2500))
        shares.append(np.mean(model.outlier_pvalues(factors(rng, 4000)) <= 0.05))
    assert np.mean(shares) == pytest.approx(0.045, abs=0.008)  # 0.024 without a correction


def test_rows_without_a_target_have_no_score_and_are_no_outliers():
    rng = np.random.default_rng(0)
    X, y = line(rng, 1000)
    model = rs.OutlierRobustRegressor().fit(X, y)
    y[:5] += 50
    y[5:9] = np.nan
    scores, chances = model.outlier_scores(X, y), model.outlier_pvalues(X, y)
    assert len(scores) == len(chances) == 1000
    for values in (scores, chances):
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(values)), np.arange(5, 9))
    np.testing.assert_array_equal(scores[9:], model.outlier_scores(X[9:], y[9:]))
    for flags in (model.is_outlier(X, y), model.is_outlier(X, y, false_discovery_rate=0.05)):
        assert flags[:5].all()
        assert not flags[5:9].any()
    assert set(range(5)) <= set(model.explain(X, y).row)
    assert model.score(X[9:], y[9:]) == model.score(X[5:], y[5:])
    assert np.isnan(model.outlier_scores(X[5:9], y[5:9])).all()


def test_calibration_is_saved_and_survives_the_mean(tmp_path):
    rng = np.random.default_rng(0)
    X, y = line(rng, 2000)
    model = rs.OutlierRobustRegressor(batch_size=500).fit(X, y)
    rs.save(model, tmp_path / "model.rs")
    np.testing.assert_array_equal(rs.load(tmp_path / "model.rs").outlier_pvalues(X, y), model.outlier_pvalues(X, y))
    mean = rs.OutlierRobustRegressor(batch_size=500, aggregator="mean").fit(X, y)
    np.testing.assert_allclose(mean.outlier_pvalues(X, y), model.outlier_pvalues(X, y), atol=0.05)
    covariance = rs.OutlierRobustCovariance(batch_size=500).fit(X)
    rs.save(covariance, tmp_path / "covariance.rs")
    np.testing.assert_array_equal(rs.load(tmp_path / "covariance.rs").outlier_pvalues(X), covariance.outlier_pvalues(X))
    with pytest.raises(InvalidInputError, match="number of components"):
        rs.OutlierRobustPCA(0.9).fit(X).outlier_pvalues(X)
    with pytest.raises(InvalidInputError, match="false_discovery_rate"):
        model.is_outlier(X, y, false_discovery_rate=5)
    wide = rng.normal(size=(1200, 501))
    with pytest.raises(NotEnoughRowsError, match="more columns"):
        rs.OutlierRobustRegressor().fit(wide, wide[:, 0]).outlier_pvalues(wide, wide[:, 0])


def test_a_rare_level_is_no_reason_for_a_bad_target():
    """It is far out in x, but the row is an outlier by its residual."""
    rng = np.random.default_rng(0)
    X, y = line(rng, 3000)
    flag = np.zeros(3000)
    flag[::500] = 1.0
    X = np.column_stack([X, flag])
    model = rs.OutlierRobustRegressor().fit(X, y)
    y[::500] += 12.0
    found = model.explain(X, y)
    rare = np.isin(found.row, np.arange(0, 3000, 500))
    assert rare.sum() == 6  # one reason each
    assert set(found.column[rare]) == {"y"}
    assert np.all(found.share[rare] > 0.95)


def test_each_of_two_bad_targets_is_a_reason():
    rng = np.random.default_rng(0)
    X, y = line(rng, 1000)
    Y = np.column_stack([y, X @ [0.5, 0.5, -1.0, 2.0] + rng.normal(size=1000)])
    model = rs.OutlierRobustRegressor().fit(X, Y)
    Y[7] += 30.0, -30.0  # no cell of x would move them so
    found = model.explain(X, Y)
    assert set(found.column[found.row == 7]) == {"y0", "y1"}


def test_reasons_do_not_depend_on_the_units_of_the_columns():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 3)) @ [[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]]
    rows[3, 0], rows[4, 2] = 12.0, -15.0
    units = np.array([1e-12, 1.0, 1e12])
    plain = rs.OutlierRobustCovariance().fit(rows).explain(rows[:10])
    found = rs.OutlierRobustCovariance().fit(rows * units).explain(rows[:10] * units)
    assert found.column.tolist() == plain.column.tolist()
    np.testing.assert_allclose(found.share, plain.share, rtol=1e-6)
    places = [int(name[1:]) for name in found.column]
    np.testing.assert_allclose(found.expected / units[places], plain.expected, rtol=1e-6, atol=1e-9)


def test_targets_have_the_names_that_a_fit_was_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"])
    frame["price"] = frame["a"] + 2 * frame["b"] + rng.normal(size=500)
    frame["cost"] = frame["a"] - frame["b"] + rng.normal(size=500)
    frame.loc[3, "price"] = 500.0
    one = rs.fit(rs.OutlierRobustRegressor(), frame.drop(columns="cost"), target="price")
    assert one.find_reasons(frame[["a", "b"]], frame["price"]).in_words()[3].startswith("price is 500")
    assert one.explain(frame[["a", "b"]], frame["price"])["column"][0] == "price"
    assert one.fit_notes_["worst_rows"][0][4].startswith("price is 500")
    assert "price" in one.groups_[0].where
    both = rs.fit(rs.OutlierRobustRegressor(), frame, target=["price", "cost"])
    assert [row[0] for row in both.summary().rows][::3] == ["price: intercept", "cost: intercept"]
    assert both.conf_int().index[1] == "price: a"
    assert both.shown().coefficients.targets == ("price", "cost")
    # Targets without names have those that arrays have.
    again = rs.OutlierRobustRegressor().fit(frame[["a", "b"]], frame[["price", "cost"]])
    assert [row[0] for row in again.summary().rows][::3] == ["y0: intercept", "y1: intercept"]
