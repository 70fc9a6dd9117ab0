"""Tell arrays on a GPU from others, without importing anything that knows about GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["is_device_array"]

# What the exchange format of arrays calls a CUDA device.
_CUDA = 2


def is_device_array(values: Any) -> bool:
    """Tell whether an array lies on a GPU.

    >>> is_device_array([1.0, 2.0])
    False
    """
    if isinstance(values, np.ndarray):
        return False
    if hasattr(values, "__cuda_array_interface__"):
        return True
    device = getattr(values, "__dlpack_device__", None)
    return device is not None and int(device()[0]) == _CUDA
