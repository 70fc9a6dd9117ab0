"""A data frame in memory as arrays, by the rules that hold for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from robustream.errors import InvalidInputError
from robustream.sources.tables.conversion import Selection, rows_of_table
from robustream.sources.tables.described import ArrowColumns
from robustream.sources.tables.frames import _as_table
from robustream.sources.tables.schema import choose_columns

__all__ = ["arrays_of_frame"]


def arrays_of_frame(
    frame: Any,
    *,
    target: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    exclude: str | Sequence[str],
    text_target: bool,
) -> tuple[NDArray[Any], NDArray[Any] | None, Selection]:
    """Give X and y of a pandas, Polars or Arrow table, missing cells as NaN, and which columns they are."""
    table = _as_table(frame)
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
    return *rows_of_table(table, selection), selection
