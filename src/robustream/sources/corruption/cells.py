"""Single bad cells: typing errors, flaky sensors. Few cells can spoil most rows."""

from __future__ import annotations

import numpy as np

from robustream.batch import Batch
from robustream.sources.base import Source
from robustream.sources.checking import check_fraction
from robustream.sources.corruption.wrapping import Corrupted
from robustream.sources.known import Mask, batch_at

__all__ = ["CorruptedCells"]


class CorruptedCells(Corrupted):
    """A source in which single cells of X are far off; y is left alone.

    Parameters
    ----------
    source : the source to spoil.
    fraction : share of bad cells; exactly round(fraction * cells) of each batch.
    magnitude : their distance from the column's center, on either side, in units of the column's spread in
        the first batch.
    seed : for places and signs.

    Examples
    --------
    >>> from robustream.sources import SimulatedPCA
    >>> source = CorruptedCells(SimulatedPCA(batches=2, rows=50, columns=10, components=1), 0.02)
    >>> int(source.bad_cells(1).sum())
    10
    """

    def __init__(self, source: Source, fraction: float = 0.02, *, magnitude: float = 10.0, seed: int = 0) -> None:
        super().__init__(source, magnitude, seed)
        self.fraction = check_fraction("fraction", fraction)

    def bad_cells(self, index: int) -> Mask:
        """Tell for each cell of a batch whether it was spoiled here."""
        return self._cells(index, batch_at(self.source, index).rows)

    def _cells(self, index: int, rows: int) -> Mask:
        columns = self._first.X.shape[1]
        return self._random_rows(index, rows * columns, self.fraction).reshape(rows, columns)

    def _spoiled_rows(self, index: int, rows: int) -> Mask:
        return np.asarray(self._cells(index, rows).any(axis=1))

    def _spoil(self, batch: Batch) -> Batch:
        bad = self._cells(batch.index, batch.rows)
        rng = self._generator(batch.index, "signs")
        signs = rng.choice([-1.0, 1.0], size=batch.X.shape)
        garbage = self._x_units.write(self.magnitude * signs, batch.X.dtype)
        return batch._replace(X=np.where(bad, garbage, batch.X))
