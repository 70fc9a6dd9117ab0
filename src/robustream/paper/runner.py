"""Run the cells that are not in the store yet, several groups at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from itertools import groupby
from multiprocessing import connection, get_context, parent_process
from threading import Thread

from robustream.bench.environment import describe_environment
from robustream.bench.timing import same_threads
from robustream.paper.cells import Cell, Memory
from robustream.paper.store import Store

__all__ = ["missing_cells", "run_cells"]

# How often the store is looked at for what the workers have finished, in seconds.
LOOK = 0.25


def missing_cells(cells: Iterable[Cell], store: Store) -> list[Cell]:
    """Give the cells that are still to be done, each once, those that must run alone last."""
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
        environment = describe_environment(threads)
        for cell in cells:
            if not store.has(cell):
                store.write(cell, cell.work(cell.settings, memory), environment)
            advance(cell)


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
