"""Foreign groups of rows: found by projection, peeled off one after another, each told by one rule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.metric import Metric, core_metric, fit_metric, lengths, radius
from robustream.learners.refined.separation import NO_CUT, Cut, strongest_valley
from robustream.learners.refined.tails import degrees_of_freedom, is_elliptical, is_normal
from robustream.spaces import Array

Mask = NDArray[np.bool_]

EVIDENCE = 3.0  # z score of a valley; elliptical t3 rows reach 2.6 in one sample out of a hundred
WEAK_EVIDENCE = 2.2  # enough where the rest is normal; normal rows reach 1.6 where there are MANY_ROWS
MANY_ROWS = 400
CORE_EVIDENCE = 2.4  # of the radius in the metric of the core; elliptical Cauchy rows reach 2.0
CORE_ROWS = 1000
KEEP_AT_LEAST = 0.55
PLAIN = 8.0  # evidence that needs no comparison
MAX_GROUPS = 12
FAR_APART = 3.0  # distance of two groups over the sum of their spreads
NO_DOUBT = 8.0  # the same, where no row can be on the wrong side
FAR_OUT = 30.0  # units of a column from its middle; nearer rows do not stand alone
GAP = 3.0
ONE_SIDED = 0.1  # squared mean of the directions to rows, from which on they lie to one side
WIDER = 2.0
MEDIAN_LENGTH = 0.6745  # of standard normal values
LEADING = 8  # raw-spread axes searched on their own


class Rule(NamedTuple):
    """Keep a row while low < statistic <= high.

    The statistic is a signed projection when weights has one column, else the radius of the projections; without
    weights the radius of the row itself.
    """

    center: Array
    weights: Array | None  # p x k, acts on x - center
    cut: Cut

    def statistic(self, X: Array) -> Array:
        P = X - self.center.astype(X.dtype)
        if self.weights is not None:
            P = P @ self.weights.astype(X.dtype)
        return P[:, 0] if P.shape[1] == 1 else radius(P)

    def outside(self, X: Array) -> Mask:
        """Mark the rows that are not kept."""
        statistic = self.statistic(X)
        return (statistic <= self.cut.low) | (statistic > self.cut.high)


class Groups(NamedTuple):
    """Rows of a subsample that were kept, the groups that were not, and the rule that parted each."""

    kept: Mask
    groups: list[NDArray[np.intp]]
    rules: list[Rule]
    alone: Mask  # rows that are neither kept nor in a group
    metric: Metric  # of the kept rows


def fourth_moment_axes(Z: Array) -> Array:
    """Eigenvectors of the (capped) fourth moment, by increasing eigenvalue."""
    squared = np.einsum("ij,ij->i", Z, Z)
    weighted = Z * np.sqrt(np.minimum(squared, 4 * np.median(squared)))[:, None]
    return np.linalg.eigh((weighted.T @ weighted).astype(np.float64) / len(Z))[1].astype(Z.dtype)


def fixed_points(Z: Array, W: Array, n_steps: int = 6) -> Array:
    """Climb the skewness (first half of the starts) or the kurtosis of the projections on unit vectors."""
    half = W.shape[1] // 2
    W = W / np.maximum(np.linalg.norm(W, axis=0), 1e-12)
    for _ in range(n_steps):
        P = np.clip(Z @ W, -8, 8)
        moment = P * P
        moment[:, half:] *= P[:, half:]
        step = Z.T @ moment / len(Z)
        step[:, half:] -= 3 * W[:, half:]
        W = step / np.maximum(np.linalg.norm(step, axis=0), 1e-12)
    return W


def wide_projections(k: int) -> list[slice]:
    """All axes, and where there are many, the leading few and the rest: their radii show scattered rows."""
    everything = [slice(None)]
    return [*everything, slice(3), slice(LEADING), slice(LEADING, None)] if k > 2 * LEADING else everything


def narrow_projections(Z: Array, rng: np.random.Generator) -> tuple[list[Array], Array]:
    """Small subspaces that may show flat groups, and directions (columns) that may show shifted ones.

    Axes of Z come by decreasing raw spread: a group that is shifted in raw units is plain in the first few
    and lost among hundreds.
    """
    n, k = Z.shape
    lead = min(k, LEADING)
    fourth = fourth_moment_axes(Z)
    starts = Z[rng.choice(n, min(12, n), replace=False)].T
    singles = [fourth[:, : min(3, k)], fourth[:, -min(3, k) :], fixed_points(Z, starts)]
    if k > 2 * lead:
        inner = fourth_moment_axes(Z[:, :lead])
        points = fixed_points(np.ascontiguousarray(Z[:, :lead]), np.hstack([inner, inner]))
        singles.append(np.vstack([np.hstack([inner, points]), np.zeros((k - lead, 3 * lead), Z.dtype)]))
    else:
        singles.append(np.eye(k, dtype=Z.dtype)[:, :lead])
    return [fourth[:, :3], fourth[:, -3:]] if k > 3 else [], np.hstack(singles)


def strongest_rule(U: Array, metric: Metric, keep: int, rng: np.random.Generator) -> Rule:
    """The most evident separation; the dearer directions are searched only where radii show nothing plain."""
    Z = metric.scores(U)
    runs = wide_projections(Z.shape[1])
    radii = [radius(Z[:, run]) for run in runs] + [radius(U - metric.center)]
    column, cut = strongest_valley(np.column_stack(radii), keep)
    wide = Rule(metric.center, metric.whiten[:, runs[column]] if column < len(runs) else None, cut)
    if np.isfinite(degrees_of_freedom(lengths(Z), Z.shape[1])) and (core := core_metric(U, metric)) is not None:
        cut = strongest_valley(radius(core.scores(U))[:, None], keep)[1]
        if len(U) >= CORE_ROWS:  # by chance one view shows less than the best of many does, so that it counts more
            cut = cut._replace(strength=cut.strength * EVIDENCE / CORE_EVIDENCE)
        wide = max(wide, Rule(core.center, core.whiten, cut), key=lambda rule: rule.cut.strength)
    if wide.cut.strength > PLAIN:
        return wide
    subspaces, directions = narrow_projections(Z, rng)
    statistics = np.column_stack([*(radius(Z @ subspace) for subspace in subspaces), Z @ directions])
    column, cut = strongest_valley(statistics, keep)
    if cut.strength <= wide.cut.strength:
        return wide
    chosen = subspaces[column] if column < len(subspaces) else directions[:, [column - len(subspaces)]]
    return Rule(metric.center, metric.whiten @ chosen, cut)


def beyond_gap(far: Array) -> Mask:
    """Mark the few rows beyond a gap of a factor GAP in what says how far out they are: too few to make a hill."""
    alone = np.zeros(len(far), bool)
    order = np.argsort(far)[::-1][: max(len(far) // 20, 1) + 1]
    gaps = np.flatnonzero(far[order[:-1]] > GAP * np.maximum(far[order[1:]], FAR_OUT / GAP))
    if len(gaps):
        alone[order[: gaps[-1] + 1]] = True
    return alone


def find_groups(U: Array, rng: np.random.Generator) -> Groups:
    """Peel foreign groups off a subsample, in units of its columns, until no valley is left."""
    kept, alone = np.ones(len(U), bool), np.zeros(len(U), bool)
    groups: list[NDArray[np.intp]] = []
    rules: list[Rule] = []
    keep = int(KEEP_AT_LEAST * len(U))
    rest, metric = U, fit_metric(U)
    for _ in range(MAX_GROUPS):
        rule = strongest_rule(rest, metric, keep, rng)
        if rule.cut.strength < (WEAK_EVIDENCE if len(rest) >= MANY_ROWS else EVIDENCE):
            break
        outside = rule.outside(rest)
        inner = rest[~outside]
        inner_metric = fit_metric(inner)
        if rule.cut.strength < EVIDENCE and not is_normal(inner_metric.scores(inner)):
            break
        index = np.flatnonzero(kept)[outside]
        groups.append(index)
        rules.append(rule)
        kept[index] = False
        # Few rows can be so far out that they have axes of the dirty scatter for themselves, and hide there.
        hidden = beyond_gap(np.max(np.abs(inner), axis=1))
        if hidden.any():
            alone[np.flatnonzero(kept)[hidden]] = True
            kept &= ~alone
            inner = inner[~hidden]
            inner_metric = fit_metric(inner)
        rest, metric = inner, inner_metric
    return Groups(kept, groups, rules, alone, metric)


def only_far_apart(U: Array, found: Groups) -> Groups:
    """Take back groups that are not far apart, unless they lie around the rest or it is one elliptical cloud.

    A table of several clouds (classes, sites) has valleys of its own.
    """
    rest = U[found.kept]
    whole = Rule(found.metric.center, found.metric.whiten, NO_CUT)
    pairs = [
        (group, rule)
        for group, rule in zip(found.groups, found.rules, strict=True)
        if any(between(view.statistic(rest), view.statistic(U[group]))[1] >= FAR_APART for view in (rule, whole))
        or lie_around(found.metric.scores(U[group]))
    ]
    if len(pairs) == len(found.groups) or is_elliptical(found.metric.scores(rest)):
        return found
    kept = ~found.alone
    for group, _ in pairs:
        kept[group] = False
    groups, rules = [group for group, _ in pairs], [rule for _, rule in pairs]
    return Groups(kept, groups, rules, found.alone, fit_metric(U[kept]))


def lie_around(Z: Array) -> bool:
    """Whether rows lie on all sides of others, which are white, and spread wider along every axis: no class does."""
    directions = Z / np.sqrt(np.maximum(lengths(Z), 1e-300))[:, None]
    middle = np.sum(np.square(np.mean(directions, axis=0)))
    return bool(middle < ONE_SIDED and np.all(np.median(np.abs(Z), axis=0) > WIDER * MEDIAN_LENGTH))


def between(first: Array, second: Array) -> tuple[float, float]:
    """Threshold between two samples at equal normal likelihood, and how many spreads part them."""
    (m1, s1), (m2, s2) = ((float(np.mean(v)), float(np.std(v)) + 1e-12) for v in (first, second))
    s2 = max(s2, 0.05 * abs(m2 - m1), 1e-12)  # equal rows have no spread
    parted = float(abs(m2 - m1) / (s1 + s2))
    if len(np.unique(second > m1)) == 1:  # else the middle of two sides would be taken
        middle = float(np.median(second))
        spread = float(np.median(np.abs(second - middle))) / MEDIAN_LENGTH
        if 0 < spread < 0.5 * s2:  # a few of its rows are much farther out than the rest
            m2, s2 = middle, max(spread, 0.05 * abs(middle - m1))
    grid = np.linspace(m1, m2, 101)
    log1 = np.log(len(first) / s1) - 0.5 * ((grid - m1) / s1) ** 2
    log2 = np.log(len(second) / s2) - 0.5 * ((grid - m2) / s2) ** 2
    crossed = np.flatnonzero(log2 >= log1)
    threshold = grid[crossed[0]] if len(crossed) and crossed[0] > 0 else grid[-1]
    return float(threshold), parted


def sharpen(rule: Rule, U: Array, kept: Mask, group: NDArray[np.intp], metric: Metric) -> Rule:
    """Replace a rule found among still dirty rows where the clean metric tells the group better.

    Of rules that leave no doubt the cheapest will do: it has all rows of the batch to judge.
    """
    gap = (U[group].mean(axis=0) - metric.center) @ metric.whiten
    linear = metric.whiten @ (gap / max(np.linalg.norm(gap), 1e-12))
    options: list[Rule] = []
    for center, weights in (
        (metric.center, linear[:, None]),
        (metric.center, None),
        (rule.center, rule.weights),
        (metric.center, metric.whiten),
    ):
        statistic = Rule(center, weights, NO_CUT).statistic(U)
        threshold, parted = between(statistic[kept], statistic[group])
        above = np.mean(statistic[group]) > np.mean(statistic[kept])
        options.append(
            Rule(center, weights, Cut(parted, -np.inf, threshold) if above else Cut(parted, threshold, np.inf))
        )
        if parted > NO_DOUBT:
            return options[-1]
    return max(options, key=lambda option: option.cut.strength)
