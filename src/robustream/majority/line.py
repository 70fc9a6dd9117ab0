"""The line that the majority of the rows of a table follows, and how far each row belongs to it.

Model
-----
Of y given x nothing is assumed but a line for the majority; of x nothing at all:

    y | x  ~  pi(x) f((y - d'b) / s) / s  +  (1 - pi(x)) [ q N(d'g, t^2) + (1 - q) c ],      d = (x, 1)

`f` is normal or a t law, `g` a second line (free, flat, parallel to the first, or absent), `c` a density for rows that
follow no line, constant within reach and falling off beyond.
The gate, logit pi(x) = a0 + a1 log D1(x) + a2 log D2(x) with a1 <= 0 <= a2, has the distances
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
   with normal, heavy-tailed (t), skewed (two-piece t), log-concave (uniform, exponential, ...) or fanning noise
   (variance growing with the fit or along a direction).

Neither is enough where x alone decides which rows are bad: a bend, a regime or a category that the line leaves out does
that too. So two lines have rivals that x decides, and the more ordinary the rival, the more a group must show beside.
Where levels of categories or one curve (hinges and products of the columns, chosen forward) explain the targets as
well, the group must stand apart in x and have a gap in the residuals; where two lines to either side of a threshold
along x do, one of these is enough.
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
Specification tests in econometrics. Carroll and Ruppert (1988), Transformation and weighting in regression. Friedman
(1991), Multivariate adaptive regression splines. Hansen (2000), Sample splitting and threshold estimation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.row_loops import in_units, line_distances
from robustream.kernels.rows import over_rows, row_blocks
from robustream.majority.columns import (
    FARTHEST,
    Keys,
    column_units,
    copies,
    equal_by_chance,
    filled_values,
    row_keys,
    row_states,
    sorted_columns,
    spread_lattice,
    ties,
    voices,
)
from robustream.majority.columns import VALLEY as EVIDENCE
from robustream.majority.evidence import DEPTH, Array, valleys
from robustream.majority.laws import squared_lengths
from robustream.majority.lines import (
    LOG_2PI,
    NARROWEST,
    NORMAL_MAD,
    TAILS,
    Form,
    Mask,
    OneLine,
    TwoLines,
    are_explained,
    fit_weighted,
    leverage,
    likelihood_bound,
    log_concave_noise,
    looks_normal,
    skewed_noise,
    smaller_half,
    t_noise,
    within_chance,
)
from robustream.majority.points import (
    HALF,
    HALF_OF_ROWS,
    STRONG,
    Cut,
    Group,
    before_peers,
    find_cut,
    gap,
    principal,
)
from robustream.majority.rivals import (
    MOST_PRODUCTS,
    curve_explains,
    level_views,
    levels_of,
    looks_skewed,
    threshold_explains,
)
from robustream.majority.small import FEWEST_ROWS, MOST_ROWS, far_rows

# Takes rows (design and target, in the units of the search) to their weights, and marks those that are left out.
Rule = Callable[[Array], tuple[Array, Mask]]

SAMPLE, PER_COLUMN = 1000, 20  # rows searched: 8 for each coefficient of the smaller of two lines at 60:40
RACERS, PER_COLUMN_RACERS = 500, 8  # rows that the race of starts uses
LEAST_PER_COLUMN = 5  # rows for each coefficient below which nothing can be told: plain
ROUNDS = 6  # most groups that are taken away one after another
MARGIN = 5.0  # log likelihood by which two lines must beat every honest rival
SHALLOW = 0.6  # depth of a gap: less than for points, since a second line has to agree with it
EMPTY = 0.1  # the same of one that a curve does not explain: two normal groups have it at 6 spreads
BACKGROUND = 20.0  # width, in scales of the residuals of least squares, that the constant density spreads over
ATTACHED = 0.5  # quartile ranges from a limit to the nearest twentieth: of a law cut at its tenth 0.2, at its end 1.3
AGREED, COVERED = 0.8, 0.25  # shares of rows on which two ways to tell bad rows agree, and that one of them covers
FAR = 3.5  # residual scales (1 normal row in 2,000) beyond which a row is no part of the line
UNCLEAR = 0.05  # share of rows with posterior between 0.1 and 0.9 from which on good and bad rows overlap
MISFIT = 3.0  # median residuals of other rows that half of the rows with a filled-in value must exceed
FEW, FEW_ROWS = 0.005, 6  # share, and in small tables number, of rows beyond a gap that are a few; more are a bend
ROUNDING = 1e-6  # scales of y: residuals of an exact fit are no distances
RACE, LONG, SHORT = 6, 20, 5  # steps of a start, of the two best, of a variant of the winner
OFF, ALIKE = 2, 0.02  # steps after which starts whose posteriors differ by less, in the mean, are one
FITTED = 10  # rows for each one searched that models are fitted to in the end, of more rows
LONG_WAY, SHORT_WAY = 6, 2  # most steps of fitting a model to more rows, and to still more
CLEAR_PART, UNCLEAR_PART = 8, 2  # and parts of all rows, where good and bad ones are clear or overlap
SAME = 2.0  # log likelihoods of two starts that are one optimum


# Why rows were left out, in words.
_FAR_ROWS = "a few lie far from the others' line"
_OFF_LINE = "their targets lie apart from the others' line"


class Line(NamedTuple):
    """What was found: weights of the rows for least squares, and the groups that were left out.

    A row may have a small weight and belong to the majority: one in a long tail, or where good and bad rows overlap.
    """

    weights: Array
    groups: tuple[Group, ...]
    divided: bool = False  # whether there are groups of which none has the majority

    @property
    def believed(self) -> Mask:
        """Mark the rows that are in no group."""
        believed: Mask = np.ones_like(self.weights, dtype=bool)
        for group in self.groups:
            believed &= ~group.members
        return believed


# --- does x decide? -----------------------------------------------------------------------------------------------


class Gap(NamedTuple):
    """The most evident valley of a view: its z score, and the bounds of the larger side."""

    z: float
    low: float
    high: float

    def beyond(self, view: Array) -> Mask:
        """Mark the values on the smaller side."""
        return (view <= self.low) | (view > self.high)


def gaps(views: Array, depth: float = SHALLOW) -> list[Gap]:
    """Return the most evident valley of each view (a row)."""
    found = []
    for view, (z, threshold) in zip(views, valleys(views, depth), strict=True):
        below = 2 * np.count_nonzero(view <= threshold) >= len(view)
        found.append(Gap(float(z), -math.inf if below else float(threshold), float(threshold) if below else math.inf))
    return found


def both_sides(view: Array, depth: float) -> Gap:
    """Return the most evident valley of a view, together with one of the larger side if that cuts off the other end.

    Bad rows to either side are two groups, each beyond a gap of its own.
    """
    found = gaps(view[None], depth)[0]
    if found.z > EVIDENCE:
        other = gaps(view[None, ~found.beyond(view)], depth)[0]
        low, high = max(found.low, other.low), min(found.high, other.high)
        if other.z > EVIDENCE and math.isfinite(low) and math.isfinite(high):
            return Gap(found.z, low, high)
    return found


def mirrored(r: Array, gap: Gap) -> Gap:
    """Return the gap of residuals, with a bound to the other side where about as many rows lie as far off.

    Skewed noise has no gap on the side of its tail. If bad rows lie to both sides alike, those beyond a distance d on
    the side of the gap, L(d), are as many as bad ones on the other, of whose R(d) rows R(d) - L(d) are good. The bound
    has the fewest mistaken rows, good ones beyond it and bad ones within: R(d) - 2 L(d) is least.
    """
    sign = 1.0 if math.isfinite(gap.high) else -1.0
    limit = sign * (gap.high if sign > 0 else gap.low)
    if not math.isinf(gap.low + gap.high) or limit <= 0:
        return gap
    here, there = np.sort(sign * r[sign * r > limit]), np.sort(-sign * r[-sign * r > limit])
    L, R = len(here) - np.searchsorted(here, there), np.arange(len(there), 0, -1)
    use = COVERED * len(here) <= L
    if not use.any():
        return gap
    at = int(np.argmin(np.where(use, R - 2 * L, len(r))))
    if 2 * R[at] < L[at]:
        return gap
    bound = float(there[at] + (there[at - 1] if at else limit)) / 2
    return gap._replace(low=-bound) if sign > 0 else gap._replace(high=bound)


def parts_evidence(r: Array, gap: Gap, k: int) -> float:
    """Return the log likelihood of residuals in parts, normal but for a skewed middle, with Schwarz's price of it."""
    m, inside = len(r), r[~gap.beyond(r)]
    parts = [part for part in (inside, r[r <= gap.low], r[r > gap.high]) if len(part)]
    least = NARROWEST * float(inside.std())
    likelihoods = [-len(part) * (math.log(max(float(part.std()), least)) + 0.5 * (LOG_2PI + 1)) for part in parts]
    if looks_skewed(inside):
        likelihoods[0] = max(likelihoods[0], skewed_noise(inside) - math.log(m))
    likelihood = sum(likelihoods) + sum(len(part) * math.log(len(part) / m) for part in parts)
    return likelihood - 0.5 * (k + 3 * len(parts) - 2) * math.log(m)


