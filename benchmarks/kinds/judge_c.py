"""Exam C: kinds of honest and dirty tables and streams, written without sight of the library."""
import numpy as np

from judge_tools import Book, check

BK = Book()
R = np.random.default_rng


def lin(xgen, beta, b0, noise):
    """Exactly linear law; noise(rng, X) has mean zero given X."""
    beta = np.asarray(beta, float)
    truth = np.append(beta, b0)

    def draw(rng, n):
        X = np.asarray(xgen(rng, n), float)
        return X, X @ beta + b0 + noise(rng, X), truth
    return draw


def gauss(sd):
    return lambda rng, X: sd * rng.normal(size=len(X))


def tee(df, sd):
    return lambda rng, X: sd * rng.standard_t(df, size=len(X))


def cols(*parts):
    return np.column_stack(parts)


def basis(C, d):
    return np.linalg.eigh(C)[1][:, ::-1][:, :d].copy()


def smooth(rng, n, k):
    """Stationary unit variance series with memory of about k rows."""
    w = np.exp(-np.arange(6 * k) / k)
    w /= np.sqrt((w ** 2).sum())
    return np.convolve(rng.normal(size=n + 6 * k - 1), w, 'valid')


def split(rng, m, frac):
    return rng.random(m) < frac


# =================================================================================================
# regression, honest: tables
# =================================================================================================

def claims(rng, n):
    age = np.clip(rng.normal(55, 15, n), 18, 95)
    com = rng.poisson(1.2, n)
    los = rng.gamma(1.5, 3, n)
    urg = rng.random(n) < 0.3
    sex = rng.random(n) < 0.5
    y = np.exp(6 + 0.012 * age + 0.2 * com + 0.06 * los + 0.25 * urg + 0.55 * rng.normal(size=n))
    return cols(age, com, los, urg, sex), y


BK.reg('h_claims', claims, 3000)

_b = np.array([1.5, 0.8, 0.0, 2.2, 0.4, 1.1, 0.6])


def adclicks(rng, n):
    S = (rng.random((n, 7)) < [0.3, 0.2, 0.5, 0.15, 0.4, 0.25, 0.35]) * rng.lognormal(0, 0.8, (n, 7))
    return S, rng.poisson(2 + S @ _b), np.append(_b, 2.0)


BK.reg('h_adclicks', adclicks, 5000)

_dist = np.array([0, 20, 45, -15, 60, 10.])


def flats(rng, n):
    size = rng.lognormal(4.3, 0.4, n)
    age = rng.integers(0, 90, n)
    d = rng.choice(6, n, p=[0.3, 0.22, 0.18, 0.14, 0.1, 0.06])
    D = np.eye(6)[d][:, 1:]
    y = 30 + 3.1 * size - 0.6 * age + _dist[d] + 0.35 * size * rng.normal(size=n)
    return cols(size, age, D), y, np.concatenate([[3.1, -0.6], _dist[1:], [30]])


BK.reg('h_flats', flats, 1200)


def wages(rng, n):
    edu = rng.choice([9, 10, 12, 13, 16, 18, 21], n, p=[.05, .2, .25, .2, .15, .1, .05])
    ex = np.floor(rng.gamma(2, 8, n))
    hrs = np.where(rng.random(n) < 0.55, 40, np.round(rng.normal(36, 9, n)))
    y = 400 + 150 * edu + 35 * ex - 0.35 * ex ** 2 + 20 * hrs + 500 * rng.standard_t(3, n)
    return cols(edu, ex, hrs), np.where(rng.random(n) < 0.7, np.round(y / 500) * 500, np.round(y / 100) * 100)


BK.reg('h_wages', wages, 800)


def braking(rng, n):
    v = rng.uniform(5, 50, n)
    return v[:, None], 0.7 * v + 0.06 * v ** 2 + (0.5 + 0.1 * v) * rng.normal(size=n)


BK.reg('h_braking', braking, 300)


def dose(rng, n):
    z = rng.uniform(-3, 3, n)
    w = rng.normal(70, 12, n)
    return cols(z, w), 100 / (1 + np.exp(-2.5 * z)) - 0.2 * (w - 70) + 3 * rng.normal(size=n)


BK.reg('h_dose', dose, 450)

_L = R(11).normal(size=(3, 12))
_sc = 10.0 ** np.array([-6, -4, -3, -2, -1, 0, 0, 1, 2, 3, 5, 6])
_bt = R(12).normal(size=12) / _sc


def collinear_x(rng, n):
    return (rng.normal(size=(n, 3)) @ _L + 0.05 * rng.normal(size=(n, 12)) + 2) * _sc


BK.reg('h_body_scan', lin(collinear_x, _bt, 5, gauss(1.5)), 600)


def assay(rng, n):
    X = cols(rng.gamma(2, 2, n), rng.normal(37, 1, n), rng.integers(0, 2, n), rng.normal(0, 1, n))
    y = 2 + 1.3 * X[:, 0] + 0.8 * (X[:, 1] - 37) - 2 * X[:, 2] + 2.0 * rng.normal(size=n)
    return X, np.maximum(y, 3.5)


BK.reg('h_detection_limit', assay, 1000)

_bp = np.array([2.0, -1.0, 0.5, 0.0, 3.0])


def panel(rng, n):
    m = n // 3
    X = cols(rng.integers(1, 6, (m, 3)), rng.poisson(2, m), rng.random(m) < 0.4).astype(float)
    y = X @ _bp + 10 + 2.5 * (rng.exponential(1, m) - 1)
    w = rng.pareto(2.0, m) + 0.2
    k = np.concatenate([np.arange(m), rng.choice(m, n - m, p=w / w.sum())])
    rng.shuffle(k)
    return X[k], y[k], np.append(_bp, 10)


