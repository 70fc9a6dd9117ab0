"""Large arrays reach workers of the same machine through shared memory, whatever object they are part of.

The pickler takes them out of a task: an array in memory is copied once into a segment that the worker maps; of a
memory-mapped file only the path and the place are sent. A segment has no name that could outlive anybody: it is an
open file without a name, reached through the driver's own descriptor (on Linux), and gone when the task is done or
the driver dies. (Named shared memory needs a tracker process, and is limited to 64 MB in many containers.)
"""

from __future__ import annotations

import io
import math
import mmap
import os
import tempfile
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray

__all__ = ["Segments", "dump"]

# Below this a pipe is as quick.
_SMALLEST_SHARED = 1 << 16


def dump(value: Any, segments: Segments | None) -> bytes:
    """Pickle a value, with its large arrays in shared memory if there are segments for them.

    What is defined in the main script travels whole, since workers do not run that script.
    """
    if segments is None:
        return bytes(cloudpickle.dumps(value))
    buffer = io.BytesIO()
    _Pickler(buffer, segments).dump(value)
    return buffer.getvalue()


class Segments:
    """The shared segments of one task."""

    def __init__(self) -> None:
        self._segments: list[tuple[int, str | None]] = []

    def put(self, array: NDArray[Any]) -> str:
        """Copy an array into a segment and return the path under which a worker can open it."""
        descriptor, name = _new_file()
        self._segments.append((descriptor, name))
        os.ftruncate(descriptor, array.nbytes)
        with mmap.mmap(descriptor, array.nbytes) as segment:
            copied: NDArray[Any] = np.ndarray(array.shape, array.dtype, segment, order=_order(array))
            copied[...] = array
            # A mapping that is still looked at cannot be closed.
            del copied
        return name or f"/proc/{os.getpid()}/fd/{descriptor}"

    def clear(self) -> None:
        """Free the segments; a worker that has one mapped keeps it until it is done."""
        while self._segments:
            descriptor, name = self._segments.pop()
            os.close(descriptor)
            if name is not None:
                os.unlink(name)


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]  # has no types
    def __init__(self, buffer: io.BytesIO, segments: Segments) -> None:
        super().__init__(buffer, protocol=5)
        self._segments = segments

    def reducer_override(self, value: Any) -> Any:
        """Replace a large array by where to find it."""
        if type(value) not in (np.ndarray, np.memmap) or value.dtype.hasobject or value.nbytes < _SMALLEST_SHARED:
            return super().reducer_override(value)
        mapped = _mapped_file(value)
        if mapped is not None:
            path, offset = mapped
            return _open_array, (path, offset, value.dtype, value.shape, value.strides)
        path = self._segments.put(value)
        return _open_array, (path, 0, value.dtype, value.shape, _contiguous_strides(value))


def _open_array(
    path: str, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]
) -> NDArray[Any]:
    """Map an array in the worker; what is written there stays there."""
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return np.ndarray(shape, dtype, content, offset, strides)


def _mapped_file(array: NDArray[Any]) -> tuple[str, int] | None:
    """Return the file of which an array is a view, and the place of its first cell in it; None if there is none."""
    root: Any = array
    while isinstance(root, np.ndarray) and not isinstance(root.base, mmap.mmap):
        root = root.base
    if not isinstance(root, np.memmap) or root.filename is None or root.mode == "c":
        return None
    address = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return os.path.abspath(root.filename), root.offset + address


def _order(array: NDArray[Any]) -> Any:
    # Sums and products of the same numbers differ in the last bit when they lie otherwise.
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _contiguous_strides(array: NDArray[Any]) -> tuple[int, ...]:
    by_columns = _order(array) == "F"
    sizes = array.shape if by_columns else array.shape[::-1]
    steps = [array.itemsize * math.prod(sizes[:place]) for place in range(len(sizes))]
    return tuple(steps if by_columns else reversed(steps))


def _new_file() -> tuple[int, str | None]:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("robustream"), None
    return tempfile.mkstemp(prefix="robustream-")
