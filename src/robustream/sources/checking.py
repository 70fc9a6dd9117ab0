"""Checks of arguments that sources share: each error names the argument, what it must be and what it is."""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

import numpy as np

from robustream.errors import InvalidInputError

__all__ = ["check_choice", "check_count", "check_float_dtype", "check_fraction", "check_positive"]


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return a whole number that is at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}, got {value!r}.", name)
    return number


def check_fraction(name: str, value: Any) -> float:
    """Return a number between 0 and 1."""
    number = _number(value)
    if not 0.0 <= number <= 1.0:
        raise InvalidInputError(f"{name} must be a number between 0 and 1, got {value!r}.", name)
    return number


def check_positive(name: str, value: Any, *, zero: bool = False) -> float:
    """Return a finite number above 0, or, with `zero`, not below it."""
    number = _number(value)
    if not np.isfinite(number) or number < 0 or (number == 0 and not zero):
        needed = "of at least 0" if zero else "above 0"
        raise InvalidInputError(f"{name} must be a finite number {needed}, got {value!r}.", name)
    return number


def check_choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return one of the allowed names."""
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(repr(choice) for choice in allowed)
        raise InvalidInputError(f"{name} must be one of {listed}, got {value!r}.", name)
    return value


def check_float_dtype(value: Any) -> np.dtype[Any]:
    """Return float32 or float64."""
    try:
        dtype = np.dtype(value)
    except TypeError:
        dtype = None
    if dtype not in (np.float32, np.float64):
        raise InvalidInputError(f"dtype must be float32 or float64, got {value!r}.", "dtype")
    return dtype


def _number(value: Any) -> float:
    """Return NaN, which fails every comparison, for what is no number."""
    try:
        return float("nan") if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return float("nan")
