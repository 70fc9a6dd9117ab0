"""Parquet files: all is known from the footer; only the columns that are needed are read, group by group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from threading import Lock

import pyarrow.parquet as pq

from robustream.sources.tables.error_text import UnusableError, some_names
from robustream.sources.tables.pieces import CHANGED, GroupedPieces, Outcome, TableFile, regroup
from robustream.sources.tables.rows import rows_of_table
from robustream.sources.tables.schema import Selection, columns_of_schema

__all__ = ["ParquetPieces", "look_at_parquet"]

# Columns are read through windows of so many bytes all together. Without them a whole row group would be held, which is
# as large as its writer liked.
_WINDOWS = 1 << 25
_LEAST_WINDOW, _MOST_WINDOW = 1 << 14, 1 << 20

# A footer takes some ten times its size while it is read. Those of files with very many columns come one by one.
_LARGE_FOOTER = 1 << 21
_one_at_a_time = Lock()


def look_at_parquet(path: str, size: int) -> TableFile:
    """Read the footer of a file."""
    with _one_at_a_time if _footer_bytes(path, size) > _LARGE_FOOTER else nullcontext(), pq.ParquetFile(path) as file:
        groups = _rows_of_groups(file)
        columns = columns_of_schema(file.schema_arrow)
    return TableFile(path, size, columns, sum(groups), partial(ParquetPieces, path, groups))


def _footer_bytes(path: str, size: int) -> int:
    with open(path, "rb") as file:
        file.seek(max(0, size - 8))
        return int.from_bytes(file.read(4), "little")


def _rows_of_groups(file: pq.ParquetFile) -> tuple[int, ...]:
    metadata = file.metadata
    return tuple(metadata.row_group(place).num_rows for place in range(metadata.num_row_groups))


@dataclass(frozen=True)
class ParquetPieces(GroupedPieces):
    """Batches of a Parquet file."""

    format = "Parquet"

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        groups, skip, sizes = self.covering(start, stop)
        window = min(_MOST_WINDOW, max(_LEAST_WINDOW, _WINDOWS // len(selection.names)))
        with pq.ParquetFile(self.path, buffer_size=window, pre_buffer=False) as file:
            if _rows_of_groups(file) != self.groups:
                raise UnusableError(CHANGED)
            names = frozenset(file.schema_arrow.names)
            if absent := [name for name in selection.names if name not in names]:
                raise UnusableError(f"it has no column {some_names(absent)}")
            batches = file.iter_batches(max(sizes), row_groups=groups, columns=list(selection.names))
            for table in regroup(batches, skip, sizes):
                yield rows_of_table(table, selection)
