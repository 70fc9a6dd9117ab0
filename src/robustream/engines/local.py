"""All cores of this machine: worker processes that are kept between calls and replaced when they die.

Each worker has one task at a time, so that a death has exactly one culprit. Python's own process pool and loky lose
every pending task when one worker dies. Workers are started as plain programs, not by `multiprocessing` (nor by pebble,
which rests on it): they never run the user's script again, so that a script without `if __name__ == "__main__"`, a
script on standard input and a notebook all work, and nothing is forked from a process that has threads.

Driver and worker talk in length-prefixed messages over a socket pair. The driver reads without ever blocking on one
worker, so that a worker that stops in the middle of a message holds up nobody. Tasks go out by pickle. Replies come
back as a fixed header, two texts and raw bytes: nothing in a reply can run code or fail to load in the driver.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import wait
from typing import Any

from robustream.engines.base import Call, Engine, Job, Reply, Result, TaskFunction, call_pickled
from robustream.errors import EngineError, InvalidInputError
from robustream.kernels.threads import get_threads

__all__ = ["LocalEngine", "serve"]

_MOST_FAILED_STARTS = 3


class LocalEngine(Engine):
    """Runs tasks in processes of this machine.

    The first call starts the workers; it takes as long as importing robustream. Inside them the kernels and linear
    algebra use one thread each. Workers end with the engine, or with the driver's process however that ends.

    Parameters
    ----------
    n_jobs : int or None
        The number of processes; None for as many as cores, -1 and below as scikit-learn counts.

    Examples
    --------
    >>> with LocalEngine(n_jobs=2) as engine:
    ...     sorted(result.payload for result in engine.imap(str.encode, ["a", "b", "c"]))
    [b'a', b'b', b'c']
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
            raise InvalidInputError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")
        if os.name != "posix":
            raise EngineError("LocalEngine needs a POSIX system; use DaskEngine() here")
        cores = get_threads()
        self._slots = cores if n_jobs is None else n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
        self._workers: list[_Worker] = []
        self._busy_with: Call | None = None
        self._failed_starts = 0
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, _stop_all, self._workers, self._owner)

    @property
    def slots(self) -> int:
        """Return the number of processes."""
        return self._slots

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
        """Yield the result of each task as it comes; workers that are still busy at the end are killed."""
        if self._busy_with is not None:
            raise InvalidInputError("this engine is busy with another call of imap: finish it, or close its iterator")
        return self._run(Call(fn, tasks, window, retries, timeout, share_memory=True))

    def close(self) -> None:
        """End all workers; the next call would start new ones."""
        _stop_all(self._workers, self._owner)

    def _run(self, call: Call) -> Iterator[Result]:
        self._busy_with, self._failed_starts = call, 0
        try:
            while True:
                call.pull(self.slots)
                self._hand_out(call)
                unfinished = bool(call.queue or self._busy())
                if unfinished:
                    self._listen(call)
                if call.results:
                    # While the caller is busy with this one, the workers go on with what they have.
                    yield call.results.popleft()
                    call.taken += 1
                elif call.seconds_left == 0.0 or not unfinished:
                    return
        finally:
            self._busy_with = None
            for worker in self._busy():
                self._dismiss(worker)
            call.close()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.job is not None]

    def _hand_out(self, call: Call) -> None:
        """Give each idle worker a task, and start workers for the tasks that remain."""
        for worker in self._workers:
            if call.queue and worker.ready and worker.job is None:
                worker.begin(call, call.queue.popleft())
        starting = sum(not worker.ready for worker in self._workers)
        for _ in range(min(len(call.queue) - starting, self.slots - len(self._workers))):
            self._workers.append(_Worker())

    def _listen(self, call: Call) -> None:
        """Take in what has arrived; wait for something if there is nothing to give to the caller."""
        active = {worker.fileno(): worker for worker in self._workers if worker.job is not None or not worker.ready}
        for descriptor in wait(active, 0 if call.results else call.seconds_left):
            worker = active[descriptor]  # type: ignore[index]  # what was given comes back
            try:
                message = worker.inbox.poll()
            except EOFError:
                self._bury(call, worker)
                continue
            if message is None:
                continue
            if not worker.ready:
                worker.ready, self._failed_starts = True, 0
            elif worker.job is not None:
                call.finish(worker.job, *_unpack_reply(message))
                worker.job = None

    def _bury(self, call: Call, worker: _Worker) -> None:
        status = self._dismiss(worker)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= _MOST_FAILED_STARTS:
                raise EngineError(
                    f"{self._failed_starts} workers in a row could not start (exit status {status}); "
                    "what they wrote to the error stream says why"
                )
        elif worker.job is not None and call.worker_died(worker.job, worker.name):
            call.queue.append(worker.job)

    def _dismiss(self, worker: _Worker) -> int:
        self._workers.remove(worker)
        return worker.stop()


