"""NumPy files: one array of rows x columns, mapped into memory; its columns are named f0, f1 and so on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.sources.tables.base import Outcome, Pieces, TableFile
from robustream.sources.tables.conversion import Selection, rows_of_matrix
from robustream.sources.tables.groups import GroupedPieces
from robustream.sources.tables.kinds import columns_of, kind_of_numpy
from robustream.sources.tables.reasons import UnusableError, some_names

__all__ = ["NumpyFile", "NumpyPieces", "look_at_numpy", "numbered"]


def numbered(columns: int) -> list[str]:
    """Name columns that have no names.

    >>> numbered(3)
    ['f0', 'f1', 'f2']
    """
    return [f"f{place}" for place in range(columns)]


@dataclass(frozen=True)
class NumpyFile(TableFile):
    """An array in a file, as its header describes it."""

    path: str
    size: int
    columns: Mapping[str, str]
    length: int
    doubled: frozenset[str] = frozenset()
    certain: bool = True

    @property
    def rows(self) -> int:
        return self.length

    def pieces(self, rows_per_batch: int) -> Pieces:
        return NumpyPieces(self.path, (self.rows,), rows_per_batch)


def look_at_numpy(path: str, size: int) -> NumpyFile:
    """Read the header of a file."""
    array = _open(path)
    columns = columns_of(numbered(array.shape[1]), [kind_of_numpy(array.dtype)] * array.shape[1])
    return NumpyFile(path, size, columns, array.shape[0])


@dataclass(frozen=True)
class NumpyPieces(GroupedPieces):
    """Batches of an array in a file."""

    @property
    def format(self) -> str:
        return "NumPy"

    def starts(self) -> range:
        return range(self.count)

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        array = _open(self.path)
        if (array.shape[0],) != self.groups:
            raise UnusableError("the file has changed since it was first looked at")
        names = {name: place for place, name in enumerate(numbered(array.shape[1]))}
        absent = [name for name in selection.names if name not in names]
        if absent:
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
        raise UnusableError("the file has changed since it was first looked at")
    return part.reshape(shape)


def _open(path: str) -> NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise UnusableError(f"not a whole NumPy file of numbers: {str(error).splitlines()[0]}") from error
    if not isinstance(array, np.ndarray) or array.ndim not in (1, 2) or array.dtype.names is not None:
        raise UnusableError("it must hold one array of rows x columns")
    return array.reshape(len(array), -1)
