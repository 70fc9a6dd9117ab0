"""A report's data as a tree of dicts, lists, text, numbers and arrays, and back: so that it can be stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robustream.batch import BatchRecord
from robustream.report.data import Coefficients, Components, Moment, ReportData, WorstRow

__all__ = ["from_tree", "to_tree"]


def to_tree(data: ReportData) -> dict[str, Any]:
    """Give the data as a tree; lists of records become one list or array for each field, which keeps it small."""
    return {
        **data._asdict(),
        "features": list(data.features),
        "batches": _columns(data.batches, BatchRecord),
        "worst_rows": _columns(data.worst_rows, WorstRow),
        "convergence": _columns(data.convergence, Moment),
        "components": None if data.components is None else data.components._asdict(),
        "coefficients": None if data.coefficients is None else _with_list(data.coefficients),
        "missing": dict(data.missing),
        "unreadable": dict(data.unreadable),
        "settings": dict(data.settings),
        "timings": dict(data.timings),
        "environment": dict(data.environment),
    }


def from_tree(tree: Mapping[str, Any]) -> ReportData:
    """Give the data back from its tree."""
    components, coefficients = tree.get("components"), tree.get("coefficients")
    return ReportData(**tree)._replace(
        features=tuple(tree["features"]),
        batches=_records(tree["batches"], BatchRecord),
        worst_rows=_records(tree["worst_rows"], WorstRow),
        convergence=_records(tree["convergence"], Moment),
        components=None if components is None else Components(**components),
        coefficients=(
            None
            if coefficients is None
            else Coefficients(**{**coefficients, "targets": tuple(coefficients["targets"])})
        ),
    )


def _with_list(coefficients: Coefficients) -> dict[str, Any]:
    return {**coefficients._asdict(), "targets": list(coefficients.targets)}


def _columns(records: tuple[Any, ...], kind: Any) -> dict[str, Any]:
    columns = zip(*records, strict=True) if records else ((),) * len(kind._fields)
    return {name: _column(values) for name, values in zip(kind._fields, columns, strict=True)}


def _column(values: tuple[Any, ...]) -> Any:
    if values and not isinstance(values[0], str):
        return np.asarray(values)
    return list(values)


def _records(columns: Mapping[str, Any], kind: Any) -> tuple[Any, ...]:
    plain = [
        column.tolist() if isinstance(column, np.ndarray) else column
        for column in (columns[name] for name in kind._fields)
    ]
    return tuple(kind(*values) for values in zip(*plain, strict=True))
