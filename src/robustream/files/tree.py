"""A tree of plain data as JSON, with its arrays taken out as named tensors.

Everything comes back as it was: floats to the last bit, infinities, whole numbers of any size, NumPy's scalar types,
text arrays, and whether an array lay in rows or in columns (sums and products of the same numbers differ in the last
bit when they lie otherwise). In the JSON an object with one key that begins with `$` stands for such a thing:

    {"$tensor": name}                 an array; {"$columns": name} if it lay in columns
    {"$text": [...], "shape": [...]}  an array of text; with "width" if of fixed width
    {"$characters": name}             an array of text as character codes, where a list would be too wasteful
    {"$scalar": number, "type": ...}  a NumPy scalar
    {"$number": "nan"}                a number that JSON has no word for: nan, inf, -inf, or hexadecimal digits

A key of the tree that begins with `$` itself gets one more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.errors import DamagedFileError, InvalidInputError

__all__ = ["DTYPES", "Tree", "dtype_code", "dump_json", "dump_tree", "parse_json", "parse_tree"]

# Nested dict, list, str, int, float, bool, None and NumPy scalars, with NumPy arrays as leaves. A recursive type would
# make every reader narrow every step; what is read is checked where it is used.
Tree = Any

MOST_LEVELS = 64
_MOST_DIMENSIONS = 32
_LARGEST_JSON_INTEGER = 2**63
# An array of fixed width takes the longest text's room for each; one long text among many short ones would turn a small
# file into a huge array. A list may therefore blow up by this factor at most.
_MOST_GROWTH = 64

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
# The types of numbers that are written, by the name that safetensors has for each.
DTYPES: dict[str, np.dtype[Any]] = {code: np.dtype(name).newbyteorder("<") for name, code in _CODES.items()}


def dtype_code(dtype: np.dtype[Any]) -> str:
    """Return the name that safetensors has for a type of numbers."""
    code = _CODES.get(dtype.name)
    if code is None:
        raise InvalidInputError(f"arrays of type {dtype} cannot be stored; those of {', '.join(_CODES)} and text can")
    return code


def dump_json(value: Any) -> str:
    """Return JSON in plain ASCII, without blanks, in the order of the keys."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def parse_json(text: str | bytes, what: str) -> Any:
    """Return what JSON says if it is what `dump_json` gives for that; all else is a DamagedFileError.

    So there are no repeated keys, no NaN, no endless digits and no endless nesting.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("ascii")
        value = json.loads(text)
        if dump_json(value) == text:
            return value
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{what} is no valid JSON ({type(error).__name__})") from error
    raise DamagedFileError(f"{what} is JSON that robustream does not write")


def dump_tree(tree: Tree) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return the JSON of a tree and its arrays by name; a name is the path to the array."""
    tensors: dict[str, NDArray[Any]] = {}
    return dump_json(_Writer(tensors).plain(tree, ())), tensors


def parse_tree(text: str | bytes, tensors: Mapping[str, NDArray[Any]]) -> Tree:
    """Return the tree; each array must be named exactly once, so that a short text cannot ask for much memory."""
    unused = dict(tensors)
    tree = _read(parse_json(text, "the description of the content"), unused, 0)
    if unused:
        raise DamagedFileError(f"array {next(iter(unused))!r} has no place in the content")
    return tree


class _Writer:
    def __init__(self, tensors: dict[str, NDArray[Any]]) -> None:
        self.tensors = tensors

    def plain(self, value: Tree, path: tuple[str, ...]) -> Any:
        """Return what stands in the JSON for a value."""
        if len(path) > MOST_LEVELS:
            raise InvalidInputError(f"data nested more than {MOST_LEVELS} levels deep cannot be stored")
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, np.generic) and not isinstance(value, np.str_):
            dtype_code(value.dtype)
            return {"$scalar": self.plain(value.item(), path), "type": value.dtype.name}
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return value if abs(value) < _LARGEST_JSON_INTEGER else {"$number": hex(value)}
        if isinstance(value, float):
            return value if isfinite(value) else {"$number": str(value)}
        if isinstance(value, list):
            if _is_simple(value):
                return value
            return [self.plain(item, (*path, str(place))) for place, item in enumerate(value)]
        if isinstance(value, Mapping):
            return {self._key(key): self.plain(item, (*path, str(key))) for key, item in value.items()}
        raise InvalidInputError(f"{'/'.join(path) or 'the content'} of type {type(value).__name__} cannot be stored")

    def _key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise InvalidInputError(f"the key {key!r} cannot be stored: keys are text")
        return f"${key}" if key.startswith("$") else str(key)

    def _array(self, array: NDArray[Any], path: tuple[str, ...]) -> dict[str, Any]:
        if array.dtype.kind in "UO":
            listed = _text_list(array)
            return {"$characters": self._store(_characters(array), path)} if listed is None else listed
        dtype_code(array.dtype)
        by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        return {"$columns" if by_columns else "$tensor": self._store(array, path)}

    def _store(self, array: NDArray[Any], path: tuple[str, ...]) -> str:
        base = re.sub(r"[^\w.\-/ ]", "_", "/".join(path), flags=re.ASCII)[:200] or "value"
        name, number = base, 2
        while name in self.tensors or name == "__metadata__":
            name, number = f"{base}~{number}", number + 1
        self.tensors[name] = array
        return name


