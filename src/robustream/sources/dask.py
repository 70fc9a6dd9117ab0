"""Dask arrays and data frames as a source: each of their partitions is one batch, and none is merged or split.

A partition is what belongs to one file or one node; a layer that merged sixteen files into two estimates would leave
no median anything to choose from. The work of making the rows stays in the partition's own graph and is done by
whoever reads it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustream.batch import Batch, describe_failure
from robustream.errors import InvalidInputError
from robustream.sources.base import Partition, Source

__all__ = ["DaskSource", "is_dask_collection"]


def is_dask_collection(value: Any) -> bool:
    """Tell whether a value is a Dask array or data frame, without importing Dask."""
    module = type(value).__module__
    return module.split(".")[0] in ("dask", "dask_expr") and hasattr(value, "npartitions")


class DaskSource(Source):
    """One batch for each block of rows of a Dask array, or for each partition of a Dask data frame.

    Parameters
    ----------
    X : array of rows x columns (blocks that split the columns are joined along them), or data frame.
    y : array, series or data frame with the same partitions of rows, or None.
    label : what the partitions are called.
    weights : array or series with the same partitions, how often each row counts, or None where each counts once.

    Examples
    --------
    >>> import dask.array  # doctest: +SKIP
    >>> DaskSource(dask.array.ones((100, 3), chunks=(25, 3))).count  # doctest: +SKIP
    4
    """

    def __init__(self, X: Any, y: Any = None, *, label: str = "partition", weights: Any = None) -> None:
        self.columns = _columns(X)
        rows = _pieces("X", X)
        beside: list[list[Any]] = []
        for name, part in (("y", y), ("weights", weights)):
            pieces = [None] * len(rows) if part is None else _pieces(name, part)
            if len(pieces) != len(rows):
                raise InvalidInputError(
                    f"{name} must be cut into the same partitions of rows as X, {len(rows)}; it has {len(pieces)}. "
                    "Rechunk or repartition it like X."
                )
            _check_blocks(X, part, name)
            beside.append(pieces)
        self._partitions = [
            _DaskPartition(index, f"{label} {index}", *pieces)
            for index, pieces in enumerate(zip(rows, *beside, strict=True))
        ]

    @property
    def count(self) -> int:
        """Return the number of partitions."""
        return len(self._partitions)

    def batches(self, start: int = 0) -> Iterator[Batch]:
        for partition in self._partitions[start:]:
            yield from partition.read()

    def partitions(self) -> Sequence[Partition]:
        """Return the collection's own partitions, each with the part of the graph that makes it."""
        return self._partitions


@dataclass(frozen=True)
class _DaskPartition(Partition):
    first_index: int
    label: str
    rows: Any
    targets: Any
    weights: Any = None
    count: int = 1

    def read(self, start: int = 0) -> Iterator[Batch]:
        if start == 0:
            yield self._compute()

    def _compute(self) -> Batch:
        import dask.base

        try:
            # In the thread that asks: the engine has already spread the partitions over its workers.
            parts = self.rows, self.targets, self.weights
            X, y, weights = dask.base.compute(*parts, scheduler="synchronous")  # type: ignore[no-untyped-call]
            return _batch(self.first_index, self.label, X, y, weights)
        # The graph is the user's, and may raise anything.
        except Exception as error:
            return Batch.unreadable(self.first_index, self.label, describe_failure(error))


def _batch(index: int, label: str, X: Any, y: Any, weights: Any) -> Batch:
    rows = np.asarray(X)
    targets = None if y is None else np.asarray(y)
    if rows.ndim != 2 or len(rows) == 0:
        return Batch.unreadable(index, label, f"it has no rows and columns but the shape {rows.shape}")
    if targets is not None and len(targets) != len(rows):
        return Batch.unreadable(index, label, f"its target has {len(targets)} rows where X has {len(rows)}")
    if weights is None:
        return Batch(index, label, rows, targets)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(rows),):
        return Batch.unreadable(
            index, label, f"its weights have the shape {weights.shape} where X has {len(rows)} rows"
        )
    return Batch(index, label, rows, targets, weights=weights)


def _is_array(collection: Any) -> bool:
    return hasattr(collection, "chunks")


def _columns(X: Any) -> tuple[str, ...] | int:
    if not is_dask_collection(X) or X.ndim != 2:
        raise InvalidInputError(
            f"X must be a Dask array of rows x columns or a Dask data frame, got {type(X).__name__}."
        )
    if not _is_array(X):
        return tuple(str(name) for name in X.columns)
    return int(X.shape[1])


def _pieces(name: str, collection: Any) -> list[Any]:
    """Return the partitions as things to compute, each with no more of the graph than it needs."""
    import dask

    if not is_dask_collection(collection):
        raise InvalidInputError(f"{name} must be a Dask collection like X, got {type(collection).__name__}.")
    if _is_persisted(collection):
        raise InvalidInputError(
            f"{name} is persisted on a cluster, and a partition can only be read where it can be made: pass {name} as "
            "it was before persist()."
        )
    if not _is_array(collection):
        return [_cut_off(dask, piece) for piece in collection.to_delayed()]
    if collection.ndim > 1 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    return [_cut_off(dask, piece) for piece in collection.to_delayed().reshape(collection.numblocks[0], -1)[:, 0]]


def _is_persisted(collection: Any) -> bool:
    # Only a cluster that was talked to from here can hold parts of it.
    distributed = sys.modules.get("distributed")
    return distributed is not None and bool(distributed.futures_of(collection))


def _cut_off(dask: Any, piece: Any) -> Any:
    """Leave out of a partition's graph what only others need: it is sent to a worker."""
    return dask.optimize(piece)[0]


def _check_blocks(X: Any, y: Any, name: str) -> None:
    """Refuse arrays whose blocks of rows differ, as far as their lengths are known."""
    if y is None or not (_is_array(X) and _is_array(y)):
        return
    known = [chunks for chunks in (X.chunks[0], y.chunks[0]) if not any(np.isnan(size) for size in chunks)]
    if len(known) == 2 and known[0] != known[1]:
        raise InvalidInputError(f"{name} must be cut into blocks of as many rows as X has; rechunk it like X.")
