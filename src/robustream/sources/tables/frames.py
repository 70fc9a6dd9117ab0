"""Data frames of whatever library (pandas, Polars, Arrow), by the rules that hold for files.

`arrays_of_frame` takes one frame whole; `FrameReader` makes batches of the items of an iterable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.checking import check_choice
from robustream.sources.tables.error_text import UnusableError, explain
from robustream.sources.tables.missing import MISSING, batch_of_rows
from robustream.sources.tables.rows import Rows, rows_of_table
from robustream.sources.tables.schema import Selection, choose_columns, columns_of_schema, numbered, why_unfit

__all__ = ["FrameReader", "arrays_of_frame", "as_table", "frame_of_rows"]


def arrays_of_frame(
    frame: Any,
    *,
    target: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    exclude: str | Sequence[str],
    text_target: bool,
) -> tuple[NDArray[Any], NDArray[Any] | None, Selection]:
    """Return X and y of a pandas, Polars or Arrow table, missing cells as NaN, and which columns they are."""
    try:
        table = as_table(frame)
    except UnusableError as error:
        raise InvalidInputError(f"the data frame cannot be used: {error}") from error
    if table is None or not table.num_rows:
        raise InvalidInputError(f"a data frame must have rows, got a {type(frame).__name__} without any")
    selection = choose_columns(
        [columns_of_schema(table.schema)],
        target=target,
        columns=columns,
        exclude=exclude,
        missing="keep",
        text_target=text_target,
    )
    rows = rows_of_table(table, selection)
    return rows.X, rows.y, selection


def frame_of_rows(X: NDArray[Any], names: NDArray[Any] | None) -> Any:
    """Return rows the names that a model was fitted with, for it warns where they have none."""
    return X if names is None else pa.table(dict(zip(names, X.T, strict=True)))


class FrameReader:
    """Makes batches of items; the first usable one decides the columns. See `IterableSource` for the parameters."""

    def __init__(self, *, missing: str, **options: Any) -> None:
        check_choice("missing", missing, MISSING)
        self._missing = missing
        self._options = options
        self.selection: Selection | None = None
        self._beside_target: Selection | None = None  # the columns of frames that come with their target
        self.names: tuple[str, ...] | None = None  # of the columns, if the items have any

    def batch(self, index: int, item: Any) -> Batch:
        """Return the batch of an item, whatever is wrong with it."""
        if isinstance(item, Batch):
            return item._replace(index=index)
        label = f"item {index}"
        try:
            table = as_table(item)
            rows, selection = self._from_arrays(item) if table is None else self._from_table(table)
        except InvalidInputError:
            raise
        except Exception as error:
            return Batch.unreadable(index, label, explain(error))
        return batch_of_rows(index, label, rows, selection)

    def _from_table(self, table: pa.Table) -> tuple[Rows, Selection]:
        columns = columns_of_schema(table.schema)
        if self.selection is None:
            self.selection = choose_columns([columns], missing=self._missing, **self._options)
            self.names = self.selection.features
        if reason := why_unfit(columns, self.selection):
            raise UnusableError(reason)
        return rows_of_table(table, self.selection), self.selection

    def _from_arrays(self, item: Any) -> tuple[Rows, Selection]:
        if any(self._options[name] for name in ("target", "columns", "exclude")):
            raise InvalidInputError(
                f"target, columns and exclude name columns of tables, got an item of type {type(item).__name__}."
            )
        X, y = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        y, table = None if y is None else np.asarray(y), as_table(X)
        X, names = (_numbers(X), None) if table is None else self._from_frame(table)
        if X.ndim != 2 or (y is not None and (y.ndim not in (1, 2) or len(y) != len(X))):
            shapes = X.shape if y is None else (X.shape, y.shape)
            raise UnusableError(f"X must be rows x columns, and y must have as many rows, got arrays of {shapes}")
        selection = _selection_of(X, y, names or self.names, self._missing)
        if self.selection is None:
            self.names = names
            self.selection = selection
        came, needed = ((len(each.features), len(each.targets)) for each in (selection, self.selection))
        if came != needed:
            raise UnusableError(
                f"it has {came[0]} columns and {came[1]} targets where {needed[0]} and {needed[1]} are needed"
            )
        return Rows(X, y), selection

    def _from_frame(self, table: pa.Table) -> tuple[NDArray[Any], tuple[str, ...]]:
        """Return the numbers of a frame that came beside its target; its columns are matched by name."""
        columns = columns_of_schema(table.schema)
        chosen = self._beside_target or choose_columns(
            [columns], target=None, columns=None, exclude=(), missing=self._missing, text_target=False
        )
        if reason := why_unfit(columns, chosen):
            raise UnusableError(reason)
        self._beside_target = chosen
        return rows_of_table(table, chosen).X, chosen.features


def as_table(item: Any) -> pa.Table | None:
    """Return a data frame of whatever library as an Arrow table; None if it is none."""
    if isinstance(item, pa.Table):
        return item
    if isinstance(item, pa.RecordBatch):
        return pa.Table.from_batches([item])
    if type(item).__module__.partition(".")[0] == "pandas" and hasattr(item, "columns"):
        return _from_pandas(item)
    # Polars, DuckDB and others speak Arrow's own interface.
    return pa.table(item) if hasattr(item, "__arrow_c_stream__") else None


def _from_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as error:
        found = re.search(r"column (.*) with type", str(error))
        where = f"column {found[1]!r}" if found else "a column"
        raise UnusableError(
            f"{where} holds values of several types; pandas.to_numeric(..., errors='coerce') makes numbers of it, and "
            "missing cells of the rest"
        ) from error


def _numbers(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise UnusableError(f"X must hold numbers, got an array of {array.dtype}")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _selection_of(X: NDArray[Any], y: NDArray[Any] | None, columns: tuple[str, ...] | None, missing: str) -> Selection:
    targets = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
    features = tuple(numbered(X.shape[1])) if columns is None or len(columns) != X.shape[1] else columns
    names = tuple(f"y{place}" for place in range(targets))
    single = y is not None and y.ndim == 1
    return Selection(features, names, single, X.dtype, "as given", missing)
