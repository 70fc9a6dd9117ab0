"""Arrow files (Feather is one): record batches that are found through the footer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from robustream.sources.tables.error_text import UnusableError, some_names
from robustream.sources.tables.paths import open_file
from robustream.sources.tables.pieces import CHANGED, GroupedPieces, Outcome, TableFile, regroup
from robustream.sources.tables.rows import rows_of_table
from robustream.sources.tables.schema import NUMERIC, Selection, columns_of_schema, kind_of

__all__ = ["ArrowPieces", "look_at_arrow"]

_STREAM = b"\xff\xff\xff\xff"


def look_at_arrow(path: str, size: int) -> TableFile:
    """Read the footer of a file, and the rows of each of its record batches."""
    with open_file(path) as file:
        if file.read(4) == _STREAM:
            raise UnusableError("an Arrow stream, not an Arrow file; write it as a file, or give it on standard input")
        schema = pa.ipc.open_file(file).schema
        # The footer does not say how many rows a record batch has. One column of numbers is enough to tell, so that
        # a compressed file need not be unpacked for it.
        numeric = [place for place, kind in enumerate(schema.types) if kind_of(kind) in NUMERIC - {"null"}]
        reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=numeric[:1]))
        groups = tuple(reader.get_batch(place).num_rows for place in range(reader.num_record_batches))
    return TableFile(path, size, columns_of_schema(schema), sum(groups), partial(ArrowPieces, path, groups))


@dataclass(frozen=True)
class ArrowPieces(GroupedPieces):
    """Batches of an Arrow file."""

    format = "Arrow"

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        groups, skip, sizes = self.covering(start, stop)
        with open_file(self.path) as file:
            names = pa.ipc.open_file(file).schema.names
            if absent := [name for name in selection.names if name not in names]:
                raise UnusableError(f"it has no column {some_names(absent)}")
            options = pa.ipc.IpcReadOptions(included_fields=[names.index(name) for name in selection.names])
            reader = pa.ipc.open_file(file, options=options)
            if reader.num_record_batches != len(self.groups):
                raise UnusableError(CHANGED)
            for rows in (self.groups[place] for place in groups):
                self.check_group(rows, selection, "a record batch")
            batches = (_checked(reader.get_batch(place), self.groups[place]) for place in groups)
            for table in regroup(batches, skip, sizes):
                yield rows_of_table(table, selection)


def _checked(batch: pa.RecordBatch, rows: int) -> pa.RecordBatch:
    if batch.num_rows != rows:
        raise UnusableError(CHANGED)
    # Offsets and lengths come from the file: a damaged one must not make us read outside of it.
    batch.validate()
    return batch
