"""judge_j: an independent examination set (regression and PCA, dirty and honest)."""
from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402

from interface import (Kind, Sample, cov_basis, error, oracle, pca_truth, plain,  # noqa: E402
                       regression_truth)

KINDS = []


def kind(problem, honest, note=""):
    def deco(f):
        KINDS.append(Kind(f.__name__, problem, honest, f, note))
        return f
    return deco


# ------------------------------------------------------------------------------------ helpers

def _reg(X, y, good, b, a, sizes=None):
    return Sample(np.ascontiguousarray(X, float), np.asarray(y, float), np.asarray(good, bool),
                  np.append(np.asarray(b, float), float(a)), None,
                  None if sizes is None else tuple(int(s) for s in sizes))


def _regt(X, y, good, truth, sizes=None):
    return _reg(X, y, good, truth[:-1], truth[-1], sizes)


def _pca(X, good, V, sizes=None):
    V = np.asarray(V, float)
    return Sample(np.ascontiguousarray(X, float), None, np.asarray(good, bool), V, V.shape[1],
                  None if sizes is None else tuple(int(s) for s in sizes))


def _all(n):
    return np.ones(n, bool)


def _pick(rng, n, share):
    """Boolean mask of round(share n) random rows."""
    m = np.zeros(n, bool)
    m[rng.permutation(n)[:int(round(share * n))]] = True
    return m


def _coef(rng, p, lo=0.5, hi=2.0):
    return rng.uniform(lo, hi, p) * rng.choice([-1.0, 1.0], p)


def _unit(rng, p):
    v = rng.normal(size=p)
    return v / np.linalg.norm(v)


def _orth(rng, p, d):
    return np.linalg.qr(rng.normal(size=(p, d)))[0]


def _ar(p, rho):
    i = np.arange(p)
    return rho ** np.abs(i[:, None] - i)


def _mvn(rng, n, C):
    return rng.normal(size=(n, len(C))) @ np.linalg.cholesky(C).T


