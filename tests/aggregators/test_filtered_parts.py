"""The default aggregator: estimates of several parts, weights, half-lives and budgets."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from robustream.aggregators import Filtered
from robustream.batch import Estimate
from robustream.spaces import Euclidean, LowRank, Part, Parts


class TestParts:
    def test_bad_in_one_part_is_bad_in_all(self, state_of):
        rng = np.random.default_rng(8)
        points = [(rng.normal(size=5), rng.normal(size=1)) for _ in range(60)]
        for index in range(24):
            points[index] = (points[index][0], points[index][1] + 50)
        aggregator = Filtered()
        state = state_of(points, ("coefficients", "level"), aggregator)
        assessments = aggregator.assess(state)
        assert [assessment.index for assessment in assessments if assessment.rejected] == list(range(24))
        assert all("level" in assessment.reason for assessment in assessments[:24])
        assert all(assessment.weight == 0 for assessment in assessments[:24])
        coefficients, level = aggregator.value(state)
        np.testing.assert_allclose(coefficients, np.mean([point[0] for point in points[24:]], axis=0))
        np.testing.assert_allclose(level, np.mean([point[1] for point in points[24:]], axis=0))

    def test_other_noise_levels_are_no_reason_but_absurd_ones_are(self):
        rng = np.random.default_rng(9)
        space = Parts(
            (Part("slope", Euclidean((3,))), Part("log residual scale", Euclidean((1,)), "noise", is_log=True))
        )
        aggregator = Filtered()
        state = aggregator.init(space)
        for index in range(40):
            log_scale = 0.01 * rng.normal(size=1) + (np.log(3) if index < 10 else 0) + (12 if index == 39 else 0)
            state, _ = aggregator.step(state, Estimate(index, "", 1, (rng.normal(size=3), log_scale)))
        rejected = [assessment for assessment in aggregator.assess(state) if assessment.rejected]
        assert [assessment.index for assessment in rejected] == [39]
        assert "log residual scale" in rejected[0].reason

    @pytest.mark.parametrize("count", [8, 20, 100])
    def test_noise_that_varies_between_batches_is_no_reason(self, count):
        """Log scales with a spread of 1 differ by factors of 10 and more; hardly one sample in 500 loses a batch."""
        space = Parts(
            (Part("slope", Euclidean((3,))), Part("log residual scale", Euclidean((1,)), "noise", is_log=True))
        )
        lost = 0
        for seed in range(100):
            rng = np.random.default_rng([seed, count])
            aggregator = Filtered()
            state = aggregator.init(space)
            for index in range(count):
                state, _ = aggregator.step(state, Estimate(index, "", 1, (rng.normal(size=3), rng.normal(size=1))))
            lost += any("log residual scale" in assessment.reason for assessment in aggregator.assess(state))
        # Of 100 samples with a chance of 1 in 500 each, three are as unlikely as 1 in 1,000.
        assert lost <= 2

    def test_overflowing_variances(self):
        rng = np.random.default_rng(10)
        space = Parts((Part("slope", Euclidean((2,))), Part("signal variance", LowRank(4, 1), "noise")))
        aggregator = Filtered()
        state = aggregator.init(space)
        for index in range(12):
            factor = rng.normal(size=(4, 1)) * (1e200 if index < 4 else 1)
            state, _ = aggregator.step(state, Estimate(index, "", 1, (rng.normal(size=2), factor)))
        assert [assessment.rejected for assessment in aggregator.assess(state)] == [True] * 4 + [False] * 8
        assert np.isfinite(aggregator.value(state)[1]).all()

    def test_a_part_that_only_bad_estimates_have(self, state_of):
        rng = np.random.default_rng(11)
        points = [(rng.normal(size=2) + (100 if index == 0 else 0), np.zeros(1)) for index in range(12)]
        aggregator = Filtered()
        state = state_of(points, ("a", "b"), aggregator)
        stripped = tuple(
            estimate._replace(point=(estimate.point[0], None)) if estimate.index else estimate
            for estimate in state.estimates
        )
        np.testing.assert_array_equal(aggregator.value(state._replace(estimates=stripped))[1], 0)


class TestWeightsAndBudget:
    def test_forty_five_percent_of_the_weight(self, value_and_rejected):
        rng = np.random.default_rng(12)
        points = rng.normal(size=(100, 5))
        points[:80] += 50
        weights = np.where(np.arange(100) < 80, 0.1, 1.0)
        value, rejected = value_and_rejected(points, weights=weights)
        np.testing.assert_array_equal(rejected, np.arange(100) < 80)
        np.testing.assert_allclose(value, points[80:].mean(axis=0))

    def test_a_lasting_shift_is_believed_after_about_one_half_life(self, value_and_rejected):
        rng = np.random.default_rng(13)
        points = rng.normal(size=(120, 4))
        points[60:] += 30

        def level(count):
            return value_and_rejected(points[:count], half_life=20)[0].mean()

        assert level(70) == pytest.approx(0, abs=2)
        assert level(90) == pytest.approx(30, abs=2)

    @pytest.mark.parametrize("start", [0, 300, 550])
    def test_a_small_budget_with_the_bad_in_a_row(self, start):
        """Whatever the seed of the sample: any row of neighbours has its due share of it."""
        errors = []
        for seed in range(8):
            points = np.random.default_rng([seed, start]).normal(size=(1000, 20))
            points[start : start + 450] += 30
            aggregator = Filtered(budget=64)
            state = aggregator.init(Parts((Part("coefficients", Euclidean((20,))),)), seed=seed)
            for index, point in enumerate(points):
                state, _ = aggregator.step(state, Estimate(index, "", 1, (point,)))
            errors.append(np.square(aggregator.value(state)[0]).sum())
        # Each within 1.5 times the error of the mean of 35 good ones; its square varies by sqrt(2 / 20) of itself.
        assert np.sqrt(np.mean(errors)) < 1.5 * np.sqrt(20 / 35)
        assert np.sqrt(np.max(errors)) < 1.5 * np.sqrt(20 / 35 * (1 + 4 * np.sqrt(2 / 20)))

    def test_a_state_is_worked_out_once_and_the_object_travels(self, state_of):
        aggregator = Filtered()
        state = state_of(np.random.default_rng(0).normal(size=(20, 3)), aggregator=aggregator)
        assert aggregator.value(state) is aggregator.value(state)
        copy = pickle.loads(pickle.dumps(aggregator))
        np.testing.assert_array_equal(copy.value(state)[0], aggregator.value(state)[0])
