"""Missing cells are data: fit, partial_fit, transform, predict, scores, files and commands take them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import robustream as rs
from robustream.cli import main

RNG = np.random.default_rng(0)
COEF = np.array([1.0, -2.0, 0.5, 3.0, 0.0])
WHOLE = RNG.normal(size=(3000, 2)) @ RNG.normal(size=(2, 5)) + RNG.normal(size=(3000, 5)) + 3.0
TARGET = WHOLE @ COEF + 1.0 + RNG.normal(size=3000)
GAPS = RNG.random(WHOLE.shape) < 0.2
ROWS = np.where(GAPS, np.nan, WHOLE)


def test_the_answers_are_near_those_of_the_whole_rows():
    covariance = rs.OutlierRobustCovariance().fit(ROWS).covariance_
    spread = np.sqrt(np.diag(np.cov(WHOLE.T)))
    # A fifth of the cells is missing: the sampling error of a correlation is 1 / sqrt(3000), that of a pair 1.25 times.
    assert np.abs((covariance - np.cov(WHOLE.T)) / np.outer(spread, spread)).max() < 0.06
    model = rs.OutlierRobustRegressor().fit(ROWS, TARGET)
    assert (np.abs(model.coef_ - COEF) < 5 * model.coef_stderr_).all()
    assert model.intercept_ == pytest.approx(1.0, abs=0.5)
    pca = rs.OutlierRobustPCA(2).fit(ROWS)
    overlap = pca.components_ @ rs.OutlierRobustPCA(2).fit(WHOLE).components_.T
    assert np.linalg.svd(overlap, compute_uv=False).min() > 0.995


def test_gaps_are_filled_by_the_rest_of_the_row():
    model = rs.OutlierRobustRegressor().fit(ROWS, TARGET)
    mean = np.where(GAPS, WHOLE.mean(axis=0), WHOLE) @ COEF + 1.0
    assert np.mean((model.predict(ROWS) - TARGET) ** 2) < 0.9 * np.mean((mean - TARGET) ** 2)
    np.testing.assert_allclose(model.predict(WHOLE), WHOLE @ model.coef_ + model.intercept_)
    for fitted in (rs.OutlierRobustPCA(2).fit(ROWS), rs.OutlierRobustCovariance().fit(ROWS)):
        assert np.isfinite(fitted.transform(ROWS)).all()
        assert 0.002 < fitted.is_outlier(ROWS).mean() < 0.03  # 1% of ordinary rows
    assert 0.002 < model.is_outlier(ROWS, TARGET).mean() < 0.03
    far = ROWS[:5].copy()
    far[:, 0] = 100.0
    assert rs.OutlierRobustCovariance().fit(ROWS).is_outlier(far).all()


FORMS = {
    "masked": np.ma.MaskedArray(WHOLE, GAPS),
    "None": np.where(GAPS, None, WHOLE.astype(object)),
    "lists": [[None if np.isnan(cell) else float(cell) for cell in row] for row in ROWS],
    "nullable": pd.DataFrame(WHOLE).astype("Float64").mask(GAPS),
    "NA in objects": pd.DataFrame(np.where(GAPS, pd.NA, WHOLE.astype(object))),
    "Arrow": pd.DataFrame(ROWS).convert_dtypes(dtype_backend="pyarrow"),
}


@pytest.mark.parametrize("given", FORMS.values(), ids=FORMS)
def test_masked_cells_none_and_na_are_gaps(given):
    """In all that takes rows."""
    expected = rs.OutlierRobustCovariance().fit(ROWS)
    model = rs.OutlierRobustCovariance().fit(given)
    np.testing.assert_allclose(model.covariance_, expected.covariance_, rtol=1e-9)
    for name in ("transform", "outlier_scores", "outlier_pvalues", "mahalanobis", "predict"):
        np.testing.assert_allclose(getattr(model, name)(given), getattr(expected, name)(ROWS), rtol=1e-6, err_msg=name)
    assert list(model.explain(given).row) == list(expected.explain(ROWS).row)
    regression, plain = (rs.OutlierRobustRegressor().fit(table, TARGET) for table in (given, ROWS))
    np.testing.assert_allclose(regression.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(regression.predict_interval(given), plain.predict_interval(ROWS), rtol=1e-6)
    found, same = regression.explain(given, TARGET), plain.explain(ROWS, TARGET)
    np.testing.assert_allclose(np.asarray(found.expected, float), same.expected, rtol=1e-6)


def test_whole_numbers_with_gaps():
    frame = pd.DataFrame((WHOLE * 100).round()).astype("Int64").mask(GAPS)
    numbers = np.where(GAPS, np.nan, (WHOLE * 100).round())
    given, expected = rs.OutlierRobustPCA(2).fit(frame), rs.OutlierRobustPCA(2).fit(numbers)
    np.testing.assert_allclose(given.components_, expected.components_, rtol=1e-9)
    np.testing.assert_allclose(given.transform(frame), expected.transform(numbers), rtol=1e-9)


def test_intervals_of_rows_with_gaps_hold_too():
    fitted, fresh = np.arange(3000) < 2000, np.arange(3000) >= 2000
    model = rs.OutlierRobustRegressor().fit(ROWS[fitted], TARGET[fitted])
    low, high = model.predict_interval(ROWS[fresh]).T
    # The standard error of a share of 1,000 rows is 0.7 points.
    assert np.mean((low <= TARGET[fresh]) & (TARGET[fresh] <= high)) == pytest.approx(0.95, abs=0.025)
    gapless = ~GAPS[fresh].any(axis=1)
    assert np.median((high - low)[~gapless]) > 1.2 * np.median((high - low)[gapless])


@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(2), rs.OutlierRobustCovariance(), rs.OutlierRobustRegressor()])
def test_a_table_in_which_every_row_has_a_gap(model):
    rows = WHOLE.copy()
    rows[np.arange(3000), RNG.integers(0, 5, 3000)] = np.nan
    targets = (TARGET,) if isinstance(model, rs.OutlierRobustRegressor) else ()
    name = {"PCA": "mean_", "Cov": "location_", "Reg": "coef_"}[type(model).__name__[13:16]]
    expected = getattr(type(model)(**model.get_params()).fit(WHOLE, *targets), name)
    np.testing.assert_allclose(getattr(model.fit(rows, *targets), name), expected, atol=0.25)


@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(2), rs.OutlierRobustCovariance(), rs.OutlierRobustRegressor()])
def test_a_column_without_a_single_cell_is_named(model, tmp_path):
    rows = pd.DataFrame(ROWS, columns=list("abcde"))
    rows["d"] = np.nan
    targets = (TARGET,) if isinstance(model, rs.OutlierRobustRegressor) else ()
    with pytest.raises(rs.errors.NotEnoughRowsError, match="nothing is known of 'd'"):
        model.fit(rows, *targets)
    for first in range(0, 3000, 500):
        model.partial_fit(rows[first : first + 500], *(y[first : first + 500] for y in targets))
    with pytest.raises(rs.errors.NotEnoughRowsError, match="nothing is known of 'd'"):
        model.answer()
    # Rows that have it may still come.
    rows = pd.DataFrame(ROWS, columns=list("abcde"))
    for first in range(0, 3000, 300):
        model.partial_fit(rows[first : first + 300], *(y[first : first + 300] for y in targets))
    assert all(np.isfinite(value).all() for value in model.answer().values())


MISSING = np.arange(3000) < 7
TARGETS = {
    "NaN": np.where(MISSING, np.nan, TARGET),
    "None": [None if missing else float(y) for y, missing in zip(TARGET, MISSING, strict=True)],
    "masked": np.ma.MaskedArray(TARGET, MISSING),
    "nullable": pd.Series(TARGET).astype("Float64").mask(MISSING),
    "NA in objects": pd.Series(TARGET).astype(object).mask(MISSING, pd.NA),
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_rows_without_a_target_are_left_out(target):
    model = rs.OutlierRobustRegressor().fit(ROWS, target)
    assert model.n_samples_seen_ == 2993
    np.testing.assert_allclose(model.coef_, rs.OutlierRobustRegressor().fit(ROWS[7:], TARGET[7:]).coef_)


@pytest.mark.parametrize("target", [[np.nan], [None], [[np.nan]], np.ma.MaskedArray([1.0], [True])])
def test_a_call_of_missing_targets_leaves_a_stream_as_it_is(target):
    model = rs.OutlierRobustRegressor().partial_fit(ROWS, TARGET)
    before = model.coef_
    model.partial_fit(ROWS[:1], target).partial_fit(ROWS[:1], target, sample_weight=[2.0])
    assert model.n_samples_seen_ == 3000
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(ROWS[:1, :2], target)
    with pytest.raises(ValueError, match="2 outputs"):
        model.partial_fit(ROWS[:1], [[np.nan, np.nan]])


def test_a_stream_may_begin_with_missing_targets():
    frame = pd.DataFrame(ROWS, columns=list("abcde"))
    model = rs.OutlierRobustRegressor().partial_fit(frame[:3], np.full((3, 2), np.nan))
    with pytest.raises(NotFittedError, match="0 rows"):
        model.predict(frame)
    both = np.column_stack([TARGET, -TARGET])
    model.partial_fit(frame, both)
    np.testing.assert_array_equal(model.coef_, rs.OutlierRobustRegressor().partial_fit(frame, both).coef_)
    # A table of nothing else is refused: there will be no more rows.
    with pytest.raises(ValueError, match="y must have targets"):
        rs.OutlierRobustRegressor().fit(ROWS, np.full(3000, np.nan))


def test_too_many_columns_for_gaps_say_what_to_do():
    rows = np.random.default_rng(0).normal(size=(600, 501))
    rows[0, 0] = np.nan
    with pytest.raises(rs.errors.BelowQuorumError, match=r"more than 500 columns.*leave.*fill.*missing='skip'"):
        rs.OutlierRobustRegressor().fit(rows, rows[:, 1])


@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(2), rs.OutlierRobustCovariance(), rs.OutlierRobustRegressor()])
def test_a_column_that_is_empty_in_a_batch_is_not_known_to_it(model):
    targets = (TARGET,) if isinstance(model, rs.OutlierRobustRegressor) else ()
    for first in range(0, 3000, 300):
        rows = ROWS[first : first + 300].copy()
        if first == 600:
            rows[:, 3] = np.nan
        model.partial_fit(rows, *(y[first : first + 300] for y in targets))
    whole = type(model)(**model.get_params()).fit(ROWS, *targets)
    name = next(n for n in ("covariance_", "coef_", "mean_") if hasattr(model, n))
    np.testing.assert_allclose(getattr(model, name), getattr(whole, name), atol=0.25)
    if name != "coef_":  # without a column the other coefficients may well contradict those of the rest
        assert {record.verdict for record in model.batch_report_} == {"kept"}


def test_the_tags_say_which_learners_take_gaps():
    assert get_tags(rs.OutlierRobustPCA()).input_tags.allow_nan
    assert not get_tags(rs.OutlierRobustPCA(learner="trimmed")).input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        rs.OutlierRobustPCA(learner="classical").fit(ROWS)
    infinite = ROWS.copy()
    infinite[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        rs.OutlierRobustCovariance().fit(infinite)


def test_files_and_commands_use_them(tmp_path):
    frame = pd.DataFrame(ROWS, columns=list("abcde")).assign(y=TARGET)
    frame.loc[:9, "y"] = None
    for part in range(3):
        frame[part * 1000 : part * 1000 + 1000].to_csv(tmp_path / f"{part}.csv", index=False)
    files = str(tmp_path / "*.csv")
    model = rs.fit(rs.OutlierRobustRegressor(), files, target="y")
    assert model.fit_notes_["rows_dropped"] == np.sum(GAPS.all(axis=1) | (np.arange(3000) < 10))
    assert model.fit_notes_["missing"]["a"] == GAPS[:, 0].sum()
    np.testing.assert_allclose(model.coef_, COEF, atol=0.3)
    skipped = rs.fit(rs.OutlierRobustRegressor(), files, target="y", columns=["a", "b"], missing="skip")
    assert skipped.n_samples_seen_ < 0.7 * model.n_samples_seen_
    plain = rs.fit(rs.OutlierRobustPCA(2, learner="classical"), files, columns=["a", "b"])
    assert plain.fit_notes_["settings"]["missing cells"] == "skip"
    out, saved = tmp_path / "scored.parquet", tmp_path / "m.safetensors"
    run = CliRunner()
    fitted = run.invoke(main, ["fit", "regression", files, "--target", "y", "-q", "-o", str(saved)])
    assert fitted.exit_code == 0, fitted.output
    np.testing.assert_array_equal(rs.load(saved).coef_, model.coef_)
    done = run.invoke(main, ["predict", str(saved), files, "-o", str(out)])
    assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(pd.read_parquet(out)["prediction"].isna(), GAPS.all(axis=1))


@pytest.mark.parametrize("columns", [4, 6, 8])
@pytest.mark.parametrize("kind", ["amounts", "counts", "one that varies"])
def test_columns_of_mostly_zeros_with_a_gap(kind, columns, capfd):
    rng = np.random.default_rng(columns)
    rows = np.where(rng.random((300, columns)) < 0.3, rng.random((300, columns)), 0.0)
    if kind == "counts":
        rows = rng.poisson(0.3, rows.shape).astype(float)
    elif kind == "one that varies":
        rows[:, 0] = rng.normal(size=300)
    target = rows.sum(axis=1) + rng.normal(size=300)
    whole = rs.OutlierRobustRegressor().fit(rows, target)
    rows[0, 0] = np.nan
    for given in (rows, sparse.csr_matrix(rows)):
        model = rs.OutlierRobustRegressor().fit(given, target)
        assert (np.abs(model.coef_ - whole.coef_) < whole.coef_stderr_).all()
    assert capfd.readouterr() == ("", "")  # LAPACK writes there what it does not like
