"""How far the aggregate may be from the truth, by Lemma 4 and the spread of the batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robustream.aggregators import GeometricMedian
from robustream.errors import InvalidInputError, NotEnoughRowsError
from robustream.estimators._snapshot import Snapshot

__all__ = ["Certificate", "make_certificate"]

_CONFIDENCE = 0.95


class Certificate(NamedTuple):
    """An error radius with its confidence, and what it rests on."""

    radius: float
    confidence: float
    bad_fraction: float
    batches: int
    quantity: str
    assumption: str

    def __str__(self) -> str:
        if not np.isfinite(self.radius):
            return (
                f"No radius can be certified: {self.batches} batches are too few to allow for {self.bad_fraction:.0%} "
                f"bad ones at {self.confidence:.0%} confidence. More batches, or a smaller bad_fraction, would help."
            )
        return (
            f"With at least {self.confidence:.0%} confidence the error of the {self.quantity} is below "
            f"{self.radius:.4g} (Euclidean distance; Frobenius for subspaces), whatever {self.bad_fraction:.0%} of the "
            f"{self.batches} batches hold. Assumed: {self.assumption}"
        )


def make_certificate(snapshot: Snapshot, bad_fraction: Any) -> Certificate:
    """Apply Lemma 4 to the estimates that are held.

    If each of k estimates lies within R of the truth with chance p* > 1/2, their geometric median lies within
    C_gamma R with chance 1 - exp(-2 k (gamma - 1 + p*)^2), for any gamma in (1 - p*, 1/2). A good estimate is taken to
    lie within R with the chance that it lies within R of the aggregate, in the sample; a bad one never does. gamma is
    chosen to make the radius smallest. The value reported may differ from the median: that distance is added.
    """
    if not isinstance(bad_fraction, (int, float, np.number)) or not 0 <= bad_fraction < 0.5:
        raise InvalidInputError(f"bad_fraction must be a number in [0, 0.5), got {bad_fraction!r}")
    plan, stream = snapshot.plan, snapshot.complete
    space = plan.learner.space(stream.columns, stream.outputs)
    part = space.parts[space.primary]
    held = [space.express(space.primary, point) for point in plan.aggregator.held_points(stream.state)]
    points = [point for point in held if point is not None]
    value = snapshot.value[space.primary]
    if len(points) < 2 or value is None:
        raise NotEnoughRowsError(
            f"a certificate rests on the spread of the batches, and {len(points)} are held; at least 2 are needed "
            "(the aggregator 'mean' holds none)"
        )
    median = GeometricMedian().settle(part.space, points, np.ones(len(points))).value
    distances = np.sort(part.space.distances(median, points))
    radius = min(
        (_radius(gamma, distances, float(bad_fraction)) for gamma in np.linspace(0.01, 0.499, 200)), default=np.inf
    )
    shift = float(part.space.distances(median, [value])[0])
    return Certificate(
        radius + shift,
        _CONFIDENCE,
        float(bad_fraction),
        len(points),
        part.name,
        f"at least {1 - bad_fraction:.0%} of the batches are unbiased. A bias that all batches share cannot be seen.",
    )


def _radius(gamma: float, distances: Any, bad_fraction: float) -> float:
    """Give C_gamma R for one gamma, with R large enough for the confidence wanted; infinite if none is."""
    count = len(distances)
    chance = 1 - gamma + np.sqrt(np.log(1 / (1 - _CONFIDENCE)) / (2 * count))
    share = chance / (1 - bad_fraction)  # of the good estimates that must lie within R
    good = int(np.ceil((1 - bad_fraction) * count))
    rank = int(np.ceil(share * good))
    if rank > good:
        return float(np.inf)
    # The farthest are taken for the bad ones: the good could hide nowhere else without making R smaller.
    return float((1 - gamma) / np.sqrt(1 - 2 * gamma) * distances[rank - 1])
