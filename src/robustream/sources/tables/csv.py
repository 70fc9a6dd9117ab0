"""CSV files: lines of fields, whose dialect is guessed from the first of them.

Lines in which something is wrong are read a second time, cell by cell: numbers as people write them are numbers, and
what holds none is taken for missing, and counted. That takes several times as long, and is done only for those pieces
of a file that need it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from robustream.batch import Illegible
from robustream.files.addresses import shown
from robustream.sources.tables.csv_dialect import LACKING, Dialect, Head, Wanted, as_utf_8, describe_head, first_text
from robustream.sources.tables.error_text import Limits, UnusableError, explain, some_names
from robustream.sources.tables.lines import HEAD_BYTES, Packing, first_lines, open_text, packing_of, table_of_lines
from robustream.sources.tables.numbers import FALSE_WORDS, TRUE_WORDS, read_numbers
from robustream.sources.tables.pieces import Outcome, TableFile
from robustream.sources.tables.rows import rows_of_table
from robustream.sources.tables.schema import Selection

__all__ = ["look_at_csv", "numbers_in_text", "outcome_of_lines"]

_MISSING = pa.array([*{value.strip() for value in LACKING}, ""])
_TRUE = ["1", *(spell(word) for word in TRUE_WORDS for spell in (str, str.title, str.upper))]
_FALSE = ["0", *(spell(word) for word in FALSE_WORDS for spell in (str, str.title, str.upper))]
_SHOWN = 40


def look_at_csv(
    path: str, size: int, compression: str | None, archive: str | None, wanted: Wanted, limits: Limits
) -> TableFile:
    """Read the first lines of a file."""
    packing = packing_of(path, compression, archive)
    with open_text(path, packing) as file:
        head = describe_head(*first_lines(file, HEAD_BYTES, limits), wanted)
    if head.complete and not head.rows:
        raise UnusableError("it has one line, which should name the columns, and no rows")
    parse, example = partial(outcome_of_lines, head.dialect), partial(_example, path, packing, head)
    quoted = head.dialect.breaks_in_quotes
    return table_of_lines(path, size, packing, head, parse, format="CSV", breaks_in_quotes=quoted, example=example)


def _example(path: str, packing: Packing, head: Head, name: str) -> str | None:
    with open_text(path, packing) as file:
        found = first_text(first_lines(file, HEAD_BYTES)[0], head, name)
    return None if found is None else f"{found[0][:_SHOWN]!r} in line {found[1]} of {shown(path)}"


def outcome_of_lines(dialect: Dialect, lines: bytes, selection: Selection) -> Outcome:
    """Return the rows of some lines, or why there are none."""
    if absent := [name for name in selection.names if name not in dialect.names]:
        return UnusableError(f"it has no column {some_names(absent)}")
    try:
        try:
            return rows_of_table(_parse(lines, dialect, selection), selection)
        except pa.ArrowInvalid:
            table, illegible = _repair(lines, dialect, selection)
            rows = rows_of_table(table, selection)
            return rows._replace(illegible=illegible + rows.illegible)
    except Exception as error:
        return UnusableError(explain(error, "CSV"))


def _parse(lines: bytes, dialect: Dialect, selection: Selection) -> pa.Table:
    """Return the selected columns of lines in which nothing is wrong."""
    types = {name: pa.bool_() if name in dialect.true_false else pa.float64() for name in selection.names}
    types |= dict.fromkeys(selection.texts, pa.string())
    if not lines.strip():
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    # A block must hold a line. Two blocks for two cores; smaller ones gain nothing here.
    options = pa_csv.ReadOptions(column_names=list(dialect.names), block_size=max(1 << 20, len(lines) // 2))
    nulls, words = selection.nulls_in_text, {"true_values": _TRUE, "false_values": _FALSE}
    return _read(lines, dialect, options, types, nulls, decimal_point=dialect.decimal, **words)


def _repair(lines: bytes, dialect: Dialect, selection: Selection) -> tuple[pa.Table, tuple[Illegible, ...]]:
    """Return the selected columns of some lines, with nulls for what cannot be read, and what that is.

    A line with too few or too many fields is a row of nulls, so that all others keep their places.
    """
    misfits: dict[int, Any] = {}

    def set_aside(row: Any) -> str:
        misfits[row.number - 1] = row
        return "skip"

    # A byte that is no text must cost only its own cell.
    readable = as_utf_8(lines)
    # Rows are numbered only where a single thread reads them.
    options = pa_csv.ReadOptions(
        column_names=list(dialect.names), block_size=max(1 << 20, len(readable) + 1), use_threads=False
    )
    types = dict.fromkeys(selection.names, pa.string())
    text = _read(readable, dialect, options, types, selection.nulls_in_text, set_aside)
    good = iter(range(text.num_rows))
    lines_of_rows = range(text.num_rows + len(misfits))
    places = pa.array([None if line in misfits else next(good) for line in lines_of_rows], pa.int64())
    illegible = [_describe_lines(misfits)] if misfits else []
    columns: dict[str, pa.Array] = {}
    for name in selection.names:
        columns[name] = text.column(name).combine_chunks().take(places)
        if name not in selection.texts:
            columns[name], cells = numbers_in_text(columns[name], name, dialect)
            illegible += cells
    return pa.table(columns), tuple(illegible)


def _read(
    lines: bytes,
    dialect: Dialect,
    options: pa_csv.ReadOptions,
    types: dict[str, Any],
    nulls_in_text: bool,
    handler: Any = None,
    **more: Any,
) -> pa.Table:
    return pa_csv.read_csv(
        pa.BufferReader(lines),
        read_options=options,
        parse_options=pa_csv.ParseOptions(
            delimiter=dialect.separator, newlines_in_values=dialect.breaks_in_quotes, invalid_row_handler=handler
        ),
        convert_options=pa_csv.ConvertOptions(
            column_types=types, include_columns=list(types), strings_can_be_null=nulls_in_text, **more
        ),
    )


def _describe_lines(misfits: dict[int, Any]) -> Illegible:
    line, row = next(iter(misfits.items()))
    begins = f"; it begins {row.text[:_SHOWN]!r}" if row.text else ""
    reason = f"a line has {row.actual_columns} fields where {row.expected_columns} are needed{begins}"
    return Illegible(None, len(misfits), line, reason)


def numbers_in_text(column: pa.Array, name: str, dialect: Dialect) -> tuple[pa.Array, list[Illegible]]:
    """Return the numbers of a column of text, nulls where a cell is missing or holds none, and the first of these."""
    cells = pc.utf8_trim_whitespace(column)
    cells = pc.if_else(pc.is_in(cells, value_set=_MISSING), None, cells)
    different = cells.dictionary_encode()
    values = different.dictionary.to_pylist()
    numbers = read_numbers(values, dialect.decimal, known=dialect.decimal_known)
    if name in dialect.true_false:
        words = dict.fromkeys(TRUE_WORDS, 1.0) | dict.fromkeys(FALSE_WORDS, 0.0)
        numbers = [words.get(cell.lower(), number) for cell, number in zip(values, numbers, strict=True)]
    found = pa.array(numbers, pa.float64()).take(different.indices)
    count = found.null_count - cells.null_count
    if not count:
        return found, []
    first = pc.index(pc.and_(found.is_null(), cells.is_valid()), True).as_py()
    reason = f"column {name!r} holds {cells[first].as_py()[:_SHOWN]!r} where a number is needed"
    return found, [Illegible(name, count, first, reason)]
