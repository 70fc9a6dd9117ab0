"""NumPy files: one array of rows x columns, mapped into memory; its columns are named f0, f1 and so on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.sources.tables.error_text import UnusableError, some_names
from robustream.sources.tables.pieces import CHANGED, GroupedPieces, Outcome, TableFile
from robustream.sources.tables.rows import rows_of_matrix
from robustream.sources.tables.schema import Selection, columns_of, kind_of_numpy, numbered

__all__ = ["NumpyPieces", "look_at_numpy"]


def look_at_numpy(path: str, size: int) -> TableFile:
    """Read the header of a file."""
    array = _open(path)
    rows, width = array.shape
    columns = columns_of(numbered(width), [kind_of_numpy(array.dtype)] * width)
    return TableFile(path, size, columns, rows, partial(NumpyPieces, path, (rows,)))


@dataclass(frozen=True)
class NumpyPieces(GroupedPieces):
    """Batches of an array in a file."""

    format = "NumPy"

    def starts(self) -> range:
        return range(self.count)

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        array = _open(self.path)
        if (array.shape[0],) != self.groups:
            raise UnusableError(CHANGED)
        names = {name: place for place, name in enumerate(numbered(array.shape[1]))}
        if absent := [name for name in selection.names if name not in names]:
            raise UnusableError(f"it has no column {some_names(absent)}")
        places = [names[name] for name in selection.names]
        for place in range(start, stop):
            yield rows_of_matrix(_rows(self.path, array, self.slice_of(place)), places, selection)


def _rows(path: str, array: NDArray[Any], rows: slice) -> NDArray[Any]:
    """Read some rows; not through the map where they lie together, since a file cut off meanwhile kills who looks."""
    if not isinstance(array, np.memmap) or not array.flags.c_contiguous:
        return array[rows]
    offset, shape = array.offset + rows.start * array.strides[0], array[rows].shape
    part = np.fromfile(path, dtype=array.dtype, count=shape[0] * shape[1], offset=offset)
    if part.size != shape[0] * shape[1]:
        raise UnusableError(CHANGED)
    return part.reshape(shape)


def _open(path: str) -> NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise UnusableError(f"not a whole NumPy file of numbers: {str(error).splitlines()[0]}") from error
    if not isinstance(array, np.ndarray) or array.ndim not in (1, 2) or array.dtype.names is not None:
        raise UnusableError("it must hold one array of rows x columns")
    return array.reshape(len(array), -1)
