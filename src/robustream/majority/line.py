"""The line that the majority of the rows of a table follows, and how far each row belongs to it.

Model
-----
Of y given x nothing is assumed but a line for the majority; of x nothing at all:

    y | x  ~  pi(x) f((y - d'b) / s) / s  +  (1 - pi(x)) [ q N(d'g, t^2) + (1 - q) c ],      d = (x, 1)

`f` is normal or a t law, `g` a second line (free, flat, parallel to the first, or absent), `c` a constant density for
rows that follow no line. The gate, logit pi(x) = a0 + a1 log D1(x) + a2 log D2(x) with a1 <= 0 <= a2, has the distances
of x from the rows of either line (the row itself left out of both): far rows count against the line only as far as y
shows that rows at their distance do not follow it, so that good leverage keeps its weight without a rule. The model is
fitted to a sample of the rows by expectation maximisation from several deterministic starts (Peña and Yohai 1999 for
the idea of looking among few subsets); of the two lines the one with more rows is the majority's.

Evidence
--------
Least squares stands unless there is evidence against rows, of one of two kinds.

1. A *valley*: the residuals from the majority's line fall into groups with a gap between them (`evidence.valleys`),
   whatever their law.
2. A *better model*: by Schwarz's criterion two lines explain the targets better than any honest rival does: one line
   with normal, heavy-tailed (t), skewed (two-piece t) or fanning noise (variance growing with the fit or along a
   direction).

Neither is enough where x alone decides which rows are bad: a bend, a regime or a category that the line leaves out does
that too. Such a group must stand apart in x as well, or jump away in y where x has no steps.
Groups are taken away one after another until no evidence is left. The answer is least squares of what remains, or the
weighted fit of the model where good and bad rows overlap.

Limits
------
Rows that lie within about two noise scales of the majority's line cannot be told from it, one by one; nor can a
minority be told from a second honest population, nor a bad group from a bend that ends in a gap. With more than half of
the rows bad the other half is the answer.

References
----------
Rousseeuw and Van Driessen (2006), Computing LTS regression for large data sets. Peña and Yohai (1999), A fast procedure
for outlier diagnostics in large regression problems. Hathaway (1985), A constrained formulation of maximum-likelihood
estimation for normal mixture distributions. Schwarz (1978), Estimating the dimension of a model. Hausman (1978),
Specification tests in econometrics. Carroll and Ruppert (1988), Transformation and weighting in regression.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.majority.columns import LATTICE, copies, row_keys, spread_lattice
from robustream.majority.columns import VALLEY as EVIDENCE
from robustream.majority.evidence import Array, valleys
from robustream.majority.lines import (
    LEVEL,
    LOG_2PI,
    NORMAL_MAD,
    TAILS,
    Form,
    Mask,
    OneLine,
    TwoLines,
    fit_weighted,
    leverage,
    looks_normal,
    skewed_noise,
    smaller_half,
    t_noise,
    within_chance,
)
from robustream.majority.points import Group, gap

# Takes rows (design and target, in the units of the search) to their weights, and marks those that are left out.
Rule = Callable[[Array], tuple[Array, Mask]]

SAMPLE, PER_COLUMN = 1000, 20  # rows searched: 8 for each coefficient of the smaller of two lines at 60:40
RACERS, PER_COLUMN_RACERS = 500, 8  # rows that the race of starts uses
LEAST_PER_COLUMN = 5  # rows for each coefficient below which nothing can be told: plain
ROUNDS = 6  # most groups that are taken away one after another
MARGIN, GAIN = 5.0, 0.015  # log likelihood, and that for each row, by which two lines must beat every honest rival
WEAK, SMALL = 2.0, 60  # z score of a gap that is evidence together with a better model, in tables of fewer rows
SHALLOW = 0.6  # depth of a gap: less than for points, since a second line has to agree with it
BACKGROUND = 20.0  # width, in scales of the residuals of least squares, that the constant density spreads over
DECIDED = 0.5  # share of the membership of bad rows that one view of x explains: x decides, then
ATOM = 0.1  # share of the rows with one and the same value that makes having it a category
AGREED, COVERED = 0.8, 0.25  # shares of rows on which two ways to tell bad rows agree, and that one of them covers
FAR = 3.5  # residual scales (1 normal row in 2,000) beyond which a row is no part of the line
SKEWED = 5.0  # z score of the skewness of the majority's residuals, from which on groups are cut at the valley
UNCLEAR = 0.05  # share of rows with posterior between 0.1 and 0.9 from which on good and bad rows overlap
FEW, FEW_ROWS = 0.02, 6  # share, and in small tables number, of rows beyond a gap that are a few; more are a bend
ROUNDING = 1e-6  # scales of y: residuals of an exact fit are no distances
LEAST = 0.45  # least share of the rows that may be the majority
HEAVY = 3.0  # degrees of freedom up to which weights are worth it: least squares has half of their efficiency or less
RACE, LONG, SHORT = 6, 20, 5  # steps of a start, of the two best, of a variant of the winner
SAME = 2.0  # log likelihoods of two starts that are one optimum


class Line(NamedTuple):
    """What was found: weights of the rows for least squares, and the groups that were left out.

    A row may have a small weight and belong to the majority: one in a long tail, or where good and bad rows overlap.
    """

    weights: Array
    groups: tuple[Group, ...]

    @property
    def believed(self) -> Mask:
        """Mark the rows that are in no group."""
        return ~np.any([np.zeros(len(self.weights), bool), *(group.members for group in self.groups)], axis=0)


# --- does x decide? -----------------------------------------------------------------------------------------------


class Gap(NamedTuple):
    """The most evident valley of a view: its z score, and the bounds of the larger side."""

    z: float
    low: float
    high: float

    def beyond(self, view: Array) -> Mask:
        """Mark the values on the smaller side."""
        return (view <= self.low) | (view > self.high)


def gaps(views: Array) -> list[Gap]:
    """Return the most evident valley of each view (a row)."""
    found = []
    for view, (z, threshold) in zip(views, valleys(views, SHALLOW), strict=True):
        below = 2 * np.count_nonzero(view <= threshold) >= len(view)
        found.append(Gap(float(z), -math.inf if below else float(threshold), float(threshold) if below else math.inf))
    return found


class Column(NamedTuple):
    """A column of x with the values of a lattice spread over its gaps, its levels, and its strongest valley."""

    spread: Array
    levels: NDArray[np.int64] | None
    gap: Gap


def levels_of(v: Array) -> NDArray[np.int64] | None:
    """Return the level of each value of a lattice; of a column whose smallest or largest many have, whether it is that.

    One value for many rows within a continuous column is no category: it was filled in.
    """
    values, level, count = np.unique(v, return_inverse=True, return_counts=True)
    if len(values) < 2:
        return None
    if count[count > 1].sum() >= LATTICE * len(v):
        return level.astype(np.int64)
    top = int(np.argmax(count))
    category = count[top] > ATOM * len(v) and top in (0, len(values) - 1)
    return (level == top).astype(np.int64) if category else None


def x_views(Z: Array, difference: Array, bad: Array) -> list[Callable[[Array], Array]]:
    """Return views of x along which bad rows may lie apart: the discriminant, the distance, where the lines part."""
    p = Z.shape[1]
    good = 1 - bad
    m1, m2 = good @ Z / good.sum(), bad @ Z / bad.sum()
    C1 = ((Z - m1) * good[:, None]).T @ (Z - m1) / good.sum()
    C = (C1 * good.sum() + ((Z - m2) * bad[:, None]).T @ (Z - m2)) / len(Z)
    for M in (C, C1):
        M.flat[:: p + 1] += 1e-6 * np.trace(M) / p + 1e-12
    inverse, a = np.linalg.inv(C1), np.linalg.solve(C, m2 - m1)
    views = [lambda Z: Z @ a, lambda Z: np.cbrt(np.einsum("ij,ij->i", Z - m1, (Z - m1) @ inverse))]
    if np.ptp(Z @ difference) > 1e-6:
        views.append(lambda Z: Z @ difference)
    return views


def gap_in_x(Z: Array, views: Sequence[Callable[[Array], Array]], bad: Array) -> Callable[[Array], Mask] | None:
    """Return what marks rows beyond a gap in x, where hardly any but bad rows lie; None if there is no such gap."""
    V = np.stack([view(Z) for view in views])
    for view, v, found in zip(views, V, gaps(V), strict=True):
        if found.z > EVIDENCE:
            out = found.beyond(v)
            turned = bool(np.mean(out == (bad > 0.5)) < 0.5)
            out ^= turned
            if bad[out].mean() > AGREED and bad[out].sum() > 0.5 * bad.sum():
                return _marks(view, found, turned)
    return None


def _marks(view: Callable[[Array], Array], gap: Gap, turned: bool) -> Callable[[Array], Mask]:
    return lambda Z: np.asarray(gap.beyond(view(Z)) ^ turned)


def decided(bad: Array, level: NDArray[np.int64]) -> float:
    """Return the share of the variance of the membership that levels explain, the row itself left out."""
    count, total = np.bincount(level)[level], np.bincount(level, bad)[level]
    others = np.where(count > 1, (total - bad) / np.maximum(count - 1, 1), bad.mean())
    return float(1 - np.sum((bad - others) ** 2) / (np.sum((bad - bad.mean()) ** 2) + 1e-12))


def by_levels(columns: Sequence[Column], bad: Array) -> float:
    """Return how much the levels of one or two lattice columns decide; levels that stand apart are not asked."""
    most, everywhere = 0.0, np.ones(len(bad), bool)
    lattices = [
        (levels, ~valley.beyond(spread) if valley.z > EVIDENCE else everywhere)
        for spread, levels, valley in columns
        if levels is not None
    ]

    def ask(levels: NDArray[np.int64], inside: Mask) -> float:
        return decided(bad[inside], levels[inside]) if 1 < bad[inside].sum() < inside.sum() - 1 else 0.0

    for j, (levels, inside) in enumerate(lattices):
        most = max(most, ask(levels, inside))
        for others, there in lattices[:j]:
            size = others.max() + 1
            if most < DECIDED and (levels.max() + 1) * size < len(bad) / 5:
                most = max(most, ask(levels * size + others, inside & there))
    return most


def by_places(views: Sequence[Array], bad: Array) -> bool:
    """Tell whether one view of x decides: explains most of the membership, or has stretches for bad rows alone."""
    n = len(bad)
    fine, coarse = int(min(20, max(4, n // 30))), int(min(12, max(4, n // 40)))
    for v in views:
        if np.ptp(v) < 1e-9:
            continue
        rank = np.empty(n, np.int64)
        rank[np.argsort(v, kind="stable")] = np.arange(n)
        stretch = rank * coarse // n
        if decided(bad, rank * fine // n) > DECIDED:
            return True
        if np.max(np.bincount(stretch, bad) / np.bincount(stretch)) > AGREED:
            return True
    return False


# --- one group ----------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A rule that takes rows away, in words, and whether it ends the search (good and bad rows overlap)."""

    rule: Rule
    reason: str
    last: bool


