"""NumPy files: one array of rows x columns; its columns are named f0, f1 and so on.

Rows are read where they lie together, as they mostly do. An array that is stored column by column is mapped into
memory, or fetched whole if it lies elsewhere.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.files.addresses import is_address, read_bytes
from robustream.sources.tables.error_text import UnusableError, some_names
from robustream.sources.tables.paths import open_file
from robustream.sources.tables.pieces import CHANGED, GroupedPieces, Outcome, TableFile
from robustream.sources.tables.rows import rows_of_matrix
from robustream.sources.tables.schema import Selection, columns_of, kind_of_numpy, numbered

__all__ = ["NumpyPieces", "look_at_numpy"]


class _Header(NamedTuple):
    """What a file says of its array."""

    rows: int
    width: int
    dtype: np.dtype[Any]
    offset: int  # where its numbers begin
    together: bool  # whether the numbers of a row lie together


def look_at_numpy(path: str, size: int) -> TableFile:
    """Read the header of a file."""
    header = _read_header(path)
    columns = columns_of(numbered(header.width), [kind_of_numpy(header.dtype)] * header.width)
    return TableFile(path, size, columns, header.rows, partial(NumpyPieces, path, (header.rows,)))


@dataclass(frozen=True)
class NumpyPieces(GroupedPieces):
    """Batches of an array in a file."""

    format = "NumPy"

    def starts(self) -> range:
        return range(self.count)

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        header = _read_header(self.path)
        if (header.rows,) != self.groups:
            raise UnusableError(CHANGED)
        names = {name: place for place, name in enumerate(numbered(header.width))}
        if absent := [name for name in selection.names if name not in names]:
            raise UnusableError(f"it has no column {some_names(absent)}")
        places = [names[name] for name in selection.names]
        self.check_group(max(self.covering(start, stop)[2]), selection, "a batch")
        if not header.together:
            matrix = _by_columns(self.path)
            for place in range(start, stop):
                yield rows_of_matrix(matrix[self.slice_of(place)], places, selection)
            return
        # Not through a map: a file that is cut off meanwhile kills who looks.
        with open_file(self.path, whole=stop - start == self.count) as file:
            for place in range(start, stop):
                rows = self.slice_of(place)
                count, row_bytes = rows.stop - rows.start, header.width * header.dtype.itemsize
                file.seek(header.offset + rows.start * row_bytes)
                part = file.read(count * row_bytes)
                if len(part) != count * row_bytes:
                    raise UnusableError(CHANGED)
                matrix = np.frombuffer(part, dtype=header.dtype).reshape(count, header.width)
                yield rows_of_matrix(matrix, places, selection)


def _read_header(path: str) -> _Header:
    try:
        with open_file(path, whole=False) as file:
            version = np.lib.format.read_magic(file)
            by_version = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            if version not in by_version:
                raise ValueError(f"its version is {version}")
            shape, by_columns, dtype = by_version[version](file)
            offset, size = file.tell(), file.size()
    except (ValueError, EOFError) as error:
        raise UnusableError(f"not a whole NumPy file of numbers: {str(error).splitlines()[0]}") from error
    if dtype.hasobject or offset + dtype.itemsize * math.prod(shape) > size:
        what = "it holds objects" if dtype.hasobject else "the array is longer than the file"
        raise UnusableError(f"not a whole NumPy file of numbers: {what}")
    if len(shape) not in (1, 2) or dtype.names is not None:
        raise UnusableError("it must hold one array of rows x columns")
    return _Header(shape[0], math.prod(shape[1:]), dtype, offset, not by_columns or len(shape) == 1)


def _by_columns(path: str) -> NDArray[Any]:
    if is_address(path):
        return np.load(io.BytesIO(read_bytes(path)), allow_pickle=False)
    return np.load(path, mmap_mode="r", allow_pickle=False)
