"""Named tuples and frozen dataclasses as trees, and back, from a list of classes that are allowed.

Only classes that were named beforehand are ever made, with exactly their own fields: a file cannot ask for anything
else. In the tree an object is {"@": name of its class, field: value, ...}, a tuple is {"@tuple": [...]}, and a
dictionary whose keys are not all plain text is {"@items": [[key, value], ...]}. Lists and other values are themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from robustream.errors import DamagedFileError, InvalidInputError
from robustream.files.tree import Tree

__all__ = ["Registry"]

_PLAIN = {bool, int, float, str, type(None)}


class Registry:
    """The classes that may be encoded and decoded, by name.

    Parameters
    ----------
    classes : classes
        Named tuples and frozen dataclasses, no two of the same name.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Interval(NamedTuple):
    ...     low: float
    ...     high: float
    >>> registry = Registry([Interval])
    >>> registry.encode((Interval(0.5, 2.0), None))
    {'@tuple': [{'@': 'Interval', 'low': 0.5, 'high': 2.0}, None]}
    >>> registry.decode(registry.encode(Interval(0.5, 2.0)))
    Interval(low=0.5, high=2.0)
    """

    def __init__(self, classes: Iterable[type]) -> None:
        self._fields: dict[type, tuple[str, ...]] = {}
        self._by_name: dict[str, type] = {}
        for kind in classes:
            if kind.__name__ in self._by_name:
                raise InvalidInputError(f"two classes are named {kind.__name__}")
            self._fields[kind] = _field_names(kind)
            self._by_name[kind.__name__] = kind

    def encode(self, value: Any) -> Tree:
        """Return the tree of an object."""
        names = self._fields.get(type(value))
        if names is not None:
            return {"@": type(value).__name__} | {name: self.encode(getattr(value, name)) for name in names}
        if type(value) is tuple:
            return {"@tuple": [self.encode(item) for item in value]}
        if isinstance(value, list):
            # Long columns of plain values need no walk.
            return value if set(map(type, value)) <= _PLAIN else [self.encode(item) for item in value]
        if isinstance(value, Mapping):
            if all(isinstance(key, str) and not key.startswith("@") for key in value):
                return {key: self.encode(item) for key, item in value.items()}
            return {"@items": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if value is None or isinstance(value, (bool, int, float, str, np.ndarray, np.generic)):
            return value
        raise InvalidInputError(f"objects of class {type(value).__name__} cannot be stored")

    def decode(self, tree: Tree) -> Any:
        """Return the object of a tree; a class or a field that is not allowed is a DamagedFileError."""
        if isinstance(tree, list):
            return tree if set(map(type, tree)) <= _PLAIN else [self.decode(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        if "@" in tree:
            return self._make(tree)
        if tree.keys() == {"@tuple"} and isinstance(tree["@tuple"], list):
            return tuple(self.decode(item) for item in tree["@tuple"])
        if tree.keys() == {"@items"} and isinstance(tree["@items"], list):
            return dict(self._item(pair) for pair in tree["@items"])
        if any(key.startswith("@") for key in tree):
            raise DamagedFileError("the content has a mark that this version does not know")
        return {key: self.decode(item) for key, item in tree.items()}

    def _make(self, tree: dict[str, Tree]) -> Any:
        kind = self._by_name.get(tree["@"]) if isinstance(tree["@"], str) else None
        if kind is None:
            raise DamagedFileError(f"the content has an object of class {str(tree['@'])[:40]!r}, which is not allowed")
        names = self._fields[kind]
        if tree.keys() != {"@", *names}:
            raise DamagedFileError(f"the content has a {kind.__name__} with other fields than {', '.join(names)}")
        try:
            return kind(**{name: self.decode(tree[name]) for name in names})
        except (TypeError, ValueError) as error:
            if isinstance(error, DamagedFileError):
                raise
            raise DamagedFileError(f"the content has a {kind.__name__} that cannot be: {error}") from error

    def _item(self, pair: Tree) -> tuple[Any, Any]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise DamagedFileError("the content has a dictionary that is none")
        key, value = self.decode(pair[0]), self.decode(pair[1])
        try:
            hash(key)
        except TypeError as error:
            raise DamagedFileError("the content has a dictionary with a key that can be none") from error
        return key, value


def _field_names(kind: type) -> tuple[str, ...]:
    if is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return tuple(field.name for field in fields(kind))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    raise InvalidInputError(f"{kind.__name__} is neither a named tuple nor a frozen dataclass")
