"""Bad rows among good ones: the common kinds of outliers, made from the rows that they replace."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.sources.base import Source
from robustream.sources.checking import check_choice, check_fraction
from robustream.sources.corruption.wrapping import Corrupted
from robustream.sources.known import Mask

__all__ = ["ROW_KINDS", "CorruptedRows"]

Scores = NDArray[np.float64]
ROW_KINDS = ("leverage", "cluster", "shift", "sign-flip", "scale")


class CorruptedRows(Corrupted):
    """A source in which some rows of each batch are outliers.

    Parameters
    ----------
    source : the source to spoil.
    fraction : share of bad rows; exactly round(fraction * rows) of each batch.
    kind : "leverage": far out, with the relation to y reversed (without y, with the columns reversed);
        "cluster": close to one far point; "shift": y moved up (without y, all columns); "sign-flip": y
        mirrored (without y, half of the cells of x); "scale": x stretched, y as it was.
    magnitude : how far, in units of each column's spread in the first batch.
    seed : for places and garbage.

    Examples
    --------
    >>> from robustream.sources import SimulatedRegression
    >>> source = CorruptedRows(SimulatedRegression(batches=2, rows=50, columns=3), 0.1, "shift")
    >>> int(source.outlier_rows(0).sum())
    5
    """

    def __init__(
        self,
        source: Source,
        fraction: float = 0.1,
        kind: str = "leverage",
        *,
        magnitude: float = 10.0,
        seed: int = 0,
    ) -> None:
        super().__init__(source, magnitude, seed)
        self.fraction = check_fraction("fraction", fraction)
        self.kind = check_choice("kind", kind, ROW_KINDS)

    def _spoiled_rows(self, index: int, rows: int) -> Mask:
        return self._random_rows(index, rows, self.fraction)

    def _spoil(self, batch: Batch) -> Batch:
        bad = self._spoiled_rows(batch.index, batch.rows)
        X, y, y_units = batch.X.copy(), None if batch.y is None else batch.y.copy(), self._y_units
        x_scores = self._x_units.read(X[bad])
        y_scores = None if y is None or y_units is None else y_units.read(y[bad])
        x_scores, y_scores = self._change(batch.index, x_scores, y_scores)
        X[bad] = self._x_units.write(x_scores, X.dtype)
        if y is not None and y_units is not None and y_scores is not None:
            y[bad] = y_units.write(y_scores, y.dtype)
        return batch._replace(X=X, y=y)

    def _change(self, index: int, x: Scores, y: Scores | None) -> tuple[Scores, Scores | None]:
        """Make outliers of rows in units of the data, where 0 is a column's center and 1 its spread."""
        rng, magnitude = self._generator(index, "garbage"), self.magnitude
        if self.kind == "leverage":
            return (magnitude * x[:, ::-1], None) if y is None else (magnitude * x, -magnitude * y)
        if self.kind == "cluster":
            # From the generator of no batch in particular: the cluster stands at the same place in all.
            common = self._generator(0, "common point")
            x_point = magnitude * common.choice([-1.0, 1.0], size=x.shape[1:])
            x = x_point + 0.1 * rng.standard_normal(x.shape)
            if y is None:
                return x, None
            y_point = magnitude * common.choice([-1.0, 1.0], size=y.shape[1:])
            return x, y_point + 0.1 * rng.standard_normal(y.shape)
        if self.kind == "shift":
            return (x + magnitude, None) if y is None else (x, y + magnitude)
        if self.kind == "sign-flip":
            if y is not None:
                return x, -y
            mirrored = rng.permuted(np.broadcast_to(np.arange(x.shape[1]), x.shape), axis=1) < (x.shape[1] + 1) // 2
            return np.where(mirrored, -x, x), None
        return magnitude * x, y
