"""Sparse matrices as a source: cut by rows, one batch made dense at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.arrays import cut
from robustream.sources.base import Partition, Source
from robustream.sources.checking import check_count

__all__ = ["DENSE_BYTES", "SparseSource", "dense_batch", "dense_bytes", "is_sparse"]

# What the dense form of the rows of one call, or of one batch, may take: 1 GiB. Learning takes a few times that.
DENSE_BYTES = 1 << 30


def is_sparse(values: Any) -> bool:
    """Tell whether a value is a sparse matrix or array of SciPy, without importing it."""
    return hasattr(values, "toarray") and type(values).__module__.startswith("scipy.sparse")


def dense_bytes(rows: int, columns: int, dtype: np.dtype[Any]) -> int:
    """Return what so many rows take as a dense array of the type that they are learned from in."""
    return int(rows) * int(columns) * (4 if dtype == np.float32 else 8)


def dense_batch(values: Any) -> Any:
    """Return a sparse matrix as a dense array if it is not too large for a batch, else raise; all else as it is."""
    if not is_sparse(values) or values.ndim != 2:
        return values
    if (size := dense_bytes(values.shape[0], values.shape[1], values.dtype)) > DENSE_BYTES:
        raise InvalidInputError(
            f"X is sparse, and its {values.shape[0]:,} rows and {values.shape[1]:,} columns would take "
            f"{size / 2**30:.1f} GiB as a dense array, more than the {DENSE_BYTES / 2**30:.0f} GiB that one call may: "
            "give partial_fit, predict or transform blocks of rows, or the whole matrix to robustream.fit, which makes "
            "one batch dense at a time"
        )
    return values.toarray(order="C")  # rows one behind the other, as dense ones come


class SparseSource(Source):
    """Batches of consecutive rows of a sparse matrix, each made dense when it is asked for.

    Parameters
    ----------
    X : sparse matrix or array of SciPy, rows x columns, in any of its formats.
    y : array of the same number of rows, or None.
    weights : how often each row counts, or None where each counts once.
    batch_size : the number of rows wanted in a batch; see `robustream.sources.cut`.

    Examples
    --------
    >>> import scipy.sparse
    >>> source = SparseSource(scipy.sparse.eye_array(6, format="csc"), batch_size=3)
    >>> [batch.X.sum(axis=1).tolist() for batch in source]
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """

    def __init__(
        self,
        X: Any,
        y: NDArray[Any] | None = None,
        *,
        batch_size: int,
        weights: NDArray[Any] | None = None,
    ) -> None:
        if not is_sparse(X) or X.ndim != 2 or X.shape[0] < 1:
            raise InvalidInputError(f"X must be a sparse matrix of rows x columns, got {type(X).__name__}.")
        for name, part in (("y", y), ("weights", weights)):
            if part is not None and (part.ndim == 0 or len(part) != X.shape[0]):
                raise InvalidInputError(f"{name} must have as many rows as X, {X.shape[0]}, got shape {part.shape}.")
        self.X, self.y, self.weights = X.tocsr(), y, weights
        self._slices = cut(X.shape[0], batch_size)
        largest = max(rows.stop - rows.start for rows in self._slices)
        if (size := dense_bytes(largest, X.shape[1], X.dtype)) > DENSE_BYTES:
            most = DENSE_BYTES // dense_bytes(1, X.shape[1], X.dtype)
            raise InvalidInputError(
                f"a batch of {largest:,} rows of {X.shape[1]:,} columns would take {size / 2**30:.1f} GiB as a dense "
                f"array, more than {DENSE_BYTES / 2**30:.0f} GiB: set batch_size to at most {max(2 * most // 3, 1):,}.",
                "batch_size",
            )

    @property
    def count(self) -> int:
        """Return the number of batches."""
        return len(self._slices)

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """Yield the batches from index `start` on."""
        for partition in self._parts(check_count("start", start, least=0)):
            yield from partition.read()

    def partitions(self) -> Sequence[Partition]:
        """Return one partition for each batch; its rows are sent as they are stored."""
        return list(self._parts(0))

    def fingerprint(self) -> str:
        """Return a digest of the number of batches, the shape, the type and some evenly spaced rows."""
        digest = blake2b(repr((self.count, self.X.shape, self.X.dtype.str, self.X.nnz)).encode(), digest_size=16)
        for row in sorted({place * (self.X.shape[0] - 1) // 63 for place in range(64)}):
            one = self.X[row : row + 1]
            digest.update(one.indices.astype(np.int64).tobytes() + one.data.tobytes())
            for part in (self.y, self.weights):
                if part is not None:
                    digest.update(repr(part[row]).encode() if part.dtype == object else np.asarray(part[row]).tobytes())
        return digest.hexdigest()

    def _parts(self, start: int) -> Iterator[_SparseRows]:
        for index in range(start, self.count):
            rows = self._slices[index]
            y, weights = (None if part is None else part[rows] for part in (self.y, self.weights))
            yield _SparseRows(index, f"rows {rows.start}-{rows.stop - 1}", self.X[rows], y, weights)


@dataclass(frozen=True)
class _SparseRows(Partition):
    """Rows of one batch as they are stored."""

    first_index: int
    label: str
    rows: Any
    y: NDArray[Any] | None
    weights: NDArray[Any] | None
    count: int = 1

    def read(self, start: int = 0) -> Iterator[Batch]:
        if start == 0:
            yield Batch(self.first_index, self.label, self.rows.toarray(order="C"), self.y, weights=self.weights)
