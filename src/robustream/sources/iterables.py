"""Batches from anything that Python can loop over: arrays, pairs of arrays, data frames, batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any

import numpy as np

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.base import Source
from robustream.sources.checking import check_count

if TYPE_CHECKING:
    from robustream.sources.tables.encoder import Encoder
    from robustream.sources.tables.encoding import Encoding

__all__ = ["CURSORS", "IterableSource", "is_arrow_stream"]

# Rows that come one by one make a batch of so many.
_ROWS_TOGETHER = 10_000

# The methods by which cursors and connections of databases (ADBC, DuckDB) give a reader of record batches.
CURSORS = ("fetch_record_batch", "to_arrow_reader")


def is_arrow_stream(value: Any) -> bool:
    """Tell whether a value gives Arrow record batches and is not in memory as a whole, without importing Arrow.

    Such are readers, datasets, relations, cursors and lazy frames; tables and data frames are read as arrays instead.
    """
    library, name = type(value).__module__.partition(".")[0], type(value).__name__
    if isinstance(value, type) or library == "pandas" or (library, name) == ("polars", "DataFrame"):
        return False
    if library == "pyarrow":
        return name in ("RecordBatchReader", "Scanner") or hasattr(value, "scanner")
    if library == "datasets":
        return hasattr(value, "with_format")  # those of Hugging Face
    return any(hasattr(value, way) for way in ("__arrow_c_stream__", "collect_batches", *CURSORS))


def is_row(item: Any) -> bool:
    """Tell whether an item is a row: single values by name."""
    return isinstance(item, Mapping) and all(value is None or np.ndim(value) == 0 for value in item.values())


def _rows_together(items: Iterator[Any], most: int) -> Iterator[Any]:
    """Yield the items, those that are rows many at a time, as a dict of columns."""
    rows: list[Mapping[str, Any]] = []
    for item in items:
        row = is_row(item)
        if row:
            rows.append(item)
        if rows and (not row or len(rows) == most):
            yield _columns_of(rows)
            rows = []
        if not row:
            yield item
    if rows:
        yield _columns_of(rows)


def _columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {str(name): [row.get(name) for row in rows] for name in names}


class IterableSource(Source):
    """The items of an iterable, each of them a batch.

    An item is an array X, a pair (X, y) or a triple (X, y, weights) of which y may be None, a pandas or pyarrow table,
    a dict of columns, or a `Batch`. Rows of one item are judged together. Dicts of single values are rows, and
    `rows_together` of them a batch. The first usable item decides the columns; an item that does not have them is a
    failed batch. What the iterable itself raises is passed on.

    Parameters
    ----------
    items : an iterable, or a function without arguments that returns an iterator. A list or a function can be
        read again; an iterator only once.
    target, columns, exclude, missing, text_target, numeric_only, encoder, weight : as for `Tables`; all but `missing`
        are for tables only, and levels of categories must be named.
    rows_together : how many rows that come one by one, as dicts, make a batch; 10,000 if it is not said.

    Examples
    --------
    >>> import numpy as np
    >>> source = IterableSource(lambda: (np.full((3, 2), float(k)) for k in range(2)))
    >>> [(batch.label, batch.X.shape) for batch in source]
    [('item 0', (3, 2)), ('item 1', (3, 2))]
    """

    def __init__(
        self,
        items: Iterable[Any] | Callable[[], Iterable[Any]],
        *,
        target: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        exclude: str | Sequence[str] = (),
        missing: str = "skip",
        text_target: bool = False,
        numeric_only: bool = False,
        encoder: Encoder | None = None,
        weight: str | None = None,
        rows_together: int | None = None,
    ) -> None:
        if not callable(items) and not isinstance(items, Iterable):
            raise InvalidInputError(
                f"items must be an iterable of batches or a function that returns one, got {type(items).__name__}."
            )
        self._items = items
        self._rows_together = _ROWS_TOGETHER if rows_together is None else check_count("rows_together", rows_together)
        self._used = False
        self._names: tuple[str, ...] | None = None
        self._options: dict[str, Any] = {
            "target": target,
            "columns": columns,
            "exclude": exclude,
            "missing": missing,
            "text_target": text_target,
            "numeric_only": numeric_only,
            "encoder": encoder,
            "weight": weight,
        }
        self.encoding: Encoding | None = None

    @property
    def count(self) -> int | None:
        """Return the number of batches if the iterable has a length."""
        items: Any = self._items
        one_by_one = isinstance(items, (list, tuple)) and any(map(is_row, items[:1]))
        return len(items) if isinstance(items, Sized) and not one_by_one else None

    @property
    def own_thread(self) -> bool:
        """True: nobody knows where the items come from."""
        return True

    @property
    def read_once(self) -> bool:
        """Whether the items are an iterator, and not something that gives a new one each time."""
        return isinstance(self._items, Iterator)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Return the names of the columns, once an item that has any was read."""
        return self._names

    def batches(self, start: int = 0) -> Iterator[Batch]:
        start = check_count("start", start, least=0)
        return self._read(self._open(), start)

    def partitions(self) -> None:
        """Return None: only this process has the items."""

    def _open(self) -> Iterator[Any]:
        items = iter(self._items() if callable(self._items) else self._items)
        if items is self._items:
            if self._used:
                raise InvalidInputError(
                    "This iterator has been read already and cannot start again; "
                    "give a function that returns a new iterator, such as lambda: read_batches()."
                )
            self._used = True
        return items

    def _read(self, items: Iterator[Any], start: int) -> Iterator[Batch]:
        # pyarrow is loaded when the first item is asked for, not with the package.
        from robustream.sources.tables.frames import FrameReader

        reader = FrameReader(**self._options)
        for index, item in enumerate(_rows_together(items, self._rows_together)):
            # The first usable item decides the columns, wherever the reading starts.
            if index >= start or reader.selection is None:
                batch = reader.batch(index, item)
                self._names = reader.names
                self.encoding = None if reader.selection is None else reader.selection.encoding
                if index >= start:
                    yield batch
