"""Wide second moments: bad targets show in few of them and must not be lost among the others."""

from __future__ import annotations

import numpy as np

from robustream.aggregators import Filtered
from robustream.batch import Estimate
from robustream.spaces import MomentModels
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
