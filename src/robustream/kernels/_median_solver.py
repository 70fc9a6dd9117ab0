"""Minimise a sum of weighted distances: Newton steps with an exact line search, and a way off the points.

The function is convex and smooth except at the points, where it has a kink. Three things follow: a point
that looks optimal is tried itself, exactly; from a point that is not optimal the step of Vardi and Zhang
leads down; everywhere else the Newton step is taken, shortened or lengthened along its line where needed.

The points are read block by block. A place is kept as an unevaluated sum ``high + low``: ``x - high`` is then rounded
relative to the distance itself, so that points at 1e8 with a spread of 1e-2, or a median very near a point, lose no
digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

__all__ = [
    "EPSILON",
    "Cloud",
    "Evaluation",
    "Floats",
    "Place",
    "Solution",
    "evaluate",
    "row_blocks",
    "row_norms",
    "solve",
    "weighted_quantile",
]

Floats = npt.NDArray[np.float64]
EPSILON = float(np.finfo(np.float64).eps)
_BLOCK_ELEMENTS = 1 << 18
_SUMMED_AT_ONCE = 4096
# Below this a reciprocal overflows; the points are scaled so that their usual distance is far above it.
_SMALLEST = 1e-290


def row_blocks(points: npt.NDArray[Any]) -> Iterator[slice]:
    """Consecutive rows of (count, dimension) points, few enough at a time to stay in a cache."""
    count, dimension = points.shape
    height = min(max(1, _BLOCK_ELEMENTS // dimension), _SUMMED_AT_ONCE)
    for start in range(0, count, height):
        yield slice(start, min(start + height, count))


class Place(NamedTuple):
    """A point of the space as the unevaluated sum of a leading part and a remainder."""

    high: Floats
    low: Floats

    @classmethod
    def at(cls, point: Floats) -> Place:
        """The place of an exactly known point."""
        return cls(point, np.zeros_like(point))

    def moved(self, step: Floats) -> Place:
        """This place plus a step, the rounding error of the addition kept in the low part."""
        total = self.high + step
        shift = total - self.high
        low = self.low + ((self.high - (total - shift)) + (step - shift))
        high = total + low
        return Place(high, low - (high - total))


@dataclass
class Cloud:
    """Points (count, dimension) with positive weights, read times 2**-exponent; it counts full readings."""

    points: npt.NDArray[np.floating[Any]]
    weights: Floats
    exponent: int = 0
    passes: int = 0
    total: float = field(init=False)

    def __post_init__(self) -> None:
        self.total = float(self.weights.sum())

    def rows(self, index: npt.NDArray[np.intp]) -> Floats:
        """A float64 copy of some of the points, scaled."""
        return np.ldexp(self.points[index].astype(np.float64), -self.exponent)

    def point(self, index: int) -> Floats:
        """One point, scaled."""
        return self.rows(np.array([index]))[0]

    def blocks(self, place: Place | None = None) -> Iterator[tuple[slice, Floats]]:
        """One pass over the points, or their differences from a place, a few rows at a time.

        The caller may overwrite a block, but not keep it: its memory is used again.
        """
        self.passes += 1
        memory = np.empty(0)
        has_low = place is not None and bool(place.low.any())
        for index in row_blocks(self.points):
            rows = self.points[index]
            memory = memory if memory.size else np.empty(rows.shape)
            block = memory[: len(rows)]
            if self.exponent:
                np.ldexp(rows, -self.exponent, out=block, dtype=np.float64)
                rows = block
            if place is None:
                np.copyto(block, rows)
            else:
                np.subtract(rows, place.high, out=block)
                if has_low:
                    block -= place.low
            yield index, block

    def rounding(self) -> float:
        """A bound on the relative rounding error of the sums made here, which are blocked or pairwise."""
        lengths = [min(n, _SUMMED_AT_ONCE) + n / _SUMMED_AT_ONCE for n in self.points.shape]
        return EPSILON * (16.0 + sum(lengths))


class Evaluation(NamedTuple):
    """What one pass tells about the sum of weighted distances, f, at a place.

    Points within the near radius are kept apart: f may be bent there, and any pull of at most their weight
    is a subgradient of their share up to twice their small distances.
    """

    place: Place
    distances: Floats
    objective: float
    far_gradient: Floats
    near_gradient: Floats
    near_weight: float
    curvature: float
    outer: Floats | None
    slopes: Floats | None
    lower_bound: float
    stationarity: float

    @property
    def gradient(self) -> Floats:
        """The sum of all unit vectors from the points to the place, weighted."""
        return self.far_gradient + self.near_gradient


def row_norms(block: Floats) -> Floats:
    """Euclidean norms of the rows, safe where their squares would overflow or underflow."""
    count, dimension = block.shape
    whole = dimension - dimension % _SUMMED_AT_ONCE
    parts = block[:, :whole].reshape(count, whole // _SUMMED_AT_ONCE, _SUMMED_AT_ONCE)
    rest = block[:, whole:]
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", rest, rest) + np.einsum("ikj,ikj->ik", parts, parts).sum(axis=1)
    norms = np.sqrt(squares)
    for index in np.flatnonzero((norms < 1e-140) | (norms > 1e150)):
        largest = float(np.abs(block[index]).max())
        if largest > 0.0:
            norms[index] = largest * np.linalg.norm(block[index] / largest)
    return norms


def weighted_quantile(values: Floats, weights: Floats) -> float:
    """The lower weighted median of some numbers."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(cumulative, 0.5 * cumulative[-1])]])