def deciding_cut(r: Array, off: Array, signed: Gap, k: int, evidence: float) -> Gap | None:
    """Return the gaps that part good and bad residuals better than the posterior `off` of being bad, or None.

    The noise is not that of the model then. An empty gap that most of what is bad lies beyond does; gaps to both sides
    do where the parts explain the residuals better than the model, of some evidence.
    """
    empty = gaps(r[None], EMPTY)[0]
    if empty.z > EVIDENCE and off[empty.beyond(r)].sum() > AGREED * off.sum():
        return empty
    both, alike = both_sides(r, EMPTY), mirrored(r, signed)
    if math.isfinite(both.high - both.low) and parts_evidence(r, both, k) > evidence:
        return both
    beyond = alike.beyond(r)
    if alike.z > EVIDENCE and math.isfinite(alike.high - alike.low) and looks_skewed(r[~beyond]):
        return alike if off[beyond].sum() > AGREED * off.sum() or parts_evidence(r, alike, k) > evidence else None
    return None


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
    for view, v, found in zip(views, V, gaps(V, DEPTH), strict=True):
        if found.z > EVIDENCE:
            out = found.beyond(v)
            turned = bool(np.mean(out == (bad > 0.5)) < 0.5)
            out ^= turned
            if bad[out].mean() > AGREED and bad[out].sum() > 0.5 * bad.sum():
                return _marks(view, found, turned)
    return None


