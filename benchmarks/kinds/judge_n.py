"""Kinds n: a grid of clean laws x contamination geometries x shapes, written from README.md alone.

A clean law of a regression is `line(design, ...)`: a design (elliptical, skewed, bounded, lattice, ...) and a noise
with a closed form of the truth; a clean law of a PCA is mostly `ell(p, d, scores, ...)`: uncorrelated scores of any
margins on fixed orthogonal axes. A fault takes honest rows and returns bad ones; `c` (judge_tools.build) has all
honest rows (c.X, c.y), the truth, the places of the rows (c.i, c.t), the batch (c.b) and c.shared, a generator that
starts anew, with the same seed, in each batch of one sample: what is drawn from it is what colluders agree upon.
"""
import os
import sys
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from interface import cov_basis  # noqa: E402
from judge_tools import Book  # noqa: E402

BOOK = Book()
KINDS = BOOK.KINDS


# ---- small tools -------------------------------------------------------------------------------

def unit_vector(rng, p):
    u = rng.normal(size=p)
    return u / np.linalg.norm(u)


def axes(p, seed):
    """A fixed random rotation."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(p, p)))
    return q * np.sign(np.diag(r))


def ar(rng, n, p, phi):
    """Stationary AR(1) series of variance 1 in each column (moving average cut at 1e-5)."""
    k = int(np.ceil(np.log(1e-5) / np.log(phi)))
    w = phi ** np.arange(k)
    w /= np.sqrt((w ** 2).sum())
    e = rng.normal(size=(n + k - 1, p))
    return np.stack([np.convolve(e[:, j], w, mode='valid') for j in range(p)], axis=1)


def block(n, parts):
    """The batch of each row when n rows come in `parts` calls of one size."""
    return np.arange(n) * parts // n


def place(n):
    return (np.arange(n) + 0.5) / n


def calls(number, rows):
    return (rows,) * number


def uneven(number, low, high):
    def sizes(rng):
        return tuple(int(v) for v in np.exp(rng.uniform(np.log(low), np.log(high), number)))
    return sizes


def part(c, k):
    d = SimpleNamespace(**vars(c))
    d.i, d.t = c.i[k], c.t[k]
    return d


# ---- faults for both problems: f(rng, X[, y], c) -> X[, y] ------------------------------------

def mix(*faults):
    """Several bad groups at once: each row falls to one of the faults."""
    def f(rng, *a):
        c, given = a[-1], a[:-1]
        out = [v.copy() for v in given]
        which = rng.integers(len(faults), size=len(given[0]))
        for j, g in enumerate(faults):
            k = which == j
            if not k.any():
                continue
            got = g(rng, *[v[k] for v in given], part(c, k))
            for v, w in zip(out, got if isinstance(got, tuple) else (got,)):
                v[k] = w
        return tuple(out) if len(out) > 1 else out[0]
    return f


def each(*faults):
    """Every batch wrong in its own way: another fault, and nothing agreed upon."""
    def f(rng, *a):
        c = a[-1]
        d = SimpleNamespace(**vars(c))
        d.shared = rng
        return faults[c.b % len(faults)](rng, *a[:-1], d)
    return f


def repeat(fault):
    """All bad batches are one and the same block of numbers (calls of one size)."""
    def f(rng, *a):
        c, k = a[-1], len(a[0])
        rows = c.shared.integers(len(c.X), size=k)
        given = (c.X[rows].copy(),) if c.y is None else (c.X[rows].copy(), c.y[rows].copy())
        return fault(c.shared, *given, c)
    return f


# ---- designs: d(rng, n) -> X ------------------------------------------------------------------

def x_gauss(p, rho=0.0):
    def d(rng, n):
        return np.sqrt(1 - rho) * rng.normal(size=(n, p)) + np.sqrt(rho) * rng.normal(size=(n, 1))
    return d


def x_t(p, df, rho=0.3):
    g = x_gauss(p, rho)

    def d(rng, n):
        return g(rng, n) * np.sqrt(df / rng.chisquare(df, size=(n, 1)))
    return d


def x_skew(p):
    def d(rng, n):
        X = rng.gamma(1.5, 1.0, size=(n, p))
        X[:, ::2] = np.exp(0.6 * rng.normal(size=X[:, ::2].shape))
        return X
    return d


def x_bounded(p):
    def d(rng, n):
        X = rng.uniform(-1, 1, size=(n, p))
        X[:, ::2] = 2 * rng.beta(0.5, 0.5, size=X[:, ::2].shape) - 1
        return X
    return d


def x_products(k):
    """k columns and all their products in pairs."""
    a, b = np.triu_indices(k, 1)

    def d(rng, n):
        Z = rng.normal(size=(n, k)) + 0.5
        return np.hstack([Z, Z[:, a] * Z[:, b]])
    return d


def x_powers(k):
    def d(rng, n):
        u = rng.uniform(-1, 1, size=n)
        return np.stack([u ** j for j in range(1, k + 1)], axis=1)
    return d


def x_overlap(p):
    """Two halves whose centres are 2.4 spreads apart."""
    def d(rng, n):
        return rng.normal(size=(n, p)) + 1.2 * rng.choice([-1, 1], size=(n, 1)) * np.ones(p) / np.sqrt(p)
    return d


def x_factor(p, k, noise=0.5, seed=3):
    A = np.random.default_rng(seed).normal(size=(k, p))

    def d(rng, n):
        return rng.normal(size=(n, k)) @ A + noise * rng.normal(size=(n, p))
    return d


def x_ar(p, phi):
    def d(rng, n):
        return ar(rng, n, p, phi)
    return d


def x_lattice(p, levels):
    def d(rng, n):
        return rng.integers(levels, size=(n, p)).astype(float)
    return d


def x_sparse(p, share):
    def d(rng, n):
        return rng.normal(size=(n, p)) * (rng.random((n, p)) < share)
    return d


def x_collinear(p, eps):
    def d(rng, n):
        X = rng.normal(size=(n, p))
        X[:, 1] = X[:, 0] + eps * X[:, 1]
        X[:, -1] = X[:, :-1].mean(1) + eps * X[:, -1]
        return X
    return d


def x_counts(p, mean=4.0):
    def d(rng, n):
        return rng.poisson(mean * rng.gamma(3.0, 1 / 3.0, size=(n, 1)), size=(n, p)).astype(float)
    return d


def x_dummies(p, shares):
    """p Gaussian columns and dummies of a factor whose first level is the reference."""
    shares = np.asarray(shares, float)

    def d(rng, n):
        lev = rng.choice(len(shares), size=n, p=shares)
        return np.hstack([rng.normal(size=(n, p)), (lev[:, None] == np.arange(1, len(shares))).astype(float)])
    return d


def x_leverage(p, share, k):
    """A few honest rows with a spread k times as large."""
    def d(rng, n):
        return rng.normal(size=(n, p)) * np.where(rng.random((n, 1)) < share, k, 1.0)
    return d


def x_units(design, scales, offsets=0.0):
    scales = np.asarray(scales, float)

    def d(rng, n):
        return design(rng, n) * scales + offsets
    return d


# ---- noise of variance 1, and the line --------------------------------------------------------

NOISE = {
    'normal': lambda rng, n: rng.normal(size=n),
    't3': lambda rng, n: rng.standard_t(3, size=n) / np.sqrt(3),
    't5': lambda rng, n: rng.standard_t(5, size=n) / np.sqrt(5 / 3),
    'laplace': lambda rng, n: rng.laplace(size=n) / np.sqrt(2),
    'uniform': lambda rng, n: rng.uniform(-np.sqrt(3), np.sqrt(3), size=n),
    'arcsine': lambda rng, n: np.sqrt(2) * np.sin(rng.uniform(0, 2 * np.pi, size=n)),
    'skew': lambda rng, n: rng.exponential(size=n) - 1,
    'lognormal': lambda rng, n: (np.exp(0.8 * rng.normal(size=n) - 0.32) - 1) / np.sqrt(np.expm1(0.64)),
    'ar': lambda rng, n: ar(rng, n, 1, 0.7)[:, 0],
}


def line(design, snr=3.0, sigma=1.0, noise='normal', level=2.0, fan=0.0, seed=1):
    """y = X b + level + noise; the spread of X b is snr noise spreads. fan > 0: the noise grows along X b."""
    made = []

    def coef():
        if not made:
            X = design(np.random.default_rng(77), 4_000)
            g = np.random.default_rng(seed).normal(size=X.shape[1])
            s = X.std(0)
            b = (g + 0.4 * np.sign(g)) / np.where(s > 0, s, 1.0)
            b *= snr * sigma / (X @ b).std()
            made.append((b, float((X @ b).mean()), level - float((X @ b).mean())))
        return made[0]

    def draw(rng, n):
        b, mid, a = coef()
        X = design(rng, n)
        e = sigma * NOISE[noise](rng, n)
        if fan:
            e = e * np.exp(fan * np.tanh((X @ b - mid) / (snr * sigma)))
        return X, X @ b + a + e, np.append(b, a)
    return draw


# ---- faults of a regression -------------------------------------------------------------------

def frame(c):
    m, s = c.X.mean(0), c.X.std(0)
    b, a = c.truth[:-1], c.truth[-1]
    return SimpleNamespace(m=m, s=np.where(s > 0, s, 1.0), line=lambda X: X @ b + a, sig=(c.y - c.X @ b - a).std(),
                           ym=c.y.mean(), sy=c.y.std(), p=len(m))


def toward(c, f, where):
    """A direction in standardised columns, as long as the spread there."""
    if where == 'diagonal':
        return np.ones(f.p) / np.sqrt(f.p)
    if where == 'first':
        return np.eye(f.p)[0]
    lam, V = np.linalg.eigh(np.cov(((c.X - f.m) / f.s).T).reshape(f.p, f.p))
    lam = np.sqrt(np.maximum(lam, 0))
    if where == 'leading':
        return V[:, -1] * lam[-1]
    if where == 'trailing':
        return V[:, 0] * lam[0]
    return V @ (lam * unit_vector(c.shared, f.p))


def shift(k):
    """Parallel line: the honest target plus k noise spreads."""
    def f(rng, X, y, c):
        return X, y + k * frame(c).sig
    return f


def vertical(k, width=1.0, two=False):
    """Off the line by k noise spreads or more, the excess `width` wide, on one side or on both."""
    def f(rng, X, y, c):
        q = frame(c)
        side = rng.choice([-1, 1], size=len(X)) if two else 1.0
        return X, q.line(X) + side * q.sig * (k + width * np.abs(rng.normal(size=len(X))))
    return f


def other(k, noise=1.0):
    """Inliers in x, the target of another line that crosses (its spread: k noise spreads)."""
    def f(rng, X, y, c):
        q = frame(c)
        g = unit_vector(c.shared, q.p) if q.p > 1 else -np.sign(c.truth[:1])
        w = (c.X - q.m) / q.s @ g
        return X, q.ym + q.sig * (k * ((X - q.m) / q.s @ g) / w.std() + noise * rng.normal(size=len(X)))
    return f


def mirror(rng, X, y, c):
    return X, 2 * c.y.mean() - y


def shuffle(rng, X, y, c):
    return X, rng.permutation(y)


def constant(h):
    def f(rng, X, y, c):
        q = frame(c)
        return X, np.full(len(X), q.ym + h * q.sy)
    return f


def wrong_unit(k):
    def f(rng, X, y, c):
        return X, y * k
    return f


def cluster(k, where='random', h=15.0, tight=0.2, flat=False):
    """Bad leverage: a cluster k spreads off, h noise spreads above the line there (flat: above the mean target)."""
    def f(rng, X, y, c):
        q = frame(c)
        at = q.m + q.s * k * toward(c, q, where)
        mid = q.ym if flat else q.line(at)
        return (at + tight * q.s * rng.normal(size=X.shape),
                mid + h * q.sig + tight * q.sig * rng.normal(size=len(X)))
    return f


def spread(k, h=1.0):
    """Bad leverage all around: x k times as wide, the target not of x."""
    def f(rng, X, y, c):
        q = frame(c)
        return q.m + k * q.s * rng.normal(size=X.shape), q.ym + h * q.sy * rng.normal(size=len(X))
    return f


def shell(k):
    def f(rng, X, y, c):
        q = frame(c)
        U = rng.normal(size=X.shape)
        U /= np.linalg.norm(U, axis=1, keepdims=True)
        return q.m + k * q.s * U, q.ym + 4 * q.sy + q.sy * rng.normal(size=len(X))
    return f


def curve(k):
    """Rows on a curve: x along a bent arc k spreads long, the target a wave beside the line."""
    def f(rng, X, y, c):
        q = frame(c)
        u = rng.uniform(0, 1, size=len(X))
        Z = np.stack([np.cos(2.5 * u + j) for j in range(q.p)], axis=1) * k
        Xn = q.m + q.s * Z
        return Xn, q.line(Xn) + q.sig * (25 + 8 * np.sin(5 * u))
    return f


def cells(columns, k, two=False):
    """One cell of x in each row, in one of the columns, lies k spreads off; the target is the honest one."""
    def f(rng, X, y, c):
        q = frame(c)
        j = rng.choice(columns, size=len(X))
        side = rng.choice([-1, 1], size=len(X)) if two else 1.0
        X[np.arange(len(X)), j] = q.m[j] + side * q.s[j] * (k + rng.normal(size=len(X)))
        return X, y
    return f


def stuck(value, h):
    """All columns stuck at one reading, the target too."""
    def f(rng, X, y, c):
        q = frame(c)
        at = q.m + q.s * value
        return np.tile(at, (len(X), 1)), np.full(len(X), q.line(at) + h * q.sig)
    return f


def drifting(k):
    """Worse from batch to batch: 10 to 10 + k noise spreads off, and tilted."""
    def f(rng, X, y, c):
        q = frame(c)
        z = (X - q.m) / q.s
        return X, y + q.sig * (10 + k * c.t) * (1 + 0.3 * z[:, 0])
    return f


# ---- bad regressions: tables ------------------------------------------------------------------

R = BOOK.reg

R('n_rb_gauss_point_near', line(x_gauss(5, 0.5)), 1000, cluster(6, 'random', 15, 0.0), 0.20,
  note='point mass at Mahalanobis distance 6, 15 noise spreads above the plane')
R('n_rb_gauss_point_far', line(x_gauss(8, 0.2)), 2000, cluster(1000, 'diagonal', 0, 0.0, flat=True), 0.10, 'end',
  note='point mass 1000 spreads off on the diagonal')
R('n_rb_t5_cluster_trailing', line(x_t(4, 5, 0.5), noise='t5'), 1500, cluster(8, 'trailing', 20), 0.30,
  note='heavy tails in x and noise; cluster on the trailing axis')
R('n_rb_skew_onesided_tight', line(x_skew(5)), 800, vertical(10, 0.5), 0.30, 'start',
  note='skewed columns; tight vertical outliers on one side')
R('n_rb_bounded_twosided_wide', line(x_bounded(4), noise='uniform'), 600, vertical(8, 15, True), 0.40,
  note='bounded columns and noise; vertical outliers on both sides')
R('n_rb_lattice_parallel', line(x_lattice(3, 7)), 3000, shift(12), 0.40, note='integers; a parallel line')
R('n_rb_one_column_cross', line(x_gauss(1), snr=15), 300, other(15), 0.35,
  note='one column; a second line that crosses')
R('n_rb_products_shuffled', line(x_products(4), snr=25), 2000, shuffle, 0.30,
  note='columns and their products; shuffled targets')
R('n_rb_collinear_leverage', line(x_collinear(5, 0.05), snr=5), 1200, cluster(10, 'trailing', 30, 0.02), 0.20,
  note='near-collinear; the cluster lies where x hardly varies')
R('n_rb_sparse_constant', line(x_sparse(10, 0.3), snr=6), 2500, constant(6), 0.30, 'runs',
  note='sparse columns; one target 6 spreads off in stretches')
R('n_rb_factor_p40_cluster', line(x_factor(40, 4), snr=5), 1000, cluster(6, 'leading', 20, 0.3), 0.20,
  note='40 columns of 4 factors; cluster on the leading axis')
R('n_rb_p100_vertical', line(x_gauss(100), snr=4), 1500, vertical(12, 3), 0.20,
  note='100 columns, vertical outliers on one side')
R('n_rb_units_1e8_mirror', line(x_units(x_gauss(4, 0.3), [1e-4, 1.0, 1e2, 1e4]), snr=20), 1500, mirror, 0.40,
  note='columns of units 1e8 apart; mirrored targets')
R('n_rb_offset_1e7_cluster', line(x_units(x_gauss(3, 0.4), 1.0, 1e7), level=-5e5), 700, cluster(12, 'random', 25, 0.5),
  0.30, 'end', note='offsets of 1e7 spreads')
R('n_rb_ar_stretch', line(x_ar(3, 0.9), noise='ar'), 2000, shift(14), 0.20, 'middle',
  note='autocorrelated series; a stretch is off by 14 noise spreads')
R('n_rb_overlap_shell', line(x_overlap(4), snr=4), 1000, shell(12), 0.25,
  note='two overlapping halves; bad rows on a shell')
R('n_rb_counts_wrong_unit', line(x_counts(4), snr=4, level=30), 5000, wrong_unit(1000), 0.05,
  note='counts; targets times 1000')
R('n_rb_dummies_two_groups', line(x_dummies(3, [0.4, 0.25, 0.2, 0.15]), snr=6), 1800, mix(vertical(12, 1), other(25)),
  0.30, note='a factor; one group above, one on another line')
R('n_rb_good_and_bad_leverage', line(x_leverage(5, 0.03, 8)), 1500, mix(cluster(15, 'random', -40, 0.5), spread(10)),
  0.15, note='good leverage rows beside two sorts of bad ones')
R('n_rb_fan_high', line(x_gauss(4), fan=0.7), 2000, vertical(18, 4), 0.20, note='a fan; bad rows far above all of it')
R('n_rb_n60_point', line(x_gauss(2), snr=4), 60, cluster(50, 'random', 80, 0.0), 0.15,
  note='60 rows, 9 of them one far point')
R('n_rb_n30000_curve', line(x_gauss(6, 0.2)), 30000, curve(5), 0.30, note='30,000 rows; the bad ones on a curve')
R('n_rb_cells_two_columns', line(x_factor(8, 3, 0.3), snr=15), 1500, cells([1, 4], 10, True), 0.20,
  note='cells of two correlated columns; the line is close')
R('n_rb_rows_and_cells', line(x_gauss(10, 0.6), snr=15), 1800, mix(cells([0, 3, 6], 20), cluster(8, 'random', 30)),
  0.30, note='bad cells and a bad cluster')
R('n_rb_three_groups', line(x_skew(6), snr=5), 4000, mix(cluster(20, 'diagonal', 40), vertical(20, 2), other(40)),
  0.40, note='three bad groups, 40% in all')
R('n_rb_two_percent_wide', line(x_gauss(3), noise='skew'), 400, spread(100), 0.02,
  note='8 rows with x a hundred times as wide')
R('n_rb_powers_other', line(x_powers(3), snr=10), 900, other(40), 0.30, 'start',
  note='powers of one variable; another line')

# ---- bad regressions: streams -----------------------------------------------------------------

R('n_rbs_collude_line', line(x_gauss(5, 0.4), snr=5), hurt=other(25), sizes=calls(20, 300), batches=0.45,
  note='9 of 20 calls agree on another line')
R('n_rbs_start_cluster', line(x_skew(4)), hurt=cluster(10, 'random', 40, 0.5), sizes=calls(25, 200), batches=0.40,
  order='start', note='the first 10 of 25 calls are one cluster')
R('n_rbs_repeat', line(x_bounded(5), snr=4), hurt=repeat(other(20)), sizes=calls(30, 250), batches=0.40,
  note='12 of 30 calls are the same block of numbers')
R('n_rbs_drift', line(x_gauss(3, 0.2), noise='laplace'), hurt=drifting(30), sizes=calls(40, 150), batches=0.35,
  order='end', note='a sensor that drifts away in the last calls')
R('n_rbs_own_ways', line(x_lattice(4, 10), snr=5),
  hurt=each(other(20), vertical(15, 10, True), constant(6), mirror, cluster(15, 'random', 30)), sizes=calls(20, 400),
  batches=0.45, note='9 of 20 calls wrong in five ways')
R('n_rbs_start_vertical', line(x_t(5, 5)), hurt=vertical(15, 1), sizes=calls(20, 350), batches=0.45, order='start',
  note='a bad start, heavy tails in x')
R('n_rbs_rows_cluster', line(x_gauss(6, 0.5)), hurt=cluster(8, 'trailing', 25), sizes=calls(15, 400), stray=0.30,
  note='30% bad rows in each call, all at one place')
R('n_rbs_rows_vertical', line(x_counts(5), snr=4), hurt=vertical(12, 3), sizes=calls(8, 1000), stray=0.40,
  note='40% bad rows in each call, on one side')
R('n_rbs_both', line(x_factor(12, 3, 1.0), snr=5), hurt=other(25), sizes=calls(20, 500), batches=0.25, stray=0.15,
  stray_hurt=vertical(15, 5, True), note='bad calls, and bad rows in the others')
R('n_rbs_uneven_shuffled', line(x_gauss(4, 0.3), snr=20), hurt=shuffle, sizes=uneven(30, 80, 900), batches=0.30,
  note='calls of 80 to 900 rows; shuffled targets')
R('n_rbs_small_calls_mirror', line(x_ar(2, 0.8), snr=20), hurt=mirror, sizes=calls(60, 50), batches=0.30, order='runs',
  note='calls of 50 rows of a series; mirrored in stretches')
R('n_rbs_stuck', line(x_gauss(4, 0.5)), hurt=stuck(1.5, 12), sizes=calls(30, 200), batches=0.30, order='runs',
  note='a stuck sensor: one row over and over, an inlier in x')
R('n_rbs_p60_cross', line(x_gauss(60, 0.1), snr=4), hurt=other(15), sizes=calls(12, 900), batches=0.33,
  note='60 columns; 4 of 12 calls of another line')
R('n_rbs_zero_target', line(x_collinear(4, 0.1), snr=3, level=60), hurt=lambda rng, X, y, c: (X, 0 * y),
  sizes=calls(24, 300), batches=0.40, order='middle', note='targets 0 in a stretch of calls')


# ---- honest regressions -----------------------------------------------------------------------

def h_binary(rng, n):
    X = rng.normal(size=(n, 3))
    return X, (rng.random(n) < 1 / (1 + np.exp(-(X @ [1.2, -0.8, 0.4])))).astype(float)


def h_poisson(rng, n):
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(np.exp(1.0 + X @ [0.5, -0.3, 0.2])).astype(float)


def h_bend(rng, n):
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] - X[:, 1] + 0.6 * X[:, 0] ** 2 + rng.normal(size=n)


def h_interaction(rng, n):
    X = rng.normal(size=(n, 4)) + 1
    return X, X @ [1.0, 0.5, -1.0, 0.0] + X[:, 0] * X[:, 1] + rng.normal(size=n)


def h_censored(rng, n):
    X = rng.normal(size=(n, 3))
    return X, np.maximum(0, 0.7 + X @ [1.0, 0.7, -0.5] + 0.8 * rng.normal(size=n))


def h_zero_inflated(rng, n):
    X = rng.exponential(size=(n, 5)) * (rng.random((n, 5)) < [0.05, 0.1, 0.3, 0.6, 1.0])
    return X, X @ [2.0, -1.0, 1.0, 0.5, 1.0] + NOISE['laplace'](rng, n)


def h_price_digits(rng, n):
    """Rounded to halves: few values in x and y."""
    X = np.round(2 * rng.gamma(2.0, 1.0, size=(n, 3))) / 2
    return X, np.round(2 * (X @ [1.0, 1.0, -0.5] + 0.8 * rng.normal(size=n))) / 2


def h_constant_columns(rng, n):
    X = rng.normal(size=(n, 6))
    X[:, 2], X[:, 4] = 3.0, 0.0
    return X, X @ [1.0, -1.0, 0.0, 0.5, 0.0, 2.0] + NOISE['t5'](rng, n), np.array([1.0, -1.0, 0.0, 0.5, 0.0, 2.0, 0.0])


def duplicated(draw, times):
    """Every row several times over, in random order."""
    def d(rng, n):
        X, y, truth = draw(rng, n // times + 1)
        k = rng.permutation(np.repeat(np.arange(len(X)), times))[:n]
        return X[k], y[k], truth
    return d


def sorted_by(draw, key):
    def d(rng, n):
        X, y, truth = draw(rng, n)
        k = np.argsort(y if key == 'y' else X[:, key], kind='stable')
        return X[k], y[k], truth
    return d


def trending(draw, rise):
    """The columns climb by `rise` spreads in the course of the data; the line holds."""
    def d(rng, n):
        X, y, truth = draw(rng, n)
        up = rise * (place(n) - 0.5)[:, None] * np.linspace(1.0, 0.2, X.shape[1])
        return X + up, y + up @ truth[:-1], truth
    return d


def sites(draw, parts, where=0.0, wide=0.0, lift=0.0, tilt=0.0, seed=5):
    """Calls that differ by degrees: in the place and the spread of x, in the level and the slopes (fixed effects)."""
    g = np.random.default_rng(seed)
    wh, wi, li, ti = g.normal(size=(4, parts, 100))
    li, ti = li - li.mean(0), ti - ti.mean(0)

    def d(rng, n):
        X, y, truth = draw(rng, n)
        j, p, b = block(n, parts), X.shape[1], truth[:-1]
        Xn = X * np.exp(wide * wi[j, :1]) + where * wh[j, :p]
        e = y - X @ b
        return Xn, Xn @ b + e + lift * li[j, 0] + (Xn * (tilt * ti[j, :p])).sum(1)
    return d


R('n_rh_t3_noise', line(x_gauss(4, 0.3), noise='t3'), 800, note='noise of three degrees of freedom')
R('n_rh_lognormal_noise', line(x_gauss(5), snr=1, noise='lognormal'), 2000, note='long tail on one side')
R('n_rh_fan', line(x_gauss(3), fan=1.2), 3000, note='noise eleven times as wide at one end as at the other')
R('n_rh_bounded_noise', line(x_bounded(4), noise='arcsine', snr=2), 500, note='noise of two edges: no tail at all')
R('n_rh_binary', h_binary, 1200, note='targets 0 and 1')
R('n_rh_counts', h_poisson, 2500, note='Poisson targets, log link')
R('n_rh_bend', h_bend, 1000, note='a parabola')
R('n_rh_interaction', h_interaction, 2000, note='an unmodelled product')
R('n_rh_censored', h_censored, 900, note='targets cut off at zero: a pile without a gap')
R('n_rh_good_leverage', line(x_leverage(5, 0.04, 10)), 1000, note='4% of the rows ten times as wide, on the line')
R('n_rh_ar', line(x_ar(3, 0.95), noise='ar', snr=2), 3000, note='slow series')
R('n_rh_sorted_by_target', sorted_by(line(x_skew(4), noise='t5'), 'y'), 2000, note='sorted by the target')
R('n_rh_duplicates', duplicated(line(x_gauss(4), noise='laplace'), 6), 1500, note='every row six times')
R('n_rh_rare_levels', line(x_dummies(3, [0.5, 0.3, 0.13, 0.04, 0.02, 0.01]), snr=2, noise='t5'), 3000,
  note='levels of 1 to 4% of the rows')
R('n_rh_zero_inflated', h_zero_inflated, 2000, note='columns mostly zero')
R('n_rh_rounded', h_price_digits, 1200, note='everything in halves')
R('n_rh_constant_columns', h_constant_columns, 300, note='two constant columns')
R('n_rh_wide_p50_n150', line(x_gauss(50), snr=4, noise='t5'), 150, note='three rows for each column')
R('n_rh_n60_t5', line(x_t(3, 5), noise='t5'), 60, note='60 rows, tails everywhere')

R('n_rhs_trend', trending(line(x_gauss(4), noise='t5'), 6.0), sizes=calls(30, 250), note='columns climb by six spreads')
R('n_rhs_sites_place', sites(line(x_gauss(4)), 24, where=1.5), sizes=calls(24, 200), note='calls at different places')
R('n_rhs_sites_spread', sites(line(x_gauss(3)), 20, wide=0.8), sizes=calls(20, 300), note='calls of different spreads')
R('n_rhs_sites_level', sites(line(x_gauss(4)), 40, lift=0.7), sizes=calls(40, 200),
  note='calls with levels of their own, by degrees')
R('n_rhs_sites_slopes', sites(line(x_gauss(3)), 30, tilt=0.3), sizes=calls(30, 250),
  note='calls with slopes of their own, by degrees')
R('n_rhs_uneven_fan', line(x_skew(4), fan=0.8, noise='t5'), sizes=uneven(25, 40, 2000),
  note='calls of 40 to 2,000 rows of a fan')
R('n_rhs_sorted_by_x', sorted_by(line(x_gauss(3, 0.3), noise='laplace'), 0), sizes=calls(15, 300),
  note='sorted by a column')


# ---- scores: uncorrelated columns of variance 1 -----------------------------------------------

SCORES = {
    'normal': lambda rng, n, p: rng.normal(size=(n, p)),
    'exponential': lambda rng, n, p: rng.exponential(size=(n, p)) - 1,
    'gamma': lambda rng, n, p: (rng.gamma(3.0, 1.0, size=(n, p)) - 3) / np.sqrt(3),
    'uniform': lambda rng, n, p: rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n, p)),
    'arcsine': lambda rng, n, p: np.sqrt(2) * np.sin(rng.uniform(0, 2 * np.pi, size=(n, p))),
}


def z_t(df):
    """Elliptical."""
    def z(rng, n, p):
        return rng.normal(size=(n, p)) * np.sqrt((df - 2) / rng.chisquare(df, size=(n, 1)))
    return z


def z_t_own(df):
    """Each column with tails of its own."""
    def z(rng, n, p):
        return rng.standard_t(df, size=(n, p)) * np.sqrt((df - 2) / df)
    return z


def z_lognormal(rng, n, p):
    v = 0.5 ** 2
    return (np.exp(0.5 * rng.normal(size=(n, p))) - np.exp(v / 2)) / np.sqrt((np.exp(v) - 1) * np.exp(v))


def z_products(rng, n, p):
    """The later half are products of the earlier ones in pairs: uncorrelated, not independent."""
    Z = rng.normal(size=(n, p))
    h = (p + 1) // 2
    for j in range(h, p):
        Z[:, j] = Z[:, j - h] * Z[:, (j - h + 1) % h]
    return Z


def z_overlap(rng, n, p):
    """The first score in two lobes that overlap."""
    Z = rng.normal(size=(n, p))
    Z[:, 0] = 0.8 * rng.choice([-1, 1], size=n) + 0.6 * Z[:, 0]
    return Z


def z_ar(phi):
    def z(rng, n, p):
        return ar(rng, n, p, phi)
    return z


def z_volatile(rng, n, p):
    """Calm and wild times: the spread of all scores wanders."""
    return rng.normal(size=(n, p)) * np.exp(0.4 * ar(rng, n, 1, 0.95) - 0.16)


def z_fan(rng, n, p):
    """The noise grows with the first score."""
    Z = rng.normal(size=(n, p))
    a = 0.5
    Z[:, 1:] *= np.exp(a * Z[:, :1] - a * a)
    return Z


def ell(p, d, scores=SCORES['normal'], lead=None, tail=(1.0, 0.5), offset=0.0, scales=None, seed=11):
    """X = offset + scores on fixed axes; spreads `lead` on the first d, `tail` on the others; closed form."""
    lead = np.asarray(lead if lead is not None else 4.0 * 1.4 ** np.arange(d - 1, -1, -1), float)
    sd = np.append(lead, np.linspace(tail[0], tail[1], p - d))
    A = axes(p, seed) * sd
    if scales is not None:
        A = np.asarray(scales, float)[:, None] * A
        truth = cov_basis(A @ A.T, d)
    else:
        truth = (A / sd)[:, :d]

    def draw(rng, n):
        return scores(rng, n, p) @ A.T + offset, truth
    return draw


# ---- faults of a PCA --------------------------------------------------------------------------

def shape(c):
    m = c.X.mean(0)
    lam, V = np.linalg.eigh(np.cov((c.X - m).T))
    return SimpleNamespace(m=m, sd=np.sqrt(np.maximum(lam[::-1], 0)), V=V[:, ::-1], s=c.X.std(0), p=len(m))


def off(c, q, k, where):
    """A place k spreads off."""
    if where == 'trailing':
        return k * q.sd[-1] * q.V[:, -1]
    if where == 'tilt':                                 # on the leading axis 2 spreads, on the trailing one k
        return 2 * q.sd[0] * q.V[:, 0] + k * q.sd[-1] * q.V[:, -1]
    if where == 'diagonal':
        return k * q.s / np.sqrt(q.p)
    if where == 'large':                                # any direction, k spreads of the leading axis
        return k * q.sd[0] * unit_vector(c.shared, q.p)
    return q.V @ (k * q.sd * unit_vector(c.shared, q.p))   # any direction, Mahalanobis distance k


def lump(k, where='random', tight=0.2):
    """A cluster of the honest shape, `tight` as wide (0: a point)."""
    def f(rng, X, c):
        q = shape(c)
        return q.m + off(c, q, k, where) + tight * (X - q.m)
    return f


def ball(k):
    """Same centre, k times the mean spread in all directions."""
    def f(rng, X, c):
        q = shape(c)
        return q.m + k * np.sqrt(np.mean(q.sd ** 2)) * rng.normal(size=X.shape)
    return f


def hull(k):
    """On a sphere of k leading spreads."""
    def f(rng, X, c):
        q = shape(c)
        U = rng.normal(size=X.shape)
        return q.m + k * q.sd[0] * U / np.linalg.norm(U, axis=1, keepdims=True)
    return f


def turned(k=1.0):
    """The same spectrum, in the reverse order of the axes."""
    def f(rng, X, c):
        q = shape(c)
        Z = (X - q.m) @ q.V / q.sd
        return q.m + k * (Z * q.sd[::-1]) @ q.V.T
    return f


def rod(k, where='random'):
    """Along a line through the centre, both ways, away from the middle."""
    def f(rng, X, c):
        q = shape(c)
        u = q.V[:, -1] if where == 'trailing' else unit_vector(c.shared, q.p)
        far = rng.choice([-1, 1], size=len(X)) * (1 + np.abs(rng.normal(size=len(X))))
        return q.m + k * q.sd[0] * far[:, None] * u + 0.1 * (X - q.m)
    return f


def sheet(k):
    """In the plane of the two trailing axes."""
    def f(rng, X, c):
        q = shape(c)
        return q.m + k * q.sd[0] * rng.normal(size=(len(X), 2)) @ q.V[:, -2:].T + 0.1 * (X - q.m)
    return f


def helix(k):
    """On a curve in the first and the two last axes."""
    def f(rng, X, c):
        q = shape(c)
        u = rng.uniform(0, 1, size=len(X))
        S = np.stack([2 * u - 1, np.cos(4 * u), np.sin(4 * u)], axis=1) * k * q.sd[0]
        return q.m + S @ q.V[:, [0, -2, -1]].T + 0.05 * (X - q.m)
    return f


def tail_of(k):
    """A long tail on one side of the trailing axis, which grows with the leading score."""
    def f(rng, X, c):
        q = shape(c)
        z = np.abs((X - q.m) @ q.V[:, 0] / q.sd[0])
        return X + np.outer(q.sd[-1] * (10 + k * rng.exponential(size=len(X))) * (1 + z), q.V[:, -1])
    return f


def spoiled(columns, k, two=True):
    """One cell in each row, in one of the columns, k spreads of the column off."""
    def f(rng, X, c):
        q = shape(c)
        j = rng.choice(columns, size=len(X))
        side = rng.choice([-1, 1], size=len(X)) if two else 1.0
        X[np.arange(len(X)), j] = q.m[j] + side * q.s[j] * (k + rng.normal(size=len(X)))
        return X
    return f


def in_units(k):
    def f(rng, X, c):
        return X * k
    return f


def misaligned(rng, X, c):
    """Columns shifted by one place."""
    return np.roll(X, 1, axis=1)


def wandering(k):
    """Away along the trailing axis, farther from batch to batch."""
    def f(rng, X, c):
        q = shape(c)
        return X + np.outer(k * q.sd[0] * (0.3 + c.t), q.V[:, -1])
    return f


# ---- bad PCAs: tables -------------------------------------------------------------------------

def l_lattice(rng, n):
    return np.round(ell6(rng, n)[0])


def l_sparse(rng, n):
    """Five columns mostly zero, three dense ones of one factor."""
    f = rng.normal(size=(n, 1))
    dense = f @ [[4.0, 3.0, -3.0]] + 0.7 * rng.normal(size=(n, 3))
    return np.hstack([dense, 1.5 * rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.3)])


ell6 = ell(6, 2)
P = BOOK.pca

P('n_pb_gauss_point_near', ell(6, 2), 2, 1000, lump(10, 'tilt', 0.0), 0.30,
  note='a point 10 trailing spreads off the leading axis')
P('n_pb_gauss_point_far', ell(10, 3), 3, 2000, lump(1000, 'random', 0.0), 0.05,
  note='a point at Mahalanobis distance 1000')
P('n_pb_t6_cluster_trailing', ell(5, 2, z_t(6)), 2, 1500, lump(40, 'trailing'), 0.40, 'start',
  note='heavy tails; cluster on the trailing axis')
P('n_pb_gamma_tail', ell(6, 2, SCORES['gamma']), 2, 1200, tail_of(10), 0.20, note='skewed scores; a one-sided tail')
P('n_pb_uniform_shell', ell(7, 2, SCORES['uniform']), 2, 900, hull(6), 0.30, note='bounded scores; a sphere')
P('n_pb_products_diagonal', ell(8, 2, z_products), 2, 2500, lump(20, 'diagonal'), 0.25, 'runs',
  note='products; cluster on the diagonal of the columns')
P('n_pb_overlap_turned', ell(6, 2, z_overlap, lead=(10, 8)), 2, 1500, turned(3), 0.30,
  note='two lobes; the bad rows have the axes in reverse, three times as wide')
P('n_pb_factor_p50_cells', ell(50, 3, lead=(20, 15, 11)), 3, 1000, spoiled([4, 17, 33], 15), 0.20,
  note='50 columns, bad cells in three')
P('n_pb_ar_stretch', ell(5, 1, z_ar(0.8)), 1, 2000, lump(15, 'random'), 0.20, 'middle',
  note='a series with a bad stretch')
P('n_pb_lattice_line', l_lattice, 2, 1500, rod(4), 0.30, note='integers; bad rows along a line')
P('n_pb_sparse_cluster', l_sparse, 1, 2000, lump(15, 'large'), 0.30, note='columns mostly zero')
P('n_pb_collinear_broken', ell(5, 2, lead=(5, 3), tail=(0.05, 0.02)), 2, 500, spoiled([0, 1, 2, 3, 4], 4), 0.20,
  note='near-collinear columns; one cell of a row only 4 spreads off')
P('n_pb_wide_cluster', ell(100, 2, lead=(14, 10), tail=(1, 1)), 2, 80, lump(4, 'large', 0.3), 0.20,
  note='80 rows, 100 columns')
P('n_pb_wide_point', ell(100, 1, lead=(15,), tail=(1, 1)), 1, 60, lump(30, 'large', 0.0), 0.10,
  note='60 rows, 100 columns, one far point')
P('n_pb_units_plane', ell(5, 2, lead=(2, 1.5), tail=(1, 0.8), scales=[1e4, 1e3, 1e2, 10, 1]), 2, 1500, sheet(3), 0.20,
  note='columns of units 1e4 apart; bad rows in a plane')
P('n_pb_offset_ball', ell(6, 2, offset=1e7), 2, 1000, ball(5), 0.30, 'end',
  note='offset of 1e7; same centre, five times as wide')
P('n_pb_n30000_curve', ell(8, 3), 3, 30000, helix(3), 0.20, note='30,000 rows; bad ones on a curve')
P('n_pb_rows_and_cells', ell(20, 2, lead=(9, 7)), 2, 1500, mix(spoiled([2, 7, 11], 25), lump(30, 'random')), 0.30,
  note='bad cells and a bad cluster')
P('n_pb_three_groups', ell(8, 2, z_t(8)), 2, 4000, mix(lump(8, 'large'), ball(15), rod(6)), 0.40,
  note='three bad groups, 40% in all')
P('n_pb_n60_wide_few', ell(4, 1), 1, 60, ball(100), 0.10, note='60 rows, 6 of them a hundred times as wide')
P('n_pb_two_percent', ell(10, 2, SCORES['exponential']), 2, 3000, lump(60, 'trailing', 0.5), 0.02,
  note='2% far on the trailing axis, skewed scores')

# ---- bad PCAs: streams ------------------------------------------------------------------------

P('n_pbs_collude_turned', ell(6, 2, lead=(10, 8)), 2, hurt=turned(), sizes=calls(20, 300), batches=0.45,
  note='9 of 20 calls have the axes in reverse')
P('n_pbs_repeat', ell(5, 2, SCORES['uniform']), 2, hurt=repeat(lump(3, 'large', 0.5)), sizes=calls(30, 200),
  batches=0.40, note='one block of numbers, 12 times')
P('n_pbs_drift', ell(8, 2), 2, hurt=wandering(4), sizes=calls(40, 150), batches=0.30, order='end',
  note='the last calls wander off')
P('n_pbs_own_ways', ell(6, 2, z_t(7), lead=(8, 6), offset=np.array([9.0, -4.0, 6.0, 0.0, 3.0, 12.0])), 2,
  hurt=each(turned(), ball(10), lump(5, 'large'), rod(3), in_units(100)), sizes=calls(20, 400), batches=0.45,
  note='9 of 20 calls wrong in five ways')
P('n_pbs_start_cluster', ell(10, 3, SCORES['gamma']), 3, hurt=lump(4, 'large', 0.3), sizes=calls(25, 250),
  batches=0.40, order='start', note='a bad start')
P('n_pbs_rows_cluster', ell(12, 2), 2, hurt=lump(25, 'random'), sizes=calls(15, 400), stray=0.30,
  note='30% bad rows in each call, at one place')
P('n_pbs_rows_plane', ell(7, 2), 2, hurt=sheet(3), sizes=calls(8, 1000), stray=0.40,
  note='40% bad rows in each call, in a plane')
P('n_pbs_both', ell(10, 2, lead=(9, 7)), 2, hurt=turned(), sizes=calls(20, 500), batches=0.25, stray=0.15,
  stray_hurt=hull(8), note='bad calls, and bad rows in the others')
P('n_pbs_misaligned', ell(6, 2, lead=(8, 5), offset=np.array([40.0, 0.0, -30.0, 20.0, 5.0, 60.0])), 2, hurt=misaligned,
  sizes=calls(24, 250), batches=0.33, order='runs', note='columns shifted by one place in stretches of calls')


# ---- honest PCAs ------------------------------------------------------------------------------

def g_curve(rng, n):
    """A bent arc: t, t squared, t cubed."""
    t = rng.uniform(-1, 1, size=(n, 1))
    return np.hstack([4 * t, 3 * t ** 2, 0.8 * t ** 3, 0 * t]) + 0.15 * rng.normal(size=(n, 4))


def g_counts(rng, n):
    """Words in texts of different length and two moods."""
    g = rng.gamma(3.0, 1 / 3.0, size=(n, 1))
    h = rng.beta(2.0, 2.0, size=(n, 1))
    rate = g * (2.0 + h * np.array([[12.0, 10.0, 8.0, 0, 0, 0]]) + (1 - h) * np.array([[0, 0, 0, 6.0, 4.0, 3.0]]))
    return rng.poisson(rate).astype(float)


def g_zero_inflated(rng, n):
    """Columns that are mostly zero, moved by one activity."""
    a = rng.gamma(2.0, 1.0, size=(n, 1))
    on = rng.random((n, 6)) < np.array([0.9, 0.8, 0.7, 0.4, 0.2, 0.1])
    return on * (a * np.array([4.0, 3.0, 2.0, 1.0, 1.0, 1.0]) + 0.3 * rng.exponential(size=(n, 6)))


def g_dummies(rng, n):
    """A factor of three continuous columns, and a factor of five levels coded by dummies, some rare."""
    f = rng.normal(size=(n, 1))
    lev = rng.choice(5, size=n, p=[0.5, 0.3, 0.12, 0.05, 0.03])
    dense = f @ [[2.0, 1.5, -1.0]] + 0.5 * rng.normal(size=(n, 3))
    return np.hstack([dense, (lev[:, None] == np.arange(5)).astype(float)])


def g_constant(rng, n):
    X, truth = ell(5, 2, z_t(6))(rng, n)
    out, T = np.zeros((n, 7)), np.zeros((7, 2))
    keep = [0, 1, 3, 4, 6]
    out[:, keep], T[keep] = X, truth
    out[:, 2] = 7.0
    return out, T


def g_rounded(rng, n):
    return np.round(ell6(rng, n)[0] / 2) * 2


def doubled(draw, times):
    def d(rng, n):
        X, truth = draw(rng, n // times + 1)
        return X[rng.permutation(np.repeat(np.arange(len(X)), times))[:n]], truth
    return d


def in_order(draw, column):
    def d(rng, n):
        X, truth = draw(rng, n)
        return X[np.argsort(X[:, column], kind='stable')], truth
    return d


def climbing(draw, rise):
    """The centre moves along a fixed direction in the course of the data."""
    def d(rng, n):
        X, _ = draw(rng, n)
        u = unit_vector(np.random.default_rng(8), X.shape[1])
        return X + np.outer(rise * (place(n) - 0.5), u)
    return d


def places(draw, parts, where=0.0, wide=0.0, seed=6):
    """Calls that differ by degrees in place and spread (fixed effects)."""
    g = np.random.default_rng(seed)
    wh, wi = g.normal(size=(parts, 100)), g.normal(size=parts)

    def d(rng, n):
        X, _ = draw(rng, n)
        j = block(n, parts)
        return X * np.exp(wide * wi[j, None]) + where * wh[j, :X.shape[1]]
    return d


P('n_ph_t5', ell(6, 2, z_t(5)), 2, 1500, note='elliptical, five degrees of freedom')
P('n_ph_exponential', ell(8, 3, SCORES['exponential']), 3, 1000, note='skewed scores')
P('n_ph_lognormal', ell(5, 2, z_lognormal, lead=(5, 3)), 2, 3000, note='lognormal scores')
P('n_ph_arcsine', ell(6, 2, SCORES['arcsine']), 2, 400, note='scores that crowd at their edges')
P('n_ph_curve', g_curve, 2, 800, note='a bent arc with little noise')
P('n_ph_fan', ell(5, 1, z_fan, lead=(4,)), 1, 2000, note='noise that grows with the leading score')
P('n_ph_volatile', ell(6, 2, z_volatile), 2, 3000, note='calm and wild times')
P('n_ph_counts', g_counts, 2, 1500, note='counts')
P('n_ph_zero_inflated', g_zero_inflated, 1, 2000, note='columns mostly zero')
P('n_ph_dummies', g_dummies, 1, 1000, note='dummies beside continuous columns')
P('n_ph_rounded', g_rounded, 2, 700, note='rounded to even numbers')
P('n_ph_constant_columns', g_constant, 2, 300, note='two constant columns')
P('n_ph_duplicates', doubled(ell(5, 2), 5), 2, 1500, note='every row five times')
P('n_ph_wide_t', ell(100, 2, z_t_own(5), lead=(14, 10), tail=(1, 1)), 2, 70, note='70 rows, 100 columns, tails in each')
P('n_ph_t4_own_tails', ell(40, 3, z_t_own(4), lead=(9, 7, 5)), 3, 5000, note='40 columns, tails of each score')

P('n_phs_climb', climbing(ell(6, 2, lead=(7, 5)), 8.0), 2, sizes=calls(30, 200), note='the centre climbs')
P('n_phs_places', places(ell(5, 2, lead=(6, 4)), 30, where=0.8), 2, sizes=calls(30, 250),
  note='calls at different places')
P('n_phs_spreads', places(ell(6, 2), 25, wide=0.6), 2, sizes=calls(25, 300), note='calls of different spreads')
P('n_phs_uneven_t', ell(7, 2, z_t(6)), 2, sizes=uneven(25, 40, 2000), note='calls of 40 to 2,000 rows, heavy tails')
P('n_phs_series', ell(5, 2, z_ar(0.9), lead=(6, 4)), 2, sizes=calls(25, 300), note='a slow series cut in calls')
P('n_phs_sorted', in_order(ell(5, 2, SCORES['gamma']), 0), 2, sizes=calls(15, 300), note='sorted by a column')
