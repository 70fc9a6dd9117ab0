"""Any scikit-learn estimator as a learner: fit it on the batch, take its fitted attributes as the point.

For a classifier each class is a part of its own, so that a batch that lacks a class still contributes what it
knows about the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from robustream.batch import Batch
from robustream.learners.base import Learner, Solved
from robustream.learners.parameters import Parameter
from robustream.spaces import Array, Euclidean, Part, Parts

__all__ = ["Adapter"]

_ROWS_FOR_EACH_CLASS = 12


@dataclass(frozen=True)
class Adapter(Learner):
    """Fits a clone of an estimator to each batch.

    Parameters
    ----------
    estimator : scikit-learn estimator
        It is cloned, never fitted itself.
    parameters : tuple of Parameter
        What to take from the fitted clones.
    classes : array or None
        All classes of a classifier, sorted; None for a regressor.
    single_target : bool
        Whether y has one dimension.
    """

    estimator: Any
    parameters: tuple[Parameter, ...]
    classes: NDArray[Any] | None
    single_target: bool
    takes_any_weights = True

    @property
    def takes_weights(self) -> bool:  # type: ignore[override]
        """Whether the estimator's `fit` has sample_weight."""
        return bool(has_fit_parameter(self.estimator, "sample_weight"))

    def space(self, n_columns: int, n_outputs: int) -> Parts:
        shell = self.shell(n_columns, n_outputs)
        factors: list[Part] = []
        for parameter in self.parameters:
            value = _attribute(shell, parameter.name)
            if self._by_class(parameter):
                assert self.classes is not None
                shape = value.shape[1:]
                factors += [Part(f"{parameter.name} of class {c!r}", Euclidean(shape)) for c in self.classes.tolist()]
            else:
                factors.append(Part(parameter.name, Euclidean(value.shape)))
        return Parts(tuple(factors))

    def required_rows(self, n_columns: int) -> int:
        return 1 if self.classes is None else 2

    def minimum_rows(self, n_columns: int) -> int:
        classes = 1 if self.classes is None else len(self.classes)
        return max(20, 5 * n_columns, 10 * classes)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        fitted = clone(self.estimator)
        if fitted.get_params(deep=False).get("random_state", 0) is None:
            fitted.set_params(random_state=int(rng.integers(2**31)))
        weights = {} if batch.weights is None else {"sample_weight": batch.weights}
        fitted.fit(batch.X, batch.y, **weights)
        point: list[Array | None] = []
        for parameter in self.parameters:
            value = _to_scale(_attribute(fitted, parameter.name), parameter)
            if self._by_class(parameter):
                point += self._rows_of_classes(value, fitted.classes_)
            else:
                point.append(value)
        return Solved(tuple(point))

    def rebuild(self, settled: Sequence[Array | None], n_columns: int, n_outputs: int) -> Any:
        """Give an estimator of the wrapped kind whose fitted attributes are the settled ones."""
        shell = self.shell(n_columns, n_outputs)
        remaining = list(settled)
        for parameter in self.parameters:
            before = getattr(shell, parameter.name)
            taken = len(self.classes) if self._by_class(parameter) and self.classes is not None else 1
            values = [value for value in remaining[:taken] if value is not None]
            del remaining[:taken]
            value = _from_scale(np.stack(values) if self._by_class(parameter) else values[0], parameter)
            setattr(shell, parameter.name, value if np.ndim(before) else float(value))
        return shell

    def shell(self, n_columns: int, n_outputs: int) -> Any:
        """Give a clone with everything that a fitted estimator has, fitted to a few made-up rows.

        Attributes that follow from the shape of the problem alone (label encoders, numbers of columns) come out
        right; those to be aggregated are overwritten before anyone sees them.
        """
        rng = np.random.default_rng(0)
        labels: NDArray[Any]
        if self.classes is not None:
            labels = np.repeat(self.classes, _ROWS_FOR_EACH_CLASS)
        else:
            shape = (20,) if self.single_target else (20, n_outputs)
            labels = rng.uniform(0.5, 1.5, shape)
        rows = rng.uniform(0.5, 1.5, (len(labels), n_columns))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clone(self.estimator).fit(rows, labels)

    def _by_class(self, parameter: Parameter) -> bool:
        if self.classes is None or parameter.class_rows == "never":
            return False
        return parameter.class_rows == "always" or len(self.classes) > 2

    def _rows_of_classes(self, value: Array, seen: NDArray[Any]) -> list[Array | None]:
        """Give each class its row, None for a class that the batch lacks."""
        assert self.classes is not None
        if len(seen) == 2 and value.shape[0] == 1:
            # Two classes are told apart by one row. Under a softmax each class gets half of the difference.
            half = 0.5 if _uses_softmax(self.estimator) else 1.0
            value = np.concatenate([-half * value, half * value])
        if value.shape[0] != len(seen):
            raise ValueError(f"a fitted attribute has {value.shape[0]} rows for {len(seen)} classes")
        rows: dict[Any, Array] = dict(zip(seen.tolist(), value, strict=True))
        # Copies: rows of a matrix stored by columns are scattered in memory, and would come back otherwise from a file.
        return [None if (row := rows.get(label)) is None else np.array(row) for label in self.classes.tolist()]


def _uses_softmax(estimator: Any) -> bool:
    names = {base.__name__ for base in type(estimator).__mro__}
    return "LogisticRegression" in names and getattr(estimator, "solver", "") != "liblinear"


def _attribute(fitted: Any, name: str) -> Array:
    if not hasattr(fitted, name):
        raise ValueError(f"{type(fitted).__name__} has no fitted attribute {name!r}")
    return np.asarray(getattr(fitted, name), dtype=np.float64)


def _to_scale(value: Array, parameter: Parameter) -> Array:
    if parameter.scale in ("log", "probability"):
        return np.log(np.maximum(value, np.finfo(np.float64).tiny))
    return value


def _from_scale(value: Array, parameter: Parameter) -> Array:
    if parameter.scale == "plain":
        return value
    if parameter.scale == "log":
        return np.exp(value)
    total = np.logaddexp.reduce(value, axis=0)
    normalised: Array = value - total
    return np.exp(normalised) if parameter.scale == "probability" else normalised
