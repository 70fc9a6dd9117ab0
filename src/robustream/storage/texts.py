"""Arrays of text: a list in the JSON where that is thrifty, character codes where it is not."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.errors import DamagedFileError, InvalidInputError
from robustream.storage.arrays import MOST_DIMENSIONS

__all__ = ["as_characters", "as_list", "from_characters", "from_list"]

# An array of fixed width takes the longest text's room for each; one long text among many short ones would turn a small
# file into a huge array. A list may therefore blow up by this factor at most.
_MOST_GROWTH = 64


def as_list(array: NDArray[Any]) -> dict[str, Any] | None:
    """Give the texts as a list with their shape; None if reading the list would take far more room than it does."""
    values = array.reshape(-1).tolist()
    if not all(isinstance(value, str) for value in values):
        raise InvalidInputError("an array of objects can be stored only if all of them are text")
    described: dict[str, Any] = {"$text": [str(value) for value in values], "shape": list(array.shape)}
    if array.dtype.kind == "U":
        described["width"] = array.dtype.itemsize // 4
        if not _is_thrifty(described["$text"], described["width"]):
            return None
    return described


def from_list(values: Any, others: dict[str, Any]) -> NDArray[Any]:
    """Give the array that `as_list` described."""
    shape, width = others.pop("shape", None), others.pop("width", None)
    if others or not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise DamagedFileError("an array of text has other things in it")
    if not isinstance(shape, list) or len(shape) > MOST_DIMENSIONS or not all(_is_count(side) for side in shape):
        raise DamagedFileError("an array of text has no valid shape")
    if prod(shape) != len(values) or prod(side for side in shape if side) >= 2**40:
        raise DamagedFileError("an array of text has another number of texts than its shape says")
    if width is None:
        array = np.empty(len(values), dtype=object)
        array[:] = values
    else:
        longest = max(map(len, values), default=0)
        if not _is_count(width) or width < longest or not _is_thrifty(values, width):
            raise DamagedFileError("an array of text has no valid width")
        array = np.array(values, dtype=f"<U{width}")
    return array.reshape(shape)


def as_characters(array: NDArray[Any]) -> NDArray[np.uint32]:
    """Give the codes of the characters, with the width as one more dimension."""
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return native.reshape(*array.shape, 1).view(np.uint32)


def from_characters(codes: NDArray[Any]) -> NDArray[Any]:
    """Give the array that `as_characters` described."""
    if codes.dtype != np.uint32 or codes.ndim == 0 or codes.shape[-1] == 0 or codes.max(initial=0) > 0x10FFFF:
        raise DamagedFileError("an array of text has codes that are no characters")
    return codes.view(f"U{codes.shape[-1]}")[..., 0]


def _is_thrifty(values: list[str], width: int) -> bool:
    """Compare the room of the array with that of the list, each text counted with its quotes and comma."""
    return 4 * width * len(values) <= _MOST_GROWTH * (sum(map(len, values)) + 3 * len(values))


def _is_count(side: Any) -> bool:
    return isinstance(side, int) and not isinstance(side, bool) and 0 <= side < 2**40
