"""Data frames of whatever library (pandas, Polars, DuckDB, Arrow), by the rules that hold for files.

`StreamedTable` reads what is not in memory as a whole, record batch by record batch: whatever speaks Arrow's interface
of streams (`__arrow_c_stream__`), datasets of pyarrow, lazy frames of Polars, cursors of databases. `arrays_of_frame`
takes one frame whole; `FrameReader` makes batches of the items of an iterable.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.kernels.device_arrays import host_array, is_device_array
from robustream.sources.base import Source
from robustream.sources.checking import check_choice, check_count
from robustream.sources.iterables import CURSORS
from robustream.sources.sparse import dense_batch
from robustream.sources.tables.encoder import Encoder
from robustream.sources.tables.encoding import Encoding
from robustream.sources.tables.error_text import UnusableError, explain, some_names
from robustream.sources.tables.levels import LevelCounts, join_counts, levels_in
from robustream.sources.tables.missing import MISSING, batch_of_rows
from robustream.sources.tables.pieces import regroup
from robustream.sources.tables.rows import Rows, rows_of_table
from robustream.sources.tables.schema import (
    Selected,
    Selection,
    choose_columns,
    columns_of_schema,
    numbered,
    why_unfit,
)

__all__ = [
    "FrameReader",
    "StreamSource",
    "StreamedTable",
    "arrays_of_frame",
    "as_table",
    "encode_frame",
    "frame_of_rows",
]


# Rows that are asked for at a time where a library wants to be told.
_ROWS_AT_ONCE = 10_000


class StreamedTable(Selected):
    """A table that is read record batch by record batch; nothing holds the whole of it.

    It has the attributes of `Tables`, as far as they can be known. What can be read again (a dataset, a relation, a
    lazy frame) is; a reader or a cursor is read once, and a run over it cannot be resumed.

    Parameters
    ----------
    item : what `robustream.sources.iterables.is_arrow_stream` knows.
    target, columns, exclude, missing, text_target, numeric_only, encoder, weight : as for `Tables`. Levels can be
        learned of what can be read again, and must be named for what cannot.

    Examples
    --------
    >>> table = pa.table({"a": [1.0, 2.0, 3.0], "b": [4, 5, 6]})
    >>> source = StreamedTable(table.to_reader(), target="b").in_batches(2)
    >>> [(batch.label, batch.X.tolist(), batch.y.tolist()) for batch in source]
    [('rows 0-1', [[1.0], [2.0]], [4.0, 5.0]), ('rows 2-2', [[3.0]], [6.0])]
    """

    def __init__(
        self,
        item: Any,
        *,
        target: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        exclude: str | Sequence[str] = (),
        missing: str = "skip",
        text_target: bool = False,
        numeric_only: bool = False,
        encoder: Encoder | None = None,
        weight: str | None = None,
    ) -> None:
        check_choice("missing", missing, MISSING)
        self._item = item
        self._again = _can_start_again(item)
        try:
            # A dataset knows its columns without being read.
            self._first = None if hasattr(item, "scanner") else _open_stream(item, None)
            schema = item.schema if self._first is None else self._first.schema
        except Exception as error:
            raise InvalidInputError(f"{type(item).__name__} cannot be read: {explain(error, 'Arrow')}") from error
        self._selection = choose_columns(
            [columns_of_schema(schema)],
            target=target,
            columns=columns,
            exclude=exclude,
            missing=missing,
            text_target=text_target,
            numeric_only=numeric_only,
            encoder=encoder,
            count=self._count_levels if self._again else None,
            weight=weight,
        )
        if hasattr(item, "collect_batches"):
            self._first = None  # nothing was read for it, and now the columns are known

    @property
    def rows(self) -> None:
        """None: nobody knows how many rows will come."""

    @property
    def problems(self) -> dict[str, str]:
        """Nothing: there are no files."""
        return {}

    def in_batches(self, rows_per_batch: int) -> StreamSource:
        """Cut the rows into batches of so many rows; the last one may have fewer."""
        rows = check_count("rows_per_batch", rows_per_batch)
        return StreamSource(self._open, self._selection, rows, read_once=not self._again)

    def _count_levels(self, columns: Sequence[str]) -> Mapping[str, LevelCounts]:
        reader = _open_stream(self._item, list(columns))
        tables = (pa.Table.from_batches([batch]) for batch in reader)
        return join_counts([levels_in(tables, columns)], columns, complete=True)

    def _open(self) -> pa.RecordBatchReader:
        """Return the reader that was opened for the columns, and after that new ones."""
        first, self._first = self._first, None
        if first is not None:
            return first
        if not self._again:
            raise InvalidInputError(
                f"{type(self._item).__name__} has been read already and cannot start again; "
                "give something that can, such as a table, a relation or a dataset."
            )
        return _open_stream(self._item, list(self._selection.names))


class StreamSource(Source):
    """Batches of a `StreamedTable`, as many rows in each, read in order; made by `StreamedTable.in_batches`."""

    def __init__(
        self,
        opener: Callable[[], pa.RecordBatchReader],
        selection: Selection,
        rows_per_batch: int,
        prefix: str = "rows ",  # of labels
        read_once: bool = False,
    ) -> None:
        self._open = opener
        self._read_once = read_once
        self._selection = selection
        self._rows_per_batch = rows_per_batch
        self._prefix = prefix

    @property
    def count(self) -> None:
        """None: nobody knows how many batches will come."""

    @property
    def read_once(self) -> bool:
        """Whether the stream is gone once it was read."""
        return self._read_once

    @property
    def own_thread(self) -> bool:
        """True: a stream may belong to the thread that opened it."""
        return True

    def batches(self, start: int = 0) -> Iterator[Batch]:
        return self._read(self._open(), check_count("start", start, least=0))

    def partitions(self) -> None:
        """Return None: only this process has the stream."""

    def _read(self, reader: pa.RecordBatchReader, start: int) -> Iterator[Batch]:
        size = self._rows_per_batch
        index, first = start, start * size
        try:
            for table in regroup(iter(reader), first, repeat(size), keep_rest=True):
                label = f"{self._prefix}{first}-{first + table.num_rows - 1}"
                try:
                    batch = batch_of_rows(index, label, rows_of_table(table, self._selection), self._selection)
                except Exception as error:
                    batch = Batch.unreadable(index, label, explain(error, "Arrow"))
                yield batch
                index, first = index + 1, first + table.num_rows
        except Exception as error:
            # What comes after a broken place of a stream cannot be found again.
            label = f"{self._prefix}{first}-{first}"
            yield Batch.unreadable(index, label, f"the stream broke off: {explain(error, 'Arrow')}")


def _can_start_again(item: Any) -> bool:
    if hasattr(item, "project"):
        return True  # a relation makes its rows anew, though it can be fetched from as a cursor
    once = isinstance(item, pa.RecordBatchReader) or any(hasattr(item, way) for way in CURSORS)
    return not once and not (hasattr(item, "__next__") and iter(item) is item)


def _open_stream(item: Any, columns: list[str] | None) -> pa.RecordBatchReader:
    if isinstance(item, pa.RecordBatchReader):
        return item
    if hasattr(item, "scanner"):
        return item.scanner(columns=columns).to_reader()
    if hasattr(item, "with_format"):
        tables = (pa.table(table) for table in item.with_format("arrow").iter(batch_size=_ROWS_AT_ONCE))
        first = next(tables)
        rest = (batch for table in tables for batch in table.cast(first.schema).to_batches())
        return pa.RecordBatchReader.from_batches(first.schema, chain(first.to_batches(), rest))
    if hasattr(item, "collect_batches"):
        lazy = item if columns is None else item.select(columns)
        schema = lazy.limit(0).collect().to_arrow().schema
        batches = (batch for frame in lazy.collect_batches() for batch in frame.to_arrow().cast(schema).to_batches())
        return pa.RecordBatchReader.from_batches(schema, batches)
    if hasattr(item, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(item)
    return next(getattr(item, way) for way in ("to_reader", *CURSORS) if hasattr(item, way))()


def arrays_of_frame(
    frame: Any,
    *,
    target: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    exclude: str | Sequence[str],
    text_target: bool,
    numeric_only: bool = False,
    encoder: Encoder | None = None,
    weight: str | None = None,
) -> tuple[Rows, Selection]:
    """Return X and y of a pandas, Polars or Arrow table, missing cells as NaN, and which columns they are."""
    try:
        table = as_table(frame)
    except UnusableError as error:
        raise InvalidInputError(f"the data frame cannot be used: {error}") from error
    if table is None or not table.num_rows:
        raise InvalidInputError(f"a data frame must have rows, got a {type(frame).__name__} without any")
    known = columns_of_schema(table.schema)
    selection = choose_columns(
        [known],
        target=target,
        columns=columns,
        exclude=exclude,
        missing="keep",
        text_target=text_target,
        numeric_only=numeric_only,
        encoder=encoder,
        count=lambda names: join_counts([levels_in([table], names)], names, complete=True),
        weight=weight,
    )
    if doubled := [name for name in selection.names if name in known.doubled]:
        raise InvalidInputError(
            f"the data frame cannot be used: it has more than one column named {some_names(doubled)}"
        )
    return rows_of_table(table, selection), selection


def encode_frame(frame: Any, encoding: Encoding) -> Any:
    """Return a data frame with the columns that a model was fitted to as a table of them; others as they are."""
    table = as_table(frame)
    if table is None or tuple(table.column_names) == encoding.names:
        return frame
    if absent := [name for name in encoding.columns if name not in table.column_names]:
        raise InvalidInputError(f"the data frame has no column {some_names(absent)}, which the model was fitted to")
    bare = Selection(encoding.names, (), False, np.dtype(np.float64), "number", "keep", (), encoding)
    return frame_of_rows(rows_of_table(table, bare).X, np.array(encoding.names, dtype=object))


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
        if any(self._options[name] for name in ("target", "columns", "exclude", "encoder", "weight")):
            raise InvalidInputError(
                f"target, columns, exclude, weight and categories name columns of tables, "
                f"got an item of type {type(item).__name__}."
            )
        X, y, weights = (*item, None)[:3] if isinstance(item, tuple) and len(item) in (2, 3) else (item, None, None)
        table = as_table(X)
        X, names = (_numbers(dense_batch(X)), None) if table is None else self._from_frame(table)
        if weights is not None:
            X, weights = host_array(X), np.asarray(host_array(weights), dtype=np.float64)
            if weights.shape != X.shape[:1]:
                raise UnusableError(
                    f"weights must have one number for each of {len(X)} rows, got shape {weights.shape}"
                )
        if y is not None:
            y = _on_gpu(y) if is_device_array(X) else np.asarray(host_array(y))
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
        return Rows(X, y, weights=weights), selection

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
    if isinstance(item, Mapping):
        return pa.table({str(name): _column(values) for name, values in item.items()})
    if type(item).__module__.partition(".")[0] == "pandas" and hasattr(item, "columns"):
        return _from_pandas(item)
    # Polars, DuckDB and others speak Arrow's own interface.
    return pa.table(item) if hasattr(item, "__arrow_c_stream__") else None


def _column(values: Any) -> pa.Array:
    """Return values of any sort as a column; where they are of several, those that are no numbers are missing."""
    try:
        return pa.array(values if isinstance(values, list) else np.asarray(values), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([float(cell) if isinstance(cell, Real) else None for cell in values], pa.float64())


def _from_pandas(frame: Any) -> pa.Table:
    # Names that pandas tells apart, such as 1 and "1", are one for Arrow.
    if doubled := [name for name, times in Counter(map(str, frame.columns)).items() if times > 1]:
        raise UnusableError(f"it has more than one column named {some_names(doubled)}")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as error:
        found = re.search(r"column (.*) with type", str(error))
        where = f"column {found[1]!r}" if found else "a column"
        raise UnusableError(
            f"{where} holds values of several types; pandas.to_numeric(..., errors='coerce') makes numbers of it, and "
            "missing cells of the rest"
        ) from error


def _on_gpu(values: Any) -> Any:
    from robustream.kernels.gpu.numpy_proxy import lend_table

    return lend_table(values)


def _numbers(values: Any) -> Any:
    """Return numbers in single or double precision: those on a GPU there, others as a NumPy array."""
    array = _on_gpu(values) if is_device_array(values) else np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise UnusableError(f"X must hold numbers, got an array of {array.dtype}")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _selection_of(X: NDArray[Any], y: NDArray[Any] | None, columns: tuple[str, ...] | None, missing: str) -> Selection:
    targets = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
    features = tuple(numbered(X.shape[1])) if columns is None or len(columns) != X.shape[1] else columns
    names = tuple(f"y{place}" for place in range(targets))
    single = y is not None and y.ndim == 1
    return Selection(features, names, single, X.dtype, "as given", missing)
