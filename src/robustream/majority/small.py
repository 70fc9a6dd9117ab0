"""A few rows far from the line of a small table, where a valley or two lines need more rows to be evidence.

A line is fitted to the better half of the rows, and rows are taken in one by one, the nearest first (Atkinson and
Riani 2000). Where g rows are still out, let q be the ratio of the nearest of them to the farthest row that is in,
both in deviations that they would have had if the line had not been fitted to them. Under a tail that falls off as a
power a of the residual, g log q has the exponential law with mean 1/a, whatever the scale and the part before the tail
(Rényi), and lighter tails have less. A Cauchy law, a = 1, is the heaviest that anyone calls noise: so

    g log q  >  log(places / CHANCE)

is evidence, with places the number of g that are asked for, up to a quarter of the rows. It takes a ratio of 500 for
one row of 20, of 8 for three and of 3.5 for five. As few rows show as little of a bend, one curve is a rival here, too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.majority.evidence import Array
from robustream.majority.lines import fit_weighted, leverage

__all__ = ["FEWEST_ROWS", "MOST_ROWS", "Far", "far_rows"]

FEWEST_ROWS, MOST_ROWS = 3, 100  # for each coefficient, and in all: larger tables show valleys
CHANCE = 0.01  # that Cauchy noise has such a gap; t3, exponential and uneven noise had none in 600 tables
QUARTER = 4  # of the rows one in so many may be out at most
STARTS, CONCENTRATED = 60, 3  # lines through as many rows as coefficients, and steps from each
RIDGE = 1e-10


class Far(NamedTuple):
    """The line of the others and how far from it, in `off_line`'s units, the gap lies."""

    b: Array
    L: Array
    limit: float
    members: NDArray[np.bool_]


def far_rows(A: Array, floor: float) -> Far | None:
    """Return the widest gap between the residuals of a few rows and those of the others; None if it is no evidence.

    `A` has the columns, 1 and the target; residuals below `floor` count as that.
    """
    m, k = len(A), A.shape[1] - 1
    if not max(FEWEST_ROWS * k, 2 * QUARTER) <= m <= MOST_ROWS:
        return None
    D, y = A[:, :k], A[:, k]
    inside = np.argsort(np.abs(y - D @ better_half(D, y)), kind="stable")[: m - m // QUARTER]
    best, found = math.log((m // QUARTER) / CHANCE), None
    for out in range(m // QUARTER, 0, -1):
        b, L = fit_weighted(A[inside])
        off, spread = np.abs(y - D @ b), leverage(D, L)
        within = np.zeros(m, bool)
        within[inside] = True
        last = max(float((off[within] / np.sqrt(np.maximum(1 - spread[within], 1e-3))).max()), floor)
        next_one = float((off[~within] / np.sqrt(1 + spread[~within])).min())
        z = out * math.log(next_one / last) if next_one > last else 0.0
        if z > best:
            best, found = z, Far(b, L, math.sqrt(last * next_one), ~within)
        inside = np.argsort(off, kind="stable")[: m - out + 1]
    return found


def better_half(D: Array, y: Array) -> Array:
    """Return the line with the smallest sum of squares over half of the rows, of many starts (Rousseeuw 1985)."""
    m, k = D.shape
    half = (m + k + 1) // 2
    rng = np.random.default_rng(0)
    rows = np.argsort(rng.random((STARTS, m)), axis=1)[:, :k]
    for _ in range(CONCENTRATED + 1):
        chosen = D[rows]
        gram = chosen.transpose(0, 2, 1) @ chosen
        gram[:, np.arange(k), np.arange(k)] += RIDGE * (np.einsum("sii->s", gram)[:, None] / k + 1e-300)
        lines = np.linalg.solve(gram, np.einsum("shk,sh->sk", chosen, y[rows])[..., None])[..., 0]
        squares = np.square(y - lines @ D.T)
        rows = np.argpartition(squares, half - 1, axis=1)[:, :half]
    best = int(np.argmin(np.take_along_axis(squares, rows, axis=1).sum(axis=1)))
    return np.asarray(lines[best])
