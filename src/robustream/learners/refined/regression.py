"""Refined linear regression of one batch: least squares of the rows that fit, found from a robust start.

Rows are judged by x and by residual together: groups that are foreign in x stand aside while a robust fit is
found on the others, and come back if they obey it. Good leverage is information; bad leverage does not obey.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.cells import moments_with_missing
from robustream.learners.refined.groups import column_units
from robustream.learners.refined.polish import Polished, plain, polish
from robustream.learners.refined.scatter import foreign_rows
from robustream.learners.refined.solver import Solver, normal_equivalent, residuals, row_norm
from robustream.learners.refined.starts import better_than_in_noise, robust_start
from robustream.spaces import Array
from robustream.spaces.linear import solve_moments

__all__ = ["RefinedFit", "refined_regression"]

Mask = NDArray[np.bool_]
# With fewer rows for each parameter a robust search finds good fits to a part of the rows even in pure noise.
FEW_ROWS = 8


class RefinedFit(NamedTuple):
    """The fit, in the units of the data, and the moments of the rows it believes."""

    coef: Array  # outputs x columns
    scale: Array  # residual scale of each output
    residuals: Array
    row_weights: Array
    center: Array  # weighted mean of columns and targets; zeros without an intercept
    moments: Array  # their weighted second moments about it


def obeys(R: Array, D: Array, scale: Array, inverse: Array, typical: float) -> bool:
    """Tell whether a group of rows follows a fit it took no part in, within the fit's own uncertainty."""
    leverage = np.einsum("ij,ij->i", D @ inverse.astype(D.dtype), D)
    z = R / scale / np.sqrt(1 + leverage)[:, None]
    fits = np.mean(row_norm(z) < 3)
    mean_row = D.mean(axis=0)
    uncertainty = np.sqrt(mean_row @ inverse @ mean_row + 1 / len(D))
    lean = np.abs(np.median(R, axis=0)) / scale / uncertainty / 1.25
    if fits < typical - 0.15 or np.any(lean >= 4):
        return False
    # Chow's test: the group's own slopes differ from the fit's by no more than both uncertainties allow.
    k = D.shape[1]
    near = row_norm(z) < 3
    if near.sum() <= 2 * k:
        return True
    Dn, Rn = D[near].astype(np.float64), R[near] / scale
    own = np.linalg.pinv(Dn.T @ Dn, rcond=1e-10, hermitian=True)
    change = own @ (Dn.T @ Rn)
    allowed = own + inverse + 1e-12 * np.trace(inverse) * np.eye(k)
    excess = np.sum(change * np.linalg.solve(allowed, change), axis=0)
    return bool(np.all(excess < k + 5 * np.sqrt(2 * k)))


class Joint(NamedTuple):
    """Mean and covariance of design columns and targets, with the rows' weights."""

    mean: Array
    covariance: Array
    weights: Array


def joint_moments(D: Array, Y: Array, weights: Array) -> Joint:
    """Give the weighted mean and covariance of columns and targets."""
    joint = np.column_stack([D, Y.astype(D.dtype, copy=False)])
    total = float(weights.sum())
    shares = weights.astype(D.dtype)
    mean = shares @ joint / total
    joint -= mean.astype(D.dtype)
    covariance = (joint if np.all(shares == 1) else joint * shares[:, None]).T @ joint / total
    return Joint(mean.astype(np.float64), covariance.astype(np.float64), weights)


def joint_with_missing(D: Array, Y: Array, flags: Mask, beta: Array, scale: Array, use: Mask) -> Joint:
    """Do the same where bad cells of x are missing.

    A completed cell adds its own uncertainty to the row's residual, so rows are judged by both.
    """
    p = flags.shape[1]
    _, scatter, _ = moments_with_missing(D[use, :p], flags[use], n_steps=4)
    variance = 1 / np.diag(np.linalg.inv(scatter + 1e-9 * np.eye(p)))
    allowed = np.sqrt(scale**2 + flags @ (variance[:, None] * beta[:p] ** 2))
    use = use & (row_norm(residuals(D, Y, beta) / allowed) < 4)
    joint = np.column_stack([D[use, :p], Y[use]])
    mean, covariance, _ = moments_with_missing(joint, np.pad(flags[use], ((0, 0), (0, Y.shape[1]))), n_steps=12)
    return Joint(mean, covariance, use.astype(np.float64))


