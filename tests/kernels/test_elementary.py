"""Exponentials and logarithms of compiled loops beside NumPy's."""

import numpy as np
import pytest
from numba import njit

from robustream.kernels.elementary import exponential, logarithm, sum_of_logarithms


@njit
def each(function, values, out):
    for i in range(len(values)):
        out[i] = function(values[i])


def of_each(function, values):
    out = np.empty_like(values)
    each(function, values, out)
    return out


@pytest.fixture
def exponents():
    rng = np.random.default_rng(0)
    return np.concatenate([np.linspace(-690, 690, 4001), rng.normal(size=4000), [0.0, 1e-300, -1e-17]])


def test_exponentials_are_those_of_numpy(exponents):
    np.testing.assert_allclose(of_each(exponential, exponents), np.exp(exponents), rtol=1e-15)
    assert exponential(-1e9) == exponential(-700.0) < 1e-300


def test_logarithms_are_those_of_numpy(exponents):
    values = np.append(np.exp(exponents), [1.0, np.nextafter(1, 0), np.nextafter(1, 2), 2 / 3, 4 / 3])
    np.testing.assert_allclose(of_each(logarithm, values), np.log(values), rtol=1e-15, atol=3e-16)


def test_the_sum_of_logarithms_is_that_of_numpy(exponents):
    values = np.exp(np.abs(exponents))
    assert sum_of_logarithms(values) == pytest.approx(np.log(values).sum(), rel=1e-14)
    assert sum_of_logarithms(values[:0]) == 0.0
