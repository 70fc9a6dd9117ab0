"""Arrow files (Feather is one): record batches that are found through the footer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from robustream.sources.tables.base import Outcome, Pieces
from robustream.sources.tables.conversion import Selection, rows_of_table
from robustream.sources.tables.described import ArrowColumns
from robustream.sources.tables.groups import GroupedFile, GroupedPieces, regroup
from robustream.sources.tables.kinds import NUMERIC, kind_of
from robustream.sources.tables.reasons import UnusableError, some_names

__all__ = ["ArrowFile", "ArrowPieces", "look_at_arrow"]

_STREAM = b"\xff\xff\xff\xff"


@dataclass(frozen=True)
class ArrowFile(GroupedFile):
    """An Arrow file as its footer describes it."""

    def pieces(self, rows_per_batch: int) -> Pieces:
        return ArrowPieces(self.path, self.groups, rows_per_batch)


def look_at_arrow(path: str, size: int) -> ArrowFile:
    """Read the footer of a file, and the rows of each of its record batches."""
    with open(path, "rb") as plain:
        if plain.read(4) == _STREAM:
            raise UnusableError("an Arrow stream, not an Arrow file; write it as a file, or give it on standard input")
    with pa.OSFile(path) as file:
        schema = pa.ipc.open_file(file).schema
        groups = _rows_of_groups(file, schema)
        described = ArrowColumns.of(schema)
    return ArrowFile(path, size, described.columns, described.doubled, groups)


def _rows_of_groups(file: pa.OSFile, schema: pa.Schema) -> tuple[int, ...]:
    # The footer does not say how many rows a record batch has. One column of numbers is enough to tell, so that
    # a compressed file need not be unpacked for it.
    numeric = [place for place, kind in enumerate(schema.types) if kind_of(kind) in NUMERIC - {"null"}]
    options = pa.ipc.IpcReadOptions(included_fields=numeric[:1])
    reader = pa.ipc.open_file(file, options=options)
    return tuple(reader.get_batch(place).num_rows for place in range(reader.num_record_batches))


@dataclass(frozen=True)
class ArrowPieces(GroupedPieces):
    """Batches of an Arrow file."""

    @property
    def format(self) -> str:
        return "Arrow"

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        groups, skip, sizes = self.covering(start, stop)
        with pa.OSFile(self.path) as file:
            names = pa.ipc.open_file(file).schema.names
            absent = [name for name in selection.names if name not in names]
            if absent:
                raise UnusableError(f"it has no column {some_names(absent)}")
            options = pa.ipc.IpcReadOptions(included_fields=[names.index(name) for name in selection.names])
            reader = pa.ipc.open_file(file, options=options)
            if reader.num_record_batches != len(self.groups):
                raise UnusableError("the file has changed since it was first looked at")
            batches = (_checked(reader.get_batch(place), self.groups[place]) for place in groups)
            for table in regroup(batches, skip, sizes):
                yield rows_of_table(table, selection)


def _checked(batch: pa.RecordBatch, rows: int) -> pa.RecordBatch:
    if batch.num_rows != rows:
        raise UnusableError("the file has changed since it was first looked at")
    # Offsets and lengths come from the file: a damaged one must not make us read outside of it.
    batch.validate()
    return batch
