"""Noise that opens like a fan: larger in some places than in others, which is ordinary, and no second line.

Two lines that cross fit such rows better than one line with noise that is everywhere the same. So a second line must
also explain the rows better than noise does that grows, to both sides alike, with the distance of the lines.
"""

from __future__ import annotations

import numpy as np

from robustream.learners.refined.solver import TINY
from robustream.spaces import Array

__all__ = ["fan_evidence"]

STEPS = 25
PARAMETERS = 6  # three scales, two shares and the line's place in the fan


def fan_evidence(r: Array, opening: Array, sigma: float, reach: float) -> float:
    """Log likelihood of residuals under narrow noise, a fan and a flat rest, less half of Schwarz's penalty.

    The variance of the fan is a constant and a multiple of the squared opening; all residuals count that are within
    reach.
    """
    near = np.abs(r) < reach
    square, wide = np.square(r[near]), np.square(opening[near])
    wide = wide / max(float(wide.mean()), TINY)
    n = max(len(square), 1)
    narrow = sigma**2
    constant, slope = 4 * narrow, float(square.mean())
    share = np.array([0.5, 0.45, 0.05])
    flat = np.sqrt(2 * np.pi) / (2 * reach)
    likelihood = -np.inf
    for _ in range(STEPS):
        variance = constant + slope * wide
        density = np.stack(
            [
                share[0] / np.sqrt(narrow) * np.exp(-0.5 * square / narrow),
                share[1] / np.sqrt(variance) * np.exp(-0.5 * square / variance),
                np.full(n, share[2] * flat),
            ]
        )
        total = density.sum(axis=0)
        likelihood = float(np.log(total).sum())
        inner, outer, rest = density / total
        share = (np.array([inner.sum(), outer.sum(), rest.sum()]) + 0.5) / (n + 1.5)
        narrow = max(float(inner @ square) / (inner.sum() + TINY), 0.09 * sigma**2)
        # Both shares of the variance grow or shrink by how much of each square they explain: a step of EM as well.
        ratio = square / variance
        constant *= float(outer @ (ratio * constant / variance + 1 - constant / variance)) / (outer.sum() + TINY)
        slope *= float(outer @ (ratio * slope * wide / variance + 1 - slope * wide / variance)) / (outer.sum() + TINY)
        constant = max(constant, 0.01 * narrow)
    return likelihood - 0.5 * PARAMETERS * np.log(n)
