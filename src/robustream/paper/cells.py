"""A cell is the least piece of work that is stored: some settings in, rows of a table out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Cell", "Memory", "Row"]

# One line of a result: names of settings and of what was measured.
Row: TypeAlias = dict[str, str | int | float | bool | None]
# What the cells of a group share while they run in one process; never stored.
Memory: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One piece of work.

    Parameters
    ----------
    group : cells of a group run one after another in one process and share what they keep in memory.
    name : unlike that of any other cell of the group.
    work : called with the settings and the shared memory; a function that a new process can import.
    settings : plain data.
    cost : seconds to be expected, for the time left.
    alone : whether nothing else may run meanwhile, since time is measured.
    """

    group: str
    name: str
    work: Callable[[Any, Memory], list[Row]]
    settings: Any
    cost: float = 1.0
    alone: bool = False
