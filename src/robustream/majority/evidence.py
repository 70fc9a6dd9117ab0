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


def median(values: Array) -> Array:
    """Return the median of each row: NumPy's, without what makes that slow for few numbers."""
    half = values.shape[-1] // 2
    parted = np.partition(values, half, axis=-1)
    upper = parted[..., half]
    return np.asarray(upper if values.shape[-1] % 2 else (upper + parted[..., :half].max(axis=-1)) / 2)


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


@njit(cache=True, error_model="numpy", nogil=True)
def _valleys(ordered: Array, widths: tuple[float, ...], depth: float) -> Array:
    """Return z and threshold of the most evident valley of each sorted row; see `valley` for the plain version."""
    views, m = ordered.shape
    out = np.zeros((views, 2))
    histogram, density, left, edges = np.empty(BINS), np.empty(BINS), np.empty(BINS), np.empty(BINS)
    for v in range(views):
        row = ordered[v]
        half, shortest = m - m // 2, np.inf
        center = 0.0
        for i in range(half):
            width = row[i + m // 2] - row[i]
            if width < shortest:
                shortest, center = width, row[i] + width / 2
        scale = shortest / 1.349
        if not scale > 0:
            continue
        low, high = np.arcsinh((row[0] - center) / scale), np.arcsinh((row[m - 1] - center) / scale)
        step = max((high - low) / (BINS - 2), 1e-9)
        grown, growth = np.exp(low), np.exp(step)
        i = 1  # the first ends at the first value
        for b in range(BINS):
            edges[b] = center + scale * 0.5 * (grown - 1 / grown)
            grown *= growth
            start = i if b > 0 else 0
            if b >= BINS - 2:
                i = m
            while i < m and row[i] <= edges[b]:
                i += 1
            histogram[b] = i - start
        for width in widths:
            bins = max(width / step, 0.5)
            for b in range(BINS):
                density[b] = histogram[b] * np.sqrt(0.5)
            for d in range(1, min(int(3 * bins) + 2, BINS)):
                # weights whose squares have the same sum as the weights: a Poisson count of the rows within the kernel
                f = np.exp(-0.5 * (d / bins) ** 2) * np.sqrt(0.5)
                upper, lower, shifted = density[d:], histogram[d:], BINS - d
                for b in range(shifted):
                    upper[b] += f * histogram[b]
                for b in range(shifted):
                    density[b] += f * lower[b]
            highest = 0.0
            for b in range(BINS):
                highest = max(highest, density[b])
                left[b] = highest
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
    return np.asarray(_valleys(np.sort(views.astype(np.float32, copy=False), axis=1), WIDTHS, depth))


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


@njit(cache=True, error_model="numpy", nogil=True)
def log_concave(counts: Array) -> float:
    """Return the log likelihood of binned counts under the best log-concave law (Newton's method, log barrier).

    The Hessian is a matrix B of five diagonals less t p p', with the total t and the probabilities p. As B 1 = t p, and
    the gradient g adds up to zero, inv(B) g is Newton's step but for a constant, which phi does not depend on.
    """
    m, total = len(counts), counts.sum()
    grid = (np.arange(m) - (m - 1) / 2) / m
    phi = -8.0 * grid * grid
    barrier = 0.05  # nats that a kink may cost
    middle, next_, second = np.empty(m), np.empty(m), np.empty(m)
    for _ in range(60):
        e = np.exp(phi)
        p = e / e.sum()
        gradient = counts - total * p
        middle[:], next_[:], second[:] = total * p + 1e-9, 0.0, 0.0
        for b in range(1, m - 1):
            bend = 2 * phi[b] - phi[b - 1] - phi[b + 1]
            push, stiff = barrier / bend, barrier / bend**2
            gradient[b - 1] -= push
            gradient[b] += 2 * push
            gradient[b + 1] -= push
            middle[b - 1] += stiff
            middle[b] += 4 * stiff
            middle[b + 1] += stiff
            next_[b] -= 2 * stiff
            next_[b + 1] -= 2 * stiff
            second[b + 1] += stiff
        step = gradient.copy()
        for b in range(m):  # B = L D L'; the diagonals turn into D and those of L
            if b > 1:
                next_[b] -= second[b] * next_[b - 1]
                second[b] /= middle[b - 2]
                middle[b] -= second[b] ** 2 * middle[b - 2]
                step[b] -= second[b] * step[b - 2]
            if b > 0:
                next_[b] /= middle[b - 1]
                middle[b] = max(middle[b] - next_[b] ** 2 * middle[b - 1], 1e-12)
                step[b] -= next_[b] * step[b - 1]
        for b in range(m - 1, -1, -1):
            step[b] /= middle[b]
            if b < m - 1:
                step[b] -= next_[b + 1] * step[b + 1]
            if b < m - 2:
                step[b] -= second[b + 2] * step[b + 2]
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


@njit(cache=True, error_model="numpy", nogil=True)
def _two_scales(lengths: Array, counts: Array, k: int) -> tuple[float, float, float]:
    """Return the share of the narrow normal law and both scales, of counted lengths in k dimensions, by EM."""
    total = counts.sum()
    at = np.searchsorted(np.cumsum(counts), total / 2)
    narrow, wide, share = lengths[at] / np.sqrt(k), 1.5 * np.sqrt((counts * lengths**2).sum() / total / k), 0.6
    for _ in range(100):
        inside = inside_square = outside = outside_square = 0.0
        odds, slope = np.log(share / (1 - share)) + k * np.log(wide / narrow), 0.5 * (narrow**-2 - wide**-2)
        for i in range(len(lengths)):
            r = counts[i] / (1 + np.exp(-min(max(odds - slope * lengths[i] ** 2, -500.0), 500.0)))
            inside += r
            inside_square += r * lengths[i] ** 2
            outside += counts[i] - r
            outside_square += (counts[i] - r) * lengths[i] ** 2
        if inside < 1 or outside < 1:
            return 1.0, narrow, narrow
        before = wide / narrow
        narrow, wide, share = np.sqrt(inside_square / inside / k), np.sqrt(outside_square / outside / k), inside / total
        if abs(wide / narrow / before - 1) < 1e-3 or wide < min(before, CLEAR) * narrow:  # settled, or going to nothing
            break
    return share, narrow, wide


@njit(cache=True, error_model="numpy", nogil=True)
def _scale_laws(logs: Array, right: NDArray[np.bool_], sizes: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """Return share and scales of each row of log lengths in so many dimensions; counts, in all and on the right; bins.

    Bin 0 holds what is nearer than NEAR: the centre is not known better.
    """
    rows, m = logs.shape
    laws, counts, steps = np.empty((rows, 3)), np.zeros((rows, 2, SCALE_BINS + 1)), np.empty(rows)
    lengths = np.empty(SCALE_BINS + 1)
    for row in range(rows):
        near = np.log(NEAR)
        steps[row] = (max(logs[row].max() + 0.001, np.log(6.0)) - near) / SCALE_BINS
        for i in range(m):
            b = 0
            if logs[row, i] > near:
                b = min(int((logs[row, i] - near) / steps[row]) + 1, SCALE_BINS)
            counts[row, 0, b] += 1
            if right[row, i]:
                counts[row, 1, b] += 1
        lengths[0] = NEAR / np.sqrt(3.0)
        for b in range(SCALE_BINS):
            lengths[b + 1] = NEAR * np.exp(steps[row] * (b + 0.5))
        laws[row] = _two_scales(lengths, counts[row, 0], sizes[row])
    return laws, counts, steps


def second_scales(coordinates: Array, spaces: list[slice]) -> list[tuple[float, Array]]:
    """Return the evidence in nats for a second scale around the centre, and the narrow share of each point.

    Each space is a stretch of the coordinates (rows) of the points (columns).
    """
    m = coordinates.shape[1]
    deviations = coordinates - median(coordinates)[:, None]
    every = np.square(deviations)
    squares = np.stack([every[space].sum(axis=0) for space in spaces])
    middles = median(squares)[:, None]
    squares /= np.where(middles > 0, middles, 1)
    sizes = np.array([len(deviations[space]) for space in spaces])
    right = np.stack([deviations[space][0] > 0 for space in spaces])
    laws, counts, steps = _scale_laws(0.5 * np.log(np.maximum(squares, 1e-30)), right, sizes)
    found = list[tuple[float, Array]]()
    for row, (k, (share, narrow, wide)) in enumerate(zip(sizes, laws, strict=True)):
        if not middles[row] > 0 or wide < CLEAR * narrow:
            found.append((-np.inf, np.ones(m)))
            continue
        edges = NEAR * np.exp(steps[row] * np.arange(SCALE_BINS + 1))
        mass = [np.diff(gammainc(k / 2, (edges / scale) ** 2 / 2)) for scale in (narrow, wide)]
        two = share * mass[0] + (1 - share) * mass[1]
        two = np.log(np.maximum(two / two.sum(), 1e-300))
        all_, one_side = counts[row][:, 1:]
        one = log_concave(all_)
        if k == 1:
            one = max(one, log_concave(one_side) + log_concave(all_ - one_side) - SKEW)
        odds = np.log(share / (1 - share)) + k * np.log(wide / narrow)
        odds = odds - 0.5 * squares[row] * (narrow**-2.0 - wide**-2.0)
        found.append((float(all_ @ two - one), 1 / (1 + np.exp(-np.clip(odds, -500, 500)))))
    return found
