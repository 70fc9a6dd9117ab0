"""A loaded model is the one that was saved: it predicts the same bits and goes on learning the same way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB

import robustream as rs
from robustream.errors import DamagedFileError, InvalidInputError, UnsupportedEstimatorError
from robustream.estimators._settings import WRAPPABLE, decode_estimator, encode_estimator
from robustream.learners.parameters import choose_parameters
from robustream.persistence import load, load_with_extra, save

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1500, 4)) * [5.0, 3.0, 1.0, 1.0] + 2.0
X[200:300] = 400 * RNG.normal(size=(100, 4))
Y = np.stack([X @ [1.0, -1.0, 0.5, 2.0], X @ [0.0, 1.0, 1.0, 0.0]], axis=1) + RNG.normal(size=(1500, 2))
CLASSES = np.digitize(X[:, 0] + RNG.normal(size=1500), [0.0, 4.0])


def reload(model, tmp_path):
    save(model, tmp_path / "model.safetensors")
    return load(tmp_path / "model.safetensors")


def answers(model, rows):
    """Give everything that a person reads off a model, as arrays."""
    names = ("transform", "predict", "predict_proba", "decision_function")
    found = [getattr(model, name)(rows) for name in names if hasattr(model, name)]
    if isinstance(model, rs.OutlierRobustPCA | rs.TrimmedPCA):
        found += [model.components_, model.mean_, model.explained_variance_ratio_, model.outlier_scores(rows)]
    if isinstance(model, rs.OutlierRobustRegressor):
        found += [model.coef_, model.intercept_, model.coef_stderr_, model.conf_int()]
    if hasattr(model, "batch_report_"):
        found.append(np.array([[record.weight, record.distance] for record in model.batch_report_]))
    return found


def assert_identical(first, second, rows=X):
    assert type(first) is type(second)
    for one, other in zip(answers(first, rows), answers(second, rows), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


LEARNERS = ["refined", "classical", "trimmed", rs.learners.Trimmed(trim=0.2, center=True)]
SETTINGS = [
    *((learner, "filtered") for learner in LEARNERS),
    *(("classical", aggregator) for aggregator in rs.aggregators.AGGREGATORS),
    ("classical", rs.aggregators.Filtered(budget=6)),
    ("classical", rs.aggregators.GeometricMedian(budget="1 MB", tolerance=1e-6)),
    ("classical", rs.aggregators.OnlineMedian(convexity=0.3)),
    ("classical", rs.aggregators.TrimmedMean(trim=0.2)),
]


@pytest.mark.parametrize(
    ("learner", "aggregator", "dtype"),
    [*((*setting, np.float64) for setting in SETTINGS), *((*setting, np.float32) for setting in SETTINGS[:3])],
    ids=str,
)
@pytest.mark.parametrize("problem", ["pca", "regression"])
def test_loaded_models_predict_and_go_on_alike(problem, learner, aggregator, dtype, tmp_path):
    kind = rs.OutlierRobustPCA if problem == "pca" else rs.OutlierRobustRegressor
    model = kind(learner=learner, aggregator=aggregator, random_state=7)
    rows, targets = X.astype(dtype), Y.astype(dtype)

    def feed(who, start, stop):
        who.partial_fit(rows[start:stop], *(() if problem == "pca" else (targets[start:stop],)))

    for start in range(0, 900, 100):
        feed(model, start, start + 100)
    feed(model, 900, 905)  # these rows wait
    loaded = reload(model, tmp_path)
    assert loaded.get_params().keys() == model.get_params().keys()
    assert repr(loaded) == repr(model)
    assert loaded.n_samples_seen_ == 905
    assert_identical(model, loaded, rows)
    for who in (model, loaded):
        feed(who, 905, 960)
        feed(who, 960, 1300)
    assert model.n_batches_seen_ == loaded.n_batches_seen_
    assert_identical(model, loaded, rows)


@pytest.mark.parametrize(
    ("estimator", "targets"),
    [
        (LinearRegression(), Y),
        (Ridge(alpha=0.5), Y[:, 0]),
        (RidgeCV(alphas=(0.1, 1.0)), Y[:, 0]),
        (LogisticRegression(C=0.5, max_iter=5000, class_weight={0: 1.0, 1: 2.0, 2: 1.0}), CLASSES),
        (SGDClassifier(), CLASSES),
        (GaussianNB(), np.array(["low", "mid", "high"])[CLASSES]),
        (BernoulliNB(), np.array(["low", "mid", "high"], dtype=object)[CLASSES]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_wrapped_estimators(estimator, targets, tmp_path):
    model = rs.OutlierRobust(estimator, batch_size=150).fit(X, targets)
    loaded = reload(model, tmp_path)
    assert repr(loaded) == repr(model)
    assert np.array_equal(model.predict(X), loaded.predict(X))
    for who in (model, loaded):
        who.partial_fit(X[:10], targets[:10]).partial_fit(X[300:500], targets[300:500])
    assert np.array_equal(model.predict(X), loaded.predict(X))
    for parameter in choose_parameters(estimator, None):
        first, second = (np.asarray(getattr(who.estimator_, parameter.name)) for who in (model, loaded))
        assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [rs.TrimmedPCA(3, trim=0.2), rs.TrimmedRegressor(trim=0.1, scale=False)], ids=repr)
def test_models_of_one_table(model, dtype, tmp_path):
    rows = X.astype(dtype)
    loaded = reload(model.fit(rows, Y[:, 0]), tmp_path)
    assert repr(loaded) == repr(model)
    assert_identical(model, loaded, rows)


def test_several_outputs_and_wide_tables(tmp_path):
    rows = RNG.normal(size=(900, 501))
    targets = rows[:, :2] + RNG.normal(size=(900, 2))
    model = rs.OutlierRobustRegressor(batch_size=300).fit(rows, targets)
    loaded = reload(model, tmp_path)
    assert_identical(model, loaded, rows)


def test_names_of_columns_and_a_half_life(tmp_path):
    table = pd.DataFrame(X, columns=["north", "south", "east", "wést"])
    model = rs.OutlierRobustPCA(0.9, standardize=True, half_life=5.5, batch_size=100).fit(table)
    loaded = reload(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == table.columns.tolist()
    assert_identical(model, loaded, table)
    with pytest.raises(ValueError, match="feature names"):
        loaded.partial_fit(table.rename(columns={"north": "other"}))


def test_a_random_state_object_gives_its_seed(tmp_path):
    state = np.random.RandomState(3)
    model = rs.OutlierRobustPCA(random_state=state).partial_fit(X[:200])
    before = state.get_state()[1].tolist()
    loaded = reload(model, tmp_path)
    assert state.get_state()[1].tolist() == before
    assert loaded.run_.plan.seed == model.run_.plan.seed
    assert_identical(model.partial_fit(X[300:500]), loaded.partial_fit(X[300:500]))


def test_anyone_with_safetensors_can_use_the_answer(tmp_path):
    path = tmp_path / "model.safetensors"
    model = rs.OutlierRobustRegressor(batch_size=100).fit(X, Y[:, 0])
    save(model, path)
    tensors = load_file(path)
    predicted = X @ tensors["answer/coef_"] + tensors["answer/intercept_"]
    assert np.allclose(predicted, model.predict(X))


def test_extra_content_comes_back(tmp_path):
    path = tmp_path / "model.safetensors"
    extra = {"history": [1.0, 0.5], "distances": np.arange(3.0), "source": None}
    save(rs.OutlierRobustPCA().fit(X), path, extra=extra)
    _, back = load_with_extra(path)
    assert back["history"] == [1.0, 0.5]
    assert back["distances"].tolist() == [0.0, 1.0, 2.0]


def test_rows_that_wait_are_saved_before_there_is_an_answer(tmp_path):
    model = rs.OutlierRobustPCA(2).partial_fit(X[:2])
    loaded = reload(model, tmp_path)
    assert loaded.n_samples_seen_ == 2
    assert_identical(model.partial_fit(X[2:60]), loaded.partial_fit(X[2:60]))


@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(), rs.TrimmedPCA(), rs.OutlierRobust(Ridge())], ids=repr)
def test_an_unfitted_model_is_refused(model, tmp_path):
    with pytest.raises(NotFittedError, match="not fitted"):
        save(model, tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []


class OwnRidge(Ridge):
    pass


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (rs.OutlierRobust(OwnRidge()), "scikit-learn's own"),
        (rs.OutlierRobust(SGDClassifier(random_state=np.random.RandomState(0))), "random_state"),
        (Ridge(), "Ridge cannot be saved"),
        (KMeans(), "KMeans cannot be saved"),
    ],
    ids=["own", "random state", "Ridge", "KMeans"],
)
def test_other_estimators_are_refused(model, match, tmp_path):
    with pytest.raises(UnsupportedEstimatorError, match=match):
        save(model.fit(X, CLASSES), tmp_path / "model.safetensors")


def test_parts_of_other_origin_are_refused(tmp_path):
    class OwnAggregator(rs.aggregators.GeometricMedian):
        pass

    with pytest.raises(InvalidInputError, match="not one of robustream's own"):
        save(rs.OutlierRobustPCA(aggregator=OwnAggregator()).fit(X), tmp_path / "model.safetensors")


def test_parameters_changed_after_fitting_are_refused(tmp_path):
    model = rs.OutlierRobustPCA(2).fit(X).set_params(n_components=3)
    with pytest.raises(InvalidInputError, match="changed after"):
        save(model, tmp_path / "model.safetensors")
    save(model.set_params(n_components=2), tmp_path / "model.safetensors")


def test_a_checkpoint_is_no_model(tmp_path):
    from robustream.runs.checkpoints import write_checkpoint

    model = rs.OutlierRobustPCA().fit(X)
    path = tmp_path / "run.safetensors"
    write_checkpoint(path, model.run_, model.run_settings(), None)
    with pytest.raises(DamagedFileError, match="holds a checkpoint, not a model"):
        load(path)


@pytest.mark.parametrize("name", sorted(WRAPPABLE))
def test_every_allowed_estimator_can_be_aggregated(name):
    estimator = decode_estimator({"class": name, "parameters": {}})
    assert choose_parameters(estimator, None)
    assert encode_estimator(estimator) == {"class": name, "parameters": {}}


def test_parameters_that_scikit_learn_no_longer_has_are_named():
    with pytest.raises(UnsupportedEstimatorError, match="normalize"):
        decode_estimator({"class": "Ridge", "parameters": {"normalize": True}})
