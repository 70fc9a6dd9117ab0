"""What every linear model can do once it has coefficients and an intercept."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from robustream.errors import InvalidInputError
from robustream.estimators._device import ShownMixin, given_back, lent_rows, take_device_targets, take_rows
from robustream.kernels.device_arrays import host_array, is_device_array
from robustream.learners.cutoffs import residual_distances
from robustream.spaces import Array

__all__ = ["Linear", "LinearMixin", "check_alpha", "validate_targets"]


class Linear(NamedTuple):
    """A fitted model in scikit-learn's shapes; the cut-off is for residuals in units of their scale."""

    coef: Array
    intercept: Any
    scale: Any
    cutoff: float


class LinearMixin(ShownMixin, RegressorMixin):
    """Prediction and outlying rows."""

    @abstractmethod
    def _linear(self) -> Linear:
        """Give the fitted model, as NumPy arrays."""

    @property
    def coef_(self) -> Array:
        """The coefficients, outputs x columns; one row alone if y was one column."""
        return self._shown(self._linear().coef)

    @property
    def intercept_(self) -> Any:
        """The intercept of each output; zero unless `fit_intercept`."""
        return self._shown(self._linear().intercept)

    @property
    def scale_(self) -> Any:
        """The scale of the residuals of each output."""
        return self._shown(self._linear().scale)

    @property
    def cutoff_(self) -> float:
        """The 99% point of |residual| / scale of ordinary rows."""
        return self._linear().cutoff

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the fitted value for each row: one for each output if there are several."""
        check_is_fitted(self)
        model = self._linear()
        return given_back(lent_rows(take_rows(self, X, reset=False)) @ model.coef.T + model.intercept, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of the variance of y that the predictions explain (R squared)."""
        from sklearn.metrics import r2_score  # as scikit-learn does: the module is slow to import

        predicted, weights = host_array(self.predict(X)), host_array(sample_weight)
        return float(r2_score(host_array(y), predicted, sample_weight=weights))

    def outlier_scores(self, X: Any, y: Any) -> Array:
        """Give how outlying each row is: |residual| / scale, the largest over the outputs; higher is worse.

        A row far out in X that fits is no outlier.
        """
        check_is_fitted(self)
        model = self._linear()
        rows, targets, _ = validate_targets(self, X, y, reset=False)
        coef = np.atleast_2d(model.coef)
        if targets.shape[1] != len(coef):
            raise InvalidInputError(f"y must have {len(coef)} outputs, got {targets.shape[1]}")
        residuals = lent_rows(targets) - lent_rows(rows) @ coef.T - model.intercept
        return given_back(residual_distances(residuals, np.atleast_1d(model.scale)), X)

    def is_outlier(self, X: Any, y: Any) -> NDArray[np.bool_]:
        """Tell which rows have a score beyond the cut-off; of ordinary rows about 1% do."""
        return self.outlier_scores(X, y) > self.cutoff_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def validate_targets(
    estimator: Any, X: Any, y: Any, *, reset: bool, minimum: int = 1
) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """Check rows and targets; give them with y as rows x outputs, and whether it came as one column."""
    if is_device_array(X):
        return take_device_targets(estimator, X, y, reset=reset, minimum=minimum)
    rows, targets = validate_data(
        estimator,
        X,
        host_array(y),
        dtype=[np.float64, np.float32],
        multi_output=True,
        y_numeric=True,
        reset=reset,
        ensure_min_samples=minimum,
    )
    single = targets.ndim == 1
    if targets.ndim > 2:
        raise InvalidInputError(f"y must have one or two dimensions, got {targets.ndim}")
    # Targets that float32 cannot hold would turn into infinity without a word.
    with np.errstate(over="ignore"):
        converted = targets.astype(rows.dtype, copy=False)
    if not np.isfinite(converted).all():
        raise InvalidInputError(f"y has values too large for the type of X ({rows.dtype})")
    return rows, converted[:, None] if single else converted, single


def check_alpha(alpha: Any) -> float:
    """Give the penalty back, or say what is wrong with it."""
    if isinstance(alpha, (int, float, np.number)) and not isinstance(alpha, bool) and 0 <= alpha < np.inf:
        return float(alpha)
    raise InvalidInputError(f"alpha must be a number >= 0, got {alpha!r}")
