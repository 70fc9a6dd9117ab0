"""Units of coordinates that most estimates agree on, and the coordinates that vary most."""

from __future__ import annotations

import numpy as np
import pytest

from robustream.aggregators.judging import _center_and_spread
from robustream.aggregators.spectral import _largest


def test_a_value_that_most_agree_on_has_the_unit_of_those_that_differ():
    column = np.array([5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 7.0, 1.0, 14.0])
    sample = np.stack([column, np.full(9, 3.0), np.arange(9.0)], axis=1)
    center, spread = _center_and_spread(sample)
    np.testing.assert_allclose(center, [5.0, 3.0, 4.0])
    np.testing.assert_allclose(spread[:2], [4.0, 1.0])
    assert spread[2] == pytest.approx(4 / (2 * 0.6745))


@pytest.mark.parametrize("number", [1, 3, 4, 9])
def test_the_largest_come_in_the_order_of_a_stable_sort(number):
    values = np.array([1.0, 3.0, 0.5, 3.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(_largest(values, number), np.argsort(-values, kind="stable")[:number])