def attached_atom(y: Array) -> bool:
    """Tell whether many targets equal the smallest or largest and the others reach up to it: counts of 0, limits."""
    if gaps(y[None])[0].z > EVIDENCE:
        return False
    for edge, sign in ((y.min(), 1.0), (y.max(), -1.0)):
        at = y == edge
        if 0.05 < at.mean() < 0.95:
            low, quarter, upper = np.quantile(sign * (y[~at] - edge), [0.05, 0.25, 0.75])
            if low < upper - quarter:
                return True
    return False


def concentrate(A: Array, b: Array, steps: int = 4) -> tuple[Array, float]:
    """Return residuals and their scale after least squares of the better half, repeated (Rousseeuw, Van Driessen)."""
    n, k = len(A), A.shape[1] - 1
    for _ in range(steps):
        b = fit_weighted(A[smaller_half(np.abs(A[:, k] - A[:, :k] @ b))])[0]
    r = np.abs(A[:, k] - A[:, :k] @ b)
    return r, NORMAL_MAD * float(np.median(r)) * math.sqrt(n / max(n - k, n / 4)) + 1e-12


def dense_part(v: Array) -> Mask:
    """Mark the values that remain when the strongest valleys have cut the smaller sides off."""
    part = np.ones(len(v), bool)
    for _ in range(3):
        found = gaps(v[None, part])[0]
        if found.z < EVIDENCE:
            break
        part &= ~found.beyond(v)
    return part


