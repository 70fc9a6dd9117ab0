"""What callbacks are told after each batch, and the progress bar, which is one of them."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

from robustream.batch import Estimate

__all__ = ["Callback", "FitEvent", "ProgressBar"]


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


class ProgressBar:
    """Shows batches, rows a second and the time left, on standard error so that results can be piped."""

    def __init__(self, title: str, *, console: object = None) -> None:
        # rich takes a while to import, and most runs show nothing.
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        chosen = console if isinstance(console, Console) else Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("batches, {task.fields[rows]:,} rows{task.fields[failed]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=chosen,
        )
        self._task = self._progress.add_task(title, total=None, rows=0, failed="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, event: FitEvent) -> None:
        """Show where the run stands."""
        failed = f", {event.failed} failed" if event.failed else ""
        self._progress.update(self._task, completed=event.batches, total=event.total, rows=event.rows, failed=failed)
