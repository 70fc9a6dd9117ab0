"""Judgement kinds, set K. Written from the README alone, without sight of the code."""
import os
import sys

import numpy as np

_HERE = os.path.dirname(os.path.abspath(__file__))
for _d in (os.path.join(_HERE, '..', '..', 'benchmarks', 'kinds'), _HERE):
    if os.path.exists(os.path.join(_d, 'judge_tools.py')):
        sys.path.insert(0, os.path.abspath(_d))
from judge_tools import Book, check  # noqa: E402

B = Book()
P = np.random.default_rng(771011)          # constants of the laws


def k_col(*a):
    return np.column_stack(a).astype(float)


def k_lin(X, b, a, e):
    b = np.asarray(b, float)
    return X, X @ b + a + e, np.append(b, a)


def k_ar(rng, n, r):
    """Unit AR(1) path."""
    from scipy.signal import lfilter
    e = rng.normal(size=n) * np.sqrt(1 - r * r)
    e[0] = rng.normal()
    return lfilter([1.0], [1.0, -r], e)


# =============================================================== regression laws
def k_boiler(rng, n):
    """Steam plant: slow sensors, power in kW."""
    feed = 120 + 15 * k_ar(rng, n, .98)
    pres = 60 + 4 * k_ar(rng, n, .95) + .1 * (feed - 120)
    temp = 480 + 12 * k_ar(rng, n, .97)
    o2 = np.clip(3.5 + .6 * rng.normal(size=n), 1, 8)
    return k_lin(k_col(feed, pres, temp, o2), [7.5, 11, 2.2, -30], 150, 14 * rng.normal(size=n))


def k_phone(rng, n):
    """Phone bill: fee, minutes, data, messages, roaming days; cents."""
    mins = rng.gamma(1.5, 120, n).round()
    data = rng.lognormal(1.2, .7, n)
    sms = rng.poisson(20, n)
    roam = np.where(rng.random(n) < .25, rng.integers(1, 15, n), 0)
    return k_lin(k_col(mins, data, sms, roam), [.05, 1.8, .09, 2.9], 12, rng.gamma(3, .5, n) - 1.5)


def k_page(rng, n):
    """Page load time in ms, skewed noise growing with the size."""
    kb = rng.lognormal(6.3, .6, n)
    req = rng.poisson(35, n)
    rtt = rng.gamma(3, 18, n)
    cache = rng.random(n) < .4
    mu = .35 * kb + 9 * req + 5.5 * rtt - 120 * cache + 300
    X = k_col(kb, req, rtt, cache)
    return k_lin(X, [.35, 9, 5.5, -120], 300, (.04 * mu) * (rng.gamma(2, 1, n) - 2) / np.sqrt(2))


MAF = P.uniform(.1, .5, 20)
EQTL = np.where(P.random(20) < .4, P.normal(0, .8, 20), 0)


def k_eqtl(rng, n):
    g = rng.binomial(2, MAF, (n, 20))
    age = rng.integers(20, 80, n)
    sex = rng.integers(0, 2, n)
    return k_lin(k_col(g, age, sex), np.r_[EQTL, .03, -.5], 8, .5 * rng.normal(size=n))


def k_survey(rng, n):
    f = rng.normal(size=(n, 1))
    it = np.clip(np.round(3 + .8 * f + .8 * rng.normal(size=(n, 8))), 1, 5)
    return k_lin(it, [4, 3, 2, 2, 1, 1, 0, 0], 15, 4 * rng.normal(size=n))


SIG5 = np.linalg.cholesky(.35 * np.ones((5, 5)) + .65 * np.eye(5))


def k_fund(rng, n):
    """Daily fund return on five factors, percent; t noise."""
    F = (rng.normal(size=(n, 5)) @ SIG5.T) * np.sqrt(5 / rng.chisquare(5, n))[:, None] * [1.1, .6, .5, .7, .3]
    return k_lin(F, [.95, .3, -.2, .1, .4], .01, .12 * rng.standard_t(5, n))


def k_station(rng, n):
    """Air temperature at stations, C."""
    lat = rng.uniform(35, 60, n)
    alt = rng.gamma(1.5, 300, n)
    d = rng.uniform(0, 2 * np.pi, n)
    sea = rng.exponential(100, n)
    return k_lin(k_col(lat, alt, np.sin(d), np.cos(d), sea), [-.65, -.0062, -3, -9.5, .006], 42, 1.2 * rng.normal(size=n))


def k_race(rng, n):
    """Race time in minutes; runners' age, sex, weekly km; whole minutes."""
    dist = rng.choice([5, 10, 15, 21.1, 30], n)
    climb = rng.gamma(1.5, 60, n)
    age = rng.integers(18, 70, n)
    wk = rng.gamma(4, 10, n)
    y = 5.3 * dist + .03 * climb + .12 * age - .05 * wk + 2 + (.8 + .06 * dist) * rng.normal(size=n)
    return k_col(dist, climb, age, wk), np.round(y)


def k_crop(rng, n):
    """Yield, t/ha: fertiliser trial of fixed doses, with a plateau (curve left out)."""
    N = rng.choice([0, 40, 80, 120, 160], n)
    K = rng.choice([0, 30, 60], n)
    rain = rng.normal(420, 80, n)
    ph = rng.normal(6.4, .5, n)
    y = 2.5 + 4.2 * (1 - np.exp(-N / 70)) + .008 * K + .006 * (rain - 420) + .4 * (ph - 6.4)
    return k_col(N, K, rain, ph), y + .35 * rng.normal(size=n)


BANDW = np.exp(-.5 * ((np.arange(16)[None, :] - np.array([3, 7, 12])[:, None]) / 2.5) ** 2)


def k_bands(rng, n):
    """Chlorophyll from 16 collinear spectral bands."""
    c = rng.gamma(4, .5, (n, 3))
    X = .2 + .1 * c @ BANDW + .004 * rng.normal(size=(n, 16))
    b = np.zeros(16)
    b[[3, 7, 12]] = [30, -12, 6]
    return k_lin(X, b, 1, .15 * rng.normal(size=n))


def k_cars(rng, n):
    """Log price of used cars, four makes."""
    age = rng.gamma(2.2, 2.8, n)
    km = np.maximum(0, age * rng.normal(14, 5, n))
    hp = np.exp(rng.normal(4.7, .3, n))
    mk = rng.choice(4, n, p=[.4, .3, .2, .1])
    X = k_col(age, km, hp, mk == 1, mk == 2, mk == 3)
    return k_lin(X, [-.09, -.003, .006, .1, .25, .5], 9.3, .13 * rng.normal(size=n))


def k_mix(rng, n):
    """Concrete strength, MPa: kg per cubic metre of the parts, age left as a curve."""
    cem = rng.uniform(150, 450, n)
    slag = np.where(rng.random(n) < .4, 0, rng.uniform(20, 250, n))
    wat = rng.normal(180, 18, n)
    days = rng.choice([3, 7, 14, 28, 56, 90], n)
    y = .09 * cem + .07 * slag - .16 * wat + 8.5 * np.log(days) + 14
    return k_col(cem, slag, wat, days), y + 3.5 * rng.normal(size=n)


def k_taxi(rng, n):
    km = rng.gamma(1.8, 3, n) + .4
    mins = 2.4 * km * rng.gamma(9, 1 / 9, n) + 2
    night = rng.random(n) < .3
    air = rng.random(n) < .06
    y = 2.6 + 1.5 * km + .32 * mins + .9 * night + 4.5 * air + .5 * rng.normal(size=n)
    return k_col(km, mins, night, air), np.round(2 * y) / 2


def k_pressure(rng, n):
    """Blood pressure read to even numbers."""
    age = rng.integers(20, 85, n)
    bmi = np.exp(rng.normal(3.28, .17, n))
    sex = rng.integers(0, 2, n)
    drug = rng.random(n) < (age - 15) / 150
    y = 80 + .55 * age + .8 * bmi + 4 * sex - 8 * drug + 9 * rng.normal(size=n)
    return k_col(age, bmi, sex, drug), 2 * np.round(y / 2)


