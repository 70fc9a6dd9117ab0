"""What callbacks are told after each batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from robustream.batch import Estimate

__all__ = ["Callback", "FitEvent"]


class FitEvent(NamedTuple):
    """Where a run stands after a batch.

    `model` is the estimator itself: its fitted attributes can be read, as of now, at the cost of working them out.
    """

    model: Any
    batches: int
    total: int | None  # batches in all, None if that is unknown
    rows: int
    failed: int  # batches that gave no estimate so far
    estimate: Estimate


# A callback that returns True ends the run after this batch; what was learned so far is the answer.
Callback: TypeAlias = Callable[[FitEvent], bool | None]
