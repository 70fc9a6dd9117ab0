"""Whole bad batches: a broken sensor, a corrupt file, a hostile site."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.base import Source
from robustream.sources.checking import check_choice, check_fraction
from robustream.sources.corruption.wrapping import Corrupted
from robustream.sources.known import Mask, batch_at
from robustream.sources.spread import place_batches

__all__ = ["BATCH_KINDS", "CorruptedBatches"]

BATCH_KINDS = ("random", "colluding", "constant", "stale")

# The wrong subspace has this many directions, each with half the variance of the one before: then all batches
# agree on the leading d of them, whatever number d a learner asks for.
_WRONG_DIRECTIONS = 10
_WRONG_NOISE = 0.1

Scores = NDArray[np.float64]


class CorruptedBatches(Corrupted):
    """A source in which some batches are garbage as a whole, and the others are as they were.

    Parameters
    ----------
    source : the source to spoil; the number of its batches must be known.
    fraction : share of bad batches; exactly round(fraction * count) are bad.
    kind : "random": rows without structure, new ones in each batch; "colluding": all bad batches agree on one
        wrong subspace or, where there is a y, on one wrong coefficient vector, with large x; "constant": all
        rows are one and the same, in all bad batches; "stale": copies of the first good batch.
    order : where the bad batches stand: "random", "first", "last", "burst", "alternating"; see
        `place_batches`.
    level : share of the rows of a bad batch that are replaced.
    magnitude : size of the garbage, in units of each column's spread in the first batch.
    seed : for the garbage and the random order.

    Attributes
    ----------
    bad_indices : the indices of the bad batches, increasing.

    Examples
    --------
    >>> from robustream.sources import SimulatedPCA
    >>> clean = SimulatedPCA(batches=10, rows=20, columns=4, components=1)
    >>> CorruptedBatches(clean, 0.3, "colluding", order="burst").bad_indices
    array([3, 4, 5])
    """

    def __init__(
        self,
        source: Source,
        fraction: float = 0.4,
        kind: str = "random",
        order: str = "random",
        *,
        level: float = 1.0,
        magnitude: float = 10.0,
        seed: int = 0,
    ) -> None:
        super().__init__(source, magnitude, seed)
        self.fraction = check_fraction("fraction", fraction)
        self.kind = check_choice("kind", kind, BATCH_KINDS)
        self.order = order
        self.level = check_fraction("level", level)
        if source.count is None:
            raise InvalidInputError(
                "source must have a known number of batches, so that a share can be chosen; its count is None. "
                "For an unbounded source use CorruptedRows or CorruptedCells."
            )
        self.bad_indices = place_batches(round(self.fraction * source.count), source.count, order=order, seed=self.seed)

    @property
    def wrong_basis(self) -> Scores:
        """Give the subspace on which colluding batches agree but for noise: p x r, leading directions first."""
        factor = self._x_units.scale[:, None] * self._wrong_directions * self._wrong_deviations
        return np.linalg.svd(factor, full_matrices=False)[0]

    @property
    def wrong_coef(self) -> Scores:
        """Give the coefficients on which colluding batches agree, in the shape of a fitted model's."""
        if self._y_units is None:
            raise InvalidInputError("wrong_coef needs a source with y; this one has none.")
        return np.asarray((self._wrong_weights * self._y_units.scale).T / self._x_units.scale)

    def _spoil(self, batch: Batch) -> Batch:
        if batch.index not in self.bad_indices:
            return batch
        bad = self._spoiled_rows(batch.index, batch.rows)
        X, y = batch.X.copy(), None if batch.y is None else batch.y.copy()
        if self.kind == "stale":
            repeated = np.arange(batch.rows)[bad] % self._stale.rows
            X[bad] = self._stale.X[repeated]
            if y is not None and self._stale.y is not None:
                y[bad] = self._stale.y[repeated]
            return batch._replace(X=X, y=y)
        x_scores, y_scores = self._garbage(batch.index, int(bad.sum()), None if y is None else y.shape[1:])
        X[bad] = self._x_units.write(x_scores, X.dtype)
        if y is not None and y_scores is not None and self._y_units is not None:
            y[bad] = self._y_units.write(y_scores, y.dtype)
        return batch._replace(X=X, y=y)

    def _spoiled_rows(self, index: int, rows: int) -> Mask:
        return self._random_rows(index, rows, self.level if index in self.bad_indices else 0.0)

    def _garbage(self, index: int, rows: int, outputs: tuple[int, ...] | None) -> tuple[Scores, Scores | None]:
        """Make bad rows in units of the data."""
        rng = self._generator(index, "garbage")
        columns = self._x_units.center.size
        if self.kind == "constant":
            common = self._generator(0, "constant row")
            x_row = self.magnitude * common.choice([-1.0, 1.0], columns)
            X = np.tile(x_row, (rows, 1))
            if outputs is None:
                return X, None
            return X, np.full((rows, *outputs), self.magnitude * common.choice([-1.0, 1.0], outputs))
        if outputs is None and self.kind == "colluding":
            scores = rng.standard_normal((rows, self._wrong_deviations.size)) * self._wrong_deviations
            return scores @ self._wrong_directions.T + rng.standard_normal((rows, columns)), None
        X = self.magnitude * rng.uniform(-1.0, 1.0, (rows, columns))
        if outputs is None or self._y_units is None:
            return X, None
        if self.kind == "random":
            return X, self._y_units.random(rng, (rows, *outputs), self.magnitude)
        return X, X @ self._wrong_weights + _WRONG_NOISE * rng.standard_normal((rows, *outputs))

    @cached_property
    def _wrong_directions(self) -> Scores:
        columns = self._x_units.center.size
        directions = self._generator(0, "wrong subspace").standard_normal((columns, min(columns, _WRONG_DIRECTIONS)))
        return np.linalg.qr(directions)[0]

    @property
    def _wrong_deviations(self) -> Scores:
        return self.magnitude * np.sqrt(0.5) ** np.arange(self._wrong_directions.shape[1])

    @cached_property
    def _wrong_weights(self) -> Scores:
        """Columns (x outputs), of unit length: the wrong y is about as large for its x as the right one."""
        first_y: NDArray[Any] = np.zeros(0) if self._first.y is None else self._first.y
        weights = self._generator(0, "wrong weights").standard_normal((self._first.X.shape[1], *first_y.shape[1:]))
        return np.asarray(weights / np.linalg.norm(weights, axis=0))

    @cached_property
    def _stale(self) -> Batch:
        """The first good batch or, if there is none, the first."""
        good = np.setdiff1d(np.arange(self.count or 0), self.bad_indices)
        return batch_at(self.source, int(good[0]) if good.size else 0)
