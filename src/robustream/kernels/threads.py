"""How many threads the kernels use, and how they share out their tiles.

The tiles of a computation are fixed by its shape alone and write to disjoint places, so the number of threads
never changes a result. The calling thread always works too: nothing waits for a free thread, which makes nested
calls and calls from several Python threads at once safe.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

from robustream.errors import InvalidInputError

__all__ = ["get_threads", "limit_threads", "one_blas_thread", "run_tiles"]

Tile = TypeVar("Tile")

ENVIRONMENT_VARIABLE = "ROBUSTREAM_NUM_THREADS"

_limit: ContextVar[int | None] = ContextVar("robustream_thread_limit", default=None)
_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


def _forget_pool() -> None:
    """Start afresh in a forked child, where the threads of the pool do not exist."""
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_threads() -> int:
    """Return how many threads a kernel called here would use.

    The innermost ``limit_threads`` decides, then the environment variable ``ROBUSTREAM_NUM_THREADS``, then the
    number of cores this process may use.

    Examples
    --------
    >>> from robustream.kernels.threads import get_threads, limit_threads
    >>> with limit_threads(2):
    ...     get_threads()
    2
    """
    limit = _limit.get()
    if limit is not None:
        return limit
    asked = os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    if not asked:
        return _available_cores()
    if not asked.isdecimal() or int(asked) < 1:
        raise InvalidInputError(f"{ENVIRONMENT_VARIABLE} must be a whole number of threads, at least 1, got {asked!r}.")
    return int(asked)


@contextlib.contextmanager
def limit_threads(threads: int) -> Iterator[None]:
    """Use at most ``threads`` threads in the kernels called inside the ``with`` block by this thread.

    Parameters
    ----------
    threads : int
        At least 1.

    Examples
    --------
    >>> from robustream.kernels.threads import limit_threads
    >>> with limit_threads(1):
    ...     pass  # kernels called here stay in this thread
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidInputError(f"threads must be a whole number, at least 1, got {threads!r}.")
    token = _limit.set(threads)
    try:
        yield
    finally:
        _limit.reset(token)


_blas_is_limited = threading.Lock()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread inside the ``with`` block, or the function that is decorated with this.

    A batch is worked on by many small products. Several threads wait for each other longer than these take: on two
    busy cores fits took 5 to 60 times as long. Whoever has cores to spare gives them to whole batches, by ``n_jobs``
    or an engine; so the bits do not depend on their number.
    """
    # The number of threads is one for the whole process. Whoever finds it limited leaves it alone: were blocks of
    # several Python threads to set it back in another order than they set it, the process would keep the limit.
    if not _blas_is_limited.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _blas_is_limited.release()


@cache
def _blas() -> ThreadpoolController:
    # Looking through the loaded libraries takes a millisecond, a limit then a few microseconds. NumPy's and SciPy's
    # are loaded when the first batch comes.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


def _shared_pool() -> ThreadPoolExecutor:
    global _pool
    with _pool_lock:
        if _pool is None:
            # The pool starts a thread only when no other is idle, so a high ceiling costs nothing.
            _pool = ThreadPoolExecutor(max(32, _available_cores()), thread_name_prefix="robustream")
        return _pool


def run_tiles(function: Callable[[Tile], None], tiles: Iterable[Tile]) -> None:
    """Call ``function`` once for each tile, in several threads when they are allowed.

    Parameters
    ----------
    function : callable
        Takes one tile; must be safe to call for different tiles at once. Worth it only if it releases the GIL.
    tiles : iterable
        The first error raised for any of them is raised here, once no thread works on them any more.
    """
    waiting = deque(tiles)
    helpers = min(get_threads(), len(waiting)) - 1
    if helpers < 1:
        for tile in waiting:
            function(tile)
        return

    def work() -> None:
        # The tiles already fill the allowed threads, so what they call inside stays in its own.
        with limit_threads(1):
            while True:
                try:
                    tile = waiting.popleft()
                except IndexError:
                    return
                try:
                    function(tile)
                except BaseException:
                    waiting.clear()
                    raise

    futures: list[Future[None]] = []
    # At interpreter exit the pool takes no more work; the calling thread then does it all.
    with contextlib.suppress(RuntimeError):
        for _ in range(helpers):
            futures.append(_shared_pool().submit(work))
    try:
        work()
    finally:
        started = [future for future in futures if not future.cancel()]
        failures = [failure for future in started if (failure := future.exception()) is not None]
    if failures:
        raise failures[0]
