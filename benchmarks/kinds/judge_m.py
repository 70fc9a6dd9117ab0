"""Judgement kinds m: written from the README alone, without sight of the method, as practitioners of many fields would.

Each kind is a clean law x a fault x a shape. Laws are functions (rng, n) that return X, y[, truth] for regression and
X[, truth] for PCA; faults take the honest rows and return what arrived in their place.
"""
import os
import sys
from functools import partial

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from interface import cov_basis, least_squares  # noqa: E402
from judge_tools import Book  # noqa: E402

book = Book()
KINDS = book.KINDS

# ---- helpers -----------------------------------------------------------------------------------

def cols(*parts):
    return np.column_stack([np.asarray(v, float) for v in parts])

def line(X, b, a, e):
    """E[y|X] is linear, so that the population's answer is the line itself."""
    b = np.asarray(b, float)
    return X, X @ b + a + e, np.append(b, a)

def ar(rng, n, rho, k=1):
    """Autocorrelated columns, standard normal each."""
    w = rho ** np.arange(int(np.ceil(np.log(1e-4) / np.log(rho))))
    w /= np.sqrt(np.sum(w * w))
    m = len(w)
    out = [np.convolve(rng.normal(size=n + m), w)[m:m + n] for _ in range(k)]
    return out[0] if k == 1 else np.column_stack(out)

def levels(rng, n, probs, drop=True):
    """Dummies of a categorical column, the first level dropped."""
    z = rng.choice(len(probs), n, p=probs)
    D = (z[:, None] == np.arange(len(probs))).astype(float)
    return D[:, 1:] if drop else D

def skewed(rng, n):
    """Centred, skewed, of spread 1."""
    return rng.exponential(1, n) - 1

def clock(n, cycles=1.0):
    return 2 * np.pi * cycles * np.arange(n) / n

def even(calls, rows):
    return (rows,) * calls

def odd(calls, low, high):
    """Calls of uneven lengths."""
    return lambda rng: rng.integers(low, high + 1, calls)

def blocks(n, k):
    """Number of the site (day, file) each row comes from, k of them one after the other."""
    return np.arange(n) * k // n

# ---- regression: clean laws --------------------------------------------------------------------
# s multiplies the spread of the noise

def lab(rng, n, s=1.0):
    """Hospital laboratory: clearance of age, weight, creatinine, sex, C-reactive protein."""
    X = cols(np.round(rng.triangular(18, 62, 96, n)), np.round(np.exp(rng.normal(4.3, .2, n)), 1),
             np.round(np.exp(rng.normal(4.4, .3, n))), rng.random(n) < .48, np.round(rng.gamma(1.2, 12, n), 1))
    return line(X, [-.9, .35, -.28, 6, -.05], 140, 4 * s * rng.normal(size=n))

def shop(rng, n):
    """Weekly units sold: Poisson counts around a line of price, promotion, shelf and store."""
    X = np.column_stack([np.round(np.exp(rng.normal(2.8, .5, n)), 2), rng.random(n) < .07, rng.integers(1, 6, n),
                         levels(rng, n, [.25, .2, .2, .2, .15])])
    b = np.array([-3, 90, 28, 25, -30, 40, 60.])
    return X, rng.poisson(np.maximum(X @ b + 420, 1)).astype(float), np.append(b, 420)

def meter(rng, n, s=1.0):
    """Hourly electricity: season, hour of day, occupancy; heating bends, the noise has a memory."""
    year, hour = clock(n), 2 * np.pi * (np.arange(n) % 24) / 24
    temp = 10 - 9 * np.cos(year) - 3 * np.cos(hour) + 3 * ar(rng, n, .9)
    occ = np.clip(.5 - .4 * np.cos(hour) + .1 * rng.normal(size=n), 0, 1)
    y = 60 - 1.4 * temp + .012 * (temp - 10) ** 2 + 22 * occ + 4 * np.sin(hour) + 2 * s * ar(rng, n, .6)
    return cols(temp, occ, np.sin(hour), np.cos(hour)), y

def gps(rng, n, s=1.0):
    """Delivery minutes: places far from zero with tiny spread, noise that grows with the distance."""
    dist = rng.gamma(2.5, 7, n)
    X = cols(48.14 + .06 * rng.normal(size=n), 11.58 + .09 * rng.normal(size=n), dist, rng.poisson(7, n),
             np.round(rng.gamma(2, 300, n)))
    return line(X, [90, -50, 1.7, 4.5, .008], -3700, s * (1 + .08 * dist) * rng.normal(size=n))

def web(rng, n, s=1.0):
    """Revenue of a day's page: overdispersed counts, rates, zero-inflated advertising."""
    ses = rng.poisson(rng.gamma(4, 200, n))
    ads = (rng.random(n) < .35) * np.exp(rng.normal(4, .7, n))
    X = cols(ses, rng.beta(4, 5, n), np.round(rng.gamma(6, .5, n), 1), ads, rng.random(n) < 2 / 7)
    return line(X, [.9, -300, 45, 2.1, -80], 250, 60 * s * rng.normal(size=n) * (.6 + ses / 2000))

def sky(rng, n, s=1.0):
    """Redshift of five magnitudes that go together nearly entirely."""
    m = 22.5 - rng.gamma(2, .8, n)
    c = rng.normal(size=(n, 4)) * [.3, .2, .15, .12]
    X = np.column_stack([m + 1.2 + c[:, 0], m + c[:, 1], m, m - .4 + c[:, 2], m - .6 + c[:, 3]])
    return line(X, [.08, .35, -.5, .3, -.22], .6, .012 * s * rng.standard_t(6, n))

def soil(rng, n, s=1.0):
    """Cation exchange of texture (shares of a whole), acidity, carbon, depth classes."""
    tex = 100 * rng.dirichlet([6, 5, 4], n)
    X = cols(tex[:, 0], tex[:, 1], np.round(rng.normal(6.3, .7, n), 1), np.exp(rng.normal(.6, .5, n)),
             rng.choice([10., 30, 60, 100], n))
    return line(X, [-.08, .42, 1.8, 3.2, -.03], -6, 1.1 * s * rng.normal(size=n))

def survey(rng, n, s=1.0):
    """Twelve answers of 1 to 5 that share two traits; the score is an integer."""
    g = np.random.default_rng(41)
    T = rng.normal(size=(n, 2)) @ g.uniform(.3, .8, (2, 12)) + .7 * rng.normal(size=(n, 12))
    X = np.clip(np.round(3.2 + T), 1, 5)
    b = np.array([4, 3, 5, 2, 4, 3, -4, 5, 2, 3, 4, -3.])
    return X, np.round(X @ b + 20 + 4 * s * rng.normal(size=n)), np.append(b, 20)

def plant(rng, n, p=30, s=1.0, seed=42):
    """Sensors of a plant: four common causes, units from micro to mega, means far from zero."""
    g = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 4)) @ g.normal(size=(4, p)) / 2 + .6 * rng.normal(size=(n, p))
    unit, mean = 10.0 ** np.linspace(-6, 6, p), g.uniform(-8, 8, p)
    b = g.normal(size=p) / unit
    return line((Z + mean) * unit, b, 3, .8 * s * rng.normal(size=n))

def ticks(rng, n, s=1.0):
    """Returns of a stock on four factors: tiny, long tails, quiet and wild hours."""
    v = np.exp(.4 * ar(rng, n, .97))
    F = 2e-4 * v[:, None] * rng.standard_t(5, (n, 4)) * [1, .8, .6, .5]
    return line(F, [1.1, .6, -.5, .4], 1e-6, 5e-5 * s * v * rng.standard_t(5, n))

