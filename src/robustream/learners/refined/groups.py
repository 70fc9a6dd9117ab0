"""Foreign groups of rows: found by projection, peeled off one after another, each told by one rule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.separation import NO_CUT, Cut, shortest_half_of_sorted, valley
from robustream.learners.refined.tails import is_elliptical
from robustream.spaces import Array

Mask = NDArray[np.bool_]

EVIDENCE = 3.0  # z score of a valley; the largest of 1,000 clean samples (normal, t3) is below 2
KEEP_AT_LEAST = 0.55
PLAIN = 8.0  # evidence that needs no comparison
MAX_GROUPS = 12
FEW_LEVELS = 30
FAR_APART = 3.0  # distance of two groups over the sum of their spreads
LEADING = 8  # raw-spread axes searched on their own


class Metric(NamedTuple):
    """Whitening of the kept rows: z = ((x - center) / unit) @ whiten."""

    center: Array
    unit: Array
    whiten: Array

    def scores(self, X: Array) -> Array:
        weights = (self.whiten / self.unit[:, None]).astype(X.dtype)
        return (X - self.center.astype(X.dtype)) @ weights


class Rule(NamedTuple):
    """Keep a row while low < statistic <= high.

    The statistic is a signed projection when weights has one column, else the radius of the projections.
    """

    center: Array
    weights: Array  # p x k, acts on x - center
    cut: Cut

    def statistic(self, X: Array) -> Array:
        dtype = X.dtype
        P = (X - self.center.astype(dtype)) @ self.weights.astype(dtype)
        return P[:, 0] if P.shape[1] == 1 else radius(P)


class Groups(NamedTuple):
    """Rows of a subsample that were kept, the groups that were not, and the rule that parted each."""

    kept: Mask
    groups: list[NDArray[np.intp]]
    rules: list[Rule]
    metric: Metric  # of the kept rows


def radius(scores: Array) -> Array:
    """Cube root of the mean square: nearly normal for normal rows (Wilson and Hilferty)."""
    return np.cbrt(np.einsum("ij,ij->i", scores, scores) / max(scores.shape[1], 1))


def column_units(X: Array) -> tuple[Array, Mask]:
    """Unit of each column, and which columns are continuous enough to judge rows by.

    Copies of one row are counted once: a cluster of equal rows must not make its columns look discrete.
    """
    X, rows = np.ascontiguousarray(X), len(X)
    keys = X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1])))[:, 0]
    X = X[np.unique(keys, return_index=True)[1]]
    n = len(X)
    ordered = np.sort(X.T, axis=1).T  # contiguous columns sort faster
    # A quarter of the rows on one value: a flag, a group or a count of mostly zeros.
    lag = max(n // 4, 1)
    common = np.any(ordered[lag:] == ordered[:-lag], axis=0) if n > lag else np.ones(X.shape[1], bool)
    # Between the levels of a rating or a small count there are valleys that mean nothing.
    distinct = 1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0)
    common |= distinct < min(FEW_LEVELS, 0.5 * rows)
    _, unit = shortest_half_of_sorted(ordered)
    stuck = np.flatnonzero(~(unit > 0))
    away = np.abs(ordered[:, stuck] - ordered[n // 2, stuck])
    mean_away = np.sum(away, axis=0) / np.maximum(np.sum(away > 0, axis=0), 1)
    unit[stuck] = np.where(mean_away > 0, mean_away, 1.0)
    return unit, ~common


def fit_metric(X: Array, unit: Array, weights: Array | None = None) -> Metric:
    """Whiten rows in the directions that their number can support."""
    w = np.ones(len(X), X.dtype) if weights is None else weights.astype(X.dtype)
    mean = (w @ X) / w.sum()
    U = (X - mean) / unit.astype(X.dtype)
    V = U if weights is None else U * w[:, None]
    values, vectors = np.linalg.eigh((V.T @ U).astype(np.float64) / len(X))
    rank = int(np.sum(values > 1e-9 * values[-1]))
    rank = max(min(rank, len(U) // 4), 1)
    order = np.argsort(values)[::-1][:rank]
    return Metric(mean, unit, vectors[:, order] / np.sqrt(np.maximum(values[order], 1e-300)))


def fourth_moment_axes(Z: Array) -> Array:
    """Eigenvectors of the (capped) fourth moment, by increasing eigenvalue."""
    squared = np.einsum("ij,ij->i", Z, Z)
    capped = np.minimum(squared, 4 * np.median(squared))
    return np.linalg.eigh(((Z * capped[:, None]).T @ Z).astype(np.float64) / len(Z))[1].astype(Z.dtype)


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


def wide_projections(k: int) -> list[Array]:
    """All axes, and where there are many, the leading few and the rest: their radii show scattered rows."""
    axes = np.eye(k)
    return [axes, axes[:, :3], axes[:, :LEADING], axes[:, LEADING:]] if k > 2 * LEADING else [axes]


def narrow_projections(Z: Array, rng: np.random.Generator) -> list[Array]:
    """Directions that may show a shifted group, and small subspaces for flat ones.

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
        singles.append(np.vstack([np.hstack([inner, points]), np.zeros((k - lead, 3 * lead))]))
    else:
        singles.append(np.eye(k)[:, :lead])
    subspaces = [fourth[:, :3], fourth[:, -3:]] if k > 3 else []
    return subspaces + [column[:, None] for column in np.hstack(singles).T]


