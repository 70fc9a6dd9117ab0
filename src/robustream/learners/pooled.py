"""Regression for tables so wide that no batch can be solved well: robust second moments, solved once at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustream.batch import Batch
from robustream.learners.base import Learner, LinearProblem, Solved
from robustream.learners.moments import median_scale, require_finite
from robustream.spaces import Array, MomentModels
from robustream.spaces.moments import MomentPoint

__all__ = ["TOO_LONG", "PooledRegression", "row_weights"]

# The reason that is given for rows left out.
TOO_LONG = "they are far too long or too short"
# Rows whose logarithmic length lies farther out than this many robust deviations lose their weight.
_FAR = 5.0


@dataclass(frozen=True)
class PooledRegression(Learner):
    """Centre and covariance of columns and targets, with rows that are far too long or too short left out.

    Which rows fit the regression cannot be told from so few rows; garbage that is not far out is left to the
    aggregator, which sees that the moments of its batch do not agree with the others.
    """

    takes_weights = True
    problem: LinearProblem
    keep_groups: bool = False

    def space(self, n_columns: int, n_outputs: int) -> MomentModels:
        return MomentModels(n_columns, n_outputs, self.problem.alpha)

    def required_rows(self, n_columns: int) -> int:
        return 2

    def minimum_rows(self, n_columns: int) -> int:
        return max(100, n_columns // 4)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        assert batch.y is not None
        joint = np.concatenate([batch.X, batch.y.reshape(batch.rows, -1)], axis=1)
        weights = np.ones(batch.rows) if self.keep_groups else row_weights(joint[:, : batch.X.shape[1]])
        left_out = batch.rows - float(weights.sum())
        if batch.weights is not None:
            weights = weights * batch.weights
        weights = weights.astype(joint.dtype)
        total = weights.sum()
        center = np.zeros(joint.shape[1], joint.dtype)
        if self.problem.fit_intercept:
            center = np.asarray(weights @ joint / total)
        # Of a table with itself a product is half the work.
        centered = (joint - center) * np.sqrt(weights)[:, None]
        covariance = centered.T @ centered / max(1.0, total - self.problem.fit_intercept)
        require_finite(covariance)
        point = MomentPoint(covariance.astype(joint.dtype, copy=False), center.astype(joint.dtype, copy=False))
        return Solved(point, {TOO_LONG: left_out})


def row_weights(rows: Array) -> Array:
    """Give 0 to rows whose length, in robust units of the columns, is far from that of the others, else 1."""
    center = np.median(rows, axis=0)
    standard = (rows - center) / median_scale(rows, center)
    length = np.log(np.maximum(np.sqrt(np.square(standard, dtype=np.float64).mean(axis=1)), 1e-300))
    middle = np.median(length)
    spread = np.median(np.abs(length - middle)) * 1.482602218505602
    # Lengths of wide rows hardly vary; a floor keeps ordinary variation of scale from being cut.
    return (np.abs(length - middle) <= _FAR * max(float(spread), 0.05)).astype(np.float64)
