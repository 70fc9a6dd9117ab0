"""Exam L: kinds of data written from README.md and interface.py alone, without sight of the method.

Every kind imitates a situation of some trade. Names: 'l_...' regression, 'l_pca_...' PCA.
Dirty kinds keep within the README's claim; honest kinds have no bad rows, the plain method is their oracle.
"""
from __future__ import annotations

import functools

import numpy as np

try:
    from interface import Kind, Sample, cov_basis, pca_truth, regression_truth
except ImportError:                                             # imported as part of a package
    from .interface import Kind, Sample, cov_basis, pca_truth, regression_truth

KINDS = []


# ---- helpers -----------------------------------------------------------------------------------

def dirty(note):
    """Registers make(rng) -> Sample as a dirty kind; 'pca_...' are PCA."""
    def deco(f):
        KINDS.append(Kind('l_' + f.__name__, 'pca' if f.__name__.startswith('pca_') else 'regression', False, f, note))
        return f
    return deco


def honest(note, n=None, sizes=None, d=None, truth=None, cov=None, rows=200_000):
    """Registers draw(rng, n) -> (X, y) or X as an honest kind. `sizes`: (calls, rows) or (calls, low, high), ragged.
    Truth: given, from a given covariance, or simulated."""
    def deco(draw):
        KINDS.append(Kind('l_' + draw.__name__, 'pca' if d else 'regression', True,
                          functools.partial(_honest, draw, n, sizes, d, truth, cov, rows), note))
        return draw
    return deco


def _honest(draw, n, sizes, d, truth, cov, rows, rng):
    if sizes is not None:
        sizes = even(*sizes) if len(sizes) == 2 else ragged(rng, *sizes)
        n = sum(sizes)
    if d:
        X, y = draw(rng, n), None
        T = cov_basis(cov, d) if cov is not None else pca_truth(draw, d, rows=rows)
    else:
        X, y = draw(rng, n)
        T = np.asarray(truth, float) if truth is not None else regression_truth(draw, rows=rows)
    return Sample(X, y, np.ones(len(X), bool), T, d, sizes)


def even(k, m):
    return (m,) * k


def ragged(rng, k, low, high):
    return tuple(int(v) for v in np.exp(rng.uniform(np.log(low), np.log(high), k)))


def pick(rng, n, share):
    bad = np.zeros(n, bool)
    bad[rng.permutation(n)[:int(share * n)]] = True
    return bad


def calls(rng, sizes, share, order='random', bursts=3):
    """Which calls are bad -> (mask of rows, number of the call of each row, numbers of bad calls)."""
    k = len(sizes)
    m = int(share * k)
    for _ in range(200):
        flag = np.zeros(k, bool)
        if order == 'first':
            flag[:m] = True
        elif order == 'last':
            flag[k - m:] = True
        elif order == 'bursts':
            g, b = np.array_split(np.arange(k - m), bursts + 1), np.array_split(np.arange(m), bursts)
            flag = np.concatenate([np.r_[np.zeros(len(g[i])), np.ones(len(b[i]))] for i in range(bursts)]
                                  + [np.zeros(len(g[-1]))]).astype(bool)
        else:
            flag = pick(rng, k, share)
        if np.repeat(flag, sizes).mean() <= max(share, .05) or order != 'random':
            break
    return np.repeat(flag, sizes), np.repeat(np.arange(k), sizes), np.flatnonzero(flag)


def slopes(rng, p, low=.6, high=2.):
    return rng.uniform(low, high, p) * rng.choice([-1, 1], p)


def corr(rng, n, p, k=2, own=1.):
    """Columns that share k factors."""
    return rng.normal(size=(n, k)) @ rng.normal(size=(k, p)) / np.sqrt(k) + own * rng.normal(size=(n, p))


def done(X, y, bad, b, c=0., sizes=None):
    return Sample(X, y, ~bad, np.append(b, c), None, sizes)


def factors(rng, n, p, sds, noise=1., mean=0., tail=None):
    """Factor table with isotropic noise -> X, its principal directions (exact)."""
    Q = np.linalg.qr(rng.normal(size=(p, len(sds))))[0]
    F = rng.normal(size=(n, len(sds))) if tail is None else rng.standard_t(tail, (n, len(sds))) / np.sqrt(tail / (tail - 2))
    return mean + (F * np.asarray(sds)) @ Q.T + noise * rng.normal(size=(n, p)), Q


def pdone(X, bad, Q, sizes=None):
    return Sample(X, None, ~bad, Q, Q.shape[1], sizes)


def away(rng, Q):
    """A unit direction at right angles to the columns of Q."""
    v = rng.normal(size=len(Q))
    v -= Q @ (Q.T @ v)
    return v / np.linalg.norm(v)


def waves(p, k):
    """(p, k) orthonormal cosines: loadings that need no draw."""
    i, j = np.arange(p)[:, None], np.arange(1, k + 1)
    return np.cos(np.pi * (i + .5) * j / p) * np.sqrt(2 / p)


def spread_cov(p, sds, noise=1.):
    L = waves(p, len(sds)) * np.asarray(sds)
    return L @ L.T + noise ** 2 * np.eye(p)


# ---- regression, bad rows in one table ---------------------------------------------------------

@dirty('flats: a fifth of the areas in square feet instead of square metres')
def flats_feet(rng):
    n, b = 800, np.array([2.5, 12., -.8, 6.])
    X = np.c_[rng.normal(105, 28, n), rng.integers(1, 6, n), rng.uniform(0, 60, n), rng.normal(5, 2, n)]
    y = X @ b + 40 + rng.normal(0, 15, n)
    bad = pick(rng, n, .2)
    X[bad, 0] *= 10.764
    return done(X, y, bad, b, 40)


@dirty('drug assay: decimal point of the reading slips either way')
def assay_decimal(rng):
    n, b = 300, slopes(rng, 4)
    X = rng.normal(size=(n, 4))
    y = X @ b + 60 + rng.normal(size=n)
    bad = pick(rng, n, .15)
    y[bad] *= rng.choice([.1, 10.], bad.sum())
    return done(X, y, bad, b, 60)


@dirty('wind farm: anemometer output frozen at one value')
def wind_frozen(rng):
    n, b = 5000, slopes(rng, 5)
    X = corr(rng, n, 5)
    y = X @ b + 30 + rng.normal(0, .8, n)
    bad = pick(rng, n, .3)
    y[bad] = 3.2
    return done(X, y, bad, b, 30)


