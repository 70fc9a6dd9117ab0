"""How much each of the kept points counts, and where their middle is.

All the same where they are alike. Points of unequal quality count by the inverse of the variance that their distance
speaks of. Where a few may be one group or two, and where points differ by their nature, nobody may pull much harder
than the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from robustream.aggregators.cloud import Cloud
from robustream.aggregators.core import Mask, weighted_median
from robustream.aggregators.quality import effective_dimensions, fit_quality
from robustream.spaces import Array

__all__ = ["Weighing", "equal_weights", "median_weights", "quality_weights", "spatial_median", "tail_weights"]

# From points, their weights and which of them are kept to a factor for each; those of the others do not matter.
Weighing: TypeAlias = Callable[[Cloud, Array, Mask], Array]
# Typical distances within which all count the same: 85% of normal points in 10 dimensions. Chosen on one real table
# (batches of air quality that differ by season), where 1.0 to 1.5 made little difference.
_ALIKE = 1.25


def spatial_median(cloud: Cloud, weights: Array, kept: Mask, start: Array | None = None) -> Array:
    """Give the geometric median of the kept points to about a hundredth of the spread, by Weiszfeld's steps."""
    inner = weights[kept]
    pull = np.zeros(len(weights))
    center = np.zeros(cloud.dimension, cloud.points.dtype) if start is None else start
    for _ in range(30):
        distances = cloud.distances(center)[kept]
        typical = weighted_median(distances, inner)
        pull[kept] = inner / np.maximum(distances, max(1e-3 * typical, 1e-30))
        moved = cloud.mean(pull)
        step = float(np.linalg.norm(moved - center))
        center = moved
        if step <= 0.01 * typical / np.sqrt(len(inner)):
            break
    return center


def quality_weights(cloud: Cloud, weights: Array, kept: Mask) -> Array:
    """Give factors that weigh estimates of unequal spread as their distances from the centre say; 1 for clean ones."""
    factors = np.ones(len(weights))
    for _ in range(3):
        center = cloud.mean(np.where(kept, weights * factors, 0.0))
        squares = cloud.squared_distances(center)
        dimensions = effective_dimensions(cloud, center, np.where(kept, squares, 0.0), weights)
        quality = fit_quality(squares[kept], weights[kept], dimensions)
        factors = 1 / quality.variances(squares)
        if np.isinf(quality.degrees):
            break
    return factors


def equal_weights(cloud: Cloud, weights: Array, kept: Mask) -> Array:
    """Let all count the same."""
    return np.ones(len(weights))


def tail_weights(cloud: Cloud, weights: Array, kept: Mask) -> Array:
    """Give factors that fall with the square of the distance beyond the usual ones: a long tail fades out."""
    center = spatial_median(cloud, weights, kept)
    for _ in range(3):
        distances = cloud.distances(center)
        usual = _ALIKE * weighted_median(distances[kept], weights[kept]) + 1e-30
        factors = np.square(usual / np.maximum(distances, usual))
        center = cloud.mean(np.where(kept, weights * factors, 0.0))
    return np.asarray(factors)


def median_weights(cloud: Cloud, weights: Array, kept: Mask) -> Array:
    """Give factors with which the mean is the geometric median: the choice where few points leave doubt."""
    distances = cloud.distances(spatial_median(cloud, weights, kept))
    return np.asarray(1 / np.maximum(distances, 1e-3 * weighted_median(distances[kept], weights[kept]) + 1e-30))
