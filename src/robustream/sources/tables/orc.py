"""ORC files: the columns are known from the footer; only those that are needed are read, stripe by stripe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.orc as pa_orc

from robustream.sources.tables.error_text import UnusableError, some_names
from robustream.sources.tables.paths import open_file
from robustream.sources.tables.pieces import CHANGED, GroupedPieces, Outcome, TableFile, regroup
from robustream.sources.tables.rows import rows_of_table
from robustream.sources.tables.schema import NUMERIC, Selection, columns_of_schema, kind_of

__all__ = ["OrcPieces", "look_at_orc"]


def look_at_orc(path: str, size: int) -> TableFile:
    """Read the footer of a file, and the rows of each of its stripes."""
    with open_file(path) as opened:
        file = pa_orc.ORCFile(opened)
        schema = file.schema
        # The footer does not say how many rows a stripe has. One column of numbers is enough to tell.
        numeric = [field.name for field in schema if kind_of(field.type) in NUMERIC]
        some = numeric[:1] or schema.names[:1]
        rows = (file.read_stripe(place, columns=some).num_rows for place in range(file.nstripes))
        groups = (file.nrows,) if file.nstripes == 1 else tuple(rows)
    return TableFile(path, size, columns_of_schema(schema), sum(groups), partial(OrcPieces, path, groups))


@dataclass(frozen=True)
class OrcPieces(GroupedPieces):
    """Batches of an ORC file."""

    format = "ORC"

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        groups, skip, sizes = self.covering(start, stop)
        with open_file(self.path) as opened:
            file = pa_orc.ORCFile(opened)
            if absent := [name for name in selection.names if name not in file.schema.names]:
                raise UnusableError(f"it has no column {some_names(absent)}")
            if (file.nstripes, file.nrows) != (len(self.groups), self.rows):
                raise UnusableError(CHANGED)
            for rows in (self.groups[place] for place in groups):
                self.check_group(rows, selection, "a stripe")
            stripes = (_stripe(file, place, selection) for place in groups)
            for table in regroup(stripes, skip, sizes):
                yield rows_of_table(table, selection)


def _stripe(file: pa_orc.ORCFile, place: int, selection: Selection) -> pa.RecordBatch:
    batch = file.read_stripe(place, columns=list(selection.names))
    # Lengths come from the file: a damaged one must not make us read outside of it.
    batch.validate()
    return batch