@dirty('credit files: 99999 filled in for unknown cells of some columns')
def credit_codes(rng):
    n, p = 4000, 12
    b = slopes(rng, p)
    X = 50 + 10 * corr(rng, n, p)
    y = X @ b + rng.normal(0, 8, n)
    bad = pick(rng, n, .25)
    X[np.flatnonzero(bad), rng.integers(0, 5, bad.sum())] = 99999
    return done(X, y, bad, b)


@dirty('parcels: weight and volume entered in each other\'s column')
def parcels_swapped(rng):
    n, p = 2000, 7
    b = np.r_[3., -2., slopes(rng, 5)]
    X = rng.normal(size=(n, p)) + np.r_[40, 10, np.zeros(5)]
    y = X @ b + 5 + rng.normal(size=n)
    bad = pick(rng, n, .3)
    X[bad, :2] = X[bad, 1::-1]
    return done(X, y, bad, b, 5)


@dirty('forty sprinters: six times typed in from another discipline')
def sprint_tiny(rng):
    n, b = 40, np.array([1.2, -.7])
    X = rng.normal(size=(n, 2))
    y = X @ b + 11 + .4 * rng.normal(size=n)
    bad = pick(rng, n, .15)
    y[bad] = 21 + X[bad, 0] + .8 * rng.normal(size=bad.sum())
    return done(X, y, bad, b, 11)


@dirty('25 calibration points, four read off the wrong scale')
def calibration_25(rng):
    n = 25
    x = np.linspace(0, 10, n)[:, None]
    y = 2 * x[:, 0] + 1 + .3 * rng.normal(size=n)
    bad = pick(rng, n, .17)
    y[bad] += 15 + 3 * rng.random(bad.sum())
    return done(x, y, bad, np.array([2.]), 1)


@dirty('near infrared spectra, few rows and 30 wavelengths: concentrations shifted by one plate')
def spectra_plate(rng):
    n, p = 240, 30
    b = slopes(rng, p, .3, 1.)
    X = rng.normal(size=(n, 4)) @ waves(p, 4).T * 5 + .5 * rng.normal(size=(n, p))
    y = X @ b + 20 + .5 * rng.normal(size=n)
    bad = pick(rng, n, .15)
    y[bad] += 12 + rng.normal(size=bad.sum())
    return done(X, y, bad, b, 20)


@dirty('expression of 150 genes: a fifth of the tubes come with the wrong phenotype')
def genes_wrong_tube(rng):
    n, p = 1200, 150
    b = slopes(rng, p, .5, 1.5)
    X = rng.normal(size=(n, p))
    y = X @ b + .5 * rng.normal(size=n)
    bad = pick(rng, n, .2)
    y[bad] = rng.normal(40, 10, bad.sum())
    return done(X, y, bad, b)


@dirty('power meters wired backwards: the sign of the target flips')
def meter_reversed(rng):
    n, p = 3000, 8
    b = slopes(rng, p)
    X = corr(rng, n, p)
    y = X @ b + 45 + 1.5 * rng.normal(size=n)
    bad = pick(rng, n, .35)
    y[bad] *= -1
    return done(X, y, bad, b, 45)


@dirty('road detectors that overflow report 255')
def traffic_255(rng):
    n, p = 6000, 4
    b = np.array([8., 3., -2., 1.])
    X = np.c_[rng.gamma(3, 1, n), rng.normal(size=(n, 3))]
    y = X @ b + 40 + 4 * rng.normal(size=n)
    bad = pick(rng, n, .38)
    y[bad] = 255
    return done(X, y, bad, b, 40)


@dirty('survey: straight-liners who tick one box throughout and give a silly sum')
def survey_straight(rng):
    n, p = 1500, 10
    b = slopes(rng, p, .5, 1.)
    X = np.clip(np.round(3 + corr(rng, n, p, 2, .8)), 1, 5)
    y = X @ b + 50 + rng.normal(size=n)
    bad = pick(rng, n, .28)
    X[bad] = rng.choice([1., 5.], (bad.sum(), 1))
    y[bad] = 99
    return done(X, y, bad, b, 50)


@dirty('till receipts: one faulty receipt written out again and again')
def receipts_repeated(rng):
    n, p = 2500, 6
    b = slopes(rng, p)
    X = rng.lognormal(0, .5, (n, p))
    y = X @ b + .7 * rng.normal(size=n)
    bad = pick(rng, n, .2)
    X[bad] = X[np.flatnonzero(bad)[0]] + 2
    y[bad] = 80
    return done(X, y, bad, b)


@dirty('photometry: cosmic rays add large positive flux to four rows in ten')
def cosmic_rays(rng):
    n, b = 10_000, slopes(rng, 4)
    X = rng.normal(size=(n, 4))
    y = X @ b + 100 + rng.normal(size=n)
    bad = pick(rng, n, .4)
    y[bad] += 12 + rng.exponential(60, bad.sum())
    return done(X, y, bad, b, 100)


@dirty('yields: a third of the rows belong to a table of another crop')
def other_crop(rng):
    n, p = 1800, 5
    b = slopes(rng, p)
    X = rng.normal(20, 4, (n, p))
    y = X @ b + 10 + 2 * rng.normal(size=n)
    bad = pick(rng, n, .33)
    X[bad] = rng.normal(55, 3, (bad.sum(), p))
    y[bad] = 900 - 3 * X[bad, 0] + 5 * rng.normal(size=bad.sum())
    return done(X, y, bad, b, 10)


@dirty('bank: a tight far cluster of forged accounts levers the line')
def forged_accounts(rng):
    n, p = 3500, 6
    b = slopes(rng, p)
    X = rng.standard_t(6, (n, p))
    y = X @ b + 1 + rng.normal(size=n)
    bad = pick(rng, n, .3)
    X[bad] = 15 * np.sign(b) + .2 * rng.normal(size=(bad.sum(), p))
    y[bad] = -60 + .2 * rng.normal(size=bad.sum())
    return done(X, y, bad, b, 1)


@dirty('machine shop: a tight minority agrees on a line of its own, well apart')
def second_gauge(rng):
    n, b = 2000, np.array([1., 2., -1.])
    X = rng.uniform(-2, 2, (n, 3))
    y = X @ b + .5 * rng.normal(size=n)
    bad = pick(rng, n, .35)
    y[bad] = X[bad] @ [-1., 1.5, .5] + 20 + .05 * rng.normal(size=bad.sum())
    return done(X, y, bad, b)


