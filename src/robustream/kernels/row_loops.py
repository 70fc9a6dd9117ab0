"""The compiled loops of passes over rows: what NumPy does in several sweeps, and cell by cell where rows are short.

Each has a twin in NumPy, said in its docstring and tested against. They are loaded with the first batch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "any_missing",
    "bin_means",
    "column_products",
    "deviations",
    "in_units",
    "line_distances",
    "residuals_of",
    "score_rows",
    "slopes_at",
    "subspace_squares",
]

Array = NDArray[np.floating[Any]]

_CLOSE = 0.01  # part of the square of a row below which what is left of it is worked out cell by cell


@njit(cache=True, nogil=True)
def any_missing(rows: Array) -> bool:
    """Return `np.isnan(rows).any()`."""
    n, p = rows.shape
    for i in range(n):
        missing = 0
        for j in range(p):
            missing += rows[i, j] != rows[i, j]
        if missing > 0:
            return True
    return False


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def column_products(S: Array, T: Array, first: int, n: int, out: Array) -> None:
    """Add the lower triangle of `S[:, :n] @ T[:, first : first + n].T`.

    The columns of a table, an even number of them, are the rows here, and lie one after the other. For few columns that
    is several times as quick as BLAS, which is made for square matrices.
    """
    for a in range(0, len(T), 2):
        for b in range(0, a + 1, 2):
            s00 = s01 = s10 = s11 = 0.0
            x0, x1, y0, y1 = S[a, :n], S[a + 1, :n], T[b, first : first + n], T[b + 1, first : first + n]
            for i in range(n):
                s00 += x0[i] * y0[i]
                s01 += x0[i] * y1[i]
                s10 += x1[i] * y0[i]
                s11 += x1[i] * y1[i]
            out[a, b] += s00
            out[a, b + 1] += s01
            out[a + 1, b] += s10
            out[a + 1, b + 1] += s11


@njit(cache=True, nogil=True)
def deviations(rows: Array, shift: Array, root: Array, first: int, out: Array) -> None:
    """Fill in, from a column on, `(rows - shift) * root[:, None]`; no roots are roots of 1."""
    n, p = rows.shape
    weighted = len(root) > 0
    for i in range(n):
        r = root[i] if weighted else 1.0
        for j in range(p):
            out[i, first + j] = (rows[i, j] - shift[j]) * r


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def residuals_of(X: Array, Y: Array, center: Array, coef: Array, centered: Array, out: Array) -> None:
    """Fill in `centered = X - center[:p]` and `out = Y - center[p:] - centered @ coef.T`."""
    n, p = X.shape
    for i in range(n):
        for j in range(p):
            centered[i, j] = X[i, j] - center[j]
        for o in range(len(coef)):
            fit = 0.0
            for j in range(p):
                fit += centered[i, j] * coef[o, j]
            out[i, o] = Y[i, o] - center[p + o] - fit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def score_rows(
    white: Array, residual: Array, weights: Array, total: float, level: float, want: bool, own: Array, out: Array
) -> float:
    """Fill in leverages, `own = clip(w (|white|^2 + level^2) / total, 0, 0.99)`, and what rows say of the fit.

    That is `out = (w r / (1 - own) / total) (white, level)`, if wanted. Return `w @ r^2`.
    """
    n, p = white.shape
    squares = 0.0
    for i in range(n):
        length = level * level
        for j in range(p):
            length += white[i, j] * white[i, j]
        h = min(max(weights[i] * length / total, 0.0), 0.99)
        own[i] = h
        squares += weights[i] * residual[i] * residual[i]
        if want:
            factor = weights[i] * residual[i] / (1 - h) / total
            for j in range(p):
                out[i, j] = factor * white[i, j]
            out[i, p] = factor * level
    return squares


@njit(cache=True, nogil=True)
def in_units(X: Array, y: Array, center: Array, unit: Array, middle: float, scale: float, out: Array) -> None:
    """Fill in `((X - center) / unit, 1, (y - middle) / scale)`."""
    n, p = X.shape
    for i in range(n):
        for j in range(p):
            out[i, j] = (X[i, j] - center[j]) / unit[j]
        out[i, p] = 1.0
        out[i, p + 1] = (y[i] - middle) / scale


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def line_distances(
    X: Array, y: Array, center: Array, factor: Array, b: Array, middle: float, scale: float, off: Array, size: Array
) -> None:
    """Fill in `|(y - middle) / scale - Z @ b[:p] - b[p]|` and the length of `Z`, which is `(X - center) * factor`."""
    n, p = X.shape
    for i in range(n):
        fit, square = b[p], 0.0
        for j in range(p):
            z = (X[i, j] - center[j]) * factor[j]
            fit += z * b[j]
            square += z * z
        off[i] = abs((y[i] - middle) / scale - fit)
        size[i] = math.sqrt(square)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nnan", "nsz"})
def subspace_squares(rows: Array, components: Array, factors: Array, score: Array, left: Array) -> float:
    """Fill in `score = (rows @ components.T)^2 @ factors` and the squared lengths of what the components leave of rows.

    The components have length 1 and are orthogonal. Return the largest square of a number.
    """
    n, p = rows.shape
    count = len(components)
    rest, along, largest = np.empty(p), np.empty(count), 0.0
    zero = rows.dtype.type(0)  # sums in the precision of the rows take several cells at a time
    for i in range(n):
        square, high, total, within = zero, zero, 0.0, 0.0
        for j in range(p):
            cell = rows[i, j]
            square += cell * cell
            high = max(high, cell * cell)
        largest = max(largest, np.float64(high))
        for k in range(count):
            length = zero
            for j in range(p):
                length += rows[i, j] * components[k, j]
            along[k] = length
            within += along[k] ** 2
            total += along[k] ** 2 * factors[k]
        score[i] = total
        left[i] = square - within
        if left[i] < _CLOSE * square:  # a difference has lost digits
            for j in range(p):
                rest[j] = rows[i, j]
            for k in range(count):
                for j in range(p):
                    rest[j] -= along[k] * components[k, j]
            left[i] = 0.0
            for j in range(p):
                left[i] += rest[j] * rest[j]
    return largest


@njit(cache=True, nogil=True)
def bin_means(values: Array, weights: Array, edges: Array) -> tuple[Array, Array]:
    """Return the means of values, and of values times weights, in the bins that `np.searchsorted(edges, v)` tells."""
    count = len(edges) + 1
    rows, mean, pull = np.zeros(count), np.zeros(count), np.zeros(count)
    for i in range(len(values)):
        v, place = values[i], 0
        for k in range(count - 1):  # all of them: what a branch would guess wrong costs more
            place += edges[k] < v
        rows[place] += 1.0
        mean[place] += v
        pull[place] += weights[i] * v
    rows = np.maximum(rows, 1.0)
    return mean / rows, pull / rows


@njit(cache=True, nogil=True)
def slopes_at(values: Array, places: Array, slopes: Array, out: Array) -> None:
    """Fill in `np.interp(values, places, slopes)`."""
    last = len(places) - 1
    for i in range(len(values)):
        v, below = values[i], 0
        for k in range(last + 1):
            below += places[k] <= v
        if 0 < below <= last:
            share = (v - places[below - 1]) / (places[below] - places[below - 1])
            out[i] = slopes[below - 1] + share * (slopes[below] - slopes[below - 1])
        else:
            out[i] = slopes[0] if below == 0 else slopes[last]
