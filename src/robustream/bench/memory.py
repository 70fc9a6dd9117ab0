"""Peak memory, each in a fresh process: what was freed before would otherwise hide what is used now."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.bench.figures import Figure, Target
from robustream.bench.fresh import run_fresh
from robustream.bench.timing import same_threads, say_threads
from robustream.kernels.trimmed import trimmed_covariance

__all__ = [
    "measure_stream_memory",
    "measure_trimmed_memory",
    "peak_above",
    "stream_peak",
    "trimmed_peak",
]

MEGABYTE = 1e6
HOW = "peak of the resident set in a fresh process, one run"
_CALL = "from robustream.bench import memory\nprint(json.dumps(memory.{name}(*arguments)))"


def measure_trimmed_memory(rows: int, columns: int, trim: float, threads: int, target: Target | None = None) -> Figure:
    """Return what `trimmed_covariance` needs beyond input and output, in multiples of one column."""
    extra = run_fresh(_CALL.format(name="trimmed_peak"), rows, columns, trim, threads)
    return Figure(
        "memory",
        f"trimmed_covariance, beyond input and output, {rows:,} x {columns} float32, {say_threads(threads)}",
        _number(extra) / (rows * np.dtype(np.float32).itemsize),
        "columns",
        target,
        HOW,
        {"bytes": extra},
    )


def measure_stream_memory(
    model: str, batches: int, rows: int, columns: int, threads: int, target: Target | None = None
) -> Figure:
    """Return what a model needs above the import and beyond one batch, over a stream."""
    # A first run leaves compiled code behind, as an earlier use of the library would have.
    run_fresh(_CALL.format(name="stream_peak"), model, 1, rows, columns, threads)
    peak = run_fresh(_CALL.format(name="stream_peak"), model, batches, rows, columns, threads)
    batch = rows * columns * np.dtype(np.float32).itemsize
    return Figure(
        "memory",
        f"{model}, above the import (with Numba) and one batch, {batches} batches of {rows:,} x {columns} float32",
        (_number(peak) - batch) / MEGABYTE,
        "MB",
        target,
        HOW,
        {"bytes": peak, "batch_bytes": batch},
    )


def trimmed_peak(rows: int, columns: int, trim: float, threads: int) -> int | None:
    """Return the bytes that `trimmed_covariance` needs beyond input and output; for a fresh process."""
    rng = np.random.default_rng(0)
    with same_threads(threads):
        # Code is compiled and threads are started on an input too small to leave memory behind.
        trimmed_covariance(rng.standard_normal((256, columns), dtype=np.float32), trim)
        X = np.empty((rows, columns), np.float32)
        rng.standard_normal(out=X, dtype=np.float32)
        output = columns * columns * X.itemsize
        peak = peak_above(lambda: trimmed_covariance(X, trim))
    return None if peak is None else max(0, peak - output)


def stream_peak(model: str, batches: int, rows: int, columns: int, threads: int) -> int | None:
    """Return the peak in bytes above the import of a model that sees a stream; for a fresh process.

    The library loads Numba when it is first needed; here that counts as part of the import.
    """
    import robustream.kernels._trimmed_tile  # noqa: F401
    from robustream.bench.streaming import MODELS

    estimator = MODELS[model]()
    rng = np.random.default_rng(0)

    def run() -> None:
        batch: NDArray[Any] = np.empty((rows, columns), np.float32)
        for _ in range(batches):
            rng.standard_normal(out=batch, dtype=np.float32)
            estimator.partial_fit(batch)
        _ = estimator.components_

    with same_threads(threads):
        return peak_above(run)


def peak_above(action: Callable[[], Any]) -> int | None:
    """Run an action and give how many bytes the resident set rose at most; None where no one can tell."""
    # On Linux this makes the present size the peak. Where it is refused an earlier peak stands, and the result is
    # too large rather than too small.
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _resident("VmRSS")
    action()
    after = _resident("VmHWM")
    return None if before is None or after is None else after - before


def _resident(field: str) -> int | None:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    return None if found is None else 1024 * int(found.group(1))


def _number(value: int | None) -> float:
    return math.nan if value is None else float(value)
