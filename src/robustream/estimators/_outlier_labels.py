"""Outliers in the vocabulary of scikit-learn: `fit_predict`, `decision_function` and `offset_`.

A row is an outlier if its outlier score s is above the cut-off c. scikit-learn counts the other way round: labels are
-1 for outliers and 1 for others, `decision_function` is c - s, negative for outliers, and `offset_` is -c. A regression
has labels and the offset only, since scikit-learn keeps `decision_function` for what can be said of X without y; and
`score_samples` of components is the log-likelihood, as in scikit-learn's own PCA.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.spaces import Array

__all__ = ["ResidualLabelsMixin", "RowLabelsMixin"]


class _OffsetMixin:
    # What the estimators have.
    cutoff_: Any
    fit: Any
    is_outlier: Any
    outlier_scores: Any

    @property
    def offset_(self) -> float:
        """Minus the cut-off of the outlier scores."""
        return -float(self.cutoff_)


class RowLabelsMixin(_OffsetMixin):
    """For estimators that judge rows by X alone."""

    def decision_function(self, X: Any) -> Array:
        """Return the cut-off less the outlier score of each row: negative for outliers."""
        return self.cutoff_ - self.outlier_scores(X)

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """Fit to the rows and return a label for each, -1 for outliers and 1 for others; `y` is ignored.

        Examples
        --------
        >>> import numpy as np, robustream as rs
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> X[7] = 100.0
        >>> rs.OutlierRobustPCA(1).fit_predict(X)[6:9]
        array([ 1, -1,  1])
        """
        return _labels(self.fit(X).is_outlier(X))


class ResidualLabelsMixin(_OffsetMixin):
    """For estimators that judge rows by the residual of y."""

    def fit_predict(self, X: Any, y: Any) -> NDArray[np.int64]:
        """Fit to the rows and return a label for each, -1 for outliers and 1 for others; `predict` returns targets.

        Examples
        --------
        >>> import numpy as np, robustream as rs
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 3))
        >>> y = X @ [1.0, 2.0, 3.0] + rng.normal(size=200)
        >>> y[7] = 100.0
        >>> rs.OutlierRobustRegressor().fit_predict(X, y)[6:9]
        array([ 1, -1,  1])
        """
        return _labels(self.fit(X, y).is_outlier(X, y))


def _labels(outlying: Any) -> NDArray[np.int64]:
    # The library of the flags, which lie where the rows do.
    return 1 - 2 * outlying.astype(np.int64)
