"""Tell arrays on a GPU from others and bring them over, without importing anything that knows about GPUs before.

Also where many wide estimates are worked on: on the host, or on the GPU that a run has used for its batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from robustream.errors import DeviceError

__all__ = ["host_array", "is_device_array", "library_of", "place_wide", "rows_in_place", "wide_on_gpu"]

# What the exchange format of arrays calls a CUDA device, and memory that host and device share.
_CUDA = (2, 13)


def is_device_array(values: Any) -> bool:
    """Return whether an array lies on a GPU.

    >>> is_device_array([1.0, 2.0])
    False
    """
    if isinstance(values, np.ndarray):
        return False
    # Asked first: a tensor that keeps track of gradients raises when it is asked for the interface of CUDA.
    device = getattr(values, "__dlpack_device__", None)
    return hasattr(values, "__cuda_array_interface__") if device is None else int(device()[0]) in _CUDA


def library_of(values: Any) -> str | None:
    """Name the module whose arrays on a GPU these are ('cupy', 'torch', 'jax.numpy'); None for all on the host."""
    if not is_device_array(values):
        return None
    library = type(values).__module__.split(".")[0]
    if library in ("cupy", "torch"):
        return library
    namespace = getattr(values, "__array_namespace__", None)
    return "cupy" if namespace is None else str(namespace().__name__)


def host_array(values: Any) -> Any:
    """Return a NumPy array of what lies on a GPU; anything else as it is."""
    if not is_device_array(values):
        return values
    from robustream.kernels.gpu.device import as_device_array

    return as_device_array(values).get()


# Fewer rows than this are worked on sooner on the host.
_MANY_ROWS = 8192


def rows_in_place(values: Any) -> Any:
    """Return rows one behind the other: on the GPU where many lie there, for NumPy's functions; else a NumPy array."""
    if not is_device_array(values) or len(values) <= _MANY_ROWS:
        return np.ascontiguousarray(values)
    from robustream.kernels.gpu.numpy_proxy import lend_table

    return lend_table(values)


_wanted: ContextVar[bool] = ContextVar("robustream_wide_on_gpu", default=False)
# Numbers in all estimates from which on the passes over them take longer than the copy; equal at half of it on an H200.
_WIDE = 1 << 23
# Of more estimates than this what there is one of for each would stay there too, where the small steps are slow.
_MOST = 1 << 13


@contextmanager
def wide_on_gpu(wanted: bool) -> Iterator[None]:
    """Work on wide estimates on the GPU within the block, if that is wanted."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def place_wide(stack: Any) -> Any:
    """Return estimates side by side where they are to be worked on: as they are unless the GPU is wanted and pays."""
    if not (_wanted.get() and isinstance(stack, np.ndarray) and stack.size >= _WIDE and len(stack) <= _MOST):
        return stack
    from robustream.kernels.gpu.numpy_proxy import lend_stack

    try:
        return lend_stack(stack)
    except DeviceError:
        # A model that was fitted on a GPU can be read where there is none.
        return stack
