"""The default: estimates that the majority contradicts are dropped whole, and the others averaged.

The geometric median cannot be carried away, but a colluding minority biases it by a good part of the spread, however
many estimates there are. Here it is only the start: what lies far out, or together on one side along a direction in
which the estimates vary most, goes, until nothing does. The mean of the rest is then as good as if the bad ones
had never been there, and for clean estimates it is simply the mean.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from robustream.aggregators.base import Assessment
from robustream.aggregators.copies import count_copies_once
from robustream.aggregators.core import Mask, Places
from robustream.aggregators.held import Held, recency_weights
from robustream.aggregators.judging import Judged, judge
from robustream.aggregators.retaining import Keeping
from robustream.spaces import Array, Points

__all__ = ["Filtered"]


class Outcome(NamedTuple):
    """All that is worked out from a state."""

    value: tuple[Array | None, ...]
    kept: Mask
    shares: Array  # of the primary part
    distances: Array
    reasons: dict[int, str]


class Filtered(Keeping):
    """The mean of the estimates that agree; up to 45% of their weight may be bad, in any way and in any order.

    One verdict counts for a whole estimate: who is wrong in one part is not believed in the others. Parts that tell
    how noisy a batch was (scales, variances) speak against it only when off by a factor of 8 or more. Estimates of
    unequal quality are weighed by what their distances say, where that is plain from the estimates.

    Of one or two estimates the mean is taken; of three, one that lies 100 times farther off than the others is dropped;
    where fewer than 20 may be one group or two, the geometric median is taken. Copies of an estimate, equal in every
    number, count once together, unless most of all estimates are equal. Where estimates differ by their nature, in a
    long tail without groups, none is dropped for it and the far ones count less.

    Parameters
    ----------
    budget : int or str, default="256 MB"
        How many estimates to keep, as a number or as a size; beyond it a uniform sample is kept.

    Examples
    --------
    >>> from robustream.batch import Estimate
    >>> from robustream.spaces import Euclidean, Part, Parts
    >>> aggregator = Filtered()
    >>> state = aggregator.init(Parts((Part("slope", Euclidean((1,))),)))
    >>> for index, slope in enumerate([2.0, 2.1, 1.9, 2.2, 1.8, 2.0, 7e5, 7e5]):
    ...     state, _ = aggregator.step(state, Estimate(index, "", 100, (np.array([slope]),)))
    >>> aggregator.value(state)[0].round(3)
    array([2.])
    >>> [assessment.index for assessment in aggregator.assess(state) if assessment.rejected]
    [6, 7]
    """

    name: ClassVar[str] = "filtered"
    averages: ClassVar[bool] = True

    def __init__(self, budget: int | str = "256 MB") -> None:
        super().__init__(budget)
        self._last: tuple[Held, Outcome] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def value(self, state: Held) -> tuple[Array | None, ...]:
        """Give the mean of the kept estimates, for each part."""
        return self._outcome(state).value

    def assess(self, state: Held) -> list[Assessment]:
        """Give the verdict on each held estimate."""
        outcome = self._outcome(state)
        return [
            Assessment(
                estimate.index,
                float(outcome.shares[place]),
                float(outcome.distances[place]),
                not outcome.kept[place],
                outcome.reasons.get(place, ""),
            )
            for place, estimate in enumerate(state.estimates)
        ]

    def variance_factor(self, dimension: float) -> float:
        """Give 1: of clean normal estimates it is the mean."""
        return 1.0

    def _outcome(self, state: Held) -> Outcome:
        """Work the state out once; value and verdicts are usually asked for together."""
        # One assignment of a pair: threads that share the object may repeat work, but never mix states up.
        last = self._last
        if last is None or last[0] is not state:
            # Copies and other degenerate samples divide by spreads of zero; what comes of it is judged, not shown.
            with np.errstate(all="ignore"):
                last = (state, _work_out(state))
            self._last = last
        return last[1]


def _work_out(state: Held) -> Outcome:
    weights = count_copies_once(state.estimates, recency_weights(state))
    count = len(weights)
    kept = np.ones(count, dtype=bool)
    judged: list[_Part | None] = []
    reasons: dict[int, str] = {}
    settled: list[Array | None] = []
    primary: _Part | None = None
    for place, part in enumerate(state.space.parts):
        present, points = _present(state, place, settled)
        if not len(points):
            judged.append(None)
            settled.append(None)
            continue
        whole = [state.estimates[k].point or () for k in present]
        verdict = judge(part, points, weights[present], kept[present], state.space.weigher(place, whole))
        if part.role == "passenger" and primary is not None:
            # Moments and the like belong to the answer: they count for as much as it does. A point in which the
            # geometric median happens to lie has any weight; its moments would be the only ones.
            factors = np.ones(count)
            factors[primary.present] = primary.verdict.factors
            factors = np.minimum(factors, 3 * np.median(factors[kept]) if kept.any() else np.inf)
            verdict = verdict._replace(factors=factors[present])
        reasons |= {int(present[k]): reason for k, reason in verdict.reasons.items() if kept[present[k]]}
        kept[present] &= verdict.kept
        known = _Part(present, verdict, kept[present])
        judged.append(known)
        primary = known if place == state.space.primary else primary
        settled.append(_settle(state, place, settled, weights, known, points))
    settled = _settle_again(state, settled, weights, judged, kept)
    shares, distances = np.where(kept, weights, 0.0), np.ones(count)
    if primary is not None:
        shares[primary.present] *= primary.verdict.factors
        distances[primary.present] = primary.verdict.distances
    total = float(shares.sum())
    return Outcome(tuple(settled), kept, shares * count / total if total > 0 else shares, distances, reasons)


class _Part(NamedTuple):
    """The verdict on one part: of the estimates that have it, which were kept when it was settled."""

    present: Places
    verdict: Judged
    kept: Mask


def _settle_again(
    state: Held, before: list[Array | None], weights: Array, judged: list[_Part | None], kept: Mask
) -> list[Array | None]:
    """Settle again the parts whose estimates later parts spoke against, and what was read in their light."""
    settled: list[Array | None] = []
    changed = False
    for place, part in enumerate(judged):
        changed |= part is not None and not np.array_equal(part.kept, kept[part.present])
        if part is None or not changed:
            settled.append(before[place])
            continue
        points = _present(state, place, settled)[1]
        settled.append(_settle(state, place, settled, weights, part._replace(kept=kept[part.present]), points))
    return settled


def _present(state: Held, place: int, settled: list[Array | None]) -> tuple[Places, Points]:
    """Give the places of the estimates that have a part, and that part of each."""
    part = state.space.parts[place]
    values = [state.space.express(place, estimate.point or (), settled) for estimate in state.estimates]
    present = np.array([k for k, value in enumerate(values) if value is not None], dtype=int)
    points = [value for value in values if value is not None]
    known = [state.space.known(place, state.estimates[k].point or ()) for k in present]
    if any(mask is not None for mask in known):
        return present, _fill_unknown(points, known)
    # What is judged is laid side by side once; passengers are only mixed, and may be too large for a second copy.
    together = points and part.role == "answer" and part.space.has_units
    return present, np.stack(points) if together else points


def _fill_unknown(points: list[Array], known: list[Array | None]) -> Array:
    """Let entries that an estimate knows nothing of agree with the median of those that do.

    A batch without a single rainy day must neither be dropped for what it says about rain nor be counted in it.
    """
    stacked = np.stack(points)
    masks = np.stack([np.ones(stacked.shape[1:], bool) if mask is None else mask for mask in known])
    for entry in np.argwhere(~masks.all(axis=0)):
        column = (slice(None), *entry)
        if masks[column].any():
            stacked[column] = np.where(masks[column], stacked[column], np.median(stacked[column][masks[column]]))
    return stacked


def _settle(
    state: Held, place: int, settled: list[Array | None], weights: Array, part: _Part, points: Points
) -> Array | None:
    """Give the weighted mean of the kept points of a part; if none that has the part is kept, of all that have it."""
    shares: Array = weights[part.present] * part.verdict.factors * part.kept
    if not shares.sum() > 0:
        if state.space.parts[place].role == "passenger":
            return None
        shares = weights[part.present]
    chosen = np.flatnonzero(shares).tolist()
    space = state.space.parts[place].space
    if state.space.parts[place].role == "noise" and space.has_units:
        # Noise levels of honest batches may differ by factors: one batch without any must not decide.
        return state.space.restore(place, np.median(np.stack([points[k] for k in chosen]), axis=0), settled)
    if isinstance(points, np.ndarray):
        mixture = space.mix(points, shares / shares.sum())
    else:
        mixture = space.mix([points[k] for k in chosen], shares[chosen] / shares.sum())
    return state.space.restore(place, space.project(mixture), settled)
