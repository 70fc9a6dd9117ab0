"""Outlier-robust PCA as a scikit-learn user meets it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import robustream as rs
from robustream.sources import CorruptedBatches, SimulatedPCA, subspace_error


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(2000, 5)) * [5, 4, 1, 1, 1] @ np.linalg.qr(rng.normal(size=(5, 5)))[0] + 100


@pytest.mark.parametrize("learner", ["refined", "classical"])
def test_one_batch_of_clean_rows_is_plain_pca(rows, learner):
    model = rs.OutlierRobustPCA(3, batch_size=2000, learner=learner).fit(rows)
    plain = PCA(3).fit(rows)
    np.testing.assert_allclose(np.abs(model.components_ @ plain.components_.T), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, plain.explained_variance_)
    np.testing.assert_allclose(model.explained_variance_ratio_, plain.explained_variance_ratio_)
    np.testing.assert_allclose(model.noise_variance_, plain.noise_variance_)
    np.testing.assert_allclose(model.score(rows), plain.score(rows))
    np.testing.assert_allclose(model.get_covariance(), plain.get_covariance())
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(rows)), plain.inverse_transform(plain.transform(rows))
    )


@pytest.mark.parametrize("aggregator", sorted(rs.aggregators.AGGREGATORS))
def test_clean_batches_give_nearly_the_plain_answer(rows, aggregator):
    model = rs.OutlierRobustPCA(2, aggregator=aggregator, batch_size=200).fit(rows)
    plain = PCA(2).fit(rows)
    assert subspace_error(model.components_.T, plain.components_.T) < 0.05
    np.testing.assert_allclose(model.explained_variance_, plain.explained_variance_, rtol=0.1)
    np.testing.assert_allclose(model.mean_, plain.mean_, atol=0.2)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-9)


@pytest.mark.parametrize("kind", ["random", "colluding", "constant"])
@pytest.mark.parametrize("order", ["first", "last", "burst", "random"])
def test_forty_percent_bad_batches_in_any_order(kind, order):
    """The geometric median stays near the answer of the clean batches; the mean is carried away by colluders."""
    source = SimulatedPCA(batches=25, rows=1000, columns=10, components=2)
    dirty = CorruptedBatches(source, 0.4, kind, order)
    robust, mean = rs.OutlierRobustPCA(2), rs.OutlierRobustPCA(2, aggregator="mean")
    clean = rs.OutlierRobustPCA(2)
    for batch in dirty:
        robust.partial_fit(batch.X)
        mean.partial_fit(batch.X)
        if batch.index not in dirty.bad_indices:
            clean.partial_fit(batch.X)
    error = subspace_error(robust.components_.T, source.basis)
    oracle = subspace_error(clean.components_.T, source.basis)
    assert error < 6 * oracle  # the median is biased by colluders: not the oracle, but bounded
    if kind == "colluding":
        assert subspace_error(mean.components_.T, source.basis) > 3 * error
    distances = {record.index: record.distance for record in robust.batch_report_ if record.verdict == "kept"}
    good = [distance for index, distance in distances.items() if index not in dirty.bad_indices]
    bad = [distance for index, distance in distances.items() if index in dirty.bad_indices]
    assert min(bad, default=np.inf) > max(good)


def test_order_of_batches_changes_nothing_but_rounding(rows):
    pieces = np.split(rows, 10)
    forward, backward = rs.OutlierRobustPCA(2), rs.OutlierRobustPCA(2)
    for piece in pieces:
        forward.partial_fit(piece)
    for piece in reversed(pieces):
        backward.partial_fit(piece)
    np.testing.assert_allclose(forward.components_, backward.components_, atol=1e-9)
    np.testing.assert_allclose(forward.explained_variance_, backward.explained_variance_, rtol=1e-9)


def test_partial_fit_equals_fit_over_the_same_batches(rows):
    whole = rs.OutlierRobustPCA(2, batch_size=100).fit(rows)
    stream = rs.OutlierRobustPCA(2, batch_size=100)
    for piece in np.split(rows, 20):
        stream.partial_fit(piece)
    np.testing.assert_array_equal(whole.components_, stream.components_)
    assert whole.batch_report_ == stream.batch_report_


def test_fit_forgets_what_was_before(rows):
    model = rs.OutlierRobustPCA(2).fit(rows * 1000)
    fresh = rs.OutlierRobustPCA(2).fit(rows)
    np.testing.assert_array_equal(model.fit(rows).components_, fresh.components_)
    assert model.n_samples_seen_ == 2000


def test_standardize(rows):
    model = rs.OutlierRobustPCA(2, standardize=True, batch_size=200).fit(rows)
    scaled = rs.OutlierRobustPCA(2, standardize=True, batch_size=200).fit(rows * [1e-3, 1, 1e3, 10, 1])
    np.testing.assert_allclose(model.components_, scaled.components_, atol=1e-8)
    np.testing.assert_allclose(model.column_scale_, rows.std(axis=0), rtol=0.1)
    back = scaled.inverse_transform(scaled.transform(rows * [1e-3, 1, 1e3, 10, 1])) / [1e-3, 1, 1e3, 10, 1]
    np.testing.assert_allclose(back, model.inverse_transform(model.transform(rows)), rtol=1e-8)


def test_half_life_follows_a_lasting_shift():
    rng = np.random.default_rng(0)
    early, late = np.diag([5.0, 1, 1]), np.diag([1.0, 1, 5])
    forgetful, faithful = rs.OutlierRobustPCA(1, half_life=5), rs.OutlierRobustPCA(1)
    for index in range(50):
        rows = rng.normal(size=(100, 3)) @ (early if index < 30 else late)
        forgetful.partial_fit(rows)
        faithful.partial_fit(rows)
    assert abs(forgetful.components_[0, 2]) > 0.9
    assert abs(faithful.components_[0, 0]) > 0.9


def test_float32_stays_float32(rows):
    model = rs.OutlierRobustPCA(2).fit(rows.astype(np.float32))
    assert model.components_.dtype == model.mean_.dtype == np.float32
    assert model.transform(rows.astype(np.float32)).dtype == np.float32


def test_integers_and_booleans_are_numbers(rows):
    whole = np.round(rows).astype(int)
    np.testing.assert_array_equal(
        rs.OutlierRobustPCA(2).fit(whole).components_, rs.OutlierRobustPCA(2).fit(whole * 1.0).components_
    )
    flags = rows > np.median(rows, axis=0)
    assert rs.OutlierRobustPCA(2).fit(flags).components_.shape == (2, 5)


def test_more_columns_than_rows():
    rows = np.random.default_rng(0).normal(size=(30, 200))
    model = rs.OutlierRobustPCA(4).fit(rows)
    plain = PCA(4).fit(rows)
    assert subspace_error(model.components_.T, plain.components_.T) < 1e-6


def test_all_columns_as_components(rows):
    model = rs.OutlierRobustPCA(5).fit(rows)
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), rows)
    assert model.noise_variance_ == 0


def test_pandas_in_names_and_pandas_out(rows):
    frame = pd.DataFrame(rows, columns=list("abcde"))
    model = rs.OutlierRobustPCA(2).set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_) == list("abcde")
    assert list(model.transform(frame).columns) == ["outlierrobustpca0", "outlierrobustpca1"]
    assert list(model.get_feature_names_out()) == ["outlierrobustpca0", "outlierrobustpca1"]
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[list("edcba")])


def test_pipelines_grid_search_clone_and_pickle(rows):
    target = rows @ np.arange(5.0)
    pipeline = make_pipeline(rs.OutlierRobustPCA(2), LinearRegression()).fit(rows, target)
    search = GridSearchCV(pipeline, {"outlierrobustpca__n_components": [1, 5]}, cv=3).fit(rows, target)
    assert search.best_params_ == {"outlierrobustpca__n_components": 5}
    model = pipeline[0]
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copied.transform(rows)
    revived = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(revived.components_, model.components_)
    np.testing.assert_array_equal(revived.partial_fit(rows).mean_, model.partial_fit(rows).mean_)


def test_trimmed_pca_of_the_paper(rows):
    dirty = rows.copy()
    dirty[::5] = np.random.default_rng(1).uniform(-500, 500, size=(400, 5))
    robust, plain = rs.TrimmedPCA(2, trim=0.2).fit(dirty), PCA(2).fit(dirty)
    truth = PCA(2).fit(rows).components_.T
    assert subspace_error(robust.components_.T, truth) < 0.25 * subspace_error(plain.components_.T, truth)
    np.testing.assert_allclose(robust.mean_, np.median(dirty, axis=0))
    assert rs.TrimmedPCA(2, center=False).fit(dirty).mean_.tolist() == [0] * 5


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_components_by_share_of_the_variance(rows, share):
    model = rs.OutlierRobustPCA(share, batch_size=2000).fit(rows)
    plain = PCA(share, svd_solver="full").fit(rows)
    assert model.components_.shape == plain.components_.shape
    np.testing.assert_allclose(model.explained_variance_, plain.explained_variance_)
    np.testing.assert_allclose(model.noise_variance_, plain.noise_variance_)
    assert model.transform(rows).shape[1] == model.n_components_
    assert 0.002 < model.is_outlier(rows).mean() < 0.02
    in_batches = rs.OutlierRobustPCA(share, batch_size=200).fit(rows)
    assert in_batches.components_.shape == plain.components_.shape
    assert len(in_batches.get_feature_names_out()) == len(plain.components_)


# Directions of variances that lie well apart, in no columns of their own.
AXES = np.linalg.qr(np.random.default_rng(99).normal(size=(5, 5)))[0]
DEVIATIONS = np.array([5.0, 3.0, 1.8, 1.0, 0.5])


def draw(rng, count, freedom=np.inf):
    rows = rng.normal(size=(count, 5)) * DEVIATIONS @ AXES
    return rows if np.isinf(freedom) else rows * np.sqrt((freedom - 2) / rng.chisquare(freedom, count))[:, None]


def held(model, quantile, standardize):
    """Return which loadings and variances lie within their intervals."""
    covariance = (AXES.T * DEVIATIONS**2) @ AXES
    if standardize:
        deviation = np.sqrt(np.diag(covariance))
        covariance /= np.outer(deviation, deviation)
    values, vectors = np.linalg.eigh(covariance)
    variance, truth = values[::-1][:3], vectors.T[::-1][:3]
    truth = truth * np.sign(np.sum(truth * model.components_, axis=1, keepdims=True))
    return (
        np.mean(np.abs(model.components_ - truth) <= quantile * model.components_stderr_),
        np.mean(np.abs(model.explained_variance_ - variance) <= quantile * model.explained_variance_stderr_),
    )


@pytest.mark.parametrize(("batches", "runs"), [(1, 150), (20, 60)])
@pytest.mark.parametrize(("freedom", "standardize"), [(np.inf, False), (8, False), (np.inf, True)])
def test_standard_errors_hold_what_they_promise(batches, runs, freedom, standardize):
    shares = []
    for seed in range(runs):
        rng = np.random.default_rng([seed, batches])
        model = rs.OutlierRobustPCA(3, standardize=standardize)
        for _ in range(batches):
            model.partial_fit(draw(rng, 1000 if batches == 1 else 300, freedom))
        # As many degrees of freedom as batches, less one; of one batch as many as rows.
        shares.append(held(model, t.ppf(0.975, batches - 1 if batches > 1 else 999), standardize))
    # Three directions a run are trials of their own; four standard deviations of the binomial law.
    slack = 4 * np.sqrt(0.95 * 0.05 / (3 * runs))
    np.testing.assert_allclose(np.mean(shares, axis=0), 0.95, atol=slack)


def test_standard_errors_of_normal_rows_are_those_of_anderson():
    count = 20_000
    model = rs.OutlierRobustPCA(2).fit(draw(np.random.default_rng(0), count))
    variance = DEVIATIONS**2
    # Fourth moments of 2,000 normal rows are known to 7.5 / 2 / sqrt(2000), 8%, and their root to half of it.
    np.testing.assert_allclose(model.explained_variance_stderr_, variance[:2] * np.sqrt(2 / count), rtol=0.16)
    for place in range(2):
        ratios = [variance[place] * v / (variance[place] - v) ** 2 if v != variance[place] else 0 for v in variance]
        expected = np.sqrt(np.array(ratios) @ AXES**2 / count)
        np.testing.assert_allclose(model.components_stderr_[place], expected, rtol=0.16)


def test_standard_errors_count_what_honest_batches_differ_by():
    rng = np.random.default_rng(0)
    model = rs.OutlierRobustPCA(1)
    factors = np.exp(rng.normal(size=40) * 0.3)
    for factor in factors:
        model.partial_fit(rng.normal(size=(300, 3)) * [4 * factor, 1.0, 1.0])
    assert {record.verdict for record in model.batch_report_} == {"kept"}
    # The mean of 40 variances that differ; those of 300 rows differ by chance a tenth as much.
    assert model.explained_variance_stderr_[0] == pytest.approx(16 * np.std(factors**2) / np.sqrt(40), rel=0.15)


def test_standard_errors_where_nothing_can_be_told(rows):
    for model in (rs.OutlierRobustPCA(2, learner="classical"), rs.OutlierRobustPCA(2, aggregator="geometric-median")):
        model.set_params(batch_size=200).fit(rows)
        assert model.components_stderr_.shape == (2, 5)
        assert np.isnan(model.components_stderr_).all()
        assert np.isnan(model.explained_variance_stderr_).all()
    # A covariance that is the identity has no directions, but variances.
    centered = rows - rows.mean(axis=0)
    white = centered @ np.linalg.inv(np.linalg.cholesky(np.cov(centered.T))).T
    for model in (rs.OutlierRobustPCA(2).fit(white), rs.OutlierRobustPCA(2, batch_size=200).fit(white)):
        assert np.isnan(model.components_stderr_).all()
        assert (model.explained_variance_stderr_ < 0.1).all()


def test_standard_errors_of_a_share_of_a_mean_and_of_a_file(rows, tmp_path):
    model = rs.OutlierRobustPCA(0.9, batch_size=400).fit(rows)
    assert model.components_stderr_.shape == model.components_.shape
    assert [row[2] for row in model.summary().rows] == model.explained_variance_stderr_.tolist()
    rs.save(model, tmp_path / "model.safetensors")
    loaded = rs.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.components_stderr_, model.components_stderr_)
    mean = rs.OutlierRobustPCA(2, aggregator="mean", batch_size=100).fit(rows)  # which keeps no estimates
    whole = rs.OutlierRobustPCA(2, batch_size=2000).fit(rows)
    np.testing.assert_allclose(mean.explained_variance_stderr_, whole.explained_variance_stderr_, rtol=0.3)


@pytest.mark.parametrize("batch_size", [2000, 400, 100])
@pytest.mark.parametrize("standardize", [False, True])
def test_standard_errors_know_no_units(rows, batch_size, standardize):
    single = (rows - 100).astype(np.float32)
    factor = np.float32(2.0**40)  # variances are numbers in float32, their squares are not
    one, other = (
        rs.OutlierRobustPCA(2, batch_size=batch_size, standardize=standardize).fit(table)
        for table in (single, single * factor)
    )
    assert {record.verdict for record in other.batch_report_} == {"kept"}
    np.testing.assert_allclose(other.components_stderr_, one.components_stderr_, rtol=1e-4)
    unit = 1.0 if standardize else 2.0**80
    np.testing.assert_allclose(other.explained_variance_stderr_, one.explained_variance_stderr_ * unit, rtol=1e-4)
