"""Fitted models as files that anyone with safetensors can read, and that go on learning when loaded.

A model file holds the answer as plain arrays (`answer/components_`, `answer/coef_`, ...), the settings, and for the
estimators that learn batch by batch the whole run.
"""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from robustream import files
from robustream.errors import BelowQuorumError, DamagedFileError, NotEnoughRowsError, UnsupportedEstimatorError
from robustream.estimators import OutlierRobust, OutlierRobustPCA, OutlierRobustRegressor, TrimmedPCA, TrimmedRegressor
from robustream.estimators._linear import Linear
from robustream.estimators._projection import Principal
from robustream.estimators._settings import build
from robustream.files import Tree
from robustream.files.registry import Registry
from robustream.kernels.device_arrays import host_array
from robustream.runs.run import Layout, Plan, Run
from robustream.runs.serialize import damaged_on_error, take, take_optional

__all__ = ["KIND", "build_model", "load", "load_with_extra", "model_from_tree", "save"]

KIND = "model"

_PRINCIPAL = (
    "components_",
    "mean_",
    "column_scale_",
    "explained_variance_",
    "explained_variance_ratio_",
    "noise_variance_",
    "cutoffs_",
)
_LINEAR = ("coef_", "intercept_", "scale_", "cutoff_")
_ANSWERS: dict[str, tuple[str, ...]] = {
    OutlierRobustPCA.__name__: _PRINCIPAL,
    OutlierRobustRegressor.__name__: (*_LINEAR, "coef_stderr_"),
    TrimmedPCA.__name__: (*_PRINCIPAL, "n_components_"),
    TrimmedRegressor.__name__: _LINEAR,
}
# NumPy's numbers would turn the results for float32 rows into float64.
_PYTHON_NUMBERS = {"noise_variance_", "cutoff_", "n_components_"}
_STREAMING: dict[str, Any] = {kind.__name__: kind for kind in (OutlierRobustPCA, OutlierRobustRegressor, OutlierRobust)}
_AT_ONCE: dict[str, Any] = {kind.__name__: kind for kind in (TrimmedPCA, TrimmedRegressor)}
_PLAIN = Registry([])


