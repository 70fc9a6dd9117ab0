"""Interface of the development kinds: samples, kinds and truth helpers."""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional, Tuple

import numpy as np

TRUTH_ROWS = 400_000
TRUTH_SEED = 20_240_601


class Sample(NamedTuple):
    X: np.ndarray                       # (n, p) float
    y: Optional[np.ndarray]             # (n,) or None for PCA
    good: np.ndarray                    # (n,) bool, True = honest row
    truth: np.ndarray                   # regression (p+1,): slopes, intercept; PCA (p, d)
    n_components: Optional[int]         # d for PCA, None for regression
    sizes: Optional[Tuple[int, ...]]    # None: whole table to fit; else rows of successive batches


@dataclass
class Kind:
    name: str
    problem: str                        # 'regression' | 'pca'
    honest: bool
    make: Callable[[np.random.Generator], Sample]
    note: str = ''
    sweep: Optional[Callable[[np.random.Generator, float, int], Sample]] = None


def least_squares(X, y):
    """Plain least squares with intercept, on standardised columns: (p+1,) slopes then intercept."""
    X = np.asarray(X, float)
    y = np.asarray(y, float)
    m = X.mean(0)
    s = X.std(0)
    flat = s <= 1e-12 * (1 + np.abs(m))
    s = np.where(flat, 1.0, s)
    Z = (X - m) / s
    Z[:, flat] = 0.0
    ym = y.mean()
    b = np.linalg.lstsq(Z, y - ym, rcond=1e-10)[0] / s
    return np.append(b, ym - m @ b)


def pca_basis(X, d):
    """Plain PCA: (p, d) orthonormal basis of the leading d principal directions."""
    X = np.asarray(X, float)
    Z = X - X.mean(0)
    if X.shape[0] >= X.shape[1]:
        return np.linalg.eigh(Z.T @ Z / len(Z))[1][:, ::-1][:, :d].copy()
    return np.linalg.svd(Z, full_matrices=False)[2][:d].T.copy()


def cov_basis(C, d):
    return np.linalg.eigh(np.asarray(C, float))[1][:, ::-1][:, :d].copy()


@functools.lru_cache(maxsize=None)
def regression_truth(draw, seed=TRUTH_SEED, rows=TRUTH_ROWS):
    """Truth of an honest law without closed form: draw(rng, rows) -> X, y. `draw` must be hashable
    (module level or created once), the answer is cached by (draw, seed, rows)."""
    X, y = draw(np.random.default_rng(seed), rows)
    return least_squares(X, y)


@functools.lru_cache(maxsize=None)
def pca_truth(draw, d, seed=TRUTH_SEED, rows=TRUTH_ROWS):
    """As regression_truth: draw(rng, rows) -> X. Done in pieces so wide laws fit in memory."""
    rng = np.random.default_rng(seed)
    left, S, m, n, shift = rows, 0.0, 0.0, 0, None
    while left > 0:
        k = min(left, 20_000)
        X = np.asarray(draw(rng, k), float)
        if shift is None:
            shift = X.mean(0)
        X = X - shift
        S = S + X.T @ X
        m = m + X.sum(0)
        n += k
        left -= k
    m = m / n
    return cov_basis(S / n - np.outer(m, m), d)


# ---- errors: the same for estimator and oracle -------------------------------------------------

def regression_error(coef, s: Sample):
    """Root mean squared difference of predicted and true line over honest rows (units of y)."""
    G = s.X[s.good]
    c = np.asarray(coef, float) - s.truth
    return float(np.sqrt(np.mean((G @ c[:-1] + c[-1]) ** 2)))


def pca_error(V, s: Sample):
    """Sine-type distance of subspaces: ||(I - V V') T||_F (0..sqrt d)."""
    V = np.asarray(V, float)
    T = s.truth
    return float(np.linalg.norm(T - V @ (V.T @ T)))


def oracle(s: Sample):
    return least_squares(s.X[s.good], s.y[s.good]) if s.y is not None else pca_basis(s.X[s.good], s.n_components)


def plain(s: Sample):
    return least_squares(s.X, s.y) if s.y is not None else pca_basis(s.X, s.n_components)


def error(est, s: Sample):
    return regression_error(est, s) if s.y is not None else pca_error(est, s)
