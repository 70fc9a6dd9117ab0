"""Exam D: regression and PCA kinds from made-up but realistic processes, written without sight of the library."""
import numpy as np

from judge_tools import Book, check

BOOK = Book()
REG, PCA = BOOK.reg, BOOK.pca


# ------------------------------------------------------------------ small tools

def fixed(seed):
    return np.random.default_rng(seed)


def ar1(rng, n, phi, width=90):
    u = rng.normal(size=n + width)
    return np.convolve(u, phi ** np.arange(width), 'valid')[:n] * np.sqrt(1 - phi ** 2)


def toep(rng, n, p, rho):
    Z = rng.normal(size=(n, p))
    for j in range(1, p):
        Z[:, j] = rho * Z[:, j - 1] + np.sqrt(1 - rho ** 2) * Z[:, j]
    return Z


def cdf(z):
    return 1 / (1 + np.exp(-1.702 * z))


def bid(n, sizes):
    """Batch of each of n rows, in proportion to sizes (exact where n is their sum)."""
    edge = np.cumsum(sizes) / np.sum(sizes)
    return np.minimum(np.searchsorted(edge, (np.arange(n) + 0.5) / n), len(sizes) - 1)


def lin(X, b, a, e):
    b = np.asarray(b, float)
    return X, X @ b + a + e, np.append(b, a)


def basis(seed, p, d, smooth=False):
    g = fixed(seed)
    if smooth:
        t = np.linspace(0, 1, p)[:, None]
        M = np.exp(-0.5 * ((t - g.uniform(0.1, 0.9, d)) / 0.12) ** 2) + 0.3 * np.cos(np.pi * t * np.arange(1, d + 1))
    else:
        M = g.normal(size=(p, d))
    return np.linalg.qr(M)[0]


