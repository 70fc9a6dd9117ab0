"""Dask as an engine: an existing client, the address of a scheduler, or a cluster of its own on this machine.

Three habits of Dask are worked around. It blames every task of a dead worker, so a suspect is tried again only while
no other suspect runs, and an innocent one clears itself. It queues tasks on busy workers, so few more are submitted
than can run. It cannot stop a running task, so a straggler's worker is restarted where that is allowed.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from robustream.engines.base import Call, Engine, Job, Result, TaskFunction, call_pickled, describe_error
from robustream.errors import EngineError, InvalidInputError
from robustream.kernels.threads import get_threads

__all__ = ["DaskEngine"]

# Dask is optional, and mostly without types.
Client: TypeAlias = Any
Future: TypeAlias = Any
Running: TypeAlias = dict[str, tuple[Job, Future]]

# How often the number of workers is looked up while tasks run, in seconds.
_LOOK_EVERY = 1.0
# How long the scheduler may take to notice that a worker was killed, in seconds.
_PATIENCE = 10.0
_LOOPBACK = "127.0.0.1"
# A second task waiting at each slot hides the way to the scheduler and back.
_AHEAD = 2


class DaskEngine(Engine):
    """Runs tasks on a Dask cluster.

    Parameters
    ----------
    client_or_address : a `distributed.Client`, an address such as "tcp://host:8786" or "tls://host:8786", or None for
        a cluster of its own that listens on the loopback interface only and ends with the engine.
    n_workers : the number of processes of a cluster of its own; by default one for each core.
    security : a `distributed.Security` for an address, or for a cluster of its own.
    restart_stragglers : whether workers that still run a task at the cut-off are restarted, with everything else that
        they do; by default only in a cluster of its own. Elsewhere a given-up task holds its slot until it ends.

    Examples
    --------
    >>> with DaskEngine(n_workers=1) as engine:  # doctest: +SKIP
    ...     [result.payload for result in engine.imap(str.encode, ["a"])]
    [b'a']
    """

    def __init__(
        self,
        client_or_address: Client | str | None = None,
        *,
        n_workers: int | None = None,
        security: Any = None,
        restart_stragglers: bool | None = None,
    ) -> None:
        distributed = _import_distributed()
        own = client_or_address is None
        if not own and n_workers is not None:
            raise InvalidInputError("n_workers is for a cluster of the engine's own; this one has a cluster already")
        self._own_workers = (n_workers or get_threads()) if own else 0
        self._restart = own if restart_stragglers is None else restart_stragglers
        with contextlib.ExitStack() as started:
            if own:
                client_or_address = started.enter_context(_start_cluster(self._own_workers, security))
            if isinstance(client_or_address, distributed.Client):
                self._client: Client = client_or_address
            else:
                # The user's own default client must stay the default.
                self._client = started.enter_context(_connect(client_or_address, security))
            self._closing = started.pop_all()

    @property
    def client(self) -> Client:
        """Return Dask's client."""
        return self._client

    @property
    def slots(self) -> int:
        """Return the number of threads of all workers: as of now, or as many as its own cluster always restores."""
        return self._own_workers or sum(self._client.nthreads().values())

    def imap(
        self,
        fn: TaskFunction,
        tasks: Iterable[Any],
        *,
        window: int | None = None,
        retries: int = 2,
        timeout: float | None = None,
        name: Callable[[Any], str] | None = None,
    ) -> Iterator[Result]:
        """Yield the result of each task as it comes; `name` says what Dask's dashboard shows."""
        return self._run(Call(fn, tasks, window, retries, timeout, name=name))

    def close(self) -> None:
        """Close the client and the cluster, if they are the engine's own."""
        self._closing.close()

    def _run(self, call: Call) -> Iterator[Result]:
        arriving = _import_distributed().as_completed(
            loop=self._client.loop, with_results=True, raise_errors=False, timeout=call.seconds_left
        )
        running: Running = {}
        suspects: deque[Job] = deque()
        with _scheduler_answers():
            slots, looked = self.slots, time.monotonic()
        try:
            while True:
                call.pull(_AHEAD * max(1, slots))
                while (job := _next_job(call, suspects, running)) is not None:
                    future = self._submit(call, job)
                    running[future.key] = job, future
                    arriving.add(future)
                if call.results:
                    yield call.results.popleft()
                    call.taken += 1
                    continue
                if not running:
                    return
                try:
                    batch = arriving.next_batch()
                # Which of the two it is depends on the version of Python that Dask supports.
                except TimeoutError:
                    return
                for future, outcome in batch:
                    job, _ = running.pop(future.key)
                    if _take_in(call, job, future.status, outcome):
                        suspects.append(job)
                if time.monotonic() - looked > _LOOK_EVERY:
                    with _scheduler_answers():
                        slots, looked = self.slots, time.monotonic()
        finally:
            self._give_up({key: future for key, (_, future) in running.items()})
            call.close()

    def _submit(self, call: Call, job: Job) -> Future:
        key = f"{job.name}-{uuid.uuid4().hex}"
        with _scheduler_answers():
            return self._client.submit(call_pickled, call.function, job.body, key=key, pure=False, retries=0)

    def _give_up(self, futures: dict[str, Future]) -> None:
        """Cancel what is still under way, and free its slots by force where that is allowed."""
        if not futures or self._client.status != "running":
            return
        workers = []
        if self._restart:
            for worker, keys in self._client.processing().items():
                if not futures.keys().isdisjoint(keys):
                    workers.append(worker)
        self._client.cancel(list(futures.values()), force=True)
        if workers:
            # Dask's own restart waits for the task to end first. The nanny starts another worker by itself.
            self._client.run(_kill_worker, workers=workers, nanny=True, on_error="ignore")
            self._await_departure(workers)

    def _await_departure(self, workers: list[str]) -> None:
        """Wait until the scheduler knows, or it would send the next tasks to the dead."""
        patience = time.monotonic() + _PATIENCE
        while not self._client.nthreads().keys().isdisjoint(workers) and time.monotonic() < patience:
            time.sleep(0.01)


