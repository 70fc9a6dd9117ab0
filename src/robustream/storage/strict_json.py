"""JSON read without trust: no repeated keys, no NaN, no nesting without end, one kind of error."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from robustream.errors import DamagedFileError

__all__ = ["dump", "parse"]


def dump(value: Any) -> str:
    """Give JSON in plain ASCII, without blanks, in the order of the keys."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def parse(text: str | bytes, what: str) -> Any:
    """Read JSON; anything wrong with it is a DamagedFileError that says which part of the file it was."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{what} is no valid JSON ({type(error).__name__})") from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
