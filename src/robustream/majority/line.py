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
from typing import Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from robustream.majority.columns import LATTICE, copies, row_keys, spread_lattice
from robustream.majority.evidence import Array, valleys
from robustream.majority.points import VALLEY as EVIDENCE
from robustream.majority.points import Group, gap

Mask = NDArray[np.bool_]
Form = Literal["free", "flat", "parallel", "none"]
# Takes rows (design and target, in the units of the search) to their weights, and marks those that are left out.
Rule = Callable[[Array], tuple[Array, Mask]]

SAMPLE, PER_COLUMN = 1000, 20  # rows searched: 8 for each coefficient of the smaller of two lines at 60:40
RACERS, PER_COLUMN_RACERS = 500, 8  # rows that the race of starts uses
LEAST_PER_COLUMN = 5  # rows for each coefficient below which nothing can be told: plain
ROUNDS = 6  # most groups that are taken away one after another
LEVEL = 3.0  # z score of the score tests and of Hausman's that least squares has to pass
MARGIN, GAIN = 5.0, 0.015  # log likelihood, and that for each row, by which two lines must beat every honest rival
SHALLOW = 0.6  # depth of a gap: less than for points, since a second line has to agree with it
BACKGROUND = 20.0  # width, in scales of the residuals of least squares, that the constant density spreads over
NARROWEST = 0.05  # ratio of the smaller line's noise to the other's; the likelihood is unbounded without (Hathaway)
WIDEST = 1.5  # noise wider than this, in scales of y, is no line's: it may hold most rows and is not the majority
LOCAL = 0.5  # a line is fitted where most rows at their distance follow it: the majority's rule, applied locally
DECIDED = 0.5  # share of the membership of bad rows that one view of x explains: x decides, then
ATOM = 0.1  # share of the rows with one and the same value that makes having it a category
AGREED, COVERED = 0.8, 0.25  # shares of rows on which two ways to tell bad rows agree, and that one of them covers
FAR = 3.5  # residual scales (1 normal row in 2,000) beyond which a row is no part of the line
SKEWED = 5.0  # z score of the skewness of the majority's residuals, from which on groups are cut at the valley
UNCLEAR = 0.05  # share of rows with posterior between 0.1 and 0.9 from which on good and bad rows overlap
FEW = 0.02  # share of the rows up to which those beyond a gap are a few; more are a bend or a group
ROUNDING = 1e-6  # scales of y: residuals of an exact fit are no distances
LEAST = 0.45  # least share of the rows that may be the majority
HEAVY = 3.0  # degrees of freedom up to which weights are worth it: least squares has half of their efficiency or less
TAILS = (1.0, 2.0, 3.0, 5.0, 10.0, 30.0)  # degrees of freedom of t noise: a coarse grid, Cauchy to nearly normal
MODES = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98])
RACE, LONG, SHORT = 6, 20, 5  # steps of a start, of the two best, of a variant of the winner
SAME, SETTLED = 2.0, 0.05  # log likelihoods of two starts that are one optimum; gain that ends the steps
RIDGE = 1e-9  # of a column's square: numerical rank
NORMAL_MAD = 1.482602218505602
LOG_2PI = math.log(2 * math.pi)


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


# --- weighted least squares in Cholesky factors -------------------------------------------------------------------


@njit(cache=True)
def _scaled(A: Array, w: Array, out: Array) -> None:
    for i in range(len(A)):
        root = math.sqrt(w[i])
        for j in range(A.shape[1]):
            out[i, j] = root * A[i, j]


def fit_weighted(A: Array, w: Array | None = None) -> tuple[Array, Array]:
    """Return least squares of the last column on the others, and the Cholesky factor of their products."""
    S = A
    if w is not None:
        S = np.empty_like(A)
        _scaled(A, w, S)
    G = S.T @ S
    k = len(G) - 1
    H, d = G[:k, :k].copy(), G.diagonal()[:k]
    H.flat[:: k + 1] += RIDGE * np.maximum(d, RIDGE * len(A)) + 1e-300
    L, failed = dpotrf(H, lower=1)
    if failed:
        H.flat[:: k + 1] += 1e-6 * (d + 1e-6 * len(A))
        L, failed = dpotrf(H, lower=1)
    return dpotrs(L, G[:k, k], lower=1)[0], L


