"""Lines of a CSV file in which something is wrong: what holds no number is taken for missing, and counted.

This takes several times as long as reading good lines, and is done only for those pieces of a file that need it.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from robustream.batch import Illegible
from robustream.sources.tables.conversion import Selection
from robustream.sources.tables.csv_encodings import as_utf_8
from robustream.sources.tables.csv_head import Dialect

__all__ = ["salvage"]

_LACKING = pa.array([*{value.strip() for value in pa_csv.ConvertOptions().null_values}, ""])
_NUMBER = r"(?i)^[+-]?(\d+{point}?\d*|{point}\d+)(e[+-]?\d+)?$|^[+-]?(inf|infinity|nan)$"
_SHOWN = 40


def salvage(lines: bytes, dialect: Dialect, selection: Selection) -> tuple[pa.Table, tuple[Illegible, ...]]:
    """Give the selected columns of some lines, with nulls for what cannot be read, and what that is.

    A line with too few or too many fields is a row of nulls, so that all others keep their places.
    """
    text, misfits = _read_text(lines, dialect, selection)
    places = _places_of_rows(text.num_rows, [number for number, _ in misfits])
    illegible = [_describe_lines(misfits)] if misfits else []
    columns: dict[str, pa.Array] = {}
    for name in selection.names:
        column = text.column(name).combine_chunks().take(places)
        if name in selection.text_targets:
            columns[name] = column
            continue
        columns[name], cells = _numbers(column, name, dialect)
        illegible += cells
    return pa.table(columns), tuple(illegible)


def _read_text(lines: bytes, dialect: Dialect, selection: Selection) -> tuple[pa.Table, list[tuple[int, Any]]]:
    misfits: list[tuple[int, Any]] = []

    def set_aside(row: Any) -> str:
        misfits.append((row.number, row))
        return "skip"

    # A byte that is no text must cost only its own cell.
    readable = as_utf_8(lines)
    table = pa_csv.read_csv(
        pa.BufferReader(readable),
        # Rows are numbered only where a single thread reads them.
        read_options=pa_csv.ReadOptions(
            column_names=list(dialect.names), block_size=max(1 << 20, len(readable) + 1), use_threads=False
        ),
        parse_options=pa_csv.ParseOptions(
            delimiter=dialect.separator,
            newlines_in_values=dialect.breaks_in_quotes,
            invalid_row_handler=set_aside,
        ),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(selection.names, pa.string()),
            include_columns=list(selection.names),
            strings_can_be_null=True,
        ),
    )
    return table, misfits


def _places_of_rows(good: int, misfits: list[int]) -> pa.Array:
    """Give, for each line, the place of its row among the good ones, or null; misfits are counted from 1.

    >>> _places_of_rows(3, [2]).to_pylist()
    [0, None, 1, 2]
    """
    aside = {number - 1 for number in misfits}
    rows = iter(range(good))
    return pa.array([None if line in aside else next(rows) for line in range(good + len(aside))], pa.int64())


def _describe_lines(misfits: list[tuple[int, Any]]) -> Illegible:
    number, row = misfits[0]
    begins = f"; it begins {row.text[:_SHOWN]!r}" if row.text else ""
    reason = f"a line has {row.actual_columns} fields where {row.expected_columns} are needed{begins}"
    return Illegible(None, len(misfits), number - 1, reason)


def _numbers(column: pa.Array, name: str, dialect: Dialect) -> tuple[pa.Array, list[Illegible]]:
    cells = pc.utf8_trim_whitespace(column)
    cells = pc.if_else(pc.is_in(cells, value_set=_LACKING), None, cells)
    if name in dialect.true_false:
        words = pc.utf8_lower(cells)
        cells = pc.if_else(pc.equal(words, "true"), "1", pc.if_else(pc.equal(words, "false"), "0", cells))
    fits = pc.match_substring_regex(cells, _NUMBER.replace("{point}", re.escape(dialect.decimal)))
    numbers = pc.if_else(fits, cells, None)
    if dialect.decimal != ".":
        numbers = pc.replace_substring(numbers, dialect.decimal, ".")
    numbers = numbers.cast(pa.float64())
    count = numbers.null_count - cells.null_count
    if not count:
        return numbers, []
    first = pc.index(fits, False).as_py()
    reason = f"column {name!r} holds {cells[first].as_py()[:_SHOWN]!r} where a number is needed"
    return numbers, [Illegible(name, count, first, reason)]
