"""Judgement kinds g: tables and streams as met in factories, hospitals, shops and labs.

Written without sight of the code. One mechanism a kind; honest kinds hold no bad row at all.
"""
from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np

from interface import Kind, Sample, regression_truth, pca_truth

KINDS = []


# ---- builders ----------------------------------------------------------------------------------

def _slices(sizes):
    ends = np.cumsum(sizes)
    return [slice(int(e - s), int(e)) for s, e in zip(sizes, ends)]


def _add(problem, name, draw, n=None, sizes=None, dirt=None, sort=None, stream=None, truth=None, d=None,
         rows=None, note=''):
    """draw(rng, n): honest law. stream(rng, sizes): the same law laid out in batches. sort(X, y): order of
    rows. dirt(rng, X, y, good, batches): spoils in place."""
    sizes = None if sizes is None else tuple(int(s) for s in sizes)
    total = n if sizes is None else sum(sizes)

    def make(rng):
        if truth is not None:
            t = np.array(truth, float)
        elif problem == 'regression':
            t = regression_truth(draw, rows=rows) if rows else regression_truth(draw)
        else:
            t = pca_truth(draw, d, rows=rows or 100_000)
        got = stream(rng, sizes) if stream is not None else draw(rng, total)
        X, y = got if problem == 'regression' else (got, None)
        X = np.array(X, float)
        y = None if y is None else np.array(y, float)
        if sort is not None:
            o = np.argsort(sort(X, y), kind='stable')
            X = X[o]
            y = None if y is None else y[o]
        good = np.ones(len(X), bool)
        if dirt is not None:
            dirt(rng, X, y, good, None if sizes is None else _slices(sizes))
        return Sample(X, y, good, t.copy(), d, sizes)

    KINDS.append(Kind('g_' + name, problem, dirt is None, make, note))


def reg(name, draw, **kw):
    _add('regression', name, draw, **kw)


def pca(name, draw, d, **kw):
    _add('pca', name, draw, d=d, **kw)


def rows_of(rng, n, share):
    return rng.permutation(n)[:int(round(share * n))]


def stretch_of(rng, n, share):
    k = int(round(share * n))
    a = int(rng.integers(0, n - k + 1))
    return np.arange(a, a + k)


def bad_batches(rng, k, share, how):
    b = int(share * k + 1e-9)
    if how == 'start':
        return list(range(b))
    if how == 'end':
        return list(range(k - b, k))
    if how == 'alternate':
        return list(range(0, 2 * b, 2))
    if how == 'both ends':
        h = b // 2
        return list(range(h)) + list(range(k - (b - h), k))
    if how == 'middle':
        a = (k - b) // 2
        return list(range(a, a + b))
    return sorted(int(i) for i in rng.permutation(k)[:b])


def dummies(c, levels):
    return np.column_stack([(c == j).astype(float) for j in range(1, levels)])


def ar1(rng, n, rho):
    e = rng.normal(size=n) * np.sqrt(1 - rho * rho)
    out = np.empty(n)
    last = rng.normal()
    for i in range(n):
        last = rho * last + e[i]
        out[i] = last
    return out


# ================================================================================================
# laws for regression
# ================================================================================================

def d_house(rng, n):
    area = np.round(np.exp(rng.normal(np.log(110), .33, n)))
    rooms = np.clip(np.round(area / 28 + .7 * rng.normal(size=n)), 1, 10)
    age = np.clip(np.round(rng.gamma(2.2, 14, n)), 0, 110)
    zone = rng.choice(4, n, p=[.45, .30, .15, .10])
    income = np.exp(rng.normal(1.2, .38, n))
    rate = np.array([1.0, 1.18, 1.35, .82])[zone]
    price = 1900 * area ** .95 * rate * (income / 3.3) ** .3 * np.exp(-.002 * age + .11 * rng.normal(size=n))
    price = np.where(rng.random(n) < .6, np.round(price / 5000) * 5000, np.round(price / 100) * 100)
    return np.column_stack([area, rooms, age, income, dummies(zone, 4)]), np.minimum(price, 500_000)


def d_bike(rng, n):
    hour = rng.integers(0, 24, n).astype(float)
    day = rng.integers(0, 365, n)
    temp = 12 - 10 * np.cos(2 * np.pi * day / 365) + 4 * np.sin(2 * np.pi * (hour - 9) / 24) + 3 * rng.normal(size=n)
    hum = np.clip(65 - 1.0 * (temp - 12) + 14 * rng.normal(size=n), 15, 100)
    wind = rng.gamma(2.5, 5, n)
    work = (rng.random(n) < 5 / 7).astype(float)
    rush = np.exp(-.5 * ((hour - 8) / 1.6) ** 2) + 1.2 * np.exp(-.5 * ((hour - 17.5) / 2.2) ** 2)
    free = np.exp(-.5 * ((hour - 14) / 4) ** 2)
    rate = (20 + 260 * (work * rush + (1 - work) * free)) * np.exp(.035 * (temp - 12) - .006 * (hum - 60) - .008 * wind)
    y = rng.poisson(rate * rng.gamma(6, 1 / 6, n)).astype(float)
    return np.column_stack([hour, temp, hum, wind, work]), y


FREQ = np.array([200, 250, 315, 400, 500, 630, 800, 1000, 1250, 1600, 2000, 2500, 3150, 4000, 5000, 6300, 8000, 10000.])


def d_airfoil(rng, n):
    f = FREQ[rng.choice(18, n)]
    chord = np.array([.0254, .0508, .1016, .1524, .2286, .3048])[rng.choice(6, n)]
    angle = np.round(rng.choice(6, n) * (1.1 - chord), 1) * 3
    speed = np.array([31.7, 39.6, 55.5, 71.3])[rng.choice(4, n)]
    thick = 1e-3 * np.exp(rng.normal(1.3, .2, n)) * (chord / .1) ** .6 * (1 + .12 * angle)
    st = np.log10(f * thick / speed)
    y = 126 - 9 * (st + .9) ** 2 + 12 * np.log10(speed / 50) - .25 * angle - 4 * chord + 2.2 * rng.normal(size=n)
    return np.column_stack([f, angle, chord, speed, thick]), np.round(y, 3)


def d_concrete(rng, n):
    cement = np.round(rng.uniform(110, 520, n), 1)
    slag = np.where(rng.random(n) < .45, 0, np.round(rng.uniform(20, 300, n), 1))
    ash = np.where(rng.random(n) < .55, 0, np.round(rng.uniform(70, 195, n), 1))
    plast = np.where(rng.random(n) < .37, 0, np.round(rng.gamma(5, 1.9, n), 1))
    water = np.round(195 - 1.7 * plast + 12 * rng.normal(size=n), 1)
    coarse = np.round(rng.normal(972, 77, n), 1)
    fine = np.round(rng.normal(773, 80, n), 1)
    age = rng.choice([3., 7, 14, 28, 56, 90, 180, 365], n, p=[.13, .12, .06, .42, .09, .11, .04, .03])
    binder = cement + .8 * slag + .5 * ash
    y = 26 * (binder / water) ** .9 * (.30 + .12 * np.log(age)) - 8 + .3 * plast + 5 * rng.normal(size=n)
    return np.column_stack([cement, slag, ash, water, plast, coarse, fine, age]), np.round(np.maximum(y, 2), 2)


_SHAPE_ROOF = np.array([110.25, 122.5, 147., 122.5, 147, 110.25, 220.5, 220.5, 220.5, 220.5, 220.5, 220.5])
_SHAPE_WALL = np.array([294, 318.5, 294, 343, 318.5, 343., 245, 294, 318.5, 343, 367.5, 416.5])


def d_building(rng, n):
    i = rng.choice(12, n)
    roof, wall = _SHAPE_ROOF[i], _SHAPE_WALL[i]
    high = np.where(i < 6, 7.0, 3.5)
    orient = rng.integers(2, 6, n).astype(float)
    glaze = np.array([0, .1, .25, .4])[rng.choice(4, n, p=[.0625, .3125, .3125, .3125])]
    dist = np.where(glaze == 0, 0, rng.integers(1, 6, n))
    y = 2.0 + 3.0 * high + .03 * wall - .02 * roof + 20 * glaze * high / 5 + .8 * np.sqrt(glaze) * dist ** .3
    y = y * np.exp(.05 * rng.normal(size=n))
    return np.column_stack([wall, roof, wall + 2 * roof, high, orient, glaze, dist]), np.round(y, 2)


