"""A progress bar for terminals and notebooks, on standard error so that results can be piped."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from robustream.fitting.events import FitEvent

__all__ = ["ProgressBar"]


class ProgressBar:
    """Shows batches, rows a second and the time left; a context manager and a callback."""

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
