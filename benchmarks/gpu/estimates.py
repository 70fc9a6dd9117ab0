"""The filtered aggregator on wide estimates: the host against the GPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from common import FLOAT, Floors, Results

from robustream.aggregators import Filtered
from robustream.batch import Estimate
from robustream.kernels.device_arrays import wide_on_gpu
from robustream.spaces import Euclidean, Part, Parts

SIZES = ((100, 40_000), (100, 163_840), (1000, 20_000), (4000, 5000), (100, 819_200), (1000, 100_000))


def held(count: int, size: int, bad: float = 0.4) -> tuple[Filtered, Any]:
    """Give a state with estimates of which some agree on another value."""
    rng = np.random.default_rng(size)
    aggregator = Filtered(budget=count)
    state = aggregator.init(Parts((Part("coefficients", Euclidean((size,))),)))
    truth, other = rng.normal(size=(2, size)).astype(FLOAT)
    for index in range(count):
        point = rng.standard_normal(size, dtype=FLOAT) + (other if index < bad * count else truth)
        state, _ = aggregator.step(state, Estimate(index, "", 100, (point,)))
    return aggregator, state


def seconds(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), found


def time_filter(results: Results, floors: Floors, sizes: tuple[tuple[int, int], ...] = SIZES) -> None:
    for count, size in sizes:
        aggregator, state = held(count, size)

        def work(wanted: bool, aggregator: Filtered = aggregator, state: Any = state) -> Any:
            # A new tuple is a new state: the aggregator remembers the last one.
            fresh = state._replace(newest=state.newest)
            with wide_on_gpu(wanted):
                return aggregator.value(fresh)[0], [one.rejected for one in aggregator.assess(fresh)]

        work(True)
        there, (found, verdicts) = seconds(lambda: work(True), 3)
        here, (value, known) = seconds(lambda: work(False), 2)
        apart = float(np.linalg.norm(found - value) / np.linalg.norm(value))
        assert apart < 1e-5, apart
        stack = np.stack([estimate.point[0] for estimate in state.estimates])
        copied, _ = seconds(lambda stack=stack: (cupy.asarray(stack), cupy.cuda.Device().synchronize()), 3)
        read = stack.nbytes / floors.read / 1e12
        results.add(
            f"filtered value of {count:,} estimates of {size:,} numbers, 40% of them bad",
            f"{there:.3f} s, on the host {here:.2f} s",
            f"copy from the host {copied:.3f} s, bytes {read:.4f} s",
            f"{copied / there:.0%}, {read / there:.1%}",
            f"{'same verdicts' if verdicts == known else 'VERDICTS DIFFER'}, values {apart:.1e} apart",
        )
