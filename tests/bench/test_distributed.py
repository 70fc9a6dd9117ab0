"""The measurements of engines run, and give figures of the right kind."""

from __future__ import annotations

import math

from robustream.bench.distributed import (
    distributed_steps,
    gather_peak,
    measure_gathering_memory,
    measure_local_overhead,
    measure_two_workers,
)
from robustream.bench.measurement import Target


def test_every_demand_has_a_measurement():
    titles = [step.title for step in distributed_steps()]
    assert len(titles) == len(set(titles))
    for word in ("local engine, tasks", "local engine, large", "Dask engine, tasks", "two workers", "memory"):
        assert any(word in title for title in titles), word


def test_the_overhead_is_a_ratio():
    figure = measure_local_overhead(20, 1, Target("<=", 1000))
    assert figure.met
    assert figure.unit == "x"
    assert figure.details["tasks"] == 20


def test_two_workers_are_compared_on_files():
    figure = measure_two_workers(2_000, 1, Target(">=", 0))
    assert figure.met
    assert figure.details["partitions"] >= 1


def test_the_gatherer_keeps_no_more_than_its_budget():
    few, many = (gather_peak(count, 20_000, "1 MB") for count in (50, 400))
    assert many["bytes"] > 7 * few["bytes"]
    figure = measure_gathering_memory(400, 20_000, "4 MB", Target("<=", 1.5))
    assert figure.met or math.isnan(figure.value)