def _ids(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


def _spiked(rng, n, V, lam, sd=1.0):
    return (rng.normal(size=(n, V.shape[1])) * np.sqrt(lam)) @ V.T + sd * rng.normal(size=(n, len(V)))


def _perp(rng, V):
    """A random unit direction orthogonal to the columns of V."""
    u = rng.normal(size=len(V))
    u -= V @ (V.T @ u)
    return u / np.linalg.norm(u)


# =============================================================================================
# Regression, bad rows in one table
# =============================================================================================

@kind("regression", False, "Yohai: point mass of bad leverage, slope 4, x at 10")
def j_yohai_pointmass(rng):
    n, p = 400, 10
    X = rng.normal(size=(n, p))
    b = np.zeros(p)
    y = rng.normal(size=n)
    bad = _pick(rng, n, 0.2)
    k = bad.sum()
    X[bad] = 0.01 * rng.normal(size=(k, p))
    X[bad, 0] += 10
    y[bad] = 40 + 0.01 * rng.normal(size=k)
    return _reg(X, y, ~bad, b, 0)


@kind("regression", False, "gross errors of one size, 30%")
def j_gross_shift(rng):
    n, p = 1000, 8
    X = rng.normal(size=(n, p)) * 3 + 5
    b = _coef(rng, p)
    y = X @ b + 2 + rng.normal(size=n)
    bad = _pick(rng, n, 0.3)
    y[bad] += 15
    return _reg(X, y, ~bad, b, 2)


@kind("regression", False, "vertical errors of random sign and random size, one sided on average")
def j_vertical_scatter(rng):
    n, p = 2000, 6
    X = _mvn(rng, n, _ar(p, 0.5))
    b = _coef(rng, p)
    y = X @ b - 3 + 0.7 * rng.normal(size=n)
    bad = _pick(rng, n, 0.35)
    k = bad.sum()
    y[bad] += 0.7 * rng.uniform(8, 60, k) * np.where(rng.random(k) < 0.7, 1, -1)
    return _reg(X, y, ~bad, b, -3)


@kind("regression", False, "bad leverage at several distances along one direction")
def j_leverage_ladder(rng):
    n, p = 900, 5
    X = rng.normal(size=(n, p))
    b = _coef(rng, p)
    y = X @ b + 1 + 0.5 * rng.normal(size=n)
    bad = _pick(rng, n, 0.24)
    k = bad.sum()
    u = _unit(rng, p)
    dist = rng.choice([4.0, 6.0, 12.0, 24.0], k)
    X[bad] = dist[:, None] * u + 0.3 * rng.normal(size=(k, p))
    y[bad] = X[bad] @ b + 1 - 3 * dist + 0.5 * rng.normal(size=k)
    return _reg(X, y, ~bad, b, 1)


@kind("regression", False, "good leverage points on the line, bad ones off it")
def j_good_and_bad_leverage(rng):
    n, p = 1200, 4
    X = _mvn(rng, n, _ar(p, 0.4)) + 10
    far = _pick(rng, n, 0.1)
    X[far] = 10 + 6 * rng.normal(size=(far.sum(), p))
    b = _coef(rng, p)
    y = X @ b + rng.normal(size=n)
    bad = _pick(rng, n, 0.15) & ~far
    k = bad.sum()
    X[bad] = 10 + np.array([8, -8, 8, 0.0]) + rng.normal(size=(k, p))
    y[bad] = X[bad] @ b - 25 + 2 * rng.normal(size=k)
    return _reg(X, y, ~bad, b, 0)


@kind("regression", False, "mixture of two regressions, 65 to 35")
def j_mixture_two(rng):
    n, p = 1500, 3
    X = rng.normal(size=(n, p)) * 4 + np.array([2, -3, 8])
    b = _coef(rng, p, 1, 3)
    y = X @ b + 4 + 0.5 * rng.normal(size=n)
    bad = _pick(rng, n, 0.35)
    y[bad] = X[bad] @ np.array([-b[0], b[1], -0.5 * b[2]]) - 10 + 0.5 * rng.normal(size=bad.sum())
    return _reg(X, y, ~bad, b, 4)


@kind("regression", False, "mixture of three regressions, 62 to 23 to 15")
def j_mixture_three(rng):
    n, p = 4000, 5
    X = rng.uniform(-5, 5, size=(n, p))
    B = [_coef(rng, p), None, None]
    B[1], B[2] = -B[0] + 0.3, np.roll(B[0], 1) * 2
    lab = rng.choice(3, n, p=[0.62, 0.23, 0.15])
    y = np.empty(n)
    for j, a in enumerate([0.0, 15.0, -20.0]):
        m = lab == j
        y[m] = X[m] @ B[j] + a + 0.4 * rng.normal(size=m.sum())
    return _reg(X, y, lab == 0, B[0], 0)


@kind("regression", False, "Stahel-Donoho style: rows in the direction the design hardly has, 25%")
def j_thin_direction(rng):
    n, p = 1500, 15
    C = _ar(p, 0.95)
    w, Q = np.linalg.eigh(C)
    X = _mvn(rng, n, C)
    b = _coef(rng, p)
    y = X @ b + 0.5 * rng.normal(size=n)
    bad = _pick(rng, n, 0.25)
    k = bad.sum()
    X[bad] = 20 * np.sqrt(w[0]) * Q[:, 0] + 0.1 * _mvn(rng, k, C)
    y[bad] = X[bad] @ b + 12 + 0.3 * rng.normal(size=k)
    return _reg(X, y, ~bad, b, 0)


@kind("regression", False, "independent cellwise contamination of x and y")
def j_cellwise_xy(rng):
    n, p = 1500, 9
    X = _mvn(rng, n, _ar(p, 0.7))
    b = _coef(rng, p)
    y = X @ b + 1 + 0.5 * rng.normal(size=n)
    cells = rng.random((n, p + 1)) < 0.03
    X = np.where(cells[:, :p], 15 + rng.normal(size=(n, p)), X)
    y = np.where(cells[:, p], 40 + rng.normal(size=n), y)
    return _reg(X, y, ~cells.any(1), b, 1)


@kind("regression", False, "flat prices: five rows in a hundred in cents instead of euros")
def j_prices_in_cents(rng):
    n = 3000
    size = rng.lognormal(4.2, 0.35, n)
    rooms = np.clip(np.round(size / 25 + rng.normal(0, 0.6, n)), 1, 9)
    age = rng.uniform(0, 90, n)
    lift = (rng.random(n) < 0.4).astype(float)
    floor = rng.integers(0, 8, n).astype(float)
    X = np.c_[size, rooms, age, lift, floor]
    b = np.array([3200.0, 4000, -350, 9000, 1200])
    y = X @ b + 60_000 + 12_000 * rng.normal(size=n)
    bad = _pick(rng, n, 0.05)
    y[bad] *= 100
    return _reg(X, y, ~bad, b, 60_000)


@kind("regression", False, "one column in grams instead of kilograms for 8% of the rows")
def j_grams_for_kilos(rng):
    n = 2500
    w = rng.gamma(9, 0.6, n)
    X = np.c_[w, rng.normal(20, 4, n), rng.poisson(4, n), rng.random(n) < 0.3]
    b = np.array([12.0, 0.8, 3.0, -6.0])
    y = X @ b + 5 + 4 * rng.normal(size=n)
    bad = _pick(rng, n, 0.08)
    X = X.astype(float)
    X[bad, 0] *= 1000
    return _reg(X, y, ~bad, b, 5)


@kind("regression", False, "two fields swapped when typed in, 15%")
def j_swapped_fields(rng):
    n = 1800
    age = rng.uniform(20, 75, n)
    weight = rng.normal(1500, 200, n)
    X = np.c_[age, weight, rng.normal(0, 1, n), rng.integers(1, 6, n)].astype(float)
    b = np.array([2.0, 0.05, 5, -3])
    y = X @ b + 30 + 4 * rng.normal(size=n)
    bad = _pick(rng, n, 0.15)
    X[bad] = X[bad][:, [1, 0, 2, 3]]
    return _reg(X, y, ~bad, b, 30)


@kind("regression", False, "target is the code -999 where nothing was measured, 3%")
def j_sentinel_target(rng):
    n, p = 800, 7
    X = rng.gamma(3, 2, size=(n, p))
    b = _coef(rng, p)
    y = X @ b + 50 + 3 * rng.normal(size=n)
    bad = _pick(rng, n, 0.03)
    y[bad] = -999
    return _reg(X, y, ~bad, b, 50)


@kind("regression", False, "9999 for unknown in some columns, different rows")
def j_sentinel_columns(rng):
    n = 5000
    X = np.c_[rng.normal(40, 12, n), rng.lognormal(3, 0.4, n), rng.poisson(2.5, n), rng.random(n) < 0.5,
              rng.uniform(0, 1, n), np.full(n, 1.0)].astype(float)
    b = np.array([0.5, 1.2, -2, 4, 10, 0])
    y = X @ b + 3 + 3 * rng.normal(size=n)
    cells = np.zeros((n, 6), bool)
    cells[:, 0] = rng.random(n) < 0.06
    cells[:, 1] = rng.random(n) < 0.05
    cells[:, 2] = rng.random(n) < 0.04
    X[cells] = 9999
    return _reg(X, y, ~cells.any(1), b, 3)


@kind("regression", False, "cubic of one variable, 18% of the rows pull at the right end")
def j_cubic_edge(rng):
    n = 700
    t = rng.uniform(-2, 2, n)
    y = 1 + 2 * t - 1.5 * t ** 2 + 0.7 * t ** 3 + 0.3 * rng.normal(size=n)
    bad = _pick(rng, n, 0.18)
    t[bad] = rng.uniform(1.2, 2, bad.sum())
    y[bad] = -6 - 2 * t[bad] + 0.3 * rng.normal(size=bad.sum())
    return _reg(np.c_[t, t ** 2, t ** 3], y, ~bad, [2, -1.5, 0.7], 1)


@kind("regression", False, "small laboratory table: 42 rows, 6 of them read on another scale")
def j_small_lab(rng):
    n = 42
    X = np.c_[rng.uniform(5, 30, n), rng.normal(7, 0.5, n)]
    b = np.array([1.7, -4.0])
    y = X @ b + 40 + 1.0 * rng.normal(size=n)
    bad = _pick(rng, n, 6 / 42)
    y[bad] = 2.6 * y[bad] + 12
    return _reg(X, y, ~bad, b, 40)


@kind("regression", False, "150 columns, a tenth of the rows a far cluster with another target")
def j_wide_cluster(rng):
    n, p = 3000, 150
    X = rng.normal(size=(n, p)) + 0.6 * rng.normal(size=(n, 1))
    b = _coef(rng, p, 0, 1)
    y = X @ b + rng.normal(size=n)
    bad = _pick(rng, n, 0.1)
    k = bad.sum()
    X[bad] = 2.5 * np.sign(rng.normal(size=p)) + 0.5 * rng.normal(size=(k, p))
    y[bad] = X[bad] @ b + 60 + rng.normal(size=k)
    return _reg(X, y, ~bad, b, 0)


@kind("regression", False, "60,000 rows, two bands of vertical outliers")
def j_big_bands(rng):
    n, p = 60_000, 12
    X = rng.normal(size=(n, p))
    b = _coef(rng, p)
    y = X @ b + 7 + rng.normal(size=n)
    u = rng.random(n)
    y[u < 0.12] += 12 + 2 * X[u < 0.12, 0]
    m = (u >= 0.12) & (u < 0.18)
    y[m] -= 25
    return _reg(X, y, u >= 0.18, b, 7)


@kind("regression", False, "heavy-tailed design, 20% on the mirrored line with an offset")
def j_t3_design_mirror(rng):
    n, p = 2000, 6
    X = rng.standard_t(3, size=(n, p))
    b = _coef(rng, p)
    y = X @ b + 0.3 * rng.normal(size=n)
    bad = _pick(rng, n, 0.2)
    y[bad] = -X[bad] @ b + 8 + 0.3 * rng.normal(size=bad.sum())
    return _reg(X, y, ~bad, b, 0)


@kind("regression", False, "columns at scales 1e-6 to 1e6, bad leverage in the smallest, 22%")
def j_scales_leverage(rng):
    n, p = 1500, 7
    s = 10.0 ** np.array([-6, -4, -2, 0, 2, 4, 6])
    Z = rng.normal(size=(n, p)) + 2
    b = _coef(rng, p)
    y = Z @ b + 100 + 0.5 * rng.normal(size=n)
    bad = _pick(rng, n, 0.22)
    k = bad.sum()
    Z[bad, 0] = 12 + rng.normal(size=k)
    y[bad] = Z[bad, 1:] @ b[1:] + 100 - 3 * b[0] * Z[bad, 0] + 0.5 * rng.normal(size=k)
    return _reg(Z * s, y, ~bad, b / s, 100)


@kind("regression", False, "star cluster: main sequence and some giants")
def j_stars_giants(rng):
    n = 60
    T = rng.normal(4.4, 0.12, n)
    met = rng.normal(0, 0.2, n)
    y = 3.0 * T - 0.8 * met - 8 + 0.2 * rng.normal(size=n)
    bad = _pick(rng, n, 0.1)
    k = bad.sum()
    T[bad] = 3.5 + 0.03 * rng.normal(size=k)
    y[bad] = 6 + 0.2 * rng.normal(size=k)
    return _reg(np.c_[T, met], y, ~bad, [3.0, -0.8], -8)


@kind("regression", False, "in the manner of Hawkins, Bradu and Kass")
def j_hbk_like(rng):
    n = 75
    X = rng.uniform(0, 3, size=(n, 3))
    g = np.zeros(n, int)
    order = rng.permutation(n)
    g[order[:10]] = 1
    g[order[10:14]] = 2
    X[g == 1] = np.array([10, 20, 29.5]) + 0.4 * rng.normal(size=(10, 3))
    X[g == 2] = np.array([11.5, 22.5, 35]) + 0.4 * rng.normal(size=(4, 3))
    b = np.array([0.2, -0.1, 0.05])
    y = X @ b - 0.5 + 0.5 * rng.normal(size=n)
    y[g == 1] += 10
    return _reg(X, y, g != 1, b, -0.5)


@kind("regression", False, "wages with dummies, 10% of the workers with yearly instead of monthly wage")
def j_yearly_wages(rng):
    n = 6000
    edu = rng.integers(8, 21, n)
    exp = rng.uniform(0, 40, n)
    sector = rng.integers(0, 6, n)
    D = (sector[:, None] == np.arange(1, 6)).astype(float)
    X = np.c_[edu, exp, exp ** 2, rng.random(n) < 0.48, D].astype(float)
    b = np.r_[140, 45, -0.6, -120, 100, 200, -150, 50, 300]
    y = X @ b + 900 + 250 * rng.normal(size=n)
    bad = _pick(rng, n, 0.1)
    y[bad] *= 12
    return _reg(X, y, ~bad, b, 900)


@kind("regression", False, "dense bad leverage group, 38% of the rows, 12 spreads off")
def j_heavy_share_cluster(rng):
    n, p = 2500, 4
    X = rng.normal(size=(n, p)) * np.array([1, 2, 5, 10])
    b = _coef(rng, p)
    y = X @ b + 3 + rng.normal(size=n)
    bad = _pick(rng, n, 0.38)
    k = bad.sum()
    X[bad] = np.array([5, -10, 25, 50]) + 0.7 * rng.normal(size=(k, p))
    y[bad] = X[bad] @ b + 3 + 12 + 0.7 * rng.normal(size=k)
    return _reg(X, y, ~bad, b, 3)


@kind("regression", False, "near collinear columns; copies of one column lost to zero for 10%")
def j_collinear_dropout(rng):
    n = 2000
    z = rng.normal(50, 8, n)
    X = np.c_[z + rng.normal(size=n), z + rng.normal(size=n), z + rng.normal(size=n), rng.normal(0, 3, n)]
    b = np.array([2.0, 1.0, -1.0, 1.5])
    y = X @ b + 10 + 1.5 * rng.normal(size=n)
    bad = _pick(rng, n, 0.1)
    col = rng.integers(0, 3, n)
    X[bad, col[bad]] = 0.0
    return _reg(X, y, ~bad, b, 10)


# ---- regression, bad batches

def _stream_lin(rng, sizes, p, sd=1.0, a=0.0, scale=1.0, mean=0.0):
    n = int(np.sum(sizes))
    X = rng.normal(size=(n, p)) * scale + mean
    b = _coef(rng, p)
    return X, b, X @ b + a + sd * rng.normal(size=n)


@kind("regression", False, "a fifth of the sensors stuck at the last reading")
def j_stream_stuck_target(rng):
    sizes = [300] * 50
    X, b, y = _stream_lin(rng, sizes, 6, 0.4, 2.0, 3.0)
    ids = _ids(sizes)
    badb = _pick(rng, 50, 0.2)
    for k in np.flatnonzero(badb):
        m = np.flatnonzero(ids == k)
        y[m] = y[m[0]]
    return _reg(X, y, ~badb[ids], b, 2, sizes)


@kind("regression", False, "30% of the sensors with a bias of their own, 15 to 40 spreads")
def j_stream_biased(rng):
    B = 60
    sizes = rng.integers(150, 450, B)
    X, b, y = _stream_lin(rng, sizes, 8, 1.0, 5.0)
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.3)
    bias = np.where(badb, rng.uniform(15, 40, B), 0)
    y = y + bias[ids]
    return _reg(X, y, ~badb[ids], b, 5, sizes)