def _marks(view: Callable[[Array], Array], gap: Gap, turned: bool) -> Callable[[Array], Mask]:
    return lambda Z: gap.beyond(view(Z)) ^ turned


# --- one group ----------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A rule that takes rows away, and why in words."""

    rule: Rule
    reason: str
    by_row: bool = True  # whether the rule looks at each row for itself
    divided: bool = True  # whether x has a valley


def attached_atom(y: Array, zero: float) -> bool:
    """Tell whether many targets equal the smallest or largest and the others reach up to it, or most are one value.

    Counts of 0, limits. Where most are one value, the others are all there is to learn from. Nothing at all (`zero`) is
    less than any limit: the others need not reach so near to it.
    """
    levels, counts = np.unique(y, return_counts=True)
    if len(levels) == len(y):
        return False
    if counts.max() > HALF * len(y):
        return True
    for edge, sign in ((y.min(), 1.0), (y.max(), -1.0)):
        at = y == edge
        if np.count_nonzero(at) > 1 and 0.05 < at.mean() < 0.95:
            low, quarter, upper = np.quantile(sign * (y[~at] - edge), [0.05, 0.25, 0.75])
            reach = (1.0 if abs(edge - zero) < ROUNDING else ATTACHED) * (upper - quarter)
            others = y[~at, None]
            others = spread_lattice(others, np.random.default_rng(0))[0]
            if low < reach and gaps(others.T)[0].z < EVIDENCE:
                return True
    return False


class CutOfX(NamedTuple):
    """A cut of x, in the units of the columns that are not mostly one value: these show no groups."""

    cut: Cut
    use: Mask
    middles: Array
    units: Array

    @classmethod
    def find(cls, Z: Array) -> CutOfX | None:
        """Return the cut at the most evident valley, which need not show in any column; None if there is none."""
        middles, units = column_units(Z)
        use = units > 0
        if np.count_nonzero(use) < 2:
            return None
        found = cls(_NO_CUT, use, middles[use], units[use])
        found = found._replace(cut=find_cut(found.scaled(Z)))
        return found if found.cut.evidence >= EVIDENCE else None

    def scaled(self, Z: Array) -> Array:
        """Return rows in these units, far ones held."""
        return np.clip((Z[:, self.use] - self.middles) / self.units, -FARTHEST, FARTHEST)

    def beyond(self, Z: Array) -> Mask:
        """Mark the rows beyond the cut."""
        return self.cut.outside(self.scaled(Z))


_NO_CUT = Cut(0.0, np.zeros(0), np.zeros((0, 0)), -math.inf, math.inf)


def near_half(X: Array) -> Mask:
    """Mark the half of the rows that is nearer to the middle, along whichever direction of x rows are far."""
    X = np.clip(X, -FARTHEST, FARTHEST)
    center, axes = principal(X)
    return smaller_half(squared_lengths((X - center) @ axes))


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
    A: Array,
    Z: Array,
    columns: Sequence[Gap],
    near: Mask,
    bs: Array,
    bh: Array,
    floor: float,
    inner: Mask | None,
) -> list[TwoLines]:
    """Return the models, the best by Schwarz's criterion first, that starts of several kinds lead to.

    `inner` marks the larger side of a gap of x that columns do not show.
    """
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
    for j in np.argsort([-found.z for found in columns], kind="stable")[:2]:
        if columns[j].z > EVIDENCE:
            starts.append(~columns[j].beyond(Z[few, j]))
    if inner is not None:
        starts.append(inner[few])
    race: list[TwoLines] = []
    for w in starts:
        if k < w.sum() < len(w):
            model = TwoLines(F, w.astype(float), 1.0 - w, c, floor).run(OFF)
            if all(np.mean(np.abs(model.w1 - other.w1)) > ALIKE for other in race):
                race.append(model)
    if not race:
        return []
    race = sorted((model.run(RACE - OFF) for model in race), key=lambda model: -model.ll)
    finalists = race[: 1 + (len(race) > 1 and race[0].ll - race[1].ll > SAME)]
    models = [model.spread(A).run(LONG, swap=True) for model in finalists]
    best = max(models, key=lambda model: model.ll)
    forms: tuple[Form, ...] = ("none", "flat", "parallel")
    models += [TwoLines(A, best.w1, best.w2, c, floor, form, steps=2).run(SHORT) for form in forms]
    best = max(models, key=TwoLines.evidence)
    nu = t_noise(best.r1, 1 - best.w2)[1]
    if nu < TAILS[0]:
        models.append(TwoLines(A, best.w1, best.w2, c, floor, best.form, nu, steps=2).run(SHORT))
    return sorted(models, key=lambda model: -model.evidence())


