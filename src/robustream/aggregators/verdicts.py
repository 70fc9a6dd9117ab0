"""The verdicts of the filter on one part of all estimates, and rules for estimates that come later."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators.coordinatewise import weighted_medians
from robustream.kernels.median import geometric_median
from robustream.spaces import Array, Chance, LowRank, Part, Places, Points, Space, Subspace, say_factor
from robustream.spaces.factored import middle_subspace

if TYPE_CHECKING:  # its compiled loops are needed where there are estimates to judge, and nowhere before
    from robustream.majority import Rule

__all__ = ["FEW", "Mask", "PartRule", "Verdict", "Weigh", "Word", "judge", "log_scales"]

Mask: TypeAlias = NDArray[np.bool_]

# Few estimates hardly show a valley: fewer than this many are first parted where their distances leap by a factor. Of
# five normal estimates in one dimension 1 in 50 samples has such a leap, of three 1 in 50.
FEW, _FEWEST, _LEAP, _LEAP_OF_THREE = 30, 8, 10.0, 100.0
_DIGITS = 9  # in which estimates of copies of a batch agree
# A batch that is noisier by a factor has an estimate that lies off by that factor: from the same one on it is no
# estimate of the same thing, and one with as much too little noise has been fitted to something else.
_SCALE_FACTOR = float(np.log(8.0))
# Measured, the largest of honest log scales exceeds it in 2 of 1,000 samples of 8 and hardly ever in larger ones where
# they are normal, in 1 of 50 to 1 of 10 (of 8 to 100) where they have the tails of a t law with 3 degrees of freedom.
_SCALE_SPREADS = 12.0
# Share of the variance along the difference of two groups that the places of their rows must explain to excuse it.
_EXPLAINED = 0.75
_ELSEWHERE = 10.0  # spreads of rows within batches: batches that lie farther apart are no seasons of one thing
_MANY = 0.2  # share of the estimates from which on they may be a season of their own
_ROWS_A_TERM = 5  # batches for each column that is fixed in batches, below which anything is explained
_NORMAL_MAD = 1.482602218505602
_FARTHEST = 1e6  # spreads; squares of these and their sums lose no digits of the others
# Tangents of angles beyond this are right angles, and say no more.
_STEEPEST = 8.0
# Cosine of the angle, 45 degrees, within which half of all subspaces must have a direction that is common to them.
_COMMON = 0.5**0.5
_LARGEST = 1e150  # of coordinates; beyond it squares overflow


class Word(NamedTuple):
    """What is said of one estimate that came after the search."""

    kept: bool
    factor: float = 1.0  # what its weight is multiplied by
    distance: float = 1.0
    reason: str = ""
    reach: float = 0.0  # how far out it lies, over the farthest that the search kept


class PartRule(Protocol):
    """Judges a part of an estimate as the search judged those before it."""

    def __call__(self, point: Array, weigh: Weigh | None, known: Mask | None) -> Word:
        """Say what is to be thought of it; entries that it knows nothing of agree with the others."""


class Verdict(NamedTuple):
    """The verdict on the points of one part, in their order."""

    kept: Mask
    distances: Array  # from the centre of the kept ones, over the typical one of those
    reasons: dict[int, str]
    factors: Array  # what the weight of each is multiplied by: less than 1 in a long tail
    rule: PartRule | None = None  # for points that come later; None where these are too few to have one


# Takes offsets from a common value to units of what each estimate knows.
Weigh: TypeAlias = Callable[[Array], Array]


def judge(
    part: Part,
    points: Points,
    weights: Array,
    kept: Mask,
    weigh: Weigh | None,
    where: Places | None = None,
    chance: Chance | None = None,
) -> Verdict:
    """Judge one part of all estimates; `kept` marks those that no earlier part spoke against.

    `where` says where the rows of each lie: what follows from that alone speaks against none. `chance` is how
    points vary by the chance of rows alone: those that it lets lie apart are not apart.
    """
    if part.role == "noise":
        return _judge_noise(part, points, weights, kept)
    cloud, chart = _comparable(part.space, points, weights * kept, weigh)
    inside, factors = kept.copy(), np.ones(len(kept))
    places = np.flatnonzero(kept)
    rule: Rule | None = None

    def excused(out: Mask, searched: Array) -> bool:
        if chance is not None and _are_chance(cloud[places], out, chart, chance):
            return True
        return where is not None and _follows(Places(*(one[places] for one in where)), searched, out)

    if _count(weights[places]) < FEW and cloud.shape[1]:
        chances = None if chance is None else partial(chart.in_chances, chance=chance)
        near = _nearest(cloud[places], weights[places], chances)
        if not near.all() and not excused(~near, cloud[places]):
            inside[places] = near
            places = np.flatnonzero(inside)
    if len(places) >= _FEWEST and cloud.shape[1]:
        from robustream.majority import majority

        searched = _compressed(cloud[places])
        found = majority(searched, weights[places], cells=False)
        out = np.any([np.zeros(len(places), bool), *(group.members for group in found.groups)], axis=0)
        if not (out.any() and excused(out, searched)):
            factors[places] = found.weights / weights[places]
            inside[places] = ~out & (factors[places] > 0)
            # Coordinates that were made for these points alone say nothing of others.
            rule = found.rule if searched.shape[1] == cloud.shape[1] else None
    center = np.average(cloud[inside], axis=0, weights=weights[inside]) if inside.any() else np.zeros(cloud.shape[1])
    scale = np.median(np.abs(cloud[inside] - center), axis=0) if inside.any() else np.ones(cloud.shape[1])
    scale = np.where(scale > 0, scale, scale.max(initial=0.0) if scale.max(initial=0.0) > 0 else 1.0)
    distances = _lengths(cloud, center, scale)
    typical = float(np.median(distances[inside])) if inside.any() else 0.0
    relative = distances / typical if typical > 0 else np.where(distances > 0, np.inf, 0.0)
    largest = max(float(factors[inside].max(initial=0.0)), 1e-300)
    going_on: PartRule | None = None
    if cloud.shape[1] == 0:
        going_on = _Equal(chart)
    elif rule is not None and len(places) >= FEW and typical > 0:
        going_on = _Searched(chart, rule, center, scale, typical, largest)
    return Verdict(inside, relative, {}, factors / largest, going_on)


def _are_chance(cloud: Array, out: Mask, chart: Chart, chance: Chance) -> bool:
    """Return whether points that stand apart lie no farther from the others than the chance of rows makes them.

    Of few points that have one law some lie close together by chance, and then the others seem to be far off. So the
    spread of a point is taken to be no less than that of its rows. Two groups have a valley from APART spreads on, and
    a point in k dimensions lies sqrt(k) spreads from the middle by chance, a group less.
    """
    from robustream.majority import APART

    if out.all():
        return False
    offsets = chart.in_chances((cloud - np.median(cloud[~out], axis=0))[out], chance)
    if offsets is None:
        return False
    limit = APART + np.sqrt(offsets.shape[1])
    return bool(np.linalg.norm(offsets.mean(axis=0)) < limit and np.median(np.linalg.norm(offsets, axis=1)) < limit)


def _follows(where: Places, cloud: Array, out: Mask) -> bool:
    """Return whether points that stand apart lie on one curve with the others, by where their rows lie.

    Batches of a season, a site or a stage of growth have rows elsewhere and, where the truth is bent, another line.
    Then the difference follows from the place, quadratically along the two directions in which places differ most, and
    the places are one undivided population. (Those of bad batches whose rows lie elsewhere are not.)

    A column that is the same for all rows of a batch, as a holiday is, may move a batch by any amount: what is linear
    in such columns is theirs, and the answer of all batches together will say it.
    """
    from robustream.majority import majority

    # Copies of a batch would explain one another: they are one point.
    scale = np.abs(cloud).max(initial=0.0) or 1.0
    once = np.sort(np.unique(np.round(cloud / scale, _DIGITS), axis=0, return_index=True)[1])
    where, cloud, out = Places(*(part[once] for part in where)), cloud[once], out[once]
    view = cloud @ (cloud[out].mean(axis=0) - cloud[~out].mean(axis=0))

    def explain(terms: Array) -> bool:
        basis = np.linalg.qr(np.column_stack([np.ones(len(view)), terms]))[0]
        # Each point as the others explain it: else a single one that lies far off would explain itself.
        rest = (view - basis @ (basis.T @ view)) / np.maximum(1 - np.square(basis).sum(axis=1), 1e-9)
        return bool(np.mean(np.square(rest)) < (1 - _EXPLAINED) * np.var(view))

    if where.fixed.shape[1] and len(view) >= _ROWS_A_TERM * (1 + where.fixed.shape[1]) and explain(where.fixed):
        return True
    # Of few it cannot be told whether their places are part of the others'.
    if len(view) < FEW or out.mean() < _MANY or not where.varying.shape[1]:
        return False
    along = where.varying - np.median(where.varying, axis=0)
    if np.abs(along).max() > _ELSEWHERE:
        return False
    left, sizes, _ = np.linalg.svd(along - along.mean(axis=0), full_matrices=False)
    places = left[:, sizes > 1e-6 * sizes[0]][:, :2] * np.sqrt(len(view))
    s = places.T
    curve = np.stack([*s, *(s[i] * s[j] for i in range(len(s)) for j in range(i + 1))], axis=1)
    return explain(curve) and not majority(places, cells=False).groups


def _lengths(cloud: Array, center: Array, scale: Array) -> Array:
    return np.asarray(np.sqrt(np.square((cloud - center) / scale).sum(axis=1) / max(cloud.shape[1], 1)))


class _Searched(NamedTuple):
    """The rule of a part in which a majority was searched."""

    chart: Chart
    rule: Rule
    center: Array
    scale: Array
    typical: float
    largest: float

    def __call__(self, point: Array, weigh: Weigh | None, known: Mask | None) -> Word:
        cloud = self.chart.place([point], weigh, known)
        (weight,), (out,), (reach,) = self.rule.judge(cloud)
        distance = float(_lengths(cloud, self.center, self.scale)[0]) / self.typical
        return Word(bool(weight > 0 and not out), float(weight) / self.largest, distance, "", float(reach))


class _Equal(NamedTuple):
    """The rule of a part in which all agree to the last digit: one that differs is something new."""

    chart: Chart

    def __call__(self, point: Array, weigh: Weigh | None, known: Mask | None) -> Word:
        return Word(True, reach=0.0 if self.chart.agrees(point, known) else np.inf)


class _Scales(NamedTuple):
    """The rule of a part that tells how noisy a batch was."""

    part: Part
    middle: Array
    limit: float
    floor: float

    def __call__(self, point: Array, weigh: Weigh | None, known: Mask | None) -> Word:
        logs = log_scales(self.part, [point], self.floor)[0][0] - self.middle
        off = float(np.median(np.abs(logs)))
        if off <= self.limit:
            return Word(True)
        reason = say_factor(self.part.noun, float(np.copysign(off, np.median(logs))))
        return Word(False, distance=float(np.exp(min(off, 300.0))), reason=reason)


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


def _nearest(cloud: Array, weights: Array, chances: Callable[[Array], Array | None] | None = None) -> Mask:
    """Mark those of a few points that no leap in the distance from their middle parts from the majority, by weight.

    A group that stands apart leaves a leap between its distances and those of the others; a drift does not. Where those
    within lie no farther from the middle than chance lets them, `chances` says, they are one, and a smaller leap does.
    """
    from robustream.majority import APART

    count = len(cloud)
    if count < 3:
        return np.ones(count, bool)
    leap = _LEAP_OF_THREE if count == 3 else _LEAP
    if _are_near(cloud, weights, leap if chances is None or count < _FEWEST else APART):
        return np.ones(count, bool)
    offsets = cloud - geometric_median(cloud, weights)
    distances = np.linalg.norm(offsets, axis=1)
    order = np.argsort(distances, kind="stable")
    leaps = np.full(count - 1, float(leap))
    if chances is not None and count >= _FEWEST and (units := chances(offsets[order])) is not None:
        by_chance = np.linalg.norm(units, axis=1) < APART + np.sqrt(units.shape[1])
        leaps[np.logical_and.accumulate(by_chance)[:-1]] = APART
    half = _half(weights[order])
    ordered = np.maximum(distances[order], 1e-9 * np.abs(cloud).max(initial=0.0) + 1e-300)[half:]
    places = np.flatnonzero(ordered[1:] > leaps[half:] * ordered[:-1])
    return distances <= ordered[places[0]] if len(places) else np.ones(count, bool)


def _count(weights: Array) -> float:
    """Return how many points of equal weight tell as much (Kish): of many that halve with age only the last count."""
    return float(weights.sum() ** 2 / max(np.square(weights).sum(), 1e-300)) * (1 + 1e-9)


def _half(weights: Array) -> int:
    """Return the place of the first of ordered weights that makes them more than a half together; of two at least."""
    passed = np.cumsum(weights) > 0.5 * (1 + 1e-9) * weights.sum()
    return max(int(np.argmax(passed)), 1)


def _are_near(cloud: Array, weights: Array, leap: float) -> bool:
    """Tell by the distances between points alone, and so at once, that there can be no leap; False says nothing.

    Where half of the points, by weight, lie within r of the middle, each of them has half of the points within 2 r; and
    no point is farther from the middle, which lies between them, than from the farthest of the others.
    """
    offsets = cloud - cloud[0]
    squares = np.einsum("ij,ij->i", offsets, offsets)
    between = np.maximum(squares[:, None] + squares - 2 * (offsets @ offsets.T), 0.0)
    order = np.argsort(between, axis=1, kind="stable")
    passed = np.cumsum(weights[order], axis=1) > 0.5 * (1 + 1e-9) * weights.sum()
    middle = np.take_along_axis(order, np.argmax(passed, axis=1)[:, None], axis=1)
    half = float(np.take_along_axis(between, middle, axis=1).min())
    return bool(float(between.max()) < 0.9 * (leap / 2) ** 2 * half)


class Chart(Protocol):
    """Coordinates that are symmetric around the majority for honest points."""

    def place(self, points: Points, weigh: Weigh | None, known: Mask | None = None) -> Array:
        """Return points in these coordinates; entries that they do not know are in the middle."""

    def in_chances(self, offsets: Array, chance: Chance) -> Array | None:
        """Return offsets in units of what chance makes of them; None if that cannot be said."""

    def agrees(self, point: Array, known: Mask | None) -> bool:
        """Return whether a point is, to the last digit, the one in the middle."""


def _comparable(space: Space, points: Points, weights: Array, weigh: Weigh | None) -> tuple[Array, Chart]:
    """Return points in coordinates that are symmetric around the majority for honest ones, and the coordinates.

    Those of weight 0 have no say in them.
    """
    if isinstance(space, Subspace):
        return _tangent(points)
    raw = np.clip(np.asarray(space.coordinates(points), dtype=np.float64), -_LARGEST, _LARGEST)
    some = weights > 0
    center = weighted_medians(raw[some], weights[some])
    raw = raw - center
    if weigh is not None:
        raw = np.asarray(weigh(raw), dtype=np.float64)
    unit = weighted_medians(np.abs(raw[some]), weights[some])
    if not np.any(unit > 0):
        # Most agree to the last digit: the unit is that of those that differ.
        unit = np.abs(raw[some]).max(axis=0)
    chart = _Flat(space, center, unit)
    return chart.in_units(raw), chart


class _Flat(NamedTuple):
    """Offsets from the middle, as far as estimates know them, in units of the usual ones."""

    space: Space
    center: Array
    unit: Array

    def in_units(self, offsets: Array) -> Array:
        # A coefficient that is 0 in most batches, as that of a rare flag, says nothing against those that saw the flag.
        use = self.unit > 0
        return np.clip(offsets[:, use] / self.unit[use], -_FARTHEST, _FARTHEST)

    def in_chances(self, offsets: Array, chance: Chance) -> Array | None:
        use = self.unit > 0
        offsets = offsets * self.unit[use]
        if chance.variance.ndim == 1:
            return np.asarray(offsets / np.sqrt(np.maximum(chance.variance[use] / chance.rows, 1e-300)))
        values, vectors = np.linalg.eigh(chance.variance[np.ix_(use, use)] / chance.rows)
        return offsets @ (vectors / np.sqrt(np.maximum(values, 1e-12 * max(float(values[-1]), 1e-300))))

    def place(self, points: Points, weigh: Weigh | None, known: Mask | None = None) -> Array:
        raw = np.clip(np.asarray(self.space.coordinates(points), dtype=np.float64), -_LARGEST, _LARGEST) - self.center
        if known is not None:
            raw[:, ~known.ravel()] = 0.0
        return self.in_units(raw if weigh is None else np.asarray(weigh(raw), dtype=np.float64))

    def agrees(self, point: Array, known: Mask | None) -> bool:
        same = self.space.coordinates([point])[0] == self.center
        return bool(np.all(same if known is None else same | ~known.ravel()))


class _Tangent(NamedTuple):
    """Coordinates of subspaces around a common one; see `_tangent`."""

    reference: Array
    common: Mask
    middle: Array | None

    def place(self, points: Points, weigh: Weigh | None, known: Mask | None = None) -> Array:
        stacked = np.stack([np.asarray(point, dtype=np.float64) for point in points])
        inside = self.reference.T @ stacked
        if not self.common.all():
            apart = self.reference[:, self.common] - stacked @ inside.transpose(0, 2, 1)[:, :, self.common]
            return np.asarray(apart.reshape(len(stacked), -1))
        outside = stacked - self.reference @ inside
        left, cosines, right = np.linalg.svd(inside)
        inverse = (left / np.maximum(cosines, 1 / _STEEPEST)[:, None, :]) @ right
        coordinates = np.asarray((outside @ inverse.transpose(0, 2, 1)).reshape(len(stacked), -1))
        return coordinates if self.middle is None else coordinates - self.middle

    def in_chances(self, offsets: Array, chance: Chance) -> Array | None:
        """Return them in units of sqrt(a b / rows) / |a - b|, with the variances a inside and b outside of directions.

        To first order these are the tangents of the angles by which eigenvectors of as many normal rows turn.
        """
        if not self.common.all():
            return None
        columns, components = self.reference.shape
        outside = np.linalg.qr(self.reference, mode="complete")[0][:, components:]
        a, turned = np.linalg.eigh(self.reference.T @ chance.variance @ self.reference)
        b, across = np.linalg.eigh(outside.T @ chance.variance @ outside)
        a, b = np.maximum(a, 1e-300), np.maximum(b, 1e-12 * max(float(a[-1]), 1e-300))
        turns = (outside @ across).T @ offsets.reshape(-1, columns, components) @ turned
        units = np.sqrt(np.outer(b, a) / chance.rows) / np.maximum(np.abs(a - b[:, None]), 1e-300)
        return np.asarray((turns / units).reshape(len(offsets), -1))

    def agrees(self, point: Array, known: Mask | None) -> bool:
        return True  # without a common direction nothing can be said against any


def _tangent(points: Points) -> tuple[Array, Chart]:
    """Return coordinates of subspaces around a common one: how far each of its directions would have to be moved.

    With U = R A + E they are the entries of E inv(A), as long as the tangents of the angles: symmetric around 0 for
    good subspaces, and large for those that have a direction at a right angle. Distances of projectors would bring
    in squares as coordinates of their own, never negative, so that good subspaces stood apart along them.

    A direction of R that half of all subspaces are more than 45 degrees from is no common one: eigenvalues are equal
    there, and nothing can be said against any. Then it is asked how far the other directions lie outside of each.
    """
    stacked = np.stack([np.asarray(point, dtype=np.float64) for point in points])
    reference = middle_subspace(stacked)
    common = np.median(np.linalg.norm(reference.T @ stacked, axis=2), axis=0) > _COMMON
    chart = _Tangent(reference, common, None)
    cloud = chart.place(stacked, None)
    if not common.all():
        return cloud, chart
    middle = np.median(cloud, axis=0)
    return cloud - middle, chart._replace(middle=middle)


def _judge_noise(part: Part, points: Points, weights: Array, kept: Mask) -> Verdict:
    """Drop what is off by a large factor in most of its entries; nothing where there are too few to tell."""
    logs, floor = log_scales(part, points)
    nothing = Verdict(kept.copy(), np.ones(len(points)), {}, np.ones(len(points)))
    if kept.sum() < 4:
        return nothing
    middle = np.median(logs[kept], axis=0)
    deviations = np.abs(logs - middle)
    spread = _NORMAL_MAD * np.median(deviations[kept], axis=0)
    # A single column may be constant in one batch, so that its scale means nothing there.
    off = np.median(deviations, axis=1)
    limit = max(_SCALE_FACTOR, _SCALE_SPREADS * float(np.median(spread)))
    bad = np.flatnonzero(kept & (off > limit))
    rule = _Scales(part, middle, limit, floor)
    if not len(bad):
        return nothing._replace(rule=rule)
    if weights[kept].sum() - weights[bad].sum() < 0.5 * weights.sum():
        return nothing._replace(rule=rule._replace(limit=np.inf))
    inside = kept.copy()
    inside[bad] = False
    signed = np.median(logs - middle, axis=1)
    reasons = {int(place): say_factor(part.noun, float(np.copysign(off[place], signed[place]))) for place in bad}
    return nothing._replace(kept=inside, reasons=reasons, distances=np.exp(np.minimum(off, 300.0)), rule=rule)


def log_scales(part: Part, points: Points, floor: float | None = None) -> tuple[Array, float]:
    """Return the logarithms of standard deviations that points stand for, and the least that counts as one.

    That is a part of the median one, unless it is given; smaller ones are as good as none.
    """
    if part.is_log:
        return part.space.coordinates(points), 0.0
    if isinstance(part.space, LowRank):
        sizes = np.stack([np.ravel(point) for point in points]).astype(np.float64)
        # The largest entry is taken out first: the squares of 1e200 overflow.
        peaks = np.maximum(np.abs(sizes).max(axis=1, initial=0.0), 1e-300)[:, None]
        deviations = peaks * np.linalg.norm(sizes / peaks, axis=1, keepdims=True)
    else:
        deviations = np.sqrt(np.maximum(part.space.coordinates(points), 0.0))
    least = max(1e-6 * float(np.median(deviations)), 1e-150) if floor is None else floor
    return np.asarray(np.log(np.maximum(deviations, least))), least
