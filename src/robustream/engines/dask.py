"""Dask as an engine: an existing client, the address of a scheduler, or a cluster of its own on this machine.

Three habits of Dask are worked around. It blames every task of a dead worker, so a suspect is tried again only while
no other suspect runs, and an innocent one clears itself. It queues tasks on busy workers, so few more are submitted
than can run. It cannot stop a running task, so a straggler's worker is restarted where that is allowed.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import cloudpickle

from robustream.engines.base import Engine, Result, TaskFunction, check_limits, describe_error, say_deaths
from robustream.engines.dask_cluster import import_distributed, start_cluster
from robustream.engines.remote_call import call_pickled, kill_worker
from robustream.errors import EngineError, InvalidInputError
from robustream.kernels.threads import get_threads

__all__ = ["DaskEngine"]

# Dask is optional, and mostly without types.
Client: TypeAlias = Any
Future: TypeAlias = Any

# How often the number of workers is looked up while tasks run, in seconds.
_LOOK_EVERY = 1.0
# How long the scheduler may take to notice that a worker was killed, in seconds.
_PATIENCE = 10.0
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
        distributed = import_distributed()
        own = client_or_address is None
        if not own and n_workers is not None:
            raise InvalidInputError("n_workers is for a cluster of the engine's own; this one has a cluster already")
        self._own_workers = (n_workers or get_threads()) if own else 0
        self._restart = own if restart_stragglers is None else restart_stragglers
        with contextlib.ExitStack() as started:
            if own:
                client_or_address = started.enter_context(start_cluster(self._own_workers, security))
            if isinstance(client_or_address, distributed.Client):
                self._client: Client = client_or_address
            else:
                # The user's own default client must stay the default.
                self._client = started.enter_context(
                    distributed.Client(client_or_address, security=security, set_as_default=False)
                )
            self._closing = started.pop_all()

    @property
    def client(self) -> Client:
        """Give Dask's client."""
        return self._client

    @property
    def slots(self) -> int:
        """Give the number of threads of all workers: as of now, or as many as its own cluster always restores."""
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
        """Yield the result of each task as it comes; `name` gives what Dask's dashboard shows."""
        check_limits(1, window, retries, timeout)
        call = _Call(cloudpickle.dumps(fn), enumerate(tasks), window, retries, name or _numbered)
        return self._run(call, None if timeout is None else time.monotonic() + timeout)

    def close(self) -> None:
        """Close the client and the cluster, if they are the engine's own."""
        self._closing.close()

    def _run(self, call: _Call, end: float | None) -> Iterator[Result]:
        distributed = import_distributed()
        left = None if end is None else max(0.0, end - time.monotonic())
        arriving = distributed.as_completed(loop=self._client.loop, with_results=True, raise_errors=False, timeout=left)
        slots, looked = self.slots, time.monotonic()
        try:
            while True:
                call.pull(_AHEAD * max(1, slots))
                while (job := call.next_job()) is not None:
                    arriving.add(self._submit(call, job))
                if call.results:
                    yield call.results.popleft()
                    call.taken += 1
                    continue
                if not call.running:
                    return
                try:
                    batch = arriving.next_batch()
                # Which of the two it is depends on the version of Python that Dask supports.
                except TimeoutError:
                    return
                for future, outcome in batch:
                    call.take_in(future.key, future.status, outcome)
                if time.monotonic() - looked > _LOOK_EVERY:
                    slots, looked = self.slots, time.monotonic()
        finally:
            self._give_up(call)

    def _submit(self, call: _Call, job: _Job) -> Future:
        key = f"{job.name}-{uuid.uuid4().hex}"
        try:
            future = self._client.submit(call_pickled, call.function, job.body, key=key, pure=False, retries=0)
        except RuntimeError as error:
            raise EngineError(f"the Dask client takes no more work: {describe_error(error)}") from error
        call.running[key] = job
        call.futures[key] = future
        return future

    def _give_up(self, call: _Call) -> None:
        """Cancel what is still under way, and free its slots by force where that is allowed."""
        if not call.running or self._client.status != "running":
            return
        workers = []
        if self._restart:
            for worker, keys in self._client.processing().items():
                if not call.running.keys().isdisjoint(keys):
                    workers.append(worker)
        self._client.cancel(list(call.futures.values()), force=True)
        call.futures.clear()
        if workers:
            # Dask's own restart waits for the task to end first. The nanny starts another worker by itself.
            self._client.run(kill_worker, workers=workers, nanny=True, on_error="ignore")
            self._await_departure(workers)

    def _await_departure(self, workers: list[str]) -> None:
        """Wait until the scheduler knows, or it would send the next tasks to the dead."""
        patience = time.monotonic() + _PATIENCE
        while not self._client.nthreads().keys().isdisjoint(workers) and time.monotonic() < patience:
            time.sleep(0.01)


@dataclass
class _Job:
    index: int
    name: str
    body: bytes
    deaths: int = 0


class _Call:
    """One call of imap: what waits, what runs, and what came."""

    def __init__(
        self,
        function: bytes,
        tasks: Iterator[tuple[int, Any]],
        window: int | None,
        retries: int,
        name: Callable[[Any], str],
    ) -> None:
        self.function = function
        self.running: dict[str, _Job] = {}
        self.futures: dict[str, Future] = {}
        self.results: deque[Result] = deque()
        self.taken = 0
        self._queue: deque[_Job] = deque()
        self._suspects: deque[_Job] = deque()
        self._tasks, self._pulled, self._exhausted = tasks, 0, False
        self._window, self._retries, self._name = window, retries, name

    def pull(self, limit: int) -> None:
        """Take tasks from their iterable, no more than the window and the cluster allow."""
        window = limit if self._window is None else min(limit, self._window)
        while not self._exhausted and self._pulled - self.taken < window:
            index, task = next(self._tasks, (-1, None))
            if index < 0:
                self._exhausted = True
                return
            self._pulled += 1
            try:
                self._queue.append(_Job(index, self._name(task), cloudpickle.dumps(task)))
            # A pickler runs code of the task's own and may raise anything.
            except Exception as error:
                self.results.append(Result(index, None, f"the task cannot be sent: {describe_error(error)}"))

    def next_job(self) -> _Job | None:
        """Give what may be submitted now, if anything."""
        if self._suspects and not any(job.deaths for job in self.running.values()):
            return self._suspects.popleft()
        return self._queue.popleft() if self._queue else None

    def take_in(self, key: str, status: str, outcome: Any) -> None:
        """Turn what Dask says about a task into a result, or into another try."""
        job = self.running.pop(key)
        del self.futures[key]
        if status == "finished":
            self.results.append(Result(job.index, *outcome))
            return
        error = outcome[1] if isinstance(outcome, tuple) else outcome
        killed = import_distributed().scheduler.KilledWorker
        if status == "error" and not isinstance(error, killed):
            self.results.append(Result(job.index, None, describe_error(error)))
            return
        # A scheduler that retries by itself has let so many workers die; a lost or cancelled task had one try.
        job.deaths += error.allowed_failures + 1 if isinstance(error, killed) else 1
        if job.deaths > self._retries:
            worker = str(error.last_worker.address) if isinstance(error, killed) else ""
            self.results.append(Result(job.index, None, say_deaths(job.deaths), worker))
        else:
            self._suspects.append(job)


def _numbered(_: Any) -> str:
    return "task"
