"""Arrays as bytes: which types have a place in a safetensors file, and what their bytes mean."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.errors import DamagedFileError, InvalidInputError

__all__ = ["MOST_DIMENSIONS", "array_bytes", "array_from_bytes", "check_declaration", "dtype_code"]

MOST_DIMENSIONS = 32

_CODES: dict[str, str] = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "float16": "F16",
    "uint32": "U32",
    "int32": "I32",
    "float32": "F32",
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
}
_TYPES = {code: np.dtype(name).newbyteorder("<") for name, code in _CODES.items()}


def dtype_code(dtype: np.dtype[Any]) -> str:
    """Give the name that safetensors has for a type of numbers."""
    code = _CODES.get(dtype.name)
    if code is None:
        raise InvalidInputError(f"arrays of type {dtype} cannot be stored; those of {', '.join(_CODES)} and text can")
    return code


def array_bytes(array: NDArray[Any]) -> memoryview:
    """Give the numbers of an array in C order, little-endian, without a copy where they already lie so."""
    little = np.ascontiguousarray(array, dtype=_TYPES[dtype_code(array.dtype)])
    return little.reshape(-1).view(np.uint8).data


def check_declaration(name: str, code: Any, shape: Any, size: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Give type and shape of an array if they account for exactly `size` bytes; nothing is allocated here."""
    if not isinstance(code, str) or code not in _TYPES:
        raise DamagedFileError(f"array {name!r} has the unknown type {str(code)[:20]!r}")
    if not isinstance(shape, list) or len(shape) > MOST_DIMENSIONS or not all(_is_length(side) for side in shape):
        raise DamagedFileError(f"array {name!r} has no valid shape")
    dtype = _TYPES[code]
    # An empty array may still have sides whose product no machine can count.
    if prod(side for side in shape if side) * dtype.itemsize >= 2**62 or prod(shape) * dtype.itemsize != size:
        raise DamagedFileError(f"array {name!r} has {size} bytes, which its type and shape do not account for")
    return dtype, tuple(shape)


def array_from_bytes(name: str, data: memoryview, dtype: np.dtype[Any], shape: Sequence[int]) -> NDArray[Any]:
    """Give a writable array of its own with these bytes."""
    if dtype == np.bool_ and np.frombuffer(data, np.uint8).max(initial=0) > 1:
        raise DamagedFileError(f"array {name!r} has truth values other than 0 and 1")
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _is_length(side: Any) -> bool:
    return isinstance(side, int) and not isinstance(side, bool) and 0 <= side < 2**62
