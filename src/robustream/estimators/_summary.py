"""Results as a table that prints: what statisticians expect of `summary()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Summary"]


class Summary(NamedTuple):
    """A titled table with notes; `rows` holds the numbers, printing rounds them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        cells = [self.columns, *(tuple(_show(value) for value in row) for row in self.rows)]
        widths = [max(len(row[place]) for row in cells) for place in range(len(self.columns))]
        lines = [_line(row, widths) for row in cells]
        rule = "-" * max(len(line) for line in lines)
        return "\n".join([self.title, rule, lines[0], rule, *lines[1:], rule, *self.notes])

    def __repr__(self) -> str:
        return str(self)


def _show(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    return "  ".join([first, *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))])
