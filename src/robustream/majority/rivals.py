"""Honest rivals of two lines in which x decides: categories, a threshold, a curve whose noise spreads.

A bend, a regime or a category that the line leaves out makes a second line, too, and so does noise that is larger in
some places than in others; but then x alone says which rows follow it, or how far they may lie from it.

- *Categories*: one line below and one above a threshold of how often other rows of the same level are bad.
- *A threshold*: one line below and one above a decile of a view of x (Hansen 2000).
- *A curve whose noise spreads*:

      y = m(x) + exp(h(x)) e,     e of any one law with a density that rises and falls once,

  where m and h are sums of hinges and products of the columns, chosen forward by Schwarz's criterion (Friedman 1991),
  h by regression of log |y - m(x)| on the columns and on m(x) (Harvey 1976). The line comes first; then the curve is
  fitted with weights exp(-2 h) and h to what it leaves, twice. Residuals that a valley divides are no one law.

References
----------
Friedman (1991), Multivariate adaptive regression splines. Hansen (2000), Sample splitting and threshold estimation.
Harvey (1976), Estimating regression models with multiplicative heteroscedasticity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri

from robustream.majority.columns import VALLEY, Places
from robustream.majority.evidence import DEPTH, Array, valleys
from robustream.majority.lines import (
    SETTLED,
    fit_weighted,
    likelihood_bound,
    log_concave_noise,
    residual_squares,
    skewed_noise,
    t_noise,
)

__all__ = ["curve_explains", "level_views", "levels_of", "looks_skewed", "threshold_explains"]

KNOTS = (0.1, 0.25, 0.5, 0.75, 0.9)  # quantiles of a column where a curve may bend
MOST_TERMS, MOST_PRODUCTS = 20, 15  # terms of a curve, and columns of which products, or levels, are paired
MOST_LEVELS = 12  # of a column that may be a category; what has more is a number, and a curve's affair
STEPS = 10  # parts of a view between which a threshold may lie, of a knot's neighbourhood that is searched
ROUNDS = 3  # of fitting a curve and how its noise spreads: the line, and the curve twice
SMALLEST = 0.05  # median residuals below which the logarithm of one says nothing
WIDEST_FAN = 5.0  # log scales between the middle and where the noise is largest
_DIGITS = 1e-12


# --- categories and thresholds ------------------------------------------------------------------------------------


def level_views(lattices: Sequence[NDArray[np.int64]], bad: Array) -> list[Array]:
    """Return, for lattices one by one and in pairs, how often other rows of the same level are bad.

    Of many lattices those are paired that tell most by themselves: pairs of all would take minutes.
    """
    views: list[Array] = []
    half = np.arange(len(bad)) % 2 == 0  # each half is told by the other, or a row would tell itself

    def add(level: NDArray[np.int64]) -> None:
        view = np.full(len(bad), float(bad.mean()))
        for here, there in ((half, ~half), (~half, half)):
            count, total = (np.bincount(level[there], w, level.max() + 1) for w in (None, bad[there]))
            told = here & (count[level] > 0)
            view[told] = (total / np.maximum(count, 1))[level[told]]
        views.append(view)

    for level in lattices:
        add(level)
    told = np.argsort([-np.var(view) for view in views], kind="stable")[:MOST_PRODUCTS]
    paired = [lattices[j] for j in np.sort(told)]
    for j, level in enumerate(paired):
        for other in paired[:j]:
            size = other.max() + 1
            if (level.max() + 1) * size < len(bad) / 5:
                add(np.unique(level * size + other, return_inverse=True)[1].astype(np.int64))
    return views


def levels_of(X: Array, tied: NDArray[np.intp]) -> list[NDArray[np.int64]]:
    """Return the level of each row in the columns that are categories: those of few values."""
    found = []
    for j in np.flatnonzero(tied >= len(X) - 1 - MOST_LEVELS):
        values, level = np.unique(X[:, j], return_inverse=True)
        if 1 < len(values) <= MOST_LEVELS:
            found.append(level.astype(np.int64))
    return found


def noise_evidence(r: Array, needed: float) -> float:
    """Return the log likelihood of residuals under the best law of noise, with Schwarz's price of its shape.

    Skewed laws are dear, and fitted only where they may decide whether `needed` is reached.
    """
    price = 0.5 * math.log(len(r))
    likelihood, nu, _ = t_noise(r, np.ones(len(r)))
    evidence = likelihood - price * (1 + math.isfinite(nu))
    if evidence < needed <= likelihood_bound(r) - 4 * price:
        evidence = max(evidence, skewed_noise(r) - 4 * price, log_concave_noise(r) - 4 * price)
    return evidence


def looks_skewed(r: Array) -> bool:
    """Tell whether a skewed law explains residuals better than a symmetric one, by Schwarz's criterion."""
    likelihood, nu, _ = t_noise(r, np.ones(len(r)))
    return skewed_noise(r) > likelihood + (3 - math.isfinite(nu)) * 0.5 * math.log(len(r))


