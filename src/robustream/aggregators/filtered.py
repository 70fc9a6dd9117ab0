"""The default: estimates that the majority contradicts are dropped whole, and the others averaged.

The geometric median cannot be carried away, but a colluding minority biases it by a good part of the spread, however
many estimates there are. Here each part that people ask for (coefficients, level, subspace, mean) is a cloud of points,
and the question is the one that learners ask of rows: which of them belong to the majority (`robustream.majority`)?
What stands apart goes; where nothing does, or no group has more than half, all stay. The mean of the rest is as good as
if the bad ones had never been there, and for clean estimates it is simply the mean.

`search` judges all estimates together. Here is when that is done, and how those that come after are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from robustream.aggregators.base import Assessment
from robustream.aggregators.held import Held, recency_weights
from robustream.aggregators.paged import Paged
from robustream.aggregators.retaining import Keeping
from robustream.aggregators.search import Outcome, Pool, Reader, Search, present_points, search
from robustream.aggregators.verdicts import Mask, Word, log_scales
from robustream.batch import Estimate
from robustream.spaces import Array, Euclidean, PartMean, Point, ProductSpace, say_differences, say_factor
from robustream.weights import batch_claim

__all__ = ["Filtered", "count_searched"]

# Where an estimate is dropped for something else, noise that differs by this factor is said too: it may well be why.
_NOTED_FACTOR = float(np.log(2.0))
# Up to here every estimate is searched; from then on a search is made when their number, or that of a half-life, has
# grown by a part of _PACE to twice that. Then the answer has moved by a quarter of its standard error.
_ALWAYS, _PACE = 64, 8
# An estimate that lies farther out than all that the search kept, by this factor, is something new.
_NEW = 1.25
# So many searches are made for what is new before the next that is due; from then on it is set aside until that one.
_MOST_SEARCHES = 4
# Half-lives between two estimates beyond which all that came before have no weight.
_LONG_AGO = 64.0
# Beyond the budget the value is that of the estimates with keys up to a multiple of this: of 15 of 16 at least, and the
# same ones until as many more have come. A budget of fewer estimates is used as it is.
_NOTCH, _FEWEST_NOTCHED = float(np.log(16 / 15)), 256


class Filtered(Keeping):
    """The mean of the estimates that agree; up to 45% of their weight may be bad, in any way and in any order.

    One verdict counts for a whole estimate: who is wrong in one part is not believed in the others. Parts that tell
    how noisy a batch was (scales, variances) speak against it only when off by a factor of 8 or more.

    Of one or two estimates the mean is taken; of three, one that lies 100 times farther off than the others is
    dropped, of four to seven (to 29) those beyond a leap by a factor of 10 (8) in the distance from their middle.
    Copies of an estimate, equal in every number, count once together, unless most of all estimates are equal. Where
    estimates differ by their nature, in a long tail without groups, none is dropped for it.

    From 64 estimates on the search for the majority is made again at every 8th, from 128 on at every 16th and so on,
    when their number has grown by an 8th to a 16th. Those after the last search, in the order of their batches, are
    judged by what it found; one that lies farther out than all that it kept is a reason to search at once. What is no
    mean, such as the median noise, is that of the last search. So a look after every batch costs the same however many
    there were, and the answer depends on the estimates alone: not on who looked, on the order in which they came, or
    on a run that was resumed.

    Parameters
    ----------
    budget : int or str, default="256 MB"
        How many estimates to keep, as a number or as a size; beyond it a uniform sample is kept.
    keep_groups : bool, default=False
        Whether estimates that stand apart are taken for honest: none is dropped then, and the value is the plain mean.

    Examples
    --------
    >>> from robustream.batch import Estimate
    >>> from robustream.spaces import Euclidean, Part, Parts
    >>> aggregator = Filtered()
    >>> state = aggregator.init(Parts((Part("slope", Euclidean((1,))),)))
    >>> for index, slope in enumerate([2.0, 2.1, 1.9, 2.2, 1.8, 2.05, 1.95, 7e5, 7e5]):
    ...     state, _ = aggregator.step(state, Estimate(index, "", 100, (np.array([slope]),)))
    >>> aggregator.value(state)[0].round(3)
    array([2.])
    >>> [assessment.index for assessment in aggregator.assess(state) if assessment.rejected]
    [7, 8]
    """

    name: ClassVar[str] = "filtered"
    averages: ClassVar[bool] = True

    def __init__(self, budget: int | str = "256 MB", keep_groups: bool = False) -> None:
        super().__init__(budget)
        self.keep_groups = keep_groups
        self._last: _Memory | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def value(self, state: Held) -> tuple[Array | None, ...]:
        """Return the mean of the kept estimates, for each part."""
        return self._work_out(state).value

    def assess(self, state: Held) -> list[Assessment]:
        """Return the verdict on each held estimate."""
        memory = self._work_out(state)
        with np.errstate(all="ignore"):
            outcome = memory.outcome(state)
        kept, weights = outcome.kept, recency_weights(state)
        reasons = outcome.reasons | _say_reasons(state, outcome)
        shares = np.where(kept & memory.used(state), weights, 0.0)
        shares *= len(kept) / max(float(shares.sum()), 1e-300)
        return [
            Assessment(
                estimate.index,
                float(shares[place]),
                float(outcome.distances[place]),
                not kept[place],
                reasons.get(place, ""),
            )
            for place, estimate in enumerate(state.estimates)
        ]

    def variance_factor(self, dimension: float) -> float:
        """Return 1: of clean normal estimates it is the mean."""
        return 1.0

    def _work_out(self, state: Held) -> _Memory:
        """Work the state out once; value and verdicts are usually asked for together."""
        # One assignment: threads that share the object may repeat work, but never mix states up.
        last = self._last
        if last is None or last.state is not state:
            # Copies and other degenerate samples divide by spreads of zero; what comes of it is judged, not shown.
            with np.errstate(all="ignore"):
                last = _work_out(state, self.keep_groups, last)
            self._last = last
        return last


class _Course(NamedTuple):
    """The way from a search over the estimates that came after it."""

    begun: int  # estimates that the search saw which was due
    reached: int  # estimates that are judged
    searched: int  # of these, those that the last search saw
    searches: int  # for what was new
    search: Search
    pools: tuple[Pool, ...]
    tail: tuple[tuple[Word, int | None], ...] = ()  # on those after the search, with the part that spoke against each


class _Memory(NamedTuple):
    """What was worked out for a state, from which that of a longer one goes on."""

    state: Held
    members: Paged[Estimate]  # that the value is of
    reader: Reader
    courses: tuple[_Course, ...]  # to the last estimate, and to the one before: it may be replaced by a fuller one
    value: tuple[Array | None, ...]

    def used(self, state: Held) -> Mask:
        """Return which of the held estimates the value is of, as far as they are kept."""
        if self.members is state.estimates:
            return np.ones(len(state.estimates), bool)
        members = [estimate.index for estimate in self.members]
        return np.isin([estimate.index for estimate in state.estimates], members)

    def outcome(self, state: Held) -> Outcome:
        """Return the verdicts on all held estimates."""
        course = self.courses[-1]
        seen = course.search.outcome
        kept, distances = seen.kept.tolist(), seen.distances.tolist()
        blamed, reasons = dict(seen.blamed), dict(seen.reasons)
        words = list(course.tail)
        if self.members is not state.estimates:
            return self._with_others(state, words)
        for place, (word, part) in enumerate(words, course.searched):
            kept.append(word.kept)
            distances.append(word.distance)
            if part is not None:
                blamed[place] = part
                if word.reason:
                    reasons[place] = word.reason
        return Outcome(self.value, np.array(kept, bool), np.array(distances), blamed, reasons)

    def _with_others(self, state: Held, words: list[tuple[Word, int | None]]) -> Outcome:
        """Return the verdicts where some of the held estimates are not in the value: they are judged by its rules."""
        course = self.courses[-1]
        seen = course.search.outcome
        of_members: list[tuple[Word, int | None]] = [
            (Word(bool(seen.kept[k]), 1.0, float(seen.distances[k]), seen.reasons.get(k, "")), seen.blamed.get(k))
            for k in range(course.searched)
        ]
        known = dict(zip((estimate.index for estimate in self.members), of_members + words, strict=True))
        kept, distances = np.ones(len(state.estimates), bool), np.ones(len(state.estimates))
        blamed: dict[int, int] = {}
        reasons: dict[int, str] = {}
        for place, estimate in enumerate(state.estimates):
            word, part = known.get(estimate.index) or _judge(state.space, course.search, estimate.point or ())[:2]
            kept[place], distances[place] = word.kept, word.distance
            if part is not None:
                blamed[place] = part
                if word.reason:
                    reasons[place] = word.reason
        return Outcome(self.value, kept, distances, blamed, reasons)


def _work_out(state: Held, keep_groups: bool, last: _Memory | None) -> _Memory:
    members = _members(state)
    due = count_searched(len(members), state.half_life)
    ages = state.half_life is not None and state.taken == len(state.estimates)
    course, reader = None, Reader(state.space) if last is None or last.state.space is not state.space else last.reader
    for known in last.courses if last is not None else ():
        if (
            known.begun == due
            and known.search.ages == ages
            and last is not None
            and known.reached <= len(members)
            and members.begins_as(last.members, known.reached)
        ):
            course = known
    if course is None:
        course = _searched(state, members, due, keep_groups, reader, due, 0)
    before = course
    while course.reached < len(members):
        before, course = course, _go_on(state, members, keep_groups, reader, course)
    courses = (course,) if before is course else (before, course)
    return _Memory(state, members, reader, courses, _value(state.space, course))


def count_searched(count: int, half_life: float | None) -> int:
    """Return how many of so many estimates are searched at once, those after them being judged by what is found.

    >>> [count_searched(count, None) for count in (63, 64, 71, 72, 100, 1000, 10000)]
    [63, 64, 64, 72, 96, 960, 9216]
    """
    pace = count if half_life is None else min(count, int(half_life))
    return count if pace < _ALWAYS else count - count % ((1 << (pace.bit_length() - 1)) // _PACE)


def _members(state: Held) -> Paged[Estimate]:
    """Return the estimates that the value is of: all, or beyond the budget those up to a notch of the keys."""
    if state.taken == len(state.estimates) or len(state.estimates) < _FEWEST_NOTCHED:
        return state.estimates
    inside = state.keys <= np.floor(state.keys.max() / _NOTCH) * _NOTCH
    return Paged(estimate for estimate, chosen in zip(state.estimates, inside.tolist(), strict=True) if chosen)


def _searched(
    state: Held, members: Paged[Estimate], count: int, keep_groups: bool, reader: Reader, begun: int, searches: int
) -> _Course:
    """Return the course that a search of the first estimates begins."""
    first = members if count == len(members) else Paged(members[:count])
    taken = count if state.taken == len(state.estimates) else count + 1  # all, or a sample that is drawn by age
    newest = first[-1].index if count else -1
    found = search(state._replace(estimates=first, taken=taken, newest=newest), keep_groups, reader)
    return _Course(begun, count, count, searches, found, found.pools)


def _go_on(state: Held, members: Paged[Estimate], keep_groups: bool, reader: Reader, course: _Course) -> _Course:
    """Return the course with one more estimate."""
    if not course.search.goes_on:
        # It stays so until the next search that is due: then the answer is that of one search, whatever was before.
        found = _searched(state, members, len(members), keep_groups, reader, course.begun, course.searches)
        return found._replace(search=found.search._replace(goes_on=False))
    search, estimate, count = course.search, members[course.reached], course.reached + 1
    again = partial(_searched, state, members, count, keep_groups, reader, course.begun)
    age = estimate.index - search.newest
    if search.ages and age > _LONG_AGO * (state.half_life or 1.0):
        return again(course.searches)
    point = reader.point(course.reached, estimate)
    word, part, factors = _judge(state.space, search, point)
    if word.kept and word.reach > _NEW:
        if course.searches < _MOST_SEARCHES:
            return again(course.searches + 1)
        word = word._replace(kept=False)
    if word.kept:
        part = None
        weight = estimate.weight * (2.0 ** (age / (state.half_life or 1.0)) if search.ages else 1.0)
        if not keep_groups and search.copies.repeats(members, course.reached):
            weight = 0.0
        pools = _with_estimate(state.space, course, point, estimate, weight, factors)
        if pools is None:  # it has a part that none had before
            return again(course.searches)
        course = course._replace(pools=pools)
    return course._replace(reached=count, tail=(*course.tail, (word, part)))


def _judge(space: ProductSpace, search: Search, point: Point) -> tuple[Word, int | None, dict[int, float]]:
    """Return what the rules of a search say of a point, the part in question, and its factors by part."""
    factors: dict[int, float] = {}
    shown, reach, farthest = Word(True), 0.0, None
    for place, (rule, light) in search.rules.items():
        value = space.express(place, point, light)
        if value is None:
            continue
        answer = space.parts[place].role == "answer"
        word = rule(value, space.weigher(place, [point]), space.known(place, point) if answer else None)
        if not word.kept:
            return word, place, factors
        factors[place] = word.factor
        if place == space.primary:
            shown = word
        if word.reach > reach:
            reach, farthest = word.reach, place
    return shown._replace(reach=reach), farthest, factors


def _with_estimate(
    space: ProductSpace, course: _Course, point: Point, estimate: Estimate, weight: float, factors: dict[int, float]
) -> tuple[Pool, ...] | None:
    """Return the means with one more estimate; None if it has a part of which there is none yet."""
    pools, light = list(course.pools), course.search.outcome.value
    for place, (pool, part) in enumerate(zip(course.pools, space.parts, strict=True)):
        if pool.mixture is None and light[place] is not None:
            continue
        value = space.express(place, point, light)
        if value is None:
            continue
        if pool.mixture is None:
            return None
        share = weight * factors.get(place, 1.0)
        if pool.most_each is not None:
            share *= batch_claim(estimate.rows, estimate.total_weight, pool.most_each)
        if not isinstance(part.space, Euclidean):
            total = pool.weight + share
            pools[place] = pool._replace(mixture=part.space.blend(pool.mixture, value, share / total), weight=total)
            continue
        known = None if part.role == "noise" else space.known(place, point)
        # Of answers the unknown entries agree with the others; of passengers they do not count.
        shares = share if known is None else np.where(known, share, 0.0)
        behind = pool.weight + (share if part.role == "answer" else shares)
        moved = shares / np.maximum(behind, 1e-300)
        companion, beside = pool.companion, space.companion(place, point)
        if companion is not None and beside is not None:
            companion = companion + np.max(moved) * (beside - companion)
        mixture = pool.mixture + moved * (value.astype(np.float64) - pool.mixture)
        pools[place] = pool._replace(mixture=mixture, weight=behind, companion=companion)
    return tuple(pools)


def _value(space: ProductSpace, course: _Course) -> tuple[Array | None, ...]:
    """Return the value of each part: that of the search, with those counted that came after."""
    before = course.search.outcome.value
    if course.pools is course.search.pools:
        return before
    after = list(before)
    for place, pool in enumerate(course.pools):
        old = before[place]
        if pool is not course.search.pools[place] and pool.mixture is not None and old is not None:
            point = space.parts[place].space.project(pool.mixture)
            after[place] = space.restore(place, point, before).astype(old.dtype, copy=False)
    for place, (value, pool) in enumerate(zip(after, course.pools, strict=True)):
        if value is not None:
            after[place] = space.restate(place, PartMean(value, pool.companion), before, after)
    return tuple(after)


def _say_reasons(state: Held, outcome: Outcome) -> dict[int, str]:
    """Return in words what each dropped estimate is dropped for; only who asks for verdicts pays for them."""
    whole = [state.space.read(estimate.point or ()) for estimate in state.estimates]
    reasons = _say_noise(state.space, whole, outcome)
    for place in sorted(set(outcome.blamed.values())):
        blamed = {k for k, part in outcome.blamed.items() if part == place and k not in outcome.reasons}
        present, _ = present_points(state.space, whole, place, outcome.value)
        points = [whole[k] for k in present]
        doubted = [k for k, estimate in enumerate(present.tolist()) if estimate in blamed]
        noisy = {k for k in doubted if int(present[k]) in reasons}
        said = say_differences(state.space, place, points, outcome.value, outcome.kept[present], doubted, noisy)
        for k, words in zip(present[doubted].tolist(), said, strict=True):
            reasons[k] = "; ".join(filter(None, [words, reasons.get(k)]))
    return reasons


def _say_noise(space: ProductSpace, whole: Sequence[Point], outcome: Outcome) -> dict[int, str]:
    """Return which dropped estimates come from batches that were much noisier than the others, or quieter."""
    reasons: dict[int, str] = {}
    for place, part in enumerate(space.parts):
        if part.role == "noise" and outcome.blamed:
            present, points = present_points(space, whole, place, outcome.value)
            logs = log_scales(part, points)[0] if len(points) else np.empty((0, 1))
            off = np.median(logs - np.median(logs[outcome.kept[present]], axis=0), axis=1)
            for k, factor in zip(present.tolist(), off.tolist(), strict=True):
                if (
                    k in outcome.blamed
                    and k not in outcome.reasons
                    and k not in reasons
                    and abs(factor) > _NOTED_FACTOR
                ):
                    reasons[k] = say_factor(part.noun, factor)
    return reasons
