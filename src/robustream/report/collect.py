"""Reading a report's data off a fitted estimator."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from robustream._version import __version__
from robustream.errors import InvalidInputError, RobustreamError
from robustream.estimators import OutlierRobust, OutlierRobustPCA, OutlierRobustRegressor
from robustream.kernels.device_arrays import host_array
from robustream.report.data import Coefficients, Components, Kind, RelativeError, ReportData, WorstRow
from robustream.report.headline import say_outcome

__all__ = ["collect"]

_TITLES: dict[Kind, str] = {
    "pca": "Outlier-robust principal components",
    "regression": "Outlier-robust linear regression",
}


def collect(model: Any, extra: Mapping[str, Any] | None = None) -> ReportData:
    """Collect what a report shows.

    Parameters
    ----------
    model : OutlierRobustPCA, OutlierRobustRegressor or OutlierRobust, fitted
    extra : tree, default=None
        What only the driver of the run knows; every key may be absent. `title`, `outcome` (text), `targets` (names of
        the outputs), `history` (rows of batches seen, relative error, rows seen), `worst_rows` (rows of label, row
        number in its file, score, and perhaps values by column), `missing` and `unreadable` (cells by column),
        `unreadable_lines`, `settings`, `timings` (seconds by name; `total` is the wall time) and `environment`.

    Examples
    --------
    >>> import numpy as np, robustream as rs
    >>> model = rs.OutlierRobustPCA(1).fit(np.random.default_rng(0).normal(size=(100, 3)))
    >>> collect(model, {"missing": {"x2": 7}}).outcome
    'The only batch was used.'
    """
    known = {} if extra is None else extra
    kind, components, coefficients = _learned(model, known.get("targets"))
    title = known.get("title") or _TITLES.get(kind) or f"Outlier-robust {type(model.estimator).__name__}"
    data = ReportData(
        title=str(title),
        kind=kind,
        features=_feature_names(model),
        rows_seen=int(model.n_samples_seen_),
        batches_seen=int(model.n_batches_seen_),
        batches=tuple(model.batch_report_),
        components=components,
        coefficients=coefficients,
        worst_rows=tuple(_worst_row(*row) for row in known.get("worst_rows", ())),
        convergence=tuple(
            RelativeError(int(batches), float(error), int(rows)) for batches, error, rows in known.get("history", ())
        ),
        unreadable={str(name): int(count) for name, count in known.get("unreadable", {}).items()},
        unreadable_lines=int(known.get("unreadable_lines", 0)),
        missing={str(name): int(count) for name, count in known.get("missing", {}).items()},
        settings={**_settings(model), **known.get("settings", {})},
        timings={str(name): float(seconds) for name, seconds in known.get("timings", {}).items()},
        environment={**_environment(), **known.get("environment", {})},
    )
    return data._replace(outcome=str(known.get("outcome") or say_outcome(data)))


def _worst_row(label: Any, row: Any, score: Any, values: Mapping[Any, Any] | None = None) -> WorstRow:
    shown = {str(name): float(value) for name, value in (values or {}).items()}
    return WorstRow(str(label), int(row), float(score), shown)


def _learned(model: Any, targets: Any) -> tuple[Kind, Components | None, Coefficients | None]:
    if isinstance(model, OutlierRobustPCA):
        found = model.components_, model.explained_variance_, model.explained_variance_ratio_, model.mean_
        return "pca", Components(*map(host_array, found)), None
    if isinstance(model, OutlierRobustRegressor):
        return "regression", None, _regression(model, targets)
    if isinstance(model, OutlierRobust):
        return "other", None, _wrapped(model, targets)
    raise InvalidInputError(
        f"a report is made of an OutlierRobustPCA, OutlierRobustRegressor or OutlierRobust, got {type(model).__name__}"
    )


def _regression(model: OutlierRobustRegressor, targets: Any) -> Coefficients:
    coef, stderr = np.atleast_2d(host_array(model.coef_)), np.atleast_2d(host_array(model.coef_stderr_))
    interval = host_array(model.conf_int()).reshape(*coef.shape, 2)
    p_value = np.array([row[4] for row in model.summary().rows]).reshape(coef.shape)
    intercept, scale = np.atleast_1d(host_array(model.intercept_)), np.atleast_1d(host_array(model.scale_))
    names = _target_names(targets, len(coef))
    return Coefficients(coef, stderr, interval[..., 0], interval[..., 1], p_value, intercept, scale, names)


def _wrapped(model: OutlierRobust, targets: Any) -> Coefficients | None:
    """Return the coefficients of a wrapped linear model, without intervals; None if it has none."""
    try:
        inner = model.estimator_
    except RobustreamError:
        return None
    coef = np.atleast_2d(getattr(inner, "coef_", np.empty(0)))
    if coef.ndim != 2 or coef.shape[1] != model.n_features_in_:
        return None
    classes = getattr(inner, "classes_", None)
    if targets is None and classes is not None:
        targets = [str(name) for name in (classes if len(classes) == len(coef) else classes[1:])]
    unknown = np.full(coef.shape, np.nan)
    intercept = np.broadcast_to(np.atleast_1d(getattr(inner, "intercept_", 0.0)), len(coef))
    scale, names = np.full(len(coef), np.nan), _target_names(targets, len(coef))
    return Coefficients(coef, unknown, unknown, unknown, unknown, np.array(intercept), scale, names)


def _target_names(targets: Any, count: int) -> tuple[str, ...]:
    given = () if targets is None else tuple(str(name) for name in targets)
    if len(given) == count:
        return given
    return ("y",) if count == 1 else tuple(f"y{place}" for place in range(count))


def _feature_names(model: Any) -> tuple[str, ...]:
    names = getattr(model, "feature_names_in_", None)
    return (
        tuple(str(name) for name in names) if names is not None else tuple(f"x{k}" for k in range(model.n_features_in_))
    )


def _settings(model: Any) -> dict[str, Any]:
    plain = (str, int, float, bool, type(None))
    parameters = model.get_params(deep=False).items()
    chosen = {name: value if isinstance(value, plain) else repr(value) for name, value in parameters}
    return {
        "estimator": type(model).__name__,
        **({"wrapped": chosen.pop("estimator")} if "estimator" in chosen else {}),
        **chosen,
    }


def _environment() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "robustream": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
