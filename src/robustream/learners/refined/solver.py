"""Weighted least squares, and the sizes and scales of residuals that robust steps go by."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from robustream.learners.refined.separation import core, shortest_half
from robustream.spaces import Array

__all__ = [
    "TINY",
    "Gram",
    "Solver",
    "bisquare",
    "bisquare_scale",
    "gram_of",
    "normal_equivalent",
    "residual_scale",
    "residuals",
    "row_norm",
    "settled",
]

TIGHTEST, LOOSER = 0.4, 30.0
TINY = 1e-9  # in units of y: below this a residual is zero


class Gram(NamedTuple):
    """Sums of weighted products of design columns and targets, and of the weights."""

    columns: Array
    cross: Array
    targets: Array
    rows: float


def gram_of(D: Array, Y: Array, weights: Array) -> Gram:
    """Sum weighted products in one pass over the rows, in the type of the design."""
    if np.all(weights == 1):
        S, T = D, Y.astype(D.dtype, copy=False)
    else:
        root = np.sqrt(weights)[:, None].astype(D.dtype)
        # The product of a matrix with itself takes half of the time of one with another.
        S, T = D * root, (Y * root).astype(D.dtype, copy=False)
    return Gram(S.T @ S, S.T @ T, T.T @ T, float(np.sum(weights)))


class Solver(NamedTuple):
    """Ridge penalty for each row, of each column of the scaled design (0 for the intercept, which comes last)."""

    penalty: Array
    has_intercept: bool = False

    def __call__(self, D: Array, Y: Array, weights: Array) -> Array:
        """Solve the weighted least-squares problem."""
        return self.solve_gram(gram_of(D, Y, weights))

    def solve_gram(self, gram: Gram) -> Array:
        """Do the same from sums of products."""
        return self.solve(gram.columns, gram.cross, gram.rows)

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


def settled(D: Array, beta: Array, previous: Array, scale: float, share: float) -> bool:
    """Tell whether a step has changed the fit by no more than a share of its own uncertainty."""
    change = D @ (beta - previous).astype(D.dtype)
    return bool(np.mean(np.square(change)) <= (share * scale) ** 2 * D.shape[1] / len(D))


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
    n = len(size)
    s = float(np.partition(size, n // 2)[n // 2]) / 0.6745 + TINY
    square = np.square(size)
    for _ in range(n_steps):
        v = 1 - np.minimum(square / (1.547 * s) ** 2, 1.0)
        s *= math.sqrt(2 * max(1 - float(v @ (v * v)) / n, 0.0)) + TINY
    return s


def residual_scale(residuals: Array, n_parameters: float) -> Array:
    """Scale of each output's residual majority, with the degrees of freedom given back."""
    n = len(residuals)
    # The core of few residuals can be a chance cluster; the shortest half bounds how far it may tighten.
    spread = np.maximum(core(residuals)[1], min(1.0, TIGHTEST + LOOSER / n) * shortest_half(residuals)[1])
    return np.maximum(spread * np.sqrt(n / max(n - n_parameters, n / 4)), TINY)


def normal_equivalent(residuals: Array, scale: Array) -> Array:
    """Size of a row's residual as a normal z score; many outputs are judged together."""
    z = residuals / scale
    if z.shape[1] == 1:
        return np.abs(z[:, 0])
    c = np.cbrt(np.mean(z * z, axis=1))
    centre, spread = core(c[:, None])
    return np.maximum((c - centre[0]) / spread[0], 0.0)
