"""What an estimator needs of a table: whether there is a target, which shape it has, and its classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from robustream.errors import InvalidInputError
from robustream.estimators import OutlierRobust, OutlierRobustPCA
from robustream.estimators._layout import Layout

if TYPE_CHECKING:
    from robustream.sources.tables.schema import Selection

__all__ = [
    "Reading",
    "classifies",
    "layout_for",
    "names_columns",
    "needs_target",
    "selection_for",
    "target_array",
    "target_names",
]


class Reading(NamedTuple):
    """How a table is to be read; the arguments of `robustream.fit` that say so."""

    target: Any = None
    columns: Sequence[str] | None = None
    exclude: str | Sequence[str] = ()
    missing: str = "skip"
    classes: Any = None
    join_small_files: bool = False
    header: bool = True
    separator: str | None = None
    decimal: str | None = None


def layout_for(estimator: Any, columns: int, outputs: int, reading: Reading, y: NDArray[Any] | None) -> Layout:
    """Give the layout of a run; `y` is the whole target where it is at hand."""
    by_name = names_columns(reading.target)
    single = isinstance(reading.target, str) if by_name else y is None or y.ndim == 1
    if not classifies(estimator):
        return Layout(columns, outputs if needs_target(estimator) else 0, single)
    if reading.classes is None and y is None:
        raise InvalidInputError(
            "classes must name all classes of the target: they cannot be known before all files are read"
        )
    classes = np.unique(np.asarray(y if reading.classes is None else reading.classes))
    return Layout(columns, 1, True, classes)


def selection_for(
    estimator: Any, X: NDArray[Any], y: NDArray[Any] | None, names: NDArray[Any] | None, reading: Reading
) -> Selection:
    """Give how batches of arrays are brought into shape: names, types, and the shape that y has for the learner."""
    from robustream.sources.tables.schema import Selection

    dtype = X.dtype if X.dtype in (np.dtype(np.float32), np.dtype(np.float64)) else np.dtype(np.float64)
    features = tuple(str(name) for name in names) if names is not None else tuple(f"x{k}" for k in range(X.shape[1]))
    outputs = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
    targets = ("y",) if outputs == 1 else tuple(f"y{k}" for k in range(outputs))
    classifier = classifies(estimator)
    # A wrapped estimator gets y as it came; our own learners take rows x outputs.
    single = isinstance(estimator, OutlierRobust) and (y is None or y.ndim == 1)
    return Selection(features, targets, single, dtype, "as given" if classifier else "number", reading.missing)


def target_names(estimator: Any, target: Any) -> str | list[str] | None:
    """Give the target as the reader of files wants it: a list where y is to be rows x outputs."""
    if not needs_target(estimator):
        if target is not None:
            raise InvalidInputError(
                f"{type(estimator).__name__} has no target; leave the column out with exclude=, got target={target!r}"
            )
        return None
    if not names_columns(target):
        raise InvalidInputError(
            f"{type(estimator).__name__} needs a target: the name of a column, or several names, got {target!r}"
        )
    if isinstance(estimator, OutlierRobust) and isinstance(target, str):
        return target
    return [target] if isinstance(target, str) else list(target)


def target_array(estimator: Any, target: Any, rows: int) -> NDArray[Any] | None:
    """Give the target that came as an array."""
    if not needs_target(estimator):
        if target is not None:
            raise InvalidInputError(f"{type(estimator).__name__} has no target, got target={type(target).__name__}")
        return None
    if target is None or names_columns(target):
        raise InvalidInputError(f"{type(estimator).__name__} needs target=y, an array with a row for each row of X")
    y = np.asarray(target)
    if y.ndim not in (1, 2) or len(y) != rows:
        raise InvalidInputError(f"target must have as many rows as X, {rows}; an array of shape {y.shape} came")
    return y


def needs_target(estimator: Any) -> bool:
    """Tell whether an estimator learns to predict something."""
    return not isinstance(estimator, OutlierRobustPCA)


def classifies(estimator: Any) -> bool:
    """Tell whether the target holds classes."""
    return isinstance(estimator, OutlierRobust) and is_classifier(estimator.estimator)


def names_columns(target: Any) -> bool:
    """Tell whether a target is given by name."""
    return isinstance(target, str) or (
        isinstance(target, (list, tuple)) and len(target) > 0 and all(isinstance(name, str) for name in target)
    )
