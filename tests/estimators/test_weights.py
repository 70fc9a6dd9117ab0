"""Weights of rows: how often a row counts, never how far it is believed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor, Lars, LinearRegression, LogisticRegression, Ridge

import robustream as rs
from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.learners import Classical, LinearProblem, Refined
from robustream.learners.device import OnDevice

COEF = np.array([1.0, 2.0, -1.0, 0.5])
MODELS = {
    "pca": lambda **options: rs.OutlierRobustPCA(2, **options),
    "covariance": rs.OutlierRobustCovariance,
    "regression": rs.OutlierRobustRegressor,
}
ANSWERS = {
    "pca": ("components_", "explained_variance_", "mean_", "cutoffs_"),
    "covariance": ("location_", "covariance_", "cutoff_"),
    "regression": ("coef_", "intercept_", "scale_", "cutoff_"),
}


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [4.0, 2.0, 1.0, 1.0] + 5
    return X, X @ COEF + 3 + rng.normal(size=n), rng.integers(0, 5, n)


def arguments(name, X, y):
    return (X, y) if name == "regression" else (X,)


def answers(name, model):
    return np.concatenate([np.ravel(getattr(model, answer)) for answer in ANSWERS[name]])


@pytest.mark.parametrize("options", [{}, {"learner": "classical"}, {"keep_groups": True}], ids=str)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_whole_numbers_are_repetitions_of_rows(name, options):
    X, y, weights = table()
    weighted = MODELS[name](**options).fit(*arguments(name, X, y), sample_weight=weights)
    repeated = MODELS[name](**options).fit(*arguments(name, np.repeat(X, weights, axis=0), np.repeat(y, weights)))
    np.testing.assert_allclose(answers(name, weighted), answers(name, repeated), rtol=1e-9)
    assert weighted.n_samples_seen_ == np.count_nonzero(weights)
    assert weighted.batch_report_[0].total_weight == weights.sum()


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_bad_group_is_left_out_as_if_its_rows_were_repeated(name):
    X, y, weights = table()
    weights += 1
    X[:180] += 12
    y[:180] = X[:180] @ [-3.0, 0.0, 0.0, 4.0]
    weighted = MODELS[name]().fit(*arguments(name, X, y), sample_weight=weights)
    repeated = MODELS[name]().fit(*arguments(name, np.repeat(X, weights, axis=0), np.repeat(y, weights)))
    np.testing.assert_allclose(answers(name, weighted), answers(name, repeated), rtol=1e-6)
    assert weighted.batch_report_[0].left_out == 180
    assert repeated.batch_report_[0].left_out == weights[:180].sum()


@pytest.mark.parametrize("name", sorted(MODELS))
def test_weights_do_not_make_bad_rows_the_majority(name):
    X, y, _ = table()
    X[:180] += 12
    y[:180] = X[:180] @ [-3.0, 0.0, 0.0, 4.0]
    weights = np.where(np.arange(600) < 180, 1e9, 1.0)
    heavy = MODELS[name]().fit(*arguments(name, X, y), sample_weight=weights)
    clean = MODELS[name]().fit(*arguments(name, X[180:], y[180:]))
    assert heavy.batch_report_[0].left_out == 180
    found, wanted = ([answers(name, model)[place] for place in range(4)] for model in (heavy, clean))
    np.testing.assert_allclose(found, wanted, rtol=0.02, atol=0.02)


def test_a_row_of_weight_a_billion_does_not_beat_the_others():
    X, y, _ = table()
    y[7] += 3.0  # within the noise: no evidence speaks against it
    weights = np.ones(600)
    weights[7] = 1e9
    robust = rs.OutlierRobustRegressor().fit(X, y, sample_weight=weights)
    plain = rs.OutlierRobustRegressor(learner="classical").fit(X, y, sample_weight=weights)
    assert abs(plain.predict(X[7:8])[0] - y[7]) < 1e-3  # the plain method follows it
    assert robust.batch_report_[0].left_out == 0
    assert robust.batch_report_[0].capped == 1
    np.testing.assert_allclose(robust.coef_, COEF, atol=0.15)
    # It counts as five rows do.
    five = rs.OutlierRobustRegressor(learner="classical").fit(
        X, y, sample_weight=np.where(weights > 1, 5 * 599 / 595, 1.0)
    )
    np.testing.assert_allclose(robust.coef_, five.coef_, rtol=1e-9)
    assert "1 weight was capped" in str(robust.summary())


@pytest.mark.parametrize("learner", ["refined", "classical", "trimmed"])
@pytest.mark.parametrize("name", ["pca", "regression"])
def test_rows_of_weight_zero_are_not_there(name, learner):
    X, y, weights = table()
    X[weights == 0] = 1e6
    there = weights > 0
    given = MODELS[name](learner=learner).fit(*arguments(name, X, y), sample_weight=weights)
    without = MODELS[name](learner=learner).fit(*arguments(name, X[there], y[there]), sample_weight=weights[there])
    np.testing.assert_array_equal(answers(name, given), answers(name, without))


@pytest.mark.parametrize("factor", [1e-9, 0.01, 1000.0])
def test_a_common_factor_changes_nothing_but_counts(factor):
    X, y, weights = table()
    one = rs.OutlierRobustRegressor().fit(X, y, sample_weight=weights)
    other = rs.OutlierRobustRegressor().fit(X, y, sample_weight=weights * factor)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
    np.testing.assert_allclose(one.coef_stderr_, other.coef_stderr_, rtol=1e-9)
    np.testing.assert_allclose(one.scale_, other.scale_, rtol=0.01)


@pytest.mark.parametrize("learner", ["refined", "classical"])
def test_standard_errors_are_those_of_the_weighted_sandwich(learner):
    X, y, weights = table()
    weights = weights + 0.5
    model = rs.OutlierRobustRegressor(learner=learner).fit(X, y, sample_weight=weights)
    design = np.column_stack([X - np.average(X, axis=0, weights=weights), np.ones(len(X))])
    inverse = np.linalg.inv((design * weights[:, None]).T @ design)
    residual = y - design @ (inverse @ (design.T @ (weights * y)))
    leverage = weights * np.einsum("ij,jk,ik->i", design, inverse, design)
    scores = design * (weights * residual / (1 - leverage))[:, None]
    hc3 = inverse @ scores.T @ scores @ inverse
    np.testing.assert_allclose(model.coef_stderr_, np.sqrt(np.diag(hc3))[:4], rtol=1e-6)


def test_standard_errors_of_components_know_of_weights():
    X, _, weights = table(1000)
    drawn = np.random.default_rng(5)
    weights = drawn.gamma(0.5, size=1000) + 0.01
    told = rs.OutlierRobustPCA(1).fit(X, sample_weight=weights).components_stderr_[0]
    again = []
    for _ in range(200):
        rows = drawn.integers(0, 1000, 1000)
        covariance = np.cov(X[rows].T, aweights=weights[rows])
        again.append(np.linalg.eigh(covariance)[1][:, -1])
    again = np.array(again) * np.sign(np.array(again)[:, :1])
    np.testing.assert_allclose(told[1:], again.std(axis=0)[1:], rtol=0.3)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_gaps_and_weights_together(name):
    X, y, weights = table()
    X[np.random.default_rng(3).random(X.shape) < 0.15] = np.nan
    weighted = MODELS[name]().fit(*arguments(name, X, y), sample_weight=weights)
    repeated = MODELS[name]().fit(*arguments(name, np.repeat(X, weights, axis=0), np.repeat(y, weights)))
    place = {"pca": slice(0, 8), "covariance": slice(0, 20), "regression": slice(0, 5)}[name]
    np.testing.assert_allclose(answers(name, weighted)[place], answers(name, repeated)[place], rtol=0.02, atol=0.02)


def test_targets_that_are_missing_take_their_weights_along():
    X, y, weights = table()
    missing = np.arange(600) % 7 == 0
    there = ~missing
    given = rs.OutlierRobustRegressor().fit(X, np.where(missing, np.nan, y), sample_weight=weights)
    without = rs.OutlierRobustRegressor().fit(X[there], y[there], sample_weight=weights[there])
    np.testing.assert_array_equal(given.coef_, without.coef_)


def test_a_table_of_counts_is_searched_as_if_written_out():
    rng = np.random.default_rng(0)
    cells = np.array(np.meshgrid(range(12), range(12))).reshape(2, -1).T.astype(float)
    counts = np.round(100 * np.exp(-np.square(cells - 3).sum(axis=1) / 3)).astype(int)
    counts[(cells > 9).all(axis=1)] = 30  # a group far from the others: few rows, and few of its cells
    weighted = rs.OutlierRobustCovariance().fit(cells, sample_weight=counts)
    order = rng.permutation(counts.sum())
    repeated = rs.OutlierRobustCovariance().fit(np.repeat(cells, counts, axis=0)[order])
    assert repeated.batch_report_[0].left_out == 120
    assert weighted.batch_report_[0].left_out == 4
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-9, atol=1e-9)


def test_small_calls_are_joined_with_their_weights():
    X, y, weights = table(450)
    weights += 1
    model = rs.OutlierRobustRegressor()
    for first in range(0, 450, 9):
        rows = slice(first, first + 9)
        model.partial_fit(X[rows], y[rows], sample_weight=weights[rows] if first % 18 else None)
    joined = np.where(np.arange(450) // 9 % 2, weights, 1)
    assert len(model.run_.pending) < 50
    batch = model.batch_report_[0]
    assert batch.total_weight == joined[: batch.rows].sum()
    whole = rs.OutlierRobustRegressor().fit(X[: batch.rows], y[: batch.rows], sample_weight=joined[: batch.rows])
    np.testing.assert_array_equal(model.run_.believed[0][0], whole.run_.believed[0][0])


def test_batches_count_by_the_weight_of_their_rows():
    X, y, _ = table(1200)
    weights = np.repeat(np.array([1.0, 3.0, 1.0, 3.0]), 300)
    model = rs.OutlierRobustRegressor()
    for first in range(0, 1200, 300):
        rows = slice(first, first + 300)
        model.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
    plain = LinearRegression().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.run_.believed_shares, [1 / 8, 3 / 8, 1 / 8, 3 / 8])


def test_a_batch_does_not_decide_by_its_weight():
    X, y, _ = table(1200)
    y[:300] += 0.2  # too little to be seen
    model = rs.OutlierRobustRegressor()
    for first in range(0, 1200, 300):
        rows = slice(first, first + 300)
        model.partial_fit(X[rows], y[rows], sample_weight=np.full(300, 1e9 if first == 0 else 1.0))
    np.testing.assert_allclose(model.run_.believed_shares, [5 / 8, 1 / 8, 1 / 8, 1 / 8])
    assert all(record.verdict == "kept" for record in model.batch_report_)


def test_a_half_life_forgets_weighted_batches_too():
    X, y, _ = table(1200)
    model = rs.OutlierRobustRegressor(half_life=1)
    for first in range(0, 1200, 300):
        rows = slice(first, first + 300)
        model.partial_fit(X[rows], y[rows], sample_weight=np.full(300, 2.0))
    np.testing.assert_allclose(model.run_.believed_shares, np.array([1, 2, 4, 8]) / 15)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(600, -1.0), "must be finite and not negative, got -1.0 for row 0"),
        (np.where(np.arange(600) == 3, np.nan, 1.0), "got nan for row 3"),
        (np.where(np.arange(600) == 4, np.inf, 1.0), "got inf for row 4"),
        (np.zeros(600), "zero weights alone"),
        (np.ones(599), "one number for each of 600 rows"),
        (np.ones((600, 1)), "one number for each of 600 rows"),
        (["a"] * 600, "must hold numbers"),
    ],
    ids=["negative", "nan", "infinite", "zero", "short", "matrix", "text"],
)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_weights_that_cannot_be_are_refused_and_change_nothing(name, weights, message):
    X, y, _ = table()
    with pytest.raises(InvalidInputError, match=message):
        MODELS[name]().fit(*arguments(name, X, y), sample_weight=weights)
    model = MODELS[name]().partial_fit(*arguments(name, X, y))
    before = answers(name, model)
    if message != "zero weights alone":
        with pytest.raises(InvalidInputError, match=message):
            model.partial_fit(*arguments(name, X, y), sample_weight=weights)
    np.testing.assert_array_equal(answers(name, model), before)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_call_of_weight_zero_is_no_call(name):
    X, y, _ = table()
    model = MODELS[name]().partial_fit(*arguments(name, X[:1], y[:1]), sample_weight=[0])
    assert model.n_samples_seen_ == 0
    for row in range(300):
        model.partial_fit(*arguments(name, X[row : row + 1], y[row : row + 1]), sample_weight=[row % 2])
    assert model.n_samples_seen_ == 150
    whole = MODELS[name]().partial_fit(*arguments(name, X[1:300:2], y[1:300:2]))
    # The last rows still wait for their turn.
    np.testing.assert_allclose(answers(name, model)[:4], answers(name, whole)[:4], rtol=0.2, atol=0.2)


@pytest.mark.filterwarnings("ignore::robustream.errors.FewRowsWarning")
@pytest.mark.parametrize(("name", "columns"), [("regression", 520), ("pca", 2010), ("covariance", 2010)])
def test_wide_tables_have_weights_too(name, columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, columns)) * np.linspace(3, 1, columns)
    y, weights = X[:, 0] + rng.normal(size=200), rng.integers(0, 4, 200)
    options = {"alpha": 0.1} if name == "regression" else {}
    weighted = MODELS[name](**options).fit(*arguments(name, X, y), sample_weight=weights)
    repeated = MODELS[name](**options).fit(*arguments(name, np.repeat(X, weights, axis=0), np.repeat(y, weights)))
    answer = {"regression": "coef_", "pca": "explained_variance_", "covariance": "covariance_"}[name]
    np.testing.assert_allclose(getattr(weighted, answer), getattr(repeated, answer), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("learner", ["refined", "classical"])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_single_precision_stays(name, learner):
    X, y, weights = table()
    single = MODELS[name](learner=learner).fit(*arguments(name, np.float32(X), np.float32(y)), sample_weight=weights)
    double = MODELS[name](learner=learner).fit(*arguments(name, X, y), sample_weight=weights)
    assert all(part is None or part.dtype in (np.float32, np.float64) for part in single.run_.believed[0])
    assert getattr(single, ANSWERS[name][0]).dtype == np.float32
    np.testing.assert_allclose(answers(name, single), answers(name, double), rtol=1e-3, atol=1e-3)


def test_the_wrapper_hands_weights_on():
    X, y, weights = table(3000)
    model = rs.OutlierRobust(Ridge(), batch_size=3000).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.estimator_.coef_, Ridge().fit(X, y, sample_weight=weights).coef_, rtol=1e-9)
    labels = (y > np.median(y)).astype(int)
    classifier = rs.OutlierRobust(LogisticRegression(), batch_size=300)
    assert classifier.fit(X, labels, sample_weight=weights).score(X, labels) > 0.9
    first = rs.OutlierRobust(LogisticRegression()).partial_fit(X, labels, classes=[0, 1], sample_weight=weights)
    assert first.n_samples_seen_ == np.count_nonzero(weights)
    positive = rs.OutlierRobust(GammaRegressor(), parameters=["coef_", "intercept_"]).fit(X, np.exp(y / 20), weights)
    assert positive.batch_report_[0].total_weight is not None


def test_an_estimator_without_weights_says_so():
    X, y, weights = table()
    with pytest.raises(InvalidInputError, match=r"Lars.fit takes no sample_weight"):
        rs.OutlierRobust(Lars(), parameters=["coef_", "intercept_"]).fit(X, y, sample_weight=weights)


def test_a_learner_on_a_device_works_on_weighted_batches_on_the_host():
    X, y, weights = table()
    batch = Batch(0, "rows", X, y[:, None], weights=weights)
    learner = Refined().regression(LinearProblem())
    found, wanted = (each.estimate(batch, np.random.default_rng(0)) for each in (OnDevice(learner), learner))
    assert found.failure is None
    np.testing.assert_array_equal(found.point[0], wanted.point[0])
    assert found.total_weight == wanted.total_weight == weights.sum()


def test_a_learner_that_takes_no_weights_fails_the_batch():
    class Plain(type(Classical().regression(LinearProblem()))):
        takes_weights = False

    X, y, weights = table()
    estimate = Plain(LinearProblem()).estimate(
        Batch(0, "rows", X, y[:, None], weights=weights), np.random.default_rng(0)
    )
    assert estimate.point is None
    assert estimate.failure == "the learner takes no weights of rows"


def test_places_of_rows_count_those_of_weight_zero():
    X, y, weights = table()
    weights[:300:2] = 0
    weights[300:] = 1
    y[401] += 500.0
    batch = Batch(0, "rows", X, y, weights=weights).counted()
    assert batch.rows == np.count_nonzero(weights)
    places = np.flatnonzero(weights)
    assert [batch.place_of(row) for row in (0, 7, batch.rows - 1)] == places[[0, 7, -1]].tolist()
    model = rs.fit(rs.OutlierRobustRegressor(), X, target=y, weight=weights)
    assert model.fit_notes_["worst_rows"][0][1] == 401
