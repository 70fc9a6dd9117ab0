"""Arrays in memory (or memory-mapped) as a source: contiguous cuts, nothing is copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.base import Partition, Source
from robustream.sources.checking import check_count

__all__ = ["ArraySource", "batch_count", "cut"]


def cut(n_rows: int, batch_size: int) -> list[slice]:
    """Cut rows into contiguous batches whose sizes differ by one row at most.

    The number of batches is the one that brings their size nearest to `batch_size`: with at least
    `batch_size` rows, every batch has between 3/4 and 3/2 of it, to a row. A short last batch would give a poor
    estimate that counts as much as the others.

    Parameters
    ----------
    n_rows : the number of rows, at least 1.
    batch_size : the number of rows wanted in a batch, at least 1.

    Examples
    --------
    >>> cut(10, 4)
    [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None)]
    >>> cut(3, 100)
    [slice(0, 3, None)]
    """
    count = batch_count(n_rows, batch_size)
    borders = [place * n_rows // count for place in range(count + 1)]
    return [slice(first, stop) for first, stop in pairwise(borders)]


def batch_count(n_rows: int, batch_size: int) -> int:
    """Return the number of batches that `cut` makes; batch k of n begins at row `k * n_rows // n`.

    >>> batch_count(10, 4)
    3
    """
    n_rows = check_count("n_rows", n_rows)
    batch_size = check_count("batch_size", batch_size)
    return min(n_rows, max(1, (2 * n_rows + batch_size) // (2 * batch_size)))


class ArraySource(Source):
    """Batches that are views of consecutive rows of arrays.

    Parameters
    ----------
    X : array of rows x columns; any array that NumPy can slice without a copy, memory maps too.
    y : array of the same number of rows, or None.
    batch_size : the number of rows wanted in a batch; see `cut`.
    weights : how often each row counts, or None where each counts once.

    Examples
    --------
    >>> source = ArraySource(np.zeros((20_000, 3)), batch_size=10_000)
    >>> [(batch.label, batch.X.shape) for batch in source]
    [('rows 0-9999', (10000, 3)), ('rows 10000-19999', (10000, 3))]
    """

    def __init__(
        self, X: ArrayLike, y: ArrayLike | None = None, *, batch_size: int, weights: ArrayLike | None = None
    ) -> None:
        self.X: NDArray[Any] = np.asarray(X)
        self.y: NDArray[Any] | None = None if y is None else np.asarray(y)
        if self.X.ndim != 2 or self.X.shape[0] < 1:
            raise InvalidInputError(f"X must be an array of rows x columns, got an array of shape {self.X.shape}.")
        if self.y is not None and (self.y.ndim == 0 or self.y.shape[0] != self.X.shape[0]):
            raise InvalidInputError(
                f"y must have as many rows as X, {self.X.shape[0]}, got an array of shape {self.y.shape}."
            )
        self.weights: NDArray[Any] | None = None if weights is None else np.asarray(weights, dtype=np.float64)
        if self.weights is not None and self.weights.shape != self.X.shape[:1]:
            raise InvalidInputError(
                f"weights must be one number for each row of X, {self.X.shape[0]}, got shape {self.weights.shape}."
            )
        self._slices = cut(self.X.shape[0], batch_size)

    @property
    def count(self) -> int:
        """Return the number of batches."""
        return len(self._slices)

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """Yield the batches from index `start` on."""
        for index in range(check_count("start", start, least=0), self.count):
            rows = self._slices[index]
            y, weights = (None if part is None else part[rows] for part in (self.y, self.weights))
            yield Batch(index, f"rows {rows.start}-{rows.stop - 1}", self.X[rows], y, weights=weights)

    def partitions(self) -> Sequence[Partition]:
        """Return one partition for each batch; only its own rows are sent with it."""
        return [_Rows(batch) for batch in self]

    def fingerprint(self) -> str:
        """Return a digest of the number of batches, the shapes, the types and some evenly spaced rows."""
        digest = blake2b(repr(self.count).encode(), digest_size=16)
        for array in (self.X, self.y, *([] if self.weights is None else [self.weights])):
            if array is None:
                digest.update(b"none")
                continue
            digest.update(repr((array.shape, array.dtype.str)).encode())
            for row in sorted({place * (len(array) - 1) // 63 for place in range(64)}):
                digest.update(repr(array[row]).encode() if array.dtype == object else np.asarray(array[row]).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class _Rows(Partition):
    """One batch that is in memory."""

    batch: Batch
    count: int = 1

    @property
    def first_index(self) -> int:  # type: ignore[override]
        return self.batch.index

    @property
    def label(self) -> str:  # type: ignore[override]
        return self.batch.label

    def read(self, start: int = 0) -> Iterator[Batch]:
        if start == 0:
            yield self.batch