def leverage(D: Array, L: Array) -> Array:
    """Return d' (L L')^-1 d of each row."""
    Z = dtrtrs(L, D.T, lower=1)[0]
    return np.einsum("ij,ij->j", Z, Z)


def smaller_half(a: Array) -> Mask:
    """Mark the smaller half of the values."""
    return a <= np.partition(a, len(a) // 2)[len(a) // 2]


# --- laws of the noise --------------------------------------------------------------------------------------------


@njit(cache=True)
def _t_constant(nu: float) -> float:
    return math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu / 2)


@njit(cache=True)
def t_noise(r: Array, w: Array, s: float) -> tuple[float, float, float]:
    """Return log likelihood, degrees of freedom and scale of weighted residuals; normal unless t pays for itself."""
    total = w.sum()
    v = 0.0
    for i in range(len(r)):
        v += w[i] * r[i] ** 2
    v = v / total + 1e-300
    best = (-0.5 * total * (LOG_2PI + math.log(v) + 1), math.inf, math.sqrt(v))
    enough = best[0] + 0.5 * math.log(total + 1)  # Schwarz's penalty for a parameter
    v = s * s
    for nu in TAILS:
        for _ in range(4):
            new = 0.0
            for i in range(len(r)):
                q = r[i] ** 2
                new += w[i] * q * (nu + 1) / (nu + q / v)
            v = new / total + 1e-300
        ll = 0.0
        for i in range(len(r)):
            ll += w[i] * math.log1p(r[i] ** 2 / (nu * v))
        ll = total * (_t_constant(nu) - 0.5 * (LOG_2PI + math.log(v))) - (nu + 1) / 2 * ll
        if ll > best[0] and ll > enough:
            best = (ll, nu, math.sqrt(v))
    return best


@njit(cache=True)
def _two_piece(S: Array, modes: Array) -> float:
    best, n = -1e300, len(S)
    for mode in modes:
        for nu in (1.5, 3.0, 6.0, 20.0, np.inf):
            left, right = 0.0, 0.0
            for i in range(n):
                d = S[i] - mode
                if d < 0:
                    left += d * d
                else:
                    right += d * d
            s1, s2 = 1.0, 1.0
            for _ in range(5):
                # The scales that maximise the likelihood of a two-piece normal law, s1^3 / left = s2^3 / right.
                ratio = (right / (left + 1e-300)) ** (1 / 3)
                s1 = max(math.sqrt(left * (1 + ratio) / n), 1e-9)
                s2 = max(ratio * s1, 1e-9)
                if np.isinf(nu):
                    break
                left, right = 0.0, 0.0
                for i in range(n):
                    d = S[i] - mode
                    if d < 0:
                        left += (nu + 1) * d * d / (nu + d * d / (s1 * s1))
                    else:
                        right += (nu + 1) * d * d / (nu + d * d / (s2 * s2))
            ll = n * math.log(2 / (s1 + s2))
            if np.isinf(nu):
                ll -= 0.5 * n * LOG_2PI
                for i in range(n):
                    d = S[i] - mode
                    ll -= 0.5 * (d / (s1 if d < 0 else s2)) ** 2
            else:
                ll += n * (_t_constant(nu) - 0.5 * LOG_2PI)
                for i in range(n):
                    d = S[i] - mode
                    ll -= (nu + 1) / 2 * math.log1p((d / (s1 if d < 0 else s2)) ** 2 / nu)
            best = max(best, ll)
    return best


def skewed_noise(r: Array) -> float:
    """Return the log likelihood of residuals under the two-piece t law that fits best, its mode among quantiles."""
    S = np.sort(r)
    return float(_two_piece(S, np.quantile(S, MODES)))


