"""PCA kinds."""
import functools
import numpy as np
from interface import Sample, Kind, pca_truth, cov_basis
from _reg import fixed, places, _NOISE

KINDS = []


class PLaw:
    """Honest law: draw(rng, n) -> X; C covariance when in closed form, else truth from 400,000 rows."""
    def __init__(self, draw, d, C=None, mu=None):
        self._draw, self.d, self._C, self._mu = draw, d, C, mu

    def __call__(self, r, n):
        return np.array(self._draw(r, n), float)

    @functools.lru_cache(maxsize=None)
    def truth(self):
        return cov_basis(self._C, self.d) if self._C is not None else pca_truth(self, self.d)

    @functools.lru_cache(maxsize=None)
    def mom(self):
        """mean, covariance, column sds, top standard deviation"""
        if self._C is None:
            X = self(np.random.default_rng(5), 20000)
            C, m = np.cov(X.T), X.mean(0)
        else:
            C, m = self._C, self._mu
        w = np.linalg.eigvalsh(C)[::-1]
        return m, C, np.sqrt(np.diag(C)), np.sqrt(w[0]), np.sqrt(max(w[-1], 0)), np.sqrt(w[self.d] if self.d < len(w) else 0)


def rot(f, p):
    Q, R = np.linalg.qr(f.standard_normal((p, p)))
    return Q * np.sign(np.diag(R))


def spk(name, p, d, ratio=9.0, law='normal', mu=0.0, axis=False, decay=1.0):
    """X = mu + Q diag(sqrt lam) z; lam = ratio*decay^j for j<d, 1..0.5 after; z unit variance iid (mt3: multivariate t3)."""
    f = fixed(name)
    Q = np.eye(p) if axis else rot(f, p)
    lam = np.r_[ratio * decay ** -np.arange(d), np.linspace(1, .5, p - d)]
    A = Q * np.sqrt(lam)
    m = np.full(p, float(mu)) + (f.standard_normal(p) if mu else 0)

    def draw(r, n):
        if law == 'mt3':
            z = r.standard_normal((n, p)) / np.sqrt(r.chisquare(3, (n, 1)))
        elif law == 'mt5':
            z = r.standard_normal((n, p)) / np.sqrt(r.chisquare(5, (n, 1)) / 3)
        else:
            z = _NOISE[law](r, (n, p))
        return m + z @ A.T
    return PLaw(draw, d, A @ A.T, m)


def honest(name, law, n, sizes=None, order=None, note=''):
    def make(rng):
        X = law(rng, n)
        if order == 'x':
            X = X[np.argsort(X @ law.truth()[:, 0])]
        return Sample(X, None, np.ones(n, bool), law.truth(), law.d, sizes)
    KINDS.append(Kind('pca_honest_' + name, 'pca', True, make, note))


def dirty(name, law, n, share, corrupt, how='random', note=''):
    def sweep(rng, share, n):
        X = law(rng, n)
        k = int(share * n)
        bad = places(rng, n, k, how)
        good = np.ones(n, bool)
        good[bad] = False
        if k:
            corrupt(rng, X, bad, law)
        return Sample(X, None, good, law.truth(), law.d, None)
    KINDS.append(Kind('pca_' + name, 'pca', False, lambda rng: sweep(rng, share, n), note, sweep))


