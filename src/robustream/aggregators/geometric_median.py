"""The exact geometric median of the estimates (Def. 1): the point with the least total distance to them."""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma
from typing import ClassVar

import numpy as np

from robustream.aggregators.retaining import Retaining, Settled
from robustream.kernels.device_arrays import place_wide
from robustream.kernels.median import geometric_median
from robustream.spaces import Array, Space

__all__ = ["GeometricMedian"]


class GeometricMedian(Retaining):
    """The geometric median; in a space of subspaces, that of the projectors, brought back by its leading directions.

    Parameters
    ----------
    budget : int or str, default="256 MB"
        How many estimates to keep, as a number or as a size; beyond it a uniform sample is kept.
    tolerance : float, default=1e-8
        The certified relative gap to the least total distance at which the iteration stops.
    """

    name: ClassVar[str] = "geometric-median"

    def __init__(self, budget: int | str = "256 MB", tolerance: float = 1e-8) -> None:
        super().__init__(budget)
        self.tolerance = tolerance

    def settle(self, space: Space, points: Sequence[Array], weights: Array) -> Settled:
        """Find the median in isometric coordinates and mix the points by their coefficients in it."""
        coordinates = place_wide(space.coordinates(points))
        _, info = geometric_median(coordinates, weights, tolerance=self.tolerance, return_info=True)
        shares = np.asarray(info.coefficients)
        return Settled(space.project(space.mix(points, shares)), shares)

    def variance_factor(self, dimension: float) -> float:
        """Give the variance of the spatial median of spherical normal points over that of their mean.

        It is p / ((p - 1)^2 (E 1/R)^2) with R the norm of a standard normal vector; pi / 2 for p = 1.
        """
        if dimension < 1.5:
            return float(np.pi / 2)
        mean_inverse = np.exp(lgamma((dimension - 1) / 2) - lgamma(dimension / 2)) / np.sqrt(2)
        return float(dimension / ((dimension - 1) ** 2 * mean_inverse**2))
