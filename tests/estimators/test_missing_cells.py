"""Missing cells are data: fit, partial_fit, transform, predict, scores, files and commands take them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
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


def test_masked_cells_none_and_na_are_gaps():
    expected = rs.OutlierRobustCovariance().fit(ROWS).covariance_
    masked = np.ma.MaskedArray(WHOLE, GAPS)
    objects = np.where(GAPS, None, WHOLE.astype(object))
    frame = pd.DataFrame(WHOLE).astype("Float64").mask(GAPS)
    for given in (masked, objects, frame):
        np.testing.assert_allclose(rs.OutlierRobustCovariance().fit(given).covariance_, expected, rtol=1e-9)


def test_rows_without_a_target_are_left_out():
    target = TARGET.copy()
    target[:7] = np.nan
    model = rs.OutlierRobustRegressor().fit(ROWS, target)
    assert model.n_samples_seen_ == 2993
    np.testing.assert_allclose(model.coef_, rs.OutlierRobustRegressor().fit(ROWS[7:], TARGET[7:]).coef_)


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
