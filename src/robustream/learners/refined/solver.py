"""Weighted least squares, and the sizes and scales of residuals that robust steps go by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from robustream.learners.refined.separation import core
from robustream.spaces import Array

__all__ = ["Solver", "bisquare", "bisquare_scale", "normal_equivalent", "residual_scale", "residuals", "row_norm"]

TINY = 1e-9  # in units of y: below this a residual is zero


class Solver(NamedTuple):
    """Ridge penalty for each row, of each column of the scaled design (0 for the intercept, which comes last)."""

    penalty: Array
    has_intercept: bool = False

    def __call__(self, D: Array, Y: Array, weights: Array) -> Array:
        """Solve the weighted least-squares problem."""
        WD = D if np.all(weights == 1) else D * weights.astype(D.dtype)[:, None]
        # In the type of the design: else the whole of it would be converted for this product.
        return self.solve(WD.T @ D, WD.T @ Y.astype(D.dtype, copy=False), float(np.sum(weights)))

    def solve(self, gram: Array, moment: Array, rows: float) -> Array:
        """Least-norm solution, so that constant or collinear columns share the effect and nothing is singular."""
        gram = gram.astype(np.float64)
        gram[np.diag_indices_from(gram)] += rows * self.penalty
        diagonal = np.diag(gram)
        # A column without spread in these rows has nothing to say; scaled up, its rounding errors would.
        size = np.sqrt(np.where(diagonal > 1e-14 * diagonal.max(initial=0.0), diagonal, 1.0))
        scaled = gram / size[:, None] / size
        moment = moment.astype(np.float64) / size[:, None]
        factor, failed = dpotrf(scaled, lower=1)
        # The smallest pivot bounds the conditioning well enough to choose the fast way.
        if not failed and np.min(np.diag(factor)) > 1e-3:
            return dpotrs(factor, moment, lower=1)[0] / size[:, None]
        values, vectors = np.linalg.eigh(scaled)
        inverse = np.where(values > 1e-10 * values[-1], 1 / np.maximum(values, 1e-300), 0.0)
        return (vectors * inverse) @ (vectors.T @ moment) / size[:, None]


def residuals(D: Array, Y: Array, beta: Array) -> Array:
    """Give what the fit leaves, rows x outputs."""
    return Y - D @ beta.astype(D.dtype)


def row_norm(residuals: Array) -> Array:
    """Give the size of each row's residual: root mean square over the outputs."""
    return np.abs(residuals[:, 0]) if residuals.shape[1] == 1 else np.sqrt(np.mean(residuals**2, axis=1))


def bisquare(z: Array, c: float) -> Array:
    """Give Tukey's weight, 0 from c on."""
    return np.maximum(1 - (z / c) ** 2, 0.0) ** 2


def bisquare_scale(size: Array, n_steps: int = 10) -> float:
    """M-scale with breakdown 1/2: mean rho(r / s) = 1/2, bisquare with c = 1.547."""
    s = np.median(size) / 0.6745 + TINY
    for _ in range(n_steps):
        u = np.minimum((size / (1.547 * s)) ** 2, 1.0)
        s *= np.sqrt(2 * np.mean(1 - (1 - u) ** 3)) + TINY
    return float(s)


def residual_scale(residuals: Array, n_parameters: float) -> Array:
    """Scale of each output's residual majority, with the degrees of freedom given back."""
    spread = core(residuals)[1]
    n = len(residuals)
    return np.maximum(spread * np.sqrt(n / max(n - n_parameters, n / 4)), TINY)


def normal_equivalent(residuals: Array, scale: Array) -> Array:
    """Size of a row's residual as a normal z score; many outputs are judged together."""
    z = residuals / scale
    if z.shape[1] == 1:
        return np.abs(z[:, 0])
    c = np.cbrt(np.mean(z * z, axis=1))
    centre, spread = core(c[:, None])
    return np.maximum((c - centre[0]) / spread[0], 0.0)