@kind("regression", False, "three of ten large files with one column multiplied by ten")
def j_stream_gain(rng):
    B = 10
    sizes = [5000] * B
    X, b, y = _stream_lin(rng, sizes, 5, 0.5, 0.0, 1.0, 3.0)
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.3)
    X[badb[ids], 2] *= 10
    return _reg(X, y, ~badb[ids], b, 0, sizes)


@kind("regression", False, "a third of the files with columns in another order")
def j_stream_permuted(rng):
    B, p = 36, 7
    sizes = rng.integers(200, 900, B)
    n = sizes.sum()
    X = rng.normal(size=(n, p)) + np.arange(p) * 2.0
    b = np.array([3.0, -2, 1, 0.5, -4, 2, -1])[rng.permutation(p)]
    y = X @ b + 0.6 * rng.normal(size=n)
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.33)
    for k in np.flatnonzero(badb):
        m = ids == k
        X[m] = X[m][:, np.roll(np.arange(p), rng.integers(1, p))]
    return _reg(X, y, ~badb[ids], b, 0, sizes)


@kind("regression", False, "40% of the nodes agree on another line")
def j_stream_colluding(rng):
    B, p = 50, 10
    sizes = [250] * B
    X, b, y = _stream_lin(rng, sizes, p, 1.0, 1.0)
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.4)
    m = badb[ids]
    y[m] = X[m] @ (b + 4 * _unit(rng, p) * np.sqrt(p)) - 6 + rng.normal(size=m.sum())
    return _reg(X, y, ~m, b, 1, sizes)


@kind("regression", False, "one of four stations gets worse day by day, from 8 to 80 spreads")
def j_stream_worsening(rng):
    B = 80
    sizes = [120] * B
    X, b, y = _stream_lin(rng, sizes, 4, 1.0, 20.0, 2.0)
    ids = _ids(sizes)
    badb = (np.arange(B) % 4 == 3) & (np.arange(B) >= 8)
    grow = np.linspace(8, 80, B)
    y = np.where(badb[ids], y + grow[ids], y)
    return _reg(X, y, ~badb[ids], b, 20, sizes)


@kind("regression", False, "on-off: in some batches the latter half of the rows drops by 30 spreads")
def j_stream_on_off(rng):
    B, m = 45, 200
    sizes = [m] * B
    X, b, y = _stream_lin(rng, sizes, 6, 1.0, 0.0)
    ids = _ids(sizes)
    pos = np.tile(np.arange(m), B)
    badb = np.arange(B) % 2 == 0
    bad = badb[ids] & (pos >= 0.55 * m)
    y[bad] -= 30
    return _reg(X, y, ~bad, b, 0, sizes)


@kind("regression", False, "the first 45% of the batches are garbage of one kind")
def j_stream_bad_start(rng):
    B, p = 60, 9
    sizes = [200] * B
    X, b, y = _stream_lin(rng, sizes, p, 1.0, 3.0)
    ids = _ids(sizes)
    m = ids < 27
    y[m] = 50 + 20 * X[m, 1] + 3 * rng.normal(size=m.sum())
    return _reg(X, y, ~m, b, 3, sizes)


@kind("regression", False, "the last 40% of the batches: targets are random numbers")
def j_stream_bad_end(rng):
    B = 30
    sizes = rng.integers(100, 1200, B)
    X, b, y = _stream_lin(rng, sizes, 5, 0.5, 10.0, 2.0)
    ids = _ids(sizes)
    m = ids >= 18
    y[m] = rng.uniform(0, 200, m.sum())
    return _reg(X, y, ~m, b, 10, sizes)


@kind("regression", False, "some files read as bytes: numbers without any sense")
def j_stream_garbage_files(rng):
    B, p = 150, 12
    sizes = rng.integers(50, 150, B)
    X, b, y = _stream_lin(rng, sizes, p, 1.0, 0.0)
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.22)
    m = badb[ids]
    X[m] = rng.integers(-2 ** 20, 2 ** 20, (m.sum(), p))
    y[m] = rng.integers(-2 ** 20, 2 ** 20, m.sum())
    return _reg(X, y, ~m, b, 0, sizes)