BK.reg('h_weighted_panel', panel, 2100)


def cities(rng, n):
    return cols(rng.lognormal(3, 1.9, n), rng.normal(0, 1, n), rng.lognormal(0, 1.2, n))


BK.reg('h_city_sizes', lin(cities, [0.7, 3, 2], 8, gauss(6)), 500)

_ms = np.array([[1, 4, 0.], [6, -2, 1], [-3, 1, 5]])
_mi = np.array([0, 25, -20.])


def machines(rng, n):
    k = rng.choice(3, n, p=[0.36, 0.33, 0.31])
    X = rng.normal(size=(n, 3)) + 1
    return X, (X * _ms[k]).sum(1) + _mi[k] + rng.normal(size=n)


BK.reg('h_three_machines', machines, 1500)


def trial(rng, n):
    X = rng.normal(size=(n, 9))
    X[:, 5:] = rng.random((n, 4)) < [0.5, 0.3, 0.2, 0.6]
    y = 2 * X[:, 0] + X[:, 1] - X[:, 2] + 1.5 * X[:, 0] * X[:, 5] + X[:, 3] * X[:, 4] + 2 * X[:, 6] + 1.5 * rng.normal(size=n)
    return X, y


BK.reg('h_small_trial', trial, 160)

_zp = 1 / np.arange(1, 42.0)
_zp /= _zp.sum()
_zb = np.concatenate([[0], R(13).normal(0, 8, 40)])
_zt = np.concatenate([_zb[1:], [1.2, -0.8, 4, 0.05, 2.5], [50]])


def catalogue(rng, n):
    k = rng.choice(41, n, p=_zp)
    Z = cols(rng.gamma(2, 10, n), rng.normal(20, 5, n), rng.random(n) < 0.1, np.round(rng.lognormal(3, 1, n)), rng.poisson(1, n))
    X = cols(np.eye(41)[k][:, 1:], Z)
    return X, X @ _zt[:-1] + 50 + 6 * rng.standard_t(4, n), _zt


BK.reg('h_catalogue', catalogue, 4000)

# regression, honest: streams


def heating(rng, n):
    t = np.arange(n) / n
    temp = 10 - 14 * np.cos(2 * np.pi * t) + 4 * rng.normal(size=n)
    wind = rng.gamma(2, 2, n)
    wk = rng.random(n) < 2 / 7
    y = 50 + 2.0 * np.maximum(15 - temp, 0) + 1.2 * np.maximum(temp - 21, 0) + 0.6 * wind - 6 * wk + 5 * rng.normal(size=n)
    return cols(temp, wind, wk), y


BK.reg('hs_heating_year', heating, sizes=(300,) * 40)

_st = R(14)
_sx = _st.normal(0, 1.2, (24, 4))
_sy = _st.normal(0, 1.5, 24)
_sb = np.array([1.0, -0.5, 2.0, 0.3])


