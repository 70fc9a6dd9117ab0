"""Parquet files to measure with: principal components that are known, and some files that are garbage."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from robustream.errors import InvalidInputError

__all__ = ["BYTES_PER_CELL", "COMPONENTS", "FILES", "kind_of_file", "make_files"]

COMPONENTS = 5
# A tenth of the files is measured as well: it must be a tenth of each kind.
FILES = 100
BYTES_PER_CELL = np.dtype(np.float32).itemsize
_ROWS_AT_ONCE = 50_000
_MOST_OF_DISK = 0.8


def kind_of_file(place: int) -> str:
    """Tell what a file holds: good rows, rows of another law, or a part of a file that cannot be read.

    >>> [kind_of_file(place) for place in range(10)].count("good")
    8
    """
    return {3: "wrong", 7: "truncated"}.get(place % 10, "good")


def make_files(folder: Path, rows: int, columns: int, seed: int = 0) -> list[Path]:
    """Write the files into a folder, in pieces, and give their paths.

    Files that are there already are taken as they are. Each is written under another name first, so that one that was
    interrupted is not taken for whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{rows}x{columns}-{place:03d}.parquet" for place in range(FILES)]
    absent = [place for place, path in enumerate(paths) if not path.exists()]
    _check_room(folder, len(absent) * (rows // FILES) * columns * BYTES_PER_CELL)
    for place in absent:
        unfinished = paths[place].with_suffix(".unfinished")
        _write(unfinished, _tables(seed, place, rows // FILES, columns))
        if kind_of_file(place) == "truncated":
            os.truncate(unfinished, unfinished.stat().st_size // 2)
        unfinished.rename(paths[place])
    return paths


def _write(path: Path, tables: Iterator[pa.Table]) -> None:
    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _tables(seed: int, place: int, rows: int, columns: int) -> Iterator[pa.Table]:
    directions = _directions(seed, columns)
    rng = np.random.default_rng([seed, place])
    wrong = kind_of_file(place) == "wrong"
    if wrong:
        directions = 3 * directions[:, rng.permutation(columns)]
    names = [f"x{column}" for column in range(columns)]
    for first in range(0, rows, _ROWS_AT_ONCE):
        count = min(_ROWS_AT_ONCE, rows - first)
        X = rng.standard_normal((count, columns), dtype=np.float32)
        X += rng.standard_normal((count, COMPONENTS), dtype=np.float32) @ directions
        yield pa.table(dict(zip(names, np.ascontiguousarray(X.T), strict=True)))


def _directions(seed: int, columns: int) -> NDArray[Any]:
    """Return rows that are orthogonal, with lengths from 6 down to 2 times the noise."""
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(columns, COMPONENTS))).Q
    return (basis * np.linspace(6, 2, COMPONENTS)).T.astype(np.float32)


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > _MOST_OF_DISK * free:
        raise InvalidInputError(
            f"the files need {needed / 1e9:.1f} GB, and {folder} has {free / 1e9:.1f} GB free: ask for fewer rows"
        )