@dirty('web log: bots with enormous, wide dwell times among 60,000 rows')
def weblog_bots(rng):
    n, b = 60_000, np.array([1.5, -.5, .8])
    X = np.c_[rng.gamma(2, 1, n), rng.normal(size=n), rng.poisson(3, n)]
    y = X @ b + 8 + rng.laplace(0, 1, n)
    bad = pick(rng, n, .25)
    y[bad] = 200 * rng.standard_t(2, bad.sum()) + 300
    return done(X, y, bad, b, 8)


@dirty('kiln: a quarter of the temperatures in Fahrenheit')
def kiln_fahrenheit(rng):
    n, b = 1500, np.array([.5, 4., -3.])
    X = np.c_[rng.normal(900, 30, n), rng.normal(size=(n, 2))]
    y = X @ b - 100 + 3 * rng.normal(size=n)
    bad = pick(rng, n, .25)
    X[bad, 0] = X[bad, 0] * 1.8 + 32
    return done(X, y, bad, b, -100)


@dirty('clinic: weight in pounds or height in inches, one cell a row')
def clinic_imperial(rng):
    n, b = 900, np.array([.6, .9, .3, -.5])
    X = np.c_[rng.normal(170, 9, n), rng.normal(72, 8, n), rng.normal(50, 12, n), rng.normal(7, 1, n)]
    y = X @ b + 2.5 * rng.normal(size=n)
    bad = pick(rng, n, .24)
    i = np.flatnonzero(bad)
    X[i[::2], 0] /= 2.54
    X[i[1::2], 1] *= 2.2046
    return done(X, y, bad, b)


@dirty('gas billing: unread meters are booked as zero')
def gas_zero(rng):
    n, p = 7000, 9
    b = slopes(rng, p, .3, 1.)
    X = corr(rng, n, p, 3)
    y = X @ b + 60 + 2 * rng.normal(size=n)
    bad = pick(rng, n, .39)
    y[bad] = 0
    return done(X, y, bad, b, 60)


@dirty('laboratory columns from 1e-6 to 1e6; target a thousandfold for some rows')
def lab_scales(rng):
    n, p = 1400, 7
    s = 10. ** np.arange(-6, 7, 2)
    b0 = slopes(rng, p)
    Z = rng.normal(3, 1, (n, p))
    y = Z @ b0 + 40 + rng.normal(size=n)
    bad = pick(rng, n, .22)
    y[bad] *= 1000
    return done(Z * s, y, bad, b0 / s, 40)


@dirty('quotes: t3 noise, and wide wrong prints both ways')
def quotes_prints(rng):
    n, b = 3000, slopes(rng, 5)
    X = rng.standard_t(5, (n, 5))
    y = X @ b + rng.standard_t(3, n)
    bad = pick(rng, n, .2)
    y[bad] = X[bad] @ (-b) + rng.choice([-60, 90], bad.sum()) + 15 * rng.normal(size=bad.sum())
    return done(X, y, bad, b)


@dirty('counts of insects; -99 where the trap was lost')
def traps_lost(rng):
    n, b = 1100, np.array([6., 4., -3.])
    X = rng.uniform(0, 3, (n, 3))
    y = rng.poisson(X @ b + 40).astype(float)
    bad = pick(rng, n, .3)
    y[bad] = -99
    return done(X, y, bad, b, 40)


@dirty('process data: one cell at random far off in each bad row')
def loose_cells(rng):
    n, p = 3000, 15
    b = slopes(rng, p)
    X = corr(rng, n, p, 3)
    y = X @ b + 1.2 * rng.normal(size=n)
    bad = pick(rng, n, .3)
    X[np.flatnonzero(bad), rng.integers(0, p, bad.sum())] += rng.choice([-40, 40], bad.sum()) + 5 * rng.normal(size=bad.sum())
    return done(X, y, bad, b)


@dirty('school marks: one block of pupils got the marks of the next sheet, on another scale')
def marks_sheet(rng):
    n, p = 500, 3
    b = np.array([5., 3., 2.])
    X = rng.normal(size=(n, p))
    y = X @ b + 65 + 4 * rng.normal(size=n)
    bad = np.zeros(n, bool)
    bad[100:250] = True
    y[bad] = np.round(rng.uniform(1, 6, 150))
    return done(X, y, bad, b, 65)


@dirty('catalytic runs with product names one-hot: one product logged in the wrong unit')
def onehot_wrong_unit(rng):
    n, g = 2400, rng.integers(0, 6, 2400)
    D = (g[:, None] == np.arange(1, 6)).astype(float)
    X = np.c_[D, rng.normal(10, 2, (n, 2))]
    b = np.array([4., -3., 6., 2., -5., 1.5, 2.])
    y = X @ b + 10 + 1.5 * rng.normal(size=n)
    bad = pick(rng, n, .22)
    y[bad] = 100 * y[bad]
    return done(X, y, bad, b, 10)


# ---- regression, bad calls of a stream ---------------------------------------------------------

def stream(rng, sizes, p, noise=1., c=0., mean=0.):
    n = sum(sizes)
    b = slopes(rng, p)
    X = mean + corr(rng, n, p)
    return X, X @ b + c + noise * rng.normal(size=n), b


@dirty('turbine: the first 45% of the calls came before the sensor was turned round')
def turbine_first(rng):
    sizes = even(40, 400)
    X, y, b = stream(rng, sizes, 5, c=10)
    bad, _, _ = calls(rng, sizes, .45, 'first')
    y[bad] = -3 * y[bad] + 20
    return done(X, y, bad, b, 10, sizes)


@dirty('pump: the last 40% of the calls hold one line of a broken converter')
def pump_last(rng):
    sizes = even(50, 250)
    X, y, b = stream(rng, sizes, 4, c=5)
    bad, _, _ = calls(rng, sizes, .4, 'last')
    y[bad] = 40 * X[bad, 1] + rng.normal(size=bad.sum())
    return done(X, y, bad, b, 5, sizes)


@dirty('network link: bursts of calls with a stuck target')
def link_bursts(rng):
    sizes = even(60, 300)
    X, y, b = stream(rng, sizes, 6, c=25)
    bad, _, _ = calls(rng, sizes, .35, 'bursts', 4)
    y[bad] = 0
    return done(X, y, bad, b, 25, sizes)


@dirty('colluding nodes: 45% of the calls agree on one wrong line with hardly any noise')
def nodes_collude(rng):
    sizes = even(60, 200)
    X, y, b = stream(rng, sizes, 8)
    bad, _, _ = calls(rng, sizes, .45)
    y[bad] = X[bad] @ (b + slopes(rng, 8, 3, 4)) + 15 + .01 * rng.normal(size=bad.sum())
    return done(X, y, bad, b, 0, sizes)


