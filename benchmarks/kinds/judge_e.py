"""Exam E: 100 kinds, written without sight of the library."""
import numpy as np

from judge_tools import Book, check

B = Book()
reg, pca = B.reg, B.pca
KINDS = B.KINDS


def tt(n):
    return (np.arange(n) + 0.5) / n


def blk(n, sizes):
    c = np.cumsum(sizes) / np.sum(sizes)
    return np.minimum(np.searchsorted(c, tt(n)), len(sizes) - 1)


def ar(rng, n, rho, k=80):
    e = rng.normal(size=n + k)
    return np.convolve(e, rho ** np.arange(k))[k:k + n] * np.sqrt(1 - rho ** 2)


def fixed(seed):
    return np.random.default_rng(seed)


def orth(seed, p, d):
    return np.linalg.qr(fixed(seed).normal(size=(p, d)))[0]


def varied(seed, nb, lo, hi):
    return tuple(int(v) for v in np.exp(fixed(seed).uniform(np.log(lo), np.log(hi), nb)))


cs = np.column_stack

# ============================================================ honest regression: tables (23)


def hospital(rng, n):
    age = np.clip(rng.normal(58, 18, n), 18, 98).round()
    diag = rng.poisson(2.2, n)
    emerg = rng.random(n) < 0.28
    days = np.ceil(rng.gamma(1.3, 3.2, n))
    y = np.exp(6.2 + 0.008 * age + 0.12 * diag + 0.4 * emerg + 0.45 * np.log(days) + rng.normal(0, 0.6, n))
    return cs([age, diag, emerg, days]), y.round(2)


reg('e_hr_hospital_cost', hospital, n=3000)


def tickets(rng, n):
    users = rng.lognormal(2.5, 0.7, n).round()
    ver = rng.integers(1, 6, n)
    load = rng.beta(2, 5, n)
    mu = 0.15 * users * np.exp(-0.2 * ver + 1.3 * load)
    return cs([users, ver, load]), rng.poisson(mu * rng.gamma(1.5, 1 / 1.5, n))


reg('e_hr_negbin_counts', tickets, n=1500)


def claims(rng, n):
    age = rng.uniform(18, 80, n).round()
    power = rng.choice([4, 5, 6, 7, 9, 12], n, p=[.2, .25, .25, .15, .1, .05])
    urban = rng.random(n) < 0.4
    bonus = np.clip(50 + rng.exponential(15, n), 50, 150).round()
    pr = 1 / (1 + np.exp(3.1 - 0.1 * power - 0.4 * urban - 0.02 * (bonus - 50)))
    y = np.where(rng.random(n) < pr, rng.gamma(2.0, 600, n) * (1 + 0.1 * power), 0)
    return cs([age, power, urban, bonus]), y.round()


reg('e_hr_claims_mostly_zero', claims, n=9000)


def spend(rng, n):
    inc = rng.lognormal(3.5, 0.5, n)
    kids = rng.binomial(4, 0.3, n)
    dist = rng.gamma(2, 3, n)
    y = -14 + 0.6 * inc + 5 * kids - 1.2 * dist + rng.normal(0, 12, n)
    return cs([inc, kids, dist]), np.clip(y, 0, 60)


reg('e_hr_tobit_two_sided', spend, n=900)


def heaped(rng, n):
    age = rng.uniform(20, 70, n)
    age = np.where(rng.random(n) < 0.4, 5 * np.round(age / 5), age.round())
    edu = rng.choice([8, 10, 12, 16, 18], n, p=[.1, .2, .4, .2, .1])
    hours = np.where(rng.random(n) < .6, 40, rng.integers(10, 60, n))
    w = np.exp(1.2 + 0.012 * age + 0.07 * edu + 0.012 * hours + rng.normal(0, .45, n)) * 100
    r = rng.random(n)
    w = np.where(r < .4, 500 * np.round(w / 500), np.where(r < .8, 100 * np.round(w / 100), w.round()))
    return cs([age, edu, hours]), w


reg('e_hr_heaped_income', heaped, n=2200)

_lev = np.array([.42, .2, .12, .08, .06, .04, .03, .02, .015, .009, .006])
_lev = _lev / _lev.sum()
_eff = np.array([0, 1, -2, 3, 0.5, -4, 8, -15, 22, 30, -40.])


def rare_levels(rng, n):
    k = rng.choice(11, n, p=_lev)
    D = (k[:, None] == np.arange(1, 11)).astype(float)
    x = rng.exponential(2, n)
    y = 5 + D @ _eff[1:] + 1.5 * x + rng.normal(0, 1.5, n)
    return cs([D, x]), y, np.concatenate([_eff[1:], [1.5, 5]])


reg('e_hr_rare_levels', rare_levels, n=3000)


def wage_inter(rng, n):
    ex = rng.gamma(2, 6, n)
    sex = (rng.random(n) < .5) * 1.
    uni = (rng.random(n) < .3) * 1.
    y = 10 + .3 * ex + .8 * ex * uni - .35 * ex * sex + 4 * uni * sex + rng.normal(0, 2, n)
    return cs([ex, sex, uni]), y


reg('e_hr_interactions', wage_inter, n=1800)


def kwh(rng, n):
    day = rng.integers(0, 365, n)
    temp = 11 - 11 * np.cos(2 * np.pi * day / 365) + rng.normal(0, 4, n)
    area = rng.lognormal(4.5, .4, n)
    y = 5 + .05 * area + .9 * np.maximum(15 - temp, 0) + 1.4 * np.maximum(temp - 23, 0) + rng.normal(0, 2, n)
    return cs([temp, area]), y


reg('e_hr_heating_cooling_kinks', kwh, n=2500)


def enzyme(rng, n):
    s = rng.lognormal(0, .7, n)
    return s[:, None], 20 * s / (s + .8) + rng.normal(0, .4, n)


reg('e_hr_saturation_small', enzyme, n=110)


def bikes(rng, n):
    h = rng.integers(0, 24, n)
    we = rng.random(n) < 2 / 7
    temp = rng.normal(14, 7, n)
    prof = np.where(we, 60 * np.exp(-(h - 14) ** 2 / 18), 90 * np.exp(-(h - 8) ** 2 / 2) + 100 * np.exp(-(h - 17.5) ** 2 / 4))
    mu = (4 + prof) * np.exp(.04 * (temp - 14))
    return cs([h, we, temp, rng.uniform(.3, 1, n)]), rng.poisson(mu)


