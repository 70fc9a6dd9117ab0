"""The plain mean of the estimates: the paper's online averaging and division-averaging baseline.

It keeps no estimates but one running mixture for each part, and is the one aggregator whose states merge exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from robustream.aggregators.base import Aggregator, Assessment, StepInfo, why_unusable
from robustream.batch import Estimate
from robustream.spaces import Array, Point, ProductSpace

__all__ = ["Mean"]


class RunningMean(NamedTuple):
    """The mixture and the weight behind it, for each part."""

    space: ProductSpace
    half_life: float | None
    mixtures: tuple[Array | None, ...]
    weights: tuple[float, ...]
    taken: int = 0
    newest: int = -1


class Mean(Aggregator):
    """Averages whatever comes: exact, fast and broken by a single bad batch."""

    name: ClassVar[str] = "mean"
    averages: ClassVar[bool] = True

    def init(self, space: ProductSpace, *, half_life: float | None = None, seed: int = 0) -> RunningMean:
        """Give the state before the first estimate."""
        parts = len(space.parts)
        return RunningMean(space, half_life, (None,) * parts, (0.0,) * parts)

    def step(self, state: RunningMean, estimate: Estimate) -> tuple[RunningMean, StepInfo]:
        """Blend one estimate into the mean of each part it has."""
        reason = why_unusable(state.space, estimate)
        if reason is not None:
            return state, StepInfo(False, reason)
        assert estimate.point is not None
        single = RunningMean(
            state.space,
            state.half_life,
            mixtures := tuple(state.space.express(k, estimate.point) for k in range(len(state.space.parts))),
            tuple(0.0 if mixture is None else estimate.weight for mixture in mixtures),
            taken=1,
            newest=estimate.index,
        )
        return self.combine([state, single]), StepInfo(True)

    def combine(self, states: Sequence[RunningMean]) -> RunningMean:
        """Join the means of several workers, each with the weight behind it."""
        first = states[0]
        newest = max(state.newest for state in states)
        mixtures: list[Array | None] = []
        weights: list[float] = []
        for place, part in enumerate(first.space.parts):
            present = [(m, _aged(s, place, newest)) for s in states if (m := s.mixtures[place]) is not None]
            total = sum(weight for _, weight in present)
            shares = np.array([weight / total for _, weight in present])
            mixtures.append(part.space.mix([m for m, _ in present], shares) if present else None)
            weights.append(total)
        return RunningMean(
            first.space,
            first.half_life,
            tuple(mixtures),
            tuple(weights),
            sum(state.taken for state in states),
            newest,
        )

    def count(self, state: RunningMean) -> int:
        """Give the number of estimates that were taken in."""
        return state.taken

    def value(self, state: RunningMean) -> tuple[Array | None, ...]:
        """Bring each running mixture back into its space."""
        return tuple(
            None if mixture is None else part.space.project(mixture)
            for part, mixture in zip(state.space.parts, state.mixtures, strict=True)
        )

    def assess(self, state: RunningMean) -> list[Assessment]:
        """Give nothing: the mean forgets its estimates."""
        return []

    def held_points(self, state: RunningMean) -> list[Point]:
        """Give nothing: the mean forgets its estimates."""
        return []

    def variance_factor(self, dimension: float) -> float:
        """Give 1."""
        return 1.0


def _aged(state: RunningMean, place: int, now: int) -> float:
    """Give the weight behind a mixture as it counts now: it halves with each half-life."""
    if state.half_life is None or state.newest < 0:
        return state.weights[place]
    return float(state.weights[place] * 2.0 ** (-(now - state.newest) / state.half_life))
