"""Judgement kinds, set B."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from judge_tools import Book, check  # noqa: E402

B = Book()
P = np.random.default_rng(550277)


def col(*a):
    return np.column_stack(a).astype(float)


def lin(X, b, a, e):
    b = np.asarray(b, float)
    return X, X @ b + a + e, np.append(b, a)


def f(X, c):
    return X @ c.truth[:-1] + c.truth[-1]


# =============================================================== regression laws
def crops(rng, n):
    rain = rng.gamma(6, 90, n)
    nit = rng.choice([0, 40, 80, 120, 160], n)
    g = rng.integers(0, 4, n)
    X = col(rain, nit, g == 1, g == 2, g == 3, rng.normal(15, 2, n))
    y = 2 + .009 * rain - 5e-6 * rain ** 2 + .02 * nit - 5e-5 * nit ** 2 + .5 * (g == 1) - .7 * (g == 2) + .1 * X[:, 5]
    return X, y + rng.normal(0, .5, n)


def taxi(rng, n):
    d = rng.exponential(4, n) + .3
    m = d * rng.gamma(9, .35, n) + 2
    rush, night = rng.random(n) < .3, rng.random(n) < .2
    X = col(d, m, rush, night, rng.integers(1, 5, n))
    return X, np.maximum(1.6 * d + .35 * m + 1. * rush + 1.5 * night + 3 + rng.normal(0, .9, n), 6)


def fares(rng, n):
    d = rng.exponential(4, n) + .3
    m = d * rng.gamma(9, .35, n) + 2
    X = col(d, m, rng.random(n) < .3, rng.random(n) < .2)
    return lin(X, [1.6, .35, 1, 1.5], 3, rng.normal(size=n) * (.5 + .08 * d))


def marks(rng, n):
    hrs, iq = rng.gamma(4, 3, n), rng.normal(100, 15, n)
    X = col(hrs, iq, rng.integers(0, 2, n), rng.integers(0, 6, n))
    return X, np.clip(np.round(1.8 * hrs + .5 * iq + 3 * X[:, 2] - 2 * X[:, 3] - 2 + rng.normal(0, 8, n)), 0, 100)


def air(rng, n):
    s = 2 * np.pi * np.arange(n) / 365
    temp, wind = 12 - 10 * np.cos(s) + rng.normal(0, 3, n), rng.weibull(2, n) * 4
    traf = rng.normal(100, 15, n) - 30 * (np.arange(n) % 7 >= 5)
    X = col(temp, wind, traf, np.sin(s), np.cos(s))
    return X, np.exp(2.6 - .1 * wind + .006 * traf + .2 * np.cos(s) + .3 * rng.normal(size=n))


def bikes(rng, n):
    X = col(rng.normal(15, 8, n), rng.uniform(.3, 1, n), rng.integers(0, 2, n), rng.gamma(2, 5, n))
    mu = np.exp(4 + .04 * X[:, 0] - .8 * X[:, 1] + .2 * X[:, 2] - .01 * X[:, 3])
    return X, rng.poisson(mu * rng.gamma(8, 1 / 8, n))


def mass(rng, n):
    w = rng.lognormal(3, .5, n)
    X = col(w, rng.normal(37, 1, n), rng.random(n) < .5)
    return lin(X, [.8, 1.2, 2], -20, .12 * w * rng.normal(size=n))


def ratings(rng, n):
    X = rng.choice([1, 2, 3, 4, 5], (n, 2), p=[.05, .15, .3, .35, .15]).astype(float)
    return lin(X, [.9, .4], 1, rng.normal(0, .7, n))


WAV = np.linspace(0, 1, 150)
WB = np.stack([np.sin((k + 1) * 2.3 * WAV + k) for k in range(8)])
WC = P.normal(size=150) * .15


def nir(rng, n):
    X = rng.normal(size=(n, 8)) @ WB + .3 * rng.normal(size=(n, 150))
    return lin(X, WC, 12, rng.normal(0, 1, n))


FL = np.array([.4, .2, .1, .06, .05, .04, .03, .03, .02, .02])
FB = P.normal(0, 2, 10)


def flags(rng, n):
    return lin(np.column_stack([rng.random((n, 10)) < FL, rng.normal(size=n)]).astype(float), np.append(FB, 1.5), 4, rng.normal(0, 1, n))


def skewed(rng, n):
    X = rng.gamma(2, 1, (n, 6)) @ (np.eye(6) * .8 + .2)
    return lin(X, [1, 2, -1, 0, .5, .3], -3, (rng.gamma(1.5, 1, n) - 1.5) * 1.2)


def line_sorted(rng, n):
    x = np.sort(rng.uniform(0, 100, n))
    X = col(x, rng.normal(size=n), np.cos(x / 15))
    return lin(X, [.4, 2, 6], 10, rng.normal(size=n) * (1 + .03 * x))


def seasons(rng, n):
    t = np.arange(n) / n
    s = np.sin(2 * np.pi * 3 * t)
    X = rng.normal(size=(n, 5)) + .8 * s[:, None] * [1, 0, -1, .5, 0]
    return X, X @ [1, 2, -1, .5, 0] + .3 * s * X[:, 1] + 1.0 * s + 3 + rng.normal(0, 1, n)


def default01(rng, n):
    X = col(rng.normal(size=n), rng.gamma(2, 1, n), rng.integers(0, 3, n), rng.random(n) < .3)
    z = -1.2 + .8 * X[:, 0] + .4 * X[:, 1] - .5 * X[:, 2] + .7 * X[:, 3]
    return X, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(float)


FE = P.normal(size=(50, 3))


def firms(rng, n):
    i = np.arange(n) * 50 // n
    X = rng.normal(size=(n, 6)) + FE[i][:, [0, 1, 2, 0, 1, 2]] * [1, .5, 1, .3, .3, 0]
    return X, X @ [.6, -.4, .3, 1, 0, .2] + .6 * FE[i, 2] + rng.normal(0, .7, n)


def growth(rng, n):
    t = rng.uniform(0, 10, n)
    k = rng.normal(1, .1, n)
    return col(t, k, rng.random(n) < .5), 30 * k / (1 + np.exp(-(t - 5))) + rng.normal(0, 1.5, n)


def coarse(rng, n):
    Z = np.round(rng.normal(size=(n, 5)) @ (np.eye(5) + .4) * 2) / 2
    return Z, np.round(Z @ [2, -1, .5, 1, 0] + 20 + rng.normal(0, 1, n))


def fuel(rng, n):
    w = rng.normal(1.4, .3, n)
    hp = 60 + 55 * (w - .7) + rng.gamma(3, 10, n)
    X = col(w, hp, rng.choice([3, 4, 4, 4, 6, 8], n), rng.integers(2000, 2024, n), rng.random(n) < .2)
    return lin(X, [3.1, .015, .3, -.08, -.9], 165, rng.normal(0, .35, n))


RB = P.normal(size=20) * 1.2


def rent(rng, n):
    F = rng.normal(size=(n, 5))
    X = F @ P20.T + .7 * rng.normal(size=(n, 20)) + 5
    return lin(X, RB, 40, rng.standard_t(6, n) * 1.5)


P20 = P.normal(size=(20, 5)) * .8


def river(rng, n):
    X = col(rng.gamma(1.2, 8, n), rng.gamma(1.2, 6, n), rng.normal(10, 6, n), rng.normal(.4, .1, n))
    return lin(X, [1.4, .9, -.3, 30], 20, rng.normal(0, 2, n))


def plain3(rng, n):
    X = rng.normal(size=(n, 3))
    return lin(X, [1, 2, 3], 10, rng.normal(0, 1, n))


def six(rng, n):
    X = rng.normal(size=(n, 6)) @ (np.eye(6) + .3) * [1, 10, .1, 4, 1, 2]
    return lin(X, [2, .1, -15, .5, 0, -1], 7, rng.normal(0, 1, n))


B60 = P.normal(size=60) * .5


def sixty(rng, n):
    X = rng.normal(size=(n, 60)) + .5 * rng.normal(size=(n, 1))
    return lin(X, B60, 0, rng.normal(0, 1, n))


# --------------------------------------------------------------- honest regression
B.reg('b_crops', crops, 500)
B.reg('b_taxi_floor', taxi, 10000)
B.reg('b_marks_capped', marks, 900)
B.reg('b_air_lognormal', air, 1100)
B.reg('b_bike_counts', bikes, 2200)
B.reg('b_body_mass', mass, 400)
B.reg('b_ratings_tiny', ratings, 70)
B.reg('b_spectra_wide', nir, 450)
B.reg('b_rare_flags', flags, 1200)
B.reg('b_skewed_noise', skewed, 800)
B.reg('b_sorted_fan', line_sorted, 600)
B.reg('b_seasons_stream', seasons, sizes=(250,) * 36)
B.reg('b_zero_one', default01, 3000)
B.reg('b_firm_panel', firms, 1000)
B.reg('b_growth_curve', growth, 350)
B.reg('b_coarse_rounded', coarse, 5000)


# --------------------------------------------------------------- dirty regression: tables
B.reg('b_distance_tenths', fares, 3000, lambda rng, X, y, c: (X * [.1, 1, 1, 1], y), .25, 'runs')
B.reg('b_fare_cents', fares, 8000, lambda rng, X, y, c: (X, y * 100), .07)


def reseller(rng, X, y, c):
    X[:, 1] = 0
    return X, np.full(len(y), 250.) + rng.exponential(20, len(y))


B.reg('b_flat_fee_scam', fares, 1500, reseller, .3)
B.reg('b_mpg_for_litres', fuel, 1200, lambda rng, X, y, c: (X, 235.2 / np.maximum(y, 2)), .35, 'start')
B.reg('b_year_two_digits', fuel, 900, lambda rng, X, y, c: (X - [0, 0, 0, 1900, 0], y), .2)


B.reg('b_grams', mass, 900, lambda rng, X, y, c: (X * [1000., 1, 1], y), .1)
B.reg('b_celsius_kelvin', mass, 700, lambda rng, X, y, c: (X + [0, 273.15, 0], y), .3, 'end')


def clock(rng, X, y, c):
    return X, y + 50 * np.sin(np.arange(len(y)) / 30.) + 15


B.reg('b_wobbling_gauge', river, 2500, clock, .35, 'middle')
B.reg('b_gauge_floor', river, 1800, lambda rng, X, y, c: (X, np.zeros(len(y))), .15, 'runs')


def rain_stale(rng, X, y, c):
    X[:, :2] = 90, 75
    return X, y


B.reg('b_rain_gauge_full', river, 1000, rain_stale, .2)
B.reg('b_negated_target', rent, 1600, lambda rng, X, y, c: (X, -y), .4)


def other_town(rng, X, y, c):
    b = RB[np.r_[5:20, 0:5]]
    return X, X @ b + 30 + rng.normal(0, 1.5, len(y))


B.reg('b_other_town_merged', rent, 2500, other_town, .3, 'end')


def hidden_lever(rng, X, y, c):
    u = c.shared.normal(size=X.shape[1])
    u *= 10 / np.linalg.norm(u)
    s = rng.uniform(.7, 1.6, (len(y), 1))
    Z = c.X.mean(0) + c.X.std(0) * (u * s + .5 * rng.normal(size=X.shape))
    return Z, f(c.X.mean(0), c) + 4 * rng.normal(size=len(y)) - 40 * s[:, 0]


B.reg('b_leverage_ray', six, 700, hidden_lever, .25)
B.reg('b_leverage_points', sixty, 1500, hidden_lever, .2)
B.reg('b_sixty_label_noise', sixty, 4000, lambda rng, X, y, c: (X, rng.normal(0, 3 * np.std(y), len(y))), .3)


def shifted_up(rng, X, y, c):
    return X, y + 7


B.reg('b_constant_offset', plain3, 400, shifted_up, .4)
B.reg('b_mixed_cocktail', six, 2000, lambda rng, X, y, c: (np.where(rng.random(X.shape) < .3, X * rng.choice([100., -1, 0], X.shape), X),
                                                         y + rng.choice([0, 25, -40, 300], len(y))), .3)
B.reg('b_spreadsheet_sorted', six, 1200, lambda rng, X, y, c: (X, np.sort(y)[::-1]), .35, 'middle')


B.reg('b_duplicated_wrong_row', coarse, 1000, lambda rng, X, y, c: (np.tile(np.array([3., -2, 1, 2, 0]), (len(y), 1)), np.full(len(y), 60.)), .3)
B.reg('b_flag_fraud', flags, 2000, lambda rng, X, y, c: (np.column_stack([np.ones(len(y)), X[:, 1:]]), y + rng.gamma(9, 1.2, len(y))), .06)
B.reg('b_tiny_ratings_trolls', ratings, 90, lambda rng, X, y, c: (np.full_like(X, 5.), rng.normal(-8, .5, len(y))), .15)
B.reg('b_heavy_plus_lies', skewed, 3000, lambda rng, X, y, c: (X, 40 - 2 * y + rng.standard_t(3, len(y))), .25)


def wide_merge(rng, X, y, c):
    return X[:, ::-1], y


B.reg('b_spectra_reversed', nir, 2000, wide_merge, .2, 'end')
B.reg('b_spectra_saturated', nir, 1200, lambda rng, X, y, c: (np.minimum(X * 8, 12.), y), .25)

# streams
B.reg('bs_bad_45_random', six, hurt=lambda rng, X, y, c: (X, (X / [1, 10, .1, 4, 1, 2]) @ rng.normal(0, 8, 6) + 50 * rng.normal()),
      sizes=(350,) * 40, batches=.45)
B.reg('bs_lying_nodes', plain3, hurt=lambda rng, X, y, c: (X, X @ [3., 2, 1] + 14 + rng.normal(0, 1, len(y))), sizes=(100,) * 60, batches=.42)
B.reg('bs_cents_nodes', fares, hurt=lambda rng, X, y, c: (X, y * 100), sizes=(1500,) * 12, batches=.4, order='start', stray=.03,
      stray_hurt=lambda rng, X, y, c: (X * [0, 1, 1, 1], y))
B.reg('bs_half_bad_calls', river, hurt=lambda rng, X, y, c: (X, np.where(rng.random(len(y)) < .7, 500 - y, y)), sizes=(400,) * 30, batches=.35)
B.reg('bs_late_decay', rent, hurt=lambda rng, X, y, c: (X, y * np.exp(-.12 * (c.b - 20))), sizes=(400,) * 36, batches=.4, order='end')
B.reg('bs_tiny_calls', plain3, hurt=lambda rng, X, y, c: (X, np.full(len(y), -50.)), sizes=(50,) * 120, batches=.35, order='runs')
B.reg('bs_uneven_calls', fuel, hurt=lambda rng, X, y, c: (X, y + rng.choice([-1, 1]) * rng.uniform(4, 30)),
      sizes=lambda rng: rng.integers(100, 400, 45), batches=.4, stray=.05, stray_hurt=lambda rng, X, y, c: (X, y * 10))
B.reg('bs_big_calls', sixty, hurt=lambda rng, X, y, c: (X[:, np.r_[30:60, 0:30]], y), sizes=(2000,) * 9, batches=.44)
B.reg('bs_noise_nodes', coarse, hurt=lambda rng, X, y, c: (rng.normal(0, 8, X.shape), rng.normal(0, 60, len(y))), sizes=(200,) * 50, batches=.44)
B.reg('bs_stray_only_heavy', skewed, hurt=lambda rng, X, y, c: (X + 15, y), sizes=(500,) * 24, batches=.13, stray=.1,
      stray_hurt=lambda rng, X, y, c: (X, y + 30))


# =============================================================== PCA laws
GY, GX = np.mgrid[0:8, 0:8] / 7.


def blobs(rng, n):
    cx, cy = rng.uniform(.3, .7, (2, n, 1))
    a = rng.gamma(20, .1, (n, 1))
    im = a * np.exp(-((GX.ravel() - cx) ** 2 / .05 + (GY.ravel() - cy) ** 2 / .09))
    return im * 4 + .3 * rng.normal(size=(n, 64))


EM = P.normal(size=(32, 4)) * [3, 2.4, 1.8, 1.3]


def eeg(rng, n):
    t = np.arange(n)
    S = np.column_stack([np.sin(2 * np.pi * w * t + rng.uniform(0, 6.3)) * np.sqrt(2) for w in (.011, .037, .083, .14)])
    return (S * (1 + .2 * rng.normal(size=(n, 1)))) @ EM.T + rng.normal(size=(n, 32))


F1, F2, F3 = P.beta(1, 1, (3, 100))


def genotypes(rng, n):
    q = rng.dirichlet([.5, .4, .3], n)
    return rng.binomial(2, np.clip(q @ np.stack([F1, F2, F3]), 0, 1)).astype(float)


SPD = np.array([30, 25, 20, 15, 10, 8, 6, 5, 3, 2.])
SPF = P.normal(size=(10, 2)) * [.35, .3]


def spending(rng, n):
    return SPD * np.exp(rng.normal(size=(n, 2)) @ SPF.T + .15 * rng.normal(size=(n, 10)))


MAT = np.array([.25, .5, 1, 2, 3, 5, 7, 10, 20, 30])
YL = np.column_stack([np.ones(10) * 6, 4 * (np.exp(-MAT / 3) - .4), 3 * (MAT / 3 * np.exp(1 - MAT / 3) - .5)])


def curves(rng, n):
    return rng.standard_t(6, (n, 3)) @ YL.T + .8 * rng.standard_t(6, (n, 10))


BI = P.normal(0, .7, 30)
BL = np.zeros((30, 2))
BL[:15, 0], BL[15:, 1] = 1.7, 1.1


def binary(rng, n):
    z = rng.normal(size=(n, 2)) @ BL.T + BI
    return (rng.random((n, 30)) < 1 / (1 + np.exp(-z))).astype(float)


AQ = np.linalg.qr(P.normal(size=(6, 2)))[0]


def horseshoe(rng, n):
    a = rng.uniform(0, 2.6, n)
    return 6 * np.column_stack([np.cos(a), .9 * np.sin(a)]) @ AQ.T + .4 * rng.normal(size=(n, 6))


HL = P.normal(size=(15, 2)) * [3, 2]
HS = P.uniform(.2, 2, 15)


def uneven(rng, n):
    return rng.normal(size=(n, 2)) @ HL.T + HS * rng.normal(size=(n, 15))


LL = P.normal(size=(25, 3)) * [2.5, 1.9, 1.4]


def laplace(rng, n):
    return rng.laplace(size=(n, 3)) @ LL.T + rng.normal(size=(n, 25))


H48 = np.arange(48)
FLW = np.stack([np.exp(-.5 * ((H48 - m) / w) ** 2) for m, w in ((16, 3), (35, 5), (26, 8), (42, 3))])


def traffic(rng, n):
    d = np.arange(n) % 7
    s = np.sin(2 * np.pi * np.arange(n) / 91)
    A = rng.gamma(20, 1, (n, 4)) * [5, 4, 2.5, 1.6]
    A[d >= 5, 0] *= .5
    A[:, 2] *= 1 + .15 * s
    return A @ FLW + 6 * rng.normal(size=(n, 48))


T4 = P.normal(size=(4, 1)) * 2 + .5


def tiny4(rng, n):
    return np.sort(rng.normal(size=(n, 1)), axis=0) @ T4.T + .5 * rng.normal(size=(n, 4)) + 10


def gridded(rng, n):
    Z = rng.choice([-2., -1, 0, 1, 2], (n, 7)) * [4, 3, 1.5, 1, 1, .5, .5]
    return Z @ GQ


GQ = np.linalg.qr(P.normal(size=(7, 7)))[0]
L30 = np.linalg.qr(P.normal(size=(30, 5)))[0] * [10, 8, 6, 5, 4]
L100 = np.linalg.qr(P.normal(size=(100, 3)))[0] * [12, 9, 7]
L10 = np.linalg.qr(P.normal(size=(10, 2)))[0] * [5, 3]


def fac(L, s=1.):
    def draw(rng, n):
        return rng.normal(size=(n, L.shape[1])) @ L.T + s * rng.normal(size=(n, len(L)))
    return draw


fac30, fac100, fac10 = fac(L30), fac(L100), fac(L10, .8)

B.pca('bp_blob_images', blobs, 3, 1000)
B.pca('bp_eeg', eeg, 4, 3000)
B.pca('bp_genotypes', genotypes, 2, 500)
B.pca('bp_spending', spending, 2, 1200)
B.pca('bp_yield_curves', curves, 3, 750)
B.pca('bp_binary_items', binary, 2, 1500)
B.pca('bp_horseshoe', horseshoe, 2, 200)
B.pca('bp_uneven_noise', uneven, 2, 350)
B.pca('bp_laplace', laplace, 3, 2500)
B.pca('bp_traffic_stream', traffic, 3, sizes=(182,) * 20)
B.pca('bp_tiny_sorted', tiny4, 1, 60)
B.pca('bp_gridded', gridded, 2, 900)


# --------------------------------------------------------------- dirty PCA: tables
B.pca('bp_dead_pixels', blobs, 3, 1500, lambda rng, X, c: np.where(np.isin(np.arange(64), [3, 12, 21, 57]), rng.choice([0., 25], (len(X), 1)), X), .25)
B.pca('bp_noise_images', blobs, 3, 1200, lambda rng, X, c: rng.uniform(0, 10, X.shape), .3)


def mains(rng, X, c):
    return X + 12 * np.sin(c.i * 1.9)[:, None] * np.cos(np.arange(32) * 1.1)


B.pca('bp_mains_hum', eeg, 4, 4000, mains, .35, 'middle')
B.pca('bp_electrode_off', eeg, 4, 2500, lambda rng, X, c: X + np.where(np.arange(32) == 7, 1., 0) * (60 * rng.normal(size=(len(X), 1)) + 80), .2, 'runs')
B.pca('bp_genotype_missing', genotypes, 2, 800, lambda rng, X, c: np.where(rng.random(X.shape) < .25, -9., X), .2)


def strand(rng, X, c):
    j = np.arange(100) % 2 == 0
    return np.where(j, 2 - X, X)


B.pca('bp_strand_flip', genotypes, 2, 1200, strand, .3, 'start')
B.pca('bp_spending_yearly', spending, 2, 700, lambda rng, X, c: X * np.where(np.arange(10) == 7, 52., 1.), .15)


def fake(rng, X, c):
    return np.round(rng.uniform(0, 200, X.shape), -1)


B.pca('bp_invented_diaries', spending, 2, 1000, fake, .25)
B.pca('bp_percent_bp', curves, 3, 1500, lambda rng, X, c: X * np.where(np.arange(10) >= rng.integers(6, 9), 40., 1.), .1)
B.pca('bp_random_clickers', binary, 2, 2000, lambda rng, X, c: 9. * (rng.random(X.shape) < .15), .2)
B.pca('bp_arc_outgroup', horseshoe, 2, 300, lambda rng, X, c: 20 * c.shared.normal(size=6) + .5 * rng.normal(size=X.shape), .3)
B.pca('bp_uneven_shear', uneven, 2, 900, lambda rng, X, c: X + 12 * rng.standard_t(4, (len(X), 1)) * np.where(np.arange(15) % 2, 1, -1), .3)


def third_factor(rng, X, c):
    Q = np.linalg.qr(c.shared.normal(size=(X.shape[1], 3)))[0]
    return X + (rng.normal(size=(len(X), 3)) * [25, 18, 12]) @ Q.T


B.pca('bp_extra_factors', fac30, 5, 1500, third_factor, .4)
B.pca('bp_wide_outgroup', fac100, 3, 150, lambda rng, X, c: 5 * c.shared.normal(size=100) + rng.normal(size=X.shape), .2)
B.pca('bp_wide_shared_line', fac100, 3, 900, lambda rng, X, c: X + 30 * rng.normal(size=(len(X), 1)) * np.sign(c.shared.normal(size=100)) / 10 * 2, .35, 'end')
B.pca('bp_tiny_typo', tiny4, 1, 80, lambda rng, X, c: X * np.where(np.arange(4) == rng.integers(0, 4, (len(X), 1)), 10., 1.), .1)
B.pca('bp_columns_rotated', fac10, 2, 5000, lambda rng, X, c: np.roll(X * 3, 3, axis=1) + 20 * (np.arange(10) == 4), .3, 'runs')

# streams
B.pca('bps_sensor_nodes', fac30, 5, hurt=lambda rng, X, c: X * np.where(rng.random(30) < .2, 8., 1.) + np.outer(rng.normal(size=len(X)), 4 * rng.normal(size=30)),
      sizes=(300,) * 40, batches=.45)
B.pca('bps_laplace_collusion', laplace, 3, hurt=lambda rng, X, c: (rng.normal(size=(len(X), 3)) * 12) @ np.linalg.qr(c.shared.normal(size=(25, 3)))[0].T +
      rng.normal(size=X.shape), sizes=(500,) * 30, batches=.43, order='start')
B.pca('bps_traffic_holidays', traffic, 3, hurt=lambda rng, X, c: X[:, rng.permutation(48)] * 2, sizes=(140,) * 40, batches=.3, stray=.03,
      stray_hurt=lambda rng, X, c: np.full_like(X, 900.) * (H48 % 3 == 0))
B.pca('bps_tiny_calls', fac10, 2, hurt=lambda rng, X, c: rng.standard_cauchy(X.shape) * 5, sizes=(50,) * 100, batches=.4)
B.pca('bps_big_calls', uneven, 2, hurt=lambda rng, X, c: X[:, ::-1] * np.linspace(1, 4, 15), sizes=(3000,) * 7, batches=.43, order='middle')
B.pca('bps_uneven_calls', gridded, 2, hurt=lambda rng, X, c: X + 15 * np.outer(rng.choice([-1, 1], len(X)), GQ[5] + GQ[6]),
      sizes=lambda rng: rng.integers(100, 600, 36), batches=.4, stray=.04, stray_hurt=lambda rng, X, c: X + 60 * rng.normal(size=X.shape))

KINDS = B.KINDS

if __name__ == '__main__':
    check(KINDS)
