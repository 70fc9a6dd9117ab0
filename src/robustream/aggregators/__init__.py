"""How many estimates become one."""

from __future__ import annotations

from robustream.aggregators.base import Aggregator, Assessment, StepInfo
from robustream.aggregators.coordinatewise import CoordinateMedian, TrimmedMean
from robustream.aggregators.filtered import Filtered
from robustream.aggregators.geometric_median import GeometricMedian
from robustream.aggregators.mean import Mean
from robustream.aggregators.online_median import OnlineMedian
from robustream.errors import InvalidInputError

__all__ = [
    "AGGREGATORS",
    "Aggregator",
    "Assessment",
    "CoordinateMedian",
    "Filtered",
    "GeometricMedian",
    "Mean",
    "OnlineMedian",
    "StepInfo",
    "TrimmedMean",
    "resolve_aggregator",
]

AGGREGATORS: dict[str, type[Aggregator]] = {
    aggregator.name: aggregator
    for aggregator in (Filtered, GeometricMedian, OnlineMedian, Mean, CoordinateMedian, TrimmedMean)
}


def resolve_aggregator(aggregator: str | Aggregator) -> Aggregator:
    """Give the aggregator of that name with its default settings, or the object itself."""
    if isinstance(aggregator, Aggregator):
        return aggregator
    if isinstance(aggregator, str) and aggregator in AGGREGATORS:
        return AGGREGATORS[aggregator]()
    raise InvalidInputError(
        f"aggregator must be one of {sorted(AGGREGATORS)} or an object from robustream.aggregators, got {aggregator!r}"
    )
