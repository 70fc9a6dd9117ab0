"""Estimates folded into a state of the default aggregator."""

from __future__ import annotations

import numpy as np
import pytest

from robustream.aggregators import Filtered
from robustream.batch import Estimate
from robustream.spaces import Euclidean, Part, Parts


def _state_of(points, names=("coefficients",), aggregator=None, weights=None, **options):
    aggregator = aggregator or Filtered()
    points = [point if isinstance(point, tuple) else (np.asarray(point),) for point in points]
    spaces = tuple(Part(name, Euclidean(np.shape(value))) for name, value in zip(names, points[0], strict=True))
    state = aggregator.init(Parts(spaces), **options)
    for index, point in enumerate(points):
        weight = 1.0 if weights is None else float(weights[index])
        state, info = aggregator.step(state, Estimate(index, f"batch {index}", 10, point, weight=weight))
        assert info.accepted
    return state


def _value_and_rejected(points, **options):
    aggregator = Filtered()
    state = _state_of(points, aggregator=aggregator, **options)
    rejected = np.array([assessment.rejected for assessment in aggregator.assess(state)])
    return aggregator.value(state)[0], rejected


@pytest.fixture(scope="session")
def state_of():
    """Give the state that holds some points, one part or a tuple of parts each."""
    return _state_of


@pytest.fixture(scope="session")
def value_and_rejected():
    """Give the filtered value of the first part of some points, and which were rejected."""
    return _value_and_rejected
