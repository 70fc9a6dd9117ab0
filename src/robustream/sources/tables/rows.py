"""Columns of a file to the rows x columns that learners take.

Arrow keeps columns apart, learners want rows together. The rows are filled in blocks that stay in the cache: column by
column through a whole batch would touch every line of memory once for each column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustream.batch import Illegible
from robustream.sources.tables.encoding import UNSEEN
from robustream.sources.tables.error_text import UnusableError, some_names
from robustream.sources.tables.schema import NUMERIC, Selection, describe_kind, kind_of

__all__ = ["Rows", "rows_of_matrix", "rows_of_table"]

# Long stretches of a column are copied sooner; those of 100 columns of float32 take 1.6 MB.
_BLOCK = 4096


class Rows(NamedTuple):
    """X and y of some rows, with what could not be read among them: NaN stands in its place."""

    X: NDArray[Any]
    y: NDArray[Any] | None
    illegible: tuple[Illegible, ...] = ()
    columns: pa.Table | None = None  # those that come along
    stats: Mapping[str, float] = {}  # what was noticed on the way
    weights: NDArray[np.float64] | None = None  # how often each row counts; NaN where a cell is missing


def rows_of_table(table: pa.Table | pa.RecordBatch, selection: Selection) -> Rows:
    """Return X and y of the rows of an Arrow table; missing cells become NaN (None in a target of text)."""
    absent = [name for name in selection.names if table.schema.get_field_index(name) < 0]
    if absent:
        raise UnusableError(f"it has no column {some_names(absent)}")
    X = np.empty((table.num_rows, len(selection.features)), dtype=selection.dtype)
    targets = np.empty((table.num_rows, len(selection.targets)), dtype=_target_dtype(selection))
    weights = None if selection.weight is None else np.empty((table.num_rows, 1))
    batches = table.to_batches() if isinstance(table, pa.Table) else [table]
    first = 0
    stats: Counter[str] = Counter()
    illegible: list[Illegible] = []
    read = _text if selection.target_kind == "text" else _numbers
    for batch in batches:
        rows = slice(first, first + batch.num_rows)
        if weights is not None and selection.weight is not None:
            _fill(weights[rows], [_numbers(batch.column(selection.weight), selection.weight)])
        if selection.encoding is None:
            _fill(X[rows], [_numbers(batch.column(name), name) for name in selection.features])
            _fill(targets[rows], [read(batch.column(name), name) for name in selection.targets])
        else:
            encoded = selection.encoding.encode(batch, _numbers, targets=bool(selection.targets))
            _fill(X[rows], encoded.columns)
            _fill(targets[rows], encoded.targets or [read(batch.column(name), name) for name in selection.targets])
            stats.update({f"{UNSEEN}{name}": cells for name, cells in encoded.unseen.items()})
            illegible += [cells._replace(row=first + cells.row) for cells in encoded.illegible]
        first += batch.num_rows
    y, along = _shaped(targets, selection), _along(table, selection)
    return Rows(X, y, tuple(illegible), along, stats, None if weights is None else weights[:, 0])


def rows_of_matrix(matrix: NDArray[Any], places: Sequence[int], selection: Selection) -> Rows:
    """Return X and y of the rows of an array whose columns `places` are the selected ones, in their order."""
    if selection.encoding is not None:
        columns = {name: pa.array(matrix[:, place]) for name, place in zip(selection.names, places, strict=True)}
        return rows_of_table(pa.table(columns), selection)
    features, learned = len(selection.features), len(selection.learned)
    with np.errstate(over="ignore"):
        X = _take(matrix, places[:features]).astype(selection.dtype, order="C", copy=True)
        targets = _take(matrix, places[features:learned]).astype(_target_dtype(selection), order="C", copy=True)
    place_of = dict(zip(selection.names, places, strict=True))
    along = {name: pa.array(matrix[:, place_of[name]]) for name in selection.keep}
    weights = None if selection.weight is None else matrix[:, place_of[selection.weight]].astype(np.float64)
    return Rows(X, _shaped(targets, selection), columns=pa.table(along) if along else None, weights=weights)


def _along(table: pa.Table | pa.RecordBatch, selection: Selection) -> pa.Table | None:
    if not selection.keep:
        return None
    return pa.table({name: table.column(name) for name in selection.keep})


def _take(matrix: NDArray[Any], places: Sequence[int]) -> NDArray[Any]:
    together = list(range(places[0], places[0] + len(places))) if places else []
    return matrix[:, places[0] : places[-1] + 1] if places and list(places) == together else matrix[:, list(places)]


def _fill(rows: NDArray[Any], columns: list[NDArray[Any]]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(rows), _BLOCK):
            block = rows[first : first + _BLOCK]
            for place, column in enumerate(columns):
                block[:, place] = column[first : first + _BLOCK]


def _numbers(column: pa.Array, name: str) -> NDArray[Any]:
    """Return a column as an array of numbers: a view wherever the file holds it so, else with NaN where cells lack."""
    kind = kind_of(column.type)
    if kind not in NUMERIC:
        raise UnusableError(f"column {name!r} holds {describe_kind(kind)} where numbers are needed")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind == "null":
        return np.full(len(column), np.nan)
    if kind == "boolean":
        column = column.cast(pa.uint8())
    elif kind == "decimal":
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def _text(column: pa.Array, name: str) -> NDArray[Any]:
    kind = kind_of(column.type)
    if kind not in NUMERIC and kind != "text":
        raise UnusableError(f"column {name!r} holds {describe_kind(kind)} where text is needed")
    return np.array(column.cast(pa.string()).to_pylist(), dtype=object)


def _target_dtype(selection: Selection) -> np.dtype[Any]:
    # Classes of integers stay floats until no cell is missing any more.
    kinds = {"number": selection.dtype, "text": np.dtype(object)}
    return kinds.get(selection.target_kind, np.dtype(np.float64))


def _shaped(targets: NDArray[Any], selection: Selection) -> NDArray[Any] | None:
    if not selection.targets:
        return None
    return targets[:, 0] if selection.single else targets
