"""Reading a report's data off a fitted estimator."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from robustream._version import __version__
from robustream.errors import InvalidInputError
from robustream.report.data import RelativeError, ReportData, WorstRow
from robustream.report.headline import say_outcome
from robustream.report.numbers import show_count

__all__ = ["collect"]


def collect(model: Any, extra: Mapping[str, Any] | None = None) -> ReportData:
    """Collect what a report shows.

    Parameters
    ----------
    model : an estimator that learns batch by batch, fitted
    extra : tree, default=None
        What only the driver of the run knows; every key may be absent. `title`, `outcome` (text), `targets` (names of
        the outputs), `history` (rows of batches seen, relative error, rows seen), `worst_rows` (rows of label, row
        number in its file, score, and perhaps values by column and a reason), `missing` and `unreadable` (by column),
        `unreadable_lines`, `files` (notes on files and columns), `other_levels` (cells by category), `weights` (rows
        whose weight was `capped` or `unusable`), `settings`, `timings` (seconds by name; `total` is the wall time) and
        `environment`.

    Examples
    --------
    >>> import numpy as np, robustream as rs
    >>> model = rs.OutlierRobustPCA(1).fit(np.random.default_rng(0).normal(size=(100, 3)))
    >>> collect(model, {"missing": {"x2": 7}}).outcome
    'The only batch was used.'
    """
    known = {} if extra is None else extra
    if not hasattr(model, "shown"):
        raise InvalidInputError(
            f"a report must be made of an estimator that learns batch by batch, got {type(model).__name__}"
        )
    shown = model.shown(known.get("targets"))
    data = ReportData(
        title=str(known.get("title") or shown.title),
        features=_feature_names(model),
        rows_seen=int(model.n_samples_seen_),
        batches_seen=int(model.n_batches_seen_),
        batches=tuple(model.batch_report_),
        components=shown.components,
        coefficients=shown.coefficients,
        tables=shown.tables,
        worst_rows=tuple(_worst_row(*row) for row in known.get("worst_rows", ())),
        convergence=tuple(
            RelativeError(int(batches), float(error), int(rows)) for batches, error, rows in known.get("history", ())
        ),
        unreadable={str(name): int(count) for name, count in known.get("unreadable", {}).items()},
        unreadable_lines=int(known.get("unreadable_lines", 0)),
        notes=tuple(_notes([*shown.notes, *known.get("files", ())], known)),
        missing={str(name): int(count) for name, count in known.get("missing", {}).items()},
        settings={**_settings(model), **known.get("settings", {})},
        timings={str(name): float(seconds) for name, seconds in known.get("timings", {}).items()},
        environment={**_environment(), **known.get("environment", {})},
    )
    return data._replace(outcome=str(known.get("outcome") or say_outcome(data)))


def _notes(noticed: Iterable[Any], known: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a run noticed of files and columns, in sentences."""
    for note in map(str, noticed):
        yield f"{note[:1].upper()}{note[1:]}{'' if note.endswith('?') else '.'}"
    for column, cells in known.get("other_levels", {}).items():
        yield f"Cells of {str(column)!r} whose level has no column of its own: {show_count(int(cells))}."
    weights = known.get("weights", {})
    if unusable := int(weights.get("unusable", 0)):
        yield f"Rows left out since their weight is missing, negative or infinite: {show_count(unusable)}."
    if capped := int(weights.get("capped", 0)):
        yield f"Rows whose weight is more than a row may count for, and was capped: {show_count(capped)}."


def _worst_row(label: Any, row: Any, score: Any, values: Mapping[Any, Any] | None = None, reason: str = "") -> WorstRow:
    shown = {str(name): float(value) for name, value in (values or {}).items()}
    return WorstRow(str(label), int(row), float(score), shown, str(reason))


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
