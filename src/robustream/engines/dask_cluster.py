"""Dask's package, imported when it is first needed, and a cluster of our own that nobody else can reach."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from robustream.engines.base import describe_error
from robustream.errors import EngineError

__all__ = ["import_distributed", "start_cluster"]

_LOOPBACK = "127.0.0.1"


def import_distributed() -> Any:
    """Give the package `distributed`, or say how to get it."""
    try:
        import distributed
    except ImportError as error:
        raise EngineError("DaskEngine needs Dask: pip install 'robustream[dask]'") from error
    return distributed


@contextmanager
def start_cluster(n_workers: int, security: Any) -> Iterator[Any]:
    """Start a scheduler and single-threaded worker processes that listen on the loopback interface only."""
    distributed = import_distributed()
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
