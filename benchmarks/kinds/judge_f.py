"""Judgement kinds f: written from the README alone, without sight of the code."""
from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np

from interface import Kind, Sample, regression_truth, pca_truth

KINDS: list[Kind] = []


# ---- machinery -----------------------------------------------------------------------------------
# A law is law(rng, n, t) -> X, y (or X for PCA); t in (0, 1) is the time of each row.
# Dirt is dirt(rng, X, y, t, bid) -> mask of bad rows; it changes X and y in place.

def fixed(k):
    return np.random.default_rng(1_000_003 + k)


def _times(rng, n, order):
    if order == 'time':
        return (np.arange(n) + rng.random(n)) / n
    return rng.random(n)


def _finish(X, y, good, truth, d, sizes, order, rng):
    if sizes is None and order not in ('time', 'rand'):
        if order == 'y':
            k = np.argsort(y, kind='stable')
        elif order == '-y':
            k = np.argsort(-y, kind='stable')
        elif order == 'bad':                       # bad rows first
            k = np.argsort(good, kind='stable')
        else:
            k = np.argsort(X[:, order], kind='stable')
        X, good = X[k], good[k]
        y = None if y is None else y[k]
    return Sample(np.ascontiguousarray(X, float), None if y is None else np.asarray(y, float).copy(), good,
                  truth, d, sizes)


def _add(name, problem, law, n, dirt, order, sizes, truth_of, d, note):
    if sizes is not None:
        sizes = tuple(int(k) for k in sizes)
        n = sum(sizes)
        if order != 'rand':
            order = 'time'
    bid = None if sizes is None else np.repeat(np.arange(len(sizes)), sizes)

    def make(rng):
        t = _times(rng, n, order)
        if problem == 'regression':
            X, y = law(rng, n, t)
            y = np.array(y, float)
        else:
            X, y = law(rng, n, t), None
        X = np.array(X, float)
        good = np.ones(n, bool)
        if dirt is not None:
            good = ~dirt(rng, X, y, t, bid)
        return _finish(X, y, good, truth_of(), d, sizes, order, rng)

    KINDS.append(Kind(name, problem, dirt is None, make, note))


def reg(name, law, n=None, dirt=None, order='rand', sizes=None, truth=None, note=''):
    def draw(rng, rows):
        return law(rng, rows, rng.random(rows))

    def truth_of():
        return regression_truth(draw) if truth is None else np.asarray(truth, float)
    _add(name, 'regression', law, n, dirt, order, sizes, truth_of, None, note)


def pca(name, law, d, n=None, dirt=None, order='rand', sizes=None, note=''):
    def draw(rng, rows):
        return law(rng, rows, rng.random(rows))

    def truth_of():
        return pca_truth(draw, d)
    _add(name, 'pca', law, n, dirt, order, sizes, truth_of, d, note)


def rows_of(rng, n, share):
    m = np.zeros(n, bool)
    m[rng.choice(n, int(round(share * n)), replace=False)] = True
    return m


def block_of(rng, n, share):
    k = int(round(share * n))
    a = int(rng.integers(0, n - k + 1))
    m = np.zeros(n, bool)
    m[a:a + k] = True
    return m


def batches_of(rng, bid, share, where='rand'):
    k = int(bid[-1]) + 1
    m = int(np.floor(share * k + 1e-9))
    if where == 'start':
        pick = np.arange(m)
    elif where == 'end':
        pick = np.arange(k - m, k)
    elif where == 'mid':
        pick = (k - m) // 2 + np.arange(m)
    elif where == 'alt':
        pick = np.linspace(0, k - 1, m).astype(int)
    else:
        pick = rng.choice(k, m, replace=False)
    return np.isin(bid, pick), np.sort(pick)


def onehot(k, levels, full=False):
    return (k[:, None] == np.arange(0 if full else 1, levels)).astype(float)


def ar_cov(p, r):
    i = np.arange(p)
    return r ** np.abs(i[:, None] - i)


def normal_cov(rng, n, C):
    return rng.normal(size=(n, len(C))) @ np.linalg.cholesky(C).T


def std_t(rng, df, size):
    return rng.standard_t(df, size) / np.sqrt(df / (df - 2))


def std_gamma(rng, a, size):
    return (rng.gamma(a, 1, size) - a) / np.sqrt(a)


def ou(rng, n, r):
    from scipy.signal import lfilter
    e = rng.normal(size=n) * np.sqrt(1 - r * r)
    e[0] /= np.sqrt(1 - r * r)
    return lfilter([1.0], [1.0, -r], e)


# =================================================================================================
# honest regressions: tables
# =================================================================================================

def l_power_bill(rng, n, t):
    use = rng.lognormal(5.6, 0.5, n)
    people = 1 + rng.poisson(1.6, n)
    area = 40 + 25 * people + rng.gamma(3, 15, n)
    bill = 12 + 0.18 * use + 0.09 * np.maximum(use - 400, 0) + 0.8 * people + rng.gamma(1.5, 6, n)
    return np.c_[use, people, area], bill


reg('f_power_bill', l_power_bill, n=4000, order='time')


def l_hospital_stay(rng, n, t):
    age = np.clip(rng.normal(62, 17, n), 18, 98)
    comorb = rng.poisson(1.7, n)
    emerg = rng.random(n) < 0.35
    surg = rng.random(n) < 0.2
    mu = np.exp(0.2 + 0.012 * (age - 60) + 0.16 * comorb + 0.4 * emerg + 0.5 * surg)
    days = 1 + rng.poisson(mu * rng.gamma(1.6, 1 / 1.6, n))
    return np.c_[age, comorb, emerg, surg], days


reg('f_hospital_stay', l_hospital_stay, n=2500, order='y')


def l_ad_clicks(rng, n, t):
    dev = rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
    impressions = rng.lognormal(4, 0.7, n)
    hour = rng.integers(0, 24, n)
    mu = impressions * 0.03 * np.array([1, 1.5, 0.7, 2.0])[dev] * (1 + 0.4 * np.sin(2 * np.pi * hour / 24))
    return np.c_[impressions, onehot(dev, 4), np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24)], rng.poisson(mu)


reg('f_ad_clicks', l_ad_clicks, n=12000)


def l_taxi(rng, n, t):
    dist = rng.gamma(1.4, 2.6, n) + 0.4
    mins = dist * rng.lognormal(1.0, 0.3, n)
    tip = np.where(rng.random(n) < 0.45, 0, rng.choice([0.1, 0.15, 0.2], n))
    fare = 2.5 + 1.56 * dist + 0.35 * mins
    return np.c_[dist, mins, rng.integers(1, 5, n)], np.round((fare * (1 + tip) + rng.normal(0, 0.4, n)) * 2) / 2


reg('f_taxi_tips', l_taxi, n=7000, order='y')


def l_wages(rng, n, t):
    edu = rng.choice(5, n, p=[0.1, 0.35, 0.25, 0.2, 0.1])
    exper = rng.gamma(2.2, 7, n)
    hours = np.clip(rng.normal(39, 7, n), 8, 70)
    fem = rng.random(n) < 0.48
    mu = 9.6 + np.array([0, 0.15, 0.3, 0.55, 0.75])[edu] + 0.02 * exper - 0.0003 * exper ** 2 + 0.02 * (hours - 39) - 0.1 * fem
    return np.c_[onehot(edu, 5), exper, hours, fem], np.exp(mu + rng.normal(0, 0.35, n))


reg('f_wages', l_wages, n=9000, order=4)


def l_concrete(rng, n, t):
    cem, slag, ash = rng.gamma(8, 35, n), rng.gamma(1, 70, n) * (rng.random(n) < 0.55), rng.gamma(4, 25, n) * (rng.random(n) < 0.45)
    water = rng.normal(182, 20, n)
    plast = rng.gamma(2, 4, n) * (rng.random(n) < 0.6)
    age = rng.choice([3, 7, 14, 28, 56, 90, 180], n, p=[0.13, 0.12, 0.1, 0.42, 0.1, 0.08, 0.05])
    y = 0.6 * (cem + 0.7 * slag + 0.4 * ash) / water * 12 * np.log1p(age) / 3 + 0.4 * plast + rng.normal(0, 4, n)
    return np.c_[cem, slag, ash, water, plast, rng.normal(970, 75, n), rng.normal(770, 80, n), age], y


reg('f_concrete', l_concrete, n=1030, order=7)


def l_assay(rng, n, t):
    c = rng.choice([0.5, 1, 2, 5, 10, 20, 50], n) * 1e-6
    return c[:, None], 0.02 + 3.1e4 * c + (0.004 + 0.06 * 3.1e4 * c) * rng.normal(size=n)


reg('f_assay_fan', l_assay, n=140, order=0)


def l_claims(rng, n, t):
    age = rng.uniform(18, 80, n)
    power = rng.gamma(6, 15, n)
    region = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    bonus = np.clip(rng.normal(60, 15, n), 50, 150)
    hit = rng.random(n) < np.clip(0.12 + 0.002 * (45 - age) + 0.0006 * power, 0.02, 0.6)
    y = np.where(hit, rng.gamma(1.3, 500, n) * (1 + 0.01 * power) * (1 + 0.3 * (region == 3)), 0)
    return np.c_[age, power, bonus, onehot(region, 4), rng.integers(0, 2, n)], y


reg('f_claims_zeros', l_claims, n=30000)


def l_satisfaction(rng, n, t):
    g = rng.normal(size=n)
    X = np.clip(np.round(3.4 + 0.8 * g[:, None] + 0.8 * rng.normal(size=(n, 10))), 1, 5)
    return X, np.clip(np.round(0.6 + 0.3 * X[:, 0] + 0.25 * X[:, 3] + 0.25 * X[:, 7] + rng.normal(0, 0.7, n)), 1, 5)


reg('f_satisfaction', l_satisfaction, n=1500)


