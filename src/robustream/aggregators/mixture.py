"""Whether a one-dimensional sample is two groups, and where one ends and the other begins.

A large group near by is no tail of the majority: with 45% of the values 3 to 8 spreads away, median, MAD, shortest
half and core all lie between the groups. Two normal laws of one spread tell them apart, if they explain the values
better than a single law does, be it normal, heavy-tailed, skewed or flat.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from robustream.aggregators.core import Mask, effective_count, weighted_median
from robustream.spaces import Array

__all__ = ["APART", "FEW", "Split", "find_split"]

_NORMAL_MAD = 1.482602218505602
# Twice the gain in log likelihood over one law. One in a hundred normal samples has, along the leading of 20
# dimensions, 17 for 5 values, 16 for 8, 11 for 12, 8 for 30 and 6 for 100; but a wrong split costs much (`_demand`).
_GAIN = 14.0
_GAIN_OF_FEW = 20.0  # divided by their number
_OWN = 12.0  # the gain by which two spreads are better than a common one
# Of less than 20 values a gain is reason enough to doubt that one clean sample in twenty has: measured 5 to 8 in one
# dimension, 6 (19 values) to 15 (5 values) along leading directions.
_DOUBT = 8.0
FEW = 20
# Two normal laws nearer than this have one mode between them.
APART = 2.0
_STEPS = 40
_MANY = 50  # values of which skewness and kurtosis tell enough
_BINS = 128
_STARTS = np.array([0.1, 0.25, 0.45, 0.55, 0.75, 0.9])
_DEGREES = np.array([2.0, 4.0, 8.0, 1e6])
# A skewed law is fitted by two groups; it is normal for the logarithm of the distance to a place this many spreads off.
_FAR_PLACES = np.array([3.5, 4.5, 6.0, 10.0, -3.5, -4.5, -6.0, -10.0])

# Among less than 150 values a law as flat as the fourth power would hide two groups 4 or 5 spreads apart.
_FLATNESS = np.array([3.0, 4.0])


class Split(NamedTuple):
    """Which values belong to the smaller group, and centre and spread of the larger one."""

    minority: Mask
    center: float
    spread: float
    certain: bool  # not so where a sample of few values may look like that by chance


def find_split(values: Array, weights: Array, separation: float = APART, choices: int = 1) -> Split | None:
    """Tell the smaller of two groups apart, at least `separation` spreads away; None if there is one group only.

    `choices` is the number of samples from which this one was chosen because it varies most.

    >>> values = np.array([0.1, -0.4, 0.3, 0.0, -0.2, 0.5, -0.5, 9.8, 10.1, 10.0, 10.3])
    >>> np.flatnonzero(find_split(values, np.ones(11)).minority)
    array([ 7,  8,  9, 10])
    """
    middle = weighted_median(values, weights)
    unit = _NORMAL_MAD * weighted_median(np.abs(values - middle), weights)
    if unit == 0 or len(values) < 5:
        return None
    count = effective_count(weights)
    shares = weights / weights.sum()
    clipped = _without_far(values.astype(np.float64) - middle, shares, 2 * unit) / unit
    if count >= _MANY and _looks_normal(clipped, shares, count):
        return None
    inner, inner_shares = _binned(clipped, shares)
    pair, likelihood = _two_groups(inner, inner_shares)
    gain = 2 * count * (likelihood - _one_group(inner, inner_shares, _FLATNESS[: 1 if count < 150 else 2]))
    if gain < (_DOUBT if count < FEW else _demand(count, choices)) or _apart(pair) < separation:
        return None
    own = pair
    for _ in range(_STEPS):
        own = _with_own_spreads(inner, inner_shares, own)
    odds = _log_density(inner, own)
    if 2 * count * (float(np.logaddexp(odds[0], odds[1]) @ inner_shares) - likelihood) > _OWN and _apart(own) > 1:
        pair = own
    minor = int(np.argmin(pair.shares))
    major = 1 - minor
    odds = _log_density(clipped, pair)
    return Split(
        odds[minor] > odds[major],
        float(middle + unit * pair.means[major]),
        float(unit * np.sqrt(pair.variances[major])),
        gain >= _demand(count, choices),
    )


def _demand(count: float, choices: int) -> float:
    """Give the gain that makes two groups certain.

    A split that is none moves the mean by most of a spread, n times its variance: chances must be the smaller, the
    more values there are. A gain has odds of about exp(-gain / 2).
    """
    return float(_GAIN + _GAIN_OF_FEW / count + 2 * np.log(choices * max(1.0, count / 30)))


class _Pair(NamedTuple):
    shares: Array
    means: Array
    variances: Array


def _without_far(values: Array, shares: Array, margin: float) -> Array:
    """Bring in what lies far beyond nine tenths of the values: a few far ones are no group, the cut sees to those."""
    order = np.argsort(values, kind="stable")
    rank = np.cumsum(shares[order]) - 0.5 * shares[order]
    low, high = np.interp([0.1, 0.9], rank, values[order])
    return np.asarray(np.clip(values, low - margin, high + margin))


def _apart(pair: _Pair) -> float:
    return float(abs(pair.means[1] - pair.means[0]) / np.sqrt(pair.variances.max()))


def _looks_normal(values: Array, shares: Array, count: float) -> bool:
    """Tell by skewness and kurtosis whether a closer look can be spared: most clean samples need none."""
    offsets = values - shares @ values
    squares = np.square(offsets)
    variance = float(shares @ squares)
    skewness = float(shares @ (squares * offsets)) / variance**1.5
    kurtosis = float(shares @ np.square(squares)) / variance**2 - 3
    return count * (skewness**2 / 6 + kurtosis**2 / 24) < 3


def _binned(values: Array, shares: Array) -> tuple[Array, Array]:
    """Give the sorted values, or the means of narrow bins where they are many: what follows costs the same then."""
    if len(values) <= 2 * _BINS:
        order = np.argsort(values, kind="stable")
        return values[order].astype(np.float64), shares[order]
    low, high = float(values.min()), float(values.max())
    place = np.minimum(((values - low) * (_BINS / (high - low))).astype(int), _BINS - 1)
    weight: Array = np.bincount(place, shares, _BINS).astype(np.float64)
    total: Array = np.bincount(place, shares * values, _BINS).astype(np.float64)
    used = weight > 0
    return total[used] / weight[used], weight[used]


def _two_groups(values: Array, shares: Array) -> tuple[_Pair, float]:
    """Fit two normal laws of one spread, from several starts; give them with the mean log likelihood."""
    rank = np.cumsum(shares) - 0.5 * shares
    upper = (rank > _STARTS[:, None]).astype(np.float64)
    first = shares @ values
    smallest = 1e-4 * float(shares @ np.square(values - first))
    for _ in range(_STEPS):
        share = np.clip(upper @ shares, 1e-6, 1 - 1e-6)
        total = upper @ (shares * values)
        means = np.stack([(first - total) / (1 - share), total / share])
        squares = np.square(values - means[:, :, None])
        variance = np.maximum((squares[0] + upper * (squares[1] - squares[0])) @ shares, smallest)
        below = np.log(1 - share)[:, None] - 0.5 * squares[0] / variance[:, None]
        density = np.logaddexp(np.log(share)[:, None] - 0.5 * squares[1] / variance[:, None], below)
        upper = 1 - np.exp(below - density)
    likelihood = density @ shares - 0.5 * np.log(variance)
    best = int(np.argmax(likelihood))
    pair = _Pair(np.array([1 - share[best], share[best]]), means[:, best], np.full(2, variance[best]))
    return pair, float(likelihood[best])


def _with_own_spreads(values: Array, shares: Array, pair: _Pair) -> _Pair:
    """One step towards two laws with spreads of their own: identical values are a group however near they lie."""
    odds = _log_density(values, pair)
    belongs = np.exp(odds - np.logaddexp(odds[0], odds[1])) * shares
    total = np.maximum(belongs.sum(axis=1), 1e-9)
    means = belongs @ values / total
    variances = (belongs * np.square(values - means[:, None])).sum(axis=1) / total
    return _Pair(total, means, np.maximum(variances, 0.01 * variances.max()))


def _log_density(values: Array, pair: _Pair) -> Array:
    squares = np.square(values - pair.means[:, None]) / pair.variances[:, None]
    return np.asarray(np.log(pair.shares / np.sqrt(pair.variances))[:, None] - 0.5 * squares)


def _one_group(values: Array, shares: Array, flatness: Array) -> float:
    """Give the mean log likelihood of the best of some t, skewed and flat laws, up to the normal constant."""
    nu = _DEGREES[:, None]
    center, scale = np.zeros((len(nu), 1)), np.ones((len(nu), 1))
    for _ in range(_STEPS):
        weight = (nu + 1) / (nu + np.square(values - center) / scale) * shares
        center = (weight @ values)[:, None] / weight.sum(axis=1, keepdims=True)
        scale = np.maximum((weight * np.square(values - center)).sum(axis=1, keepdims=True), 1e-12)
    squares = np.square(values - center) / scale
    density = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu / 2) - 0.5 * (nu + 1) * np.log1p(squares / nu)
    tails = (density @ shares - 0.5 * np.log(scale[:, 0])).max()
    offsets = values - shares @ values
    away = np.abs(_FAR_PLACES)[:, None] + np.sign(_FAR_PLACES)[:, None] * offsets / np.sqrt(shares @ np.square(offsets))
    logs = np.log(np.maximum(away, 0.2))
    spread = np.square(logs - (logs @ shares)[:, None]) @ shares
    skewed = -0.5 * np.log(spread) - 0.5 - logs @ shares - 0.5 * np.log(shares @ np.square(offsets))
    # Flat laws, exp(-|x|^b): estimates that drift at a steady pace spread evenly.
    width = np.log(flatness * (np.abs(offsets) ** flatness[:, None] @ shares)) / flatness
    flat = np.log(flatness / 2) - width - gammaln(1 / flatness) - 1 / flatness + 0.5 * np.log(2 * np.pi)
    return float(max(tails, skewed.max(), flat.max()))
