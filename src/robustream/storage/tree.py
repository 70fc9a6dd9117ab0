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

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.errors import DamagedFileError, InvalidInputError
from robustream.storage import strict_json, texts
from robustream.storage.arrays import dtype_code

__all__ = ["Tree", "dump_tree", "parse_tree"]

# Nested dict, list, str, int, float, bool, None and NumPy scalars, with NumPy arrays as leaves. A recursive type would
# make every reader narrow every step; what is read is checked where it is used.
Tree = Any

MOST_LEVELS = 64
_LARGEST_JSON_INTEGER = 2**63
_SCALARS = {name: np.dtype(name).type for name in ("bool", "int8", "int16", "int32", "int64")} | {
    name: np.dtype(name).type for name in ("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
}


def dump_tree(tree: Tree) -> tuple[str, dict[str, NDArray[Any]]]:
    """Give the JSON of a tree and its arrays by name; a name is the path to the array."""
    tensors: dict[str, NDArray[Any]] = {}
    return strict_json.dump(_Writer(tensors).plain(tree, ())), tensors


def parse_tree(text: str, tensors: Mapping[str, NDArray[Any]]) -> Tree:
    """Give the tree back; each array must be named exactly once, so that a short text cannot ask for much memory."""
    unused = dict(tensors)
    tree = _read(strict_json.parse(text, "the description of the content"), unused, 0)
    if unused:
        raise DamagedFileError(f"array {next(iter(unused))!r} has no place in the content")
    return tree


class _Writer:
    def __init__(self, tensors: dict[str, NDArray[Any]]) -> None:
        self.tensors = tensors

    def plain(self, value: Tree, path: tuple[str, ...]) -> Any:
        """Give what stands in the JSON for a value."""
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
            listed = texts.as_list(array)
            return {"$characters": self._store(texts.as_characters(array), path)} if listed is None else listed
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
            return texts.from_characters(array)
        return array if tag == "$tensor" else np.asfortranarray(array)
    if tag == "$text":
        return texts.from_list(content, others)
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
    if not isinstance(name, str) or name not in _SCALARS or not isinstance(content, (bool, int, float)):
        raise DamagedFileError("a number has no valid type")
    try:
        scalar = _SCALARS[name](content)
    except (OverflowError, ValueError) as error:
        raise DamagedFileError(f"a number does not fit its type {name}") from error
    if scalar.item() != content and content == content:
        raise DamagedFileError(f"a number does not fit its type {name}")
    return scalar