def l_detection_limit(rng, n, t):
    X = rng.normal(size=(n, 4))
    X[:, 1] = 0.7 * X[:, 0] + 0.7 * X[:, 1]
    return X, np.maximum(1.0 + X @ [0.8, 0.5, -0.6, 0.2] + rng.normal(0, 0.6, n), 0.5)


reg('f_detection_limit', l_detection_limit, n=3000)


_hood = fixed(1).normal(0, 25e3, 7)


def l_houses(rng, n, t):
    k = rng.choice(7, n)
    area = rng.lognormal(4.6, 0.35, n)
    rooms = np.maximum(1, np.round(area / 26 + rng.normal(0, 0.7, n)))
    lot = area * rng.lognormal(1, 0.6, n)
    age = rng.gamma(2, 18, n)
    price = (30e3 + 1900 * area + 5e3 * rooms + 30 * lot - 500 * age + _hood[k]) * rng.lognormal(0, 0.18, n)
    return np.c_[area, rooms, lot, age, rng.random(n) < 0.3, onehot(k, 7, full=True)], price


reg('f_houses_full_onehot', l_houses, n=5000, order='y')


def l_stock_dup(rng, n, t):
    m = max(2, n // 3)
    A = np.c_[rng.integers(1, 60, m), rng.gamma(2, 3, m), np.full(m, 7.0), rng.integers(0, 2, m), rng.normal(20, 6, m), np.full(m, 0.0)]
    b = 3 + A @ [0.4, 1.1, 0, 4, 0.3, 0] + rng.normal(0, 3, m)
    k = np.sort(rng.integers(0, m, n))
    return A[k], b[k]


reg('f_stock_duplicates', l_stock_dup, n=2400)


def l_small_trial(rng, n, t):
    X = np.c_[rng.normal(50, 12, n), rng.normal(27, 4, n), rng.integers(0, 2, n), rng.normal(130, 18, n), rng.gamma(2, 1, n)]
    return X, 20 + X @ [0.3, 0.9, -6, 0.2, 1.5] + 6 * std_t(rng, 4, n)


reg('f_small_trial', l_small_trial, n=100)


def l_turbine(rng, n, t):
    v = 8 * rng.weibull(2.0, n)
    temp = rng.normal(9, 7, n)
    p = 2000 / (1 + np.exp(-(v - 8.5) / 1.3)) * (1 - 0.003 * (temp - 9))
    return np.c_[v, temp], p + (10 + 0.05 * p) * rng.normal(size=n)


reg('f_turbine_curve', l_turbine, n=8000, order=0)


def l_bikes(rng, n, t):
    day = 365 * t
    h = np.floor((day % 1) * 24)
    temp = 12 - 10 * np.cos(2 * np.pi * t) + 4 * np.sin(2 * np.pi * (h - 9) / 24) + 3 * rng.normal(size=n)
    wk = (np.floor(day) % 7) < 5
    base = 60 + 6 * temp + 80 * np.sin(2 * np.pi * (h - 8) / 24) + wk * 90 * np.exp(-0.5 * ((h - 17.5) / 2.2) ** 2)
    base = np.maximum(base, 3)
    return np.c_[temp, np.sin(2 * np.pi * h / 24), np.cos(2 * np.pi * h / 24), wk], rng.poisson(base * rng.gamma(6, 1 / 6, n))


reg('f_bike_hours', l_bikes, n=8760, order='time')


def l_beta_stock(rng, n, t):
    vol = 0.008 * np.exp(0.5 * np.sin(9 * t) + 0.3 * rng.normal(size=n))
    F = vol[:, None] * std_t(rng, 5, (n, 3)) * [1, 0.6, 0.5]
    return F, 0.0002 + F @ [1.1, 0.4, -0.3] + vol * 0.9 * std_t(rng, 4, n)


reg('f_stock_beta', l_beta_stock, n=2500, order='time')


_snpf = fixed(2).uniform(0.05, 0.5, 40)
_snpb = fixed(3).normal(0, 0.6, 40) * (fixed(4).random(40) < 0.4)


def l_snps(rng, n, t):
    X = rng.binomial(2, _snpf, (n, 40)).astype(float)
    return X, 170 + X @ _snpb + 1.5 * std_t(rng, 6, n)


reg('f_snps', l_snps, n=1200, truth=np.append(_snpb, 170.0))


_wl60 = np.linspace(0, 1, 60)
_pk60 = np.stack([np.exp(-0.5 * ((_wl60 - c) / w) ** 2) for c, w in ((0.25, 0.08), (0.4, 0.1), (0.62, 0.07), (0.8, 0.12))])


def _spectra_truth():
    a, s = np.array([3.0, 4.0, 2.0, 5.0]), np.array([0.5, 0.4, 0.6, 0.3])          # gamma shape, scale
    C = (_pk60.T * (a * s * s)) @ _pk60 + 0.05 ** 2 * np.eye(60)
    b = np.linalg.solve(C, _pk60[0] * a[0] * s[0] ** 2)
    return np.append(b, a[0] * s[0] - (a * s) @ _pk60 @ b)


def l_nir(rng, n, t):
    c = rng.gamma([3.0, 4.0, 2.0, 5.0], [0.5, 0.4, 0.6, 0.3], (n, 4))
    return c @ _pk60 + 0.05 * rng.normal(size=(n, 60)), c[:, 0] + rng.normal(0, 0.03, n)


reg('f_nir_calibration', l_nir, n=800, truth=_spectra_truth())


def l_latency(rng, n, t):
    size = rng.lognormal(9, 0.8, n)
    hops = 3 + rng.poisson(6, n)
    load = rng.beta(2, 4, n)
    return np.c_[size, hops, load, rng.random(n) < 0.3], 10 + 0.0012 * size + 2.2 * hops + 40 * load + rng.normal(0, 3, n) + rng.exponential(15, n)


reg('f_web_latency', l_latency, n=15000, order='time')


def l_exam(rng, n, t):
    g = rng.normal(size=n)
    X = np.c_[np.clip(np.round(6 + 2 * g + rng.normal(0, 1, n)), 0, 10), rng.gamma(3, 3, n), rng.integers(0, 2, n), rng.integers(14, 19, n),
              np.round(100 * rng.beta(8, 1.5, n))]
    pr = 1 / (1 + np.exp(-(1.3 + 1.0 * g + 0.05 * (X[:, 1] - 9) + 0.01 * (X[:, 4] - 84))))
    return X, rng.binomial(40, pr)


reg('f_exam_ceiling', l_exam, n=900, order='-y')


def l_fleet(rng, n, t):
    diesel = rng.random(n) < 0.22
    load = rng.uniform(0, 12, n)
    km = rng.gamma(3, 60, n)
    slope = rng.random(n) < 0.5
    y = 5 + 0.10 * km + 0.9 * load + diesel * (3 + 0.02 * km) + 2 * slope + 3 * rng.normal(size=n)
    return np.c_[km, load, diesel, slope], y


reg('f_fleet_classes', l_fleet, n=3500, order=2)


def l_postage(rng, n, t):
    w = rng.gamma(1.8, 1.5, n)
    zone = rng.integers(1, 7, n)
    fee = 4 + 2.0 * np.ceil(w) + 0.9 * zone + 0.15 * zone * np.ceil(w) + rng.laplace(0, 0.6, n)
    return np.c_[w, zone], fee


reg('f_postage_steps', l_postage, n=6000)


def l_runoff(rng, n, t):
    wet = rng.random(n) < 0.4 + 0.15 * np.cos(2 * np.pi * 10 * t)
    rain = np.where(wet, rng.gamma(0.8, 9, n), 0)
    soil = np.clip(0.5 + 0.25 * np.cos(2 * np.pi * 10 * t) + 0.1 * rng.normal(size=n), 0.05, 1)
    y = 1.5 + 4 * soil + 0.25 * rain * soil + 0.004 * rain ** 2 + rng.gamma(1.2, 0.6, n)
    return np.c_[rain, soil, np.cos(2 * np.pi * 10 * t)], y


reg('f_runoff_dry_days', l_runoff, n=3650, order='time')


def l_dose(rng, n, t):
    dose = rng.choice([25, 50, 100, 200, 400], n)
    wt = rng.normal(72, 13, n)
    return np.c_[dose, wt], 0.11 * dose * (72 / np.clip(wt, 35, None)) ** 0.75 * rng.lognormal(0, 0.3, n)


reg('f_dose_levels', l_dose, n=240, order=0)


def l_two_grades(rng, n, t):
    X = rng.uniform(0, 100, (n, 2))
    s = np.where(rng.random(n) < 0.2, 6.0, 2.0)
    return X, 12 + X @ [0.5, -0.2] + s * rng.normal(size=n)


reg('f_two_grades_of_instrument', l_two_grades, n=5000)


def l_units(rng, n, t):
    z = normal_cov(rng, n, ar_cov(7, 0.6))
    s = np.array([1e-6, 1e-3, 1.0, 1e2, 1e4, 1e6, 3e5])
    m = np.array([5e-6, 0, 20, 1e3, 0, 4e6, -1e6])
    y = 1e3 * (3 + z @ [1, 0.5, -0.8, 0, 0.6, -0.4, 0.3] + 0.5 * z[:, 0] * z[:, 2] + std_gamma(rng, 1.0, n))
    return m + s * z, y


reg('f_units_from_micro_to_mega', l_units, n=2200)


def l_weekend(rng, n, t):
    wk = (np.floor(730 * t) % 7) >= 5                      # not among the columns
    X = np.c_[rng.normal(18, 6, n), rng.gamma(3, 2, n), rng.random(n) < 0.1]
    return X, 80 + X @ [1.5, 2, 12] + 18 * wk + 8 * rng.normal(size=n)


reg('f_cafe_unseen_weekends', l_weekend, n=1460, order='time')


def l_surcharge(rng, n, t):
    w = rng.gamma(3, 4, n)
    d = rng.uniform(5, 300, n)
    return np.c_[w, d, rng.random(n) < 0.25], 15 + 1.5 * w + 0.1 * d + 16 * (w > 18) + 4 * rng.normal(size=n)


reg('f_surcharge_over_limit', l_surcharge, n=4500, order=0)


# ---- honest regressions: streams

_site = fixed(5).normal(size=(24, 4))


def l_sites(rng, n, t):
    k = np.minimum((24 * t).astype(int), 23)
    X = rng.normal(size=(n, 4)) + 0.8 * _site[k]
    return X, 3 + X @ [1, -0.5, 0.7, 0.2] + 0.3 * _site[k, 0] + rng.normal(size=n)


reg('f_stream_sites', l_sites, sizes=[300] * 24)


def l_drift(rng, n, t):
    X = np.c_[rng.normal(20 + 3 * t, 4, n), rng.gamma(3, 2, n), rng.random(n)]
    return X, 5 + X @ [0.6, 1.2, 4.0] + 2.5 * t + 2 * rng.normal(size=n)


reg('f_stream_drift', l_drift, sizes=[250] * 40)


def l_tickets(rng, n, t):
    X = np.c_[rng.integers(1, 30, n), rng.random(n) < 0.5, rng.gamma(2, 2, n)]
    return X, rng.poisson(2 + 0.3 * X[:, 0] + 1.5 * X[:, 1] + 0.4 * X[:, 2])


reg('f_stream_tiny_calls_counts', l_tickets, sizes=[12] * 150)


def l_months(rng, n, t):
    s = np.cos(2 * np.pi * 3 * t)
    temp = 11 - 9 * s + 4 * rng.normal(size=n)
    wind = rng.weibull(2, n) * (5 + s)
    return np.c_[temp, wind], 200 - 4 * temp + 3 * wind + 0.12 * (temp - 12) ** 2 + (8 + 4 * s) * rng.normal(size=n)


reg('f_stream_heating_months', l_months, sizes=[400] * 36)


def l_growing(rng, n, t):
    X = normal_cov(rng, n, ar_cov(6, 0.5))
    return X, 1 + X @ [1, 1, 0, 0, -1, 0.5] + 1.5 * std_t(rng, 3.5, n)


reg('f_stream_growing_heavy_tails', l_growing, sizes=[int(50 * 1.2 ** k) for k in range(20)], truth=[1, 1, 0, 0, -1, 0.5, 1])


def l_meter_days(rng, n, t):
    h = rng.integers(0, 24, n)
    temp = 10 + 8 * np.sin(2 * np.pi * t) + 4 * np.sin(2 * np.pi * (h - 9) / 24) + 2 * rng.normal(size=n)
    y = 30 + 10 * np.exp(-0.5 * ((h - 19) / 2.5) ** 2) + 6 * np.exp(-0.5 * ((h - 8) / 2) ** 2) - 0.6 * temp + 2.5 * std_gamma(rng, 2, n)
    return np.c_[temp, h], y


reg('f_stream_meter_days', l_meter_days, sizes=[288] * 60)


_region = np.array([0, 0.6, -0.8, 1.1, -0.4, 0.3])


def l_regions(rng, n, t):
    k = np.minimum((36 * t).astype(int), 35) % 6
    X = rng.gamma(2, 1, (n, 3))
    return np.c_[X, onehot(k, 6)], 2 + X @ [1.5, 0.8, -0.7] + _region[k] + rng.normal(size=n)


reg('f_stream_region_flags', l_regions, sizes=[200] * 36)


def l_sweep(rng, n, t):
    x = 10 * t + 1.5 * rng.normal(size=n)
    z = rng.normal(size=n)
    return np.c_[x, z], 4 + 2 * x + 0.06 * x ** 2 + z + 1.5 * rng.normal(size=n)


reg('f_stream_sweep_with_bend', l_sweep, sizes=[300] * 30)


def l_shop(rng, n, t):
    visits = rng.poisson(8, n)
    member = rng.random(n) < 0.4
    buy = rng.random(n) < 0.4 + 0.2 * member
    return np.c_[visits, member, rng.normal(40, 12, n)], np.where(buy, rng.gamma(2, 6, n) * (1 + 0.1 * visits), 0)


reg('f_stream_shop_zeros_uneven', l_shop, sizes=[80, 900, 150, 60, 1200, 400, 400, 90, 700, 300, 50, 2000, 500, 120, 640, 330])


_b30 = fixed(6).normal(0, 1, 30)


def l_wide_stream(rng, n, t):
    f = rng.normal(size=(n, 3))
    X = f @ fixed(7).normal(0, 1, (3, 30)) + rng.normal(size=(n, 30))
    return X, X @ _b30 + 5 * std_gamma(rng, 0.8, n) + 10


reg('f_stream_wide_correlated_skewed', l_wide_stream, sizes=[400] * 25, truth=np.append(_b30, 10))


_vol = np.exp(0.5 * fixed(8).normal(size=50))


def l_vol_batches(rng, n, t):
    k = np.minimum((50 * t).astype(int), 49)
    X = rng.normal(size=(n, 5))
    return X, X @ [2, 0, -1, 0.5, 1] + _vol[k] * rng.normal(size=n)


reg('f_stream_varying_noise', l_vol_batches, sizes=[160] * 50, truth=[2, 0, -1, 0.5, 1, 0])


def l_durations(rng, n, t):
    X = np.c_[rng.integers(0, 2, n), rng.normal(60, 10, n), rng.gamma(2, 1, n)]
    return X, np.minimum(rng.weibull(1.3, n) * (20 + 10 * X[:, 0] - 0.3 * (X[:, 1] - 60) + 2 * X[:, 2]), 60)


reg('f_stream_censored_durations', l_durations, sizes=[350] * 28)


# =================================================================================================
# contaminated regressions: tables
# =================================================================================================

def l_parcels(rng, n, t):
    w = rng.gamma(3, 1.5, n)
    d = rng.uniform(20, 900, n)
    return np.c_[w, d], 3 + 1.4 * w + 0.012 * d + 0.8 * rng.normal(size=n)


def d_grams(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.2)
    X[b, 0] *= 1000
    return b


reg('f_parcels_grams', l_parcels, n=4000, dirt=d_grams, truth=[1.4, 0.012, 3])


def l_greenhouse(rng, n, t):
    X = np.c_[rng.normal(15, 6, n), rng.uniform(0, 800, n), rng.normal(60, 10, n)]
    return X, 6 + X @ [0.7, 0.01, -0.02] + rng.normal(size=n)


def d_fahrenheit(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.25)
    y[b] = 1.8 * y[b] + 32
    return b


reg('f_greenhouse_fahrenheit', l_greenhouse, n=3000, dirt=d_fahrenheit, order='time', truth=[0.7, 0.01, -0.02, 6])


def l_ledger(rng, n, t):
    X = np.c_[rng.integers(1, 20, n), rng.gamma(4, 5, n), onehot(rng.integers(0, 4, n), 4)]
    return X, 60 + X @ [8, 1.5, 10, -5, 12] + 6 * rng.normal(size=n)


def d_sign(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.3)
    y[b] *= -1
    return b


reg('f_ledger_signs', l_ledger, n=6000, dirt=d_sign, order='y', truth=[8, 1.5, 10, -5, 12, 60])


def l_pressure(rng, n, t):
    dia = rng.normal(80, 6, n)
    sys_ = 1.1 * dia + 45 + 6 * rng.normal(size=n)
    age = rng.normal(55, 12, n)
    return np.c_[sys_, dia, age], 10 + 0.8 * sys_ - 0.5 * dia + 0.3 * age + 3 * rng.normal(size=n)


def d_swap01(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.15)
    X[b, :2] = X[b, 1::-1]
    return b


reg('f_pressure_swapped', l_pressure, n=1500, dirt=d_swap01, truth=[0.8, -0.5, 0.3, 10])


def l_pump(rng, n, t):
    X = np.c_[50 + 10 * np.sin(40 * t) + 4 * rng.normal(size=n), rng.normal(20, 3, n), rng.uniform(0, 1, n)]
    return X, 5 + X @ [2.0, 1.0, 8.0] + 2 * rng.normal(size=n)


def d_stuck_x(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.22)
    X[b, 0] = 112.0
    return b


reg('f_pump_stuck_input', l_pump, n=5000, dirt=d_stuck_x, order='time', truth=[2, 1, 8, 5])


def l_air(rng, n, t):
    X = np.c_[rng.gamma(3, 10, n), rng.normal(15, 7, n), rng.beta(5, 3, n) * 100, rng.weibull(2, n) * 4]
    return X, 8 + X @ [0.5, 0.4, -0.1, -1.0] + 3 * std_gamma(rng, 3, n)


def d_999(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.08)
    X[b, rng.integers(0, 4, b.sum())] = -999.0
    return b


reg('f_air_quality_sentinel', l_air, n=9000, dirt=d_999, truth=[0.5, 0.4, -0.1, -1.0, 8])


def l_income(rng, n, t):
    X = np.c_[rng.integers(18, 70, n), rng.integers(0, 2, n), rng.poisson(1.2, n), rng.normal(12, 3, n)]
    return X, 500 + X @ [15, 200, -60, 120] + 350 * std_gamma(rng, 4, n)


def d_99999(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.03)
    y[b] = 99999
    return b


reg('f_income_refused_code', l_income, n=2000, dirt=d_99999, truth=[15, 200, -60, 120, 500])


def l_trucks(rng, n, t):
    X = normal_cov(rng, n, ar_cov(5, 0.4))
    return X, X @ [1, 2, 0, -1, 0.5] + rng.normal(size=n)


def d_cluster35(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.35)
    X[b] = [4, 4, -4, 3, 0] + 0.6 * rng.normal(size=(b.sum(), 5))
    y[b] = -25 + rng.normal(size=b.sum())
    return b


reg('f_far_cluster', l_trucks, n=3000, dirt=d_cluster35, truth=[1, 2, 0, -1, 0.5, 0])


def l_yield(rng, n, t):
    X = rng.normal(size=(n, 3))
    return X, 4 + X @ [1.5, -1, 0.3] + 0.8 * std_t(rng, 5, n)


def d_leverage(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.05)
    X[b, 0] = 20 + rng.normal(size=b.sum())
    y[b] = 4 + rng.normal(size=b.sum())
    return b


reg('f_leverage_group', l_yield, n=800, dirt=d_leverage, truth=[1.5, -1, 0.3, 4])


def l_orders(rng, n, t):
    X = np.c_[rng.poisson(12, n), rng.gamma(2, 20, n), rng.integers(0, 2, n)]
    return X, 10 + X @ [3, 0.5, 7] + 5 * rng.normal(size=n)


def d_copies(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.3)
    X[b] = [3, 150, 1]
    y[b] = 400.0
    return b


reg('f_orders_one_row_copied', l_orders, n=2500, dirt=d_copies, order='y', truth=[3, 0.5, 7, 10])


def l_scale(rng, n, t):
    X = np.c_[rng.uniform(10, 100, n), rng.uniform(0, 50, n)]
    return X, X @ [3, 1] + rng.normal(size=n)


def d_shuffle20(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.2)
    y[b] = rng.permutation(y[b]) * 1.0
    return b


def d_cutpaste(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.25)
    k = np.flatnonzero(b)
    y[k] = y[k][np.argsort(-(X[k] @ [3, 1]))][::-1]          # pasted back in sorted order
    return b


reg('f_targets_shuffled_block', l_scale, n=4000, dirt=d_shuffle20, order='time', truth=[3, 1, 0])
reg('f_targets_pasted_sorted', l_scale, n=1200, dirt=d_cutpaste, truth=[3, 1, 0])


def l_mill(rng, n, t):
    X = np.c_[rng.uniform(0, 10, n), rng.normal(size=n), rng.normal(size=n)]
    return X, 2 + X @ [1.5, 0.5, -0.5] + 0.7 * rng.normal(size=n)


def d_machine(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.4)
    y[b] = 30 - 0.8 * X[b, 0] + 2 * X[b, 1] + 0.7 * rng.normal(size=b.sum())
    return b


reg('f_second_machine', l_mill, n=5000, dirt=d_machine, truth=[1.5, 0.5, -0.5, 2])


def l_prices(rng, n, t):
    X = np.c_[rng.gamma(5, 10, n), rng.integers(0, 2, n), rng.normal(10, 2, n)]
    return X, 40 + X @ [1.2, 15, 3] + 5 * rng.normal(size=n)


def d_decimal(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.1)
    y[b] *= rng.choice([10, 100], b.sum())
    return b


reg('f_prices_decimal_point', l_prices, n=10000, dirt=d_decimal, truth=[1.2, 15, 3, 40])


def l_gauge(rng, n, t):
    X = np.c_[ou(rng, n, 0.9), rng.normal(size=n), np.sin(60 * t)]
    return X, 100 + X @ [3, 1, 2] + rng.normal(size=n)


def d_offset(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.3)
    y[b] += 18 + 6 * X[b, 0]
    return b


reg('f_gauge_offset_block', l_gauge, n=7000, dirt=d_offset, order='time', truth=[3, 1, 2, 100])


def l_adc(rng, n, t):
    X = np.c_[rng.uniform(0, 5, n), rng.normal(25, 5, n)]
    return X, np.round(200 + X @ [500, 4] + 25 * rng.normal(size=n))


def d_rail(rng, X, y, t, bid):
    b = rng.random(len(X)) < 0.24 * X[:, 0] / 5          # more often at high input
    y[b] = 8191.0
    return b


reg('f_adc_rail', l_adc, n=15000, dirt=d_rail, truth=[500, 4, 200])


def l_plant(rng, n, t):
    X = 50 + 8 * normal_cov(rng, n, ar_cov(8, 0.7))
    return X, X @ [1, 0, 0.5, 0, -0.5, 0, 0.2, 0.1] + 3 * rng.normal(size=n)


def d_other_file(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.28)
    m = b.sum()
    X[b] = rng.gamma(1.5, 30, (m, 8)) * [1, 0.1, 5, 1, 0.01, 2, 1, 10]
    y[b] = rng.lognormal(6, 0.6, m)
    return b


reg('f_overwritten_by_other_file', l_plant, n=3600, dirt=d_other_file, order='time', truth=[1, 0, 0.5, 0, -0.5, 0, 0.2, 0.1, 0])


def l_form(rng, n, t):
    X = np.c_[rng.integers(1, 100, n), rng.normal(5, 1, n), rng.integers(0, 2, n), rng.gamma(2, 2, n), rng.normal(0, 1, n), rng.random(n)]
    return X, 20 + X @ [0.3, 2, 4, 1, 2, -3] + 2 * rng.normal(size=n)


def d_garbage(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.07)
    k = np.flatnonzero(b)
    X[k, rng.integers(0, 6, len(k))] = np.floor(10 ** rng.uniform(4, 9, len(k)))
    two = k[rng.random(len(k)) < 0.3]
    y[two] = np.floor(10 ** rng.uniform(4, 7, len(two)))
    return b


reg('f_garbage_text', l_form, n=8000, dirt=d_garbage, truth=[0.3, 2, 4, 1, 2, -3, 20])


def l_radio(rng, n, t):
    X = rng.normal(size=(n, 6))
    return X, X @ np.arange(1, 7) / 3 + rng.normal(size=n)


def d_wide(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.3)
    y[b] += 60 * rng.normal(size=b.sum())
    return b


reg('f_wide_noise_rows', l_radio, n=2000, dirt=d_wide, truth=np.append(np.arange(1, 7) / 3, 0))


def l_cycle(rng, n, t):
    k = np.arange(n) if n < 100_000 else rng.integers(0, 24 * 365, n)
    h = 2 * np.pi * k / 24
    temp = 15 + 10 * np.sin(h) + 1.5 * rng.normal(size=n)
    rad = 300 + 250 * np.cos(h) + 40 * rng.normal(size=n)
    return np.c_[temp, rad], 5 + 2 * temp + 0.05 * rad + rng.normal(size=n)


def d_clock(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.27)
    k = np.flatnonzero(b)
    y[k] = np.roll(y[k], 7)
    return b


reg('f_clock_seven_hours_off', l_cycle, n=4380, dirt=d_clock, order='time', truth=[2, 0.05, 5])


def l_plane(rng, n, t):
    X = rng.normal(size=(n, 5)) * [1, 2, 1, 3, 1] + [0, 5, 0, 0, 1]
    return X, 3 + X @ [1, -1, 2, 0.5, 0] + rng.normal(size=n)


def d_plane(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.35)
    X[b, 1] += 25
    y[b] = X[b] @ [-2, 3, 0, 0, 1] - 10
    return b


reg('f_plane_of_outliers', l_plane, n=2800, dirt=d_plane, truth=[1, -1, 2, 0.5, 0, 3])


_b40 = np.round(fixed(9).normal(0, 1, 40), 2)


def l_panel40(rng, n, t):
    X = 10 + normal_cov(rng, n, ar_cov(40, 0.8))
    return X, 5 + X @ _b40 + 2 * rng.normal(size=n)


def d_cells(rng, X, y, t, bid):
    c = rng.random(X.shape) < 0.008
    X[c] += rng.choice([-1, 1], c.sum()) * rng.uniform(15, 60, c.sum())
    return c.any(1)


reg('f_scattered_cells', l_panel40, n=4000, dirt=d_cells, truth=np.append(_b40, 5))


def l_mixed(rng, n, t):
    X = np.c_[rng.gamma(3, 4, n), rng.normal(30, 5, n), rng.integers(0, 2, n), rng.random(n) * 10]
    return X, 10 + X @ [2, 1, 5, -1] + 2.5 * rng.normal(size=n)


def d_mixed(rng, X, y, t, bid):
    k = rng.permutation(len(X))
    m = len(X) // 20
    y[k[:m]] *= -1
    X[k[m:2 * m], 1] = -99
    y[k[2 * m:3 * m]] = 0
    X[k[3 * m:4 * m], 0] *= 1000
    y[k[4 * m:5 * m]] += 300 * rng.normal(size=m)
    b = np.zeros(len(X), bool)
    b[k[:5 * m]] = True
    return b


reg('f_five_dirts_at_once', l_mixed, n=6000, dirt=d_mixed, truth=[2, 1, 5, -1, 10])


def l_skew(rng, n, t):
    X = np.c_[rng.lognormal(0, 0.6, n), rng.random(n), rng.poisson(3, n)]
    return X, 2 + X @ [1.5, 3, 0.4] + rng.exponential(1.0, n)


def d_low(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.15)
    y[b] = -20 - 4 * X[b, 0] + rng.normal(size=b.sum())
    return b


reg('f_skewed_noise_and_negative_rows', l_skew, n=3000, dirt=d_low, truth=[1.5, 3, 0.4, 3])


def l_fan(rng, n, t):
    x = rng.uniform(1, 20, n)
    z = rng.normal(size=n)
    return np.c_[x, z], 10 + 3 * x + z + (0.5 + 0.1 * x) * rng.normal(size=n)


def d_flip25(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.25)
    y[b] = -y[b]
    return b


reg('f_fan_and_flips', l_fan, n=3000, dirt=d_flip25, order=0, truth=[3, 1, 10])


def l_counter(rng, n, t):
    X = np.c_[rng.integers(0, 24, n), rng.random(n) < 0.3, rng.gamma(3, 1, n)]
    return X, rng.poisson(15 + 0.8 * X[:, 0] + 6 * X[:, 1] + 2 * X[:, 2])


def d_hundred(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.1)
    y[b] *= 100
    return b


reg('f_counts_times_hundred', l_counter, n=12000, dirt=d_hundred, truth=[0.8, 6, 2, 15])


_cty = np.array([0, 12, -8, 20, 5, -15, 9, 3.0])


def l_travel(rng, n, t):
    k = rng.integers(0, 8, n)
    nights = 1 + rng.poisson(3, n)
    stars = rng.integers(2, 6, n)
    return np.c_[nights, stars, onehot(k, 8)], 100 + 70 * nights + 30 * stars + _cty[k] + 25 * rng.normal(size=n)


def d_yen(rng, X, y, t, bid):
    b = rng.random(len(X)) < np.where(X[:, 4] > 0, 0.42, 0.12)
    y[b] *= 131.0
    return b


reg('f_travel_currency', l_travel, n=5000, dirt=d_yen, order=4, truth=np.r_[70, 30, _cty[1:], 100])


def l_lognx(rng, n, t):
    X = rng.lognormal(1, 0.8, (n, 3))
    return X, 5 + X @ [2, 1, 0.5] + 2 * std_t(rng, 5, n)


def d_refund(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.2)
    y[b] = -60 - 2 * X[b, 0] + 2 * rng.normal(size=b.sum())
    return b


reg('f_refunds_long_tailed_inputs', l_lognx, n=4000, dirt=d_refund, order='y', truth=[2, 1, 0.5, 5])


_b100 = fixed(10).normal(0, 0.5, 100)


def l_hundred(rng, n, t):
    X = rng.normal(size=(n, 100))
    return X, 1 + X @ _b100 + rng.normal(size=n)


_dir100 = fixed(11).normal(size=100)
_dir100 /= np.linalg.norm(_dir100)


def d_hundred_cluster(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.2)
    X[b] += 12 * _dir100
    y[b] = 30 + 2 * rng.normal(size=b.sum())
    return b


reg('f_hundred_columns_cluster', l_hundred, n=3000, dirt=d_hundred_cluster, truth=np.append(_b100, 1))


def l_sales(rng, n, t):
    X = np.c_[rng.integers(1, 366, n), rng.gamma(3, 100, n), rng.integers(0, 5, n)]
    return X, 200 + X @ [0.3, 0.8, 25] + 40 * std_gamma(rng, 4, n)


def d_date(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.12)
    X[b, 0] = 20230000 + 100 * rng.integers(1, 13, b.sum()) + rng.integers(1, 29, b.sum())
    return b


reg('f_dates_as_numbers', l_sales, n=3000, dirt=d_date, truth=[0.3, 0.8, 25, 200])


def l_overflow(rng, n, t):
    X = np.c_[rng.uniform(0, 100, n), rng.normal(size=n)]
    return X, 5000 + X @ [200, 300] + 500 * rng.normal(size=n)


def d_wrap(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.14)
    y[b] -= 65536
    return b


reg('f_integer_overflow', l_overflow, n=20000, dirt=d_wrap, order='time', truth=[200, 300, 5000])


def l_few(rng, n, t):
    X = np.c_[rng.normal(7, 0.5, n), rng.normal(25, 3, n)]
    return X, 40 + X @ [-3, 1] + 1.2 * rng.normal(size=n)


def d_few(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.15)
    y[b] = 8 + 0.5 * X[b, 1] + 0.5 * rng.normal(size=b.sum())
    return b


reg('f_few_rows_wrong_tube', l_few, n=120, dirt=d_few, truth=[-3, 1, 40])


# ---- contaminated regressions: streams

def l_nodes(rng, n, t):
    X = rng.normal(size=(n, 5))
    return X, 2 + X @ [1, 0.5, -1, 2, 0] + rng.normal(size=n)


def d_liars(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.45, 'start')
    y[b] = -15 + X[b] @ [5, -5, 3, 0, 2] + rng.normal(size=b.sum())
    return b


reg('f_stream_liars_at_start', l_nodes, sizes=[300] * 40, dirt=d_liars, truth=[1, 0.5, -1, 2, 0, 2])


def l_rods(rng, n, t):
    X = np.c_[rng.normal(30, 5, n), rng.uniform(1, 4, n)]
    return X, 1 + X @ [0.8, 6] + rng.normal(size=n)


def d_inches(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.3)
    X[b, 0] *= 25.4
    return b


reg('f_stream_inches', l_rods, sizes=[200] * 50, dirt=d_inches, truth=[0.8, 6, 1])


def l_flow(rng, n, t):
    X = np.c_[rng.gamma(4, 3, n), rng.normal(10, 2, n), rng.normal(10, 2, n)]
    return X, 12 + X @ [1.5, 0.5, 0.8] + 1.5 * std_gamma(rng, 2, n)


def d_dead(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.25, 'start')
    y[b] = 0.0
    return b


reg('f_stream_dead_meter_first', l_flow, sizes=[500] * 24, dirt=d_dead, truth=[1.5, 0.5, 0.8, 12])


def l_sharp(rng, n, t):
    X = rng.normal(size=(n, 4))
    return X, X @ [3, -2, 4, 1] + 0.7 * rng.normal(size=n)


def d_shuffled_batches(rng, X, y, t, bid):
    b, pick = batches_of(rng, bid, 0.35)
    for k in pick:
        i = np.flatnonzero(bid == k)
        y[i] = rng.permutation(y[i])
    return b


reg('f_stream_shuffled_targets', l_sharp, sizes=[250] * 40, dirt=d_shuffled_batches, truth=[3, -2, 4, 1, 0])


def d_both(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.2, 'alt')
    y[b] = 40 - 3 * X[b, 1] + rng.normal(size=b.sum())
    r = rows_of(rng, len(X), 0.12) & ~b
    X[r, 2] = 99.0
    return b | r


reg('f_stream_bad_batches_and_bad_rows', l_nodes, sizes=[400] * 30, dirt=d_both, truth=[1, 0.5, -1, 2, 0, 2])


def l_pings(rng, n, t):
    X = np.c_[rng.gamma(2, 2, n), rng.normal(size=n)]
    return X, 5 + X @ [2, 1] + rng.normal(size=n)


def d_pings(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.15)
    y[b] += 60 * X[b, 1] + 40
    return b


reg('f_stream_small_calls', l_pings, sizes=[25] * 160, dirt=d_pings, truth=[2, 1, 5])


def l_drifting(rng, n, t):
    X = np.c_[rng.normal(4 * t, 2, n), rng.normal(size=n), rng.random(n)]
    return X, 10 + X @ [1, 2, 3] + 2 * t + 1.2 * rng.normal(size=n)


def d_mid_block(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.33, 'mid')
    y[b] = -30 - 2 * X[b, 0] + rng.normal(size=b.sum())
    return b


reg('f_stream_drift_and_bad_spell', l_drifting, sizes=[300] * 36, dirt=d_mid_block)


_clin = fixed(12).normal(0, 0.5, (20, 3))


def l_clinics(rng, n, t):
    k = np.minimum((20 * t).astype(int), 19)
    X = rng.normal(size=(n, 3)) + _clin[k]
    return X, 20 + X @ [2, -1, 1] + 0.5 * _clin[k, 1] + rng.normal(size=n)


def d_clinics(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.2, 'end')
    y[b] *= -1
    return b


reg('f_stream_clinics_sign', l_clinics, sizes=[450] * 20, dirt=d_clinics)


def l_boiler(rng, n, t):
    X = np.c_[80 + 10 * np.sin(200 * t) + 3 * rng.normal(size=n), rng.gamma(3, 2, n)]
    return X, 3 + X @ [1.5, 2] + 2 * rng.normal(size=n)


def d_spells(rng, X, y, t, bid):
    b = np.zeros(len(X), bool)
    n = len(X)
    for a in (np.arange(9) + 0.7 * rng.random(9)) / 9 * n:
        b[int(a):int(a) + int(0.025 * n)] = True
    X[b, 0] = 0.0
    return b


reg('f_stream_stuck_spells', l_boiler, sizes=[330] * 40, dirt=d_spells, truth=[1.5, 2, 3])


def l_branches(rng, n, t):
    X = np.c_[rng.poisson(20, n), rng.gamma(2, 10, n), rng.normal(size=n), rng.random(n) < 0.5]
    return X, 50 + X @ [2, 1, 3, 10] + 6 * std_gamma(rng, 3, n)


def d_large_bad(rng, X, y, t, bid):
    pick = np.isin(bid, [1, 4, 9, 13])
    y[pick] = y[pick] * 100
    return pick


reg('f_stream_uneven_cents', l_branches, sizes=[300, 900, 200, 400, 800, 350, 250, 600, 150, 1000, 500, 300, 450, 700, 320, 280, 640, 410],
    dirt=d_large_bad, truth=[2, 1, 3, 10, 50])


def l_tails(rng, n, t):
    X = rng.normal(size=(n, 4))
    return X, X @ [1, 1, -2, 0] + 5 + std_t(rng, 4, n)


def d_noise_batches(rng, X, y, t, bid):
    b, pick = batches_of(rng, bid, 0.4)
    for k in pick:
        i = bid == k
        y[i] = 40 * rng.normal() + X[i] @ rng.normal(0, 15, 4) + 30 * rng.normal(size=i.sum())
    return b


reg('f_stream_noisy_nodes_heavy_tails', l_tails, sizes=[220] * 45, dirt=d_noise_batches, truth=[1, 1, -2, 0, 5])


def l_schema(rng, n, t):
    X = np.c_[rng.normal(100, 10, n), rng.normal(20, 4, n), rng.normal(5, 1, n), rng.gamma(2, 1, n)]
    return X, X @ [0.5, 1, 3, -2] + 2 * rng.normal(size=n)


def d_schema(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.25)
    X[b] = X[b][:, [1, 2, 3, 0]]
    return b


reg('f_stream_columns_rotated', l_schema, sizes=[260] * 32, dirt=d_schema, truth=[0.5, 1, 3, -2, 0])


def d_every_batch(rng, X, y, t, bid):
    b = rng.random(len(X)) < 0.3
    off = rng.choice([-1, 1], bid[-1] + 1) * rng.uniform(20, 60, bid[-1] + 1)
    y[b] += off[bid[b]] + 10 * np.abs(X[b, 0]) * np.sign(off[bid[b]])
    return b


reg('f_stream_bad_rows_in_every_batch', l_nodes, sizes=[350] * 30, dirt=d_every_batch, truth=[1, 0.5, -1, 2, 0, 2])


def d_replay(rng, X, y, t, bid):
    b, pick = batches_of(rng, bid, 0.4, 'alt')
    x0, y0 = rng.normal(size=(240, 4)) + 3, rng.normal(0, 1, 240) - 35
    for k in pick:
        i = bid == k
        X[i], y[i] = x0, y0
    return b


reg('f_stream_replayed_batch', l_tails, sizes=[240] * 35, dirt=d_replay, truth=[1, 1, -2, 0, 5])


# =================================================================================================
# honest PCA: tables
# =================================================================================================

def factor_law(k, p, sd, noise, mean=0.0):
    Q = np.linalg.qr(fixed(k).normal(size=(p, len(sd))))[0]
    mu = mean * fixed(k + 500).normal(size=p)

    def law(rng, n, t):
        return mu + (rng.normal(size=(n, len(sd))) * sd) @ Q.T + noise * rng.normal(size=(n, p))
    law.Q, law.mu = Q, mu
    return law


l_f20 = factor_law(20, 20, np.array([5.0, 4.0, 3.0]), 1.0, 5.0)
pca('f_pca_three_factors', l_f20, 3, n=2000)


_wl100 = np.linspace(0, 1, 100)
_pk100 = np.stack([np.exp(-0.5 * ((_wl100 - c) / w) ** 2) for c, w in ((0.2, 0.05), (0.45, 0.08), (0.75, 0.06))])


def p_raman(rng, n, t):
    c = rng.lognormal([0.5, 0.3, 0.2], [0.4, 0.45, 0.4], (n, 3))
    return c @ _pk100 + 0.05 * rng.normal(size=(n, 100)) + 0.3


pca('f_pca_raman', p_raman, 3, n=600)


_g8 = np.stack(np.meshgrid(np.arange(8), np.arange(8))).reshape(2, -1)
_K64 = np.exp(-((_g8[:, :, None] - _g8[:, None, :]) ** 2).sum(0) / (2 * 4.0 ** 2))
_L64 = np.linalg.cholesky(_K64 + 1e-6 * np.eye(64))


def p_patches(rng, n, t):
    con = rng.gamma(2, 10, n)
    return np.clip(np.round(128 + con[:, None] * (rng.normal(size=(n, 64)) @ _L64.T) + 2 * rng.normal(size=(n, 64))), 0, 255)


pca('f_pca_image_patches', p_patches, 3, n=5000)


_topic = fixed(30).dirichlet(np.full(30, 0.4), 3)


def p_words(rng, n, t):
    w = rng.dirichlet([1, 1, 1], n)
    return rng.poisson(150 * w @ _topic).astype(float)


pca('f_pca_word_counts', p_words, 2, n=4000)


_lik = np.linalg.qr(fixed(31).normal(size=(15, 2)))[0] * [3.2, 2.4]


def p_likert(rng, n, t):
    return np.clip(np.round(3 + rng.normal(size=(n, 2)) @ _lik.T + 0.6 * rng.normal(size=(n, 15))), 1, 5)


pca('f_pca_likert', p_likert, 2, n=1800, order=0)


_bet = fixed(32).uniform(0.5, 1.5, 25)


def p_returns(rng, n, t):
    m = 0.01 * std_t(rng, 4, n)
    return m[:, None] * _bet + 0.012 * std_t(rng, 4, (n, 25))


pca('f_pca_returns', p_returns, 1, n=3000, order='time')


def p_units(rng, n, t):
    z = normal_cov(rng, n, ar_cov(6, 0.5))
    return z * [1e-6, 1e-3, 1, 1e2, 1e4, 1e6] + [1e-5, 0, 3, 500, -1e4, 7e6]


pca('f_pca_units', p_units, 1, n=1500)


def p_customers(rng, n, t):
    k = rng.choice(4, n, p=[0.45, 0.3, 0.15, 0.1])
    f = rng.normal(size=n)
    return np.c_[onehot(k, 4, full=True), 2 * f[:, None] + rng.normal(size=(n, 3)), rng.random(n) < 0.2, rng.poisson(2, n) * 0.3]


pca('f_pca_mixed_flags', p_customers, 1, n=6000, order=0)


_basket = np.linalg.qr(fixed(33).normal(size=(20, 2)))[0]


def p_basket(rng, n, t):
    g = rng.gamma(2, 1, (n, 2)) * [1.6, 1.2]
    A = np.abs(_basket).T * 6
    return np.where(rng.random((n, 20)) < 0.5, g @ A * rng.lognormal(-0.1, 0.4, (n, 20)), 0)


pca('f_pca_baskets_zeros', p_basket, 1, n=5000)


_c3 = 4 * np.linalg.qr(fixed(34).normal(size=(10, 3)))[0].T


def p_three_classes(rng, n, t):
    return _c3[rng.choice(3, n)] + rng.normal(size=(n, 10))


pca('f_pca_three_classes', p_three_classes, 2, n=1500, order=0)


_two = fixed(35).normal(size=(2, 12))


def p_two_classes(rng, n, t):
    k = rng.random(n) < 0.25
    f = rng.normal(size=n) * 3
    u, v = _two[0] / np.linalg.norm(_two[0]), _two[1] / np.linalg.norm(_two[1])
    return 3.5 * k[:, None] * u + f[:, None] * v + 0.7 * rng.normal(size=(n, 12))


pca('f_pca_unequal_classes', p_two_classes, 2, n=2400)


def p_iris(rng, n, t):
    f = rng.normal(size=n)
    return np.array([5, 3, 4, 1, 6, 2, 3, 7.0]) + f[:, None] * [1, 0.3, 1.5, 0.6, 0.2, 0.9, 0.4, 1.1] + 0.4 * rng.normal(size=(n, 8))


pca('f_pca_few_rows', p_iris, 1, n=100)

l_short_wide = factor_law(36, 100, np.array([9.0, 7.0]), 0.6, 2.0)
pca('f_pca_rows_near_columns', l_short_wide, 2, n=150)


_ph = fixed(37).uniform(0, 2 * np.pi, 24)


def p_ring(rng, n, t):
    h = 2 * np.pi * 60 * t
    return 20 + 5 * np.sin(h[:, None] + _ph) + 1.5 * rng.normal(size=(n, 24))


pca('f_pca_daily_ring', p_ring, 2, n=1440, order='time')


def p_dups(rng, n, t):
    m = max(2, n // 4)
    f = rng.normal(size=(m, 2)) * [4, 2.5]
    A = np.zeros((m, 12))
    A[:, :5] = f[:, :1] * [1, -1, 0.5, 1, 0.3] + 0.8 * rng.normal(size=(m, 5))
    A[:, 5:10] = f[:, 1:] * [1, 1, -0.6, 0.8, 1] + 0.8 * rng.normal(size=(m, 5))
    A[:, 10] = 42.0
    return A[np.sort(rng.integers(0, m, n))]


pca('f_pca_constants_duplicates', p_dups, 2, n=2000)


def p_allometry(rng, n, t):
    s = 0.35 * rng.normal(size=n)
    return np.exp([4, 3, 5, 2, 4.5, 3.5, 3] + s[:, None] * [1, 1.1, 0.9, 1.3, 1, 0.8, 1.2] + 0.12 * rng.normal(size=(n, 7)))


pca('f_pca_allometry', p_allometry, 1, n=700, order=2)


def p_shares(rng, n, t):
    f = rng.normal(size=(n, 2))
    z = np.exp(f @ np.array([[1, 0.6, -0.5, -0.8, 0, 0.2, 0], [0, -0.7, 0.8, -0.3, 0.6, 0, 0.3]]) * 0.8 + 0.25 * rng.normal(size=(n, 7)))
    return z / z.sum(1, keepdims=True)


pca('f_pca_compositions', p_shares, 2, n=3000)


_opt = np.linspace(-1.2, 1.2, 18)


def p_gradient(rng, n, t):
    g = rng.uniform(-1, 1, n)
    return rng.poisson(20 * np.exp(-0.5 * ((g[:, None] - _opt) / 0.5) ** 2)).astype(float)


pca('f_pca_species_gradient', p_gradient, 2, n=1200, order=3)


_fx = np.linalg.qr(fixed(38).normal(size=(12, 2)))[0]


def p_vol(rng, n, t):
    v = np.exp(0.6 * np.sin(12 * t) + 0.4 * np.sin(31 * t))
    return v[:, None] * ((rng.normal(size=(n, 2)) * [3, 2]) @ _fx.T + 0.7 * rng.normal(size=(n, 12)))


pca('f_pca_volatility', p_vol, 2, n=3000, order='time')


def p_lod(rng, n, t):
    f = rng.normal(size=(n, 2)) * [1.0, 0.8]
    z = np.exp(f @ np.array([[1, 1, 0.8, 0.9, 0, 0, 0, 0.2, 0.1], [0, 0, 0.1, 0, 1, 0.9, 1, 0.6, 0]]) * 0.6 + 0.2 * rng.normal(size=(n, 9)))
    return np.maximum(z, 0.5)


pca('f_pca_detection_limits', p_lod, 2, n=2500)


# ---- honest PCA: streams

_dr = np.linalg.qr(fixed(39).normal(size=(10, 3)))[0]


def p_drift(rng, n, t):
    return (6 * (t - 0.5))[:, None] * _dr[:, 0] + (rng.normal(size=(n, 2)) * [3, 2]) @ _dr[:, :2].T + 0.8 * rng.normal(size=(n, 10))


pca('f_pca_stream_drift', p_drift, 2, sizes=[250] * 40)


_ps = fixed(40).normal(size=(20, 2))


def p_sites(rng, n, t):
    k = np.minimum((20 * t).astype(int), 19)
    return (_ps[k] * 1.0 + rng.normal(size=(n, 2)) * [3, 2.5]) @ _bas15.T + rng.normal(size=(n, 15)) * 0.7


_bas15 = np.linalg.qr(fixed(41).normal(size=(15, 2)))[0]
pca('f_pca_stream_sites', p_sites, 2, sizes=[400] * 20)

l_tiny = factor_law(42, 6, np.array([3.0]), 1.0, 3.0)
pca('f_pca_stream_tiny_calls', l_tiny, 1, sizes=[15] * 200)


_lat = np.linspace(-1, 1, 30)


def p_stations(rng, n, t):
    s = np.cos(2 * np.pi * 4 * t)
    w = rng.normal(size=(n, 2)) * [4, 2.5]
    return 10 - 6 * s[:, None] * (1 + 0.3 * _lat) + w[:, :1] + w[:, 1:] * _lat + rng.normal(size=(n, 30))


pca('f_pca_stream_stations_seasons', p_stations, 2, sizes=[300] * 48)


def p_heavy(rng, n, t):
    return 3 * std_t(rng, 4.5, (n, 2)) * [1.5, 1] @ _bas15.T + std_t(rng, 5, (n, 15))


pca('f_pca_stream_uneven_heavy', p_heavy, 2, sizes=[200, 1500, 90, 600, 600, 60, 2500, 300, 450, 120, 800, 1000, 70, 350, 900])


_pv = np.exp(0.4 * fixed(43).normal(size=40))


def p_varying(rng, n, t):
    k = np.minimum((40 * t).astype(int), 39)
    return _pv[k, None] * ((rng.normal(size=(n, 2)) * [4, 3]) @ _bas15.T + rng.normal(size=(n, 15)))


pca('f_pca_stream_varying_spread', p_varying, 2, sizes=[200] * 40)


def p_logs(rng, n, t):
    lvl = np.exp(0.4 * np.sin(2 * np.pi * 7 * t)) * rng.gamma(4, 0.25, n)
    return rng.poisson(lvl[:, None] * np.array([80, 40, 30, 10, 5, 60, 20, 3.0])).astype(float)


pca('f_pca_stream_web_logs', p_logs, 1, sizes=[168] * 60)


_pic = np.stack([np.ones(50), np.linspace(-1, 1, 50), np.cos(np.linspace(0, 2 * np.pi, 50))])


def p_light(rng, n, t):
    a = rng.normal(size=(n, 3)) * [6, 5, 4] + np.c_[4 * np.sin(20 * t), 2 * np.cos(13 * t), 0 * t]
    return 100 + a @ _pic + 3 * rng.normal(size=(n, 50))


pca('f_pca_stream_lighting', p_light, 3, sizes=[350] * 30)


# =================================================================================================
# contaminated PCA: tables
# =================================================================================================

def orth_dirs(Q, k, m):
    """m orthonormal directions orthogonal to Q."""
    A = fixed(k).normal(size=(Q.shape[0], m))
    A -= Q @ (Q.T @ A)
    return np.linalg.qr(A)[0]


q_a = factor_law(50, 12, np.array([4.0, 3.0]), 0.8, 3.0)
_oa = orth_dirs(q_a.Q, 51, 2)


def e_cluster(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.2)
    X[b] = q_a.mu + 20 * _oa[:, 0] + 0.8 * rng.normal(size=(b.sum(), 12))
    return b


pca('f_pca_far_cluster', q_a, 2, n=2500, dirt=e_cluster)


def q_body(rng, n, t):
    f = rng.normal(size=n)
    return np.array([1.7, 70, 38, 95, 85, 100]) + f[:, None] * [0.05, 9, 2, 7, 9, 7] + rng.normal(size=(n, 6)) * [0.03, 3, 1, 2, 3, 2]


def e_cm(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.15)
    X[b, 0] *= 100
    return b


pca('f_pca_body_metres', q_body, 1, n=1800, dirt=e_cm)


q_sg = factor_law(52, 10, np.array([3.0, 2.2]), 0.6)


def q_signed(rng, n, t):
    X = q_sg(rng, n, t)
    X[:, 4] += 15
    return X


def e_sign(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.3)
    X[b, 4] *= -1
    return b


pca('f_pca_sign_of_a_column', q_signed, 2, n=4000, dirt=e_sign, order='time')

q_sw = factor_law(53, 8, np.array([3.0]), 0.7)


def q_means(rng, n, t):
    return q_sw(rng, n, t) + np.array([10, 60, 20, 0, 35, 5, 80, 15.0])


def e_swap(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.2)
    X[b] = X[b][:, [0, 6, 2, 3, 4, 5, 1, 7]]
    return b


pca('f_pca_swapped_columns', q_means, 1, n=1200, dirt=e_swap)


_sens = np.linalg.qr(fixed(54).normal(size=(16, 2)))[0]


def q_sensors(rng, n, t):
    f = np.c_[6 * np.sin(80 * t), 4 * np.cos(37 * t)] + rng.normal(size=(n, 2))
    return 25 + f @ _sens.T + 0.5 * rng.normal(size=(n, 16))


def e_rail(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.25)
    X[b, 3] = 100.0
    X[b, 9] = 0.0
    return b


pca('f_pca_sensors_on_rail', q_sensors, 2, n=6000, dirt=e_rail, order='time')


q_sn = factor_law(55, 14, np.array([5.0, 4.0, 3.0]), 1.0, 10.0)


def e_9999(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.05)
    X[b, rng.integers(0, 14, b.sum())] = -9999
    return b


pca('f_pca_sentinels', q_sn, 3, n=3000, dirt=e_9999)

q_c50 = factor_law(56, 50, np.array([9.0, 7.0, 6.0]), 0.8, 1.0)


def e_cells(rng, X, y, t, bid):
    c = rng.random(X.shape) < 0.006
    X[c] += rng.choice([-1, 1], c.sum()) * rng.uniform(25, 120, c.sum())
    return c.any(1)


pca('f_pca_scattered_cells', q_c50, 3, n=3000, dirt=e_cells)

q_wn = factor_law(57, 10, np.array([4.0, 3.0]), 0.7)


_wsd = np.r_[60, 10, 40, 10, 10, 30, 10, 10, 50, 10.0]


def e_wide(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.38)
    X[b] = rng.normal(size=(b.sum(), 10)) * _wsd
    return b


pca('f_pca_wide_noise_rows', q_wn, 2, n=2000, dirt=e_wide)

q_pl = factor_law(58, 15, np.array([4.0, 3.0, 2.5]), 0.6, 2.0)
_opl = orth_dirs(q_pl.Q, 59, 2)


def e_plane(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.3)
    X[b] = q_pl.mu + (rng.normal(size=(b.sum(), 2)) * [25, 20]) @ _opl.T + 0.1 * rng.normal(size=(b.sum(), 15))
    return b


pca('f_pca_plane_of_outliers', q_pl, 3, n=3500, dirt=e_plane)

q_cp = factor_law(60, 9, np.array([3.0, 2.5]), 0.8, 3.0)


def e_copies(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.35)
    X[b] = np.array([30, -10, 5, 0, 22, 7, -18, 3, 11.0])
    return b


pca('f_pca_one_row_copied', q_cp, 2, n=1500, dirt=e_copies, order='bad')

q_of = factor_law(61, 11, np.array([5.0, 4.0]), 1.0, 2.0)


def e_other(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.25)
    X[b] = rng.gamma(1.2, 25, (b.sum(), 11)) * [1, 0.1, 2, 1, 0.5, 3, 0.01, 1, 1, 0.2, 1]
    return b


pca('f_pca_overwritten_block', q_of, 2, n=8000, dirt=e_other, order='time')


def q_lab(rng, n, t):
    f = rng.normal(size=(n, 2))
    return np.array([140, 4.2, 100, 25, 90, 5, 1, 2.4]) + f[:, :1] * [6, 0.1, 5, 1, 2, 0.2, 0, 0] + f[:, 1:] * [0, 0.2, 0, 0, 12, 1, 0.1, 0.1] \
        + rng.normal(size=(n, 8)) * [1.5, 0.3, 2, 2, 3, 1, 0.2, 0.1]


def e_ten(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.1)
    k = np.flatnonzero(b)
    j = rng.choice([0, 2, 3, 4], len(k))
    X[k, j] *= 10
    return b


pca('f_pca_lab_decimal_point', q_lab, 2, n=5000, dirt=e_ten)


q_gb = factor_law(62, 7, np.array([4.0]), 1.0, 5.0)


def e_garbage(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.08)
    k = np.flatnonzero(b)
    for _ in range(2):
        X[k, rng.integers(0, 7, len(k))] = np.floor(10 ** rng.uniform(3, 7, len(k)))
    return b


pca('f_pca_garbage_text', q_gb, 1, n=25000, dirt=e_garbage)


def q_detector(rng, n, t):
    c = rng.gamma(4, 1, (n, 2)) * [900, 700]
    return 1500 + c @ _pk60[[0, 2]] + 60 * rng.normal(size=(n, 60))


def e_sat(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.12)
    k = np.flatnonzero(b)
    for i in k:
        a = rng.integers(0, 50)
        X[i, a:a + 10] = 65535
    return b


pca('f_pca_detector_saturated', q_detector, 2, n=1500, dirt=e_sat)

q_lv = factor_law(63, 5, np.array([2.5]), 0.8)
_olv = orth_dirs(q_lv.Q, 64, 1)[:, 0]


def e_lev(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.03)
    X[b] += rng.choice([-1, 1], b.sum())[:, None] * rng.uniform(40, 90, b.sum())[:, None] * _olv
    return b


pca('f_pca_few_far_points', q_lv, 1, n=400, dirt=e_lev)


def q_faces(rng, n, t):
    return 128 + 22 * (rng.normal(size=(n, 64)) @ _L64.T) + 3 * rng.normal(size=(n, 64))


def e_occlude(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.3)
    r, c = (_g8[1] >= 4), (_g8[0] < 4)
    X[np.ix_(np.flatnonzero(b), np.flatnonzero(r & c))] = rng.choice([0.0, 255.0], (b.sum(), 1))
    return b


pca('f_pca_images_occluded', q_faces, 3, n=2500, dirt=e_occlude)


def e_cosmic(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.2)
    for i in np.flatnonzero(b):
        a = rng.integers(0, 99)
        X[i, a:a + 2] += rng.uniform(15, 60)
    return b


pca('f_pca_cosmic_spikes', p_raman, 3, n=1200, dirt=e_cosmic)

q_mx = factor_law(65, 10, np.array([4.0, 3.0]), 0.7, 8.0)


def e_mixed(rng, X, y, t, bid):
    k = rng.permutation(len(X))
    m = len(X) // 16
    X[k[:m], 2] = -999
    X[k[m:2 * m]] *= 10
    X[k[2 * m:3 * m]] = 0
    X[k[3 * m:4 * m]] += 40 * rng.normal(size=(m, 10))
    X[k[4 * m:5 * m], 7] += 70
    b = np.zeros(len(X), bool)
    b[k[:5 * m]] = True
    return b


pca('f_pca_five_dirts', q_mx, 2, n=4000, dirt=e_mixed)


def e_heavy_cluster(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.3)
    X[b] += 60 * _oh
    return b


_oh = orth_dirs(_bas15, 66, 1)[:, 0]
pca('f_pca_heavy_tails_and_cluster', p_heavy, 2, n=5000, dirt=e_heavy_cluster)


def e_negative(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.18)
    k = np.flatnonzero(b)
    X[k, rng.integers(0, 7, len(k))] = -1000.0
    return b


pca('f_pca_skewed_with_codes', p_allometry, 1, n=2000, dirt=e_negative)


def e_baseline(rng, X, y, t, bid):
    b = rows_of(rng, len(X), 0.3)
    X[b] += rng.uniform(4, 9, (b.sum(), 1)) * (1 + _wl100)
    return b


pca('f_pca_raised_baselines', p_raman, 3, n=2000, dirt=e_baseline)


def e_misaligned(rng, X, y, t, bid):
    b = block_of(rng, len(X), 0.25)
    X[b] = np.roll(X[b], 1, axis=1)
    return b


pca('f_pca_columns_slipped', q_lab, 2, n=3000, dirt=e_misaligned, order='time')


# ---- contaminated PCA: streams

q_s1 = factor_law(70, 12, np.array([4.0, 3.0]), 1.0, 1.0)
_os1 = orth_dirs(q_s1.Q, 71, 2)


def e_agree(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.45, 'start')
    X[b] = (rng.normal(size=(b.sum(), 2)) * [15, 12]) @ _os1.T + rng.normal(size=(b.sum(), 12))
    return b


pca('f_pca_stream_liars_agree', q_s1, 2, sizes=[300] * 40, dirt=e_agree)


def e_each(rng, X, y, t, bid):
    b, pick = batches_of(rng, bid, 0.4)
    for k in pick:
        i = bid == k
        v = rng.normal(size=12)
        X[i] += rng.normal(0, 30, (i.sum(), 1)) * v / np.linalg.norm(v)
    return b


pca('f_pca_stream_each_its_own_lie', q_s1, 2, sizes=[250] * 36, dirt=e_each)


def q_flow(rng, n, t):
    f = rng.normal(size=(n, 2)) * [5, 3]
    A = np.array([[1, 1, 0.5, 0, 0, 0.2, 0.8, 0], [0, 0.2, 0, 1, 1, 0.7, 0, -0.6]])
    return 30 + f @ A + rng.normal(size=(n, 8))


def e_milli(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.3)
    X[b, 2] *= 1000
    X[b, 5] *= 1000
    return b


pca('f_pca_stream_milli', q_flow, 2, sizes=[220] * 40, dirt=e_milli)


def e_drift_bad(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.35, 'mid')
    X[b] = 8 * std_t(rng, 5, (b.sum(), 10)) @ np.diag([0.1, 0.1, 4, 0.1, 0.1, 3, 0.1, 0.1, 0.1, 0.1]) + 5
    return b


pca('f_pca_stream_drift_and_bad_spell', p_drift, 2, sizes=[280] * 34, dirt=e_drift_bad)


def e_tiny(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.15)
    X[b, 1] += 30
    X[b, 4] -= 25
    return b


pca('f_pca_stream_small_calls', l_tiny, 1, sizes=[20] * 200, dirt=e_tiny)

q_s2 = factor_law(72, 20, np.array([6.0, 5.0, 4.0]), 1.0, 3.0)
_os2 = orth_dirs(q_s2.Q, 73, 3)


def e_rows30(rng, X, y, t, bid):
    b = rng.random(len(X)) < 0.3
    X[b] += rng.uniform(25, 50, (b.sum(), 1)) * _os2[:, rng.integers(0, 3, b.sum())].T
    return b


pca('f_pca_stream_bad_rows_in_every_batch', q_s2, 3, sizes=[400] * 25, dirt=e_rows30)


def e_both(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.25, 'alt')
    X[b] = np.roll(X[b], 7, axis=1) * 4
    r = (rng.random(len(X)) < 0.1) & ~b
    X[r, 11] = 500.0
    return b | r


pca('f_pca_stream_batches_and_rows', q_s2, 3, sizes=[350] * 32, dirt=e_both)


def e_site_liar(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.1)
    X[b, 0] = rng.normal(0, 60, b.sum())
    return b


pca('f_pca_stream_sites_and_liars', p_sites, 2, sizes=[500] * 20, dirt=e_site_liar)


def e_dead(rng, X, y, t, bid):
    b, _ = batches_of(rng, bid, 0.3, 'end')
    X[b] = -200.0 * (np.arange(30) % 3 == 0) + 0.01 * rng.normal(size=(b.sum(), 30))
    return b


pca('f_pca_stream_dead_stations', p_stations, 2, sizes=[300] * 40, dirt=e_dead)


def e_uneven(rng, X, y, t, bid):
    b = np.isin(bid, [0, 3, 6, 7, 12])
    X[b] = X[b][:, ::-1] * np.array([1, -1, 6, 1, 1, 8, 1, 1])
    return b


pca('f_pca_stream_uneven_files', q_flow, 2, sizes=[600, 300, 900, 500, 1200, 250, 800, 200, 700, 1100, 350, 450, 1000, 640, 150, 980, 420, 300],
    dirt=e_uneven)


# =================================================================================================

def _self_check(only=None):
    import time
    import interface as I
    bad_names = [k.name for k in KINDS]
    assert len(set(bad_names)) == len(bad_names), 'names'
    assert all(k.name.startswith('f_') for k in KINDS)
    flags = []
    counts = {}
    streams = 0
    for kind in KINDS:
        if only and only not in kind.name:
            continue
        counts[(kind.problem, kind.honest)] = counts.get((kind.problem, kind.honest), 0) + 1
        oe, pe, share, mine = [], [], [], []
        t0 = time.perf_counter()
        kind.make(np.random.default_rng(1000))                  # truth is cached here
        first = time.perf_counter() - t0
        slow = 0.0
        for seed in (1000, 1001, 1002):
            t0 = time.perf_counter()
            s = kind.make(np.random.default_rng(seed))
            slow = max(slow, time.perf_counter() - t0)
            n, p = s.X.shape
            assert 100 <= n <= 30000 and 1 <= p <= 100, (kind.name, n, p)
            assert s.good.shape == (n,) and s.good.dtype == bool, kind.name
            assert np.isfinite(s.X).all() and np.isfinite(s.truth).all(), kind.name
            if s.sizes is not None:
                assert sum(s.sizes) == n and min(s.sizes) > 0, kind.name
            if kind.problem == 'regression':
                assert s.y.shape == (n,) and np.isfinite(s.y).all() and s.truth.shape == (p + 1,) and s.n_components is None, kind.name
            else:
                assert s.y is None and s.truth.shape == (p, s.n_components), kind.name
                assert np.allclose(s.truth.T @ s.truth, np.eye(s.n_components), atol=1e-8), kind.name
            again = kind.make(np.random.default_rng(seed))
            assert np.array_equal(s.X, again.X) and np.array_equal(s.good, again.good), kind.name
            assert s.y is None or np.array_equal(s.y, again.y), kind.name
            o = I.error(I.oracle(s), s)
            oe.append(o / (s.y[s.good].std() if s.y is not None else np.sqrt(s.n_components)))
            pe.append(I.error(I.plain(s), s) / o)
            share.append(1 - s.good.mean())
            if s.sizes is not None:
                edges = np.cumsum((0,) + s.sizes)
                mine.append(np.mean([s.good[a:b].mean() < 0.5 for a, b in zip(edges, edges[1:])]))
        streams += bool(mine)
        f = []
        if slow > 0.5:
            f.append(f'SLOW {slow:.2f}')
        if not kind.honest and min(pe) < 2:
            f.append('WEAK')
        if kind.honest and max(share) > 0:
            f.append('BADROWS')
        if not kind.honest and not 0.02 < min(share) <= max(share) <= (0.45 if mine else 0.401):
            f.append('SHARE')
        if mine and max(mine) > 0.4501:
            f.append('BATCHSHARE')
        if max(oe) > 0.3:
            f.append('ORACLE')
        if f:
            flags.append((kind.name, f))
        print(f'{kind.name:42s} {kind.problem[:3]} {"honest" if kind.honest else "dirty ":6s} {"stream" if mine else "table ":6s} oracle {np.mean(oe):.4f} (rel) '
              f'plain/oracle {np.mean(pe):9.1f} bad {np.mean(share):.3f} batches {np.mean(mine) if mine else 0:.2f} {n}x{p} '
              f'first {first:.1f}s make {slow:.3f}s {" ".join(f)}', flush=True)
    print(counts, 'streams', streams, 'of', sum(counts.values()))
    print('flags:', flags if flags else 'none: clean')
    return not flags


if __name__ == '__main__':
    sys.exit(0 if _self_check(*sys.argv[1:2]) else 1)
