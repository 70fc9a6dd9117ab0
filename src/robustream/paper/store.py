"""Results on disk: one small Parquet file for each cell, with the environment it was measured in.

A file appears under its name only when it is complete, so that a run that was stopped goes on where it was. Sizes and
seeds have folders of their own: their results never mix.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from robustream.errors import RobustreamError
from robustream.paper.cells import Cell, Row

__all__ = ["DamagedResultError", "Store"]

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
        """Give the place of a cell's results."""
        return self.folder / cell.group / f"{cell.name}.parquet"

    def has(self, cell: Cell) -> bool:
        """Tell whether a cell is done."""
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

    def read(self, cells: Iterable[Cell]) -> list[Row]:
        """Give the rows of all cells that are done."""
        rows: list[Row] = []
        for path in dict.fromkeys(self.path(cell) for cell in cells):
            if path.exists():
                rows.extend(_table(path).to_pylist())
        return rows

    def environments(self, cells: Iterable[Cell]) -> list[dict[str, Any]]:
        """Give the different environments in which cells were worked out, the first one first."""
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
    """Give every row every name: Parquet would take the names of the first row for all."""
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    return [{name: row.get(name) for name in names} for row in listed]


def _table(path: Path) -> Any:
    try:
        return pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise DamagedResultError(f"{path} cannot be read ({error}); delete it and run again") from error