reg('e_hr_rush_hours', bikes, n=20000)


def dose(rng, n):
    d = rng.uniform(0, 10, n)
    w = rng.normal(70, 12, n)
    y = np.where(d > 6.2 + .03 * (w - 70), 30, 3) + .1 * w + rng.normal(0, 1, n)
    return cs([d, w]), y


reg('e_hr_threshold_dose', dose, n=450)


def bmi(rng, n):
    b = 18 + rng.gamma(4, 2, n)
    a = rng.uniform(30, 85, n)
    sm = rng.random(n) < .25
    y = .15 * (b - 25) ** 2 + .004 * (a - 30) ** 2 + 3 * sm + rng.gamma(2, 1, n)
    return cs([b, a, sm]), y


reg('e_hr_u_shape', bmi, n=1200)


def fan(rng, n):
    sz = rng.lognormal(4.6, .5, n)
    rooms = np.round(sz / 28 + rng.normal(0, .7, n))
    old = rng.gamma(1.5, 25, n)
    y = 20 + 2.5 * sz + 8 * rooms - .4 * old + sz * .5 * rng.normal(size=n) * (1 + old / 60)
    return cs([sz, rooms, old]), y, [2.5, 8, -.4, 20]


reg('e_hr_house_fan', fan, n=1600)


def collin(rng, n):
    a = rng.normal(size=n)
    X = cs([a, a + .01 * rng.normal(size=n), a * .5 + .02 * rng.normal(size=n), rng.laplace(size=n)])
    b = np.array([1., 2, -1, .5])
    return X, X @ b + rng.laplace(size=n), np.append(b, 0)


reg('e_hr_collinear_laplace', collin, n=350)


def repair(rng, n):
    x = cs([rng.weibull(1.5, n) * 5, rng.poisson(3, n), rng.random(n) < .1])
    b = np.array([1.2, .8, 6])
    return x, x @ b + rng.lognormal(0, 1.1, n), np.append(b, np.exp(1.1 ** 2 / 2))


reg('e_hr_lognormal_noise', repair, n=1400)


def rating(rng, n):
    z = rng.normal(size=(n, 6))
    X = cs([z[:, :3], (z[:, 3:] > .6)])
    l = 4.1 + .9 * z[:, 0] - .5 * z[:, 1] + 1.2 * X[:, 3] - 1.5 * X[:, 4] + .9 * rng.normal(size=n)
    return X, np.clip(np.round(l), 1, 5)


reg('e_hr_ratings', rating, n=2000)


def soil(rng, n):
    D = rng.dirichlet([.6, 2, 4, 1.2, .3], n)
    X = np.round(D, 2)
    y = 40 * np.sqrt(D[:, 0]) - 12 * D[:, 2] + 25 * D[:, 4] + rng.normal(0, 1.5, n)
    return X, y


reg('e_hr_composition', soil, n=800)


