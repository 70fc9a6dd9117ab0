"""A second population around the same centre, told by its scatter: it is wide where the majority is narrow.

No radius and no projection need have a valley then. A long tail alone is no evidence, and neither are rows that are far
out in many directions at once: ordinary tables have both. But the far rows of an ordinary long tail are elsewhere as
wide as the near rows, or wider. Rows that are far out along one direction and *narrower* along another follow a law of
their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import expit

from robustream.learners.refined.groups import KEEP_AT_LEAST, fixed_points, fourth_moment_axes
from robustream.learners.refined.metric import fit_metric, lengths
from robustream.learners.refined.tails import is_normal
from robustream.spaces import Array

__all__ = ["HINT", "LEADING_AXES", "MOST_ROWS", "Populations", "evidence", "fit_populations", "two_populations"]

LEADING_AXES = 10  # by raw spread: a population that could turn the leading components is wide in these
FEWEST_ROWS = 600
HEAVY = 1.5  # standardised largest fourth moment; normal rows reach 1.2
NARROWER = 4.5  # z score; ordinary laws with a normal core reach 2.7, proportions 4
HINT = 1.0  # z score of a sample from which on more rows are worth a look
MOST_ROWS = 6000
FAR, NEAR = 0.9, 0.5  # far rows along a direction lie beyond the one quantile, near ones within the other
N_DIRECTIONS, N_STARTS = 5, 3
GOLDEN = 0.6180339887498949  # its multiples, modulo 1, are spread as evenly as random numbers are


class Normal(NamedTuple):
    """A normal law."""

    mean: Array
    factor: Array  # lower triangular, of the covariance

    def log_density(self, Y: Array) -> Array:
        """Logarithm of the density, without the constant that all laws have in common."""
        white = solve_triangular(self.factor, (Y - self.mean).T, lower=True)
        return -0.5 * np.einsum("ji,ji->i", white, white) - np.sum(np.log(np.diag(self.factor)))


class Populations(NamedTuple):
    """Two normal laws, the majority's first, and the share of the other."""

    majority: Normal
    other: Normal
    share: float

    def belonging(self, Y: Array) -> Array:
        """Probability that each row is of the majority."""
        odds = np.log((1 - self.share) / self.share)
        return expit(odds + self.majority.log_density(Y) - self.other.log_density(Y))

    def likelihood(self, Y: Array) -> float:
        """Mean log-likelihood."""
        first = np.log(1 - self.share) + self.majority.log_density(Y)
        return float(np.mean(np.logaddexp(first, np.log(self.share) + self.other.log_density(Y))))


def evidence(Y: Array) -> float:
    """Evidence of a second population among white rows in the leading axes (z score); 0 at once where none is due."""
    if len(Y) < FEWEST_ROWS or Y.shape[1] < 2 or heaviness(Y) < HEAVY:
        return 0.0
    # Each half is judged by directions that the other half gave, so that the scores are those of chance.
    halves = np.ascontiguousarray(Y[::2]), np.ascontiguousarray(Y[1::2])
    score = narrower(*halves)
    if score < -1:  # the far rows of one half are wider, as those of elliptical laws are
        return 0.0
    return float((score + narrower(*halves[::-1])) / np.sqrt(2))


def two_populations(Y: Array) -> Populations | None:
    """Fit two normal laws where there is evidence of two and the larger population is normal, else None."""
    if evidence(Y) < NARROWER:
        return None
    starts = (np.abs(Y @ direction) for direction in heavy_directions(Y).T[:N_STARTS])
    fits = [fit_populations(Y, np.where(far > np.quantile(far, 0.8), 0.1, 0.9)) for far in starts]
    best = max(fits, key=lambda fit: fit.likelihood(Y))
    belonging = best.belonging(Y)
    # Rows that are drawn with their probabilities follow the majority's law; a cut would leave a part of it.
    drawn = belonging > np.arange(len(Y)) * GOLDEN % 1
    if best.share > 1 - KEEP_AT_LEAST or not is_normal(fit_metric(Y, belonging).scores(Y[drawn])):
        return None
    return best


def heaviness(Y: Array) -> float:
    """The largest fourth moment of white rows, in units of its standard error for normal ones."""
    n, k = Y.shape
    fourth = (Y * lengths(Y)[:, None]).T @ Y / n
    return float((np.linalg.eigvalsh(fourth)[-1] / (k + 2) - 1) * np.sqrt(n / (k + 2)))


def heavy_directions(Y: Array) -> Array:
    """Directions (columns) of large kurtosis, the largest first."""
    axes = fourth_moment_axes(Y)[:, -N_DIRECTIONS:]
    W = fixed_points(Y, np.hstack([axes, axes]))[:, axes.shape[1] :]
    squared = np.square(np.clip(Y @ W, -8, 8))
    return W[:, np.argsort(-np.mean(squared**2, axis=0) / np.mean(squared, axis=0) ** 2)]


def narrower(Y: Array, others: Array) -> float:
    """How much narrower the far rows of others are than their near ones (z score), along a direction that Y shows."""
    direction = heavy_directions(Y)[:, 0]
    near, far = _near_and_far(Y @ direction)
    contrast = np.cov(Y[far].T) - np.cov(Y[near].T) + 1e3 * np.outer(direction, direction)
    narrow = np.linalg.eigh(contrast)[1][:, 0]
    near, far = _near_and_far(others @ direction)
    log = np.log(np.square(others @ narrow) + 1e-12)
    error = np.sqrt(np.var(log[near]) / len(near) + np.var(log[far]) / len(far))
    return float((np.mean(log[near]) - np.mean(log[far])) / error)


def _near_and_far(projection: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Give the rows that are nearest and farthest along a direction."""
    order = np.argsort(np.abs(projection))
    return order[: int(NEAR * len(order))], order[int(FAR * len(order)) :]


def fit_populations(Y: Array, belonging: Array, n_steps: int = 30) -> Populations:
    """Expectation-maximisation from a start; the larger share is the majority."""
    for _ in range(n_steps):
        share = float(np.clip(1 - np.mean(belonging), 1e-3, 1 - 1e-3))
        fit = Populations(_normal(Y, belonging), _normal(Y, 1 - belonging), share)
        belonging = fit.belonging(Y)
    return fit if fit.share <= 0.5 else Populations(fit.other, fit.majority, 1 - fit.share)


def _normal(Y: Array, weights: Array) -> Normal:
    total = float(np.sum(weights)) + 1e-9
    mean = (weights @ Y) / total
    centred = Y - mean
    scatter = (centred * weights[:, None]).T @ centred / total
    return Normal(mean, np.linalg.cholesky(scatter + 1e-6 * np.eye(len(mean))))
