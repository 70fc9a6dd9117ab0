"""Rows of results appended to a file whose name says in which format, or to standard output as CSV."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from robustream.errors import InvalidInputError, StorageError
from robustream.files import write_atomically
from robustream.files.addresses import as_text, is_address, shown

__all__ = ["table_writer"]

STANDARD_OUTPUT = "-"


@contextmanager
def table_writer(path: str | os.PathLike[str]) -> Iterator[Callable[[pa.Table], None]]:
    """Return a function that appends rows to a file, which appears under its name when it is complete.

    The path "-" stands for standard output; rows then come as they are made.
    """
    if os.fspath(path) == STANDARD_OUTPUT:
        appender = _Appender(_WRITERS[".csv"], sys.stdout.buffer)
        try:
            yield appender.write
        finally:
            appender.close()
            sys.stdout.flush()
        return
    final, elsewhere = Path(shown(as_text(path))), is_address(path)
    make = _WRITERS.get(final.suffix.lower())
    if make is None:
        raise InvalidInputError(f"out must end in one of {', '.join(_WRITERS)}, got {final.name}", "out")
    try:
        # What goes elsewhere is collected here first.
        handle, name = tempfile.mkstemp(dir=None if elsewhere else final.absolute().parent, prefix=f".{final.name}.")
    except OSError as error:
        raise StorageError(f"{final} cannot be written: {error.strerror}") from error
    os.close(handle)
    appender = _Appender(make, name)
    try:
        yield appender.write
        if appender.schema is None:
            raise InvalidInputError("no row could be read, so that nothing was written")
        appender.close()
        if elsewhere:
            with open(name, "rb") as file:
                write_atomically(path, iter(partial(file.read, 1 << 20), b""))
        else:
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, final)
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"{final} cannot be written: {error.strerror or error}") from error
    finally:
        appender.close()
        Path(name).unlink(missing_ok=True)


class _Appender:
    """A file of a format that is opened with the first rows, whose types the others then have."""

    def __init__(self, make: Callable[[Any, pa.Schema], Any], where: Any) -> None:
        self.schema: pa.Schema | None = None
        self._make = make
        self._where = where
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        """Append rows."""
        if self.schema is None:
            self.schema = table.schema
            self._writer = self._make(self._where, self.schema)
        try:
            table = table.cast(self.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            names = [a.name for a, b in zip(self.schema, table.schema, strict=True) if a.type != b.type]
            raise InvalidInputError(
                f"keep must be columns of one type; {', '.join(map(repr, names))} holds another type in some file "
                "than in the first",
                "keep",
            ) from error
        self._writer.write_table(table)

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


_WRITERS: dict[str, Callable[[Any, pa.Schema], Any]] = {
    ".parquet": lambda name, schema: pa.parquet.ParquetWriter(name, schema),
    ".csv": lambda name, schema: pa.csv.CSVWriter(name, schema),
    ".arrow": lambda name, schema: pa.ipc.new_file(name, schema),
    ".feather": lambda name, schema: pa.ipc.new_file(name, schema),
}


def _umask() -> int:
    """Read the mask for new files: it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