@njit(cache=True, error_model="numpy", nogil=True)
def _best_threshold(A: Array, views: Array, orders: NDArray[np.intp]) -> tuple[int, int]:
    """Return the view, and the number of rows below its decile, where two lines leave least; -1 if there is none."""
    m, k = len(A), A.shape[1] - 1
    best, at, first = -np.inf, -1, 0
    grams, both = np.empty((STEPS, k + 1, k + 1)), np.empty((2, k + 1, k + 1))
    for j in range(len(views)):
        order, ordered = orders[j], A[orders[j]]
        edges = np.full(STEPS + 1, m)
        for part in range(STEPS):  # equal values are on one side
            i = part * m // STEPS
            while i > 0 and views[j, order[i - 1]] == views[j, order[i]]:
                i -= 1
            edges[part] = i
        for part in range(STEPS):
            rows = ordered[edges[part] : edges[part + 1]]
            grams[part] = rows.T @ rows
        # Sums from either end: differences would lose the digits of the side without far rows.
        above = grams.copy()
        for part in range(1, STEPS):
            grams[part] += grams[part - 1]
            above[STEPS - 1 - part] += above[STEPS - part]
        for part in range(STEPS - 1):
            n1 = edges[part + 1]
            if min(n1, m - n1) < 2 * k:
                continue
            both[0], both[1] = grams[part], above[part + 1]
            squares = residual_squares(both, m)
            likelihood = 0.0
            for n, square in ((n1, squares[0]), (m - n1, squares[1])):
                likelihood -= 0.5 * n * math.log(max(square, 1e-12 * n) / n)
            if likelihood > best:
                best, at, first = likelihood, j, n1
    return at, first


def threshold_explains(A: Array, views: Sequence[Array], needed: float) -> bool:
    """Tell whether two lines reach some evidence where x decides: one below, one above a threshold of the best view.

    Threshold regression (Hansen 2000), its threshold among deciles: a finer one would explain bad rows that lie to one
    side of x without a gap. A bend is a curve's affair.
    """
    m, k = len(A), A.shape[1] - 1
    V = np.array([view for view in views if np.ptp(view) > 1e-9]).reshape(-1, m)
    orders = np.argsort(V, axis=1)
    at, n1 = _best_threshold(A, V, orders)
    if at < 0:
        return False
    needed += 0.5 * (2 * k + 1) * math.log(m)
    parts = orders[at, :n1], orders[at, n1:]
    below, above = (A[rows, k] - A[rows, :k] @ fit_weighted(A[rows])[0] for rows in parts)
    needed -= noise_evidence(below, needed - likelihood_bound(above))
    return noise_evidence(above, needed) > needed


# --- a curve whose noise spreads ----------------------------------------------------------------------------------


def _standardized(columns: Array) -> Array:
    """Return columns (as rows) without a mean, with deviation 1, far values held; those that vary."""
    X = np.ascontiguousarray(columns.T)
    X = X[np.ptp(X, axis=1) > 1e-9]
    X = X - X.mean(axis=1)[:, None]
    X /= X.std(axis=1)[:, None]
    return np.clip(X, -5, 5).astype(np.float32)