@kind("regression", False, "a quarter of the batches bad, and 15% of the rows of the others")
def j_stream_both(rng):
    B, p = 60, 6
    sizes = [400] * B
    X, b, y = _stream_lin(rng, sizes, p, 1.0, 4.0)
    n = len(y)
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.25)
    m = badb[ids]
    y[m] = -2 * y[m] + 40
    r = _pick(rng, n, 0.15) & ~m
    X[r] = 8 * _unit(rng, p) + 0.5 * rng.normal(size=(r.sum(), p))
    y[r] = 60 + rng.normal(size=r.sum())
    return _reg(X, y, ~(m | r), b, 4, sizes)


@kind("regression", False, "targets joined to the wrong rows in 30% of the files")
def j_stream_misjoined(rng):
    B = 40
    sizes = rng.integers(250, 600, B)
    n = sizes.sum()
    X = np.c_[rng.lognormal(0, 0.5, n), rng.normal(size=n), rng.uniform(0, 10, n), rng.poisson(5, n)].astype(float)
    b = np.array([6.0, 5.0, 3.0, -4.0])
    y = X @ b + 2 + 0.8 * rng.normal(size=n)
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.3)
    for k in np.flatnonzero(badb):
        m = np.flatnonzero(ids == k)
        y[m] = y[rng.permutation(m)]
    return _reg(X, y, ~badb[ids], b, 2, sizes)


# =============================================================================================
# Regression, honest
# =============================================================================================

@kind("regression", True, "log-normal noise")
def j_h_lognormal_noise(rng):
    n, p = 2000, 6
    X = _mvn(rng, n, _ar(p, 0.5))
    b = _coef(rng, p)
    e = rng.lognormal(0, 0.9, n)
    return _reg(X, X @ b + e, _all(n), b, np.exp(0.405))


@kind("regression", True, "t noise with 3 degrees of freedom")
def j_h_t3_noise(rng):
    n, p = 1500, 10
    X = rng.normal(size=(n, p)) * 4
    b = _coef(rng, p)
    return _reg(X, X @ b - 7 + rng.standard_t(3, n), _all(n), b, -7)


@kind("regression", True, "noise grows with the size of the shop")
def j_h_uneven_noise(rng):
    n = 3000
    s = rng.gamma(2, 2, n)
    X = np.c_[s, rng.normal(size=n), rng.random(n) < 0.5].astype(float)
    b = np.array([5.0, 2.0, 3.0])
    return _reg(X, X @ b + 1 + (0.3 + 0.8 * s) * rng.normal(size=n), _all(n), b, 1)


def _d_quad(rng, n):
    X = np.c_[rng.normal(2, 1, n), rng.uniform(-1, 1, n), rng.normal(size=n)]
    y = 3 + X @ np.array([1.0, 2.0, -1.0]) + 0.5 * X[:, 0] ** 2 + 0.8 * rng.normal(size=n)
    return X, y


@kind("regression", True, "curvature which the line does not have")
def j_h_missed_square(rng):
    X, y = _d_quad(rng, 1500)
    return _regt(X, y, _all(1500), regression_truth(_d_quad))


def _d_inter(rng, n):
    Z = _mvn(rng, n, _ar(4, 0.3))
    X = Z + np.array([1, 0, 3, -2.0])
    y = X @ np.array([2.0, -1, 0.5, 1]) + 0.9 * Z[:, 0] * Z[:, 1] - 0.5 * Z[:, 2] * Z[:, 3] + rng.normal(size=n)
    return X, y


@kind("regression", True, "interactions which the line does not have")
def j_h_missed_interaction(rng):
    X, y = _d_inter(rng, 2500)
    return _regt(X, y, _all(2500), regression_truth(_d_inter))


def _d_mm(rng, n):
    c = rng.lognormal(0.5, 0.7, n)
    t = rng.normal(25, 3, n)
    y = 10 * c / (1.5 + c) + 0.15 * t + 0.5 * rng.normal(size=n)
    return np.c_[c, t], y


@kind("regression", True, "Michaelis and Menten: the rate saturates")
def j_h_saturation(rng):
    X, y = _d_mm(rng, 900)
    return _regt(X, y, _all(900), regression_truth(_d_mm))


def _d_threshold(rng, n):
    T = rng.normal(12, 7, n)
    h = rng.integers(0, 24, n)
    w = (rng.random(n) < 5 / 7).astype(float)
    y = 30 + 1.2 * np.logaddexp(0, 16 - T) + 6 * w + 5 * np.sin((h - 8) / 24 * 2 * np.pi) + 4 * rng.normal(size=n)
    return np.c_[T, h, w].astype(float), y


@kind("regression", True, "heating: demand rises below 16 degrees, and has hours")
def j_h_heating(rng):
    X, y = _d_threshold(rng, 8760)
    return _regt(X, y, _all(8760), regression_truth(_d_threshold))


