"""Regression kinds."""
import functools
import zlib
import numpy as np
from interface import Sample, Kind, regression_truth

KINDS = []
_NOISE = {
    'normal': lambda r, n: r.standard_normal(n),
    'uniform': lambda r, n: r.uniform(-3 ** .5, 3 ** .5, n),
    't3': lambda r, n: r.standard_t(3, n) / 3 ** .5,
    't4': lambda r, n: r.standard_t(4, n) / 2 ** .5,
    'laplace': lambda r, n: r.laplace(0, .5 ** .5, n),
    'exp': lambda r, n: r.exponential(1, n) - 1,
    'gamma': lambda r, n: (r.gamma(2, 1, n) - 2) / 2 ** .5,
    'logn': lambda r, n: (np.exp(.8 * r.standard_normal(n)) - np.exp(.32)) / np.sqrt((np.exp(.64) - 1) * np.exp(.64)),
}


def fixed(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


class Law:
    """An honest law. draw(rng, n) -> X, y; truth closed form when given, else fitted on 400,000 rows."""
    def __init__(self, draw, truth=None, sd=1.0):
        self._draw, self._truth, self.sd = draw, truth, sd

    def __call__(self, rng, n):
        X, y = self._draw(rng, n)
        return np.ascontiguousarray(X, float), np.array(y, float)

    def truth(self):
        return self._truth if self._truth is not None else regression_truth(self)


def unit_beta(f, p, size):
    b = f.standard_normal(p)
    b = np.sign(b) * (.3 + np.abs(b))
    return size * b / np.linalg.norm(b)


def lin(name, p, noise='normal', design='normal', size=3.0, sd=1.0, icpt=2.0):
    """y = X b + icpt + sd * noise, design a name or a callable (rng, n) -> X with ~unit columns."""
    f = fixed(name)
    b = unit_beta(f, p, size)
    if design == 'normal':
        des = lambda r, n: r.standard_normal((n, p))
    elif design == 'corr':
        A = np.linalg.cholesky(.95 * np.ones((p, p)) + .05 * np.eye(p))
        des = lambda r, n: r.standard_normal((n, p)) @ A.T
    elif design == 'ar':
        A = np.linalg.cholesky(.7 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))
        des = lambda r, n: r.standard_normal((n, p)) @ A.T
    elif design == 't3':
        des = lambda r, n: r.standard_t(3, (n, p)) / 3 ** .5
    elif design == 'mt3':
        des = lambda r, n: r.standard_normal((n, p)) / np.sqrt(r.chisquare(3, (n, 1)))
    elif design == 'logn':
        des = lambda r, n: np.exp(r.standard_normal((n, p)))
    elif design == 'uniform':
        des = lambda r, n: r.uniform(-1.7, 1.7, (n, p))
    else:
        des = design

    def draw(r, n):
        X = des(r, n)
        return X, X @ b + icpt + sd * _NOISE[noise](r, n)
    L = Law(draw, np.append(b, icpt), sd)
    L.b = b
    return L


def honest(name, law, n, sizes=None, order=None, note=''):
    def make(rng):
        X, y = law(rng, n)
        if order == 'target':
            o = np.argsort(y); X, y = X[o], y[o]
        elif order == 'x':
            o = np.argsort(X[:, 0]); X, y = X[o], y[o]
        return Sample(X, y, np.ones(n, bool), law.truth(), None, sizes)
    KINDS.append(Kind('reg_honest_' + name, 'regression', True, make, note))