@njit(cache=True)
def _posteriors(
    r1: Array,
    r2: Array,
    prior: Array,
    other: Mask,
    s: float,
    t: float,
    q: float,
    c: float,
    nu: float,
    w1: Array,
    w2: Array,
    tail: Array,
) -> float:
    """Fill in the posteriors of the two lines and the weights of the t law; return the log likelihood."""
    ll, normal = 0.0, math.isinf(nu)
    front = 1.0 if normal else math.exp(_t_constant(nu))
    for i in range(len(r1)):
        z2 = (r1[i] / s) ** 2
        if normal:
            f1 = math.exp(-0.5 * z2)
            tail[i] = 1.0
        else:
            f1 = front * math.exp(-(nu + 1) / 2 * math.log1p(z2 / nu))
            tail[i] = (nu + 1) / (nu + z2)
        f1 *= prior[i] / s
        f2 = (1 - prior[i]) * q / t * math.exp(-0.5 * (r2[i] / t) ** 2) if other[i] else 0.0
        total = f1 + f2 + (1 - prior[i]) * (1 - q) * c + 1e-300
        w1[i], w2[i] = f1 / total, f2 / total
        ll += math.log(total)
    return ll - 0.5 * len(r1) * LOG_2PI


# --- two lines ----------------------------------------------------------------------------------------------------


def _logistic(f: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(f, -30, 30)))


def _fit_gate(Z: Array, w: Array, a: Array) -> Array:
    """Return the logistic regression of posteriors on log distances, signs fixed; flat where it gains too little."""
    n, m = len(w), float(np.clip(w.mean(), 0.01, 0.99))
    flat = np.array([math.log(m / (1 - m)), 0.0, 0.0])
    best, most = flat, 0.0
    score = (w - m) @ Z[:, 1:]
    spread = m * (1 - m) * np.einsum("ij,ij->j", Z[:, 1:], Z[:, 1:]) + 1e-300
    if not a[1:].any() and max(-score[0] / math.sqrt(spread[0]), score[1] / math.sqrt(spread[1])) ** 2 < math.log(n):
        return flat  # the score says already that there is nothing to gain
    for on in ([0, 1, 2], [0, 1], [0, 2]) if Z[:, 2].any() else ([0, 1],):
        x, f = Z[:, on], np.where(np.array([0.0, -1.0, 1.0]) * a >= 0, a, 0.0)[on]
        for _ in range(4):
            prior = _logistic(x @ f)
            H = (x * (prior * (1 - prior) + 1e-3)[:, None]).T @ x + 0.01 * np.eye(len(on))
            f = f + np.linalg.solve(H, x.T @ (w - prior) - 0.01 * f)
        new = np.zeros(3)
        new[on] = f
        logit = np.clip(x @ f, -30, 30)
        gain = w @ logit - np.log1p(np.exp(logit)).sum() - n * (m * flat[0] - math.log1p(math.exp(flat[0])))
        gain -= 0.5 * (len(on) - 1) * math.log(n)
        if new[1] <= 0 <= new[2] and gain > most:
            best, most = new, gain
    return best


