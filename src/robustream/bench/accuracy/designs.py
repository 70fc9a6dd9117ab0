"""Laws of clean rows: normal ones, x = offset + factor z, and the kind that real tables are full of.

The covariance of every law is known exactly, so that the true subspace needs no simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NORMAL_DESIGNS", "TABLES", "Array", "Design", "Mask", "make_design", "make_spiked", "make_table"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rng = np.random.Generator
Draw = Callable[[int, Rng], Array]

# Column means of the "scaled" designs lie up to this many standard deviations from zero.
FAR = 50.0
FACTORS = 3


class Design(NamedTuple):
    """A law of rows. Contamination is placed by latent coordinates: offset + factor z, with z of order one."""

    draw: Draw
    offset: Array
    factor: Array
    covariance: Array

    @property
    def spread(self) -> Array:
        """The standard deviation of each column."""
        return np.sqrt(np.diag(self.covariance))

    def observe(self, latent: Array) -> Array:
        """Return the rows of latent coordinates."""
        return np.asarray(latent @ self.factor.T + self.offset)


def make_design(name: str, columns: int, rng: Rng) -> Design:
    """Return a design for regression: "identity", "correlated" (neighbours by 0.9), "scaled", or a table."""
    if name in TABLES:
        return make_table(name, columns, rng)
    if name == "identity":
        return _normal(np.eye(columns))
    if name == "correlated":
        place = np.arange(columns)
        return _normal(np.linalg.cholesky(0.9 ** np.abs(place[:, None] - place)))
    equal = np.full((columns, columns), 0.5) + 0.5 * np.eye(columns)
    return _rescaled(np.asarray(np.linalg.cholesky(equal), dtype=np.float64), rng)


def make_spiked(name: str, columns: int, components: int, rng: Rng) -> Design:
    """Return a design for PCA: leading variances of 25 to 9 above 1 ("strong", "scaled"), 2 above 1 ("faint"), or
    variances that fall steadily, with a step after the leading ones ("correlated")."""
    basis = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    variances = np.ones(columns)
    if name == "correlated":
        variances = 100 * 0.9 ** np.minimum(np.arange(columns), 60)
        variances[:components] *= np.arange(components, 0, -1) + 1
    else:
        variances[:components] = 2.0 if name == "faint" else np.linspace(25, 9, components)
    factor = basis * np.sqrt(variances)
    return _rescaled(factor, rng) if name == "scaled" else _normal(factor)


def _normal(factor: Array, offset: Array | None = None) -> Design:
    center = np.zeros(len(factor)) if offset is None else offset

    def draw(rows: int, rng: Rng) -> Array:
        return np.asarray(rng.standard_normal((rows, len(factor))) @ factor.T + center)

    return Design(draw, center, factor, factor @ factor.T)


def _rescaled(factor: Array, rng: Rng) -> Design:
    """Bring the columns to scales from 1e-3 to 1e3 and their means far from zero."""
    columns = len(factor)
    wanted = 10.0 ** rng.permutation(np.linspace(-3, 3, columns))
    scaled = factor * (wanted / np.linalg.norm(factor, axis=1))[:, None]
    return _normal(scaled, FAR * wanted * rng.uniform(-1, 1, columns))


NORMAL_DESIGNS = ("identity", "correlated", "scaled", "strong", "faint")
TABLES = ("t3", "counts", "one-hot", "flags", "log-normal", "integers", "constant", "collinear", "duplicated")


def make_table(name: str, columns: int, rng: Rng) -> Design:
    """Return a table whose last columns follow a few strong factors, and whose first ones are of a special kind.

    "t3": independent columns with 3 degrees of freedom, scaled like the others; "counts": Poisson, mostly zero,
    with rates that depend on the factors; "one-hot": a group with a few rare levels; "flags": from one row in a
    hundred to every second; "log-normal": skewed, depends on the factors; "integers": all columns rounded;
    "constant": two columns without spread; "collinear": two columns are sums or multiples of others;
    "duplicated": every row about three times.
    """
    half = columns // 2
    loadings, latent = _factor_model(columns, rng)
    mean, covariance = np.zeros(columns), latent.copy()
    special, others = slice(0, half), slice(half, columns)
    levels = 1.0 / np.arange(1, half + 1)
    shares = levels / levels.sum() if name == "one-hot" else np.geomspace(0.01, 0.5, half)
    combine = np.eye(columns)
    if name == "collinear":
        combine[0], combine[3] = np.eye(columns)[1] + np.eye(columns)[2], -2 * np.eye(columns)[4]
    elif name == "constant":
        combine[1] = combine[columns - 2] = 0.0
        mean[1] = 7.0
    covariance = combine @ covariance @ combine.T
    if name in ("counts", "log-normal"):
        center, slope = (-1.5, 0.5) if name == "counts" else (0.0, 0.7)
        # Moments of exp(center + slope z) for jointly normal z; a Poisson count adds its mean to the variance.
        mean[special] = np.exp(center + slope**2 * np.diag(latent)[special] / 2)
        covariance[special, others] = slope * mean[special, None] * latent[special, others]
        covariance[others, special] = covariance[special, others].T
        covariance[special, special] = np.outer(mean[special], mean[special]) * np.expm1(
            slope**2 * latent[special, special]
        ) + (np.diag(mean[special]) if name == "counts" else 0.0)
    elif name in ("one-hot", "flags"):
        covariance[special] = covariance[:, special] = 0.0
        mean[special] = shares
        joint = np.outer(shares, shares) if name == "one-hot" else np.diag(shares**2)
        covariance[special, special] = np.diag(shares) - joint
    elif name == "t3":
        covariance = np.diag(np.diag(latent))
    elif name == "integers":
        # Rounding a spread of 3 or more is adding uniform noise, to far below any sampling error.
        covariance = 9 * covariance + np.eye(columns) / 12

    def draw(rows: int, rng: Rng) -> Array:
        distinct = max(1, rows // 3) if name == "duplicated" else rows
        z = rng.standard_normal((distinct, len(loadings))) @ loadings
        X = z @ combine.T + (mean if name == "constant" else 0.0)
        if name == "counts":
            X[:, special] = rng.poisson(np.exp(-1.5 + 0.5 * z[:, special]))
        elif name == "log-normal":
            X[:, special] = np.exp(0.7 * z[:, special])
        elif name == "one-hot":
            X[:, special] = np.eye(half)[rng.choice(half, rows, p=shares)]
        elif name == "flags":
            X[:, special] = rng.random((rows, half)) < shares
        elif name == "t3":
            X = rng.standard_t(3, (rows, columns)) * np.sqrt(np.diag(latent) / 3)
        elif name == "integers":
            X = np.rint(3 * X)
        elif name == "duplicated":
            X = X[rng.integers(0, distinct, rows)]
        return np.asarray(X)

    spread = np.sqrt(np.diag(covariance))
    return Design(draw, mean, np.diag(np.where(spread > 0, spread, 1.0)), covariance)


def _factor_model(columns: int, rng: Rng) -> tuple[Array, Array]:
    """Return loadings ((factors + columns) x columns) and the covariance of the rows that they make.

    The first half have unit variance, a third of it from one factor; the others have much of it from all factors.
    """
    half = columns // 2
    loadings = np.zeros((FACTORS, columns))
    loadings[np.arange(half) % FACTORS, np.arange(half)] = np.sqrt(1 / 3)
    strength = np.array([2.0, 1.5, 1.1])[:, None]
    loadings[:, half:] = (
        strength * np.linalg.qr(rng.standard_normal((columns - half, FACTORS)))[0].T * np.sqrt((columns - half) / 2)
    )
    own = np.concatenate([np.full(half, np.sqrt(2 / 3)), np.ones(columns - half)])
    stacked = np.vstack([loadings, np.diag(own)])
    return stacked, stacked.T @ stacked
