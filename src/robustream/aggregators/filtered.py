"""The default: estimates that the majority contradicts are dropped whole, and the others averaged.

The geometric median cannot be carried away, but a colluding minority biases it by a good part of the spread, however
many estimates there are. Here each part that people ask for (coefficients, level, subspace, mean) is a cloud of points,
and the question is the one that learners ask of rows: which of them belong to the majority (`robustream.majority`)?
What stands apart goes; where nothing does, or no group has more than half, all stay. The mean of the rest is as good as
if the bad ones had never been there, and for clean estimates it is simply the mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from robustream.aggregators.base import Assessment
from robustream.aggregators.held import Held, recency_weights
from robustream.aggregators.retaining import Keeping
from robustream.batch import Estimate
from robustream.kernels.median import geometric_median
from robustream.spaces import Array, Euclidean, LowRank, Part, Points, Space, Subspace, say_differences, say_factor
from robustream.spaces.factored import leading_directions
from robustream.weights import batch_claims

__all__ = ["Filtered"]

Mask: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.intp]

# Few estimates hardly show a valley: fewer than this many are first parted where their distances leap by a factor. Of
# ten normal estimates in one dimension 1 in 300 samples has such a leap, of five 1 in 50, of three 1 in 50.
_FEW, _FEWEST, _LEAP, _LEAP_OF_FEW, _LEAP_OF_THREE = 30, 8, 8.0, 10.0, 100.0
# A batch that is noisier by a factor has an estimate that lies off by that factor: from the same one on it is no
# estimate of the same thing, and one with as much too little noise has been fitted to something else.
_SCALE_FACTOR = float(np.log(8.0))
# Where an estimate is dropped for something else, noise that differs by this factor is said too: it may well be why.
_NOTED_FACTOR = float(np.log(2.0))
# Measured, the largest of honest log scales exceeds it in 2 of 1,000 samples of 8 and hardly ever in larger ones where
# they are normal, in 1 of 50 to 1 of 10 (of 8 to 100) where they have the tails of a t law with 3 degrees of freedom.
_SCALE_SPREADS = 12.0
_NORMAL_MAD = 1.482602218505602
# A row count that comes with an estimate is a claim: none counts for more than this many times the median one.
_MOST_ROWS = 4.0
_FARTHEST = 1e6  # spreads; squares of these and their sums lose no digits of the others
# Tangents of angles beyond this are right angles, and say no more.
_STEEPEST = 8.0
# Cosine of the angle, 45 degrees, within which half of all subspaces must have a direction that is common to them.
_COMMON = 0.5**0.5


class Outcome(NamedTuple):
    """All that is worked out from a state."""

    value: tuple[Array | None, ...]
    kept: Mask
    distances: Array
    blamed: dict[int, int]  # the part that spoke against each estimate that is not kept
    reasons: dict[int, str]  # why, where the numbers at hand say it


class Filtered(Keeping):
    """The mean of the estimates that agree; up to 45% of their weight may be bad, in any way and in any order.

    One verdict counts for a whole estimate: who is wrong in one part is not believed in the others. Parts that tell
    how noisy a batch was (scales, variances) speak against it only when off by a factor of 8 or more.

    Of one or two estimates the mean is taken; of three, one that lies 100 times farther off than the others is
    dropped, of four to seven (to 29) those beyond a leap by a factor of 10 (8) in the distance from their middle.
    Copies of an estimate, equal in every number, count once together, unless most of all estimates are equal. Where
    estimates differ by their nature, in a long tail without groups, none is dropped for it.

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
        self._last: tuple[Held, Outcome] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def value(self, state: Held) -> tuple[Array | None, ...]:
        """Return the mean of the kept estimates, for each part."""
        return self._outcome(state).value

    def assess(self, state: Held) -> list[Assessment]:
        """Return the verdict on each held estimate."""
        outcome = self._outcome(state)
        kept, weights = outcome.kept, recency_weights(state)
        reasons = outcome.reasons | _say_reasons(state, outcome)
        shares = np.where(kept, weights, 0.0)
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

    def _outcome(self, state: Held) -> Outcome:
        """Work the state out once; value and verdicts are usually asked for together."""
        # One assignment of a pair: threads that share the object may repeat work, but never mix states up.
        last = self._last
        if last is None or last[0] is not state:
            # Copies and other degenerate samples divide by spreads of zero; what comes of it is judged, not shown.
            with np.errstate(all="ignore"):
                last = (state, _work_out(state, self.keep_groups))
            self._last = last
        return last[1]


