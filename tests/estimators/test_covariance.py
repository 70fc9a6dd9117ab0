"""OutlierRobustCovariance: the sample covariance of clean rows, whatever came with them."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.covariance import EmpiricalCovariance, MinCovDet

import robustream as rs
from robustream.cli import main

MIX = np.random.default_rng(0).normal(size=(5, 5))
ROWS = np.random.default_rng(1).normal(size=(2000, 5)) @ MIX + 7.0


def test_of_clean_rows_it_is_the_sample_covariance():
    model = rs.OutlierRobustCovariance().fit(ROWS)
    np.testing.assert_allclose(model.covariance_, np.cov(ROWS.T), rtol=1e-10)
    np.testing.assert_allclose(model.location_, ROWS.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(model.precision_, np.linalg.inv(np.cov(ROWS.T)), rtol=1e-6)
    plain = EmpiricalCovariance().fit(ROWS)
    # The divisors differ: n - 1 here, n there.
    np.testing.assert_allclose(model.mahalanobis(ROWS), plain.mahalanobis(ROWS), rtol=1e-3)
    assert model.score(ROWS) == pytest.approx(plain.score(ROWS), abs=1e-4)
    for norm in ("frobenius", "spectral"):
        for scaling in (False, True):
            for squared in (False, True):
                ours = model.error_norm(np.eye(5), norm, scaling, squared)
                assert ours == pytest.approx(plain.error_norm(np.eye(5), norm, scaling, squared), rel=2e-3)


def test_bad_rows_and_batches_have_no_say():
    rng = np.random.default_rng(2)
    bad = rng.permutation(2000)[:400]
    rows = ROWS.copy()
    rows[bad] = np.array([60.0, -60.0, 0.0, 0.0, 0.0]) + rng.normal(size=(400, 5))
    good = np.delete(rows, bad, axis=0)
    model = rs.OutlierRobustCovariance().fit(rows)
    np.testing.assert_allclose(model.covariance_, np.cov(good.T), rtol=1e-8)
    assert model.is_outlier(rows[bad]).all()
    # A third of the batches has its columns in another order.
    stream = [ROWS[k : k + 100] for k in range(0, 2000, 100)]
    stream = [batch[:, ::-1] if k % 3 == 0 else batch for k, batch in enumerate(stream)]
    model = rs.fit(rs.OutlierRobustCovariance(), stream)
    assert [record.index for record in model.batch_report_ if record.verdict == "rejected"] == list(range(0, 20, 3))
    clean = np.vstack([batch for k, batch in enumerate(stream) if k % 3])
    np.testing.assert_allclose(model.covariance_, np.cov(clean.T), rtol=0.02)


def test_a_stream_gives_what_the_table_gives():
    model = rs.OutlierRobustCovariance()
    for k in range(0, 2000, 200):
        model.partial_fit(ROWS[k : k + 200])
    # The moments of the batches are pooled about the common centre; each has its own divisor n - 1.
    np.testing.assert_allclose(model.covariance_, np.cov(ROWS.T), rtol=1e-2)
    assert model.n_samples_seen_ == 2000


def test_the_vocabulary_of_scikit_learn():
    rows = ROWS.copy()
    rows[:100, 0] += 80.0
    model = rs.OutlierRobustCovariance()
    labels = model.fit_predict(rows)
    np.testing.assert_array_equal(labels, model.predict(rows))
    assert (labels[:100] == -1).all()
    assert 0.002 < np.mean(labels[100:] == -1) < 0.03  # 1% of 1,900: 19 of them, give or take four
    np.testing.assert_allclose(model.decision_function(rows), model.score_samples(rows) - model.offset_)
    white = model.transform(rows[100:])
    np.testing.assert_allclose(np.cov(white.T), np.eye(5), atol=0.05)
    assert list(model.get_feature_names_out()) == [f"outlierrobustcovariance{k}" for k in range(5)]
    theirs = MinCovDet(random_state=0).fit(rows)
    # As near to the clean covariance as theirs, which has a quarter less efficiency.
    clean = np.cov(rows[100:].T)
    assert model.error_norm(clean) <= theirs.error_norm(clean)


def test_columns_that_depend_on_each_other_or_never_change():
    rows = np.column_stack([ROWS[:, :3], ROWS[:, 0] + ROWS[:, 1], np.full(len(ROWS), 3.0)])
    model = rs.OutlierRobustCovariance().fit(rows)
    assert model.transform(rows).shape == (2000, 3)
    three = rs.OutlierRobustCovariance().fit(ROWS[:, :3])
    np.testing.assert_allclose(model.mahalanobis(rows), three.mahalanobis(ROWS[:, :3]), rtol=1e-6)
    assert np.isfinite(model.precision_).all()
    with pytest.raises(ValueError, match="norm must be one of"):
        model.error_norm(np.eye(5), norm="nuclear")
    with pytest.raises(ValueError, match="learner='trimmed' has no covariance"):
        rs.OutlierRobustCovariance(learner="trimmed").fit(rows)


@pytest.mark.parametrize(
    "aggregator", ["geometric-median", "coordinate-median", "trimmed-mean", "online-median", "mean"]
)
def test_every_aggregator_gives_a_covariance(aggregator):
    model = rs.OutlierRobustCovariance(aggregator=aggregator, batch_size=100).fit(ROWS)
    np.testing.assert_allclose(model.covariance_, model.covariance_.T)
    assert np.linalg.eigvalsh(model.covariance_)[0] > 0
    np.testing.assert_allclose(model.covariance_, np.cov(ROWS.T), atol=0.1 * np.abs(np.cov(ROWS.T)).max())


def test_a_saved_model_goes_on(tmp_path):
    model = rs.OutlierRobustCovariance()
    for k in range(0, 1000, 200):
        model.partial_fit(ROWS[k : k + 200])
    rs.save(model, tmp_path / "model.safetensors")
    loaded = rs.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.covariance_, model.covariance_)
    both = [part.partial_fit(ROWS[1000:]).covariance_ for part in (model, loaded)]
    np.testing.assert_array_equal(*both)


def test_from_files_to_a_report(tmp_path):
    header = ",".join("abcde")
    for day in range(3):
        rows = ROWS[day * 600 : day * 600 + 600]
        np.savetxt(tmp_path / f"day-{day}.csv", rows, delimiter=",", header=header, comments="")
    run = CliRunner()
    model, files = str(tmp_path / "model.safetensors"), str(tmp_path / "day-*.csv")
    page = tmp_path / "report.html"
    fitted = run.invoke(main, ["fit", "covariance", files, "-o", model, "--report", str(page)])
    assert fitted.exit_code == 0, fitted.output
    assert "strongest correlation" in fitted.output
    assert "Outlier-robust covariance" in page.read_text()
    np.testing.assert_allclose(rs.load(model).covariance_, np.cov(ROWS[:1800].T), rtol=1e-2)
    for command, column in (("score", "outlier"), ("transform", "component 5"), ("predict", "prediction")):
        out = tmp_path / f"{command}.csv"
        done = run.invoke(main, [command, model, files, "-o", str(out)])
        assert done.exit_code == 0, done.output
        assert column in out.read_text().partition("\n")[0]
    shown = run.invoke(main, ["inspect", model])
    assert shown.exit_code == 0
    assert "OutlierRobustCovariance" in shown.output


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e6])
def test_rows_that_differ_in_a_column_that_never_varied_are_far_off(value, dtype):
    rows = np.random.default_rng(0).normal(size=(1000, 3))
    rows[:, 1] = value
    rows = rows.astype(dtype)
    model = rs.OutlierRobustCovariance().fit(rows)
    assert 0.002 < model.is_outlier(rows).mean() < 0.03
    ordinary = rows[model.outlier_scores(rows) < 2][:3].copy()
    ordinary[0, 1] += 50
    ordinary[1, 1] += value * 1e-7  # rounding, such as that of a text file
    ordinary[2, 1] = np.nan
    assert model.is_outlier(ordinary).tolist() == [True, False, False]
    assert model.predict(ordinary).tolist() == [-1, 1, 1]
    assert model.outlier_scores(ordinary).dtype == dtype
    reasons = model.explain(ordinary)
    assert (reasons.row.tolist(), reasons.column.tolist()) == ([0], ["x1"])
    assert reasons.expected[0] == pytest.approx(value)
    assert model.outlier_pvalues(ordinary)[0] < 1e-3


def test_calls_of_one_column_are_not_judged_by_rounding():
    for seed in range(5):
        rng, model = np.random.default_rng(seed), rs.OutlierRobustCovariance()
        for _ in range(12):
            model.partial_fit(rng.normal(size=(200, 1)))
        assert {record.verdict for record in model.batch_report_} == {"kept"}
