"""Normal laws of the majority and of the groups beside it, and whether the majority is elliptical."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from robustream.kernels.device_arrays import is_device_array
from robustream.majority.evidence import Array

Mask = NDArray[np.bool_]

STEPS = 30  # most of expectation maximisation; three or four are usual
SIGMAS = 3.5  # of the tests of directions; the statistics are skewed, so more than three


def squared_lengths(z: Array) -> Array:
    """Return the squared length of each row."""
    return np.einsum("ij,ij->i", z, z)


class Moments(NamedTuple):
    """Sum of the weights, mean and covariance (divisor: that sum) of points."""

    size: float
    center: Array
    scatter: Array

    @classmethod
    def of(cls, points: Array, weights: Array, deviations: Array, weighted: Array) -> "Moments":
        """Return those of weighted points; deviations from the mean are written where they are wanted."""
        size = float(weights.sum())
        center = weights @ points / size
        np.subtract(points, center, out=deviations)
        np.multiply(deviations, weights[:, None], out=weighted)
        return cls(size, center, weighted.T @ deviations / size)

    @classmethod
    def together(cls, parts: list["Moments"]) -> "Moments":
        """Return those of several groups of points as one."""
        if len(parts) == 1:
            return parts[0]
        size = sum(part.size for part in parts)
        center = sum((part.size * part.center for part in parts), np.zeros_like(parts[0].center)) / size
        scatter = np.zeros_like(parts[0].scatter)
        for part in parts:
            scatter += part.size / size * (part.scatter + np.outer(part.center - center, part.center - center))
        return cls(size, center, scatter)


class Law:
    """Centre, scatter and whitening of a group of points; the scatter may be shrunk to a prior one worth k points."""

    def __init__(self, moments: Moments, prior: Array | None = None) -> None:
        k = len(moments.center)
        self.size, self.center, self.scatter = moments
        if prior is not None:
            self.scatter = (self.size * self.scatter + k * prior) / (self.size + k)
        ridge = 1e-9 * np.trace(self.scatter) / k + 1e-300
        lower = np.linalg.cholesky(self.scatter + ridge * np.eye(k))
        self.whitening = np.linalg.inv(lower).T
        self.log_determinant = 2 * float(np.log(np.diag(lower)).sum())

    def white(self, points: Array) -> Array:
        """Return points with centre 0 and scatter 1."""
        return points @ self.whitening.astype(points.dtype) - (self.center @ self.whitening).astype(points.dtype)

    @property
    def log_peak(self) -> float:
        """Return the log of the law's size times its density in the centre, but for a constant of all laws."""
        return float(np.log(self.size)) - 0.5 * self.log_determinant


def drawn(probability: Array) -> Mask:
    """Return points drawn with their probabilities, evenly (multiples of the golden ratio instead of chance)."""
    return probability > np.arange(len(probability)) * 0.6180339887498949 % 1


def posteriors(laws: list[Law], squares: list[Array]) -> Array:
    """Return the posterior probability of each law (row) for each point, of squared white lengths."""
    log = np.stack([law.log_peak - 0.5 * s for law, s in zip(laws, squares, strict=True)])
    odds = np.exp(log - log.max(axis=0))
    odds /= odds.sum(axis=0)
    return odds


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _majority_posteriors(white: Array, peaks: Array, posterior: Array, likeliest: NDArray[np.intp]) -> None:
    """Fill in the first law's posterior, and the likeliest law, of points that are white for each law, side by side."""
    laws = len(peaks)
    n, k = len(white), white.shape[1] // laws
    logs = np.empty(laws)
    for i in range(n):
        best = 0
        for law in range(laws):
            square = 0.0
            for j in range(k):
                square += white[i, law * k + j] ** 2
            logs[law] = peaks[law] - 0.5 * square
            if logs[law] > logs[best]:
                best = law
        total = 0.0
        for law in range(laws):
            if logs[law] > logs[best] - 40:  # others are nothing beside it, in doubles
                total += np.exp(logs[law] - logs[best])
        posterior[i] = np.exp(logs[0] - logs[best]) / total if logs[0] > logs[best] - 700 else 0.0
        likeliest[i] = best


class Mixture:
    """The majority (first) and the groups as normal laws, by EM from the shares of each point."""

    def __init__(self, points: Array, shares: Array) -> None:
        deviations, room = np.empty((len(shares), *points.shape)), np.empty(points.shape)
        for _ in range(STEPS):
            before = shares[0]
            found = [Moments.of(points, share + 1e-12, d, room) for share, d in zip(shares, deviations, strict=True)]
            # A group of few points is as wide as all groups together.
            prior = Moments.together(found[1:]).scatter
            self.laws = [Law(found[0]), *(Law(moments, prior) for moments in found[1:])]
            shares = posteriors(
                self.laws,
                [
                    squared_lengths(np.matmul(d, law.whitening, out=room))
                    for law, d in zip(self.laws, deviations, strict=True)
                ],
            )
            if np.abs(shares[0] - before).sum() < 2e-3 * before.sum():
                break
        self.posterior = shares[0]

    def weigh(self, points: Array) -> tuple[Array, NDArray[np.intp]]:
        """Return the majority's posterior, and the likeliest law, of any points."""
        if is_device_array(points):
            shares = posteriors(self.laws, [squared_lengths(law.white(points)).astype(float) for law in self.laws])
            return shares[0], np.argmax(shares, axis=0)
        posterior, likeliest = np.empty(len(points)), np.empty(len(points), np.intp)
        white = points @ np.hstack([law.whitening for law in self.laws]).astype(points.dtype)
        white -= np.hstack([law.center @ law.whitening for law in self.laws]).astype(points.dtype)
        _majority_posteriors(white, np.array([law.log_peak for law in self.laws]), posterior, likeliest)
        return posterior, likeliest


def elliptical(white: Array) -> bool:
    """Return whether the far quarter of white points points everywhere alike.

    The cosines c of pairs of directions that are uniform on the sphere in k dimensions are uncorrelated; c, c^2 and c^4
    have means 0, 1/k and 3/(k(k+2)). Three U-statistics: a lean (skewed laws), a turn (another shape far out), axes
    (heavy tails of independent columns).
    """
    k = white.shape[1]
    squares = squared_lengths(white)
    far = white[np.argsort(squares)[-max(len(white) // 4, 8) :]]
    directions = far / np.sqrt(np.maximum(squared_lengths(far), 1e-300))[:, None]
    if k == 1:
        return bool(abs(directions.sum()) < SIGMAS * np.sqrt(len(far)))
    pairs = len(far) * (len(far) - 1)
    cosines = directions @ directions.T
    np.fill_diagonal(cosines, 0)
    squares = cosines**2
    second, fourth, eighth = 1 / k, 3 / (k * (k + 2)), 105 / (k * (k + 2) * (k + 4) * (k + 6))
    lean = cosines.sum() / pairs / np.sqrt(second)
    turn = (squares.sum() / pairs - second) / np.sqrt(fourth - second**2)
    axes = (np.vdot(squares, squares) / pairs - fourth) / np.sqrt(eighth - fourth**2)
    return bool(max(lean, turn, axes) * np.sqrt(pairs / 2) < SIGMAS)
