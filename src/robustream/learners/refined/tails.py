"""Heavy tails that are ordinary: maximum-likelihood weights of an elliptical t law, where the rows have one.

Skewed or one-column tails are not elliptical; weighting them by distance would bend the scatter, so they keep
weight 1 and the plain moments.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import polygamma

from robustream.spaces import Array

LIGHT = 15.0  # from this many degrees of freedom on the plain moments lose less than 2%


def degrees_of_freedom(squared: Array, n_dimensions: int) -> float:
    """Degrees of freedom nu of t rows: var(log d^2) = trigamma(k / 2) + trigamma(nu / 2)."""
    variance, error = _spread_of_logarithms(squared)
    # Two standard errors to the light side: a normal sample must not be weighted.
    excess = variance - 2 * error - polygamma(1, n_dimensions / 2)
    if excess <= polygamma(1, LIGHT / 2):
        return np.inf
    excess = max(variance - polygamma(1, n_dimensions / 2), polygamma(1, LIGHT / 2))
    return float(brentq(lambda nu: polygamma(1, nu / 2) - excess, 1e-3, LIGHT + 1e-6)) if excess < 1e5 else 1e-3


def t_weights(squared: Array, dof: float, n_dimensions: int) -> Array:
    """Give the maximum-likelihood weight of each row under a t law."""
    return (dof + n_dimensions) / (dof + squared)


def is_elliptical(Z: Array) -> bool:
    """Whether far rows point everywhere as near rows do, within sampling error."""
    k = Z.shape[1]
    norm = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    S = Z / np.maximum(norm, 1e-300)[:, None] * np.sqrt(k)
    far = norm > np.quantile(norm, 2 / 3)
    n_far, n_near = int(far.sum()), int((~far).sum())
    if not n_far or not n_near:  # rows all equally far, as on a few discrete places
        return False
    lean = n_far * np.sum(S[far].mean(axis=0) ** 2)
    if lean > k + 4 * np.sqrt(2 * k) + 0.2 * k:
        return False
    contrast = S[far].T @ S[far] / n_far - S[~far].T @ S[~far] / n_near
    expected = k * (k + 1) * (1 / n_far + 1 / n_near)
    return bool(np.sum(contrast**2) < expected * (1.2 + 8 / (k + 1)))


def is_normal(Z: Array) -> bool:
    """Whether whitened rows are as far out as normal ones, in all directions alike, a few of them excepted."""
    squared = np.einsum("ij,ij->i", Z, Z)
    variance, error = _spread_of_logarithms(squared)
    return bool(abs(variance - polygamma(1, Z.shape[1] / 2)) < 3 * error) and is_elliptical(Z)


def _spread_of_logarithms(squared: Array) -> tuple[float, float]:
    """Variance of the logarithms, and its standard error."""
    log = np.log(np.maximum(squared, 1e-300))
    return float(np.var(log)), float(np.sqrt(np.var((log - log.mean()) ** 2) / len(log)))


def belonging(squared: Array, n_dimensions: int, inflation: float, share: float) -> Array:
    """Probability that rows at such distances are normal, and not of a share whose scatter is inflated."""
    log_odds = 0.5 * squared * (1 - 1 / inflation) - 0.5 * n_dimensions * np.log(inflation)
    return 1 / (1 + share / (1 - share) * np.exp(np.minimum(log_odds, 500.0)))