def best_two_lines(
    A: Array, columns: Sequence[Column], near: Mask, bs: Array, bh: Array, floor: float
) -> list[TwoLines]:
    """Return the models, the best by Schwarz's criterion first, that starts of several kinds lead to."""
    m, k = len(A), A.shape[1] - 1
    r = A[:, k] - A[:, :k] @ bs
    c = math.sqrt(2 * math.pi) / (BACKGROUND * (NORMAL_MAD * float(np.median(np.abs(r))) + 1e-12))
    few = slice(min(m, max(RACERS, PER_COLUMN_RACERS * k)))
    F, r = A[few], r[few]
    # Small residuals of least squares; near x; far x; a group of residuals; where the fit is too flat (a crossing line
    # flattens it); concentrated from clipped targets and from near x.
    fit = F[:, :k] @ bs
    starts = [smaller_half(np.abs(r)), near[few], ~smaller_half(leverage(F[:, :k], fit_weighted(A)[1])), dense_part(r)]
    starts.append(r * (fit - np.median(fit)) > 0)
    clipped = F.copy()
    np.clip(clipped[:, k], -2.5, 2.5, out=clipped[:, k])
    for b in (fit_weighted(clipped)[0], bh):
        residual, scale = concentrate(F, b)
        starts.append(residual < 2.5 * max(scale, floor))
    apart = sorted((column for column in columns if column.gap.z > EVIDENCE), key=lambda column: -column.gap.z)
    for column in apart[:2]:
        starts.append(~column.gap.beyond(column.spread[few]))
    race = [TwoLines(F, w.astype(float), 1.0 - w, c, floor).run(RACE) for w in starts if k < w.sum() < len(w)]
    if not race:
        return []
    race.sort(key=lambda model: -model.ll)
    finalists = race[: 1 + (len(race) > 1 and race[0].ll - race[1].ll > SAME)]
    models = [model.spread(A).run(LONG, swap=True) for model in finalists]
    best = max(models, key=lambda model: model.ll)
    forms: tuple[Form, ...] = ("none", "flat", "parallel")
    models += [TwoLines(A, best.w1, best.w2, c, floor, form, steps=2).run(SHORT) for form in forms]
    best = max(models, key=TwoLines.evidence)
    if best.form == "parallel" and best.a[1:].any():
        # Rows elsewhere in x lend their slopes only if these are the same, by a likelihood ratio (Chow's test).
        free = max((model for model in models if model.form == "free"), key=lambda model: model.ll)
        if 2 * (free.ll - best.ll) > k + LEVEL * math.sqrt(2 * k):
            models = [model for model in models if model.form != "parallel"]
            best = free
    nu = t_noise(best.r1, 1 - best.w2, best.s)[1]
    if nu < TAILS[-1]:
        models.append(TwoLines(A, best.w1, best.w2, c, floor, best.form, nu, steps=2).run(SHORT))
    return sorted(models, key=lambda model: -model.evidence())


