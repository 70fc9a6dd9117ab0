"""Moments of columns and targets together: what a batch of a regression brings to the pool."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.cells import moments_with_missing
from robustream.learners.refined.polish import Polished
from robustream.learners.refined.solver import Gram, gram_of, residuals, row_norm
from robustream.spaces import Array

__all__ = ["Joint", "joint_moments", "joint_with_missing"]

Mask = NDArray[np.bool_]


class Joint(NamedTuple):
    """Mean and covariance of design columns and targets, with the rows' weights."""

    mean: Array
    covariance: Array
    weights: Array


def joint_moments(D: Array, Y: Array, fit: Polished, fit_intercept: bool) -> Joint:
    """Give the weighted mean and covariance of columns and targets; second moments without an intercept."""
    p = D.shape[1] - fit_intercept
    square = _square(fit.gram, p)
    if not fit_intercept:
        return Joint(np.zeros(len(square)), square, fit.weights)
    mean = np.append(fit.gram.columns[p, :p], fit.gram.cross[p]).astype(np.float64) / fit.gram.rows
    covariance: Array = square - np.outer(mean, mean)
    if np.any(np.diag(covariance) < 1e-3 * np.diag(square)):
        # Some column hardly varies where rows have weight: its digits are lost unless the mean is taken off first.
        centred = (D[:, :p] - mean[:p].astype(D.dtype), Y - mean[p:])
        covariance = _square(gram_of(*centred, fit.weights), p)
        rounding = (100 * np.finfo(D.dtype).eps) ** 2 * np.diag(square)
        constant = np.diag(covariance) <= rounding
        covariance[constant], covariance[:, constant] = 0.0, 0.0
    return Joint(mean, covariance, fit.weights)


def _square(gram: Gram, p: int) -> Array:
    """Mean products of the first columns and the targets."""
    cross = gram.cross[:p]
    return np.block([[gram.columns[:p, :p], cross], [cross.T, gram.targets]]).astype(np.float64) / gram.rows


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
