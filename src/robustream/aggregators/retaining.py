"""What aggregators share that keep their estimates and work the value out when it is asked for.

`Keeping` keeps them within a budget and leaves all else open. `Retaining` is for an aggregator that is a rule for
one part: points and weights in, value and shares out. The parts of a product are settled in order, so that a later
part can be read in the light of the earlier ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from robustream.aggregators.base import Aggregator, Assessment, StepInfo, why_unusable
from robustream.aggregators.held import Held, admit, join, parse_budget, recency_weights
from robustream.batch import Estimate
from robustream.spaces import Array, Point, ProductSpace, Space

__all__ = ["Keeping", "Retaining", "Settled"]


class Settled(NamedTuple):
    """The value of one part, and each estimate's share in it (they sum to 1)."""

    value: Array
    shares: Array


class Keeping(Aggregator):
    """Keeps estimates within a budget ('256 MB', or a number of estimates)."""

    def __init__(self, budget: int | str = "256 MB") -> None:
        self.budget = budget
        self._budget = parse_budget(budget)

    def init(self, space: ProductSpace, *, half_life: float | None = None, seed: int = 0) -> Held:
        """Give the state before the first estimate."""
        return Held(space, half_life, seed)

    def step(self, state: Held, estimate: Estimate) -> tuple[Held, StepInfo]:
        """Take one estimate in."""
        reason = why_unusable(state.space, estimate)
        if reason is not None:
            return state, StepInfo(False, reason)
        after = admit(state, estimate, self._budget)
        return after, StepInfo(after is not state, "" if after is not state else "a second estimate for its index")

    def combine(self, states: Sequence[Held]) -> Held:
        """Join the states of several workers, all at once."""
        return join(states, self._budget)

    def count(self, state: Held) -> int:
        """Give the number of estimates that were taken in."""
        return state.taken

    def held_points(self, state: Held) -> list[Point]:
        """Give the points that are still held, ordered by index."""
        return [estimate.point for estimate in state.estimates if estimate.point is not None]


class Retaining(Keeping):
    """Settles part by part, each for itself."""

    @abstractmethod
    def settle(self, space: Space, points: Sequence[Array], weights: Array) -> Settled:
        """Give the value of one part from the points that have it."""

    def value(self, state: Held) -> tuple[Array | None, ...]:
        """Give the settled value of each part."""
        return self.settle_parts(state, {})

    def settle_parts(self, state: Held, given: Mapping[int, Array]) -> tuple[Array | None, ...]:
        """Settle the parts in order, except those whose value is given."""
        settled: list[Array | None] = []
        for place, part in enumerate(state.space.parts):
            if place in given:
                settled.append(given[place])
                continue
            _, points, weights = _present(state, place, settled)
            value = self.settle(part.space, points, weights).value if points else None
            settled.append(None if value is None else state.space.restore(place, value, settled))
        return tuple(settled)

    def assess(self, state: Held) -> list[Assessment]:
        """Compare each held estimate with the value of the primary part."""
        place = state.space.primary
        settled = list(self.value(state))
        present, points, weights = _present(state, place, settled[:place])
        if not points:
            return []
        space = state.space.parts[place].space
        shares = self.settle(space, points, weights).shares * len(points)
        value = settled[place]
        assert value is not None
        distances = space.distances(value, points)
        typical = float(np.median(distances))
        # With one estimate, or identical ones, every distance is 0 and so is its multiple of the typical one.
        relative = distances / typical if typical > 0 else np.where(distances > 0, np.inf, 0.0)
        return [
            Assessment(estimate.index, float(share), float(distance), False, "")
            for estimate, share, distance in zip(present, shares, relative, strict=True)
        ]


def _present(state: Held, place: int, settled: Sequence[Array | None]) -> tuple[list[Estimate], list[Array], Array]:
    """Give the estimates that have a part, that part of each, and their weights."""
    estimates: list[Estimate] = []
    points: list[Array] = []
    places: list[int] = []
    for position, estimate in enumerate(state.estimates):
        assert estimate.point is not None
        value = state.space.express(place, estimate.point, settled)
        if value is not None:
            estimates.append(estimate)
            points.append(value)
            places.append(position)
    return estimates, points, recency_weights(state)[places]
