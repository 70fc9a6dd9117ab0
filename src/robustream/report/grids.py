"""Tables of the page: complete without a script, sortable and searchable with it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from robustream.report.markup import Markup, element, join
from robustream.report.numbers import show_count

__all__ = ["Cell", "Column", "number_cell", "table"]


class Column(NamedTuple):
    """A column; sorting by `size` ignores the sign, `minor` columns are left out on a phone."""

    title: str
    sort: Literal["text", "number", "size"] = "text"
    minor: bool = False


class Cell(NamedTuple):
    """What is shown, and what it is sorted by if that differs."""

    shown: object
    value: str | None = None


def number_cell(value: float, shown: str, below: Markup | None = None) -> Cell:
    """Give a cell that sorts by its number; unknown numbers go last."""
    if math.isnan(value):
        return Cell("\N{EN DASH}")
    return Cell(join(shown.replace("-", "\N{MINUS SIGN}").replace("inf", "∞"), below), f"{value:.9g}")


def table(
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Cell]],
    *,
    total: int | None = None,
    search: str | None = None,
) -> Markup:
    """Write a table whose first column names the row.

    `total` is how many rows there would be if none were left out; `search` is the label of the search box.
    """
    body = [_row(columns, cells) for cells in rows]
    head = element("tr", *(_header(column) for column in columns))
    left_out = 0 if total is None else total - len(body)
    grid = element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", *body),
        id=f"table-{name}",
        class_="grid",
        data_search=search,
    )
    return join(
        element("div", grid, class_="scroller", tabindex="0", role="region", aria_label=caption),
        element("p", f"{show_count(left_out)} more rows are left out of this page.", class_="note")
        if left_out
        else None,
    )


def _header(column: Column) -> Markup:
    return element("th", column.title, scope="col", data_sort=column.sort, class_=_classes(column))


def _row(columns: Sequence[Column], cells: Sequence[Cell]) -> Markup:
    written = []
    for place, (column, cell) in enumerate(zip(columns, cells, strict=True)):
        attributes = {"data_value": cell.value, "class_": _classes(column)}
        if place == 0:
            written.append(element("th", cell.shown, scope="row", **attributes))
        else:
            written.append(element("td", cell.shown, **attributes))
    return element("tr", *written)


def _classes(column: Column) -> str | None:
    names = [*(["number"] if column.sort != "text" else []), *(["minor"] if column.minor else [])]
    return " ".join(names) or None
