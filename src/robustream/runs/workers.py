"""Estimating batches on one or several threads; results come in the order of the batches either way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar
from zlib import crc32

import numpy as np

from robustream.batch import Batch, Estimate
from robustream.errors import InvalidInputError
from robustream.kernels.device_arrays import host_array, is_device_array
from robustream.kernels.threads import get_threads, limit_threads, one_blas_thread
from robustream.learners import Learner
from robustream.learners.device import OnDevice

__all__ = ["batch_generator", "count_workers", "estimate_batch", "estimate_in_order", "map_in_order"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_workers(n_jobs: Any) -> int:
    """Read scikit-learn's `n_jobs`: None is 1, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise InvalidInputError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, get_threads() + 1 + int(n_jobs))


def estimate_in_order(learner: Learner, batches: Iterable[Batch], seed: int, workers: int) -> Iterator[Estimate]:
    """Yield the estimate of each batch."""
    return map_in_order(partial(estimate_batch, learner, seed), batches, workers)


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int, *, apart: bool = False
) -> Iterator[Result]:
    """Yield the function of each item; with `apart` a single worker, too, is another thread than the one that reads.

    The kernels and BLAS release the interpreter lock, so that threads suffice. At most twice as many items as
    workers are taken ahead, which bounds the memory. Inside a worker the kernels and BLAS use one thread:
    threads within threads make everything slower.
    """
    if workers == 1 and not apart:
        yield from map(function, items)
        return
    work = function if workers == 1 else partial(_alone, function)
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@one_blas_thread()
def estimate_batch(learner: Learner, seed: int, batch: Batch) -> Estimate:
    """Return the estimate of a batch, wherever that is done."""
    placed = OnDevice(learner) if is_device_array(batch.X) else learner
    return placed.estimate(batch, batch_generator(seed, batch))


def batch_generator(seed: int, batch: Batch) -> np.random.Generator:
    """Return what is random about a batch."""
    return np.random.default_rng([seed, _fingerprint(batch)])


def _fingerprint(batch: Batch) -> int:
    """Return a number that the rows alone decide, from three of them.

    What is random must neither depend on scheduling nor on the order of the batches, and rows that come a second time
    must give the same estimate to the last digit, so that copies can be told.
    """
    if batch.failure is not None or not batch.rows:
        return batch.index
    some = (host_array(batch.X[place : place + 1]) for place in (0, batch.rows // 2, batch.rows - 1))
    return crc32(b"".join(np.ascontiguousarray(row).tobytes() for row in some))


def _alone(function: Callable[[Item], Result], item: Item) -> Result:
    with limit_threads(1):
        return function(item)
