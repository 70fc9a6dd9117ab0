"""Rows on a GPU as the input of estimators: arrays choose the device, or the user does.

What an estimator has learned is kept on the host. It is shown where the rows were: `given_back` for what is worked out
from rows, `placed` for fitted attributes, which lie with the rows that were last learned from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from robustream.errors import InvalidInputError
from robustream.estimators._plain import is_plain_table
from robustream.kernels.device_arrays import host_array, is_device_array, library_of
from robustream.learners import Learner
from robustream.learners.device import OnDevice
from robustream.runs.workers import count_workers
from robustream.sources.sparse import dense_batch
from robustream.spaces import Array
from robustream.weights import check_weights

__all__ = [
    "AnswerMixin",
    "as_numbers",
    "count_device_workers",
    "encoded",
    "fill_gaps",
    "given_back",
    "lent_rows",
    "naming_columns",
    "naming_gaps",
    "place_learner",
    "placed",
    "require_device",
    "take_device_targets",
    "take_rows",
    "take_weights",
    "with_gaps",
]


# Columns that an error names.
_MOST_NAMED = 5


class AnswerMixin:
    """Fitted attributes, of which some are the answer: all that a person without robustream needs.

    They lie with the rows that were last learned from, as scikit-learn's array API convention has it.

    A copy, a pickle or a file of the model has them on the host: who reads it may have no GPU.
    """

    answer_names: ClassVar[tuple[str, ...]] = ()
    _library: str | None = None  # that the rows were from, if they lay on a GPU

    def answer(self) -> dict[str, NDArray[Any]]:
        """Return the fitted attributes that are the answer, as NumPy arrays."""
        return {name: np.asarray(host_array(getattr(self, name))) for name in self.answer_names}

    def _placed(self, value: Any) -> Any:
        return placed(value, self._library)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_library"}


def check_device(device: Any) -> bool:
    """Return whether batches are to be sent to a GPU, or raise InvalidInputError."""
    if device not in (None, "cpu", "cuda"):
        raise InvalidInputError(f"device must be None, 'cpu' or 'cuda', got {device!r}")
    return bool(device == "cuda")


def require_device(device: Any) -> None:
    """Raise DeviceError for what is missing for the chosen device, before the first row is read.

    Whoever only reads a model that was fitted on a GPU needs none.
    """
    if check_device(device):
        from robustream.kernels.gpu.device import load_cupy

        load_cupy()


def place_learner(learner: Learner, device: Any) -> Learner:
    """Return the learner that works where the user wants."""
    return OnDevice(learner) if check_device(device) else learner


def count_device_workers(n_jobs: Any, device: Any) -> int:
    """Return the number of threads; with a GPU at least two, so that one copies while the other computes."""
    return max(2, count_workers(n_jobs)) if check_device(device) else count_workers(n_jobs)


def encoded(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return a data frame with categories as the columns that the model was fitted to, anything else as it is."""
    if reset:
        estimator.__dict__.pop("encoding_", None)  # of an earlier table
    encoding = estimator.__dict__.get("encoding_")
    if encoding is None or is_device_array(X) or not hasattr(X, "columns"):
        return X
    from robustream.sources.tables.frames import encode_frame  # pyarrow comes with the first frames

    return encode_frame(X, encoding)


def take_rows(estimator: Any, X: Any, *, reset: bool, minimum: int = 1) -> Any:
    """Check rows as scikit-learn does; those on a GPU stay there."""
    X = encoded(estimator, X, reset=reset)
    if is_plain_table(estimator, X, reset=reset, minimum=minimum):
        return X
    if not is_device_array(X):
        with naming_columns(X), naming_gaps(estimator):
            return validate_data(
                estimator,
                with_gaps(dense_batch(X)),
                dtype=[np.float64, np.float32],
                reset=reset,
                ensure_min_samples=minimum,
                ensure_all_finite="allow-nan" if getattr(estimator, "takes_gaps", False) else True,
            )
    from robustream.kernels.gpu.api import all_finite
    from robustream.kernels.gpu.device import matrix

    name, rows = type(estimator).__name__, matrix(X, "X")
    if len(rows) < minimum:
        raise InvalidInputError(f"{name} needs at least {minimum} rows of X, got {len(rows)}")
    if reset:
        estimator.n_features_in_ = rows.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)  # those of an earlier table
    elif rows.shape[1] != estimator.n_features_in_:
        raise InvalidInputError(f"X has {rows.shape[1]} columns, but {name} was fitted to {estimator.n_features_in_}")
    if not all_finite(rows):
        raise InvalidInputError(f"Input X of {name} contains NaN or infinity; drop or fill those rows first.")
    return rows


@contextmanager
def naming_columns(X: Any) -> Iterator[None]:
    """Name the columns of a data frame that hold no numbers, where its rows turn out not to be numbers."""
    # The columns of Arrow's tables are arrays, not names.
    names = [name for name in getattr(X, "columns", ()) if isinstance(name, str | int)]
    if doubled := [str(name) for name, times in Counter(names).items() if times > 1]:
        told = ", ".join(map(repr, doubled[:_MOST_NAMED])) + (" and others" if len(doubled) > _MOST_NAMED else "")
        raise InvalidInputError(f"X must have columns of different names, got more than one column named {told}")
    try:
        yield
    except (TypeError, ValueError) as error:
        wrong = [str(name) for name in names if _holds_no_numbers(X[name])]
        if not wrong:
            raise
        told = ", ".join(map(repr, wrong[:_MOST_NAMED])) + (" and others" if len(wrong) > _MOST_NAMED else "")
        raise InvalidInputError(
            f"columns of X hold text, dates or other things that are no numbers: {told}. Leave them out, encode them "
            "(scikit-learn's ColumnTransformer), or let robustream.fit make categories of them (categorical=[...])"
        ) from error


