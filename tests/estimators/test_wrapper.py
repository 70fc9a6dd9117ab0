"""Outlier-robust learning around scikit-learn estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import (
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier

import robustream as rs
from robustream.errors import BelowQuorumError, InvalidInputError, UnsupportedEstimatorError


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 4))
    return rows, rows @ [1.0, -2.0, 3.0, 0.0] + 5 + rng.normal(size=3000)


@pytest.fixture
def classes():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 4))
    labels = np.array(["ant", "bee", "cat"])[np.digitize(rows[:, 0] + 0.3 * rng.normal(size=3000), [-0.5, 0.5])]
    return rows + np.array([{"ant": -1, "bee": 0, "cat": 1}[label] for label in labels])[:, None], labels


@pytest.mark.parametrize(
    "inner", [LinearRegression(), Ridge(), SGDRegressor(random_state=0), HuberRegressor(), LinearSVR()], ids=str
)
def test_regressors_survive_bad_batches(inner, table):
    rows, target = table
    dirty = target.copy()
    dirty[:1200] = -10 * dirty[:1200]
    model = rs.OutlierRobust(inner, batch_size=100).fit(rows, dirty)
    plain = clone(inner).fit(rows, dirty)
    assert model.score(rows[1200:], target[1200:]) > 0.8
    assert model.score(rows[1200:], target[1200:]) > plain.score(rows[1200:], target[1200:])
    assert type(model.estimator_) is type(inner)
    assert model.estimator_.coef_.shape == plain.coef_.shape
    assert np.shape(model.estimator_.intercept_) == np.shape(plain.intercept_)


@pytest.mark.parametrize(
    "inner",
    [LogisticRegression(), GaussianNB(), SGDClassifier(random_state=0), LinearSVC(), RidgeClassifier()],
    ids=str,
)
@pytest.mark.parametrize("names", [["ant", "bee"], ["ant", "bee", "cat"]], ids=len)
def test_classifiers_survive_bad_batches(inner, names, classes):
    rows, labels = classes
    rows, labels = rows[np.isin(labels, names)], labels[np.isin(labels, names)]
    wrong = labels.copy()
    bad = len(labels) // 3
    wrong[:bad] = np.roll(names, 1)[np.searchsorted(names, labels[:bad])]
    model = rs.OutlierRobust(inner, batch_size=100).fit(rows, wrong)
    reference = clone(inner).fit(rows[bad:], labels[bad:]).score(rows[bad:], labels[bad:])
    # Batches that are all wrong in the same way pull the median a little: close to the clean fit, not equal.
    assert model.score(rows[bad:], labels[bad:]) > reference - 0.1
    assert list(model.classes_) == names
    assert list(model.estimator_.classes_) == names


def test_clean_data_give_nearly_the_plain_answer(classes):
    rows, labels = classes
    for inner in (LogisticRegression(C=10), GaussianNB(), BernoulliNB(), MultinomialNB()):
        numbers = np.abs(rows) if isinstance(inner, MultinomialNB) else rows
        model, plain = rs.OutlierRobust(inner, batch_size=300).fit(numbers, labels), clone(inner).fit(numbers, labels)
        agreement = np.mean(model.predict(numbers) == plain.predict(numbers))
        assert agreement > 0.95, inner


def test_probabilities_are_those_of_the_aggregated_model(classes):
    rows, labels = classes
    model = rs.OutlierRobust(GaussianNB(), batch_size=200).fit(rows, labels)
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1)
    np.testing.assert_allclose(model.estimator_.class_prior_.sum(), 1)
    assert np.all(model.estimator_.var_ > 0)
    with pytest.raises(AttributeError):
        rs.OutlierRobust(LinearSVC()).fit(rows, labels).predict_proba  # noqa: B018
    with pytest.raises(AttributeError):
        rs.OutlierRobust(Ridge()).fit(rows, rows[:, 0]).classes_  # noqa: B018


def test_several_outputs(table):
    rows, target = table
    both = np.column_stack([target, 2 * target])
    model = rs.OutlierRobust(Ridge(), batch_size=300).fit(rows, both)
    assert model.predict(rows).shape == (3000, 2)
    assert model.score(rows, both) > 0.9


def test_partial_fit_takes_the_classes_and_batches_that_lack_some(classes):
    rows, labels = classes
    model = rs.OutlierRobust(LogisticRegression())
    every = ["ant", "bee", "cat"]
    for index, start in enumerate(range(0, 3000, 150)):
        piece, names = rows[start : start + 150], labels[start : start + 150]
        if index % 4 == 1:
            piece, names = piece[names != "cat"], names[names != "cat"]
        model.partial_fit(piece, names, classes=every if index == 0 else None)
    reference = LogisticRegression().fit(rows, labels).score(rows, labels)
    assert model.score(rows, labels) > reference - 0.05


def test_a_first_call_that_lacks_classes(classes):
    rows, labels = classes
    model = rs.OutlierRobust(GaussianNB()).partial_fit(
        rows[labels == "ant"], labels[labels == "ant"], classes=["ant", "bee"]
    )
    with pytest.raises(BelowQuorumError, match="bee"):
        model.predict(rows)
    with pytest.raises(InvalidInputError, match="2 classes"):
        rs.OutlierRobust(GaussianNB()).partial_fit(rows[labels == "ant"], labels[labels == "ant"], classes=["ant"])
    with pytest.raises(InvalidInputError, match="first call"):
        rs.OutlierRobust(GaussianNB()).partial_fit(rows, labels)


def test_a_class_seen_in_too_few_batches_is_not_trusted(classes):
    rows, labels = classes
    model = rs.OutlierRobust(GaussianNB())
    for index in range(10):
        keep = slice(index * 300, index * 300 + 300)
        piece, names = rows[keep], labels[keep]
        if index >= 4:
            piece, names = piece[names != "cat"], names[names != "cat"]
        model.partial_fit(piece, names, classes=["ant", "bee", "cat"])
    with pytest.raises(BelowQuorumError, match=r"cat.*4 of 10"):
        model.predict(rows)


def test_later_calls_must_fit_the_first(classes, table):
    rows, labels = classes
    model = rs.OutlierRobust(GaussianNB()).partial_fit(rows, labels, classes=["ant", "bee", "cat"])
    with pytest.raises(InvalidInputError, match="dog"):
        model.partial_fit(rows, np.full(3000, "dog"))
    with pytest.raises(InvalidInputError, match="classes"):
        model.partial_fit(rows, labels, classes=["ant", "bee"])
    with pytest.raises(InvalidInputError, match="not in classes"):
        rs.OutlierRobust(GaussianNB()).partial_fit(rows, labels, classes=["ant", "bee"])
    single = rs.OutlierRobust(Ridge()).partial_fit(*table)
    with pytest.raises(InvalidInputError, match="shape"):
        single.partial_fit(table[0], np.column_stack([table[1]] * 2))


@pytest.mark.parametrize(
    ("inner", "reason"),
    [
        (DecisionTreeClassifier(), "splits"),
        (RandomForestRegressor(), "splits"),
        (KMeans(2), "order"),
        (MLPRegressor(), "hidden units"),
        (PCA(2), "OutlierRobustPCA"),
        (SVC(), "support vectors"),
        (GridSearchCV(Ridge(), {}), "inner"),
        (make_pipeline(StandardScaler(), Ridge()), "inner"),
        (Ridge, "instance"),
        ("ridge", "instance"),
        (StandardScaler(), "parameters="),
    ],
)
def test_what_cannot_be_averaged_is_refused_with_the_reason(inner, reason, table):
    with pytest.raises(TypeError, match=reason):
        rs.OutlierRobust(inner).fit(*table)
    assert issubclass(UnsupportedEstimatorError, TypeError)


def test_parameters_can_be_named(table):
    rows, target = table
    named = rs.OutlierRobust(Ridge(), parameters=["coef_", "intercept_"], batch_size=300).fit(rows, target)
    known = rs.OutlierRobust(Ridge(), batch_size=300).fit(rows, target)
    np.testing.assert_array_equal(named.predict(rows), known.predict(rows))
    for wrong in ([], ["coef"], [3]):
        with pytest.raises(InvalidInputError, match="parameters"):
            rs.OutlierRobust(Ridge(), parameters=wrong).fit(rows, target)
    with pytest.raises(ValueError, match="no fitted attribute 'beta_'"):
        rs.OutlierRobust(Ridge(), parameters=["beta_"]).fit(rows, target)


def test_generalised_linear_models(table):
    rows = table[0]
    counts = np.random.default_rng(1).poisson(np.exp(0.3 * rows[:, 0]))
    model = rs.OutlierRobust(PoissonRegressor(alpha=0), batch_size=500).fit(rows, counts)
    np.testing.assert_allclose(model.estimator_.coef_, [0.3, 0, 0, 0], atol=0.1)


def test_the_wrapped_estimator_is_never_fitted_and_the_same_for_any_workers(table):
    inner = SGDRegressor()
    model = rs.OutlierRobust(inner, batch_size=200, random_state=3).fit(*table)
    again = rs.OutlierRobust(inner, batch_size=200, random_state=3, n_jobs=2).fit(*table)
    assert not hasattr(inner, "coef_")
    np.testing.assert_array_equal(model.estimator_.coef_, again.estimator_.coef_)
    other = rs.OutlierRobust(inner, batch_size=200, random_state=4).fit(*table)
    assert not np.array_equal(model.estimator_.coef_, other.estimator_.coef_)


def test_clone_grid_search_and_pickle(table):
    rows, target = table
    model = rs.OutlierRobust(Ridge(), batch_size=200)
    search = GridSearchCV(model, {"estimator__alpha": [0.1, 1e6]}, cv=3).fit(rows, target)
    assert search.best_params_ == {"estimator__alpha": 0.1}
    revived = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(revived.predict(rows), search.predict(rows))
