"""Questions to stored rows: select some, take their errors, say how they lie."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from robustream.paper.cells import Row

__all__ = ["Band", "Results", "root_mean_square", "slope"]


class Band(NamedTuple):
    """The root mean square of some values, the least and the largest of them."""

    middle: float
    low: float
    high: float


class Results:
    """Rows of one experiment.

    >>> results = Results([{"method": "a", "error": 3.0}, {"method": "a", "error": 4.0}, {"method": "b", "error": 1.0}])
    >>> round(results.rms(method="a"), 3)
    3.536
    >>> results.different("method")
    ['a', 'b']
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def where(self, **conditions: Any) -> Results:
        """Keep rows whose fields have these values; a tuple allows any of its members."""
        return Results(row for row in self.rows if all(_fits(row.get(key), value) for key, value in conditions.items()))

    def values(self, field: str = "error", **conditions: Any) -> list[float]:
        """Give the numbers of a field."""
        return [float(row[field]) for row in self.where(**conditions).rows if row.get(field) is not None]  # type: ignore[arg-type]

    def rms(self, field: str = "error", **conditions: Any) -> float:
        """Give the root mean square of a field; NaN if there is nothing."""
        return root_mean_square(self.values(field, **conditions))

    def mean(self, field: str = "error", **conditions: Any) -> float:
        """Give the mean of a field; NaN if there is nothing."""
        values = self.values(field, **conditions)
        return statistics.fmean(values) if values else math.nan

    def deviation(self, field: str = "error", **conditions: Any) -> float:
        """Give the standard deviation of a field; 0 for a single value."""
        values = self.values(field, **conditions)
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def band(self, field: str = "error", **conditions: Any) -> Band | None:
        """Give the middle and the ends of a field; None if there is nothing."""
        values = self.values(field, **conditions)
        return Band(root_mean_square(values), min(values), max(values)) if values else None

    def different(self, field: str, **conditions: Any) -> list[Any]:
        """Give the different values of a field, in order: sorted numbers, or texts as they come."""
        found = dict.fromkeys(row[field] for row in self.where(**conditions).rows if row.get(field) is not None)
        return sorted(found) if all(isinstance(value, (int, float)) for value in found) else list(found)


def root_mean_square(values: Sequence[float]) -> float:
    """Give the root of the mean square; NaN of nothing."""
    return math.sqrt(statistics.fmean(value**2 for value in values)) if values else math.nan


def slope(places: Sequence[float], values: Sequence[float]) -> float:
    """Give the slope on logarithmic axes, by least squares.

    >>> round(slope([1, 10, 100], [5, 0.5, 0.05]), 6)
    -1.0
    """
    logarithms = [(math.log(place), math.log(value)) for place, value in zip(places, values, strict=True) if value > 0]
    if len(logarithms) < 2:
        return math.nan
    return statistics.linear_regression([x for x, _ in logarithms], [y for _, y in logarithms]).slope


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return any(_fits(value, one) for one in wanted)
    if isinstance(wanted, float) and isinstance(value, (int, float)):
        return math.isclose(value, wanted, abs_tol=1e-9)
    return bool(value == wanted)
