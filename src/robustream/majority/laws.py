"""Normal laws of the majority and of the groups beside it, and whether the majority is elliptical."""

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


def scatter(points: Array, weights: Array) -> tuple[Array, Array]:
    """Return weighted mean and covariance; the divisor is the sum of the weights."""
    total = weights.sum()
    center = weights @ points / total
    deviations = points - center
    return center, (deviations * weights[:, None]).T @ deviations / total


class Law:
    """Centre, scatter and whitening of weighted points; the scatter may be shrunk to a prior one worth k points."""

    def __init__(self, points: Array, weights: Array, prior: Array | None = None) -> None:
        k = points.shape[1]
        self.size = float(weights.sum())
        self.center, self.scatter = scatter(points, weights)
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


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _majority_posteriors(white: Array, peaks: Array, posterior: Array, likeliest: NDArray[np.intp]) -> None:
    """Fill in the first law's posterior, and the likeliest law, of points that are white for each."""
    laws, n, k = white.shape
    logs = np.empty(laws)
    for i in range(n):
        best = 0
        for law in range(laws):
            square = 0.0
            for j in range(k):
                square += white[law, i, j] * white[law, i, j]
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
        for _ in range(STEPS):
            before = shares[0]
            # A group of few points is as wide as all groups together.
            prior = scatter(points, 1 - before + 1e-12)[1]
            self.laws = [Law(points, before + 1e-12), *(Law(points, share + 1e-12, prior) for share in shares[1:])]
            shares = posteriors(self.laws, [squared_lengths(law.white(points)) for law in self.laws])
            if np.abs(shares[0] - before).sum() < 2e-3 * before.sum():
                break
        self.posterior = shares[0]

    def weigh(self, points: Array) -> tuple[Array, NDArray[np.intp]]:
        """Return the majority's posterior, and the likeliest law, of any points."""
        if is_device_array(points):
            shares = posteriors(self.laws, [squared_lengths(law.white(points)).astype(float) for law in self.laws])
            return shares[0], np.argmax(shares, axis=0)
        posterior, likeliest = np.empty(len(points)), np.empty(len(points), np.intp)
        white = np.stack([law.white(points) for law in self.laws])
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
