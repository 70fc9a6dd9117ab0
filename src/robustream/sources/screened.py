"""Batches from anywhere, brought into the shape and type that a run expects, by the rule for missing cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.sources.base import Partition, Source
from robustream.sources.tables.conversion import Rows, Selection
from robustream.sources.tables.screening import batch_of_rows

__all__ = ["ScreenedSource"]


class ScreenedSource(Source):
    """The batches of a source, without rows that have missing or infinite cells; what cannot be used is a failed batch.

    Parameters
    ----------
    source : where the batches come from.
    selection : their columns, the type of X, the shape of y and the rule for missing cells; see `Tables`.
    """

    def __init__(self, source: Source, selection: Selection) -> None:
        self._source = source
        self._selection = selection

    @property
    def count(self) -> int | None:
        """Give the number of batches, if it is known."""
        return self._source.count

    def batches(self, start: int = 0) -> Iterator[Batch]:
        return (_screen(batch, self._selection) for batch in self._source.batches(start))

    def partitions(self) -> Sequence[Partition] | None:
        """Give the partitions of the source; whoever reads them screens them."""
        partitions = self._source.partitions()
        if partitions is None:
            return None
        return [_ScreenedPartition(partition, self._selection) for partition in partitions]

    def fingerprint(self) -> str | None:
        """Give a digest of the source and the columns."""
        inner = self._source.fingerprint()
        return None if inner is None else f"{inner} {self._selection!r}"


@dataclass(frozen=True)
class _ScreenedPartition(Partition):
    partition: Partition
    selection: Selection

    @property
    def first_index(self) -> int:  # type: ignore[override]
        return self.partition.first_index

    @property
    def count(self) -> int:  # type: ignore[override]
        return self.partition.count

    @property
    def label(self) -> str:  # type: ignore[override]
        return self.partition.label

    def read(self, start: int = 0) -> Iterator[Batch]:
        return (_screen(batch, self.selection) for batch in self.partition.read(start))


def _screen(batch: Batch, selection: Selection) -> Batch:
    if batch.failure is not None:
        return batch
    reason = _why_unfit(batch, selection)
    if reason is not None:
        return Batch.unreadable(batch.index, batch.label, reason, batch.stats)
    X, y = batch.X.astype(selection.dtype, copy=False), batch.y
    if y is not None and selection.targets:
        y = y.reshape(len(X)) if selection.single else y.reshape(len(X), len(selection.targets))
        if selection.target_kind == "number":
            with np.errstate(over="ignore"):  # what the type cannot hold becomes infinite, and is counted below
                y = y.astype(selection.dtype, copy=False)
    # Rows that were dropped already, for whatever reason, are not to be counted again.
    rows = Rows(X, y if selection.targets else None, batch.illegible if batch.kept is None else ())
    screened = batch_of_rows(batch.index, batch.label, rows, selection)
    return screened._replace(stats={**batch.stats, **screened.stats}, kept=_both(batch.kept, screened.kept))


def _both(first: NDArray[np.bool_] | None, second: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Give which of the rows are kept that two screens were shown, one after the other."""
    if first is None or second is None:
        return second if first is None else first
    kept = first.copy()
    kept[first] = second
    return kept


def _why_unfit(batch: Batch, selection: Selection) -> str | None:
    if batch.X.ndim != 2 or batch.X.shape[1] != len(selection.features):
        columns = batch.X.shape[1] if batch.X.ndim == 2 else "no"
        return f"it has {columns} columns where {len(selection.features)} are needed"
    if batch.X.dtype.kind not in "fiub":
        return f"its cells are of type {batch.X.dtype}, not numbers"
    if not selection.targets:
        return None
    if batch.y is None:
        return "it has no target"
    if len(batch.y) != len(batch.X):
        return f"its target has {len(batch.y)} rows where X has {len(batch.X)}"
    if batch.y.size != len(batch.X) * len(selection.targets):
        return (
            f"its target has {batch.y.size // max(1, len(batch.X))} columns where {len(selection.targets)} are needed"
        )
    if selection.target_kind == "number" and batch.y.dtype.kind not in "fiub":
        return f"its target is of type {batch.y.dtype}, not numbers"
    return None
