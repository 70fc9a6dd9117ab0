"""Where batches come from: arrays, simulations with a known truth, and garbage made on purpose."""

from robustream.sources.arrays import ArraySource, cut
from robustream.sources.base import Source
from robustream.sources.corruption import CorruptedBatches, CorruptedCells, CorruptedRows
from robustream.sources.known import KnownOutliers, batch_at, clean_part
from robustream.sources.simulated import SimulatedPCA, SimulatedRegression
from robustream.sources.spread import place_batches, spread_outliers
from robustream.sources.truth import coefficient_error, subspace_error

__all__ = [
    "ArraySource",
    "CorruptedBatches",
    "CorruptedCells",
    "CorruptedRows",
    "KnownOutliers",
    "SimulatedPCA",
    "SimulatedRegression",
    "Source",
    "batch_at",
    "clean_part",
    "coefficient_error",
    "cut",
    "place_batches",
    "spread_outliers",
    "subspace_error",
]
