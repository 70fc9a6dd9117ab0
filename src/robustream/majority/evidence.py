"""Evidence that a view of some points shows more than one population: a valley, or a second scale.

Both statistics ask for no law of the points.

**Valley.** The values s of a view, on the scale t = asinh((s - c) / b) with centre c and scale b of their shortest
half (power tails become exponential ones, log-normal tails nearly normal), have kernel counts D(t). With hill(t) the
lower of the highest counts on both sides of t, z = sqrt(2) max_t (sqrt(hill) - sqrt(D)) compares two Poisson counts
on the scale where their variance is constant. A law with one mode on that scale has no valley, whatever else it is.

**Second scale.** Lengths a of points around a common centre in k dimensions, u = log a. The log lengths of a normal
law have a log-concave density, and so have those of any scale mixture of it with a log-concave law of the log scale
(a convolution; Prekopa): t, Laplace, exponential power, log-normal scales. Two normal laws whose scales stand apart
do not. The evidence is the log likelihood ratio, in nats, of the best two scales against the best log-concave density
of u; in one dimension this may differ to the left and to the right (skewed laws) at the price of SKEW.

References: Hartigan and Hartigan (1985) for the question of one mode or two; Dumbgen and Rufibach (2009) for the
maximum likelihood of a log-concave density; Anscombe (1948) for the square roots.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import gammainc

Array = NDArray[np.floating[Any]]

DEPTH = (
    0.35  # most density in a valley, by its hill's: two normal groups have 0.40 at 4 spreads, 0.19 at 5; a ring 0.57
)
WIDTHS = (0.15, 0.4)  # of the kernel, in shortest halves: the first for near groups, the second for few points
BINS = 128  # of the density: at least five to a width where values range over 4 units of asinh
CLEAR = 2.5  # least ratio of two scales: below, either law explains the points of both
SKEW = 3.0  # nats for a law of its own on each side of the centre: its three parameters (Akaike)
SCALE_BINS = 24  # of log lengths
NEAR = 0.25  # median lengths from the centre within which lengths do not count: the centre is not known better


def shortest_half(ordered: Array) -> tuple[Array, Array]:
    """Return the centre and the scale (for a normal law, its deviation) of the shortest half of sorted rows."""
    n = ordered.shape[1]
    width = ordered[:, n // 2 :] - ordered[:, : n - n // 2]
    at, row = np.argmin(width, axis=1), np.arange(len(ordered))
    return ordered[row, at] + width[row, at] / 2, width[row, at] / 1.349


@njit(cache=True)
def _valleys(ordered: Array, centers: Array, scales: Array, widths: tuple[float, ...], depth: float) -> Array:
    """Return z and threshold of the most evident valley of each sorted row; see `valley` for the plain version."""
    views, m = ordered.shape
    out = np.zeros((views, 2))
    histogram, density, left = np.zeros(BINS), np.zeros(BINS), np.zeros(BINS)
    for v in range(views):
        center, scale = centers[v], scales[v]
        if not scale > 0:
            continue
        low, high = np.arcsinh((ordered[v, 0] - center) / scale), np.arcsinh((ordered[v, m - 1] - center) / scale)
        step = max((high - low) / (BINS - 2), 1e-9)
        i = 0
        for b in range(BINS):
            edge = center + scale * np.sinh(low + b * step) if b < BINS - 2 else np.inf
            start = i
            while i < m and ordered[v, i] <= edge:
                i += 1
            histogram[b] = i - start
        for width in widths:
            bins = max(width / step, 0.5)
            reach = int(3 * bins) + 1
            density[:] = 0
            for d in range(-reach, reach + 1):
                # weights whose squares have the same sum as the weights: a Poisson count of the rows within the kernel
                f = np.exp(-0.5 * (d / bins) ** 2) / np.sqrt(2.0)
                for b in range(max(0, -d), min(BINS, BINS - d)):
                    density[b + d] += f * histogram[b]
            left[0] = density[0]
            for b in range(1, BINS):
                left[b] = max(left[b - 1], density[b])
            right, best, at = 0.0, out[v, 0], -1
            for b in range(BINS - 1, -1, -1):
                right = max(right, density[b])
                hill = min(left[b], right)
                if density[b] <= depth * hill:
                    z = np.sqrt(2.0) * (np.sqrt(hill) - np.sqrt(density[b]))
                    if z > best:
                        best, at = z, b
            if at < 0:
                continue
            first, last = at, at
            while first > 0 and density[first - 1] <= density[at] + 0.5:
                first -= 1
            while last < BINS - 1 and density[last + 1] <= density[at] + 0.5:
                last += 1
            out[v, 0] = best
            out[v, 1] = center + scale * np.sinh(low + (0.5 * (first + last) - 0.5) * step)
    return out


def valleys(views: Array, depth: float = DEPTH) -> Array:
    """Return z score and threshold of the most evident valley of each view (a row) that is as deep as wanted."""
    ordered = np.sort(views.astype(np.float32, copy=False), axis=1)
    centers, scales = shortest_half(ordered)
    return np.asarray(_valleys(ordered, centers, scales, WIDTHS, depth))


def valley(view: Array, width: float) -> tuple[float, float]:
    """Return what `valleys` does, of one view and one width: slow, to be read and to be tested against."""
    ordered = np.sort(view)
    center, scale = (float(a[0]) for a in shortest_half(ordered[None]))
    t = np.arcsinh((ordered - center) / scale)
    step = max((t[-1] - t[0]) / (BINS - 2), 1e-9)
    grid = t[0] + step * np.arange(-1, BINS - 1)
    histogram = np.bincount(np.clip(np.ceil((t - t[0]) / step).astype(int), 0, BINS - 2), minlength=BINS)
    bins = max(width / step, 0.5)
    offsets = np.subtract.outer(np.arange(BINS), np.arange(BINS))
    kernel = np.exp(-0.5 * (offsets / bins) ** 2) / np.sqrt(2) * (np.abs(offsets) <= int(3 * bins) + 1)
    density = kernel @ histogram
    hill = np.minimum(np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1])
    z = np.where(density <= DEPTH * hill, np.sqrt(2) * (np.sqrt(hill) - np.sqrt(density)), 0)
    at = BINS - 1 - int(np.argmax(z[::-1]))
    if not z[at] > 0:
        return 0.0, 0.0
    floor = density <= density[at] + 0.5
    first = at - int(np.argmin(np.append(floor[: at + 1][::-1], False))) + 1
    last = at + int(np.argmin(np.append(floor[at:], False))) - 1
    middle = 0.5 * (grid[first] + grid[last]) + 0.5 * step
    return float(z[at]), float(center + scale * np.sinh(middle))


@njit(cache=True)
def log_concave(counts: Array) -> float:
    """Return the log likelihood of binned counts under the best log-concave law (Newton's method, log barrier)."""
    m, total = len(counts), counts.sum()
    grid = (np.arange(m) - (m - 1) / 2) / m
    phi = -8.0 * grid * grid
    barrier = 0.05  # nats that a kink may cost
    for _ in range(60):
        e = np.exp(phi)
        p = e / e.sum()
        gradient = counts - total * p
        hessian = np.diag(total * p + 1e-9) - total * np.outer(p, p) + 1e-7 * total
        for b in range(1, m - 1):
            bend = 2 * phi[b] - phi[b - 1] - phi[b + 1]
            for i, f in ((b - 1, -1.0), (b, 2.0), (b + 1, -1.0)):
                gradient[i] += barrier / bend * f
                for j, g in ((b - 1, -1.0), (b, 2.0), (b + 1, -1.0)):
                    hessian[i, j] += barrier / bend**2 * f * g
        step = np.linalg.solve(hessian, gradient)
        length = 1.0
        for b in range(1, m - 1):
            change = 2 * step[b] - step[b - 1] - step[b + 1]
            if change < 0:
                length = min(length, -0.9 * (2 * phi[b] - phi[b - 1] - phi[b + 1]) / change)
        phi = phi + length * step
        phi -= phi.max()
        if gradient @ step < 0.05 and length > 0.5:
            break
    return counts @ (phi - np.log(np.exp(phi).sum()))


@njit(cache=True)
def _two_scales(lengths: Array, counts: Array, k: int) -> tuple[float, float, float]:
    """Return the share of the narrow normal law and both scales, of counted lengths in k dimensions, by EM."""
    total = counts.sum()
    at = np.searchsorted(np.cumsum(counts), total / 2)
    narrow, wide, share = lengths[at] / np.sqrt(k), 1.5 * np.sqrt((counts * lengths**2).sum() / total / k), 0.6
    for _ in range(100):
        inside = inside_square = outside = outside_square = 0.0
        for i in range(len(lengths)):
            odds = (
                np.log(share / (1 - share))
                + k * np.log(wide / narrow)
                - 0.5 * lengths[i] ** 2 * (narrow**-2 - wide**-2)
            )
            r = counts[i] / (1 + np.exp(-min(max(odds, -500.0), 500.0)))
            inside += r
            inside_square += r * lengths[i] ** 2
            outside += counts[i] - r
            outside_square += (counts[i] - r) * lengths[i] ** 2
        if inside < 1 or outside < 1:
            return 1.0, narrow, narrow
        before = wide / narrow
        narrow, wide, share = np.sqrt(inside_square / inside / k), np.sqrt(outside_square / outside / k), inside / total
        if abs(wide / narrow / before - 1) < 1e-3:
            break
    return share, narrow, wide


@njit(cache=True)
def _log_lengths(points: Array) -> tuple[Array, Array, Array, Array]:
    """Return lengths in units of their median; counts of their logs, right of the centre and in all; edges of the bins.

    Bin 0 holds what is nearer than NEAR: the centre is not known better.
    """
    m, k = points.shape
    lengths = np.zeros(m)
    sides = np.empty(m, np.bool_)
    for j in range(k):
        center = np.median(points[:, j])
        for i in range(m):
            lengths[i] += (points[i, j] - center) ** 2
            sides[i] = points[i, j] > center
    lengths = np.sqrt(lengths)
    middle = np.median(lengths)
    counts, right = np.zeros(SCALE_BINS + 1), np.zeros(SCALE_BINS + 1)
    if not middle > 0:
        return lengths, counts, right, np.zeros(SCALE_BINS + 1)
    lengths /= middle
    step = np.log(max(1.001 * lengths.max(), 6.0) / NEAR) / SCALE_BINS
    for i in range(m):
        b = 0
        if lengths[i] > NEAR:
            b = min(int(np.log(lengths[i] / NEAR) / step) + 1, SCALE_BINS)
        counts[b] += 1
        if sides[i]:
            right[b] += 1
    return lengths, counts, right, NEAR * np.exp(step * np.arange(SCALE_BINS + 1))


def second_scale(points: Array) -> tuple[float, Array]:
    """Return the evidence in nats for a second scale around the centre of points (m x k), and the narrow share."""
    m, k = points.shape
    lengths, counts, right, edges = _log_lengths(points)
    if not counts.any():
        return -np.inf, np.ones(m)
    share, narrow, wide = _two_scales(np.append(NEAR / 3**0.5, np.sqrt(edges[1:] * edges[:-1])), counts, k)
    if wide < CLEAR * narrow:
        return -np.inf, np.ones(m)
    mass = [np.diff(gammainc(k / 2, (edges / scale) ** 2 / 2)) for scale in (narrow, wide)]
    two = share * mass[0] + (1 - share) * mass[1]
    two = np.log(np.maximum(two / two.sum(), 1e-300))
    one = log_concave(counts[1:])
    if k == 1:
        one = max(one, log_concave(right[1:]) + log_concave((counts - right)[1:]) - SKEW)
    odds = np.log(share / (1 - share)) + k * np.log(wide / narrow) - 0.5 * lengths**2 * (narrow**-2.0 - wide**-2.0)
    return float(counts[1:] @ two - one), 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
