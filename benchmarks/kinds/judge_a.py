"""Judgement kinds, set A."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from judge_tools import Book, check  # noqa: E402

B = Book()
P = np.random.default_rng(771001)          # constants of the laws


def col(*a):
    return np.column_stack(a).astype(float)


def lin(X, b, a, e):
    b = np.asarray(b, float)
    return X, X @ b + a + e, np.append(b, a)


# =============================================================== regression laws
def houses(rng, n):
    area = np.exp(rng.normal(4.6, .35, n))
    rooms = np.clip(rng.poisson(area / 30) + 1, 1, 12)
    age = rng.gamma(1.6, 20, n)
    dist = rng.exponential(6, n)
    gar = rng.random(n) < .45
    X = col(area, rooms, age, dist, gar)
    mu = X @ [2.1, 8, -.5, -3.2, 18] + 60
    return lin(X, [2.1, 8, -.5, -3.2, 18], 60, rng.normal(size=n) * (8 + .06 * np.abs(mu)))


def load(rng, n):
    t = np.arange(n)
    day = rng.integers(0, 365) + t / 24
    temp = 11 - 9 * np.cos(2 * np.pi * day / 365) + 4 * np.sin(2 * np.pi * (t % 24 - 9) / 24) + rng.normal(0, 2.5, n)
    wk = (day.astype(int) % 7) >= 5
    X = col(temp, np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 24), np.sin(4 * np.pi * t / 24), wk, rng.gamma(2, 2, n))
    return lin(X, [-6, -40, -55, 18, -35, 2.5], 520, rng.normal(0, 14, n))


def load_curve(rng, n):
    temp = rng.normal(13, 7, n)
    h = rng.integers(0, 24, n)
    wk = rng.random(n) < 2 / 7
    X = col(temp, np.sin(2 * np.pi * h / 24), np.cos(2 * np.pi * h / 24), wk)
    y = 400 + 4.5 * np.maximum(15 - temp, 0) + 6 * np.maximum(temp - 21, 0) - 40 * X[:, 1] - 50 * X[:, 2] - 30 * wk * (h > 6)
    return X, y + rng.normal(0, 12, n)


def claims(rng, n):
    age = rng.integers(18, 75, n)
    bmi = rng.normal(28, 5, n)
    smoke = rng.random(n) < .2
    kids = rng.poisson(1.1, n)
    X = col(age, bmi, smoke, kids)
    mu = 1500 + 190 * age + 60 * bmi + smoke * (6000 + 900 * (bmi - 28)) + 400 * kids
    return X, np.maximum(mu, 500) * rng.gamma(6, 1 / 6, n)


def claims_lin(rng, n):
    X = col(rng.integers(18, 75, n), rng.normal(28, 5, n), rng.random(n) < .2, rng.poisson(1.1, n), rng.gamma(2, 1, n))
    return lin(X, [.19, .12, 6, .4, .8], 1.5, rng.gamma(4, .6, n) - 2.4)


WL = P.normal(size=(11, 4))


def wine(rng, n):
    X = rng.normal(size=(n, 4)) @ WL.T + .6 * rng.normal(size=(n, 11))
    y = np.clip(np.round(5.8 + X @ np.r_[.25, -.2, .15, np.zeros(6), .1, .2] + .45 * rng.normal(size=n)), 3, 9)
    return X, y


def visits(rng, n):
    spend = rng.lognormal(1, .6, n)
    price = rng.uniform(.7, 1.3, n)
    promo = rng.random(n) < .15
    X = col(spend, price, promo, rng.integers(1, 13, n))
    return X, rng.poisson(np.exp(2.2 + .12 * np.minimum(spend, 9) - .8 * price + .5 * promo))


def wages(rng, n):
    ed = rng.choice([8, 10, 12, 12, 12, 14, 16, 16, 18], n)
    ex = rng.uniform(0, 40, n)
    fem, uni = rng.random(n) < .47, rng.random(n) < .18
    X = col(ed, ex, ex ** 2 / 100, fem, uni)
    return lin(X, [2.6, 1.1, -1.6, -4, 3], -6, rng.normal(size=n) * (2.5 + .25 * ed * .7))


def lab(rng, n):
    X = col(rng.choice([0, 1, 2, 5, 10, 20], n), rng.normal(25, .8, n), rng.normal(7.2, .2, n))
    return lin(X, [.43, .02, .3], .1, .09 * rng.normal(size=n))


GC = P.normal(size=120) * (P.random(120) < .15)
GL = np.linalg.cholesky(.5 ** np.abs(np.subtract.outer(np.arange(120), np.arange(120))))


def genes(rng, n, p=120):
    X = rng.normal(size=(n, p)) @ GL.T
    return lin(X, GC, 3, rng.normal(0, 1, n))


GC40 = P.normal(size=40) * .7


def panel40(rng, n):
    X = rng.normal(size=(n, 40)) @ GL[:40, :40].T * np.linspace(.5, 3, 40) + 8
    return lin(X, GC40, -2, rng.normal(0, 1.5, n))


def surface(rng, n):
    A = rng.choice([-1., 0, 1], (n, 4))
    return A, 20 + A @ [3, -2, 1, .5] + 1.5 * A[:, 0] * A[:, 1] - 1.2 * A[:, 2] ** 2 + rng.normal(0, .8, n)


def sorted_sales(rng, n):
    t = np.arange(n) / n
    X = col(t, np.sin(2 * np.pi * 5 * t), np.cos(2 * np.pi * 5 * t), np.sort(rng.gamma(3, 2, n)), rng.random(n) < .1)
    e = np.zeros(n)
    w = rng.normal(size=n)
    e[0] = w[0]
    for i in range(1, n):
        e[i] = .4 * e[i - 1] + w[i]
    return lin(X, [30, 6, -4, 1.5, 5], 100, 1.5 * e)


DF = np.array([.22, .17, .14, .11, .09, .07, .06, .05, .04, .03, .02])
DB = P.normal(0, 3, 11)


def departments(rng, n):
    g = rng.choice(12, n, p=np.append(DF, 1 - DF.sum()).clip(0) / np.append(DF, 1 - DF.sum()).clip(0).sum())
    D = (g[:, None] == np.arange(11)).astype(float)
    X = np.column_stack([D, rng.normal(40, 8, n), rng.gamma(2, 3, n)])
    return lin(X, np.append(DB, [.3, -.5]), 10, rng.normal(0, 1.7, n))


def heavy(rng, n):
    X = rng.normal(size=(n, 7)) * [1, 2, .5, 1, 3, 1, 1] + [0, 5, 1, 0, -4, 2, 0]
    return lin(X, [1, -.6, 3, .4, .2, 0, -1.5], 2, 1.2 * rng.standard_t(4, n))


def heavy_all(rng, n):
    X = rng.standard_t(5, (n, 6)) @ (np.eye(6) + .3)
    return lin(X, [1, 0, -2, .5, .5, 1], 0, rng.standard_t(3.5, n))


SC = 10. ** np.array([-4, 7, 0, 3, -2, 5, 1, -1])
SB = P.normal(size=8)


def scales(rng, n):
    Z = rng.normal(size=(n, 8))
    Z[:, 1] = rng.lognormal(0, .5, n)
    Z[:, 5] += 30
    return lin(Z * SC, SB / SC, 1000, rng.normal(0, .7, n))


def loyal(rng, n):
    m = max(n // 4, 5)
    Z = np.round(col(rng.gamma(3, 10, m), rng.integers(1, 8, m), rng.normal(50, 12, m)))
    Z = Z[rng.integers(0, m, n)]
    return Z, np.round(.7 * Z[:, 0] + 4 * Z[:, 1] - .2 * Z[:, 2] + 20 + rng.normal(0, 3, n))


def dose(rng, n):
    d = rng.choice([.5, 1, 2, 4, 8, 16, 32], n)
    w = rng.normal(70, 12, n)
    return col(np.log2(d), w), 90 * d / (d + 6) - .25 * (w - 70) + rng.normal(0, 5, n)


SITE = P.normal(size=(40, 4))


def sites(rng, n):
    s = np.arange(n) * 30 // n
    X = rng.normal(size=(n, 4)) + .7 * SITE[s]
    return X, X @ [1.5, -1, .5, 2] + .35 * SITE[s, 0] * X[:, 1] * .5 + 4 + .4 * SITE[s, 3] + rng.normal(0, 1, n)


def process(rng, n):
    Z = rng.normal(size=(n, 3))
    X = Z @ [[1, .5, 0, .3, .2, 0, .7, .1, .4], [0, .5, 1, -.4, .2, .6, 0, .3, .1], [.2, 0, .3, .5, -.7, .5, .1, .8, 0]] + .5 * rng.normal(size=(n, 9))
    X = X * [5, 2, 30, 1, 1, 100, .1, 4, 10] + [80, 12, 400, 7, 1, 2500, .9, 20, 150]
    return lin(X, [.8, -1, .1, 2, -3, .03, 25, .5, -.2], -10, rng.normal(0, 2, n))


def two(rng, n):
    X = col(rng.uniform(0, 10, n), rng.normal(size=n))
    return lin(X, [2, -1], 5, rng.normal(0, 1, n))


def ten(rng, n):
    X = rng.normal(size=(n, 10))
    return lin(X, np.r_[2, -1, 1, .5, 0, 0, 1, -2, .3, 0], 1, rng.normal(0, 1, n))


def clicks(rng, n):
    X = col(rng.poisson(4, n), rng.gamma(2, 30, n), rng.random(n) < .3, rng.random(n) < .05, rng.lognormal(0, .7, n))
    return lin(X, [1.2, .06, 2, 6, .8], .5, rng.laplace(0, 1.1, n))


# --------------------------------------------------------------- honest regression
B.reg('a_houses', houses, 900)
B.reg('a_load_year', load, 8760)
B.reg('a_load_curve', load_curve, 2500)
B.reg('a_claims_interaction', claims, 1300)
B.reg('a_wine_scores', wine, 1600)
B.reg('a_visit_counts', visits, 700)
B.reg('a_wages', wages, 3000)
B.reg('a_lab_tiny', lab, 60)
B.reg('a_genes_wide', genes, 300)
B.reg('a_surface_grid', surface, 162)
B.reg('a_departments', departments, 1200)
B.reg('a_heavy_t4', heavy_all, 2000)
B.reg('a_mixed_scales', scales, 400)
B.reg('a_loyal_repeats', loyal, 1500)
B.reg('a_sites_stream', sites, sizes=(300,) * 30)
B.reg('a_dose_curve', dose, 210)
B.reg('a_sorted_sales', sorted_sales, 1000)


# --------------------------------------------------------------- dirty regression: tables
def f(X, y, c):       # clean prediction of given rows
    return X @ c.truth[:-1] + c.truth[-1]


def thousand(rng, X, y, c):
    return X, y / 1000


B.reg('a_price_in_thousands', houses, 1000, thousand, .05)


def zero_typed(rng, X, y, c):
    X[:, 0] *= 10
    return X, y


B.reg('a_area_extra_zero', houses, 600, zero_typed, .08)


def meter_stuck(rng, X, y, c):
    first = np.r_[True, np.diff(c.i) > 1]
    return X, y[np.maximum.accumulate(np.where(first, np.arange(len(y)), 0))]


B.reg('a_meter_stale', load, 4000, meter_stuck, .25, 'runs')
B.reg('a_meter_zeroed', load, 2500, lambda rng, X, y, c: (X, np.zeros(len(y))), .1, 'middle')


def fraud(rng, X, y, c):
    return X, y + rng.uniform(8, 20, len(y)) * (1 + (X[:, 2] > .5))


B.reg('a_fraud_claims', claims_lin, 2400, fraud, .15)
B.reg('a_monthly_pay', wages, 5000, lambda rng, X, y, c: (X, y / 12), .3, 'end')
B.reg('a_labels_permuted', process, 1500, lambda rng, X, y, c: (X, rng.permutation(y)), .35)


def code99(rng, X, y, c):
    w = rng.integers(0, 3, len(y))
    X[np.arange(len(y)), w] = -99
    return X, y


B.reg('a_lab_missing_code', lab, 150, code99, .2)


def misaligned(rng, X, y, c):
    return np.roll(X, 1, axis=1), y


B.reg('a_columns_shifted', panel40, 1200, misaligned, .3, 'start')


def lever(rng, X, y, c):
    m = len(y)
    u = c.shared.normal(size=X.shape[1])
    u *= 8 / np.linalg.norm(u)
    Z = u + .3 * rng.normal(size=X.shape)
    return Z, f(Z, y, c) + 25 + rng.normal(size=m)


B.reg('a_leverage_cluster', ten, 500, lever, .3)
B.reg('a_second_population', two, 800, lambda rng, X, y, c: (X, 32 - 2.2 * X[:, 0] + 3 * X[:, 1] + rng.normal(0, 1, len(y))), .35)
B.reg('a_rail_value', process, 3000, lambda rng, X, y, c: (X, np.full(len(y), c.y.max() + 30)), .2, 'runs')


def bots(rng, X, y, c):
    k = c.shared.integers(0, c.n, 6)
    Z = c.X[k][rng.integers(0, 6, len(y))]
    return Z, f(Z, y, c) + rng.uniform(12, 40, len(y))


B.reg('a_bots', clicks, 6000, bots, .4)
B.reg('a_debit_credit_sign', claims_lin, 900, lambda rng, X, y, c: (X, -y), .2)


def swapped(rng, X, y, c):
    X[:, [0, 2]] = X[:, [2, 0]]
    return X, y


B.reg('a_two_columns_swapped', houses, 1500, swapped, .15)


def fahr(rng, X, y, c):
    X[:, 0] = X[:, 0] * 1.8 + 32
    return X, y


B.reg('a_fahrenheit', load, 6000, fahr, .3, 'end')


def drift(rng, X, y, c):
    u = np.linspace(.25, 1, len(y))
    return X, y + 60 * u


B.reg('a_drift_to_end', process, 2000, drift, .4, 'end')


def one_row(rng, X, y, c):
    x = X[0] + 4 * c.X.std(0)
    return np.tile(x, (len(y), 1)), np.full(len(y), f(x, y, c) - 15 * np.std(c.y))


B.reg('a_one_bad_row_copied', genes, 1000, one_row, .1)
B.reg('a_cauchy_rows', heavy, 1200, lambda rng, X, y, c: (X, y + 25 * rng.standard_cauchy(len(y))), .2)


def defaults(rng, X, y, c):
    Z = np.zeros_like(X)
    Z[:, 0] = 1970
    return Z, np.zeros(len(y))


B.reg('a_default_form', wages, 700, defaults, .25)
B.reg('a_merge_off_by_many', panel40, 2500, lambda rng, X, y, c: (X, np.roll(y, 17)), .3, 'middle')


def cells(rng, X, y, c):
    m, p = X.shape
    for _ in range(2):
        j = rng.integers(0, p, m)
        X[np.arange(m), j] += rng.choice([-1, 1], m) * rng.uniform(10, 60, m) * c.X.std(0)[j]
    return X, y


B.reg('a_bad_cells_wide', genes, 1500, cells, .25)
B.reg('a_decimal_point', scales, 800, lambda rng, X, y, c: (X * np.where(np.arange(8) == 1, 100., 1.), y), .15)


# streams
def collude(rng, X, y, c):
    return X, 50 * X[:, 0] + 3


B.reg('as_collude_45', ten, hurt=collude, sizes=(400,) * 40, batches=.45)


def own_unit(rng, X, y, c):
    k = rng.choice([1000., 2.2046, .001, 100.])
    X = X.copy()
    X[:, int(rng.integers(0, 3))] *= k
    return X, y if rng.random() < .5 else y * rng.choice([12, 1 / 12, 1000])


B.reg('as_site_units', process, hurt=own_unit, sizes=(250,) * 50, batches=.4, stray=.02,
      stray_hurt=lambda rng, X, y, c: (X, y + 80))
B.reg('as_shuffled_batches', ten, hurt=lambda rng, X, y, c: (X, rng.permutation(y)), sizes=(500,) * 30, batches=.3)
B.reg('as_broken_start', claims_lin, hurt=lambda rng, X, y, c: (X, 8 * y + 5), sizes=(200,) * 40, batches=.45, order='start')


def code_batch(rng, X, y, c):
    k = rng.random(len(y)) < .6
    X[k, 1] = -9999
    y[k] = -9999
    y[~k] += 30
    return X, y


B.reg('as_codes_and_strays', wages, hurt=code_batch, sizes=(600,) * 25, batches=.2, stray=.04,
      stray_hurt=lambda rng, X, y, c: (X, y * 10))
B.reg('as_offset_grows', process, hurt=lambda rng, X, y, c: (X, y + 15 + 4 * c.b), sizes=(150,) * 60, batches=.4, order='end')
B.reg('as_seven_large', heavy, hurt=lambda rng, X, y, c: (X, -y + 12 + rng.normal(size=len(y))), sizes=(3000,) * 7, batches=.43)
B.reg('as_small_garbage', two, hurt=lambda rng, X, y, c: (rng.uniform(-40, 60, X.shape), rng.uniform(-200, 400, len(y))),
      sizes=(50,) * 100, batches=.4)


def frozen(rng, X, y, c):
    X = np.tile(X[0] + 3 * c.X.std(0) * rng.normal(size=X.shape[1]), (len(y), 1)) + 1e-3 * rng.normal(size=X.shape)
    return X, y + 40 * rng.random()


B.reg('as_frozen_inputs', process, hurt=frozen, sizes=(300,) * 40, batches=.35, order='runs')


def neg(rng, X, y, c):
    return X, f(X, y, c) - 2 * (X - c.X.mean(0)) @ c.truth[:-1] + rng.normal(0, 1, len(y))


B.reg('as_slopes_flipped_uneven', ten, hurt=neg, sizes=lambda rng: rng.integers(200, 700, 40), batches=.4, stray=.03,
      stray_hurt=lambda rng, X, y, c: (X * 5, y - 30))


# =============================================================== PCA laws
def factor(L, s):
    p, k = L.shape

    def draw(rng, n):
        return rng.normal(size=(n, k)) @ L.T + s * rng.normal(size=(n, p))
    return draw


L20 = P.normal(size=(20, 3)) * [3, 2, 1.3]
fac20 = factor(L20, .8)
LK = np.kron(np.eye(3), np.ones((8, 1))) * P.uniform(.6, 1.2, (24, 1)) + .15


def likert(rng, n):
    F = rng.normal(size=(n, 3)) * [1.3, 1, .75]
    return np.clip(np.round(3 + F @ LK.T + .8 * rng.normal(size=(n, 24))), 1, 5)


BETA = P.uniform(.6, 1.5, 40)
SEC = np.kron(np.eye(4), np.ones((10, 1))) * np.array([1.3, 1, .8, .5])


def returns(rng, n):
    v = np.exp(.3 * rng.normal(size=n))[:, None]
    return v * (np.outer(rng.standard_t(6, n), BETA) + rng.standard_t(6, (n, 4)) @ SEC.T + .9 * rng.standard_t(6, (n, 40)))


TOP = P.dirichlet(np.full(60, .25), 4)


def topics(rng, n):
    return rng.poisson(200 * rng.dirichlet([.6, .5, .4, .3], n) @ TOP + .2).astype(float)


BOD = P.normal(1, .15, 8)


def body(rng, n):
    F = rng.normal(size=(n, 2))
    return np.exp(.18 * F[:, :1] * BOD + .08 * F[:, 1:] * np.linspace(-1, 1, 8) + .04 * rng.normal(size=(n, 8))) * np.linspace(20, 60, 8)


GR = np.linspace(0, 1, 120)
PK = np.stack([np.exp(-.5 * ((GR - m) / w) ** 2) for m, w in ((.2, .05), (.45, .12), (.62, .03), (.85, .08))])


def spectra(rng, n):
    return rng.gamma(3, [1., .8, .7, .5], (n, 4)) @ PK + .05 * rng.normal(size=(n, 120)) + 1


SPM = np.array([[5, 3.4, 1.5, .2, 2, 1], [5.9, 2.8, 4.3, 1.3, 2.5, .4], [6.6, 3, 5.6, 2, 3, .2]])
SPL = P.normal(size=(6, 2)) * .35


def species(rng, n):
    g = rng.choice(3, n, p=[.4, .35, .25])
    return SPM[g] + rng.normal(size=(n, 2)) @ SPL.T + .2 * rng.normal(size=(n, 6))


HR = np.arange(24)


def daycurves(rng, n):
    s = 2 * np.pi * np.arange(n) / 365
    amp = 5 - 2 * np.cos(s) + rng.normal(0, 1, n)
    lev = 12 - 9 * np.cos(s) + rng.normal(0, 3, n)
    ph = rng.normal(0, .6, n)
    return lev[:, None] + amp[:, None] * np.sin(2 * np.pi * (HR[None] - 9 - ph[:, None]) / 24) + .5 * rng.normal(size=(n, 24))


MSC = np.array([4000, 900, 50, 20, 5, 3, 1, 1, .5, .1, .1, .01])


def money(rng, n):
    Z = rng.normal(size=(n, 12)) @ (np.eye(12) + .25)
    Z[:, 0] = np.exp(.5 * Z[:, 0])
    return Z * MSC


def sales0(rng, n):
    F = rng.gamma(2, 1, (n, 3)) * [3, 2, 1.5]
    L = np.kron(np.eye(3), np.ones((1, 6)))
    return (rng.random((n, 18)) > .15) * rng.poisson(F @ L + .3).astype(float)


LW = P.normal(size=(150, 2)) * [1.6, 1.1]
wide = factor(LW, 1.)
SM = P.normal(size=(25, 10))


def sites_pca(rng, n):
    s = np.arange(n) * 25 // n
    L = np.zeros((10, 2))
    L[:5, 0], L[5:, 1] = 2, 1.4
    return (rng.normal(size=(n, 2)) * (1 + .1 * SM[s, :2])) @ L.T + .5 * SM[s] + .7 * rng.normal(size=(n, 10))


L5 = np.array([[3, 1], [2.5, -.5], [1, 2], [.5, 1.5], [2, 0]])
five = factor(L5, .5)
L60 = np.linalg.qr(P.normal(size=(60, 4)))[0] * [9, 7, 5, 4]
fac60 = factor(L60, 1.)
L8 = np.linalg.qr(P.normal(size=(8, 2)))[0] * [4, 2.5]
fac8 = factor(L8, .7)

B.pca('ap_factors', fac20, 3, 500)
B.pca('ap_likert', likert, 3, 800)
B.pca('ap_returns', returns, 3, 1500)
B.pca('ap_topics', topics, 3, 900)
B.pca('ap_body_small', body, 2, 120)
B.pca('ap_spectra', spectra, 4, 400)
B.pca('ap_species', species, 2, 300)
B.pca('ap_daycurves', daycurves, 3, 1460)
B.pca('ap_money_scales', money, 2, 600)
B.pca('ap_sales_zeros', sales0, 3, 2000)
B.pca('ap_wide_few', wide, 2, 80)
B.pca('ap_sites_stream', sites_pca, 2, sizes=(240,) * 25)


# --------------------------------------------------------------- dirty PCA: tables
B.pca('ap_body_in_mm', body, 2, 250, lambda rng, X, c: X * np.where(np.arange(8) == 3, 10., 1.), .2)


def straight(rng, X, c):            # careless respondents: one alternating answer
    a = rng.choice([1., 5.], len(X))[:, None]
    return np.where(np.arange(24) % 2, a, 6 - a)


B.pca('ap_careless_answers', likert, 3, 1500, straight, .25)


def codes(rng, X, c):
    k = rng.random(X.shape) < .12
    k[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = True
    return np.where(k, -99., X)


B.pca('ap_code_99', fac20, 3, 1000, codes, .3)


def ripple(rng, X, c):
    return X + rng.choice([-1., 1.], (len(X), 1)) * 4 * np.sin(GR * 60)


B.pca('ap_spectra_ripple', spectra, 4, 700, ripple, .3, 'end')


def fat_finger(rng, X, c):
    j = rng.integers(0, X.shape[1], len(X))
    X[np.arange(len(X)), j] = 60 * rng.choice([-1, 1], len(X)) * rng.uniform(.5, 1.5, len(X))
    return X


B.pca('ap_returns_fat_finger', returns, 3, 3000, fat_finger, .06)


def spam(rng, X, c):
    w = np.zeros(60)
    w[c.shared.choice(60, 3, replace=False)] = 90
    return rng.poisson(w + 1., X.shape).astype(float) * rng.integers(1, 4, (len(X), 1))


B.pca('ap_spam_documents', topics, 3, 1500, spam, .3)


def cluster(dist, tight):
    def hurt(rng, X, c):
        u = c.shared.normal(size=X.shape[1])
        return dist * u / np.linalg.norm(u) + c.X.mean(0) + tight * rng.normal(size=X.shape)
    return hurt


B.pca('ap_far_cluster', fac60, 4, 800, cluster(40, 1.), .35)
B.pca('ap_near_cluster', fac8, 2, 500, cluster(15, .5), .3)
B.pca('ap_two_rays', fac20, 3, 600, lambda rng, X, c: X + rng.choice([-1, 1], (len(X), 1)) * rng.uniform(15, 35, (len(X), 1)) *
      np.where(np.arange(20) == c.shared.integers(20), 1., 0.), .4)


def second_plane(rng, X, c):
    Q = np.linalg.qr(c.shared.normal(size=(X.shape[1], 2)))[0] * 14
    return rng.normal(size=(len(X), 2)) @ Q.T + .7 * rng.normal(size=X.shape)


B.pca('ap_second_plane', fac60, 4, 1500, second_plane, .4, 'start')


def stuck_channel(rng, X, c):
    X[:, 5:9] = c.X[:, 5:9].max() + 25 + 3 * rng.normal(size=(len(X), 1))
    return X


B.pca('ap_dead_logger', daycurves, 3, 2000, stuck_channel, .2, 'middle')
B.pca('ap_reversed_hours', daycurves, 3, 1200, lambda rng, X, c: 3 * X[:, ::-1][:, np.r_[12:24, 0:12]] * np.where(HR % 2, 1., -1.), .15)
B.pca('ap_other_catalogue', sales0, 3, 4000, lambda rng, X, c: X[:, np.r_[0:18:3, 1:18:3, 2:18:3]] * 6, .3, 'end')
B.pca('ap_wide_cells', wide, 2, 200, lambda rng, X, c: X + (rng.random(X.shape) < .04) * rng.normal(0, 60, X.shape), .3)
B.pca('ap_cauchy_rows', fac20, 3, 2000, lambda rng, X, c: X + 6 * rng.standard_cauchy(X.shape), .25)
B.pca('ap_species_typos', species, 2, 400, lambda rng, X, c: X * np.where(np.arange(6) == rng.integers(0, 6, len(X))[:, None], 10., 1.), .1)


# streams
B.pca('aps_collude_45', fac20, 3, hurt=second_plane, sizes=(300,) * 40, batches=.45)
B.pca('aps_each_its_own', fac60, 4, hurt=lambda rng, X, c: X + np.outer(rng.normal(size=len(X)), rng.normal(size=60) * 3),
      sizes=(400,) * 40, batches=.4, stray=.02, stray_hurt=cluster(50, 1.))
B.pca('aps_small_batches', fac8, 2, hurt=lambda rng, X, c: rng.normal(size=X.shape) * np.r_[np.ones(6), 20, 20], sizes=(60,) * 80,
      batches=.4, order='start')
B.pca('aps_gain_fault', daycurves, 3, hurt=lambda rng, X, c: X * np.where(HR % 5 == 0, 4., 1.), sizes=(365,) * 24, batches=.38, order='runs')
B.pca('aps_market_feed', returns, 3, hurt=lambda rng, X, c: X[:, rng.permutation(40)] * np.r_[np.ones(35), np.full(5, 9)],
      sizes=(500,) * 30, batches=.3, stray=.03, stray_hurt=fat_finger)
B.pca('aps_large_batches', likert, 3, hurt=lambda rng, X, c: np.where(rng.random((len(X), 1)) < .5, 1., 5.) * (np.arange(24) % 2) +
      rng.integers(0, 2, X.shape), sizes=(2000,) * 9, batches=.44)
B.pca('aps_stale_with_cells', five, 2, hurt=lambda rng, X, c: np.tile(X[0] + rng.normal(0, 12, 5), (len(X), 1)) + 1e-6 * rng.normal(size=X.shape),
      sizes=lambda rng: rng.integers(100, 400, 50), batches=.4, stray=.04, stray_hurt=lambda rng, X, c: X + [0, 0, 0, 40, -30])

KINDS = B.KINDS

if __name__ == '__main__':
    check(KINDS)
