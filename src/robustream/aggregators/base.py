"""An aggregator turns many points of a space into one; its state is plain data.

    state = aggregator.init(space)
    state, info = aggregator.step(state, estimate)      # online: one estimate at a time
    state = aggregator.combine([state, state, ...])     # distributed: all states at once
    aggregator.value(state)                             # the answer so far, at any time

`step` never changes the state it is given, and a failed or unusable estimate leaves it as it is. There is no
pairwise merge: a median of medians of two is a mean. `combine` takes all states at once; an aggregator whose
result depends on the order of arrival has none and says so.

A new aggregator is one file with one class and a line in `robustream.aggregators`; the checks in
`robustream.testing` then find it by themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from robustream.batch import Estimate, all_finite
from robustream.spaces import Array, Point, ProductSpace

__all__ = ["Aggregator", "Assessment", "StepInfo", "why_unusable"]


class StepInfo(NamedTuple):
    """What became of an estimate: whether it entered the state and, if not, why."""

    accepted: bool
    reason: str = ""


class Assessment(NamedTuple):
    """How an estimate stands to the current value."""

    index: int  # type: ignore[assignment]
    weight: float  # its share of the value, relative to an equal share
    distance: float  # to the value, in units of the typical distance
    rejected: bool
    reason: str


class Aggregator(ABC):
    """Turns estimates into one value; the object holds settings only, the state holds the data."""

    name: ClassVar[str]
    order_dependent: ClassVar[bool] = False
    # Whether each part of the value is a mean over the same estimates, so that moments of all their rows add up.
    averages: ClassVar[bool] = False

    def __repr__(self) -> str:
        """Show the settings, as scikit-learn shows an estimator's."""
        settings = ", ".join(f"{key}={value!r}" for key, value in vars(self).items() if not key.startswith("_"))
        return f"{type(self).__name__}({settings})"

    @abstractmethod
    def init(self, space: ProductSpace, *, half_life: float | None = None, seed: int = 0) -> Any:
        """Give the state before the first estimate."""

    @abstractmethod
    def step(self, state: Any, estimate: Estimate) -> tuple[Any, StepInfo]:
        """Take one estimate in."""

    @abstractmethod
    def combine(self, states: Sequence[Any]) -> Any:
        """Join the states of several workers, all at once."""

    @abstractmethod
    def value(self, state: Any) -> tuple[Array | None, ...]:
        """Give the settled value of each part of the space, None for a part that no estimate had."""

    @abstractmethod
    def count(self, state: Any) -> int:
        """Give the number of estimates that were taken in."""

    @abstractmethod
    def assess(self, state: Any) -> list[Assessment]:
        """Compare the estimates that are still held with the current value."""

    @abstractmethod
    def held_points(self, state: Any) -> list[Point]:
        """Give the points that are still held, ordered by index; empty if the state keeps none."""

    @abstractmethod
    def variance_factor(self, dimension: float) -> float:
        """Give the variance of the value over that of the mean, for normal estimates in that many dimensions."""


def why_unusable(space: ProductSpace, estimate: Estimate) -> str | None:
    """Give the reason why an estimate must not enter a state, or None."""
    if estimate.failure is not None or estimate.point is None:
        return estimate.failure or "no estimate"
    if not all_finite(estimate.point):
        return "the estimate has values that are not finite"
    if not (np.isfinite(estimate.weight) and estimate.weight > 0):
        return f"the weight {estimate.weight!r} is not a positive number"
    return space.why_not(estimate.point)
