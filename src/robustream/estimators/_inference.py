"""How far the answer may be from the truth, by Lemma 4 and the spread of the batches.

If less than a share gamma < 1/2 of some points lie farther than R from the truth, their geometric median lies within
C R of it, C = (1 - gamma) / sqrt(1 - 2 gamma) (Lemma 1). The bad batches may be anywhere, and each good one lies within
R with some chance p*: so many of them do that Lemma 4 gives a confidence. Its bound on the binomial law is replaced by
that law itself, and what was rejected is left out before the median is taken.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv

from robustream.aggregators import GeometricMedian
from robustream.errors import InvalidInputError, NotEnoughRowsError
from robustream.runs.run import Run
from robustream.spaces import Array

__all__ = ["Certificate", "make_certificate"]

_CONFIDENCE = 0.95


class Certificate(NamedTuple):
    """An error radius with its confidence, and what it rests on; `str` says it in words."""

    radius: float  # infinite where there are too few batches to tell
    confidence: float
    bad_fraction: float  # what was asked for, or the share that was rejected if that is more
    batches: int
    rejected: int
    quantity: str
    largest: float  # no two answers can lie farther apart than this
    assumption: str

    def __str__(self) -> str:
        if not np.isfinite(self.radius):
            return (
                f"{self.batches} batches are too few to certify an error with {self.bad_fraction:.0%} of them bad and "
                f"{self.confidence:.0%} confidence: {_batches_needed(self.bad_fraction)} would be needed."
            )
        if self.radius >= self.largest:
            return (
                f"The batches differ so much that nothing can be certified: the error of the {self.quantity} may be "
                f"{self.radius:.4g}, and no two answers lie farther apart than {self.largest:.4g}."
            )
        return (
            f"With {self.confidence:.0%} confidence the error of the {self.quantity} is at most {self.radius:.4g} (the "
            f"root of the summed squares), whatever {self.bad_fraction:.0%} of the {self.batches} batches hold; "
            f"{self.rejected} were rejected. Assumed: {self.assumption} The bound is about what one good batch may be "
            "off by: the error itself is mostly far smaller."
        )


def make_certificate(run: Run, bad_fraction: Any) -> Certificate:
    """Work out the certificate from the estimates that are held.

    The chance that a good estimate lies within R of the truth is taken to be that of lying within R of the median.
    Bad batches that were not rejected are taken to lie nearest to it, so that they make no distance look short.
    """
    if not isinstance(bad_fraction, (int, float, np.number)) or not 0 <= bad_fraction < 0.5:
        raise InvalidInputError(f"bad_fraction must be a number in [0, 0.5), got {bad_fraction!r}")
    aggregator, state = run.plan.aggregator, run.complete.state
    held, kept = aggregator.held_points(state), run.believed
    name, space, points, value = run.quantities[0]
    if len(points) < 2 or value is None:
        if not held and aggregator.count(state) > 1:
            raise NotEnoughRowsError(
                f"a certificate rests on how the batches differ, and the aggregator {aggregator.name!r} keeps none of "
                "them: use 'filtered' or 'geometric-median'"
            )
        raise NotEnoughRowsError(
            f"a certificate rests on how the batches differ: at least 2 are needed, {len(points)} can be used"
        )
    count, rejected = len(held), len(held) - len(kept)
    bad = max(floor(bad_fraction * count), rejected)
    median = GeometricMedian().settle(space, points, np.ones(len(points))).value
    distances = np.sort(space.distances(median, points))
    shift = float(space.distances(median, [value])[0])
    radius = _radius(distances, bad - rejected) + shift
    return Certificate(
        radius if np.isinf(radius) else min(radius, space.diameter),
        _CONFIDENCE,
        max(float(bad_fraction), rejected / count),
        count,
        rejected,
        name,
        space.diameter,
        f"the other {count - bad} batches are unbiased. A bias that all batches share cannot be seen.",
    )


def _radius(distances: Array, hidden: int) -> float:
    """Return the smallest C R that the confidence allows, if `hidden` of the points are bad; infinite if none is."""
    count = len(distances)
    good = count - hidden
    radius = np.inf
    for outside in range(ceil(count / 2) - hidden):
        # With this chance of lying within R, more than `outside` good ones lie outside in 1 of 20 cases only.
        chance = float(betaincinv(good - outside, outside + 1, _CONFIDENCE)) if outside < good else 1.0
        rank = hidden + ceil(chance * (good + 1))
        gamma = (hidden + outside) / count
        if rank <= count and gamma < 0.5:
            radius = min(radius, (1 - gamma) / np.sqrt(1 - 2 * gamma) * float(distances[rank - 1]))
    return float(radius)


def _batches_needed(bad_fraction: float) -> str:
    """Return the number of batches from which on a radius can be had if none is rejected."""
    for count in range(2, 2000):
        if np.isfinite(_radius(np.ones(count), ceil(bad_fraction * count))):
            return f"about {count}"
    return "more than 2,000"