@contextmanager
def naming_gaps(estimator: Any) -> Iterator[None]:
    """Say which learner takes missing cells, where rows have some and the learner of an estimator takes none."""
    try:
        yield
    except ValueError as error:
        learner = getattr(estimator, "learner", None)
        if learner is None or getattr(estimator, "takes_gaps", False) or "contains NaN" not in str(error):
            raise
        what = "y" if "Input y" in str(error) else "X"
        raise InvalidInputError(
            f"Input {what} contains NaN: learner={learner!r} takes no missing cells. Use learner='refined' (the "
            "default), which takes them as they are, or robustream.fit with missing='skip', which leaves such rows out"
        ) from error


def _holds_no_numbers(column: Any) -> bool:
    try:
        np.asarray(with_gaps(column), dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return getattr(getattr(column, "dtype", None), "kind", "") in "mM"


def take_weights(sample_weight: Any, rows: int, *, only_zeros: bool = False) -> NDArray[Any] | None:
    """Return weights of so many rows on the host, checked; None where none are given.

    A call of many may have only zeros: nothing is there to learn from then.
    """
    if sample_weight is None:
        return None
    return check_weights(host_array(sample_weight), rows, only_zeros=only_zeros)


def with_gaps(X: Any) -> Any:
    """Return tables and targets with NaN in place of masked cells, None and NA, all else as it is."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan)
    if isinstance(X, np.ndarray) and X.dtype == object:
        gaps = np.frompyfunc(_is_gap, 1, 1)(X).astype(bool)
        return np.where(gaps, np.nan, X) if gaps.any() else X
    if hasattr(X, "iloc") and hasattr(X, "notna"):  # pandas: columns of objects keep NA, which is no number
        dtypes = X.dtypes if hasattr(X, "columns") else [X.dtype]
        return X.where(X.notna(), np.nan) if any(getattr(dtype, "kind", "") == "O" for dtype in dtypes) else X
    return X


def as_numbers(y: Any) -> Any:
    """Return targets with gaps of any kind as an array with NaN in their place, and what holds no numbers as it is."""
    y = with_gaps(host_array(y))
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    if isinstance(y, (list, tuple)) or (isinstance(y, np.ndarray) and y.dtype == object):
        try:
            return np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            return y
    return y


def _is_gap(cell: Any) -> bool:
    return cell is None or type(cell).__name__ == "NAType"


def fill_gaps(rows: Any, center: Array | None, covariance: Array | None) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return rows with missing cells at their conditional means under a law, and which these were; None if none."""
    if is_device_array(rows) or not (missing := np.isnan(rows)).any():
        return rows, None
    if center is None or covariance is None:
        raise InvalidInputError("X has missing cells, and the model knows no covariance of the columns to fill them by")
    from robustream.majority import conditional  # its compiled loops are needed for gaps alone

    law = center.astype(np.float64), covariance.astype(np.float64)
    return conditional(rows.astype(np.float64), missing, *law).astype(rows.dtype), missing


def lent_rows(rows: Any) -> Any:
    """Return rows on a GPU as an array that NumPy's functions take, others as they are."""
    if not is_device_array(rows):
        return rows
    from robustream.kernels.gpu.numpy_proxy import lend

    return lend(rows)


def given_back(result: Any, X: Any) -> Any:
    """Return a result where the rows were: a NumPy array, or an array of the library that X is from."""
    return placed(np.asarray(result) if library_of(X) is None else result, library_of(X))


def placed(value: Any, library: str | None) -> Any:
    """Return a value as it is, or as an array on the GPU of a library; text stays on the host."""
    if library is None or (isinstance(value, np.ndarray) and value.dtype.kind not in "biuf"):
        return value
    from robustream.kernels.gpu.device import as_device_array, of_library

    return of_library(as_device_array(value), library)


def take_device_targets(estimator: Any, X: Any, y: Any, *, reset: bool, minimum: int = 1) -> tuple[Any, Any, bool]:
    """Check rows and targets on a GPU; give them with y as rows x outputs, and whether it came as one column."""
    from robustream.kernels.gpu.api import all_finite
    from robustream.kernels.gpu.device import as_device_array

    rows, targets = take_rows(estimator, X, reset=reset, minimum=minimum), as_device_array(y)
    if targets.ndim not in (1, 2) or len(targets) != len(rows):
        raise InvalidInputError(f"y must have one or two dimensions and {len(rows)} rows, got shape {targets.shape}")
    single = targets.ndim == 1
    targets = targets.astype(np.float64 if rows.dtype == np.float64 else np.float32, copy=False)
    if not all_finite(targets):
        raise InvalidInputError("y contains NaN, infinity or values too large for the type of X")
    return rows, targets[:, None] if single else targets, single
