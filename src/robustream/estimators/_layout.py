"""What a run must know of its table before the first batch."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

__all__ = ["Layout"]


class Layout(NamedTuple):
    """The shape of a table: with an estimator's parameters it determines the whole plan of a run."""

    columns: int
    outputs: int = 0  # columns of y; 0 where there is none
    single: bool = True  # whether y came as one column, so that answers have no axis for outputs
    classes: NDArray[Any] | None = None  # of a classifier, sorted