class TwoLines:
    """The model of this page for rows A = (x, 1, y), by expectation maximisation from posteriors `w1`, `w2`."""

    def __init__(
        self,
        A: Array,
        w1: Array,
        w2: Array,
        c: float,
        floor: float,
        form: Form = "free",
        nu: float = math.inf,
        steps: int = 0,
    ) -> None:
        self.A, self.w1, self.w2, self.c, self.floor, self.form, self.nu = A, w1, w2, c, floor, form, nu
        self.n, self.k = len(A), A.shape[1] - 1
        self.a: Array = np.zeros(3)
        self.ll, self.steps = -math.inf, steps
        self.near: Mask = np.ones(self.n, bool)  # where, by x alone, either line has its rows
        self.other: Mask = np.ones(self.n, bool)
        self.tail = np.ones(self.n)
        self.s = self.t = self.shift = 0.0

    def maximise(self) -> None:
        """Fit both lines and their noise to the posteriors."""
        A, k = self.A, self.k
        D, y = A[:, :k], A[:, k]
        both = self.form == "parallel"
        u = self.w1 * self.tail if both else self.w1 * self.near * self.tail
        w2 = self.w2 if both else self.w2 * self.other
        self.n1, self.n2 = max(float((self.w1 * self.near).sum()), 1e-9), max(float(w2.sum()), 1e-9)
        if both and self.s > 0:
            # One line for both: rows of the second count by their noise, never more than those of the first.
            v = self.w2 * min(1.0, (self.s / self.t) ** 2)
            B = A.copy()
            B[:, k] -= self.shift * v / (u + v + 1e-300)
            self.u = u + v
            self.b, self.L = fit_weighted(B, self.u)
        else:
            self.u = u
            self.b, self.L = fit_weighted(A, u)
        self.r1 = y - D @ self.b
        u1 = self.w1 if both else self.w1 * self.near
        lost = k * (u1.sum() / self.n if both else 1.0)
        size = float(u1.sum())
        self.s = math.sqrt(float((u1 * self.tail) @ self.r1**2) / max(size - lost, size / 4, 1e-9)) + 1e-12
        lost = 1.0
        if self.form == "free":
            self.g, self.L2 = fit_weighted(A, w2)
            lost = k
        elif self.form == "flat":
            self.g = np.zeros(k)
            self.g[k - 1] = w2 @ y / self.n2
        else:
            self.shift = float(w2 @ self.r1) / self.n2
            self.g = self.b.copy()
            self.g[k - 1] += self.shift
        self.r2 = y - D @ self.g
        self.t = math.sqrt(float(w2 @ self.r2**2) / max(self.n2 - lost, self.n2 / 4)) + 1e-12
        narrow = NARROWEST * max(self.s, self.t)  # of the smaller part only
        self.s = max(self.s, narrow if self.n1 < self.n2 else 0.0, self.floor)
        self.t = max(self.t, narrow if self.n2 <= self.n1 else 0.0, self.floor)

    def _distance(self, A: Array, L: Array, total: float, w: Array | float = 0.0) -> Array:
        """Return the log distance in x from a group, by a scatter in which the row itself (of weight w) has no part."""
        h = leverage(A[:, : self.k], L)
        return 0.5 * np.log(total * h / np.maximum(1 - w * h, 1e-6) + 1e-12)

    def open_gate(self, refresh: bool) -> None:
        """Work out the prior of each row, with the gate fitted anew if wanted."""
        if refresh:
            second = None
            if self.form != "none" and self.n2 > self.k:
                second = self.L2 if self.form == "free" else fit_weighted(self.A, self.w2 * self.other)[1]
            # Where there is no second scatter its share of the gate is 0.
            self.scatters = ((self.L, self.n1), (self.L if second is None else second, self.n2))
            Z = np.ones((self.n, 3))
            Z[:, 1] = self._distance(self.A, self.L, self.n1, self.u)
            Z[:, 2] = 0.0 if second is None else self._distance(self.A, second, self.n2, self.w2 * self.other)
            self.middle = Z[:, 1:].mean(axis=0)
            Z[:, 1:] -= self.middle
            self.a = _fit_gate(Z, self.w1, self.a)
            self.Z = Z
        if self.a[1:].any():
            self.prior = _logistic(self.Z @ self.a)
        else:
            self.prior = np.full(self.n, np.clip(self.w1.mean(), 0.01, 0.99))
        self._local()
        q = self.w2.sum() / max(self.n - self.w1.sum(), 1e-9)
        self.q = 0.0 if self.form == "none" else float(np.clip(q, 0.01, 0.99))

    def _local(self) -> None:
        self.near = self.prior > LOCAL * self.prior.max()
        self.other = 1 - self.prior > LOCAL * (1 - self.prior.min())

    def expect(self) -> float:
        """Work out the posteriors; return by how much the log likelihood rose."""
        self.w1, self.w2, self.tail = np.empty(self.n), np.empty(self.n), np.empty(self.n)
        before = self.ll
        self.ll = _posteriors(
            self.r1,
            self.r2,
            self.prior,
            self.other,
            self.s,
            self.t,
            self.q,
            self.c,
            self.nu,
            self.w1,
            self.w2,
            self.tail,
        )
        return self.ll - before

    def run(self, steps: int, swap: bool = False) -> TwoLines:
        """Take steps until the likelihood has settled; let the line with more rows be the first."""
        for step in range(steps):
            self.maximise()
            refresh = self.steps % 3 == 2
            self.open_gate(refresh)
            self.steps += 1
            if abs(self.expect()) < SETTLED and refresh and step > 1:
                break
        if swap and self.w2.sum() > self.w1.sum() and self.t < WIDEST:
            self.w1, self.w2, self.a = self.w2, self.w1, -self.a[[0, 2, 1]]
            self.near = self.other = np.ones(self.n, bool)
            self.tail = np.ones(self.n)
            if self.steps > 2:
                self.Z = self.Z[:, [0, 2, 1]].copy()
            self.steps = 1
            return self.run(steps)
        return self

    def evidence(self) -> float:
        """Return the log likelihood less half of Schwarz's penalty."""
        second = {"free": self.k + 2, "flat": 3, "parallel": 3, "none": 0}[self.form]
        size = self.k + 2 + second + np.count_nonzero(self.a[1:]) + math.isfinite(self.nu)
        return self.ll - 0.5 * size * math.log(self.n)

    def spread(self, A: Array) -> TwoLines:
        """Return the same model with the posteriors of other rows."""
        full = TwoLines(A, self.w1, self.w2, self.c, self.floor, self.form, self.nu, steps=2)
        for name in ("b", "g", "s", "t", "q", "a", "L", "shift", "scatters", "middle"):
            if hasattr(self, name):
                setattr(full, name, getattr(self, name))
        f = np.full(full.n, self.a[0])
        if not self.a[1:].any():
            f[:] = math.log(self.prior[0] / (1 - self.prior[0]))
        for j in (0, 1):
            if self.a[1 + j]:
                f += self.a[1 + j] * (full._distance(A, *self.scatters[j]) - self.middle[j])
        full.prior = _logistic(f)
        full._local()
        full.r1, full.r2 = A[:, -1] - A[:, :-1] @ self.b, A[:, -1] - A[:, :-1] @ self.g
        full.expect()
        return full

    def settle(self, A: Array, passes: int) -> TwoLines:
        """Return the model on all rows, after a few steps with the gate as it is."""
        full = self.spread(A)
        for _ in range(passes):
            before = full.b
            full.maximise()
            full.expect()
            d = full.L.T @ (full.b - before)
            if d @ d < (0.1 * full.s) ** 2 * full.k:
                break
        return full


