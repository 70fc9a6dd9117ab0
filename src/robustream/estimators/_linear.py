"""What every linear model can do once it has coefficients and an intercept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from robustream.errors import InvalidInputError
from robustream.estimators._device import given_back, lent_rows, take_device_targets
from robustream.kernels.device_arrays import is_device_array
from robustream.learners.cutoffs import residual_distances
from robustream.spaces import Array

__all__ = ["LinearMixin", "check_alpha", "validate_targets"]


class LinearMixin(RegressorMixin):
    """Prediction and outlying rows.

    A host has `coef_`, `intercept_` and `scale_` in scikit-learn's shapes, and `cutoff_` for the residuals of ordinary
    rows in units of their scale.
    """

    scale_: Any
    cutoff_: float

    coef_: Array
    intercept_: Any

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the fitted value for each row: one for each output if there are several."""
        check_is_fitted(self)
        return given_back(lent_rows(self, X) @ self.coef_.T + self.intercept_, X)

    def outlier_scores(self, X: Any, y: Any) -> Array:
        """Give how outlying each row is: |residual| / scale, the largest over the outputs; higher is worse.

        A row far out in X that fits is no outlier.
        """
        check_is_fitted(self)
        rows, targets, _ = validate_targets(self, X, y, reset=False)
        coef = np.atleast_2d(self.coef_)
        if targets.shape[1] != len(coef):
            raise InvalidInputError(f"y must have {len(coef)} outputs, got {targets.shape[1]}")
        return residual_distances(targets - rows @ coef.T - self.intercept_, np.atleast_1d(self.scale_))

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
        y,
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
