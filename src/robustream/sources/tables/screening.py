"""Rows with missing cells: dropped and counted by column, or the reason why a batch cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.sources.tables.conversion import Rows, Selection

__all__ = ["MISSING", "batch_of_rows"]

MISSING = ("skip", "skip-infinite", "error", "keep")

_CLASS_TYPES = {"integer": np.int64, "boolean": np.bool_}

_LACKING, _INFINITE = "missing", "infinite"


def batch_of_rows(index: int, label: str, rows: Rows, selection: Selection) -> Batch:
    """Make the batch of some rows, by the rule for missing cells.

    Rows in which a cell is missing (null or NaN) are left out. `stats` counts them: "rows dropped", and "missing:name"
    for each column. A batch that loses more than half of its rows is unreadable, and so is one with an infinite cell:
    whoever wrote it divided by zero or overflowed. With `missing="skip-infinite"` such rows are left out and counted
    too, with "error" one missing cell is enough to fail, and with "keep" all stay as they are.
    """
    X, y = rows
    if not len(X):
        return Batch.unreadable(index, label, "no row begins here: the rows of this file differ much in length")
    if selection.missing == "keep" or (_all_finite(X) and (y is None or _all_finite(y))):
        return Batch(index, label, X, _classes(y, selection))
    bad, stats = _count_bad(X, y, selection)
    dropped = int(bad.sum())
    stats["rows dropped"] = dropped
    infinite = {name: count for name, count in stats.items() if name.startswith(_INFINITE)}
    if infinite and selection.missing != "skip-infinite":
        reason = f"{_worst(infinite)}; missing='skip-infinite' leaves such rows out"
        return Batch.unreadable(index, label, reason, stats)
    if selection.missing == "error":
        return Batch.unreadable(index, label, f"{_worst(stats)}; missing='skip' leaves such rows out", stats)
    if 2 * dropped > len(X):
        reason = f"{dropped} of {len(X)} rows cannot be used: {_worst(stats)}"
        return Batch.unreadable(index, label, reason, stats)
    kept = ~bad
    return Batch(index, label, X[kept], None if y is None else _classes(y[kept], selection), None, stats, kept)


def _all_finite(values: NDArray[Any]) -> bool:
    if values.dtype == object:
        return all(cell is not None for cell in values.flat)
    # A sum is far quicker than a test of each cell; if finite cells overflow it, the cells are tested after all.
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())


def _count_bad(X: NDArray[Any], y: NDArray[Any] | None, selection: Selection) -> tuple[NDArray[Any], dict[str, float]]:
    bad = np.zeros(len(X), dtype=bool)
    stats: dict[str, float] = {}
    parts = [(selection.features, X)]
    if y is not None:
        parts.append((selection.targets, y.reshape(len(y), -1)))
    for names, values in parts:
        for what, cells in (_LACKING, _missing(values)), (_INFINITE, _infinite(values)):
            bad |= cells.any(axis=1)
            counts = cells.sum(axis=0)
            stats |= {f"{what}:{names[place]}": float(counts[place]) for place in np.flatnonzero(counts)}
    return bad, stats


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    return values == None if values.dtype == object else np.isnan(values)  # noqa: E711


def _infinite(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.zeros(values.shape, dtype=bool) if values.dtype == object else np.isinf(values)


def _worst(stats: dict[str, float]) -> str:
    key = max((key for key in stats if ":" in key), key=lambda key: stats[key])
    what, name = key.split(":", 1)
    words = "infinite" if what == _INFINITE else "missing"
    return f"column {name!r} is {words} in {int(stats[key])} rows"


def _classes(y: NDArray[Any] | None, selection: Selection) -> NDArray[Any] | None:
    """Give classes their own type back, now that no cell is missing."""
    if y is None or selection.missing == "keep" or selection.target_kind not in _CLASS_TYPES:
        return y
    return y.astype(_CLASS_TYPES[selection.target_kind])
