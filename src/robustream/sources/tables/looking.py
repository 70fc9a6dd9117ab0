"""A first look at every file: cheap, from footers, headers and first lines, and never an error that stops the rest."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from robustream.sources.tables.arrow_files import look_at_arrow
from robustream.sources.tables.base import TableFile
from robustream.sources.tables.csv_files import look_at_csv
from robustream.sources.tables.csv_head import Wanted
from robustream.sources.tables.finding import EXTENSIONS, extension_of
from robustream.sources.tables.npy_files import look_at_numpy
from robustream.sources.tables.parquet import look_at_parquet
from robustream.sources.tables.reasons import UnusableError, explain

__all__ = ["Unusable", "look_at", "look_at_all"]

_FORMATS = {"parquet": "Parquet", "arrow": "Arrow", "csv": "CSV", "tsv": "CSV", "npy": "NumPy"}

# Looking is waiting for disks and networks, not computing.
_AT_ONCE = 8


@dataclass(frozen=True)
class Unusable:
    """A file that cannot be used, with the reason; `rows` are None where nothing tells how many it has."""

    path: str
    size: int
    reason: str
    rows: int | None = None


def look_at_all(paths: Sequence[str], wanted: Wanted) -> list[TableFile | Unusable]:
    """Look at files, several at once; the answers come in the order of the paths."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda path: look_at(path, wanted), paths))


def look_at(path: str, wanted: Wanted) -> TableFile | Unusable:
    """Look at a file."""
    format_name, compression = EXTENSIONS.get(extension_of(path) or "", ("", None))
    size = 0
    try:
        status = os.stat(path)
        size = status.st_size
        # Opening a pipe or a device would wait for whoever writes to it.
        if not stat.S_ISREG(status.st_mode):
            raise UnusableError("this is a folder, not a file" if stat.S_ISDIR(status.st_mode) else "not a plain file")
        if size == 0:
            raise UnusableError("the file is empty (0 bytes)")
        if format_name == "parquet":
            return look_at_parquet(path, size)
        if format_name == "arrow":
            return look_at_arrow(path, size)
        if format_name == "npy":
            return look_at_numpy(path, size)
        if format_name:
            if format_name == "tsv" and wanted.separator is None:
                wanted = replace(wanted, separator="\t")
            return look_at_csv(path, size, compression, wanted)
        raise UnusableError(f"no format is known for a name like {os.path.basename(path)!r}")
    except FileNotFoundError:
        broken = "this is a link to a file that is not there"
        return Unusable(path, size, broken if os.path.islink(path) else "the file is not there any more")
    except Exception as error:
        return Unusable(path, size, explain(error, _FORMATS.get(format_name, "table")))
