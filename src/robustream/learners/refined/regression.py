"""Refined linear regression of one batch: least squares of the rows that fit, found from a robust start.

Rows are judged by x and by residual together: groups that are foreign in x stand aside while a robust fit is
found on the others, and come back if they obey it. Good leverage is information; bad leverage does not obey.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.columns import typical_columns
from robustream.learners.refined.joint import Joint, joint_moments, joint_with_missing
from robustream.learners.refined.polish import Polished, looks_normal, plain, polish
from robustream.learners.refined.scatter import ALONE, WILD, foreign_rows
from robustream.learners.refined.solver import Solver, normal_equivalent, residuals, row_norm
from robustream.learners.refined.starts import better_than_in_noise, robust_start
from robustream.spaces import Array
from robustream.spaces.linear import solve_moments

__all__ = ["RefinedFit", "refined_regression"]

Mask = NDArray[np.bool_]
# With fewer rows for each parameter a robust search finds good fits to a part of the rows even in pure noise.
FEW_ROWS = 8
# In a small table that goes for more rows.
FEW_FOR_FEW = 30
SMALL_TABLE = 150
# With fewer rows the residuals of least squares are normal as far as one can see, bad rows or not.
ROWS_TO_JUDGE = 1000
FITS_ALONE = 5.0  # z score up to which a row far from all others obeys
MOST_COPIES = 0.05  # share of the rows that may be copies of one
ENOUGH = 2000  # rows, to tell what is typical of a target


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


def refined_regression(
    X: Array, Y: Array, rng: np.random.Generator, fit_intercept: bool = True, alpha: float = 0.0
) -> RefinedFit:
    """Give the linear regression that least squares would give on the clean rows of (X, Y) alone."""
    n, p = X.shape
    Y = Y.reshape(n, -1).astype(np.float64)
    middle, y_unit, y_continuous, _ = typical_columns(Y if n <= ENOUGH else Y[rng.choice(n, ENOUGH, replace=False)])
    level = middle if fit_intercept else np.zeros_like(middle)
    Y = (Y - level) / y_unit
    foreign = foreign_rows(X, rng)
    if y_continuous.all():
        # Copies never come back, whatever they obey: they would say with all their weight what one row says.
        foreign.labels[_stuck(X, Y)] = WILD
    aside = foreign.labels != 0
    unit = foreign.typical.unit
    D, origin = _design(foreign.completed, unit, ~aside, fit_intercept)
    solver = Solver(np.append(alpha / unit**2, np.zeros(int(fit_intercept))), fit_intercept)
    # Of a target that mostly has one value, a flag or a count, residuals tell nothing about which rows are bad.
    judged = bool(y_continuous.all())
    fit = _fit_without(aside, D, Y, solver, rng) if judged else plain(D, Y, ~aside, solver)
    if aside.any():
        use = ~aside | _obedient(foreign.labels, D, Y, fit, solver)
        if use.sum() > (~aside).sum():
            fit = _fit_from(fit.beta, use, D, Y, solver, rng) if judged else plain(D, Y, use, solver)
    joint = joint_moments(D, Y, fit, fit_intercept)
    scale = fit.scale
    if foreign.flags is not None:
        joint = joint_with_missing(D, Y, foreign.flags, fit.beta, scale, ~aside)
        if not fit_intercept:
            about_zero = joint.covariance + np.outer(joint.mean, joint.mean)
            joint = Joint(np.zeros_like(joint.mean), about_zero, joint.weights)
    units = np.concatenate([unit, y_unit])
    covariance = joint.covariance * np.outer(units, units)
    coef = solve_moments(covariance, p, alpha)
    standard = coef * unit / y_unit[:, None]
    left = Y - joint.mean[p:] - (D[:, :p] @ standard.T.astype(D.dtype) - standard @ joint.mean[:p])
    if foreign.flags is not None:
        unexplained = np.diag(covariance)[p:] - np.einsum("op,po->o", coef, covariance[:p, p:])
        scale = np.sqrt(np.maximum(unexplained, 0.0)) / y_unit
    center = joint.mean * units + np.concatenate([origin, level])
    return RefinedFit(coef, scale * y_unit, left * y_unit, joint.weights, center, covariance)


def _stuck(X: Array, Y: Array) -> Mask:
    """Mark the copies of a row that makes up more than a twentieth: a sensor that hangs, or zeros for what is missing.

    Any fit through such a row has residuals of exactly 0 there, and with them a small scale.
    """
    n = len(Y)
    first = Y[:, 0]
    middle = np.sort(first[:: max(n // ENOUGH, 1)])
    lag = max(len(middle) // 25, 5)  # somewhat less than asked for, since a sample varies
    repeated = middle[:-lag][middle[lag:] == middle[:-lag]] if len(middle) > lag else middle[:0]
    candidates = np.flatnonzero(np.isin(first, repeated[:1]))
    stuck = np.zeros(n, bool)
    if len(candidates) > MOST_COPIES * n:
        # Among those that share a target the middle one stands for the copies, if these are most of them.
        same = np.all(X[candidates] == X[candidates[len(candidates) // 2]], axis=1)
        if MOST_COPIES * n < same.sum() < 0.5 * n:
            stuck[candidates[same]] = True
    return stuck


def _design(rows: Array, unit: Array, majority: Mask, fit_intercept: bool) -> tuple[Array, Array]:
    """Rows from about the middle of the majority in the units of the columns, ones last; and that middle."""
    n, p = rows.shape
    origin = np.zeros(p)
    if fit_intercept:
        inside = np.flatnonzero(majority)
        some = rows[inside[:: max(len(inside) // ENOUGH, 1)]]
        # From one of the rows, so that a column that never changes becomes exactly 0.
        origin = some[0] + np.mean(some - some[0], axis=0, dtype=np.float64)
    D = np.empty((n, p + fit_intercept), rows.dtype)
    np.subtract(rows, origin.astype(rows.dtype), out=D[:, :p])
    D[:, :p] /= unit.astype(rows.dtype)
    D[:, p:] = 1.0
    return D, origin.astype(rows.dtype)


def _fit_without(aside: Mask, D: Array, Y: Array, solver: Solver, rng: np.random.Generator) -> Polished:
    """Fit the rows that x does not speak against, from a robust start where least squares shows a need for one."""
    use = ~aside
    sample = _sample(use, D.shape[1], rng)
    Ds, Ys = D[sample], Y[sample]
    ordinary = _least_squares_suffice(D, Y, use, Ds, Ys, solver)
    if ordinary is not None:
        return ordinary
    start = slice(max(ROWS_TO_JUDGE, 10 * D.shape[1]))  # of a random sample: enough to come near the majority's fit
    beta = robust_start(Ds[start], Ys[start], solver, rng)
    few = max(FEW_ROWS * D.shape[1], min(FEW_FOR_FEW * D.shape[1], SMALL_TABLE))
    if len(sample) < few and not better_than_in_noise(Ds, Ys, beta, solver, rng):
        return plain(D, Y, use, solver)
    return polish(D, Y, beta, use, sample, solver)


def _fit_from(beta: Array, use: Mask, D: Array, Y: Array, solver: Solver, rng: np.random.Generator) -> Polished:
    """Fit rows from a start that is good already."""
    sample = _sample(use, D.shape[1], rng)
    ordinary = _least_squares_suffice(D, Y, use, D[sample], Y[sample], solver)
    return polish(D, Y, beta, use, sample, solver) if ordinary is None else ordinary


def _least_squares_suffice(D: Array, Y: Array, use: Mask, Ds: Array, Ys: Array, solver: Solver) -> Polished | None:
    """Give the least squares of the rows in use, unless residuals, of a sample or of all, show anything foreign."""
    n, k = Ds.shape
    if n < max(ROWS_TO_JUDGE, 10 * k):
        return None
    R = residuals(Ds, Ys, solver(Ds, Ys, np.ones(n)))
    if not looks_normal(R, Ys - R):
        return None
    fit = plain(D, Y, use, solver)
    R = residuals(D, Y, fit.beta)[use]
    return fit if looks_normal(R, Y[use] - R) else None


def _sample(use: Mask, columns: int, rng: np.random.Generator) -> NDArray[np.intp]:
    inside = np.flatnonzero(use)
    return rng.choice(inside, min(len(inside), max(1500, 15 * columns)), replace=False)


def _obedient(labels: NDArray[np.intp], D: Array, Y: Array, fit: Polished, solver: Solver) -> Mask:
    """Mark the rows of the foreign groups that obey the fit."""
    use = labels == 0
    inverse = solver.solve(fit.gram.columns, np.eye(D.shape[1]), fit.gram.rows)
    R = residuals(D, Y, fit.beta)
    typical = float(np.mean(normal_equivalent(R[use], fit.scale) < 3))
    back = np.zeros(len(labels), bool)
    alone = np.flatnonzero(labels == ALONE)
    leverage = np.einsum("ij,ij->i", D[alone] @ inverse.astype(D.dtype), D[alone])
    back[alone] = row_norm(R[alone] / fit.scale / np.sqrt(1 + leverage)[:, None]) < FITS_ALONE
    for label in range(ALONE + 1, int(labels.max()) + 1):
        group = labels == label
        if group.any() and obeys(R[group], D[group], fit.scale, inverse, typical):
            back |= group
    return back
