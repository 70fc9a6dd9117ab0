"""Efficient steps from a robust start: plain least squares where the residuals look clean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.fan import fan_evidence
from robustream.learners.refined.mixture import fit_mixture
from robustream.learners.refined.solver import (
    TINY,
    Gram,
    Solver,
    bisquare,
    gram_of,
    normal_equivalent,
    residual_scale,
    residuals,
    settled,
)
from robustream.spaces import Array

__all__ = ["Polished", "looks_clean", "looks_normal", "plain", "polish"]

Mask = NDArray[np.bool_]
CLEAR = (
    4.0  # gain in log likelihood that a second line must bring: believed without need, it costs far more than it saves
)


class Polished(NamedTuple):
    """Coefficients, scale of each output, weight of each row, and the sums of products with these weights."""

    beta: Array
    scale: Array
    weights: Array
    gram: Gram


def looks_clean(z: Array, fitted: Array) -> bool:
    """Normal tails, one hill, and no more spread where the fit is far from its centre (flipped, shuffled rows)."""
    n = len(z)
    if np.max(z) < 1e-3:
        return True
    square = z * z
    if np.mean(square * square) / np.mean(square) ** 2 < 3 - 3 * np.sqrt(24 / n):
        return False
    tail = 0.0027 * n
    if np.sum(z > 3) > tail + 3 * np.sqrt(tail) + 1 or np.max(z) > 5:
        return False
    return _even(square, fitted)


def looks_normal(R: Array, fitted: Array) -> bool:
    """Tell whether the residuals of least squares leave nothing to look for: no skew, no tails, the same everywhere.

    Stricter than what suffices after a robust fit, since bad rows among those fitted hide behind a larger scale.
    """
    n = len(R)
    z = (R - R.mean(axis=0)) / np.maximum(np.sqrt(np.mean(np.square(R), axis=0)), TINY)
    square = z * z
    skew, kurtosis = np.mean(square * z, axis=0), np.mean(square * square, axis=0)
    if np.any(np.abs(skew) > 3 * np.sqrt(6 / n)) or np.any(np.abs(kurtosis - 3) > 3 * np.sqrt(24 / n)):
        return False
    return bool(np.max(square) < 25 and all(_even(square[:, j], fitted[:, j]) for j in range(R.shape[1])))


def _even(square: Array, fitted: Array) -> bool:
    """Tell whether squared residuals are no larger where the fit is far from its centre."""
    away = np.abs(fitted - np.median(fitted))
    away, spread = away - away.mean(), square - np.mean(square)
    relation = (away @ spread) ** 2 / max((away @ away) * (spread @ spread), TINY)
    return bool(len(square) * relation < 9)


def plain(D: Array, Y: Array, use: Mask, solver: Solver) -> Polished:
    """Least squares of the rows in use."""
    weights = use.astype(np.float64)
    gram = gram_of(D, Y, weights)
    beta = solver.solve_gram(gram)
    square = np.square(residuals(D, Y, beta)) if use.all() else np.square(residuals(D, Y, beta)[use])
    scale = np.sqrt(np.sum(square, axis=0) / max(gram.rows - D.shape[1], 1))
    return Polished(beta, np.maximum(scale, TINY), weights, gram)


def polish(D: Array, Y: Array, beta: Array, use: Mask, sample: NDArray[np.intp], solver: Solver) -> Polished:
    """Efficient steps on the rows in use; plain least squares where their residuals look normal.

    Everything that takes many steps is done on the sample; all rows are passed a few times.
    """
    n, k = len(sample), D.shape[1]
    if n < 2 * k:  # too few rows to judge a residual by
        return plain(D, Y, use, solver)
    everyone = n == use.sum()
    Ds, Ys = D[sample], Y[sample]
    for _ in range(4):
        R = residuals(Ds, Ys, beta)
        scale = residual_scale(R, k)
        beta, previous = solver(Ds, Ys, bisquare(normal_equivalent(R, scale), 4.7)), beta
        if settled(Ds, beta, previous, float(np.mean(scale)), 0.3):
            break
    R = residuals(D, Y, beta)
    z = normal_equivalent(R / _room(use, sample, k), scale)
    if looks_clean(z[use], (Y - R)[use, 0]):
        return plain(D, Y, use, solver)
    if Y.shape[1] > 1:
        for _ in range(2):
            weights = use * bisquare(z, 4.7)
            gram = gram_of(D, Y, weights)
            beta = solver.solve_gram(gram)
            z = normal_equivalent(residuals(D, Y, beta), scale)
        return Polished(beta, scale, weights, gram)
    precision = 0.01 if everyone else 0.1
    start = (Ds, Ys, beta, float(scale[0]), solver)
    model, evidence = one_line = fit_mixture(*start, second_line=False, precision=precision)
    evidence += CLEAR
    # A second line may lie close by: then the outer rows are a better start for it than the outliers.
    starts = (1.0, 0.6) if k <= 20 else (1.0,)
    for inner in starts if n * (1 - model.share[0]) > 2 * k or k <= 20 else ():
        other, other_evidence = fit_mixture(*start, second_line=True, inner=inner, precision=precision)
        model, evidence = max((model, evidence), (other, other_evidence), key=lambda pair: pair[1])
    if model is not one_line[0]:
        line, opening = one_line[0].beta, (Ds @ (model.bad_beta - model.beta).astype(Ds.dtype))[:, 0]
        if fan_evidence(residuals(Ds, Ys, line)[:, 0], opening, float(scale[0]), model.reach) + CLEAR > evidence:
            model = one_line[0]
    beta = model.beta
    weights = use * model.posterior(D, Y, residuals(D, Y, beta)[:, 0])[0][0]
    for _ in range(0 if everyone else 3):
        beta, previous = solver(D, Y, weights), beta
        weights = use * model.posterior(D, Y, residuals(D, Y, beta)[:, 0])[0][0]
        if settled(D, beta, previous, model.sigma, 0.3):
            break
    return Polished(beta, np.array([model.sigma]), weights, gram_of(D, Y, weights))


def _room(use: Mask, sample: NDArray[np.intp], k: int) -> Array:
    """Spread of residuals in units of the noise: smaller in the sample that was fitted, larger elsewhere."""
    n = len(sample)
    room = np.full((len(use), 1), np.sqrt(1 + k / n))
    room[sample] = np.sqrt(max(1 - k / n, 0.25))
    return room
