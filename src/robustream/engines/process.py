"""The driver's side of one local worker: an interpreter of its own, reached through a socket pair.

Workers are started as plain programs, not by `multiprocessing`: they never run the user's script again, so that a
script without `if __name__ == "__main__"`, a script on standard input and a notebook all work, and nothing is forked
from a process that has threads.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys

from robustream.engines.wire import Inbox, send

__all__ = ["WorkerProcess"]

# The worker learns the driver's import path first, then imports the rest.
_PROGRAM = """
import json, socket, sys
channel = socket.socket(fileno=int(sys.argv[1]))
sys.path[:] = json.loads(sys.argv[2])
from robustream.engines.worker import serve
serve(channel)
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


class WorkerProcess:
    """A worker and the connection to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            for end in (ours, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER)
            # -P: the current folder must not shadow the standard library.
            command = [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno()), _import_path()]
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    env={**os.environ, **_ONE_THREAD},
                )
            except BaseException:
                ours.close()
                raise
        self._channel = ours
        self.inbox = Inbox(ours)
        self.ready = False
        self.function = -1  # the number of the call whose function the worker has
        self.task: int | None = None  # the index of the task it works on

    @property
    def name(self) -> str:
        """The worker's name, as it gives it itself."""
        return f"{socket.gethostname()}:{self._process.pid}"

    def fileno(self) -> int:
        """Give what can be waited for."""
        return self._channel.fileno()

    def send(self, kind: bytes, body: bytes) -> None:
        """Send a message; a worker that is gone will be noticed when its reply is awaited."""
        with contextlib.suppress(ConnectionError):
            send(self._channel, kind, body)

    def stop(self) -> int:
        """End the process at once, wherever it is, and give its exit status."""
        self._channel.close()
        self._process.kill()
        return self._process.wait()


def _import_path() -> str:
    return json.dumps([entry for entry in sys.path if isinstance(entry, str)])
