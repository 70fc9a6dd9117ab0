"""The kernels beside what NumPy offers for the same input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.bench.figures import Figure, Target
from robustream.bench.timing import MEDIAN_OF_RATIOS, compare, same_threads, say_threads
from robustream.kernels.median import geometric_median
from robustream.kernels.reference import kept_count
from robustream.kernels.trimmed import trimmed_covariance

__all__ = ["measure_against_partition", "measure_against_product", "measure_median", "partition_covariance"]


def measure_against_product(
    rows: int, columns: int, trim: float, threads: int, repeats: int, target: Target | None = None
) -> Figure:
    """Time `trimmed_covariance` in multiples of `X.T @ X`."""
    X = _normal(rows, columns)
    with same_threads(threads):
        times = compare(lambda: trimmed_covariance(X, trim), lambda: X.T @ X, repeats)
    return Figure(
        "trimmed_covariance",
        f"trimmed_covariance: time against X.T @ X, {rows:,} x {columns} float32, trim {trim}, {say_threads(threads)}",
        times.ratio,
        "x",
        target,
        MEDIAN_OF_RATIOS,
        times.details(),
    )


def measure_against_partition(
    rows: int, columns: int, trim: float, threads: int, repeats: int, target: Target | None = None
) -> Figure:
    """Return how many times faster `trimmed_covariance` is than `partition_covariance`."""
    X = _normal(rows, columns)
    with same_threads(threads):
        times = compare(lambda: trimmed_covariance(X, trim), lambda: partition_covariance(X, trim), repeats)
    return Figure(
        "trimmed_covariance",
        f"trimmed_covariance: speed against np.partition, {rows:,} x {columns} float32, trim {trim}, "
        f"{say_threads(threads)}",
        1 / times.ratio,
        "x",
        target,
        MEDIAN_OF_RATIOS,
        times.details(),
    )


def partition_covariance(X: NDArray[Any], trim: float) -> NDArray[Any]:
    """Do what `trimmed_covariance` does in NumPy, as fast as a careful user would have it.

    Only half of the pairs, columns one behind the other, kept products summed by a dot product with their mask;
    ties at the border are all kept, which is cheaper than sharing the places left.
    """
    columns = np.ascontiguousarray(X.T)
    count, rows = columns.shape
    kept = kept_count(rows, trim)
    result = np.empty((count, count), X.dtype)
    products, magnitudes = np.empty(rows, X.dtype), np.empty(rows, X.dtype)
    for i in range(count):
        for j in range(i, count):
            np.multiply(columns[i], columns[j], out=products)
            np.abs(products, out=magnitudes)
            threshold = np.partition(magnitudes, kept - 1)[kept - 1]
            result[i, j] = result[j, i] = products.dot(magnitudes <= threshold) / kept
    return result


def measure_median(points: int, dimension: int, tolerance: float, target: Target | None = None) -> Figure:
    """Count how often `geometric_median` reads the points until its certified relative gap is small enough."""
    cloud = np.random.default_rng(0).standard_normal((points, dimension))
    _, info = geometric_median(cloud, tolerance=tolerance, return_info=True)
    return Figure(
        "geometric_median",
        f"geometric_median: passes over {points:,} points in {dimension:,} dimensions to a relative gap of "
        f"{tolerance:g}",
        # A gap that was not reached makes the number of passes worthless.
        float(info.passes) if info.relative_gap <= tolerance else float("inf"),
        "passes",
        target,
        "counted in one run",
        {"relative_gap": info.relative_gap, "passes": info.passes},
    )


def _normal(rows: int, columns: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)
