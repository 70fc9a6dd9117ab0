"""Models of targets given x: two lines by expectation maximisation, and one line with noise of several laws.

The model of two lines is stated in `robustream.majority.line`, which chooses between these.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.elementary import exponential, logarithm, sum_of_logarithms
from robustream.kernels.row_loops import column_products
from robustream.majority.evidence import Array, log_concave

Mask = NDArray[np.bool_]
Form = Literal["free", "flat", "parallel", "none"]
FORMS = ("free", "flat", "parallel", "none")

_CHUNK = 256  # rows at a time, so that columns stay in the cache
LEVEL = 3.0  # z score of the score tests and of Hausman's that least squares has to pass
NARROWEST = 0.05  # ratio of the smaller line's noise to the other's; the likelihood is unbounded without (Hathaway)
WIDEST = 1.5  # noise wider than this, in scales of y, is no line's: it may hold most rows and is not the majority
ROWS_OF_A_LINE = 2  # for each coefficient: fewer lie on some line by chance
LOCAL = 0.5  # a line is fitted where most rows at their distance follow it: the majority's rule, applied locally
TAILS = (30.0, 10.0, 5.0, 3.0, 2.0, 1.4, 1.0)  # degrees of freedom of t noise: a coarse grid, nearly normal to Cauchy
T_SETTLED = 0.01  # change of the square of a t law's scale that ends its steps
MODES = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98])
NOISE_BINS = 32  # of residuals, for their log-concave law
RIDGE = 1e-9  # of a column's square: numerical rank
NORMAL_MAD = 1.482602218505602
LOG_2PI = math.log(2 * math.pi)
SETTLED = 0.05  # gain of log likelihood that ends the steps
STILL = 0.03  # change of the gate's coefficients that ends its steps


# --- weighted least squares in Cholesky factors -------------------------------------------------------------------


@njit(cache=True, error_model="numpy")
def _scaled(A: Array, w: Array, out: Array) -> None:
    for i in range(len(A)):
        root = math.sqrt(w[i])
        for j in range(A.shape[1]):
            out[i, j] = root * A[i, j]


def fit_weighted(A: Array, w: Array | None = None) -> tuple[Array, Array]:
    """Return least squares of the last column on the others, and the Cholesky factor of their products."""
    S = A
    if w is not None and is_device_array(A):
        S = A * np.sqrt(w)[:, None]
    elif w is not None:
        S = np.empty_like(A)
        _scaled(A, w, S)
    G = S.T @ S
    k = len(G) - 1
    H, d = G[:k, :k].copy(), G.diagonal()[:k]
    H.flat[:: k + 1] += RIDGE * np.maximum(d, RIDGE * len(A)) + 1e-300
    L, failed = dpotrf(H, lower=1)
    if failed:
        H.flat[:: k + 1] += 1e-6 * (d + 1e-6 * len(A))
        L, failed = dpotrf(H, lower=1)
    return dpotrs(L, G[:k, k], lower=1)[0], L


def leverage(D: Array, L: Array) -> Array:
    """Return d' (L L')^-1 d of each row."""
    inverse = dtrtri(L, lower=1)[0]
    if is_device_array(D):
        Z = D @ inverse.T
    else:  # the product with a triangle is half of the work
        Z = dtrmm(1.0, inverse, np.array(D, dtype=float, order="C").T, lower=1, overwrite_b=1).T
    return np.einsum("ij,ij->i", Z, Z)


def smaller_half(a: Array) -> Mask:
    """Mark the smaller half of the values."""
    return a <= np.partition(a, len(a) // 2)[len(a) // 2]


# --- laws of the noise --------------------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy")
def _t_constant(nu: float) -> float:
    return math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu / 2)


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "arcp"})
def _t_step(squares: Array, w: Array, nu: float, v: float) -> float:
    total = 0.0
    for i in range(len(squares)):
        total += w[i] * squares[i] * (nu + 1) * v / (nu * v + squares[i])
    return total


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _t_logs(squares: Array, w: Array, width: float) -> float:
    total = 0.0
    for i in range(len(squares)):
        total += w[i] * logarithm(1 + squares[i] / width)
    return total


@njit(cache=True, error_model="numpy", nogil=True)
def t_noise(r: Array, w: Array) -> tuple[float, float, float]:
    """Return log likelihood, degrees of freedom and scale of weighted residuals; normal unless t pays for itself.

    Degrees of freedom are tried downwards, as long as the likelihood grows.
    """
    total, squares = w.sum(), r * r
    v = (w * squares).sum() / total + 1e-300
    best = (-0.5 * total * (LOG_2PI + math.log(v) + 1), math.inf, math.sqrt(v))
    enough = best[0] + 0.5 * math.log(total + 1)  # Schwarz's penalty for a parameter
    before = best[0]
    for nu in TAILS:
        for _ in range(10):
            new = _t_step(squares, w, nu, v) / total + 1e-300
            settled = abs(new / v - 1) < T_SETTLED
            v = new
            if settled:
                break
        ll = _t_logs(squares, w, nu * v)
        ll = total * (_t_constant(nu) - 0.5 * (LOG_2PI + math.log(v))) - (nu + 1) / 2 * ll
        if ll > best[0] and ll > enough:
            best = (ll, nu, math.sqrt(v))
        if ll < before:
            break
        before = ll
    return best


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _pull(side: Array, mode: float, nu: float, s: float) -> float:
    """Return the squares of the values of one side, by the weights of a t law, or of a normal one."""
    total = 0.0
    if math.isinf(nu):
        for i in range(len(side)):
            total += (side[i] - mode) ** 2
    else:
        for i in range(len(side)):
            square = (side[i] - mode) ** 2
            total += (nu + 1) * square / (nu + square / (s * s))
    return total


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _side(side: Array, mode: float, nu: float, s: float) -> float:
    """Return the log likelihood of the values of one side, but for a constant."""
    if math.isinf(nu):
        return -0.5 * _pull(side, mode, nu, s) / (s * s)
    total = 0.0
    for i in range(len(side)):
        total += logarithm(1 + ((side[i] - mode) / s) ** 2 / nu)
    return -(nu + 1) / 2 * total


@njit(cache=True, error_model="numpy")
def _two_piece(S: Array, modes: Array) -> float:
    best, n = -1e300, len(S)
    for mode in modes:
        at = np.searchsorted(S, mode)
        below, above = S[:at], S[at:]
        for nu in (1.5, 3.0, 6.0, 20.0, np.inf):
            left, right = _pull(below, mode, np.inf, 1.0), _pull(above, mode, np.inf, 1.0)
            s1, s2 = 1.0, 1.0
            for _ in range(5):
                # The scales that maximise the likelihood of a two-piece normal law, s1^3 / left = s2^3 / right.
                ratio = (right / (left + 1e-300)) ** (1 / 3)
                s1 = max(math.sqrt(left * (1 + ratio) / n), 1e-9)
                s2 = max(ratio * s1, 1e-9)
                if np.isinf(nu):
                    break
                left, right = _pull(below, mode, nu, s1), _pull(above, mode, nu, s2)
            ll = n * (math.log(2 / (s1 + s2)) - 0.5 * LOG_2PI) + _side(below, mode, nu, s1) + _side(above, mode, nu, s2)
            if not np.isinf(nu):
                ll += n * _t_constant(nu)
            best = max(best, ll)
    return best


def skewed_noise(r: Array) -> float:
    """Return the log likelihood of residuals under the two-piece t law that fits best, its mode among quantiles."""
    S = np.sort(r)
    return float(_two_piece(S, np.quantile(S, MODES)))


def likelihood_bound(r: Array) -> float:
    """Return what hardly any smooth law's log likelihood of residuals exceeds: n times their entropy (Vasicek 1976).

    By spacings of the cube root of n ordered residuals to either side; it estimates the entropy from below.
    """
    n = len(r)
    w = int(n ** (1 / 3) + 0.5)
    ordered = np.sort(r)
    padded = np.concatenate([np.full(w, ordered[0]), ordered, np.full(w, ordered[-1])])
    spacings = padded[2 * w :] - padded[: -2 * w]
    if not spacings.min() > 0:
        return math.inf
    return float(-np.log(spacings * n / (2 * w)).sum())


def log_concave_noise(r: Array) -> float:
    """Return the log likelihood of residuals under the best log-concave law, in bins: normal, uniform, exponential."""
    low, high = float(r.min()), float(r.max())
    if not high > low:
        return -math.inf
    counts = np.bincount(
        np.minimum((NOISE_BINS * (r - low) / (high - low)).astype(int), NOISE_BINS - 1), minlength=NOISE_BINS
    )
    return float(log_concave(counts.astype(float))) - len(r) * math.log((high - low) / NOISE_BINS)


@njit(cache=True, error_model="numpy")
def _posteriors(
    r1: Array,
    r2: Array,
    prior: Array,
    other: Mask,
    s: float,
    t: float,
    q: float,
    c: float,
    nu: float,
    w1: Array,
    w2: Array,
    tail: Array,
) -> float:
    """Fill in the posteriors of the two lines and the weights of the t law; return the log likelihood.

    `kernels.gpu.rows.line_posteriors` is the same for rows on a GPU, and has to change with it.
    """
    n, front = len(r1), 1.0 if math.isinf(nu) else math.exp(_t_constant(nu))
    reach = math.sqrt(math.pi / 2) / c  # half of the width that the constant density spreads over; beyond it falls off
    totals = np.empty(n)
    if math.isinf(nu):
        for i in range(n):
            w1[i] = exponential(-0.5 * (r1[i] / s) ** 2)
            tail[i] = 1.0
    else:
        for i in range(n):
            z2 = (r1[i] / s) ** 2
            w1[i] = front * exponential(-(nu + 1) / 2 * logarithm(1 + z2 / nu))
            tail[i] = (nu + 1) / (nu + z2)
    for i in range(n):
        f1 = w1[i] * prior[i] / s
        f2 = (1 - prior[i]) * q / t * exponential(-0.5 * (r2[i] / t) ** 2)
        f2 = f2 if other[i] else 0.0
        decay = 0.5 * (reach / max(abs(r1[i]), reach)) ** 2  # half of it lies within
        totals[i] = f1 + f2 + (1 - prior[i]) * (1 - q) * c * decay + 1e-300
        w1[i], w2[i] = f1 / totals[i], f2 / totals[i]
    return sum_of_logarithms(totals) - 0.5 * n * LOG_2PI


# --- two lines ----------------------------------------------------------------------------------------------------


def _logistic(f: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(f, -30, 30)))


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _gate_sums(Z: Array, w: Array, f: tuple[float, float, float]) -> tuple[float, ...]:
    """Return the gradient of the logistic likelihood, and the upper triangle of its Hessian."""
    g0 = g1 = g2 = h00 = h01 = h02 = h11 = h12 = h22 = 0.0
    for i in range(len(w)):
        z1, z2 = Z[1, i], Z[2, i]
        prior = 1 / (1 + exponential(-min(max(f[0] + f[1] * z1 + f[2] * z2, -30.0), 30.0)))
        d, v = w[i] - prior, prior * (1 - prior) + 1e-3
        g0 += d
        g1 += d * z1
        g2 += d * z2
        h00 += v
        h01 += v * z1
        h02 += v * z2
        h11 += v * z1 * z1
        h12 += v * z1 * z2
        h22 += v * z2 * z2
    return g0, g1, g2, h00, h01, h02, h11, h12, h22


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _gate_likelihood(Z: Array, w: Array, f: tuple[float, float, float]) -> float:
    total = 0.0
    for i in range(len(w)):
        logit = min(max(f[0] + f[1] * Z[1, i] + f[2] * Z[2, i], -30.0), 30.0)
        total += w[i] * logit - logarithm(1 + exponential(logit))
    return total


@njit(cache=True, error_model="numpy", nogil=True)
def fit_gate(Z: Array, w: Array, a: Array) -> Array:
    """Return the logistic regression of posteriors on log distances (rows of Z); flat where it gains too little."""
    n, m = len(w), min(max(w.mean(), 0.01), 0.99)
    best, most = np.array([math.log(m / (1 - m)), 0.0, 0.0]), 0.0
    base = n * (m * best[0] - math.log1p(math.exp(best[0])))
    scores, spreads = np.zeros(3), np.full(3, 1e-300)
    for i in range(n):
        for j in (1, 2):
            scores[j] += (w[i] - m) * Z[j, i]
            spreads[j] += m * (1 - m) * Z[j, i] ** 2
    steepest = max(-scores[1] / math.sqrt(spreads[1]), scores[2] / math.sqrt(spreads[2]))
    if a[1] == 0 and a[2] == 0 and steepest**2 < math.log(n):
        return best  # the score says already that there is nothing to gain
    second = spreads[2] > 1e-300
    for use_1, use_2 in ((True, True), (True, False), (False, True)):
        if use_2 and not second:
            continue
        f0 = a[0]
        f1 = a[1] if use_1 and a[1] <= 0 else 0.0
        f2 = a[2] if use_2 and a[2] >= 0 else 0.0
        # A column that is not used has a row of the identity in the equations: its coefficient stays 0.
        for _ in range(4):
            g0, g1, g2, h00, h01, h02, h11, h12, h22 = _gate_sums(Z, w, (f0, f1, f2))
            g0, g1, g2 = g0 - 0.01 * f0, g1 - 0.01 * f1, g2 - 0.01 * f2
            h00, h11, h22 = h00 + 0.01, h11 + 0.01, h22 + 0.01
            if not use_1:
                g1, h01, h11, h12 = 0.0, 0.0, 1.0, 0.0
            if not use_2:
                g2, h02, h12, h22 = 0.0, 0.0, 0.0, 1.0
            # Gauss's elimination of three equations, of which none is singular: the ridge of 0.01.
            p1, p2 = h01 / h00, h02 / h00
            h11, h12, h22, g1, g2 = h11 - p1 * h01, h12 - p1 * h02, h22 - p2 * h02, g1 - p1 * g0, g2 - p2 * g0
            d2 = (g2 - h12 / h11 * g1) / (h22 - h12 * h12 / h11)
            d1 = (g1 - h12 * d2) / h11
            d0 = (g0 - h01 * d1 - h02 * d2) / h00
            f0, f1, f2 = f0 + d0, f1 + d1, f2 + d2
            if abs(d0) + abs(d1) + abs(d2) < STILL:
                break
        gain = _gate_likelihood(Z, w, (f0, f1, f2)) - base - 0.5 * (int(use_1) + int(use_2)) * math.log(n)
        if f1 <= 0 <= f2 and gain > most:
            best, most = np.array([f0, f1, f2]), gain
    return best


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _factor(G: Array, n: int) -> Array:
    """Return the Cholesky factor of all but the last row and column of products, with the ridge of `fit_weighted`."""
    k = len(G) - 1
    L = np.zeros((k, k))
    for ridge in (0.0, 1e-6, 1.0):
        good = True
        for j in range(k):
            for i in range(j, k):
                v = G[i, j]
                for m in range(j):
                    v -= L[i, m] * L[j, m]
                if i > j:
                    L[i, j] = v / L[j, j]
                else:
                    v += RIDGE * max(G[j, j], RIDGE * n) + 1e-300 + ridge * (G[j, j] + 1e-6 * n)
                    good = v > 0
                    if not good:
                        break
                    L[j, j] = math.sqrt(v)
            if not good:
                break
        if good:
            break
    return L


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _solved(L: Array, v: Array) -> Array:
    """Return (L L')^-1 v, and a zero for the place of the target."""
    k = len(L)
    x = np.zeros(k + 1)
    for i in range(k):
        f = v[i]
        for j in range(i):
            f -= L[i, j] * x[j]
        x[i] = f / L[i, i]
    for i in range(k - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]
    return x


@njit(cache=True, error_model="numpy", nogil=True)
def residual_squares(products: Array, n: int) -> Array:
    """Return the sums of squared residuals of the last column on the others, from matrices of products of n rows.

    Where columns have no digits left to be told apart by, nothing is explained.
    """
    k = products.shape[1] - 1
    out = np.empty(len(products))
    for i in range(len(products)):
        G = products[i]
        L = _factor(G, n)
        out[i] = G[k, k]
        known = True
        for j in range(k):
            known &= L[j, j] > 0
        if known:
            b = _solved(L, G[:, k])
            for j in range(k):
                out[i] -= b[j] * G[j, k]
    return out


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _log_distances(T: Array, L: Array, total: float, w: Array, out: Array) -> None:
    """Fill in what `TwoLines._distance` returns."""
    k, n = len(L), T.shape[1]
    inverse = np.zeros((k, k))
    for j in range(k):
        inverse[j, j] = 1 / L[j, j]
        for i in range(j + 1, k):
            f = 0.0
            for m in range(j, i):
                f -= L[i, m] * inverse[m, j]
            inverse[i, j] = f / L[i, i]
    Z = inverse @ T[:k]
    out[:] = 0.0
    for j in range(k):
        for i in range(n):
            out[i] += Z[j, i] * Z[j, i]
    for i in range(n):
        out[i] = 0.5 * logarithm(total * out[i] / max(1 - w[i] * out[i], 1e-6) + 1e-12)


@njit(cache=True, error_model="numpy", nogil=True)
def _turned(A: Array) -> Array:
    """Return the columns of rows one after the other, and a row of zeros where their number is odd."""
    n, k = A.shape
    T = np.zeros((k + k % 2, n))
    for j in range(k):
        for i in range(n):
            T[j, i] = A[i, j]
    return T


@njit(cache=True, error_model="numpy", nogil=True)
def _weighted_products(T: Array, w: Array) -> Array:
    """Return the lower triangle of the products of columns, of weighted rows."""
    k, n = T.shape
    S, G = np.empty((k, _CHUNK)), np.zeros((k, k))
    for first in range(0, n, _CHUNK):
        size = min(_CHUNK, n - first)
        for j in range(k):
            np.multiply(w[first : first + size], T[j, first : first + size], S[j, :size])
        column_products(S, T, first, size, G)
    return G


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _residuals(T: Array, y: Array, b: Array, k: int, out: Array) -> None:
    """Fill in y less the fit of coefficients b."""
    out[:] = y
    for j in range(k):
        for i in range(len(y)):
            out[i] -= b[j] * T[j, i]


@njit(cache=True, error_model="numpy", nogil=True)
def _take_steps(
    A: Array,
    w1: Array,
    w2: Array,
    tail: Array,
    near: Mask,
    other: Mask,
    a: Array,
    Z: Array,
    middle: Array,
    numbers: tuple[float, float, float, float, float, float, float],
    form: int,
    taken: int,
    steps: int,
) -> tuple[Any, ...]:
    """Take steps of expectation maximisation, compiled; arrays are filled in place."""
    s, t, shift, ll, nu, c, floor = numbers
    n, k = len(A), A.shape[1] - 1
    free, flat, parallel, alone = form == 0, form == 1, form == 2, form == 3
    T, y = _turned(A), A[:, k].copy()
    u, v2, r1, r2, prior = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    b, g, L, L2 = np.zeros(k + 1), np.zeros(k + 1), np.zeros((k, k)), np.zeros((k, k))
    none: Array = np.zeros((0, 0))
    gate, gate2 = (none, 0.0), (none, 0.0)  # scatters that the gate was fitted with
    q = n1 = n2 = 0.0
    for step in range(steps):
        n1 = n2 = size = 0.0
        both = parallel and s > 0
        ratio = min(1.0, (s / t) ** 2) if both else 0.0
        for i in range(n):
            u[i] = w1[i] * tail[i] * (1.0 if parallel or near[i] else 0.0)
            v2[i] = w2[i] * (1.0 if parallel or other[i] else 0.0)
            n1 += w1[i] * near[i]
            n2 += v2[i]
            size += w1[i] * (1.0 if parallel or near[i] else 0.0)
            lent = w2[i] * ratio
            T[k, i] = y[i] - (shift * lent / (u[i] + lent + 1e-300) if both else 0.0)
            u[i] += lent
        n1, n2 = max(n1, 1e-9), max(n2, 1e-9)
        G = _weighted_products(T, u)
        L = _factor(G[: k + 1, : k + 1], n)
        b = _solved(L, G[k])
        _residuals(T, y, b, k, r1)
        square = 0.0
        for i in range(n):
            square += w1[i] * (1.0 if parallel or near[i] else 0.0) * tail[i] * r1[i] * r1[i]
        lost = k * (size / n if parallel else 1.0)
        s = math.sqrt(square / max(size - lost, size / 4, 1e-9)) + 1e-12
        lost = 1.0
        if free:
            G = _weighted_products(T, v2)
            L2 = _factor(G[: k + 1, : k + 1], n)
            g = _solved(L2, G[k])
            lost = float(k)
        elif flat:
            g[k - 1] = np.sum(v2 * y) / n2
        else:
            shift = np.sum(v2 * r1) / n2
            g = b.copy()
            g[k - 1] += shift
        _residuals(T, y, g, k, r2)
        t = math.sqrt(np.sum(v2 * r2 * r2) / max(n2 - lost, n2 / 4)) + 1e-12
        narrow = NARROWEST * max(s, t)
        s = max(s, narrow if n1 < n2 else 0.0, floor)
        t = max(t, narrow if n2 <= n1 else 0.0, floor)
        refresh = taken % 3 == 2
        if refresh:
            second = not alone and n2 > k
            _log_distances(T, L, n1, u, Z[1])
            if second:
                for i in range(n):
                    v2[i] = w2[i] * other[i]
                if not free:
                    L2 = _factor(_weighted_products(T, v2)[: k + 1, : k + 1], n)
                _log_distances(T, L2, n2, v2, Z[2])
            else:
                Z[2] = 0.0
            for j in (1, 2):
                middle[j - 1] = Z[j].mean()
                Z[j] -= middle[j - 1]
            gate, gate2 = (L, n1), (L2.copy() if second else L, n2)
            a[:] = fit_gate(Z, w1, a)
        if a[1] != 0 or a[2] != 0:
            for i in range(n):
                prior[i] = 1 / (1 + exponential(-min(max(a[0] + a[1] * Z[1, i] + a[2] * Z[2, i], -30.0), 30.0)))
        else:
            prior[:] = min(max(w1.mean(), 0.01), 0.99)
        highest, lowest = prior.max(), prior.min()
        for i in range(n):
            near[i] = prior[i] > LOCAL * highest
            other[i] = 1 - prior[i] > LOCAL * (1 - lowest)
        q = 0.0 if alone else min(max(w2.sum() / max(n - w1.sum(), 1e-9), 0.01), 0.99)
        taken += 1
        before = ll
        ll = _posteriors(r1, r2, prior, other, s, t, q, c, nu, w1, w2, tail)
        if abs(ll - before) < SETTLED and refresh and step > 1:
            break
    return (b[:k], g[:k], L, u, r1, r2, prior), (gate, gate2), (s, t, shift, ll, q, n1, n2), taken


class TwoLines:
    """The model of this page for rows A = (x, 1, y), by expectation maximisation from posteriors `w1`, `w2`."""

    def __init__(
        self,
        A: Array,
        w1: Array,
        w2: Array,
        c: float,
        floor: float,
        form: Form = "free",
        nu: float = math.inf,
        steps: int = 0,
    ) -> None:
        self.A, self.w1, self.w2, self.c, self.floor, self.form, self.nu = A, w1, w2, c, floor, form, nu
        self.n, self.k = len(A), A.shape[1] - 1
        self.a: Array = np.zeros(3)
        self.ll, self.steps = -math.inf, steps
        self.tail: Array = np.ones_like(A[:, 0])
        self.near: Mask = self.tail > 0  # where, by x alone, either line has its rows
        self.other: Mask = self.tail > 0
        self.s = self.t = self.shift = 0.0
        self.Z: Array = np.ones((3, self.n)) if not is_device_array(A) else np.ones((3, 0))  # 1, and log distances
        self.middle: Array = np.zeros(2)

    def maximise(self) -> None:
        """Fit both lines and their noise to the posteriors."""
        A, k = self.A, self.k
        D, y = A[:, :k], A[:, k]
        both = self.form == "parallel"
        u = self.w1 * self.tail if both else self.w1 * self.near * self.tail
        w2 = self.w2 if both else self.w2 * self.other
        self.n1, self.n2 = max(float((self.w1 * self.near).sum()), 1e-9), max(float(w2.sum()), 1e-9)
        if both and self.s > 0:
            # One line for both: rows of the second count by their noise, never more than those of the first.
            v = self.w2 * min(1.0, (self.s / self.t) ** 2)
            B = A.copy()
            B[:, k] -= self.shift * v / (u + v + 1e-300)
            self.u = u + v
            self.b, self.L = fit_weighted(B, self.u)
        else:
            self.u = u
            self.b, self.L = fit_weighted(A, u)
        self.r1 = y - D @ self.b
        u1 = self.w1 if both else self.w1 * self.near
        lost = k * (u1.sum() / self.n if both else 1.0)
        size = float(u1.sum())
        self.s = math.sqrt(float((u1 * self.tail) @ self.r1**2) / max(size - lost, size / 4, 1e-9)) + 1e-12
        lost = 1.0
        if self.form == "free":
            self.g, self.L2 = fit_weighted(A, w2)
            lost = k
        elif self.form == "flat":
            self.g = np.zeros(k)
            self.g[k - 1] = w2 @ y / self.n2
        else:
            self.shift = float(w2 @ self.r1) / self.n2
            self.g = self.b.copy()
            self.g[k - 1] += self.shift
        self.r2 = y - D @ self.g
        self.t = math.sqrt(float(w2 @ self.r2**2) / max(self.n2 - lost, self.n2 / 4)) + 1e-12
        narrow = NARROWEST * max(self.s, self.t)  # of the smaller part only
        self.s = max(self.s, narrow if self.n1 < self.n2 else 0.0, self.floor)
        self.t = max(self.t, narrow if self.n2 <= self.n1 else 0.0, self.floor)

    def _distance(self, A: Array, L: Array, total: float, w: Array | float = 0.0) -> Array:
        """Return the log distance in x from a group, by a scatter in which the row itself (of weight w) has no part."""
        h = leverage(A[:, : self.k], L)
        return 0.5 * np.log(total * h / np.maximum(1 - w * h, 1e-6) + 1e-12)

    def _local(self, told: Array | None = None) -> None:
        told = self.prior if told is None else told
        self.near = self.prior > LOCAL * told.max()
        self.other = 1 - self.prior > LOCAL * (1 - told.min())

    def expect(self) -> float:
        """Work out the posteriors; return by how much the log likelihood rose."""
        before = self.ll
        rows = self.r1, self.r2, self.prior, self.other
        numbers = self.s, self.t, self.q, self.c, self.nu
        if is_device_array(self.r1):
            from robustream.kernels.gpu.numpy_proxy import DeviceTable, rows_of
            from robustream.kernels.gpu.rows import line_posteriors

            front = 1.0 if math.isinf(self.nu) else math.exp(_t_constant(self.nu))
            found = line_posteriors(map(rows_of, rows), (*numbers, front))
            self.w1, self.w2, self.tail, ll = (DeviceTable(part) for part in found)  # type: ignore[assignment]
            self.ll = float(ll.sum()) - 0.5 * self.n * LOG_2PI
        else:
            self.w1, self.w2, self.tail = np.empty(self.n), np.empty(self.n), np.empty(self.n)
            self.ll = _posteriors(*rows, *numbers, self.w1, self.w2, self.tail)
        return self.ll - before

    def run(self, steps: int, swap: bool = False) -> TwoLines:
        """Take steps until the likelihood has settled; let the line with more rows be the first.

        `PlainSteps` of the tests is the same, to be read and to be tested against.
        """
        self.w1, self.w2, self.tail = (np.array(part, dtype=float) for part in (self.w1, self.w2, self.tail))
        self.near, self.other = self.near.copy(), self.other.copy()
        arrays = self.w1, self.w2, self.tail, self.near, self.other, self.a, self.Z, self.middle
        numbers = self.s, self.t, self.shift, self.ll, self.nu, self.c, self.floor
        rows, scatters, numbers, self.steps = _take_steps(
            self.A, *arrays, numbers, FORMS.index(self.form), self.steps, steps
        )
        self.b, self.g, self.L, self.u, self.r1, self.r2, self.prior = rows
        self.s, self.t, self.shift, self.ll, self.q, self.n1, self.n2 = numbers
        if len(scatters[0][0]):
            self.scatters = scatters
        if swap and self.w2.sum() > self.w1.sum() and self.t < WIDEST:
            self.w1, self.w2, self.a = self.w2, self.w1, -self.a[[0, 2, 1]]
            self.near = self.other = np.ones(self.n, bool)
            self.tail = np.ones(self.n)
            self.Z = self.Z[[0, 2, 1]].copy()
            self.steps = 1
            return self.run(steps)
        return self

    def evidence(self) -> float:
        """Return the log likelihood less half of Schwarz's penalty."""
        if self.form == "free" and self.w2.sum() < ROWS_OF_A_LINE * self.k:
            return -math.inf  # any k rows lie on a line
        second = {"free": self.k + 2, "flat": 3, "parallel": 3, "none": 0}[self.form]
        size = self.k + 2 + second + np.count_nonzero(self.a[1:]) + math.isfinite(self.nu)
        return self.ll - 0.5 * size * math.log(self.n)

    def spread(self, A: Array, told: Array | None = None) -> TwoLines:
        """Return the same model with the posteriors of other rows; `told` are the priors of all, if these are some."""
        full = TwoLines(A, self.w1, self.w2, self.c, self.floor, self.form, self.nu, steps=2)
        for name in ("b", "g", "s", "t", "q", "a", "L", "shift", "scatters", "middle"):
            if hasattr(self, name):
                setattr(full, name, getattr(self, name))
        f = np.full_like(A[:, 0], self.a[0])
        if not self.a[1:].any():
            f[:] = math.log(self.prior[0] / (1 - self.prior[0]))
        for j in (0, 1):
            if self.a[1 + j]:
                f += self.a[1 + j] * (full._distance(A, *self.scatters[j]) - self.middle[j])
        full.prior = _logistic(f)
        full._local(told)
        full.r1, full.r2 = A[:, -1] - A[:, :-1] @ self.b, A[:, -1] - A[:, :-1] @ self.g
        full.expect()
        return full

    def settle(self, A: Array, passes: int) -> TwoLines:
        """Return the model on all rows, after a few steps with the gate as it is."""
        full = self.spread(A)
        for _ in range(passes):
            before = full.b
            full.maximise()
            full.expect()
            d = full.L.T @ (full.b - before)
            if d @ d < (0.1 * full.s) ** 2 * full.k:
                break
        return full


# --- honest rivals ------------------------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy", nogil=True)
def _opening(A: Array, b: Array, along: Array) -> Array:
    """Return the squared opening of a fan: its distance along a direction, or from the middle of the fit."""
    by_fit = len(along) == 0
    o = A @ (b if by_fit else along)
    if by_fit:
        o = o - np.median(o)
    return o * o / (np.mean(o * o) + 1e-300)


@njit(cache=True, error_model="numpy", nogil=True)
def _fit_one_line(A: Array, b: Array, along: Array, fans: bool) -> tuple[Array, float, float, float]:
    """Return coefficients (and a 0), slope of the variance, log likelihood and degrees of freedom of `OneLine`."""
    n, k = len(A), A.shape[1] - 1
    slope, ll, T = 0.0, 0.0, _turned(A)
    for _ in range(3):
        v: Array = np.ones(n)
        r = A[:, k] - A @ b
        if fans:
            o2 = _opening(A, b, along)
            for _ in range(4):  # squared residuals on squared opening (Carroll and Ruppert)
                u, q = 1 / v**2, np.minimum(r * r, 9 * v) if slope > 0 else r * r
                total = u.sum()
                mo, mq = (u * o2).sum() / total, (u * q).sum() / total
                slope = (u * (o2 - mo) * q).sum() / max((u * (o2 - mo) * o2).sum(), 1e-300)
                level = max(mq - max(slope, 0.0) * mo, 1e-2 * mq, 1e-300)
                slope = max(slope, 0.0) / level
                v = level * (1 + slope * o2)
            v = 1 + slope * o2
        ll, nu, s = t_noise(r / np.sqrt(v), np.ones(n))
        ll -= 0.5 * np.log(v).sum()
        w = 1 / v if math.isinf(nu) else (nu + 1) / (nu + (r / s) ** 2 / v) / v
        G = _weighted_products(T, w)
        b = _solved(_factor(G[: k + 1, : k + 1], n), G[k])
    return b, slope, ll, nu


class OneLine:
    """One line with t noise of variance v0 + v1 o^2: constant, or growing with the fit or along a direction."""

    def __init__(self, A: Array, b: Array, fan: Literal["fit"] | Array | None = None) -> None:
        self.n, self.k = len(A), A.shape[1] - 1
        self.along: Array = np.zeros(0) if fan is None or isinstance(fan, str) else np.append(fan, 0.0)
        self.extra = 0 if fan is None else 1 + max(len(self.along) - 2, 0)
        self.b, self.slope, self.ll, self.nu = _fit_one_line(A, np.append(b, 0.0), self.along, fan is not None)

    def evidence(self) -> float:
        """Return the log likelihood less half of Schwarz's penalty."""
        return self.ll - 0.5 * (self.k + 1 + math.isfinite(self.nu) + self.extra) * math.log(self.n)

    def unit(self, A: Array) -> Array:
        """Return the scale of the noise of each row, up to a factor."""
        return np.sqrt(1 + self.slope * _opening(A, self.b, self.along))


def looks_normal(r: Array, fit: Array, h: Array) -> bool:
    """Tell by score tests whether residuals show no skewness, no tails, and nothing that goes with fit or leverage."""
    z = r / (np.sqrt(np.mean(r * r)) + 1e-300)
    q = z * z - 1
    tests = [np.mean(q * z) / math.sqrt(6), np.mean(q * q - 2) / math.sqrt(24)]
    for a in ((fit - fit.mean()) ** 2, h):
        a = a - a.mean()
        size = math.sqrt(np.mean(a * a)) + 1e-300
        tests += [np.mean(a * z) / size, np.mean(a * q) / size / math.sqrt(2)]
    return bool(np.max(np.abs(tests)) * math.sqrt(len(r)) < LEVEL and z.max() < 5 and z.min() > -5)


def within_chance(difference: Array, L: Array, s: float) -> bool:
    """Tell whether two fits differ by no more than the noise of the less efficient one explains (Hausman's test)."""
    d = L.T @ difference
    return bool(d @ d / s**2 < len(d) + LEVEL * math.sqrt(2 * len(d)))


def are_explained(D: Array, r: Array, L: Array, s: float) -> bool:
    """Tell whether rows raise the squares of least squares without them by no more than their noise (Chow's test)."""
    pull = r @ D
    squares = (r @ r - pull @ np.linalg.solve(L @ L.T + D.T @ D, pull)) / s**2 if len(r) else 0.0
    return bool(squares <= len(r) + LEVEL * math.sqrt(2 * len(r)))
