"""JSON lines: an object in each line, whose members are the cells of a row."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.json as pa_json

from robustream.batch import Illegible
from robustream.sources.tables.csv import numbers_in_text
from robustream.sources.tables.csv_dialect import Dialect, as_utf_8, usual_kind
from robustream.sources.tables.error_text import Limits, UnusableError, explain
from robustream.sources.tables.lines import (
    BYTE_ORDER_MARK,
    HEAD_BYTES,
    LineHead,
    first_lines,
    open_text,
    packing_of,
    row_ends,
    table_of_lines,
)
from robustream.sources.tables.pieces import Outcome, TableFile
from robustream.sources.tables.rows import rows_of_table
from robustream.sources.tables.schema import Selection, columns_of

__all__ = ["look_at_json_lines"]

_KINDS = {bool: "boolean", int: "integer", float: "float64", str: "text", type(None): "null"}
_LOOKED_AT = 100
_SHOWN = 40


def look_at_json_lines(path: str, size: int, compression: str | None, archive: str | None, limits: Limits) -> TableFile:
    """Read the first lines of a file."""
    packing = packing_of(path, compression, archive)
    with open_text(path, packing) as file:
        data, complete = first_lines(file, HEAD_BYTES, limits)
    data = data if complete else data[: data.rfind(b"\n") + 1]
    begin = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    ends = [begin + end for end in row_ends(data[begin:])]
    if not ends:
        raise UnusableError("the file is empty")
    if data[begin:].lstrip().startswith(b"["):
        raise UnusableError("this is one array of JSON, not JSON lines; write each of its objects into a line")
    counts: dict[str, Counter[str]] = {}
    for row in islice(map(_object, data[begin:].splitlines()), _LOOKED_AT):
        for name, value in (row or {}).items():
            counts.setdefault(name, Counter())[_KINDS.get(type(value), "other")] += 1
    if not counts:
        raise UnusableError("this is not JSON lines: each line must be an object, such as {...}")
    columns = columns_of(list(counts), [usual_kind(count) for count in counts.values()], certain=False)
    head = LineHead(columns, begin, ends[-1], len(ends), complete)
    return table_of_lines(path, size, packing, head, _outcome_of_lines, format="JSON")


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(as_utf_8(line))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _outcome_of_lines(lines: bytes, selection: Selection) -> Outcome:
    types = {name: pa.string() if name in selection.texts else pa.float64() for name in selection.names}
    try:
        if not lines.strip():
            return rows_of_table(pa.table({name: pa.array([], kind) for name, kind in types.items()}), selection)
        try:
            table = pa_json.read_json(
                pa.BufferReader(lines),
                read_options=pa_json.ReadOptions(block_size=max(1 << 20, len(lines) + 1)),
                parse_options=pa_json.ParseOptions(
                    explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
                ),
            )
            return rows_of_table(table, selection)
        except pa.ArrowInvalid:
            return _repair(lines, selection)
    except Exception as error:
        return UnusableError(explain(error, "JSON"))


def _repair(lines: bytes, selection: Selection) -> Outcome:
    """Read line by line; a line that is no object is a row of nulls, and a cell that holds no number is one."""
    texts = [line for line in lines.split(b"\n") if line.strip(b"\r ")]
    rows = list(map(_object, texts))
    illegible: list[Illegible] = []
    if bad := [place for place, row in enumerate(rows) if row is None]:
        begins = as_utf_8(texts[bad[0]][:_SHOWN]).decode("utf-8", "replace")
        illegible.append(Illegible(None, len(bad), bad[0], f"a line is no object of JSON; it begins {begins!r}"))
    columns: dict[str, pa.Array] = {}
    for name in selection.names:
        columns[name] = pa.array([_text(row.get(name)) if row else None for row in rows], pa.string())
        if name not in selection.texts:
            columns[name], cells = numbers_in_text(columns[name], name, _dialect(name))
            illegible += cells
    found = rows_of_table(pa.table(columns), selection)
    return found._replace(illegible=(*illegible, *found.illegible))


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def _dialect(name: str) -> Dialect:
    return Dialect(",", (name,), frozenset({name}))
