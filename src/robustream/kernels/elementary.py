"""Exponentials and logarithms that compiled loops take several numbers at a time of, unlike those of the C library.

All are exact to a few units in the last place. They hold for the numbers that likelihoods are made of: neither NaN nor
infinity, and for logarithms nothing below the least normal number. NumPy's `exp` and `log` are their twins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["exponential", "logarithm", "sum_of_logarithms"]

Array = NDArray[np.floating[Any]]

_LOG2E, _LN2 = 1.4426950408889634, 0.6931471805599453
# The logarithm of two in two parts: multiples of the first by whole numbers are exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_WHOLE = 6755399441055744.0  # 1.5 * 2^52: a number added to it is rounded, and its last bits are a whole number
_MANTISSA, _ONE, _BIAS = 0xFFFFFFFFFFFFF, 0x3FF0000000000000, 1023
_AT_ONCE = 1000  # mantissas below 2 of which the product is finite


@njit(cache=True, error_model="numpy", nogil=True)
def exponential(x: float) -> float:
    """Return e to the power of x, of which beyond 700 to either side 700 is taken."""
    x = min(max(x, -700.0), 700.0)
    shifted = x * _LOG2E + _WHOLE
    k = shifted - _WHOLE
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1 / 39916800 + r / 479001600  # the series up to the twelfth power: r is at most 0.35
    p = 1 / 362880 + r * (1 / 3628800 + r * p)
    p = 1 / 5040 + r * (1 / 40320 + r * p)
    p = 1 / 120 + r * (1 / 720 + r * p)
    p = 1 / 6 + r * (1 / 24 + r * p)
    p = 1 + r * (1 + r * (0.5 + r * p))
    bits = (np.float64(shifted).view(np.int64) + _BIAS) << 52
    return p * np.int64(bits).view(np.float64)


@njit(cache=True, error_model="numpy", nogil=True)
def logarithm(x: float) -> float:
    """Return the natural logarithm of a normal number above 0."""
    # x = 2^k m with m from 2/3 to 4/3, and log m = 2 artanh((m - 1) / (m + 1)).
    bits = np.float64(x).view(np.int64)
    k = (bits - 0x3FE5555555555555) >> 52
    m = np.int64(bits - (k << 52)).view(np.float64)
    s = (m - 1) / (m + 1)
    z = s * s
    p = 1 / 19 + z * (1 / 21)
    p = 1 / 15 + z * (1 / 17 + z * p)
    p = 1 / 11 + z * (1 / 13 + z * p)
    p = 1 / 7 + z * (1 / 9 + z * p)
    p = z * (1 / 3 + z * (1 / 5 + z * p))
    return k * _LN2_HIGH + (k * _LN2_LOW + 2 * s * p + 2 * s)


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc"})
def sum_of_logarithms(values: Array) -> float:
    """Return the sum of the natural logarithms of normal numbers above 0: that of the product of their mantissas."""
    total = 0.0
    for first in range(0, len(values), _AT_ONCE):
        product, power = 1.0, np.int64(0)
        for i in range(first, min(first + _AT_ONCE, len(values))):
            bits = np.float64(values[i]).view(np.int64)
            power += (bits >> 52) - _BIAS
            product *= np.int64((bits & _MANTISSA) | _ONE).view(np.float64)
        total += math.log(product) + power * _LN2
    return total
