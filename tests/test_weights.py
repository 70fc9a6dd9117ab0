"""The rules for weights of rows and batches."""

from __future__ import annotations

import numpy as np
import pytest

from robustream.weights import MOST, as_frequencies, batch_claims, cap_weights, stand_ins


@pytest.mark.parametrize("seed", range(20))
def test_no_row_counts_for_more_than_the_stated_share(seed):
    rng = np.random.default_rng(seed)
    weights = rng.pareto(rng.uniform(0.2, 3.0), rng.integers(1, 500)) + 1e-3
    capped, number = cap_weights(weights)
    most = min(MOST, np.sqrt(len(weights)))
    assert capped.max() <= most * capped.mean() * (1 + 1e-9)
    assert number == np.count_nonzero(capped < weights)
    np.testing.assert_array_equal(capped[capped < weights], capped.max())
    if number:  # no more is taken than must be
        assert capped.max() >= most * capped.mean() * (1 - 1e-9)
    again, none = cap_weights(capped)
    assert none == 0
    assert again is capped


@pytest.mark.parametrize("rows", [25, 100, 1000])
@pytest.mark.parametrize("claim", [10.0, 1e9, 1e300])
def test_a_tenth_of_the_rows_has_at_most_half_of_the_weight(rows, claim):
    weights = np.ones(rows)
    weights[: rows // 10] = claim
    capped, _ = cap_weights(weights)
    assert capped[: rows // 10].sum() <= 0.5 * capped.sum() * (1 + 1e-9)


def test_the_order_and_the_unit_of_weights_do_not_matter():
    rng = np.random.default_rng(0)
    weights = rng.pareto(0.7, 300) + 0.1
    capped, _ = cap_weights(weights)
    order = rng.permutation(300)
    np.testing.assert_array_equal(cap_weights(weights[order])[0], capped[order])
    np.testing.assert_allclose(cap_weights(1e-6 * weights)[0], 1e-6 * capped)


def test_weights_below_one_say_how_rows_compare():
    weights = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(as_frequencies(weights), [0.5, 1.0, 1.5])
    assert as_frequencies(10 * weights) is not None
    np.testing.assert_array_equal(as_frequencies(np.array([1.0, 2.0])), [1.0, 2.0])


def test_claims_of_batches_are_bounded_by_their_rows():
    np.testing.assert_array_equal(batch_claims([(100, None), (50, None), (0, None)]), [100, 50, 1])
    np.testing.assert_array_equal(batch_claims([(100, 200.0), (100, 1e12)]), [200, 1000])
    np.testing.assert_array_equal(batch_claims([(100, 1e-9), (100, 100.0), (100, 100.0)]), [1e-9, 100, 100])


def test_rows_stand_in_for_weighted_ones():
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 2000)
    counts = np.bincount(stand_ins(weights), minlength=2000)
    assert counts.sum() == 2000
    assert np.abs(counts - weights / weights.mean()).max() < 1
