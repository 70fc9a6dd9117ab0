"""Evidence that the values of a view are more than one population: a valley, or a second scale."""

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import gammainc

Array = NDArray[np.float64]

DEPTH = 0.5
WIDTHS = (0.15, 0.4)
BINS = 128
SCALE_BINS = 24


def shortest_half(ordered: Array) -> tuple[Array, Array]:
    """Return the centre and the scale (of a normal law) of the shortest half of each sorted row."""
    n = ordered.shape[1]
    width = ordered[:, n // 2 :] - ordered[:, : n - n // 2]
    at, row = np.argmin(width, axis=1), np.arange(len(ordered))
    return ordered[row, at] + width[row, at] / 2, width[row, at] / 1.349


@njit(cache=True)
def _valleys(S, center, scale, radii, depth, width):
    views, m = S.shape
    out = np.zeros((views, 4))
    H, D, L = np.zeros(BINS), np.zeros(BINS), np.zeros(BINS)
    for v in range(views):
        out[v, 1], out[v, 2] = -np.inf, np.inf
        if not scale[v] > 0:
            continue
        lo, hi = np.arcsinh((S[v, 0] - center[v]) / scale[v]), np.arcsinh((S[v, m - 1] - center[v]) / scale[v])
        step = max((hi - lo) / (BINS - 2), 1e-9)
        i = 0
        for b in range(BINS):
            edge = center[v] + scale[v] * np.sinh(lo + b * step) if b < BINS - 2 else np.inf
            j = i
            while i < m and S[v, i] <= edge:
                i += 1
            H[b] = i - j
        w = max(width / step, 0.5)
        reach = int(3 * w) + 1
        D[:] = 0
        for d in range(-reach, reach + 1):
            f = np.exp(-0.5 * (d / w) ** 2) / np.sqrt(2.0)
            for b in range(max(0, -d), min(BINS, BINS - d)):
                D[b + d] += f * H[b]
        L[0] = D[0]
        for b in range(1, BINS):
            L[b] = max(L[b - 1], D[b])
        right, best, at, hills = 0.0, 0.0, -1, 1.0
        for b in range(BINS - 1, -1, -1):
            right = max(right, D[b])
            hill = min(L[b], right)
            z = np.sqrt(2.0) * (np.sqrt(hill) - np.sqrt(max(D[b], 0.0)))
            if D[b] <= depth * hill and z > best:
                best, at, hills = z, b, hill
        if at < 0:
            continue
        first, last = at, at
        while first > 0 and D[first - 1] <= D[at] + 0.5:
            first -= 1
        while last < BINS - 1 and D[last + 1] <= D[at] + 0.5:
            last += 1
        t = center[v] + scale[v] * np.sinh(lo + (0.5 * (first + last) - 0.5) * step)
        nb = 0
        while nb < m and S[v, nb] <= t:
            nb += 1
        out[v, 0] = best
        out[v, 3] = D[at] / hills
        if 2 * nb >= m or (v < radii and 2.2 * nb >= m):
            out[v, 2] = t
        else:
            out[v, 1] = t
    return out


def valleys(views: Array, radii: int = 0) -> Array:
    """Return the strongest valley of each view (row): its z score and the bounds of the larger side."""
    S = np.sort(views.astype(np.float32, copy=False), axis=1)
    center, scale = shortest_half(S)
    fine, coarse = (_valleys(S, center, scale, radii, DEPTH, width) for width in WIDTHS)
    return np.where(coarse[:, :1] > fine[:, :1], coarse, fine)


@njit(cache=True)
def _log_concave(counts):
    """Log likelihood of binned counts under the log-concave law that fits best (log barrier, Newton's method)."""
    m, total = len(counts), counts.sum()
    grid = (np.arange(m) - (m - 1) / 2) / m
    phi = -8.0 * grid * grid
    barrier = 0.05
    value = -np.inf
    for step in range(60):
        e = np.exp(phi - phi.max())
        p = e / e.sum()
        g = counts - total * p
        H = np.diag(total * p + 1e-9) - total * np.outer(p, p) + 1e-7 * total
        for b in range(1, m - 1):
            bend = 2 * phi[b] - phi[b - 1] - phi[b + 1]
            w = barrier / bend
            g[b] += 2 * w
            g[b - 1] -= w
            g[b + 1] -= w
            h = barrier / bend**2
            for i, a in ((b - 1, -1.0), (b, 2.0), (b + 1, -1.0)):
                for j, c in ((b - 1, -1.0), (b, 2.0), (b + 1, -1.0)):
                    H[i, j] += h * a * c
        d = np.linalg.solve(H, g)
        t = 1.0
        for b in range(1, m - 1):
            now = 2 * phi[b] - phi[b - 1] - phi[b + 1]
            change = 2 * d[b] - d[b - 1] - d[b + 1]
            if change < 0:
                t = min(t, -0.9 * now / change)
        gain = g @ d
        phi = phi + t * d
        phi -= phi.max()
        if gain < 0.05 and t > 0.5:
            break
    return counts @ (phi - np.log(np.exp(phi).sum())), step


@njit(cache=True)
def _two_scales(a, counts, k):
    """Share of the narrow law and the scales of both, of distances a from a common centre in k dimensions, by EM."""
    total = counts.sum()
    below, middle = 0.0, a[0]
    for i in range(len(a)):
        below += counts[i]
        middle = a[i]
        if 2 * below >= total:
            break
    narrow, wide, share = middle / np.sqrt(k), 1.5 * np.sqrt((counts * a * a).sum() / total / k), 0.6
    for _ in range(100):
        n1 = v1 = n2 = v2 = 0.0
        for i in range(len(a)):
            odds = np.log(share / (1 - share)) + k * np.log(wide / narrow) - 0.5 * a[i] ** 2 * (narrow**-2 - wide**-2)
            r = counts[i] / (1 + np.exp(-min(max(odds, -500.0), 500.0)))
            q = counts[i] - r
            n1 += r
            v1 += r * a[i] ** 2
            n2 += q
            v2 += q * a[i] ** 2
        before = wide / narrow
        if n1 < 1 or n2 < 1:
            return 1.0, narrow, narrow
        narrow, wide, share = np.sqrt(v1 / n1 / k), np.sqrt(v2 / n2 / k), n1 / total
        if abs(wide / narrow / before - 1) < 1e-3:
            break
    return share, narrow, wide


FLOOR = 0.25
CLEAR = 2.5
SKEW = 3.0


def second_scale(rows: Array) -> tuple[float, Array]:
    """Return the evidence (in nats) of a second scale around the centre of rows (m x k), and the odds of the narrow one."""
    m, k = rows.shape
    rows = rows - np.median(rows, axis=0)
    a = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    middle = np.median(a)
    if not middle > 0:
        return -np.inf, np.ones(m)
    a = a / middle
    edges = np.exp(np.linspace(np.log(FLOOR), np.log(max(a.max() * 1.001, 6.0)), SCALE_BINS + 1))
    bins = np.searchsorted(edges, a)  # 0: nearer to the centre than it is known
    counts = np.bincount(bins, minlength=SCALE_BINS + 1).astype(float)
    value = np.append(FLOOR / 3**0.5, np.sqrt(edges[1:] * edges[:-1]))
    share, narrow, wide = _two_scales(value, counts, k)
    if wide < CLEAR * narrow:
        return -np.inf, np.ones(m)
    P = share * np.diff(gammainc(k / 2, (edges / narrow) ** 2 / 2)) + (1 - share) * np.diff(gammainc(k / 2, (edges / wide) ** 2 / 2))
    P = np.log(np.maximum(P / P.sum(), 1e-300))
    single = _log_concave(counts[1:])[0]
    if k == 1:
        right = np.bincount(bins[rows[:, 0] > 0], minlength=SCALE_BINS + 1).astype(float)
        single = max(single, _log_concave(right[1:])[0] + _log_concave((counts - right)[1:])[0] - SKEW)
    gain = float(counts[1:] @ P - single)
    log_odds = np.log(share / (1 - share)) + k * np.log(wide / narrow) - 0.5 * a**2 * (narrow**-2.0 - wide**-2.0)
    return gain, 1 / (1 + np.exp(-np.clip(log_odds, -500, 500)))