def d_wine(rng, n):
    acid = np.round(rng.gamma(22, .38, n), 1)
    vol = np.round(rng.gamma(8, .066, n), 2)
    sugar = np.round(1 + rng.gamma(1.2, 1.6, n), 1)
    chlor = np.round(np.exp(rng.normal(-2.5, .35, n)), 3)
    so2 = np.round(rng.gamma(2.2, 20, n))
    alc = np.round(9 + rng.gamma(2.0, .75, n), 1)
    dens = .9955 + .0004 * (sugar - 2.5) - .0012 * (alc - 10.4) + .0005 * (acid - 8.3) + .0004 * rng.normal(size=n)
    sulph = np.round(np.exp(rng.normal(-.44, .22, n)), 2)
    q = 5.6 + .30 * (alc - 10.4) - 1.1 * (vol - .53) + .9 * (sulph - .66) - 1.5 * (chlor - .087) - .003 * (so2 - 44)
    y = np.clip(np.round(q + .62 * rng.normal(size=n)), 3, 8)
    return np.column_stack([acid, vol, sugar, chlor, so2, np.round(dens, 5), sulph, alc]), y


def d_abalone(rng, n):
    sex = rng.choice(3, n, p=[.36, .32, .32])
    t = np.where(sex == 2, rng.beta(4, 4, n) * .6 + .1, rng.beta(6, 3.2, n) * .62 + .18)
    length = np.round(t / .005) * .005
    diam = np.round(.8 * t * np.exp(.03 * rng.normal(size=n)) / .005) * .005
    height = np.round(.27 * t * np.exp(.12 * rng.normal(size=n)) / .005) * .005
    whole = 5.4 * t ** 3 * np.exp(.13 * rng.normal(size=n))
    shuck = .43 * whole * np.exp(.15 * rng.normal(size=n))
    shell = .29 * whole * np.exp(.14 * rng.normal(size=n))
    rings = np.round(np.exp(1.15 + 2.0 * t + .22 * rng.normal(size=n) * (.5 + t)) * (shell / (.29 * whole)) ** .5)
    return np.column_stack([length, diam, height, whole, shuck, shell, dummies(sex, 3)]), rings


_VAC = np.sort(np.random.default_rng(5).uniform(25, 82, 80))


def d_plant(rng, n):
    temp = np.clip(rng.normal(19.7, 7.4, n), 1.8, 37)
    vac = _VAC[np.clip(np.round(79 * (.5 + .055 * (temp - 19.7) + .14 * rng.normal(size=n))), 0, 79).astype(int)]
    pres = 1013 - .3 * (temp - 19.7) + 5 * rng.normal(size=n)
    hum = np.clip(73 - 1.1 * (temp - 19.7) + 11 * rng.normal(size=n), 25, 100)
    y = 454 - 1.95 * (temp - 19.7) + .012 * (temp - 19.7) ** 2 - .24 * (vac - 54) + .06 * (pres - 1013) - .16 * (hum - 73)
    return np.round(np.column_stack([temp, vac, pres, hum]), 2), np.round(y + 4.2 * rng.normal(size=n), 2)


_CARATS = np.array([.3, .4, .5, .7, .9, 1.0, 1.2, 1.5, 2.0])


def d_diamonds(rng, n):
    c = _CARATS[rng.choice(9, n, p=[.24, .10, .14, .15, .08, .14, .05, .07, .03])]
    c = np.round(np.where(rng.random(n) < .35, c, c + rng.gamma(1.2, .035, n)), 2)
    color = rng.integers(1, 8, n).astype(float)
    clar = np.clip(np.round(rng.normal(4, 1.6, n)), 1, 8)
    depth = np.round(rng.normal(61.7, 1.4, n), 1)
    width = np.round(6.45 * c ** (1 / 3) * np.exp(.012 * rng.normal(size=n)), 2)
    lp = 8.1 + 1.72 * np.log(c) - .075 * (color - 3) + .11 * (clar - 4) + .07 * (c >= 1) + .13 * rng.normal(size=n)
    return np.column_stack([c, color, clar, depth, width]), np.round(np.exp(lp))


def d_medical(rng, n):
    age = rng.integers(18, 65, n).astype(float)
    bmi = np.round(rng.normal(30.6, 6, n), 2)
    kids = np.minimum(rng.poisson(1.1, n), 5).astype(float)
    sex = (rng.random(n) < .5).astype(float)
    smoke = (rng.random(n) < .2).astype(float)
    base = 1500 + 3.4 * age ** 2 + 500 * kids
    y = base + smoke * (13000 + 450 * (bmi - 30) + 9000 * (bmi > 30)) + rng.gamma(.35, 6500, n)
    return np.column_stack([age, sex, bmi, kids, smoke]), np.round(y, 2)


def d_dose(rng, n):
    dose = np.array([0, 1, 2, 5, 10, 20.])[rng.choice(6, n)]
    weight = np.round(rng.normal(71, 12, n))
    sex = (rng.random(n) < .5).astype(float)
    y = 12 + 38 * dose / (dose + 4.5) - .12 * (weight - 71) + 2 * sex + 4.5 * rng.normal(size=n)
    return np.column_stack([dose, weight, sex]), y


def d_lod(rng, n):
    g = rng.normal(size=(n, 3))
    raw = np.exp(np.column_stack([.2 + .9 * g[:, 0], -1 + .8 * (.6 * g[:, 0] + .8 * g[:, 1]), 1 + .6 * g[:, 2]]))
    lod = np.array([1.0, .3, 1.5])
    seen = np.where(raw < lod, lod / 2, np.round(raw, 2))
    y = 20 + 3 * np.log(raw[:, 0] + .5) + 4 * raw[:, 1] ** .7 - 1.1 * raw[:, 2] ** .8 + 1.8 * rng.normal(size=n)
    return seen, y


def d_customers(rng, n):
    kind = rng.choice(3, n, p=[.62, .26, .12])
    visits = 1 + rng.poisson(np.array([3, 8, 5])[kind])
    basket = np.exp(rng.normal(np.array([3.1, 3.4, 4.4])[kind], .45))
    tenure = np.round(rng.gamma(2, 20, n))
    online = (rng.random(n) < np.array([.3, .5, .8])[kind]).astype(float)
    y = visits * basket * np.exp(.35 * rng.normal(size=n)) + .3 * tenure + 20 * online
    return np.column_stack([visits, basket, tenure, online]), np.round(y, 2)


def d_units(rng, n):
    stamp = np.round(rng.uniform(1.55e9, 1.70e9, n))
    conc = np.exp(rng.normal(-13.5, .6, n))
    flow = rng.normal(3.2e6, 4e5, n)
    ph = np.round(rng.normal(7.1, .3, n), 1)
    y = 4e-4 + 2e-12 * (stamp - 1.6e9) + 90 * conc - 1.5e-10 * (flow - 3.2e6) - 1e-4 * (ph - 7) + 6e-5 * rng.normal(size=n)
    return np.column_stack([stamp, conc, flow, ph]), y


def d_survey(rng, n):
    f = rng.normal(size=n)
    Q = np.clip(np.round(3.3 + .8 * f[:, None] + .8 * rng.normal(size=(n, 6))), 1, 5)
    y = np.clip(np.round(1.2 + .85 * Q.mean(1) + .25 * Q[:, 0] - .1 * Q[:, 5] + .9 * rng.normal(size=n)), 1, 7)
    return Q, y


