"""What each aggregator computes, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from robustream.aggregators import AGGREGATORS, CoordinateMedian, GeometricMedian, Mean, TrimmedMean, resolve_aggregator
from robustream.batch import Estimate
from robustream.errors import InvalidInputError
from robustream.estimators import OutlierRobustRegressor
from robustream.spaces import Euclidean, Part, Parts, Subspace

PLANE = Parts((Part("vector", Euclidean((4,))),))


def value(aggregator, points, weights=None, space=PLANE, **options):
    state = aggregator.init(space, **options)
    for index, point in enumerate(points):
        weight = 1.0 if weights is None else weights[index]
        state, _ = aggregator.step(state, Estimate(index, "", 1, (point,), weight=weight))
    return aggregator.value(state)[0]


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(21, 4))


def test_mean(points):
    np.testing.assert_allclose(value(Mean(), points), points.mean(axis=0))
    weights = np.linspace(0.1, 1, 21)
    np.testing.assert_allclose(value(Mean(), points, weights), np.average(points, axis=0, weights=weights))


def test_mean_with_a_half_life(points):
    weights = 0.5 ** (np.arange(20, -1, -1) / 4)
    np.testing.assert_allclose(value(Mean(), points, half_life=4), np.average(points, axis=0, weights=weights))


def test_coordinate_median(points):
    np.testing.assert_allclose(value(CoordinateMedian(), points), np.median(points, axis=0))


def test_weighted_coordinate_median_equals_repetition(points):
    repeats = np.random.default_rng(1).integers(1, 5, size=21)
    expected = np.median(np.repeat(points, repeats, axis=0), axis=0)
    np.testing.assert_allclose(value(CoordinateMedian(), points, repeats / 4), expected)


def test_trimmed_mean(points):
    ordered = np.sort(points, axis=0)
    np.testing.assert_allclose(value(TrimmedMean(trim=0.2), points), ordered[4:17].mean(axis=0))


def test_weighted_trimmed_mean_equals_repetition():
    points = np.random.default_rng(2).normal(size=(20, 4))
    repeats = np.repeat([1, 3], 10)
    repeated = np.sort(np.repeat(points, repeats, axis=0), axis=0)
    np.testing.assert_allclose(value(TrimmedMean(trim=0.25), points, repeats / 3), repeated[10:30].mean(axis=0))


def test_coordinate_statistics_of_projectors():
    rng = np.random.default_rng(0)
    factors = [np.linalg.qr(rng.normal(size=(5, 2)))[0] for _ in range(7)]
    found = value(CoordinateMedian(), factors, space=Parts((Part("subspace", Subspace(5, 2)),)))
    vectors = np.linalg.eigh(np.median([f @ f.T for f in factors], axis=0))[1][:, -2:]
    np.testing.assert_allclose(found @ found.T, vectors @ vectors.T, atol=1e-8)


@pytest.mark.parametrize("name", sorted(set(AGGREGATORS) - {"mean", "online-median"}))
def test_one_wild_estimate_has_bounded_influence(name, points):
    """Moving one of 21 estimates anywhere moves the value by no more than the good ones' spread."""
    aggregator = resolve_aggregator(name)
    spread = np.linalg.norm(points - points.mean(axis=0), axis=1).max()
    for size in (10.0, 1e6, 1e12):
        moved = points.copy()
        moved[3] = size
        assert np.linalg.norm(value(aggregator, moved) - value(aggregator, points)) < spread


def test_forty_percent_of_the_estimates_cannot_carry_the_median_away(points):
    """Lemma 1: with at most a fraction gamma bad, the median stays within C_gamma of the good radius."""
    gamma = 0.4
    bad = int(gamma * 21)
    radius = np.linalg.norm(points[bad:], axis=1).max()
    limit = (1 - gamma) * np.sqrt(1 / (1 - 2 * gamma)) * radius
    for garbage in (1e3, 1e9):
        moved = points.copy()
        moved[:bad] = garbage
        assert np.linalg.norm(value(GeometricMedian(), moved)) <= limit
        assert np.linalg.norm(value(Mean(), moved)) > limit


@pytest.mark.parametrize("name", sorted(AGGREGATORS))
def test_names_lead_to_objects_and_objects_to_themselves(name):
    aggregator = resolve_aggregator(name)
    assert aggregator.name == name
    assert resolve_aggregator(aggregator) is aggregator


@pytest.mark.parametrize("wrong", ["median", 3, None, GeometricMedian])
def test_unknown_names_are_refused_with_the_list(wrong):
    with pytest.raises(InvalidInputError, match="geometric-median"):
        resolve_aggregator(wrong)


@pytest.mark.parametrize("trim", [-0.1, 0.5, 1.0])
def test_trimmed_mean_refuses_to_trim_all(trim):
    with pytest.raises(InvalidInputError, match="trim"):
        TrimmedMean(trim=trim)


@pytest.mark.parametrize("name", sorted(set(AGGREGATORS) - {"online-median"}))
@pytest.mark.parametrize("dimension", [1, 4])
def test_the_variance_factor_is_true(name, dimension):
    """Over many samples of normal estimates, the value varies as the factor says."""
    aggregator = resolve_aggregator(name)
    space = Parts((Part("vector", Euclidean((dimension,))),))
    rng = np.random.default_rng(4)
    count, repetitions = 60, 300
    values = [value(aggregator, rng.normal(size=(count, dimension)), space=space) for _ in range(repetitions)]
    ratio = np.mean(np.square(values)) * count / aggregator.variance_factor(dimension)
    # The mean of repetitions x dimension squared normal values has relative error sqrt(2 / (repetitions dim));
    # four of these, and some room for a finite count of estimates.
    assert abs(ratio - 1) < 4 * np.sqrt(2 / (repetitions * dimension)) + 0.05


def test_settings_are_shown():
    assert repr(TrimmedMean(trim=0.3)) == "TrimmedMean(budget='256 MB', trim=0.3)"


def test_what_the_chance_of_rows_explains_speaks_against_no_batch():
    rejected = total = 0
    for seed in range(8):
        rng, model = np.random.default_rng(seed), OutlierRobustRegressor()
        coef = rng.normal(size=5)
        for _ in range(20):
            X = rng.exponential(size=(100, 5))
            model.partial_fit(X, X @ coef + rng.exponential(size=100))
        rejected += sum(record.verdict == "rejected" for record in model.batch_report_)
        total += 20
    assert rejected == 0, f"{rejected} of {total}"
