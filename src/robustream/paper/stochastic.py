"""Linear regression by a stochastic gradient, the paper's baseline that is not robust."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["StochasticRegression"]

Array = NDArray[Any]


class StochasticRegression:
    """Go down the gradient of the squared error, once over the stream, in steps that shrink as 1 / sqrt(t).

    Parameters
    ----------
    features, targets : the first batch; its centre stays, and its spread decides the first step.
    rows : of a step; the more there are the longer it is, and too long where features vary in few directions.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4000, 2))
    >>> model = StochasticRegression(X, X[:, :1])
    >>> model.take(X, X[:, :1])
    >>> model.coef.round(1) + 0.0
    array([[1., 0.]])
    """

    def __init__(self, features: Array, targets: Array, rows: int = 25) -> None:
        self.rows = rows
        self.center = features.mean(axis=0, dtype=np.float64).astype(features.dtype)
        self.level = targets.mean(axis=0, dtype=np.float64).astype(features.dtype)
        # The largest step that the curvature of the first rows allows for.
        self.step = 1.0 / float(np.square(features - self.center).sum(axis=1, dtype=np.float64).mean())
        self.coef = np.zeros((targets.shape[1], features.shape[1]), features.dtype)
        self.taken = 0

    def take(self, features: Array, targets: Array) -> None:
        """Go through the rows of a batch; on rows far larger than the first ones the steps may diverge."""
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(features), self.rows):
                self.taken += 1
                rows = features[start : start + self.rows] - self.center
                left = rows @ self.coef.T + self.level - targets[start : start + self.rows]
                self.coef -= (left.T @ rows) * features.dtype.type(self.step / np.sqrt(self.taken))

    @property
    def intercept(self) -> Array:
        """What a row of zeros is predicted."""
        return np.asarray(self.level - self.coef @ self.center)
