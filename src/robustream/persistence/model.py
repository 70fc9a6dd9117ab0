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

from robustream import estimators, files
from robustream.errors import BelowQuorumError, DamagedFileError, NotEnoughRowsError, UnsupportedEstimatorError
from robustream.estimators._settings import build
from robustream.files import Tree
from robustream.files.registry import Registry
from robustream.runs.run import Layout, Plan, Run
from robustream.runs.serialize import damaged_on_error, take, take_optional

__all__ = ["KIND", "build_model", "load", "load_with_extra", "model_from_tree", "save"]

KIND = "model"

# All that are exported: those that learn batch by batch have a run, the others are their answer.
_KINDS: dict[str, Any] = {name: getattr(estimators, name) for name in estimators.__all__}
_STREAMING = {name: kind for name, kind in _KINDS.items() if hasattr(kind, "begin_run")}
_AT_ONCE = {name: kind for name, kind in _KINDS.items() if name not in _STREAMING}
_PLAIN = Registry([])


def save(model: Any, path: str | os.PathLike[str], *, extra: Tree = None) -> None:
    """Write a fitted model to a file; either the whole file is there afterwards, or what was there before.

    Parameters
    ----------
    model : any of robustream's estimators
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
    names = getattr(model, "feature_names_in_", None)
    run = Run.from_tree(take(tree, "run", dict), plan, layout, names)
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
    if _KINDS.get(name) is not type(model):
        raise UnsupportedEstimatorError(
            f"a {name} cannot be saved by robustream: only its own estimators can, and scikit-learn's linear models "
            "and naive Bayes inside OutlierRobust"
        )
    check_is_fitted(model)
    streaming = name in _STREAMING
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
        return model.answer()
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
    if parameters.keys() != signature(kind).parameters.keys() or answer.keys() != set(kind.answer_names):
        raise DamagedFileError(f"it has other entries than a {kind.__name__} has")
    model = kind(**_PLAIN.decode(parameters))
    model.n_features_in_ = columns
    if names is not None:
        if names.shape != (columns,):
            raise DamagedFileError("it has another number of column names than columns")
        model.feature_names_in_ = names
    model.restore(answer)
    return model
