"""Rows of results appended to a file whose name says in which format."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from robustream.errors import InvalidInputError, StorageError

__all__ = ["table_writer"]

Columns = Mapping[str, NDArray[Any]]


@contextmanager
def table_writer(path: str | os.PathLike[str]) -> Iterator[Callable[[Columns], None]]:
    """Return a function that appends rows to a file, which appears under its name when it is complete."""
    final = Path(path)
    make = _WRITERS.get(final.suffix.lower())
    if make is None:
        raise InvalidInputError(f"out must end in one of {', '.join(_WRITERS)}, got {final.name}", "out")
    try:
        handle, name = tempfile.mkstemp(dir=final.absolute().parent, prefix=f".{final.name}.")
    except OSError as error:
        raise StorageError(f"{final} cannot be written: {error.strerror}") from error
    os.close(handle)
    writer: Any = None

    def write(columns: Columns) -> None:
        nonlocal writer
        table = pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
        if writer is None:
            writer = make(name, table.schema)
        writer.write_table(table.cast(writer.schema) if hasattr(writer, "schema") else table)

    try:
        yield write
        if writer is None:
            raise InvalidInputError("no row could be read, so that nothing was written")
        writer.close()
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, final)
    except OSError as error:
        raise StorageError(f"{final} cannot be written: {error.strerror or error}") from error
    finally:
        if writer is not None:
            writer.close()
        Path(name).unlink(missing_ok=True)


_WRITERS: dict[str, Callable[[str, pa.Schema], Any]] = {
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
