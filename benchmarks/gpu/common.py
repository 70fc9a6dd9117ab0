"""What the GPU benchmarks share: events, medians, floors, and the table of results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import numpy as np

FLOAT = np.float32


def milliseconds(work: Callable[[], Any], repeats: int = 11, warm: int = 2) -> float:
    """Give the median time of some work by the device's own events, after warming up."""
    for _ in range(warm):
        work()
    times = []
    for _ in range(repeats):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end))
    return float(np.median(times))


class Floors:
    """The two rates that bound everything, measured on this device now."""

    def __init__(self) -> None:
        source = cupy.random.standard_normal(1 << 30, dtype=FLOAT)
        target = cupy.empty_like(source)
        self.copy = 2 * source.nbytes / milliseconds(lambda: cupy.copyto(target, source)) / 1e9
        self.read = source.nbytes / milliseconds(source.sum) / 1e9
        square = source[: 8192 * 8192].reshape(8192, 8192)
        self.single = 2 * 8192**3 / milliseconds(lambda: square @ square, 5) / 1e9
        double = square.astype(np.float64)
        self.double = 2 * 8192**3 / milliseconds(lambda: double @ double, 3) / 1e9
        properties = cupy.cuda.runtime.getDeviceProperties(0)
        # One instruction a cycle for each of four schedulers; each works on 32 numbers.
        self.issue = (
            properties["multiProcessorCount"] * 4 * 32 * properties["clockRate"] * 1e3
            if ("clockRate" in properties)
            else properties["multiProcessorCount"] * 4 * 32 * 1.98e9
        )
        self.name = properties["name"].decode()

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("copy, read and written", f"{self.copy:.2f} TB/s"),
            ("read alone (a sum)", f"{self.read:.2f} TB/s"),
            ("float32 matrix product, 8192", f"{self.single:.1f} TFLOP/s"),
            ("float64 matrix product, 8192", f"{self.double:.1f} TFLOP/s"),
            ("instructions times 32 lanes", f"{self.issue / 1e12:.1f} T/s"),
        ]


class Results:
    """Lines of a Markdown table, printed as they come and written at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lines = folder, []
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, what: str, figure: str, floor: str = "", share: str = "", note: str = "") -> None:
        self.lines.append((what, figure, floor, share, note))
        print(" | ".join(self.lines[-1]), flush=True)
        (self.folder / "results.json").write_text(json.dumps(self.lines, indent=1))
        head = ("what", "measured", "floors", "share of them", "remark")
        table = "\n".join(f"| {' | '.join(line)} |" for line in (head, ("---",) * len(head), *self.lines))
        (self.folder / "results.md").write_text(table + "\n")
