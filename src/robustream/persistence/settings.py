"""An estimator without what it learned: its class, parameters and the layout of its table, which determine its plan."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators import AGGREGATORS, Aggregator
from robustream.errors import DamagedFileError, InvalidInputError
from robustream.estimators import OutlierRobust, OutlierRobustPCA, OutlierRobustRegressor
from robustream.estimators._layout import Layout
from robustream.files import Tree
from robustream.files.registry import Registry
from robustream.learners import RECIPES, Recipe
from robustream.persistence.checking import damaged_on_error, take, take_optional
from robustream.persistence.wrapped import decode_estimator, encode_estimator
from robustream.runs.online import Plan

__all__ = ["STREAMING", "build", "settings_of"]

STREAMING: dict[str, Any] = {kind.__name__: kind for kind in (OutlierRobustPCA, OutlierRobustRegressor, OutlierRobust)}

_VALUES = Registry([*RECIPES.values(), Layout])
_AGGREGATORS = {kind.__name__: kind for kind in AGGREGATORS.values()}
# A table wider than this must show in the arrays of its file before anything is allocated for it.
_MODEST_SIZE = 1_000_000


def settings_of(model: Any) -> Tree:
    """Give the settings of a run that has begun."""
    plan, layout = model._run().plan, model._layout
    parameters = model.get_params(deep=False)
    if parameters["random_state"] is not None:
        # A RandomState has given its seed to the run; to draw from it again would change it.
        parameters["random_state"] = plan.seed
    encoded = {name: _encode_parameter(name, value) for name, value in parameters.items()}
    _require_unchanged(model, parameters, plan)
    return {
        "class": type(model).__name__,
        "parameters": encoded,
        "layout": _VALUES.encode(layout),
        "names": getattr(model, "feature_names_in_", None),
    }


def build(settings: Tree, numbers_stored: int) -> tuple[Any, Plan]:
    """Give the estimator that has these settings, and the plan of its run.

    `numbers_stored` says how many numbers came with them: a table is not believed to be much larger.
    """
    with damaged_on_error("the settings"):
        name = take(settings, "class", str)
        if name not in STREAMING:
            raise DamagedFileError(f"it asks for a class {name[:40]!r}, which is not allowed")
        kind = STREAMING[name]
        parameters = take(settings, "parameters", dict)
        if parameters.keys() != signature(kind).parameters.keys():
            raise DamagedFileError(f"it has other parameters than {name} has")
        model = kind(**{key: _decode_parameter(key, value) for key, value in parameters.items()})
        model._layout = _check_layout(_VALUES.decode(take(settings, "layout", dict)), numbers_stored)
        model.n_features_in_ = model._layout.columns
        names = take_optional(settings, "names", np.ndarray)
        if names is not None:
            if names.shape != (model._layout.columns,) or names.dtype.kind not in "UO":
                raise DamagedFileError("it has another number of column names than columns")
            model.feature_names_in_ = names
        return model, model._plan_for(model._layout)


def _require_unchanged(model: Any, parameters: dict[str, Any], plan: Plan) -> None:
    """Raise if parameters were changed after the run had begun: they would no longer describe it."""
    now = type(model)(**parameters)._plan_for(model._layout)
    if repr(now._replace(workers=1)) != repr(plan._replace(workers=1)):
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
    classes: NDArray[Any] | None = layout.classes
    if classes is not None and (not isinstance(classes, np.ndarray) or classes.ndim != 1):
        raise DamagedFileError("it has classes that are none")
    width = max(layout.outputs, 1 if classes is None else len(classes))
    if not (layout.columns >= 1 and layout.outputs >= 0 and type(layout.single) is bool):
        raise DamagedFileError("it has an impossible layout")
    if layout.columns * width > max(_MODEST_SIZE, numbers_stored):
        raise DamagedFileError(f"it claims {layout.columns} columns, which do not show in its content")
    return layout
