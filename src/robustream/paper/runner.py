"""Run the cells that are not in the store yet, several groups at a time, and say how long the rest will take."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from functools import cache
from hashlib import sha256
from itertools import groupby
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from threading import Thread

from robustream.bench.measurement import describe_environment, same_threads
from robustream.paper.results import Cell, Memory, Store

__all__ = ["Remaining", "in_words", "missing_cells", "run_cells"]


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
        """Return the time left, if the rest is as slow or fast against expectation as what was done."""
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


# How often the store is looked at for what the workers have finished, in seconds.
LOOK = 0.25


def missing_cells(cells: Iterable[Cell], store: Store) -> list[Cell]:
    """Return the cells that are still to be done, each once, those that must run alone last."""
    unique = {(cell.group, cell.name): cell for cell in cells}
    left = [cell for cell in unique.values() if not store.has(cell)]
    return sorted(left, key=lambda cell: cell.alone)


def run_cells(
    cells: Iterable[Cell], store: Store, jobs: int = 1, advance: Callable[[Cell], None] = lambda cell: None
) -> None:
    """Work out what is missing and store it cell by cell; `advance` is called after each cell, here.

    Parameters
    ----------
    cells : the cells wanted; those in the store are not run again.
    store : where results go.
    jobs : groups to work on at once, each in a process of its own; 1 for this process.
    advance : called with each cell that is done.
    """
    left = missing_cells(cells, store)
    together = _groups([cell for cell in left if not cell.alone])
    alone = [cell for cell in left if cell.alone]
    if jobs > 1 and len(together) > 1:
        _run_groups_elsewhere(together, store, min(jobs, len(together)), advance)
    else:
        for group in together:
            _run_group(group, store, advance)
    for group in _groups(alone):
        _run_group(group, store, advance)


def _groups(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Gather cells by group, those that take longest first, so that no worker is left with a long one at the end."""
    ordered = sorted(cells, key=lambda cell: cell.group)
    groups = [list(group) for _, group in groupby(ordered, key=lambda cell: cell.group)]
    return sorted(groups, key=lambda group: -sum(cell.cost for cell in group))


def _run_group(cells: Sequence[Cell], store: Store, advance: Callable[[Cell], None] = lambda cell: None) -> None:
    memory: Memory = {}
    # Matrices this small only lose time to threads, and the other cores have groups of their own; who is alone has all.
    threads = (os.cpu_count() or 1) if cells[0].alone else 1
    with same_threads(threads):
        environment = {**describe_environment(threads), "source": _fingerprint()}
        for cell in cells:
            if not store.has(cell):
                store.write(cell, cell.work(cell.settings, memory), environment)
            advance(cell)


@cache
def _fingerprint() -> str:
    """Return a short hash of the package's source, so that a page tells which code made it."""
    folder = Path(__file__).parents[1]
    found = sha256()
    for path in sorted(folder.rglob("*.py")):
        found.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:8]


def _run_groups_elsewhere(groups: list[list[Cell]], store: Store, jobs: int, advance: Callable[[Cell], None]) -> None:
    waiting = {(cell.group, cell.name): cell for group in groups for cell in group}

    def report() -> None:
        for key, cell in list(waiting.items()):
            if store.has(cell):
                advance(waiting.pop(key))

    # Fresh processes: a fork of one that has threads may hang.
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_end_with_parent) as pool:
        futures: set[Future[None]] = {pool.submit(_run_group, group, store) for group in groups}
        try:
            while futures:
                done, futures = wait(futures, timeout=LOOK)
                report()
                for future in done:
                    future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """End this worker when the process that started it is gone, however it went."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()