def save(model: Any, path: str | os.PathLike[str], *, extra: Tree = None) -> None:
    """Write a fitted model to a file; either the whole file is there afterwards, or what was there before.

    Parameters
    ----------
    model : OutlierRobustPCA, OutlierRobustRegressor, OutlierRobust, TrimmedPCA or TrimmedRegressor
        `OutlierRobust` around scikit-learn's own linear models and naive Bayes only.
    path : path
        By custom it ends with `.safetensors`.
    extra : nested dicts, lists, numbers, text and arrays, default=None
        Anything to keep with the model; `load_with_extra` gives it back. By default what `robustream.fit` noted.
    """
    notes = getattr(model, "fit_notes_", None) if extra is None else extra
    files.write(path, _tree_of(model, notes), KIND)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file; it predicts, and goes on with `partial_fit`, as the one that was saved.

    No code from the file is run. One that is damaged, or no model, raises DamagedFileError; one written by a later
    version of robustream NewerFormatError.
    """
    return load_with_extra(path)[0]


def load_with_extra(path: str | os.PathLike[str]) -> tuple[Any, Tree]:
    """Read a model from a file, and what was kept with it."""
    tree = files.read(path, KIND)
    with files.naming(path):
        return model_from_tree(tree), tree.get("extra")


def model_from_tree(tree: Tree) -> Any:
    """Return the model that the content of a file describes."""
    settings, extra = take(tree, "settings", dict), tree.get("extra")
    if take(settings, "class", str) in _AT_ONCE:
        with damaged_on_error("the model"):
            return _rebuild_at_once(settings, take(tree, "answer", dict))
    model, plan, layout = build_model(tree)
    run = Run.from_tree(take(tree, "run", dict), plan, layout)
    model.run_ = replace(run, notes=extra if isinstance(extra, dict) else None)
    return model


def build_model(tree: Tree) -> tuple[Any, Plan, Layout]:
    """Return the estimator that the settings in a file describe, without what it learned, its plan and its layout."""
    settings = take(tree, "settings", dict)
    name = take(settings, "class", str)
    if name not in _STREAMING:
        raise DamagedFileError(f"it asks for a class {name[:40]!r}, which is not allowed")
    return build(_STREAMING[name], settings, _numbers_in(tree))


def _numbers_in(tree: Tree) -> int:
    """Return how many numbers the arrays of a tree have in all."""
    if isinstance(tree, np.ndarray):
        return int(tree.size)
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return sum(_numbers_in(child) for child in children)


def _tree_of(model: Any, extra: Tree) -> Tree:
    name = type(model).__name__
    streaming = _STREAMING.get(name) is type(model)
    if not streaming and _AT_ONCE.get(name) is not type(model):
        raise UnsupportedEstimatorError(
            f"a {name} cannot be saved by robustream: only its own estimators can, and scikit-learn's linear models "
            "and naive Bayes inside OutlierRobust"
        )
    check_is_fitted(model)
    versions = {"python": platform.python_version(), "numpy": np.__version__, "scikit-learn": sklearn.__version__}
    tree = {
        "settings": model.run_settings() if streaming else _settings_at_once(model),
        "answer": _answer(model),
        # No time of day: the same data and settings give the same bytes.
        "made": {"versions": versions},
        "extra": extra,
    }
    return tree | {"run": model.run_.to_tree()} if streaming else tree


def _answer(model: Any) -> Tree:
    """Return what a person without robustream needs to use the model; nothing while there are too few rows for it."""
    try:
        if isinstance(model, OutlierRobust):
            fitted = model.estimator_
            names = [parameter.name for parameter in model.run_.plan.learner.parameters]  # type: ignore[attr-defined]
            classes = {} if model.run_.layout.classes is None else {"classes_": model.classes_}
            return {name: np.asarray(getattr(fitted, name)) for name in names} | classes
        return {name: np.asarray(host_array(getattr(model, name))) for name in _ANSWERS[type(model).__name__]}
    except (NotEnoughRowsError, BelowQuorumError):
        return {}


def _settings_at_once(model: Any) -> Tree:
    return {
        "class": type(model).__name__,
        "parameters": _PLAIN.encode(model.get_params(deep=False)),
        "columns": model.n_features_in_,
        "names": getattr(model, "feature_names_in_", None),
    }


def _rebuild_at_once(settings: Tree, answer: Tree) -> Any:
    """Return a model that is its answer: there is no run to go on with."""
    kind = _AT_ONCE[settings["class"]]
    parameters = take(settings, "parameters", dict)
    columns = take(settings, "columns", int)
    names = take_optional(settings, "names", np.ndarray)
    if parameters.keys() != signature(kind).parameters.keys() or answer.keys() != set(_ANSWERS[kind.__name__]):
        raise DamagedFileError(f"it has other entries than a {kind.__name__} has")
    model = kind(**_PLAIN.decode(parameters))
    model.n_features_in_ = columns
    if names is not None:
        if names.shape != (columns,):
            raise DamagedFileError("it has another number of column names than columns")
        model.feature_names_in_ = names
    shapes = _shapes(answer, columns)
    fitted: dict[str, Any] = {}
    for name, value in answer.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fi" or value.shape != shapes[name]:
            raise DamagedFileError(f"{name} is no array of numbers of the shape that it should have")
        fitted[name.removesuffix("_")] = value.item() if name in _PYTHON_NUMBERS else value if value.ndim else value[()]
    fitted.pop("n_components", None)  # as many as there are
    model.restore(Linear(**fitted) if kind is TrimmedRegressor else Principal(**fitted))
    return model


def _shapes(answer: Tree, columns: int) -> dict[str, tuple[int, ...]]:
    """Return the shape that each array of an answer should have."""
    if "coef_" in answer:
        outputs = answer["coef_"].shape[:-1][:1]
        return {"coef_": (*outputs, columns), "intercept_": outputs, "scale_": outputs, "cutoff_": ()}
    components = answer["components_"].shape[:1]
    return {
        "components_": (*components, columns),
        **dict.fromkeys(("mean_", "column_scale_"), (columns,)),
        **dict.fromkeys(("explained_variance_", "explained_variance_ratio_"), components),
        **dict.fromkeys(("noise_variance_", "n_components_"), ()),
        "cutoffs_": (2,),
    }