# --- honest rivals ------------------------------------------------------------------------------------------------


class OneLine:
    """One line with t noise of variance v0 + v1 o^2: constant, or growing with the fit or along a direction."""

    def __init__(self, A: Array, b: Array, fan: Literal["fit"] | Array | None = None) -> None:
        self.fan, self.k, self.b, self.slope, self.s, self.n = fan, A.shape[1] - 1, b, 0.0, 1.0, len(A)
        for _ in range(3):
            r, o2 = A[:, self.k] - A[:, : self.k] @ self.b, self._opening(A)
            v: Array = np.ones(len(A))
            for _ in range(0 if fan is None else 4):  # squared residuals on squared opening (Carroll and Ruppert)
                u, q = 1 / v**2, np.minimum(r * r, 9 * v) if self.slope else r * r
                mo, mq = u @ o2 / u.sum(), u @ q / u.sum()
                slope = max((u * (o2 - mo)) @ q / max((u * (o2 - mo)) @ o2, 1e-300), 0.0)
                level = max(mq - slope * mo, 1e-2 * mq, 1e-300)
                self.slope = slope / level
                v = level * (1 + self.slope * o2)
            v = 1 + self.slope * o2
            self.ll, self.nu, self.s = t_noise(r / np.sqrt(v), np.ones(len(A)), self.s)
            self.ll -= 0.5 * np.log(v).sum()
            self.b = fit_weighted(A, self._weights(r, v))[0]

    def _opening(self, A: Array) -> Array:
        if self.fan is None:
            return np.zeros(len(A))
        o = A[:, : self.k] @ (self.b if isinstance(self.fan, str) else self.fan)
        o2 = (o - np.median(o)) ** 2 if isinstance(self.fan, str) else o * o
        return o2 / (np.mean(o2) + 1e-300)

    def _weights(self, r: Array, v: Array) -> Array:
        return (
            ((self.nu + 1) / (self.nu + (r / self.s) ** 2 / v) if math.isfinite(self.nu) else 1.0) / v * np.ones(len(r))
        )

    def evidence(self) -> float:
        """Return the log likelihood less half of Schwarz's penalty."""
        extra = 0 if self.fan is None else 1 if isinstance(self.fan, str) else self.k
        return self.ll - 0.5 * (self.k + 1 + math.isfinite(self.nu) + extra) * math.log(self.n)

    def unit(self, A: Array) -> Array:
        """Return the scale of the noise of each row, up to a factor."""
        return np.sqrt(1 + self.slope * self._opening(A))

    def weights(self, A: Array) -> Array:
        """Return the weights that rows have in the fit, at most 1."""
        w = self._weights(A[:, self.k] - A[:, : self.k] @ self.b, 1 + self.slope * self._opening(A))
        return w / max(float(w.max()), 1e-300)


