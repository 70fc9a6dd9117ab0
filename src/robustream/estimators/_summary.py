"""What is shown of a model: to statisticians (`summary()`), in reports, and to whoever reads its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from robustream.errors import DamagedFileError
from robustream.spaces import Array

__all__ = ["Coefficients", "Components", "Shown", "Summary", "check_answer", "target_names"]


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


class Components(NamedTuple):
    """What a PCA learned."""

    components: Array  # components x columns
    explained_variance: Array
    ratio: Array
    mean: Array


class Coefficients(NamedTuple):
    """What a linear model learned; all tables are outputs x columns, NaN where nothing is known."""

    coef: Array
    stderr: Array
    low: Array
    high: Array
    p_value: Array
    intercept: Array
    scale: Array
    targets: tuple[str, ...]


class Shown(NamedTuple):
    """What a report shows of a model; what it has no picture for comes as tables."""

    title: str
    components: Components | None = None
    coefficients: Coefficients | None = None
    tables: tuple[Summary, ...] = ()
    notes: tuple[str, ...] = ()  # what people should know besides


def target_names(given: Any, count: int) -> tuple[str, ...]:
    """Return the names of the outputs, made up unless as many are given."""
    names = () if given is None else tuple(str(name) for name in given)
    if len(names) == count:
        return names
    return ("y",) if count == 1 else tuple(f"y{place}" for place in range(count))


def check_answer(
    answer: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], numbers: Sequence[str]
) -> dict[str, Any]:
    """Return arrays that came from a file, some of them as numbers; DamagedFileError unless they have these shapes."""
    if answer.keys() != shapes.keys():
        raise DamagedFileError("it has other arrays than a model of its kind has")
    for name, value in answer.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fi" or value.shape != shapes[name]:
            raise DamagedFileError(f"{name} is no array of numbers of the shape that it should have")
    return {
        name: value.item() if name in numbers else value if value.ndim else value[()] for name, value in answer.items()
    }


def _show(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    return "  ".join([first, *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))])
