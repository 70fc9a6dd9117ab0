"""The paper's online median filter (Eq. 4-5, Alg. 1, Alg. 4), as printed.

The value moves towards each new estimate by w_t = 2 / (c t distance), capped at 1, from a start at 0. The constant
c has the units of one over the estimates and must be chosen for the data: with too small a constant the filter
never settles, with too large a one it stops short of the answer. It survives bad batches that come late, not a
stream that starts bad: `geometric-median` needs no constant and survives every order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from robustream.aggregators.base import Aggregator, Assessment, StepInfo, why_unusable
from robustream.aggregators.geometric_median import GeometricMedian
from robustream.aggregators.held import Held
from robustream.batch import Estimate
from robustream.errors import InvalidInputError
from robustream.spaces import Array, Point, ProductSpace

__all__ = ["OnlineMedian"]


class Filter(NamedTuple):
    """The filter's mixture and its clock; `others` holds the estimates for the accompanying parts."""

    mixture: Array | None
    taken: int
    others: Held


class OnlineMedian(Aggregator):
    """Filters the primary part (coefficients, or projectors); other parts get their exact geometric median.

    The paper's filter is about one parameter. A mean or an intercept that comes along has other units, to which
    the constant does not apply, so these parts are kept within the budget and settled exactly.

    Parameters
    ----------
    convexity : float, default=1.0
        The constant c_a of the step length 1 / (c_a t).
    start : float or array, default=0
        Where the filter starts; 0 as in the paper. A number fills the coefficients, and must be 0 for subspaces.
    budget : int or str, default="256 MB"
        How much to keep for the other parts.
    """

    name: ClassVar[str] = "online-median"
    order_dependent: ClassVar[bool] = True

    def __init__(self, convexity: float = 1.0, start: Any = 0, budget: int | str = "256 MB") -> None:
        if not (np.isfinite(convexity) and convexity > 0):
            raise InvalidInputError(f"convexity must be a positive number, got {convexity!r}")
        self.convexity = convexity
        self.start = start
        self.budget = budget
        self._others = GeometricMedian(budget)

    def init(self, space: ProductSpace, *, half_life: float | None = None, seed: int = 0) -> Filter:
        """Give the state before the first estimate."""
        if half_life is not None:
            raise InvalidInputError(
                "half_life cannot be used with the aggregator 'online-median': its steps shrink as 1/t; "
                "use 'geometric-median'"
            )
        return Filter(None, 0, self._others.init(space, seed=seed))

    def step(self, state: Filter, estimate: Estimate) -> tuple[Filter, StepInfo]:
        """Move towards the new estimate by the printed weight, at most all the way."""
        space = state.others.space
        reason = why_unusable(space, estimate)
        if reason is not None:
            return state, StepInfo(False, reason)
        assert estimate.point is not None
        part = space.parts[space.primary].space
        point = space.express(space.primary, estimate.point)
        taken = state.taken + 1
        mixture = state.mixture
        if point is not None:
            mixture = self._start(part.origin(point)) if mixture is None else mixture
            distance = float(part.distances(mixture, [point])[0])
            # At distance 0 the subgradient is 0 and nothing moves; a short distance would give a weight above 1.
            weight = min(1.0, 2.0 / (self.convexity * taken * distance)) if distance > 0 else 0.0
            mixture = part.blend(mixture, point, weight)
        others, _ = self._others.step(state.others, estimate)
        return Filter(mixture, taken, others), StepInfo(True)

    def _start(self, origin: Array) -> Array:
        try:
            return np.asarray(origin + np.asarray(self.start, dtype=origin.dtype)).reshape(origin.shape)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"start must be a number or an array of shape {origin.shape}, got {self.start!r}"
            ) from error

    def combine(self, states: Sequence[Filter]) -> NoReturn:
        """Refuse: the filter's value depends on the order of arrival."""
        raise InvalidInputError(
            "the aggregator 'online-median' depends on the order of arrival and has no combine: "
            "fold the estimates in the order of their index, or use 'geometric-median'"
        )

    def count(self, state: Filter) -> int:
        """Give the number of estimates that were taken in."""
        return state.taken

    def value(self, state: Filter) -> tuple[Array | None, ...]:
        """Bring the mixture back into its space (one decomposition, at the end) and settle the rest."""
        space = state.others.space
        given = {}
        if state.mixture is not None:
            given[space.primary] = space.parts[space.primary].space.project(state.mixture)
        return self._others.settle_parts(state.others, given)

    def assess(self, state: Filter) -> list[Assessment]:
        """Compare each held estimate with the filter's value; past weights are not kept and stand as 1."""
        space = state.others.space
        value = self.value(state)[space.primary]
        if value is None:
            return []
        points = [space.express(space.primary, point) for point in self.held_points(state)]
        present = [(e, p) for e, p in zip(state.others.estimates, points, strict=True) if p is not None]
        distances = space.parts[space.primary].space.distances(value, [point for _, point in present])
        typical = float(np.median(distances)) or 1.0
        return [
            Assessment(estimate.index, 1.0, float(distance / typical), False, "")
            for (estimate, _), distance in zip(present, distances, strict=True)
        ]

    def held_points(self, state: Filter) -> list[Point]:
        """Give the points that are still held, ordered by index."""
        return self._others.held_points(state.others)

    def variance_factor(self, dimension: float) -> float:
        """Give the geometric median's factor, which the filter tends to at best."""
        return self._others.variance_factor(dimension)
