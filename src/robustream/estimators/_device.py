"""Rows on a GPU as the input of estimators: arrays choose the device, or the user does."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from robustream.errors import InvalidInputError
from robustream.kernels.device_arrays import is_device_array
from robustream.learners import Learner
from robustream.learners.device import OnDevice
from robustream.runs.workers import count_workers

__all__ = ["count_device_workers", "given_back", "lent_rows", "place_learner", "take_device_targets", "take_rows"]


def check_device(device: Any) -> bool:
    """Tell whether batches are to be sent to a GPU, or say what is wrong with the choice."""
    if device not in (None, "cpu", "cuda"):
        raise InvalidInputError(f"device must be None, 'cpu' or 'cuda', got {device!r}")
    if device != "cuda":
        return False
    from robustream.kernels.gpu.device import load_cupy

    load_cupy()  # says what is missing, before the first row is read
    return True


def place_learner(learner: Learner, device: Any) -> Learner:
    """Give the learner that works where the user wants."""
    return OnDevice(learner) if check_device(device) else learner


def count_device_workers(n_jobs: Any, device: Any) -> int:
    """Give the number of threads; with a GPU at least two, so that one copies while the other computes."""
    return max(2, count_workers(n_jobs)) if check_device(device) else count_workers(n_jobs)


def take_rows(estimator: Any, X: Any, *, reset: bool, minimum: int = 1) -> Any:
    """Check rows as scikit-learn does; those on a GPU stay there."""
    if not is_device_array(X):
        return validate_data(estimator, X, dtype=[np.float64, np.float32], reset=reset, ensure_min_samples=minimum)
    from robustream.kernels.gpu.device import matrix
    from robustream.kernels.gpu.entry import all_finite

    name, rows = type(estimator).__name__, matrix(X, "X")
    if len(rows) < minimum:
        raise InvalidInputError(f"{name} needs at least {minimum} rows of X, got {len(rows)}")
    if reset:
        estimator.n_features_in_ = rows.shape[1]
    elif rows.shape[1] != estimator.n_features_in_:
        raise InvalidInputError(f"X has {rows.shape[1]} columns, but {name} was fitted to {estimator.n_features_in_}")
    if not all_finite(rows):
        raise InvalidInputError(f"Input X of {name} contains NaN or infinity; drop or fill those rows first.")
    return rows


def lent_rows(estimator: Any, X: Any) -> Any:
    """Check rows for a fitted estimator; those on a GPU come as an array that NumPy's functions take."""
    rows = take_rows(estimator, X, reset=False)
    if not is_device_array(X):
        return rows
    from robustream.kernels.gpu.lending import lend

    return lend(rows)


def given_back(result: Any, X: Any) -> Any:
    """Give a result where the rows were: a NumPy array, or an array of the library that X is from."""
    if not is_device_array(X):
        return np.asarray(result)
    from robustream.kernels.gpu.device import as_device_array
    from robustream.kernels.gpu.entry import in_kind

    return in_kind(as_device_array(result), X)


def take_device_targets(estimator: Any, X: Any, y: Any, *, reset: bool, minimum: int = 1) -> tuple[Any, Any, bool]:
    """Check rows and targets on a GPU; give them with y as rows x outputs, and whether it came as one column."""
    from robustream.kernels.gpu.device import as_device_array
    from robustream.kernels.gpu.entry import all_finite

    rows, targets = take_rows(estimator, X, reset=reset, minimum=minimum), as_device_array(y)
    if targets.ndim not in (1, 2) or len(targets) != len(rows):
        raise InvalidInputError(f"y must have one or two dimensions and {len(rows)} rows, got shape {targets.shape}")
    single = targets.ndim == 1
    targets = targets.astype(np.float64 if rows.dtype == np.float64 else np.float32, copy=False)
    if not all_finite(targets):
        raise InvalidInputError("y contains NaN, infinity or values too large for the type of X")
    return rows, targets[:, None] if single else targets, single
