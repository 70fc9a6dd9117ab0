"""Garbage is made in units of the data, so that it is garbage for data of any scale.

A magnitude of 10 means ten times a column's ordinary spread. The units are those of the first batch of the
wrapped source, for all batches: bad batches that are to agree on a wrong answer need the same units.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Units", "units_of"]

# Quartiles of a few rows are good enough for a scale, and cost nothing beside the batches.
_ROWS = 2_000
# The distance between the quartiles of a standard normal distribution.
_NORMAL_QUARTILES = 1.349


@dataclass(frozen=True)
class Units:
    """Center and scale of each column; for labels (integers, text) those of their places in sorted order."""

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    labels: NDArray[Any] | None = None

    def read(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Express values in these units."""
        if self.labels is not None:
            # A label that the first batch did not have gets the place of its neighbour.
            values = np.searchsorted(self.labels, values).clip(0, self.labels.size - 1)
        return (np.asarray(values, dtype=np.float64) - self.center) / self.scale

    def write(self, scores: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Give the values for numbers in these units, in the type of the data."""
        values = self.center + self.scale * scores
        if self.labels is not None:
            return self.labels[np.rint(values).astype(np.intp).clip(0, self.labels.size - 1)].astype(dtype)
        if np.issubdtype(dtype, np.integer):
            bounds = np.iinfo(dtype)
            # One step inside the bounds, which a float may be unable to hold, is garbage enough.
            return np.rint(values).clip(bounds.min / 2, bounds.max / 2).astype(dtype)
        return values.astype(dtype)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], magnitude: float) -> NDArray[np.float64]:
        """Draw numbers in these units: uniform up to a magnitude, or labels that are equally likely."""
        if self.labels is not None:
            return np.asarray((rng.integers(self.labels.size, size=shape) - self.center) / self.scale)
        return magnitude * rng.uniform(-1.0, 1.0, shape)


def units_of(values: NDArray[Any], *, target: bool = False) -> Units:
    """Give the units of some rows; targets that are no real numbers are labels."""
    if target and not np.issubdtype(values.dtype, np.floating):
        labels = np.unique(values)
        return Units(np.asarray((labels.size - 1) / 2), np.asarray(1.0), labels)
    rows = values[:_ROWS].astype(np.float64)
    with warnings.catch_warnings():
        # Columns without any number get center 0 and scale 1 below.
        warnings.simplefilter("ignore", RuntimeWarning)
        low, center, high = np.nanquantile(rows, [0.25, 0.5, 0.75], axis=0)
        scale = (high - low) / _NORMAL_QUARTILES
        # Sparse columns have equal quartiles and some spread nevertheless.
        scale = np.where(scale > 0, scale, np.nanstd(rows, axis=0))
    usable = np.isfinite(center) & np.isfinite(scale) & (scale > 0)
    return Units(np.where(np.isfinite(center), center, 0.0), np.where(usable, scale, 1.0))
