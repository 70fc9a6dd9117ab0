"""What a case gives for a seed: batches, which of their rows are clean, and the truth behind them."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "DirtyBatch", "Mask", "Sample"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class DirtyBatch(NamedTuple):
    """Rows as a method gets them, and what it does not get.

    `clean` marks the rows without any dirt. `unspoiled` is X before single cells were spoiled, where that happened.
    """

    X: Array
    y: Array | None
    clean: Mask
    unspoiled: Array | None = None


class Sample:
    """The batches of a case for one seed.

    Parameters
    ----------
    batches : at least one; a single one is a table.
    truth : the coefficients, or an orthonormal basis (columns x components) of the leading subspace.
    law : degrees of freedom of the t law of the clean noise (regression) or rows (PCA); infinite for any other.
    standardize : whether the subspace is one of columns of unit variance.
    """

    def __init__(
        self, batches: tuple[DirtyBatch, ...], truth: Array, law: float = math.inf, *, standardize: bool = False
    ) -> None:
        self.batches = batches
        self.truth = truth
        self.law = law
        self.standardize = standardize

    @property
    def components(self) -> int:
        """The dimension of the true subspace."""
        return self.truth.shape[1]

    @cached_property
    def X(self) -> Array:  # noqa: N802
        """All rows."""
        return np.concatenate([batch.X for batch in self.batches])

    @cached_property
    def y(self) -> Array:
        """All targets."""
        return np.concatenate([_present(batch.y) for batch in self.batches])

    @cached_property
    def clean_X(self) -> Array:  # noqa: N802
        """The rows that the oracle gets: the clean ones, and those with bad cells as they were before."""
        return np.concatenate([b.X[b.clean] if b.unspoiled is None else b.unspoiled for b in self.batches])

    @cached_property
    def clean_y(self) -> Array:
        """The targets of `clean_X`."""
        return np.concatenate([_present(b.y)[b.clean | (b.unspoiled is not None)] for b in self.batches])

    def thinned(self, most_rows: int) -> Sample:
        """Return the sample with evenly spaced rows only, not many more than that, in the same batches."""
        step = math.ceil(len(self.X) / most_rows)
        return Sample(
            tuple(_every(batch, step) for batch in self.batches), self.truth, self.law, standardize=self.standardize
        )


def _every(batch: DirtyBatch, step: int) -> DirtyBatch:
    y, unspoiled = (None if part is None else part[::step] for part in (batch.y, batch.unspoiled))
    return DirtyBatch(batch.X[::step], y, batch.clean[::step], unspoiled)


def _present(y: NDArray[Any] | None) -> NDArray[Any]:
    assert y is not None, "only samples of a regression have targets"
    return y
