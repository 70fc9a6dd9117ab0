"""Robust starts of a regression: concentration on the better half, from several places."""

from __future__ import annotations

import numpy as np

from robustream.learners.refined.separation import shortest_half
from robustream.learners.refined.solver import TINY, Solver, bisquare, bisquare_scale, residuals, row_norm, settled
from robustream.spaces import Array

__all__ = ["better_than_in_noise", "concentrate", "elemental_start", "robust_start"]

NOISE_SEARCHES = 15
NOISE_GAIN, NOISE_TOGETHER = 1.2, 5.0  # in one search of noise out of fifty or so one of the two is exceeded
SMALL_GAIN, LARGE_GAIN = 1.15, 4.0
SHORT_WAY = 3.0  # in noise the gain is hardly below 1, and the way as a rule longer than 1
ELEMENTAL_LIMIT = 8  # parameters; beyond, a clean random subset is too rare


def elemental_start(D: Array, Y: Array, rng: np.random.Generator, n_subsets: int = 500) -> Array:
    """The best of many exact fits to a few random rows each: the surest start where parameters are few."""
    n, k = D.shape
    m = Y.shape[1]
    size = min(k + 1, n)
    # Every permutation of the rows is cut into as many subsets as it has room for.
    each = n // size
    chosen = np.concatenate([rng.permutation(n)[: each * size] for _ in range(-(-n_subsets // each))]).reshape(-1, size)
    A = D[chosen].astype(np.float64)
    # A little ridge in place of a search for subsets of full rank.
    gram = A.transpose(0, 2, 1) @ A
    gram += (1e-8 * np.trace(gram, axis1=1, axis2=2)[:, None, None] + TINY) * np.eye(k)
    betas = np.linalg.solve(gram, A.transpose(0, 2, 1) @ Y[chosen])
    left = Y[:, None, :] - (D @ betas.transpose(1, 0, 2).reshape(k, -1)).reshape(n, -1, m)
    sizes = np.abs(left[:, :, 0]).T if m == 1 else np.sqrt(np.mean(np.square(left), axis=2)).T
    best = np.argsort(np.partition(sizes, n // 2, axis=1)[:, n // 2])[:10]
    return betas[best[np.argmin([bisquare_scale(sizes[i]) for i in best])]]


def concentrate(D: Array, Y: Array, beta: Array, solver: Solver, n_steps: int) -> tuple[Array, float]:
    """Reweighted least squares on the better half; the fit of smallest M-scale on the way, with that scale."""
    R = residuals(D, Y, beta)
    best, best_scale = beta, bisquare_scale(row_norm(R))
    for _ in range(n_steps):
        # A large shifted minority pulls the intercept; the majority's centre does not.
        size = row_norm(R - shortest_half(R)[0] if solver.has_intercept else R)
        middle = float(np.median(size)) + TINY
        # The floor holds on to rare flags and groups, whose few rows may all be far at first.
        weights = np.maximum(bisquare(size, 2.3 * middle), 0.02 * np.minimum(1, middle / (size + middle)))
        beta, previous = solver(D, Y, weights), beta
        R = residuals(D, Y, beta)
        scale = bisquare_scale(row_norm(R))
        if scale < best_scale:
            best, best_scale = beta, scale
        if settled(D, beta, previous, scale, 0.3):
            break
    return best, best_scale


def robust_start(D: Array, Y: Array, solver: Solver, rng: np.random.Generator) -> Array:
    """Concentration from least absolute deviations, and from exact fits where parameters are few."""
    beta = solver(D, Y, np.ones(len(D)))
    if len(D) < 2 * D.shape[1]:
        return beta
    for _ in range(6):
        size = row_norm(residuals(D, Y, beta))
        middle = float(np.median(size)) + TINY
        beta, previous = solver(D, Y, 1 / np.maximum(size, 0.05 * middle)), beta
        if settled(D, beta, previous, middle, 0.3):
            break
    best, scale = concentrate(D, Y, beta, solver, n_steps=8)
    if D.shape[1] <= ELEMENTAL_LIMIT and len(D) > 2 * D.shape[1]:
        some = slice(0, 300)  # of a random sample
        other, other_scale = concentrate(D, Y, elemental_start(D[some], Y[some], rng), solver, n_steps=12)
        best = other if other_scale < scale else best
    return best


def better_than_in_noise(D: Array, Y: Array, beta: Array, solver: Solver, rng: np.random.Generator) -> bool:
    """Tell whether a robust fit gains more over least squares than the same search gains in targets of pure noise.

    With few rows for each parameter the search always finds a part of the rows that fits well. What it finds on the
    same design where there is nothing to find is the measure: of the scale that it saves, and of the way that it goes,
    which is long where bad rows lie together in x.
    """
    gain, way = _gains(D, Y, beta, solver)
    # Where it is plain there is no need to search noise.
    if gain > LARGE_GAIN and len(D) > 8 * D.shape[1]:
        return True
    if gain < SMALL_GAIN and way < SHORT_WAY:
        return False
    found = []
    for search in range(NOISE_SEARCHES):
        noise = rng.standard_normal(Y.shape)
        found.append(_gains(D, noise, robust_start(D, noise, solver, rng), solver))
        gains, ways = np.transpose(found)
        together = (gain / np.median(gains)) ** 2 * way / np.median(ways)
        # Far below what is asked for after a few searches: more of them would not help.
        if search >= 2 and gain <= np.max(gains) and together < 0.4 * NOISE_TOGETHER:
            return False
    return bool(gain > NOISE_GAIN * np.max(gains) or together > NOISE_TOGETHER)


def _gains(D: Array, Y: Array, beta: Array, solver: Solver) -> tuple[float, float]:
    """Give how many times smaller than that of least squares the scale is, and how far apart the two fits are."""
    least = solver(D, Y, np.ones(len(D)))
    everyone = np.sqrt(np.mean(np.square(row_norm(residuals(D, Y, least)))))
    scale = bisquare_scale(row_norm(residuals(D, Y, beta)))
    way = np.sqrt(np.sum(np.square(row_norm(D @ (beta - least).astype(D.dtype)))) / D.shape[1])
    return float(everyone / scale), float(way / scale)
