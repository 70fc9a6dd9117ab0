"""How long a run will take, and how much of that is left."""

from __future__ import annotations

from collections.abc import Iterable

from robustream.paper.cells import Cell

__all__ = ["Remaining", "in_words"]


class Remaining:
    """What is to be expected of cells that run several at a time, or alone.

    Parameters
    ----------
    cells : the cells to be run.
    jobs : processes.

    >>> cells = [Cell("a", "1", print, None, cost=30), Cell("b", "1", print, None, cost=30)]
    >>> remaining = Remaining([*cells, Cell("c", "1", print, None, cost=10, alone=True)], jobs=2)
    >>> remaining.total
    40.0
    >>> remaining.finish(cells[0])
    15.0
    >>> remaining.seconds_left(elapsed=30.0)
    50.0
    """

    def __init__(self, cells: Iterable[Cell], jobs: int) -> None:
        listed = list(cells)
        groups = {cell.group for cell in listed if not cell.alone}
        self._at_once = max(1, min(jobs, len(groups)))
        self.total = sum(self._seconds(cell) for cell in listed)
        self.done = 0.0

    def _seconds(self, cell: Cell) -> float:
        return cell.cost if cell.alone else cell.cost / self._at_once

    def finish(self, cell: Cell) -> float:
        """Count a cell as done; gives the seconds that were expected for it."""
        seconds = self._seconds(cell)
        self.done += seconds
        return seconds

    @property
    def share(self) -> float:
        """The share of the work that is done."""
        return self.done / self.total if self.total else 1.0

    def seconds_left(self, elapsed: float) -> float:
        """Give the time left, if the rest is as slow or fast against expectation as what was done."""
        pace = elapsed / self.done if self.done else 1.0
        # Sums of many parts may miss the total by a rounding error.
        return max(0.0, pace * (self.total - self.done))


def in_words(seconds: float) -> str:
    """Say a time as people do.

    >>> in_words(41.6), in_words(95), in_words(7500)
    ('42 s', '2 min', '2 h 05 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
