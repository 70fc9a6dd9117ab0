"""A figure: one measured number, how it was measured, and the target that it was meant to meet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

__all__ = ["Figure", "Target"]


class Target(NamedTuple):
    """A bound that a figure should keep, and perhaps a better value to aim for."""

    relation: Literal["<=", "<", ">="]
    bound: float
    aim: float | None = None

    def met_by(self, value: float) -> bool:
        """Return whether a value keeps the bound."""
        if self.relation == "<=":
            return value <= self.bound
        return value < self.bound if self.relation == "<" else value >= self.bound

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:g}" + ("" if self.aim is None else f" (aim {self.aim:g})")


class Figure(NamedTuple):
    """One line of the results.

    `unit` follows the number ("x" for ratios); `how` says what the number was made of; `details` holds the raw
    numbers, such as the seconds of each side.
    """

    group: str
    title: str
    value: float
    unit: str
    target: Target | None = None
    how: str = ""
    details: Mapping[str, Any] = {}

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None if there is none, or no value (NaN: this system cannot tell)."""
        return None if self.target is None or math.isnan(self.value) else self.target.met_by(self.value)

    def as_data(self) -> dict[str, Any]:
        """Return the figure as plain data for JSON, which has neither NaN nor infinity."""
        return {
            "group": self.group,
            "title": self.title,
            "value": self.value if math.isfinite(self.value) else None,
            "unit": self.unit,
            "target": None if self.target is None else str(self.target),
            "met": self.met,
            "how": self.how,
            "details": dict(self.details),
        }
