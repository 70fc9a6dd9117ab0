"""What a column holds, in the few words that matter here: numbers of several sorts, text, dates, nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["NUMERIC", "columns_of", "describe_kind", "kind_of", "kind_of_numpy"]

NUMERIC = frozenset({"float32", "float64", "integer", "boolean", "decimal", "null"})

_WORDS = {"text": "text", "date": "dates or times", "other": "nested or binary values"}


@lru_cache(maxsize=256)
def kind_of(arrow_type: pa.DataType) -> str:
    """Name what a column of an Arrow type holds.

    >>> kind_of(pa.int8()), kind_of(pa.float16()), kind_of(pa.large_string()), kind_of(pa.null())
    ('integer', 'float32', 'text', 'null')
    """
    types = pa.types
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    tests: tuple[tuple[str, Any], ...] = (
        ("float64", types.is_float64),
        ("float32", types.is_floating),
        ("integer", types.is_integer),
        ("boolean", types.is_boolean),
        ("decimal", types.is_decimal),
        ("null", types.is_null),
        ("date", types.is_temporal),
        ("text", lambda kind: types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view()),
    )
    return next((name for name, test in tests if test(arrow_type)), "other")


def kind_of_numpy(dtype: np.dtype[Any]) -> str:
    """Name what an array of a NumPy type holds.

    >>> kind_of_numpy(np.dtype(np.float16)), kind_of_numpy(np.dtype("U5"))
    ('float32', 'text')
    """
    if dtype.kind == "f":
        return "float32" if dtype.itemsize <= 4 else "float64"
    return {"i": "integer", "u": "integer", "b": "boolean", "U": "text", "M": "date", "m": "date"}.get(
        dtype.kind, "other"
    )


@lru_cache(maxsize=8)
def _shared(names: tuple[str, ...], kinds: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(names, kinds, strict=True))


def columns_of(names: Sequence[str], kinds: Sequence[str]) -> Mapping[str, str]:
    """Give the kinds by name; thousands of files alike share one table."""
    return _shared(tuple(map(sys.intern, names)), tuple(kinds))


def describe_kind(kind: str) -> str:
    """Say in words what a column that is no number holds."""
    return _WORDS.get(kind, "numbers")
