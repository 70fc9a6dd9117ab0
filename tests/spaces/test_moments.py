"""Wide second moments: bad targets show in few of them and must not be lost among the others."""

from __future__ import annotations

import numpy as np
import pytest

from robustream.aggregators import Filtered
from robustream.batch import Estimate
from robustream.spaces import MomentModels
from robustream.spaces.linear import invert_moments
from robustream.spaces.moments import MomentPoint


def test_batches_with_bad_targets_are_told_among_many_columns():
    rng = np.random.default_rng(0)
    columns, bad = 600, {1, 4, 7, 11, 15, 19, 22}
    truth = rng.normal(size=columns) / np.sqrt(columns)
    space = MomentModels(columns, 1)
    aggregator = Filtered()
    state = aggregator.init(space)
    for index in range(25):
        noise = rng.normal(size=(columns + 1, columns + 1)) / np.sqrt(2500)
        covariance = np.eye(columns + 1) + noise + noise.T
        covariance[-1, :-1] = covariance[:-1, -1] = truth * (-1 if index in bad else 1) + noise[-1, :-1]
        point = MomentPoint(covariance, np.zeros(columns + 1))
        state, _ = aggregator.step(state, Estimate(index, "", 2500, point))
    assert {verdict.index for verdict in aggregator.assess(state) if verdict.rejected} == bad


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_are_inverted_where_they_can_be_and_substituted_where_not(dtype):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 5)) * [1e-3, 1.0, 1.0, 1.0, 1e3]
    moments = (rows.T @ rows / 60).astype(dtype)
    exact = moments.astype(np.float64)
    units = np.sqrt(np.diag(exact))
    regular = invert_moments(moments, 5, 0.0) * np.outer(units, units)
    np.testing.assert_allclose(regular @ (exact / np.outer(units, units)), np.eye(5), atol=1e-10)
    penalized = invert_moments(moments, 5, 0.5)
    np.testing.assert_allclose(penalized @ (exact + 0.5 * np.eye(5)), np.eye(5), atol=1e-8)
    # The same column twice: the shortest solution shares its coefficient.
    moments = np.ones((2, 2), dtype)
    np.testing.assert_allclose(invert_moments(moments, 2, 0.0), np.full((2, 2), 0.25))
    # Nearly so: what tells the two columns apart is rounding, and must not be divided by.
    moments[0, 1] = moments[1, 0] = 1 - 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(invert_moments(moments, 2, 0.0), np.full((2, 2), 0.25), rtol=1e-5)
    # A column without any moments has no say.
    np.testing.assert_allclose(invert_moments(np.diag([0.0, 4.0]).astype(dtype), 2, 0.0), np.diag([0.0, 0.25]))