def places(rng, n, k, how):
    if how == 'random':
        return np.sort(rng.choice(n, k, replace=False))
    if how == 'stretch':
        a = rng.integers(0, n - k + 1)
        return np.arange(a, a + k)
    if how == 'start':
        return np.arange(k)
    if how == 'end':
        return np.arange(n - k, n)
    if how == 'stretches':           # several stretches of about n/20 rows
        w = max(1, n // 20)
        blocks = np.array_split(np.arange(n), max(1, n // w))
        o = rng.permutation(len(blocks))
        return np.sort(np.concatenate([blocks[i] for i in o])[:k])
    if how == 'periodic':
        return np.unique((np.arange(k) * (n / max(k, 1))).astype(int))
    raise ValueError(how)


def dirty(name, law, n, share, corrupt, how='random', note=''):
    """corrupt(rng, X, y, bad, law): changes rows `bad` in place."""
    def sweep(rng, share, n):
        X, y = law(rng, n)
        k = int(share * n)
        bad = places(rng, n, k, how)
        good = np.ones(n, bool)
        good[bad] = False
        if k:
            corrupt(rng, X, y, bad, law)
        return Sample(X, y, good, law.truth(), None, None)
    KINDS.append(Kind('reg_' + name, 'regression', False, lambda rng: sweep(rng, share, n), note, sweep))


def stream(name, law, batch, count, share, corrupt, row_share=0.0, row_corrupt=None, how='random', note='', per_batch=False):
    """share of batches wholly bad; row_share of the rows of each good batch bad."""
    def sweep(rng, share, n):
        nb = max(1, n // batch)
        n = nb * batch
        X, y = law(rng, n)
        badb = places(rng, nb, int(share * nb), how)
        good = np.ones(n, bool)
        rows = (badb[:, None] * batch + np.arange(batch)).ravel()
        if row_share:
            for b in np.setdiff1d(np.arange(nb), badb):
                i = b * batch + rng.choice(batch, int(row_share * batch), replace=False)
                good[i] = False
                row_corrupt(rng, X, y, i, law)
        if len(rows):
            good[rows] = False
            if per_batch:
                for b in badb:
                    corrupt(rng, X, y, b * batch + np.arange(batch), law)
            else:
                corrupt(rng, X, y, rows, law)
        return Sample(X, y, good, law.truth(), None, (batch,) * nb)
    KINDS.append(Kind('reg_' + name, 'regression', False, lambda rng: sweep(rng, share, batch * count), note, sweep))


# ---------------------------------------------------------------- honest laws
for nz, p, n in [('normal', 5, 300), ('uniform', 5, 300), ('t3', 5, 1000), ('t4', 8, 400), ('exp', 4, 500),
                 ('logn', 5, 1000), ('gamma', 6, 300), ('laplace', 20, 1000)]:
    honest('noise_' + nz, lin('hn' + nz, p, nz), n)
honest('normal_60x4', lin('h60', 4), 60)
honest('normal_30x8', lin('h30', 8), 30)
honest('normal_4000x60', lin('hbig', 60), 4000)
honest('exp_100x2', lin('hexp2', 2, 'exp', size=1.5), 100)


def law(f=None, **kw):
    def deco(g):
        return Law(g, **kw)
    return deco(f) if f else deco


@law
def fan(r, n):
    X = r.uniform(0, 4, (n, 3))
    return X, 1 + X @ [2, -1, .5] + (.2 + X[:, 0]) * r.standard_normal(n)


@law
def fan_exp(r, n):
    X = r.standard_normal((n, 4))
    return X, 1 + X @ [1, 1, -.5, .2] + np.exp(.6 * X[:, 0]) * r.standard_normal(n)


@law
def multiplicative(r, n):
    X = r.normal(0, .5, (n, 4))
    return X, np.exp(2 + X @ [1, .5, -.5, .2] + .4 * r.standard_normal(n))


@law
def product(r, n):
    X = r.standard_normal((n, 4))
    return X, 1 + X @ [2, 1, -1, .5] + 1.5 * X[:, 0] * X[:, 1] + r.standard_normal(n)


@law
def square(r, n):
    X = r.uniform(-2, 3, (n, 3))
    return X, X @ [1, -1, .5] + 1.2 * X[:, 0] ** 2 + .7 * r.standard_normal(n)


@law
def kink(r, n):
    X = r.standard_normal((n, 3))
    return X, X @ [.5, 1, -1] + 4 * np.maximum(X[:, 0] - .8, 0) + .5 * r.standard_normal(n)


@law
def saturating(r, n):
    X = r.exponential(2, (n, 3))
    return X, 10 * X[:, 0] / (1 + X[:, 0]) + .5 * X[:, 1] + .5 * r.standard_normal(n)


@law
def poisson(r, n):
    X = r.normal(0, 1, (n, 5))
    return X, r.poisson(np.exp(.5 + X @ [.5, .3, -.3, .1, 0]))


@law
def binary(r, n):
    X = r.standard_normal((n, 4))
    return X, r.random(n) < 1 / (1 + np.exp(-(-1.2 + X @ [1, -.7, .4, 0])))


@law
def rare_binary(r, n):
    X = r.standard_normal((n, 4))
    return X, r.random(n) < 1 / (1 + np.exp(-(-3 + X @ [1, -.7, .4, 0])))


@law
def zero_inflated(r, n):
    X = r.standard_normal((n, 4))
    on = r.random(n) < 1 / (1 + np.exp(.5 - X[:, 0]))
    return X, on * np.maximum(0, 5 + X @ [1, 1, -1, .5] + r.standard_normal(n))


@law
def censored(r, n):
    X = r.standard_normal((n, 4))
    return X, np.clip(X @ [2, 1, -1, .5] + r.standard_normal(n), -1, 3)


@law
def classes_levels(r, n):                # 3 honest classes, unseen, with different levels
    X = r.standard_normal((n, 4))
    c = r.choice(3, n, p=[.55, .3, .15])
    return X, np.array([0, 4, 9])[c] + X @ [1, 2, -1, .5] + .7 * r.standard_normal(n)


@law
def classes_slopes(r, n):                # two honest classes with different slopes, 70:30
    X = r.standard_normal((n, 3))
    c = r.random(n) < .3
    return X, np.where(c, X @ [0., 1, -1] + 3, X @ [2., 1, -1]) + .5 * r.standard_normal(n)


@law
def airfoil(r, n):
    fr = r.choice([200, 250, 315, 400, 500, 630, 800, 1000, 1250, 1600, 2000, 2500, 3150, 4000, 5000, 6300, 8000, 10000, 12500], n)
    an = r.choice([0, 1.5, 3, 4, 5.4, 7.3, 9.5, 12.6, 15.4, 17.4, 22.2], n)
    ch = r.choice([.0254, .0508, .1016, .1524, .2286, .3048], n)
    ve = r.choice([31.7, 39.6, 55.5, 71.3], n)
    th = .0004 + .05 * (an / 22) ** 1.5 * np.sqrt(ch)
    st = np.log10(fr * th / ve * 20 + 1e-3)
    return np.c_[fr, an, ch, ve, th], 126 - 6 * st ** 2 + 12 * np.log10(ve / 50) - 25 * ch + 2.5 * r.standard_normal(n)


@law
def concrete(r, n):
    cem = np.round(r.uniform(102, 540, n), 1)
    slag = np.where(r.random(n) < .45, 0, np.round(r.gamma(3, 45, n), 1))
    ash = np.where(r.random(n) < .55, 0, np.round(r.normal(120, 25, n), 1))
    wat = np.round(r.normal(182, 21, n), 1)
    sp = np.where(r.random(n) < .37, 0, np.round(r.gamma(6, 1.6, n), 1))
    co = np.round(r.normal(973, 78, n)); fi = np.round(r.normal(773, 80, n))
    age = r.choice([1, 3, 7, 14, 28, 56, 90, 180, 365], n, p=[.01, .13, .12, .06, .41, .09, .1, .04, .04])
    str_ = (cem + .8 * slag + .5 * ash) / wat * 9 * (np.log(age + 1) / np.log(29)) ** .9 + .3 * sp
    return np.c_[cem, slag, ash, wat, sp, co, fi, age], np.maximum(2, str_ + 6 * r.standard_normal(n))


@law
def bike(r, n):
    h = r.integers(0, 24, n); day = r.integers(0, 7, n); se = r.integers(1, 5, n)
    t = np.round(.2 + .15 * se + .1 * r.standard_normal(n), 2); hu = np.round(np.clip(r.normal(.62, .19, n), 0, 1), 2)
    work = day < 5
    rush = np.where(work, np.exp(-(h - 8) ** 2 / 3.) + 1.3 * np.exp(-(h - 17.5) ** 2 / 5.), .8 * np.exp(-(h - 14) ** 2 / 20.))
    lam = 12 + 420 * rush * (.3 + t) * (1.2 - .5 * hu)
    return np.c_[h, day, work, se, t, hu], r.poisson(lam * r.gamma(6, 1 / 6, n))


@law
def houses(r, n):                         # log-normal incomes, counts, capped target
    inc = np.exp(r.normal(1.2, .45, n)); age = r.integers(1, 53, n); rooms = np.exp(r.normal(1.65, .25, n))
    pop = np.round(np.exp(r.normal(7, .75, n))); occ = 2 + np.exp(r.normal(0, .5, n))
    return np.c_[inc, age, rooms, pop, occ], np.minimum(5, np.exp(-.6 + .75 * np.log(inc) + .004 * age + .4 * r.standard_normal(n)))


for nm, L, n in [('fan', fan, 500), ('fan_exp', fan_exp, 1000), ('multiplicative', multiplicative, 600), ('product', product, 400),
                 ('square', square, 400), ('kink', kink, 500), ('saturating', saturating, 600), ('poisson', poisson, 500),
                 ('binary', binary, 600), ('rare_binary', rare_binary, 2000), ('zero_inflated', zero_inflated, 800),
                 ('censored', censored, 500), ('classes_levels', classes_levels, 600), ('classes_slopes', classes_slopes, 1000),
                 ('airfoil', airfoil, 1500), ('concrete', concrete, 1030), ('bike', bike, 4000), ('houses', houses, 20000)]:
    honest(nm, L, n)

honest('design_lognormal', lin('hdl', 4, design='logn', size=1), 400)
honest('design_t3', lin('hdt3', 5, design='t3'), 400)
honest('design_mt3_t3noise', lin('hdmt3', 5, 't3', 'mt3'), 1000)
honest('design_correlated', lin('hdc', 8, design='corr'), 300)
honest('collinear_1e-3', lin('hcol', 4, design=lambda r, n: (lambda a: np.c_[a, a + .001 * r.standard_normal(n), r.standard_normal((n, 2))])(r.standard_normal(n))), 300)
honest('design_counts', lin('hcnt', 4, design=lambda r, n: r.poisson([.3, 1, 4, 20], (n, 4))), 500)


def _onehot(r, n):
    c = r.choice(6, n, p=[.4, .25, .15, .1, .06, .04])
    return np.c_[np.eye(6)[c][:, 1:], r.standard_normal((n, 2))]


honest('onehot', lin('hoh', 7, design=_onehot, size=5), 600)
honest('rare_flags', lin('hrf', 5, design=lambda r, n: np.c_[r.random(n) < .02, r.random(n) < .05, r.standard_normal((n, 3))], size=8), 1000)
honest('rare_flag_big_effect', lin('hrf2', 2, design=lambda r, n: np.c_[r.random(n) < .03, .1 * r.standard_normal(n)], size=30), 800)


def _const_dup(r, n):
    X = r.standard_normal((n, 3))
    return np.c_[X, np.full(n, 7.), X[:, 0]]


_b = np.array([1., -2, .5, 0, 0])
honest('constant_duplicated_columns', Law(lambda r, n: (lambda X: (X, X @ _b + 1 + r.standard_normal(n)))(_const_dup(r, n)), np.append(_b, 1.)), 300)
_sc = np.array([1e-6, 1e-3, 1, 1e3, 1e6])
honest('scales_1e-6_1e6', Law(lambda r, n: (lambda Z: (Z * _sc, Z @ [1, -1, 2, .5, 1] + 3 + r.standard_normal(n)))(r.standard_normal((n, 5))),
                             np.append(np.array([1, -1, 2, .5, 1]) / _sc, 3.)), 400)
honest('means_far', lin('hmf', 4, design=lambda r, n: 1e5 + r.standard_normal((n, 4))), 300)
honest('clusters_x', lin('hcx', 3, design=lambda r, n: np.array([[0, 0, 0], [8, 0, 3], [-5, 9, 0], [20, 20, 20]])[r.choice(4, n, p=[.5, .25, .15, .1])] + r.standard_normal((n, 3)), size=1), 400)
honest('time_trend_column', lin('htt', 3, design=lambda r, n: np.c_[np.arange(n) / n * 10, r.standard_normal((n, 2))]), 500)
_bt = np.array([1., -1, 2, 2.])
honest('time_trend_hidden', Law(lambda r, n: (lambda X: (X, X @ _bt[:3] + 4 * (np.arange(n) + .5) / n + .5 * r.standard_normal(n)))(r.standard_normal((n, 3))), np.append(_bt[:3], 2.)), 600)
honest('sorted_by_target', lin('hst', 5), 500, order='target')
honest('sorted_by_target_stream', lin('hsts', 4, 'exp'), 3000, sizes=(300,) * 10, order='target', note='each batch alone has another line: hard for batch methods')
honest('integers', Law(lambda r, n: (lambda X: (X, np.round(X @ [1, -.5, .3] + 2 * r.standard_normal(n))))(r.integers(0, 11, (n, 3)).astype(float))), 400)
honest('rounded_coarse', Law(lambda r, n: (lambda X: (np.round(X, 1), np.round((X @ [1, 2, -1] + r.standard_normal(n)) / 2) * 2))(r.standard_normal((n, 3)))), 300)
honest('duplicated_rows', Law(lambda r, n: (lambda X, y, i: (X[i], y[i]))(*lin('hdr', 4)(r, n), r.integers(0, max(1, n // 3), n)), lin('hdr', 4).truth()), 600, note='each third of rows repeated about 3 times')


def _ar(r, n, a=.8):
    e = r.standard_normal(n)
    for i in range(1, n):
        e[i] = a * e[i - 1] + np.sqrt(1 - a * a) * e[i]
    return e


honest('ar_noise', Law(lambda r, n: (lambda X: (X, X @ _bt[:3] + 2 + _ar(r, n)))(r.standard_normal((n, 3))), _bt), 600)
_f = fixed('sites'); _sites = 4 * _f.standard_normal((20, 5))
honest('stream_sites', lin('hss', 5, design=lambda r, n: _sites[np.arange(n) * 20 // n] + r.standard_normal((n, 5))), 6000, sizes=(300,) * 20)
honest('stream_drift_x', lin('hsd', 4, 't3', design=lambda r, n: 6 * (np.arange(n) / n)[:, None] * [1, -1, .5, 0] + r.standard_normal((n, 4))), 5000, sizes=(50,) * 100)
honest('stream_normal_2000', lin('hs2', 20, 'exp'), 20000, sizes=(2000,) * 10)
honest('stream_uneven', lin('hsu', 5), 3050, sizes=(1000, 50, 700, 300, 20, 480, 500))
honest('stream_product', product, 4000, sizes=(200,) * 20)


# ---------------------------------------------------------------- corruptions
@functools.lru_cache(maxsize=None)
def mom(L):
    """fixed means and spreads of an honest law: x mean, x sd, y mean, y sd."""
    X, y = L(np.random.default_rng(5), 20000)
    return X.mean(0), X.std(0), y.mean(), y.std()


def vertical(k, kind='sym', jitter=1.0):
    def c(r, X, y, i, L):
        s = {'sym': r.choice([-1, 1], len(i)), 'up': 1, 'down': -1}[kind]
        y[i] += L.sd * (k * s + jitter * r.standard_normal(len(i)))
    return c


def leverage(xk, yk, tight, sign=1):
    """cluster at xk sds along a random direction; y at honest value + yk noise sds."""
    def c(r, X, y, i, L):
        p = X.shape[1]
        u = r.standard_normal(p); u /= np.linalg.norm(u)
        m, s = mom(L)[0], mom(L)[1]
        ctr = m + s * xk * u
        X[i] = ctr + tight * s * r.standard_normal((len(i), p))
        t = L.truth()
        y[i] = ctr @ t[:-1] + t[-1] + sign * yk * L.sd + tight * L.sd * r.standard_normal(len(i))
    return c


def wrong_line(mult, shift=0.0, noise=1.0):
    """targets follow another exact linear law: slopes times mult (about the honest centre), plus shift sds."""
    def c(r, X, y, i, L):
        t = L.truth(); m = mom(L)[0]
        y[i] = m @ t[:-1] + t[-1] + mult * ((X[i] - m) @ t[:-1]) + L.sd * (shift + noise * r.standard_normal(len(i)))
    return c


def other_line(size=3.0, shift=0.0, noise=1.0):
    """all bad rows collude on one random other line."""
    def c(r, X, y, i, L):
        s = np.where(mom(L)[1] > 0, mom(L)[1], 1); t = L.truth(); m = mom(L)[0]
        w = r.standard_normal(X.shape[1]); w *= size / np.linalg.norm(w)
        y[i] = m @ t[:-1] + t[-1] + ((X[i] - m) / s) @ w * L.sd + L.sd * (shift + noise * r.standard_normal(len(i)))
    return c


def shift_y(k):
    def c(r, X, y, i, L):
        y[i] += k * L.sd
    return c


def set_y(f):
    def c(r, X, y, i, L):
        y[i] = f(r, X, y, i, L)
    return c


def imputed(cols=1, offset=0.0):
    """targets filled by a model that knows only the first `cols` columns (no noise)."""
    def c(r, X, y, i, L):
        A = np.c_[X[:, :cols], np.ones(len(X))]
        w = np.linalg.lstsq(A, y, rcond=None)[0]
        y[i] = A[i] @ w + offset * L.sd
    return c


def permute(r, X, y, i, L):
    y[i] = y[r.permutation(i)]


def unit_y(f):
    def c(r, X, y, i, L):
        y[i] = f(y[i])
    return c


def unit_x(f, cols=(0,)):
    def c(r, X, y, i, L):
        for j in cols:
            X[i, j] = f(X[i, j])
    return c


def column_value(k, j=0):
    """one value, k sds over the column's mean."""
    def c(r, X, y, i, L):
        X[i, j] = mom(L)[0][j] + k * mom(L)[1][j]
    return c


def stuck(r, X, y, i, L):
    X[i] = X[i[0]]
    y[i] = y[i[0]] + 12 * L.sd


def stuck_y_ramp(r, X, y, i, L):
    y[i] = y[i] + L.sd * np.linspace(0, 25, len(i))


def swap(a, b):
    def c(r, X, y, i, L):
        X[np.ix_(i, [a, b])] = X[np.ix_(i, [b, a])]
    return c


def cells(m, k):
    """m bad cells per bad row, k sds off, one sign per column."""
    def c(r, X, y, i, L):
        p = X.shape[1]; s = mom(L)[1]; sg = r.choice([-1, 1], p)
        for q in i:
            j = r.choice(p, m, replace=False)
            X[q, j] += sg[j] * s[j] * k * (1 + .1 * r.standard_normal(m))
    return c


def box(a):
    """x uniform in a box of +-a sds, y on minus the slopes."""
    def c(r, X, y, i, L):
        t = L.truth(); m, s = mom(L)[0], mom(L)[1]
        X[i] = m + s * r.uniform(-a, a, (len(i), X.shape[1]))
        y[i] = m @ t[:-1] + t[-1] - (X[i] - m) @ t[:-1] + L.sd * r.standard_normal(len(i))
    return c


def garbage(scale=10):
    def c(r, X, y, i, L):
        X[i] = mom(L)[0] + mom(L)[1] * 2 * r.standard_t(2, (len(i), X.shape[1]))
        y[i] = mom(L)[2] + mom(L)[3] * scale * r.standard_t(2, len(i))
    return c


def heavy_y(k):
    def c(r, X, y, i, L):
        y[i] += L.sd * k * (1 + np.abs(r.standard_cauchy(len(i))))
    return c


def both(*cs):
    """equal parts of the bad rows to each corruption."""
    def c(r, X, y, i, L):
        for q, part in zip(cs, np.array_split(r.permutation(i), len(cs))):
            if len(part):
                q(r, X, y, np.sort(part), L)
    return c


l2, l5, l20, l60 = lin('d2', 2), lin('d5', 5), lin('d20', 20), lin('d60', 60)
l5t, l5e, l5c, l5a = lin('d5t', 5, 't3'), lin('d5e', 5, 'exp'), lin('d5c', 5, design='corr'), lin('d5a', 5, 'logn', 'ar')
l4l = lin('d4l', 4, design='logn', size=1)
l4p = lin('d4p', 4, design=lambda r, n: 50 + 10 * r.standard_normal((n, 4)), size=.4, icpt=20)   # positive, measurement-like
fan.sd, airfoil.sd, concrete.sd, bike.sd, poisson.sd, product.sd, classes_levels.sd = 2., 5., 9., 120., 2., 2., 3.

# ---------------------------------------------------------------- dirty tables
dirty('vertical_sym5_40', l5, 1000, .4, vertical(5))
dirty('vertical_up5_30', l5, 300, .3, vertical(5, 'up'))
dirty('vertical_up8_40_exp', l5e, 1000, .4, vertical(8, 'up'))
dirty('vertical_down10_40', l2, 100, .4, vertical(10, 'down'))
dirty('vertical_sym10_20_p20', l20, 1000, .2, vertical(10))
dirty('vertical_up100_10', l20, 300, .1, vertical(100, 'up'))
dirty('vertical_1e6_40', l5, 300, .4, vertical(1e6, 'up'))
dirty('vertical_1e6_5_p60', l60, 4000, .05, vertical(1e6))
dirty('vertical_up10_stretch', l5t, 1000, .35, vertical(10, 'up'), 'stretch')
dirty('heavy_on_heavy', l5t, 1000, .3, heavy_y(10))
dirty('heavy_on_lognormal_ar', l5a, 1000, .25, heavy_y(8))
dirty('leverage_near_tight', l5, 300, .3, leverage(3, 12, .1))
dirty('leverage_near_loose', l5, 1000, .3, leverage(3, 12, 1))
dirty('leverage_far_tight', l5, 300, .4, leverage(20, 30, .1))
dirty('leverage_far_loose_p2', l2, 100, .3, leverage(10, 30, 1))
dirty('leverage_far_p20', l20, 1000, .3, leverage(15, 40, .3))
dirty('leverage_1e4_p60', l60, 4000, .1, leverage(1e4, 1e4, 1))
dirty('leverage_point_p2', l2, 300, .4, leverage(6, 15, 0))
dirty('leverage_near_corr', l5c, 1000, .25, leverage(3, 20, .5))
dirty('leverage_20000', l20, 20000, .3, leverage(8, 15, .5))
dirty('flip_40', l5, 1000, .4, wrong_line(-1))
dirty('flip_30_p2', l2, 100, .3, wrong_line(-1))
dirty('flip_40_p20', l20, 4000, .4, wrong_line(-1))
dirty('flip_35_p60', l60, 4000, .35, wrong_line(-1))
dirty('flip_40_20000', l5e, 20000, .4, wrong_line(-1))
dirty('flip_stretch', l5, 1000, .4, wrong_line(-1), 'stretch')
dirty('flip_stretches_t3', l5t, 1000, .3, wrong_line(-1), 'stretches')
dirty('flip_start_p20', l20, 1000, .35, wrong_line(-1), 'start')
dirty('flip_end_300', l5, 300, .4, wrong_line(-1), 'end')
dirty('flip_periodic', l5, 1000, .25, wrong_line(-1), 'periodic')
dirty('cross_line', l5, 1000, .4, other_line(4))
dirty('cross_line_p2_300', l2, 300, .35, other_line(4, noise=.3))
dirty('cross_line_exact', l5, 1000, .4, other_line(3, noise=0), note='bad rows fit their line exactly')
dirty('zero_slopes_shift', l5, 1000, .4, wrong_line(0, 3, .2))
dirty('double_slopes', l5, 1000, .4, wrong_line(2.5, 0, 1))
dirty('parallel_shift6', l5, 1000, .4, shift_y(6))
dirty('parallel_shift8_p20', l20, 1000, .35, shift_y(-8))
dirty('parallel_shift8_stretch_exp', l5e, 1000, .35, shift_y(8), 'stretch')
dirty('y_mean_40', l5, 1000, .4, set_y(lambda r, X, y, i, L: np.full(len(i), y.mean())))
dirty('y_median_30_p20', l20, 1000, .3, set_y(lambda r, X, y, i, L: np.full(len(i), np.median(y))))
dirty('y_zero_30', l4p, 1000, .3, set_y(lambda r, X, y, i, L: np.zeros(len(i))))
dirty('y_const_9999', l5, 300, .2, set_y(lambda r, X, y, i, L: np.full(len(i), 9999.)))
dirty('y_minus1_35', l4p, 1000, .35, set_y(lambda r, X, y, i, L: np.full(len(i), -1.)), 'stretches')
dirty('y_copy_column_40', l4p, 1000, .4, set_y(lambda r, X, y, i, L: X[i, 2].copy()))
dirty('y_imputed1_40', l5, 1000, .4, imputed(1), note='model-made targets, no noise')
dirty('y_imputed2_offset_40_p20', l20, 4000, .4, imputed(2, 1.0), note='model-made targets, no noise')
dirty('y_permuted_40', l5, 1000, .4, permute)
dirty('y_permuted_stretch_p20', l20, 4000, .35, permute, 'stretch')
dirty('y_x1000', l4p, 300, .2, unit_y(lambda v: v * 1000))
dirty('y_x2.54_40', l4p, 1000, .4, unit_y(lambda v: v * 2.54))
dirty('y_fahrenheit', l4p, 1000, .3, unit_y(lambda v: v * 1.8 + 32), 'stretch')
dirty('x_x1000', l4p, 300, .2, unit_x(lambda v: v * 1000))
dirty('x_div2.54_all', l4p, 1000, .3, unit_x(lambda v: v / 2.54, (0, 1, 2, 3)))
dirty('x_fahrenheit_stretches', l4p, 1000, .35, unit_x(lambda v: v * 1.8 + 32, (1,)), 'stretches')
dirty('x_log_stretch', l4l, 1000, .3, unit_x(np.log, (0, 1, 2, 3)), 'stretch')
dirty('x_one_value_30', l5, 1000, .3, column_value(3))
dirty('x_one_value_far_30_p20', l20, 1000, .3, column_value(50))
dirty('x_code_9999', l5, 1000, .1, unit_x(lambda v: np.full_like(v, 9999)))
dirty('x_code_-1_two_cols', l4p, 1000, .3, unit_x(lambda v: np.full_like(v, -1), (0, 3)))
dirty('x_code_0_stretch', l4p, 1000, .4, unit_x(lambda v: np.zeros_like(v), (2,)), 'stretch')
dirty('stuck_rows', l5, 300, .3, stuck, 'stretch')
dirty('sensor_ramp', l5, 1000, .4, stuck_y_ramp, 'stretch', note='ramp starts at 0: first bad rows are mild')
dirty('swapped_columns', lin('dsw', 4, design=lambda r, n: r.standard_normal((n, 4)) + [5, -5, 0, 0], size=3), 1000, .3, swap(0, 1))
dirty('cells2_p20', l20, 1000, .3, cells(2, 8))
dirty('cells5_p60', l60, 4000, .35, cells(5, 8))
dirty('box_minus_slope', l5, 1000, .3, box(4))
dirty('box_wide_p2', l2, 300, .4, box(6))
dirty('good_beside_bad_leverage', lin('dgl', 5, design='mt3'), 1000, .2, leverage(8, 25, .3))
dirty('good_bad_leverage_lognormal', l4l, 1000, .25, leverage(4, 20, .5))
dirty('mix_many', l5, 1000, .4, both(vertical(20), leverage(8, 25, .5), permute, wrong_line(-1), cells(1, 20)))
dirty('garbage_40_p20', l20, 1000, .4, garbage(5))
dirty('airfoil_flip_stretch', airfoil, 1500, .35, wrong_line(-1, 5, .2), 'stretch')
dirty('airfoil_up', airfoil, 1500, .3, vertical(8, 'up'))
dirty('concrete_x10', concrete, 1030, .1, unit_y(lambda v: v * 10))
dirty('concrete_permuted', concrete, 1030, .4, permute)
dirty('bike_zeros', bike, 4000, .4, set_y(lambda r, X, y, i, L: np.zeros(len(i))), 'stretches')
dirty('bike_x10', bike, 4000, .15, unit_y(lambda v: v * 10))
dirty('poisson_codes_999', poisson, 500, .15, set_y(lambda r, X, y, i, L: np.full(len(i), 999.)))
dirty('product_up', product, 1000, .3, vertical(15, 'up'))
dirty('fan_flip', fan, 1000, .35, wrong_line(-2, 0, 1))
dirty('classes_levels_flip', classes_levels, 2000, .3, wrong_line(-3, 0, 1))
dirty('onehot_leverage', lin('doh', 7, design=_onehot, size=5), 1000, .25, vertical(15, 'up'))

# ---------------------------------------------------------------- dirty streams
up20 = vertical(20, 'up')
site = lin('dsite', 5, design=lambda r, n: _sites[np.arange(n) * 20 // n] * .5 + r.standard_normal((n, 5)))
stream('stream_flip_45_50', l5, 50, 100, .45, wrong_line(-1))
stream('stream_flip_40_300_rows', l5, 300, 20, .4, wrong_line(-1), .1, up20)
stream('stream_flip_30_2000_p20', l20, 2000, 10, .3, wrong_line(-1), .1, leverage(8, 30, .3))
stream('stream_shift_45_300', l5e, 300, 20, .45, shift_y(10))
stream('stream_shift_20_50_rows', l5t, 50, 60, .2, shift_y(-15), .1, up20)
stream('stream_scaled_y_40', l4p, 300, 20, .4, unit_y(lambda v: v * 2.54))
stream('stream_scaled_x_30_rows', l4p, 300, 20, .3, unit_x(lambda v: v * 1000, (0, 1, 2, 3)), .1, up20)
stream('stream_garbage_45', l5, 300, 20, .45, garbage(5), per_batch=True)
stream('stream_collude_45_p20', l20, 300, 40, .45, other_line(4))
stream('stream_collude_40_rows', l5, 300, 30, .4, other_line(4, 3, .2), .1, permute)
stream('stream_collude_start_2000', l5, 2000, 10, .4, other_line(4), how='start')
stream('stream_flip_end_50', l2, 50, 40, .4, wrong_line(-1), how='end')
stream('stream_each_own_line_45', l5, 300, 20, .45, other_line(6), per_batch=True)
stream('stream_permuted_40', l20, 300, 30, .4, permute, .1, up20, per_batch=True)
stream('stream_stuck_30', l5, 50, 60, .3, stuck, per_batch=True)
stream('stream_sites_flip_30', site, 300, 20, .3, wrong_line(-1), .1, up20)
stream('stream_flip_45_rows10', l5, 300, 40, .45, wrong_line(-1), .1, up20, note='50.5% of all rows bad')
stream('stream_leverage_30_p60', l60, 2000, 10, .3, leverage(10, 40, .5), per_batch=True)