def is_ordinary(A: Array, b: Array, L: Array, near: Array, L_near: Array) -> bool:
    """Tell whether least squares leaves nothing to explain: normal residuals, no gap, the same line near the middle."""
    k = A.shape[1] - 1
    fit = A[:, :k] @ b
    r = A[:, k] - fit
    s = math.sqrt(float(r @ r) / max(len(A) - k, 1)) + 1e-12
    return bool(
        within_chance(near - b, L_near, s)
        and looks_normal(r, fit, leverage(A[:, :k], L))
        and gaps(r[None])[0].z < EVIDENCE
    )


def stands_clear(A: Array, Z: Array, gone: Mask, apart: bool) -> bool:
    """Tell whether least squares leaves nothing to explain without some rows, and these lie far from that line.

    Hardly any of them lies within FAR scales of it, and no curve explains where they lie, which is not asked of rows
    that lie apart in x and beyond an empty gap.
    """
    m, k = len(A), A.shape[1] - 1
    inner, outer = A[~gone], A[gone]
    if len(inner) < max(SAMPLE // 2, 10 * k, HALF * m) or any(gap.z > EVIDENCE for gap in gaps(Z[~gone].T)):
        return False
    b, L = fit_weighted(inner)
    middle = smaller_half(squared_lengths(inner[:, : k - 1]))
    if not is_ordinary(inner, b, L, *fit_weighted(inner[middle])):
        return False
    s = math.sqrt(float(np.sum((inner[:, k] - inner[:, :k] @ b) ** 2)) / (len(inner) - k)) + 1e-12
    if np.mean(off_line(outer, b, L) > FAR * s) < AGREED:
        return False
    if apart and gaps((A[:, k] - A[:, :k] @ b)[None], EMPTY)[0].z > EVIDENCE:
        return True
    # Two lines with normal noise, one of them for rows beyond the gap.
    own = outer[:, k] - outer[:, :k] @ fit_weighted(outer)[0]
    t = math.sqrt(float(own @ own) / max(len(own) - k, len(own) / 4)) + 1e-12
    lead = -sum(n * (0.5 * (LOG_2PI + 1) + math.log(v)) for n, v in ((len(inner), s), (len(outer), t)))
    return not curve_explains(A, lead - (k + 1) * math.log(m) - MARGIN)


def clear_group(A: Array, Z: Array, bh: Array, cut: CutOfX | None) -> Found | None:
    """Return the rule for rows beyond a strong valley of x or of the residuals that stand clear of the others, or None.

    What the models of two lines would find, at a part of their cost.
    """
    if cut is not None and cut.cut.evidence >= STRONG and stands_clear(A, Z, cut.beyond(Z), True):
        return Found(_sharp(lambda A: cut.beyond(A[:, :-2])), "they lie apart in x and follow another line")
    few = A[: max(RACERS, PER_COLUMN_RACERS * (A.shape[1] - 1))]
    inside = np.zeros(len(A), bool)
    inside[: len(few)] = smaller_half(concentrate(few, bh)[0])
    for _ in range(2):
        b = fit_weighted(A[inside])[0]
        r = A[:, -1] - A[:, :-1] @ b
        found = gaps(r[None])[0]
        if found.z < STRONG:
            return None
        inside = ~found.beyond(r)
    if not stands_clear(A, Z, ~inside, False):
        return None
    return Found(_cut(b, found), _OFF_LINE)


def find_group(A: Array, rng: np.random.Generator, zero: float = math.nan, divided: bool = True) -> Found | None:
    """Return the rule that takes the most evident group away from a sample of rows (x, 1, y), or None.

    `zero` is a target of nothing, in the units of the rows. `divided` is False where x is known to have no valley.
    """
    m, k = len(A), A.shape[1] - 1
    p = k - 1
    if m < LEAST_PER_COLUMN * k or attached_atom(A[:, k], zero):
        return None
    D, y = A[:, :k], A[:, k]
    ordered = sorted_columns(A[:, :p])
    tied = ties(ordered)
    Z, _ = spread_lattice(A[:, :p], rng, tied)
    columns = gaps(Z.T)
    bs, Ls = fit_weighted(A)
    fit = D @ bs
    s0 = math.sqrt(float(np.sum((y - fit) ** 2)) / max(m - k, 1)) + 1e-12
    near = near_half(A[:, :p])
    bh, Lh = fit_weighted(A[near])
    ordinary = not any(gap.z > EVIDENCE for gap in columns) and is_ordinary(A, bs, Ls, bh, Lh)
    cut = CutOfX.find(Z) if divided else None
    if ordinary:
        # Rows beyond a gap of x may have drawn the line to themselves: then it is another one without them.
        if cut is None:
            return None
        b, L = fit_weighted(A[~cut.beyond(Z)])
        if within_chance(b - bs, L, s0):
            return None
    lattices = levels_of(A[:, :p], tied)
    if not tied.any() and (clear := clear_group(A, Z, bh, cut)):
        return clear._replace(divided=cut is not None)
    levels = np.unique(y)
    floor = float(np.median(np.diff(levels))) if 1 < len(levels) < m / 2 else 0.0  # a step of a discrete target
    models = best_two_lines(A, Z, columns, near, bs, bh, floor, None if cut is None else ~cut.beyond(Z))
    if not models:
        return None
    best = models[0]
    found = judge(A, Z, lattices, best, Rivals(A, models, bs))
    if found is not None:
        return found._replace(divided=cut is not None)
    # A few rows far from the line, or, in a table in which these are no bend, far in x and not on the line.
    away, far = max(gap(off_line(A, best.b, best.L)), ROUNDING), gap(np.sqrt(squared_lengths(A[:, :p])))
    far = far if np.count_nonzero(squared_lengths(A[:, :p]) > far**2) <= FEW * m else math.inf

    def apart(A: Array) -> Mask:
        off = off_line(A, best.b, best.L)
        marks: Mask = (off > away) | ((squared_lengths(A[:, :p]) > far**2) & (off > max(FAR * best.s, ROUNDING)))
        return marks

    return Found(_sharp(apart), _FAR_ROWS) if 0 < np.count_nonzero(apart(A)) <= max(FEW * m, FEW_ROWS) else None


def few_of_small_table(A: Array, zero: float) -> Found | None:
    """Return the rule for a few rows of a small table that lie far beyond a gap, and that no curve explains."""
    m, k = len(A), A.shape[1] - 1
    if m > MOST_ROWS or attached_atom(A[:, k], zero):
        return None
    levels = np.unique(A[:, k])
    step = float(np.median(np.diff(levels))) if 1 < len(levels) < m / 2 else 0.0
    far = far_rows(A, max(step, ROUNDING))
    if far is None:
        return None
    r, off = A[:, k] - A[:, :k] @ far.b, far.members
    s = math.sqrt(float(np.mean(np.square(r[~off])))) + 1e-12
    wide = BACKGROUND * NORMAL_MAD * float(np.median(np.abs(A[:, k] - A[:, :k] @ fit_weighted(A)[0]))) + 1e-12
    inside, out = m - np.count_nonzero(off), np.count_nonzero(off)
    likelihood = inside * (math.log(inside / m / s) - 0.5 * (LOG_2PI + 1)) + out * math.log(out / m / wide)
    if curve_explains(A, likelihood - 0.5 * (k + 2) * math.log(m) - MARGIN):
        return None
    return Found(_sharp(lambda A: off_line(A, far.b, far.L) > far.limit), _FAR_ROWS)


def off_line(A: Array, b: Array, L: Array) -> Array:
    """Return how far rows are from a line, less what is not known of it where they lie: a flag that only they have."""
    return np.abs(A[:, -1] - A[:, :-1] @ b) / np.sqrt(1 + leverage(A[:, :-1], L))


class Rivals:
    """What one line explains, with honest noise of several laws; the dear ones are fitted only where it matters."""

    def __init__(self, A: Array, models: Sequence[TwoLines], bs: Array) -> None:
        self.A, self.models, self.bs = A, models, bs

    @cached_property
    def lines(self) -> list[OneLine]:
        """Return lines with symmetric noise: constant, and where two lines do better growing away from a line."""
        best = self.models[0]
        lines = [OneLine(self.A, best.b)]
        if best.form != "none" and best.evidence() > lines[0].evidence():
            # Two lines that cross look like noise that grows away from a line, which is ordinary.
            crossing = max((model for model in self.models if model.form == "free"), key=lambda model: model.ll)
            lines += [OneLine(self.A, self.bs, "fit"), OneLine(self.A, self.bs, crossing.g - crossing.b)]
        return lines

    def symmetric(self) -> float:
        """Return the evidence for the best line with symmetric noise."""
        return max(line.evidence() for line in self.lines)

    def skewed_below(self, evidence: float) -> bool:
        """Tell whether evidence is above that of every line with skewed noise; the laws are dear, the bound is not."""
        m, k = len(self.A), self.A.shape[1] - 1
        D, y, price = self.A[:, :k], self.A[:, k], 0.5 * math.log(m)
        one = max(self.lines, key=OneLine.evidence)
        cases = [(y - D @ b, 0.0, True) for b in (self.bs, self.models[0].b, one.b[:k])]
        units = [fan.unit(self.A) for fan in self.lines[1:]]
        cases += [((y - D @ self.bs) / unit, float(np.log(unit).sum()), False) for unit in units]
        return not any(
            likelihood_bound(r) - shift >= evidence + (k + 4) * price
            and max(skewed_noise(r), log_concave_noise(r) if plain else -math.inf) - shift
            >= evidence + (k + 4 + (not plain)) * price
            for r, shift, plain in cases
        )


def judge(
    A: Array,
    Z: Array,
    lattices: Sequence[NDArray[np.int64]],
    best: TwoLines,
    rivals: Rivals,
) -> Found | None:
    """Return the rule that the best model of two lines amounts to, if evidence supports it."""
    k = A.shape[1] - 1
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
    lead = best.evidence() - MARGIN
    deep = gaps(r[None], DEPTH)[0].z > EVIDENCE
    enough = (
        deep
        or (valley > EVIDENCE and rivals.skewed_below(best.evidence()))
        or (lead > rivals.symmetric() and rivals.skewed_below(lead))
    )
    if bad.sum() < 2 or not enough:
        return None
    if agrees and valley > EVIDENCE and bad[beyond].sum() > 0.5 * bad.sum():
        bad = beyond.astype(float)
    elif agrees and best.form != "none" and best.w2.sum() > 0.5 * bad.sum():
        bad = best.w2
    views = x_views(Z, (best.g - best.b)[: k - 1], bad)
    apart = gap_in_x(Z, views, bad)
    seen = [*(view(Z) for view in views), best.prior, A[:, :k] @ best.b, A[:, :k] @ best.g]
    own = [*Z.T] if k <= MOST_PRODUCTS else []
    # Categories explain it, or a bend, or a place along x: the less ordinary, the less is asked for beside.

    def split() -> bool:
        return threshold_explains(A, [*seen, *own], lead)

    def bent() -> bool:
        # Noise that spreads explains no deep gap, and a few rows are no spread.
        spreads = not deep and bad.sum() > max(FEW * len(A), FEW_ROWS)
        return threshold_explains(A, level_views(lattices, bad), lead) or curve_explains(A, lead, spreads)

    empty = gaps(r[None], EMPTY)[0].z > EVIDENCE
    if apart is None and not empty and split():
        return None
    # The residuals of a curve have valleys, too, but hardly one that is empty.
    if (apart is None or not empty) and bent():
        return None
    if apart is not None and (apart(Z)[bad > 0.5].mean() > AGREED or split() or bent()):
        return Found(_sharp(lambda A: apart(A[:, :-2])), "they lie apart in x and follow another line")
    off = 1 - best.w1
    clear = bool(np.mean((off > 0.1) & (off < 0.9)) <= UNCLEAR)
    if not agrees:
        return Found(_cut(best.b, mirrored(r, signed)), _OFF_LINE)
    if not clear and (cut := deciding_cut(r, off, signed, k, best.evidence())):
        return Found(_cut(best.b, cut), _OFF_LINE)
    second = best.form != "none" and best.w2.sum() > 0.5 * off.sum()
    rule = _Posterior(best, clear, second)
    return Found(rule, "they follow another line" if second else "they follow no line", False)


def _sharp(out: Callable[[Array], Mask]) -> Rule:
    """Return the rule that takes marked rows away."""

    def rule(A: Array) -> tuple[Array, Mask]:
        gone = out(A)
        return (~gone).astype(float), gone

    return rule


def _cut(b: Array, gap: Gap) -> Rule:
    return _sharp(lambda A: gap.beyond(A[:, -1] - A[:, :-1] @ b))


@dataclass(frozen=True)
class _Posterior:
    """The rule that weighs rows by their posterior; a sharp one where hardly any row is unclear.

    What only the background claims comes back where the fit without it cannot tell, if all of that together fits.
    """

    best: TwoLines
    clear: bool
    second: bool
    fits: bool | None = None  # whether what comes back does; known once the model stays as it is

    def settle(self, A: Array, steps: int) -> _Posterior:
        """Return the rule of the model that is fitted to these rows, for all rows, block by block."""
        best = self.best.settle(A, steps)
        return replace(self, best=best, fits=_Claimed.of(best).fits(best))

    def __call__(self, A: Array) -> tuple[Array, Mask]:
        if self.fits is not None:
            full = self.best.spread(A, self.best.prior)
        else:
            full = self.best.settle(A, LONG_WAY if len(A) < 2 * FITTED * self.best.n else SHORT_WAY)
        if not self.clear or not self.second:
            return (full.w1 if self.clear else full.w1 * full.near * full.tail), full.w1 < 0.5
        claimed = _Claimed.of(full)
        gone = np.zeros_like(full.near)
        gone[claimed.some] = ~claimed.back | (not (claimed.fits(full) if self.fits is None else self.fits))
        return (~gone).astype(float), gone


class _Claimed(NamedTuple):
    """Rows that the majority's line does not claim, and which of them it cannot tell, nor the second line claims."""

    some: NDArray[np.intp]
    back: Mask

    @classmethod
    def of(cls, full: TwoLines) -> _Claimed:
        some = np.flatnonzero(full.w1 <= 0.5)
        off = np.abs(full.r1[some])
        near = off < FAR * full.s * np.sqrt(1 + leverage(full.A[some][:, :-1], full.L))
        return cls(some, near & ~((full.w2[some] >= 0.5) & (off <= FAR * full.s)))

    def fits(self, full: TwoLines) -> bool:
        """Tell whether the line explains all that come back together, as it does each of them."""
        back = self.some[self.back]
        return are_explained(full.A[back][:, :-1], full.r1[back], full.L, full.s)


# --- a table ------------------------------------------------------------------------------------------------------


def _group(members: Mask, reason: str) -> Group:
    return Group(int(members.sum()), float(members.mean()), math.nan, reason, members)


def _middles(ordered: Array) -> Array:
    """Return the median of each sorted row."""
    n = ordered.shape[1]
    return np.asarray((ordered[:, (n - 1) // 2] + ordered[:, n // 2]) / 2)


def filled_rows(S: Array, t: Array, X: Array, y: Array) -> Mask | None:
    """Mark rows that have a value filled into a column or the target, and do not follow the line of the others.

    Equality to the last digit is evidence by itself; that they follow another line, or none, makes it matter. S and t
    are the rows that are searched. None if there are none, or too many.
    """
    k = S.shape[1] + 1
    joint = np.column_stack([S, t])
    codes = filled_values(joint, ties(sorted_columns(joint)), zeros=True)
    if not codes:
        return None

    def have(X: Array, y: Array) -> Mask:
        marked: Mask = np.zeros_like(y, dtype=bool)
        for j, value in codes:
            marked |= (y if j == k - 1 else X[:, j]) == value
        return marked

    some = have(S, t)
    if some.mean() > 1 - HALF_OF_ROWS or np.count_nonzero(~some) < LEAST_PER_COLUMN * k:
        return None
    center = S[~some].mean(axis=0)
    unit = S[~some].std(axis=0)
    A = np.column_stack([(S - center) / np.where(unit > 0, unit, 1.0), np.ones(len(t)), t - np.median(t)])
    b, L = fit_weighted(A[~some])
    off = off_line(A, b, L)
    return have(X, y) if np.median(off[some]) > MISFIT * np.median(off[~some]) else None


def majority_line(
    X: Array,
    y: Array,
    seed: int = 0,
    states: Keys | None = None,
    noise: Array | None = None,
    times: Array | None = None,
) -> Line:
    """Return the weights that make least squares the answer of the majority of the rows.

    The rows that are searched are chosen by a hash of their content: neither order nor chance decides. `states` are
    those of the hashes of X, where they are known. `noise` says how many times the noise of others a row has, where
    that is known: rows are looked at in these units. Rows on a GPU stay there; what is searched comes over. `times`
    says how often rows count, which has a say in the search in tables of discrete values alone (see `majority`).
    """
    n, p = X.shape
    keys = row_keys(y[:, None], row_states(X) if states is None else states)
    size = max(SAMPLE, PER_COLUMN * (p + 1))
    some = np.argpartition(keys, size)[:size] if size < n else np.arange(n)
    some = some[np.argsort(np.asarray(keys[some]))]
    S, t = (np.asarray(part[some], dtype=float) for part in (X, y))
    first, artefacts = copies(
        np.column_stack([S, t]), np.asarray(keys[some]), keys, lambda i: np.append(np.asarray(X[i]), np.asarray(y[i]))
    )
    S, t, some = S[first], t[first], some[first]
    if times is not None and equal_by_chance(np.column_stack([S, t])):
        repeated = voices(times[some], size)
        S, t, some = S[repeated], t[repeated], some[repeated]
    stuck = np.isin(keys, artefacts) if len(artefacts) else np.zeros_like(keys, dtype=bool)
    groups = [_group(stuck, "they are copies of one row")] if stuck.any() else []
    filled = filled_rows(S, t, X, y)
    if filled is not None:
        groups.append(_group(filled & ~stuck, "one value filled into a column"))
        stuck = stuck | filled
        whole = ~np.asarray(filled[some])
        S, t, some = S[whole], t[whole], some[whole]
    m, rng = len(t), np.random.default_rng(seed)
    if m < FEWEST_ROWS * (p + 1):
        return Line((~stuck).astype(float) if m else np.ones_like(stuck, dtype=float), tuple(groups) if m else ())
    ordered, middle = sorted_columns(S), np.median(t)
    center, spread = _middles(ordered), ordered.std(axis=1)
    unit = NORMAL_MAD * _middles(np.sort(np.abs(ordered - center[:, None]), axis=1))
    unit = np.where(unit > 1e-9 * spread, unit, np.where(spread > 0, spread, 1.0))
    scale = NORMAL_MAD * float(np.median(np.abs(t - middle))) or float(t.std()) or 1.0

    def rows(X: Array, y: Array, noise: Array | None) -> Array:
        A = np.empty_like(X, shape=(len(X), p + 2), dtype=float)
        if is_device_array(X):
            for block in row_blocks(slice(0, len(X)), p, X):
                np.subtract(X[block], center, out=A[block, :p])
                A[block, :p] /= unit
            A[:, p] = 1.0
            A[:, p + 1] = (y - middle) / scale
        else:
            in_units(X, y, center, unit, middle, scale, A)
        return A if noise is None else A / noise[:, None]

    A = rows(S, t, None if noise is None else noise[some])
    least = HALF_OF_ROWS / (1 - float(stuck.mean())) * m if m else 0.0
    found: list[Found] = []
    removed: list[NDArray[np.intp]] = []
    distances: list[float] = []
    left, divided, classes = np.ones(m, bool), True, False
    for _ in range(ROUNDS):
        group = find_group(A[left], rng, -middle / scale, divided) or few_of_small_table(A[left], -middle / scale)
        if group is None:
            break
        divided = group.divided  # where all rows have no valley of x, those that are left have none
        weights, gone = group.rule(A[left])
        if not gone.any():
            break
        b = fit_weighted(A[left], weights)[0]
        distances.append(float(np.median(np.abs(A[left][gone] @ np.append(-b, 1.0)))))
        if weights.sum() < least:
            # No part has the majority: the groups are classes, and none is left out that is not far from all.
            found, classes = found[: before_peers(distances)], True
            for places in removed[len(found) :]:
                left[places] = True
            break
        found.append(group)
        removed.append(np.flatnonzero(left)[gone])
        left[removed[-1]] = False
    W = (~stuck).astype(float)  # copies have the weight of the row that stood for them
    by_row = all(group.by_row for group in found) or (n > FITTED * m and not is_device_array(X))
    rules: list[Rule] = []
    if by_row and not all(group.by_row for group in found):
        # Models are fitted to more rows than were searched, so that they do not make the answer less certain: its
        # variance grows by less than a twentieth.
        clear = all(group.by_row or (isinstance(group.rule, _Posterior) and group.rule.clear) for group in found)
        size = max(FITTED * m, n // (CLEAR_PART if clear else UNCLEAR_PART))
        first, last = np.partition(keys, (FITTED * m, size - 1))[[FITTED * m, size - 1]]
        most = np.flatnonzero(keys <= last)  # in the order of the rows, which are found sooner so
        early = keys[most] < first  # with the others few steps are left
        whole = ~np.asarray(stuck[most])
        early, most = early[whole], most[whole]
        others = None if noise is None else noise[most]
        among = rows(np.asarray(X[most], dtype=float), np.asarray(y[most], dtype=float), others)
        for group in found:
            rule = group.rule
            if isinstance(rule, _Posterior):
                rule = rule.settle(among[early], LONG_WAY)
                rule = rule if early.all() else rule.settle(among, SHORT_WAY)
            rules.append(rule)
            if len(rules) < len(found):
                stays = ~rule(among)[1]
                among, early = among[stays], early[stays]
    elif by_row:
        rules = [group.rule for group in found]
    b, L = fit_weighted(A[left])
    lengths, sizes, shares = np.empty_like(W), np.empty_like(W), np.ones_like(W)
    marks = [np.zeros_like(stuck) for _ in rules]

    def judge(tile: slice) -> None:
        for block in row_blocks(tile, p, X):
            others = None if noise is None else noise[block]
            if is_device_array(X):
                A = rows(X[block], y[block], others)
                lengths[block] = np.abs(A[:, -1] - A[:, :-1] @ b)
                sizes[block] = np.sqrt(squared_lengths(A[:, :p]))
            else:
                line_distances(X[block], y[block], center, 1 / unit, b, middle, scale, lengths[block], sizes[block])
                if others is not None:
                    lengths[block] /= others
                    sizes[block] /= others
                A = rows(X[block], y[block], others) if rules else lengths[:0, None]
            left_now = np.ones_like(stuck[block])
            for mark, rule in zip(marks, rules, strict=True):  # each judges what those before it have left
                weights, gone = rule(A)
                mark[block] = gone & left_now
                shares[block] = shares[block] * np.where(left_now, weights, 1.0)
                left_now = left_now & ~gone

    if m < n or by_row:
        over_rows(judge, n, p, X)
    if m < n:
        # A few far rows may be none of the sample: they are told by the line of what the search left, less what is not
        # known of it where they lie. Far from the line, or far in x and not on it.
        known = L * math.sqrt(n / np.count_nonzero(left))  # as all rows would know it
        usual = NORMAL_MAD * float(np.median(np.abs(A[left, -1] - A[left, :-1] @ b)))
        told = ~stuck if stuck.any() else slice(None)
        away = max(gap(lengths[told]), ROUNDING)
        gone = np.zeros_like(stuck)
        for far, limit in ((lengths > away, away), (sizes > gap(sizes[told]), max(FAR * usual, ROUNDING))):
            some = np.flatnonzero(far & ~stuck)
            if 0 < len(some) <= FEW * n:
                those = rows(X[some], y[some], None if noise is None else noise[some])
                gone[some] |= off_line(those, b, known) > limit
        if gone.any():
            groups.append(_group(gone, _FAR_ROWS))
            W[gone] = 0.0
    for mark, group in zip(marks, found, strict=False):
        groups.append(_group(mark & (W > 0), group.reason))
    W *= shares
    A = A if by_row else rows(X, y, noise)
    for group in () if by_row else found:
        there = np.flatnonzero(W > 0)
        weights, gone = group.rule(A[there] if len(there) < n else A)
        members = np.zeros_like(stuck)
        members[there[gone]] = True
        groups.append(_group(members, group.reason))
        W[there] *= weights
    believed = n - sum(group.rows for group in groups)
    if found and min(float(W.sum()), believed) < HALF_OF_ROWS * n:  # nor has any part of all rows
        return Line((~stuck).astype(float), tuple(groups[: int(bool(stuck.any()))]), True)
    return Line(W, tuple(groups), classes)