def _stop_all(workers: list[_Worker], owner: int) -> None:
    # A forked copy of the driver must leave the workers of the original alone.
    if os.getpid() == owner:
        while workers:
            workers.pop().stop()


# The worker learns the driver's import path first, then imports the rest. Before anything else it sees to it that the
# kernel ends it with its driver, at once and wherever it is, in a library's long computation too: the driver alone
# holds the other end of a pipe, and the default of SIGIO, sent when that end closes, is to die. Where it can, it also
# asks to be killed with its parent, since a forked copy of the driver holds the pipe as well.
_PROGRAM = """
import fcntl, json, os, select, socket, sys
channel, leash, with_parent, path = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
fcntl.fcntl(leash, fcntl.F_SETOWN, os.getpid())
fcntl.fcntl(leash, fcntl.F_SETFL, fcntl.fcntl(leash, fcntl.F_GETFL) | getattr(os, "O_ASYNC", 0))
if with_parent:
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)
if select.select([leash], [], [], 0)[0]:
    sys.exit()
sys.path[:] = path
from robustream.engines.local import serve
serve(socket.socket(fileno=channel))
"""
# Read when the libraries are loaded. Arrow and OpenMP share the first one.
_ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
        "ROBUSTREAM_NUM_THREADS",
    ),
    "1",
)
# A reply of a megabyte then takes a few system calls instead of dozens.
_SOCKET_BUFFER = 1 << 20
# The first byte of each message from the driver says what follows; the worker's first message says that it is there.
_FUNCTION, _TASK, _READY = b"F", b"T", b"R"


class _Worker:
    """The driver's side of a worker: its process, the connection to it, and what it works on."""

    def __init__(self) -> None:
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            self._channel, channel = socket.socketpair()
            ours.callback(self._channel.close)
            theirs.callback(channel.close)
            for end in (self._channel, channel):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER)
            leash, held = os.pipe()
            ours.callback(os.close, held)
            theirs.callback(os.close, leash)
            # Linux kills with the parent's thread, not with its process; only the main thread lasts as long.
            with_parent = sys.platform == "linux" and threading.current_thread() is threading.main_thread()
            numbers = [str(channel.fileno()), str(leash), str(int(with_parent))]
            self._process = subprocess.Popen(
                # -P: the current folder must not shadow the standard library.
                [sys.executable, "-P", "-c", _PROGRAM, *numbers, _import_path()],
                stdin=subprocess.DEVNULL,
                pass_fds=[channel.fileno(), leash],
                env={**os.environ, **_ONE_THREAD},
            )
            self._ours = ours.pop_all()
        self.inbox = _Inbox(self._channel)
        self.ready = False
        self.job: Job | None = None
        self._call: Call | None = None  # the one whose function the worker has

    @property
    def name(self) -> str:
        """The worker's name, as it gives it itself."""
        return f"{socket.gethostname()}:{self._process.pid}"

    def fileno(self) -> int:
        """Return what can be waited for."""
        return self._channel.fileno()

    def begin(self, call: Call, job: Job) -> None:
        """Send a task; a worker that is gone will be noticed when its reply is awaited."""
        self.job = job
        with contextlib.suppress(ConnectionError):
            if self._call is not call:
                _send(self._channel, _FUNCTION, call.function)
                self._call = call
            _send(self._channel, _TASK, job.body)

    def stop(self) -> int:
        """End the process at once, wherever it is, and return its exit status."""
        self._process.kill()
        self._ours.close()
        return self._process.wait()


