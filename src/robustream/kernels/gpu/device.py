"""CuPy, found when first needed, and the kernels, compiled once for each kind of GPU and kept beside CuPy's own.

CuPy's compiler sets numbers below the normal range to 0. The specification does not, and the code that comes out is
slower, so that the kernels are compiled here.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import numpy as np

from robustream.errors import DeviceError, InvalidInputError
from robustream.kernels.device_arrays import is_device_array

__all__ = ["as_device_array", "free_bytes", "kernel", "load_cupy", "matrix", "multiprocessors", "of_library"]

# What a table may hold, and what it is worked with in.
_NAMES = {"float16": "Half", "float32": "float", "float64": "double"}
_INTEGERS = {"uint32": "unsigned int", "uint64": "unsigned long long"}


@cache
def load_cupy() -> Any:
    """Return CuPy, or say what is missing."""
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
    """Return a CuPy array that shares memory with an array on the GPU, or a copy of one on the host."""
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
    """Return a CuPy array as one of another library ('torch', 'jax.numpy'), which shares its memory."""
    if library == "cupy":
        return array
    # Not all take arrays whose rows do not lie one behind the other.
    return import_module(library).from_dlpack(load_cupy().ascontiguousarray(array).reshape(array.shape))


def matrix(values: Any, name: str) -> Any:
    """Return rows that lie one behind the other, in half, single or double precision."""
    array = as_device_array(values)
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    if array.ndim != 2 or array.size == 0:
        raise InvalidInputError(f"{name} must have rows and columns, at least one of each, got shape {array.shape}.")
    if array.dtype.char not in "efd":
        array = array.astype(np.float64)
    return array if array.flags.c_contiguous else load_cupy().ascontiguousarray(array)


def free_bytes() -> int:
    """Return how much memory of the GPU can still be had."""
    cupy = load_cupy()
    return int(cupy.cuda.Device().mem_info[0] + cupy.get_default_memory_pool().free_bytes())


@cache
def multiprocessors() -> int:
    """Return how many blocks of threads the GPU works on at once, at least."""
    return int(load_cupy().cuda.Device().attributes["MultiProcessorCount"])


@cache
def kernel(name: str, *types: Any) -> Any:
    """Return a compiled kernel; `types` are data types, or numbers, in the order of its template."""
    return _compiled(f"{name}<{', '.join(str(kind) if isinstance(kind, int) else _in_c(kind) for kind in types)}>")


def _in_c(kind: Any) -> str:
    name = np.dtype(kind).name
    return _NAMES[name] if name in _NAMES else _INTEGERS[name]


_FILES = ("common", "pairs", "brackets", "settle", "digits", "columns", "signs", "rows")


def _compiled(expression: str) -> Any:
    """Return the kernel that a C++ expression such as `guess<float>` names."""
    cupy = load_cupy()
    architecture = f"sm_{cupy.cuda.Device().compute_capability}"
    binary = _stored(expression, architecture)
    name = binary.with_suffix(".name").read_text()
    function = cupy.RawModule(path=str(binary)).get_function(name)
    # More shared memory than the customary 48 kB has to be asked for.
    limit = int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
    function.max_dynamic_shared_size_bytes = limit - int(function.shared_size_bytes)
    return function


def _stored(expression: str, architecture: str) -> Path:
    """Return the file with the machine code, made now if it was not there."""
    from cupy_backends.cuda.libs import nvrtc  # type: ignore[import-not-found]

    source = _source()
    parts = (source, expression, architecture, str(nvrtc.getVersion()))
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    folder = os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache"
    path = Path(folder) / f"robustream-{key}.cubin"
    if not path.exists():
        program = nvrtc.createProgram(source, "robustream.cu", (), ())
        nvrtc.addNameExpression(program, expression)
        nvrtc.compileProgram(program, ("-std=c++17", f"--gpu-architecture={architecture}"))
        name, code = nvrtc.getLoweredName(program, expression), nvrtc.getCUBIN(program)
        nvrtc.destroyProgram(program)
        # The name goes first: whoever finds the code finds the name.
        _write(path.with_suffix(".name"), name.encode() if isinstance(name, str) else name)
        _write(path, code)
    return path


def _write(path: Path, data: bytes) -> None:
    """Write a file at once, since other processes may look for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(draft, path)


@cache
def _source() -> str:
    folder = resources.files("robustream.kernels.gpu") / "cuda"
    return "\n".join((folder / f"{name}.cuh").read_text() for name in _FILES)
