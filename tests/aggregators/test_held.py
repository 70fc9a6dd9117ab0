"""The budget: all estimates while they fit, then a sample that no order of arrival can bias."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.aggregators import GeometricMedian
from robustream.aggregators.held import parse_budget
from robustream.batch import Estimate
from robustream.errors import InvalidInputError
from robustream.spaces import Euclidean, Part, Parts

LINE = Parts((Part("number", Euclidean((1,))),))


def estimates(count):
    return [Estimate(k, f"batch {k}", 10, (np.array([float(k)]),)) for k in range(count)]


def fold(aggregator, items, **settings_):
    state = aggregator.init(LINE, **settings_)
    for item in items:
        state, _ = aggregator.step(state, item)
    return state


def held(state):
    return [estimate.index for estimate in state.estimates]


@given(st.permutations(range(30)), st.integers(2, 30), st.one_of(st.none(), st.floats(1, 100)))
@settings(max_examples=50, deadline=None)
def test_the_sample_is_the_same_for_every_order_and_every_split(order, budget, half_life):
    aggregator = GeometricMedian(budget=budget)
    items = estimates(30)
    straight = fold(aggregator, items, half_life=half_life)
    shuffled = fold(aggregator, [items[k] for k in order], half_life=half_life)
    parts = [fold(aggregator, [items[k] for k in order[start::3]], half_life=half_life) for start in range(3)]
    combined = aggregator.combine(parts)
    assert held(straight) == held(shuffled) == held(combined)
    assert straight.taken == shuffled.taken == combined.taken == 30


def test_every_index_is_equally_likely_to_stay():
    kept = np.zeros(40)
    for seed in range(400):
        kept[held(fold(GeometricMedian(budget=10), estimates(40), seed=seed))] += 1
    # Each count is binomial with 400 trials and chance 1/4: five standard deviations are 43.
    assert np.abs(kept - 100).max() < 44


def test_a_half_life_keeps_the_recent():
    indices = held(fold(GeometricMedian(budget=20), estimates(500), half_life=10))
    assert np.median(indices) > 450
    assert len(indices) == 20


def test_weights_halve_with_each_half_life():
    items = [Estimate(k, "", 1, (np.array([0.0 if k < 30 else 1.0]),)) for k in range(60)]
    aggregator = GeometricMedian()
    assert aggregator.value(fold(aggregator, items))[0][0] == pytest.approx(0.5, abs=0.5)
    assert aggregator.value(fold(aggregator, items, half_life=5))[0][0] == pytest.approx(1.0)
    # A lasting shift wins once half of the weight is new: after one half-life.
    assert aggregator.value(fold(aggregator, items[:34], half_life=5))[0][0] == pytest.approx(0.0)
    assert aggregator.value(fold(aggregator, items[:36], half_life=5))[0][0] == pytest.approx(1.0)


def test_a_duplicated_reply_counts_once():
    aggregator = GeometricMedian()
    first, second = estimates(2)
    state = fold(aggregator, [first, second])
    after, info = aggregator.step(state, second._replace(point=(np.array([99.0]),)))
    assert after is state
    assert "second" in info.reason
    assert aggregator.combine([state, state]).taken == 2


def test_bad_first_within_a_small_budget():
    """Budget of 64, 1,000 batches, the first 450 bad: the sample still has a good majority."""
    aggregator = GeometricMedian(budget=64)
    items = estimates(1000)
    indices = np.array(held(fold(aggregator, items)))
    bad = (indices < 450).sum()
    # Hypergeometric with mean 28.8 and standard deviation 3.9.
    assert bad < 32


@pytest.mark.parametrize(("text", "size"), [("256 MB", 256_000_000), ("1.5gib", 3 * 2**29), ("10 kB", 10_000)])
def test_budgets_are_read(text, size):
    assert parse_budget(text).size == size


@pytest.mark.parametrize("budget", ["much", "256", 1, 0, True, 2.5, None])
def test_bad_budgets_are_refused(budget):
    with pytest.raises(InvalidInputError, match="budget"):
        GeometricMedian(budget=budget)


def test_a_size_limits_the_number_held():
    state = fold(GeometricMedian(budget="80 B"), estimates(50))
    assert len(state.estimates) == 10


@pytest.mark.parametrize("half_life", [None, 1e6])
def test_neighbours_have_their_due_share_of_the_sample(half_life):
    """Of any 450 of 1,000 in a row, 28.8 of 64 are held; independent keys would give 28.8 with deviation 3.9."""
    items = estimates(1000)
    for seed in range(20):
        indices = np.array(held(fold(GeometricMedian(budget=64), items, seed=seed, half_life=half_life)))
        for start in (0, 100, 275, 550):
            inside = ((indices >= start) & (indices < start + 450)).sum()
            # Full sixteens give one each, or two: what can differ are those at both ends and the last one drawn.
            assert abs(inside - 28.8) < 4
