"""Sources that know which of their rows are bad: simulated ones, and those that spoil another source."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.base import Source

__all__ = ["KnownOutliers", "Mask", "batch_at", "clean_part"]

Mask = NDArray[np.bool_]


class KnownOutliers(Source):
    """A source that can tell its outliers, so that a fit on the clean rows alone can be the yardstick."""

    @abstractmethod
    def outlier_rows(self, index: int) -> Mask:
        """Tell for each row of a batch whether it is an outlier."""


def batch_at(source: Source, index: int) -> Batch:
    """Give one batch of a source.

    >>> from robustream.sources import ArraySource
    >>> batch_at(ArraySource(np.zeros((6, 1)), batch_size=2), 2).label
    'rows 4-5'
    """
    for batch in source.batches(start=index):
        return batch
    raise InvalidInputError(f"index must be that of a batch; the source has no batch {index!r}.")


def clean_part(source: KnownOutliers, batch: Batch) -> Batch:
    """Give the rows of a batch that are no outliers.

    >>> from robustream.sources import SimulatedPCA
    >>> source = SimulatedPCA(batches=1, rows=10, columns=3, components=1, outliers=0.4)
    >>> clean_part(source, batch_at(source, 0)).rows
    6
    """
    kept = ~source.outlier_rows(batch.index)
    y: NDArray[Any] | None = None if batch.y is None else batch.y[kept]
    return batch._replace(X=batch.X[kept], y=y)