def looks_normal(r: Array, fit: Array, h: Array) -> bool:
    """Tell by score tests whether residuals show no skewness, no tails, and nothing that goes with fit or leverage."""
    z = r / (np.sqrt(np.mean(r * r)) + 1e-300)
    q = z * z - 1
    tests = [np.mean(q * z) / math.sqrt(6), np.mean(q * q - 2) / math.sqrt(24)]
    for a in ((fit - fit.mean()) ** 2, h):
        a = a - a.mean()
        size = math.sqrt(np.mean(a * a)) + 1e-300
        tests += [np.mean(a * z) / size, np.mean(a * q) / size / math.sqrt(2)]
    return bool(np.max(np.abs(tests)) * math.sqrt(len(r)) < LEVEL and z.max() < 5 and z.min() > -5)


def within_chance(difference: Array, L: Array, s: float) -> bool:
    """Tell whether two fits differ by no more than the noise of the less efficient one explains (Hausman's test)."""
    d = L.T @ difference
    return bool(d @ d / s**2 < len(d) + LEVEL * math.sqrt(2 * len(d)))


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
    if 0 < np.mean(np.abs(best.r1) > far) < FEW:
        return Found(
            _sharp(lambda A: np.abs(A[:, -1] - A[:, :-1] @ b) > far), "a few lie far from the others' line", False
        )
    # Symmetric heavy tails: weights gain efficiency and move nothing but by chance.
    heavy = rivals[0]
    normal = -0.5 * m * (LOG_2PI + 2 * math.log(s0) + 1) - 0.5 * (k + 1) * math.log(m)
    if (
        one is heavy
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
    enough = signed.z > EVIDENCE or (valley > EVIDENCE and best.evidence() > skewed)
    if bad.sum() < 2 or not (enough or best.evidence() > max(rival, skewed) + MARGIN + GAIN * m):
        return None
    if agrees and valley > EVIDENCE and bad[beyond].sum() > 0.5 * bad.sum():
        bad = beyond.astype(float)
    elif agrees and best.form != "none" and best.w2.sum() > 0.5 * bad.sum():
        bad = best.w2
    views = x_views(Z, (best.g - best.b)[: k - 1], bad)
    apart = gap_in_x(Z, views, bad)
    place = by_places([*(view(Z) for view in views), best.prior, A[:, :k] @ best.b, A[:, :k] @ best.g], bad)
    if by_levels(columns, bad) > DECIDED or (place and apart is None and signed.z < EVIDENCE):
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
        if far.any() and far.mean() < FEW:
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
