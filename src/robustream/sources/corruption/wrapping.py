"""What corrupted sources share: they wrap a source, keep its count and labels, know what they spoiled."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.base import Source
from robustream.sources.checking import check_count, check_positive
from robustream.sources.corruption.units import Units, units_of
from robustream.sources.known import KnownOutliers, Mask, batch_at
from robustream.sources.randomness import generator_for

__all__ = ["Corrupted"]


class Corrupted(KnownOutliers):
    """A source whose batches are those of another one, spoiled."""

    def __init__(self, source: Source, magnitude: float, seed: int) -> None:
        if not isinstance(source, Source):
            raise InvalidInputError(f"source must be a Source, such as ArraySource(X); {type(source).__name__} came.")
        self.source = source
        self.magnitude = check_positive("magnitude", magnitude)
        self.seed = check_count("seed", seed, least=0)

    @property
    def count(self) -> int | None:
        """Give the number of batches of the wrapped source."""
        return self.source.count

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """Yield the batches from index `start` on."""
        for batch in self.source.batches(start=start):
            yield self._spoil(batch)

    def outlier_rows(self, index: int) -> Mask:
        """Tell for each row of a batch whether it was spoiled here or was an outlier before."""
        if isinstance(self.source, KnownOutliers):
            before = self.source.outlier_rows(index)
        else:
            before = np.zeros(batch_at(self.source, index).rows, dtype=bool)
        return before | self._spoiled_rows(index, before.size)

    @abstractmethod
    def _spoil(self, batch: Batch) -> Batch:
        """Give the batch with its garbage."""

    @abstractmethod
    def _spoiled_rows(self, index: int, rows: int) -> Mask:
        """Tell which rows of a batch are spoiled here."""

    def _generator(self, index: int, purpose: str) -> np.random.Generator:
        return generator_for(self.seed, index, f"{type(self).__name__} {purpose}")

    def _random_rows(self, index: int, rows: int, fraction: float) -> Mask:
        """Choose round(fraction * rows) rows; a larger fraction keeps those of a smaller one."""
        mask = np.zeros(rows, dtype=bool)
        mask[self._generator(index, "places").permutation(rows)[: round(fraction * rows)]] = True
        return mask

    @cached_property
    def _first(self) -> Batch:
        return batch_at(self.source, 0)

    @cached_property
    def _x_units(self) -> Units:
        return units_of(self._first.X)

    @cached_property
    def _y_units(self) -> Units | None:
        return None if self._first.y is None else units_of(self._first.y, target=True)
