"""One-dimensional samples: their core, where it ends, and whether there are two groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.aggregators.core import find_core, find_cut, weighted_median
from robustream.aggregators.mixture import find_split


class TestOneDimension:
    def test_the_core_ignores_a_large_minority(self):
        rng = np.random.default_rng(16)
        values = np.concatenate([rng.normal(size=550), 40 + rng.normal(size=450)])
        core = find_core(values, np.ones(1000))
        # The centre of the core has 1.54 times the variance of the mean.
        assert abs(core.center) < 4 * np.sqrt(1.54 / 550)
        assert core.spread == pytest.approx(1, abs=0.15)

    def test_clean_values_have_no_cut_and_far_ones_have(self):
        values = np.abs(np.random.default_rng(17).normal(size=300))
        assert find_cut(values, np.ones(300)) is None
        values[0] = 7
        assert find_cut(values, np.ones(300)) < 7

    @given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.data())
    @settings(max_examples=60, deadline=None)
    def test_weights_are_repetitions(self, values, data):
        repeats = data.draw(st.lists(st.integers(1, 4), min_size=len(values), max_size=len(values)))
        repeated = np.repeat(values, repeats)
        assert weighted_median(np.array(values), np.array(repeats, float)) == pytest.approx(
            float(np.median(repeated)), abs=1e-6
        )

    @pytest.mark.parametrize("draw", ["normal", "t3", "log-normal", "uniform"])
    def test_one_group_is_not_split(self, draw):
        rng = np.random.default_rng(18)
        make = {
            "normal": lambda: rng.normal(size=200),
            "t3": lambda: rng.standard_t(3, size=200),
            "log-normal": lambda: np.exp(0.3 * rng.normal(size=200)),
            "uniform": lambda: rng.random(200),
        }[draw]
        splits = sum(find_split(make(), np.ones(200)) is not None for _ in range(40))
        assert splits <= 2
