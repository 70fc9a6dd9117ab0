"""The list of measurements of `robustream bench distributed`, with their targets."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

from robustream.bench.distributed.gathering import measure_gathering, measure_gathering_memory
from robustream.bench.distributed.overhead import (
    measure_dask_overhead,
    measure_dask_replies,
    measure_local_overhead,
    measure_local_replies,
)
from robustream.bench.distributed.scaling import measure_two_workers
from robustream.bench.figures import Target
from robustream.bench.suite import Step

__all__ = ["distributed_steps"]

OVERHEAD_TARGET = Target("<=", 3)
LOCAL_REPLIES_TARGET = Target("<=", 1.15)
DASK_REPLIES_TARGET = Target("<=", 1.25)
SCALING_TARGET = Target(">=", 1.6)
# The budget, a reply that is being checked, and what Python itself takes on the way.
MEMORY_TARGET = Target("<=", 1.5)


def distributed_steps(*, quick: bool = False) -> list[Step]:
    """Return all measurements; those of Dask only where it is installed, smaller and fewer ones if quick."""
    repeats = 3 if quick else 7
    rows, partitions = (200_000, 500) if quick else (2_000_000, 2_000)
    steps = [
        Step("local engine, tasks that do nothing", partial(measure_local_overhead, 1_000, repeats, OVERHEAD_TARGET)),
        Step("local engine, large replies", partial(measure_local_replies, repeats, LOCAL_REPLIES_TARGET)),
    ]
    if find_spec("distributed") is not None:
        steps += [
            Step("Dask engine, tasks that do nothing", partial(measure_dask_overhead, 1_000, repeats, OVERHEAD_TARGET)),
            Step("Dask engine, large replies", partial(measure_dask_replies, repeats, DASK_REPLIES_TARGET)),
        ]
    steps.append(Step("two workers and one", partial(measure_two_workers, rows, 1 if quick else 3, SCALING_TARGET)))
    steps += [
        Step(f"gathering, {coordinates:,} coordinates", partial(measure_gathering, partitions, coordinates, "256 MB"))
        for coordinates in (1_000, 100_000)
    ]
    largest = 100_000 if quick else 1_000_000
    steps.append(
        Step("gathering, memory", partial(measure_gathering_memory, partitions, largest, 64, MEMORY_TARGET)),
    )
    return steps