def wards(rng, n):
    s = np.minimum((np.arange(n) * 24) // n, 23)
    X = _sx[s] + rng.normal(size=(n, 4))
    return X, X @ _sb + _sy[s] + 2 * rng.normal(size=n)


BK.reg('hs_wards', wards, sizes=(250,) * 24)


def drifting(rng, n):
    t = np.arange(n) / n
    return rng.normal(size=(n, 5)) * [1, 2, 0.5, 1, 3] + np.outer(t, [6, -4, 0, 10, 1])


BK.reg('hs_drift_x', lin(drifting, [2, 1, -3, 0.4, -0.7], 12, tee(4, 2.5)), sizes=(500,) * 30)

_gb = np.array([0.5, 1.5, 0.2])


def tickets(rng, n):
    X = cols(rng.poisson(3, n), rng.random(n) < 0.2, rng.gamma(1, 8, n))
    return X, rng.negative_binomial(2, 2 / (2 + 1 + X @ _gb)), np.append(_gb, 1.0)


BK.reg('hs_tickets', tickets, sizes=lambda rng: np.clip(rng.lognormal(5.8, 0.8, 28), 80, 2500))


def latency(rng, n):
    x = np.where(rng.random(n) < 0.4, 0, np.round(rng.lognormal(2, 1, n)))
    return x[:, None], 20 + 0.9 * x + 15 * rng.lognormal(0, 1.0, n), np.array([0.9, 20 + 15 * np.exp(0.5)])


BK.reg('hs_latency', latency, sizes=(1200,) * 16)

_mv = np.exp(R(15).normal(0, 0.6, 36))


def matches(rng, n):
    s = np.minimum((np.arange(n) * 36) // n, 35)
    X = cols(rng.poisson(12, n), rng.normal(180, 9, n), rng.gamma(4, 7, n), rng.integers(0, 2, n), rng.normal(size=n), rng.normal(size=n))
    b = np.array([1.2, 0.3, -0.4, 3, 2, 0])
    return X, X @ b + 3 + 4 * _mv[s] * rng.normal(size=n), np.append(b, 3)


BK.reg('hs_matches', matches, sizes=(120,) * 36)


def shops4(rng, n):
    k = rng.choice(4, n, p=[0.28, 0.26, 0.24, 0.22])
    B = np.array([[5, 1.], [-2, 3], [1, -4], [9, 6]])
    X = cols(rng.gamma(3, 1, n), rng.normal(size=n))
    return X, (X * B[k]).sum(1) + np.array([0, 12, 30, -15.])[k] + 1.5 * rng.normal(size=n)


BK.reg('hs_four_chains', shops4, sizes=(800,) * 14)

# =================================================================================================
# regression, dirty: tables
# =================================================================================================


def labx(rng, n):
    z = rng.normal(size=(n, 2))
    return cols(7.4 + 0.05 * z[:, 0] + 0.03 * rng.normal(size=n), 140 + 4 * rng.normal(size=n),
                4.2 + 0.4 * (0.6 * z[:, 1] + 0.8 * rng.normal(size=n)), 90 + 18 * rng.gamma(1.5, 1, n),
                55 + 16 * rng.normal(size=n), 1 + 0.3 * (0.7 * z[:, 0] + 0.7 * rng.normal(size=n)))


LAB = lin(labx, [40, -1.2, 14, 0.35, 0.3, 25], 20, gauss(5))


def t_times(f):
    return lambda rng, X, y, c: (X, y * f)


BK.reg('d_lab_grams', LAB, 1500, t_times(1000), 0.08)


def housex(rng, n):
    return cols(rng.lognormal(4.5, 0.35, n), rng.integers(1, 7, n), rng.gamma(2, 15, n), rng.gamma(2, 4, n), rng.random(n) < 0.3)


HOUSE = lin(housex, [2.4, 8, -0.5, -3, 25], 60, lambda rng, X: (8 + 0.12 * X[:, 0]) * rng.normal(size=len(X)))


def col_map(j, f):
    def hurt(rng, X, y, c):
        X[:, j] = f(X[:, j])
        return X, y
    return hurt


BK.reg('d_square_feet', HOUSE, 2500, col_map(0, lambda v: v * 10.764), 0.25)


def energyx(rng, n):
    return cols(rng.normal(14, 8, n), rng.beta(5, 3, n) * 100, rng.gamma(2, 2, n))


ENERGY = lin(energyx, [-2.0, 0.15, 1.1], 120, gauss(5))
BK.reg('d_fahrenheit', ENERGY, 4000, col_map(0, lambda v: 1.8 * v + 32), 0.3, 'runs')


def swap(a, b):
    def hurt(rng, X, y, c):
        X[:, [a, b]] = X[:, [b, a]]
        return X, y
    return hurt


BK.reg('d_swapped_labs', LAB, 700, swap(1, 4), 0.2)

_gx = R(21).normal(size=(4, 10))


def gearx(rng, n):
    return rng.normal(size=(n, 4)) @ _gx * 0.5 + rng.normal(size=(n, 10))


GEAR = lin(gearx, [6, -5, 2, 0, 1, 3, -2, 0, 0.5, 4], 3, gauss(1.0))
BK.reg('d_swapped_same_scale', GEAR, 1800, swap(0, 1), 0.33)

_fl = R(22).normal(size=(3, 15)) * 0.008


def retx(rng, n):
    return rng.standard_t(6, size=(n, 3)) @ _fl + 0.006 * rng.standard_t(6, size=(n, 15))


FIN = lin(retx, R(23).normal(0, 0.6, 15), 0.0004, tee(5, 0.0025))


def logix(rng, n):
    return cols(rng.gamma(2, 120, n), rng.lognormal(3, 0.7, n), rng.poisson(4, n) + 1, rng.random(n) < 0.4, rng.uniform(0, 24, n))


LOGI = lin(logix, [0.8, 0.9, 12, 30, 0.4], 45, gauss(12))


def decimals(rng, X, y, c):
    return X, y * rng.choice([0.1, 10, 100], len(y), p=[0.3, 0.5, 0.2])


BK.reg('d_decimal_freight', LOGI, 1100, decimals, 0.12)


def agrix(rng, n):
    v = rng.choice(5, n, p=[.3, .25, .2, .15, .1])
    return cols(rng.choice([0, 50, 100, 150], n), rng.gamma(6, 70, n), rng.normal(6.5, .5, n), rng.normal(18, 3, n), np.eye(5)[v][:, 1:])


AGRI = lin(agrix, [0.025, 0.004, 0.8, 0.15, 0.6, -0.4, 1.0, 0.3], -4, gauss(0.5))


def sentinel(code, cells, k=1):
    def hurt(rng, X, y, c):
        for _ in range(k):
            j = rng.choice(cells, len(X))
            X[np.arange(len(X)), j] = code
        return X, y
    return hurt


BK.reg('d_agri_999', AGRI, 900, sentinel(-999, [1, 2, 3]), 0.15)


def likertx(p):
    W = R(24).normal(size=(3, p)) * 0.6

    def gen(rng, n):
        return np.clip(np.round(3 + rng.normal(size=(n, 3)) @ W + 0.7 * rng.normal(size=(n, p))), 1, 5)
    return gen


SURVEY = lin(likertx(18), R(25).normal(0, 2, 18), 30, gauss(4))
BK.reg('d_survey_99', SURVEY, 1600, sentinel(99, np.arange(18), 3), 0.2)

BK.reg('d_missing_as_zero', LAB, 2200, lambda rng, X, y, c: (X, np.zeros(len(y))), 0.3)


def thermox(rng, n):
    return cols(*[smooth(rng, n, k) for k in (5, 15, 40, 8)], rng.normal(size=n), rng.normal(size=n), rng.normal(size=n))


THERMO = lin(thermox, [5, 3, 4, -2, 1, 0.5, 0], 70, tee(5, 0.8))


def stuck(rng, X, y, c):
    return X, np.full(len(y), c.y.mean() - 2.6 * c.y.std())


BK.reg('d_stuck_gauge', THERMO, 3000, stuck, 0.4, 'middle')


def copies(rng, X, y, c):
    s = c.X.std(0)
    x0 = c.X.mean(0) + 4 * s * np.sign(np.cos(np.arange(X.shape[1]) * 1.7))
    return x0 + 0.001 * s * rng.normal(size=X.shape), c.y.mean() - 6 * c.y.std() + 0 * y


BK.reg('d_copied_record', GEAR, 1000, copies, 0.25)

BK.reg('d_bias_cluster', lin(lambda rng, n: rng.normal(size=(n, 6)) @ np.diag([1, 2, 1, 3, 1, 1.]), [1, 2, -1, 0.5, 0, 3], 0, gauss(2)), 2600,
       lambda rng, X, y, c: (X, y + 15 + rng.normal(size=len(y))), 0.4)


def widen(f):
    def hurt(rng, X, y, c):
        line = X @ c.truth[:-1] + c.truth[-1]
        return X, line + f * (y - line)
    return hurt


BK.reg('d_loose_wire', GEAR, 2000, widen(25), 0.4)

TWO = lin(lambda rng, n: cols(rng.uniform(0, 10, n), rng.normal(0, 2, n)), [3, 2], 5, gauss(1))
BK.reg('d_other_regime', TWO, 1200, lambda rng, X, y, c: (X, 60 - 4 * X[:, 0] - 2 * X[:, 1] + rng.normal(size=len(y))), 0.42)


def forged(rng, X, y, c):
    w = c.shared.normal(size=X.shape[1]) / c.X.std(0)
    return X, c.y.mean() + c.y.std() * 1.5 * ((X - c.X.mean(0)) @ w) / np.sqrt(X.shape[1])


BK.reg('d_forged_ledger', FIN, 2400, forged, 0.3)


def shuffled(rng, X, y, c):
    return X, c.y[rng.choice(c.n, len(y))]


STRONG = lin(lambda rng, n: cols(rng.lognormal(0, 0.5, (n, 2)), rng.normal(size=(n, 5))), [8, 4, 5, -6, 3, 0, 2], 10, gauss(0.6))
BK.reg('d_wrong_join', STRONG, 5000, shuffled, 0.35)


def strewn(rng, X, y, c):
    """One to three bad cells a row, any column or the target, of several sorts."""
    m, p = X.shape
    s = c.X.std(0)
    for _ in range(3):
        on = rng.random(m) < (1.0 if _ == 0 else 0.35)
        j = rng.integers(0, p + 1, m)
        v = rng.choice([-1, 1], m) * rng.uniform(8, 60, m)
        r = np.flatnonzero(on & (j < p))
        X[r, j[r]] = c.X.mean(0)[j[r]] + s[j[r]] * v[r]
        r = np.flatnonzero(on & (j == p))
        y[r] = c.y.mean() + c.y.std() * v[r]
    return X, y


BK.reg('d_strewn_cells', GEAR, 3000, strewn, 0.32)


def ramp(lo, hi):
    def hurt(rng, X, y, c):
        u = (c.i - c.i.min()) / max(1, c.i.max() - c.i.min())
        return X, y + lo + (hi - lo) * u
    return hurt


BK.reg('d_calibration_ramp', THERMO, 4000, ramp(6, 30), 0.35, 'end')


def both(f, g, frac=0.5):
    def hurt(rng, X, y, c):
        a = split(rng, len(y), frac)
        for m, h in ((a, f), (~a, g)):
            if m.any():
                cc = type(c)(**vars(c))
                cc.i, cc.t = c.i[m], c.t[m]
                X[m], y[m] = h(rng, X[m], y[m], cc)
        return X, y
    return hurt


def negate(rng, X, y, c):
    return X, -y


BK.reg('d_codes_and_signs', STRONG, 2000, both(sentinel(-99, [2, 3, 4, 5, 6]), negate), 0.3)


def tallx(rng, n):
    m = rng.random(n) < 0.5
    h = 164 + 13 * m + 7 * rng.normal(size=n)
    return cols(h, rng.integers(18, 80, n), m, 90 + 10 * rng.normal(size=n), rng.poisson(3, n))


TALL = lin(tallx, [0.75, 0.05, 3, 0.5, -0.6], -100, gauss(4))
BK.reg('d_inches_and_pounds', TALL, 1500, both(col_map(0, lambda v: v / 2.54), t_times(2.2046), 0.6), 0.3)

_ar = 0.7 ** np.abs(np.subtract.outer(np.arange(60), np.arange(60)))
_arc = np.linalg.cholesky(_ar).T
WIDE = lin(lambda rng, n: rng.normal(size=(n, 60)) @ _arc, R(26).normal(size=60), 1, tee(6, 1.5))
_wd = R(27).normal(size=60)
BK.reg('d_wide_direction', WIDE, 6000, lambda rng, X, y, c: (X, y + 4 * np.abs(X @ _wd) + 10), 0.2)

_maf = R(28).uniform(0.1, 0.5, 40)
SNP = lin(lambda rng, n: rng.binomial(2, _maf, (n, 40)), R(29).normal(0, 1.5, 40), 100, gauss(1.2))


def strand(rng, X, y, c):
    j = c.shared.choice(40, 18, replace=False)
    X[:, j] = 2 - X[:, j]
    return X, y


BK.reg('d_strand_flip', SNP, 2000, strand, 0.3)

ONE = lin(lambda rng, n: rng.normal(50, 10, (n, 1)), [1.4], 10, gauss(5))
BK.reg('d_five_points', ONE, 170, lambda rng, X, y, c: (X + 120 + 5 * rng.normal(size=X.shape), y - 60), 0.03)


def webx(rng, n):
    return cols(rng.poisson(6, n), rng.lognormal(1, 0.6, n), rng.random(n) < 0.35, rng.gamma(2, 3, n))


WEB = lin(webx, [1.5, 2.0, 4, 0.8], 3, lambda rng, X: 3 * (rng.gamma(2, 1, len(X)) - 2))


def bots(rng, X, y, c):
    return cols(np.full(len(y), 40), rng.uniform(0.1, 0.2, len(y)), np.ones(len(y)), np.zeros(len(y))), rng.lognormal(0, 0.5, len(y))


BK.reg('d_bots', WEB, 20000, bots, 0.25)

PHYS = lin(lambda rng, n: cols(2e-6 * rng.lognormal(0, 0.4, n), 3e5 * rng.normal(1, 0.2, n)), [4e6, 2e-5], -3, gauss(0.6))
BK.reg('d_exponent', PHYS, 400, col_map(0, lambda v: v * 1000), 0.1)


def clipped_low(rng, X, y, c):
    lo = np.quantile(c.y, 0.02)
    return X, np.full(len(y), lo - 0.3 * c.y.std())


BK.reg('d_cut_cable', STRONG, 350, clipped_low, 0.27, 'start')


def gain(a):
    def hurt(rng, X, y, c):
        return X, y * a
    return hurt


BK.reg('d_gain_and_noise', TALL, 3500, both(gain(1.6), lambda rng, X, y, c: (X, rng.uniform(0, 300, len(y))), 0.7), 0.38)

# regression, dirty: streams


def other_line(scale):
    """All bad batches tell the same wrong story."""
    def hurt(rng, X, y, c):
        w = c.shared.normal(size=X.shape[1]) * scale / c.X.std(0)
        return X, (X - c.X.mean(0)) @ w + c.y.mean() + 0.3 * scale * rng.normal(size=len(y))
    return hurt


BK.reg('ds_collusion', GEAR, sizes=(200,) * 40, hurt=other_line(8), batches=0.4)
BK.reg('ds_bad_start', ENERGY, sizes=(600,) * 20, hurt=lambda rng, X, y, c: (X, rng.normal(400, 80, len(y))), batches=0.3, order='start')
BK.reg('ds_new_gain', LOGI, sizes=(400,) * 32, hurt=lambda rng, X, y, c: (X, 1.5 * y + 40), batches=0.25, order='end')


def misaligned(rng, X, y, c):
    return X, c.y[(c.i + 137) % c.n]


BK.reg('ds_clock_shift', THERMO, sizes=(500,) * 24, hurt=misaligned, batches=0.34, order='runs')


def population(rng, X, y, c):
    q = X.shape[1]
    w = rng.normal(size=q) * 6
    X = c.X.mean(0) + c.X.std(0) * (rng.normal(size=q) * 2 + 0.7 * rng.normal(size=X.shape))
    return X, ((X - c.X.mean(0)) / c.X.std(0)) @ w + c.y.mean() + rng.normal() * 3 * c.y.std() + rng.normal(size=len(y))


BK.reg('ds_other_countries', STRONG, sizes=(150,) * 48, hurt=population, batches=0.44)
BK.reg('ds_codes_everywhere', AGRI, sizes=(350,) * 18, hurt=sentinel(9999, [0, 1, 2, 3]), stray=0.18)
BK.reg('ds_dirty_twice', WEB, sizes=lambda rng: rng.integers(150, 1500, 26), hurt=lambda rng, X, y, c: (X, 80 - y), batches=0.2,
       stray=0.1, stray_hurt=bots)
BK.reg('ds_inch_clinics', TALL, sizes=(180,) * 30, hurt=col_map(0, lambda v: v / 2.54), batches=0.36)
BK.reg('ds_join_off', SNP, sizes=(900,) * 12, hurt=shuffled, batches=0.4, order='middle')
BK.reg('ds_column_order', LAB, sizes=lambda rng: np.clip(rng.lognormal(5.5, 0.7, 22), 80, 2000), hurt=swap(2, 5), batches=0.27)
BK.reg('ds_polarity', FIN, sizes=(1000,) * 20, hurt=negate, batches=0.45, order='start')


def rubbish(rng, X, y, c):
    return rng.normal(size=X.shape) * 1e5 * c.X.std(0), rng.standard_cauchy(len(y)) * 1e6


BK.reg('ds_bit_rot', WIDE, sizes=(1500,) * 10, hurt=rubbish, batches=0.2)
BK.reg('ds_frozen_and_spikes', THERMO, sizes=(240,) * 36, hurt=lambda rng, X, y, c: (X, np.full(len(y), y[0] + 5)), batches=0.3, order='middle',
       stray=0.08, stray_hurt=lambda rng, X, y, c: (X, y + rng.choice([-1, 1], len(y)) * rng.uniform(25, 90, len(y))))

# =================================================================================================
# PCA, honest: tables
# =================================================================================================


def fac(W, sd, mean=0.0, score=None, after=None):
    """Factor law: scores of unit variance times W (d, p), noise of spread sd."""
    W = np.asarray(W, float)
    d, p = W.shape
    sd = np.broadcast_to(np.asarray(sd, float), (p,))
    truth = basis(W.T @ W + np.diag(sd ** 2), d)

    def draw(rng, n):
        S = rng.normal(size=(n, d)) if score is None else score(rng, n, d)
        X = mean + S @ W + sd * rng.normal(size=(n, p))
        return (X, truth) if after is None else after(X)
    return draw


def load(seed, d, p, top=3.0, low=1.5):
    g = R(seed)
    Q = np.linalg.qr(g.normal(size=(p, d)))[0].T
    return Q * np.linspace(top, low, d)[:, None] * np.sqrt(p)


def unit_t(df):
    return lambda rng, n, d: rng.standard_t(df, size=(n, d)) / np.sqrt(df / (df - 2))


def unit_exp(rng, n, d):
    return rng.exponential(1, (n, d)) - 1


BK.pca('hp_three_axes', fac([[3, 1, 0.5]], 0.6, [10, 5, 2]), 1, 250)
BK.pca('hp_heavy_returns', fac(load(31, 2, 14, 2, 1.2), 1, 0, unit_t(5)), 2, 3000)


def baskets(rng, n):
    w = rng.lognormal(0, 0.6, (n, 2))
    L = np.array([[4, 3, 2, 5, 3, 1, 0, 0, 0, 0, 1, 2], [0, 0, 1, 0, 0, 2, 3, 4, 2, 3, 2, 0]])
    return rng.poisson(w @ L + 0.3)


BK.pca('hp_basket_counts', baskets, 2, 4000)


def expenses(rng, n):
    z = rng.normal(size=(n, 2))
    W = np.array([[.5, .5, .4, .4, .5, .3, .1, 0, 0, .1], [0, .1, 0, .1, -.1, 0, .6, .6, .5, .5]])
    return np.exp(1 + z @ W + 0.25 * rng.normal(size=(n, 10)))


BK.pca('hp_skew_expenses', expenses, 2, 5000)


def visits(rng, n):
    a = (rng.random((n, 3)) < [0.35, 0.25, 0.4]) * rng.gamma(2, 1.5, (n, 3))
    W = np.zeros((3, 24))
    W[0, :9], W[1, 8:17], W[2, 16:] = 1.3, 1.9, 0.9
    Z = a @ W + 0.5 * rng.normal(size=(n, 24))
    return np.where(Z > 0.6, Z, 0)


BK.pca('hp_zero_visits', visits, 3, 2500)


def mixed_types(rng, n):
    k = rng.choice(4, n, p=[0.3, 0.28, 0.24, 0.18])
    z = rng.normal(size=n)
    num = np.outer(z, [2, 1.5, 1, -1.2, 0.8]) + 0.7 * rng.normal(size=(n, 5))
    b = rng.random((n, 6)) < 1 / (1 + np.exp(-np.outer(z, [2, 1, 0, -1, 0.5, 0])))
    return cols(num, b, np.eye(4)[k], rng.poisson(0.4, n))


BK.pca('hp_mixed_types', mixed_types, 1, 1200)

_cm = np.array([[8, 0, 0, 3, 0, 1, 0, 0.], [-4, 7, 0, -2, 2, 0, 0, 0], [-4, -7, 0, 0, -2, 0, 3, 0]])


def species(rng, n):
    return _cm[rng.choice(3, n, p=[0.35, 0.34, 0.31])] + rng.normal(size=(n, 8))


BK.pca('hp_three_species', species, 2, 600)
BK.pca('hp_mixed_scales', fac([[3e2, 20, 0.5, 0.01, 8, 1], [0, 60, 2, 0.02, -30, 0]], [20, 6, 1, 0.01, 5, 0.5], [1e6, 300, 7, 0, 50, 1]), 2, 900)
BK.pca('hp_clipped_gauges', fac(load(32, 2, 28, 1.6, 1.0), 0.6, 0, None, lambda X: np.clip(X, -2.5, 2.0)), 2, 1500)


def arc(rng, n):
    u = rng.uniform(0, 1, n)
    g = np.linspace(0, 1, 40)
    return 4 * np.exp(-0.5 * ((g - u[:, None]) / 0.25) ** 2) + 0.25 * rng.normal(size=(n, 40))


BK.pca('hp_gradient_arch', arc, 3, 800)

_wl = np.linspace(0, 1, 80)
_pk = np.array([np.exp(-0.5 * ((_wl - m) / s) ** 2) for m, s in ((.2, .05), (.45, .1), (.7, .04))]) * np.array([[6], [4], [5.]])


def spectra(rng, n):
    c = rng.dirichlet([2, 2, 2, 4], n)[:, :3]
    return c @ _pk * 3 + 0.1 * _wl * rng.normal(size=(n, 1)) + 0.08 * rng.normal(size=(n, 80))


BK.pca('hp_spectra', spectra, 3, 300)

# PCA, honest: streams
_hr = np.arange(24)
_day = np.array([np.exp(-0.5 * ((_hr - 8) / 2.) ** 2), np.exp(-0.5 * ((_hr - 19) / 2.5) ** 2)])


def load_year(rng, n):
    t = np.arange(n) / n
    a = cols(3 + 1.0 * np.sin(2 * np.pi * t), 4 + 2.0 * np.cos(2 * np.pi * t)) + rng.gamma(4, 0.6, (n, 2)) * [1, 1.6]
    return 10 + a @ _day + 0.4 * rng.normal(size=(n, 24))


BK.pca('hps_load_year', load_year, 2, sizes=(250,) * 36)

_pw = load(33, 2, 10, 1.5, 1.0)
_pm = R(34).normal(0, 1.0, (20, 2)) @ _pw + R(35).normal(0, 0.4, (20, 10))


def plants(rng, n):
    s = np.minimum((np.arange(n) * 20) // n, 19)
    return _pm[s] + rng.normal(size=(n, 2)) @ _pw + 0.8 * rng.normal(size=(n, 10))


BK.pca('hps_plants', plants, 2, sizes=(400,) * 20)


def ageing(rng, n):
    t = np.arange(n)[:, None] / n
    W = load(36, 1, 6, 2, 2)
    return (rng.gamma(3, 0.6, (n, 1)) + 2 * t) @ W + 0.7 * rng.standard_t(5, (n, 6)) + t * [0.5, 0, 1, 0, 0, -0.5]


BK.pca('hps_ageing', ageing, 1, sizes=(700,) * 16)


def logcounts(rng, n):
    s = rng.gamma(1.5, 4, (n, 1))
    m = rng.gamma(2, 2, (n, 1))
    return rng.poisson(s * [3, 2, 1, 0.5, 2, 0, 0, 0.2] + m * [0, 0, 1, 0, 0.3, 3, 2, 0.1] + 0.2)


BK.pca('hps_log_counts', logcounts, 2, sizes=lambda rng: np.clip(rng.lognormal(5.6, 0.8, 30), 70, 2200))


def ratings(rng, n):
    m = n // 2
    W = load(37, 2, 20, 0.9, 0.6)
    X = np.round(np.clip(5 + rng.normal(size=(m, 2)) @ W + 0.8 * rng.normal(size=(m, 20)), 1, 10))
    return X[np.concatenate([np.arange(m), rng.choice(m, n - m)])]


BK.pca('hps_ratings_repeat', ratings, 2, sizes=(300,) * 24)

# =================================================================================================
# PCA, dirty: tables
# =================================================================================================

SENS = fac(load(41, 2, 12, 2.5, 1.5), 0.7, np.linspace(5, 30, 12))
RET = fac(load(42, 3, 30, 2.0, 1.2), 0.7, 0, unit_t(6))
LABP = fac(load(43, 2, 9, 2.0, 1.4) * np.array([1, 1, 2, 2, 1, .5, 1, 1, 2]), 0.6, [140, 40, 100, 24, 14, 70, 90, 50, 120.])
SPEC = fac(_pk * 1.0, 0.3, 2 + np.sin(3 * _wl))
GENE = fac(load(44, 4, 60, 2.0, 1.1), 0.9, 6, unit_exp)
TELE = fac(load(45, 3, 16, 2.5, 1.5), 0.6, np.linspace(-10, 10, 16))
IMG = fac(load(46, 5, 64, 2.0, 1.0), 0.6, 8)
TINY = fac([[4, 2, 1.]], 0.7, [20, 10, 5])
FARM = fac([[3, 2, 2, 1, 0, 0, 1], [0, 0, 1, 2, 2, 2.5, 0.]], 0.5, [30, 12, 7, 20, 5, 9, 14], unit_exp)
HOURS = fac(_day * [[3.], [4.]], 0.35, 10 + _day.sum(0) * 8)
SPORT = fac(load(47, 2, 14, 1.8, 1.2), 0.7, np.linspace(3, 60, 14))
SHIP = fac(load(48, 3, 20, 2.0, 1.3), 0.6, 15)
BEAM = fac([[2e3, 1e3, 500, 0, 200.], [0, 800, 0, 900, -300]], [150, 120, 100, 130, 100], [5e4, 3e4, 1e4, 8e3, 2e4])


def p_cols(cs, f):
    def hurt(rng, X, c):
        X[:, cs] = f(X[:, cs])
        return X
    return hurt


def p_cell(f, k=1):
    def hurt(rng, X, c):
        s, m = c.X.std(0), c.X.mean(0)
        for _ in range(k):
            j = rng.integers(0, X.shape[1], len(X))
            X[np.arange(len(X)), j] = f(rng, X[np.arange(len(X)), j], m[j], s[j])
        return X
    return hurt


def p_both(f, g, frac=0.5):
    def hurt(rng, X, c):
        a = split(rng, len(X), frac)
        for m, h in ((a, f), (~a, g)):
            if m.any():
                cc = type(c)(**vars(c))
                cc.i, cc.t = c.i[m], c.t[m]
                X[m] = h(rng, X[m], cc)
        return X
    return hurt


def p_swap(a, b):
    def hurt(rng, X, c):
        X[:, [a, b]] = X[:, [b, a]]
        return X
    return hurt


def p_cluster(far, width=0.5):
    """A tight heap far out, at a place chosen per sample."""
    def hurt(rng, X, c):
        u = c.shared.normal(size=X.shape[1])
        u /= np.sqrt(np.mean(u ** 2))
        s = c.X.std(0)
        return c.X.mean(0) + s * (far * u + width * rng.normal(size=X.shape))
    return hurt


def p_plane(scale, k=2):
    """Rows of another subspace, the same for all."""
    def hurt(rng, X, c):
        V = np.linalg.qr(c.shared.normal(size=(X.shape[1], k)))[0].T
        s = np.sqrt(np.sum(c.X.var(0)))
        return c.X.mean(0) + scale * s * rng.normal(size=(len(X), k)) @ V + 0.02 * s * rng.normal(size=X.shape)
    return hurt


def p_block(cs):
    """The columns cs come from another row."""
    def hurt(rng, X, c):
        X[:, cs] = c.X[rng.choice(c.n, len(X))][:, cs]
        return X
    return hurt


BK.pca('dp_milli', LABP, 2, 1200, p_cols([2], lambda v: v * 10), 0.08)
BK.pca('dp_row_thousand', SENS, 2, 700, lambda rng, X, c: X * 1000, 0.05)
BK.pca('dp_swapped_pair', SPORT, 2, 1500, p_swap(0, 13), 0.2)
BK.pca('dp_flip_half', RET, 3, 4000, p_cols(np.arange(10), lambda v: -v), 0.3)
BK.pca('dp_decimal', SHIP, 3, 900, p_cell(lambda rng, v, m, s: v * rng.choice([0.1, 10, 100], len(v), p=[.2, .6, .2])), 0.15)
BK.pca('dp_sentinels', LABP, 2, 2500, p_cell(lambda rng, v, m, s: np.where(rng.random(len(v)) < 0.5, -999, 9999), 2), 0.22)
BK.pca('dp_zero_rows', HOURS, 2, 1000, lambda rng, X, c: np.zeros_like(X), 0.3)
BK.pca('dp_stuck_three', TELE, 3, 3000, lambda rng, X, c: cols(np.tile(X[0, :3] + 25, (len(X), 1)), X[:, 3:]), 0.35, 'middle')
BK.pca('dp_saturated', SENS, 2, 1600, p_cols([1, 4, 6], lambda v: np.full_like(v, 60.0)), 0.17)
BK.pca('dp_copies', GENE, 4, 800, p_cluster(5, 0.001), 0.2)
BK.pca('dp_heap', SHIP, 3, 2000, p_cluster(1.6, 0.4), 0.4)
BK.pca('dp_small_heap', TINY, 1, 160, lambda rng, X, c: np.array([20, 26, -5.]) + rng.normal(size=X.shape), 0.1)
BK.pca('dp_noise_wide', SPEC, 3, 1500, lambda rng, X, c: X + 1.3 * rng.normal(size=X.shape) * R(51).uniform(0.2, 2, X.shape[1]), 0.35)
BK.pca('dp_other_plane', IMG, 5, 2500, p_plane(2.5, 3), 0.38)
BK.pca('dp_join_block', TELE, 3, 5000, p_block(np.arange(6)), 0.33)
BK.pca('dp_permuted', IMG, 5, 6000, lambda rng, X, c: X[:, c.shared.permutation(X.shape[1])], 0.25)
BK.pca('dp_strewn', SENS, 2, 3000, p_cell(lambda rng, v, m, s: m + s * rng.choice([-1, 1], len(v)) * rng.uniform(6, 40, len(v)), 2), 0.36)


def p_drift(cs, lo, hi):
    def hurt(rng, X, c):
        u = (c.i - c.i.min()) / max(1, c.i.max() - c.i.min())
        X[:, cs] += (lo + (hi - lo) * u)[:, None]
        return X
    return hurt


BK.pca('dp_sensor_drift', FARM, 2, 2000, p_drift([0, 6], 5, 20), 0.3, 'end')
BK.pca('dp_two_faults', SPORT, 2, 1800, p_both(p_cluster(6, 0.5), p_cell(lambda rng, v, m, s: np.full(len(v), -99.0), 2)), 0.28)
BK.pca('dp_counts_and_plane', GENE, 4, 3000, p_both(lambda rng, X, c: np.round(np.exp(np.clip(X / 4, -5, 7))) * 5, p_plane(2, 1)), 0.3)
BK.pca('dp_beam_units', BEAM, 2, 12000, p_cols([1, 3], lambda v: v / 2.54), 0.4)
BK.pca('dp_axis_spray', TINY, 1, 400, lambda rng, X, c: X + np.outer(rng.normal(0, 25, len(X)), [0.1, -0.3, 1]), 0.42)

# PCA, dirty: streams
BK.pca('dps_collusion', RET, 3, sizes=(300,) * 40, hurt=p_plane(1.2, 3), batches=0.42)
BK.pca('dps_bad_first', SENS, 2, sizes=(150,) * 30, hurt=lambda rng, X, c: rng.uniform(-60, 90, X.shape), batches=0.3, order='start')
BK.pca('dps_bad_last', SHIP, 3, sizes=(500,) * 16, hurt=p_cols(np.arange(7), lambda v: 1.5 * v), batches=0.25, order='end')
BK.pca('dps_clock', TELE, 3, sizes=(400,) * 24, hurt=lambda rng, X, c: cols(X[:, :8], c.X[(c.i + 211) % c.n][:, 8:]), batches=0.34, order='runs')


def p_population(rng, X, c):
    q = X.shape[1]
    s = c.X.std(0)
    V = rng.normal(size=(2, q))
    return c.X.mean(0) + s * (1.5 * rng.normal(size=q) + 1.2 * rng.normal(size=(len(X), 2)) @ V + 0.3 * rng.normal(size=X.shape))


BK.pca('dps_foreign', SPORT, 2, sizes=(120,) * 50, hurt=p_population, batches=0.44)
BK.pca('dps_cells_everywhere', LABP, 2, sizes=(350,) * 20, hurt=p_cell(lambda rng, v, m, s: np.zeros(len(v)) - 99), stray=0.25)
BK.pca('dps_twice', IMG, 5, sizes=(800,) * 10, hurt=p_plane(2, 2), batches=0.3, stray=0.1, stray_hurt=p_cluster(6, 0.3))
BK.pca('dps_fahrenheit', FARM, 2, sizes=lambda rng: rng.integers(90, 1200, 24), hurt=p_cols([3], lambda v: 1.8 * v + 32 + 6 * (v - 20)), batches=0.33)
BK.pca('dps_column_order', HOURS, 2, sizes=(200,) * 28, hurt=lambda rng, X, c: np.roll(X, 7, axis=1), batches=0.4, order='middle')
BK.pca('dps_scrambled', SPEC, 3, sizes=(250,) * 18, hurt=lambda rng, X, c: rng.permuted(X, axis=1), batches=0.35)
BK.pca('dps_bit_rot', BEAM, 2, sizes=(2500,) * 9, hurt=lambda rng, X, c: rng.standard_cauchy(X.shape) * 1e7, batches=0.22)
BK.pca('dps_late_polarity', RET, 3, sizes=lambda rng: np.clip(rng.lognormal(5.7, 0.6, 32), 100, 2000),
       hurt=p_cols(np.arange(0, 30, 2), lambda v: -v), batches=0.3, order='end', stray=0.05, stray_hurt=p_cluster(7, 0.2))

KINDS = BK.KINDS

if __name__ == "__main__":
    check(KINDS)
