"""Plumbing shared by judge_a and judge_b: turns a clean law and a fault into a Kind."""
import os
import sys
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from interface import Kind, Sample, pca_truth, regression_truth  # noqa: E402


def pick(rng, n, share, how):
    """Mask of bad rows. how: random, start, end, middle, runs (several stretches), sprinkled."""
    k = int(round(share * n))
    bad = np.zeros(n, bool)
    if k == 0:
        return bad
    if how == 'random':
        bad[rng.choice(n, k, replace=False)] = True
    elif how == 'start':
        bad[:k] = True
    elif how == 'end':
        bad[n - k:] = True
    elif how == 'middle':
        a = int(rng.integers(n // 10, max(n // 10 + 1, n - k - n // 20)))
        bad[a:a + k] = True
    elif how == 'runs':
        parts = 4
        seg = n // parts
        for j in range(parts):
            kk = k // parts
            a = j * seg + int(rng.integers(0, seg - kk + 1))
            bad[a:a + kk] = True
    else:
        raise ValueError(how)
    return bad


def build(rng, draw, n, hurt, share, how, sizes, batches, order, stray, stray_hurt, regression):
    if sizes is not None:
        sizes = tuple(int(v) for v in (sizes(rng) if callable(sizes) else sizes))
        n = sum(sizes)
    got = draw(rng, n)
    truth = None
    if regression:
        X, y = got[0], got[1]
        if len(got) == 3:
            truth = got[2]
    else:
        X, y = got, None
        if isinstance(got, tuple):
            X, truth = got
    X = np.array(X, float)
    y = None if y is None else np.array(y, float)
    X0, y0 = X.copy(), None if y is None else y.copy()
    good = np.ones(n, bool)
    key = int(rng.integers(2 ** 31))

    def apply(fault, idx, b):
        if len(idx) == 0:
            return
        c = SimpleNamespace(X=X0, y=y0, i=idx, n=n, t=idx / n, b=b, truth=truth, shared=np.random.default_rng(key))
        if regression:
            out = fault(rng, X[idx].copy(), y[idx].copy(), c)
            X[idx], y[idx] = out
        else:
            X[idx] = fault(rng, X[idx].copy(), c)
        good[idx] = False

    if hurt is not None:
        if sizes is None:
            apply(hurt, np.flatnonzero(pick(rng, n, share, how)), None)
        else:
            bb = pick(rng, len(sizes), batches, order)
            at = np.concatenate([[0], np.cumsum(sizes)])
            for b in range(len(sizes)):
                rows = np.arange(at[b], at[b + 1])
                if bb[b]:
                    apply(hurt, rows, b)
                elif stray:
                    apply(stray_hurt or hurt, rows[pick(rng, len(rows), stray, 'random')], b)
    return X, y, good, truth, sizes


class Book:
    def __init__(self):
        self.KINDS = []

    def reg(self, name, draw, n=None, hurt=None, share=0.0, how='random', sizes=None, batches=0.0, order='random',
            stray=0.0, stray_hurt=None, note=''):
        def make(rng):
            X, y, good, truth, sz = build(rng, draw, n, hurt, share, how, sizes, batches, order, stray, stray_hurt, True)
            if truth is None:
                truth = regression_truth(draw)
            return Sample(X, y, good, np.asarray(truth, float), None, sz)
        self.KINDS.append(Kind(name, 'regression', hurt is None, make, note))

    def pca(self, name, draw, d, n=None, hurt=None, share=0.0, how='random', sizes=None, batches=0.0, order='random',
            stray=0.0, stray_hurt=None, note='', rows=200_000):
        def make(rng):
            X, _, good, truth, sz = build(rng, draw, n, hurt, share, how, sizes, batches, order, stray, stray_hurt, False)
            if truth is None:
                truth = pca_truth(draw, d, rows=rows)
            return Sample(X, None, good, np.asarray(truth, float), d, sz)
        self.KINDS.append(Kind(name, 'pca', hurt is None, make, note))


def check(kinds, seeds=5):
    import time

    from interface import error, oracle, plain
    out = []
    for k in kinds:
        k.make(np.random.default_rng(0))
        r, o, tm, sh = [], [], [], []
        for s in range(seeds):
            t0 = time.time()
            z = k.make(np.random.default_rng(1000 + s))
            tm.append(time.time() - t0)
            assert np.isfinite(z.X).all() and np.isfinite(z.truth).all(), k.name
            assert z.y is None or (np.isfinite(z.y).all() and len(z.y) == len(z.X)), k.name
            assert z.sizes is None or sum(z.sizes) == len(z.X), k.name
            eo, ep = error(oracle(z), z), error(plain(z), z)
            o.append(eo if z.y is None else eo / z.y[z.good].std())
            r.append(ep / eo)
            sh.append(1 - z.good.mean())
        flag = ''
        if k.honest and np.max(sh) > 0:
            flag += ' HONEST-WITH-BAD'
        if not k.honest and np.mean(np.array(r) >= 2) < 0.8:
            flag += ' WEAK'
        if max(tm) > 0.3:
            flag += ' SLOW'
        if z.y is None and np.median(o) > 0.3 * np.sqrt(z.n_components):
            flag += ' ORACLE'
        if z.y is not None and np.median(o) > 0.3:
            flag += ' ORACLE'
        nb = '-' if z.sizes is None else f'{len(z.sizes)}'
        print(f'{k.problem[:3]} {"H" if k.honest else "D"} {k.name:34s} n={len(z.X):6d} p={z.X.shape[1]:4d} nb={nb:>3s} '
              f'bad={np.mean(sh):.3f} oracle={np.median(o):.4f} plain/or={np.median(r):9.2f} min={np.min(r):8.2f} t={max(tm):.2f}{flag}')
        out.append((k.name, flag))
    names = [k.name for k in kinds]
    assert len(set(names)) == len(names)
    for pr in ('regression', 'pca'):
        q = [k for k in kinds if k.problem == pr]
        print(pr, len(q), 'honest', sum(k.honest for k in q))
    print('flags', [v for v in out if v[1]])