@dirty('load forecast: clocks of 30% of the calls are wrong, targets belong to other rows of the call')
def clocks_shifted(rng):
    sizes = even(40, 350)
    X, y, b = stream(rng, sizes, 5, .3, 50)
    bad, call, which = calls(rng, sizes, .3)
    for i in which:
        y[call == i] = np.roll(y[call == i], 100)
    return done(X, y, bad, b, 50, sizes)


@dirty('mix: a fifth of the calls in the wrong unit, and a tenth of the rows elsewhere far off')
def plant_mix(rng):
    sizes = even(50, 300)
    X, y, b = stream(rng, sizes, 6, 1, 30)
    bad, _, _ = calls(rng, sizes, .2)
    y[bad] *= 10
    more = pick(rng, len(y), .1) & ~bad
    y[more] += 35 + 10 * rng.normal(size=more.sum())
    return done(X, y, bad | more, b, 30, sizes)


@dirty('phones that send 40 rows at a time; a quarter of the calls are nonsense')
def phones_small(rng):
    sizes = even(150, 40)
    X, y, b = stream(rng, sizes, 3, 1, 4)
    bad, _, _ = calls(rng, sizes, .25)
    y[bad] = 60 - 5 * X[bad, 0] + 3 * rng.normal(size=bad.sum())
    return done(X, y, bad, b, 4, sizes)


@dirty('stores of very unequal size, 30% of them booking in cents')
def stores_cents(rng):
    sizes = ragged(rng, 45, 80, 2500)
    X, y, b = stream(rng, sizes, 5, 1, 20)
    bad, _, _ = calls(rng, sizes, .3)
    y[bad] *= 100
    return done(X, y, bad, b, 20, sizes)


@dirty('12 large files, five bad, each with a line of its own')
def big_files(rng):
    sizes = even(12, 5000)
    X, y, b = stream(rng, sizes, 4, 2)
    bad, call, which = calls(rng, sizes, .42)
    for i in which:
        r = call == i
        y[r] = X[r] @ (8 * rng.normal(size=4)) + 30 * rng.normal() + rng.normal(size=r.sum())
    return done(X, y, bad, b, 0, sizes)


@dirty('exchange feed: a third of the rows of every call are test orders')
def feed_test_orders(rng):
    sizes = even(30, 800)
    X, y, b = stream(rng, sizes, 5, 1, 12)
    bad = pick(rng, len(y), .33)
    X[bad] = 10 + rng.normal(size=(bad.sum(), 5))
    y[bad] = -100 + rng.normal(size=bad.sum())
    return done(X, y, bad, b, 12, sizes)


@dirty('weather stations through the seasons; 40% of the days report in kilo-units')
def stations_season(rng):
    sizes = even(80, 150)
    X, y, b = stream(rng, sizes, 3, 1)
    t = np.repeat(np.arange(80), 150) / 80
    X[:, 0] += 1.5 * np.sin(2 * np.pi * t)
    y = X @ b + 30 + rng.normal(size=len(X))
    bad, _, _ = calls(rng, sizes, .4)
    y[bad] /= 1000
    return done(X, y, bad, b, 30, sizes)


@dirty('uploads whose columns came in reverse order')
def uploads_reversed(rng):
    sizes = even(40, 500)
    X, y, b = stream(rng, sizes, 7, .7, mean=np.linspace(-12, 12, 7))
    bad, _, _ = calls(rng, sizes, .28, 'bursts', 2)
    X[bad] = X[bad, ::-1]
    return done(X, y, bad, b, 0, sizes)


# ---- regression, honest ------------------------------------------------------------------------

@honest('insurance claims: skewed columns, lognormal noise', n=1500, truth=[2, 1, .5, 3])
def claims_skewed(rng, n):
    X = rng.gamma(2, 1, (n, 3))
    return X, X @ [2, 1, .5] + 3 + 2 * (rng.lognormal(0, 1, n) - np.exp(.5))


@honest('waiting times: exponential around a linear mean', n=4000, truth=[1, .5, 2, .3, 2])
def waiting_times(rng, n):
    X = rng.uniform(0, 2, (n, 4))
    return X, rng.exponential(X @ [1, .5, 2, .3] + 2)


@honest('returns: t5 columns of one market, t3 noise', n=2500, truth=[1.1, .4, -.3, 0])
def returns_t3(rng, n):
    X = .7 * rng.standard_t(5, (n, 1)) + rng.standard_t(5, (n, 3))
    return X, X @ [1.1, .4, -.3] + rng.standard_t(3, n)


@honest('house prices: noise grows with size', n=900, truth=[3, -.5, 20])
def hedonic_uneven(rng, n):
    X = np.c_[rng.gamma(6, 15, n), rng.uniform(0, 50, n)]
    return X, X @ [3, -.5] + 20 + .4 * X[:, 0] * rng.normal(size=n)


@honest('support tickets a day: Poisson counts of small mean', n=3000, truth=[.8, .3, .5, 1, .1, .4])
def ticket_counts(rng, n):
    X = rng.uniform(0, 1, (n, 5))
    return X, rng.poisson(X @ [.8, .3, .5, 1, .1] + .4).astype(float)


@honest('scales that show steps of five', n=600)
def scale_rounded(rng, n):
    X = rng.normal(70, 6, (n, 2))
    return X, 5 * np.round((X @ [.8, .3] + 3 * rng.normal(size=n)) / 5)


@honest('braking distance: a bend in speed', n=800)
def braking_bend(rng, n):
    v, w = rng.uniform(20, 130, n), rng.normal(1400, 200, n)
    return np.c_[v, w], .006 * v ** 2 + .01 * w + (1 + .03 * v) * rng.normal(size=n)


@honest('yield: nitrogen and water interact', n=1200)
def yield_interaction(rng, n):
    X = rng.gamma(4, .5, (n, 3))
    return X, X @ [1, 1, .3] + .8 * X[:, 0] * X[:, 1] + rng.normal(size=n)


@honest('sales by region, nine categories of unequal share, and a price', n=2500)
def regions_onehot(rng, n):
    g = rng.choice(9, n, p=[.3, .2, .15, .1, .08, .06, .05, .03, .03])
    price = rng.lognormal(1, .3, n)
    y = np.array([5, 7, 4, 6, 8, 3, 5.5, 9, 2])[g] - 1.2 * price + 1.5 * rng.normal(size=n)
    return np.c_[g[:, None] == np.arange(1, 9), price].astype(float), y