def best_rule(Z: Array, candidates: list[Array], metric: Metric, keep: int) -> Rule:
    """The most evident valley among projections of whitened rows that leaves at least keep of them."""
    to_x = metric.whiten / metric.unit[:, None]
    best, chosen = NO_CUT, candidates[0]
    projected = np.split(
        Z @ np.hstack(candidates).astype(Z.dtype), np.cumsum([c.shape[1] for c in candidates])[:-1], axis=1
    )
    for matrix, P in zip(candidates, projected, strict=True):
        statistic = P[:, 0] if P.shape[1] == 1 else radius(P)
        cut = valley(statistic)
        if cut.strength > best.strength and np.sum((statistic > cut.low) & (statistic <= cut.high)) >= keep:
            best, chosen = cut, matrix
    return Rule(metric.center, to_x @ chosen, best)


def strongest_rule(X: Array, metric: Metric, keep: int, rng: np.random.Generator) -> Rule:
    """The most evident separation; the dearer directions are searched only where radii show nothing plain."""
    Z = metric.scores(X).astype(np.float32)
    wide = best_rule(Z, wide_projections(Z.shape[1]), metric, keep)
    raw = np.diag(1 / metric.unit)
    statistic = radius((X - metric.center) / metric.unit)
    cut = valley(statistic)
    if cut.strength > wide.cut.strength and np.sum((statistic > cut.low) & (statistic <= cut.high)) >= keep:
        wide = Rule(metric.center, raw, cut)
    if wide.cut.strength > PLAIN:
        return wide
    narrow = best_rule(Z, narrow_projections(Z, rng), metric, keep)
    return max(wide, narrow, key=lambda rule: rule.cut.strength)


def find_groups(X: Array, unit: Array, rng: np.random.Generator) -> Groups:
    """Peel foreign groups off a subsample until no valley is left."""
    kept = np.ones(len(X), bool)
    groups: list[NDArray[np.intp]] = []
    rules: list[Rule] = []
    keep = int(KEEP_AT_LEAST * len(X))
    metric = fit_metric(X, unit)
    for _ in range(MAX_GROUPS):
        rule = strongest_rule(X[kept], metric, keep, rng)
        if rule.cut.strength < EVIDENCE:
            break
        statistic = rule.statistic(X[kept])
        index = np.flatnonzero(kept)[(statistic <= rule.cut.low) | (statistic > rule.cut.high)]
        groups.append(index)
        rules.append(rule)
        kept[index] = False
        metric = fit_metric(X[kept], unit)
    return Groups(kept, groups, rules, metric)


def only_far_apart(X: Array, unit: Array, found: Groups) -> Groups:
    """Take back groups that are not far apart, unless the rest is one elliptical cloud.

    A table of several clouds (classes, sites) has valleys of its own.
    """
    rest = X[found.kept]
    if not found.groups or is_elliptical(found.metric.scores(rest)):
        return found
    pairs = [
        (group, rule)
        for group, rule in zip(found.groups, found.rules, strict=True)
        if between(rule.statistic(rest), rule.statistic(X[group]))[1] >= FAR_APART
    ]
    kept = np.ones(len(X), bool)
    for group, _ in pairs:
        kept[group] = False
    return Groups(kept, [group for group, _ in pairs], [rule for _, rule in pairs], fit_metric(X[kept], unit))


def between(first: Array, second: Array) -> tuple[float, float]:
    """Threshold between two samples at equal normal likelihood, and how many spreads part them."""
    (m1, s1), (m2, s2) = ((float(np.mean(v)), float(np.std(v)) + 1e-12) for v in (first, second))
    s2 = max(s2, 0.05 * abs(m2 - m1), 1e-12)  # equal rows have no spread
    grid = np.linspace(m1, m2, 101)
    log1 = np.log(len(first) / s1) - 0.5 * ((grid - m1) / s1) ** 2
    log2 = np.log(len(second) / s2) - 0.5 * ((grid - m2) / s2) ** 2
    crossed = np.flatnonzero(log2 >= log1)
    threshold = grid[crossed[0]] if len(crossed) and crossed[0] > 0 else grid[-1]
    return float(threshold), float(abs(m2 - m1) / (s1 + s2))


def sharpen(rule: Rule, X: Array, kept: Mask, group: NDArray[np.intp], metric: Metric) -> Rule:
    """Replace a rule found among still dirty rows where the clean metric tells the group better."""
    whiten = metric.whiten / metric.unit[:, None]
    gap = (X[group].mean(axis=0) - metric.center) @ whiten
    linear = whiten @ (gap / max(np.linalg.norm(gap), 1e-12))
    options = []
    for center, weights in ((rule.center, rule.weights), (metric.center, whiten), (metric.center, linear[:, None])):
        statistic = Rule(center, weights, NO_CUT).statistic(X)
        threshold, parted = between(statistic[kept], statistic[group])
        above = np.mean(statistic[group]) > np.mean(statistic[kept])
        options.append(
            Rule(center, weights, Cut(parted, -np.inf, threshold) if above else Cut(parted, threshold, np.inf))
        )
    return max(options, key=lambda option: option.cut.strength)
