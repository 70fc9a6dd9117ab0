"""Minimise a sum of weighted distances: Newton steps with an exact line search, and a way off the points.

The function is convex and smooth except at the points, where it has a kink. Three things follow: a point
that looks optimal is tried itself, exactly; from a point that is not optimal the step of Vardi and Zhang
leads down; everywhere else the Newton step is taken, shortened or lengthened along its line where needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from robustream.kernels._median_cloud import (
    EPSILON,
    Cloud,
    Evaluation,
    Floats,
    Place,
    evaluate,
    weighted_quantile,
)

__all__ = ["Solution", "solve"]

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
