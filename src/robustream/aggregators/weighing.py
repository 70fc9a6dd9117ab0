"""How much each of the kept points counts, and where their middle is.

All the same where they are alike. Points of unequal quality count by the inverse of the variance that their distance
speaks of. Where a few may be one group or two, and where points differ by their nature, nobody may pull much harder
than the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from robustream.aggregators.core import squared_lengths, weighted_median
from robustream.aggregators.quality import effective_dimensions, fit_quality
from robustream.spaces import Array

__all__ = [
    "Weighing",
    "center_of",
    "distances_to",
    "equal_weights",
    "median_weights",
    "quality_weights",
    "spatial_median",
    "tail_weights",
]

# From points and their weights to factors of these.
Weighing: TypeAlias = Callable[[Array, Array], Array]
# Typical distances within which all count the same: 85% of normal points in 10 dimensions. Chosen on one real table
# (batches of air quality that differ by season), where 1.0 to 1.5 made little difference.
_ALIKE = 1.25


def spatial_median(points: Array, weights: Array, norms: Array, start: Array | None = None) -> Array:
    """Give the geometric median to about a hundredth of the spread, by Weiszfeld's steps."""
    shares = weights / weights.sum()
    center = np.zeros(points.shape[1], points.dtype) if start is None else start
    for _ in range(30):
        distances = distances_to(points, norms, center)
        floor = 1e-3 * weighted_median(distances, weights)
        pull = shares / np.maximum(distances, max(floor, 1e-30))
        pull /= pull.sum()
        moved = pull.astype(points.dtype) @ points
        step = float(np.linalg.norm(moved - center))
        center = moved
        if step <= 0.01 * weighted_median(distances, weights) / np.sqrt(len(points)):
            break
    return np.asarray(center)


def center_of(points: Array, weights: Array) -> Array:
    """Give the weighted mean."""
    return np.asarray((weights / weights.sum()).astype(points.dtype) @ points)


def quality_weights(points: Array, weights: Array) -> Array:
    """Give factors that weigh estimates of unequal spread as their distances from the centre say; 1 for clean ones."""
    factors = np.ones(len(points))
    for _ in range(3):
        offsets = points - center_of(points, weights * factors)
        squares = squared_lengths(offsets)
        quality = fit_quality(squares, weights, effective_dimensions(offsets, squares, weights))
        factors = 1 / quality.variances(squares)
        if np.isinf(quality.degrees):
            break
    return factors


def equal_weights(points: Array, weights: Array) -> Array:
    """Let all count the same."""
    return np.ones(len(points))


def tail_weights(points: Array, weights: Array) -> Array:
    """Give factors that fall with the square of the distance beyond the usual ones: a long tail fades out."""
    norms = squared_lengths(points)
    center = spatial_median(points, weights, norms)
    for _ in range(3):
        distances = distances_to(points, norms, center)
        usual = _ALIKE * weighted_median(distances, weights) + 1e-30
        factors = np.square(usual / np.maximum(distances, usual))
        center = center_of(points, weights * factors)
    return np.asarray(factors)


def median_weights(points: Array, weights: Array) -> Array:
    """Give factors with which the mean is the geometric median: the choice where few points leave doubt."""
    norms = squared_lengths(points)
    distances = distances_to(points, norms, spatial_median(points, weights, norms))
    return np.asarray(1 / np.maximum(distances, 1e-3 * weighted_median(distances, weights) + 1e-30))


def distances_to(points: Array, norms: Array, center: Array) -> Array:
    """Distances to a centre in the midst of points that are already centred, so that little cancels."""
    along = (points @ center).astype(np.float64)
    return np.sqrt(np.maximum(norms - 2 * along + float(np.dot(center, center)), 0.0))