def refined_regression(
    X: Array, Y: Array, rng: np.random.Generator, fit_intercept: bool = True, alpha: float = 0.0
) -> RefinedFit:
    """Give the linear regression that least squares would give on the clean rows of (X, Y) alone."""
    n, p = X.shape
    Y = Y.reshape(n, -1).astype(np.float64)
    y_unit, y_continuous = column_units(Y)
    Y = Y / y_unit
    foreign = foreign_rows(X, rng)
    rows = foreign.completed
    aside = foreign.labels != 0
    origin = rows[~aside].mean(axis=0, dtype=np.float64) if fit_intercept else np.zeros(p)
    unit = foreign.unit
    D = (rows - origin.astype(X.dtype)) / unit.astype(X.dtype)
    penalty = alpha / unit**2
    if fit_intercept:
        D = np.column_stack([D, np.ones(n, X.dtype)])
        penalty = np.append(penalty, 0.0)
    solver = Solver(penalty, fit_intercept)
    # Of a target that mostly has one value, a flag or a count, residuals tell nothing about which rows are bad.
    fit = polish if bool(y_continuous.all()) else plain
    beta, scale, weights = _fit_without(aside, D, Y, solver, rng, fit)
    if aside.any():
        use = ~aside | _obedient(foreign.labels, D, Y, beta, scale, weights, solver)
        if use.sum() > (~aside).sum():
            beta, scale, weights = fit(D, Y, beta, use, _sample(use, p, rng), solver)
    joint = joint_moments(D[:, :p], Y, weights)
    if foreign.flags is not None:
        joint = joint_with_missing(D, Y, foreign.flags, beta, scale, ~aside)
    units = np.concatenate([unit, y_unit])
    mean = joint.mean * units + np.concatenate([origin, np.zeros(Y.shape[1])])
    covariance = joint.covariance * np.outer(units, units)
    if not fit_intercept:
        covariance, mean = covariance + np.outer(mean, mean), np.zeros_like(mean)
    coef = solve_moments(covariance, p, alpha)
    left = Y * y_unit - mean[p:] - (rows - mean[:p]) @ coef.T
    if foreign.flags is not None:
        unexplained = np.diag(covariance)[p:] - np.einsum("op,po->o", coef, covariance[:p, p:])
        scale = np.sqrt(np.maximum(unexplained, 0.0)) / y_unit
    return RefinedFit(coef, scale * y_unit, left, joint.weights, mean, covariance)


def _fit_without(
    aside: Mask, D: Array, Y: Array, solver: Solver, rng: np.random.Generator, fit: Callable[..., Polished]
) -> Polished:
    """Fit the rows that x does not speak against, from a robust start."""
    use = ~aside
    sample = _sample(use, D.shape[1], rng)
    if fit is plain:
        return plain(D, Y, solver(D, Y, use.astype(np.float64)), use, sample, solver)
    beta = robust_start(D[sample], Y[sample], solver, rng)
    if len(sample) < FEW_ROWS * D.shape[1] and not better_than_in_noise(D[sample], Y[sample], beta, solver, rng):
        fit = plain
    return fit(D, Y, beta, use, sample, solver)


def _sample(use: Mask, columns: int, rng: np.random.Generator) -> NDArray[np.intp]:
    inside = np.flatnonzero(use)
    return rng.choice(inside, min(len(inside), max(1500, 15 * columns)), replace=False)


def _obedient(
    labels: NDArray[np.intp], D: Array, Y: Array, beta: Array, scale: Array, weights: Array, solver: Solver
) -> Mask:
    """Mark the rows of the foreign groups that obey the fit."""
    use = labels == 0
    W = D[use].T @ (D[use] * (weights[use] > 0)[:, None])
    inverse = solver.solve(W, np.eye(len(W)), float(use.sum()))
    typical = float(np.mean(normal_equivalent(residuals(D[use], Y[use], beta), scale) < 3))
    back = np.zeros(len(labels), bool)
    for label in range(1, int(labels.max()) + 1):
        group = labels == label
        if group.any() and obeys(residuals(D[group], Y[group], beta), D[group], scale, inverse, typical):
            back |= group
    return back
