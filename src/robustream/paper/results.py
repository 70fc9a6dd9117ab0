"""Results on disk and in memory: a store with one small Parquet file for each cell, and questions to its rows."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from robustream.errors import RobustreamError

__all__ = ["Band", "Cell", "DamagedResultError", "Memory", "Results", "Row", "Store", "root_mean_square", "slope"]

# One line of a result: names of settings and of what was measured.
Row: TypeAlias = dict[str, str | int | float | bool | None]
# What the cells of a group share while they run in one process; never stored.
Memory: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One piece of work.

    Parameters
    ----------
    group : cells of a group run one after another in one process and share what they keep in memory.
    name : unlike that of any other cell of the group.
    work : called with the settings and the shared memory; a function that a new process can import.
    settings : plain data.
    cost : seconds to be expected, for the time left.
    alone : whether nothing else may run meanwhile, since time is measured.
    ours : whether it runs our own default method, and nothing of the paper.
    """

    group: str
    name: str
    work: Callable[[Any, Memory], list[Row]]
    settings: Any
    cost: float = 1.0
    alone: bool = False
    ours: bool = False


_ENVIRONMENT = b"environment"


class DamagedResultError(RobustreamError, ValueError):
    """A stored result cannot be read."""


class Store:
    """The results of one size and seed.

    Parameters
    ----------
    folder : where all results lie.
    size, seed : of the run.
    """

    def __init__(self, folder: Path, size: str, seed: int) -> None:
        self.folder = folder / "store" / f"{size}-seed-{seed}"

    def path(self, cell: Cell) -> Path:
        """Return the place of a cell's results."""
        return self.folder / cell.group / f"{cell.name}.parquet"

    def has(self, cell: Cell) -> bool:
        """Return whether a cell is done."""
        return self.path(cell).exists()

    def write(self, cell: Cell, rows: Iterable[Row], environment: dict[str, Any]) -> None:
        """Keep the results of a cell."""
        table = pa.Table.from_pylist(_with_all_names(rows))
        table = table.replace_schema_metadata({_ENVIRONMENT: json.dumps(environment).encode()})
        target = self.path(cell)
        target.parent.mkdir(parents=True, exist_ok=True)
        # A name of its own for each process: two runs at once must not write into one file.
        unfinished = target.with_suffix(f".{os.getpid()}.unfinished")
        pq.write_table(table, unfinished, compression="zstd")
        os.replace(unfinished, target)

    def forget(self, cells: Iterable[Cell]) -> None:
        """Drop the results of cells that are to be worked out again."""
        for cell in cells:
            self.path(cell).unlink(missing_ok=True)

    def read(self, cells: Iterable[Cell]) -> list[Row]:
        """Return the rows of all cells that are done."""
        rows: list[Row] = []
        for path in dict.fromkeys(self.path(cell) for cell in cells):
            if path.exists():
                rows.extend(_table(path).to_pylist())
        return rows

    def environments(self, cells: Iterable[Cell]) -> list[dict[str, Any]]:
        """Return the different environments in which cells were worked out, the first one first."""
        found: dict[str, dict[str, Any]] = {}
        for cell in cells:
            if self.has(cell):
                environment = json.loads((_table(self.path(cell)).schema.metadata or {}).get(_ENVIRONMENT, b"{}"))
                # Libraries are listed in the order in which they were loaded, which says nothing.
                libraries = sorted(json.dumps(library, sort_keys=True) for library in environment.get("blas", []))
                found.setdefault(
                    json.dumps({**environment, "date": "", "blas": libraries}, sort_keys=True), environment
                )
        return list(found.values())


def _with_all_names(rows: Iterable[Row]) -> list[Row]:
    """Return every row every name: Parquet would take the names of the first row for all."""
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    return [{name: row.get(name) for name in names} for row in listed]


def _table(path: Path) -> Any:
    try:
        return pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise DamagedResultError(f"{path} cannot be read ({error}); delete it and run again") from error


class Band(NamedTuple):
    """The root mean square of some values, the least and the largest of them."""

    middle: float
    low: float
    high: float


class Results:
    """Rows of one experiment.

    >>> results = Results([{"method": "a", "error": 3.0}, {"method": "a", "error": 4.0}, {"method": "b", "error": 1.0}])
    >>> round(results.rms(method="a"), 3)
    3.536
    >>> results.different("method")
    ['a', 'b']
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def where(self, **conditions: Any) -> Results:
        """Keep rows whose fields have these values; a tuple allows any of its members."""
        return Results(row for row in self.rows if all(_fits(row.get(key), value) for key, value in conditions.items()))

    def values(self, field: str = "error", **conditions: Any) -> list[float]:
        """Return the numbers of a field."""
        return [float(row[field]) for row in self.where(**conditions).rows if row.get(field) is not None]  # type: ignore[arg-type]

    def rms(self, field: str = "error", **conditions: Any) -> float:
        """Return the root mean square of a field; NaN if there is nothing."""
        return root_mean_square(self.values(field, **conditions))

    def mean(self, field: str = "error", **conditions: Any) -> float:
        """Return the mean of a field; NaN if there is nothing."""
        values = self.values(field, **conditions)
        return statistics.fmean(values) if values else math.nan

    def deviation(self, field: str = "error", **conditions: Any) -> float:
        """Return the standard deviation of a field; 0 for a single value."""
        values = self.values(field, **conditions)
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def band(self, field: str = "error", **conditions: Any) -> Band | None:
        """Return the middle and the ends of a field; None if there is nothing."""
        values = self.values(field, **conditions)
        return Band(root_mean_square(values), min(values), max(values)) if values else None

    def different(self, field: str, **conditions: Any) -> list[Any]:
        """Return the different values of a field, in order: sorted numbers, or texts as they come."""
        found = dict.fromkeys(row[field] for row in self.where(**conditions).rows if row.get(field) is not None)
        return sorted(found) if all(isinstance(value, (int, float)) for value in found) else list(found)


def root_mean_square(values: Sequence[float]) -> float:
    """Return the root of the mean square; NaN of nothing."""
    return math.sqrt(statistics.fmean(value**2 for value in values)) if values else math.nan


def slope(places: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope on logarithmic axes, by least squares.

    >>> round(slope([1, 10, 100], [5, 0.5, 0.05]), 6)
    -1.0
    """
    logarithms = [(math.log(place), math.log(value)) for place, value in zip(places, values, strict=True) if value > 0]
    if len(logarithms) < 2:
        return math.nan
    return statistics.linear_regression([x for x, _ in logarithms], [y for _, y in logarithms]).slope


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return any(_fits(value, one) for one in wanted)
    if isinstance(wanted, float) and isinstance(value, (int, float)):
        return math.isclose(value, wanted, abs_tol=1e-9)
    return bool(value == wanted)
