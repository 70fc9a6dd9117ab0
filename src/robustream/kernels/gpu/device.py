"""CuPy, found when first needed, and the compiled kernels."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from robustream.errors import DeviceError, InvalidInputError
from robustream.kernels.device_arrays import is_device_array

__all__ = ["as_device_array", "kernel", "load_cupy", "matrix", "multiprocessors", "of_library"]

# What a table may hold, and what it is worked with in.
_NAMES = {"float16": "Half", "float32": "float", "float64": "double"}
_INTEGERS = {"uint32": "unsigned int", "uint64": "unsigned long long"}


@cache
def load_cupy() -> Any:
    """Give CuPy, or say what is missing."""
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            "work on a GPU needs CuPy, which is not installed here; install robustream[gpu], or use device='cpu'"
        ) from error
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(f"CuPy finds no GPU that works here ({error}); use device='cpu'") from error
    if count == 0:
        raise DeviceError("CuPy finds no GPU here; use device='cpu'")
    return cupy


def as_device_array(values: Any) -> Any:
    """Give a CuPy array that shares memory with an array on the GPU, or a copy of one on the host."""
    cupy = load_cupy()
    if isinstance(values, cupy.ndarray):
        return values
    # A tensor that keeps track of gradients does not let itself be shared.
    plain = values.detach() if hasattr(values, "detach") else values
    if not is_device_array(plain) or not hasattr(plain, "__dlpack__"):
        return cupy.asarray(plain)
    if "bfloat16" in str(plain.dtype):
        raise InvalidInputError(f"arrays of dtype {plain.dtype} cannot be worked on; convert them to float32 first.")
    # By DLPack and not CUDA's own interface: it waits for whatever another library is still writing there.
    return cupy.from_dlpack(plain)


def of_library(array: Any, library: str) -> Any:
    """Give a CuPy array as one of another library ('torch', 'jax.numpy'), which shares its memory."""
    if library == "cupy":
        return array
    # Not all take arrays whose rows do not lie one behind the other.
    return import_module(library).from_dlpack(load_cupy().ascontiguousarray(array).reshape(array.shape))


def matrix(values: Any, name: str) -> Any:
    """Give rows that lie one behind the other, in half, single or double precision."""
    array = as_device_array(values)
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must hold real numbers; got dtype {array.dtype}.")
    if array.ndim != 2 or array.size == 0:
        raise InvalidInputError(f"{name} must have rows and columns, at least one of each; got shape {array.shape}.")
    if array.dtype.char not in "efd":
        array = array.astype(np.float64)
    return array if array.flags.c_contiguous else load_cupy().ascontiguousarray(array)


@cache
def multiprocessors() -> int:
    """Give how many blocks of threads the GPU works on at once, at least."""
    return int(load_cupy().cuda.Device().attributes["MultiProcessorCount"])


@cache
def kernel(name: str, *types: Any) -> Any:
    """Give a compiled kernel; `types` are data types, or numbers, in the order of its template."""
    from robustream.kernels.gpu.compiling import compiled

    return compiled(f"{name}<{', '.join(str(kind) if isinstance(kind, int) else _in_c(kind) for kind in types)}>")


def _in_c(kind: Any) -> str:
    name = np.dtype(kind).name
    return _NAMES[name] if name in _NAMES else _INTEGERS[name]