@honest('rainfall: target censored at zero', n=2000)
def rain_censored(rng, n):
    X = rng.normal(size=(n, 3))
    return X, np.maximum(0, X @ [2, 1, -1] + 1 + 2 * rng.normal(size=n))


@honest('electric load: a year in calls, slope and level move with the season', sizes=(60, 300))
def load_season(rng, n):
    t = np.sort(rng.random(n))
    s = np.sin(2 * np.pi * t)
    X = np.c_[10 - 8 * s + 4 * rng.normal(size=n), rng.normal(size=n)]
    return X, (-.8 - .1 * s) * X[:, 0] + 2 * X[:, 1] + 60 + 3 * rng.normal(size=n)


@honest('prices through ten years: columns drift', sizes=(50, 200), truth=[.7, -1, .2, 3])
def inflation_drift(rng, n):
    t = np.linspace(0, 1, n)
    X = np.c_[100 + 40 * t + 3 * rng.normal(size=n), 5 - 2 * t + rng.normal(size=n), rng.normal(size=n)]
    return X, X @ [.7, -1, .2] + 3 + 2 * rng.normal(size=n)


@honest('pilot trial: 25 patients', n=25, truth=[1, -.5, 4])
def trial_tiny(rng, n):
    X = np.c_[rng.normal(size=n), rng.integers(0, 2, n)]
    return X, X @ [1, -.5] + 4 + rng.normal(size=n)


@honest('screening: 200 rows, 80 columns', n=200, truth=np.append(np.cos(np.arange(80.)), 2))
def assay_wide(rng, n):
    X = rng.normal(size=(n, 80))
    return X, X @ np.cos(np.arange(80.)) + 2 + 2 * rng.normal(size=n)


@honest('twin thermometers: columns equal but for a thousandth', n=1000, truth=[1, 1, .5, .2, 0])
def twin_thermometers(rng, n):
    a = rng.normal(20, 5, n)
    X = np.c_[a, a + .005 * rng.normal(size=n), rng.normal(size=(n, 2))]
    return X, X @ [1, 1, .5, .2] + rng.normal(size=n)


@honest('reactor: columns from 1e-6 to 1e6', n=1500, truth=[1e6, 1e3, 1, 1e-3, 1e-6, 5])
def reactor_scales(rng, n):
    Z = rng.gamma(5, .4, (n, 5))
    return Z * 10. ** np.array([-6, -3, 0, 3, 6]), Z.sum(1) + 5 + rng.laplace(0, 1, n)


@honest('time stamps in seconds as a column: mean far from zero', n=2000, truth=[2e-4, 1, -3.4e5])
def epoch_seconds(rng, n):
    X = np.c_[1.7e9 + rng.uniform(0, 8e4, n), rng.normal(size=n)]
    return X, (X[:, 0] - 1.7e9) * 2e-4 + X[:, 1] + rng.normal(size=n)


