"""What the charts of the page are drawn from: columns of plain numbers, never NaN, never more than a page can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from robustream.batch import BatchRecord
from robustream.report.data import VERDICTS, Coefficients, Components, RelativeError, ReportData
from robustream.spaces import Array

__all__ = ["chart_data", "strongest", "thinned"]

_MARKS = 5_000
_FEWEST_KEPT = 1_000
_COMPONENTS = 60
_COEFFICIENTS = 400


def chart_data(data: ReportData) -> dict[str, Any]:
    """Return the numbers of every chart."""
    return {
        "batches": _batches(data.batches),
        "scree": None if data.components is None else _scree(data.components),
        "coefficients": None if data.coefficients is None else _coefficients(data.coefficients, data.features),
        "convergence": _convergence(data.convergence),
        "tolerance": _number(data.settings.get("tolerance")),
    }


def thinned(batches: Sequence[BatchRecord], marks: int = _MARKS) -> list[BatchRecord]:
    """Leave out kept batches, evenly, until about so many are left; all others stay."""
    kept = sum(record.verdict == "kept" for record in batches)
    room = max(min(marks, _FEWEST_KEPT), marks - (len(batches) - kept))
    if kept <= room:
        return list(batches)
    chosen = set(np.linspace(0, kept - 1, room).round().astype(int).tolist())
    shown, place = [], 0
    for record in batches:
        if record.verdict != "kept":
            shown.append(record)
            continue
        if place in chosen:
            shown.append(record)
        place += 1
    return shown


def strongest(coefficients: Coefficients, most: int) -> list[tuple[int, int]]:
    """Return the (output, column) of the coefficients that stand out most: by t if errors are known, else by size."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t_value = np.abs(coefficients.coef / coefficients.stderr)
    known = np.isfinite(t_value)
    strength = np.where(known, t_value, -1.0) if known.any() else np.abs(coefficients.coef)
    order = np.argsort(-strength, axis=None, kind="stable")[:most]
    columns = strength.shape[1]
    return [(int(place) // columns, int(place) % columns) for place in order]


def _batches(batches: Sequence[BatchRecord]) -> dict[str, Any]:
    shown = thinned(batches)
    pool: dict[str, int] = {}
    reasons = [pool.setdefault(record.reason, len(pool)) for record in shown]
    return {
        "verdicts": list(VERDICTS),
        "reasons": list(pool),
        "index": [record.index for record in shown],
        "label": [record.label for record in shown],
        "rows": [record.rows for record in shown],
        "verdict": [VERDICTS.index(record.verdict) for record in shown],
        "distance": _numbers(record.distance for record in shown),
        "reason": reasons,
    }


def _scree(components: Components) -> dict[str, Any]:
    ratio = components.ratio[:_COMPONENTS]
    return {"ratio": _numbers(ratio), "cumulative": _numbers(np.cumsum(ratio))}


def _coefficients(found: Coefficients, features: Sequence[str]) -> dict[str, Any]:
    places = strongest(found, _COEFFICIENTS)
    return {
        "targets": list(found.targets),
        "target": [output for output, _ in places],
        "name": [features[column] for _, column in places],
        **{name: _numbers(_at(getattr(found, name), places)) for name in ("coef", "stderr", "low", "high")},
    }


def _at(table: Array, places: Iterable[tuple[int, int]]) -> list[float]:
    return [float(table[place]) for place in places]


def _convergence(moments: Sequence[RelativeError]) -> dict[str, Any]:
    return {
        "batches": [moment.batches for moment in moments],
        "error": _numbers(moment.error for moment in moments),
        "rows": [moment.rows for moment in moments],
    }


def _numbers(values: Iterable[Any]) -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: Any) -> float | None:
    """Return a number that JSON has, with six digits; None for what is unknown or infinite."""
    if value is None or isinstance(value, str) or not math.isfinite(value):
        return None
    return float(f"{float(value):.6g}")