@contextmanager
def _scheduler_answers() -> Iterator[None]:
    """Raise EngineError where the client fails: without a scheduler it stumbles over itself in several ways."""
    try:
        yield
    except Exception as error:
        raise EngineError(
            f"the Dask scheduler does not answer any more ({describe_error(error)}); a run with a checkpoint can be "
            "resumed on another one"
        ) from error


def _next_job(call: Call, suspects: deque[Job], running: Running) -> Job | None:
    """Return what may be submitted now: a suspect only while no other suspect runs."""
    if suspects and not any(job.deaths for job, _ in running.values()):
        return suspects.popleft()
    return call.queue.popleft() if call.queue else None


def _take_in(call: Call, job: Job, status: str, outcome: Any) -> bool:
    """Turn what Dask says about a task into a result; return whether it is to be tried again instead."""
    if status == "finished":
        call.finish(job, *outcome)
        return False
    error = outcome[1] if isinstance(outcome, tuple) else outcome
    if isinstance(error, _import_distributed().scheduler.KilledWorker):
        # A scheduler that retries by itself has let so many workers die.
        return call.worker_died(job, str(error.last_worker.address), error.allowed_failures + 1)
    if status == "error":
        call.finish(job, None, describe_error(error))
        return False
    # A lost or cancelled task had one try.
    return call.worker_died(job)


def _kill_worker(dask_worker: Any) -> None:
    """End the worker process of a Dask nanny, which is what the argument is, wherever that process is stuck."""
    if dask_worker.pid is not None:
        os.kill(dask_worker.pid, signal.SIGKILL)


def _import_distributed() -> Any:
    """Return the package `distributed`, or say how to get it."""
    try:
        import distributed
    except ImportError as error:
        raise EngineError("DaskEngine needs Dask: pip install 'robustream[dask]'") from error
    return distributed


@contextmanager
def _connect(address: Any, security: Any) -> Iterator[Client]:
    """Connect a client, and leave nothing of it behind."""
    # The user's own default client must stay the default.
    with (
        _running_loop() as loop,
        _import_distributed().Client(address, security=security, set_as_default=False, loop=loop) as client,
    ):
        yield client


@contextmanager
def _running_loop() -> Iterator[Any]:
    """Run an event loop on a thread of its own.

    A client that has given its scheduler up has closed by itself, and the loop that it started would run for ever.
    """
    from tornado.ioloop import IOLoop

    started: concurrent.futures.Future[tuple[IOLoop, asyncio.Event]] = concurrent.futures.Future()

    async def run() -> None:
        over = asyncio.Event()
        started.set_result((IOLoop.current(), over))
        await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="robustream-dask", daemon=True)
    thread.start()
    loop, over = started.result()
    try:
        yield loop
    finally:
        loop.add_callback(over.set)
        thread.join()


@contextmanager
def _start_cluster(n_workers: int, security: Any) -> Iterator[Any]:
    """Start a scheduler and single-threaded worker processes that listen on the loopback interface only."""
    distributed = _import_distributed()
    import dask

    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise EngineError(
            "a Dask worker that is being started runs this script again, up to the line that starts Dask workers; "
            'put what the script does below `if __name__ == "__main__":`, or use LocalEngine, which does not need it'
        )
    try:
        cluster = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            host=_LOOPBACK,
            # Without an address the HTTP servers of scheduler and workers would listen on all interfaces.
            dashboard_address=f"{_LOOPBACK}:0",
            worker_dashboard_address=f"{_LOOPBACK}:0",
            security=security,
            # A worker's death is our business: it is retried, and reported with its task.
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={"allowed_failures": 0},
        )
    except RuntimeError as error:
        raise EngineError(f"no Dask cluster could be started on this machine: {describe_error(error)}") from error
    # Some time after a worker's death Dask looks whether it is back, and gives its place up for ever if it has just
    # died again.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1000 days"}), cluster:
        yield cluster
