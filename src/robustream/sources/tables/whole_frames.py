"""A data frame in memory as arrays, by the rules that hold for files, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from robustream.errors import InvalidInputError
from robustream.sources.tables.conversion import Selection, rows_of_table
from robustream.sources.tables.described import ArrowColumns
from robustream.sources.tables.frames import as_table
from robustream.sources.tables.reasons import UnusableError
from robustream.sources.tables.schema import choose_columns

__all__ = ["arrays_of_frame", "frame_of_rows"]


def arrays_of_frame(
    frame: Any,
    *,
    target: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    exclude: str | Sequence[str],
    text_target: bool,
) -> tuple[NDArray[Any], NDArray[Any] | None, Selection]:
    """Give X and y of a pandas, Polars or Arrow table, missing cells as NaN, and which columns they are."""
    try:
        table = as_table(frame)
    except UnusableError as error:
        raise InvalidInputError(f"the data frame cannot be used: {error}") from error
    if table is None or not table.num_rows:
        raise InvalidInputError(f"a data frame with rows is needed; a {type(frame).__name__} without any came")
    selection = choose_columns(
        [ArrowColumns.of(table.schema)],
        target=target,
        columns=columns,
        exclude=exclude,
        missing="keep",
        text_target=text_target,
    )
    rows = rows_of_table(table, selection)
    return rows.X, rows.y, selection


def frame_of_rows(X: NDArray[Any], names: NDArray[Any] | None) -> Any:
    """Give rows the names that a model was fitted with, for it warns where they have none."""
    return X if names is None else pa.table(dict(zip(names, X.T, strict=True)))