def _work_out(state: Held, keep_groups: bool) -> Outcome:
    recency = recency_weights(state)
    weights = recency if keep_groups else count_copies_once(state.estimates, recency)
    count, space = len(weights), state.space
    factors: dict[int, Array] = {}
    kept, distances = np.ones(count, bool), np.full(count, float(count > 1))
    reasons: dict[int, str] = {}
    blamed: dict[int, int] = {}
    settled: list[Array | None] = []
    stale = False
    for place, part in enumerate(space.parts):
        present, points = _present(state, place, settled)
        judged = part.role != "passenger" and not keep_groups and count > 1
        if judged and len(points) and kept[present].any():
            whole = [state.estimates[k].point or () for k in present]
            weigh = space.weigher(place, whole)
            verdict = _judge(part, points, recency[present], kept[present], weigh)
            factors[place] = verdict.factors
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
        settled.append(_settle(state, place, settled, (present, points), weights, kept, factors.get(place)))
    if stale:  # a later part has spoken against estimates that earlier ones were settled with
        settled = []
        for place in range(len(space.parts)):
            found = _present(state, place, settled)
            settled.append(_settle(state, place, settled, found, weights, kept, factors.get(place)))
    return Outcome(tuple(settled), kept, distances, blamed, reasons)


def _say_reasons(state: Held, outcome: Outcome) -> dict[int, str]:
    """Return in words what each dropped estimate is dropped for; only who asks for verdicts pays for them."""
    reasons = _say_noise(state, outcome)
    for place in sorted(set(outcome.blamed.values())):
        blamed = {k for k, part in outcome.blamed.items() if part == place and k not in outcome.reasons}
        present, _ = _present(state, place, list(outcome.value))
        points = [state.estimates[k].point or () for k in present]
        doubted = [k for k, estimate in enumerate(present.tolist()) if estimate in blamed]
        noisy = {k for k in doubted if int(present[k]) in reasons}
        said = say_differences(state.space, place, points, outcome.value, outcome.kept[present], doubted, noisy)
        for k, words in zip(present[doubted].tolist(), said, strict=True):
            reasons[k] = "; ".join(filter(None, [words, reasons.get(k)]))
    return reasons


def _say_noise(state: Held, outcome: Outcome) -> dict[int, str]:
    """Return which dropped estimates come from batches that were much noisier than the others, or quieter."""
    reasons: dict[int, str] = {}
    for place, part in enumerate(state.space.parts):
        if part.role == "noise" and outcome.blamed:
            present, points = _present(state, place, list(outcome.value))
            logs = _log_scales(part, points) if len(points) else np.empty((0, 1))
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


def count_copies_once(estimates: Sequence[Estimate], weights: Array) -> Array:
    """Return weights with which the copies of an estimate count together as much as the heaviest of them.

    A file that is read under several names, a node that answers from its cache and a sensor that hangs give the same
    estimate again and again. Where most are equal, or hardly any occurs once only, repetition is their nature, and all
    count.

    >>> points = np.array([[1.0, 2.0], [1.0, 2.0], [0.9, 2.0], [1.1, 2.0], [1.1, 2.1]])
    >>> count_copies_once([Estimate(k, "", 9, (point,)) for k, point in enumerate(points)], np.ones(5))
    array([0.5, 0.5, 1. , 1. , 1. ])
    """
    points = [estimate.point or () for estimate in estimates]
    # Parts that only some batches are asked for, as their own variances, say nothing about copies.
    shared = [place for place in range(len(points[0]) if points else 0) if all(p[place] is not None for p in points)]
    first = defaultdict(list)
    for place, point in enumerate(points):
        first[tuple(_first_number(point[part]) for part in shared)].append(place)
    groups: list[Places] = []
    for alike in first.values():
        if len(alike) > 1:
            exact = defaultdict(list)
            for place in alike:
                exact[b"".join(np.ascontiguousarray(points[place][part]).tobytes() for part in shared)].append(place)
            groups += [np.array(group) for group in exact.values() if len(group) > 1]
    shares = [float(weights[group].sum()) / float(weights.sum()) for group in groups]
    if not shared or max(shares, default=0.0) > 0.5 * (1 + 1e-9) or sum(shares) > 0.75:
        return weights
    once = weights.copy()
    for group in groups:
        once[group] *= weights[group].max() / weights[group].sum()
    return once


