"""One door for everything that a person can name: files, folders, patterns, standard input."""

from __future__ import annotations

import os
from typing import Any

from robustream.errors import InvalidInputError
from robustream.sources.tables.finding import Paths
from robustream.sources.tables.piped import PipedTable
from robustream.sources.tables.tables import Tables

__all__ = ["open_tables"]


def open_tables(paths: Paths, **options: Any) -> Tables | PipedTable:
    """Open files, or standard input for "-"; the options are those of `Tables`."""
    named = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if "-" not in named:
        return Tables(named, **options)
    if len(named) > 1:
        raise InvalidInputError("Standard input, '-', cannot be read together with files.")
    if options.pop("join_small_files", False):
        raise InvalidInputError("join_small_files is for files; the rows of standard input are joined anyway.")
    return PipedTable(**options)