def find_group(A: Array, rng: np.random.Generator) -> Found | None:
    """Return the rule that takes the most evident group away from a sample of rows (x, 1, y), or None."""
    m, k = len(A), A.shape[1] - 1
    p = k - 1
    if m < LEAST_PER_COLUMN * k or attached_atom(A[:, k]):
        return None
    D, y = A[:, :k], A[:, k]
    Z, _ = spread_lattice(A[:, :p], rng)
    columns = [Column(Z[:, j], levels_of(A[:, j]), found) for j, found in enumerate(gaps(Z.T))]
    bs, Ls = fit_weighted(A)
    fit = D @ bs
    s0 = math.sqrt(float(np.sum((y - fit) ** 2)) / max(m - k, 1)) + 1e-12
    near = smaller_half(np.einsum("ij,ij->i", A[:, :p], A[:, :p]))
    bh, Lh = fit_weighted(A[near])
    ordinary = m >= max(SAMPLE // 2, 10 * k) and not any(column.gap.z > EVIDENCE for column in columns)
    ordinary = ordinary and within_chance(bh - bs, Lh, s0) and looks_normal(y - fit, fit, leverage(D, Ls))
    if ordinary and gaps((y - fit)[None])[0].z < EVIDENCE:
        return None
    levels = np.unique(y)
    floor = float(np.median(np.diff(levels))) if 1 < len(levels) < m / 2 else 0.0  # a step of a discrete target
    if floor > 0.5 * NORMAL_MAD * np.median(np.abs(y - fit)):
        return None  # the noise of a count or a flag is not seen: residuals judge no row
    models = best_two_lines(A, columns, near, bs, bh, floor)
    if not models:
        return None
    best = models[0]
    rivals = [OneLine(A, best.b)]
    if best.form != "none" and best.evidence() > rivals[0].evidence():
        # Two lines that cross look like noise that grows away from a line, which is ordinary.
        crossing = max((model for model in models if model.form == "free"), key=lambda model: model.ll)
        rivals += [OneLine(A, bs, "fit"), OneLine(A, bs, crossing.g - crossing.b)]
    one = max(rivals, key=OneLine.evidence)
    skewed = max(skewed_noise(y - D @ b) for b in (bs, best.b, one.b)) - 0.5 * (k + 4) * math.log(m)
    for fan in rivals[1:]:
        unit = fan.unit(A)
        skewed = max(skewed, skewed_noise((y - fit) / unit) - np.log(unit).sum() - 0.5 * (k + 5) * math.log(m))
    found = judge(A, Z, columns, best, one.evidence(), skewed)
    if found is not None:
        return found
    b, far = best.b, max(gap(np.abs(best.r1)), ROUNDING)
    if 0 < np.count_nonzero(np.abs(best.r1) > far) <= max(FEW * m, FEW_ROWS):
        return Found(
            _sharp(lambda A: np.abs(A[:, -1] - A[:, :-1] @ b) > far), "a few lie far from the others' line", False
        )
    # Symmetric heavy tails: weights gain efficiency and move nothing but by chance.
    heavy = rivals[0]
    normal = -0.5 * m * (LOG_2PI + 2 * math.log(s0) + 1) - 0.5 * (k + 1) * math.log(m)
    if (
        one is heavy
        and heavy.nu <= HEAVY
        and heavy.evidence() > max(skewed, normal + MARGIN + GAIN * m)
        and within_chance(heavy.b - bs, Ls, s0)
    ):
        return Found(lambda A: (heavy.weights(A), np.zeros(len(A), bool)), "", True)
    return None


def judge(A: Array, Z: Array, columns: Sequence[Column], best: TwoLines, rival: float, skewed: float) -> Found | None:
    """Return the rule that the best model of two lines amounts to, if evidence supports it.

    `rival` and `skewed` are the evidence for one line with symmetric and with skewed noise.
    """
    m, k = len(A), A.shape[1] - 1
    bad, r = 1 - best.w1, best.r1
    signed, absolute = gaps(np.stack([r, np.abs(r)]))
    beyond = signed.beyond(r) if signed.z >= absolute.z else absolute.beyond(np.abs(r))
    valley, agrees = max(signed.z, absolute.z), True
    if valley > EVIDENCE:
        # Rows beyond the gap are those that the model has as bad; if they are others, these go first.
        off = np.maximum(bad, np.abs(r) > FAR * best.s)
        agrees = bool(beyond.any() and off[beyond].mean() > AGREED and off[beyond].sum() > COVERED * off.sum())
        if not agrees and signed.z > EVIDENCE:
            beyond = signed.beyond(r)
            bad = beyond.astype(float)
        elif not agrees:
            valley = 0.0
    # Skewed noise has no gap to either side, but lengths of its residuals may have one.
    better = best.evidence() > max(rival, skewed) + MARGIN + GAIN * m
    enough = better or signed.z > EVIDENCE or (valley > EVIDENCE and best.evidence() > skewed)
    if bad.sum() < 2 or not enough:
        return None
    # Both kinds of evidence together need less of each in a small table: a few rows show no valley by themselves.
    jumps = signed.z > EVIDENCE or (better and signed.z > WEAK and m < SMALL)
    if agrees and valley > EVIDENCE and bad[beyond].sum() > 0.5 * bad.sum():
        bad = beyond.astype(float)
    elif agrees and best.form != "none" and best.w2.sum() > 0.5 * bad.sum():
        bad = best.w2
    views = x_views(Z, (best.g - best.b)[: k - 1], bad)
    apart = gap_in_x(Z, views, bad)
    place = by_places([*(view(Z) for view in views), best.prior, A[:, :k] @ best.b, A[:, :k] @ best.g], bad)
    if by_levels(columns, bad) > DECIDED or (place and apart is None and not jumps):
        return None
    if place and apart is not None:
        return Found(_sharp(lambda A: apart(A[:, :-2])), "they lie apart in x and follow another line", False)
    parted = signed.z > EVIDENCE and np.mean(beyond == (best.w1 < 0.5)) > AGREED
    if not agrees or (parted and abs(_skewness(r, best.w1, best.s)) > SKEWED):
        # The majority's noise is not that of the model: the gap parts good and bad rows better than a posterior.
        return Found(_cut(best.b, signed), "their targets lie apart from the others' line", False)
    second = best.form != "none" and best.w2.sum() > 0.5 * (1 - best.w1).sum()
    clear = bool(np.mean((best.w1 > 0.1) & (best.w1 < 0.9)) <= UNCLEAR)
    rule = _posterior(best, clear, second)
    return Found(rule, "they follow another line" if second else "they follow no line", not clear)


def _sharp(out: Callable[[Array], Mask]) -> Rule:
    """Return the rule that takes marked rows away."""

    def rule(A: Array) -> tuple[Array, Mask]:
        gone = out(A)
        return (~gone).astype(float), gone

    return rule


def _cut(b: Array, gap: Gap) -> Rule:
    return _sharp(lambda A: gap.beyond(A[:, -1] - A[:, :-1] @ b))


def _posterior(best: TwoLines, clear: bool, second: bool) -> Rule:
    """Return the rule that weighs rows by their posterior; a sharp one where hardly any row is unclear."""

    def rule(A: Array) -> tuple[Array, Mask]:
        full = best.settle(A, 6 if len(A) < 20 * best.n else 2)
        if not clear or not second:
            return (full.w1 if clear else full.w1 * full.near * full.tail), full.w1 < 0.5
        # What only the background claims comes back where the fit without it cannot tell.
        z = np.abs(full.r1) / (full.s * np.sqrt(1 + leverage(A[:, :-1], full.L)))
        unknown = (z < FAR) & ((full.w2 < 0.5) | (np.abs(full.r1) > FAR * full.s))
        gone = (full.w1 <= 0.5) & ~unknown
        return (~gone).astype(float), gone

    return rule


def _skewness(r: Array, w: Array, s: float) -> float:
    """Return the z score of the skewness of weighted residuals, far ones held at four scales."""
    z = np.clip(r / s, -4, 4)
    n = w.sum()
    z = z - w @ z / n
    z /= math.sqrt(w @ z**2 / n) + 1e-300
    return float((w @ z**3 / n) / math.sqrt(6 / n))


# --- a table ------------------------------------------------------------------------------------------------------


def _group(members: Mask, reason: str) -> Group:
    return Group(int(members.sum()), float(members.mean()), math.nan, reason, members)


def tail_weights(A: Array, rule: Rule) -> Array:
    """Return the weights of heavy tails if the fit differs from that of least squares by chance alone, else ones."""
    k = A.shape[1] - 1
    b, L = fit_weighted(A)
    r = A[:, k] - A[:, :k] @ b
    w = rule(A)[0]
    s = math.sqrt(float(r @ r) / max(len(A) - k, 1)) + 1e-12
    return w if within_chance(fit_weighted(A, w)[0] - b, L, s) else np.ones(len(A))


def majority_line(X: Array, y: Array, seed: int = 0) -> Line:
    """Return the weights that make least squares the answer of the majority of the rows.

    The rows that are searched are chosen by a hash of their content: neither order nor chance decides.
    """
    n, p = X.shape
    joint = np.column_stack([X, y])
    keys = row_keys(joint)
    size = max(SAMPLE, PER_COLUMN * (p + 1))
    some = np.argpartition(keys, size)[:size] if size < n else np.arange(n)
    some = some[np.argsort(keys[some])]
    first, artefacts = copies(joint[some], keys[some])
    some = some[first]
    stuck = np.isin(keys, artefacts) if len(artefacts) else np.zeros(n, bool)
    groups = [_group(stuck, "they are copies of one row")] if stuck.any() else []
    m, rng = len(some), np.random.default_rng(seed)
    if m < LEAST_PER_COLUMN * (p + 1):
        return Line((~stuck).astype(float) if m else np.ones(n), tuple(groups) if m else ())
    S, t = X[some], y[some]
    center, middle = np.median(S, axis=0), np.median(t)
    unit, spread = NORMAL_MAD * np.median(np.abs(S - center), axis=0), S.std(axis=0)
    unit = np.where(unit > 1e-9 * spread, unit, np.where(spread > 0, spread, 1.0))
    scale = NORMAL_MAD * float(np.median(np.abs(t - middle))) or float(t.std()) or 1.0

    def rows(X: Array, y: Array) -> Array:
        A = np.empty((len(X), p + 2))
        np.subtract(X, center, out=A[:, :p])
        A[:, :p] /= unit
        A[:, p] = 1.0
        A[:, p + 1] = (y - middle) / scale
        return A

    A = rows(S, t)
    found: list[Found] = []
    left = np.ones(m, bool)
    for _ in range(ROUNDS):
        group = find_group(A[left], rng)
        if group is None or (group.last and not group.reason and found):
            break
        weights, gone = group.rule(A[left])
        if group.reason and (weights.sum() < LEAST * m or not gone.any()):
            break
        found.append(group)
        if group.last:
            break
        left[np.flatnonzero(left)[gone]] = False
    W = (~stuck).astype(float)  # copies have the weight of the row that stood for them
    if m < n:
        # A few far rows may be none of the sample: they are told by the line of what the search left.
        b = fit_weighted(A[left])[0]
        lengths = np.abs((y - middle) / scale - b[p] - (X - center) @ (b[:p] / unit))
        far = ~stuck & (lengths > max(gap(lengths[~stuck]), ROUNDING))
        if 0 < far.sum() <= FEW * n:
            groups.append(_group(far, "a few lie far from the others' line"))
            W[far] = 0.0
    if not found:
        return Line(W, tuple(groups))
    A = rows(X, y)
    if not found[0].reason:
        return Line(tail_weights(A, found[0].rule) * W, tuple(groups))
    for group in found:
        inside = np.flatnonzero(W > 0)
        weights, gone = group.rule(A[inside])
        members = np.zeros(n, bool)
        members[inside[gone]] = True
        groups.append(_group(members, group.reason))
        W[inside] *= weights
    return Line(W, tuple(groups))