@kind("regression", True, "two groups of the same size, three spreads apart, not told by x")
def j_h_two_halves(rng):
    n, p = 2000, 5
    X = rng.normal(size=(n, p)) + 4
    b = _coef(rng, p)
    g = np.zeros(n)
    g[rng.permutation(n)[:n // 2]] = 1
    return _reg(X, X @ b + 3 * g + rng.normal(size=n), _all(n), b, 1.5)


@kind("regression", True, "25 sites with intercepts and slopes of their own")
def j_h_sites(rng):
    B, p = 25, 4
    sizes = [400] * B
    ids = _ids(sizes)
    n = len(ids)
    X = rng.normal(size=(n, p))
    b0 = _coef(rng, p)
    Bk = b0 + 0.25 * rng.normal(size=(B, p))
    ak = 2 + 0.6 * rng.normal(size=B)
    y = (X * Bk[ids]).sum(1) + ak[ids] + rng.normal(size=n)
    return _reg(X, y, _all(n), Bk.mean(0), ak.mean(), sizes)


@kind("regression", True, "a level that goes with the season")
def j_h_season_level(rng):
    B = 52
    sizes = [200] * B
    ids = _ids(sizes)
    n = len(ids)
    X = np.c_[rng.gamma(4, 1, n), rng.normal(size=n), rng.integers(0, 2, n)].astype(float)
    b = np.array([1.5, -2.0, 1.0])
    lev = 10 + 2.0 * np.sin(2 * np.pi * np.arange(B) / 52)
    return _reg(X, X @ b + lev[ids] + rng.normal(size=n), _all(n), b, lev.mean(), sizes)


@kind("regression", True, "a slope that drifts over 150 batches")
def j_h_slope_drift(rng):
    B, p = 150, 3
    sizes = [60] * B
    ids = _ids(sizes)
    n = len(ids)
    X = rng.normal(size=(n, p))
    b = np.array([2.0, -1.0, 0.5])
    t = np.linspace(-1, 1, B)
    y = X @ b + 0.8 * t[ids] * X[:, 0] + rng.normal(size=n)
    return _reg(X, y, _all(n), b, 0, sizes)


@kind("regression", True, "good leverage points, 5% far out on the line")
def j_h_good_leverage(rng):
    n, p = 800, 4
    X = rng.normal(size=(n, p))
    far = _pick(rng, n, 0.05)
    X[far] *= 8
    b = _coef(rng, p)
    return _reg(X, X @ b + 6 + rng.normal(size=n), _all(n), b, 6)


def _d_likert(rng, n):
    f = rng.normal(size=(n, 1))
    X = np.clip(np.round(3.2 + 0.7 * f + 0.8 * rng.normal(size=(n, 8))), 1, 5)
    y = np.clip(np.round(1 + X @ np.array([0.4, 0.3, 0.2, 0.1, 0.4, 0.2, 0.1, 0.2]) + 0.9 * rng.normal(size=n)), 0, 10)
    return X, y


@kind("regression", True, "a survey: answers from 1 to 5, satisfaction from 0 to 10")
def j_h_likert(rng):
    X, y = _d_likert(rng, 1200)
    return _regt(X, y, _all(1200), regression_truth(_d_likert))


def _d_tobit(rng, n):
    X = np.c_[rng.normal(2, 1, n), rng.normal(size=n), rng.uniform(0, 4, n)]
    y = np.maximum(0, X @ np.array([1.0, 1.2, 0.8]) - 1.5 + 1.5 * rng.normal(size=n))
    return X, y


@kind("regression", True, "spending that stops at zero")
def j_h_tobit(rng):
    X, y = _d_tobit(rng, 3000)
    return _regt(X, y, _all(3000), regression_truth(_d_tobit))


@kind("regression", True, "rare indicators, each one row in a hundred")
def j_h_rare_indicators(rng):
    n = 5000
    X = np.c_[rng.normal(size=(n, 3)), rng.random((n, 4)) < 0.01].astype(float)
    b = np.array([1.0, 2.0, -1.0, 3.0, -4.0, 2.0, 5.0])
    return _reg(X, X @ b + 2 + rng.normal(size=n), _all(n), b, 2)


@kind("regression", True, "45 rows, three columns")
def j_h_small(rng):
    n = 45
    X = np.c_[rng.normal(170, 9, n), rng.integers(18, 60, n), rng.normal(0, 1, n)].astype(float)
    b = np.array([0.8, 0.3, 2.0])
    return _reg(X, X @ b - 80 + 7 * rng.normal(size=n), _all(n), b, -80)


@kind("regression", True, "120 columns on 400 rows")
def j_h_many_columns(rng):
    n, p = 400, 120
    X = rng.normal(size=(n, p))
    b = np.where(np.arange(p) < 20, 1.0, 0.0)
    return _reg(X, X @ b + 2 * rng.normal(size=n), _all(n), b, 0)


@kind("regression", True, "x and noise from multivariate t with 4 degrees of freedom, independent")
def j_h_t_design(rng):
    n, p = 3000, 8
    X = _mvn(rng, n, _ar(p, 0.6)) / np.sqrt(rng.chisquare(4, n) / 4)[:, None]
    b = _coef(rng, p)
    return _reg(X, X @ b + rng.standard_t(4, n), _all(n), b, 0)


@kind("regression", True, "gamma noise that multiplies")
def j_h_multiplicative(rng):
    n = 4000
    X = np.c_[rng.uniform(1, 10, n), rng.lognormal(0, 0.4, n), rng.integers(1, 5, n)].astype(float)
    b = np.array([2.0, 3.0, 1.0])
    return _reg(X, (X @ b + 5) * rng.gamma(12, 1 / 12, n), _all(n), b, 5)


@kind("regression", True, "counts of visits: Poisson with linear mean")
def j_h_poisson(rng):
    n = 2500
    X = np.c_[rng.uniform(0, 5, n), rng.random(n) < 0.4, rng.gamma(2, 1, n)].astype(float)
    b = np.array([0.8, 1.5, 0.6])
    return _reg(X, rng.poisson(X @ b + 0.5), _all(n), b, 0.5)


@kind("regression", True, "polynomial of fourth degree, columns nearly collinear")
def j_h_quartic(rng):
    n = 1000
    t = rng.uniform(0, 10, n)
    X = np.c_[t, t ** 2, t ** 3, t ** 4]
    b = np.array([3.0, -1.2, 0.15, -0.005])
    return _reg(X, X @ b + 2 + 0.7 * rng.normal(size=n), _all(n), b, 2)


@kind("regression", True, "linear probability: yes or no, about half and half")
def j_h_yes_no(rng):
    n = 4000
    X = rng.uniform(-1, 1, size=(n, 4))
    b = np.array([0.15, -0.1, 0.08, 0.05])
    return _reg(X, rng.random(n) < X @ b + 0.5, _all(n), b, 0.5)


@kind("regression", True, "scales from 1e-6 to 1e6, means far from 0, one constant, 40,000 rows")
def j_h_scales(rng):
    n, p = 40_000, 7
    s = 10.0 ** np.array([-6, -4, -2, 0, 2, 4, 6])
    Z = rng.normal(size=(n, p)) + np.array([50, 0, -20, 5, 0, 100, 3])
    b = _coef(rng, p)
    y = Z @ b + 10 + rng.laplace(size=n)
    return _reg(np.c_[Z * s, np.full(n, 4.0)], y, _all(n), np.r_[b / s, 0], 10)


@kind("regression", True, "nodes of unequal precision and size, one line")
def j_h_precision(rng):
    B, p = 40, 5
    sizes = rng.integers(50, 800, B)
    ids = _ids(sizes)
    n = len(ids)
    sd = rng.uniform(0.5, 2.0, B)
    X = rng.normal(size=(n, p)) + 1
    b = _coef(rng, p)
    return _reg(X, X @ b - 4 + sd[ids] * rng.normal(size=n), _all(n), b, -4, sizes)


@kind("regression", True, "file after file further along x, one line")
def j_h_sorted_stream(rng):
    B, m = 30, 300
    sizes = [m] * B
    n = B * m
    x0 = np.sort(rng.uniform(0, 30, n))
    X = np.c_[x0, rng.normal(size=n), rng.gamma(2, 1, n)]
    b = np.array([0.4, 1.0, -2.0])
    return _reg(X, X @ b + 3 + rng.normal(size=n), _all(n), b, 3, sizes)


@kind("regression", True, "errors that remember: AR(1) in time")
def j_h_ar_errors(rng):
    B, m = 20, 500
    sizes = [m] * B
    n = B * m
    e = np.empty(n)
    z = rng.normal(size=n)
    c = z[0] / 0.8
    for i, zi in enumerate(z.tolist()):
        c = 0.6 * c + zi
        e[i] = c
    X = np.c_[rng.normal(size=n), rng.uniform(0, 3, n), rng.random(n) < 0.3].astype(float)
    b = np.array([1.0, -2.0, 2.5])
    return _reg(X, X @ b + 8 + e, _all(n), b, 8, sizes)


# =============================================================================================
# PCA, bad rows in one table
# =============================================================================================

@kind("pca", False, "point mass orthogonal to the components, 25%")
def j_pca_pointmass(rng):
    n, p, d = 500, 10, 2
    V = _orth(rng, p, d)
    X = _spiked(rng, n, V, [25, 12])
    bad = _pick(rng, n, 0.25)
    X[bad] = 15 * _perp(rng, V) + 0.01 * rng.normal(size=(bad.sum(), p))
    return _pca(X, ~bad, V)


@kind("pca", False, "shifted cluster of the same shape, 35%")
def j_pca_shift_cluster(rng):
    n, p, d = 2000, 8, 2
    V = _orth(rng, p, d)
    X = _spiked(rng, n, V, [16, 9]) + 5
    bad = _pick(rng, n, 0.35)
    X[bad] += 20 * _perp(rng, V)
    return _pca(X, ~bad, V)


@kind("pca", False, "radial outliers: 15% with tenfold spread in all directions")
def j_pca_radial(rng):
    n, p, d = 800, 12, 3
    V = _orth(rng, p, d)
    X = _spiked(rng, n, V, [20, 12, 8])
    bad = _pick(rng, n, 0.15)
    X[bad] = 20 * rng.normal(size=(bad.sum(), p))
    return _pca(X, ~bad, V)


@kind("pca", False, "barrow wheel after Stahel and Maechler")
def j_pca_barrow_wheel(rng):
    n, p = 1000, 5
    C = np.diag(np.r_[0.1 ** 2, 4.0, np.ones(p - 2)])
    Q = _orth(rng, p, p)
    X = rng.normal(size=(n, p)) * np.sqrt(np.diag(C))
    bad = _pick(rng, n, 0.2)
    k = bad.sum()
    X[bad, 0] = rng.choice([-1.0, 1.0], k) * np.sqrt(rng.gamma(25, 1.0, k))
    X[bad, 1:] *= 0.05
    return _pca(X @ Q.T, ~bad, cov_basis(Q @ C @ Q.T, 1))


@kind("pca", False, "independent cellwise contamination, 2% of the cells of 15 columns")
def j_pca_cellwise(rng):
    n, p, d = 1500, 15, 2
    V = _orth(rng, p, d)
    X = _spiked(rng, n, V, [30, 15])
    cells = rng.random((n, p)) < 0.02
    X = np.where(cells, 20 + rng.normal(size=(n, p)), X)
    return _pca(X, ~cells.any(1), V)


def _alyz_corr(rng, p, cond=100.0):
    lam = np.sort(np.r_[1, rng.uniform(1, cond, p - 2), cond])
    U = _orth(rng, p, p)
    C = (U * lam) @ U.T
    s = np.sqrt(np.diag(C))
    return C / s / s[:, None]


@kind("pca", False, "Tukey-Huber model of Agostinelli and others: along the smallest eigenvector, 20%")
def j_pca_alyz_thcm(rng):
    n, p = 1200, 10
    C = _alyz_corr(rng, p)
    C = 0.35 * C + 0.65 * (0.7 * np.ones((p, p)) + 0.3 * np.eye(p))
    w, Q = np.linalg.eigh(C)
    X = _mvn(rng, n, C)
    bad = _pick(rng, n, 0.2)
    v = Q[:, 0] * 8
    X[bad] = v + 0.1 * _mvn(rng, bad.sum(), C)
    return _pca(X, ~bad, cov_basis(C, 1))


@kind("pca", False, "structured cells (Rousseeuw and Raymaekers): along the smallest eigenvector of a subset")
def j_pca_a09_cells(rng):
    n, p = 2000, 12
    C = (-0.9) ** np.abs(np.arange(p)[:, None] - np.arange(p))
    X = _mvn(rng, n, C)
    bad = _pick(rng, n, 0.25)
    for i in np.flatnonzero(bad):
        s = np.sort(rng.permutation(p)[:3])
        S = C[np.ix_(s, s)]
        w, q = np.linalg.eigh(S)
        u = q[:, 0]
        u = u * np.sqrt(3) / np.sqrt(u @ np.linalg.solve(S, u))
        X[i, s] = 6 * u / np.linalg.norm(u) * 1.5
    return _pca(X, ~bad, cov_basis(C, 1))


@kind("pca", False, "bad rows with a strong structure of their own and the same mean, 30%")
def j_pca_other_structure(rng):
    n, p, d = 2500, 20, 3
    V = _orth(rng, p, d)
    X = _spiked(rng, n, V, [30, 20, 12])
    bad = _pick(rng, n, 0.3)
    u = _perp(rng, V)
    k = bad.sum()
    X[bad] = (rng.choice([-1.0, 1.0], k) * rng.uniform(12, 40, k))[:, None] * u + 0.5 * rng.normal(size=(k, p))
    return _pca(X, ~bad, V)


@kind("pca", False, "body measures, 7% with the height in millimetres")
def j_pca_millimetres(rng):
    n = 3000
    C = np.diag([9.0, 12, 10, 4, 3]) @ (0.6 * np.ones((5, 5)) + 0.4 * np.eye(5)) @ np.diag([9.0, 12, 10, 4, 3])
    X = _mvn(rng, n, C) + np.array([172, 75, 88, 37, 25.0])
    bad = _pick(rng, n, 0.07)
    X[bad, 0] *= 10
    return _pca(X, ~bad, cov_basis(C, 1))


@kind("pca", False, "two fields of different range swapped for 12% of the rows")
def j_pca_swapped(rng):
    n = 1500
    sd = np.array([10.0, 3, 2, 1, 1, 1])
    C = _ar(6, 0.6) * sd * sd[:, None]
    X = _mvn(rng, n, C) + np.array([200.0, 20, 50, 5, 0, 8])
    bad = _pick(rng, n, 0.12)
    X[bad] = X[bad][:, [5, 1, 2, 3, 4, 0]]
    return _pca(X, ~bad, cov_basis(C, 1))


@kind("pca", False, "wide table: 60 rows of 200 genes, 9 rows of another tissue")
def j_pca_wide_tissue(rng):
    n, p, d = 60, 200, 2
    V = _orth(rng, p, d)
    X = _spiked(rng, n, V, [400, 200], 0.5) + 8
    bad = _pick(rng, n, 9 / 60)
    X[bad] += 40 * _perp(rng, V)
    return _pca(X, ~bad, V)


@kind("pca", False, "good leverage within the plane, bad rows off the plane")
def j_pca_leverage_types(rng):
    n, p, d = 1000, 9, 2
    V = _orth(rng, p, d)
    f = rng.normal(size=(n, d)) * np.array([5, 3])
    far = _pick(rng, n, 0.05)
    f[far] *= 2.5
    X = f @ V.T + rng.normal(size=(n, p))
    bad = _pick(rng, n, 0.14) & ~far
    k = bad.sum()
    X[bad] = (np.array([12.0, 8]) @ V.T) + 25 * _perp(rng, V) + 2 * rng.normal(size=(k, p))
    return _pca(X, ~bad, V)


@kind("pca", False, "spectra of 120 channels, a fifth with a spike from a cosmic ray")
def j_pca_spectra_spikes(rng):
    n, p = 900, 120
    t = np.linspace(0, 1, p)
    S = np.stack([np.exp(-((t - c) / 0.1) ** 2) for c in (0.25, 0.5, 0.8)], 1)
    Q = np.linalg.qr(S)[0]
    lam = np.array([60.0, 30, 15])
    R = _orth(rng, 3, 3)
    V = Q @ R
    X = 5 + 2 * t + (rng.normal(size=(n, 3)) * np.sqrt(lam)) @ V.T + 0.3 * rng.normal(size=(n, p))
    bad = _pick(rng, n, 0.2)
    idx = np.flatnonzero(bad)
    pos = rng.integers(0, p - 3, len(idx))
    h = rng.uniform(20, 120, len(idx))
    for j in range(3):
        X[idx, pos + j] += h * (0.5, 1.0, 0.5)[j]
    return _pca(X, ~bad, V)


@kind("pca", False, "-9999 for missing, different columns, 16% of the rows")
def j_pca_sentinel(rng):
    n, p, d = 4000, 8, 2
    V = _orth(rng, p, d)
    X = _spiked(rng, n, V, [40, 15]) + 30
    bad = _pick(rng, n, 0.16)
    c = rng.integers(0, p, n)
    X[bad, c[bad]] = -9999
    return _pca(X, ~bad, V)


@kind("pca", False, "60,000 rows, two small clusters")
def j_pca_big_clusters(rng):
    n, p, d = 60_000, 10, 3
    V = _orth(rng, p, d)
    X = _spiked(rng, n, V, [20, 14, 9])
    u = rng.random(n)
    w1, w2 = _perp(rng, V), _perp(rng, V)
    X[u < 0.08] += 18 * w1
    X[(u > 0.95)] -= 30 * w2
    return _pca(X, (u >= 0.08) & (u <= 0.95), V)


# ---- PCA, bad batches

def _pca_stream(rng, sizes, p, lam, mean=0.0):
    V = _orth(rng, p, len(lam))
    return _spiked(rng, int(np.sum(sizes)), V, lam) + mean, V


@kind("pca", False, "a fifth of the loggers repeat their first row")
def j_pca_stream_stale(rng):
    B = 50
    sizes = [150] * B
    X, V = _pca_stream(rng, sizes, 8, [9, 5], 0.0)
    u = _perp(rng, V)
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.2)
    for k in np.flatnonzero(badb):
        m = np.flatnonzero(ids == k)
        X[m] = X[m[0]] + 12 * u * rng.choice([-1, 1])
    return _pca(X, ~badb[ids], V, sizes)


@kind("pca", False, "30% of the files with offsets of their own")
def j_pca_stream_bias(rng):
    B, p = 60, 12
    sizes = rng.integers(80, 500, B)
    X, V = _pca_stream(rng, sizes, p, [15, 9, 6], 3.0)
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.3)
    off = np.stack([rng.uniform(15, 30) * _perp(rng, V) for _ in range(B)]) * badb[:, None]
    return _pca(X + off[ids], ~badb[ids], V, sizes)


