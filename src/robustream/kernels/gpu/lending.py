"""How a batch comes to the GPU: as it is, or as a copy on a stream of its own."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from robustream.kernels.gpu.device import as_device_array, load_cupy
from robustream.kernels.gpu.rows import DeviceRows, DeviceStack

__all__ = ["lend", "lend_stack", "work_stream"]

_streams = threading.local()
# Bytes that the work on one number of a stack takes at most, copies and what is between included.
_BYTES_FOR_ONE = 32


def lend(values: Any) -> Any:
    """Give an array as rows on the GPU; half precision becomes single, in which the sums are."""
    array = as_device_array(values)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    return DeviceRows(array)


def lend_stack(values: Any) -> Any:
    """Give estimates side by side on the GPU; as they are if there is not the memory for the work on them."""
    cupy = load_cupy()
    free = cupy.cuda.Device().mem_info[0] + cupy.get_default_memory_pool().free_bytes()
    return DeviceStack(cupy.asarray(values)) if free > _BYTES_FOR_ONE * values.size else values


def work_stream(resident: bool) -> AbstractContextManager[Any]:
    """Give where to work: on the caller's stream with rows that are there, else on one for each thread.

    Two threads with batches from the host then work at once: one copies while the other computes.
    """
    if resident:
        return nullcontext()
    if not hasattr(_streams, "stream"):
        _streams.stream = load_cupy().cuda.Stream(non_blocking=True)
    return _streams.stream