def _import_path() -> str:
    return json.dumps([entry for entry in sys.path if isinstance(entry, str)])


def serve(channel: socket.socket) -> None:
    """Be a worker: take a task, do it, reply, until the driver closes its end."""
    # Ctrl-C reaches the whole group of processes; it is for the driver to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    function = b""
    with contextlib.suppress(ConnectionError):
        _send(channel, _READY)
        while (message := _receive(channel)) is not None:
            kind, body = bytes(message[:1]), bytes(message[1:])
            if kind == _FUNCTION:
                function = body
            else:
                _send(channel, *_pack_reply(call_pickled(function, body)))


_LENGTH = struct.Struct("<Q")
_REPLY = struct.Struct("<dQQ?")
# Below this a message is sent in one write; a longer one is not worth a copy.
_SHORT = 1 << 16


def _send(channel: socket.socket, *pieces: bytes) -> None:
    """Send one message made of pieces, waiting until it is on its way."""
    size = sum(len(piece) for piece in pieces)
    header = _LENGTH.pack(size)
    for piece in [b"".join((header, *pieces))] if size < _SHORT else (header, *pieces):
        channel.sendall(piece)


def _receive(channel: socket.socket) -> bytearray | None:
    """Wait for one message; None at the end of the connection."""
    header = _read(channel, _LENGTH.size)
    return None if header is None else _read(channel, _LENGTH.unpack(header)[0])


def _read(channel: socket.socket, size: int) -> bytearray | None:
    buffer = bytearray(size)
    view, filled = memoryview(buffer), 0
    while filled < size:
        count = channel.recv_into(view[filled:])
        if count == 0:
            return None
        filled += count
    return buffer


class _Inbox:
    """Puts one message after another together from whatever has arrived."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._start(_LENGTH.size, header=True)

    def _start(self, size: int, *, header: bool) -> None:
        self._buffer, self._filled, self._header = bytearray(size), 0, header

    def poll(self) -> bytearray | None:
        """Return the next message if it is complete; raises EOFError at the end of the connection."""
        while self._filled < len(self._buffer):
            try:
                with memoryview(self._buffer) as view:
                    count = self._channel.recv_into(view[self._filled :], 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            except ConnectionError as error:
                raise EOFError from error
            if count == 0:
                raise EOFError
            self._filled += count
            if self._header and self._filled == len(self._buffer):
                self._start(_LENGTH.unpack(self._buffer)[0], header=False)
        message = self._buffer
        self._start(_LENGTH.size, header=True)
        return message


def _pack_reply(reply: Reply) -> tuple[bytes, ...]:
    worker, error = reply.worker.encode(), (reply.error or "").encode("utf-8", "replace")
    header = _REPLY.pack(reply.seconds, len(worker), len(error), reply.payload is not None)
    return header, worker, error, reply.payload or b""


def _unpack_reply(message: bytearray) -> Reply:
    seconds, worker_size, error_size, has_payload = _REPLY.unpack_from(message)
    first = _REPLY.size + worker_size
    last = first + error_size
    worker, error = message[_REPLY.size : first].decode(), message[first:last].decode("utf-8", "replace")
    with memoryview(message) as view:
        payload = bytes(view[last:]) if has_payload else None
    return Reply(payload, None if has_payload else error, worker, seconds)