def _first_number(part: Array | None) -> float:
    return float(part.item(0)) if part is not None and part.size else 0.0


# --- verdicts -----------------------------------------------------------------------------------------------------


class _Verdict(NamedTuple):
    """The verdict on the points of one part, in their order."""

    kept: Mask
    distances: Array  # from the centre of the kept ones, over the typical one of those
    reasons: dict[int, str]
    factors: Array  # what the weight of each is multiplied by: less than 1 in a long tail


# Takes offsets from a common value to units of what each estimate knows.
Weigh: TypeAlias = Callable[[Array], Array]


def _judge(part: Part, points: Points, weights: Array, kept: Mask, weigh: Weigh | None) -> _Verdict:
    """Judge one part of all estimates; `kept` marks those that no earlier part spoke against."""
    if part.role == "noise":
        return _judge_noise(part, points, weights, kept)
    cloud = _comparable(part.space, points, kept, weigh)
    inside, factors = kept.copy(), np.ones(len(kept))
    places = np.flatnonzero(kept)
    if len(places) < _FEW and cloud.shape[1]:
        inside[places] = _nearest(cloud[places])
        places = np.flatnonzero(inside)
    if len(places) >= _FEWEST and cloud.shape[1]:
        # Imported here: its compiled loops are needed where there are estimates to judge, and nowhere before.
        from robustream.majority import majority

        found = majority(_compressed(cloud[places]), weights[places], cells=False)
        factors[places] = found.weights / weights[places]
        for group in found.groups:
            inside[places[group.members]] = False
        inside[places] &= factors[places] > 0
    center = np.average(cloud[inside], axis=0, weights=weights[inside]) if inside.any() else np.zeros(cloud.shape[1])
    scale = np.median(np.abs(cloud[inside] - center), axis=0) if inside.any() else np.ones(cloud.shape[1])
    scale = np.where(scale > 0, scale, scale.max(initial=0.0) if scale.max(initial=0.0) > 0 else 1.0)
    distances = np.sqrt(np.square((cloud - center) / scale).sum(axis=1) / max(cloud.shape[1], 1))
    typical = float(np.median(distances[inside])) if inside.any() else 0.0
    relative = distances / typical if typical > 0 else np.where(distances > 0, np.inf, 0.0)
    return _Verdict(inside, relative, {}, factors / max(float(factors[inside].max(initial=0.0)), 1e-300))


def _compressed(cloud: Array) -> Array:
    """Return wide points in as many coordinates as there are points, at the same distances.

    Every direction in which points differ is a combination of them: no matrix of coordinates by coordinates is needed.
    """
    count, coordinates = cloud.shape
    if coordinates <= count:
        return cloud
    values, vectors = np.linalg.eigh(cloud @ cloud.T)
    use = values > 1e-12 * max(float(values[-1]), 1e-300)
    return np.asarray(vectors[:, use] * np.sqrt(values[use]))


