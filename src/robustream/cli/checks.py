"""Values that options cannot have: told before any work begins, in the words of the command line."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

__all__ = [
    "address",
    "batch_size",
    "character",
    "components",
    "ending",
    "names",
    "number",
    "one_of",
    "rhythm",
    "worker_count",
]

_CHARACTERS = {"\\t": "\t", "tab": "\t"}


def one_of(*choices: str) -> Callable[[str | None], str | None]:
    """Allow some words."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in choices:
            listed = ", ".join(choice if choice[0].isalnum() else repr(choice) for choice in choices)
            raise typer.BadParameter(f"must be one of {listed}; {value!r} came")
        return value

    return check


def number(needed: str, fits: Callable[[float], bool]) -> Callable[[float | None], float | None]:
    """Allow finite numbers for which `fits` holds; `needed` says which these are."""

    def check(value: float | None) -> float | None:
        if value is not None and not (math.isfinite(value) and fits(value)):
            raise typer.BadParameter(f"must be {needed}; {value:g} came")
        return value

    return check


def worker_count(value: int) -> int:
    """Allow numbers of workers, and negative ones for all cores but some."""
    if value == 0:
        raise typer.BadParameter("must be a number of batches at once, or -1 for all cores; 0 came")
    return value


def components(value: str) -> str:
    """Allow a number of components, or a share of the variance."""
    try:
        share = float(value)
    except ValueError:
        share = math.nan
    if not (0 < share < 1 or (share >= 1 and share == int(share) and value.strip().isdigit())):
        raise typer.BadParameter(f"must be a whole number from 1 on, or a share such as 0.95; {value!r} came")
    return value


def batch_size(value: str) -> str:
    """Allow "auto" or a number of rows."""
    if value != "auto" and not (value.strip().isdigit() and int(value) > 0):
        raise typer.BadParameter(f"must be auto or a number of rows; {value!r} came")
    return value


def rhythm(value: str) -> str:
    """Allow a time or a number of batches."""
    from robustream.errors import InvalidInputError
    from robustream.fitting.rhythm import Rhythm

    try:
        Rhythm(value)
    except InvalidInputError:
        raise typer.BadParameter(f"must be a time such as '5 min', or as '100 batches'; {value!r} came") from None
    return value


def character(value: str | None) -> str | None:
    """Allow a character that can stand between fields; a tab can be written as "tab"."""
    value = _CHARACTERS.get(value or "", value)
    if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n'):
        raise typer.BadParameter(f"must be a single character, or tab; {value!r} came")
    return value


def address(value: str | None) -> str | None:
    """Allow what can be the address of a scheduler."""
    if value is not None and not re.fullmatch(r"([a-z+]+://)?.+:\d+", value):
        raise typer.BadParameter(f"must be an address such as tcp://host:8786; {value!r} came")
    return value


def names(value: list[str] | None) -> list[str] | None:
    """Allow names of columns, but not nothing at all: "a,b" stands for two."""
    parts = [part.strip() for name in value or () for part in name.split(",") if part.strip()]
    if value and not parts:
        raise typer.BadParameter("must be names of columns, as a,b; none came")
    if doubled := [part for part, times in Counter(parts).items() if times > 1]:
        raise typer.BadParameter(f"must name each column once; {doubled[0]!r} came again")
    return value


def ending(allowed: Sequence[str]) -> Callable[[Path], Path]:
    """Allow names of files that end in one of some ways."""

    def check(value: Path) -> Path:
        if value.suffix.lower() not in allowed:
            raise typer.BadParameter(f"must end in one of {', '.join(allowed)}; {value.name} came")
        return value

    return check
