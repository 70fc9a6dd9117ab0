"""judge_i: an independent exam, written from README.md and interface.py alone."""
from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np

from interface import Kind, Sample, cov_basis, error, oracle, pca_truth, plain, regression_truth

KINDS = []


def _named(f, name):
    f.__name__ = f.__qualname__ = 'make_' + name          # so that makers can be found (and pickled) by name
    globals()[f.__name__] = f
    return f


def reg(name, honest, note=''):
    def add(f):
        KINDS.append(Kind('i_' + name, 'regression', honest, _named(f, name), note))
        return f
    return add


def pca(name, honest, note=''):
    def add(f):
        KINDS.append(Kind('i_pca_' + name, 'pca', honest, _named(f, 'pca_' + name), note))
        return f
    return add


# ---- small helpers -------------------------------------------------------------------------------

def some(rng, n, share):
    """Boolean mask with round(share*n) rows at random places."""
    m = np.zeros(n, bool)
    m[rng.permutation(n)[:int(round(share * n))]] = True
    return m


def ragged(rng, k, lo, hi):
    """k batch sizes, log-uniform between lo and hi."""
    return tuple(int(v) for v in np.exp(rng.uniform(np.log(lo), np.log(hi), k)).round())


def batch_of(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


def bad_batches(rng, sizes, share, where='random'):
    """Mask over batches, round(share*k) of them, and the batch number of each row. `share` counts batches."""
    k = len(sizes)
    m = int(round(share * k))
    b = np.zeros(k, bool)
    if where == 'first':
        b[:m] = True
    elif where == 'last':
        b[k - m:] = True
    elif where == 'run':
        s = rng.integers(0, k - m + 1)
        b[s:s + m] = True
    else:
        w = np.asarray(sizes, float)
        while True:                                         # ragged: not more rows than batches go bad by much
            b[:] = False
            b[rng.permutation(k)[:m]] = True
            if w[b].sum() <= (share + .05) * w.sum():
                break
    return b, batch_of(sizes)


def dummies(codes, levels, drop=True):
    D = (codes[:, None] == np.arange(levels)[None, :]).astype(float)
    return D[:, 1:] if drop else D


def regsample(X, y, bad, truth, sizes=None):
    return Sample(np.asarray(X, float), np.asarray(y, float), ~bad, np.asarray(truth, float), None, sizes)


def pcasample(X, bad, V, sizes=None):
    return Sample(np.asarray(X, float), None, ~bad, V, V.shape[1], sizes)


def none(n):
    return np.zeros(n, bool)


def bump(t, c, w):
    return np.exp(-0.5 * ((t - c) / w) ** 2)


# ==================================================================================================
# REGRESSION, BAD
# ==================================================================================================

@reg('smart_meter_wh', False, 'daily kWh; 12% of the readings came in Wh')
def _(rng):
    n = 6000
    T = rng.normal(9, 7, n)
    X = np.c_[np.maximum(0, 15 - T), np.maximum(0, T - 20), 1 + rng.poisson(1.6, n), rng.lognormal(4.6, .4, n),
              rng.random(n) < 2 / 7, rng.random(n) < .3]
    b = np.array([.6, .9, 1.8, .05, 1.2, 3.])
    y = 4 + X @ b + rng.normal(0, 1.5, n)
    bad = some(rng, n, .12)
    y[bad] *= 1000
    return regsample(X, y, bad, np.append(b, 4))


@reg('hospital_mmol', False, '40 hospitals as batches; 30% of them give glucose in mmol/L')
def _(rng):
    sizes = (180,) * 40
    bb, br = bad_batches(rng, sizes, .3)
    n = len(br)
    X = np.c_[rng.normal(110, 22, n), rng.integers(18, 92, n), rng.normal(27, 4, n), rng.random(n) < .5,
              rng.lognormal(0, .3, n), rng.poisson(2, n)]
    b = np.array([.4, .05, .6, -1.5, 2., .8])
    y = -10 + X @ b + rng.normal(0, 3, n)
    bad = bb[br]
    X[bad, 0] /= 18
    return regsample(X, y, bad, np.append(b, -10), sizes)


@reg('parcel_swapped', False, 'weight and length swapped in 5% of parcels')
def _(rng):
    n = 3500
    X = np.c_[rng.normal(60, 12, n), rng.normal(35, 8, n), rng.gamma(6, 3, n), rng.gamma(3, 1.6, n),
              rng.lognormal(5, .8, n), dummies(rng.integers(0, 4, n), 4)]
    b = np.array([.03, .02, .05, 1.4, .004, .5, 1.2, 3.])
    y = 2 + X @ b + rng.normal(0, .8, n)
    bad = some(rng, n, .05)
    X[bad, 0], X[bad, 3] = X[bad, 3].copy(), X[bad, 0].copy()
    return regsample(X, y, bad, np.append(b, 2))


@reg('crop_decimal', False, 'field trial, yield with a shifted decimal point in 10%')
def _(rng):
    n = 900
    X = np.c_[rng.integers(0, 6, n) * 40, rng.gamma(20, 15, n), rng.normal(6.4, .5, n).round(1),
              rng.integers(2001, 2021, n), dummies(rng.integers(0, 4, n), 4)]
    b = np.array([.012, .006, .5, .05, .4, -.6, .2])
    a = -101.
    y = a + X @ b + rng.normal(0, .4, n)
    bad = some(rng, n, .10)
    y[bad] *= 10
    return regsample(X, y, bad, np.append(b, a))


@reg('campaign_wrong_join', False, 'target joined to the wrong rows in 35% of the batches')
def _(rng):
    sizes = (400,) * 60
    bb, br = bad_batches(rng, sizes, .35)
    n = len(br)
    X = np.c_[rng.lognormal(1, .5, n), rng.lognormal(.5, .6, n), rng.poisson(12, n), rng.random(n) < .25,
              rng.normal(0, 1, n)]
    b = np.array([6., 7., 2.5, 8., 5.])
    y = 30 + X @ b + rng.normal(0, 1.2, n)
    for k in np.flatnonzero(bb):
        i = np.flatnonzero(br == k)
        y[i] = y[rng.permutation(i)]
    return regsample(X, y, bb[br], np.append(b, 30), sizes)


@reg('branch_currency', False, '26% of the branches book sales in yen')
def _(rng):
    sizes = (300,) * 50
    bb, br = bad_batches(rng, sizes, .26, 'run')
    n = len(br)
    X = np.c_[rng.poisson(40, n), rng.normal(12, 3, n), rng.gamma(3, 2, n), rng.integers(1, 13, n),
              rng.random((n, 2)) < [.1, .4]]
    b = np.array([1.1, .9, 2.2, .15, 6., -3.])
    y = 18 + X @ b + rng.normal(0, 4, n)
    bad = bb[br]
    y[bad] *= 150
    return regsample(X, y, bad, np.append(b, 18), sizes)


@reg('players_default_999', False, 'minutes defaulted to 999 and rating to 0 in 20%')
def _(rng):
    n = 2500
    mins = rng.uniform(10, 95, n).round()
    X = np.c_[mins, rng.poisson(mins / 3), rng.beta(8, 3, n), rng.poisson(.4, n), rng.normal(26, 4, n),
              dummies(rng.choice(4, n, p=[.1, .35, .35, .2]), 4)]
    b = np.array([.02, .05, 12., 5., .1, .6, 1.4, 2.])
    y = 30 + X @ b + rng.normal(0, 1.6, n)
    bad = some(rng, n, .20)
    X[bad, 0] = 999
    y[bad] = 0
    return regsample(X, y, bad, np.append(b, 30))


@reg('traffic_loops', False, 'rows with a dead loop in all batches, and batches stuck at the rail')
def _(rng):
    sizes = (250,) * 96
    bb, br = bad_batches(rng, sizes, .10)
    n = len(br)
    h = 2 * np.pi * br / 96
    flow = np.maximum(50, rng.normal(900 - 300 * np.cos(h), 160))
    occ = flow / 40 * rng.lognormal(0, .1, n)
    X = np.c_[flow, occ, rng.binomial(30, .12, n), np.sin(h), np.cos(h), rng.random(n) < .15]
    b = np.array([.05, .8, .5, 2., -3., 4.])
    y = 12 + X @ b + rng.normal(0, 2, n)
    dead = some(rng, n, .12)
    X[dead, 0] = 0
    bad = bb[br]
    X[bad, 0], X[bad, 1], y[bad] = 9999, 255, 255
    return regsample(X, y, bad | dead, np.append(b, 12), sizes)


@reg('reactor_lag', False, 'the analyser lags by 150 rows in 27% of the batches')
def _(rng):
    sizes = (600,) * 30
    bb, br = bad_batches(rng, sizes, .27)
    n = len(br)
    E = rng.normal(size=(n, 4))
    X = np.empty((n, 4))
    X[0] = E[0]
    for i in range(1, n):
        X[i] = .93 * X[i - 1] + .3676 * E[i]
    X = X * [4, .5, 12, 1] + [180, 3, 400, 7]
    b = np.array([2., 18., .7, -9.])
    y = 20 + X @ b + rng.normal(0, .8, n)
    for k in np.flatnonzero(bb):
        i = np.flatnonzero(br == k)
        y[i] = np.roll(y[i], 150)
    return regsample(X, y, bb[br], np.append(b, 20), sizes)


@reg('shop_bots', False, '22% bots with thousands of views and no revenue')
def _(rng):
    n = 20000
    act = rng.gamma(2, 1, n)
    X = np.c_[rng.poisson(4 + 3 * act), rng.gamma(2, 40, n), rng.poisson(1 + act), rng.random(n) < .35,
              rng.random(n) < .08, dummies(rng.integers(0, 3, n), 3)]
    b = np.array([.8, .03, 2.5, 4., 10., 1., -2.])
    y = 5 + X @ b + rng.standard_t(6, n) * 3
    bad = some(rng, n, .22)
    m = bad.sum()
    X[bad, 0] = rng.normal(5000, 300, m).round()
    X[bad, 1] = rng.normal(3, .5, m)
    y[bad] = 0
    return regsample(X, y, bad, np.append(b, 5))


@reg('survey_straightliners', False, '18% tick 1 in all items and give the score 100')
def _(rng):
    n, p = 1200, 12
    f = rng.normal(size=(n, 1))
    X = np.clip(np.round(3.2 + .7 * f + .9 * rng.normal(size=(n, p))), 1, 5)
    b = np.linspace(.4, 2.2, p)
    y = 12 + X @ b + rng.normal(0, 4, n)
    bad = some(rng, n, .18)
    X[bad] = 1
    y[bad] = 100
    return regsample(X, y, bad, np.append(b, 12))


@reg('telemetry_sign', False, 'one channel with the wrong sign in 20% of the batches, spikes elsewhere')
def _(rng):
    sizes = (120,) * 80
    bb, br = bad_batches(rng, sizes, .2)
    n = len(br)
    X = np.c_[rng.normal(24, 3, n), rng.normal(0, 1, (n, 3)), rng.uniform(0, 360, n), np.full(n, 3.3)]
    b = np.array([1.5, 2., -1., .5, .01, 0.])
    y = X @ b + rng.normal(0, 1, n)
    bad = bb[br]
    X[bad, 0] *= -1
    sp = some(rng, n, .06) & ~bad
    y[sp] += rng.choice([-1, 1], sp.sum()) * rng.uniform(30, 300, sp.sum())
    return regsample(X, y, bad | sp, np.append(b, 0), sizes)


@reg('leverage_cluster', False, '30% in a tight far cluster that pulls the plane')
def _(rng):
    n, p = 4000, 6
    A = np.eye(p) + .5 * np.tri(p, k=-1)
    X = rng.normal(size=(n, p)) @ A.T
    b = np.array([1., -1., 2., 0., .5, -2.])
    y = 3 + X @ b + rng.normal(0, 1, n)
    bad = some(rng, n, .30)
    m = bad.sum()
    u = np.ones(p) / np.sqrt(p)
    X[bad] = 25 * u + .3 * rng.normal(size=(m, p))
    y[bad] = -60 + .5 * rng.normal(size=m)
    return regsample(X, y, bad, np.append(b, 3))


@reg('copied_row', False, 'a quarter of the table is one garbled row, copied')
def _(rng):
    n, p = 1500, 5
    X = np.c_[rng.normal(50, 10, n), rng.poisson(6, n), rng.gamma(2, 5, n), rng.random(n) < .4,
              rng.normal(0, 1, n)]
    b = np.array([.3, 1., -.4, 5., 2.])
    y = 7 + X @ b + rng.normal(0, 2, n)
    bad = some(rng, n, .25)
    X[bad] = [412., 3., 7., 1., -.5]
    y[bad] = -88.
    return regsample(X, y, bad, np.append(b, 7))


@reg('wide_150_garbled_y', False, '150 correlated columns; target garbage in 15%')
def _(rng):
    n, p = 4000, 150
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = .7 * X[:, j - 1] + .714 * X[:, j]
    b = np.where(np.arange(p) % 5 == 0, np.sin(np.arange(p)), 0.)
    y = X @ b + rng.normal(0, 1, n)
    bad = some(rng, n, .15)
    y[bad] = rng.choice([-1, 1], bad.sum()) * rng.uniform(30, 120, bad.sum())
    return regsample(X, y, bad, np.append(b, 0))


@reg('tiny_pilot_study', False, '60 rows, 3 columns, 9 rows with wrong units')
def _(rng):
    n = 60
    X = np.c_[rng.normal(70, 11, n), rng.integers(20, 65, n), rng.random(n) < .5]
    b = np.array([.9, .2, -4.])
    y = 40 + X @ b + rng.normal(0, 3, n)
    bad = some(rng, n, .15)
    y[bad] *= 7.5
    return regsample(X, y, bad, np.append(b, 40))


@reg('colluding_nodes', False, '42% of 120 batches agree on the negated coefficients')
def _(rng):
    sizes = (500,) * 120
    bb, br = bad_batches(rng, sizes, .42, 'first')
    n, p = len(br), 8
    X = rng.normal(size=(n, p)) * np.array([1, 2, .5, 1, 3, 1, 1, .1])
    b = np.array([2., -2., 4., 3., 1., -3., 2., 10.])
    bad = bb[br]
    y = np.where(bad, -(X @ b) + 20, X @ b + 1) + rng.normal(0, .7, n)
    return regsample(X, y, bad, np.append(b, 1), sizes)


@reg('scales_misplaced_exponent', False, 'columns from 1e-6 to 1e6; one cell times 1000 in 10% of rows')
def _(rng):
    n = 2400
    sc = 10. ** np.array([-6, -4, -3, -1, 0, 1, 3, 5, 6])
    X = (rng.normal(size=(n, 9)) + 6) * sc
    b = np.array([1., -2., 3., 1., 2., -1., 2., 1., -3.]) / sc
    y = 10 + X @ b + rng.normal(0, .5, n)
    bad = some(rng, n, .10)
    i = np.flatnonzero(bad)
    X[i, rng.integers(0, 9, len(i))] *= 1000
    return regsample(X, y, bad, np.append(b, 10))


@reg('ragged_files', False, 'files of 50 to 5000 rows; 30% of them from another schema, and 8% bad rows')
def _(rng):
    sizes = ragged(rng, 45, 50, 5000)
    bb, br = bad_batches(rng, sizes, .3)
    n = len(br)
    X = np.c_[rng.exponential(3, n), rng.normal(size=(n, 3)), rng.poisson(4, n), rng.random(n) < .2]
    b = np.array([1., 2., -1., .5, .7, 3.])
    y = 2 + X @ b + rng.normal(0, 1.2, n)
    bad = bb[br]
    X[bad] = X[bad][:, [4, 0, 5, 1, 2, 3]] * 20
    y[bad] = rng.normal(500, 50, bad.sum())
    r = some(rng, n, .08) & ~bad
    y[r] = -99
    return regsample(X, y, bad | r, np.append(b, 2), sizes)


@reg('river_negative', False, 'zero-inflated rain; 15% of the flows with a minus sign')
def _(rng):
    n = 4380
    rain = (rng.random((n, 3)) < .4) * rng.gamma(.9, 9, (n, 3))
    soil = rng.beta(4, 3, n)
    t = np.arange(n)
    X = np.c_[rain, soil, np.sin(2 * np.pi * t / 365), np.cos(2 * np.pi * t / 365)]
    b = np.array([.5, .8, .3, 12., 4., 6.])
    y = 30 + X @ b + rng.normal(0, 2, n)
    bad = some(rng, n, .15)
    y[bad] *= -1
    return regsample(X, y, bad, np.append(b, 30))


@reg('stores_cumulated', False, 'store dummies; 20% of the weeks hold a running total')
def _(rng):
    n = 5200
    st = rng.integers(0, 13, n)
    X = np.c_[dummies(st, 13), rng.random(n) < .3, rng.normal(4.99, .4, n).round(2), rng.poisson(300, n)]
    b = np.r_[np.linspace(-20, 25, 12), 18., -9., .3]
    y = 120 + X @ b + rng.normal(0, 6, n)
    bad = some(rng, n, .20)
    y[bad] *= rng.integers(3, 9, bad.sum())
    return regsample(X, y, bad, np.append(b, 120))


@reg('five_batches_two_foreign', False, '5 large batches, 2 of another population')
def _(rng):
    sizes = (800,) * 5
    bb, br = bad_batches(rng, sizes, .4)
    n = len(br)
    X = np.c_[rng.normal(10, 2, n), rng.normal(0, 1, n), rng.gamma(4, 1, n)]
    b = np.array([1., -2., 1.5])
    y = X @ b + 6 + rng.normal(0, 1, n)
    bad = bb[br]
    m = bad.sum()
    X[bad] = rng.normal([40, 8, 25], [3, 2, 3], (m, 3))
    y[bad] = 200 - 3 * X[bad, 0] + rng.normal(0, 2, m)
    return regsample(X, y, bad, np.append(b, 6), sizes)


@reg('payroll_monthly', False, 'annual salaries, 30% of them monthly')
def _(rng):
    n = 3000
    grade = rng.choice(6, n, p=[.1, .25, .3, .2, .1, .05]) + 1
    X = np.c_[grade, rng.gamma(2, 3.5, n), dummies(rng.integers(0, 6, n), 6), rng.random(n) < .5, rng.integers(21, 66, n)]
    b = np.r_[6., .8, 2., -1., 3., 0., 1.5, .3, .1]
    y = 28 + X @ b + rng.normal(0, 2.5, n)
    bad = some(rng, n, .30)
    y[bad] /= 12
    return regsample(X, y, bad, np.append(b, 28))


@reg('timestamps_ms', False, 'UNIX seconds, milliseconds in 2% of rows')
def _(rng):
    n = 7000
    t0 = 1.7e9
    X = np.c_[t0 + np.sort(rng.uniform(0, 3e7, n)), rng.normal(20, 5, n), rng.random(n) < .5, rng.exponential(200, n)]
    b = np.array([2e-6, 1.3, -6., .02])
    y = (X[:, 0] - t0) * 2e-6 + X[:, 1:] @ b[1:] + 15 + rng.normal(0, 3, n)
    bad = some(rng, n, .02)
    X[bad, 0] *= 1000
    return regsample(X, y, bad, np.append(b, 15 - t0 * 2e-6))


@reg('kiosk_fahrenheit', False, '35% of the temperatures in Fahrenheit')
def _(rng):
    n = 800
    T = rng.normal(18, 5, n).round(1)
    X = np.c_[T, rng.random(n) < .28, rng.poisson(60, n), rng.gamma(1.5, 2, n)]
    b = np.array([1.5, 9., .4, -1.])
    y = 25 + X @ b + rng.normal(0, 3, n)
    bad = some(rng, n, .35)
    X[bad, 0] = (X[bad, 0] * 1.8 + 32).round(1)
    return regsample(X, y, bad, np.append(b, 25))


@reg('adc_bursts', False, 'in each frame of 256 samples one burst of a quarter at the rail')
def _(rng):
    sizes = (256,) * 64
    br = batch_of(sizes)
    n = len(br)
    X = rng.normal(size=(n, 5)) @ (np.eye(5) + .3)
    b = np.array([300., -120., 50., 0., 80.])
    y = X @ b + 100 + rng.normal(0, 60, n)
    bad = none(n)
    for k in range(64):
        s = k * 256 + rng.integers(0, 192)
        bad[s:s + 64] = True
    y[bad] = 32767
    X[bad, 1] += 4                                  # the surge shows in a predictor, too
    return regsample(X, y, bad, np.append(b, 100), sizes)


@reg('redundant_probe_reboot', False, 'two near-duplicate probes; one reads 0 and the target too in 12%')
def _(rng):
    n = 2000
    a = rng.normal(80, 6, n)
    X = np.c_[a, a + rng.normal(0, .01, n), rng.normal(1.2, .1, n), rng.uniform(0, 10, n)]
    b = np.array([1., .5, 30., -2.])
    y = 5 + X @ b + rng.normal(0, 1.5, n)
    bad = some(rng, n, .12)
    X[bad, 1] = 0
    y[bad] = 0
    return regsample(X, y, bad, np.append(b, 5))


@reg('garbage_40', False, '40% of the rows uniform garbage in all cells')
def _(rng):
    n, p = 2000, 10
    X = rng.normal(size=(n, p)) * np.linspace(.5, 2, p)
    b = np.cos(np.arange(p)) * 2
    y = X @ b - 4 + rng.normal(0, 1, n)
    bad = some(rng, n, .40)
    X[bad] = rng.uniform(-60, 90, (bad.sum(), p))
    y[bad] = rng.uniform(-300, 600, bad.sum())
    return regsample(X, y, bad, np.append(b, -4))


@reg('freight_second_tariff', False, '30% follow a wrong line far above, the predictors being alike')
def _(rng):
    n = 5000
    X = np.c_[rng.gamma(3, 100, n), rng.lognormal(2, .4, n), rng.integers(1, 9, n), rng.random(n) < .6]
    b = np.array([.08, 1.4, 2.5, -3.])
    y = 14 + X @ b + rng.normal(0, 2, n)
    bad = some(rng, n, .30)
    y[bad] = 14 + 45 + 2.2 * (X[bad] @ b) + rng.normal(0, 2, bad.sum())
    return regsample(X, y, bad, np.append(b, 14))


@reg('assay_miscalibrated', False, '25% of the plates with a wrong gain and offset')
def _(rng):
    sizes = tuple(int(v) for v in rng.integers(90, 200, 75))
    bb, br = bad_batches(rng, sizes, .25)
    n = len(br)
    conc = rng.choice([0, .5, 1, 2, 4, 8, 16], n)
    X = np.c_[conc, rng.normal(37, .3, n), rng.normal(7.4, .08, n), rng.integers(1, 13, n)]
    b = np.array([2.5, 3., -10., .05])
    y = X @ b + 20 + rng.normal(0, 1, n)
    bad = bb[br]
    y[bad] = 1.6 * y[bad] + 30
    return regsample(X, y, bad, np.append(b, 20), sizes)


@reg('panel_two_dirts_both', False, '20% of the batches reversed scale, and 20% rows with code -9')
def _(rng):
    sizes = ragged(rng, 35, 200, 900)
    bb, br = bad_batches(rng, sizes, .2)
    n = len(br)
    X = np.c_[rng.integers(1, 8, (n, 4)), rng.normal(45, 14, n).round(), rng.random(n) < .52, rng.lognormal(7.5, .5, n)]
    b = np.array([4., 6., -5., 3., .2, 2., .004])
    y = 20 + X @ b + rng.normal(0, 2.5, n)
    bad = bb[br]
    y[bad] = 300 - y[bad]
    r = some(rng, n, .20)
    X[np.ix_(r, [0, 2])] = -99
    return regsample(X, y, bad | r, np.append(b, 20), sizes)


# ==================================================================================================
# REGRESSION, HONEST
# ==================================================================================================

@reg('h_insurance_skewed', True, 'claims with lognormal noise, centred')
def _(rng):
    n = 8000
    X = np.c_[rng.integers(18, 85, n), rng.gamma(2, 6, n), rng.random(n) < .45, rng.poisson(.3, n),
              dummies(rng.integers(0, 5, n), 5)]
    b = np.array([-.05, .3, 1., 2.5, 1., -1., .5, 2.])
    e = rng.lognormal(0, 1, n) - np.exp(.5)
    return regsample(X, 10 + X @ b + 2 * e, none(n), np.append(b, 10))


@reg('h_t3_ticks', True, 't3 noise over 40 batches')
def _(rng):
    sizes = (250,) * 40
    n = 10000
    X = rng.standard_t(6, (n, 4)) * [1, .1, 3, 1]
    b = np.array([1., 5., -.3, .2])
    return regsample(X, X @ b + rng.standard_t(3, n), none(n), np.append(b, 0), sizes)


@reg('h_income_uneven', True, 'noise grows with the predictor')
def _(rng):
    n = 4000
    inc = rng.lognormal(3.4, .5, n)
    X = np.c_[inc, rng.poisson(1.2, n), rng.integers(20, 80, n)]
    b = np.array([.3, 2., .05])
    return regsample(X, 3 + X @ b + .15 * inc * rng.normal(size=n), none(n), np.append(b, 3))


def draw_dose(rng, n):
    d = rng.uniform(0, 10, n)
    w = rng.normal(70, 10, n)
    age = rng.integers(20, 80, n)
    y = 5 + 3 * d - .15 * d * d + .1 * w + .05 * age + rng.normal(0, 1, n)
    return np.c_[d, w, age], y


@reg('h_dose_curve', True, 'a quadratic dose effect fitted by a line')
def _(rng):
    n = 1500
    X, y = draw_dose(rng, n)
    return regsample(X, y, none(n), regression_truth(draw_dose))


def draw_price_interaction(rng, n):
    price = rng.normal(5, 1, n)
    promo = (rng.random(n) < .5).astype(float)
    foot = rng.poisson(50, n)
    y = 60 - 4 * price + 6 * promo - 1.5 * promo * (price - 5) + .4 * foot + .03 * (price - 5) * (foot - 50) + rng.normal(0, 3, n)
    return np.c_[price, promo, foot], y


@reg('h_promo_interaction', True, 'interactions the line misses')
def _(rng):
    n = 3000
    X, y = draw_price_interaction(rng, n)
    return regsample(X, y, none(n), regression_truth(draw_price_interaction), (100,) * 30)


@reg('h_two_shifts_hidden', True, 'two unrecorded groups of equal size with offsets')
def _(rng):
    n = 2400
    X = np.c_[rng.normal(0, 1, (n, 3)), rng.random(n) < .5]
    b = np.array([1., .5, -2., 1.])
    g = rng.permutation(np.repeat([-1., 1.], n // 2))
    return regsample(X, X @ b + 3 + 1.6 * g + rng.normal(0, .8, n), none(n), np.append(b, 3))


@reg('h_three_clinics', True, 'three clinics of like size with overlapping means')
def _(rng):
    n = 4500
    c = rng.integers(0, 3, n)
    X = np.c_[rng.normal(50 + 6 * c, 8, n), rng.normal(120, 15, n), rng.random(n) < .5, dummies(c, 3)]
    b = np.array([.4, .1, 2., 3., -2.])
    return regsample(X, X @ b + 10 + rng.normal(0, 4 + c, n), none(n), np.append(b, 10))


@reg('h_weekly_seasons', True, '104 weekly batches, weather and a small unmodelled season')
def _(rng):
    sizes = (150,) * 104
    br = batch_of(sizes)
    n = len(br)
    ph = 2 * np.pi * br / 52
    T = 10 - 9 * np.cos(ph) + rng.normal(0, 4, n)
    X = np.c_[T, rng.random(n) < 2 / 7, rng.gamma(3, 30, n), br]
    b = np.array([-.8, 2., .05, .02])
    y = 40 + X @ b + .5 * np.sin(2 * ph) + rng.normal(0, 2.5, n)
    return regsample(X, y, none(n), np.append(b, 40), sizes)


@reg('h_aging_sensor_drift', True, 'predictors drift far over 60 batches on one line')
def _(rng):
    sizes = ragged(rng, 60, 80, 600)
    br = batch_of(sizes)
    n = len(br)
    X = np.c_[rng.normal(20 + .3 * br, 3), rng.normal(5 - .05 * br, 1), rng.gamma(2, 1 + br / 40.)]
    b = np.array([.7, -2., 1.])
    return regsample(X, X @ b + rng.normal(0, 1.5, n), none(n), np.append(b, 0), sizes)


@reg('h_good_leverage', True, 'heavy-tailed firm sizes, all on the line')
def _(rng):
    n = 3000
    X = np.c_[rng.lognormal(2, 1.1, n), rng.lognormal(0, .9, n), rng.normal(0, 1, n), rng.integers(0, 2, n)]
    b = np.array([.6, 2., 1., -1.])
    return regsample(X, 4 + X @ b + rng.normal(0, 3, n), none(n), np.append(b, 4))


def draw_thermostat(rng, n):
    T = rng.normal(8, 6, n).round()
    s = rng.normal(20.5, 1, n).round()
    people = rng.integers(1, 6, n)
    y = np.round(30 - .9 * T + 1.2 * s + 1.1 * people + rng.normal(0, 1.3, n))
    return np.c_[T, s, people], y


@reg('h_rounded_readings', True, 'all columns rounded to integers')
def _(rng):
    n = 2000
    X, y = draw_thermostat(rng, n)
    return regsample(X, y, none(n), np.array([-.9, 1.2, 1.1, 30.]))


@reg('h_poisson_demand', True, 'Poisson counts with many zeros, mean linear in the predictors')
def _(rng):
    n = 6000
    X = np.c_[rng.random(n), rng.random(n) < .3, rng.gamma(2, .3, n), rng.integers(0, 7, n)]
    b = np.array([.6, .5, .7, .05])
    y = rng.poisson(.2 + X @ b)
    return regsample(X, y, none(n), np.append(b, .2), (200,) * 30)


@reg('h_rare_flags', True, 'indicators of 1 to 4% with moderate effects')
def _(rng):
    n = 10000
    X = np.c_[rng.normal(0, 1, (n, 3)), rng.random((n, 5)) < [.01, .015, .02, .03, .04], rng.random(n) < .5]
    b = np.array([1., -1., .5, 1., -1.5, .8, 2., .5, 1.])
    return regsample(X, X @ b + rng.normal(0, 1.5, n), none(n), np.append(b, 0))


def draw_saturation(rng, n):
    light = rng.gamma(4, 1, n)
    co2 = rng.normal(0, 1, n)
    temp = rng.normal(22, 3, n)
    y = 20 * np.tanh(light / 5) + 2 * co2 + .5 * temp + rng.normal(0, 1.5, n)
    return np.c_[light, co2, temp], y


@reg('h_photosynthesis', True, 'a smoothly saturating response')
def _(rng):
    n = 2200
    X, y = draw_saturation(rng, n)
    return regsample(X, y, none(n), regression_truth(draw_saturation))


@reg('h_forty_rows', True, '40 rows and 3 columns')
def _(rng):
    n = 40
    X = np.c_[rng.normal(170, 8, n), rng.integers(18, 60, n), rng.random(n) < .5]
    b = np.array([.8, .1, 3.])
    return regsample(X, X @ b - 60 + rng.normal(0, 6, n), none(n), np.append(b, -60))


@reg('h_multiplicative', True, 'multiplicative lognormal noise on a positive mean')
def _(rng):
    n = 5000
    X = np.c_[rng.gamma(3, 20, n), rng.poisson(3, n) + 1, rng.uniform(0, 30, n)]
    b = np.array([.5, 8., .6])
    mu = 10 + X @ b
    return regsample(X, mu * rng.lognormal(-.5 * .25 ** 2, .25, n), none(n), np.append(b, 10))


@reg('h_yes_no', True, 'a target of 0 and 1, both common, probability linear')
def _(rng):
    n = 7500
    X = np.c_[rng.uniform(-1, 1, (n, 3)), rng.random(n) < .5, rng.integers(1, 6, n)]
    b = np.array([.1, -.08, .05, .08, .02])
    y = rng.random(n) < .42 + X @ b
    return regsample(X, y, none(n), np.append(b, .42), (150,) * 50)


def draw_likert(rng, n):
    f = rng.normal(size=(n, 1))
    X = np.clip(np.round(3 + .8 * f + .8 * rng.normal(size=(n, 6))), 1, 5)
    y = np.clip(np.round(.6 + X @ np.array([.2, .2, .15, .1, .1, .05]) + .7 * rng.normal(size=n)), 1, 5)
    return X, y


@reg('h_likert_lattice', True, 'survey items on both sides')
def _(rng):
    n = 1800
    X, y = draw_likert(rng, n)
    return regsample(X, y, none(n), regression_truth(draw_likert))


@reg('h_many_columns', True, '400 rows and 100 columns, t5 noise')
def _(rng):
    n, p = 400, 100
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    b = np.where(np.arange(p) < 12, .5, 0)
    return regsample(X, 2 + X @ b + rng.standard_t(5, n), none(n), np.append(b, 2))


@reg('h_scales', True, 'columns from 1e-6 to 1e6, some skewed, one constant')
def _(rng):
    n = 3000
    sc = 10. ** np.array([-6, -3, 0, 2, 6])
    X = np.c_[rng.gamma(3, 1, (n, 5)) * sc, np.full(n, 101.325)]
    b = np.append(np.array([1., .5, -1., 2., 1.]) / sc, 0)
    return regsample(X, 7 + X @ b + rng.laplace(0, 1, n), none(n), np.append(b, 7))


@reg('h_houses_dummies', True, 'areas, ages, districts, a near duplicate and noise that differs by district')
def _(rng):
    n = 3600
    area = rng.lognormal(4.5, .35, n)
    d = rng.choice(6, n, p=[.25, .2, .2, .15, .1, .1])
    X = np.c_[area, area * 10.764 + rng.normal(0, 1, n), rng.integers(0, 110, n), rng.poisson(2.5, n), dummies(d, 6)]
    b = np.r_[2., .1, -.3, 5., 10., -15., 20., 5., -5.]
    return regsample(X, 50 + X @ b + rng.normal(0, 1, n) * (20 + 3 * d), none(n), np.append(b, 50))


@reg('h_clicks_large', True, '60000 rows in 120 batches, Laplace noise, zero-inflated predictors')
def _(rng):
    n = 60000
    X = np.c_[(rng.random((n, 4)) < [.5, .4, .3, .6]) * rng.exponential(2, (n, 4)), rng.normal(0, 1, (n, 2))]
    b = np.array([.5, -.3, .2, .1, 1., -.5])
    return regsample(X, 1 + X @ b + rng.laplace(0, 1, n), none(n), np.append(b, 1), (500,) * 120)


@reg('h_schools_random_effects', True, '80 schools with normal offsets, mean zero over the rows')
def _(rng):
    sizes = tuple(int(v) for v in rng.integers(60, 240, 80))
    br = batch_of(sizes)
    n = len(br)
    w = np.array(sizes, float)
    u = rng.normal(0, 1, 80)
    u -= (u * w).sum() / w.sum()
    X = np.c_[rng.normal(0, 1, n), rng.random(n) < .5, rng.poisson(2, n)]
    b = np.array([3., .5, -.7])
    return regsample(X, 50 + X @ b + u[br] + rng.normal(0, 3, n), none(n), np.append(b, 50), sizes)


def draw_heating_hinge(rng, n):
    T = rng.normal(13, 7, n)
    wind = rng.gamma(2, 2, n)
    y = 8 + 2.5 * np.log1p(np.exp((15 - T) / 2.5)) + .4 * wind + rng.gamma(4, .6, n)
    return np.c_[T, wind], y


@reg('h_heating_hinge', True, 'a smooth hinge at 15 degrees, skewed noise')
def _(rng):
    n = 2555
    X, y = draw_heating_hinge(rng, n)
    return regsample(X, y, none(n), regression_truth(draw_heating_hinge))


@reg('h_delivery_gamma', True, 'waiting times with gamma noise whose spread grows with distance, streamed ragged')
def _(rng):
    sizes = ragged(rng, 24, 60, 1200)
    n = sum(sizes)
    km = rng.gamma(2, 3, n)
    X = np.c_[km, rng.poisson(3, n), rng.random(n) < .2, rng.integers(0, 24, n)]
    b = np.array([2.2, 1.5, 4., .1])
    mu = 6 + X @ b
    sc = .5 + .2 * km
    return regsample(X, mu + sc * (rng.gamma(2, 1, n) - 2), none(n), np.append(b, 6), sizes)


# ==================================================================================================
# PCA, BAD
# ==================================================================================================

HOURS = np.arange(24.)


@pca('load_profiles_wh', False, 'daily load profiles; 15% in Wh')
def _(rng):
    n = 3000
    L = np.c_[bump(HOURS, 8, 2), bump(HOURS, 19, 2.5), np.full(24, .35)]
    F = rng.gamma([3, 4, 6], [.6, .45, .2], (n, 3))
    X = F @ L.T + .08 * rng.normal(size=(n, 24)) + .3
    V = cov_basis(L @ np.diag([3 * .36, 4 * .2025, 6 * .04]) @ L.T + .0064 * np.eye(24), 2)
    bad = some(rng, n, .15)
    X[bad] *= 1000
    return pcasample(X, bad, V)


@pca('lab_panel_units', False, '12 analytes; 30% of the labs with other units in two of them')
def _(rng):
    sizes = (150,) * 40
    bb, br = bad_batches(rng, sizes, .3)
    n, p = len(br), 12
    mean = np.array([100, 190, 250, 1., 140, 4.2, 14, 25, 30, 7, 45, 2.4])
    sd = np.array([18, 25, 50, .2, 3, .4, 1.2, 8, 9, .6, 6, .15])
    load = np.c_[[.6, .4, .8, .2, .1, .1, .2, .4, .4, .2, .3, .1], [-.6, .8, .05, .3, .1, 0, -.2, .5, -.5, .1, .2, 0]]
    u = np.sqrt(1 - (load ** 2).sum(1))
    X = mean + sd * (rng.normal(size=(n, 2)) @ load.T + u * rng.normal(size=(n, p)))
    C = (load @ load.T + np.diag(u ** 2)) * np.outer(sd, sd)
    bad = bb[br]
    X[bad, 0] /= 18
    X[bad, 3] *= 88.4
    X[bad, 1] /= 38.67
    return pcasample(X, bad, cov_basis(C, 1), sizes)


@pca('spectra_saturated', False, '200 channels; a block at the ceiling in 20% of the spectra')
def _(rng):
    n, p = 1200, 200
    t = np.arange(p)
    L = np.c_[bump(t, 50, 8), bump(t, 110, 12), bump(t, 160, 6)]
    sd = np.array([1.6, 1.2, .9])
    X = 4 * bump(t, 90, 60) + (rng.normal(size=(n, 3)) * sd) @ L.T + .15 * rng.normal(size=(n, p))
    V = cov_basis(L @ np.diag(sd ** 2) @ L.T + .0225 * np.eye(p), 3)
    bad = some(rng, n, .20)
    for i in np.flatnonzero(bad):
        s = rng.integers(0, 120)
        X[i, s:s + rng.integers(30, 80)] = 65.535
    return pcasample(X, bad, V)


@pca('returns_percent', False, 'daily returns of 50 shares; 18 of the columns in percent on 10% of the days')
def _(rng):
    n, p = 2500, 50
    beta = np.linspace(.5, 1.6, p)
    m = rng.standard_t(8, n) * .012 * np.sqrt(6 / 8)
    X = np.outer(m, beta) + .008 * np.sqrt(6 / 8) * rng.standard_t(8, (n, p))
    V = cov_basis(np.outer(beta, beta), 1)
    bad = some(rng, n, .10)
    X[bad, 32:] *= 100
    return pcasample(X, bad, V)


@pca('genes_bad_chip', False, '80 arrays, 200 genes; 14 from a spoilt chip')
def _(rng):
    n, p = 80, 200
    Q = np.linalg.qr(rng.normal(size=(p, 3)))[0]
    X = 8 + (rng.normal(size=(n, 2)) * [14, 9]) @ Q[:, :2].T + .4 * rng.normal(size=(n, p))
    bad = some(rng, n, .175)
    m = bad.sum()
    X[bad] += np.outer(rng.uniform(60, 80, m), Q[:, 2]) + 2 * rng.normal(size=(m, p))
    return pcasample(X, bad, Q[:, :2])


def draw_items7(rng, n):
    f = rng.normal(size=(n, 1))
    lo = np.linspace(.8, 1.4, 15)
    return np.clip(np.round(4 + f * lo + .8 * rng.normal(size=(n, 15))), 1, 7)


@pca('questionnaire_99', False, 'items 1 to 7; missing answers coded 99 in 12% of the rows')
def _(rng):
    n = 1600
    X = draw_items7(rng, n)
    bad = some(rng, n, .12)
    for i in np.flatnonzero(bad):
        X[i, rng.permutation(15)[:rng.integers(3, 11)]] = 99
    return pcasample(X, bad, pca_truth(draw_items7, 1))


@pca('vibration_rails', False, '100 batches; some channels at the rail in 15% of the rows')
def _(rng):
    sizes = (200,) * 100
    n, p = 20000, 8
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    sd = np.array([4, 2.5, .8, .7, .6, .5, .5, .4])
    X = (rng.normal(size=(n, p)) * sd) @ Q.T
    bad = some(rng, n, .15)
    m = bad.sum()
    hit = rng.random((m, p)) < .35
    hit[np.arange(m), rng.integers(0, p, m)] = True
    hit[:, 2] |= rng.random(m) < .5
    X[bad] = np.where(hit, 32.768, X[bad])
    return pcasample(X, bad, Q[:, :2], sizes)


@pca('phone_upside_down', False, '33% of the devices mounted wrongly: axes swapped and gravity reversed')
def _(rng):
    sizes = (300,) * 60
    bb, br = bad_batches(rng, sizes, .33)
    n = len(br)
    Q = np.linalg.qr(np.random.default_rng(5).normal(size=(6, 6)))[0]
    sd = np.array([2., 1.2, .35, .3, .25, .2])
    X = np.array([0, 0, 9.81, 0, .2, -.1]) + (rng.normal(size=(n, 6)) * sd) @ Q.T
    bad = bb[br]
    X[bad] = X[bad][:, [1, 0, 2, 4, 3, 5]] * [1, 1, -1, 1, 1, -1]
    return pcasample(X, bad, Q[:, :2], sizes)


@pca('colluding_direction', False, '40% of 150 batches agree on one false strong direction')
def _(rng):
    sizes = (100,) * 150
    bb, br = bad_batches(rng, sizes, .4)
    n, p = len(br), 20
    Q = np.linalg.qr(rng.normal(size=(p, 5)))[0]
    X = (rng.normal(size=(n, 4)) * [6, 5, 4, 3]) @ Q[:, :4].T + .7 * rng.normal(size=(n, p))
    bad = bb[br]
    X[bad] += np.outer(rng.normal(0, 40, bad.sum()), Q[:, 4])
    return pcasample(X, bad, Q[:, :4], sizes)


@pca('copied_record', False, '30% copies of one far record')
def _(rng):
    n = 1000
    Q = np.linalg.qr(rng.normal(size=(9, 9)))[0]
    sd = np.array([5, 4, 1, 1, .9, .8, .7, .5, .5])
    X = (rng.normal(size=(n, 9)) * sd) @ Q.T + 20
    bad = some(rng, n, .30)
    X[bad] = 20 + 45 * Q[:, 6] - 20 * Q[:, 4]
    return pcasample(X, bad, Q[:, :2])


@pca('garbage_35', False, '35% uniform garbage, 30 columns')
def _(rng):
    n, p = 2500, 30
    Q = np.linalg.qr(rng.normal(size=(p, 3)))[0]
    X = (rng.laplace(0, 1, (n, 3)) * [4, 3, 2.2]) @ Q.T + .5 * rng.normal(size=(n, p))
    bad = some(rng, n, .35)
    X[bad] = rng.uniform(-50, 50, (bad.sum(), p))
    return pcasample(X, bad, Q)


@pca('clinic_swapped', False, 'height and weight, and the two pressures, swapped in 4%')
def _(rng):
    n = 4000
    mean = np.array([170, 68, 122, 60, 72, 92, 36.7])
    L = np.zeros((7, 3))
    L[:, 0] = [2, 9, 8, 4, 2, 9, 0]
    L[:, 1] = [6, 4, -4, -2, -1, 2, 0]
    L[:, 2] = [0, -1, 2, 1, 4, 0, .1]
    u = np.array([2, 2, 2.5, 2, 3, 2, .3])
    X = mean + rng.normal(size=(n, 3)) @ L.T + u * rng.normal(size=(n, 7))
    bad = some(rng, n, .04)
    X[bad] = X[bad][:, [1, 0, 3, 2, 4, 5, 6]]
    return pcasample(X, bad, cov_basis(L @ L.T + np.diag(u ** 2), 2))


@pca('frames_overexposed', False, '8x8 patches with a dark border; 25% of the frames overexposed')
def _(rng):
    n = 2000
    g = np.arange(8.)
    P = np.stack([np.outer(np.cos(np.pi * (g + .5) * a / 8), np.cos(np.pi * (g + .5) * c / 8)).ravel()
                  for a, c in [(1, 0), (0, 1), (1, 1), (2, 0)]], 1)
    inner = np.zeros((8, 8), bool)
    inner[1:7, 1:7] = True
    inner = inner.ravel()
    P = P * inner[:, None]
    sd = np.array([14., 10., 8., 6.])
    X = inner * (60. + 1.5 * rng.normal(size=(n, 64))) + (rng.normal(size=(n, 4)) * sd) @ P.T
    bad = some(rng, n, .25)
    m = bad.sum()
    glare = np.linspace(0, 1, 64) ** 2
    X[bad] = inner * np.minimum(255, X[bad] + np.outer(rng.uniform(120, 400, m), .5 + glare))
    return pcasample(X, bad, cov_basis(P @ np.diag(sd ** 2) @ P.T + 2.25 * np.diag(inner.astype(float)), 3))


@pca('plant_ragged', False, '30 tags; 25% of the shifts foreign, and 10% bad rows')
def _(rng):
    sizes = ragged(rng, 40, 50, 1500)
    bb, br = bad_batches(rng, sizes, .25)
    n, p = len(br), 30
    Q = np.linalg.qr(rng.normal(size=(p, 6)))[0]
    X = (rng.normal(size=(n, 3)) * [8, 6, 4.5]) @ Q[:, :3].T + rng.normal(size=(n, p)) * .8
    bad = bb[br]
    X[bad] = 30 * Q[:, 3] + np.outer(rng.normal(0, 15, bad.sum()), Q[:, 4]) + rng.normal(size=(bad.sum(), p))
    r = some(rng, n, .10) & ~bad
    X[r] += np.outer(rng.choice([-1, 1], r.sum()) * rng.uniform(25, 60, r.sum()), Q[:, 5])
    return pcasample(X, bad | r, Q[:, :3], sizes)


@pca('leverage_cluster', False, '25% in a tight cluster off the plane')
def _(rng):
    n, p = 6000, 12
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    sd = np.r_[6, 5, 4, np.linspace(1.2, .5, 9)]
    X = (rng.normal(size=(n, p)) * sd) @ Q.T
    bad = some(rng, n, .25)
    X[bad] = 6 * Q[:, 0] + 18 * Q[:, 5] + 10 * Q[:, 8] + .2 * rng.normal(size=(bad.sum(), p))
    return pcasample(X, bad, Q[:, :3])


@pca('tiny_soil', False, '50 soil samples, 4 columns, 8 of them in wrong units')
def _(rng):
    n = 50
    L = np.array([3., 2., -1.5, 1.])
    u = np.array([.5, .5, .4, .5])
    X = np.array([20., 12., 9., 6.]) + np.outer(rng.normal(size=n), L) + u * rng.normal(size=(n, 4))
    bad = some(rng, n, .16)
    X[bad, 2] *= 10
    X[bad, 3] /= 10
    return pcasample(X, bad, cov_basis(np.outer(L, L) + np.diag(u ** 2), 1))


@pca('large_45_batches', False, '60000 rows; 45% of 100 batches each wrong in a way of its own')
def _(rng):
    sizes = (600,) * 100
    bb, br = bad_batches(rng, sizes, .45)
    p = 10
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    sd = np.array([5, 4, 3, .9, .8, .8, .7, .6, .6, .5])
    X = (rng.normal(size=(60000, p)) * sd) @ Q.T
    for k in np.flatnonzero(bb):
        s = slice(600 * k, 600 * k + 600)
        d = rng.normal(size=p)
        d /= np.linalg.norm(d)
        X[s] += 40 * rng.normal(size=p) + np.outer(rng.normal(0, 30, 600), d)
    return pcasample(X, bb[br], Q[:, :3], sizes)


def draw_sessions(rng, n):
    act = rng.gamma(4, 1, (n, 1))
    soc = rng.gamma(3, 1, (n, 1))
    r = act * np.array([8, 6, 4, 2, 2, 1, 1, .5, .5, 1]) + soc * np.array([0, .5, 0, 5, 4, 3, 2, 1, 1, 0]) + 1
    return rng.poisson(r).astype(float)


@pca('sessions_bots', False, 'counts of events; 18% bots far beyond all users')
def _(rng):
    n = 9000
    X = draw_sessions(rng, n)
    bad = some(rng, n, .18)
    m = bad.sum()
    X[bad] = rng.poisson(np.array([10, 10, 900, 5, 5, 5, 600, 5, 5, 700]) * rng.lognormal(0, .2, (m, 1)))
    return pcasample(X, bad, pca_truth(draw_sessions, 2), (300,) * 30)


@pca('body_inches', False, '20% of the body measures in inches')
def _(rng):
    n = 2200
    mean = np.array([172, 98, 86, 101, 56, 38, 61, 42.])
    L = np.c_[[2, 6, 8, 6, 4, 2, 1, 2], [7, 1, -1, 1, 1, .5, 3, 2]]
    X = mean + rng.normal(size=(n, 2)) @ L.T + 1.2 * rng.normal(size=(n, 8))
    bad = some(rng, n, .20)
    X[np.ix_(bad, range(1, 7))] /= 2.54
    return pcasample(X, bad, cov_basis(L @ L.T + 1.44 * np.eye(8), 2))


@pca('two_foreign_populations', False, 'two foreign groups of 15% each, on either side')
def _(rng):
    n, p = 3300, 15
    Q = np.linalg.qr(rng.normal(size=(p, 4)))[0]
    X = (rng.normal(size=(n, 2)) * [6, 4]) @ Q[:, :2].T + .8 * rng.normal(size=(n, p))
    o = rng.permutation(n)
    a, c = o[:495], o[495:990]
    X[a] += 30 * Q[:, 2]
    X[c] -= 28 * Q[:, 2] - 22 * Q[:, 3]
    bad = none(n)
    bad[o[:990]] = True
    return pcasample(X, bad, Q[:, :2])


@pca('gps_multipath_bursts', False, 'bursts of jumps along the run, 18% of the rows')
def _(rng):
    n = 7200
    Q = np.linalg.qr(np.random.default_rng(11).normal(size=(6, 6)))[0]
    X = (rng.normal(size=(n, 6)) * [9, 6, 1, .8, .7, .5]) @ Q.T
    bad = none(n)
    for s in range(0, n, 240):
        k = s + rng.integers(0, 190)
        m = 43
        bad[k:k + m] = True
        X[k:k + m] += rng.normal(size=6) * 4 + rng.choice([-1, 1]) * rng.uniform(25, 60) * Q[:, 4] \
            + rng.uniform(15, 40) * Q[:, 5]
    return pcasample(X, bad, Q[:, :2], (240,) * 30)


@pca('traffic_days_default', False, '96 quarter hours; long blocks of -999 in 20% of the days')
def _(rng):
    n, p = 1500, 96
    t = np.arange(p) / 4.
    L = np.c_[bump(t, 8, 1.2), bump(t, 17.5, 1.8), bump(t, 13, 3)]
    sd = np.array([70., 60., 45.])
    base = 30 + 250 * bump(t, 8, 1.2) + 280 * bump(t, 17.5, 1.8) + 150 * bump(t, 13, 3)
    X = base + (rng.normal(size=(n, 3)) * sd) @ L.T + 8 * rng.normal(size=(n, p))
    bad = some(rng, n, .20)
    for i in np.flatnonzero(bad):
        s = rng.integers(0, 60)
        X[i, s:s + rng.integers(15, 40)] = -999
    return pcasample(X, bad, cov_basis(L @ np.diag(sd ** 2) @ L.T + 64 * np.eye(p), 2))


@pca('scales_garbled', False, 'columns from 1e-6 to 1e6; cells in the wrong order in 15% of the rows')
def _(rng):
    n = 2600
    sc = 10. ** np.array([-6, -3, 0, 2, 5, 5.6, 6])
    lo = np.array([[.5, .3, .4, .5, .2, .8, .9], [.3, -.5, .4, -.5, .9, .4, -.3]]).T
    u = .2
    Z = rng.normal(size=(n, 2)) @ lo.T + u * rng.normal(size=(n, 7))
    X = (Z + 3) * sc
    C = (lo @ lo.T + u ** 2 * np.eye(7)) * np.outer(sc, sc)
    bad = some(rng, n, .15)
    X[bad] = X[bad][:, [6, 4, 5, 0, 1, 3, 2]] * 12
    return pcasample(X, bad, cov_basis(C, 1))


@pca('wrong_join_halves', False, 'two tables joined wrongly in 30% of the batches')
def _(rng):
    sizes = (250,) * 40
    bb, br = bad_batches(rng, sizes, .3)
    n = len(br)
    C = np.random.default_rng(21)
    A = C.normal(size=(7, 3))
    B = C.normal(size=(7, 3)) * [1.6, .5, 1.]
    L = np.vstack([A, B])
    X = rng.normal(size=(n, 3)) @ L.T + .12 * rng.normal(size=(n, 14))
    for k in np.flatnonzero(bb):
        i = np.flatnonzero(br == k)
        X[i, 7:] = X[rng.permutation(i), 7:]
    return pcasample(X, bb[br], cov_basis(L @ L.T + .0144 * np.eye(14), 3), sizes)


@pca('cells_decimal', False, 'one or two cells with a shifted decimal point in 25% of the rows')
def _(rng):
    n, p = 3000, 16
    Q = np.linalg.qr(rng.normal(size=(p, 3)))[0]
    X = 40 + (rng.normal(size=(n, 3)) * [9, 7, 5]) @ Q.T + .9 * rng.normal(size=(n, p))
    bad = some(rng, n, .25)
    for i in np.flatnonzero(bad):
        j = rng.permutation(p)[:rng.integers(1, 3)]
        X[i, j] *= rng.choice([.1, 10.], len(j))
    return pcasample(X, bad, Q)


# ==================================================================================================
# PCA, HONEST
# ==================================================================================================

@pca('h_skewed_factors', True, 'lognormal factors')
def _(rng):
    n, p = 4000, 8
    Q = np.linalg.qr(rng.normal(size=(p, 2)))[0]
    s = .6
    F = (rng.lognormal(0, s, (n, 2)) - np.exp(s * s / 2)) / np.sqrt((np.exp(s * s) - 1) * np.exp(s * s)) * [5, 3]
    return pcasample(10 + F @ Q.T + .6 * rng.normal(size=(n, p)), none(n), Q)


@pca('h_t5_elliptical', True, 'rows of a multivariate t with 5 degrees')
def _(rng):
    n, p = 5000, 10
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    sd = np.r_[5, 4, 3, np.full(7, .7)]
    w = np.sqrt(5 / rng.chisquare(5, (n, 1)))
    return pcasample((w * rng.normal(size=(n, p)) * sd) @ Q.T, none(n), Q[:, :3], (200,) * 25)


@pca('h_two_classes', True, 'two classes of equal size apart along one direction')
def _(rng):
    n, p = 2000, 7
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    g = rng.permutation(np.repeat([-1., 1.], n // 2))
    X = (rng.normal(size=(n, p)) * np.r_[1.5, 3, .8, .8, .8, .7, .6]) @ Q.T + np.outer(5 * g, Q[:, 0])
    return pcasample(X, none(n), Q[:, :2])


@pca('h_three_varieties', True, 'three overlapping varieties of like size')
def _(rng):
    n = 1500
    M = np.array([[0, 0, 0, 0, 0], [3, 1, 2, 0, .5], [5, 3, 5, 1, 1]], float)
    S = np.array([1.2, .8, 1., .5, .3])
    g = rng.permutation(np.repeat([0, 1, 2], n // 3))
    f = rng.normal(size=(n, 1))
    w = np.array([.9, .4, .7, .2, .1])
    X = M[g] + f * w + S * .6 * rng.normal(size=(n, 5))
    Mc = M - M.mean(0)
    return pcasample(X, none(n), cov_basis(Mc.T @ Mc / 3 + np.outer(w, w) + np.diag((.6 * S) ** 2), 1))


@pca('h_seasons', True, 'weather of 120 batches over two years')
def _(rng):
    sizes = (120,) * 120
    br = batch_of(sizes)
    n, p = len(br), 9
    ph = 2 * np.pi * br / 60
    a = np.array([9, 6, 3, 1, -4, -2, 5, .5, 0.])
    c = np.array([1, -1, 2, 3, 1, 0, -1, 2, 1.])
    w = np.array([2, 2, 1, -1, 1, 1, 2, 0, .5])
    X = np.outer(np.sin(ph), a) + np.outer(np.cos(ph), c) + np.outer(rng.normal(size=n), w) + 1.2 * rng.normal(size=(n, p))
    C = .5 * np.outer(a, a) + .5 * np.outer(c, c) + np.outer(w, w) + 1.44 * np.eye(p)
    return pcasample(X, none(n), cov_basis(C, 1), sizes)


def draw_baskets(rng, n):
    a = rng.gamma(3, 1, (n, 2))
    r = a @ np.array([[4, 3, 2, 1, .5, .2, .5, 1], [0, .5, 1, 2, 2.5, 2, 1, .2]]) + .3
    return rng.poisson(r).astype(float)


@pca('h_basket_counts', True, 'Poisson counts with gamma rates')
def _(rng):
    n = 6000
    return pcasample(draw_baskets(rng, n), none(n), pca_truth(draw_baskets, 1))


def draw_zero_inflated(rng, n):
    f = rng.gamma(2, 1, (n, 1))
    X = rng.gamma(2, 1, (n, 8)) * f * np.array([4, 3, 2, 2, 1, 1, .5, .5])
    return X * (rng.random((n, 8)) < np.array([.8, .7, .75, .6, .6, .7, .5, .6]))


@pca('h_zero_inflated_spend', True, 'spending by category with many zeros')
def _(rng):
    n = 8000
    return pcasample(draw_zero_inflated(rng, n), none(n), pca_truth(draw_zero_inflated, 1, rows=1_000_000))


def draw_items5(rng, n):
    f = rng.normal(size=(n, 2))
    L = np.zeros((12, 2))
    L[:7, 0] = .9
    L[7:, 1] = .8
    return np.clip(np.round(3 + f @ L.T + .7 * rng.normal(size=(n, 12))), 1, 5)


@pca('h_likert_two_scales', True, 'twelve items of two scales on a lattice of 1 to 5')
def _(rng):
    n = 1300
    return pcasample(draw_items5(rng, n), none(n), pca_truth(draw_items5, 2))


@pca('h_wide_expression', True, '70 rows, 180 columns, skewed noise')
def _(rng):
    n, p = 70, 180
    Q = np.linalg.qr(rng.normal(size=(p, 2)))[0]
    X = (rng.normal(size=(n, 2)) * [16, 10]) @ Q.T + .5 * (rng.gamma(2, 1, (n, p)) - 2) / np.sqrt(2)
    return pcasample(X, none(n), Q)


@pca('h_small_table', True, '45 rows, 5 columns')
def _(rng):
    n = 45
    L = np.array([4., 3., 2., 1., .5])
    u = np.array([.8, .8, .6, .6, .5])
    X = 30 + np.outer(rng.normal(size=n), L) + u * rng.normal(size=(n, 5))
    return pcasample(X, none(n), cov_basis(np.outer(L, L) + np.diag(u ** 2), 1))


@pca('h_indicators_mixed', True, 'continuous columns together with indicators of 3 to 50%')
def _(rng):
    n = 4000
    L = np.array([2.5, 2., 1.5, 1., .8])
    P = np.array([.03, .05, .1, .3, .5])
    X = np.c_[np.outer(rng.normal(size=n), L) + .7 * rng.normal(size=(n, 5)), rng.random((n, 5)) < P]
    C = np.zeros((10, 10))
    C[:5, :5] = np.outer(L, L) + .49 * np.eye(5)
    C[5:, 5:] = np.diag(P * (1 - P))
    return pcasample(X, none(n), cov_basis(C, 1))


def draw_multiplicative(rng, n):
    size = rng.lognormal(0, .4, (n, 1))
    return 10 * size * np.array([5, 4, 3, 2, 1, .5]) * rng.lognormal(-.5 * .15 ** 2, .15, (n, 6))


@pca('h_multiplicative_sizes', True, 'firm sizes with multiplicative noise')
def _(rng):
    n = 5000
    return pcasample(draw_multiplicative(rng, n), none(n), pca_truth(draw_multiplicative, 1), (250,) * 20)


def draw_bow(rng, n):
    t = rng.uniform(-1, 1, n)
    B = np.c_[6 * t, 2.5 * t ** 2, 1.2 * np.sin(3 * t), np.zeros(n), .5 * t]
    return B + np.array([.5, .5, .4, .4, .3]) * rng.normal(size=(n, 5))


@pca('h_bent_curve', True, 'a bent one-dimensional process')
def _(rng):
    n = 2500
    return pcasample(draw_bow(rng, n), none(n), pca_truth(draw_bow, 1))


def draw_soft_clip(rng, n):
    L = np.array([[3, 2.5, 2, 1.5, 1, .5], [-1, 0, 1, 1.5, 2, 1]])
    X = rng.normal(size=(n, 2)) @ L + .4 * rng.normal(size=(n, 6))
    return 5 * np.tanh(X / 5)


@pca('h_soft_saturation', True, 'sensors that saturate smoothly')
def _(rng):
    n = 6000
    return pcasample(draw_soft_clip(rng, n), none(n), pca_truth(draw_soft_clip, 2), (200,) * 30)


@pca('h_nir_spectra', True, '150 smooth channels with correlated noise')
def _(rng):
    n, p = 900, 150
    t = np.arange(p)
    L = np.c_[bump(t, 40, 10), bump(t, 90, 15), bump(t, 125, 8)]
    sd = np.array([2., 1.4, 1.2])
    W = np.array([.25, .5, .25])
    E = .2 * rng.normal(size=(n, p + 2))
    E = W[0] * E[:, :-2] + W[1] * E[:, 1:-1] + W[2] * E[:, 2:]
    K = np.zeros((p, p + 2))
    for j in range(3):
        K[np.arange(p), np.arange(p) + j] = W[j]
    C = L @ np.diag(sd ** 2) @ L.T + .04 * K @ K.T
    return pcasample((rng.normal(size=(n, 3)) * sd) @ L.T + E, none(n), cov_basis(C, 3))


@pca('h_scales', True, 'columns from 1e-6 to 1e6')
def _(rng):
    n = 2000
    sc = 10. ** np.array([-6, -4, -2, 0, 2, 4, 5.5, 6])
    w = np.array([.5, .7, .6, .8, .7, .6, .8, .9])
    u = .5
    X = (np.outer(rng.gamma(4, .5, n), w) + u * rng.normal(size=(n, 8))) * sc
    C = (np.outer(w, w) + u * u * np.eye(8)) * np.outer(sc, sc)
    return pcasample(X, none(n), cov_basis(C, 1))


@pca('h_laplace_large', True, '50000 rows in 100 batches, Laplace factors and noise')
def _(rng):
    n, p = 50000, 16
    Q = np.linalg.qr(rng.normal(size=(p, 4)))[0]
    X = (rng.laplace(0, 1, (n, 4)) * [5, 4, 3, 2]) @ Q.T + .5 * rng.laplace(0, 1, (n, p))
    return pcasample(X, none(n), Q, (500,) * 100)


@pca('h_sites_by_degrees', True, '60 ragged sites whose means differ normally within the noise')
def _(rng):
    sizes = ragged(rng, 60, 60, 500)
    br = batch_of(sizes)
    n, p = len(br), 11
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    sd = np.r_[6, 4, np.full(9, 1.)]
    X = ((rng.normal(size=(60, p)) * .3 * sd)[br] + rng.normal(size=(n, p)) * sd) @ Q.T
    return pcasample(X, none(n), Q[:, :2], sizes)


def draw_shares(rng, n):
    w = rng.gamma(np.array([12, 8, 5, 3, 2, 1.5]), 1, (n, 6))
    w = w * np.exp(np.outer(rng.normal(size=n), [.5, -.5, .1, 0, -.1, 0]))
    return w / w.sum(1, keepdims=True)


@pca('h_budget_shares', True, 'shares that sum to one')
def _(rng):
    n = 3500
    return pcasample(draw_shares(rng, n), none(n), pca_truth(draw_shares, 1))


@pca('h_near_duplicates_rounded', True, 'rounded readings with near duplicates and a constant')
def _(rng):
    n = 3000
    f = rng.normal(size=(n, 2)) * [12, 7]
    B = np.c_[f[:, 0], f[:, 0], f[:, 1], f[:, 1], f[:, 0] - f[:, 1], .3 * f[:, 0]] + 1.5 * rng.normal(size=(n, 6))
    X = np.c_[np.round(B) + 100, np.full(n, 7.)]
    L = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, -1], [.3, 0], [0, 0]])
    C = L @ np.diag([144., 49.]) @ L.T + np.diag([2.25 + 1 / 12] * 6 + [0.])
    return pcasample(X, none(n), cov_basis(C, 2))


# ==================================================================================================

def check(seeds=3):
    import time
    flags, counts = [], {}
    names = [k.name for k in KINDS]
    if len(set(names)) != len(names):
        flags.append(('names', 'not unique'))
    print(f"{'kind':36s} {'n':>6s} {'p':>4s} {'b':>4s} {'bad':>5s}   oracle   plain/oracle   seconds")
    for k in KINDS:
        counts[k.problem, k.honest] = counts.get((k.problem, k.honest), 0) + 1
        k.make(np.random.default_rng(999))                    # the cached truth is not the time of make
        low = 0
        for seed in range(seeds):
            rng = np.random.default_rng([seed, 77])
            t = time.perf_counter()
            s = k.make(rng)
            t = time.perf_counter() - t
            n, p = s.X.shape
            eo, ep = error(oracle(s), s), error(plain(s), s)
            ratio = ep / eo
            share = 1 - s.good.mean()
            print(f"{k.name:36s} {n:6d} {p:4d} {len(s.sizes) if s.sizes else 1:4d} {share:5.2f} {eo:10.3g} {ratio:12.3g} {t:8.3f}")

            def flag(what):
                flags.append((k.name, seed, what))
            if k.honest and not s.good.all():
                flag('honest with bad rows')
            if not k.honest and not 0 < share < .5:
                flag(f'share of bad rows {share:.2f}')
            low += (not k.honest) and ratio < 2
            if t > .3:
                flag(f'slow {t:.2f}')
            if not (np.isfinite(s.X).all() and np.isfinite(s.truth).all() and (s.y is None or np.isfinite(s.y).all())
                    and np.isfinite(eo) and np.isfinite(ep)):
                flag('not finite')
            if s.sizes is not None and sum(s.sizes) != n:
                flag('sizes do not add up')
            if s.good.shape != (n,) or s.good.dtype != bool or (s.y is not None and s.y.shape != (n,)):
                flag('shape')
            if k.problem == 'pca':
                d = s.n_components
                if s.truth.shape != (p, d) or abs(s.truth.T @ s.truth - np.eye(d)).max() > 1e-9:
                    flag('truth')
                if eo > .35 * np.sqrt(d):
                    flag(f'oracle error {eo:.2f}')
            else:
                if s.truth.shape != (p + 1,):
                    flag('truth')
                if eo > s.y[s.good].std():
                    flag('oracle worse than nothing')
                e = s.y[s.good] - s.X[s.good] @ s.truth[:-1] - s.truth[-1]
                want = e.std() * np.sqrt((p + 1) / s.good.sum())
                if not want / 10 < eo < want * 4:
                    flag(f'oracle error {eo:.3g}, expected about {want:.3g}')
        if low > seeds / 2:
            flags.append((k.name, 'plain/oracle below 2'))
    print(counts)
    print('FLAGS' if flags else 'no flags')
    for f in flags:
        print('  ', *f)


if __name__ == '__main__':
    check(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