@kind("pca", False, "a channel with gain 15 in a quarter of the batches")
def j_pca_stream_gain(rng):
    B, p = 40, 10
    sizes = [400] * B
    X, V = _pca_stream(rng, sizes, p, [20, 10])
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.25)
    X[badb[ids], 3] *= 15
    return _pca(X, ~badb[ids], V, sizes)


@kind("pca", False, "columns in another order in 35% of the files")
def j_pca_stream_permuted(rng):
    B, p = 40, 9
    sizes = rng.integers(200, 700, B)
    n = sizes.sum()
    sd = np.array([8.0, 6, 5, 2, 1.5, 1, 1, 0.5, 0.5])
    C = _ar(p, 0.5) * sd * sd[:, None]
    X = _mvn(rng, n, C) + np.arange(p) * 20.0
    ids = _ids(sizes)
    badb = _pick(rng, B, 0.35)
    for k in np.flatnonzero(badb):
        m = ids == k
        X[m] = X[m][:, np.roll(np.arange(p), rng.integers(1, p))]
    return _pca(X, ~badb[ids], cov_basis(C, 2), sizes)


@kind("pca", False, "42% of the nodes agree on a false direction")
def j_pca_stream_colluding(rng):
    B, p = 50, 15
    sizes = [300] * B
    X, V = _pca_stream(rng, sizes, p, [16, 9])
    ids = _ids(sizes)
    m = _pick(rng, B, 0.42)[ids]
    W = _orth(rng, p, 2)
    X[m] = _spiked(rng, m.sum(), W, [80, 60])
    return _pca(X, ~m, V, sizes)


