"""What every principal component model can do once it has a mean, directions and variances."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from robustream.errors import InvalidInputError
from robustream.estimators._device import ShownMixin, given_back, lent_rows, take_rows
from robustream.kernels.device_arrays import is_device_array
from robustream.learners.cutoffs import principal_distances
from robustream.spaces import Array

__all__ = ["Principal", "ProjectionMixin", "check_n_components"]


class Principal(NamedTuple):
    """A fitted model; the cut-offs are for the orthogonal and the score distance of ordinary rows."""

    components: Array
    mean: Array
    column_scale: Array
    explained_variance: Array
    explained_variance_ratio: Array
    noise_variance: float
    cutoffs: Array


class ProjectionMixin(ShownMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Projection on the components, back, and the likelihood of rows under the model."""

    @abstractmethod
    def _principal(self) -> Principal:
        """Give the fitted model, as NumPy arrays."""

    @property
    def components_(self) -> Array:
        """The directions, components x columns, by falling variance."""
        return self._shown(self._principal().components)

    @property
    def mean_(self) -> Array:
        """The robust centre of the rows."""
        return self._shown(self._principal().mean)

    @property
    def column_scale_(self) -> Array:
        """The scale that each column is divided by: ones unless columns are brought to unit scale."""
        return self._shown(self._principal().column_scale)

    @property
    def explained_variance_(self) -> Array:
        """The variance along each component."""
        return self._shown(self._principal().explained_variance)

    @property
    def explained_variance_ratio_(self) -> Array:
        """The share of the total variance along each component."""
        return self._shown(self._principal().explained_variance_ratio)

    @property
    def noise_variance_(self) -> float:
        """The mean variance in the directions outside the components."""
        return self._principal().noise_variance

    @property
    def cutoffs_(self) -> Array:
        """The cut-offs for the orthogonal and the score distance, in units of their variances."""
        return self._shown(self._principal().cutoffs)

    @property
    def n_components_(self) -> int:
        """The number of components."""
        return len(self._principal().components)

    def transform(self, X: Any) -> NDArray[Any]:
        """Give the coordinates of rows along the components, rows x components."""
        check_is_fitted(self)
        model = self._principal()
        return given_back(self._standard(X, model) @ model.components.T, X)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Give the rows that have these coordinates along the components."""
        check_is_fitted(self)
        model = self._principal()
        coordinates = X if is_device_array(X) else check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if coordinates.ndim != 2 or coordinates.shape[1] != len(model.components):
            raise InvalidInputError(
                f"X must have as many columns as there are components ({len(model.components)}), "
                f"got shape {tuple(coordinates.shape)}"
            )
        return given_back(lent_rows(coordinates) @ model.components * model.column_scale + model.mean, X)

    def get_covariance(self) -> Array:
        """Give the covariance matrix that the model implies, columns x columns, in the units of the data."""
        check_is_fitted(self)
        model = self._principal()
        above = model.explained_variance - model.noise_variance
        covariance = (model.components.T * above) @ model.components
        covariance += model.noise_variance * np.eye(len(covariance), dtype=covariance.dtype)
        return self._shown(covariance * np.outer(model.column_scale, model.column_scale))

    def score_samples(self, X: Any) -> Array:
        """Give the log-likelihood of each row under the normal law with the model's mean and covariance."""
        check_is_fitted(self)
        model = self._principal()
        standard = self._standard(X, model).astype(np.float64)
        columns, components = standard.shape[1], len(model.components)
        scores = standard @ model.components.T
        outside = np.maximum(np.square(standard).sum(axis=1) - np.square(scores).sum(axis=1), 0.0)
        tiny = np.finfo(np.float64).tiny
        variance = np.maximum(model.explained_variance.astype(np.float64), tiny)
        noise = max(float(model.noise_variance), tiny)
        result = np.square(scores) @ (1 / variance) + np.log(variance).sum()
        if columns > components:
            result = result + outside / noise + (columns - components) * np.log(noise)
        log_units = 2 * np.log(model.column_scale.astype(np.float64)).sum()
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
        model = self._principal()
        orthogonal, score = principal_distances(
            self._standard(X, model), model.components, model.explained_variance, float(model.noise_variance)
        )
        return given_back(np.maximum(orthogonal / model.cutoffs[0], score / model.cutoffs[1]), X)

    def is_outlier(self, X: Any) -> NDArray[np.bool_]:
        """Tell which rows lie beyond the cut-off; of ordinary rows about 1% do."""
        return self.outlier_scores(X) > 1

    def _standard(self, X: Any, model: Principal) -> Any:
        return (lent_rows(take_rows(self, X, reset=False)) - model.mean) / model.column_scale

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def check_n_components(n_components: Any, n_columns: int) -> int:
    """Give the number of components back, or say what is wrong with it."""
    whole = isinstance(n_components, (int, np.integer)) and not isinstance(n_components, bool)
    if not whole or not 1 <= n_components <= n_columns:
        raise InvalidInputError(
            f"n_components must be a whole number from 1 to the number of columns of X ({n_columns}), or for "
            f"OutlierRobustPCA a share of the variance between 0 and 1, got {n_components!r}",
            "n_components",
        )
    return int(n_components)
