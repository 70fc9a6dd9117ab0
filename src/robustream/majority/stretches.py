"""Stretches of a table whose targets contradict the rest: a meter wired the wrong way round for a month.

Where the line is weak, rows of another line do not stand apart one by one, however many there are. Together they do, if
they come one after another. Let u be the predictions of the plain line. In blocks of rows in their order, about the
means of each block,

    r = <u, y> / (|u| |y|),   the correlation,   and   a = <u, y> / <u, u>,   how much of the line it confirms,

are the same but for chance, atanh(r) with variance 1 / (rows - 3), where the order of rows means nothing. Blocks are
bad if

1. the rows come in no order of u or y: these vary within blocks by more than half of what they vary in all;
2. the blocks fall into two groups (2-means of atanh r), LEVELS deviations apart that are those within groups or, if
   larger, those of chance, and those of the smaller group, of less than BAD of the rows, follow one another;
3. the line of the other rows does not hold in them: a < CONFIRMED, so that the mean of the stretch predicts its targets
   better than that line; and
4. their rows lie where the others lie: the means are less than ELSEWHERE spreads apart in every direction of x, else
   what differs may follow from the place. A bend in a table sorted by x is one.

So where order tells x or y apart nothing is left out, and shuffled rows have no stretch. The ends of a stretch are
where the sum of the differences in log-likelihood between its own line and that of the others is largest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robustream.majority.evidence import Array

__all__ = ["bad_stretches"]

LEVELS = 6.0  # deviations of a block's atanh(r); the halves of normal ones are 2.7 apart
BAD = 0.45  # of the rows at most
CONFIRMED = 0.25  # of the line at most: half is where its predictions are as good as the mean
ELSEWHERE = 1.5  # spreads within: of two normal laws so far apart 77% lie on their side of the middle
_BLOCKS, _FEWEST_BLOCKS, _FEWEST_ROWS = 40, 10, 20
_ROWS_A_BLOCK = 100  # that are looked at first
_LARGEST = 4.0  # difference in log-likelihood of one row
_RIDGE = 1e-9

Mask = NDArray[np.bool_]


def bad_stretches(X: Array, y: Array, believed: Mask | None = None) -> Mask | None:
    """Mark the rows of stretches that contradict the others; None if there are none.

    Rows that are not `believed` have no say.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = X[:, 0] + rng.normal(size=600)
    >>> bad_stretches(X, y) is None
    True
    >>> y[200:350] *= -1
    >>> out = bad_stretches(X, y)
    >>> int(abs(np.flatnonzero(out)[[0, -1]] - [200, 349]).max()) < 12
    True
    """
    n, p = X.shape
    count = min(_BLOCKS, n // max(_FEWEST_ROWS, p))
    if count < _FEWEST_BLOCKS:
        return None
    places: NDArray[np.intp] = np.arange(0, n, max(n // (_BLOCKS * _ROWS_A_BLOCK), 1))
    if believed is not None:
        places = places[np.asarray(believed[places])]
    S, t = (np.asarray(part[places], dtype=float) for part in (X, y))
    block = places * count // n
    u = S @ _line(S, t)
    while count >= _FEWEST_BLOCKS:
        low = _low_blocks(u, t, block, count)
        if low is not None:
            rows = low[block]
            ends = [_ends(S, t, places, rows, run, n / count) for run in _runs(low)] if _contradict(S, t, rows) else []
            if ends:
                out = np.zeros(n, bool)
                for start, end in ends:
                    out[start:end] = True
                return out
        count, block = count // 2, block // 2
    return None


def _line(S: Array, t: Array) -> Array:
    """Return the coefficients of least squares, to the digits that the columns give."""
    centered = S - S.mean(axis=0)
    moments = centered.T @ centered
    sizes = np.sqrt(np.maximum(np.diag(moments), 1e-300))
    scaled = moments / np.outer(sizes, sizes) + _RIDGE * np.eye(len(sizes))
    return np.asarray(np.linalg.solve(scaled, centered.T @ (t - t.mean()) / sizes) / sizes)


def _low_blocks(u: Array, t: Array, block: NDArray[np.intp], count: int) -> Mask | None:
    """Mark the blocks in which predictions and targets go together much less than in the others."""
    block = np.minimum(block, count - 1)
    rows = np.bincount(block, minlength=count).astype(float)
    if rows.min() < _FEWEST_ROWS // 2:
        return None
    within: list[Array] = []
    for one, other in ((u, u), (u, t), (t, t)):
        both, first, second = (np.bincount(block, each, minlength=count) for each in (one * other, one, other))
        within.append(both - first * second / rows)
    uu, ut, tt = within
    if uu.sum() <= 0.5 * len(u) * u.var() or tt.sum() <= 0.5 * len(t) * t.var() or min(uu.min(), tt.min()) <= 0:
        return None
    z = np.arctanh(np.clip(ut / np.sqrt(uu * tt), -0.999999, 0.999999))
    order = np.argsort(z)
    sizes = np.arange(1, int(BAD * count) + 1)
    sums, squares = np.cumsum(z[order]), np.cumsum(np.square(z[order]))
    lower, upper = sums[sizes - 1] / sizes, (sums[-1] - sums[sizes - 1]) / (count - sizes)
    inside = squares[-1] - sizes * lower**2 - (count - sizes) * upper**2
    best = int(np.argmin(inside))
    low = np.zeros(count, bool)
    low[order[: sizes[best]]] = True
    spread = max(np.sqrt(max(inside[best], 0.0) / count), 1 / np.sqrt(max(len(u) / count - 3, 1)))
    alone = low & ~np.append(low[1:], False) & ~np.append(False, low[:-1])
    if sizes[best] < 2 or alone.any() or upper[best] - lower[best] < LEVELS * spread:
        return None
    return low


def _runs(low: Mask) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], low.astype(int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _contradict(S: Array, t: Array, rows: Mask) -> bool:
    """Return whether the line of the others does not hold in these rows, and they lie where the others lie."""
    inside, others = S[rows] - S[rows].mean(axis=0), S[~rows] - S[~rows].mean(axis=0)
    if len(inside) <= 2 * S.shape[1]:
        return False
    u = inside @ _line(S[~rows], t[~rows])
    if u @ (t[rows] - t[rows].mean()) > CONFIRMED * (u @ u):
        return False
    spread = (inside.T @ inside + others.T @ others) / len(S)
    sizes = np.sqrt(np.diag(spread))
    use = sizes > 0
    apart = S[rows].mean(axis=0) - S[~rows].mean(axis=0)
    if np.any(np.abs(apart[~use]) > 0):
        return False
    apart, spread = apart[use] / sizes[use], spread[np.ix_(use, use)] / np.outer(sizes[use], sizes[use])
    squared = apart @ np.linalg.solve(spread + _RIDGE * np.eye(len(spread)), apart)
    # By chance it has this mean.
    squared -= len(apart) * (1 / len(inside) + 1 / len(others))
    return bool(squared < ELSEWHERE**2)


def _ends(
    S: Array, t: Array, places: NDArray[np.intp], rows: Mask, run: tuple[int, int], size: float
) -> tuple[int, int]:
    """Return the first row of a stretch and the one after its last, each within a block of where blocks say."""
    own, others = rows & (places >= run[0] * size) & (places < run[1] * size), ~rows
    likely = []
    for some in (own, others):
        errors = np.square(t - t[some].mean() - (S - S[some].mean(axis=0)) @ _line(S[some], t[some]))
        scale = max(float(errors[some].mean()), 1e-300)
        likely.append(-0.5 * (errors / scale + np.log(scale)))
    gains = np.cumsum(np.clip(likely[0] - likely[1], -_LARGEST, _LARGEST))
    first, last = (np.searchsorted(places, [(end - 1) * size, (end + 1) * size]) for end in run)
    start = int(first[0] + np.argmin(np.append(0.0, gains)[first[0] : first[1] + 1]))
    end = int(last[0] + np.argmax(np.append(0.0, gains)[last[0] : last[1] + 1]))
    bounds = np.append(places, [len(places) and places[-1] + 1])
    return int(bounds[start]), int(bounds[end])
