"""What the columns of a CSV file hold, guessed from its first rows."""

from __future__ import annotations

import csv
import re
from collections import Counter
from itertools import islice

import pyarrow.csv as pa_csv

__all__ = ["guess_kinds"]

_LINES = 100
_CELLS = 4_000
_LACKING = frozenset(pa_csv.ConvertOptions().null_values)
_INTEGER = re.compile(r"\s*[+-]?\d+\s*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T].*)?|\d\d:\d\d(:\d\d.*)?")


def guess_kinds(data: bytes, separator: str, columns: int) -> list[str]:
    """Give the kind of each column; most of its cells decide, so that a stray word does not make numbers text.

    >>> guess_kinds(b"1,2.5,x,2024-01-01,,true\\noops,3,y,2024-01-02,,false\\n4,4,z,2024-01-03,,true\\n", ",", 6)
    ['integer', 'float64', 'text', 'date', 'null', 'boolean']
    """
    lines = max(2, min(_LINES, _CELLS // max(1, columns)))
    text = b"\n".join(data.split(b"\n", lines)[:lines]).decode("utf-8", "replace")
    counts: list[Counter[str]] = [Counter() for _ in range(columns)]
    try:
        for row in islice(csv.reader(text.splitlines(), delimiter=separator), lines):
            if len(row) == columns:
                for count, cell in zip(counts, row, strict=True):
                    count[_kind_of_cell(cell)] += 1
    except csv.Error:
        # Reading will say what is wrong with the line, and where.
        pass
    return [_kind_of_column(count) for count in counts]


def _kind_of_cell(cell: str) -> str:
    if cell in _LACKING:
        return "null"
    if _INTEGER.fullmatch(cell):
        return "integer"
    try:
        float(cell)
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
