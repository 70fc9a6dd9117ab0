"""A search of the filter: the verdict on each of so many estimates, the value of those that are kept, in full.

It also gives what judges an estimate that comes later, and what adds it to the value, without another search.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators.held import Held, recency_weights
from robustream.aggregators.verdicts import FEW, Mask, PartRule, judge
from robustream.batch import Estimate
from robustream.spaces import Array, Euclidean, PartMean, Point, Points, ProductSpace, Settled
from robustream.weights import batch_claim, most_weight

__all__ = ["Copies", "Outcome", "Pool", "Reader", "Search", "count_copies_once", "present_points", "search"]

Places: TypeAlias = NDArray[np.intp]

# Estimates whose first numbers in so many parts are equal are compared in full.
_TELLING = 3


class Outcome(NamedTuple):
    """What estimates come to."""

    value: tuple[Array | None, ...]
    kept: Mask
    distances: Array
    blamed: dict[int, int]  # the part that spoke against each estimate that is not kept
    reasons: dict[int, str]  # why, where the numbers at hand say it


class Pool(NamedTuple):
    """The mean of a part so far; a part that is no mean stays as it is until the next search."""

    mixture: Array | None = None  # None where it stays
    weight: Any = 0.0  # behind the mean: a number, or one for each entry
    most_each: float | None = None  # that rows of a passenger weigh on average, by which it counts
    companion: Array | None = None  # the mean of what comes with it


class Search(NamedTuple):
    """What a search came to, and what judges and counts estimates that come after."""

    outcome: Outcome
    pools: tuple[Pool, ...]
    rules: dict[int, tuple[PartRule, Settled]]  # by part, with the values in the light of which it is to be seen
    copies: Copies
    newest: int
    ages: bool  # whether weights halve with age
    goes_on: bool  # whether estimates that come after can be judged and counted


class Reader:
    """Points of estimates as their space wants them to be asked, each made once.

    It may be asked about several courses of things: what stands at a place is used for the very same estimate only.
    """

    def __init__(self, space: ProductSpace) -> None:
        self._space = space
        self._read: list[tuple[Estimate, Point]] = []

    def points(self, estimates: Sequence[Estimate]) -> list[Point]:
        """Return the points of estimates, the first ones of a state."""
        return [self.point(place, estimate) for place, estimate in enumerate(estimates)]

    def point(self, place: int, estimate: Estimate) -> Point:
        """Return the point of an estimate that has so many before it."""
        if place < len(self._read) and self._read[place][0] is estimate:
            return self._read[place][1]
        point = self._space.read(estimate.point or ())
        self._read[place:] = [(estimate, point)]
        return point


def search(state: Held, keep_groups: bool, reader: Reader) -> Search:
    """Judge all estimates of a state together; answers that differ as slices of one table do speak against none."""
    found = _search(state, keep_groups, reader)
    blamed = found.outcome.blamed.values()
    if any(state.space.parts[place].role == "answer" for place in blamed) and _slices(state, found, reader):
        return _search(state, keep_groups, reader, slices=True)
    return found


def _slices(state: Held, found: Search, reader: Reader) -> bool:
    from robustream.majority import are_slices  # its compiled loops are needed where there are estimates to judge

    estimates = tuple(state.estimates)
    laws = [state.space.law(point) for point in reader.points(estimates)]
    known = [law for law in laws if law is not None]
    return len(known) == len(laws) and are_slices(known, _rows_of(state), found.outcome.kept, state.space.targets)


def _rows_of(state: Held) -> Array:
    return np.array([max(estimate.rows, 1) for estimate in state.estimates], dtype=float)


def _search(state: Held, keep_groups: bool, reader: Reader, *, slices: bool = False) -> Search:
    """Judge all estimates by themselves; of slices of one table only the noise is judged."""
    recency, rows, space = recency_weights(state), _rows_of(state), state.space
    estimates = tuple(state.estimates)
    points = reader.points(estimates)
    copies = Copies(estimates, recency)
    weights = recency if keep_groups else copies.once(recency)
    count = len(weights)
    factors: dict[int, Array] = {}
    kept, distances = np.ones(count, bool), np.full(count, float(count > 1))
    reasons: dict[int, str] = {}
    blamed: dict[int, int] = {}
    rules: dict[int, tuple[PartRule, Settled]] = {}
    settled: list[Array | None] = []
    pools: list[Pool] = []
    stale, goes_on = False, count >= FEW
    for place, part in enumerate(space.parts):
        present, values = present_points(space, points, place, settled)
        judged = part.role != "passenger" and not keep_groups and count > 1
        if slices and part.role == "answer":
            judged = goes_on = False
        if judged and len(values) and kept[present].any():
            those = points if len(present) == count else [points[k] for k in present]
            weigh, where = space.weigher(place, those), space.where(place, those)
            chance = space.chance(place, those, rows[present])
            verdict = judge(part, values, recency[present], kept[present], weigh, where, chance)
            factors[place] = verdict.factors
            if verdict.rule is None:
                goes_on = False
            else:
                rules[place] = verdict.rule, tuple(settled)
            dropped = np.flatnonzero(kept[present] & ~verdict.kept)
            blamed |= dict.fromkeys(present[dropped].tolist(), place)
            reasons |= {int(present[k]): reason for k, reason in verdict.reasons.items() if kept[present[k]]}
            stale |= place > 0 and len(dropped) > 0
            if place == space.primary:
                believed = kept[present]
                distances[present[believed]] = verdict.distances[believed]
            # One that is dropped is shown at the distance in the part that it is dropped for.
            distances[present[dropped]] = verdict.distances[dropped]
            kept[present] &= verdict.kept
        value, pool = _settle(state.space, estimates, points, place, settled, (present, values), weights, kept, factors)
        settled.append(value)
        pools.append(pool)
    if stale:  # a later part has spoken against estimates that earlier ones were settled with
        settled, pools = [], []
        for place in range(len(space.parts)):
            found = present_points(space, points, place, settled)
            value, pool = _settle(space, estimates, points, place, settled, found, weights, kept, factors)
            settled.append(value)
            pools.append(pool)
    outcome = Outcome(tuple(settled), kept, distances, blamed, reasons)
    goes_on = goes_on and all(
        value is None or space.restate(place, PartMean(value, pool.companion), settled, settled) is not None
        for place, (value, pool) in enumerate(zip(settled, pools, strict=True))
    )
    ages = state.half_life is not None and state.taken == count
    return Search(outcome, tuple(pools), rules, copies, max(state.newest, -1), ages, goes_on)


class Copies:
    """Which estimates are equal in every number.

    A file that is read under several names, a node that answers from its cache and a sensor that hangs give the same
    estimate again and again. Where most are equal, or hardly any occurs once only, repetition is their nature, and all
    count.
    """

    def __init__(self, estimates: Sequence[Estimate], weights: Array) -> None:
        points = [estimate.point or () for estimate in estimates]
        # Parts that only some batches are asked for, as their own variances, say nothing about copies.
        first = points[0] if points else ()
        self._shared = [place for place in range(len(first)) if all(point[place] is not None for point in points)]
        self._alike: dict[tuple[float, ...], list[tuple[int, Estimate]]] = {}
        for place, estimate in enumerate(estimates):
            self._alike.setdefault(self._first_numbers(estimate), []).append((place, estimate))
        self._groups: list[Places] = []
        for alike in self._alike.values():
            if len(alike) > 1:
                exact = defaultdict(list)
                for place, estimate in alike:
                    exact[self._numbers(estimate)].append(place)
                self._groups += [np.array(group) for group in exact.values() if len(group) > 1]
        shares = [float(weights[group].sum()) / float(weights.sum()) for group in self._groups]
        self.are_natural = not self._shared or max(shares, default=0.0) > 0.5 * (1 + 1e-9) or sum(shares) > 0.75

    def once(self, weights: Array) -> Array:
        """Return weights with which the copies of an estimate count together as much as the heaviest of them."""
        if self.are_natural:
            return weights
        once = weights.copy()
        for group in self._groups:
            once[group] *= weights[group].max() / weights[group].sum()
        return once

    def repeats(self, estimates: Sequence[Estimate], place: int) -> bool:
        """Return whether an estimate that came after the others is a copy of one before it."""
        estimate = estimates[place]
        point = estimate.point or ()
        if self.are_natural or any(point[part] is None for part in self._shared):
            return False
        alike = self._alike.setdefault(self._first_numbers(estimate), [])
        # What others have been compared with may be of another course of things.
        before = [other for at, other in alike if at < place and estimates[at] is other]
        if not any(at == place and other is estimate for at, other in alike):
            alike.append((place, estimate))
        return any(self._numbers(other) == self._numbers(estimate) for other in before)

    def _first_numbers(self, estimate: Estimate) -> tuple[float, ...]:
        point = estimate.point or ()
        return tuple([_first_number(point[part]) for part in self._shared[:_TELLING]])

    def _numbers(self, estimate: Estimate) -> bytes:
        point: Any = estimate.point or ()
        return b"".join(np.ascontiguousarray(point[part]).tobytes() for part in self._shared)


def count_copies_once(estimates: Sequence[Estimate], weights: Array) -> Array:
    """Return weights with which the copies of an estimate count together as much as the heaviest of them.

    >>> points = np.array([[1.0, 2.0], [1.0, 2.0], [0.9, 2.0], [1.1, 2.0], [1.1, 2.1]])
    >>> count_copies_once([Estimate(k, "", 9, (point,)) for k, point in enumerate(points)], np.ones(5))
    array([0.5, 0.5, 1. , 1. , 1. ])
    """
    return Copies(estimates, weights).once(weights)


def _first_number(part: Array | None) -> float:
    return float(part.item(0)) if part is not None and part.size else 0.0


def present_points(space: ProductSpace, points: Sequence[Point], place: int, settled: Settled) -> tuple[Places, Points]:
    """Return the places of the estimates that have a part, and that part of each."""
    part = space.parts[place]
    values = [space.express(place, point, settled) for point in points]
    present = np.array([k for k, value in enumerate(values) if value is not None], dtype=int)
    found = [value for value in values if value is not None]
    if part.role == "answer":  # of noise and passengers nothing is asked entry by entry
        known = [space.known(place, points[k]) for k in present]
        if any(mask is not None for mask in known):
            return present, _fill_unknown(found, known)
    # What is judged is laid side by side once; passengers are only mixed, and may be too large for a second copy.
    together = found and part.role == "answer" and isinstance(part.space, Euclidean)
    return present, np.stack(found) if together else found


def _fill_unknown(points: list[Array], known: list[Mask | None]) -> Array:
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
    space: ProductSpace,
    estimates: Sequence[Estimate],
    whole: Sequence[Point],
    place: int,
    settled: Settled,
    found: tuple[Places, Points],
    weights: Array,
    kept: Mask,
    factors: dict[int, Array],
) -> tuple[Array | None, Pool]:
    """Return the weighted mean of the kept points of a part; if none that has the part is kept, of all that have it.

    Moments count by the rows they come from, or what these weigh, as far as that can be believed; answers and noise
    count alike.
    """
    present, points = found
    if not len(points):
        return None, Pool()
    part, shares = space.parts[place], weights[present] * kept[present]
    if place in factors:
        shares = shares * factors[place]
    most_each = None
    if part.role == "passenger":
        claims = [(estimates[k].rows, estimates[k].total_weight) for k in present]
        most_each = most_weight(claims)
        shares = shares * np.array([batch_claim(*claim, most_each) for claim in claims])
    if not shares.sum() > 0:
        if part.role == "passenger":
            return None, Pool()
        shares = weights[present]
    chosen = np.flatnonzero(shares).tolist()
    points = points if len(chosen) == len(points) else [points[k] for k in chosen]
    if part.role == "noise" and isinstance(part.space, Euclidean):
        # Noise levels of honest batches may differ by factors: one batch without any must not decide.
        return space.restore(place, np.median(np.stack(list(points)), axis=0), settled), Pool()
    total: Any = shares.sum()
    mixture = part.space.mix(points, shares[chosen] / total)
    if part.role == "passenger":
        known = [space.known(place, whole[k]) for k in present[chosen].tolist()]
        if any(mask is not None for mask in known):
            mixture, total = _mean_of_known(points, known, shares[chosen], mixture)
    companion = None
    if space.companion(place, whole[present[chosen[0]]]) is not None:
        beside: Any = np.array([space.companion(place, whole[k]) for k in present[chosen].tolist()])
        companion = np.einsum("i,i...->...", shares[chosen] / shares.sum(), beside)
    pool = Pool(mixture, total, most_each, companion)
    return space.restore(place, part.space.project(mixture), settled), pool


def _mean_of_known(points: Points, known: Sequence[Mask | None], shares: Array, mixture: Array) -> tuple[Array, Array]:
    """Return the weighted mean of each entry over the estimates that know it, and the weight behind it."""
    total, behind = np.zeros(mixture.shape), np.zeros(mixture.shape)
    for point, mask, share in zip(points, known, shares, strict=True):
        some = np.ones(mixture.shape, bool) if mask is None else mask
        total += np.where(some, share * point, 0.0)
        behind += np.where(some, share, 0.0)
    return (total / np.maximum(behind, 1e-300)).astype(mixture.dtype), behind