@kind("pca", False, "a station that drifts away, slowly worse")
def j_pca_stream_worsening(rng):
    B, p = 90, 7
    sizes = [110] * B
    X, V = _pca_stream(rng, sizes, p, [12, 6])
    ids = _ids(sizes)
    badb = (np.arange(B) % 3 == 2) & (np.arange(B) >= 9)
    u = _perp(rng, V)
    X += (np.where(badb, np.linspace(8, 60, B), 0)[ids])[:, None] * u
    return _pca(X, ~badb[ids], V, sizes)


@kind("pca", False, "bursts: 30% of the rows in every other batch at a distant place")
def j_pca_stream_bursts(rng):
    B, m, p = 50, 200, 10
    sizes = [m] * B
    X, V = _pca_stream(rng, sizes, p, [18, 10, 6])
    ids = _ids(sizes)
    pos = np.tile(np.arange(m), B)
    bad = (ids % 2 == 1) & (pos >= 100) & (pos < 160)
    X[bad] += 25 * _perp(rng, V)
    return _pca(X, ~bad, V, sizes)


@kind("pca", False, "bad from the start: first 45% of the batches are noise of large size")
def j_pca_stream_bad_start(rng):
    B, p = 40, 20
    sizes = [250] * B
    X, V = _pca_stream(rng, sizes, p, [25, 16, 9])
    m = _ids(sizes) < 18
    X[m] = rng.normal(size=(m.sum(), p)) * rng.uniform(2, 30, p) + 10
    return _pca(X, ~m, V, sizes)


@kind("pca", False, "last third of the files are garbage, and 10% of the rows before")
def j_pca_stream_both(rng):
    B, p = 45, 10
    sizes = rng.integers(100, 600, B)
    X, V = _pca_stream(rng, sizes, p, [20, 10])
    ids = _ids(sizes)
    m = ids >= 30
    X[m] = rng.uniform(-50, 50, size=(m.sum(), p))
    r = _pick(rng, len(ids), 0.1) & ~m
    X[r] += 20 * _perp(rng, V)
    return _pca(X, ~(m | r), V, sizes)


# =============================================================================================
# PCA, honest
# =============================================================================================

@kind("pca", True, "three normal factors")
def j_pca_h_normal(rng):
    V = _orth(rng, 25, 3)
    return _pca(_spiked(rng, 1500, V, [30, 20, 12]) + 7, _all(1500), V)


@kind("pca", True, "multivariate t with 5 degrees of freedom")
def j_pca_h_t5(rng):
    n, p = 2000, 10
    V = _orth(rng, p, 2)
    X = _spiked(rng, n, V, [25, 10]) / np.sqrt(rng.chisquare(5, n) / 5)[:, None]
    return _pca(X, _all(n), V)


@kind("pca", True, "log-normal, correlated sizes of parts")
def j_pca_h_lognormal(rng):
    # cov of exp(N(0,S)): e^{(sii+sjj)/2}(e^{sij}-1)
    n, p = 3000, 6
    S = 0.25 * (0.7 * np.ones((p, p)) + 0.3 * np.eye(p))
    C = np.exp(0.25) * (np.exp(S) - 1) * np.outer(np.arange(1, p + 1), np.arange(1, p + 1))
    X = np.exp(_mvn(rng, n, S)) * np.arange(1, p + 1)
    return _pca(X, _all(n), cov_basis(C, 1))


def _d_counts(rng, n):
    f = rng.gamma(4, 0.25, size=(n, 2))
    L = np.array([[5, 4, 3, 3, 2, 2, 1, 0.5, 0.5, 0.3], [0.3, 0.5, 1, 0.5, 4, 1, 6, 8, 5, 7.0]])
    return rng.poisson(2 * f @ L).astype(float)


@kind("pca", True, "counts of words with two topics")
def j_pca_h_counts(rng):
    return _pca(_d_counts(rng, 2500), _all(2500), pca_truth(_d_counts, 2))


