"""How pairs of columns are shared out: panels of columns for blocks of threads, groups of columns for threads."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from robustream.kernels.gpu.device import load_cupy, multiprocessors

__all__ = ["PART", "Plan", "plan_of"]

# As in the kernels: columns of a group, rows of a stage, most threads of a block.
SIDE, STAGE, THREADS = 4, 32, 352
# Up to as many columns one block of threads takes all pairs of them.
ONE_PANEL = 104
PANEL = 56
# A count over one stage out of so many comes before the count over all; it pays from so many rows on.
PART, ROWS_FOR_PART = 8, 1 << 15
# The places counted there, as multiples of the guess.
LOW, HIGH = 0.95, 1.05
# Stages that a block of threads takes at least.
FEWEST_STAGES = 4
# What may be collected at once.
WORKSPACE_BYTES = 4 << 30


class Plan(NamedTuple):
    """The arguments that the kernels of pairs have in common, in their order."""

    rows: int
    left_columns: int
    right_columns: int
    left_width: int
    right_width: int
    same: int
    triangle: int
    skip: int
    left_first: int
    left_stop: int

    @cache  # noqa: B019 - plans are few and small
    def arguments(self) -> tuple[Any, ...]:
        """Give the numbers as the kernels expect them."""
        return (np.int64(self.rows), *(np.int32(value) for value in self[1:]))

    @property
    def in_parts(self) -> bool:
        """Whether a part of the rows is counted first."""
        return self.rows >= ROWS_FOR_PART

    @cache  # noqa: B019
    def grid(self) -> tuple[int, int, int]:
        """Give parts of the rows, panels of left and of right columns."""
        left = -(-(self.left_stop - self.left_first) // self.left_width)
        right = -(-self.right_columns // self.right_width)
        panels = left * right if not self.triangle or self.same else left * (right + 1) // 2
        stages = -(-self.rows // (STAGE * self.skip))
        # A block for each place there is, or so many that the last ones to end are a small share.
        blocks = 2 * multiprocessors() if panels < 8 else 16 * multiprocessors()
        # With few rows what blocks leave behind is more work than the rows: a block takes some stages at least.
        most = max(1, min(-(-stages // FEWEST_STAGES), -(-blocks // panels)))
        # No more than are needed for as many stages each.
        return -(-stages // -(-stages // most)), left, right

    def threads(self) -> int:
        """Give the threads of a block."""
        return len(_tiles(self.left_width, self.right_width, self.same))

    def tiles(self) -> Any:
        """Give the groups of columns of each thread."""
        return _device_tiles(self.left_width, self.right_width, self.same)

    def buffer_bytes(self, real: Any) -> int:
        """Give the shared memory for two stages of rows."""
        pitch = self.left_width if self.same else self.left_width + self.right_width
        return 2 * STAGE * pitch * np.dtype(real).itemsize

    @cache  # noqa: B019
    def collecting_bytes(self, real: Any) -> int:
        """Give the shared memory for the pass that collects: sums, counts and cursors as well."""
        return self.threads() * (SIDE * SIDE + 1) * (8 + 4 + 2) + self.buffer_bytes(real)

    def doubt(self) -> float:
        """Give by what share the slope of a threshold may be wrong."""
        return 0.22 if self.in_parts else 0.2

    @cache  # noqa: B019
    def capacity(self, kept: int) -> int:
        """Give how many products a part of the rows may have inside a bracket: more than almost ever."""
        share = kept / self.rows
        counted = self.rows / PART if self.in_parts else 2048
        off = 3.5 * np.sqrt(share * (1 - share) / counted)
        inside = 2.5 * self.rows * (self.doubt() * off + 5 * np.sqrt(off / self.rows) + 4 / self.rows) / self.grid()[0]
        return min(8 * int(2 + (inside + 6 * np.sqrt(inside)) / 8), 65_000)

    def fragment_bytes(self, kept: int, real: Any) -> int:
        """Give the memory for what the pass that collects leaves behind."""
        pairs = (self.left_stop - self.left_first) * self.right_columns
        return self.grid()[0] * pairs * (8 + 4 + 2 + np.dtype(real).itemsize * self.capacity(kept))

    @cache  # noqa: B019
    def slabs(self, kept: int, real: Any) -> list[Plan]:
        """Cut the left columns so that what is collected for a slab fits into the workspace."""
        if self.same:
            return [self]
        for panels in range(-(-self.left_columns // self.left_width), 0, -1):
            columns = panels * self.left_width
            trial = self._replace(left_stop=min(self.left_columns, columns))
            if panels == 1 or trial.fragment_bytes(kept, real) <= WORKSPACE_BYTES:
                break
        return [
            self._replace(left_first=first, left_stop=min(first + columns, self.left_columns))
            for first in range(0, self.left_columns, columns)
        ]


@cache
def plan_of(rows: int, left_columns: int, right_columns: int, triangle: bool) -> Plan:
    """Plan the work on tables of some size; a triangle of pairs where both are the same."""
    same = triangle and left_columns <= ONE_PANEL
    most = ONE_PANEL if same else PANEL
    widths = _width(left_columns, most), _width(right_columns, most)
    return Plan(rows, left_columns, right_columns, *widths, int(same), int(triangle), 1, 0, left_columns)


def _width(columns: int, most: int) -> int:
    """Give the columns of a panel: panels of about the same width, in whole groups."""
    panels = -(-columns // most)
    return -(-columns // (panels * SIDE)) * SIDE


@cache
def _tiles(left_width: int, right_width: int, same: int) -> tuple[int, ...]:
    """Give the groups that each thread works on: the left one in the upper half of a number."""
    lefts, rights = left_width // SIDE, right_width // SIDE
    tiles = tuple(i << 16 | j for i in range(lefts) for j in range(i if same else 0, rights))
    assert len(tiles) <= THREADS
    return tiles


@cache
def _device_tiles(left_width: int, right_width: int, same: int) -> Any:
    return load_cupy().asarray(np.array(_tiles(left_width, right_width, same), np.int32))