def d_heaps(rng, n):
    male = (rng.random(n) < .5).astype(float)
    height = rng.normal(163 + 13 * male, 6.8)
    age = rng.integers(18, 90, n).astype(float)
    w = 21.5 * (height / 100) ** 2 * np.exp(.003 * (age - 45) - .00006 * (age - 45) ** 2 + .13 * rng.normal(size=n)) + 3
    w = np.where(rng.random(n) < .55, 5 * np.round(w / 5), np.where(rng.random(n) < .2, 10 * np.round(w / 10), np.round(w)))
    height = np.where(rng.random(n) < .4, 5 * np.round(height / 5), np.round(height))
    return np.column_stack([height, age, male]), w


def d_flights(rng, n):
    hour = np.clip(np.round(rng.normal(13.5, 4.6, n)), 5, 23)
    dist = np.round(np.exp(rng.normal(6.6, .65, n)))
    late = np.round(np.where(rng.random(n) < .7, rng.normal(-4, 4, n), rng.exponential(24 + 1.5 * (hour - 5), n)))
    air = dist / 7.6 + 18 + 9 * rng.normal(size=n)
    carrier = rng.choice(5, n, p=[.35, .25, .2, .15, .05])
    y = late * .98 + .004 * (dist - 800) * -1 + np.array([0, 3, -2, 5, -6.])[carrier] - 5 + 9 * rng.gumbel(size=n)
    return np.column_stack([hour, dist, late, air, dummies(carrier, 5)]), np.round(y)


_W = np.linspace(0, 1, 80)


def _peak(c, w, grid=_W):
    return np.exp(-.5 * ((grid - c) / w) ** 2)


_NIR = np.stack([_peak(.25, .09), _peak(.5, .12) + .3 * _peak(.8, .06), _peak(.72, .07), np.ones(80), _W - .5])


def d_nir(rng, n):
    conc = np.column_stack([rng.uniform(.5, 1.5, n), rng.gamma(8, .12, n), rng.normal(.8, .18, n),
                            .1 * rng.normal(size=n), .1 * rng.normal(size=n)])
    X = conc @ _NIR + .02 * rng.normal(size=(n, 80))
    y = 12 + 6 * conc[:, 0] - 3 * conc[:, 2] + .8 * rng.normal(size=n)
    return X, y


def d_claims(rng, n):
    age = rng.integers(18, 85, n).astype(float)
    power = rng.integers(4, 13, n).astype(float)
    km = np.exp(rng.normal(2.4, .5, n))
    town = (rng.random(n) < .35).astype(float)
    rate = .035 * np.exp(.9 * (age < 25) + .05 * (power - 7) + .3 * town) * km ** .5
    return np.column_stack([age, power, km, town]), rng.poisson(rate).astype(float)


def d_calib(rng, n):
    c = np.array([0, 5, 10, 25, 50, 100.])[rng.choice(6, n)]
    return c[:, None], 1.4 + .93 * c - .0006 * c ** 2 + (.4 + .03 * c) * rng.normal(size=n)


def d_ratio(rng, n):
    beds = np.exp(rng.normal(5, .7, n))
    staff = beds * np.exp(rng.normal(.3, .2, n))
    stay = rng.gamma(9, .7, n)
    y = 30 + 9 * (staff / beds) + 2.2 * stay + 40 * stay / np.sqrt(beds) + 4 * rng.normal(size=n)
    return np.column_stack([np.round(beds), np.round(staff), stay, staff / beds]), y


def d_rooms(rng, n):
    stars = rng.choice(5, n, p=[.05, .2, .4, .27, .08]) + 1.0
    dist = rng.gamma(1.5, 2.5, n)
    month = rng.integers(1, 13, n).astype(float)
    wk = (rng.random(n) < 2 / 7).astype(float)
    p = 38 * np.exp(.28 * stars - .05 * dist + .18 * np.sin(2 * np.pi * (month - 4) / 12) + .1 * wk + .2 * rng.normal(size=n))
    return np.column_stack([stars, dist, month, wk]), np.floor(p / 10) * 10 + 9


# streams with a layout -------------------------------------------------------------------------

def _season(rng, month):
    n = len(month)
    temp = 11 - 10 * np.cos(2 * np.pi * (month + .5) / 12) + 5 * rng.normal(size=n)
    hour = rng.integers(0, 24, n).astype(float)
    hum = np.clip(70 - .8 * (temp - 11) + 12 * rng.normal(size=n), 20, 100)
    wkend = (rng.random(n) < 2 / 7).astype(float)
    y = 140 + 2.4 * np.maximum(16 - temp, 0) + 1.6 * np.maximum(temp - 21, 0) + 1.1 * hour - 9 * wkend + 12 * rng.normal(size=n)
    return np.column_stack([temp, hour, hum, wkend]), y


def d_season(rng, n):
    return _season(rng, rng.integers(0, 12, n))


def s_season(rng, sizes):
    return _season(rng, np.repeat(np.arange(len(sizes)) % 12, sizes))


_F = np.random.default_rng(909)
SITE_SIZES = tuple(int(v) for v in np.round(np.exp(_F.uniform(np.log(60), np.log(2200), 30))))
SITE_U = 1.2 * _F.normal(size=30)
SITE_M = .5 * _F.normal(size=(30, 3))


def _sites(rng, site):
    X = SITE_M[site] + rng.normal(size=(len(site), 3))
    y = 8 + X @ np.array([1.5, -2, .6]) + SITE_U[site] + 2.5 * rng.normal(size=len(site))
    return X, y


def d_sites(rng, n):
    p = np.array(SITE_SIZES, float)
    return _sites(rng, rng.choice(30, n, p=p / p.sum()))


def s_sites(rng, sizes):
    return _sites(rng, np.repeat(np.arange(30), sizes))


PROMO = np.isin(np.arange(52), [5, 6, 13, 22, 23, 34, 46, 47])


def _promo(rng, flag):
    n = len(flag)
    price = np.round(rng.gamma(9, .6, n), 1) * (1 - .15 * flag)
    shelf = rng.integers(1, 6, n).astype(float)
    foot = np.exp(rng.normal(6, .3, n))
    y = rng.poisson(np.exp(2.2 - .13 * price + .1 * shelf + .45 * np.log(foot / 400) + .5 * flag)
                    * rng.gamma(10, .1, n)).astype(float)
    return np.column_stack([price, shelf, foot, flag]), y


def d_promo(rng, n):
    return _promo(rng, (rng.random(n) < PROMO.mean()).astype(float))


def s_promo(rng, sizes):
    return _promo(rng, np.repeat(PROMO[:len(sizes)].astype(float), sizes))


def _weekday(rng, wd):
    n = len(wd)
    ads = rng.gamma(3, 20, n)
    mails = rng.poisson(4, n).astype(float)
    mult = np.array([1, 1.02, 1.05, 1.0, .9, .62, .7])[wd]
    y = rng.poisson(mult * (60 + .5 * ads + 4 * mails)).astype(float)
    return np.column_stack([ads, mails, dummies(wd, 7)]), y


def d_weekday(rng, n):
    return _weekday(rng, rng.integers(0, 7, n))


def s_weekday(rng, sizes):
    return _weekday(rng, np.repeat(np.arange(len(sizes)) % 7, sizes))


B_FIN = np.array([1.05, .4, -.25])


def d_fin(rng, n):
    raise NotImplementedError          # truth in closed form


def s_fin(rng, sizes):
    vol = np.repeat(np.exp(.45 * rng.normal(size=len(sizes))), sizes) * .01
    n = sum(sizes)
    X = vol[:, None] * np.array([1, .5, .5]) * rng.standard_t(5, (n, 3))
    return X, .0002 + X @ B_FIN + vol * .9 * rng.standard_t(4, n) / np.sqrt(2)


B_SHIFT = np.array([2.0, -1.0, .7, .3, 0.])


def s_nightday(rng, sizes):
    lev = np.repeat(np.where(np.arange(len(sizes)) % 2 == 0, 1.0, 2.8), sizes)
    X = rng.normal(size=(sum(sizes), 5))
    return X, X @ B_SHIFT + 20 + lev * rng.normal(size=len(X))