@njit(cache=True, error_model="numpy", nogil=True)
def _terms(X: Array, knots: Array, some: Places) -> Array:
    """Return hinges of the columns (rows of X), and products of some of them, one below the other."""
    p, m = X.shape
    out = np.empty((p * knots.shape[1] + len(some) * (len(some) + 1) // 2, m), np.float32)
    t = 0
    for j in range(p):
        for knot in knots[j]:
            for i in range(m):
                out[t, i] = max(X[j, i] - knot, np.float32(0))
            t += 1
    for a in range(len(some)):
        for b in range(a + 1):
            for i in range(m):
                out[t, i] = X[some[a], i] * X[some[b], i]
            t += 1
    return out


def _refined_hinge(x: Array, root: Array, low: float, high: float, B: Array, r: Array) -> Array:
    """Return the hinge of a column that explains most of r beside orthonormal rows B, less what these explain of it.

    `root` are the roots of the weights that rows have. The knot lies between two values: the part around the best of
    some is divided again, while its ends do worse.
    """
    square = float(r @ r)
    while True:
        knots = np.linspace(low, high, STEPS + 1)
        H = np.maximum(x - knots[:, None], 0.0) * root
        whole = np.einsum("ij,ij->i", H, H)
        for _ in range(2):
            H -= (H @ B.T) @ B
        left = np.einsum("ij,ij->i", H, H)
        gains = np.where(left > 1e-4 * whole, (H @ r) ** 2 / np.maximum(left, 1e-300), 0.0)
        at = int(np.argmax(gains))
        first, last = max(at - 1, 0), min(at + 1, STEPS)
        most, least = (max(square - gain, 1e-12 * square) for gain in (gains[at], min(gains[first], gains[last])))
        if len(x) * math.log(least / most) < SETTLED or not high - low > _DIGITS:
            return np.asarray(H[at])
        low, high = float(knots[first]), float(knots[last])


def _fit_forward(X: Array, D: Array, y: Array, weights: Array | None = None) -> tuple[Array, int]:
    """Return least squares of y on D and on hinges and products of X (rows), chosen forward, and the terms' parameters.

    As long as Schwarz's criterion gains at two parameters each (Friedman 1991). The knot of a hinge is the best between
    the quantiles beside the one that was chosen: as good as where two lines cross.
    """
    m, k = D.shape
    root = np.ones(m) if weights is None else np.sqrt(weights)
    A = np.column_stack([D, y]) * root[:, None]
    b, L = fit_weighted(A)
    r = A[:, k] - A[:, :k] @ b
    outer = KNOTS[0] / 4  # beyond the outer ones
    edges = np.sort(X, axis=1)[:, (np.array([outer, *KNOTS, 1 - outer]) * (m - 1)).astype(int)]
    knots = np.ascontiguousarray(edges[:, 1:-1])
    some = np.arange(len(X))
    if len(X) > MOST_PRODUCTS:  # of many columns those whose squares have most to do with the residuals
        f = np.stack([r, r * r / (np.std(r) + 1e-300)]).astype(np.float32)
        some = np.argsort(-np.abs((X * X - 1) @ f.T).sum(axis=1))[:MOST_PRODUCTS]
    T = _terms(X, knots, some)
    if weights is not None:
        T *= root.astype(np.float32)
    # What D does not explain of a term is a new one, of length 1; `left` is what the terms so far leave of it.
    inverse = dtrtri(L, lower=1)[0]
    Q = (A[:, :k] @ inverse.T).astype(np.float32)
    along = T @ Q
    whole = np.einsum("ij,ij->i", T, T)
    left = whole - np.einsum("ij,ij->i", along, along)
    use = left > 1e-4 * whole
    size = np.sqrt(np.where(use, left, 1.0))
    left, chosen = use.astype(float), [*Q.T.astype(float)]
    score = (T @ r.astype(np.float32)) / size
    for _ in range(min(MOST_TERMS, m // 20)):
        gains = np.where(left < 1e-3, 0.0, score**2 / np.maximum(left, 1e-3))
        best, square = int(np.argmax(gains)), float(r @ r)
        if gains[best] >= square or 0.5 * m * math.log(square / (square - gains[best])) < math.log(m):
            break
        B = np.array(chosen)
        if best < knots.size:
            column, knot = divmod(best, len(KNOTS))
            low, high = (float(edges[column, side]) for side in (knot, knot + 2))
            t = _refined_hinge(X[column].astype(float), root, low, high, B, r)
        else:
            t = T[best].astype(float)
            for _ in range(2):
                t -= (B @ t) @ B
        t /= np.linalg.norm(t) + 1e-300
        step = float(t @ r)
        r = r - step * t
        new = (T @ t.astype(np.float32)) / size
        score -= step * new
        left = np.maximum(left - new**2, 0)
        chosen.append(t)
    return y - r / root, 2 * (len(chosen) - k)


def curve_explains(A: Array, needed: float, spreads: bool = False) -> bool:
    """Tell whether one curve reaches some evidence, its noise the same everywhere or, if that may be, spreading."""
    m, k = len(A), A.shape[1] - 1
    D, y, price = A[:, :k], A[:, k], 0.5 * math.log(m)
    X = _standardized(D[:, :-1])
    if len(X) == 0:
        return False
    fit, terms = _fit_forward(X, D, y)
    if _is_one_law(y - fit, needed + (k + terms) * price):
        return True
    if not spreads:
        return False
    fit, terms = D @ fit_weighted(A)[0], 0
    for turn in range(ROUNDS):
        h, more = _fit_spread(D, y - fit, fit)
        if _is_one_law((y - fit) / np.exp(h), needed + (k + terms + more) * price + float(h.sum())):
            return True
        if turn < ROUNDS - 1:
            fit, terms = _fit_forward(X, D, y, np.exp(-2 * h))
    return False


def _fit_spread(D: Array, r: Array, fit: Array) -> tuple[Array, int]:
    """Return the log scale of residuals, from place to place, and the number of its parameters."""
    sizes = np.abs(r)
    sizes = np.log(np.maximum(sizes, SMALLEST * np.median(sizes) + 1e-300))
    h, terms = _fit_forward(_standardized(np.column_stack([D[:, :-1], fit])), np.ones((len(D), 1)), sizes)
    return np.clip(h - h.mean(), -WIDEST_FAN, WIDEST_FAN), terms


def _is_one_law(r: Array, needed: float) -> bool:
    """Tell whether the best law of noise with one mode reaches some evidence of residuals that no valley divides."""
    return noise_evidence(r, needed) > needed and valleys(r[None], DEPTH)[0][0] < VALLEY
