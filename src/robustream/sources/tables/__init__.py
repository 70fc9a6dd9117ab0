"""Files of rows as batches: Parquet, Arrow, ORC, CSV, JSON lines, NumPy, folders and patterns of them, standard input.

The way of a batch: `files.Tables` probes the files that `paths` finds and decides what is read (`schema`); the module
of each format (`parquet`, `arrow`, `orc`, `npy`, `csv`, `jsonl`) looks at a file and cuts it into `pieces`; a
`files.FilePartition` reads consecutive pieces; `rows` makes rows of columns; `missing` drops rows with missing cells.
Categories and formulas: what is asked for (`encoder`, `formula`) and what files hold (`levels`) give an `encoding`.
Nothing of this raises once the batches are being read: what cannot be had comes as `Batch.unreadable` with a reason
(`error_text`).
"""

from __future__ import annotations

import os
from typing import Any

from robustream.errors import InvalidInputError
from robustream.sources.checking import check_count
from robustream.sources.tables.error_text import Limits
from robustream.sources.tables.files import Tables, TableSource
from robustream.sources.tables.paths import Paths
from robustream.sources.tables.stdin import PipedSource, PipedTable

__all__ = ["PipedSource", "PipedTable", "TableSource", "Tables", "make_limits", "open_tables"]


def make_limits(max_batch_bytes: int | None = None, max_line_bytes: int | None = None) -> Limits:
    """Return what reading may cost; None is for what is usual."""
    given = {"max_batch_bytes": max_batch_bytes, "max_line_bytes": max_line_bytes}
    return Limits(**{name: check_count(name, value) for name, value in given.items() if value is not None})


def open_tables(paths: Paths, **options: Any) -> Tables | PipedTable:
    """Open files, or standard input for "-"; the options are those of `Tables`."""
    named = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if "-" not in named:
        return Tables(named, **options)
    if len(named) > 1:
        raise InvalidInputError("Standard input, '-', cannot be read together with files.")
    if options.pop("join_small_files", False):
        raise InvalidInputError(
            "join_small_files is for files; the rows of standard input are joined anyway.", "join_small_files"
        )
    options.pop("fitted", None)  # of one table, whose names must be those of the model
    return PipedTable(**options)
