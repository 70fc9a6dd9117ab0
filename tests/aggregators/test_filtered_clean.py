"""The default aggregator: estimates that are honest, alike or not."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs


class TestClean:
    @pytest.mark.parametrize(("count", "dimension"), [(30, 1), (100, 1), (100, 5), (60, 40)])
    def test_normal_estimates_are_averaged(self, value_and_rejected, count, dimension):
        lost, ratio = [], []
        for seed in range(60):
            points = np.random.default_rng([seed, 1]).normal(size=(count, dimension))
            value, rejected = value_and_rejected(points)
            lost.append(rejected.mean())
            ratio.append(np.linalg.norm(value) / np.linalg.norm(points.mean(axis=0)))
        assert np.mean(lost) < 0.02
        # In nearly all samples it is the mean itself.
        assert np.mean(np.abs(np.array(ratio) - 1) < 1e-9) > 0.85

    @pytest.mark.parametrize("dimension", [1, 3])
    def test_heavy_tails_cost_nothing(self, value_and_rejected, dimension):
        ours, mean = 0.0, 0.0
        for seed in range(60):
            rng = np.random.default_rng([seed, 2])
            points = rng.normal(size=(80, dimension)) * np.sqrt(3 / rng.chisquare(3, size=(80, 1)))
            ours += np.square(value_and_rejected(points)[0]).sum()
            mean += np.square(points.mean(axis=0)).sum()
        # Errors over the same samples differ by chance by about 1 / sqrt(60 x dimension) of what sets them apart.
        assert np.sqrt(ours / mean) < 1 + 0.1 / np.sqrt(dimension)

    def test_skewed_estimates_are_no_two_groups(self, value_and_rejected):
        for seed in range(20):
            points = np.exp(0.3 * np.random.default_rng(seed).normal(size=(500, 1)))
            value, _ = value_and_rejected(points)
            assert value[0] == pytest.approx(points.mean(), abs=4 * points.std() / np.sqrt(500))


class TestDifferentByNature:
    def test_a_long_tail_is_no_reason(self, value_and_rejected):
        """Levels of places: log-normal, from 14 to 700, without a gap. They were cut to the lower 60% once."""
        for seed in range(10):
            points = np.exp(4.5 + 0.9 * np.random.default_rng(seed).normal(size=(100, 1)))
            value, rejected = value_and_rejected(points)
            assert rejected.mean() <= 0.3
            assert np.quantile(points, 0.3) < value[0] < np.quantile(points, 0.8)

    def test_two_halves_have_no_majority(self, value_and_rejected):
        """Neither half may be called bad; the value lies among them and is bounded."""
        rng = np.random.default_rng(1)
        points = np.concatenate([rng.normal(size=(50, 4)), 12 + rng.normal(size=(50, 4))])
        value, rejected = value_and_rejected(points)
        assert rejected.mean() < 0.05
        assert np.all((value > -1) & (value < 13))

    @pytest.mark.parametrize("seed", range(3))
    def test_batches_count_by_what_they_know(self, seed):
        """A column that hardly varies in half of the batches: its coefficient is anything there, and no reason."""
        rng = np.random.default_rng(seed)
        model = rs.OutlierRobustRegressor()
        spreads = np.exp(rng.uniform(-7, 0, size=40))
        for spread in spreads:
            X = rng.normal(size=(300, 3)) * [1.0, 1.0, spread]
            model.partial_fit(X, X @ [1.0, -1.0, 2.0] + rng.normal(size=300))
        assert sum(record.verdict != "kept" for record in model.batch_report_) <= 2

    def test_and_bad_ones_among_them_are_found(self):
        rng = np.random.default_rng(5)
        model = rs.OutlierRobustRegressor()
        for index in range(40):
            X = rng.normal(size=(300, 3)) * [1.0, 1.0, np.exp(rng.uniform(-7, 0))]
            y = X @ [1.0, -1.0, 2.0] + rng.normal(size=300)
            model.partial_fit(X, -y if index < 16 else y)
        rejected = np.array([record.verdict != "kept" for record in model.batch_report_])
        np.testing.assert_array_equal(rejected[:16], True)
        assert rejected[16:].sum() <= 2
