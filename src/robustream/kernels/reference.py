"""The trimmed products in plain NumPy: the specification that the compiled kernels are tested against.

A product is x_i * y_i, rounded in the dtype of the input. Of n products the floor(trim * n) largest in magnitude
are trimmed. Products that tie at the border share the places left there equally, so the order of the rows never
matters (PAPER.md, point 6).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["kept_count", "kept_sum", "trimmed_covariance", "trimmed_cross", "trimmed_inner"]

Floats = NDArray[np.floating]


def kept_count(n_rows: int, trim: float) -> int:
    """Return how many of the products of ``n_rows`` rows are kept, at least one."""
    return max(1, n_rows - int(np.floor(trim * n_rows)))


def kept_sum(x: Floats, y: Floats, kept: int) -> float:
    """Sum the ``kept`` products of two vectors that are smallest in magnitude."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        products = x * y
        magnitudes = np.abs(products)
        threshold = np.partition(magnitudes, kept - 1)[kept - 1]
        below, tied = magnitudes < threshold, magnitudes == threshold
        share = (kept - np.count_nonzero(below)) / np.count_nonzero(tied)
        total = products[below].sum(dtype=np.float64) + share * products[tied].sum(dtype=np.float64)
    return float(total)


def trimmed_inner(x: Floats, y: Floats, trim: float) -> float:
    """Sum the kept products of two vectors."""
    return kept_sum(x, y, kept_count(x.shape[0], trim))


def trimmed_cross(X: Floats, Y: Floats, trim: float) -> Floats:
    """Average the kept products of every column of X with every column of Y (or with the vector Y)."""
    kept = kept_count(X.shape[0], trim)
    columns = Y.reshape(X.shape[0], -1)
    sums = np.array([[trimmed_inner(x, y, trim) for y in columns.T] for x in X.T])
    with np.errstate(over="ignore", under="ignore"):
        means: Floats = (sums / kept).astype(np.result_type(X, Y))
    return means if Y.ndim == 2 else means[:, 0]


def trimmed_covariance(X: Floats, trim: float) -> Floats:
    """Average the kept products of every pair of columns, without centring."""
    return trimmed_cross(X, X, trim)
