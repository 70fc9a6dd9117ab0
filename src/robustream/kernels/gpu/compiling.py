"""Compile the kernels once for each kind of GPU, and keep the result beside CuPy's own.

CuPy's compiler sets numbers below the normal range to 0. The specification does not, and the code that comes out is
slower, so that the kernels are compiled here.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from robustream.kernels.gpu.device import load_cupy

__all__ = ["compiled"]

_FILES = ("common", "pairs", "brackets", "settle", "digits", "columns", "signs")


def compiled(expression: str) -> Any:
    """Give the kernel that a C++ expression such as `guess<float>` names."""
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
    """Give the file with the machine code, made now if it was not there."""
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