def genes(rng, n, p=60, s=1.0):
    """Log counts of genes in six modules; a phenotype that fifteen of them move."""
    g = np.random.default_rng(43)
    W = np.kron(np.eye(6), np.ones((1, p // 6))) * g.uniform(.4, 1, (1, p // 6 * 6))
    X = np.log2(1 + rng.poisson(np.exp(g.uniform(2.5, 5, p) + .7 * rng.normal(size=(n, 6)) @ W
                                       + .4 * rng.normal(size=(n, p)))))
    b = np.where(np.arange(p) % 4 == 0, g.normal(size=p), 0)
    return line(X, b, 5, .7 * s * rng.normal(size=n))

def sport(rng, n, s=1.0):
    """Power of a rider, sampled each second: all has a memory, the line leaves out a mild bend."""
    Z = ar(rng, n, .8, 4)
    speed = 30 + 5 * Z[:, 0]
    X = cols(speed, 4 * Z[:, 1], np.round(140 + 14 * (.6 * Z[:, 0] + .8 * Z[:, 2])), np.round(85 + 7 * Z[:, 3]))
    y = 9 * speed + .06 * (speed - 30) ** 2 + 24 * X[:, 1] + 1.2 * X[:, 2] + 1.5 * X[:, 3] - 330
    return X, y + 14 * s * rng.normal(size=n)

def farm(rng, n, s=1.0):
    """Yield of a plot: fertiliser in five steps, rain, an interaction and a bend left out."""
    N, rain = rng.choice([0, 40, 80, 120, 160.], n), rng.gamma(9, 45, n)
    X = np.column_stack([N, rain, rng.normal(50, 8, n), levels(rng, n, [.3, .25, .25, .2])])
    y = X @ np.array([.03, .008, .04, .5, -.8, 1.1]) + 1 + 1e-5 * (N - 80) * (rain - 405) - 3e-5 * (N - 80) ** 2
    return X, y + .45 * s * rng.normal(size=n)

def claims(rng, n, shape=60.0):
    """Cost of a claim: gamma around a line of skewed and integer columns, at thousands."""
    X = cols(np.round(rng.triangular(18, 38, 88, n)), np.exp(rng.normal(9.8, .5, n)), rng.integers(0, 11, n),
             rng.gamma(3, 5000, n))
    b = np.array([-9, .08, 110, .03])
    mu = X @ b + 1200
    return X, mu * rng.gamma(shape, 1 / shape, n), np.append(b, 1200)

def station(rng, n, s=1.0):
    """Particles in the air: skewed columns, humidity cut at 100, a detection limit, noise by level."""
    no2 = np.maximum(rng.gamma(2.5, 12, n), 8)
    X = cols(no2, np.maximum(rng.normal(60, 20, n), 5), 4 * rng.weibull(2, n), np.minimum(rng.normal(80, 14, n), 100),
             rng.normal(1013, 8, n))
    return line(X, [.8, -.15, -2.5, .2, .25], -230, 2.5 * s * (.5 + no2 / 60) * rng.normal(size=n))

def calls(rng, n, s=1.0):
    """Waiting seconds: counts by the hour, integer agents, skewed noise."""
    load = rng.poisson(60 - 35 * np.cos(clock(n, n / 96)))
    X = cols(load, rng.integers(8, 30, n), np.round(rng.gamma(20, 12, n)), rng.random(n) < .04)
    return line(X, [1.5, -3, .4, 45], 60, 10 * s * skewed(rng, n))

def houses(rng, n, s=1.0):
    """Prices in the hundred thousands: skewed area, rooms, a garage most lack, year, distance."""
    area = np.exp(rng.normal(4.6, .35, n))
    X = cols(np.round(area), np.round(area / 28 + .5 * rng.normal(size=n)), (rng.random(n) < .4) * rng.gamma(6, 4, n),
             np.round(2020 - rng.gamma(2, 18, n)), rng.gamma(2, 4, n))
    return line(X, [2600, 9000, 900, 800, -4500], -1_500_000, 17_000 * s * rng.standard_t(7, n))

def turbine(rng, n, s=1.0):
    """Power over wind: a curve that the line only follows roughly."""
    w = 7 * rng.weibull(2.2, n)
    X = cols(w, rng.normal(12, 7, n), rng.normal(1.22, .04, n), .1 + .03 * rng.gamma(2, 1, n))
    y = 2000 / (1 + np.exp(-(w - 8) / 2.6)) + 600 * (X[:, 2] - 1.22) - 400 * (X[:, 3] - .16)
    return X, y + 35 * s * rng.normal(size=n)

def spectra(rng, n, p=24, s=1.0):
    """Absorbances at neighbouring wavelengths, nearly collinear; a concentration."""
    t = np.linspace(0, 1, p)
    B = np.array([np.exp(-((t - m) / w) ** 2) for m, w in [(.2, .15), (.5, .2), (.8, .12), (.6, .5)]])
    X = .4 + rng.gamma(4, .25, (n, 4)) @ B + .02 * rng.normal(size=(n, p))
    return line(X, 2 * np.cos(5 * t), 1, .08 * s * rng.normal(size=n))

def loan(rng, n, s=1.0):
    """Two columns: income with a long tail and years."""
    X = cols(np.exp(rng.normal(10.3, .6, n)), rng.integers(1, 31, n))
    return line(X, [.4, -600], 9000, 2200 * s * rng.normal(size=n))

def drill(rng, n, s=1.0):
    """A small test bench: three settings on few levels."""
    X = cols(rng.choice([800., 1000, 1200, 1500], n), rng.choice([.1, .15, .2, .3], n), rng.normal(20, 3, n))
    return line(X, [.012, 60, .25], 4, .7 * s * rng.normal(size=n))

def wide(rng, n, p=110, s=1.0):
    """Many columns of all sorts: normal, counts, dummies, skewed."""
    g = np.random.default_rng(44)
    k = p // 4
    common = rng.normal(size=(n, 1))
    X = np.column_stack([rng.normal(size=(n, k)) + .5 * common, rng.poisson(3, (n, k)),
                         rng.random((n, k)) < np.linspace(.15, .5, k), rng.gamma(2, 1, (n, p - 3 * k))])
    return line(X, g.normal(size=p), 7, 1.2 * s * rng.normal(size=n))

def bikes(rng, n):
    """Rentals by the hour: counts whose spread grows, a season, rain that is mostly nil."""
    year, hour = clock(n), 2 * np.pi * (np.arange(n) % 24) / 24
    temp = 12 - 10 * np.cos(year) + 3 * ar(rng, n, .9)
    X = cols(temp, (rng.random(n) < .2) * rng.gamma(1, 2, n), np.sin(hour), np.cos(hour), np.arange(n) // 24 % 7 >= 5)
    mu = np.maximum(200 + 9 * temp - 14 * X[:, 1] - 40 * X[:, 2] - 70 * X[:, 3] + 25 * X[:, 4], 5)
    return X, rng.poisson(rng.gamma(12, mu / 12)).astype(float)

# ---- regression: faults ------------------------------------------------------------------------

def noise_of(c):
    """Spread of the honest noise around the honest line."""
    f = least_squares(c.X, c.y)
    return np.std(c.y - c.X @ f[:-1] - f[-1])

def xunit(j, k):
    def fault(rng, X, y, c):
        X[:, j] *= k
        return X, y
    return fault

def xplace(j, a, spread=0.0):
    """Column (or columns) j at one value: a default code, a stuck sensor, a fill."""
    def fault(rng, X, y, c):
        js = np.atleast_1d(j)
        X[:, js] = a + spread * rng.normal(size=(len(X), len(js)))
        return X, y
    return fault

def xstuck(j, q):
    """A sensor that hangs q spreads away from its mean."""
    def fault(rng, X, y, c):
        X[:, j] = c.X[:, j].mean() + q * c.X[:, j].std()
        return X, y
    return fault

def anycode(v):
    """A code in one cell of each row, here or there."""
    def fault(rng, X, y, c):
        X[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = v
        return X, y
    return fault

def yscale(k, a=0.0):
    return lambda rng, X, y, c: (X, k * y + a)

def yplace(a, spread=0.0):
    return lambda rng, X, y, c: (X, a + spread * rng.normal(size=len(y)))

def ydrift(a, b):
    """Calibration drifts: off by a spreads of y for the first rows, by b for the last."""
    return lambda rng, X, y, c: (X, y + (a + (b - a) * c.t) * c.y.std())

def ynoise_off(k, spread=.3):
    """Off by k spreads of the noise: near the data, yet clear of the noise."""
    return lambda rng, X, y, c: (X, y + noise_of(c) * (k + spread * rng.normal(size=len(y))))

def rolled(k):
    return lambda rng, X, y, c: (np.roll(X, k, axis=1), y)

def swap(i, j):
    def fault(rng, X, y, c):
        X[:, [i, j]] = X[:, [j, i]]
        return X, y
    return fault

def yswap(j):
    """Target and column j are exchanged."""
    def fault(rng, X, y, c):
        z = X[:, j].copy()
        X[:, j] = y
        return X, z
    return fault

def misjoin(rng, X, y, c):
    return X, rng.permutation(y)

def decimals(share_x=.5):
    """A decimal point in the wrong place, in y or in a column."""
    def fault(rng, X, y, c):
        inx = rng.random(len(y)) < share_x
        k = 10.0 ** rng.choice([-2, 1, 2], len(y))
        j = rng.integers(0, X.shape[1], len(y))
        r = np.flatnonzero(inx)
        X[r, j[r]] *= k[r]
        return X, np.where(inx, y, y * k)
    return fault

def pasted(m=10, off=5.0):
    """A block of m rows, pasted over and over, with a target that was not theirs."""
    def fault(rng, X, y, c):
        r = c.shared.integers(0, len(c.y), m)
        k = np.arange(len(y)) % m
        return c.X[r][k], c.y[r][k] + off * c.y.std()
    return fault

def records(x, y0):
    """Test records: the same few figures."""
    def fault(rng, X, y, c):
        return np.broadcast_to(np.resize(np.asarray(x, float), X.shape[1]), X.shape).copy(), np.full(len(y), float(y0))
    return fault

def pull(k, off=0.0):
    """Adversary: the slopes turned to k times theirs, and off spreads of y above."""
    def fault(rng, X, y, c):
        f = least_squares(c.X, c.y)
        fit = X @ f[:-1] + f[-1]
        return X, c.y.mean() + k * (fit - c.y.mean()) + off * c.y.std() + (y - fit)
    return fault

def otherline(off=2.0, size=1.0, own=False):
    """Rows of another site: other slopes (each batch its own, or all the same), another level."""
    def fault(rng, X, y, c):
        g = rng if own else c.shared
        b = g.normal(size=X.shape[1])
        u = (X - c.X.mean(0)) / np.maximum(c.X.std(0), 1e-12) @ (b / np.sqrt(np.sum(b * b)))
        return X, c.y.mean() + c.y.std() * (off + size * u) + noise_of(c) * rng.normal(size=len(y))
    return fault

def leverage(dist, yoff, spread=.3, own=False):
    """A knot of rows far out in x that pulls on the line."""
    def fault(rng, X, y, c):
        g = rng if own else c.shared
        u = g.choice([-1, 1], X.shape[1]) * g.uniform(.5, 1, X.shape[1])
        m, s = c.X.mean(0), c.X.std(0)
        return m + s * (dist * u + spread * rng.normal(size=X.shape)), c.y.mean() + c.y.std() * (yoff + spread * rng.normal(size=len(y)))
    return fault

def knot(k, sx=.2, sy=.3):
    """Garbage amid the rows in x and k noise spreads off the line in y, itself tight."""
    def fault(rng, X, y, c):
        f = least_squares(c.X, c.y)
        X = c.X.mean(0) + sx * c.X.std(0) * rng.normal(size=X.shape) + .8 * c.X.std(0)
        return X, X @ f[:-1] + f[-1] + noise_of(c) * (k + sy * rng.normal(size=len(y)))
    return fault

def broad(kx, ky):
    """Garbage everywhere, with long tails."""
    def fault(rng, X, y, c):
        return (c.X.mean(0) + kx * c.X.std(0) * rng.standard_t(2, X.shape),
                c.y.mean() + ky * c.y.std() * rng.standard_t(2, len(y)))
    return fault

def foreign(k=3.0, mult=1.0):
    """A file of another table: other units, other skew, nothing to do with the line."""
    def fault(rng, X, y, c):
        g = c.shared
        m, w = g.normal(0, k, X.shape[1]), g.uniform(.3, 1.5, X.shape[1])
        Z = m + w * (rng.gamma(2, 1, X.shape) - 2)
        return c.X.mean(0) + mult * c.X.std(0) * Z, c.y.mean() + c.y.std() * (3 + rng.gamma(2, .7, len(y)))
    return fault

def imputed(js):
    """Columns js and the target filled with their means."""
    def fault(rng, X, y, c):
        X[:, js] = c.X[:, js].mean(0)
        return X, np.full(len(y), c.y.mean())
    return fault

def bots(j, k):
    """Bots: column j enormous, the rest nil, and nothing bought."""
    def fault(rng, X, y, c):
        Z = np.zeros_like(X)
        Z[:, j] = k * c.X[:, j].mean() * rng.uniform(.8, 1.2, len(y))
        return Z, np.zeros(len(y))
    return fault

def several(*faults):
    """Each bad row has one of these faults."""
    def fault(rng, X, y, c):
        z = rng.integers(0, len(faults), len(y))
        for k, f in enumerate(faults):
            r = np.flatnonzero(z == k)
            if len(r):
                c1 = type(c)(**{**vars(c), 'i': c.i[r], 't': c.t[r]})
                X[r], y[r] = f(rng, X[r], y[r], c1)
        return X, y
    return fault

def inturn(*faults):
    """Each bad batch has one of these faults."""
    return lambda rng, X, y, c: faults[c.b % len(faults)](rng, X, y, c)

def both(f, g):
    return lambda rng, X, y, c: g(rng, *f(rng, X, y, c), c)

# ---- regression with bad rows: tables ----------------------------------------------------------

reg = book.reg
fine_sport, fine_soil, fine_gps = (partial(v, s=.12) for v in (sport, soil, gps))
sharp_lab, sharp_station = partial(lab, s=.25), partial(station, s=.25)
sharp_survey, sharp_web, sharp_calls = partial(survey, s=.4), partial(web, s=.4), partial(calls, s=.3)
sharp_plant, sharp_genes = partial(plant, s=.2), partial(genes, s=.4)
plant12 = partial(plant, p=12, s=.3, seed=45)
wide40 = partial(wide, p=40, s=.6)

reg('m_lab_mg_for_umol', sharp_lab, 1500, xunit(2, 1 / 88.4), .18, note='creatinine of one analyser in mg/dl')
reg('m_shop_9999', shop, 800, yplace(9999), .06, note='code for no count')
reg('m_gps_no_fix', gps, 2500, xplace([0, 1], 0.0), .12, note='place 0, 0')
reg('m_soil_swapped', soil, 1000, both(swap(0, 2), swap(1, 3)), .15, 'runs', note='columns swapped in some sheets')
reg('m_survey_straight', sharp_survey, 900, records([5], 12), .2, note='one answer throughout and a score near the least')
reg('m_sky_band_99', sky, 5000, anycode(99.0), .1, note='99 where a band was not seen')
reg('m_plant_shifted', plant12, 3000, rolled(1), .25, 'end', note='columns slipped by one')
reg('m_ticks_decimals', ticks, 10_000, yscale(100.0), .08, note='returns in percent')
reg('m_soil_misjoined', fine_soil, 1500, misjoin, .3, note='results of other plots')
reg('m_claims_credit', claims, 700, yscale(-1.0), .22, note='booked with the wrong sign')
reg('m_station_railed', station, 4000, yplace(180, .5), .35, 'middle', note='the counter at its stop')
reg('m_lab_decimals', sharp_lab, 400, decimals(), .12, note='decimal points, in any cell')
reg('m_houses_foreign', houses, 2000, foreign(4), .4, note='another table pasted in')
reg('m_genes_no_log', genes, 700, lambda rng, X, y, c: (2.0 ** X - 1, y), .15, note='logs not taken')
reg('m_spectra_gain', spectra, 1200, lambda rng, X, y, c: (1.8 * X + 1, y), .3, 'start', note='lamp exchanged')
reg('m_drill_small', drill, 90, knot(14), .15, note='ninety rows')
reg('m_loan_adversary', loan, 500, pull(-1.5, 6), .4, note='slopes turned')
reg('m_wide_otherline', partial(wide, s=.5), 1100, otherline(3), .2, note='110 columns')
reg('m_sport_many_faults', sport, 3000, several(yplace(0), xplace(2, 0.0), xunit(0, 1 / 3.6), yscale(10), xplace([0, 1, 2, 3], 0.0)), .3,
    note='five faults, each of 6%')
reg('m_lab_large', sharp_lab, 30_000, leverage(6, 3, .5), .35, note='a third far out')
reg('m_soil_near_knot', soil, 2500, knot(10, .5, .5), .25, note='a knot ten noises off')
reg('m_web_target_swapped', sharp_web, 3000, yswap(0), .22, note='visits and revenue exchanged')

# ---- regression with bad batches: streams ------------------------------------------------------

reg('m_lab_sites_turned', lab, None, otherline(2.5, 1.0), sizes=even(40, 200), batches=.42, note='other slopes, all alike')
reg('m_shop_double', shop, None, yscale(2.0), sizes=odd(24, 150, 500), batches=.33, note='counted twice')
reg('m_meter_watt', meter, None, yscale(1000.0), sizes=even(30, 480), batches=.4, order='start', note='W for kW from the start')
reg('m_gps_lagged', fine_gps, None, misjoin, sizes=even(20, 400), batches=.4, note='time stamps out of order')
reg('m_web_mixed_days', sharp_web, None, inturn(bots(0, 8), yplace(0), yscale(100.0), rolled(1)), sizes=even(50, 120),
    batches=.4, note='each bad day with its own fault')
reg('m_sky_zero_point', sky, None, ydrift(8, 12), sizes=odd(16, 300, 1200), batches=.38, order='end', note='zero point lost')
reg('m_survey_reversed', sharp_survey, None, lambda rng, X, y, c: (6 - X, y), sizes=even(25, 300), batches=.32,
    note='scale reversed')
reg('m_plant_stuck', sharp_plant, None, inturn(xstuck(3, 9), xstuck(25, -9), xstuck(14, 12)), sizes=even(30, 400), batches=.3,
    stray=.05, stray_hurt=yplace(0), note='stuck sensors and stray rows')
reg('m_ticks_other_stock', ticks, None, pull(-2.0, 0.0), sizes=even(40, 500), batches=.4, note='hedge booked for the stock')
reg('m_genes_batches', sharp_genes, None, foreign(3), sizes=even(12, 350), batches=.42, note='foreign plates')
reg('m_farm_trials', farm, None, ynoise_off(9), sizes=even(30, 150), batches=.4, note='nine noises off, per file')
reg('m_claims_stray', claims, None, yscale(10.0), sizes=even(20, 250), batches=.3, stray=.12, stray_hurt=yplace(0),
    note='cents, and stray zeros')
reg('m_station_rows', station, None, leverage(7, -5), sizes=even(12, 600), stray=.3, note='30% of every call')
reg('m_calls_small', sharp_calls, None, records([50, 50, 50, 0], 2500), sizes=even(80, 50), batches=.3, note='calls of fifty rows')
reg('m_houses_pasted', houses, None, pasted(10, 5), sizes=even(6, 900), batches=.33, note='ten rows pasted over and over; six calls')
reg('m_spectra_stream', spectra, None, several(xstuck(5, 10), xstuck(18, -8), yplace(30)), sizes=even(20, 300), batches=.25,
    stray=.08, note='three faults, in batches and in rows')
reg('m_loan_garbage', loan, None, broad(8, 8), sizes=even(40, 80), batches=.45, note='wide garbage, 45%')
reg('m_wide40_pull', wide40, None, leverage(4, 4, .6, own=True), sizes=even(16, 600), batches=.37, note='each bad batch pulls its own way')
reg('m_sport_imputed', fine_sport, None, imputed([0, 2]), sizes=even(24, 250), batches=.33, stray=.1, note='means filled in')
reg('m_bikes_decimals', bikes, None, yscale(10.0, 0.0), sizes=even(20, 1200), batches=.4, stray=.06, stray_hurt=yplace(-99),
    note='counts, decimal error, code')
reg('m_big_calls', sharp_station, None, both(yscale(-1.0), xunit(0, 10)), sizes=even(6, 5000), batches=.33, note='calls of 5000')

# ---- regression, honest: laws ------------------------------------------------------------------

def skew_cost(rng, n):
    """Costs of stays: lognormal noise around a line, R squared about 0.3."""
    X = cols(rng.gamma(2, 4, n), rng.integers(0, 6, n), rng.random(n) < .4, np.round(rng.triangular(18, 60, 95, n)))
    e = np.exp(rng.normal(0, .9, n)) - np.exp(.405)
    return line(X, [180, 250, 300, 8], 900, 1300 * e)

def fan(rng, n):
    """Spread that grows ninefold along a column."""
    x = rng.gamma(2, 1, n)
    X = cols(x, rng.normal(size=n), rng.uniform(0, 10, n))
    return line(X, [4, 1, -.5], 20, (.2 + .9 * x) * rng.normal(size=n))

def goals(rng, n):
    """Rare counts: mostly 0 and 1."""
    X = cols(rng.normal(size=n), rng.uniform(-1, 1, n), rng.random(n) < .5)
    return X, rng.poisson(np.exp(-.3 + .35 * X[:, 0] + .3 * X[:, 1] + .25 * X[:, 2])).astype(float)

def rare_flags(rng, n):
    """Three flags of 1 to 4% with large effects."""
    X = cols(rng.random(n) < .01, rng.random(n) < .025, rng.random(n) < .04, rng.normal(size=n), rng.gamma(3, 2, n))
    return line(X, [25, -18, 12, 2, .7], 10, 1.5 * rng.normal(size=n))

def dummies(rng, n):
    """Nothing but classes."""
    X = np.column_stack([levels(rng, n, [.2] * 5), levels(rng, n, [.3, .3, .2, .1, .1]), levels(rng, n, np.ones(7) / 7)])
    return line(X, np.random.default_rng(46).normal(0, 2, X.shape[1]), 5, 1.5 * rng.normal(size=n))

def bends(rng, n):
    """A bend and an interaction left out, of the size of the noise."""
    X = rng.normal(size=(n, 5))
    return X, X @ [2, -1, 1, .5, 0] + .4 * (X[:, 0] ** 2 - 1) + .4 * X[:, 1] * X[:, 2] + .7 * rng.normal(size=n)

def tails(rng, n):
    """Returns with tails of four degrees in x and noise."""
    return line(1e-3 * rng.standard_t(4, (n, 5)), [1, .5, -.3, .2, .1], 2e-5, 1.2e-3 * rng.standard_t(4, n))

def far_means(rng, n):
    """Means a million, spreads about one."""
    X = 1e6 + rng.normal(size=(n, 3)) @ np.array([[1, .5, .2], [0, 1, .4], [0, 0, 1]])
    return line(X, [1, -2, 1.5], 2e6, rng.normal(size=n))

def collinear(rng, n):
    """Columns that say nearly the same, one the sum of two others but for a rounding."""
    a = rng.normal(size=(n, 2)) * [3, 1]
    X = cols(a[:, 0], a[:, 1], np.round(a.sum(1), 2), a[:, 0] + .05 * rng.normal(size=n), rng.normal(size=n))
    return line(X, [1, 2, .5, -1, 1], 0, rng.normal(size=n))

def sites(rng, n, k=30):
    """Thirty sites, each with its own level of x and, by degrees, of y."""
    g = np.random.default_rng(47)
    z = blocks(n, k)
    m, a = g.normal(size=(k, 3)), g.normal(0, .4, k)
    a -= a.mean() + (m - m.mean(0)) @ np.linalg.lstsq(m - m.mean(0), a - a.mean(), rcond=None)[0]
    return line(m[z] + rng.normal(size=(n, 3)), [1.5, -1, .5], 8, a[z] + rng.normal(size=n))

def year_round(rng, n):
    """A season in x and in y, most of it through x."""
    t = clock(n, 2)
    temp = 10 + 8 * np.sin(t) + 4 * ar(rng, n, .85)
    X = cols(temp, np.maximum(0, 6 * ar(rng, n, .7) + 5), rng.normal(60, 10, n))
    return X, 100 - 2 * temp + .8 * X[:, 1] + .2 * X[:, 2] + 2 * np.cos(t) + 6 * ar(rng, n, .5)

def trend(rng, n):
    """A column that only climbs, as a date does."""
    X = cols(np.arange(n) / n * 365, rng.normal(size=n), rng.poisson(4, n))
    return line(X, [.05, 2, .5], 40, 3 * rng.normal(size=n))

def weak(rng, n):
    """R squared of one twentieth."""
    X = np.column_stack([rng.normal(size=(n, 6)), rng.gamma(1, 1, (n, 2)), rng.random((n, 2)) < .2])
    return line(X, np.full(10, .08), 1, skewed(rng, n))

def tobit(rng, n):
    """Concentrations: what lies below the detection limit is given as the limit."""
    X = cols(rng.gamma(3, 1, n), rng.normal(size=n), rng.uniform(0, 1, n))
    return X, np.maximum(2 + 1.2 * X[:, 0] + .8 * X[:, 1] + 1.5 * rng.normal(size=n), 3.5)

def rounded(rng, n):
    """Everything rounded to whole numbers, x to tens."""
    X = np.round(cols(rng.normal(120, 15, n), rng.normal(80, 10, n), rng.gamma(5, 10, n)), -1)
    return line(X, [.03, .05, -.02], 2, 0)[0], np.round(X @ [.03, .05, -.02] + 2 + .8 * rng.normal(size=n))

def two_noises(rng, n):
    """Careful and careless readers: noise of 1 or of 3, nobody knows whose."""
    X = rng.normal(size=(n, 4))
    return line(X, [1, 2, -1, .5], 3, rng.choice([1., 3.], n, p=[.7, .3]) * rng.normal(size=n))

def counts_only(rng, n):
    """Baskets: eight small counts, a total with noise of a count."""
    X = rng.poisson(rng.gamma(2, 1, (n, 1)) * np.linspace(.3, 2.5, 8)).astype(float)
    b = np.array([9, 7, 6, 5, 4, 3, 2, 1.])
    return X, X @ b + rng.poisson(12, n), np.append(b, 12)

def species(rng, n):
    """Five kinds of fish that lie apart, none with a majority, one line for all."""
    g = np.random.default_rng(48)
    z = rng.choice(5, n, p=[.24, .22, .2, .18, .16])
    X = (5 * g.normal(size=(5, 3)))[z] + rng.normal(size=(n, 3))
    return line(X, [1, -.7, .4], 12, 1.2 * rng.normal(size=n))

def zero_rich(rng, n):
    """Columns that are mostly nil and else skewed, as spending by channel."""
    X = (rng.random((n, 6)) < np.linspace(.1, .7, 6)) * np.exp(rng.normal(3, .8, (n, 6)))
    return line(X, [2, 1.5, 1, .8, .5, .3], 100, 25 * rng.laplace(size=n))

def sorted_rows(draw, key):
    """The same rows, sorted by a column (key an integer) or by the target ('y')."""
    def drawn(rng, n):
        X, y, *truth = draw(rng, n)
        o = np.argsort(y if key == 'y' else X[:, key], kind='stable')
        return (X[o], y[o], *truth)
    return drawn

def repeated(draw, k):
    """Every row comes k times, in any order."""
    def drawn(rng, n):
        X, y, *truth = draw(rng, -(-n // k))
        o = rng.permutation(np.repeat(np.arange(len(y)), k)[:n])
        return (X[o], y[o], *truth)
    return drawn

# ---- regression, honest: kinds -----------------------------------------------------------------

honest_claims = partial(claims, shape=3.0)
noisy_wide = partial(wide, s=3)
sorted_fan, sorted_lab = sorted_rows(fan, 0), sorted_rows(lab, 'y')
twice_shop, thrice_weak = repeated(shop, 2), repeated(weak, 3)

reg('m_ok_skew_cost', skew_cost, 2000)
reg('m_ok_fan', fan, 3000)
reg('m_ok_rare_flags', rare_flags, 1500)
reg('m_ok_dummies', dummies, 700)
reg('m_ok_bends', bends, 500)
reg('m_ok_far_means', far_means, 800)
reg('m_ok_collinear', collinear, 400)
reg('m_ok_twice_shop', twice_shop, 1200)
reg('m_ok_wide', noisy_wide, 500, note='500 rows, 110 columns')
reg('m_ok_tobit', tobit, 2500)
reg('m_ok_species', species, 1000)
reg('m_ok_tails', tails, 30_000)
reg('m_ok_turbine', turbine, 4000)
reg('m_ok_eighty_rows', drill, 80)
reg('m_ok_goals', goals, None, sizes=even(20, 250))
reg('m_ok_sites', sites, None, sizes=even(30, 200))
reg('m_ok_year', year_round, None, sizes=odd(24, 200, 400))
reg('m_ok_trend', trend, None, sizes=even(40, 150))
reg('m_ok_rounded', rounded, None, sizes=odd(12, 100, 900))
reg('m_ok_two_noises', two_noises, None, sizes=even(16, 300))
reg('m_ok_counts', counts_only, None, sizes=even(60, 60))
reg('m_ok_zero_rich', zero_rich, None, sizes=even(10, 500))
reg('m_ok_sorted_lab', sorted_lab, None, sizes=even(15, 200), note='sorted by the target')
reg('m_ok_sorted_fan', sorted_fan, None, sizes=even(20, 300))
reg('m_ok_claims', honest_claims, None, sizes=even(8, 2500))
reg('m_ok_weak_thrice', thrice_weak, None, sizes=even(30, 240))

# ---- PCA: clean laws ---------------------------------------------------------------------------

def margin(rng, shape, how):
    """Independent entries of mean 0 and variance 1."""
    if how == 'normal':
        return rng.normal(size=shape)
    if how == 'skew':
        return rng.exponential(1, shape) - 1
    if how == 'gamma':
        return (rng.gamma(3, 1, shape) - 3) / np.sqrt(3)
    if how == 't':
        return rng.standard_t(6, shape) / np.sqrt(1.5)
    if how == 'flat':
        return rng.uniform(-np.sqrt(3), np.sqrt(3), shape)
    if how == 'laplace':
        return rng.laplace(size=shape) / np.sqrt(2)
    if how == 'slow':
        return ar(rng, shape[0], .95, shape[1]).reshape(shape)
    if how == 'season':
        return np.sqrt(2) * np.sin(clock(shape[0], 1)[:, None] * (1 + np.arange(shape[1])))
    raise ValueError(how)

def spiked(p, sd, seed, noise=1.0, fac='normal', err='normal', mean=0.0, unit=1.0, load='dense', vol=0.0, step=0.0):
    """Common causes of spreads sd over p columns plus noise: the answer in closed form.

    load: dense, block (each cause its own columns), smooth (neighbours alike). vol: rows of unequal size."""
    g = np.random.default_rng(seed)
    d = len(sd)
    if load == 'dense':
        Q = np.linalg.qr(g.normal(size=(p, d)))[0]
    elif load == 'block':
        Q = np.kron(np.eye(d), np.ones((-(-p // d), 1)))[:p] * g.uniform(.6, 1.2, (p, 1))
        Q /= np.sqrt(np.sum(Q * Q, 0))
    else:
        t = (np.arange(p) + .5) / p
        Q = np.column_stack([np.cos(np.pi * k * t + (.4 if k else 0)) for k in range(d)])
        Q = np.linalg.qr(Q)[0]
    L = Q * np.asarray(sd, float)
    ns = noise * g.uniform(.7, 1.3, p)
    unit = np.broadcast_to(np.asarray(unit, float), (p,))
    truth = cov_basis((L @ L.T + np.diag(ns ** 2)) * np.outer(unit, unit), d)
    mu = mean * g.uniform(.5, 1.5, p)

    def draw(rng, n):
        Z = margin(rng, (n, d), fac) @ L.T + margin(rng, (n, p), err) * ns
        if vol:
            Z *= np.exp(vol * rng.normal(size=(n, 1)) - vol ** 2)
        X = (mu + Z) * unit
        return (np.round(X / step) * step if step else X), truth
    return draw

plant_p = spiked(20, [9, 6, 4], 51, mean=20)
profile = spiked(24, [14, 8, 5], 52, fac='gamma', mean=40, load='smooth')
curve = spiked(10, [9, 4, 2], 53, noise=.25, fac='t', err='t', mean=30, unit=1e-3, load='smooth')
markers = spiked(60, [60, 40, 25, 15], 54, noise=3, fac='slow', mean=800, step=.1)
chips = spiked(100, [14, 9, 6], 55, noise=1, mean=8, fac='laplace')
infra = spiked(120, [20, 12, 7], 56, noise=1, fac='gamma', load='smooth', mean=10)
weather = spiked(30, [18, 11, 6, 4], 57, fac='season', err='normal', mean=12, load='smooth')
bench = spiked(8, [7, 3], 58, noise=.8, mean=15, step=.5)
pair = spiked(2, [5], 59, noise=.8, mean=30)
trio = spiked(3, [6], 60, noise=1, fac='gamma', mean=10)
books = spiked(16, [10, 6], 61, fac='skew', err='laplace', mean=50, unit=1e4, load='block')
traders = spiked(40, [11, 7, 5], 62, fac='t', err='t', unit=1e-4, vol=.35)
mega = spiked(12, [9, 4], 65, fac='gamma', mean=30, unit=1e6, step=1.0)
sharp_plant_p = spiked(20, [25, 16, 10], 66, mean=60)
sharp_profile = spiked(24, [40, 25, 15], 67, fac='gamma', mean=120, load='smooth')
sharp_block = spiked(18, [24, 15, 9], 68, mean=40, load='block', fac='flat')

def baskets(rng, n):
    """Counts of ten goods that two habits move."""
    g = np.random.default_rng(71)
    W = np.abs(np.vstack([np.r_[g.uniform(.5, .9, 5), np.zeros(5)], np.r_[np.zeros(5), g.uniform(.3, .6, 5)]]))
    return rng.poisson(np.exp(1.8 + .6 * rng.normal(size=(n, 2)) @ W)).astype(float)

def likert(rng, n):
    """Eighteen answers of 1 to 5, two traits."""
    T = np.repeat(rng.normal(size=(n, 2)) * [1.2, .8], 9, axis=1)
    return np.clip(np.round(3 + T + .7 * rng.normal(size=(n, 18))), 1, 5)

def magnitudes(rng, n):
    """Five bands: brightness, then colour; faint ones are uncertain."""
    m = 21.5 - rng.gamma(2.5, .7, n)
    colour = .35 * rng.normal(size=n)
    X = m[:, None] + colour[:, None] * np.array([2.0, 1, 0, -.5, -.8]) + np.array([1.3, .5, 0, -.2, -.4])
    return X + .05 * np.exp(.25 * (m - 20))[:, None] * rng.normal(size=(n, 5))

def texture(rng, n):
    """Shares of a whole in percent: the columns add to 100."""
    return 100 * rng.dirichlet([14, 9, 5, 2, 1], n)

def metals(rng, n):
    """Concentrations with mild skew, levels from 1 to 200."""
    g = np.random.default_rng(72)
    F = rng.normal(size=(n, 2))
    L = np.vstack([np.full(9, .25), np.r_[np.full(4, .2), np.full(5, -.2)]])
    return g.uniform(20, 60, 9) * np.exp(F @ L + .08 * rng.normal(size=(n, 9)))

def totals(rng, n):
    """Accounts: parts, their sums and a copied column, so that the rank is not full."""
    A = rng.gamma(4, [3, 2, 1, .7, .5], (n, 5))
    return cols(A[:, 0], A[:, 1], A[:, 2], A[:, 3], A[:, 4], A[:, :3].sum(1), A.sum(1), A[:, 0], np.full(n, 7.0))

def clans(rng, n):
    """Five groups that lie apart, none with a majority."""
    g = np.random.default_rng(73)
    M = g.normal(size=(5, 6)) * [14, 8, 1, 1, 1, 1]
    return M[rng.choice(5, n, p=[.23, .21, .2, .19, .17])] + rng.normal(size=(n, 6)) * [2, 2, 1, 1, 1, 1]

def horseshoe(rng, n):
    """A gradient along which the second axis bends."""
    t = rng.uniform(-1, 1, n)
    B = np.column_stack([10 * t, 6 * t ** 2, 3 * rng.normal(size=n), rng.normal(size=n)])
    R = np.linalg.qr(np.random.default_rng(74).normal(size=(7, 4)))[0]
    return B @ R.T + .6 * rng.normal(size=(n, 7))

def clients(rng, n):
    """A table of all sorts: skewed numbers, counts, flags, classes."""
    size = rng.gamma(3, 1, n)
    return np.column_stack([8 * size + 2 * rng.normal(size=n), 3 * size + rng.poisson(4, n), rng.gamma(2, 3.5, n), rng.poisson(2, n),
                            rng.random((n, 2)) < [.03, .5], levels(rng, n, [.3, .25, .25, .2], drop=False)])

def traffic(rng, n):
    """Log of one plus counts of six pages; small pages are often nil."""
    u = rng.normal(size=(n, 1)) * .9
    return np.log1p(rng.poisson(np.exp(np.array([5, 4, 3.2, 2.5, 1.2, .4]) + u + .35 * rng.normal(size=(n, 6)))))

def limits(rng, n):
    """Sensors with a floor and a ceiling that a tenth of the readings reach."""
    F = rng.normal(size=(n, 2)) * [5, 2.5]
    Q = np.linalg.qr(np.random.default_rng(75).normal(size=(8, 2)))[0]
    Z = F @ Q.T + .7 * rng.normal(size=(n, 8))
    w = 1.7 * np.sqrt(np.sum((Q * [5, 2.5]) ** 2, 1) + .49)
    return np.clip(Z, -w, w) + 9

def towns(rng, n, k=24):
    """Twenty-four stations one after the other, each at its own level, by degrees."""
    g = np.random.default_rng(76)
    Q = np.linalg.qr(g.normal(size=(9, 3)))[0]
    m = g.normal(size=(k, 9)) * .8
    return m[blocks(n, k)] + rng.normal(size=(n, 3)) * [7, 4.5, 2.5] @ Q.T + rng.normal(size=(n, 9)) * .8

def paths(rng, n):
    """Positions of a player with a memory, in metres, and speeds."""
    Z = ar(rng, n, .98, 3)
    Q = np.linalg.qr(np.random.default_rng(77).normal(size=(6, 3)))[0]
    return np.array([50, 30, 1, 4, 4, 90.]) + (Z * [15, 9, 5]) @ Q.T + 1.2 * rng.normal(size=(n, 6))

def sorted_p(draw, j):
    def drawn(rng, n):
        got = draw(rng, n)
        X, rest = (got[0], got[1:]) if isinstance(got, tuple) else (got, ())
        X = X[np.argsort(X[:, j], kind='stable')]
        return (X, *rest) if rest else X
    return drawn

# ---- PCA: faults -------------------------------------------------------------------------------

def spread_of(c):
    """Spreads along the axes of the honest rows, and the axes."""
    w, V = np.linalg.eigh(np.cov(c.X[:4000].T))
    return np.sqrt(np.maximum(w[::-1], 0)), V[:, ::-1]

def p_unit(js, k):
    def fault(rng, X, c):
        X[:, js] *= k
        return X
    return fault

def p_place(js, v, spread=0.0):
    def fault(rng, X, c):
        js1 = np.atleast_1d(js)
        X[:, js1] = v + spread * rng.normal(size=(len(X), len(js1)))
        return X
    return fault

def p_cells(v, count=1):
    """Some cells of each row, here or there, hold a code."""
    def fault(rng, X, c):
        for _ in range(count):
            X[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = v
        return X
    return fault

def p_roll(k):
    return lambda rng, X, c: np.roll(X, k, axis=1)

def p_reverse(rng, X, c):
    return X[:, ::-1]

def p_scale(k, a=0.0):
    return lambda rng, X, c: k * X + a * c.X.std(0)

def p_lowrank(k, r=1, off=0.0, own=False):
    """Garbage of rank r that spreads k times as far as the first axis, from the mean or off it."""
    def fault(rng, X, c):
        g = rng if own else c.shared
        Q = np.linalg.qr(g.normal(size=(X.shape[1], r + 1)))[0]
        top = spread_of(c)[0][0]
        return c.X.mean(0) + top * (k * rng.normal(size=(len(X), r)) @ Q[:, :r].T + off * Q[:, r] + .01 * rng.normal(size=X.shape))
    return fault

def p_weak_axis(k, two_sided=True, spread=.3):
    """Adversary: along the weakest axis, as far out as k spreads of the first one."""
    def fault(rng, X, c):
        s, V = spread_of(c)
        sign = rng.choice([-1, 1], (len(X), 1)) if two_sided else 1.0
        return X + sign * s[0] * (k + spread * rng.normal(size=(len(X), 1))) * V[:, -1]
    return fault

def p_knot(k, spread=.05, own=False):
    """A tight knot k first spreads away in some direction."""
    def fault(rng, X, c):
        g = rng if own else c.shared
        s, V = spread_of(c)
        u = g.normal(size=X.shape[1])
        u -= V[:, 0] * (V[:, 0] @ u)
        return c.X.mean(0) + s[0] * (k * u / np.sqrt(u @ u) + spread * rng.normal(size=X.shape))
    return fault

def p_broad(k):
    """Long-tailed garbage in all directions, of a scale of its own in each column."""
    def fault(rng, X, c):
        w = c.shared.exponential(1, X.shape[1])
        return c.X.mean(0) + k * spread_of(c)[0][0] * w * rng.standard_t(2, X.shape)
    return fault

def p_misjoin(rng, X, c):
    """The right half of the row belongs to another row."""
    h = X.shape[1] // 2
    X[:, h:] = X[rng.permutation(len(X)), h:]
    return X

def p_scramble(rng, X, c):
    """Every column sorted for itself and out of step."""
    return np.column_stack([rng.permutation(v) for v in X.T])

def p_pasted(m, k):
    """m rows pasted over and over, k times as large."""
    def fault(rng, X, c):
        r = c.shared.integers(0, len(c.X), m)
        return c.X.mean(0) + k * (c.X[r] - c.X.mean(0) + c.X.std(0))[np.arange(len(X)) % m]
    return fault

def p_test(values):
    return lambda rng, X, c: np.broadcast_to(np.resize(np.asarray(values, float), X.shape[1]), X.shape).copy()

def p_foreign(k, w):
    """Another table: other means, other axes, other tails."""
    def fault(rng, X, c):
        g = c.shared
        p, top = X.shape[1], spread_of(c)[0][0]
        return c.X.mean(0) + top * (k * g.normal(size=p) / np.sqrt(p) + w * (rng.gamma(2, 1, (len(X), 2)) - 2) @ g.normal(size=(2, p)) / np.sqrt(p)
                                    + .03 * rng.normal(size=X.shape))
    return fault

def p_gains(js, k):
    """Some channels with a gain of k around their mean, and off it: amplifier out of order."""
    def fault(rng, X, c):
        m, s = c.X[:, js].mean(0), c.X[:, js].std(0)
        X[:, js] = m + k * (X[:, js] - m) + 2 * k * s
        return X
    return fault

def p_drift(js, k):
    """Channels that walk off, faster the later."""
    def fault(rng, X, c):
        X[:, js] += (k * (.4 + c.t))[:, None] * spread_of(c)[0][0]
        return X
    return fault

def p_several(*faults):
    def fault(rng, X, c):
        z = rng.integers(0, len(faults), len(X))
        for k, f in enumerate(faults):
            r = np.flatnonzero(z == k)
            if len(r):
                X[r] = f(rng, X[r], type(c)(**{**vars(c), 'i': c.i[r], 't': c.t[r]}))
        return X
    return fault

def p_inturn(*faults):
    return lambda rng, X, c: faults[c.b % len(faults)](rng, X, c)

# ---- PCA with bad rows: tables -----------------------------------------------------------------

pca = book.pca

pca('m_p_plant_unit', plant_p, 3, 2000, p_unit([4], 10.0), .2, note='one gauge in other units')
pca('m_p_profile_shift', sharp_profile, 3, 1200, p_roll(7), .3, note='clock wrong by seven hours')
pca('m_p_markers_swapped', markers, 4, 3000, p_roll(30), .25, 'runs', note='labels exchanged in stretches')
pca('m_p_chips_plate', chips, 3, 300, p_lowrank(2, 2, 3), .3, note='300 rows, 100 columns, a foul plate')
pca('m_p_infra_lamp', infra, 3, 800, p_scale(2.5, 4), .35, note='lamp too bright')
pca('m_p_bench_code', bench, 2, 600, p_cells(-99.0), .08, note='code in a cell')
pca('m_p_pair', pair, 1, 150, p_weak_axis(2.5), .15, note='two columns')
pca('m_p_books_line', books, 2, 4000, p_lowrank(6, 1), .4, note='40% along a line, centred')
pca('m_p_traders_broad', traders, 3, 2500, p_broad(6), .2, note='wide garbage amid long tails')
pca('m_p_blocks_slipped', sharp_block, 3, 1500, p_roll(6), .25, note='blocks of columns slipped')
pca('m_p_baskets_bots', baskets, 2, 5000, p_several(p_place([0, 7], 250, 6), p_place(list(range(10)), 150), p_place([3], 400)), .15,
    note='bots of three makes')
pca('m_p_likert_codes', likert, 2, 900, p_place([2, 5, 11], 99.0), .1, note='99 for no answer')
pca('m_p_magnitudes_99', magnitudes, 2, 20_000, p_cells(99.0), .2, note='not seen in some band')
pca('m_p_metals_ppb', metals, 2, 1000, p_unit([7], 1000.0), .12, note='ppb for ppm')

# ---- PCA with bad batches: streams -------------------------------------------------------------

pca('m_p_plant_sites', plant_p, 3, None, p_foreign(4, 1.5), sizes=even(40, 250), batches=.45, note='foreign files, 45%')
pca('m_p_profile_calib', profile, 3, None, p_gains([5, 6, 7, 8], 4), sizes=odd(24, 150, 500), batches=.4, order='start',
    note='four channels out of order at first')
pca('m_p_curve_stuck', curve, 3, None, p_test([.05, .9]), sizes=even(30, 120), batches=.3, stray=.15, stray_hurt=p_test([.3, -.3]),
    note='test records, by day and in each day')
pca('m_p_markers_drift', markers, 4, None, p_drift([10, 11, 12], 4), sizes=even(20, 400), batches=.4, order='end', note='drift, worse at the end')
pca('m_p_chips_runs', chips, 3, None, p_lowrank(2, 3, 0, own=True), sizes=even(16, 300), batches=.37, note='each bad run its own low rank')
pca('m_p_infra_stream', infra, 3, None, p_reverse, sizes=even(12, 400), batches=.42, note='spectra back to front')
pca('m_p_weather_many', weather, 4, None, p_inturn(p_place([3, 4], -999), p_scale(1.8, 9), p_roll(11), p_unit([20], 30.0)), sizes=even(36, 240),
    batches=.33, note='season, and four faults in turn')
pca('m_p_trio_small', trio, 1, None, p_knot(5), sizes=even(80, 50), batches=.35, note='calls of fifty rows')
pca('m_p_books_rows', books, 2, None, p_weak_axis(3), sizes=even(10, 800), stray=.38, note='38% of every call')
pca('m_p_traders_feed', traders, 3, None, p_weak_axis(3, False), sizes=even(25, 400), batches=.4, stray=.05, stray_hurt=p_cells(.5),
    note='an adversary and stray codes')
pca('m_p_lines_scramble', spiked(36, [36, 24, 15], 63, fac='flat', mean=-70), 3, None, p_scramble, sizes=even(20, 500), batches=.4,
    note='columns out of step')
pca('m_p_mega_paste', mega, 2, None, p_pasted(12, 5), sizes=even(30, 200), batches=.43, note='pasted blocks')
pca('m_p_joined_half', sharp_plant_p, 3, None, p_misjoin, sizes=even(16, 600), batches=.37, note='half rows of others')
pca('m_p_traffic_outage', traffic, 1, None, p_several(p_place([0, 1, 2, 3, 4, 5], 0.0), p_place([0, 1], 0.0)), sizes=even(24, 300),
    batches=.3, stray=.1, note='outages')

# ---- PCA, honest -------------------------------------------------------------------------------

wild = spiked(12, [8, 5], 81, fac='t', err='t', vol=.5, mean=100)
skew_p = spiked(14, [9, 5, 3], 82, fac='skew', err='skew', mean=5)
coarse = spiked(10, [6, 3], 83, mean=20, step=2.0)
sorted_profile, sorted_metals = sorted_p(profile, 4), sorted_p(metals, 0)

pca('m_ok_p_skew', skew_p, 3, 3000)
pca('m_ok_p_likert', likert, 2, 700)
pca('m_ok_p_baskets', baskets, 2, 2000)
pca('m_ok_p_texture', texture, 2, 800)
pca('m_ok_p_totals', totals, 2, 1500)
pca('m_ok_p_horseshoe', horseshoe, 2, 1000)
pca('m_ok_p_clans', clans, 2, 1500, note='no majority')
pca('m_ok_p_chips', chips, 3, 200, note='200 rows, 100 columns')
pca('m_ok_p_magnitudes', magnitudes, 2, 30_000)
pca('m_ok_p_limits', limits, 2, 2500)
pca('m_ok_p_wild', wild, 2, None, sizes=even(20, 300))
pca('m_ok_p_weather', weather, 4, None, sizes=even(30, 360))
pca('m_ok_p_towns', towns, 3, None, sizes=even(24, 250))
pca('m_ok_p_coarse', coarse, 2, None, sizes=odd(16, 100, 700))
pca('m_ok_p_clients', clients, 2, None, sizes=even(12, 400))
pca('m_ok_p_traffic', traffic, 1, None, sizes=even(60, 80))
pca('m_ok_p_sorted_profile', sorted_profile, 3, None, sizes=even(25, 240))
pca('m_ok_p_sorted_metals', sorted_metals, 2, None, sizes=even(10, 500))
pca('m_ok_p_paths', paths, 3, None, sizes=even(40, 500))
pca('m_ok_p_infra', infra, 3, None, sizes=even(8, 350))
