"""Efficient steps from a robust start: plain least squares where the residuals look clean."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.mixture import fit_mixture
from robustream.learners.refined.solver import TINY, Solver, bisquare, normal_equivalent, residual_scale, residuals
from robustream.spaces import Array

__all__ = ["Polished", "looks_clean", "plain", "polish"]

Mask = NDArray[np.bool_]
# Coefficients, scale of each output, weight of each row.
Polished: TypeAlias = tuple[Array, Array, Array]


def looks_clean(z: Array, fitted: Array) -> bool:
    """Normal tails, one hill, and no more spread where the fit is far from its centre (flipped, shuffled rows)."""
    n = len(z)
    if np.max(z) < 1e-3:
        return True
    if np.mean(z**4) / np.mean(z**2) ** 2 < 3 - 3 * np.sqrt(24 / n):
        return False
    tail = 0.0027 * n
    if np.sum(z > 3) > tail + 3 * np.sqrt(tail) + 1 or np.max(z) > 5:
        return False
    away = np.abs(fitted - np.median(fitted))
    away, spread = away - away.mean(), z * z - np.mean(z * z)
    relation = (away @ spread) ** 2 / max((away @ away) * (spread @ spread), TINY)
    return bool(n * relation < 9)


def plain(D: Array, Y: Array, beta: Array, use: Mask, sample: NDArray[np.intp], solver: Solver) -> Polished:
    """Least squares of the rows in use."""
    weights = use.astype(np.float64)
    beta = solver(D, Y, weights)
    R = residuals(D[use], Y[use], beta)
    return beta, np.maximum(np.sqrt(np.sum(R**2, axis=0) / max(use.sum() - D.shape[1], 1)), TINY), weights


def polish(D: Array, Y: Array, beta: Array, use: Mask, sample: NDArray[np.intp], solver: Solver) -> Polished:
    """Efficient steps on the rows in use; plain least squares where their residuals look normal.

    Everything that takes many steps is done on the sample; all rows are passed three times.
    """
    k = D.shape[1]
    if len(sample) < 2 * k:  # too few rows to judge a residual by
        return plain(D, Y, beta, use, sample, solver)
    Ds, Ys = D[sample], Y[sample]
    for _ in range(4):
        R = residuals(Ds, Ys, beta)
        scale = residual_scale(R, k)
        beta = solver(Ds, Ys, bisquare(normal_equivalent(R, scale), 4.7))
    if len(sample) < use.sum():  # else residuals outside the sample are larger than inside
        beta = solver(D, Y, use * bisquare(normal_equivalent(residuals(D, Y, beta), scale), 4.7))
    R = residuals(D, Y, beta)
    scale = residual_scale(R[sample], k * len(sample) / use.sum())
    z = normal_equivalent(R, scale)
    if looks_clean(z[use], (Y - R)[use, 0]):
        return plain(D, Y, beta, use, sample, solver)
    if Y.shape[1] > 1:
        for _ in range(2):
            weights = use * bisquare(z, 4.7)
            beta = solver(D, Y, weights)
            z = normal_equivalent(residuals(D, Y, beta), scale)
        return beta, scale, weights
    model, evidence = fit_mixture(Ds, Ys, beta, float(scale[0]), solver, second_line=False)
    # A second line may lie close by: then the outer rows are a better start for it than the outliers.
    starts = (1.0, 0.6) if k <= 20 else (1.0,)
    for inner in starts if len(sample) * (1 - model.share[0]) > 2 * k or k <= 20 else ():
        other, other_evidence = fit_mixture(Ds, Ys, beta, float(scale[0]), solver, second_line=True, inner=inner)
        model, evidence = max((model, evidence), (other, other_evidence), key=lambda pair: pair[1])
    beta = model.beta
    weights = use * model.posterior(D, Y, residuals(D, Y, beta)[:, 0])[0][0]
    for _ in range(3 if len(sample) < use.sum() else 0):
        beta = solver(D, Y, weights)
        weights = use * model.posterior(D, Y, residuals(D, Y, beta)[:, 0])[0][0]
    return beta, np.array([model.sigma]), weights