def evaluate(
    cloud: Cloud, place: Place, near_radius: float, *, direction: Floats | None = None, hessian: bool = False
) -> Evaluation:
    """Sum the weighted distances to a place, with gradient and, on request, slopes and second derivatives.

    With u_i the unit vector from point i and d_i its distance, the Hessian is ``curvature * I - outer``:
    curvature = sum w_i / d_i and outer = sum w_i / d_i u_i u_i'. Both leave out the near points.
    """
    count, dimension = cloud.points.shape
    distances = np.empty(count)
    far_gradient, near_gradient = np.zeros(dimension), np.zeros(dimension)
    outer = np.zeros((dimension, dimension)) if hessian else None
    slopes = None if direction is None else np.empty(count)
    curvature = near_weight = near_loss = 0.0
    pulled = np.empty(dimension)
    for index, block in cloud.blocks(place):
        weights = cloud.weights[index]
        norms = distances[index] = row_norms(block)
        near = norms <= near_radius
        pull = np.divide(weights, norms, out=np.zeros_like(norms), where=norms > _SMALLEST)
        if near.any():
            near_gradient -= pull[near] @ block[near]
            near_weight += float(weights[near].sum())
            near_loss += float(weights[near] @ norms[near])
            pull[near] = 0.0
        far_gradient -= np.dot(pull, block, out=pulled)
        curvature += float(pull.sum())
        if slopes is not None and direction is not None:
            slopes[index] = np.divide(-(block @ direction), norms, out=np.zeros_like(norms), where=norms > _SMALLEST)
        if outer is not None:
            block *= np.divide(np.sqrt(pull), norms, out=np.zeros_like(norms), where=pull > 0.0)[:, None]
            outer += block.T @ block
    objective = float(np.sum(cloud.weights * distances))
    # Any minimiser lies within 2 f / W, since W |m - m*| <= f(m) + f(m*); along that way f falls by no more
    # than the length of a subgradient. Near points may choose theirs freely, at a loss of twice their share.
    plain = float(np.linalg.norm(far_gradient + near_gradient))
    excess = max(0.0, float(np.linalg.norm(far_gradient)) - near_weight)
    reach = 2.0 * objective / cloud.total
    lower_bound = objective - min(plain * reach, excess * reach + 2.0 * near_loss)
    lower_bound -= 4.0 * cloud.rounding() * objective
    stationarity = 2.0 * min(plain, excess) / cloud.total
    return Evaluation(
        place,
        distances,
        objective,
        far_gradient,
        near_gradient,
        near_weight,
        curvature,
        outer,
        slopes,
        lower_bound,
        stationarity,
    )


_CONJUGATE_GRADIENT_STEPS = 12
_BISECTIONS = 60
_NEAR_SHARE = 1e-3
_PATIENCE = 3


