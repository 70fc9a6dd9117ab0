"""Majority."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, polygamma

from robustream.majority.duplicates import copied, row_keys, spread_lattice
from robustream.majority.cells import cell_limits, fill
from robustream.majority.evidence import CLEAR, second_scale, shortest_half, valleys

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROWS = 1500
VALLEY = 2.5
SCALE = 2.0
HALF = 0.53
DEEP = 0.2
STRONG = 5.0
AXES = 8
STARTS = 12
STEPS = 30
SUPPORT = 20
HEAVY = 6.0
CHANCE = 1e-3
SIGMAS = 3.5
FEW = 0.05
TAIL = 6.0
DOF = np.geomspace(0.2, HEAVY, 200)
TRIGAMMA = polygamma(1, DOF / 2)
INFO: dict = {}


class Group(NamedTuple):
    rows: int
    share: float
    distance: float
    reason: str
    members: Mask


class Majority(NamedTuple):
    center: Array
    scatter: Array
    weights: Array
    groups: tuple[Group, ...]
    cells: Mask | None
    plain: bool


class Rule(NamedTuple):
    """Rows whose projection (or its length, where there are several columns) is not within (low, high] are cut off."""

    evidence: float
    center: Array
    axes: Array
    low: float
    high: float
    depth: float
    reason: str

    def cuts(self, rows: Array) -> Mask:
        z = (rows - self.center) @ self.axes
        s = z[:, 0] if z.shape[1] == 1 else radius(z)
        return (s <= self.low) | (s > self.high)


def lengths(z: Array) -> Array:
    return np.einsum("ij,ij->i", z, z)


def radius(z: Array) -> Array:
    """Return the cube root of the mean square of each row: nearly normal for normal rows (Wilson and Hilferty)."""
    return np.cbrt(lengths(z) / z.shape[1])


class Law:
    """Centre, scatter and whitening of weighted rows, shrunk to a prior scatter worth k rows."""

    def __init__(self, rows: Array, weights: Array, prior: Array | None = None) -> None:
        k = rows.shape[1]
        self.size = weights.sum()
        self.center = weights @ rows / self.size
        deviations = (rows - self.center) * np.sqrt(weights)[:, None]
        product = deviations.T @ deviations
        self.scatter = product / self.size if prior is None else (product + k * prior) / (self.size + k)
        ridge = 1e-9 * np.trace(self.scatter) / k + 1e-300
        lower = np.linalg.cholesky(self.scatter + ridge * np.eye(k))
        self.whitening = np.linalg.inv(lower).T
        self.log_determinant = 2 * np.log(np.diag(lower)).sum()

    def white(self, rows: Array) -> Array:
        return (rows - self.center) @ self.whitening

    def log_density(self, d: Array, nu: float) -> Array:
        k = len(self.center)
        if np.isinf(nu):
            return -0.5 * (d + self.log_determinant + k * np.log(2 * np.pi))
        constant = gammaln((nu + k) / 2) - gammaln(nu / 2) - k / 2 * np.log(nu * np.pi)
        return constant - 0.5 * self.log_determinant - (nu + k) / 2 * np.log1p(d / nu)


def principal(rows: Array) -> tuple[Array, Array]:
    """Return centre and whitening axes of rows, the widest first, four rows to an axis at least.

    Weights 1 / (1 + d / median d): a few wild rows must not have axes for themselves, and hide there.
    """
    d = lengths(rows)
    w = 1 / (1 + d / max(np.median(d), 1e-300))
    center = w @ rows / w.sum()
    v = (rows - center) * np.sqrt(w)[:, None]
    values, vectors = np.linalg.eigh(v.T @ v / w.sum())
    use = values > 1e-9 * values[-1]
    use[: -max(len(rows) // 4, 1)] = False
    return center, (vectors[:, use] / np.sqrt(values[use]))[:, ::-1]


def fourth(z: Array) -> Array:
    """Return the axes of the fourth moment of white rows, the lightest first; far rows are capped."""
    d = lengths(z)
    a = z * np.sqrt(np.minimum(d, 4 * np.median(d)))[:, None]
    return np.linalg.eigh((a.T @ a).astype(float))[1].astype(z.dtype)


def climb(z: Array, directions: Array) -> Array:
    """Return directions that climbed the skewness (first half) or the kurtosis of their projections."""
    h = directions.shape[1] // 2
    w = directions / np.maximum(np.linalg.norm(directions, axis=0), 1e-12)
    for _ in range(6):
        s = np.clip(z @ w, -8, 8)
        g = s * s
        g[:, h:] *= s[:, h:]
        w = z.T @ g
        w /= np.maximum(np.linalg.norm(w, axis=0), 1e-12)
    return w


def find_valley(rows: Array) -> Rule:
    """Return the rule that cuts off the most evident group."""
    center, axes = principal(rows)
    z = ((rows - center) @ axes).astype(np.float32)
    k = z.shape[1]
    f, eye = fourth(z), np.eye(k, dtype=np.float32)
    spaces = [eye] + [a for j in (2, 4, 8) if j < k for a in (eye[:, :j], f[:, -j:], f[:, :j])]
    lines = [f[:, :3], f[:, -3:], climb(z, z[:: max(len(z) // STARTS, 1)][:STARTS].T), eye[:, :AXES]]
    if k > 2 * AXES:  # a group that is far in raw units shows in the leading axes, and is lost among many
        lead = np.ascontiguousarray(z[:, :AXES])
        g = fourth(lead)
        g = np.hstack([g, climb(lead, np.hstack([g, g]))])
        lines.append(np.vstack([g, np.zeros((k - AXES, g.shape[1]), np.float32)]))
    directions = np.hstack(lines)
    radii = [radius(rows - center)] + [radius(z @ a) for a in spaces]
    found = valleys(np.vstack([*radii, (z @ directions).T]), len(radii))
    b = int(np.argmax(found[:, 0]))
    if b == 0:
        chosen = np.eye(rows.shape[1])
    else:
        chosen = axes @ (spaces[b - 1] if b < len(radii) else directions[:, [b - len(radii)]]).astype(float)
    reason = "a gap in the distance from the centre" if b < len(radii) and chosen.shape[1] > 1 else "a gap in one direction"
    return Rule(float(found[b, 0]), center, chosen, float(found[b, 1]), float(found[b, 2]), float(found[b, 3]), reason)


def drawn(p: Array) -> Mask:
    """Return rows drawn with probabilities p, evenly (golden ratio)."""
    return p > np.arange(len(p)) * 0.6180339887498949 % 1


def degrees_of_freedom(d: Array, k: int) -> float:
    """Return the t law's degrees of freedom from the variance of log distances, if the kurtosis is not normal."""
    excess = np.mean(d * d) / max(np.mean(d), 1e-300) ** 2 * k * k - k * (k + 2)
    spread = np.var(np.log(np.maximum(d, 1e-300))) - polygamma(1, k / 2)
    if excess < SIGMAS * np.sqrt(8 * k * (k + 2) / len(d)) or spread <= TRIGAMMA[-1]:
        return np.inf
    return float(np.interp(-spread, -TRIGAMMA, DOF))


