"""Parquet files: all is known from the footer; only the columns that are needed are read, group by group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from threading import Lock

import pyarrow as pa
import pyarrow.parquet as pq

from robustream.sources.tables.error_text import UnusableError, some_names
from robustream.sources.tables.paths import open_file
from robustream.sources.tables.pieces import CHANGED, GroupedPieces, Outcome, TableFile, regroup
from robustream.sources.tables.rows import rows_of_table
from robustream.sources.tables.schema import Selection, columns_of_schema

__all__ = ["ParquetPieces", "look_at_parquet"]

# Columns are read through windows of so many bytes all together. Without them a whole row group would be held, which is
# as large as its writer liked.
_WINDOWS = 1 << 25
_LEAST_WINDOW, _MOST_WINDOW = 1 << 14, 1 << 20

# What a number that follows the one before begins with in a page header, and the bytes that hold three of them.
_NUMBER, _PAGE_OPENING = 0x15, 20

# A footer takes some ten times its size while it is read. Those of files with very many columns come one by one.
_LARGE_FOOTER = 1 << 21
_one_at_a_time = Lock()


def look_at_parquet(path: str, size: int) -> TableFile:
    """Read the footer of a file."""
    with (
        open_file(path, whole=False) as plain,
        _one_at_a_time if _footer_bytes(plain, size) > _LARGE_FOOTER else nullcontext(),
    ):
        file = pq.ParquetFile(plain)
        groups = _rows_of_groups(file)
        columns = columns_of_schema(file.schema_arrow)
    return TableFile(path, size, columns, sum(groups), partial(ParquetPieces, path, groups))


def _footer_bytes(file: pa.NativeFile, size: int) -> int:
    file.seek(max(0, size - 8))
    return int.from_bytes(file.read(4), "little")


def _check_pages(file: pa.NativeFile, group: pq.RowGroupMetaData, selection: Selection) -> None:
    """Raise if dictionaries or pages of the selected columns, which are unpacked whole, take too much memory.

    A page header begins with its kind, its size unpacked and its size as it is stored. Only those of columns that are
    larger than a batch may be are looked at, the dictionary and the first page.
    """
    most = selection.limits.max_batch_bytes
    for place in range(group.num_columns):
        column = group.column(place)
        if column.total_uncompressed_size <= most or column.path_in_schema not in selection.names:
            continue
        for what, offset in ("dictionary", column.dictionary_page_offset), ("page", column.data_page_offset):
            if offset:
                file.seek(offset)
                size = _unpacked_size(file.read(_PAGE_OPENING))
                selection.limits.check_batch(size, f"a {what} of column {column.path_in_schema!r}")


def _unpacked_size(header: bytes) -> int:
    """Return the second number of a page header, in Thrift's compact form: groups of seven bits, the lowest first."""
    numbers: list[int] = []
    place = 0
    while len(numbers) < 2 and place < len(header) and header[place] == _NUMBER:
        number = shift = 0
        for byte in header[place + 1 :]:
            place += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        numbers.append(number // 2)  # twice the number where that is not negative
        place += 1
    return numbers[1] if len(numbers) == 2 else 0


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
        with open_file(self.path) as plain:
            file = pq.ParquetFile(plain, buffer_size=window, pre_buffer=False)
            if _rows_of_groups(file) != self.groups:
                raise UnusableError(CHANGED)
            names = frozenset(file.schema_arrow.names)
            if absent := [name for name in selection.names if name not in names]:
                raise UnusableError(f"it has no column {some_names(absent)}")
            self.check_group(max(sizes), selection, "a batch")
            for group in groups:
                _check_pages(plain, file.metadata.row_group(group), selection)
            batches = file.iter_batches(max(sizes), row_groups=groups, columns=list(selection.names))
            for table in regroup(batches, skip, sizes):
                yield rows_of_table(table, selection)
