"""Tell arrays on a GPU from others, and bring them over, without importing anything that knows about GPUs before."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["host_array", "is_device_array", "library_of"]

# What the exchange format of arrays calls a CUDA device, and memory that host and device share.
_CUDA = (2, 13)


def is_device_array(values: Any) -> bool:
    """Tell whether an array lies on a GPU.

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
    """Give a NumPy array of what lies on a GPU; anything else as it is."""
    if not is_device_array(values):
        return values
    from robustream.kernels.gpu.device import as_device_array

    return as_device_array(values).get()
