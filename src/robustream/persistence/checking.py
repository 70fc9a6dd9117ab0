"""Taking content apart without trust: what is missing, or of another type, is a DamagedFileError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from robustream.errors import DamagedFileError, NewerFormatError, UnsupportedEstimatorError
from robustream.files import Tree

__all__ = ["damaged_on_error", "take", "take_floats", "take_list", "take_optional"]

Kind = TypeVar("Kind")


@contextmanager
def damaged_on_error(what: str) -> Iterator[None]:
    """Turn any error of rebuilding objects from content into a DamagedFileError.

    The checksum has already said that robustream, or someone who imitates it, wrote the content; whatever the
    constructors and checks of the objects do not accept is then not what it claims to be.
    """
    try:
        yield
    except (DamagedFileError, NewerFormatError, UnsupportedEstimatorError):
        raise
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        AssertionError,
        RecursionError,
    ) as error:
        raise DamagedFileError(f"{what} in it is not as it should be ({type(error).__name__}: {error})") from error


def take(tree: Tree, name: str, kind: type[Kind]) -> Kind:
    """Give an entry of a dictionary, of exactly that type."""
    if not isinstance(tree, dict) or name not in tree:
        raise DamagedFileError(f"the entry {name!r} is missing")
    value = tree[name]
    if type(value) is not kind:
        raise DamagedFileError(f"the entry {name!r} is of type {type(value).__name__}, not {kind.__name__}")
    return value


def take_optional(tree: Tree, name: str, kind: type[Kind]) -> Kind | None:
    """Give an entry that may be None."""
    return None if isinstance(tree, dict) and name in tree and tree[name] is None else take(tree, name, kind)


def take_list(tree: Tree, name: str, kind: type[Kind], length: int | None = None) -> list[Kind]:
    """Give a list of values of one type."""
    values = take(tree, name, list)
    if any(type(value) is not kind for value in values) or (length is not None and len(values) != length):
        raise DamagedFileError(f"the entry {name!r} is no list of {length or 'some'} {kind.__name__}")
    return values


def take_floats(tree: Tree, name: str, length: int) -> NDArray[np.float64]:
    """Give a list of numbers that was stored as an array."""
    values: Any = take(tree, name, np.ndarray)
    if values.dtype != np.float64 or values.shape != (length,):
        raise DamagedFileError(f"the entry {name!r} is no array of {length} numbers")
    return values