def sub(c, m=1500):
    s = max(1, len(c.X) // m)
    return c.X[::s], (None if c.y is None else c.y[::s])


def rfit(c):
    """Honest fit and noise spread, slopes, mean and spread of x."""
    X, y = sub(c)
    m, s = X.mean(0), X.std(0) + 1e-12
    Z = (X - m) / s
    b = np.linalg.lstsq(np.c_[Z, np.ones(len(Z))], y, rcond=1e-9)[0]
    return b[:-1] / s, b[-1] - m @ (b[:-1] / s), (y - Z @ b[:-1] - b[-1]).std(), m, s


def pfit(c, d):
    X, _ = sub(c, 3000)
    m = X.mean(0)
    w, V = np.linalg.eigh(np.cov(X.T))
    w, V = w[::-1], V[:, ::-1]
    return m, np.sqrt(np.maximum(w, 0)), V[:, :d], V[:, d:], np.sqrt(max(w[d:].mean(), 1e-18))


# ------------------------------------------------------------------ regression laws

def house(rng, n):
    area = 80 * np.exp(0.4 * rng.normal(size=n))
    rooms = np.clip(np.round(area / 25 + rng.normal(size=n)), 1, 9)
    age = np.floor(rng.gamma(1.5, 20, n))
    dist = rng.gamma(2, 4, n)
    garage = rng.random(n) < 0.45
    X = np.c_[area, rooms, age, dist, garage]
    e = (rng.gamma(4, 1, n) - 4) / 2 * (8 + 0.1 * area)
    return lin(X, [2.1, 9.0, -0.5, -3.2, 15.0], 60, e)


def energy(rng, n):
    t = np.arange(n)
    hour, day = t % 24, (t // 24) % 365
    temp = 12 - 10 * np.cos(2 * np.pi * day / 365) - 4 * np.cos(2 * np.pi * hour / 24) + 3 * ar1(rng, n, 0.93)
    hum = rng.beta(5, 2, n)
    wind = rng.weibull(2, n) * 6
    wk = ((t // 24) % 7 >= 5).astype(float)
    X = np.c_[temp, hum, wind, wk, np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24),
              np.sin(4 * np.pi * hour / 24), np.cos(4 * np.pi * hour / 24)]
    y = (300 - 2 * temp + 1.2 * np.maximum(temp - 18, 0) + 20 * hum - 25 * wk - 30 * X[:, 5] - 12 * X[:, 4]
         + 8 * ar1(rng, n, 0.85))
    return X, y


def plant(p, seed, noise_df=5, rho=0.7):
    b = fixed(seed).normal(size=p) * 2

    def draw(rng, n):
        X = toep(rng, n, p, rho) * np.linspace(1, 5, p) + 50
        return lin(X, b, 20, 1.5 * rng.standard_t(noise_df, n))
    return draw


def wages(rng, n):
    educ = np.clip(np.round(13 + 2.6 * rng.normal(size=n)), 6, 20)
    exper = rng.integers(0, 41, n)
    ten = np.minimum(rng.gamma(1, 7, n), exper)
    fem, union, city = rng.random(n) < 0.5, rng.random(n) < 0.2, rng.random(n) < 0.6
    X = np.c_[educ, exper, ten, fem, union, city].astype(float)
    y = (0.9 + 0.09 * educ + 0.04 * exper - 0.0007 * exper ** 2 + 0.015 * ten - 0.2 * fem + 0.12 * union + 0.1 * city
         + 0.38 * rng.normal(size=n))
    return X, y


def tickets(rng, n):
    lam = np.array([1, 3, 8, 20, 40, 6.0])
    g = rng.gamma(5, 0.2, (n, 1))
    X = rng.poisson(lam * g).astype(float)
    X[:, 2] *= rng.random(n) < 0.55
    X[:, 5] *= rng.random(n) < 0.35
    return lin(X, [6, 4, -3, 0.5, 0.9, 2.5], 12, 3 * (rng.gamma(2, 1, n) - 2))


def blend(rng, n):
    X = rng.dirichlet([6, 4, 3, 2, 2, 5], n)[:, :5]
    return lin(X, [40, -25, 60, 10, -45], 30, rng.uniform(-2, 2, n))


SPEC = basis(81, 40, 6, True) * 6


def spectrum(rng, n):
    S = rng.gamma(3, 1, (n, 6)) - 3
    X = S @ SPEC.T + 0.3 * rng.normal(size=(n, 40)) + 2
    b = SPEC @ np.array([1, -0.8, 0.5, 0.9, -0.4, 0.7]) / 12
    return lin(X, b, 5, 0.7 * rng.normal(size=n))


def anova(rng, n):
    cols = []
    for probs in ([.4, .3, .2, .1], [.5, .3, .1, .08, .02], [.6, .3, .1]):
        k = rng.choice(len(probs), n, p=probs)
        cols += [(k == j).astype(float) for j in range(1, len(probs))]
    return lin(np.stack(cols, 1), [3, -2, 5, 8, -6, 4, 12, -3, 7], 40, 1.2 * rng.normal(size=n))


def calibration(rng, n):
    x = rng.uniform(0, 10, n)
    return lin(x[:, None], [3.0], 1.5, (0.3 + 0.12 * x) * rng.normal(size=n))


def skewed2(rng, n):
    X = np.exp(toep(rng, n, 2, 0.4) * [0.8, 0.6])
    return lin(X, [4.0, 7.0], 10, 1.5 * rng.laplace(size=n))


def cubic(rng, n):
    x = rng.uniform(-1, 3, n)
    z = rng.integers(0, 4, n)
    return lin(np.c_[x, x ** 2, x ** 3, z], [2, -3, 1.1, 1.5], 4, 0.5 * rng.normal(size=n))


def lags(rng, n):
    k = np.zeros(120)
    k[0], k[1] = 1, 1.2
    for j in range(2, 120):
        k[j] = 1.2 * k[j - 1] - 0.4 * k[j - 2]
    s = np.convolve(rng.normal(size=n + 130), k, 'valid')
    z = rng.normal(size=n)
    X = np.c_[s[3:n + 3], s[2:n + 2], s[1:n + 1], z]
    return lin(X, [1.2, -0.4, 0, 2.0], 0, s[4:n + 4] - 1.2 * s[3:n + 3] + 0.4 * s[2:n + 2])


def flat20(rng, n):
    X = rng.uniform(-1, 1, (n, 20))
    X[:, ::2] = X[:, ::2] ** 3
    return lin(X, np.where(np.arange(20) % 3 == 0, -6.0, 5.0), 0, rng.uniform(-1.7, 1.7, n))


B60 = fixed(61).normal(size=60) * 0.6
L60 = fixed(62).normal(size=(60, 4))


def wide60(rng, n):
    X = rng.normal(size=(n, 4)) @ L60.T + rng.standard_t(6, (n, 60))
    return lin(X, B60, -3, 1.2 * rng.normal(size=n))


def survey(rng, n):
    f = rng.normal(size=(n, 1))
    X = np.clip(np.round(3 + 0.8 * f + 0.8 * rng.normal(size=(n, 8))), 1, 5)
    return lin(X, [1, .5, .8, .2, 1.2, .6, .4, .9], 10, 0.9 * rng.laplace(size=n))


CITY = fixed(7).uniform(-8, 8, (6, 2)) + np.array([10, 48])


def cities(rng, n):
    k = rng.choice(6, n, p=[.25, .2, .2, .15, .12, .08])
    P = CITY[k] + 0.4 * rng.normal(size=(n, 2))
    alt = rng.gamma(2, 0.2, n)
    return lin(np.c_[P, alt], [0.15, -0.7, -6.0], 50, 0.8 * rng.normal(size=n))


def heaped(rng, n):
    w = 5 * np.round((70 + 14 * rng.normal(size=n)) / 5)
    h = np.round(100 + 0.9 * w + 6 * rng.normal(size=n))
    a = rng.integers(18, 80, n)
    a = np.where(rng.random(n) < 0.3, 10 * np.round(a / 10), a)
    y = 50 + 0.6 * w + 0.4 * a + 0.2 * h + 6 * rng.normal(size=n)
    y = np.where(rng.random(n) < 0.5, 10 * np.round(y / 10), np.round(y))
    return np.c_[w, h, a, rng.integers(0, 2, n)], y


def tobit(rng, n):
    X = np.c_[toep(rng, n, 4, 0.5), rng.exponential(1, n), rng.integers(0, 6, n), rng.random(n) < 0.3]
    y = X @ [2, -1, 1.5, 0.5, 1.2, 0.8, 2] - 2 + 1.5 * rng.normal(size=n)
    return X, np.maximum(y, 0)


def climate(rng, n):
    t = np.arange(n) / 365.25
    w = 2 * np.pi * t
    X = np.c_[np.cos(w), np.sin(w), np.cos(2 * w), np.sin(2 * w), (t - t.mean()), rng.normal(size=n)]
    return lin(X, [-9, -3, 1.2, 0.6, 0.1, 1.5], 11, 2 * ar1(rng, n, 0.6))


def copula(rng, n):
    X = cdf(toep(rng, n, 7, 0.6))
    X[:, 3] = np.floor(X[:, 3] * 5)
    return lin(X, [10, -6, 8, 1.5, 5, -9, 4], 2, (0.4 + 0.8 * X[:, 0]) * rng.normal(size=n))


def units(rng, n):
    Z = toep(rng, n, 5, 0.3)
    X = np.c_[170 + 12 * Z[:, 0], 3e-6 * (4 + Z[:, 1]), 2e6 * np.exp(0.4 * Z[:, 2]), Z[:, 3], 1000 + 5 * Z[:, 4]]
    return lin(X, [0.5, 1e6, 2e-6, 2.0, 0.3], 7, rng.normal(size=n) * 1.5)


PREV = np.geomspace(0.03, 0.4, 30)
BW = fixed(33).normal(size=30) * 4


def words(rng, n):
    return lin((rng.random((n, 30)) < PREV).astype(float), BW, 15, 1.3 * rng.normal(size=n))


def bills(rng, n):
    X = np.c_[rng.gamma(4, 10, n), rng.poisson(3, n), rng.beta(2, 5, n) * 100, rng.integers(1, 13, n)]
    m = X @ [2.0, 12, 1.1, 3] + 40
    return lin(X, [2.0, 12, 1.1, 3], 40, m * (rng.gamma(60, 1 / 60, n) - 1))


def queue(rng, n):
    X = rng.beta(2, 3, (n, 10)) * np.arange(1, 11)
    return lin(X, [3, -2, 1, 2, -1, .5, 1, -.5, .8, 1.2], 5, 1.5 * (rng.exponential(1, n) - 1))


def wavy(rng, n):
    X = np.c_[rng.normal(size=n), rng.uniform(-3, 3, n), rng.triangular(0, 1, 4, n)]
    return X, 2 * X[:, 0] + 1.5 * X[:, 1] + 0.6 * np.sin(2 * X[:, 1]) - 2 * X[:, 2] + 0.8 * rng.normal(size=n)


def levers(rng, n):
    X = rng.standard_t(8, (n, 6))
    far = rng.random(n) < 0.03
    X[far] *= 12
    return lin(X, [1, -1, 2, .5, -2, 1.5], 0, rng.uniform(-2, 2, n))


def insurance(rng, n):
    age, bmi, kids = rng.integers(18, 65, n), 30 + 6 * rng.normal(size=n), rng.poisson(1.1, n)
    sm, male, south = rng.random(n) < 0.3, rng.random(n) < 0.5, rng.random(n) < 0.3
    X = np.c_[age, bmi, kids, sm, male, south].astype(float)
    return X, 0.26 * age + 0.1 * bmi + 0.5 * kids + sm * (6 + 0.5 * (bmi - 30)) + 4.5 * (rng.gamma(2, 1, n) - 2)


def threeclass(rng, n):
    k = rng.choice(3, n, p=[.36, .33, .31])
    X = rng.normal(size=(n, 3)) * [1, 2, 1] + 3
    b = np.array([[2, 1, 0], [-1, 1, 1], [1, -1, 2.0]])[k]
    return X, (X * b).sum(1) + np.array([0, 6, -5])[k] + 0.8 * rng.normal(size=n)


def zicount(rng, n):
    X = np.c_[rng.exponential(1, n), rng.normal(size=(n, 2)), rng.random(n) < 0.4, rng.integers(0, 5, n)]
    lam = np.exp(0.6 + 0.25 * X[:, 0] + 0.3 * X[:, 1] - 0.2 * X[:, 2] + 0.4 * X[:, 3])
    return X, rng.poisson(lam) * (rng.random(n) < 0.68)


def heavycols(rng, n):
    X = np.c_[np.exp(rng.normal(size=n)), rng.standard_t(3, n), rng.standard_t(3, n), rng.pareto(3, n), rng.normal(size=n)]
    return lin(X, [1.0, 2, -1, 0.5, 3], -4, 2 * rng.standard_t(3, n))


def collinear(rng, n):
    x = rng.uniform(1, 2, n)
    X = np.c_[x, x ** 2, np.log(x), 3 * x + 0.01 * rng.normal(size=n), rng.integers(0, 2, n)]
    return lin(X, [1, 2, -1, .5, 1.5], 3, rng.normal(size=n))


def rarelevels(rng, n):
    k = rng.choice(16, n, p=np.append([.4, .3], np.full(14, 0.3 / 14)))
    D = (k[:, None] == np.arange(1, 16)).astype(float)
    X = np.c_[D, rng.normal(size=n), rng.gamma(2, 2, n), rng.random(n) < 0.012]
    return lin(X, np.r_[fixed(5).normal(size=15) * 6, 1.5, -1, 25], 30, 2 * rng.normal(size=n))


def fan(rng, n):
    X = np.c_[rng.gamma(2, 2, n), rng.uniform(0, 5, n), rng.lognormal(0, 0.5, n)]
    m = X @ [2.0, 1, 3] + 1
    return lin(X, [2.0, 1, 3], 1, m * (np.exp(0.45 * rng.normal(size=n) - 0.45 ** 2 / 2) - 1))


def hinge(rng, n):
    x = rng.uniform(0, 10, n)
    return x[:, None], 1 + 2 * np.minimum(x, 6) - 1.0 * np.maximum(x - 6, 0) + 0.7 * rng.normal(size=n)


P50 = np.geomspace(0.02, 0.5, 50)
B50 = fixed(50).normal(size=50) * 2


def basket(rng, n):
    return lin((rng.random((n, 50)) < P50).astype(float), B50, 4, 3 * (rng.exponential(1, n) - 1))


def yesno(rng, n):
    X = np.c_[toep(rng, n, 5, 0.4), rng.poisson(2, n), rng.random((n, 2)) < 0.3]
    return X, rng.random(n) < cdf(X @ [.4, -.3, .2, .2, 0, .15, .5, -.4] - 0.4)


def species(rng, n):
    k = rng.integers(0, 4, n)
    C = np.array([[0, 0, 0, 0], [5, 1, 0, 2], [1, 6, 3, 0], [-4, 2, 5, 3.0]])
    X = C[k] + toep(rng, n, 4, 0.5)
    return X, X @ [1, .5, -1, .7] + np.array([0, 5, -4, 8])[k] + 0.6 * rng.normal(size=n)


def terrain(rng, n):
    k = rng.choice(6, n)
    P = CITY[k] + 1.2 * rng.normal(size=(n, 2))
    return P, 10 + 0.3 * P[:, 0] - 0.5 * P[:, 1] + 1.5 * np.sin(P[:, 0] / 2) + np.cos(P[:, 1] / 1.5) + 0.5 * rng.normal(size=n)


def enzyme(rng, n):
    X = np.c_[rng.uniform(0.1, 10, n), rng.uniform(0, 1, n), rng.normal(37, 1.5, n)]
    y = 10 * X[:, 0] / (2 + X[:, 0]) * (1 - 0.6 * X[:, 1]) - 0.15 * (X[:, 2] - 37) ** 2 + 0.15 * rng.normal(size=n)
    return X, y


# laws of streams: x differs by batch

SITES = tuple([200] * 24)


def sitelaw(sizes, seed, p=5, spread=1.5, noise='normal', effect=0.0, bend=0.0):
    g = fixed(seed)
    k = len(sizes)
    M, S, b = g.normal(size=(k, p)) * spread, g.uniform(0.6, 1.8, (k, p)), g.normal(size=p) * 1.5
    A = g.normal(size=k) * effect

    def draw(rng, n):
        j = bid(n, sizes)
        X = M[j] + S[j] * toep(rng, n, p, 0.4)
        e = {'normal': lambda: rng.normal(size=n), 'gamma': lambda: rng.gamma(2, 1, n) - 2,
             'uniform': lambda: rng.uniform(-1.7, 1.7, n), 't': lambda: rng.standard_t(5, n)}[noise]()
        if bend:
            return X, X @ b + bend * (X[:, 0] ** 2 - 1) + e + A[j]
        return lin(X, b, 3, e + A[j])
    return draw


def weeks(rng, n):
    t = np.arange(n)
    w = 2 * np.pi * t / n
    amp = 1 + 0.6 * np.sin(w)
    X = np.c_[10 * np.cos(w) + amp * 3 * ar1(rng, n, 0.8), amp * rng.gamma(2, 2, n), np.sin(2 * np.pi * t / 24),
              np.cos(2 * np.pi * t / 24), (t // 24) % 7 >= 5, rng.beta(2, 2, n), rng.poisson(4, n), toep(rng, n, 1, 0)]
    return lin(X, [-1.2, 0.8, 5, 3, -6, 8, .7, 1.5], 50, 2 * ar1(rng, n, 0.7))


GROW = tuple(int(v) for v in np.linspace(100, 1500, 20))


def growth(rng, n):
    t = np.arange(n) / n
    X = np.c_[np.exp(2 * t) * rng.gamma(5, 1, n), rng.poisson(3 + 10 * t), rng.normal(size=n) * (1 + t), rng.random(n) < t]
    return lin(X, [1.5, 2, -3, 4], 20, (1 + 1.5 * t) * rng.normal(size=n))


def smallgamma(rng, n):
    X = np.c_[rng.exponential(1, n), rng.normal(size=n), rng.integers(0, 3, n), rng.uniform(0, 2, n)]
    return lin(X, [3, 2.5, 2, -3.5], 5, 0.7 * (rng.gamma(2, 1, n) - 2))


def trendbend(rng, n):
    t = np.arange(n) / n
    X = np.c_[4 * t + rng.normal(size=n), rng.gamma(3, 1, n), rng.normal(size=n)]
    return X, 2 * X[:, 0] + 0.12 * X[:, 0] ** 2 - X[:, 1] + 1.5 * X[:, 2] + rng.normal(size=n)


SHOPS = tuple(int(v) for v in np.clip(np.exp(fixed(9).normal(6, 1, 15)), 60, 3000))


def shoplaw(sizes, seed):
    g = fixed(seed)
    lev = np.exp(g.normal(size=len(sizes)) * 0.5)

    def draw(rng, n):
        L = lev[bid(n, sizes)]
        X = np.c_[rng.poisson(6 * L), rng.poisson(2 * L) * (rng.random(n) < 0.6), rng.gamma(2, 3, n), rng.random(n) < 0.3,
                  rng.integers(1, 8, n)]
        m = X @ [2.0, 3, 1, 4, 0.5] + 5
        return lin(X, [2.0, 3, 1, 4, 0.5], 5, rng.poisson(m) - m)
    return draw


# ------------------------------------------------------------------ regression, honest

REG('d_r_h_01', insurance, 1338)
REG('d_r_h_02', threeclass, 900)
REG('d_r_h_03', zicount, 2500)
REG('d_r_h_04', tobit, 1200)
REG('d_r_h_05', heaped, 700)
REG('d_r_h_06', heavycols, 600)
REG('d_r_h_07', collinear, 400)
REG('d_r_h_08', rarelevels, 3000)
REG('d_r_h_09', levers, 500)
REG('d_r_h_10', energy, 8760)
REG('d_r_h_11', fan, 1500)
REG('d_r_h_12', hinge, 120)
REG('d_r_h_13', basket, 2000)
REG('d_r_h_14', yesno, 4000)
REG('d_r_h_15', species, 600)
REG('d_r_h_16', terrain, 20000)
REG('d_r_h_17', enzyme, 350)
REG('d_r_h_s1', sitelaw(SITES, 11), sizes=SITES)
REG('d_r_h_s2', weeks, sizes=tuple([168] * 52))
REG('d_r_h_s3', growth, sizes=GROW)
REG('d_r_h_s4', smallgamma, sizes=tuple([60] * 60))
REG('d_r_h_s5', trendbend, sizes=tuple([400] * 30))
REG('d_r_h_s6', shoplaw(SHOPS, 12), sizes=SHOPS)
S40 = tuple([150] * 40)
REG('d_r_h_s7', sitelaw(S40, 13, 6, 1.0, 't', 0.7), sizes=S40)
REG('d_r_h_s8', threeclass, sizes=tuple([500] * 16))


# ------------------------------------------------------------------ regression faults (k in noise spreads)

def shift(k, jitter=0.0):
    def f(rng, X, y, c):
        s = rfit(c)[2]
        return X, y + s * (k + jitter * rng.normal(size=len(y)))
    return f


def yscale(f_, off=0.0):
    return lambda rng, X, y, c: (X, y * f_ + off)


def decimal(rng, X, y, c):
    return X, y * np.where(rng.random(len(y)) < 0.7, 10.0, 0.1)


def stuck_y(k):
    def f(rng, X, y, c):
        s = rfit(c)[2]
        return X, np.full(len(y), np.median(c.y) + k * s) + 0.01 * s * rng.normal(size=len(y))
    return f


def xcode(j, v):
    def f(rng, X, y, c):
        X[:, j] = v
        return X, y
    return f


def lever(k, ky, spread=0.5, seed=1):
    """Cluster k spreads away in x along a fixed direction, ky noise spreads off the line."""
    def f(rng, X, y, c):
        b, a, s, m, sx = rfit(c)
        u = fixed(seed).normal(size=len(m))
        u /= np.linalg.norm(u)
        X = m + sx * (k * u + spread * rng.normal(size=X.shape))
        return X, X @ b + a + s * (ky + rng.normal(size=len(y)))
    return f


def regime(k, off=0.0, noise=1.0, seed=2):
    """Second line: its slopes differ so that the fits differ by k noise spreads (root mean square)."""
    def f(rng, X, y, c):
        b, a, s, m, sx = rfit(c)
        u = fixed(seed).normal(size=len(m)) / sx
        Z = (c.X[:: max(1, len(c.X) // 1500)] - m) @ u
        u = u * k * s / Z.std()
        return X, X @ b + a + (X - m) @ u + off * s + noise * s * rng.normal(size=len(y))
    return f


def swapcols(i, j):
    def f(rng, X, y, c):
        X[:, [i, j]] = X[:, [j, i]]
        return X, y
    return f


def xscale(f_, *cols):
    def f(rng, X, y, c):
        X[:, list(cols)] *= f_
        return X, y
    return f


def shuffle(rng, X, y, c):
    return X, c.y[rng.integers(0, len(c.y), len(y))]


def mirror(rng, X, y, c):
    return X, 2 * c.y.mean() - y


def cells(k, m=1, alsoy=False):
    """m cells in each row move by k spreads of their column (either sign)."""
    def f(rng, X, y, c):
        sx = c.X[:2000].std(0)
        j = rng.random(X.shape).argsort(1)[:, :m]
        i = np.arange(len(X))[:, None]
        X[i, j] += rng.choice([-1.0, 1.0], j.shape) * k * rng.uniform(0.7, 1.5, j.shape) * sx[j]
        if alsoy:
            y = y + rfit(c)[2] * k * rng.choice([-1, 1], len(y)) * (rng.random(len(y)) < 0.3)
        return X, y
    return f


def saturate(q):
    return lambda rng, X, y, c: (X, np.minimum(y, np.quantile(c.y, q)))


def wider(k):
    def f(rng, X, y, c):
        b, a, s, _, _ = rfit(c)
        return X, X @ b + a + k * s * rng.normal(size=len(y))
    return f


def drift(k):
    """Grows along the stretch of bad rows up to k spreads."""
    def f(rng, X, y, c):
        t = (c.i - c.i.min()) / max(1, c.i.max() - c.i.min())
        return X, y + rfit(c)[2] * k * (0.25 + 0.75 * t)
    return f


def copies(k, jit=0.0, seed=3):
    """All rows copies of a single one whose target is k spreads off."""
    def f(rng, X, y, c):
        b, a, s, m, sx = rfit(c)
        x = c.X[fixed(seed).integers(0, min(len(c.X), 100))]
        X = np.tile(x, (len(y), 1)) + jit * sx * rng.normal(size=X.shape)
        return X, np.full(len(y), x @ b + a + k * s)
    return f


def straight(rng, X, y, c):
    X[:] = rng.integers(1, 6, len(y))[:, None]
    return X, rng.uniform(c.y.min() + 12, c.y.max() + 25, len(y))


def both(f1, f2, share):
    def f(rng, X, y, c):
        g = rng.random(len(y)) < share
        if g.any():
            X[g], y[g] = f1(rng, X[g].copy(), y[g].copy(), sub_c(c, g))
        if (~g).any():
            X[~g], y[~g] = f2(rng, X[~g].copy(), y[~g].copy(), sub_c(c, ~g))
        return X, y
    return f


def sub_c(c, g):
    d = type(c)(**vars(c))
    d.i, d.t = c.i[g], c.t[g]
    return d


# ------------------------------------------------------------------ regression, dirty tables

REG('d_r_d_01', house, 1500, yscale(1000.0), 0.12)
REG('d_r_d_02', house, 900, regime(14, 12), 0.35)
REG('d_r_d_03', energy, 8760, stuck_y(11), 0.25, 'runs')
REG('d_r_d_04', plant(12, 21), 800, shift(6), 0.30)
REG('d_r_d_05', plant(9, 22, 8, 0.85), 2400, lever(12, -90), 0.20, 'end')
REG('d_r_d_06', wages, 3000, xcode(0, 999.0), 0.05)
REG('d_r_d_07', wages, 1800, shift(12.5, 0.3), 0.40)
REG('d_r_d_08', tickets, 1000, swapcols(0, 4), 0.25)
REG('d_r_d_09', blend, 600, xscale(100.0, 0, 1, 2, 3, 4), 0.30)
REG('d_r_d_10', spectrum, 1500, cells(14), 0.35)
REG('d_r_d_11', anova, 2000, yscale(-1.0), 0.20)
REG('d_r_d_12', calibration, 150, saturate(0.12), 0.30)
REG('d_r_d_13', skewed2, 500, decimal, 0.15)
REG('d_r_d_14', cubic, 400, regime(4, 7, 0.0), 0.30)
REG('d_r_d_15', lags, 5000, cells(5, 2, True), 0.12, 'runs')
REG('d_r_d_16', flat20, 2000, shuffle, 0.40)
REG('d_r_d_17', wide60, 3000, regime(10, 4), 0.42)
REG('d_r_d_18', survey, 1000, straight, 0.20)
REG('d_r_d_19', cities, 2200, swapcols(0, 1), 0.15)
REG('d_r_d_20', heaped, 650, copies(7), 0.25)
REG('d_r_d_21', tobit, 1600, shift(8, 0.5), 0.10)
REG('d_r_d_22', climate, 2190, drift(22), 0.30, 'end')
REG('d_r_d_23', copula, 900, wider(13), 0.30)
REG('d_r_d_24', units, 700, xscale(1 / 2.54, 0), 0.38)
REG('d_r_d_25', words, 2500, both(yscale(0.0, -999.0), shift(6), 0.35), 0.24)
REG('d_r_d_26', bills, 1100, yscale(-1.0), 0.12, 'runs')
REG('d_r_d_27', queue, 1300, shift(-6), 0.15)
REG('d_r_d_28', wavy, 6000, regime(1.2, 7.5, 0.8), 0.20)
REG('d_r_d_29', levers, 800, lever(30, 60, 1.0, 5), 0.10)
REG('d_r_d_30', plant(3, 23, 10, 0.3), 120, lever(3, 12, 0.3, 6), 0.30)


# ------------------------------------------------------------------ regression, dirty streams

EQ = lambda k, m: tuple([m] * k)  # noqa: E731
UNEQ = lambda seed, k, lo, hi: tuple(int(v) for v in np.exp(fixed(seed).uniform(np.log(lo), np.log(hi), k)))  # noqa: E731

REG('d_r_d_s01', plant(8, 31, 6), sizes=EQ(40, 250), hurt=mirror, batches=0.40)


def permcols(rng, X, y, c):
    return X[:, np.random.default_rng(17).permutation(X.shape[1])], y


Z2 = UNEQ(1, 30, 120, 900)
REG('d_r_d_s02', sitelaw(Z2, 32, 6, 1.0, 'uniform'), sizes=Z2, hurt=permcols, batches=0.30)
REG('d_r_d_s03', weeks, sizes=EQ(52, 168), hurt=shift(5), batches=0.43)
REG('d_r_d_s04', growth, sizes=GROW, hurt=yscale(1000.0), batches=0.20, stray=0.05, stray_hurt=decimal)
REG('d_r_d_s05', smallgamma, sizes=EQ(50, 60), hurt=shuffle, batches=0.35)
REG('d_r_d_s06', plant(5, 33, 8, 0.5), sizes=UNEQ(2, 25, 200, 1500), hurt=lever(15, 100, 1.2, 8), batches=0.40, order='start')
REG('d_r_d_s07', copula, sizes=EQ(20, 500), hurt=stuck_y(15), batches=0.10, stray=0.25, stray_hurt=cells(40))
REG('d_r_d_s08', queue, sizes=EQ(30, 400), hurt=regime(4, 3, 1.0, 12), batches=0.43)


def batchdrift(k):
    def f(rng, X, y, c):
        return X, y + rfit(c)[2] * (4 + k * max(0.0, float(c.t.mean()) - 0.65) / 0.35)
    return f


REG('d_r_d_s09', shoplaw(EQ(30, 300), 34), sizes=EQ(30, 300), hurt=batchdrift(14), batches=0.33, order='end')
REG('d_r_d_s10', tickets, sizes=UNEQ(3, 36, 80, 600), hurt=wider(60), batches=0.40)


def lagjoin(rng, X, y, c):
    return X, np.roll(y, 1)


REG('d_r_d_s11', house, sizes=EQ(24, 350), hurt=lagjoin, batches=0.33)


def froze(j, k):
    def f(rng, X, y, c):
        _, _, _, m, s = rfit(c)
        X[:, j] = m[j] + k * s[j]
        return X, y
    return f


REG('d_r_d_s12', flat20, sizes=EQ(16, 1000), hurt=froze(0, 2.5), batches=0.31)
REG('d_r_d_s13', survey, sizes=UNEQ(4, 28, 150, 800), hurt=regime(6, -9, 1.0, 13), batches=0.25, stray=0.12,
    stray_hurt=shift(25, 2))


def flipcol(j):
    def f(rng, X, y, c):
        X[:, j] = 2 * c.X[:, j].mean() - X[:, j]
        return X, y
    return f


REG('d_r_d_s14', wavy, sizes=EQ(12, 2500), hurt=flipcol(1), batches=0.42)
REG('d_r_d_s15', skewed2, sizes=EQ(20, 220), hurt=saturate(0.25), batches=0.40, stray=0.03, stray_hurt=yscale(100.0))


# ------------------------------------------------------------------ PCA laws

def factors(p, d, sds, noise, seed, score='normal', smooth=False, mean=0.0, nz='normal'):
    """Orthonormal loadings, independent scores of one variance, isotropic noise: truth in closed form."""
    V, sds = basis(seed, p, d, smooth), np.asarray(sds, float)
    m = mean + fixed(seed + 1000).normal(size=p)

    def one(rng, n):
        if score == 'normal':
            return rng.normal(size=(n, d))
        if score == 'exp':
            return rng.exponential(1, (n, d)) - 1
        if score == 'uniform':
            return rng.uniform(-1.732, 1.732, (n, d))
        if score == 'laplace':
            return rng.laplace(size=(n, d)) / 1.414
        if score == 'gamma':
            return (rng.gamma(3, 1, (n, d)) - 3) / 1.732
        if score == 'ar':
            return np.stack([ar1(rng, n, 0.8) for _ in range(d)], 1)
        raise ValueError(score)

    def draw(rng, n):
        E = rng.normal(size=(n, p)) if nz == 'normal' else rng.uniform(-1.732, 1.732, (n, p))
        return m + (one(rng, n) * sds) @ V.T + noise * E, V
    return draw


def elliptic(p, d, sds, noise, seed, df):
    V = basis(seed, p, d)

    def draw(rng, n):
        Z = (rng.normal(size=(n, d)) * sds) @ V.T + noise * rng.normal(size=(n, p))
        return Z / np.sqrt(rng.chisquare(df, n) / df)[:, None], V
    return draw


def morph(rng, n):
    s = np.exp(0.35 * rng.normal(size=(n, 1)))
    return s * [20, 14, 8, 5, 12] * np.exp(0.07 * rng.normal(size=(n, 5)))


C3 = fixed(71).normal(size=(3, 8)) * 4


def clusters3(rng, n):
    return C3[rng.choice(3, n, p=[.36, .34, .30])] + rng.normal(size=(n, 8))


ACT = np.abs(basis(72, 16, 3)) ** 1.5


def activity(rng, n):
    A = rng.gamma(3, 1, (n, 3)) * (rng.random((n, 3)) < 0.5) * [5, 4, 3.2]
    return A @ ACT.T + 0.6 * rng.normal(size=(n, 16))


def horseshoe(rng, n):
    t = rng.uniform(-2, 2, n)
    F = np.c_[4 * t, 2.2 * (t ** 2 - 4 / 3)]
    return F @ basis(73, 6, 2).T + 0.5 * rng.normal(size=(n, 6))


LP = fixed(74).normal(size=(20, 2)) * [0.30, 0.18]


def counts(rng, n):
    return rng.poisson(np.exp(2.2 + rng.normal(size=(n, 2)) @ LP.T)).astype(float)


def composition(rng, n):
    F = rng.normal(size=(n, 2)) @ (basis(75, 7, 2) * [1.6, 0.9]).T
    E = np.exp(F + 0.15 * rng.normal(size=(n, 7)) + np.linspace(0, 1, 7))
    return E / E.sum(1, keepdims=True)


def fanpca(rng, n):
    s = rng.gamma(2, 2, n)
    V = basis(76, 12, 1)
    return s[:, None] * V.T * 2.5 + (0.3 + 0.15 * s)[:, None] * rng.normal(size=(n, 12)), V


def items(rng, n):
    th = rng.normal(size=(n, 1))
    return (rng.random((n, 20)) < cdf(1.6 * (th - np.linspace(-1.2, 1.2, 20)))).astype(float)


BETA = fixed(77).uniform(0.5, 1.5, 30)


def market(rng, n):
    vol = np.exp(0.5 * ar1(rng, n, 0.97))[:, None]
    return vol * (1.2 * rng.normal(size=(n, 1)) * BETA + rng.standard_t(5, (n, 30)) * 0.8)


def mixedcols(rng, n):
    k = rng.choice(4, n, p=[.6, .3, .08, .02])
    D = (k[:, None] == np.arange(1, 4)) * 2.0
    f = rng.normal(size=(n, 2))
    C = f @ np.array([[3, 2, 2.5, 1, 0], [0, 1.5, -1, 2, 1.5]]) + 0.6 * rng.normal(size=(n, 5))
    return np.c_[D, C, rng.poisson(0.3, n)]


HR = np.arange(24) * 2 * np.pi / 24


def ring(rng, n):
    ph = rng.vonmises(0.5, 0.7, n)[:, None]
    return 10 + 3 * np.cos(HR - ph) * rng.gamma(20, 0.05, (n, 1)) + 0.7 * rng.normal(size=(n, 24))


def likert(rng, n):
    f = rng.normal(size=(n, 2)) * [1.0, 0.8]
    L = np.zeros((2, 12))
    L[0, :7], L[1, 7:] = 1, 1
    return np.clip(np.round(3 + f @ L + 0.6 * rng.normal(size=(n, 12))), 1, 5)


def accel(rng, n):
    s = 3 * ar1(rng, n, 0.5)
    return np.c_[0.9 * s, 0.4 * s, 9.8 + 0.15 * s] + 0.5 * rng.normal(size=(n, 3))


VH = basis(78, 40, 4)
SH = fixed(79).uniform(0.5, 1.1, 40)


def hetcols(rng, n):
    return (rng.normal(size=(n, 4)) * [7, 5.5, 4.5, 3.6]) @ VH.T + SH * rng.normal(size=(n, 40))


def arcs(rng, n):
    t = rng.normal(size=n)
    F = np.c_[5 * t, 3 * rng.uniform(-1.7, 1.7, n)]
    V = basis(80, 9, 3)
    return F @ V[:, :2].T + np.outer(0.25 * (t ** 2 - 1), V[:, 2]) + 0.6 * rng.normal(size=(n, 9))


def traffic(rng, n):
    """Four roads in and out: gamma flows, two trips."""
    a, b = rng.gamma(6, 12, n), rng.gamma(3, 8, n)
    M = np.array([[1, 0], [.8, .2], [.3, 1], [.1, .9], [.6, .6], [.9, 0], [0.2, .7]])
    return np.c_[a, b] @ M.T + 4 * rng.uniform(-1.7, 1.7, (n, 7))


def coords(rng, n):
    t = rng.uniform(-1, 1, n)
    return np.c_[12 * t + 20, 5 * t + 52, 3 * t + 100, -2 * t] + 0.4 * rng.normal(size=(n, 4))


def fiveclass(rng, n):
    C = fixed(82).normal(size=(5, 20)) * 3
    return C[rng.integers(0, 5, n)] + rng.normal(size=(n, 20)) * np.linspace(0.5, 1.2, 20)


def sitepca(sizes, seed, p, d, sds, noise, spread=1.0, out=0.0):
    """Batch means move inside the plane (and by `out` in one more direction, less than the plane's spreads)."""
    g = fixed(seed)
    k = len(sizes)
    V = np.linalg.qr(g.normal(size=(p, d + 1)))[0]
    M, S = g.normal(size=(k, d)) * spread, g.uniform(0.6, 1.6, (k, d))
    O = g.uniform(-1.7, 1.7, k) * out

    def draw(rng, n):
        j = bid(n, sizes)
        F = (M[j] + S[j] * rng.normal(size=(n, d))) * sds
        return F @ V[:, :d].T + np.outer(O[j], V[:, d]) + noise * rng.normal(size=(n, p))
    return draw


def volstream(sizes, seed, p, d):
    V = basis(seed, p, d)

    def draw(rng, n):
        j = bid(n, sizes) / len(sizes)
        v = 1 + 3 * np.abs(np.sin(3 * np.pi * j))
        return v[:, None] * ((rng.standard_t(8, (n, d)) * [4, 3, 2.2][:d]) @ V.T + 0.6 * rng.normal(size=(n, p))), V
    return draw


def yearcycle(rng, n):
    w = 2 * np.pi * np.arange(n) / n
    V = basis(83, 8, 3)
    M = np.c_[5 * np.cos(w), 3 * np.sin(w)]
    return M @ V[:, :2].T + 1.5 * rng.normal(size=(n, 1)) * V[:, 2] + 0.6 * rng.normal(size=(n, 8))


# ------------------------------------------------------------------ PCA, honest

PCA('d_p_h_01', morph, 1, 250)
PCA('d_p_h_02', clusters3, 2, 900)
PCA('d_p_h_03', activity, 3, 2000)
PCA('d_p_h_04', elliptic(10, 2, [5, 3.5], 1.0, 301, 4), 2, 3000)
PCA('d_p_h_05', horseshoe, 2, 800)
PCA('d_p_h_06', counts, 2, 3000)
PCA('d_p_h_07', composition, 2, 500)
PCA('d_p_h_08', factors(80, 3, [6, 4.5, 3.2], 0.25, 302, 'gamma', True), 3, 400)
PCA('d_p_h_09', fanpca, 1, 1000)
PCA('d_p_h_10', items, 1, 4000)
PCA('d_p_h_11', market, 1, 2500)
PCA('d_p_h_12', mixedcols, 2, 1200)
PCA('d_p_h_13', ring, 2, 730)
PCA('d_p_h_s1', sitepca(EQ(24, 300), 311, 10, 2, [4, 2.8], 0.8, 1.2), 2, sizes=EQ(24, 300))


def growpca(rng, n):
    t = np.arange(n) / n
    s = np.exp(1.5 * t) * rng.gamma(4, 0.5, n)
    return s[:, None] * np.array([3, 2, 2, 1, .5, .2]) + (0.5 + t)[:, None] * rng.normal(size=(n, 6))


PCA('d_p_h_s2', growpca, 1, sizes=tuple(int(v) for v in np.geomspace(80, 2000, 18)))
PCA('d_p_h_s3', volstream(EQ(40, 150), 312, 15, 3), 3, sizes=EQ(40, 150))
PCA('d_p_h_s4', factors(5, 1, [3], 0.8, 313, 'exp'), 1, sizes=EQ(50, 60))
PCA('d_p_h_s5', yearcycle, 2, sizes=EQ(30, 400))
PCA('d_p_h_s6', likert, 2, sizes=UNEQ(5, 22, 80, 900))
PCA('d_p_h_s7', fiveclass, 4, sizes=EQ(12, 800))


# ------------------------------------------------------------------ PCA faults (k in noise spreads)

def clump(d, k, a=1.0, spread=0.6, seed=1):
    """Cluster k noise spreads out of the plane, a score spreads along the first directions."""
    def f(rng, X, c):
        m, sd, V, W, s = pfit(c, d)
        g = fixed(seed)
        u = W @ g.normal(size=W.shape[1])
        u /= np.linalg.norm(u)
        at = m + V @ (a * sd[:d]) * (1 if g.random() < 2 else 0) + k * s * u
        return at + s * spread * rng.normal(size=X.shape)
    return f


def pcells(k, m=1, sign=0):
    """m cells of each row move by k spreads of their column."""
    def f(rng, X, c):
        sx = c.X[:2000].std(0)
        j = rng.random(X.shape).argsort(1)[:, :m]
        i = np.arange(len(X))[:, None]
        sg = rng.choice([-1.0, 1.0], j.shape) if sign == 0 else sign
        X[i, j] += sg * k * rng.uniform(0.7, 1.5, j.shape) * sx[j]
        return X
    return f


def pcode(v, cols):
    def f(rng, X, c):
        X[:, cols] = v
        return X
    return f


def pscale(f_, cols=None):
    def f(rng, X, c):
        if cols is None:
            return X * f_
        X[:, cols] *= f_
        return X
    return f


def along(d, k, rank=1, seed=4, noise=1.0, keep=True, off=0.0):
    """Extra spread of k noise spreads along `rank` fixed directions out of the plane (keep: scores stay)."""
    def f(rng, X, c):
        m, sd, V, W, s = pfit(c, d)
        U = np.linalg.qr(W @ fixed(seed).normal(size=(W.shape[1], rank)))[0]
        if keep:
            return X + (k * s * (rng.normal(size=(len(X), rank)) + off)) @ U.T
        return m + (k * s * (rng.normal(size=(len(X), rank)) + off)) @ U.T + noise * s * rng.normal(size=X.shape)
    return f


def tilt(d, k, seed=6, off=0.0):
    """Another plane: the first score also drives a foreign direction, k noise spreads for one score spread."""
    def f(rng, X, c):
        m, sd, V, W, s = pfit(c, d)
        u = W @ fixed(seed).normal(size=W.shape[1])
        u /= np.linalg.norm(u)
        return X + np.outer(k * s * ((X - m) @ V[:, 0] / sd[0] + off), u)
    return f


def permute(seed):
    return lambda rng, X, c: X[:, fixed(seed).permutation(X.shape[1])]


def anyperm(rng, X, c):
    return X[:, rng.permutation(X.shape[1])]


def rollcols(k):
    return lambda rng, X, c: np.roll(X, k, 1)


def dupe(d, k, a=1.5, seed=7):
    return clump(d, k, a, 1e-4, seed)


def pboth(f1, f2, share):
    def f(rng, X, c):
        g = rng.random(len(X)) < share
        if g.any():
            X[g] = f1(rng, X[g].copy(), sub_c(c, g))
        if (~g).any():
            X[~g] = f2(rng, X[~g].copy(), sub_c(c, ~g))
        return X
    return f


def pdrift(d, k, seed=8):
    def f(rng, X, c):
        m, sd, V, W, s = pfit(c, d)
        u = W @ fixed(seed).normal(size=W.shape[1])
        u = u / np.linalg.norm(u)
        t = (c.i - c.i.min()) / max(1, c.i.max() - c.i.min())
        return X + np.outer(s * k * (0.3 + 0.7 * t), u)
    return f


def stuckcols(k, cols):
    def f(rng, X, c):
        X[:, cols] = c.X.mean(0)[cols] + k * c.X.std(0)[cols]
        return X
    return f


def plane(d, k, seed=9):
    """Forged rows exactly on a foreign plane of two dimensions."""
    def f(rng, X, c):
        m, sd, V, W, s = pfit(c, d)
        g = fixed(seed)
        U = np.linalg.qr(W @ g.normal(size=(W.shape[1], 2)) + 0.5 * V @ g.normal(size=(d, 2)))[0]
        return m + (k * s * rng.uniform(-1.7, 1.7, (len(X), 2))) @ U.T
    return f


# ------------------------------------------------------------------ PCA, dirty tables

PCA('d_p_d_01', factors(10, 2, [4, 3], 1.0, 401), 2, 1000, clump(2, 6.5, 1.0), 0.25)
PCA('d_p_d_02', factors(10, 2, [4, 2.5], 0.8, 402, mean=50), 2, 600, pcode(-999.0, [3, 6]), 0.04)
PCA('d_p_d_03', factors(8, 2, [5, 3], 0.7, 403, 'exp', mean=20), 2, 1500, pscale(10.0), 0.10)
PCA('d_p_d_04', elliptic(15, 3, [5, 4, 3], 0.8, 404, 7), 3, 2500, along(3, 9, 2, 11), 0.30)
PCA('d_p_d_05', factors(80, 3, [6, 4.5, 3.2], 0.3, 405, 'gamma', True), 3, 700, clump(3, 14, 0.7, 1.0, 12), 0.20)
PCA('d_p_d_06', factors(64, 2, [8, 5], 0.5, 406, 'gamma', True), 2, 900, pcells(30), 0.30)
PCA('d_p_d_07', likert, 2, 1400, pcode(9.0, [1, 8, 10]), 0.15)
PCA('d_p_d_08', factors(60, 5, [7, 6, 5, 4.5, 4], 0.8, 408), 5, 2000, plane(5, 12), 0.35)
PCA('d_p_d_09', accel, 1, 3000, lambda rng, X, c: X[:, [2, 0, 1]], 0.30, 'middle')
PCA('d_p_d_10', ring, 2, 1095, pscale(3.6, [5, 6, 7, 8]), 0.22)
PCA('d_p_d_11', factors(12, 2, [5, 3.5], 0.9, 411, 'laplace'), 2, 800, dupe(2, 12), 0.20)
PCA('d_p_d_12', hetcols, 4, 2200, pcells(9, 2), 0.35)
PCA('d_p_d_13', morph, 1, 500, pscale(1 / 2.54, [0, 3]), 0.20)
PCA('d_p_d_14', factors(6, 1, [4], 0.6, 414, 'uniform', nz='uniform'), 1, 450, tilt(1, 7), 0.40)
PCA('d_p_d_15', counts, 2, 1800, lambda rng, X, c: np.where(np.arange(20) < 6, X + rng.poisson(25, X.shape), X), 0.20, 'runs')
PCA('d_p_d_16', composition, 2, 800, pscale(100.0), 0.10)
PCA('d_p_d_17', ring, 2, 600, stuckcols(4, [15, 16]), 0.30)
PCA('d_p_d_18', market, 1, 2000, lambda rng, X, c: X * np.where(np.arange(30) < 15, -6.0, 6.0), 0.25)
PCA('d_p_d_19', factors(50, 2, [6, 4.5], 0.5, 419), 2, 150, clump(2, 60, 3, 2.0, 13), 0.15)
PCA('d_p_d_20', coords, 1, 350, lambda rng, X, c: X[:, [1, 0, 2, 3]], 0.25)
PCA('d_p_d_21', factors(12, 3, [4, 3.2, 2.6], 0.8, 421, 'gamma'), 3, 20000, clump(3, 6.5, 1.0, 1.0, 14), 0.10)
PCA('d_p_d_22', traffic, 2, 1200, pboth(pscale(60.0, [3]), pcells(6), 0.25), 0.20)
PCA('d_p_d_23', arcs, 2, 1600, pdrift(2, 16), 0.30, 'end')


# ------------------------------------------------------------------ PCA, dirty streams

PCA('d_p_d_s01', factors(8, 2, [3.5, 2.5], 0.8, 431, 'laplace'), 2, sizes=EQ(30, 250), hurt=lambda rng, X, c: X[:, ::-1],
    batches=0.40)
PCA('d_p_d_s02', factors(5, 1, [3], 0.8, 432, 'exp'), 1, sizes=EQ(48, 60), hurt=along(1, 5, 1, 15, 1.0, False, 0.8), batches=0.35)
PCA('d_p_d_s03', factors(14, 3, [5, 4, 3.2], 0.9, 433), 3, sizes=EQ(28, 400), hurt=tilt(3, 4.5), batches=0.43)
PCA('d_p_d_s04', sitepca(EQ(24, 300), 434, 9, 2, [4, 3], 0.8, 0.8), 2, sizes=EQ(24, 300), hurt=clump(2, 9, 1.0, 1.0, 16),
    batches=0.30)
PCA('d_p_d_s05', morph, 1, sizes=UNEQ(6, 20, 150, 1200), hurt=pscale(25.4, [2]), batches=0.25, stray=0.05,
    stray_hurt=pscale(0.1))
PCA('d_p_d_s06', traffic, 2, sizes=EQ(26, 200), hurt=along(2, 14, 1, 17), batches=0.38, order='start')
PCA('d_p_d_s07', factors(20, 3, [5, 4, 3], 0.7, 437, 'uniform'), 3, sizes=EQ(16, 700), hurt=anyperm, batches=0.40)
PCA('d_p_d_s08', growpca, 1, sizes=tuple(int(v) for v in np.geomspace(90, 1500, 16)), hurt=pcode(0.0, [0, 1]), batches=0.12,
    stray=0.20, stray_hurt=pcode(-99.0, [4]))
PCA('d_p_d_s09', factors(60, 2, [6, 4.5], 0.4, 439, 'gamma', True), 2, sizes=EQ(18, 300), hurt=rollcols(6), batches=0.33)


def ownline(d, k):
    """Each batch noisy along a direction of its own."""
    def f(rng, X, c):
        m, sd, V, W, s = pfit(c, d)
        u = W @ rng.normal(size=W.shape[1])
        u /= np.linalg.norm(u)
        return X + np.outer(k * s * rng.standard_t(5, len(X)), u)
    return f


PCA('d_p_d_s10', factors(10, 1, [3.5], 0.9, 440, 'ar'), 1, sizes=UNEQ(7, 25, 100, 700), hurt=ownline(1, 10), batches=0.40)
PCA('d_p_d_s11', activity, 3, sizes=EQ(12, 2000), hurt=plane(3, 15, 18), batches=0.42, order='start')
PCA('d_p_d_s12', likert, 2, sizes=EQ(20, 300), hurt=lambda rng, X, c: np.where(np.arange(12) % 2 == 0, 6 - X, X), batches=0.35)

KINDS = BOOK.KINDS

if __name__ == "__main__":
    check(KINDS)
