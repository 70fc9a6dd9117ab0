"""Warnings where there are fewer rows than a model has to learn: many answers fit them exactly."""

from __future__ import annotations

import warnings

from robustream.errors import FewRowsWarning

__all__ = ["warn_of_few_rows", "warn_of_flat_rows"]


def warn_of_few_rows(rows: int, unknowns: int) -> None:
    """Warn where there are fewer equations than unknowns: the shortest of many exact answers was taken."""
    if rows < unknowns:
        warnings.warn(
            f"{rows} rows cannot tell {unknowns} coefficients: many models fit them exactly, and this is the one with "
            "the smallest coefficients. Take more rows, fewer columns, or a ridge penalty (alpha)",
            FewRowsWarning,
            stacklevel=3,
        )


def warn_of_flat_rows(rows: int, directions: int, what: str) -> None:
    """Warn where so few rows vary in no other directions than the model has: it fits any such rows exactly."""
    if rows <= directions + 1:
        warnings.warn(
            f"{rows} rows cannot tell {what}: any {rows} rows fit such a model exactly. Take more rows, or fewer "
            "columns or components",
            FewRowsWarning,
            stacklevel=3,
        )