def _is_simple(values: list[Any]) -> bool:
    """Tell at the speed of C whether a list, which may be long, is already as it stands in the JSON."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return max(map(abs, values)) < _LARGEST_JSON_INTEGER
    return kinds <= {str} or (kinds == {float} and all(map(isfinite, values)))


def _read(value: Any, tensors: dict[str, NDArray[Any]], level: int) -> Tree:
    if level > MOST_LEVELS:
        raise DamagedFileError(f"the content is nested more than {MOST_LEVELS} levels deep")
    if isinstance(value, list):
        if _is_simple(value):
            return value
        return [_read(item, tensors, level + 1) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value), "")
    if tag.startswith("$") and not tag.startswith("$$"):
        return _special(tag, value, tensors)
    return {_plain_key(key): _read(item, tensors, level + 1) for key, item in value.items()}


def _plain_key(key: str) -> str:
    if key.startswith("$") and not key.startswith("$$"):
        raise DamagedFileError(f"{key[:20]!r} stands where only plain keys may stand")
    return key[1:] if key.startswith("$") else key


def _special(tag: str, value: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Tree:
    content, others = value[tag], {key: item for key, item in value.items() if key != tag}
    if tag in ("$tensor", "$columns", "$characters") and isinstance(content, str) and not others:
        array = tensors.pop(content, None)
        if array is None:
            raise DamagedFileError(f"the content names an array {content[:60]!r} that is missing or named twice")
        if tag == "$characters":
            return _from_characters(array)
        return array if tag == "$tensor" else np.asfortranarray(array)
    if tag == "$text":
        return _from_text_list(content, others)
    if tag == "$number" and isinstance(content, str) and not others:
        return _number(content)
    if tag == "$scalar" and others.keys() == {"type"}:
        return _scalar(content, others["type"])
    raise DamagedFileError(f"the content has an unknown mark {tag[:20]!r}")


def _number(content: str) -> float | int:
    if content in ("nan", "inf", "-inf"):
        return float(content)
    if re.fullmatch(r"-?0x[0-9a-f]+", content):
        return int(content, 16)
    raise DamagedFileError(f"the content has {content[:20]!r} where a number should be")


def _scalar(content: Any, name: Any) -> Any:
    if isinstance(content, dict):
        content = _special("$number", content, {}) if content.keys() == {"$number"} else None
    if not isinstance(name, str) or name not in _CODES or not isinstance(content, (bool, int, float)):
        raise DamagedFileError("a number has no valid type")
    try:
        scalar = np.dtype(name).type(content)
    except (OverflowError, ValueError) as error:
        raise DamagedFileError(f"a number does not fit its type {name}") from error
    if scalar.item() != content and content == content:
        raise DamagedFileError(f"a number does not fit its type {name}")
    return scalar


def _text_list(array: NDArray[Any]) -> dict[str, Any] | None:
    """Return texts as a list with their shape; None if reading the list would take far more room than it does."""
    values = array.reshape(-1).tolist()
    if not all(isinstance(value, str) for value in values):
        raise InvalidInputError("an array of objects can be stored only if all of them are text")
    described: dict[str, Any] = {"$text": [str(value) for value in values], "shape": list(array.shape)}
    if array.dtype.kind == "U":
        described["width"] = array.dtype.itemsize // 4
        if not _is_thrifty(described["$text"], described["width"]):
            return None
    return described


def _from_text_list(values: Any, others: dict[str, Any]) -> NDArray[Any]:
    shape, width = others.pop("shape", None), others.pop("width", None)
    if others or not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise DamagedFileError("an array of text has other things in it")
    if not isinstance(shape, list) or len(shape) > _MOST_DIMENSIONS or not all(_is_count(side) for side in shape):
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


def _characters(array: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the codes of the characters, with the width as one more dimension."""
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return native.reshape(*array.shape, 1).view(np.uint32)


def _from_characters(codes: NDArray[Any]) -> NDArray[Any]:
    if codes.dtype != np.uint32 or codes.ndim == 0 or codes.shape[-1] == 0 or codes.max(initial=0) > 0x10FFFF:
        raise DamagedFileError("an array of text has codes that are no characters")
    return codes.view(f"U{codes.shape[-1]}")[..., 0]


def _is_thrifty(values: list[str], width: int) -> bool:
    """Compare the room of the array with that of the list, each text counted with its quotes and comma."""
    return 4 * width * len(values) <= _MOST_GROWTH * (sum(map(len, values)) + 3 * len(values))


def _is_count(side: Any) -> bool:
    return type(side) is int and 0 <= side < 2**40
