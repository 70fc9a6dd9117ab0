"""Some lines of a CSV file as rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as pa_csv

from robustream.sources.tables.base import Outcome
from robustream.sources.tables.conversion import Selection, rows_of_table
from robustream.sources.tables.csv_head import Dialect
from robustream.sources.tables.csv_salvage import salvage
from robustream.sources.tables.reasons import UnusableError, explain, some_names

__all__ = ["outcome_of_lines"]


def outcome_of_lines(lines: bytes, dialect: Dialect, selection: Selection) -> Outcome:
    """Give the rows of some lines, or why there are none."""
    absent = [name for name in selection.names if name not in dialect.names]
    if absent:
        return UnusableError(f"it has no column {some_names(absent)}")
    try:
        try:
            return rows_of_table(_parse(lines, dialect, selection), selection)
        except pa.ArrowInvalid:
            table, illegible = salvage(lines, dialect, selection)
            return rows_of_table(table, selection)._replace(illegible=illegible)
    except Exception as error:
        return UnusableError(explain(error, "CSV"))


def _parse(lines: bytes, dialect: Dialect, selection: Selection) -> pa.Table:
    """Give the selected columns of lines in which nothing is wrong."""
    types = {name: pa.bool_() if name in dialect.true_false else pa.float64() for name in selection.names}
    types |= dict.fromkeys(selection.text_targets, pa.string())
    if not lines.strip():
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    return pa_csv.read_csv(
        pa.BufferReader(lines),
        # A block must hold a line. Two blocks for two cores; smaller ones gain nothing here.
        read_options=pa_csv.ReadOptions(column_names=list(dialect.names), block_size=max(1 << 20, len(lines) // 2)),
        parse_options=pa_csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=dialect.breaks_in_quotes),
        convert_options=pa_csv.ConvertOptions(
            column_types=types,
            include_columns=list(selection.names),
            strings_can_be_null=True,
            decimal_point=dialect.decimal,
        ),
    )
