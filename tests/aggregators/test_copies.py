"""Copies of an estimate count once, unless repetition is their nature."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize("copies", [2, 20, 27])
def test_copies_of_a_good_one_count_once(value_and_rejected, copies):
    points = np.random.default_rng(1).normal(size=(60, 8))
    points[:copies] = points[0]
    value, rejected = value_and_rejected(points)
    assert not rejected[:copies].any()
    assert rejected.sum() <= 2
    distinct = ~rejected & (np.arange(60) >= copies - 1)
    np.testing.assert_allclose(value, points[distinct].mean(axis=0))


def test_the_error_is_that_of_the_distinct_ones(value_and_rejected):
    """With full weight, 40% copies would have 3 times the error: 0.4 of one estimate's, against that of 60."""
    errors = []
    for seed in range(10):
        points = np.random.default_rng(seed).normal(size=(100, 20))
        points[60:] = points[0]
        errors.append(np.square(value_and_rejected(points)[0]).sum())
    # The mean of 200 squares of normal values with variance 1 / 60, at four standard errors.
    assert np.mean(errors) < 20 / 60 * (1 + 4 * np.sqrt(2 / 200))


def test_two_stale_nodes_and_a_colluding_group(value_and_rejected):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(100, 10))
    points[:20], points[20:35] = points[0], points[20]
    points[35:65] += 8
    value, rejected = value_and_rejected(points)
    np.testing.assert_array_equal(rejected, (np.arange(100) >= 35) & (np.arange(100) < 65))
    np.testing.assert_allclose(value, points[[0, 20, *range(65, 100)]].mean(axis=0), atol=1e-12)


def test_what_most_agree_on_to_the_last_digit_wins(value_and_rejected):
    points = np.random.default_rng(3).normal(size=(100, 3))
    points[:52] = [1.0, 2.0, 3.0]
    value, _ = value_and_rejected(points)
    np.testing.assert_allclose(value, [1, 2, 3])


def test_whole_numbers_are_no_copies(value_and_rejected):
    counts = np.random.default_rng(4).poisson(4.0, size=(200, 1)).astype(float)
    value, rejected = value_and_rejected(counts)
    assert rejected.mean() < 0.05
    # Dropping the few largest may move the mean a little: five standard errors of it.
    assert value[0] == pytest.approx(counts.mean(), abs=5 * 2 / np.sqrt(200))
