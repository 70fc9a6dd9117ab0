"""From when on a row counts as outlying: the 99% points of the distances of ordinary rows.

With enough rows the points are those of the rows themselves, so that heavy tails are ordinary; with few rows they are
those of the normal law.
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri, fdtri, ndtri

from robustream.spaces import Array
from robustream.spaces.linear import residual_distances

__all__ = [
    "OUTLIER_RATE",
    "ROWS_FOR_DISTANCES",
    "normal_cutoff",
    "normal_cutoffs",
    "principal_cutoffs",
    "residual_cutoff",
]

# The share of ordinary rows that a cut-off flags.
OUTLIER_RATE = 0.01
# With at least as many rows the point that half of the rate exceeds lies within the sample.
_ROWS_FOR_QUANTILES = 200
# Of more rows than this many, evenly spaced ones are enough to tell the distances of principal components.
ROWS_FOR_DISTANCES = 4000


def principal_cutoffs(
    distances: tuple[Array, Array],
    columns: int,
    eigenvalues: Array,
    total_variance: float,
    total_square: float,
    rows: float,
) -> Array:
    """Give the logarithms of the two cut-offs from the distances of rows that are thought to be ordinary.

    `total_square` is the sum of the squares of all eigenvalues; `rows` is how many rows they come from.
    """
    components = len(eigenvalues)
    # Half of the rate for each distance, since either makes a row outlying.
    rate = OUTLIER_RATE / 2 if columns > components else OUTLIER_RATE
    outside = max(total_variance - float(np.sum(eigenvalues, dtype=np.float64)), 0.0)
    square = total_square - float(np.sum(np.square(eigenvalues, dtype=np.float64)))
    # Eigenvalues of a sample spread even where all variances are the same: by this much.
    freedom = _box_freedom(outside, square - outside**2 / rows, max(columns - components, 1))
    if len(distances[0]) < _ROWS_FOR_QUANTILES:
        return np.log(_normal_cutoffs(freedom, components, rate, rows))
    # Rows far out within the subspace may be left among the ordinary ones: the upper tenth is read off the rest, as far
    # as tails longer than the normal law's do not have more rows than the rate beyond it.
    tenth = np.sqrt([chdtri(freedom, [0.1, rate]), chdtri(components, [0.1, rate])])
    cuts = [
        max(_upper_point(distance, 0.1) * far / near, _upper_point(distance, OUTLIER_RATE))
        for distance, (near, far) in zip(distances, tenth, strict=True)
    ]
    return np.log(np.clip(cuts, 1e-3, 1e6))


def normal_cutoffs(outside_variances: Array, components: int) -> Array:
    """Give the two cut-offs that normal rows have, for variances outside and a number of components inside."""
    rate = OUTLIER_RATE / 2 if len(outside_variances) else OUTLIER_RATE
    square = float(np.square(outside_variances).sum())
    freedom = _box_freedom(float(outside_variances.sum()), square, max(len(outside_variances), 1))
    return _normal_cutoffs(freedom, components, rate)


def _box_freedom(total: float, square: float, most: int) -> float:
    """Degrees of freedom of a sum of squares with unequal variances: nearly a multiple of a chi-square (Box)."""
    return min(max(total**2 / square, 1.0), float(most)) if total > 0 and square > total**2 / most else float(most)


def _normal_cutoffs(freedom: float, components: int, rate: float, rows: float = np.inf) -> Array:
    """Give the cut-offs for normal rows and variances estimated from so many of them.

    Variances that few rows were fitted to are too small for other rows (Hotelling).
    """
    inside = chdtri(components, rate)
    left = rows - components
    if np.isfinite(rows) and left > 0:
        inside = components * (rows + 1) / rows * (rows - 1) / left * fdtri(components, left, 1 - rate)
    outside = chdtri(freedom, rate) / freedom * (1 + 2 * components / rows)
    return np.sqrt([outside, inside])


def normal_cutoff(outputs: int) -> float:
    """Give the cut-off for the largest of several independent normal residuals."""
    return float(-ndtri((1 - (1 - OUTLIER_RATE) ** (1 / outputs)) / 2))


def residual_cutoff(residuals: Array, scale: Array) -> Array:
    """Give the logarithm of the cut-off from residuals of rows that are thought to be ordinary."""
    cut = normal_cutoff(residuals.shape[1])
    if len(residuals) >= _ROWS_FOR_QUANTILES and np.all(scale > 0):
        cut = _upper_point(residual_distances(residuals, scale), OUTLIER_RATE)
    return np.log(np.clip(np.asarray(cut), 1e-3, 1e6))


def _upper_point(distances: Array, rate: float) -> float:
    """Give the distance that a share of further rows exceeds; the usual quantile would be too small for that.

    That is `np.quantile(distances, 1 - rate, method="weibull")`, without its detours.
    """
    # Where a variance is 0 distances are infinite, and between two infinities there is no quantile.
    found = np.minimum(distances, 1e9)
    place = min(max((len(found) + 1) * (1 - rate) - 1, 0.0), len(found) - 1.0)
    low = int(place)
    found.partition(low)
    above = float(found[low + 1 :].min()) if low + 1 < len(found) else float(found[low])
    return float(found[low] + (place - low) * (above - found[low]))