def s_ar(rng, sizes):
    parts = []
    for b, m in enumerate(sizes):
        h = np.arange(m) % 24
        temp = 14 + 5 * np.sin(2 * np.pi * (h - 9) / 24) + 3 * ar1(rng, m, .95)
        traffic = 40 + 25 * np.sin(2 * np.pi * (h - 7) / 12) * (h > 5) + 8 * rng.normal(size=m)
        wind = np.exp(.6 + .5 * ar1(rng, m, .9))
        parts.append((np.column_stack([temp, traffic, wind]),
                      30 - .8 * temp + .45 * traffic - 3 * wind + 6 * ar1(rng, m, .8)))
    return np.vstack([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def d_date(rng, n):
    day = np.floor(rng.uniform(42000, 45650, n))
    load = rng.gamma(6, 10, n)
    kind = (rng.random(n) < .3).astype(float)
    y = 200 + 120 / (1 + np.exp(-(day - 44000) / 500)) + .9 * load + 14 * kind + 14 * rng.normal(size=n)
    return np.column_stack([day, load, kind]), y


def d_adc(rng, n):
    t = rng.normal(40, 6, n)
    v = rng.normal(3.3, .12, n)
    flow = rng.gamma(20, .5, n)
    y = 12 + .5 * t - 6 * (v - 3.3) + .8 * flow + .9 * rng.normal(size=n)
    return np.column_stack([np.round(t * 2) / 2, np.round(v, 1), np.floor(flow)]), 2 * np.round(y / 2)


SETPOINTS = np.array([180., 200, 220, 240, 260])


def _furnace(rng, sp):
    n = len(sp)
    time = rng.uniform(10, 40, n)
    thick = np.round(rng.normal(5, .6, n), 1)
    y = 30 + .25 * (sp - 220) - .0015 * (sp - 220) ** 2 + .6 * time - 2.5 * (thick - 5) + 5 * rng.normal(size=n)
    return np.column_stack([sp, time, thick]), y


def d_furnace(rng, n):
    return _furnace(rng, SETPOINTS[rng.choice(5, n)])


def s_furnace(rng, sizes):
    return _furnace(rng, np.repeat(SETPOINTS[np.arange(len(sizes)) % 5], sizes))


def _machines(rng, m):
    n = len(m)
    speed = rng.normal(100, 12, n)
    temp = rng.normal(60, 5, n)
    y = 5 + np.array([.30, .36, .26])[m] * speed - .2 * temp + 4 * rng.normal(size=n)
    return np.column_stack([speed, temp, dummies(m, 3)]), y


def d_machines(rng, n):
    return _machines(rng, rng.choice(3, n))


def s_machines(rng, sizes):
    return _machines(rng, np.repeat(np.arange(len(sizes)) % 3, sizes))


# plain linear laws for dirt ---------------------------------------------------------------------

B_LINE = np.array([4.0, -2.5, 1.0])


def d_line(rng, n):
    X = rng.normal(size=(n, 3)) * np.array([1, 2, 3]) + np.array([5, -4, 10])
    return X, 25 + X @ B_LINE + 1.0 * rng.normal(size=n)


T_LINE = np.append(B_LINE, 25)

B_WIDE = np.random.default_rng(4).normal(size=30)


def d_wide(rng, n):
    X = rng.normal(size=(n, 30)) + .7 * rng.normal(size=(n, 1))
    return 10 + X, 10 + (X + 10) @ B_WIDE + 1.5 * rng.normal(size=n)


T_WIDE = np.append(B_WIDE, 10)


def d_assay(rng, n):
    conc = np.exp(rng.normal(2.5, .5, n))
    temp = rng.normal(25, 2, n)
    vol = rng.normal(10, 1, n)
    y = 50 + 3 * conc - 1.5 * (temp - 25) + 4 * (vol - 10) + (1 + .06 * conc) * rng.normal(size=n)
    return np.column_stack([conc, temp, vol]), y


def d_air(rng, n):
    t = rng.normal(18, 8, n)
    rh = np.clip(50 - 1.2 * (t - 18) + 12 * rng.normal(size=n), 5, 95)
    s = np.exp(rng.normal(0, .3, n))
    S = np.column_stack([1100 * s ** .5, 940 * s ** .8, 830 / s ** .6, 1450 * s ** .5]) * np.exp(.05 * rng.normal(size=(n, 4)))
    y = 2.2 * s ** 1.3 + .01 * (t - 18) + .2 * rng.normal(size=n)
    return np.column_stack([np.round(S), np.round(t, 1), np.round(rh, 1)]), np.round(y, 1)


def d_weigh(rng, n):
    v = rng.uniform(20, 90, n)
    rho = rng.normal(1.05, .06, n)
    moist = rng.gamma(5, .8, n)
    return np.column_stack([v, rho, moist]), v * rho + 3 - .4 * moist + 1.5 * rng.normal(size=n)


def d_meter(rng, n):
    people = 1 + rng.poisson(1.6, n)
    area = np.exp(rng.normal(4.5, .35, n))
    deg = rng.gamma(6, 60, n)
    ev = (rng.random(n) < .12).astype(float)
    y = 600 + 480 * people + 9 * area + 1.2 * deg + 1900 * ev
    return np.column_stack([people, area, deg, ev]), y * np.exp(.09 * rng.normal(size=n))


def d_body(rng, n):
    male = (rng.random(n) < .5).astype(float)
    h = rng.normal(162 + 13 * male, 6.5)
    waist = rng.normal(78 + 9 * male, 10)
    age = rng.integers(20, 80, n)
    y = -80 + .55 * h + .72 * waist - .05 * age + 3.2 * rng.normal(size=n)
    return np.round(np.column_stack([h, waist, age, male]), 1), np.round(y, 1)


def d_trend(rng, n):
    day = np.floor(rng.uniform(43000, 45500, n))
    size = rng.gamma(8, 6, n)
    y = 300 + .05 * (day - 43000) + 2.2 * size + 8 * rng.normal(size=n)
    return np.column_stack([day, size]), y


# ================================================================================================
# honest regression
# ================================================================================================

reg('h_house', d_house, n=1400)
reg('h_bike', d_bike, n=8000)
reg('h_airfoil', d_airfoil, n=1503)
reg('h_concrete', d_concrete, n=1030)
reg('h_building', d_building, n=768)
reg('h_wine', d_wine, n=1599)
reg('h_abalone', d_abalone, n=4177)
reg('h_plant', d_plant, n=9568, sort=lambda X, y: X[:, 0])
reg('h_diamonds', d_diamonds, n=20_000, sort=lambda X, y: y)
reg('h_medical', d_medical, n=1338)
reg('h_dose', d_dose, n=240, sort=lambda X, y: X[:, 0])
reg('h_lod', d_lod, n=2000)
reg('h_customers', d_customers, n=3000)
reg('h_units', d_units, n=900)
reg('h_survey', d_survey, n=2500)
reg('h_heaps', d_heaps, n=5000)
reg('h_flights', d_flights, n=30_000)
reg('h_nir', d_nir, n=500, rows=150_000)
reg('h_claims', d_claims, n=20_000)
reg('h_calib', d_calib, n=60)
reg('h_ratio', d_ratio, n=350)
reg('h_s_season', d_season, sizes=(300,) * 24, stream=s_season)
reg('h_s_sites', d_sites, sizes=SITE_SIZES, stream=s_sites)
reg('h_s_promo', d_promo, sizes=(300,) * 52, stream=s_promo)
reg('h_s_weekday', d_weekday, sizes=(144,) * 35, stream=s_weekday)
reg('h_s_fin', d_fin, sizes=(250,) * 30, stream=s_fin, truth=np.append(B_FIN, .0002))
reg('h_s_nightday', d_line, sizes=(200,) * 30, stream=s_nightday, truth=np.append(B_SHIFT, 20))
reg('h_s_ar', d_line, sizes=(168,) * 40, stream=s_ar, truth=[-.8, .45, -3, 30])
reg('h_s_date', d_date, sizes=(250,) * 24, sort=lambda X, y: X[:, 0])
reg('h_s_adc', d_adc, sizes=(500,) * 16)
reg('h_s_furnace', d_furnace, sizes=(120,) * 40, stream=s_furnace)
reg('h_s_machines', d_machines, sizes=(400,) * 30, stream=s_machines)
reg('h_s_medical', d_medical, sizes=(60, 45, 80, 50, 70, 40) * 16)
reg('h_s_diamonds', d_diamonds, sizes=(5000, 40, 300, 2500, 60, 1200, 100, 4000, 80, 700, 45, 3000))


# ================================================================================================
# dirt for regression
# ================================================================================================

def rowdirt(share, spoil, pick=rows_of):
    """spoil(rng, X, y, i): changes rows i in place. In streams the same share of every batch."""
    def dirt(rng, X, y, good, B):
        if B is None:
            i = pick(rng, len(X), share)
        else:
            i = np.concatenate([s.start + pick(rng, s.stop - s.start, share) for s in B])
        spoil(rng, X, y, i)
        good[i] = False
    return dirt


def batchdirt(share, how, spoil):
    def dirt(rng, X, y, good, B):
        for b in bad_batches(rng, len(B), share, how):
            i = np.arange(B[b].start, B[b].stop)
            spoil(rng, X, y, i)
            good[i] = False
    return dirt


def both(batch_share, how, row_share, spoil_b, spoil_r):
    def dirt(rng, X, y, good, B):
        batchdirt(batch_share, how, spoil_b)(rng, X, y, good, B)
        for s in B:
            if good[s].all():
                i = s.start + rows_of(rng, s.stop - s.start, row_share)
                spoil_r(rng, X, y, i)
                good[i] = False
    return dirt


def x_times(j, k):
    def f(rng, X, y, i):
        X[i, j] *= k
    return f


def y_times(k):
    def f(rng, X, y, i):
        y[i] *= k
    return f


def y_set(v):
    def f(rng, X, y, i):
        y[i] = v
    return f


def y_plus(v):
    def f(rng, X, y, i):
        y[i] += v
    return f


def x_codes(v, cols, each=.5):
    def f(rng, X, y, i):
        hit = rng.random((len(i), len(cols))) < each
        hit[np.arange(len(i)), rng.integers(0, len(cols), len(i))] = True
        block = X[np.ix_(i, cols)]
        block[hit] = v
        X[np.ix_(i, cols)] = block
    return f


def swap(a, b):
    def f(rng, X, y, i):
        X[np.ix_(i, [a, b])] = X[np.ix_(i, [b, a])]
    return f


def slide(rng, X, y, i):             # a lost separator: all fields move by one, the target goes to the end
    row = np.column_stack([X[i], y[i]])
    row = np.roll(row, -1, axis=1)
    X[i], y[i] = row[:, :-1], row[:, -1]


def shuffle_y(rng, X, y, i):
    y[i] = y[i][rng.permutation(len(i))]


def reverse_join(rng, X, y, i):      # sorted file joined against one sorted the other way
    o, r = np.argsort(y[i]), np.argsort(-X[i, 0])
    new = np.empty(len(i))
    new[r] = y[i][o]
    y[i] = new


def other_line(b, c, noise):
    def f(rng, X, y, i):
        y[i] = X[i] @ np.asarray(b, float) + c + noise * rng.normal(size=len(i))
    return f


def one_record(rec, yv, jitter=0.0):
    def f(rng, X, y, i):
        X[i] = np.asarray(rec, float) + jitter * rng.normal(size=(len(i), X.shape[1])) * np.abs(rec)
        y[i] = yv
    return f


def spikes(size):
    def f(rng, X, y, i):
        y[i] += size * rng.choice([-1, 1], len(i)) * rng.uniform(.5, 2, len(i))
    return f


def c_to_f(j):
    def f(rng, X, y, i):
        X[i, j] = X[i, j] * 1.8 + 32
    return f


def stuck_y(rng, X, y, i):
    y[i] = y.max() + .5 * (y.max() - y.min())


def totals(rng, X, y, i):            # subtotal lines left in an export: sums over 12 rows
    n = len(X)
    Xs, ys = X.copy(), y.copy()
    for r in i:
        k = rng.integers(0, n, 12)
        X[r], y[r] = Xs[k].sum(0), ys[k].sum()


def cells_of(rng, X, y, i):          # one cell of each row, far off either way
    j = rng.integers(0, X.shape[1], len(i))
    X[i, j] += rng.choice([-1, 1], len(i)) * rng.uniform(8, 25, len(i)) * X.std(0)[j]


def test_orders(rng, X, y, i):
    y[i] = rng.choice([.01, 1.0, 99999.0], len(i), p=[.3, .3, .4])


def dropped_digit(rng, X, y, i):
    y[i] = y[i] * rng.choice([.1, 10.0], len(i), p=[.3, .7])


def lag_y(k):                        # clock wrong: target of k rows later
    def f(rng, X, y, i):
        y[i] = np.roll(y[i], k)
    return f


def bad_lamp(rng, X, y, i):
    X[i] = X[i] * .55 + .5 * (_W - .2) + .15
    y[i] = 3.0


def frozen(rng, X, y, i):            # logger repeats its first line, with a counter that overran
    X[i] = X[i[0]]
    X[i, 0] += 12 * X[:, 0].std()
    y[i] = y[i[0]] - 9 * y.std()


def zero_file(rng, X, y, i):
    X[i] = 0
    y[i] = 0


def d_arline(rng, n):
    raise NotImplementedError


def s_arline(rng, sizes):
    n = sum(sizes)
    X = np.column_stack([ar1(rng, n, .9), ar1(rng, n, .8)]) * np.array([10, 4]) + np.array([50, 20])
    return X, X @ np.array([2.0, 1.5]) - 10 + 1.5 * rng.normal(size=n)


def growing(top, spoil):
    def dirt(rng, X, y, good, B):
        for b, s in enumerate(B):
            m = s.stop - s.start
            i = s.start + rows_of(rng, m, top * b / (len(B) - 1))
            spoil(rng, X, y, i)
            good[i] = False
    return dirt


reg('c_thousands', d_house, n=1600, dirt=rowdirt(.2, y_times(1e-3)))
reg('c_inches', d_body, n=900, dirt=rowdirt(.25, x_times(0, 1 / 2.54)))
reg('c_y9999', d_concrete, n=1030, dirt=rowdirt(.12, y_set(-9999)))
reg('c_x200', d_air, n=7000, dirt=rowdirt(.18, x_codes(-200, [0, 1, 2, 3, 4, 5], .3)))
reg('c_decimal', d_meter, n=2500, dirt=rowdirt(.10, dropped_digit))
reg('c_swapped', d_plant, n=6000, dirt=rowdirt(.25, swap(0, 2)))
reg('c_slide', d_wine, n=1599, dirt=rowdirt(.2, slide))
reg('c_signflip', d_line, n=1500, truth=T_LINE, dirt=rowdirt(.3, y_times(-1)))
reg('c_stuck', d_plant, n=9568, dirt=rowdirt(.25, stuck_y, stretch_of))
reg('c_onerecord', d_medical, n=1338, dirt=rowdirt(.15, one_record([64, 1, 90, 5, 1], 0.0)))
reg('c_fahrenheit', d_season, n=6000, dirt=rowdirt(.3, c_to_f(0)))
reg('c_reversejoin', d_weigh, n=2000, truth=None, dirt=rowdirt(.35, reverse_join, stretch_of))
reg('c_cents', d_diamonds, n=12_000, dirt=rowdirt(.15, y_times(100)))
reg('c_spikes', d_adc, n=4000, dirt=rowdirt(.35, spikes(60)))
reg('c_cells', d_wide, n=3000, truth=T_WIDE, dirt=rowdirt(.25, cells_of))
reg('c_lamp', d_nir, n=600, rows=150_000, dirt=rowdirt(.15, bad_lamp))
reg('c_epoch', d_trend, n=800, dirt=rowdirt(.1, x_codes(25569, [0], 1.0)))
reg('c_totals', d_meter, n=5000, dirt=rowdirt(.06, totals))
reg('c_testorders', d_rooms, n=2600, dirt=rowdirt(.05, test_orders))
reg('c_secondline', d_line, n=40_000, truth=T_LINE, dirt=rowdirt(.38, other_line([-4, 2.5, 3], 60, 1.0)))
reg('c_small', d_calib, n=80, dirt=rowdirt(.2, y_plus(60.0)))
reg('c_s_startgain', d_assay, sizes=(200,) * 30, dirt=batchdirt(.4, 'start', y_times(1.8)))
reg('c_s_alternate', d_line, sizes=(150,) * 20, truth=T_LINE, dirt=batchdirt(.45, 'alternate', x_times(2, -1)))
reg('c_s_endnoise', d_weigh, sizes=(300,) * 20, dirt=batchdirt(.3, 'end', spikes(80)))
reg('c_s_lying', d_wide, sizes=(400,) * 25, truth=T_WIDE,
    dirt=batchdirt(.4, 'random', other_line(-B_WIDE, 300, 1.0)))
reg('c_s_both', d_meter, sizes=(500,) * 20, dirt=both(.2, 'middle', .2, y_times(.001), y_times(10)))
reg('c_s_pounds', d_weigh, sizes=(120, 400, 250) * 10, dirt=batchdirt(.3, 'random', x_times(0, 2.2046)))
reg('c_s_shuffled', d_line, sizes=(250,) * 40, truth=T_LINE, dirt=batchdirt(.35, 'random', shuffle_y))
reg('c_s_zeros', d_plant, sizes=(400,) * 20, dirt=batchdirt(.2, 'start', zero_file))
reg('c_s_frozen', d_building, sizes=(96,) * 24, dirt=batchdirt(.25, 'both ends', frozen))
reg('c_s_lag', d_arline, sizes=(240,) * 30, stream=s_arline, truth=[2.0, 1.5, -10],
    dirt=batchdirt(.3, 'alternate', lag_y(60)))
reg('c_s_growing', d_body, sizes=(400,) * 20, dirt=growing(.4, y_times(2.2046)))
reg('c_s_tiny', d_weigh, sizes=(40,) * 60, dirt=batchdirt(.4, 'random', y_plus(-70)))
reg('c_s_season', d_season, sizes=(300,) * 24, stream=s_season, dirt=batchdirt(.25, 'random', y_times(2.5)))
reg('c_s_big', d_flights, sizes=(5000,) * 8, dirt=batchdirt(.375, 'both ends', x_times(2, 60.0)))


# ================================================================================================
# laws for PCA
# ================================================================================================

_G = np.linspace(0, 1, 100)


def _pk(c, w):
    return np.exp(-.5 * ((_G - c) / w) ** 2)


SPEC = np.stack([_pk(.2, .07) + .4 * _pk(.62, .05), _pk(.45, .09), _pk(.8, .06) + .2 * _pk(.3, .04)])


def p_spectra(rng, n):
    c = np.column_stack([rng.gamma(4, .25, n), rng.uniform(.2, 1.8, n), rng.normal(1, .3, n)])
    return .3 + c @ SPEC + .03 * rng.normal(size=(n, 1)) * (_G - .5) + .04 * rng.normal(size=(n, 100))


_q = np.random.default_rng(1234)
GENE_MEAN = _q.gamma(4, 2, 120)
GENE_T = 1.3 * _q.normal(size=(3, 120)) * (_q.random((3, 120)) < .35)
GENE_L = .8 * _q.normal(size=(1, 120))


def p_genes(rng, n):
    t = rng.choice(3, n, p=[.55, .28, .17])
    return GENE_MEAN + GENE_T[t] + rng.normal(size=(n, 1)) * GENE_L + .7 * rng.normal(size=(n, 120))


TOPICS = _q.dirichlet(np.full(80, .15), 4)


def p_docs(rng, n):
    w = rng.dirichlet([.6, .6, .6, .6], n)
    length = np.exp(rng.normal(4.6, .4, n))
    return rng.poisson(length[:, None] * (w @ TOPICS)).astype(float)


_xx, _yy = np.meshgrid(np.linspace(-1, 1, 10), np.linspace(-1, 1, 10))
FACE0 = (150 - 60 * (_xx ** 2 + _yy ** 2) - 40 * (np.exp(-20 * ((np.abs(_xx) - .4) ** 2 + (_yy - .3) ** 2)))).ravel()
FACEL = np.stack([_xx, _yy, np.exp(-4 * ((np.abs(_xx) - .4) ** 2 + (_yy - .3) ** 2)), _xx * _yy,
                  np.cos(3 * _yy)]).reshape(5, 100)


def p_faces(rng, n):
    s = rng.normal(size=(n, 5)) * np.array([28, 20, 15, 4, 4])
    return np.clip(np.round(FACE0 + s @ FACEL + 5 * rng.normal(size=(n, 100))), 0, 255)


RET_B = _q.uniform(.6, 1.5, 30)
RET_S = np.repeat(np.eye(5), 6, axis=0)


def _returns(rng, n, vol):
    m = rng.standard_t(5, n)
    s = rng.normal(size=(n, 5))
    return vol * (.009 * m[:, None] * RET_B + .004 * s @ RET_S.T + .008 * rng.standard_t(5, (n, 30)))


def p_returns(rng, n):
    return _returns(rng, n, 1.0)


def ps_returns(rng, sizes):
    return _returns(rng, sum(sizes), np.repeat(np.exp(.4 * rng.normal(size=len(sizes))), sizes)[:, None])


NOSE = np.abs(_q.normal(size=(2, 16))) + .2


def p_nose(rng, n):
    gas = rng.choice(2, n, p=[.6, .4])
    ppm = np.array([10., 25, 50, 75, 100, 200])[rng.choice(6, n)]
    amp = 3 * np.log1p(ppm / 10)
    drift = rng.normal(size=(n, 1))
    return 20 + amp[:, None] * NOSE[gas] * np.exp(.06 * rng.normal(size=(n, 16))) + .3 * drift + .2 * rng.normal(size=(n, 16))


def p_winechem(rng, n):
    k = rng.choice(3, n, p=[.33, .40, .27])
    alc = np.array([13.7, 12.3, 13.1])[k] + .5 * rng.normal(size=n)
    prol = np.array([1110, 520, 630])[k] + np.array([220, 155, 115])[k] * rng.normal(size=n)
    mag = np.array([106, 94, 99])[k] + 12 * rng.normal(size=n)
    ash = rng.normal(19.5, 3, n)
    phen = np.array([2.8, 2.3, 1.7])[k] + .4 * rng.normal(size=n)
    col = np.array([5.5, 3.1, 7.4])[k] * np.exp(.25 * rng.normal(size=n))
    return np.column_stack([alc, ash, mag, phen, col, np.round(prol)])


def p_body(rng, n):
    male = rng.random(n) < .5
    size = rng.normal(size=n) + 1.1 * male
    fat = rng.normal(size=n)
    L1 = np.array([6.5, 3, 2.5, 4, 1.2, 1.0, 3.2, 2.0, .8, .9, 2.2, 1.5])
    L2 = np.array([-.5, 6, 7, 3, .8, .4, 4.5, 3.5, .1, .1, .5, .3])
    return np.round(100 + np.outer(size, L1) + np.outer(fat, L2) + 1.2 * rng.normal(size=(n, 12)), 1)


LIK = np.zeros((3, 24))
LIK[0, :9] = _q.uniform(.7, 1.1, 9)
LIK[1, 9:16] = _q.uniform(.65, 1, 7)
LIK[2, 16:21] = _q.uniform(.7, 1, 5)


def p_likert(rng, n):
    f = rng.normal(size=(n, 3))
    return np.clip(np.round(3 + f @ LIK + .6 * rng.normal(size=(n, 24))), 1, 5)


DIG = np.clip(_q.normal(size=(10, 3)) @ (4 * _q.normal(size=(3, 64))) * .5 + 7, 0, 16)


def p_digits(rng, n):
    k = rng.integers(0, 10, n)
    return np.clip(np.round(DIG[k] + 1.8 * rng.normal(size=(n, 64))), 0, 16)


MET = np.array([.9, .8, .85, .7, .5, .6, .4, .3, .75, .65])


def p_metals(rng, n):
    z = np.exp(.5 * (rng.normal(size=(n, 1)) * MET + .45 * rng.normal(size=(n, 10)))) * np.array([5, 3, 4, 2, 1, 1, 1, 1, 3, 2.])
    lod = np.array([2, 1.5, 2, 1, .8, .8, .8, .9, 1, 1.2])
    return np.where(z < lod, lod / 2, np.round(z, 2))


def p_airq(rng, n):
    h = rng.integers(0, 24, n)
    traf = np.exp(.5 * np.sin(2 * np.pi * (h - 7) / 12) + .3 * rng.normal(size=n))
    sun = np.maximum(np.sin(2 * np.pi * (h - 6) / 24), 0) * rng.uniform(.3, 1, n)
    A = np.array([12, 9, 10, 7, 4, 3, 5, 2, 0, 1, 0, 0.])
    S = np.array([0, 1, -3, 0, 0, 2, 0, 0, 24, 18, 12, 6.])
    return 30 + np.outer(traf, A) + np.outer(sun, S) + 2 * rng.normal(size=(n, 12))


COMP = np.array([[1.2, .8, 0, -.5, -.5, -.3, -.7, 0], [0, -.4, 1, .8, -.6, -.5, 0, -.3]])


def p_comp(rng, n):
    z = rng.normal(size=(n, 2)) * np.array([.7, .6]) @ COMP + .12 * rng.normal(size=(n, 8))
    e = np.exp(z)
    return e / e.sum(1, keepdims=True)


def p_small(rng, n):
    s = rng.normal(size=n)
    return np.column_stack([10 + 3 * s, 20 + 2 * s, 5 - s]) + .7 * rng.normal(size=(n, 3))


def p_additive(rng, n):              # a share of the samples holds an additive, in all amounts
    add = np.where(rng.random(n) < .4, rng.gamma(1.3, .6, n), 0)
    c = np.column_stack([rng.normal(1, .35, n), rng.normal(1, .3, n), add])
    return .2 + c @ SPEC + .04 * rng.normal(size=(n, 100))


FAC = _q.normal(size=(3, 25)) * np.array([[4.0], [3.0], [2.2]])


def p_fac(rng, n):
    return 30 + rng.normal(size=(n, 3)) @ FAC + rng.normal(size=(n, 25))


def ps_drift(rng, sizes):
    X = p_fac(rng, sum(sizes))
    k = len(sizes)
    return X + np.repeat(np.linspace(-1, 1, k), sizes)[:, None] * DRIFT


DRIFT = .8 * _q.normal(size=25)


def p_drift(rng, n):
    return p_fac(rng, n) + rng.choice(np.linspace(-1, 1, 30), (n, 1)) * DRIFT


def _psea(rng, month):
    t = 10 - 11 * np.cos(2 * np.pi * (month + .5) / 12)
    n = len(month)
    a = t + 4 * rng.normal(size=n)
    L = np.array([1, .9, .95, .5, -.6, -.8, .2, .4])
    w = np.array([0, .1, 0, 1, .6, -.5, 2, 1.5])
    return np.outer(a, L) + np.outer(3 * rng.normal(size=n), w) + rng.normal(size=(n, 8))


def p_sea(rng, n):
    return _psea(rng, rng.integers(0, 12, n))


def ps_sea(rng, sizes):
    return _psea(rng, np.repeat(np.arange(len(sizes)) % 12, sizes))


REC_M = _q.normal(size=(4, 15)) * 1.2
REC_L = _q.normal(size=(2, 15)) * np.array([[3.0], [2.2]])


def _recipes(rng, r):
    n = len(r)
    return 50 + REC_M[r] + rng.normal(size=(n, 2)) @ REC_L + .8 * rng.normal(size=(n, 15))


def p_recipes(rng, n):
    return _recipes(rng, np.array([0, 0, 1, 0, 2, 1, 3, 0])[rng.integers(0, 8, n)])


def ps_recipes(rng, sizes):
    return _recipes(rng, np.repeat(np.array([0, 0, 1, 0, 2, 1, 3, 0])[np.arange(len(sizes)) % 8], sizes))


WEBL = np.stack([np.repeat([1.0, 0, .5], [6, 6, 8]), np.repeat([0, 1.0, .3], [6, 6, 8])])


def p_web(rng, n):
    rate = np.exp(2.5 + (rng.normal(size=(n, 2)) * np.array([.35, .3])) @ WEBL)
    return rng.poisson(rate).astype(float)


def p_plant(rng, n):
    load = rng.beta(4, 2, n)
    amb = rng.normal(15, 8, n)
    X = np.column_stack([400 * load, 90 * load ** 2, 540 + 25 * load, amb, 3 * amb + 20, 300 * load + 2 * amb,
                         1013 - .2 * amb, 60 - amb])
    return X + rng.normal(size=(n, 8)) * np.array([4, 2, 3, 1, 3, 4, 4, 8])


def p_vib(rng, n):                   # 60 vibration bands, energy by speed step
    step = np.array([.6, .8, 1.0, 1.25])[rng.choice(4, n, p=[.2, .25, .4, .15])]
    band = np.arange(60)
    a = np.exp(.25 * rng.normal(size=(n, 2)))
    return 3 + 8 * step[:, None] * a[:, :1] * np.exp(-.5 * ((band - 15) / 4) ** 2) \
        + 5 * a[:, 1:] * np.exp(-.5 * ((band - 42) / 5) ** 2) + .5 * rng.normal(size=(n, 60))


# ---- honest PCA --------------------------------------------------------------------------------

pca('ph_spectra', p_spectra, 3, n=300)
pca('ph_genes', p_genes, 3, n=150)
pca('ph_docs', p_docs, 4, n=3000)
pca('ph_faces', p_faces, 3, n=400)
pca('ph_returns', p_returns, 1, n=1500)
pca('ph_nose', p_nose, 2, n=3600)
pca('ph_winechem', p_winechem, 1, n=178, rows=400_000)
pca('ph_body', p_body, 2, n=507)
pca('ph_likert', p_likert, 3, n=2000)
pca('ph_digits', p_digits, 3, n=1797)
pca('ph_metals', p_metals, 1, n=800, rows=400_000)
pca('ph_airq', p_airq, 2, n=8000, rows=400_000)
pca('ph_comp', p_comp, 2, n=3000, rows=400_000)
pca('ph_small', p_small, 1, n=60, rows=400_000)
pca('ph_additive', p_additive, 3, n=500)
pca('ph_s_drift', p_drift, 3, sizes=(200,) * 30, stream=ps_drift)
pca('ph_s_returns', p_returns, 1, sizes=(120,) * 40, stream=ps_returns)
pca('ph_s_season', p_sea, 2, sizes=(250,) * 24, stream=ps_sea, rows=400_000)
pca('ph_s_recipes', p_recipes, 2, sizes=(150,) * 32, stream=ps_recipes, rows=400_000)
pca('ph_s_web', p_web, 2, sizes=(60, 1440, 300, 720) * 6, rows=400_000)
pca('ph_s_plant', p_plant, 2, sizes=(500,) * 20, rows=400_000)
pca('ph_s_vib', p_vib, 2, sizes=(100,) * 25)
pca('ph_s_sorted', p_fac, 3, sizes=(300,) * 20, sort=lambda X, y: X[:, 0])


# ---- dirt for PCA ------------------------------------------------------------------------------

def cols_set(cols, v):
    def f(rng, X, y, i):
        X[np.ix_(i, cols)] = v
    return f


def rows_set(v):
    def f(rng, X, y, i):
        X[i] = v
    return f


def cosmic(rng, X, y, i):            # two narrow hits a spectrum
    for _ in range(2):
        X[i, rng.integers(0, X.shape[1], len(i))] += rng.uniform(4, 15, len(i))


def flash(rng, X, y, i):             # a burnt-out corner of the picture
    block = ((_xx > .1) & (_yy > .1)).ravel()
    X[np.ix_(i, np.flatnonzero(block))] = 255


def saturated(rng, X, y, i):
    X[i] = np.minimum(6 + .2 * rng.normal(size=(len(i), 1)) + 3 * _G, 8.0)


def roll_cols(rng, X, y, i):
    X[i] = np.roll(X[i], 1, axis=1)


def unlogged(rng, X, y, i):
    X[i] = 2 ** np.minimum(X[i], 16)


def spam(rng, X, y, i):
    X[i] *= .1
    X[i, 7] = np.round(rng.uniform(150, 400, len(i)))


def loud(k):
    def f(rng, X, y, i):
        X[i] = X.mean(0) + k * rng.normal(size=(len(i), X.shape[1]))
    return f


LIE = np.linalg.qr(np.column_stack([FAC.T, _q.normal(size=(25, 2))]))[0][:, 3:5]


def lie(k):
    def f(rng, X, y, i):
        X[i] = 30 + rng.choice([-1, 1], (len(i), 1)) * k * LIE[:, 0] + k * .4 * rng.normal(size=(len(i), 2)) @ LIE.T \
            + rng.normal(size=(len(i), 25))
    return f


def mirror(rng, X, y, i):            # channels read in reverse order
    X[i] = X[i][:, ::-1]


def hum(amp):
    def f(rng, X, y, i):
        p = X.shape[1]
        ph = rng.uniform(0, 2 * np.pi, (len(i), 1))
        X[i] += amp * np.sin(ph + np.arange(p) * 2 * np.pi * 3 / p)
    return f


def shift_cols(cols, v):
    def f(rng, X, y, i):
        X[np.ix_(i, cols)] += v
    return f


def blank(rng, X, y, i):             # logger writes its error word with a running checksum
    X[i] = 3276.7
    X[i, 0] = rng.uniform(0, 3000, len(i))


pca('pc_flash', p_faces, 3, n=500, dirt=rowdirt(.2, flash))
pca('pc_codes', p_airq, 2, n=6000, rows=400_000, dirt=rowdirt(.2, x_codes(-999, list(range(12)), .2)))
pca('pc_cosmic', p_spectra, 3, n=600, dirt=rowdirt(.25, cosmic))
pca('pc_unit', p_body, 2, n=700, dirt=rowdirt(.2, x_times(4, .4)))
pca('pc_shifted', p_plant, 2, n=4000, rows=400_000, dirt=rowdirt(.15, roll_cols))
pca('pc_saturated', p_additive, 3, n=600, dirt=rowdirt(.3, saturated))
pca('pc_stuck', p_nose, 2, n=3600, dirt=rowdirt(.25, cols_set([11], 120.0), stretch_of))
pca('pc_cable', p_plant, 2, n=3000, rows=400_000, dirt=rowdirt(.3, swap(3, 6)))
pca('pc_unlogged', p_genes, 3, n=200, dirt=rowdirt(.15, unlogged))
pca('pc_spam', p_docs, 4, n=3000, dirt=rowdirt(.1, spam))
pca('pc_percent', p_returns, 1, n=1500, dirt=rowdirt(.2, x_times(slice(0, 10), 100.0)))
pca('pc_zeros', p_fac, 3, n=1000, dirt=rowdirt(.25, rows_set(0.0)))
pca('pc_loud', p_likert, 3, n=2500, dirt=rowdirt(.35, loud(25.0)))
pca('pc_lie', p_fac, 3, n=20_000, dirt=rowdirt(.4, lie(70.0)))
pca('pc_s_start', p_fac, 3, sizes=(300,) * 25, dirt=batchdirt(.4, 'start', lie(45.0)))
pca('pc_s_cable', p_plant, 2, sizes=(250,) * 20, rows=400_000, dirt=batchdirt(.45, 'alternate', swap(0, 3)))
pca('pc_s_gain', p_vib, 2, sizes=(100,) * 24, dirt=batchdirt(.3, 'end', x_times(slice(20, 30), 6.0)))
pca('pc_s_scatter', p_recipes, 2, sizes=(150,) * 32, stream=ps_recipes, rows=400_000,
    dirt=batchdirt(.4, 'random', hum(30.0)))
pca('pc_s_both', p_web, 2, sizes=(400,) * 20, rows=400_000, dirt=both(.2, 'both ends', .2, rows_set(0.0), x_times(9, 50.0)))
pca('pc_s_reverse', p_spectra, 3, sizes=(150,) * 20, dirt=batchdirt(.35, 'random', mirror))
pca('pc_s_blank', p_sea, 2, sizes=(250,) * 24, stream=ps_sea, rows=400_000, dirt=batchdirt(.25, 'middle', blank))
pca('pc_s_rows', p_drift, 3, sizes=(200,) * 30, stream=ps_drift, dirt=rowdirt(.3, shift_cols([3, 17], 60.0)))


# ---- self check --------------------------------------------------------------------------------

def _check():
    import time

    from interface import error, oracle, plain

    flags = []
    names = [k.name for k in KINDS]
    if len(set(names)) != len(names):
        flags.append('names not unique')
    count = {}
    tables = 0
    for k in KINDS:
        count[k.problem, k.honest] = count.get((k.problem, k.honest), 0) + 1
        t0 = time.perf_counter()
        first = k.make(np.random.default_rng(1000))          # also makes the truth, once
        t_first = time.perf_counter() - t0
        eo, ep, slow, why = [], [], 0.0, []
        for seed in (1000, 1001, 1002):
            t0 = time.perf_counter()
            s = k.make(np.random.default_rng(seed))
            slow = max(slow, time.perf_counter() - t0)
            if seed == 1000 and not (np.array_equal(s.X, first.X) and np.array_equal(s.good, first.good)
                                     and (s.y is None or np.array_equal(s.y, first.y))):
                why.append('not deterministic')
            n, p = s.X.shape
            if s.good.shape != (n,) or s.good.dtype != bool or not np.isfinite(s.X).all() or not np.isfinite(s.truth).all():
                why.append('shape or values')
            if s.sizes is not None and sum(s.sizes) != n:
                why.append('sizes')
            if k.problem == 'regression':
                if s.y.shape != (n,) or not np.isfinite(s.y).all() or s.truth.shape != (p + 1,):
                    why.append('shape or values of y')
                limit = .3 * s.y[s.good].std()
            else:
                if s.y is not None or s.truth.shape != (p, s.n_components):
                    why.append('shape of truth')
                limit = .3 * np.sqrt(s.n_components)
            if not (60 <= n <= 40_000 and 1 <= p <= 120):
                why.append('size out of range')
            if s.sizes is not None and not (min(s.sizes) >= 40 and max(s.sizes) <= 5000):
                why.append('batch size out of range')
            if k.honest and not s.good.all():
                why.append('honest kind with bad rows')
            if not k.honest and s.good.all():
                why.append('no bad row')
            if (~s.good).mean() > (.405 if s.sizes is None else .455):
                why.append('too many bad rows')
            eo.append(error(oracle(s), s))
            ep.append(error(plain(s), s))
            if eo[-1] > limit:
                why.append('useless oracle')
        ratio = np.sqrt(np.mean(np.square(ep)) / np.mean(np.square(eo)))
        if not k.honest and ratio < 2:
            why.append('plain not hurt')
        if slow > .5:
            why.append('slow')
        tables += s.sizes is None
        print(f'{k.name:20s} oracle {np.sqrt(np.mean(np.square(eo))):10.4g} of limit {limit:10.4g}  plain/oracle {ratio:10.2f}  '
              f'bad {1 - s.good.mean():.3f}  {n} x {p}  {"table" if s.sizes is None else str(len(s.sizes)) + " batches"}  '
              f'{slow:.2f}s (first {t_first:.1f}s)  {" ".join(sorted(set(why)))}', flush=True)
        flags += [f'{k.name}: {w}' for w in sorted(set(why))]
    print(count, 'tables', tables, 'streams', len(KINDS) - tables)
    print('CLEAN' if not flags else 'FLAGS:\n' + '\n'.join(flags))
    return 1 if flags else 0


if __name__ == '__main__':
    sys.exit(_check())
