"""What the columns of a CSV file hold, guessed from its first rows."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence

import pyarrow.csv as pa_csv

__all__ = ["first_cells", "guess_kinds"]

_LINES = 100
_CELLS = 4_000
_LACKING = frozenset(pa_csv.ConvertOptions().null_values)
_INTEGER = re.compile(r"\s*[+-]?\d+\s*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T].*)?|\d\d:\d\d(:\d\d.*)?")


def first_cells(data: bytes, separator: str, columns: int) -> list[list[str]]:
    """Give the cells of the first rows, those that have a cell for each column."""
    lines = max(2, min(_LINES, _CELLS // max(1, columns)))
    text = b"\n".join(data.split(b"\n", lines)[:lines]).decode("utf-8", "replace")
    rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            if len(row) == columns:
                rows.append(row)
    except csv.Error:
        # Reading will say what is wrong with the line, and where.
        pass
    return rows


def guess_kinds(rows: Sequence[Sequence[str]], columns: int, decimal: str = ".") -> list[str]:
    """Give the kind of each column; most of its cells decide, so that a stray word does not make numbers text.

    >>> cells = [["1", "2.5", "x", "2024-01-01", "", "true"], ["oops", "3", "y", "2024-01-02", "", "false"]]
    >>> guess_kinds([*cells, ["4", "4", "z", "2024-01-03", "", "true"]], 6)
    ['integer', 'float64', 'text', 'date', 'null', 'boolean']
    """
    counts: list[Counter[str]] = [Counter() for _ in range(columns)]
    for row in rows:
        for count, cell in zip(counts, row, strict=True):
            count[_kind_of_cell(cell, decimal)] += 1
    return [_kind_of_column(count) for count in counts]


def _kind_of_cell(cell: str, decimal: str) -> str:
    if cell.strip() in _LACKING:
        return "null"
    if _INTEGER.fullmatch(cell):
        return "integer"
    try:
        # The other sign of the two is no number here, as in reading.
        float(cell if decimal == "." else cell.translate({ord(decimal): ".", ord("."): "?"}))
    except ValueError:
        if cell.lower() in ("true", "false"):
            return "boolean"
        return "date" if _DATE.fullmatch(cell) else "text"
    return "float64"


def _kind_of_column(count: Counter[str]) -> str:
    del count["null"]
    if not count:
        return "null"
    numbers = count["integer"] + count["float64"]
    if 2 * numbers > count.total():
        return "float64" if count["float64"] else "integer"
    return max(("text", "date", "boolean"), key=lambda kind: count[kind])