def _nearest(cloud: Array) -> Mask:
    """Mark those of a few points that no leap in the distance from their middle parts from the majority.

    A group that stands apart leaves a leap between its distances and those of the others; a drift does not.
    """
    count = len(cloud)
    if count < 3:
        return np.ones(count, bool)
    distances = np.linalg.norm(cloud - geometric_median(cloud), axis=1)
    ordered = np.maximum(np.sort(distances)[count // 2 :], 1e-9 * np.abs(cloud).max(initial=0.0) + 1e-300)
    leap = _LEAP_OF_THREE if count == 3 else _LEAP_OF_FEW if count < _FEWEST else _LEAP
    places = np.flatnonzero(ordered[1:] > leap * ordered[:-1])
    return distances <= ordered[places[0]] if len(places) else np.ones(count, bool)


def _comparable(space: Space, points: Points, kept: Mask, weigh: Weigh | None) -> Array:
    """Return points in coordinates that are symmetric around the majority for honest ones."""
    if isinstance(space, Subspace):
        return _tangent(points)
    raw = np.clip(np.asarray(space.coordinates(points), dtype=np.float64), -1e150, 1e150)
    raw = raw - np.median(raw[kept], axis=0)
    if weigh is not None:
        raw = np.asarray(weigh(raw), dtype=np.float64)
    unit = np.median(np.abs(raw[kept]), axis=0)
    if not np.any(unit > 0):
        # Most agree to the last digit: the unit is that of those that differ.
        unit = np.abs(raw[kept]).max(axis=0)
    # A coefficient that is 0 in most batches, as that of a rare flag, says nothing against those that saw the flag.
    return np.clip(raw[:, unit > 0] / unit[unit > 0], -_FARTHEST, _FARTHEST)


def _tangent(points: Points) -> Array:
    """Return coordinates of subspaces around a common one: how far each of its directions would have to be moved.

    With U = R A + E they are the entries of E inv(A), as long as the tangents of the angles: symmetric around 0 for
    good subspaces, and large for those that have a direction at a right angle. Distances of projectors would bring
    in squares as coordinates of their own, never negative, so that good subspaces stood apart along them.

    A direction of R that half of all subspaces are more than 45 degrees from is no common one: eigenvalues are equal
    there, and nothing can be said against any. Then it is asked how far the other directions lie outside of each.
    """
    stacked = np.stack([np.asarray(point, dtype=np.float64) for point in points])
    reference = _middle(stacked)
    inside = reference.T @ stacked
    common = np.median(np.linalg.norm(inside, axis=2), axis=0) > _COMMON
    if not common.all():
        apart = reference[:, common] - stacked @ inside.transpose(0, 2, 1)[:, :, common]
        return np.asarray(apart.reshape(len(stacked), -1))
    outside = stacked - reference @ inside
    left, cosines, right = np.linalg.svd(inside)
    inverse = (left / np.maximum(cosines, 1 / _STEEPEST)[:, None, :]) @ right
    coordinates = (outside @ inverse.transpose(0, 2, 1)).reshape(len(stacked), -1)
    return np.asarray(coordinates - np.median(coordinates, axis=0))


def _middle(stacked: Array) -> Array:
    """Return the subspace nearest to all: the leading directions of the mean projector."""
    count, columns, rank = stacked.shape
    joined = stacked.transpose(1, 0, 2).reshape(columns, count * rank)
    if columns > count * rank:
        return leading_directions(joined, rank)
    return np.asarray(linalg.eigh(joined @ joined.T, subset_by_index=(columns - rank, columns - 1))[1])


def _judge_noise(part: Part, points: Points, weights: Array, kept: Mask) -> _Verdict:
    """Drop what is off by a large factor in most of its entries; nothing where there are too few to tell."""
    logs = _log_scales(part, points)
    nothing = _Verdict(kept.copy(), np.ones(len(points)), {}, np.ones(len(points)))
    if kept.sum() < 4:
        return nothing
    deviations = np.abs(logs - np.median(logs[kept], axis=0))
    spread = _NORMAL_MAD * np.median(deviations[kept], axis=0)
    # A single column may be constant in one batch, so that its scale means nothing there.
    off = np.median(deviations, axis=1)
    limit = max(_SCALE_FACTOR, _SCALE_SPREADS * float(np.median(spread)))
    bad = np.flatnonzero(kept & (off > limit))
    if not len(bad) or weights[kept].sum() - weights[bad].sum() < 0.5 * weights.sum():
        return nothing
    inside = kept.copy()
    inside[bad] = False
    signed = np.median(logs - np.median(logs[kept], axis=0), axis=1)
    reasons = {int(place): say_factor(part.noun, float(np.copysign(off[place], signed[place]))) for place in bad}
    return nothing._replace(kept=inside, reasons=reasons, distances=np.exp(np.minimum(off, 300.0)))


def _log_scales(part: Part, points: Points) -> Array:
    """Return the logarithms of standard deviations that the points stand for."""
    if part.is_log:
        return part.space.coordinates(points)
    if isinstance(part.space, LowRank):
        sizes = [np.asarray(point, dtype=np.float64).ravel() for point in points]
        # The largest entry is taken out first: the squares of 1e200 overflow.
        peaks = np.array([max(float(np.abs(size).max(initial=0.0)), 1e-300) for size in sizes])
        values = np.array([[p * np.linalg.norm(size / p)] for p, size in zip(peaks, sizes, strict=True)])
    else:
        values = np.sqrt(np.maximum(part.space.coordinates(points), 0.0))
    middle = np.median(values)
    return np.asarray(np.log(np.maximum(values, max(1e-6 * middle, 1e-150))))


# --- values -------------------------------------------------------------------------------------------------------


def _present(state: Held, place: int, settled: list[Array | None]) -> tuple[Places, Points]:
    """Return the places of the estimates that have a part, and that part of each."""
    part = state.space.parts[place]
    values = [state.space.express(place, estimate.point or (), settled) for estimate in state.estimates]
    present = np.array([k for k, value in enumerate(values) if value is not None], dtype=int)
    points = [value for value in values if value is not None]
    if part.role == "answer":  # of noise and passengers nothing is asked entry by entry
        known = [state.space.known(place, state.estimates[k].point or ()) for k in present]
        if any(mask is not None for mask in known):
            return present, _fill_unknown(points, known)
    # What is judged is laid side by side once; passengers are only mixed, and may be too large for a second copy.
    together = points and part.role == "answer" and isinstance(part.space, Euclidean)
    return present, np.stack(points) if together else points


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
    state: Held,
    place: int,
    settled: list[Array | None],
    found: tuple[Places, Points],
    weights: Array,
    kept: Mask,
    factors: Array | None,
) -> Array | None:
    """Return the weighted mean of the kept points of a part; if none that has the part is kept, of all that have it.

    Moments count by the rows they come from, or what these weigh, as far as that can be believed; answers and noise
    count alike.
    """
    present, points = found
    if not len(points):
        return None
    part, shares = state.space.parts[place], weights[present] * kept[present]
    if factors is not None:
        shares = shares * factors
    if part.role == "passenger":
        rows = batch_claims((state.estimates[k].rows, state.estimates[k].total_weight) for k in present)
        shares = shares * np.minimum(rows, _MOST_ROWS * np.median(rows))
    if not shares.sum() > 0:
        if part.role == "passenger":
            return None
        shares = weights[present]
    chosen = np.flatnonzero(shares).tolist()
    if part.role == "noise" and isinstance(part.space, Euclidean):
        # Noise levels of honest batches may differ by factors: one batch without any must not decide.
        return state.space.restore(place, np.median(np.stack([points[k] for k in chosen]), axis=0), settled)
    mixture = part.space.mix([points[k] for k in chosen], shares[chosen] / shares.sum())
    if part.role == "passenger":
        mixture = _mean_of_known(state, place, present[chosen], [points[k] for k in chosen], shares[chosen], mixture)
    return state.space.restore(place, part.space.project(mixture), settled)


def _mean_of_known(
    state: Held, place: int, present: Places, points: list[Array], shares: Array, mixture: Array
) -> Array:
    """Return the weighted mean of each entry over the estimates that know it; the mean of all if all know all."""
    known = [state.space.known(place, state.estimates[k].point or ()) for k in present]
    if all(mask is None for mask in known):
        return mixture
    total, behind = np.zeros(mixture.shape), np.zeros(mixture.shape)
    for point, mask, share in zip(points, known, shares, strict=True):
        some = np.ones(mixture.shape, bool) if mask is None else mask
        total += np.where(some, share * point, 0.0)
        behind += np.where(some, share, 0.0)
    return (total / np.maximum(behind, 1e-300)).astype(mixture.dtype)
