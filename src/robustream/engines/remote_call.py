"""What runs at the other end of somebody else's engine: a pickled function on a pickled task, plain values back."""

from __future__ import annotations

import os
import pickle
import signal
from typing import Any

from robustream.engines.base import Reply, call_task, describe_error, own_name
from robustream.kernels.threads import limit_threads

__all__ = ["call_pickled", "kill_worker"]


def call_pickled(function: bytes, task: bytes) -> Reply:
    """Load both and call; one thread for the kernels, since the engine fills the cores with tasks."""
    with limit_threads(1):
        try:
            loaded, argument = pickle.loads(function), pickle.loads(task)
        except BaseException as error:
            return Reply(None, f"the worker cannot load the task: {describe_error(error)}", own_name(), 0.0)
        return call_task(loaded, argument)


def kill_worker(dask_worker: Any) -> None:
    """End the worker process of a Dask nanny, which is what the argument is, wherever that process is stuck."""
    if dask_worker.pid is not None:
        os.kill(dask_worker.pid, signal.SIGKILL)