def dupl(rng, n):
    m = max(n // 6, 5)
    w = rng.pareto(1.2, m) + .2
    k = np.sort(rng.choice(m, n, p=w / w.sum())) if n <= 5000 else np.sort(rng.choice(m, n))
    X = cs([rng.uniform(0, 10, m), rng.integers(0, 3, m), rng.gamma(2, 1, m)])
    y = X @ [1., -2, .5] + 1 + rng.normal(size=m) * 1.2
    return X[k], y[k], [1, -2, .5, 1]


reg('e_hr_duplicates', dupl, n=3000)


def lever(rng, n):
    X = rng.normal(size=(n, 5))
    f = rng.random(n) < .012
    X[f] = X[f] * 8 + rng.choice([-1, 1], (f.sum(), 1)) * rng.uniform(20, 60, (f.sum(), 1)) * np.array([1, .5, 0, -.3, 1])
    b = np.array([1., -1, 2, 0, .5])
    return X, X @ b - 3 + rng.normal(size=n), np.append(b, -3)


reg('e_hr_far_good_leverage', lever, n=1500)

_sc = 10.0 ** np.array([-6, -4, -2, 0, 1, 3, 5, 6])


def scales(rng, n):
    X = rng.gamma(1.2, 1, (n, 8)) * _sc
    b = np.array([2, -1, .5, 1, 3, -2, 0, 1]) / _sc
    return X, X @ b + 4 + rng.gumbel(size=n), np.append(b, 4 + 0.5772156649)


reg('e_hr_scales_1e12', scales, n=700)


def classes4(rng, n):
    k = rng.choice(4, n, p=[.34, .28, .22, .16])
    x = rng.uniform(0, 10, (n, 2))
    y = np.array([0, 25, -18, 60.])[k] + np.array([1, 3, -2, .5])[k] * x[:, 0] - x[:, 1] + rng.normal(size=n)
    return x, y


reg('e_hr_four_hidden_classes', classes4, n=2000)


def dice(rng, n):
    X = rng.integers(1, 7, (n, 4)) * 1.0
    X[:, 3] = X[:, 3] > 4
    y = X.sum(1) + rng.integers(1, 7, n) + 6 * (X[:, 0] == X[:, 1])
    return X, y


reg('e_hr_dice_lattice', dice, n=500)

_f = fixed(9)
_c5 = _f.normal(0, 12, (6, 4))


def xclusters(rng, n):
    k = rng.choice(6, n, p=[.55, .2, .1, .08, .05, .02])
    X = _c5[k] + rng.normal(size=(n, 4)) * np.array([.3, 1, 2, .5, .2, 4])[k][:, None]
    b = np.array([.5, -1, .7, .2])
    return X, X @ b + 1 + rng.uniform(-2, 2, n), np.append(b, 1)


def snps(rng, n):
    f = fixed(12).beta(.8, 2.5, 40).clip(.02, .6)
    X = rng.binomial(2, f, (n, 40)) * 1.
    b = np.zeros(40)
    b[:8] = [1.5, -1, .8, 2.5, -.6, 1, -3, .5]
    y = X @ b + 10 + rng.standard_t(3, n)
    return X, y, np.append(b, 10)


reg('e_hr_snps_t3_wide', snps, n=700)

# ============================================================ honest regression: streams (12)
S30 = (400,) * 30


def seasons(rng, n):
    t = tt(n)
    temp = 10 + 13 * np.sin(2 * np.pi * 2 * t) + rng.normal(0, 3, n)
    hum = np.clip(60 - temp + rng.normal(0, 12, n), 5, 100)
    y = 100 + 4 * np.maximum(14 - temp, 0) + 2 * np.maximum(temp - 20, 0) + .1 * hum + rng.gamma(4, 2, n)
    return cs([temp, hum]), y


reg('e_hr_s_seasons_kink', seasons, sizes=S30)

S50 = (60,) * 50


def sites(rng, n):
    k = blk(n, S50)
    m = rng.normal(0, 4, (50, 3))
    s = rng.lognormal(0, .5, (50, 3))
    X = m[k] + s[k] * rng.normal(size=(n, 3))
    b = np.array([1., -.5, 2])
    return X, X @ b + 7 + 1.5 * rng.standard_t(4, n), np.append(b, 7)


reg('e_hr_s_sites_small_batches', sites, sizes=S50)


def growth(rng, n):
    t = tt(n)
    vol = np.exp(1 + 2 * t + .4 * rng.normal(size=n))
    price = 5 + 2 * t + rng.gamma(2, .5, n)
    y = 3 + .7 * vol + 1.1 * price + vol * .15 * rng.laplace(size=n)
    return cs([vol, price]), y, [.7, 1.1, 3]


reg('e_hr_s_growth', growth, sizes=(1000,) * 20)


def promo(rng, n):
    k = blk(n, (500,) * 24)
    pr = np.isin(k, (3, 9, 10, 16, 21)) & (rng.random(n) < .7)
    price = rng.choice([1.99, 2.49, 2.99, 3.49], n)
    store = rng.gamma(3, 1, n)
    mu = store * np.exp(.8 * pr - .6 * (price - 2.5))
    y = rng.poisson(mu) * (rng.random(n) < .6)
    return cs([pr, price, store]), y


reg('e_hr_s_promo_zero_inflated', promo, sizes=(500,) * 24)


def drift(rng, n):
    t = tt(n)
    flow = 10 + 8 * t + ar(rng, n, .7)
    pres = 100 - 30 * t + 4 * ar(rng, n, .7)
    y = 2 * flow - .3 * pres + 2 * ar(rng, n, .85)
    return cs([flow, pres]), y, [2, -.3, 0]


reg('e_hr_s_drifting_process', drift, sizes=(300,) * 40)
SV = varied(3, 36, 60, 3000)


def mixedsizes(rng, n):
    X = cs([rng.lognormal(0, .8, n), rng.standard_t(5, n), rng.random(n) < .15, rng.uniform(-1, 1, n)])
    b = np.array([.8, 1.2, -3, 2])
    return X, X @ b + rng.standard_t(3, n), np.append(b, 0)


reg('e_hr_s_sizes_60_to_3000_t3', mixedsizes, sizes=SV)


def storm(rng, n):
    k = blk(n, (250,) * 28)
    ev = np.isin(k, (4, 5, 17, 25)) * (rng.random(n) < .5)
    wind = rng.weibull(2, n) * 8 + 10 * ev
    X = cs([ev, wind, rng.integers(0, 2, n)])
    b = np.array([25, .6, 2.])
    return X, X @ b + 12 + rng.logistic(size=n), np.append(b, 12)


reg('e_hr_s_rare_event_batches', storm, sizes=(250,) * 28)


def customers(rng, n):
    t = tt(n)
    u = rng.random(n)
    p1 = .36 + .06 * np.sin(2 * np.pi * t * 3)
    k = np.where(u < p1, 0, np.where(u < p1 + .33, 1, 2))
    x = cs([rng.exponential(3, n), rng.normal(size=n)])
    y = np.array([5, 40, 90])[k] + np.array([1., 4, -1])[k] * x[:, 0] + 2 * x[:, 1] + 2 * rng.normal(size=n)
    return x, y


reg('e_hr_s_three_classes', customers, sizes=(600,) * 16)


def schools(rng, n):
    k = blk(n, (90,) * 55)
    ses = fixed(8).normal(0, .8, 56)[k] + rng.normal(size=n)
    hrs = np.minimum(rng.poisson(4, n), 12)
    X = cs([ses, hrs, rng.random(n) < .5])
    y = 68 + 7 * ses + 2.5 * hrs + X[:, 2] + rng.normal(0, 9, n)
    return X, np.clip(np.round(y), 0, 100)


reg('e_hr_s_school_scores', schools, sizes=(90,) * 55)


def queue(rng, n):
    t = tt(n)
    load = .55 + .3 * np.sin(2 * np.pi * 5 * t) + rng.normal(0, .03, n)
    pri = rng.integers(1, 4, n)
    y = rng.exponential(1, n) * (1 / (1.05 - np.clip(load, 0, .95))) * np.array([0, .5, 1, 2])[pri]
    return cs([load, pri]), y


reg('e_hr_s_waiting_times', queue, sizes=(1500,) * 12)


def weekdays(rng, n):
    k = blk(n, (140,) * 42)
    we = (k % 7 >= 5) * 1.
    hol = np.isin(k, (11, 30)) * 1.
    x = rng.gamma(2, 2, n)
    y = 20 - 9 * we - 16 * hol + 1.5 * x + 1.5 * rng.normal(size=n)
    return cs([we, hol, x]), y, [-9, -16, 1.5, 20]


reg('e_hr_s_constant_in_batch_dummies', weekdays, sizes=(140,) * 42)


def snpstream(rng, n):
    k = blk(n, (200,) * 18)
    X, y, tr = xclusters(rng, n)
    c = rng.normal(0, 5, (18, 4))[k]
    X = X + c
    return X, y + c @ tr[:4], tr


reg('e_hr_s_clusters_by_site', snpstream, sizes=(200,) * 18)

# ---------------------------------------------------------------- honest PCA: tables (13)


def low(seed, p, sds, noise, mean=0.0):
    W = orth(seed, p, len(sds)) * np.asarray(sds, float)

    def mix(F, rng, noisefn=None):
        n = len(F)
        E = rng.normal(size=(n, p)) if noisefn is None else noisefn(rng, (n, p))
        return F @ W.T + noise * E + mean
    return mix


_m1 = low(21, 8, [5, 3], 1)


def p_t(rng, n):
    return _m1(rng.standard_t(4, (n, 2)), rng, lambda r, s: r.standard_t(3.5, s) * .7)


pca('e_hp_t_factors', p_t, 2, n=1500)


def p_body(rng, n):
    g = rng.normal(size=n)
    w = rng.normal(size=n)
    L = cs([g, .8 * g + .3 * w, .5 * g + w, .9 * w, .3 * g - .2 * w, .6 * w + .2 * g])
    return np.exp(3 + .3 * L + .08 * rng.normal(size=(n, 6))).round(1)


pca('e_hp_lognormal_body', p_body, 2, n=1200)
_topics = fixed(22).dirichlet(np.full(30, .25), 3)


def p_words(rng, n):
    th = rng.dirichlet([.5, .5, .5], n)
    return rng.poisson((th @ _topics) * rng.gamma(4, 20, (n, 1)))


pca('e_hp_word_counts', p_words, 3, n=900)
_c3 = fixed(23).normal(0, 6, (3, 6))


def p_three(rng, n):
    k = rng.choice(3, n, p=[.4, .33, .27])
    return _c3[k] + rng.normal(size=(n, 6)) * np.array([1, 1.6, .7])[k][:, None]


pca('e_hp_three_clusters', p_three, 2, n=700)


def p_basket(rng, n):
    rich = rng.lognormal(.2, .9, n)
    fam = rng.random(n) < .3
    mu = np.outer(rich, [4, 3, 2, 1, 1, .5, .5]) + np.outer(fam, [0, 0, 3, 6, 0, 5, 1])
    return np.round(mu * rng.gamma(3, 1 / 3, (n, 7)) * (rng.random((n, 7)) < .65), 2)


pca('e_hp_zero_inflated_basket', p_basket, 1, n=2500)


def p_horse(rng, n):
    u = rng.uniform(-1, 1, n)
    v = rng.normal(size=n)
    return cs([5 * u, 6 * u ** 2, 2 * u ** 3 + v, .5 * v, u + .3 * rng.normal(size=n)]) + .3 * rng.normal(size=(n, 5))


pca('e_hp_horseshoe', p_horse, 2, n=1000)
_q = fixed(24).normal(size=(2, 20)) * np.array([[2.2], [.6]])
_qa = fixed(25).normal(0, 1.2, 20)


def p_yesno(rng, n):
    return rng.normal(size=(n, 2)) @ _q + _qa + rng.logistic(size=(n, 20)) * .7 > 0


pca('e_hp_yes_no_survey', p_yesno, 1, n=1800)
_lik = fixed(26).choice([-1, 1], 12)


def p_likert(rng, n):
    g = rng.normal(size=(n, 1))
    h = rng.normal(size=(n, 1))
    style = rng.random(n) < .12
    z = 3.4 + 1.1 * g * _lik + .7 * h * (np.arange(12) % 3 == 0) + .7 * rng.normal(size=(n, 12))
    X = np.clip(np.round(z), 1, 5)
    X[style] = np.where(z[style] > 3, 5, 1)
    return X


pca('e_hp_likert', p_likert, 1, n=800)


def p_rocks(rng, n):
    a = rng.normal(size=(n, 2))
    L = np.array([3, 2.5, 2, 1, .5, 0, -1]) + a @ np.array([[.9, -.6, .2, 0, .3, -.8, .1], [0, .4, -.9, .7, 0, .1, .5]])
    E = np.exp(L + .12 * rng.normal(size=(n, 7)))
    return np.round(100 * E / E.sum(1, keepdims=True), 1)


pca('e_hp_rock_composition', p_rocks, 2, n=450)


def p_scales(rng, n):
    g = rng.gamma(2, 1, n)
    h = rng.exponential(1, n)
    X = cs([1e4 * (g + .1 * rng.normal(size=n)), 3e3 * (h - .3 * g), 50 * h + 20 * rng.normal(size=n), rng.poisson(3 * g),
            1e-3 * rng.normal(size=n), 1e-6 * h])
    return X


pca('e_hp_mixed_scales', p_scales, 2, n=2000)
_m11 = low(27, 15, [9, 6, 4], .9)


def p_leverage(rng, n):
    F = rng.normal(size=(n, 3))
    f = rng.random(n) < .02
    F[f] *= rng.uniform(4, 10, (f.sum(), 1))
    return np.round(_m11(F, rng))


pca('e_hp_far_good_rows_rounded', p_leverage, 3, n=3000)
_pk = np.exp(-((np.arange(60)[:, None] - np.array([12, 27, 45])) / np.array([4, 6, 3.])) ** 2)


def p_spectra(rng, n):
    A = cs([rng.gamma(2, 2, n), rng.lognormal(.5, .7, n), 5 * (rng.random(n) < .3) * rng.random(n)])
    return A @ _pk.T + .15 * rng.normal(size=(n, 60)) * (1 + .3 * (A @ _pk.T))


pca('e_hp_spectra', p_spectra, 3, n=400)
_m13 = low(28, 5, [4, 2], .6)


def p_fan(rng, n):
    a = rng.exponential(1, n)
    F = cs([a - 1, rng.normal(size=n)])
    return _m13(F, rng, lambda r, s: r.laplace(size=s) * (.3 + .6 * a[:, None]))


pca('e_hp_fan', p_fan, 1, n=250)

# ---------------------------------------------------------------- honest PCA: streams (7)
_m14 = low(31, 10, [5, 3], 1)
_d14 = orth(31, 10, 2)


def p_seasons(rng, n):
    t = tt(n)
    F = rng.normal(size=(n, 2)) + cs([1.2 * np.sin(4 * np.pi * t), .8 * np.cos(4 * np.pi * t)])
    return _m14(F, rng)


pca('e_hp_s_seasons', p_seasons, 2, sizes=(400,) * 24)


def p_garch(rng, n):
    v = np.exp(.5 * ar(rng, n, .95))
    mk = v * rng.standard_t(5, n)
    sec = rng.normal(size=(n, 3))
    X = np.outer(mk, np.linspace(.7, 1.4, 12)) + np.repeat(sec, 4, 1) * .6 + v[:, None] * .5 * rng.normal(size=(n, 12))
    return X


pca('e_hp_s_market_volatility', p_garch, 1, sizes=(500,) * 20)
_m16 = low(33, 6, [3, 2], .7)


def p_small(rng, n):
    F = rng.gamma(1.5, 1, (n, 2)) - 1.5
    return _m16(F, rng)


pca('e_hp_s_small_skewed', p_small, 2, sizes=(60,) * 40)


def p_growth(rng, n):
    t = tt(n)
    s = np.exp(1.5 * t)
    g = s * (2 + rng.normal(size=n))
    X = np.outer(g, [3, 2, 2, 1, .5, 1.5, 0, 1]) + np.outer(rng.normal(size=n) * 2, [0, 1, -1, 1, 1, -1, 1, 0])
    return X + .7 * rng.normal(size=(n, 8)) * np.sqrt(s)[:, None]


pca('e_hp_s_growth', p_growth, 1, sizes=(800,) * 15)


def p_machines(rng, n):
    k = blk(n, varied(35, 30, 80, 1500))
    off = np.array([[0, 0], [1, -.6], [-1, .7], [.5, .9], [-.6, -.9]])
    return _m19(rng.normal(size=(n, 2)) + off[(k * 7) % 5], rng, lambda r, s: r.uniform(-1.7, 1.7, s))


_m19 = low(34, 14, [4, 2.5], .8)
pca('e_hp_s_machines_mixed_sizes', p_machines, 2, sizes=varied(35, 30, 80, 1500))


def p_sensors(rng, n):
    a = ar(rng, n, .8)
    b = np.sin(2 * np.pi * np.arange(n) / 48) * 1.2
    X = np.outer(a, [2, 2, 1, 1, 0, 0, -1]) + np.outer(b, [0, 1, -1, 1, 2, 1, 0])
    return np.round(X + .5 * rng.laplace(size=(n, 7)), 1)


pca('e_hp_s_ar_daily_cycle', p_sensors, 2, sizes=(480,) * 18)
_lam = fixed(36).gamma(1, 2, (4, 9)) + .3


def p_sites4(rng, n):
    k = rng.choice(4, n, p=[.4, .25, .2, .15])
    return rng.poisson(_lam[k] * rng.gamma(3, 1 / 3, (n, 1)) * 4)


pca('e_hp_s_count_species', p_sites4, 2, sizes=(1200,) * 10)


# ================================================================ dirty regression: tables (17)

def d_units(rng, n):
    h = rng.normal(1.70, .1, n)
    age = rng.gamma(8, 5, n)
    y = -60 + 75 * h + .2 * age + rng.normal(0, 4, n)
    return cs([h, age]), y, [75, .2, -60]


def f_pounds(rng, X, y, c):
    return X, y * 2.2046


reg('e_dr_pounds_for_kilos', d_units, n=1500, hurt=f_pounds, share=.22)


def d_price(rng, n):
    X = cs([rng.lognormal(4, .35, n), rng.poisson(3, n), rng.random(n) < .2])
    y = 30 + 2 * X[:, 0] + 15 * X[:, 1] + 40 * X[:, 2] + rng.gamma(4, 15, n)
    return X, y, [2, 15, 40, 90]


def f_decimal(rng, X, y, c):
    return X, y * rng.choice([.1, 10.], len(y), p=[.35, .65])


reg('e_dr_decimal_shift_target', d_price, n=3000, hurt=f_decimal, share=.1)


def d_weather(rng, n):
    X = cs([rng.normal(12, 8, n), rng.beta(5, 2, n) * 100, rng.weibull(1.8, n) * 5, rng.gamma(2, 150, n)])
    b = np.array([.5, -.1, 1.2, .01])
    return X, X @ b + 10 + rng.laplace(0, 1, n), np.append(b, 10)


def f_sentinel(rng, X, y, c):
    j = rng.choice(4, len(X), p=[.4, .2, .2, .2])
    X[np.arange(len(X)), j] = np.array([-99., -99, -99, -999])[j]
    return X, y


reg('e_dr_sentinel_in_columns', d_weather, n=4000, hurt=f_sentinel, share=.12)


def d_sat(rng, n):
    s = rng.gamma(2, 2, n)
    q = rng.uniform(0, 1, n)
    return cs([s, q]), 50 * s / (s + 6) + 8 * q + rng.normal(0, .8, n)


def f_stuck(rng, X, y, c):
    return X, np.full(len(y), 61.3)


reg('e_dr_stuck_sensor_bent_law', d_sat, n=2000, hurt=f_stuck, share=.3, how='middle')

_b6 = np.array([2, -1, .5, 1.5, 0, -2.])


def d_forge(rng, n):
    X = rng.normal(size=(n, 6)) + .5 * rng.normal(size=(n, 1))
    return X, X @ _b6 + 1 + rng.standard_t(4, n), np.append(_b6, 1)


def f_copied(rng, X, y, c):
    m = c.shared.normal(0, 1, (5, 6)) + 3 * np.array([1, -1, 0, 1, 0, -1])
    k = rng.integers(0, 5, len(X))
    return m[k], np.array([-22., -20, -25, -21, -24])[k]


reg('e_dr_five_forged_rows_copied', d_forge, n=1200, hurt=f_copied, share=.2)


def d_swap(rng, n):
    X = cs([rng.gamma(5, 10, n), rng.normal(7, .5, n), rng.poisson(2, n)])
    b = np.array([.4, 6, -1.5])
    return X, X @ b + 2 + rng.normal(0, 5, n), np.append(b, 2)


def f_swap(rng, X, y, c):
    return X[:, [1, 0, 2]], y


reg('e_dr_swapped_columns', d_swap, n=800, hurt=f_swap, share=.15)


def d_cluster(rng, n):
    X = rng.uniform(-2, 2, (n, 12))
    b = fixed(41).normal(size=12)
    return X, X @ b + rng.normal(size=n), np.append(b, 0)


def f_cluster(rng, X, y, c):
    m = c.shared.normal(size=12)
    return 5 * m / np.linalg.norm(m) + .3 * rng.normal(size=X.shape), 18 + rng.normal(size=len(y))


reg('e_dr_leverage_cluster', d_cluster, n=1000, hurt=f_cluster, share=.3)


def d_line(rng, n):
    x = rng.exponential(3, n)
    return x[:, None], 2 + 1.5 * x + rng.normal(0, .5, n), [1.5, 2]


def f_line2(rng, X, y, c):
    return X, 18 - 1.2 * X[:, 0] + .5 * rng.normal(size=len(y))


reg('e_dr_second_line_p1', d_line, n=300, hurt=f_line2, share=.38)


def d_shuf(rng, n):
    X = cs([rng.lognormal(0, .6, n), rng.integers(0, 5, n), rng.normal(size=n), rng.random(n) < .3])
    b = np.array([6., 4, 5, -9])
    return X, X @ b + rng.normal(0, .8, n), np.append(b, 0)


def f_shuffle(rng, X, y, c):
    return X, rng.permutation(y)


reg('e_dr_shuffled_stretch', d_shuf, n=2500, hurt=f_shuffle, share=.33, how='end')


def d_flip(rng, n):
    X = rng.laplace(size=(n, 5))
    b = np.array([3., -4, 2, 5, 1])
    return X, X @ b + 20 + rng.normal(size=n), np.append(b, 20)


def f_flip(rng, X, y, c):
    return X, -y


reg('e_dr_sign_flips', d_flip, n=900, hurt=f_flip, share=.4)


def d_wide(rng, n):
    X = rng.normal(size=(n, 20))
    b = fixed(43).normal(size=20)
    return X, X @ b + rng.normal(size=n), np.append(b, 0)


def f_wide(rng, X, y, c):
    return X, y + 12 * rng.normal(size=len(y))


reg('e_dr_wide_noise', d_wide, n=1500, hurt=f_wide, share=.25)


def f_cells(rng, X, y, c):
    p = X.shape[1]
    M = rng.random(X.shape) < .08
    M[np.arange(len(X)), rng.integers(0, p, len(X))] = True
    return np.where(M, 15 + 10 * rng.random(X.shape), X), y


def d_cells(rng, n):
    z = rng.normal(size=(n, 2))
    X = z @ fixed(44).normal(size=(2, 8)) + .7 * rng.normal(size=(n, 8))
    b = np.array([1., 1, -1, 0, 2, 0, .5, -1.5])
    return X, X @ b + 5 + rng.logistic(0, .5, n), np.append(b, 5)


reg('e_dr_strewn_cells', d_cells, n=2000, hurt=f_cells, share=.35)


def d_bent(rng, n):
    x = rng.uniform(0, 10, n)
    z = rng.normal(size=n)
    return cs([x, z]), 5 * np.maximum(x - 4, 0) + 3 * z + rng.normal(0, 1.5, n)


def f_sat(rng, X, y, c):
    return X + np.array([6, 0]), np.full(len(y), -20.) + rng.normal(0, .2, len(y))


reg('e_dr_offset_block_on_kink', d_bent, n=1800, hurt=f_sat, share=.2, how='runs')


def d_hetero(rng, n):
    x = rng.gamma(3, 2, n)
    g = rng.random(n) < .5
    return cs([x, g]), 4 * x + 5 * g + x * .4 * rng.normal(size=n), [4, 5, 0]


def f_minus(rng, X, y, c):
    return X, np.where(rng.random(len(y)) < .5, -99., -98.)


reg('e_dr_codes_in_target_fan', d_hetero, n=600, hurt=f_minus, share=.08)


def d_counts(rng, n):
    X = cs([rng.poisson(6, n), rng.binomial(10, .4, n), rng.random(n) < .1])
    return X, rng.poisson(2 + 1.5 * X[:, 0] + .8 * X[:, 1] + 8 * X[:, 2]), [1.5, .8, 8, 2]


def f_thou(rng, X, y, c):
    return X, y * 12


reg('e_dr_dozens_for_pieces_counts', d_counts, n=5000, hurt=f_thou, share=.27)


def d_big(rng, n):
    X = cs([rng.normal(size=(n, 10)), rng.random((n, 5)) < .2])
    b = fixed(46).normal(size=15) * 2
    return X, X @ b + rng.standard_t(3, n), np.append(b, 0)


def f_hidden(rng, X, y, c):
    b = c.truth[:-1].copy()
    b[:10] = b[:10] - 6
    return X, X @ b + 12 + rng.normal(size=len(y))


reg('e_dr_second_regime_43', d_big, n=12000, hurt=f_hidden, share=.43)


def d_scale(rng, n):
    X = cs([1e-5 * rng.gamma(2, 1, n), 1e5 * rng.normal(3, 1, n), rng.random(n)])
    b = np.array([4e5, 3e-5, 2])
    return X, X @ b + 1 + rng.normal(0, .7, n), np.append(b, 1)


def f_milli(rng, X, y, c):
    X[:, 0] *= 10
    X[:, 1] = np.where(rng.random(len(X)) < .5, X[:, 1] / 1000, X[:, 1])
    return X, y


reg('e_dr_units_of_columns', d_scale, n=400, hurt=f_milli, share=.18)

# ================================================================ dirty regression: streams (8)


def ds_a(rng, n):
    t = tt(n)
    X = cs([10 + 4 * np.sin(6 * np.pi * t) + rng.normal(size=n), rng.gamma(2, 1, n)])
    return X, X @ [1.5, -2] + 4 + rng.normal(0, 1, n), [1.5, -2, 4]


def f_off(rng, X, y, c):
    return X, y + 7 + 5 * c.shared.random()


reg('e_dr_s_batches_offset_seasons', ds_a, sizes=(300,) * 30, hurt=f_off, batches=.3)


def ds_b(rng, n):
    X = rng.normal(size=(n, 4)) * np.array([1, 2, .5, 1])
    b = np.array([2., 1, -3, .5])
    return X, X @ b + rng.laplace(size=n), np.append(b, 0)


def f_neg(rng, X, y, c):
    return X, -2 * y + 3 + rng.normal(size=len(y))


reg('e_dr_s_lying_start', ds_b, sizes=(200,) * 45, hurt=f_neg, batches=.4, order='start', stray=.05)


def ds_c(rng, n):
    X = cs([rng.lognormal(1, .5, n), rng.random(n) < .2, rng.integers(1, 8, n)])
    return X, X @ [3., 10, -1] + 20 + rng.gamma(2, 1, n), [3, 10, -1, 22]


def f_zero(rng, X, y, c):
    return X, np.zeros(len(y)) - 9


reg('e_dr_s_dropouts_in_every_batch', ds_c, sizes=(150,) * 40, hurt=f_zero, stray=.2)


def ds_d(rng, n):
    x = rng.uniform(0, 6, n)
    w = rng.normal(size=n)
    return cs([x, w]), 10 * np.sin(x / 2) + 2 * w + rng.normal(0, .7, n)


def f_shuf_b(rng, X, y, c):
    return X, 30 - 6 * X[:, 1] + rng.normal(size=len(y))


reg('e_dr_s_wrong_files_bent', ds_d, sizes=(1000,) * 16, hurt=f_shuf_b, batches=.25, order='middle')


def ds_e(rng, n):
    X = rng.standard_t(5, (n, 8))
    b = fixed(51).normal(size=8) * 1.5
    return X, X @ b + 3 + rng.standard_t(3, n), np.append(b, 3)


def f_rev(rng, X, y, c):
    return X[:, ::-1], y * 4


reg('e_dr_s_column_order_reversed', ds_e, sizes=(500,) * 25, hurt=f_rev, batches=.32)


def ds_f(rng, n):
    X = cs([rng.exponential(2, n), rng.normal(size=n), rng.poisson(1, n)])
    return X, X @ [2., 3, -1] + rng.normal(size=n), [2, 3, -1, 0]


def f_hub(rng, X, y, c):
    return np.array([9., -2, 5]) + .2 * rng.normal(size=X.shape), -30 + rng.normal(size=len(y))


reg('e_dr_s_cluster_rows_small_batches', ds_f, sizes=(80,) * 50, hurt=f_hub, stray=.28)


def ds_g(rng, n):
    t = tt(n)
    v = np.exp(1 + t + .3 * rng.normal(size=n))
    q = rng.random(n)
    return cs([v, q]), 5 * v + 10 * q + .3 * v * rng.normal(size=n), [5, 10, 0]


def f_currency(rng, X, y, c):
    return X, y * 3.2


reg('e_dr_s_wrong_currency_growth', ds_g, sizes=varied(52, 28, 100, 1500), hurt=f_currency, batches=.2, stray=.02)


def ds_h(rng, n):
    X = rng.integers(0, 4, (n, 5)) * 1.
    b = np.array([1., 2, 0, -1, 3])
    return X, np.round(X @ b + 10 + 1.2 * rng.normal(size=n)), np.append(b, 10)


def f_noisegen(rng, X, y, c):
    return rng.integers(0, 4, X.shape), rng.uniform(-25, 50, len(y))


reg('e_dr_s_random_generators', ds_h, sizes=(120,) * 36, hurt=f_noisegen, batches=.36, stray=.08)

# ================================================================ dirty PCA: tables (13)
_a1 = low(61, 10, [5, 3], 1)


def q1(rng, n):
    return _a1(rng.normal(size=(n, 2)), rng)


def g_cluster(rng, X, c):
    v = c.shared.normal(size=X.shape[1])
    return 13 * v / np.linalg.norm(v) + .5 * rng.normal(size=X.shape)


pca('e_dp_far_cluster', q1, 2, n=1500, hurt=g_cluster, share=.25)
_a2 = low(62, 6, [4, 2], .5, mean=20)


def q2(rng, n):
    return _a2(rng.gamma(2, .7, (n, 2)) - 1.4, rng, lambda r, s: r.laplace(size=s) * .7)


def g_decimal(rng, X, c):
    j = rng.integers(0, X.shape[1], len(X))
    X[np.arange(len(X)), j] *= rng.choice([.1, 10], len(X))
    return X


pca('e_dp_decimal_cells', q2, 2, n=2000, hurt=g_decimal, share=.15)


def q3(rng, n):
    g = rng.lognormal(0, .5, n)
    h = rng.normal(size=n)
    return np.outer(g, [4, 3, 2, 1, 0]) * 3 + np.outer(h, [0, 1, -1, 2, 2]) * 1.5 + rng.normal(size=(n, 5)) * .6


def g_sent(rng, X, c):
    j = np.where(rng.random(len(X)) < .7, 3, 4)
    X[np.arange(len(X)), j] = -99
    return X


pca('e_dp_sentinel', q3, 2, n=1000, hurt=g_sent, share=.08)
_a4 = low(63, 20, [6, 4, 3], 1)


def q4(rng, n):
    return _a4(rng.standard_t(5, (n, 3)), rng)


def g_orth(rng, X, c):
    v = np.linalg.qr(c.shared.normal(size=(20, 2)))[0]
    return X + (rng.normal(size=(len(X), 2)) * 9) @ v.T + 6 * v[:, 0]


pca('e_dp_extra_directions', q4, 3, n=3000, hurt=g_orth, share=.3)


def q5(rng, n):
    a = rng.normal(size=n)
    b = rng.normal(size=n)
    return cs([3 * a, 2 * a + b, 2 * b, a - b, .5 * a]) + .4 * rng.normal(size=(n, 5)) + np.array([30, 5, 0, 10, 15])


def g_swap(rng, X, c):
    return X[:, [2, 1, 0, 3, 4]]


pca('e_dp_swapped_columns', q5, 2, n=600, hurt=g_swap, share=.2)
_a6 = low(64, 8, [4, 2.5], .6, mean=10)


def q6(rng, n):
    return _a6(rng.uniform(-1.7, 1.7, (n, 2)), rng)


def g_stuck(rng, X, c):
    X[:, 2:5] = np.array([40., -15, 30])
    return X


pca('e_dp_stuck_sensors', q6, 2, n=2500, hurt=g_stuck, share=.35, how='middle')


def q7(rng, n):
    th = rng.gamma(2, 1, (n, 2))
    return rng.poisson(th @ np.array([[6, 5, 3, 1, 0, 0, 1, 2], [0, 1, 1, 4, 6, 3, 1, 0]]) + .5)


def g_copies(rng, X, c):
    m = c.shared.integers(0, 2, (3, 8)) * 60.
    m[:, 7] = 70
    return m[rng.integers(0, 3, len(X))]


pca('e_dp_copied_counts', q7, 2, n=1200, hurt=g_copies, share=.12)
_a8 = low(65, 40, [8, 6], 1)


def q8(rng, n):
    return _a8(rng.normal(size=(n, 2)), rng)


def g_wide(rng, X, c):
    return X + 6 * rng.normal(size=X.shape)


pca('e_dp_wide_noise', q8, 2, n=500, hurt=g_wide, share=.4)
_a9 = low(66, 12, [5, 3.5, 2.5], .5)


def q9(rng, n):
    return _a9(rng.laplace(size=(n, 3)) / 1.4, rng)


def g_strewn(rng, X, c):
    M = rng.random(X.shape) < .04
    M[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = True
    return np.where(M, rng.choice([-1, 1], X.shape) * rng.uniform(15, 30, X.shape), X)


pca('e_dp_strewn_cells', q9, 3, n=1800, hurt=g_strewn, share=.36)


def q10(rng, n):
    u = rng.uniform(-1, 1, n)
    v = rng.normal(size=n)
    return cs([6 * u, 4 * u ** 2, v * 2.2, u + v, 1.5 * np.sin(3 * u)]) + .25 * rng.normal(size=(n, 5))


def g_flip(rng, X, c):
    X[:, [1, 3]] = -X[:, [1, 3]] * 2 - 12
    return X


pca('e_dp_flipped_on_curve', q10, 2, n=900, hurt=g_flip, share=.3, how='end')


def q11(rng, n):
    X = rng.gamma(3, 1, (n, 1)) * np.exp(-((np.arange(50) - 18) / 6) ** 2) * 4 + rng.normal(size=(n, 1)) * np.exp(
        -((np.arange(50) - 35) / 5) ** 2) * 3
    return X + .3 * rng.normal(size=X.shape)


def g_spike(rng, X, c):
    a = c.shared.integers(0, 45)
    X[:, a:a + 4] += 15 + 5 * rng.random((len(X), 1))
    return X


pca('e_dp_spectral_spikes', q11, 2, n=700, hurt=g_spike, share=.1)


def q12(rng, n):
    k = rng.integers(0, 3, n)
    c = np.array([[0, 0, 0, 0], [6, 3, 0, 1], [2, 7, 1, 0]])
    return c[k] + rng.normal(size=(n, 4)) * 1.5


def g_line(rng, X, c):
    return np.outer(rng.uniform(10, 30, len(X)), [0, 0, .8, -.6]) + rng.normal(size=X.shape) * .5


pca('e_dp_line_on_clusters', q12, 2, n=6000, hurt=g_line, share=.18)


def q13(rng, n):
    z = rng.normal(size=(n, 1)) * 1.3
    return np.clip(np.round(4 + z * np.array([1, 1, 1, -1, 1, -1, 1, 0, .3])
                            + .6 * rng.normal(size=(n, 9))), 1, 7)


def g_codes(rng, X, c):
    M = rng.random(X.shape) < np.r_[np.full(7, .05), .9, .9]
    M[:, 8] = True
    return np.where(M, 99, X)


pca('e_dp_survey_code_99', q13, 1, n=1500, hurt=g_codes, share=.06)

# ================================================================ dirty PCA: streams (7)
_s1 = low(71, 12, [5, 3], 1)


def r1(rng, n):
    t = tt(n)
    return _s1(rng.normal(size=(n, 2)) + cs([np.sin(4 * np.pi * t), 0 * t]), rng)


def g_other(rng, X, c):
    v = np.linalg.qr(c.shared.normal(size=(12, 2)))[0]
    return rng.normal(size=(len(X), 2)) * np.array([15, 10]) @ v.T + rng.normal(size=X.shape)


pca('e_dp_s_other_subspace', r1, 2, sizes=(300,) * 30, hurt=g_other, batches=.4)
_s2 = low(72, 6, [4, 2], .7)


def r2(rng, n):
    return _s2(rng.standard_t(5, (n, 2)), rng)


def g_spot(rng, X, c):
    v = c.shared.normal(size=6)
    return 14 * v / np.linalg.norm(v) + .3 * rng.normal(size=X.shape)


pca('e_dp_s_cluster_in_each', r2, 2, sizes=(100,) * 40, hurt=g_spot, stray=.22)
_s3 = low(73, 15, [6, 4, 3], 1, mean=5)


def r3(rng, n):
    return _s3(rng.exponential(1, (n, 3)) - 1, rng)


def g_perm(rng, X, c):
    return X[:, c.shared.permutation(15)] * 3


pca('e_dp_s_wrong_schema', r3, 3, sizes=varied(74, 26, 150, 1500), hurt=g_perm, batches=.3, stray=.03)


def r4(rng, n):
    g = rng.gamma(2, 1, n)
    return rng.poisson(np.outer(g, [8, 6, 4, 2, 1, 1]) + np.outer(rng.gamma(1, 1, n), [0, 0, 1, 3, 6, 5]))


def g_kilo(rng, X, c):
    X[:, 3] *= 20
    return X


pca('e_dp_s_counter_times_20', r4, 2, sizes=(400,) * 20, hurt=g_kilo, batches=.35, order='end')
_s5 = low(75, 30, [7, 5], 1)


def r5(rng, n):
    return _s5(rng.normal(size=(n, 2)), rng, lambda r, s: r.uniform(-1.7, 1.7, s))


def g_noise(rng, X, c):
    return rng.standard_t(3, X.shape) * 8


pca('e_dp_s_noise_files', r5, 2, sizes=(250,) * 24, hurt=g_noise, batches=.33, order='start')


def r6(rng, n):
    a = ar(rng, n, .7)
    b = ar(rng, n, .5)
    return np.outer(a, [3, 3, 2, 0, 0, 1]) + np.outer(b, [0, 1, -1, 2, 2, 0]) + .4 * rng.laplace(size=(n, 6))


def g_cells(rng, X, c):
    j = rng.integers(0, 6, len(X))
    X[np.arange(len(X)), j] = rng.choice([-1, 1], len(X)) * 25
    return X


pca('e_dp_s_saturated_cells', r6, 2, sizes=(600,) * 16, hurt=g_cells, stray=.15)


def r7(rng, n):
    return np.exp(.35 * _s7(rng.normal(size=(n, 2)), rng)) * 10


_s7 = low(76, 7, [2, 1.3], .35)


def g_stuckb(rng, X, c):
    v = c.shared.uniform(20, 120, 7)
    return np.tile(v, (len(X), 1)) * (1 + .01 * rng.normal(size=X.shape)) + np.outer(rng.normal(size=len(X)) * 30, [0, 0, 0, 0, 0, 1, -1])


pca('e_dp_s_forged_batches_lognormal', r7, 2, sizes=(1200,) * 12, hurt=g_stuckb, batches=.25)

if __name__ == "__main__":
    check(KINDS)
