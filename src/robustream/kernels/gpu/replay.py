"""Small tables: the launches of all kernels are recorded once and replayed with one call.

With few rows the host takes longer to launch the kernels one by one than the GPU takes to run them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from robustream.kernels.gpu.device import load_cupy
from robustream.kernels.gpu.plan import Plan, plan_of

__all__ = ["SMALL_BYTES", "Workspace", "replayed"]

# Up to this size a table is copied into the place that a recording reads from.
SMALL_BYTES = 1 << 23
_RECORDINGS = 4


class Workspace(NamedTuple):
    """All memory that the passes over a pair of tables need, results included."""

    means: Any
    limits: Any  # thresholds, slopes and the two ends of the brackets
    numbers: Any  # two tables of counts, and last the number of pairs that failed
    failed: Any  # which they are, in no order
    sample: Any
    findings: Any

    def missed(self) -> Any:
        """Give the pairs that failed, in order; this waits for the GPU."""
        count = int(self.numbers[-1:].get()[0])
        return load_cupy().sort(self.failed[:count]) if count else ()


class _Recording:
    """The passes over a table of one shape, at one place in memory."""

    def __init__(
        self, plan: Plan, dtype: Any, kept: int, prepare: Callable[..., Any], run: Callable[..., None]
    ) -> None:
        cupy = load_cupy()
        self.lock = threading.Lock()
        self.table = cupy.zeros((plan.rows, plan.left_columns), dtype)
        self.work: Workspace = prepare(plan, kept, dtype)
        self.stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.get_current_stream().synchronize()
        with self.stream:
            # Once without recording, so that everything is compiled and in place.
            run(plan, self.table, self.table, kept, self.work)
            self.stream.synchronize()
            self.stream.begin_capture()
            run(plan, self.table, self.table, kept, self.work)
            self.graph = self.stream.end_capture()

    def play(self, table: Any) -> tuple[Any, Any]:
        with self.lock:
            self.table.data.copy_from_device_async(table.data, table.nbytes)
            self.graph.launch()
            means = self.work.means.copy()
            return means, self.work.missed()


def replayed(table: Any, kept: int, prepare: Callable[..., Any], run: Callable[..., None]) -> tuple[Any, Any]:
    """Give the means of all pairs of columns of a small table, and the pairs that failed."""
    device = int(load_cupy().cuda.Device().id)
    return _recording(device, table.shape, np.dtype(table.dtype).char, kept, prepare, run).play(table)


@lru_cache(_RECORDINGS)
def _recording(
    device: int, shape: tuple[int, int], char: str, kept: int, prepare: Callable[..., Any], run: Callable[..., None]
) -> _Recording:
    return _Recording(plan_of(*shape, shape[1], True), np.dtype(char), kept, prepare, run)
