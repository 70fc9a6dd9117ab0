"""An estimator without what it learned: its class, parameters and the layout of its table, which determine its plan."""

from __future__ import annotations

from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import numpy as np

from robustream.aggregators import AGGREGATORS, Aggregator
from robustream.errors import DamagedFileError, InvalidInputError, UnsupportedEstimatorError
from robustream.files import Tree
from robustream.files.registry import Registry
from robustream.learners import RECIPES, Recipe
from robustream.runs.run import Layout, Plan, Run
from robustream.runs.serialize import damaged_on_error, take, take_optional

__all__ = ["WRAPPABLE", "build", "decode_estimator", "encode_estimator", "settings_of"]

_VALUES = Registry([*RECIPES.values(), Layout])
_PLAIN = Registry([])
_AGGREGATORS = {kind.__name__: kind for kind in AGGREGATORS.values()}
# A table wider than this must show in the arrays of its file before anything is allocated for it.
_MODEST_SIZE = 1_000_000


def settings_of(model: Any, run: Run) -> Tree:
    """Return the settings of a run that has begun."""
    plan, layout = run.plan, run.layout
    parameters = model.get_params(deep=False)
    if parameters["random_state"] is not None:
        # A RandomState has given its seed to the run; to draw from it again would change it.
        parameters["random_state"] = plan.seed
    encoded = {name: _encode_parameter(name, value) for name, value in parameters.items()}
    _require_unchanged(model, parameters, run)
    settings = {
        "class": type(model).__name__,
        "parameters": encoded,
        "layout": _VALUES.encode(layout),
        "names": getattr(model, "feature_names_in_", None),
    }
    encoding = getattr(model, "encoding_", None)
    return settings if encoding is None else {**settings, "encoding": encoding.to_tree()}


def build(kind: Any, settings: Tree, numbers_stored: int) -> tuple[Any, Plan, Layout]:
    """Return the estimator of a class that has these settings, and the plan and layout of its run.

    `numbers_stored` says how many numbers came with them: a table is not believed to be much larger.
    """
    with damaged_on_error("the settings"):
        parameters = take(settings, "parameters", dict)
        if parameters.keys() != signature(kind).parameters.keys():
            raise DamagedFileError(f"it has other parameters than {kind.__name__} has")
        model = kind(**{key: _decode_parameter(key, value) for key, value in parameters.items()})
        layout = _check_layout(_VALUES.decode(take(settings, "layout", dict)), numbers_stored)
        model.n_features_in_ = layout.columns
        names = take_optional(settings, "names", np.ndarray)
        if names is not None:
            if names.shape != (layout.columns,) or names.dtype.kind not in "UO":
                raise DamagedFileError("it has another number of column names than columns")
            model.feature_names_in_ = names
        if "encoding" in settings:
            from robustream.sources.tables.encoding import Encoding  # pyarrow comes with the first files

            model.encoding_ = Encoding.from_tree(take(settings, "encoding", dict), layout.columns)
            if names is None or model.encoding_.names != tuple(names.tolist()):
                raise DamagedFileError("its encoding of columns has other names than its columns")
        return model, model.plan_for(layout), layout


def _require_unchanged(model: Any, parameters: dict[str, Any], run: Run) -> None:
    """Raise if parameters were changed after the run had begun: they would no longer describe it."""
    now = type(model)(**parameters).plan_for(run.layout)
    if repr(now._replace(workers=1)) != repr(run.plan._replace(workers=1)):
        raise InvalidInputError(
            f"the parameters of this {type(model).__name__} were changed after it had learned with others: set them "
            "back or fit again before saving it"
        )


def _encode_parameter(name: str, value: Any) -> Tree:
    if name == "estimator":
        return encode_estimator(value)
    if name == "parameters" and value is not None:
        return [str(chosen) for chosen in ([value] if isinstance(value, str) else value)]
    if isinstance(value, Aggregator):
        if type(value) not in AGGREGATORS.values():
            raise InvalidInputError(f"aggregator={value!r} is not one of robustream's own and cannot be saved")
        settings = {key: setting for key, setting in vars(value).items() if not key.startswith("_")}
        return {"aggregator": type(value).__name__, "settings": _VALUES.encode(settings)}
    if isinstance(value, Recipe) and type(value) not in RECIPES.values():
        raise InvalidInputError(f"learner={value!r} is not one of robustream's own and cannot be saved")
    return _VALUES.encode(value)


def _decode_parameter(name: str, tree: Tree) -> Any:
    if name == "estimator":
        return decode_estimator(tree)
    if name == "aggregator" and isinstance(tree, dict):
        kind = _AGGREGATORS.get(take(tree, "aggregator", str))
        settings = take(tree, "settings", dict)
        if kind is None or settings.keys() != signature(kind).parameters.keys():
            raise DamagedFileError("it has an aggregator that robustream does not have")
        return kind(**_VALUES.decode(settings))
    return _VALUES.decode(tree)


def _check_layout(layout: Any, numbers_stored: int) -> Layout:
    if not isinstance(layout, Layout) or type(layout.columns) is not int or type(layout.outputs) is not int:
        raise DamagedFileError("it has no layout")
    classes: Any = layout.classes
    if classes is not None and (not isinstance(classes, np.ndarray) or classes.ndim != 1):
        raise DamagedFileError("its classes are no list")
    width = max(layout.outputs, 1 if classes is None else len(classes))
    if not (layout.columns >= 1 and layout.outputs >= 0 and type(layout.single) is bool):
        raise DamagedFileError("it has an impossible layout")
    if layout.columns * width > max(_MODEST_SIZE, numbers_stored):
        raise DamagedFileError(f"it claims {layout.columns} columns, which do not show in its content")
    return layout


# The scikit-learn estimators whose settings can be stored; nothing else is ever imported for a file.
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
WRAPPABLE: dict[str, str] = {name: module for module, names in _MODULES.items() for name in names}


def encode_estimator(estimator: Any) -> Tree:
    """Return the class of an estimator and the settings that differ from scikit-learn's own.

    The others are left to whichever version reads the file: their names and defaults change over the years.
    """
    name = type(estimator).__name__
    if name not in WRAPPABLE or type(estimator) is not _class_of(name):
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
    """Return an estimator with these settings."""
    name, parameters = take(tree, "class", str), take(tree, "parameters", dict)
    if name not in WRAPPABLE:
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
    return getattr(import_module(WRAPPABLE[name]), name)


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and not isinstance(value, np.ndarray) and bool(value == default)