@kind("pca", True, "two classes of the same size")
def j_pca_h_two_classes(rng):
    n, p = 1600, 8
    V = _orth(rng, p, 2)
    g = np.where(np.arange(n) < n // 2, 1.0, -1.0)[rng.permutation(n)]
    X = 4 * g[:, None] * V[:, 0] + 3 * rng.normal(size=(n, 1)) * V[:, 1] + rng.normal(size=(n, p))
    return _pca(X, _all(n), V)


@kind("pca", True, "three species of the same number, overlapping")
def j_pca_h_three_species(rng):
    n, p = 600, 4
    M = np.array([[5.0, 3.4, 1.9, 0.6], [5.9, 2.8, 3.6, 1.2], [6.6, 3.0, 5.1, 1.9]])
    C = np.array([[0.25, 0.09, 0.16, 0.04], [0.09, 0.11, 0.06, 0.03], [0.16, 0.06, 0.25, 0.06], [0.04, 0.03, 0.06, 0.05]])
    lab = np.repeat(np.arange(3), n // 3)[rng.permutation(n)]
    X = M[lab] + _mvn(rng, n, C)
    D = M - M.mean(0)
    return _pca(X, _all(n), cov_basis(C + D.T @ D / 3, 1))


@kind("pca", True, "uniform factors, uniform noise, 30 columns")
def j_pca_h_uniform(rng):
    n, p = 1000, 30
    V = _orth(rng, p, 3)
    X = rng.uniform(-1, 1, size=(n, 3)) * np.array([10, 8, 6]) @ V.T + rng.uniform(-1, 1, size=(n, p))
    return _pca(X, _all(n), V)


@kind("pca", True, "numbers with dummies of five even classes and rare flags of small effect")
def j_pca_h_dummies(rng):
    n = 2500
    C = 9 * (0.6 * np.ones((4, 4)) + 0.4 * np.eye(4)) + np.diag([0, 1, 2, 3.0])
    D = rng.integers(0, 5, n)[:, None] == np.arange(5)
    F = rng.random((n, 3)) < np.array([0.03, 0.06, 0.1])
    X = np.c_[_mvn(rng, n, C), D, F].astype(float)
    full = np.zeros((12, 12))
    full[:4, :4] = C
    full[4:9, 4:9] = 0.2 * np.eye(5) - 0.04
    full[9:, 9:] = np.diag([0.03 * 0.97, 0.06 * 0.94, 0.09])
    return _pca(X, _all(n), cov_basis(full, 1))


@kind("pca", True, "wide: 50 rows, 150 columns")
def j_pca_h_wide(rng):
    V = _orth(rng, 150, 2)
    return _pca(_spiked(rng, 50, V, [500, 250]), _all(50), V)


@kind("pca", True, "sites of different spread")
def j_pca_h_site_spread(rng):
    B, p = 30, 10
    sizes = rng.integers(200, 600, B)
    V = _orth(rng, p, 2)
    ids = _ids(sizes)
    s = rng.uniform(0.7, 1.5, B)
    return _pca(_spiked(rng, len(ids), V, [20, 9]) * s[ids][:, None], _all(len(ids)), V, sizes)


@kind("pca", True, "seasons: the mean goes round a circle, as weather does")
def j_pca_h_seasons(rng):
    B, m, p = 48, 150, 8
    sizes = [m] * B
    V = _orth(rng, p, 3)
    ids = _ids(sizes)
    a = 2 * np.pi * np.arange(B) / 24
    X = _spiked(rng, len(ids), V, [10, 8, 6]) + (2 * np.c_[np.cos(a), np.sin(a)] @ V[:, :2].T)[ids]
    return _pca(X, _all(len(ids)), V, sizes)


@kind("pca", True, "a mean that drifts by degrees along one direction")
def j_pca_h_drift(rng):
    B, m, p = 60, 120, 12
    sizes = [m] * B
    V = _orth(rng, p, 2)
    t = np.linspace(-1, 1, B)
    ids = _ids(sizes)
    X = _spiked(rng, len(ids), V, [14, 8]) + (3 * t[ids])[:, None] * V[:, 0]
    return _pca(X, _all(len(ids)), V, sizes)


@kind("pca", True, "smooth curves at 100 points")
def j_pca_h_curves(rng):
    n, p = 400, 100
    t = (np.arange(p) + 0.5) / p
    V = np.sqrt(2 / p) * np.stack([np.sin((k - 0.5) * np.pi * t) for k in (1, 2, 3)], 1)
    V = np.linalg.qr(V)[0]
    return _pca(_spiked(rng, n, V, [40, 15, 6], 0.4) + np.sin(5 * t), _all(n), V)


def _d_zeroinf(rng, n):
    f = rng.normal(size=(n, 1))
    L = np.array([3.0, 2.5, 2, 2, 1.5, 1, 1])
    return np.maximum(0, f * L + 0.8 * rng.normal(size=(n, 7)) + 0.5)


@kind("pca", True, "rain at seven gauges: zero on dry days")
def j_pca_h_rain(rng):
    return _pca(_d_zeroinf(rng, 2000), _all(2000), pca_truth(_d_zeroinf, 1))


def _d_plikert(rng, n):
    f = rng.normal(size=(n, 2))
    L = np.zeros((2, 12))
    L[0, :7] = 1.2
    L[1, 7:] = 0.9
    return np.clip(np.round(4 + f @ L + 0.8 * rng.normal(size=(n, 12))), 1, 7)


@kind("pca", True, "a questionnaire with answers 1 to 7, two scales")
def j_pca_h_likert(rng):
    return _pca(_d_plikert(rng, 900), _all(900), pca_truth(_d_plikert, 2))


@kind("pca", True, "columns at scales from 1e-6 to 1e6 and a constant")
def j_pca_h_scales(rng):
    n = 1000
    s = np.array([1e-6, 1e-3, 1, 1e3, 1e6, 6e5])
    R = 0.5 * np.ones((6, 6)) + 0.5 * np.eye(6)
    C = np.zeros((7, 7))
    C[:6, :6] = R * s * s[:, None]
    X = np.c_[_mvn(rng, n, R) * s + 5 * s, np.full(n, 3.0)]
    return _pca(X, _all(n), cov_basis(C, 1))


def _d_arc(rng, n):
    a = rng.uniform(-1.2, 1.2, n)
    X = 0.4 * rng.normal(size=(n, 6))
    X[:, 0] += 8 * np.sin(a)
    X[:, 1] += 8 * np.cos(a)
    X[:, 2] += 3 * np.sin(a)
    return X


@kind("pca", True, "points on an arc")
def j_pca_h_arc(rng):
    return _pca(_d_arc(rng, 1200), _all(1200), pca_truth(_d_arc, 2))


@kind("pca", True, "exponential factors, skewed all")
def j_pca_h_skewed(rng):
    n, p = 3000, 9
    V = np.abs(_orth(rng, p, 1))
    V /= np.linalg.norm(V)
    X = 6 * rng.exponential(size=(n, 1)) @ V.T + rng.exponential(size=(n, p))
    return _pca(X, _all(n), V)


@kind("pca", True, "60,000 rows, small gap between the factors kept, clear to the rest")
def j_pca_h_big(rng):
    n, p = 60_000, 10
    V = _orth(rng, p, 4)
    return _pca(_spiked(rng, n, V, [9, 8, 7, 6]), _all(n), V)


@kind("pca", True, "volatility: every day has its own spread")
def j_pca_h_volatility(rng):
    B, m, p = 100, 60, 15
    sizes = [m] * B
    V = _orth(rng, p, 2)
    n = B * m
    vol = np.exp(0.3 * rng.normal(size=n))
    return _pca(_spiked(rng, n, V, [20, 10]) * vol[:, None], _all(n), V, sizes)


@kind("pca", True, "windows of an oscillation with noise (lagged embedding)")
def j_pca_h_windows(rng):
    n, p = 1500, 16
    k = np.arange(p) * 2 * np.pi / 16
    V = np.linalg.qr(np.c_[np.cos(k), np.sin(k)])[0]
    ph = rng.uniform(0, 2 * np.pi, n)
    X = 2 * rng.uniform(0.6, 1.4, n)[:, None] * np.cos(k - ph[:, None]) + 0.6 * rng.normal(size=(n, p))
    return _pca(X, _all(n), V)


@kind("pca", True, "40 rows, four columns")
def j_pca_h_small(rng):
    V = _orth(rng, 4, 1)
    return _pca(_spiked(rng, 40, V, [60]) + 20, _all(40), V)


# ------------------------------------------------------------------------------------ self-check

def _check():
    import time
    names = [k.name for k in KINDS]
    assert len(set(names)) == len(names) and all(n.startswith("j_") for n in names)
    flagged = 0
    for k in KINDS:
        k.make(np.random.default_rng(999))           # truths that are cached
        low, slow, notes = 0, [], []
        for seed in (1, 2, 3):
            t = time.perf_counter()
            s = k.make(np.random.default_rng(seed))
            t = time.perf_counter() - t
            n, p = s.X.shape
            eo, ep = error(oracle(s), s), error(plain(s), s)
            badshare = 1 - s.good.mean()
            print(f"{k.name:28s} n={n:6d} p={p:4d} B={len(s.sizes) if s.sizes else 1:4d} bad={badshare:5.3f} "
                  f"oracle={eo:9.4g} plain/oracle={ep / eo:9.4g} s={t:5.3f}")
            slow.append(t)
            low += ep / eo < 2
            if k.honest and badshare > 0:
                notes.append("honest with bad rows")
            if not k.honest and not 0.01 <= badshare <= 0.56:
                notes.append("share of bad rows out of range")
            if not (np.isfinite(s.X).all() and np.isfinite(s.truth).all() and np.isfinite(eo)
                    and (s.y is None or np.isfinite(s.y).all())):
                notes.append("not finite")
            if s.sizes is not None and sum(s.sizes) != n:
                notes.append("sizes")
            if len(s.good) != n or (s.y is not None and (len(s.y) != n or s.truth.shape != (p + 1,))):
                notes.append("shapes")
            if s.y is None and (s.truth.shape != (p, s.n_components)
                                or not np.allclose(s.truth.T @ s.truth, np.eye(s.n_components))):
                notes.append("basis")
            if s.y is None and eo > 0.3:
                notes.append("oracle far off")
        if not k.honest and low >= 2:
            notes.append("plain nearly as good as the oracle")
        if min(slow) > 0.3:
            notes.append("slow")
        if notes:
            flagged += 1
            print("   FLAG", k.name, sorted(set(notes)))
    from collections import Counter
    print(Counter((k.problem, "honest" if k.honest else "bad") for k in KINDS), "flagged", flagged)


if __name__ == "__main__":
    _check()
