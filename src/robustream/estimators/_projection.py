"""What every principal component model can do once it has a mean, directions and variances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from robustream.errors import InvalidInputError
from robustream.estimators._device import given_back, lent_rows
from robustream.learners.cutoffs import principal_distances
from robustream.spaces import Array

__all__ = ["ProjectionMixin", "check_n_components"]


class ProjectionMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Projection on the components, back, and the likelihood of rows under the model.

    A host has `components_`, `mean_`, `column_scale_`, `explained_variance_`, `noise_variance_`, and `cutoffs_` for
    the orthogonal and the score distance of ordinary rows.
    """

    cutoffs_: Array

    components_: Array
    mean_: Array
    column_scale_: Array
    explained_variance_: Array
    noise_variance_: float

    def transform(self, X: Any) -> NDArray[Any]:
        """Give the coordinates of rows along the components, rows x components."""
        check_is_fitted(self)
        return given_back(self._standard(X) @ self.components_.T, X)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Give the rows that have these coordinates along the components."""
        check_is_fitted(self)
        coordinates = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if coordinates.shape[1] != self.components_.shape[0]:
            raise InvalidInputError(
                f"X must have as many columns as there are components ({self.components_.shape[0]}), "
                f"got {coordinates.shape[1]}"
            )
        return np.asarray(coordinates @ self.components_ * self.column_scale_ + self.mean_)

    def get_covariance(self) -> Array:
        """Give the covariance matrix that the model implies, columns x columns, in the units of the data."""
        check_is_fitted(self)
        above = self.explained_variance_ - self.noise_variance_
        covariance = (self.components_.T * above) @ self.components_
        covariance += self.noise_variance_ * np.eye(len(covariance), dtype=covariance.dtype)
        return np.asarray(covariance * np.outer(self.column_scale_, self.column_scale_))

    def score_samples(self, X: Any) -> Array:
        """Give the log-likelihood of each row under the normal law with the model's mean and covariance."""
        check_is_fitted(self)
        standard = self._standard(X).astype(np.float64)
        columns, components = standard.shape[1], len(self.components_)
        scores = standard @ self.components_.T
        outside = np.maximum(np.square(standard).sum(axis=1) - np.square(scores).sum(axis=1), 0.0)
        tiny = np.finfo(np.float64).tiny
        variance = np.maximum(self.explained_variance_.astype(np.float64), tiny)
        noise = max(float(self.noise_variance_), tiny)
        result = np.square(scores) @ (1 / variance) + np.log(variance).sum()
        if columns > components:
            result = result + outside / noise + (columns - components) * np.log(noise)
        log_units = 2 * np.log(self.column_scale_.astype(np.float64)).sum()
        return given_back(-0.5 * (result + columns * np.log(2 * np.pi) + log_units), X)

    def score(self, X: Any, y: Any = None) -> float:
        """Give the mean log-likelihood of the rows; `y` is ignored."""
        return float(self.score_samples(X).mean())

    def outlier_scores(self, X: Any) -> Array:
        """Give how outlying each row is, higher is worse.

        It is the distance to the subspace or the distance within it, each over its cut-off, whichever is larger:
        above 1 the row lies beyond what 99% of ordinary rows reach.
        """
        check_is_fitted(self)
        distances = principal_distances(
            self._standard(X), self.components_, self.explained_variance_, float(self.noise_variance_)
        )
        return given_back(np.maximum(distances[0] / self.cutoffs_[0], distances[1] / self.cutoffs_[1]), X)

    def is_outlier(self, X: Any) -> NDArray[np.bool_]:
        """Tell which rows lie beyond the cut-off; of ordinary rows about 1% do."""
        return self.outlier_scores(X) > 1

    def _standard(self, X: Any) -> Any:
        return (lent_rows(self, X) - self.mean_) / self.column_scale_

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


def check_n_components(n_components: Any, n_columns: int) -> int:
    """Give the number of components back, or say what is wrong with it."""
    whole = isinstance(n_components, (int, np.integer)) and not isinstance(n_components, bool)
    if not whole or not 1 <= n_components <= n_columns:
        raise InvalidInputError(
            f"n_components must be a whole number from 1 to the number of columns of X ({n_columns}), or for "
            f"OutlierRobustPCA a share of the variance between 0 and 1, got {n_components!r}"
        )
    return int(n_components)
