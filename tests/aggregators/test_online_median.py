"""The paper's filter does what is printed, with its dense twin as the specification."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.aggregators import OnlineMedian
from robustream.batch import Estimate
from robustream.errors import InvalidInputError
from robustream.spaces import Euclidean, Part, Parts, Subspace


def printed_filter(points, constant):
    """Algorithm 1 (with theta_t in the update) on plain arrays, the weight capped at 1."""
    value = np.zeros_like(points[0])
    for t, point in enumerate(points, start=1):
        distance = np.linalg.norm(value - point)
        weight = min(1.0, 2 / (constant * t) / distance) if distance > 0 else 0.0
        value = (1 - weight) * value + weight * point
    return value


def run(space, points, constant, **options):
    aggregator = OnlineMedian(convexity=constant, **options)
    state = aggregator.init(Parts((Part("theta", space),)))
    for index, point in enumerate(points):
        state, info = aggregator.step(state, Estimate(index, "", 1, (point,)))
        assert info.accepted
    return aggregator, state


@given(st.integers(0, 10**6), st.floats(0.05, 20), st.integers(1, 30))
@settings(max_examples=50, deadline=None)
def test_vectors_are_filtered_as_printed(seed, constant, count):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    aggregator, state = run(Euclidean((3,)), points, constant)
    np.testing.assert_allclose(aggregator.value(state)[0], printed_filter(points, constant), atol=1e-12)


@given(st.integers(0, 10**6), st.floats(0.1, 5))
@settings(max_examples=30, deadline=None)
def test_projectors_are_mixed_unprojected_with_one_decomposition_at_the_end(seed, constant):
    rng = np.random.default_rng(seed)
    factors = [np.linalg.qr(rng.normal(size=(6, 2)))[0] for _ in range(12)]
    aggregator, state = run(Subspace(6, 2), factors, constant)
    matrix = printed_filter([f @ f.T for f in factors], constant)
    np.testing.assert_allclose(state.mixture @ state.mixture.T, matrix, atol=1e-10)
    values, vectors = np.linalg.eigh(matrix)
    if values[-2] - values[-3] > 1e-6:
        found = aggregator.value(state)[0]
        np.testing.assert_allclose(found @ found.T, vectors[:, -2:] @ vectors[:, -2:].T, atol=1e-6)


def test_at_distance_zero_nothing_moves():
    aggregator, state = run(Euclidean((2,)), np.zeros((3, 2)), 1.0)
    np.testing.assert_array_equal(aggregator.value(state)[0], 0)


def test_a_far_start_is_never_left_when_the_stream_starts_bad():
    """The known trap: the steps sum to a logarithm."""
    rng = np.random.default_rng(0)
    good = rng.normal(size=(60, 2)) * 0.1
    bad = np.full((40, 2), 100.0)
    aggregator, state = run(Euclidean((2,)), np.concatenate([bad, good]), 0.1)
    assert np.linalg.norm(aggregator.value(state)[0]) > 10


def test_a_start_can_be_given():
    aggregator, state = run(Euclidean((2,)), np.ones((1, 2)), 1e9, start=[5.0, 5.0])
    np.testing.assert_allclose(aggregator.value(state)[0], 5.0, atol=1e-6)


def test_bad_settings_are_refused():
    for convexity in (0, -1, np.nan, np.inf):
        with pytest.raises(InvalidInputError, match="convexity"):
            OnlineMedian(convexity=convexity)
    with pytest.raises(InvalidInputError, match="half_life"):
        OnlineMedian().init(Parts(()), half_life=3)
    with pytest.raises(InvalidInputError, match="start"):
        run(Euclidean((2,)), np.ones((1, 2)), 1.0, start=[1.0, 2.0, 3.0])