@dataclass
class Solution:
    """The best place so far and the best lower bound so far; any place's bound holds for all."""

    evaluation: Evaluation
    lower_bound: float = field(init=False)

    def __post_init__(self) -> None:
        self.lower_bound = self.evaluation.lower_bound

    def relative_gap(self) -> float:
        """What is certified now."""
        objective = self.evaluation.objective
        return (objective - self.lower_bound) / objective if objective > 0.0 else 0.0

    def reached(self, tolerance: float) -> bool:
        """Whether to stop.

        Small subgradients are asked for besides the small gap: one far point makes the objective, and with
        it any gap relative to it, as large as it likes, and the median must not become careless for it.
        """
        return self.evaluation.stationarity <= tolerance and self.relative_gap() <= tolerance

    def note(self, evaluation: Evaluation) -> None:
        """Keep the bound that another evaluation gives."""
        self.lower_bound = max(self.lower_bound, evaluation.lower_bound)


def solve(cloud: Cloud, start: Place, tolerance: float, max_passes: int, *, hessian: bool) -> Solution:
    """Minimise from a start until certified, until no progress is possible, or until the passes are used."""
    solution = Solution(evaluate(cloud, start, 0.0, hessian=hessian))
    tried: set[int] = set()
    stalled, radius = 0, 0.0
    while cloud.passes < max_passes and stalled < _PATIENCE:
        current, former = solution.evaluation, radius
        # Measured by the median distance, which a minority of far points cannot inflate.
        radius = _NEAR_SHARE * tolerance * weighted_quantile(current.distances, cloud.weights)
        if ((current.distances > radius) & (current.distances <= former)).any():
            # A long step has come so close that what counted as near before does not any more.
            solution.evaluation = evaluate(cloud, current.place, radius, hessian=hessian)
            continue
        candidate = _promising_point(cloud, current, tried)
        if candidate is not None:
            tried.add(candidate)
            point = cloud.point(candidate)
            step = (point - current.place.high) - current.place.low
            trial = evaluate(cloud, Place.at(point), radius, direction=step, hessian=hessian)
            solution.note(trial)
            if _change(cloud.weights, current, trial, step) <= 0.0:
                solution.evaluation = trial
            continue
        certified = solution.reached(tolerance)
        if certified and (current.outer is None or current.stationarity <= 16.0 * cloud.rounding()):
            return solution
        if current.near_weight > 0.0 or stalled:
            # This step never goes up, whatever hinders the Newton step.
            step = _vardi_zhang_step(current)
        else:
            step = _newton_step(cloud, current, max_passes)
        trial, step = _search_along(cloud, current, step, radius, max_passes, hessian)
        solution.note(trial)
        change = _change(cloud.weights, current, trial, step)
        better = trial.stationarity < current.stationarity
        if better or (change < 0.0 and not certified):
            solution.evaluation = trial
        # The second derivatives were at hand, so one step beyond the tolerance brought it near to rounding.
        if certified:
            return solution
        noise = 4.0 * cloud.rounding() * cloud.total * float(np.linalg.norm(step))
        stalled = 0 if change < -noise or better else stalled + 1
    return solution


def _change(weights: Floats, current: Evaluation, trial: Evaluation, step: Floats) -> float:
    """How much the sum of distances changes by a step, to rounding relative to the step.

    The difference of the sums would be rounded relative to the distance of the farthest points.
    """
    assert trial.slopes is not None
    both = current.distances + trial.distances
    shares = np.divide(trial.distances, both, out=np.zeros_like(both), where=both > 0.0)
    length = float(np.linalg.norm(step))
    ratios = np.divide(length, both, out=np.zeros_like(both), where=both > 0.0)
    return float(weights @ (2.0 * trial.slopes * shares - length * ratios))


def _promising_point(cloud: Cloud, current: Evaluation, tried: set[int]) -> int | None:
    """The point that pulls hardest, if the others would not drag the place off it; None otherwise."""
    reachable = current.distances > 0.0
    if not reachable.any():
        return None
    strength = np.where(reachable, cloud.weights / np.where(reachable, current.distances, 1.0), 0.0)
    nearest = int(np.argmax(strength))
    if nearest in tried:
        return None
    distance = current.distances[nearest]
    alike = np.flatnonzero(np.abs(current.distances - distance) <= 1e-9 * distance)
    # Some coordinates are enough to tell copies of the point: at worst it is tried in vain.
    columns = np.linspace(0, cloud.points.shape[1] - 1, num=16).astype(np.intp)
    copies = alike[np.all(cloud.points[np.ix_(alike, columns)] == cloud.points[nearest, columns], axis=1)]
    weight = float(cloud.weights[copies].sum())
    offset = (current.place.high - cloud.point(nearest)) + current.place.low
    others = current.gradient - weight * (offset / distance)
    if current.outer is not None:
        # The copies' own second derivative vanishes along the offset, so the whole one serves.
        others -= current.curvature * offset - current.outer @ offset
    return nearest if float(np.linalg.norm(others)) <= 1.1 * weight else None