@honest('visits: every row is there ten times', n=1500, truth=[1, 2, -1, 0])
def visits_repeated(rng, n):
    X = rng.normal(size=(-(-n // 10), 3))
    y = X @ [1, 2, -1] + rng.normal(size=len(X))
    return np.repeat(X, 10, axis=0)[:n], np.repeat(y, 10)[:n]


@honest('questionnaire: integers from 1 to 5, target 0 to 10', n=1000)
def likert(rng, n):
    f = rng.normal(size=(n, 1))
    X = np.clip(np.round(3 + .7 * f + .8 * rng.normal(size=(n, 12))), 1, 5)
    return X, np.clip(np.round(5 + .25 * (X - 3).sum(1) + 1.5 * rng.normal(size=n)), 0, 10)


@honest('lidar ranges in single precision', n=8000, truth=[.5, 1.5, -1, 12])
def lidar_float32(rng, n):
    X = rng.normal(30, 8, (n, 3))
    y = X @ [.5, 1.5, -1] + 12 + rng.normal(size=n)
    return X.astype(np.float32), y.astype(np.float32)


@honest('two breeds with overlapping lines', n=2200)
def two_breeds(rng, n):
    g = rng.random(n) < .35
    X = rng.normal(size=(n, 2)) + .8 * g[:, None]
    return X, X @ [1, .5] + g * (1.5 + .4 * X[:, 0]) + rng.normal(size=n)


@honest('campuses far apart in the columns, one line', n=1600, truth=[.5, -.3, .2, 7])
def campuses(rng, n):
    g = rng.choice(3, n, p=[.6, .25, .15])
    X = np.array([[0, 0, 0], [20, 5, -9], [-15, 30, 4.]])[g] + rng.normal(size=(n, 3))
    return X, X @ [.5, -.3, .2] + 7 + rng.normal(size=n)


@honest('dose and response: saturates', n=700)
def dose_saturates(rng, n):
    dose, age = rng.lognormal(3, .7, n), rng.uniform(20, 80, n)
    return np.c_[dose, age], 100 * dose / (dose + 20) - .2 * age + 8 * rng.normal(size=n)


@honest('cities: population with a Pareto tail, noise in proportion', n=2000, truth=[.8, 2, 1])
def city_pareto(rng, n):
    X = np.c_[1 + rng.pareto(4.5, n), rng.uniform(0, 1, n)]
    return X, X @ [.8, 2] + 1 + .3 * X[:, 0] * rng.normal(size=n)


@honest('click scores in calls of 40', sizes=(120, 40), truth=[1, -1, .5, .2])
def clicks_small(rng, n):
    X = rng.laplace(0, 1, (n, 3))
    return X, X @ [1, -1, .5] + .2 + rng.normal(size=n)


@honest('maintenance: rare flags with a moderate effect', n=4000, truth=[1, 2, -2.5, 1.5, 10])
def rare_flags(rng, n):
    X = np.c_[rng.normal(size=n), rng.random((n, 3)) < [.03, .015, .05]]
    return X, X @ [1, 2, -2.5, 1.5] + 10 + rng.normal(size=n)


@honest('volatility comes in clusters: noise differs from call to call', sizes=(60, 250), truth=[.9, .3, 0])
def vol_clusters(rng, n):
    v = np.repeat(rng.lognormal(0, .5, -(-n // 250)), 250)[:n]
    X = rng.normal(size=(n, 2))
    return X, X @ [.9, .3] + v * rng.normal(size=n)


@honest('defaults: a target of zeros and ones', n=5000)
def default_binary(rng, n):
    X = rng.normal(size=(n, 6))
    return X, (rng.random(n) < 1 / (1 + np.exp(.8 - X @ [.6, -.4, .3, .5, 0, .2]))).astype(float)


@honest('donations: half of the targets are zero, the rest skewed', n=3500)
def donations_zero(rng, n):
    X = rng.uniform(0, 1, (n, 4))
    gives = rng.random(n) < .3 + .4 * X[:, 0]
    return X, gives * rng.gamma(1., 2 + 3 * X[:, 1] + X[:, 2], n)


@honest('warehouses in ragged calls, skewed columns and noise', sizes=(40, 40, 3000), truth=[1, .5, -1, 2, 3])
def warehouses_ragged(rng, n):
    X = rng.gamma(3, 1, (n, 4))
    return X, X @ [1, .5, -1, 2] + 3 + rng.gamma(2, 1.5, n) - 3


@honest('bike hire by hour of the day: a wave on a straight column', n=3000)
def bike_hours(rng, n):
    h = rng.integers(0, 24, n)
    X = np.c_[h, rng.normal(15, 7, n), rng.random(n) < .28, rng.uniform(0, 1, n)].astype(float)
    mu = 60 - 45 * np.cos(2 * np.pi * (h - 4) / 24) + 3 * X[:, 1] - 15 * X[:, 2] - 20 * X[:, 3]
    return X, np.round(np.maximum(0, mu + 25 * rng.normal(size=n)))


@honest('60,000 sources with Laplace noise', n=60_000, truth=[1, 2, -.5, .1, 0])
def telescope_big(rng, n):
    X = rng.normal(size=(n, 4)) * [1, .5, 2, 4]
    return X, X @ [1, 2, -.5, .1] + rng.laplace(0, 2, n)


# ---- PCA, bad rows in one table ----------------------------------------------------------------

@dirty('accelerometers: some rows all zero but for one stuck channel')
def pca_stuck_channel(rng):
    X, Q = factors(rng, 2000, 8, [5, 3], mean=10)
    bad = pick(rng, len(X), .3)
    X[bad] = 0
    X[bad, 3] = 90
    return pdone(X, bad, Q)


@dirty('water chemistry: rows in milligrams instead of grams')
def pca_milligrams(rng):
    X, Q = factors(rng, 1200, 6, [4, 2.5], .6, mean=rng.uniform(10, 30, 6))
    bad = pick(rng, len(X), .2)
    X[bad] *= 1000
    return pdone(X, bad, Q)


@dirty('galaxies: a tight clump of artefacts far away')
def pca_artefact_clump(rng):
    X, Q = factors(rng, 5000, 10, [4, 3, 2])
    bad = pick(rng, len(X), .35)
    X[bad] = 40 * away(rng, Q) + .3 * rng.normal(size=(bad.sum(), 10))
    return pdone(X, bad, Q)


@dirty('radio receiver: four rows in ten are wide garbage')
def pca_wide_garbage(rng):
    X, Q = factors(rng, 4000, 12, [5, 3])
    bad = pick(rng, len(X), .4)
    X[bad] = 40 * rng.normal(size=(bad.sum(), 12)) * rng.uniform(.5, 3, 12)
    return pdone(X, bad, Q)


@dirty('strain gauges: half of the channels change sign')
def pca_gauges_flipped(rng):
    X, Q = factors(rng, 1500, 10, [6, 4], mean=25)
    bad = pick(rng, len(X), .3)
    X[bad, :5] *= -1
    return pdone(X, bad, Q)


@dirty('body measures: two columns in each other\'s place')
def pca_body_swapped(rng):
    X, Q = factors(rng, 900, 7, [8, 5], 2, mean=np.array([170, 70, 95, 85, 100, 40, 60.]))
    bad = pick(rng, len(X), .25)
    X[bad, :2] = X[bad, 1::-1]
    return pdone(X, bad, Q)


@dirty('infrared spectra of 120 wavelengths: saturated detector')
def pca_spectra_saturated(rng):
    n, p = 400, 120
    L = waves(p, 3)
    X = 2 + (rng.normal(size=(n, 3)) * [8, 5, 3]) @ L.T + .3 * rng.normal(size=(n, p))
    bad = pick(rng, n, .18)
    X[bad, 40:90] = 15 + .05 * rng.normal(size=(bad.sum(), 50))
    return pdone(X, bad, L)


@dirty('expression: fewer arrays than genes, some arrays from another tissue')
def pca_arrays_other_tissue(rng):
    X, Q = factors(rng, 100, 140, [20, 12])
    bad = pick(rng, 100, .2)
    X[bad] = 6 * rng.normal(size=140) + 2 * rng.normal(size=(bad.sum(), 140))
    return pdone(X, bad, Q)


@dirty('thirty castings, five measured on the wrong drawing')
def pca_castings_30(rng):
    X, Q = factors(rng, 30, 3, [4], .7)
    bad = pick(rng, 30, .17)
    X[bad] = 30 * away(rng, Q) + rng.normal(size=(bad.sum(), 3))
    return pdone(X, bad, Q)


@dirty('shipping logs: two clusters of wrong rows on either side')
def pca_two_clumps(rng):
    X, Q = factors(rng, 2500, 6, [4, 2.5])
    bad = pick(rng, len(X), .36)
    v, w = away(rng, Q), away(rng, Q)
    X[bad] = np.where(rng.random((bad.sum(), 1)) < .6, 35 * v, -30 * w) + rng.normal(size=(bad.sum(), 6))
    return pdone(X, bad, Q)


@dirty('ledger: decimal slips in single cells')
def pca_ledger_slips(rng):
    X, Q = factors(rng, 3000, 14, [9, 6, 4], mean=50)
    bad = pick(rng, len(X), .3)
    X[np.flatnonzero(bad), rng.integers(0, 14, bad.sum())] *= 10
    return pdone(X, bad, Q)


@dirty('climate stations: -9999 for missing cells of three columns')
def pca_climate_9999(rng):
    X, Q = factors(rng, 2200, 9, [7, 4, 2.5], mean=15)
    bad = pick(rng, len(X), .24)
    X[np.flatnonzero(bad), rng.choice([1, 4, 7], bad.sum())] = -9999
    return pdone(X, bad, Q)


@dirty('log shipper: a wrong row repeated as a block')
def pca_block_repeated(rng):
    X, Q = factors(rng, 1600, 5, [3, 2], .8)
    bad = np.zeros(len(X), bool)
    bad[600:1000] = True
    X[bad] = 20 * away(rng, Q) + 5 * Q[:, 0]
    return pdone(X, bad, Q)


@dirty('vehicle telemetry: rows of another model with other directions and centre')
def pca_other_model(rng):
    X, Q = factors(rng, 6000, 11, [5, 4, 3])
    B, _ = factors(rng, 6000, 11, [30, 20, 12], 2, mean=15)
    bad = pick(rng, len(X), .33)
    X[bad] = B[bad]
    return pdone(X, bad, Q)


@dirty('tick data, 60,000 rows: fat fingers along one column, among t5 factors')
def pca_fat_finger(rng):
    X, Q = factors(rng, 60_000, 5, [3, 2], .7, tail=5)
    bad = pick(rng, len(X), .12)
    X[bad, 2] += 60 + rng.exponential(40, bad.sum())
    return pdone(X, bad, Q)


@dirty('small camera of 8 by 8: flipped and bright frames')
def pca_camera_bright(rng):
    n, p = 1500, 64
    L = waves(p, 3)
    X = 20 + (rng.normal(size=(n, 3)) * [12, 8, 5]) @ L.T + rng.normal(size=(n, p))
    bad = pick(rng, n, .3)
    X[bad] = 120 - X[bad] * rng.uniform(0, 3, (bad.sum(), 1))
    return pdone(X, bad, L)


# ---- PCA, bad calls of a stream ----------------------------------------------------------------

@dirty('45% of the nodes agree on a direction that is not there')
def pca_nodes_collude(rng):
    sizes = even(60, 250)
    X, Q = factors(rng, sum(sizes), 10, [4, 3])
    bad, _, _ = calls(rng, sizes, .45)
    X[bad] = 30 * rng.normal(size=(bad.sum(), 1)) * away(rng, Q) + .5 * rng.normal(size=(bad.sum(), 10))
    return pdone(X, bad, Q, sizes)


@dirty('commissioning: the first 40% of the calls are noise of an open input')
def pca_open_input_first(rng):
    sizes = even(50, 300)
    X, Q = factors(rng, sum(sizes), 7, [4, 2.5])
    bad, _, _ = calls(rng, sizes, .4, 'first')
    X[bad] = 15 * rng.normal(size=(bad.sum(), 7)) * rng.uniform(.3, 2, 7)
    return pdone(X, bad, Q, sizes)


@dirty('mill: the last 42% of the calls have columns rotated by a cable swap')
def pca_cables_last(rng):
    sizes = even(48, 200)
    X, Q = factors(rng, sum(sizes), 9, [6, 4], .8, mean=np.linspace(-20, 20, 9))
    bad, _, _ = calls(rng, sizes, .42, 'last')
    X[bad] = np.roll(X[bad], 3, axis=1)
    return pdone(X, bad, Q, sizes)


@dirty('seismic array: bursts of calls with one channel railed back and forth')
def pca_seismic_bursts(rng):
    sizes = even(60, 400)
    X, Q = factors(rng, sum(sizes), 12, [5, 3, 2])
    bad, _, _ = calls(rng, sizes, .35, 'bursts', 5)
    X[bad, 6] = 50 * rng.choice([-1, 1], bad.sum())
    return pdone(X, bad, Q, sizes)


@dirty('mix: a fifth of the calls scaled, and a tenth of the rows elsewhere far away')
def pca_mix(rng):
    sizes = even(40, 500)
    X, Q = factors(rng, sum(sizes), 8, [4, 3], mean=5)
    bad, _, _ = calls(rng, sizes, .2)
    X[bad] *= 25
    more = pick(rng, len(X), .1) & ~bad
    X[more] += 30 * away(rng, Q)
    return pdone(X, bad | more, Q, sizes)


@dirty('wearables with calls of 50 rows, a quarter of them off the wrist')
def pca_wearables_small(rng):
    sizes = even(120, 50)
    X, Q = factors(rng, sum(sizes), 4, [3], .7)
    bad, _, _ = calls(rng, sizes, .25)
    X[bad] = 12 + 10 * rng.normal(size=(bad.sum(), 4)) * [.1, 1, .1, 2]
    return pdone(X, bad, Q, sizes)


@dirty('shops of unequal size; 30% of them send another table')
def pca_shops_ragged(rng):
    sizes = ragged(rng, 40, 100, 2500)
    X, Q = factors(rng, sum(sizes), 6, [5, 3])
    bad, _, _ = calls(rng, sizes, .3)
    B, _ = factors(rng, len(X), 6, [30, 15], 3, mean=-25)
    X[bad] = B[bad]
    return pdone(X, bad, Q, sizes)


@dirty('a third of the rows of every call is a duplicate of one wrong frame, with jitter')
def pca_frames_every_call(rng):
    sizes = even(25, 1000)
    X, Q = factors(rng, sum(sizes), 15, [6, 4, 3])
    bad = pick(rng, len(X), .33)
    X[bad] = 12 * rng.normal(size=15) + .1 * rng.normal(size=(bad.sum(), 15))
    return pdone(X, bad, Q, sizes)


@dirty('ten large dumps, four of them each broken in its own way')
def pca_large_dumps(rng):
    sizes = even(10, 4000)
    X, Q = factors(rng, sum(sizes), 6, [4, 3], mean=8)
    bad, call, which = calls(rng, sizes, .4)
    for j, i in enumerate(which):
        r = call == i
        X[r] = [X[r] * 50, -X[r] * 3, 20 * rng.normal(size=(r.sum(), 6)), X[r] + 30 * rng.normal(size=(r.sum(), 1)) * away(rng, Q)][j % 4]
    return pdone(X, bad, Q, sizes)


# ---- PCA, honest -------------------------------------------------------------------------------

@honest('incomes: lognormal columns', n=2500, d=2)
def pca_incomes(rng, n):
    return np.exp(1 + .3 * rng.normal(size=(n, 2)) @ np.array([[1, .8, .6, .4, .2], [0, .3, -.3, .6, -.8]])
                  + .2 * rng.normal(size=(n, 5)))


@honest('exchange rates: t5 factors', n=3000, d=2, cov=spread_cov(8, [4, 2.5]))
def pca_rates_t5(rng, n):
    return (rng.standard_t(5, (n, 2)) * [4, 2.5] * np.sqrt(.6)) @ waves(8, 2).T + rng.normal(size=(n, 8))


@honest('word counts: overdispersed Poisson', n=2000, d=2)
def pca_word_counts(rng, n):
    W = rng.gamma(2, 1, (n, 3)) @ np.array([[3, 2, 1, .2, .1, .1, .5, .2], [.1, .2, .1, 2, 2, .5, .1, .3], [.2, .1, .6, .1, .3, .2, 1, 1]])
    return rng.poisson(W).astype(float)


@honest('coarse gauge: all values rounded to whole steps', n=1200, d=2)
def pca_gauge_rounded(rng, n):
    return np.round((rng.normal(size=(n, 2)) * [2.5, 1.5]) @ waves(6, 2).T + .4 * rng.normal(size=(n, 6)))


@honest('questionnaire of 15 items, 1 to 5', n=800, d=2)
def pca_likert(rng, n):
    L = np.kron(np.eye(2), np.ones((1, 8)))[:, :15] * [[.9], [.6]]
    return np.clip(np.round(3.3 + rng.normal(size=(n, 2)) @ L + .7 * rng.normal(size=(n, 15))), 1, 5)


@honest('genotypes 0, 1, 2 of a mixed population', n=1500, d=1, rows=60_000)
def pca_genotypes(rng, n):
    a = rng.beta(.8, .8, (n, 1))
    f = .15 + .6 * (a * (np.arange(30) % 3 / 2) + (1 - a) * (1 - np.arange(30) % 3 / 2))
    return ((rng.random((n, 30)) < f) + 1. * (rng.random((n, 30)) < f))


@honest('baskets: yes or no for twelve goods', n=5000, d=2)
def pca_baskets(rng, n):
    z = (rng.normal(size=(n, 2)) * [1.6, 1.]) @ np.where(np.arange(12) < 6, [[1.], [1]], [[.8], [-1]])
    return (z + rng.logistic(0, 1, (n, 12)) > .4).astype(float)


@honest('yield curves: maturities nearly collinear', n=1500, d=3, cov=spread_cov(10, [3, .8, .25], .03))
def pca_yield_curves(rng, n):
    return 4 + (rng.normal(size=(n, 3)) * [3, .8, .25]) @ waves(10, 3).T + .03 * rng.normal(size=(n, 10))


@honest('survey coordinates: mean a million from zero', n=1000, d=2, cov=spread_cov(4, [5, 3]))
def pca_coordinates_far(rng, n):
    return 1e6 * np.array([1, -2, 3, .5]) + (rng.normal(size=(n, 2)) * [5, 3]) @ waves(4, 2).T + rng.normal(size=(n, 4))


@honest('rotor: points on an ellipse', n=1400, d=1)
def pca_rotor_ring(rng, n):
    t = rng.uniform(0, 2 * np.pi, n)
    return np.c_[6 * np.cos(t), 4 * np.sin(t), np.cos(t)] + .3 * rng.normal(size=(n, 3))


@honest('three kinds of customer, a third each', n=1800, d=2)
def pca_three_segments(rng, n):
    C = np.array([[8, 0, 2, 0, 1], [-6, 4, 0, 1, 0], [-2, -5, -2, 0, 3.]])
    return C[rng.integers(0, 3, n)] + rng.normal(size=(n, 5))


@honest('river basin: levels follow the seasons through the stream', sizes=(60, 250), d=2)
def pca_river_season(rng, n):
    t = np.sort(rng.random(n))
    F = rng.normal(size=(n, 2)) * [3, 1.5]
    F[:, 0] += 2.5 * np.sin(2 * np.pi * t)
    return F @ waves(7, 2).T + .7 * rng.normal(size=(n, 7))


@honest('wear: centre drifts slowly through the stream', sizes=(40, 400), d=1)
def pca_wear_drift(rng, n):
    t = np.sort(rng.random(n))
    return 3 * t[:, None] * waves(6, 1).T + (rng.normal(size=(n, 2)) * [3, 1.2]) @ waves(6, 2).T + .6 * rng.normal(size=(n, 6))


@honest('25 skulls, four measures', n=25, d=1, cov=spread_cov(4, [3]))
def pca_skulls_25(rng, n):
    return 100 + 3 * rng.normal(size=(n, 1)) @ waves(4, 1).T + rng.normal(size=(n, 4))


@honest('40 spectra of 150 channels', n=40, d=2, cov=spread_cov(150, [20, 10]))
def pca_spectra_40(rng, n):
    return (rng.normal(size=(n, 2)) * [20, 10]) @ waves(150, 2).T + rng.normal(size=(n, 150))


@honest('image patches in single precision', n=6000, d=3, cov=spread_cov(25, [6, 4, 2.5]))
def pca_patches_float32(rng, n):
    return (9 + (rng.laplace(0, np.sqrt(.5), (n, 3)) * [6, 4, 2.5]) @ waves(25, 3).T + rng.normal(size=(n, 25))).astype(np.float32)


@honest('panel: every household is there eight times', n=1600, d=2, cov=spread_cov(6, [3, 2]))
def pca_panel_repeated(rng, n):
    m = -(-n // 8)
    X = (rng.normal(size=(m, 2)) * [3, 2]) @ waves(6, 2).T + rng.normal(size=(m, 6))
    return np.repeat(X, 8, axis=0)[:n]


@honest('oil compositions: shares that sum to one', n=2000, d=2)
def pca_compositions(rng, n):
    return rng.dirichlet([8, 4, 2, 1, 1], n)


@honest('market stress: size of all moves differs from call to call', sizes=(70, 200), d=2, cov=spread_cov(8, [4, 2]))
def pca_market_stress(rng, n):
    v = np.repeat(rng.lognormal(-.16, .4, -(-n // 200)), 200)[:n, None]
    return v * ((rng.normal(size=(n, 2)) * [4, 2]) @ waves(8, 2).T + rng.normal(size=(n, 8)))


@honest('delivery tours in ragged calls, skewed factors', sizes=(35, 50, 3000), d=2, cov=spread_cov(9, [4, 2.5]))
def pca_tours_ragged(rng, n):
    return (rng.exponential(1, (n, 2)) * [4, 2.5]) @ waves(9, 2).T + rng.normal(size=(n, 9))


@honest('mixed units from 1e-6 to 1e6: the largest column leads', n=1500, d=2, cov=np.diag(10. ** np.array([-12, 0, 6, 12]))
        + np.outer([0, 0, 500, 8e5], [0, 0, 500, 8e5]))
def pca_mixed_units(rng, n):
    Z = rng.normal(size=(n, 5))
    return Z[:, :4] * [1e-6, 1, 1e3, 1e6] + Z[:, 4:] * [0, 0, 500, 8e5]


@honest('two overlapping kinds of plant', n=1300, d=1)
def pca_two_plants(rng, n):
    g = (rng.random((n, 1)) < .4)
    return rng.normal(size=(n, 4)) * [1.5, 1, .8, .5] + g * [1.8, 1.2, .5, 0]
