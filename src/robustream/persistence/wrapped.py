"""The scikit-learn estimators whose settings can be stored, by name; nothing else is ever imported for a file."""

from __future__ import annotations

from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import numpy as np

from robustream.errors import DamagedFileError, InvalidInputError, UnsupportedEstimatorError
from robustream.files import Tree
from robustream.files.registry import Registry
from robustream.persistence.checking import take

__all__ = ["ALLOWED", "decode_estimator", "encode_estimator"]

_MODULES: dict[str, tuple[str, ...]] = {
    "sklearn.linear_model": (
        "ARDRegression",
        "BayesianRidge",
        "ElasticNet",
        "ElasticNetCV",
        "GammaRegressor",
        "HuberRegressor",
        "Lars",
        "LarsCV",
        "Lasso",
        "LassoCV",
        "LassoLars",
        "LassoLarsCV",
        "LassoLarsIC",
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "MultiTaskElasticNet",
        "MultiTaskElasticNetCV",
        "MultiTaskLasso",
        "MultiTaskLassoCV",
        "OrthogonalMatchingPursuit",
        "OrthogonalMatchingPursuitCV",
        "Perceptron",
        "PoissonRegressor",
        "QuantileRegressor",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "SGDClassifier",
        "SGDRegressor",
        "TheilSenRegressor",
        "TweedieRegressor",
    ),
    "sklearn.naive_bayes": ("BernoulliNB", "GaussianNB", "MultinomialNB"),
    "sklearn.svm": ("LinearSVC", "LinearSVR"),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis",),
}
ALLOWED: dict[str, str] = {name: module for module, names in _MODULES.items() for name in names}

_PLAIN = Registry([])


def encode_estimator(estimator: Any) -> Tree:
    """Give the class of an estimator and the settings that differ from scikit-learn's own.

    The others are left to whichever version reads the file: their names and defaults change over the years.
    """
    name = type(estimator).__name__
    if name not in ALLOWED or type(estimator) is not _class_of(name):
        raise UnsupportedEstimatorError(
            f"OutlierRobust around {name} cannot be saved: only scikit-learn's own linear models and naive Bayes can "
            "be rebuilt from a file without running code from it"
        )
    defaults = {key: parameter.default for key, parameter in signature(type(estimator)).parameters.items()}
    changed = {}
    for key, value in estimator.get_params(deep=False).items():
        if _is_default(value, defaults.get(key, Parameter.empty)):
            continue
        try:
            changed[key] = _PLAIN.encode(value)
        except InvalidInputError as error:
            raise UnsupportedEstimatorError(
                f"OutlierRobust around {name} cannot be saved: its parameter {key}={value!r} is no plain value"
            ) from error
    return {"class": name, "parameters": changed}


def decode_estimator(tree: Tree) -> Any:
    """Give an estimator with these settings."""
    name, parameters = take(tree, "class", str), take(tree, "parameters", dict)
    if name not in ALLOWED:
        raise DamagedFileError(f"it asks for an estimator {name[:40]!r}, which is not allowed")
    kind = _class_of(name)
    unknown = parameters.keys() - signature(kind).parameters.keys()
    if unknown:
        raise UnsupportedEstimatorError(
            f"{name} of the installed scikit-learn has no parameter {', '.join(sorted(unknown))[:100]}: install the "
            "version that the model was made with (`robustream inspect` tells)"
        )
    return kind(**{key: _PLAIN.decode(value) for key, value in parameters.items()})


def _class_of(name: str) -> Any:
    return getattr(import_module(ALLOWED[name]), name)


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and not isinstance(value, np.ndarray) and bool(value == default)