def _vardi_zhang_step(current: Evaluation) -> Floats:
    """Weiszfeld's step to the weighted mean, shortened by the hold of the points that are here."""
    length = float(np.linalg.norm(current.far_gradient))
    excess = max(0.0, length - current.near_weight)
    return current.far_gradient * (-excess / length / current.curvature if excess > 0.0 else 0.0)


def _newton_step(cloud: Cloud, current: Evaluation, max_passes: int) -> Floats:
    """The step to the minimum of the second-order model."""
    if current.outer is None:
        return _conjugate_gradients(cloud, current, max_passes)
    for damping in (1e-15, 1e-12, 1e-9, 1e-6, 1e-3):
        # curvature * I dominates outer, so that any damping below 1 gives a positive definite matrix.
        matrix = -(1.0 - damping) * current.outer
        matrix[np.diag_indices_from(matrix)] += current.curvature
        try:
            factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            continue
        step: Floats = -linalg.cho_solve(factor, current.gradient, check_finite=False)
        if float(current.gradient @ step) < 0.0:
            return step
    return _vardi_zhang_step(current)


def _conjugate_gradients(cloud: Cloud, current: Evaluation, max_passes: int) -> Floats:
    """The Newton step without its matrix: each product with the Hessian is one pass over the points."""
    residual = -current.gradient
    first = size = float(residual @ residual)
    # The closer, the more exact: this keeps the fast convergence of Newton's method.
    target = first * min(0.01, current.stationarity)
    step, direction, pulled = np.zeros_like(residual), residual.copy(), np.empty_like(residual)
    for _ in range(_CONJUGATE_GRADIENT_STEPS):
        image = current.curvature * direction
        for index, block in cloud.blocks(current.place):
            distances = current.distances[index]
            along = block @ direction / distances
            image -= np.dot(cloud.weights[index] / distances * (along / distances), block, out=pulled)
        bend = float(direction @ image)
        if bend <= EPSILON * current.curvature * float(direction @ direction):
            return step if step.any() else residual / current.curvature
        step += (size / bend) * direction
        residual -= (size / bend) * image
        size, previous = float(residual @ residual), size
        if size <= target or cloud.passes + 1 >= max_passes:
            break
        direction = residual + (size / previous) * direction
    return step


def _search_along(
    cloud: Cloud, current: Evaluation, step: Floats, radius: float, max_passes: int, hessian: bool
) -> tuple[Evaluation, Floats]:
    """The whole step where it is good, else the step to the lowest place on its line."""
    trial = evaluate(cloud, current.place.moved(step), radius, direction=step, hessian=hessian)
    length = float(np.linalg.norm(step))
    kink = current.near_weight * length - float(current.near_gradient @ step)
    before, after = float(current.gradient @ step) + kink, float(trial.gradient @ step)
    if abs(after) <= 0.5 * abs(before) or cloud.passes >= max_passes:
        return trial, step
    step = _lowest_along(cloud.weights, trial, length) * step
    return evaluate(cloud, current.place.moved(step), radius, direction=step, hessian=hessian), step


def _lowest_along(weights: Floats, trial: Evaluation, length: float) -> float:
    """Where the sum of distances is lowest on the line of a step, as a multiple of it.

    The distances and slopes at the step's end tell the whole function on the line, without another pass.
    """
    assert trial.slopes is not None
    away = trial.distances > 1e-150 * length
    weights, cosines = weights[away], np.clip(trial.slopes[away] / length, -1.0, 1.0)
    ratios = length / trial.distances[away]

    def slope(multiple: float) -> float:
        past = (multiple - 1.0) * ratios
        # The perpendicular part is kept apart: 1 + 2 c p + p^2 cancels where the line passes near a point.
        along = cosines + past
        return float(weights @ (along / np.sqrt(along**2 + np.maximum(1.0 - cosines**2, 1e-300))))

    low, high = 0.0, 1.0
    while slope(high) < 0.0 and high < 2.0**40:
        low, high = high, 2.0 * high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
    return high if low == 0.0 else low