def stream(name, law, batch, count, share, corrupt, row_share=0.0, row_corrupt=None, how='random', note='', per_batch=False):
    def sweep(rng, share, n):
        nb = max(1, n // batch)
        n = nb * batch
        X = law(rng, n)
        badb = places(rng, nb, int(share * nb), how)
        good = np.ones(n, bool)
        rows = (badb[:, None] * batch + np.arange(batch)).ravel()
        if row_share:
            i = np.concatenate([b * batch + rng.choice(batch, int(row_share * batch), replace=False)
                                for b in np.setdiff1d(np.arange(nb), badb)])
            good[i] = False
            row_corrupt(rng, X, np.sort(i), law)
        if len(rows):
            good[rows] = False
            for part in ([b * batch + np.arange(batch) for b in badb] if per_batch else [rows]):
                corrupt(rng, X, part, law)
        return Sample(X, None, good, law.truth(), law.d, (batch,) * nb)
    KINDS.append(Kind('pca_' + name, 'pca', False, lambda rng: sweep(rng, share, batch * count), note, sweep))


def plaw(d):
    return lambda g: PLaw(g, d)


# ---------------------------------------------------------------- honest
honest('normal_p5', spk('h5', 5, 2), 300)
honest('normal_p2', spk('h2', 2, 1, 4), 100)
honest('normal_p50', spk('h50', 50, 3, 20), 1000)
honest('normal_p200_20000', spk('h200', 200, 5, 20), 20000)
honest('n_lt_p_60x200', spk('hnp', 200, 2, 80), 60)
honest('weak_spike', spk('hw', 10, 2, 2.5), 1000)
honest('t3_columns', spk('ht', 6, 2, 12, 't3'), 1000)
honest('mt3', spk('hmt', 8, 2, 12, 'mt3'), 1000)
honest('mt5_p20', spk('hmt5', 20, 3, 12, 'mt5'), 600)
honest('lognormal', spk('hl', 6, 2, 12, 'logn'), 600)
honest('exponential', spk('he', 8, 3, 9, 'exp'), 500)
honest('uniform', spk('hu', 6, 2, 6, 'uniform'), 300)
honest('laplace_axis', spk('hla', 10, 3, 8, 'laplace', axis=True), 500)
honest('mean_far', spk('hmean', 6, 2, 9, mu=1e5), 400)
_f = fixed('pc'); _tri = 6 * np.linalg.qr(_f.standard_normal((10, 3)))[0].T
honest('three_classes', PLaw(lambda r, n: _tri[r.integers(0, 3, n)] + r.standard_normal((n, 10)), 2), 600)
honest('two_clusters_70_30', PLaw(lambda r, n: (r.random(n) < .3)[:, None] * _tri[0] * 1.3 + r.standard_normal((n, 10)), 1), 500)
honest('two_clusters_70_30_far', PLaw(lambda r, n: (r.random(n) < .3)[:, None] * _tri[0] * 5 + r.standard_normal((n, 10)), 1), 500)
_cl = spk('hcls', 6, 2, 9)
honest('classes_90_10_same_shape', PLaw(lambda r, n: _cl(r, n) + (r.random(n) < .1)[:, None] * 12 * _cl.truth()[:, 0], 2), 800)


@plaw(3)
def onehot(r, n):
    a = r.choice(4, n, p=[.4, .3, .2, .1]); b = np.where(r.random(n) < .75, a % 3, r.integers(0, 3, n)); c = r.integers(0, 5, n)
    return np.c_[np.eye(4)[a], np.eye(3)[b], .5 * np.eye(5)[c]]


@plaw(2)
def counts(r, n):
    f = np.exp(.5 * r.standard_normal((n, 2)))
    B = np.array([[8, 6, 5, 3, 1, 0, 0, 1.], [0, 1, 0, 1, 3, 5, 4, 3]])
    return r.poisson(f @ B + .2)


@plaw(2)
def sparse(r, n):
    on = r.random((n, 2)) < .15
    B = np.zeros((2, 20)); B[0, :5] = 3; B[1, 5:9] = 2.5
    return (on * (1 + r.exponential(1, (n, 2)))) @ B + .3 * r.standard_normal((n, 20)) * (r.random((n, 20)) < .3)


@plaw(2)
def banana(r, n):
    t = r.normal(0, 2, n)
    return np.c_[t, .5 * t ** 2, r.standard_normal((n, 4)) * .6]


@plaw(2)
def swiss(r, n):
    t = r.uniform(4, 12, n)
    return np.c_[t * np.cos(t), .2 * r.uniform(0, 20, n), t * np.sin(t), .3 * r.standard_normal((n, 5))]


@plaw(2)
def ring(r, n):
    a = r.uniform(0, 2 * np.pi, n)
    return np.c_[5 * np.cos(a), 5 * np.sin(a), .5 * r.standard_normal((n, 8))]


_Wt = fixed('win').uniform(.8, 1.2, 12)


@plaw(2)
def windows(r, n):                       # windows of a noisy oscillation, in time order
    t = np.arange(n + 24) * .37
    s = np.sin(t + .3 * np.sin(.05 * t) + r.uniform(0, 6)) * 2 + .5 * r.standard_normal(n + 24)
    return np.lib.stride_tricks.sliding_window_view(s, 24)[:n]


_g = np.stack(np.meshgrid(np.arange(12), np.arange(9), indexing='ij'), -1).reshape(-1, 2)
_K = np.exp(-((_g[:, None] - _g[None]) ** 2 / [98., 40.]).sum(-1)) + .05 * np.eye(108)
_KL = np.linalg.cholesky(_K)
smooth = PLaw(lambda r, n: 5 + r.standard_normal((n, 108)) @ _KL.T, 1, _K, np.full(108, 5.))
_hv = np.array([1., 1, 1, 3, 4, 1, 1, 1])
heavycol = PLaw(lambda r, n: np.c_[r.standard_normal((n, 3)), 3 * r.standard_t(5, n) / np.sqrt(5 / 3), 4 * _NOISE['logn'](r, n), r.standard_normal((n, 3))], 2, np.diag(_hv ** 2), np.zeros(8))
_ls = np.logspace(-3, 3, 7)
scales = PLaw(lambda r, n: (r.standard_normal((n, 7)) + r.standard_normal((n, 1))) * _ls, 2, np.outer(_ls, _ls) * (1 + np.eye(7)), np.zeros(7))
_lr = fixed('lr').standard_normal((3, 15))
_lr = np.linalg.svd(_lr, full_matrices=False)[2] * np.array([3, 2, 1.2])[:, None]
lowrank = PLaw(lambda r, n: 1 + r.standard_normal((n, 3)) @ _lr, 3, _lr.T @ _lr, np.ones(15))
lowrank2 = PLaw(lambda r, n: 1 + r.standard_normal((n, 3)) @ _lr, 2, _lr.T @ _lr, np.ones(15))
_s5 = spk('disc', 6, 2, 9)
for nm, L, n in [('onehot', onehot, 800), ('counts', counts, 500), ('sparse', sparse, 1500), ('banana', banana, 600), ('swiss', swiss, 1000),
                 ('ring', ring, 400), ('windows', windows, 1000), ('smooth_images', smooth, 300), ('heavy_columns', heavycol, 2000),
                 ('scales_1e-3_1e3', scales, 400), ('lowrank_exact', lowrank, 200), ('lowrank_exact_d2', lowrank2, 400)]:
    honest(nm, L, n, note='oracle error is 0, floor it' if nm == 'lowrank_exact' else '')
honest('discretised', PLaw(lambda r, n: np.round(_s5(r, n) / 2) * 2, 2), 400)
honest('duplicates', PLaw(lambda r, n: _s5(r, max(1, n // 4))[r.integers(0, max(1, n // 4), n)], 2, _s5._C, _s5._mu), 800)
honest('constant_column', PLaw(lambda r, n: np.c_[_s5(r, n), np.full(n, 3.)], 2, np.pad(_s5._C, (0, 1)), np.append(_s5._mu, 3.)), 300)
_sm = 3 * fixed('pms').standard_normal((20, 8)) * [2, 1.5, 1, .3, .3, .3, .3, .3]
_st = PLaw(lambda r, n: _sm[np.arange(n) * 20 // n] + r.standard_normal((n, 8)), 2, np.cov(_sm.T, bias=True) + np.eye(8), _sm.mean(0))
honest('stream_sites', _st, 6000, sizes=(300,) * 20)
honest('stream_sorted', spk('hso', 6, 2, 9, decay=1.5), 3000, sizes=(300,) * 10, order='x', note='each batch has little spread along the first direction')
honest('stream_t3_50', spk('hst3', 6, 2, 12, 't3'), 3000, sizes=(50,) * 60)
honest('stream_normal_2000', spk('hs2', 50, 3, 9), 20000, sizes=(2000,) * 10)
_dr = spk('hdr', 6, 1, 4)
honest('stream_drift_mean', PLaw(lambda r, n: _dr(r, n) + 6 * ((np.arange(n) + .5) / n - .5)[:, None] * _dr.truth()[:, 0], 1, _dr._C + 3 * np.outer(_dr.truth()[:, 0], _dr.truth()[:, 0]), _dr._mu), 4000, sizes=(200,) * 20)


# ---------------------------------------------------------------- corruptions
def wrong(r, L, k=1):
    """k orthonormal directions orthogonal to the truth (p > d)."""
    T = L.truth(); p = T.shape[0]
    k = min(k, p - L.d)
    W = r.standard_normal((p, k)); W -= T @ (T.T @ W)
    return np.linalg.qr(W)[0]


def box(a, off=0.0):
    def c(r, X, i, L):
        m, C, s, top, *_ = L.mom()
        X[i] = m + top * (r.uniform(-a, a, (len(i), X.shape[1])) + off * wrong(r, L)[:, 0])
    return c


def shell(rad, thick=.05):
    def c(r, X, i, L):
        m, C, s, top, *_ = L.mom()
        u = r.standard_normal((len(i), X.shape[1])); u /= np.linalg.norm(u, axis=1, keepdims=True)
        X[i] = m + top * rad * u * (1 + thick * r.standard_normal((len(i), 1)))
    return c


def subspace(k, mag, keep=0.0):
    """bad rows spread in k directions orthogonal to the truth, mag top sds; keep: noise of all columns."""
    def c(r, X, i, L):
        m, C, s, top, low, nxt = L.mom()
        W = wrong(r, L, k)
        X[i] = m + top * mag * r.standard_normal((len(i), W.shape[1])) @ W.T + keep * nxt * r.standard_normal((len(i), X.shape[1]))
    return c


def cluster(mag, tight):
    def c(r, X, i, L):
        m, C, s, top, low, nxt = L.mom()
        X[i] = m + top * mag * wrong(r, L)[:, 0] + tight * nxt * r.standard_normal((len(i), X.shape[1]))
    return c


def wider(f, how='rotated'):
    """same centre, scatter times f: rotated (leading axes moved off the truth), iso, or the same shape."""
    def c(r, X, i, L):
        m, C, s, top, *_ = L.mom(); p = X.shape[1]
        w, Q = np.linalg.eigh(C)
        if how == 'rotated':
            A = Q[:, ::-1] * np.sqrt(np.maximum(w, 0))       # largest variance on the smallest axis
        elif how == 'iso':
            A = np.eye(p) * np.sqrt(w.mean())
        else:
            A = Q * np.sqrt(np.maximum(w, 0))
        X[i] = m + np.sqrt(f) * r.standard_normal((len(i), p)) @ A.T
    return c


def shift(k, spread=False):
    """whole group moved k sds (of the first left-out direction) along one wrong direction."""
    def c(r, X, i, L):
        X[i] += k * L.mom()[5] * wrong(r, L)[:, 0]
    return c


def column(k, sym=False, j=-1):
    def c(r, X, i, L):
        s = L.mom()[2]
        X[i, j] += k * s[j] * (r.choice([-1, 1], len(i)) if sym else 1) * (1 + .1 * r.standard_normal(len(i)))
    return c


def cells(q, k):
    """each bad row: a share q of its cells (at least one) off by k sds."""
    def c(r, X, i, L):
        s = L.mom()[2]; p = X.shape[1]
        M = r.random((len(i), p)) < q
        M[np.arange(len(i)), r.integers(0, p, len(i))] = True
        X[i] += M * s * k * r.choice([-1, 1], (len(i), p))
    return c


def put(v, cols):
    def c(r, X, i, L):
        X[np.ix_(i, cols)] = v
    return c


def put_sd(k, j):
    def c(r, X, i, L):
        X[i, j] = L.mom()[0][j] + k * L.mom()[2][j]
    return c


def stuck(r, X, i, L):
    m, C, s, top, low, nxt = L.mom()
    X[i] = m + 4 * top * wrong(r, L)[:, 0]


def drift(k):
    def c(r, X, i, L):
        X[i] += np.linspace(.1, 1, len(i))[:, None] * k * L.mom()[3] * wrong(r, L)[:, 0]
    return c


def constraint(r, X, i, L):
    """wide bad rows that satisfy a'x = const exactly, a the first true direction."""
    m, C, s, top, *_ = L.mom(); a = L.truth()[:, 0]
    Z = 3 * top * r.standard_normal((len(i), X.shape[1]))
    X[i] = m + Z - np.outer(Z @ a, a)


def heavy(k):
    def c(r, X, i, L):
        X[i] = L.mom()[0] + k * L.mom()[3] * r.standard_cauchy((len(i), X.shape[1]))
    return c


def scaled(f):
    def c(r, X, i, L):
        X[i] *= f
    return c


def swap(a, b):
    def c(r, X, i, L):
        X[np.ix_(i, a + b)] = X[np.ix_(i, b + a)]
    return c


def flip(cols):
    def c(r, X, i, L):
        X[np.ix_(i, cols)] *= -1
    return c


def shuffle_cols(r, X, i, L):
    X[i] = X[i][:, r.permutation(X.shape[1])]


def mixed(*cs):
    def c(r, X, i, L):
        for q, part in zip(cs, np.array_split(r.permutation(i), len(cs))):
            if len(part):
                q(r, X, np.sort(part), L)
    return c


p2, p5, p20, p50, p200 = spk('d2', 2, 1, 6), spk('d5', 5, 2), spk('d20', 20, 3, 12), spk('d50', 50, 3, 20), spk('d200', 200, 4, 30)
p8, p8e, p8t, p8ax, p8m = spk('d8', 8, 2), spk('d8e', 8, 2, 9, 'exp'), spk('d8t', 8, 2, 12, 'mt5'), spk('d8a', 8, 2, axis=True), spk('d8m', 8, 2, mu=20)

# ---------------------------------------------------------------- dirty tables
dirty('box_p5', p5, 300, .3, box(6))
dirty('box_offcentre_p20', p20, 1000, .35, box(2, 6))
dirty('sphere_p5', p5, 1000, .4, shell(6))
dirty('shell_far_p20', p20, 1000, .3, shell(40))
dirty('shell_thin_p2', p2, 300, .3, shell(8, .001), note='isotropic: plain is only noisier')
dirty('plane_p5', p5, 300, .3, subspace(2, 3))
dirty('plane_exact_p20', p20, 1000, .4, subspace(3, 2))
dirty('subspace_p50', p50, 1000, .4, subspace(3, 3, 1.0))
dirty('subspace_same_size_p20', p20, 4000, .4, subspace(3, 1.0, 1.0), note='bad rows no longer than honest ones', how='stretches')
dirty('subspace_p200', p200, 1000, .3, subspace(4, 3, 1.0))
dirty('line_p2', p2, 100, .35, subspace(1, 4, .1))
dirty('line_20000_p8', p8, 20000, .4, subspace(1, 3, 1.0))
dirty('cluster_near_tight', p8, 500, .3, cluster(2, .1))
dirty('cluster_near_loose', p8, 500, .3, cluster(3, 1))
dirty('cluster_far_tight', p20, 300, .4, cluster(30, .1))
dirty('cluster_far_point', p5, 100, .2, cluster(1e3, 0))
dirty('cluster_p200', p200, 300, .3, cluster(5, .5))
dirty('cluster_n_lt_p', spk('dnp', 200, 2, 80), 100, .3, cluster(4, 1))
for f in (9, 25):
    for nm, L, n in (('p2', p2, 300), ('p5', p5, 1000), ('p20', p20, 1000)):
        dirty(f'wider{f}_{nm}', L, n, .3, wider(f))
dirty('wider25_iso_p5', p5, 1000, .4, wider(25, 'iso'))
dirty('wider100_iso_p20', p20, 1000, .4, wider(100, 'iso'))
dirty('wider25_same_shape_p5', p5, 1000, .3, wider(25, 'same'), note='easy: same axes, harmless to direction')
dirty('shift8_p8', p8, 1000, .4, shift(8))
dirty('shift5_p2', spk('d2b', 2, 1, 4), 1000, .35, shift(5))
dirty('shift10_p20', p20, 1000, .4, shift(10))
dirty('shift20_stretch_exp', p8e, 1000, .35, shift(20), 'stretch')
dirty('shift20_mt5', p8t, 1000, .3, shift(20))
dirty('column20', p8, 1000, .2, column(20))
dirty('column20_sym_axis', p8ax, 1000, .3, column(20, True))
dirty('column_1e4', p20, 300, .1, column(1e4))
dirty('cells5pct_p8', p8, 1000, .34, cells(.10, 10), note='about 5% of cells')
dirty('cells5pct_p20', p20, 2000, .35, cells(.10, 10), note='about 5% of cells')
dirty('cells_p50', p50, 1000, .4, cells(.05, 20))
dirty('codes_9999', p8, 500, .1, put(9999., [3]))
dirty('codes_-1_0', p8m, 1000, .3, mixed(put(-1., [1, 5]), put(0., [2])))
dirty('codes_0_all', p8m, 1000, .3, put(0., list(range(8))), 'stretch')
dirty('stuck_rows', p8, 500, .35, stuck, 'stretch')
dirty('column_filled_30', p8ax, 1000, .3, put_sd(8, 6))
dirty('column_filled_zero_40', spk('cfm', 5, 1, 4, mu=10), 1000, .4, put(0., [1]))
dirty('drift_end', p8, 1000, .35, drift(4), 'end')
dirty('drift_stretch_p20', p20, 1000, .3, drift(6), 'stretch')
dirty('constraint_bad', p5, 1000, .35, constraint, note='bad rows satisfy an exact linear constraint')
dirty('constraint_good_broken', lowrank, 400, .3, subspace(2, 2, .5), note='honest rows are exactly low rank: oracle error is 0, floor it')
dirty('garbage_cauchy_p5', p5, 300, .3, heavy(3))
dirty('garbage_cauchy_p50', p50, 4000, .4, heavy(2))
dirty('scaled_x100_mean', p8m, 1000, .15, scaled(100))
dirty('swapped_columns', p8ax, 1000, .35, swap([0, 1], [6, 7]), note='easy: plain under 2x the oracle')
dirty('swapped_columns_means', PLaw(lambda r, n: p8ax(r, n) + np.arange(8) * 3., 2, p8ax._C, np.arange(8) * 3.), 1000, .3, swap([0, 1], [6, 7]))
dirty('lowrank_garbage_p50', p50, 1000, .35, subspace(1, 10))
dirty('shift5_p20', p20, 4000, .4, shift(5), note='easy: 5 sd of the noise along a left-out direction')
dirty('shuffled_columns', spk('dsh', 12, 3, 15, axis=True, mu=5), 1000, .4, shuffle_cols)
dirty('sign_flips', spk('dsf', 6, 1, 20, mu=4), 1000, .4, flip([0, 2, 4]))
dirty('mixed_p20', p20, 1000, .4, mixed(cluster(5, .5), shell(6), cells(.2, 20), subspace(2, 4)))
dirty('three_classes_cluster', PLaw(lambda r, n: _tri[r.integers(0, 3, n)] + r.standard_normal((n, 10)), 2), 900, .2, cluster(6, .3))
dirty('counts_codes_999', counts, 500, .1, put(999., [4]))
dirty('ring_line', ring, 400, .3, subspace(1, 3, .2))
dirty('smooth_cells', smooth, 500, .3, cells(.15, 20))
dirty('sparse_shift', sparse, 1500, .3, subspace(1, 3, 1))
dirty('scales_column_code', scales, 400, .2, put(5e4, [4]))

# ---------------------------------------------------------------- dirty streams
stream('stream_subspace_45_300', p8, 300, 20, .45, subspace(2, 2, 1.0))
stream('stream_subspace_40_50', p5, 50, 60, .4, subspace(1, 3, 1.0))
stream('stream_subspace_30_2000_rows', p50, 2000, 10, .3, subspace(3, 2, 1.0), .1, cluster(6, .5))
stream('stream_scaled_40', p8m, 300, 20, .4, scaled(100), .1, column(20))
stream('stream_shift_45', p8, 300, 20, .45, shift(12), how='random')
stream('stream_shift_each_own_40', p20, 300, 30, .4, shift(20), per_batch=True)
stream('stream_collude_45', p20, 300, 40, .45, cluster(5, .3))
stream('stream_collude_start_40', p8, 300, 20, .4, subspace(1, 3, 1.0), how='start')
stream('stream_garbage_40', p8, 300, 20, .4, heavy(2), .1, cells(.2, 10))
stream('stream_swapped_40', p8ax, 300, 20, .4, swap([0, 1], [6, 7]), .1, column(20))
stream('stream_wider_45', p5, 50, 100, .45, wider(16))
stream('stream_stuck_30_t5', p8t, 300, 20, .3, stuck, .1, shift(20))
stream('stream_subspace_45_rows10', p8, 300, 40, .45, subspace(2, 2, 1.0), .1, cluster(6, .5), note='50.5% of all rows bad')