def k_parcel(rng, n):
    """Gross weight in kg of pallets from counts of articles."""
    C = rng.poisson([6, 12, 3, 20, 1.5], (n, 5))
    return k_lin(k_col(C), [2.2, .75, 5.1, .3, 9.5], 22, .6 * rng.normal(size=n))


def k_wind(rng, n):
    """Turbine power on wind speed: the curve is left out."""
    v = 8.5 * rng.weibull(2.1, n)
    t = rng.normal(9, 7, n)
    dens = 1.29 - .0045 * t
    p = 2000 / (1 + np.exp(-(v - 9) / 1.3)) * dens / 1.25
    return k_col(v, t), p + 40 * rng.normal(size=n)


def k_calls(rng, n):
    """Hourly calls in a centre: counts, weekly and daily waves."""
    t = np.arange(n) + int(rng.integers(0, 168))
    h = 2 * np.pi * (t % 24) / 24
    wk = ((t // 24) % 7) >= 5
    mail = rng.poisson(3, n)
    X = k_col(np.sin(h), np.cos(h), wk, mail)
    mu = 140 - 30 * X[:, 0] - 70 * X[:, 1] - 25 * wk + 4 * mail
    y = rng.poisson(np.maximum(mu, 1))
    return X, y


OMI = P.normal(size=(4, 60)) * (P.random((4, 60)) < .5)
OMB = np.where(P.random(60) < .15, P.normal(0, 1.2, 60), 0)


def k_omics(rng, n):
    """Sixty transcripts in four modules; a clinical score."""
    X = 7 + rng.normal(size=(n, 4)) @ OMI + .7 * rng.normal(size=(n, 60))
    return k_lin(X, OMB, 3, .7 * rng.normal(size=n))


def k_assay(rng, n):
    """Calibration of an assay on dilution steps, two columns."""
    conc = rng.choice([.5, 1, 2, 4, 8, 16, 32], n)
    plate = rng.integers(1, 9, n)
    return k_lin(k_col(conc, plate), [.061, .004], .08, .02 * rng.normal(size=n))


SPEED = np.array([.5059, .5236, .2625, .2434])


def k_tide(rng, n):
    """Sea level in cm, four constituents, residual surge (AR)."""
    t = np.arange(n) * 1.0 + rng.uniform(0, 8000)
    A = np.column_stack([f(s * t) for s in SPEED for f in (np.sin, np.cos)])
    return k_lin(A, [80, 40, 25, -15, 9, 6, 4, -5], 310, 6 * k_ar(rng, n, .8))


def k_gauge(rng, n):
    """Strain gauge, micro to mega scales of columns."""
    X = k_col(2e-6 * rng.normal(size=n), 3e5 * rng.gamma(3, 1, n), rng.normal(20, 4, n), 40 * rng.normal(size=n))
    return k_lin(X, [4e6, 2.5e-5, -.8, .11], 30, .8 * rng.normal(size=n))


def k_flat(rng, n):
    """Rents with postcode quality and a product left out."""
    m2 = np.exp(rng.normal(4.1, .4, n))
    qual = rng.integers(1, 6, n)
    lift = rng.random(n) < .35
    floor = rng.poisson(2.2, n)
    y = 120 + 8 * m2 + 60 * qual + .5 * (qual - 3) * m2 + 40 * lift + 9 * floor
    return k_col(m2, qual, lift, floor), y * np.exp(.07 * rng.normal(size=n))


def k_milk(rng, n):
    """Milk per cow and day, kg; a lactation curve left out."""
    day = rng.integers(5, 305, n)
    feed = rng.normal(21, 2.2, n)
    lact = rng.choice([1, 2, 3, 4, 5], n, p=[.35, .25, .2, .12, .08])
    y = 6 + .8 * feed + 1.1 * lact + 11 * (day / 60) ** .6 * np.exp(-day / 130)
    return k_col(day, feed, lact), y + 1.6 * rng.normal(size=n)


def k_solar(rng, n):
    """Panels by radiation; good days far out are honest leverage."""
    rad = np.where(rng.random(n) < .05, rng.uniform(1500, 3000, n), rng.gamma(2, 150, n))
    temp = 10 + .01 * rad + 6 * rng.normal(size=n)
    wind = rng.gamma(2, 2, n)
    return k_lin(k_col(rad, temp, wind), [.21, -.4, .9], 3, 5 * rng.normal(size=n))


def k_height(rng, n):
    """Weight from height in cm, waist, age."""
    hgt = rng.normal(170, 9, n)
    waist = .45 * hgt + 12 + 9 * rng.normal(size=n)
    age = rng.integers(18, 80, n)
    return k_lin(k_col(hgt, waist, age), [.45, .72, -.03], -60, 3.2 * rng.normal(size=n))


def k_queue(rng, n):
    """Job time in a cluster: exponential noise."""
    cpu = rng.choice([1, 2, 4, 8, 16], n)
    gb = rng.lognormal(1, .8, n)
    files = rng.poisson(8, n)
    return k_lin(k_col(cpu, gb, files), [-1.1, 6, 2.5], 40, 4 * (rng.exponential(1, n) - 1))


# =============================================================== faults of regressions
def k_f_y(f):
    return lambda rng, X, y, c: (X, f(y))


def k_f_yconst(v):
    return lambda rng, X, y, c: (X, np.full(len(y), float(v)))


def k_f_xcol(j, f):
    def go(rng, X, y, c):
        X[:, j] = f(X[:, j])
        return X, y
    return go


def k_f_cells(v, many=1):
    """Sentinel in `many` cells of each hurt row."""
    def go(rng, X, y, c):
        for _ in range(many):
            X[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = v
        return X, y
    return go


def k_f_swap(i, j):
    def go(rng, X, y, c):
        X[:, [i, j]] = X[:, [j, i]]
        return X, y
    return go


def k_f_decimal(rng, X, y, c):
    return X, y * rng.choice([.01, .1, 10, 100], len(y))


def k_f_stuck(rng, X, y, c):
    v = np.quantile(c.y, .97)
    return X, np.full(len(y), v)


def k_f_permute(rng, X, y, c):
    return X, c.y[rng.permutation(c.n)[:len(y)]]


def k_f_shift(k):
    def go(rng, X, y, c):
        return X, c.y[(c.i + k) % c.n]
    return go


def k_f_test(rng, X, y, c):
    """Test accounts: 1, 2, 3, ... in the fields, 9999 in the target."""
    X[:] = np.arange(1, X.shape[1] + 1)
    return X, np.full(len(y), 9999.0)


def k_f_one_row(rng, X, y, c):
    """One row pasted all over, with a wrong target."""
    i = int(c.shared.integers(0, c.n))
    X[:] = c.X[i]
    return X, np.full(len(y), c.y[i] + 4 * c.y.std())


def k_f_other_line(scale):
    """All bad rows or batches tell the same wrong line."""
    def go(rng, X, y, c):
        s = c.X.std(0)
        b = c.shared.normal(size=X.shape[1]) / np.where(s > 0, s, 1) * scale * c.y.std()
        return X, c.y.mean() + (X - c.X.mean(0)) @ b + 4 * scale * c.y.std() + .05 * c.y.std() * rng.normal(size=len(y))
    return go


def k_f_cumul(rng, X, y, c):
    """A meter read instead of its difference."""
    return X, np.cumsum(np.abs(y)) + 20 * np.abs(c.y).mean()


def k_f_bit(v):
    def go(rng, X, y, c):
        return X, y + v * rng.choice([1, 2, 4], len(y))
    return go


def k_f_mixed(rng, X, y, c):
    """A third sign, a third thousand, a third zero code."""
    k = rng.integers(0, 3, len(y))
    return X, np.where(k == 0, -y, np.where(k == 1, 1000 * y, -9999.0))


def k_f_colpaste(rng, X, y, c):
    """A feature pasted into the target."""
    return X, 25 * X[:, 0]


def k_f_lever(rng, X, y, c):
    """Far rows, each on a line of the opposite sign."""
    s = c.X.std(0)
    m = c.X.mean(0)
    b = c.truth[:-1]
    X = m + 8 * (X - m) + 25 * s * np.sign(b)
    return X, c.y.mean() - (X - m) @ b


def k_f_colroll(rng, X, y, c):
    """A field missing at the left: each value one field to the left, the target last."""
    Z = np.column_stack([X[:, 1:], y])
    return Z, X[:, 0].copy()


def k_f_huge(rng, X, y, c):
    """Bytes in the wrong order."""
    return rng.normal(size=X.shape) * 10 ** rng.uniform(3, 6, X.shape), rng.normal(size=len(y)) * 10 ** rng.uniform(3, 8, len(y))


def k_f_zero_x(js):
    def go(rng, X, y, c):
        X[:, list(js)] = 0
        return X, y
    return go


def k_f_both(*fs):
    def go(rng, X, y, c):
        for f in fs:
            X, y = f(rng, X, y, c)
        return X, y
    return go


def k_f_limit(q, off=0.0):
    """A limiter at a low part of the range, and its offset in spreads."""
    def go(rng, X, y, c):
        return X, np.minimum(y, np.quantile(c.y, q)) - off * c.y.std()
    return go


def k_f_burst(rng, X, y, c):
    """A pump surges: the target swings far to both sides."""
    s = c.y.std()
    return X, y + s * rng.choice([-1, 1], len(y)) * rng.uniform(1.2, 5, len(y))


def k_f_fake(rng, X, y, c):
    """Invented records: few values of the fields, the target always a round wrong thousand."""
    X[:] = c.X[c.shared.integers(0, c.n, 6)][rng.integers(0, 6, len(X))]
    return X, np.round(y / 1000) * 1000 + 3000


# =============================================================== regression, bad rows
B.reg('k_r_boiler_limiter', k_boiler, 4000, k_f_limit(0, .4), .2, 'middle', note='a limiter below the range')
B.reg('k_r_boiler_stuck', k_boiler, 5000, k_f_both(k_f_stuck, k_f_y(lambda v: v + 90)), .3, 'runs', note='stuck at the top')
B.reg('k_r_boiler_burst', k_boiler, 3000, k_f_burst, .3, 'runs')
B.reg('k_r_phone_cents', k_phone, 6000, k_f_y(lambda v: 100 * v), .12, 'random', note='cents for euros')
B.reg('k_r_phone_tests', k_phone, 2500, k_f_test, .2, 'end')
B.reg('k_r_phone_refunds', k_phone, 5000, k_f_y(lambda v: -v - 30), .3, 'random', note='sign of the bill, fee paid back')
B.reg('k_r_page_timeout', k_page, 8000, k_f_yconst(5000), .05, 'random', note='timeout code')
B.reg('k_r_eqtl_no_call', k_eqtl, 1500, k_f_cells(-9, 2), .3, 'random', note='-9 for a missing genotype')
B.reg('k_r_eqtl_plate', k_eqtl, 900, k_f_y(lambda v: v + 8), .4, 'start', note='a plate with an offset')
B.reg('k_r_survey_code99', k_survey, 1200, k_f_cells(99), .12, 'random')
B.reg('k_r_survey_zero', k_survey, 2000, k_f_yconst(0), .4, 'random', note='zero for no answer')
B.reg('k_r_station_fahrenheit', k_station, 5000, k_f_y(lambda v: 1.8 * v + 32), .3, 'random')
B.reg('k_r_station_feet', k_station, 3000, k_f_both(k_f_xcol(1, lambda v: 10 * v + 20000), k_f_y(lambda v: v + 40)), .12, 'runs',
      note='altitude in a code of feet, Kelvin mixed in')
B.reg('k_r_race_seconds', k_race, 2000, k_f_y(lambda v: 60 * v), .4, 'random')
B.reg('k_r_crop_kg', k_crop, 600, k_f_y(lambda v: 1000 * v), .2, 'runs', note='kg for t')
B.reg('k_r_bands_saturated', k_bands, 1200, k_f_xcol(slice(0, 6), lambda v: np.full(v.shape, 4.0)), .2,
      'random', note='six of the bands saturate')
B.reg('k_r_cars_in_euros', k_cars, 4000, k_f_y(np.exp), .3, 'random', note='the logarithm was forgotten')
B.reg('k_r_mix_zero_water', k_mix, 900, k_f_zero_x((2,)), .2, 'random', note='an empty field as zero')
B.reg('k_r_taxi_decimals', k_taxi, 10000, k_f_decimal, .12, 'random', note='slips of the point, both ways')
B.reg('k_r_pressure_mixed', k_pressure, 3000, k_f_mixed, .4, 'random')
B.reg('k_r_parcel_roll', k_parcel, 2000, k_f_colroll, .3, 'runs', note='fields slid by one')
B.reg('k_r_parcel_bits', k_parcel, 20000, k_f_bit(16), .2, 'random')
B.reg('k_r_wind_curtailed_code', k_wind, 5000, k_f_yconst(-9999), .2, 'runs', note='a curve left out, and a code')
B.reg('k_r_omics_negated', k_omics, 900, k_f_y(lambda v: -v), .2, 'random')
B.reg('k_r_assay_edge_wells', k_assay, 240, k_f_y(lambda v: v + .25), .2, 'random')
B.reg('k_r_tide_datum', k_tide, 6000, k_f_y(lambda v: v - 90), .4, 'middle', note='another datum')
B.reg('k_r_gauge_lever', k_gauge, 1500, k_f_lever, .3, 'random')
B.reg('k_r_solar_good_lever', k_solar, 4000, k_f_both(k_f_xcol(0, lambda v: v + 2000), k_f_y(lambda v: -300 - v)), .2, 'random',
      note='honest leverage beside bad')
B.reg('k_r_height_inch', k_height, 3000, k_f_xcol(0, lambda v: v / 2.54), .3, 'random', note='inches')
B.reg('k_r_queue_one_row', k_queue, 2500, k_f_one_row, .3, 'end', note='one row pasted')
B.reg('k_r_milk_grams', k_milk, 5000, k_f_xcol(1, lambda v: 1000 * v), .05, 'random', note='feed in grams')
B.reg('k_r_tide_hours', k_tide, 5000, k_f_shift(6), .2, 'middle', note='the clock is six hours off')
B.reg('k_r_parcel_joined', k_parcel, 4000, k_f_permute, .2, 'middle', note='a join gave each the weight of another; few of them near')

# --------------------------------------------------------------- regression, bad batches
B.reg('k_r_b_boiler_line', k_boiler, sizes=(500,) * 40, hurt=k_f_other_line(1.0), batches=.4, order='start', note='the same wrong line')
B.reg('k_r_b_phone_mixed', k_phone, sizes=(200,) * 50, hurt=k_f_y(lambda v: -10 * v), batches=.45, stray=.05, stray_hurt=k_f_yconst(9999),
      order='random')
B.reg('k_r_b_page_bytes', k_page, sizes=lambda r: r.integers(80, 900, 30), hurt=k_f_huge, batches=.3, order='random')
B.reg('k_r_b_fund_colpaste', k_fund, sizes=(300,) * 30, hurt=k_f_colpaste, batches=.4, order='end')
B.reg('k_r_b_station_swap', k_station, sizes=(400,) * 25, hurt=k_f_swap(0, 4), batches=.2, order='random', note='fields changed')
B.reg('k_r_b_taxi_currency', k_taxi, sizes=(1000,) * 12, hurt=k_f_y(lambda v: 110 * v), batches=.4, order='random')
B.reg('k_r_b_parcel_meter', k_parcel, sizes=(250,) * 30, hurt=k_f_cumul, batches=.3, order='start')
B.reg('k_r_b_tide_feet', k_tide, sizes=(720,) * 15, hurt=k_f_y(lambda v: v / 30.48), batches=.4, order='runs')
B.reg('k_r_b_flat_fake', k_flat, sizes=(150,) * 40, hurt=k_f_fake, batches=.2, stray=.12, stray_hurt=k_f_y(lambda v: 1000 * v))
B.reg('k_r_b_tiny', k_assay, sizes=(50,) * 60, hurt=k_f_y(lambda v: 5 - v), batches=.4, order='random', note='small batches')
B.reg('k_r_b_big', k_height, sizes=(5000,) * 5, hurt=k_f_y(lambda v: 2.2046 * v), batches=.4, order='random', note='pounds')
B.reg('k_r_b_stray_only', k_queue, sizes=(400,) * 25, hurt=k_f_limit(.2, 5), batches=.12, stray=.2, stray_hurt=k_f_y(lambda v: 60 * v + 100),
      order='random')


# =============================================================== regression, honest laws
def k_h_claims(rng, n):
    """Eighty per cent of zeros, else a lognormal sum."""
    age = rng.integers(18, 80, n)
    kmh = rng.gamma(4, 4, n)
    town = rng.random(n) < .4
    p = 1 / (1 + np.exp(1.9 - .03 * kmh - .4 * town + .01 * (age - 45)))
    return k_col(age, kmh, town), np.where(rng.random(n) < p, rng.lognormal(6, .7, n), 0)


def k_h_salary(rng, n):
    ed = rng.choice([8, 10, 12, 13, 16, 18, 21], n)
    ex = rng.uniform(0, 42, n)
    y = np.exp(1.2 + .08 * ed + .045 * ex - .0007 * ex ** 2 + .35 * rng.normal(size=n))
    return k_col(ed, ex), y


def k_h_default(rng, n):
    """Yes or no as the target."""
    s = rng.normal(650, 80, n)
    debt = rng.gamma(2, .2, n)
    late = rng.poisson(.6, n)
    p = 1 / (1 + np.exp(1.2 + (s - 650) / 70 - 1.5 * debt - .5 * late))
    return k_col(s, debt, late), rng.random(n) < p


def k_h_exam(rng, n):
    """Marks with a ceiling at 100."""
    h = rng.gamma(3, 5, n)
    prev = np.clip(rng.normal(68, 15, n), 0, 100)
    return k_col(h, prev), np.clip(np.round(15 + .8 * prev + .9 * h + 9 * rng.normal(size=n)), 0, 100)


def k_h_rain(rng, n):
    """Runoff: gamma rain with dry days and skewed noise."""
    r = np.where(rng.random(n) < .6, 0, rng.gamma(.8, 12, n))
    wet = k_ar(rng, n, .95)
    return k_col(r, wet), np.exp(.8 + .03 * r + .35 * wet + .4 * rng.normal(size=n))


def k_h_dups(rng, n):
    """Every record is stored four times, with its own shipment."""
    m = (n + 3) // 4
    X = k_col(rng.gamma(2, 3, m), rng.normal(50, 8, m), rng.integers(0, 4, m))
    e = rng.laplace(0, 3, m)
    o = rng.permutation(np.repeat(np.arange(m), 4))[:n]
    return k_lin(X[o], [2, -.4, 3], 60, e[o])


def k_h_hetero(rng, n):
    q = rng.lognormal(2, .8, n)
    d = rng.random(n) < .5
    return k_lin(k_col(q, d), [3, 10], 5, q * (rng.gamma(3, 1, n) - 3) * .5)


def k_h_t3(rng, n):
    X = rng.standard_t(6, (n, 6)) @ (np.eye(6) + .3)
    return k_lin(X, [1, .5, 0, -1, .2, .3], 2, rng.standard_t(3, n))


def k_h_rareflag(rng, n):
    """Rare flags with real effects."""
    x = rng.normal(30, 6, n)
    f = rng.random(n) < .03
    g = rng.random(n) < .06
    return k_lin(k_col(x, f, g), [1, 9, -5], 4, 4 * rng.normal(size=n))


def k_h_adc(rng, n):
    """Ten-bit readings, coarse step against the noise."""
    a = rng.gamma(4, 60, n)
    b = rng.normal(300, 60, n)
    y = .6 * a + .9 * b + 20 + 2 * rng.normal(size=n)
    return k_col(4 * np.round(a / 4), 4 * np.round(b / 4)), 4 * np.round(y / 4)


def k_h_tariff(rng, n):
    """Electricity on temperature: heating and cooling, a V left out."""
    t = rng.normal(14, 9, n)
    sq = np.exp(rng.normal(4.5, .3, n))
    pers = rng.choice([1, 2, 3, 4, 5, 6], n, p=[.3, .32, .15, .14, .06, .03])
    return k_col(t, sq, pers), 3 + .25 * np.abs(t - 16) + .05 * sq + 1.4 * pers + 1.2 * rng.gamma(2, 1, n)


def k_h_season(rng, n):
    """Sales that grow and swing through the years; months as batches."""
    t = np.arange(n) / n
    ad = rng.gamma(2, 5, n)
    pr = rng.uniform(.8, 1.2, n)
    return k_col(ad, pr), 100 + 3 * ad - 40 * pr + 40 * t + 15 * np.sin(2 * np.pi * 6 * t) + 9 * rng.normal(size=n)


def k_h_sites(rng, n):
    """Hospitals: a level for each batch of 400 patients, normal by degrees."""
    g = np.repeat(rng.normal(0, 1.5, (n + 399) // 400), 400)[:n]
    age = rng.normal(60, 14, n)
    sev = rng.integers(0, 5, n)
    return k_lin(k_col(age, sev), [.05, 1.3], 2, g + 2.5 * rng.exponential(1, n) - 2.5)


def k_h_sorted(rng, n):
    """A file in order of its main field."""
    x = np.sort(rng.gamma(2, 10, n))
    z = rng.normal(size=n) + .02 * x
    return k_col(x, z), 5 + 2 * x - .012 * x ** 2 + 3 * z + 4 * rng.normal(size=n)


def k_h_poisson(rng, n):
    """Species counts of few individuals."""
    ph = rng.normal(6.5, .8, n)
    area = rng.choice([1, 2, 5, 10], n)
    return k_col(ph, area), rng.poisson(np.exp(-.5 + .25 * (ph - 6.5) + .12 * area))


def k_h_nb(rng, n):
    """Overdispersed visits to a site."""
    a = rng.gamma(2, 1, n)
    w = rng.integers(0, 7, n)
    lam = (4 + 5 * a + 2 * (w >= 5)) * rng.gamma(1.5, 1 / 1.5, n)
    return k_col(a, w), rng.poisson(lam)


def k_h_cats(rng, n):
    """Twelve regions as dummies, unequal sizes, prices in thousands."""
    pr = np.array([22, 18, 14, 11, 9, 7, 6, 5, 3, 2.5, 1.5, 1])
    r = rng.choice(12, n, p=pr / pr.sum())
    D = (r[:, None] == np.arange(1, 12)).astype(float)
    x = rng.lognormal(4, .5, n)
    return k_lin(np.column_stack([x, D]), np.r_[.3, np.linspace(-8, 9, 11)], 40, .05 * x * rng.normal(size=n) + 6 * rng.normal(size=n))


def k_h_product(rng, n):
    """A product left out."""
    a, b = rng.normal(5, 1.5, n), rng.uniform(0, 10, n)
    c = rng.integers(0, 2, n)
    return k_col(a, b, c), 4 + a + b + .3 * a * b + 6 * c * (b > 5) + 3 * rng.normal(size=n)


def k_h_collinear(rng, n):
    """Rounded shares that sum to 100 and a constant column."""
    g = rng.gamma([2., 3, 5, 1.5], 1, (n, 4))
    s = np.round(100 * g / g.sum(1, keepdims=True), 1)
    return k_lin(np.column_stack([s[:, :3], rng.normal(0, 1, n)]), [.5, -.2, .1, 2], 10, 5 * rng.normal(size=n))


def k_h_mult(rng, n):
    """Costs with multiplied noise on a log-normal scale."""
    q = np.exp(rng.normal(3, .7, n))
    w = rng.gamma(2, 1, n)
    return k_col(q, w), (5 + 2 * q + 12 * w) * np.exp(.3 * rng.normal(size=n) - .045)


def k_h_clock(rng, n):
    """Travel time: two peaks of the day left out."""
    h = rng.uniform(5, 23, n)
    d = rng.gamma(3, 4, n)
    pk = np.exp(-(h - 8) ** 2 / 2) + np.exp(-(h - 17.5) ** 2 / 4)
    return k_col(h, d), 6 + 1.6 * d + .4 * d * pk + 3 * pk + 1.5 * rng.gamma(2, 1, n)


def k_h_wide(rng, n):
    """Forty columns, some of them counts, some flags."""
    X = np.column_stack([rng.normal(size=(n, 15)), rng.poisson(1.2, (n, 10)), rng.random((n, 8)) < .3, rng.exponential(1, (n, 7))])
    return k_lin(X, np.r_[np.linspace(-1, 1, 15), np.full(10, .4), np.full(8, -.6), np.zeros(7)], 1, rng.gumbel(-.5772, 1, n) * 1.5)


def k_h_laplace(rng, n):
    x = rng.laplace(0, 2, (n, 3))
    return k_lin(x, [1, -1, .5], 0, rng.laplace(0, 1, n) * (1 + .2 * np.abs(x[:, 0])))


def k_h_ebike(rng, n):
    """Battery range, two models mixed evenly within a smooth field."""
    w = rng.normal(78, 13, n)
    wh = rng.choice([400, 500, 625, 750], n)
    hill = rng.beta(2, 5, n)
    return k_col(w, wh, hill), (wh / 8) * (1 - .8 * hill) * (1 - .002 * (w - 78)) + 6 * rng.normal(size=n)


def k_h_ar(rng, n):
    """Errors with a memory, trended regressors."""
    t = np.linspace(0, 1, n)
    x = 3 * t + k_ar(rng, n, .7)
    z = k_ar(rng, n, .9)
    return k_lin(k_col(x, z), [2, -1], 5, 2 * k_ar(rng, n, .85))


B.reg('k_rh_claims', k_h_claims, 8000)
B.reg('k_rh_salary', k_h_salary, 3000)
B.reg('k_rh_default', k_h_default, 5000)
B.reg('k_rh_exam', k_h_exam, 1200)
B.reg('k_rh_rain', k_h_rain, 2000)
B.reg('k_rh_dups', k_h_dups, 2400)
B.reg('k_rh_hetero', k_h_hetero, 1500)
B.reg('k_rh_t3', k_h_t3, 3000)
B.reg('k_rh_rareflag', k_h_rareflag, 4000)
B.reg('k_rh_adc', k_h_adc, 2500)
B.reg('k_rh_tariff', k_h_tariff, 4000)
B.reg('k_rh_season', k_h_season, sizes=(300,) * 24, note='drift and season by degrees')
B.reg('k_rh_sites', k_h_sites, sizes=(400,) * 30)
B.reg('k_rh_sorted', k_h_sorted, sizes=(500,) * 12)
B.reg('k_rh_poisson', k_h_poisson, 900)
B.reg('k_rh_nb', k_h_nb, 3500)
B.reg('k_rh_cats', k_h_cats, 6000)
B.reg('k_rh_product', k_h_product, 2000)
B.reg('k_rh_collinear', k_h_collinear, 1000)
B.reg('k_rh_mult', k_h_mult, 5000)
B.reg('k_rh_clock', k_h_clock, 20000)
B.reg('k_rh_wide', k_h_wide, 800)
B.reg('k_rh_laplace', k_h_laplace, sizes=(120,) * 40)
B.reg('k_rh_ebike', k_h_ebike, 3000)
B.reg('k_rh_ar', k_h_ar, 2000)
B.reg('k_rh_crop', k_crop, 300, note='plateau of doses')
B.reg('k_rh_wind', k_wind, 6000, note='a saturating curve')
B.reg('k_rh_solar', k_solar, 3000, note='good leverage alone')
B.reg('k_rh_calls', k_calls, sizes=(168,) * 30, note='weeks as batches, counts')
B.reg('k_rh_taxi_stream', k_taxi, sizes=lambda r: r.integers(60, 2500, 20))


# =============================================================== PCA laws
def k_fac(rng, n, L, s, mean, noise):
    return mean + (rng.normal(size=(n, L.shape[0])) * s) @ L + noise * rng.normal(size=(n, L.shape[1]))


def k_unit(A):
    return A / np.linalg.norm(A, axis=1, keepdims=True)


GEN = k_unit(P.normal(size=(3, 50)) * (P.random((3, 50)) < .4))
GENM = P.uniform(4, 11, 50)


def k_p_genes(rng, n):
    """Log expression, three pathways."""
    return k_fac(rng, n, GEN, np.array([6, 4, 2.8]), GENM, .5)


WAV = np.linspace(0, 1, 60)
SPC = np.array([np.exp(-.5 * ((WAV - c) / w) ** 2) for c, w in [(.2, .06), (.45, .1), (.75, .05)]])


def k_p_spectra(rng, n):
    """Absorption of mixtures of three substances."""
    return .3 + (rng.gamma(3, .5, (n, 3)) * [1.4, 1, .6]) @ SPC + .02 * rng.normal(size=(n, 60))


ITM = np.zeros((2, 20))
ITM[0, :10] = P.uniform(.7, 1.2, 10)
ITM[1, 10:] = P.uniform(.5, .9, 10)


def k_p_items(rng, n):
    """Answers from 1 to 7, two traits."""
    return np.clip(np.round(4 + rng.normal(size=(n, 2)) @ ITM + .7 * rng.normal(size=(n, 20))), 1, 7)


MAT = np.array([.25, .5, 1, 2, 3, 5, 7, 10, 20, 30])
NS = np.array([np.ones(10), np.exp(-MAT / 3), (MAT / 3) * np.exp(-MAT / 3)])


def k_p_yields(rng, n):
    """Yield curves, per cent."""
    return 3 + rng.normal(size=(n, 3)) * [1.1, .9, .5] @ NS + .03 * rng.normal(size=(n, 10))


SECT = np.zeros((4, 30))
SECT[0] = P.uniform(.7, 1.3, 30)
for _k in range(3):
    SECT[_k + 1, 10 * _k:10 * _k + 10] = [.8, .65, .5][_k]


def k_p_stocks(rng, n):
    """Daily returns, t of 6 in common."""
    z = np.sqrt(6 / rng.chisquare(6, n))[:, None]
    return .03 + z * ((rng.normal(size=(n, 4)) * [1.2, 1, 1, 1]) @ SECT + .5 * rng.normal(size=(n, 30)))


LAT = P.uniform(0, 1, (25, 2))


def k_p_stations(rng, n):
    """Temperatures of 25 stations: season, north-south, east-west."""
    d = rng.uniform(0, 2 * np.pi, n)
    f = rng.normal(size=(n, 2)) * [3.5, 2.0]
    X = 10 - 9 * np.cos(d)[:, None] * (.8 + .4 * LAT[:, 0]) + f[:, :1] * (LAT[:, 0] - .5) * 2 + f[:, 1:] * (LAT[:, 1] - .5) * 2
    return X + .5 * rng.normal(size=(n, 25))


GX, GY = np.meshgrid(np.arange(7) - 3, np.arange(7) - 3)
PAT = k_unit(np.array([np.ones(49), GX.ravel(), GY.ravel(), (GX * GY).ravel()]).astype(float))


def k_p_patch(rng, n):
    """Seven by seven patches of images: level, slopes."""
    c = rng.laplace(0, 1, (n, 4)) * [200, 70, 55, 20]
    return np.clip(120 + c @ PAT + 4 * rng.normal(size=(n, 49)), 0, 255)


def k_p_accel(rng, n):
    """Six axes of a phone at rest and in walk."""
    ph = np.arange(n) * .37 + rng.uniform(0, 6)
    a = .6 + .4 * rng.random(n)
    S = np.column_stack([a * np.sin(ph), a * np.cos(ph)])
    return np.array([0, 0, 9.8, 0, 0, 0]) + S @ (3 * ACC) + .2 * rng.normal(size=(n, 6))


ACC = np.array([[1, .2, .7, .3, .1, 0], [0, .6, -.3, .2, .5, .7]])
END = P.uniform(.3, .9, 12)


def k_p_hits(rng, n):
    """Log counts of hits by endpoint."""
    act = rng.normal(size=(n, 1))
    bot = rng.normal(size=(n, 1))
    lam = np.exp(3.5 + act * END + .5 * bot * (np.arange(12) < 4))
    return np.log1p(rng.poisson(lam))


BODY = np.array([9, 4, 6, 3, 5.5, 2, 4, 3, 5.])
BODM = np.array([170, 56, 92, 36, 98, 24, 40, 30, 52.])


def k_p_body(rng, n):
    """Body measures in cm: size, then fatness."""
    fat = np.array([-2, 1, 9, 1, 7, 1, 3, 2, 4.])
    return BODM + rng.normal(size=(n, 1)) * BODY + rng.normal(size=(n, 1)) * fat + .8 * rng.normal(size=(n, 9))


HR = np.arange(24)


def k_p_load24(rng, n):
    """Daily profiles of 24 hours."""
    lv = rng.normal(0, 8, n)[:, None]
    ev = rng.normal(0, 6, n)[:, None]
    day = 100 + 15 * np.sin(2 * np.pi * (HR - 8) / 24)
    return day + lv + 1.6 * ev * np.exp(-.5 * ((HR - 19) / 2.5) ** 2) + 1.5 * rng.normal(size=(n, 24))


EEG = k_unit(P.normal(size=(4, 19)))


def k_p_eeg(rng, n):
    s = np.column_stack([k_ar(rng, n, r) for r in (.97, .9, .8, .5)]) * [60, 40, 28, 18]
    return s @ EEG + 4 * rng.normal(size=(n, 19))


MEL = np.exp(-.5 * ((np.arange(26)[None, :] - np.array([4, 11, 20])[:, None]) / [[3], [4], [4]]) ** 2)


def k_p_mel(rng, n):
    """Log energies of 26 bands, skewed activity."""
    return -6 + (rng.gamma(1.5, 1, (n, 3)) * [2, 1.4, .9]) @ MEL + .25 * rng.normal(size=(n, 26))


LOOP = k_unit(P.uniform(0, 1, (2, 40)) + .2)


def k_p_loops(rng, n):
    """Traffic at forty loops through the day."""
    h = rng.uniform(0, 24, n)
    f = np.column_stack([np.exp(-.5 * ((h - 8) / 2) ** 2) - .3, np.exp(-.5 * ((h - 17) / 2.5) ** 2) - .3]) * [900, 700]
    return 80 + f @ LOOP + 25 * rng.normal(size=(n, 40))


SCL = 10.0 ** np.linspace(-2, 3, 12)


def k_p_scales(rng, n):
    """Lab values of very different units."""
    f = rng.normal(size=(n, 2))
    L = np.zeros((2, 12))
    L[0, 8:] = [.8, .5, .9, 1]
    L[1, 6:11] = [.4, .4, .7, 1.0, -1.0]
    return SCL * (10 + f @ L + .12 * rng.normal(size=(n, 12)))


def k_p_plane(rng, n):
    """Two columns: a calibrated pair."""
    a = rng.gamma(4, 2, n)
    return k_col(a + .3 * rng.normal(size=n), 20 - 1.5 * a + .3 * rng.normal(size=n))


def k_p_leverage(rng, n):
    """Honest extremes along the first direction, five in a hundred."""
    s = np.where(rng.random(n) < .05, 6, 1) * rng.normal(size=n) * 3
    F = np.column_stack([s, 1.6 * rng.normal(size=n)])
    return F @ LEV + .25 * rng.normal(size=(n, 8))


LEV = k_unit(P.normal(size=(2, 8)))


# =============================================================== faults of PCA
def k_g_all(f):
    return lambda rng, X, c: f(X)


def k_g_cells(v, many=1):
    def go(rng, X, c):
        for _ in range(many):
            X[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = v
        return X
    return go


def k_g_decimal(f=10.0):
    def go(rng, X, c):
        j = rng.integers(0, X.shape[1], len(X))
        X[np.arange(len(X)), j] *= f
        return X
    return go


def k_g_cols(js, f):
    def go(rng, X, c):
        js_ = list(js)
        X[:, js_] = f(X[:, js_])
        return X
    return go


def k_g_ramp(scale=1.0):
    def go(rng, X, c):
        return np.tile(scale * np.arange(1, X.shape[1] + 1), (len(X), 1)) * rng.uniform(.9, 1.1, (len(X), 1))
    return go


def k_g_zigzag(rng, X, c):
    a = rng.integers(0, 2, len(X))[:, None]
    return np.where((np.arange(X.shape[1]) + a) % 2 == 0, 1.0, 7.0)


def k_g_reverse(rng, X, c):
    return X[:, ::-1].copy()


def k_g_roll(k):
    def go(rng, X, c):
        return np.roll(X, k, 1)
    return go


def k_g_far(scale):
    """Colluding: spread along one shared direction, shifted a little."""
    def go(rng, X, c):
        v = c.shared.normal(size=X.shape[1])
        v /= np.linalg.norm(v)
        s = np.sqrt(c.X.var(0).sum())
        return X + np.outer(scale * s * (1 + .5 * rng.normal(size=len(X))), v)
    return go


def k_g_both_sides(scale):
    """Shared direction, both signs, so that the mean does not move."""
    def go(rng, X, c):
        v = c.shared.normal(size=X.shape[1])
        v /= np.linalg.norm(v)
        s = np.sqrt(c.X.var(0).sum())
        return X + np.outer(scale * s * rng.choice([-1, 1], len(X)) * rng.uniform(.6, 1.4, len(X)), v)
    return go


def k_g_noise(scale):
    def go(rng, X, c):
        return c.X.mean(0) + scale * np.sqrt(c.X.var(0).max()) * rng.normal(size=X.shape)
    return go


def k_g_bytes(rng, X, c):
    return rng.normal(size=X.shape) * 10 ** rng.uniform(2, 6, X.shape)


def k_g_paste(rng, X, c):
    """A calibration record in place of the rows, far away."""
    v = c.X.mean(0) + 3 * np.sqrt(c.X.var(0).sum()) * np.sign(np.random.default_rng(3).normal(size=X.shape[1])) / np.sqrt(X.shape[1])
    return np.tile(v, (len(X), 1))


def k_g_block(js, scale):
    """Loose plug: a block of channels swings together."""
    def go(rng, X, c):
        X[:, list(js)] += scale * rng.choice([-1, 1], (len(X), 1)) * rng.uniform(.5, 1.5, (len(X), 1))
        return X
    return go


def k_g_stray_mix(rng, X, c):
    """Some thousand-fold, some zero, some negative."""
    k = rng.integers(0, 3, len(X))[:, None]
    return np.where(k == 0, 1000 * X, np.where(k == 1, -999.0, 9999.0))


# =============================================================== PCA, bad rows, cells, batches
B.pca('k_p_genes_tissue', k_p_genes, 3, 900, k_g_all(lambda X: X[:, ::-1] * 2 - 5), .2, 'random', note='another tissue')
B.pca('k_p_genes_missing', k_p_genes, 3, 1200, k_g_cells(-999, 3), .3, 'random')
B.pca('k_p_genes_far', k_p_genes, 2, 400, k_g_far(3), .12, 'end')
B.pca('k_p_spectra_reverse', k_p_spectra, 3, 1500, k_g_reverse, .2, 'runs', note='scan read backwards')
B.pca('k_p_spectra_cosmic', k_p_spectra, 3, 2000, k_g_cells(4, 2), .12, 'random', note='cosmic rays')
B.pca('k_p_spectra_dark', k_p_spectra, 2, 3000, k_g_all(lambda X: 50 * X[:, ::-1]), .3, 'middle')
B.pca('k_p_items_straight9', k_p_items, 2, 1500, k_g_cells(99, 2), .4, 'random', note='99 for no answer')
B.pca('k_p_items_zigzag', k_p_items, 2, 2000, k_g_zigzag, .2, 'random', note='1, 7, 1, 7: nobody read the questions')
B.pca('k_p_yields_bp', k_p_yields, 3, 2500, k_g_all(lambda X: 100 * X), .05, 'random', note='basis points')
B.pca('k_p_yields_cell', k_p_yields, 2, 4000, k_g_decimal(10.), .2, 'random', note='a decimal slip in one cell')
B.pca('k_p_stocks_split', k_p_stocks, 3, 2500, k_g_cells(-50, 1), .12, 'random', note='splits booked as returns')
B.pca('k_p_stations_fahr', k_p_stations, 3, 4000, k_g_cols(range(0, 10), lambda X: 1.8 * X + 132), .2, 'runs')
B.pca('k_p_patch_white', k_p_patch, 3, 3000, k_g_cols(range(0, 49, 2), lambda X: X * 0 + 255), .2, 'random', note='over-exposed lines')
B.pca('k_p_accel_upside', k_p_accel, 2, 4000, k_g_all(lambda X: X * [1, 1, -1, 1, 1, -1]), .2, 'runs', note='mounted upside down')
B.pca('k_p_hits_bots', k_p_hits, 2, 5000, k_g_ramp(.6), .3, 'random', note='a bot makes the same visit')
B.pca('k_p_body_inch', k_p_body, 2, 3000, k_g_cols([2, 4, 8], lambda X: X / 2.54), .2, 'random', note='three measures in inches')
B.pca('k_p_body_mm', k_p_body, 2, 1500, k_g_cols([0], lambda X: 10 * X), .4, 'start', note='height in mm')
B.pca('k_p_load24_clock', k_p_load24, 2, 1500, k_g_roll(12), .3, 'random', note='the clock is half a day off')
B.pca('k_p_eeg_pop', k_p_eeg, 3, 5000, k_g_block([2, 3, 4], 300), .12, 'runs', note='electrodes pop together')
B.pca('k_p_mel_bytes', k_p_mel, 3, 3000, k_g_bytes, .4, 'random')
B.pca('k_p_loops_dead', k_p_loops, 2, 4000, k_g_cols(range(10, 40), lambda X: 0 * X - 99), .3, 'random', note='dead loops say -99')
B.pca('k_p_scales_unit', k_p_scales, 2, 2500, k_g_cols([8, 9], lambda X: 10 * X), .12, 'random', note='mg per dl')
B.pca('k_p_plane_other', k_p_plane, 1, 600, k_g_all(lambda X: k_col(X[:, 0] + 25, 10 + 2 * X[:, 0])), .2, 'random', note='another instrument')
B.pca('k_p_lever_bad_beside', k_p_leverage, 2, 3000, k_g_both_sides(8), .3, 'random', note='honest extremes beside bad')
B.pca('k_p_load24_paste', k_p_load24, 2, 2000, k_g_paste, .4, 'middle', note='the calibration record')

B.pca('k_p_b_genes_sign', k_p_genes, 3, sizes=(200,) * 25, hurt=k_g_all(lambda X: -X), batches=.4, order='random')
B.pca('k_p_b_spectra_noise', k_p_spectra, 3, sizes=(250,) * 24, hurt=k_g_noise(.5), batches=.3, order='end')
B.pca('k_p_b_stocks_collude', k_p_stocks, 3, sizes=(300,) * 40, hurt=k_g_both_sides(3), batches=.45, note='one wrong direction in all')
B.pca('k_p_b_yields_roll', k_p_yields, 2, sizes=(120,) * 50, hurt=k_g_roll(1), batches=.4, order='start', note='fields slid by one')
B.pca('k_p_b_eeg_unit', k_p_eeg, 3, sizes=(1000,) * 14, hurt=k_g_cols([0, 5], lambda X: 50 * X), batches=.3, order='random')
B.pca('k_p_b_patch_invert', k_p_patch, 3, sizes=lambda r: r.integers(150, 1500, 18), hurt=k_g_cols(range(0, 49, 3), lambda X: 255 - X),
      batches=.4, order='random', note='every third pixel is inverted')
B.pca('k_p_b_body_stray', k_p_body, 2, sizes=(400,) * 25, hurt=k_g_all(lambda X: X[:, ::-1] * 3), batches=.2, stray=.12,
      stray_hurt=k_g_stray_mix)
B.pca('k_p_b_accel_axes', k_p_accel, 2, sizes=(5000,) * 4, hurt=k_g_roll(2), batches=.25, order='random', note='axes turned')
B.pca('k_p_b_plane_swapped', k_p_plane, 1, sizes=(50,) * 60, hurt=k_g_all(lambda X: X[:, ::-1]), batches=.4, note='the two fields changed')
B.pca('k_p_b_loops_mixed', k_p_loops, 2, sizes=(500,) * 20, hurt=k_g_far(6), batches=.12, stray=.05, stray_hurt=k_g_cells(99999, 2))


# =============================================================== PCA, honest laws
def k_q_classes(rng, n):
    """Three kinds of seed in equal parts, at equal distances that the spread bridges."""
    m = np.array([[5, 3.4, 2, .8], [6.2, 2.9, 2.6, 1.4], [5.4, 2.4, 3.4, 2]])
    return m[rng.integers(0, 3, n)] + rng.normal(size=(n, 4)) * [.5, .35, .4, .35] + .3 * rng.normal(size=(n, 1))


def k_q_lognormal(rng, n):
    """Incomes and what is bought, multiplied."""
    w = rng.normal(size=(n, 1))
    return np.exp(2 + .5 * w * np.linspace(.4, 1, 8) + .25 * rng.normal(size=(n, 8)))


def k_q_zero(rng, n):
    """Baskets: most cells zero, amounts lognormal."""
    t = rng.normal(size=(n, 1))
    on = rng.random((n, 10)) < 1 / (1 + np.exp(.3 - t * np.linspace(.3, 1.2, 10)))
    return on * np.exp(1 + .5 * t + .5 * rng.normal(size=(n, 10)))


def k_q_counts(rng, n):
    """Words in short texts."""
    k = rng.dirichlet([.8, .8, .8], n) @ TOP
    return rng.poisson(60 * k)


TOP = P.dirichlet(np.full(15, .5), 3)


def k_q_binary(rng, n):
    """Yes-no items, one ability."""
    a = rng.normal(size=(n, 1))
    return rng.random((n, 16)) < 1 / (1 + np.exp(-1.6 * a + np.linspace(-1.2, 1.2, 16)))


def k_q_dummies(rng, n):
    """One measure beside eight dummies of unlike sizes."""
    r = rng.choice(6, n, p=[.35, .25, .18, .12, .07, .03])
    x = rng.normal(size=(n, 2)) * [2, 1.2] + .3 * r[:, None]
    return np.column_stack([x, r[:, None] == np.arange(6)])


def k_q_ring(rng, n):
    """Phase of a machine: a circle."""
    a = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([5 * np.cos(a), 5 * np.sin(a)]) @ RING + .3 * rng.normal(size=(n, 6)) + 2


RING = k_unit(P.normal(size=(2, 6)))


def k_q_t4(rng, n):
    """Elliptical t of four."""
    z = np.sqrt(4 / rng.chisquare(4, n))[:, None]
    return z * (rng.normal(size=(n, 10)) * (.8 ** np.arange(10) * 4)) @ ORT


ORT = np.linalg.qr(P.normal(size=(10, 10)))[0]


def k_q_drift(rng, n):
    """A plant whose means wander."""
    t = np.linspace(0, 1, n)[:, None]
    return 50 + 8 * t * np.linspace(1, .2, 12) + 3 * rng.normal(size=(n, 1)) * np.linspace(.2, 1, 12) + 1. * rng.normal(size=(n, 12))


def k_q_comp(rng, n):
    """Shares of minerals."""
    return rng.dirichlet([6., 4, 3, 1.5, .7, .3], n)


def k_q_exp(rng, n):
    return np.column_stack([rng.exponential(3, n), rng.exponential(1.2, n), rng.gamma(2, .5, (n, 3)).T[0], rng.exponential(.5, n)]) @ MIX


MIX = np.linalg.qr(P.normal(size=(4, 4)))[0]


def k_q_dup(rng, n):
    """Each record three times, shuffled."""
    m = (n + 2) // 3
    A = 7 + rng.normal(size=(m, 2)) * [3, 1.5] @ DUP + .6 * rng.normal(size=(m, 9))
    return A[rng.permutation(np.repeat(np.arange(m), 3))[:n]]


DUP = k_unit(P.normal(size=(2, 9)))


def k_q_rare(rng, n):
    """Measures and rare flags of one to four per cent."""
    x = rng.normal(size=(n, 3)) @ np.array([[2, 1, .5], [0, 1, .3], [0, 0, .4]])
    return np.column_stack([x, rng.random((n, 3)) < [.01, .02, .04]])


def k_q_wide(rng, n):
    return k_fac(rng, n, GENW, np.array([7, 5, 3.5]), 0, 1.0)


GENW = k_unit(P.normal(size=(3, 60)))


def k_q_ordinal(rng, n):
    """Ratings in five steps with many ties and floor."""
    f = rng.normal(size=(n, 1))
    return np.clip(np.round(1.8 + .9 * f * np.linspace(.4, 1, 12) + .7 * rng.normal(size=(n, 12))), 1, 5)


def k_q_periodic(rng, n):
    """Four years of days at ten sites, with a season and fronts."""
    d = 2 * np.pi * np.arange(n) / 365
    a = k_ar(rng, n, .7)
    return 9 - np.outer(10 * np.cos(d + .3), np.linspace(.8, 1.2, 10)) + 3 * np.outer(a, np.linspace(-1, 1, 10)) + .9 * rng.normal(size=(n, 10))


def k_q_players(rng, n):
    """Season totals of players: minutes make all of them."""
    m = rng.beta(1.2, 1.6, n)
    sk = rng.gamma(3, 1 / 3, n)
    r = np.column_stack([14 * m * sk, 6 * m, 4 * m * rng.gamma(3, 1 / 3, n), 1.2 * m, .8 * m, 2.3 * m])
    return np.column_stack([m * 36, rng.poisson(10 * r) / 10])


def k_q_mixscale(rng, n):
    """A bounded score, an age, an income and a count."""
    a = rng.integers(18, 90, n)
    inc = rng.lognormal(3.2 + .01 * (a - 45), .4)
    return np.column_stack([a, inc, rng.poisson(2, n), np.clip(rng.normal(6, 2, n), 0, 10)])


def k_q_uniform(rng, n):
    return rng.uniform(-1, 1, (n, 5)) * [5, 3, 2, 1, .7] @ UNI


UNI = np.linalg.qr(P.normal(size=(5, 5)))[0]


def k_q_hetero(rng, n):
    """Noise grows with the level."""
    lv = rng.gamma(3, 2, (n, 1))
    return lv * np.linspace(.5, 1.2, 7) + .12 * lv * rng.normal(size=(n, 7))


def k_q_two(rng, n):
    """Two sexes, half and half, with a distance."""
    s = rng.integers(0, 2, n)[:, None]
    return np.array([160., 58, 36, 82]) + s * [14, 14, 4, 9] + rng.normal(size=(n, 1)) * [6, 6, 1.5, 6] + 3 * rng.normal(size=(n, 4))


def k_q_sites(rng, n):
    """Batches of 300 from sites with levels by degrees."""
    g = np.repeat(rng.normal(size=(n // 300 + 1, 6)), 300, 0)[:n] * .7
    return 20 + g + rng.normal(size=(n, 2)) * [4, 2.2] @ SIT + .6 * rng.normal(size=(n, 6))


SIT = k_unit(P.normal(size=(2, 6)))


def k_q_pixel(rng, n):
    """Digits of pixels: many cells dark, others smooth."""
    c = np.maximum(rng.normal(size=(n, 3)), 0) * [90, 70, 40]
    return np.clip(c @ PIX + 3 * rng.normal(size=(n, 36)), 0, 255)


PIX = np.array([np.exp(-.5 * ((np.arange(36) % 6 - x) ** 2 + (np.arange(36) // 6 - y) ** 2) / 1.5) for x, y in [(1, 1), (4, 2), (2, 4)]])


def k_q_gauss2(rng, n):
    return rng.normal(size=(n, 2)) @ np.array([[3, 1], [0, .7]])


def k_q_stocktails(rng, n):
    """Returns with calm and wild months, by degrees."""
    v = np.exp(.45 * k_ar(rng, n, .98))[:, None]
    return v * (rng.normal(size=(n, 1)) * np.linspace(.6, 1.2, 14) + .6 * rng.normal(size=(n, 14)))


B.pca('k_ph_classes', k_q_classes, 2, 900)
B.pca('k_ph_lognormal', k_q_lognormal, 1, 3000)
B.pca('k_ph_zero', k_q_zero, 1, 4000)
B.pca('k_ph_counts', k_q_counts, 2, 2000)
B.pca('k_ph_binary', k_q_binary, 1, 2500)
B.pca('k_ph_dummies', k_q_dummies, 2, 5000)
B.pca('k_ph_ring', k_q_ring, 2, 1500)
B.pca('k_ph_t4', k_q_t4, 2, 6000)
B.pca('k_ph_drift', k_q_drift, 1, sizes=(250,) * 20)
B.pca('k_ph_comp', k_q_comp, 2, 3000)
B.pca('k_ph_exp', k_q_exp, 2, 2000)
B.pca('k_ph_dup', k_q_dup, 2, 1800)
B.pca('k_ph_rare', k_q_rare, 2, 8000)
B.pca('k_ph_wide', k_q_wide, 3, 200)
B.pca('k_ph_ordinal', k_q_ordinal, 1, 1200)
B.pca('k_ph_periodic', k_q_periodic, 2, 1460)
B.pca('k_ph_players', k_q_players, 2, 2500)
B.pca('k_ph_mixscale', k_q_mixscale, 2, 3500)
B.pca('k_ph_uniform', k_q_uniform, 2, 20000)
B.pca('k_ph_hetero', k_q_hetero, 1, 1500)
B.pca('k_ph_two', k_q_two, 1, 2200)
B.pca('k_ph_sites', k_q_sites, 2, sizes=(300,) * 25)
B.pca('k_ph_pixel', k_q_pixel, 3, 4000)
B.pca('k_ph_gauss2', k_q_gauss2, 1, sizes=(60,) * 50)
B.pca('k_ph_stocktails', k_q_stocktails, 1, 3000)
B.pca('k_ph_spectra', k_p_spectra, 3, sizes=lambda r: r.integers(50, 2000, 15))
B.pca('k_ph_patch', k_p_patch, 3, 5000)
B.pca('k_ph_leverage', k_p_leverage, 2, 2500, note='good leverage alone')

KINDS = B.KINDS

if __name__ == '__main__':
    check(KINDS, 3)
