"""Every exported space, learner, aggregator and source passes the public checks, by discovery."""

from __future__ import annotations

import pytest

from robustream import testing


def _name(value):
    return getattr(value, "__name__", None) or getattr(value, "name", None)


@pytest.mark.parametrize("check", testing.SPACE_CHECKS, ids=_name)
@pytest.mark.parametrize("example", list(testing.discover_spaces()), ids=_name)
def test_space(example, check):
    check(example.space, example.points)


@pytest.mark.parametrize("check", testing.AGGREGATOR_CHECKS, ids=_name)
@pytest.mark.parametrize("aggregator", [found for _, found in testing.discover_aggregators()], ids=_name)
def test_aggregator(aggregator, check):
    check(aggregator)


@pytest.mark.parametrize("check", testing.LEARNER_CHECKS, ids=_name)
@pytest.mark.parametrize("example", list(testing.discover_learners()), ids=_name)
def test_learner(example, check):
    check(example.learner, example.make_batch)


@pytest.mark.parametrize("check", testing.SOURCE_CHECKS, ids=_name)
@pytest.mark.parametrize("source", [pytest.param(found, id=name) for name, found in testing.discover_sources()])
def test_source(source, check):
    check(source)


def test_a_broken_aggregator_is_caught():
    """The checks can fail: an aggregator that forgets to copy is found out."""
    from robustream.aggregators import GeometricMedian

    class Forgetful(GeometricMedian):
        def step(self, state, estimate):
            return state, super().step(state, estimate)[1]

    with pytest.raises(AssertionError):
        testing.check_aggregator(Forgetful())


def test_a_broken_space_is_caught():
    from robustream.spaces import Euclidean

    class Twice(Euclidean):
        def distances(self, mixture, points):
            return 2 * super().distances(mixture, points)

    example = next(iter(testing.discover_spaces()))
    with pytest.raises(AssertionError):
        testing.check_space(Twice((3,)), example.points)


def test_a_broken_learner_is_caught():
    import numpy as np

    from robustream.learners.classical import ClassicalPCA

    class FirstRows(ClassicalPCA):
        def solve(self, batch, rng):
            return super().solve(batch._replace(X=batch.X[: max(3, len(batch.X) // 2)]), np.random.default_rng())

    example = next(iter(testing.discover_learners()))
    with pytest.raises(AssertionError):
        testing.check_learner(FirstRows(example.learner.problem), example.make_batch)
