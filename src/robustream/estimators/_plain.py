"""Plain arrays are checked here in microseconds; scikit-learn's checks, which anything can be given to, take 0.3 ms.

Whatever is not plain goes to scikit-learn, which also says what is wrong with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["are_plain_targets", "is_plain_table"]

_KINDS = (np.dtype(np.float64), np.dtype(np.float32))


def is_plain_table(estimator: Any, X: Any, *, reset: bool, minimum: int) -> bool:
    """Return whether rows are a finite array as it is worked on; the estimator then knows their number of columns."""
    if type(X) is not np.ndarray or X.dtype not in _KINDS or X.ndim != 2:
        return False
    known = estimator.__dict__
    if len(X) < max(minimum, 1) or not X.shape[1] or not _all_finite(X):
        return False
    if reset:
        known.pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
        return True
    return "feature_names_in_" not in known and known.get("n_features_in_") == X.shape[1]


def are_plain_targets(y: Any, X: Any) -> bool:
    """Return whether targets are a finite array of numbers, one or several for each row."""
    if (
        type(y) is not np.ndarray
        or y.dtype not in _KINDS
        or y.ndim not in (1, 2)
        or getattr(X, "shape", ())[:1] != y.shape[:1]
    ):
        return False
    return y.size > 0 and _all_finite(y)


def _all_finite(values: np.ndarray[Any, Any]) -> bool:
    # A sum that overflows is left to scikit-learn, as anything unusual is.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))