def elliptical(z: Array) -> bool:
    """Return whether far rows of a white sample point everywhere alike.

    Cosines c of pairs of directions that are uniform on the sphere are uncorrelated with means 0, 1/k and 3/(k(k+2))
    of their first, second and fourth powers: three U-statistics for lean, turn and axes of independent heavy tails.
    """
    r = lengths(z)
    k = z.shape[1]
    far = z[np.argsort(r)[-max(len(z) // 4, 8) :]]
    m = len(far)
    if k < 2 or m < 8:
        s = far[:, 0] > 0
        return bool(abs(s.sum() - m / 2) < SIGMAS * np.sqrt(m) / 2)
    s = far / np.sqrt(np.maximum(lengths(far), 1e-300))[:, None]
    c = (s @ s.T)[np.triu_indices(m, 1)]
    square = c * c
    second, fourth_, eighth = 1 / k, 3 / (k * (k + 2)), 105 / (k * (k + 2) * (k + 4) * (k + 6))
    scale = np.sqrt(len(c))
    tests = (
        c.mean() / np.sqrt(second),
        (square.mean() - second) / np.sqrt(fourth_ - second**2),
        (np.mean(square * square) - fourth_) / np.sqrt(eighth - fourth_**2),
    )
    INFO["elliptical"] = [round(float(t * scale), 1) for t in tests]
    return bool(max(tests) * scale < SIGMAS)


def posterior(laws: list[Law], d: list[Array], nu: float) -> Array:
    if len(laws) == 1:
        return np.ones((1, len(d[0])))
    log = np.stack([np.log(law.size) + law.log_density(e, nu) for law, e in zip(laws, d)])
    e = np.exp(log - log.max(axis=0))
    return e / e.sum(axis=0)


def mixture(rows: Array, shares: Array) -> tuple[list[Law], float, Array]:
    """Fit the majority (first row of shares) and the groups as t laws with common tails, by EM: laws, nu, posterior."""
    groups, k = shares.shape[0], rows.shape[1]
    t = np.ones(len(rows))
    for _ in range(STEPS):
        laws = [Law(rows, shares[0] * t + 1e-12)]
        laws[0].size = shares[0].sum()
        if groups > 1:
            prior = Law(rows, 1 - shares[0] + 1e-12).scatter
            laws += [Law(rows, shares[g] + 1e-12, prior) for g in range(1, groups)]
        d = [lengths(law.white(rows)) for law in laws]
        before = shares[0] * t
        nu = degrees_of_freedom(d[0][drawn(shares[0])], k)
        shares = posterior(laws, d, nu)
        t = np.ones(len(rows)) if np.isinf(nu) else (nu + k) / (nu + d[0])
        if np.abs(shares[0] * t - before).sum() < 2e-3 * before.sum():
            break
    return laws, nu, shares[0]


class Spread(NamedTuple):
    """Rows whose posterior of the majority's law is below a half are cut off."""

    evidence: float
    center: Array
    axes: Array
    laws: list[Law]
    nu: float
    reason: str

    def cuts(self, rows: Array) -> Mask:
        z = (rows - self.center) @ self.axes
        return posterior(self.laws, [lengths(law.white(z)) for law in self.laws], self.nu)[0] < 0.5


def find_scale(rows: Array) -> Spread | None:
    """Return the rule for a group that is only wider (or narrower) around the same centre, if there is evidence."""
    center, axes = principal(rows)
    axes = axes[:, : max(len(rows) // SUPPORT, 2)]
    z = (rows - center) @ axes
    k = z.shape[1]
    f = fourth(z)
    spaces = [f[:, [-1]], f[:, [-2]], f[:, [0]], f[:, -2:], f[:, -4:], f[:, :2], np.eye(k)] if k > 1 else [f]
    first = [second_scale(z @ a) for a in spaces]
    best = max(range(len(first)), key=lambda i: first[i][0])
    if first[best][0] < -20:
        return None
    narrow = first[best][1]
    share = narrow if narrow.mean() > 0.5 else 1 - narrow
    laws, nu, share = mixture(z, np.stack([share, 1 - share]))
    if share.mean() < 0.5:
        return None
    values, vectors = np.linalg.eigh(laws[0].whitening.T @ laws[1].scatter @ laws[0].whitening)
    white = (z - laws[0].center) @ laws[0].whitening @ vectors
    wide, tight = int(np.sum(values > CLEAR**2)), int(np.sum(values < CLEAR**-2))
    found = [second_scale(white[:, -j:])[0] for j in {1, 2, 4, wide} if 0 < j <= wide]
    found += [second_scale(white[:, :j])[0] for j in {1, 2, 4, tight} if 0 < j <= tight]
    evidence = max(found, default=-np.inf)
    INFO.setdefault("scale", []).append((round(first[best][0], 1), best, np.round(found, 1), round(share.mean(), 3), nu))
    if evidence < SCALE or not elliptical(white[drawn(share)]):
        return None
    return Spread(evidence, center, axes, laws, nu, "a wider scatter around the same centre")


def gap(r: Array) -> float:
    """Return the length beyond which a few rows stand apart: spacings of logarithms are exponential (Renyi)."""
    n = len(r)
    upper = n // 4
    if upper < 4:
        return np.inf
    t = np.log(np.maximum(np.sort(np.partition(r, n - upper - 1)[n - upper - 1 :]), 1e-300))
    e = np.diff(t) * np.arange(upper, 0, -1)
    few = min(upper, n // 20 + 5)
    half = upper / 2  # a median knows the mean of exponential spacings about as well as half of them do
    limit = half * ((few / CHANCE) ** (1 / half) - 1)  # tail of F(2, 2 half)
    far = np.flatnonzero(e[upper - few :] > np.median(e) / np.log(2) * limit)
    return float(np.exp(t[upper - few + far[0] : upper - few + far[0] + 2].mean())) if len(far) else np.inf


def moments(x: Array, w: Array, missing: Mask | None = None) -> tuple[Array, Array]:
    """Return the weighted mean and covariance; of pairs of cells that are there, if some are missing."""
    if missing is None:
        center = w @ x / w.sum()
        v = x - center
        return center, (v * w[:, None]).T @ v / w.sum()
    known = ~missing
    weight = w[:, None] * known
    center = np.einsum("ij,ij->j", weight, np.where(known, x, 0)) / np.maximum(weight.sum(axis=0), 1e-12)
    v = np.where(known, x - center, 0)
    return center, (v * w[:, None]).T @ v / np.maximum(weight.T @ known, 1e-12)


def majority(points: ArrayLike, weights: ArrayLike | None = None, seed: int = 0) -> Majority:
    x = np.ascontiguousarray(points, dtype=float)
    n, p = x.shape
    base = np.ones(n) if weights is None else np.array(weights, dtype=float)
    INFO.clear()
    keys = row_keys(x)
    size = min(n, max(ROWS, 20 * p))
    some = np.argsort(keys)[:size] if n <= 4 * size else np.argpartition(keys, size)[:size]
    some = some[np.argsort(keys[some])]
    some = some[base[some] > 0]
    once, artefacts = copied(x[some], keys[some])
    w = base.copy()
    groups = []
    if len(artefacts):
        member = np.isin(keys, artefacts)
        w[member] = 0
        groups.append(Group(int(member.sum()), float(member.mean()), np.nan, "copies of the same row", member))
    m0 = len(some)
    some = some[once]
    rng = np.random.default_rng(seed)
    sample = spread_lattice(x[some], rng)
    lattice = not np.array_equal(sample, x[some]) or m0 > len(some)
    c, u = shortest_half(np.sort(sample.T, axis=1))
    use = u > 0
    m = len(some)
    plain = lambda: Majority(*moments(x, base), base, (), None, True)
    if not use.any() or m < 8:
        return plain()
    c, u = c[use], u[use]
    U = np.clip((sample[:, use] - c) / u, -1e9, 1e9)
    scaled = lambda: np.clip((x[:, use] - c) / u, -1e9, 1e9)
    A = None
    bad = None
    limit = cell_limits(U)
    plain_sample = U
    if limit is not None:
        A = scaled()
        bad = np.abs(A) > limit
        U = fill(U, bad[some])
    result = separate(U)
    if limit is not None and cell_limits(plain_sample[result[1] == 0]) is None:
        INFO["cells undone"] = True
        U, bad = plain_sample, None
        result = separate(U)
    axes, labels, rules = result
    A = scaled()
    if bad is not None:
        A = fill(A, bad)
    if axes is not None:
        A, U = A @ axes, U @ axes
    sharp = np.ones(n) if not rules else 1.0 - np.any([rule.cuts(A) for rule in rules], axis=0)
    shares = np.stack([labels == g for g in range(labels.max() + 1)]).astype(float)
    kept = labels == 0
    options = [(slice(None), shares)]
    if rules:
        options.append((kept, shares[:1, kept]))
    if U.shape[1] * SUPPORT > m:
        options = []
    for rows, start in options:
        laws, nu, belongs = mixture(U[rows], start)
        soft = len(laws) > 1 or nu <= TAIL
        if soft and 2 * belongs.sum() >= 0.9 * m and elliptical(laws[0].white(U[rows][drawn(belongs)])):
            d = [lengths(law.white(A)) for law in laws]
            k = U.shape[1]
            w = w * (posterior(laws, d, nu)[0] if len(laws) > 1 else 1) * (1 if isinstance(rows, slice) else sharp)
            w = apart(A, w, lattice, U, some) * (1 if np.isinf(nu) else (nu + k) / (nu + d[0]))
            INFO.update(nu=nu, soft=len(laws))
            break
    else:
        w = apart(A, w * sharp, lattice, U, some)
    cells = None
    if bad is not None:
        cells = np.zeros((n, p), bool)
        cells[:, use] = bad
        INFO["cells"] = bad.mean()
    unchanged = cells is None and np.array_equal(w, base)
    return Majority(*moments(x, w, cells), w, tuple(groups), cells, unchanged)


def separate(U):
    m = len(U)
    center, axes = principal(U)
    if axes.shape[1] < U.shape[1]:
        axes = axes / np.linalg.norm(axes, axis=0)
        U = U @ axes
    else:
        axes = None
    labels, rules = np.zeros(m, int), []
    while True:
        kept = np.flatnonzero(labels == 0)
        if len(kept) < max(8, FEW * m):
            break
        rule = find_valley(U[kept])
        if rule.evidence < STRONG and len(kept) >= HALF * m:
            other = find_scale(U[kept])
            if other is not None and np.sqrt(2 * other.evidence) > rule.evidence * (rule.evidence >= VALLEY):
                rule = other
        if isinstance(rule, Rule) and rule.evidence < VALLEY:
            break
        cut = rule.cuts(U[kept])
        left = np.sum(~cut) >= HALF * m
        if not cut.any() or len(rules) == 20 or (not left and len(kept) >= HALF * m and (isinstance(rule, Spread) or rule.depth > DEEP)):
            break
        rules.append(rule)
        labels[kept[cut]] = len(rules)
    INFO["rules"] = [(round(r.evidence, 1), r.axes.shape[1], type(r).__name__[0], round(float(np.mean(labels == i + 1)), 3)) for i, r in enumerate(rules)]
    if np.sum(labels == 0) < HALF * m:
        INFO["classes"] = True
        labels, rules = np.zeros(m, int), []
    return axes, labels, rules


def apart(A: Array, w: Array, lattice, U, some) -> Array:
    r = np.sqrt(lengths(A))
    kept = w > 0.5 * w.max()
    cut = gap(np.sqrt(lengths(U[kept[some]])) if lattice else r[kept])
    if cut < np.inf:
        INFO["gap"] = int((r[w > 0.5] > cut).sum())
    return w * (r <= cut)
