"""Refined linear regression of one batch: least squares of the rows that fit, found from a robust start.

Rows are judged by x and by residual together: groups that are foreign in x stand aside while a robust fit is
found on the others, and come back if they obey it. Good leverage is information; bad leverage does not obey.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.cells import moments_with_missing
from robustream.learners.refined.groups import column_units
from robustream.learners.refined.polish import polish
from robustream.learners.refined.scatter import foreign_rows
from robustream.learners.refined.solver import Solver, normal_equivalent, residuals, row_norm
from robustream.learners.refined.starts import robust_start
from robustream.spaces import Array

__all__ = ["RefinedFit", "obeys", "refined_regression", "with_missing_cells"]

Mask = NDArray[np.bool_]


class RefinedFit(NamedTuple):
    """The fit, in the units of the data."""

    coef: Array  # outputs x p
    intercept: Array
    scale: Array  # residual scale of each output
    row_weights: Array
    x_center: Array
    diagnostics: dict[str, float]


def obeys(R: Array, D: Array, scale: Array, inverse: Array, typical: float) -> bool:
    """Whether a group of rows follows a fit it took no part in, within the fit's own uncertainty."""
    leverage = np.einsum("ij,ij->i", D @ inverse.astype(D.dtype), D)
    z = R / scale / np.sqrt(1 + leverage)[:, None]
    fits = np.mean(row_norm(z) < 3)
    mean_row = D.mean(axis=0)
    uncertainty = np.sqrt(mean_row @ inverse @ mean_row + 1 / len(D))
    lean = np.abs(np.median(R, axis=0)) / scale / uncertainty / 1.25
    return bool(fits >= typical - 0.15 and np.all(lean < 4))


def with_missing_cells(
    D: Array, Y: Array, flags: Mask, beta: Array, scale: Array, use: Mask, solver: Solver, fit_intercept: bool
) -> tuple[Array, Array, Array]:
    """Regression from the joint moments of x and y, where bad cells of x are missing.

    A completed cell adds its own uncertainty to the row's residual, so rows are judged by both.
    """
    p = flags.shape[1]
    _, scatter, _ = moments_with_missing(D[use, :p], flags[use], n_steps=4)
    variance = 1 / np.diag(np.linalg.inv(scatter + 1e-9 * np.eye(p)))
    allowed = np.sqrt(scale**2 + flags @ (variance[:, None] * beta[:p] ** 2))
    use = use & (row_norm(residuals(D, Y, beta) / allowed) < 4)
    joint = np.column_stack([D[use, :p], Y[use]])
    mean, scatter, _ = moments_with_missing(joint, np.pad(flags[use], ((0, 0), (0, Y.shape[1]))), n_steps=12)
    if not fit_intercept:
        scatter = scatter + np.outer(mean, mean)
    slopes = Solver(solver.penalty[:p] / use.sum()).solve(scatter[:p, :p], scatter[:p, p:])
    rest = scatter[p:, p:] - slopes.T @ scatter[:p, p:]
    beta = np.vstack([slopes, mean[p:] - mean[:p] @ slopes]) if fit_intercept else slopes
    return beta, np.sqrt(np.maximum(np.diag(rest), 0)), use.astype(np.float64)


def refined_regression(
    X: Array, Y: Array, rng: np.random.Generator, fit_intercept: bool = True, alpha: float = 0.0
) -> RefinedFit:
    """Linear regression that least squares would give on the clean rows of (X, Y) alone."""
    n, p = X.shape
    Y = Y.reshape(n, -1).astype(np.float64)
    y_unit, _ = column_units(Y)
    Y = Y / y_unit
    foreign = foreign_rows(X, rng)
    X = foreign.completed
    aside = foreign.labels != 0
    center = X[~aside].mean(axis=0, dtype=np.float64) if fit_intercept else np.zeros(p)
    unit = foreign.unit
    D = (X - center.astype(X.dtype)) / unit.astype(X.dtype)
    penalty = alpha / unit**2
    if fit_intercept:
        D = np.column_stack([D, np.ones(n, X.dtype)])
        penalty = np.append(penalty, 0.0)
    solver = Solver(penalty)
    inside = np.flatnonzero(~aside)
    size = min(len(inside), max(1500, 15 * p))
    sample = rng.choice(inside, size, replace=False)
    beta = robust_start(D[sample], Y[sample], solver, rng)
    use = ~aside
    beta, scale, weights = polish(D, Y, beta, use, sample, solver)
    readmitted = 0
    if np.any(aside):
        W = D[use].T @ (D[use] * (weights[use] > 0)[:, None])
        inverse = solver.solve(W, np.eye(len(W)))
        typical = float(np.mean(normal_equivalent(residuals(D[use], Y[use], beta), scale) < 3))
        for label in range(1, foreign.labels.max() + 1):
            group = foreign.labels == label
            if group.any() and obeys(residuals(D[group], Y[group], beta), D[group], scale, inverse, typical):
                use = use | group
                readmitted += 1
        if readmitted:
            sample = rng.choice(np.flatnonzero(use), min(use.sum(), max(1500, 15 * p)), replace=False)
            beta, scale, weights = polish(D, Y, beta, use, sample, solver)
    if foreign.flags is not None:
        beta, scale, weights = with_missing_cells(D, Y, foreign.flags, beta, scale, ~aside, solver, fit_intercept)
    coef = (beta[:p] / unit[:, None] * y_unit).T
    intercept = (beta[p] * y_unit if fit_intercept else np.zeros(Y.shape[1])) - coef @ center
    return RefinedFit(
        coef,
        intercept,
        scale * y_unit,
        weights,
        center,
        {
            "foreign_groups": float(len(np.unique(foreign.labels)) - 1),
            "readmitted": float(readmitted),
            "kept": float(np.mean(weights > 0)),
        },
    )
