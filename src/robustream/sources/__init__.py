"""Where batches come from: arrays, files, simulations with a known truth, and contamination made on purpose."""

from typing import TYPE_CHECKING, Any

from robustream.sources.arrays import ArraySource, cut
from robustream.sources.base import Source, batch_at
from robustream.sources.contamination import (
    CorruptedBatches,
    CorruptedCells,
    CorruptedRows,
    place_batches,
    spread_outliers,
)
from robustream.sources.ground_truth import KnownOutliers, clean_part, coefficient_error, subspace_error
from robustream.sources.iterables import IterableSource
from robustream.sources.lookahead import read_ahead
from robustream.sources.simulated import SimulatedPCA, SimulatedRegression

if TYPE_CHECKING:
    from robustream.sources.tables import Tables, TableSource, open_tables

__all__ = [
    "ArraySource",
    "CorruptedBatches",
    "CorruptedCells",
    "CorruptedRows",
    "IterableSource",
    "KnownOutliers",
    "SimulatedPCA",
    "SimulatedRegression",
    "Source",
    "TableSource",
    "Tables",
    "batch_at",
    "clean_part",
    "coefficient_error",
    "cut",
    "open_tables",
    "place_batches",
    "read_ahead",
    "spread_outliers",
    "subspace_error",
]

_OF_FILES = ("TableSource", "Tables", "open_tables")


def __getattr__(name: str) -> Any:
    """Load what reads files, and pyarrow with it, when it is first asked for."""
    if name in _OF_FILES:
        from robustream.sources import tables

        return getattr(tables, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
