"""The geometric median: the point with the least sum of distances to given points, certified.

The plan: start at the coordinatewise median; try the exact answer for points on a line; minimise by Newton
steps (``_median_solver``) until the gap is certified; evaluate the numbers that are returned.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal, NamedTuple, cast, overload

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from robustream.errors import InvalidInputError
from robustream.kernels._median_solver import (
    EPSILON,
    Cloud,
    Floats,
    Place,
    Solution,
    evaluate,
    row_blocks,
    row_norms,
    solve,
    weighted_quantile,
)
from robustream.kernels.device_arrays import is_device_array

__all__ = ["MedianInfo", "geometric_median"]

Points = npt.NDArray[np.floating[Any]]
# Up to here the Hessian costs less than the passes that do without it.
_HESSIAN_DIMENSION = 256
_SURVEY_ELEMENTS = 1 << 20


class MedianInfo(NamedTuple):
    """What is known about a computed geometric median.

    Attributes
    ----------
    objective : the weighted sum of distances to the returned point.
    gap : a certified bound on how far the objective is above the least possible, rounding included.
    relative_gap : the gap divided by the objective, 0 where the objective is 0.
    passes : how often the points were read in full.
    coefficients : (T,) convex weights that make up the median from the points.
    distances : (T,) from each point to the median.
    """

    objective: float
    gap: float
    relative_gap: float
    passes: int
    coefficients: Floats
    distances: Floats


@overload
def geometric_median(
    points: npt.ArrayLike,
    weights: npt.ArrayLike | None = ...,
    *,
    tolerance: float = ...,
    max_passes: int = ...,
    return_info: Literal[False] = ...,
) -> Points: ...


@overload
def geometric_median(
    points: npt.ArrayLike,
    weights: npt.ArrayLike | None = ...,
    *,
    tolerance: float = ...,
    max_passes: int = ...,
    return_info: Literal[True],
) -> tuple[Points, MedianInfo]: ...


def geometric_median(
    points: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    tolerance: float = 1e-8,
    max_passes: int = 200,
    return_info: bool = False,
) -> Points | tuple[Points, MedianInfo]:
    """Find the point with the least weighted sum of distances to the given points.

    Where the points lie on one line and any place between two of them is a median, the middle is taken.

    Parameters
    ----------
    points : array-like (T, ...), each ``points[i]`` a vector or matrix; the norm is that of all its entries.
    weights : (T,) non-negative, only their ratios matter; a point of weight 0 is ignored. All alike if None.
    tolerance : the certified gap to stop at, relative to the sum of distances.
    max_passes : about how often the points may be read; a ConvergenceWarning tells if that was too few.
    return_info : also return a :class:`MedianInfo`.

    Returns
    -------
    The median, of shape ``points.shape[1:]``: float32 for float32 points, else float64. The gap in the info
    is that of the returned, rounded numbers, so float32 points far from the origin can leave it above the
    tolerance.

    Examples
    --------
    >>> from robustream.kernels.median import geometric_median
    >>> geometric_median([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0], [1.0, 1e9]]).round(6)
    array([1.      , 1.624446])

    References
    ----------
    Y. Vardi and C.-H. Zhang, The multivariate L1-median and associated data depth, PNAS 97 (2000).
    S. Minsker, Geometric median and robust estimation in Banach spaces, Bernoulli 21 (2015).
    """
    if is_device_array(points):
        from robustream.kernels.gpu import api

        found_there = api.geometric_median(points, weights, tolerance=tolerance, max_passes=max_passes)
        return cast("tuple[Points, MedianInfo]", found_there) if return_info else cast(Points, found_there[0])
    array, multiplicities, peaks = _checked(points, weights, tolerance, max_passes)
    heaviest = float(multiplicities.max())
    shares = multiplicities / heaviest
    used = shares > 0.0
    flat = array.reshape(len(array), -1)
    cloud = Cloud(flat if used.all() else flat[used], shares[used], passes=1)

    solution = _solve(cloud, float(peaks[used].max()), tolerance, max_passes)
    found = solution.evaluation
    median = np.ldexp(found.place.high, cloud.exponent).astype(flat.dtype)
    returned = np.ldexp(median.astype(np.float64), -cloud.exponent)
    exact = not found.place.low.any() and np.array_equal(returned, found.place.high)
    final = found if exact else evaluate(cloud, Place.at(returned), 0.0)
    gap = max(0.0, final.objective - solution.lower_bound)
    relative_gap = gap / final.objective if final.objective > 0.0 else 0.0
    if solution.relative_gap() > tolerance:
        warnings.warn(
            f"geometric_median: the certified relative gap is {relative_gap:.3g} after {cloud.passes} passes, "
            f"above tolerance={tolerance:g}; raise max_passes={max_passes} or the tolerance.",
            ConvergenceWarning,
            stacklevel=2,
        )
    shaped = median.reshape(array.shape[1:])
    if not return_info:
        return shaped
    coefficients, distances = np.zeros(len(flat)), np.empty(len(flat))
    coefficients[used] = _coefficients(cloud.weights, found.distances)
    with np.errstate(over="ignore"):
        distances[used] = np.ldexp(final.distances, cloud.exponent)
        distances[~used] = row_norms(flat[~used].astype(np.float64) - median.astype(np.float64))
        objective = heaviest * float(np.ldexp(final.objective, cloud.exponent))
        gap = heaviest * float(np.ldexp(gap, cloud.exponent))
    return shaped, MedianInfo(objective, gap, relative_gap, cloud.passes, coefficients, distances)


def _solve(cloud: Cloud, peak: float, tolerance: float, max_passes: int) -> Solution:
    """The exact median of a line if the points lie on one, else the minimiser from the middle."""
    start = _centre_and_scale(cloud, peak)
    on_line = _median_of_line(cloud)
    if on_line is not None:
        solution = Solution(evaluate(cloud, on_line, 0.0))
        if solution.reached(tolerance):
            return solution
        start = on_line
    return solve(cloud, start, tolerance, max_passes, hessian=cloud.points.shape[1] <= _HESSIAN_DIMENSION)


def _centre_and_scale(cloud: Cloud, peak: float) -> Place:
    """The coordinatewise weighted median; sets the exponent that makes the usual distance to it moderate."""
    count, dimension = cloud.points.shape
    centre = np.empty(dimension)
    alike = bool(np.all(cloud.weights == cloud.weights[0]))
    width = max(1, _SURVEY_ELEMENTS // count)
    cloud.passes += 1
    for start in range(0, dimension, width):
        block = cloud.points[:, start : start + width]
        if alike:
            middle = np.partition(block, count // 2, axis=0)[count // 2]
        else:
            order = np.argsort(block, axis=0)
            below = np.cumsum(cloud.weights[order], axis=0) < 0.5 * cloud.total
            columns = np.arange(block.shape[1])
            middle = block[order[below.sum(axis=0).clip(max=count - 1), columns], columns]
        centre[start : start + width] = middle

    # First by the largest number, so that no difference overflows; then by the usual distance, so that a
    # minority of enormous points does not push the others' squares into underflow.
    ceiling = int(np.frexp(peak)[1])
    cloud.exponent = 0 if abs(ceiling) < 400 else ceiling - 400
    scaled = np.ldexp(centre, -cloud.exponent)
    distances = np.empty(count)
    for index, block in cloud.blocks(Place.at(scaled)):
        distances[index] = row_norms(block)
    usual = weighted_quantile(distances, cloud.weights) or float(distances.max())
    exponent = cloud.exponent + int(np.frexp(usual)[1])
    cloud.exponent = max(exponent if usual > 0.0 and abs(exponent) > 100 else 0, ceiling - 900)
    return Place.at(np.ldexp(centre, -cloud.exponent))


def _median_of_line(cloud: Cloud) -> Place | None:
    """The exact weighted median if all points lie on one line to rounding, else None."""
    count, dimension = cloud.points.shape
    # Three points already rule a line out, almost always; more where they are small guard against copies.
    few = min(count, 16 if dimension <= 4096 else 3)
    sample = cloud.rows(np.linspace(0, count - 1, num=few).astype(np.intp))
    origin = sample[0]
    end = sample[int(np.argmax(row_norms(sample - origin)))]
    if not _on_line(sample, origin, end):
        return None
    farthest = 0.0
    for _, block in cloud.blocks():
        norms = row_norms(block - origin)
        if norms.max() > farthest:
            farthest, end = float(norms.max()), block[int(np.argmax(norms))].copy()
    if not all(_on_line(block, origin, end) for _, block in cloud.blocks()):
        return None
    # The coordinate that changes most orders the points without any rounding.
    axis = int(np.argmax(np.abs(end - origin)))
    order = np.argsort(cloud.points[:, axis], kind="stable")
    cumulative = np.cumsum(cloud.weights[order])
    half = 0.5 * cumulative[-1]
    # Weights such as 0.1 + 0.2 and 0.3 balance each other, though not to the last digit.
    close = min(4.0 * count * EPSILON, 1e-10) * cumulative[-1]
    first = min(int(np.searchsorted(cumulative, half - close)), count - 1)
    lower = cloud.point(int(order[first]))
    if cumulative[first] > half + close or first + 1 == count:
        return Place.at(lower)
    return Place.at(0.5 * lower).moved(0.5 * cloud.point(int(order[first + 1])))


def _on_line(block: Floats, origin: Floats, end: Floats) -> bool:
    """Whether the rows lie on the line through two points up to the rounding of their coordinates."""
    direction = end - origin
    span = float(row_norms(direction[None])[0])
    if span == 0.0:
        return bool(np.all(block == origin))
    direction /= span
    offsets = block - origin
    along = offsets @ direction
    residuals = row_norms(offsets - along[:, None] * direction)
    known = row_norms(block) + row_norms(origin[None]) + np.abs(along / span) * row_norms(end[None])
    return bool(np.all(residuals <= 4.0 * EPSILON * known))


def _coefficients(weights: Floats, distances: Floats) -> Floats:
    """Convex weights of the points that make up a minimiser with these distances."""
    touching = distances == 0.0
    # Relative to the least distance nothing overflows.
    least = float(distances.min())
    shares = np.where(touching, weights, 0.0) if touching.any() else weights * (least / distances)
    return cast(Floats, shares / shares.sum())


def _checked(
    points: npt.ArrayLike, weights: npt.ArrayLike | None, tolerance: float, max_passes: int
) -> tuple[Points, Floats, Floats]:
    """The points as float32 or float64, float64 weights, and the largest magnitude in each point."""
    if not (isinstance(tolerance, int | float | np.number) and 0.0 < float(tolerance) < 1.0):
        raise InvalidInputError(f"tolerance must be a number between 0 and 1, exclusive, got {tolerance!r}.")
    if not (isinstance(max_passes, int | np.integer) and max_passes >= 1):
        raise InvalidInputError(f"max_passes must be a whole number of at least 1, got {max_passes!r}.")
    array = _real_array("points", points)
    if array.ndim == 0 or array.size == 0:
        raise InvalidInputError(
            f"points must be a non-empty array (T, ...) of vectors or matrices, got shape {array.shape}."
        )
    flat = array.reshape(len(array), -1)
    # In blocks, so that no array of flags or magnitudes is made beside many coordinates.
    peaks = np.concatenate([np.abs(flat[rows]).max(axis=1) for rows in row_blocks(flat)]).astype(np.float64)
    for index in np.flatnonzero(~np.isfinite(peaks))[:1]:
        raise InvalidInputError(f"points must be finite numbers, got NaN or infinity in point {index}.")
    multiplicities = np.ones(len(array)) if weights is None else _real_array("weights", weights)
    if multiplicities.shape != (len(array),):
        raise InvalidInputError(
            f"weights must have one entry for each of the {len(array)} points, shape ({len(array)},), "
            f"got shape {multiplicities.shape}."
        )
    least, largest = float(multiplicities.min()), float(multiplicities.max())
    if not (least >= 0.0 and 0.0 < largest < math.inf):
        raise InvalidInputError(
            "weights must be finite non-negative numbers of which at least one is positive, "
            f"got numbers from {least:g} to {largest:g}."
        )
    return array, multiplicities.astype(np.float64), peaks


def _real_array(name: str, values: npt.ArrayLike) -> Points:
    """What the caller gave as an array of float32 or float64."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name} must have equal shapes throughout, got a ragged sequence.") from error
    if array.dtype.kind not in "fiub":
        raise InvalidInputError(f"{name} must be real numbers, got an array of type {array.dtype}.")
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
