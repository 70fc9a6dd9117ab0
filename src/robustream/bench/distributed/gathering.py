"""What the gatherer needs for each reply, in time and memory, with as many partitions and coordinates as one likes.

The partitions are simulated: a reply is made in place of a node's work, and everything after that is the real thing
(checksum, checks, aggregator).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustream.aggregators import Filtered
from robustream.batch import Batch
from robustream.bench.figures import Figure, Target
from robustream.bench.fresh import run_fresh
from robustream.bench.memory import peak_above
from robustream.engines import InProcessEngine
from robustream.learners.base import Learner
from robustream.runs.distributed import gather
from robustream.runs.online import Plan, begin, settle
from robustream.sources.base import Partition
from robustream.spaces import Euclidean, Part, Parts, Point, ProductSpace

__all__ = ["gather_peak", "measure_gathering", "measure_gathering_memory"]

GROUP = "gathering"
MEGABYTE = 1_000_000


def measure_gathering(partitions: int, coordinates: int, budget: str) -> Figure:
    """Time the gatherer for each reply, and the answer at the end."""
    found = run_fresh(_CODE, partitions, coordinates, budget)
    return Figure(
        GROUP,
        f"{partitions:,} replies of {coordinates:,} coordinates: gatherer's time for each",
        1000 * found["seconds"] / partitions,
        "ms",
        None,
        "one run in a fresh process, less the time in which replies are made",
        found,
    )


def measure_gathering_memory(partitions: int, coordinates: int, megabytes: int, target: Target) -> Figure:
    """Measure how far the gatherer's memory rises, in multiples of the aggregator's budget."""
    found = run_fresh(_CODE, partitions, coordinates, f"{megabytes} MB")
    peak = found["peak"]
    return Figure(
        GROUP,
        f"{partitions:,} replies of {coordinates:,} coordinates, {megabytes} MB kept: peak memory over that",
        math.nan if peak is None else peak / (megabytes * MEGABYTE),
        "x",
        target,
        "one run in a fresh process, until the answer is asked for",
        found,
    )


_CODE = """
import json
from robustream.bench.distributed.gathering import gather_peak
print(json.dumps(gather_peak(*arguments)))
"""


@dataclass(frozen=True)
class _Drawing(Learner):
    """Draws a point instead of learning one."""

    coordinates: int

    def space(self, n_columns: int, n_outputs: int) -> ProductSpace:
        return Parts((Part("point", Euclidean((self.coordinates,))),))

    def required_rows(self, n_columns: int) -> int:
        return 1

    def minimum_rows(self, n_columns: int) -> int:
        return 1

    def solve(self, batch: Batch, rng: np.random.Generator) -> Point:
        return (rng.standard_normal(self.coordinates, dtype=np.float32),)


@dataclass(frozen=True)
class _Simulated(Partition):
    first_index: int
    count: int = 1

    @property
    def label(self) -> str:  # type: ignore[override]
        return f"node {self.first_index}"

    def read(self, start: int = 0) -> Iterator[Batch]:
        yield Batch(self.first_index, self.label, np.zeros((1, 1)))


def gather_peak(partitions: int, coordinates: int, budget: str) -> dict[str, Any]:
    """Gather simulated replies; give seconds, bytes, and how far memory rose in each phase; for a fresh process."""
    plan = Plan(_Drawing(coordinates), Filtered(budget=budget))
    nodes = [_Simulated(index) for index in range(partitions)]
    found: dict[str, Any] = {}
    stream = begin(plan, 1, 0)

    def fold() -> None:
        nonlocal stream
        started = time.perf_counter()
        stream, report = gather(plan, stream, nodes, InProcessEngine())
        found["gathered"] = time.perf_counter() - started
        found["working"] = sum(record.seconds for record in report.records)
        found["bytes"] = sum(record.size for record in report.records)

    def answer() -> None:
        started = time.perf_counter()
        settle(plan, stream)
        found["settled"] = time.perf_counter() - started

    found["peak"] = peak_above(fold)
    found["answer_peak"] = peak_above(answer)
    found["seconds"] = found["gathered"] - found["working"]
    return found
