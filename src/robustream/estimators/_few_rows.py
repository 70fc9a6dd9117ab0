"""What is said where there are fewer rows than a model has to learn: many answers fit them exactly."""

from __future__ import annotations

import warnings

from robustream.errors import FewRowsWarning

__all__ = ["say_few_rows", "say_flat_rows", "warn_of_few_rows"]


def say_few_rows(rows: int, unknowns: int) -> str:
    """Return what is said where there are fewer equations than unknowns; nothing where there are enough."""
    if rows >= unknowns:
        return ""
    return (
        f"{rows} rows cannot tell {unknowns} coefficients: many models fit them exactly, and this is the one with "
        "the smallest coefficients. Take more rows, fewer columns, or a ridge penalty (alpha)"
    )


def say_flat_rows(rows: int, directions: int, what: str) -> str:
    """Return what is said where so few rows vary in no other directions than the model has; else nothing."""
    if rows > directions + 1:
        return ""
    return (
        f"{rows} rows cannot tell {what}: any {rows} rows fit such a model exactly. Take more rows, or fewer "
        "columns or components"
    )


def warn_of_few_rows(said: str) -> None:
    """Warn whoever called `fit`, if there is anything to say."""
    if said:
        warnings.warn(said, FewRowsWarning, stacklevel=3)
