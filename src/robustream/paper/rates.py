"""How errors fall or rise with T, b, p and the share of bad rows, for the rates of the paper's bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from robustream.aggregators import OnlineMedian
from robustream.batch import Estimate
from robustream.kernels.median import geometric_median
from robustream.learners import Trimmed
from robustream.paper.experiment import Context
from robustream.paper.methods import Gathering
from robustream.paper.problems import PROBLEMS, Shared
from robustream.paper.results import Cell, Memory, Row
from robustream.paper.scenarios import Content
from robustream.paper.simulation import CONSTANT, RULES
from robustream.paper.sizes import SIZES, Size
from robustream.sources import place_batches
from robustream.spaces import Array, Euclidean, Part, Parts

__all__ = ["DEFAULTS", "FILTER_CONSTANTS", "GAMMA", "rate_cells"]


class Setting(NamedTuple):
    """The size of a stream of the theory."""

    batches: int = 40
    rows: int = 1000
    columns: int = 40


DEFAULTS = Setting()
SWEEPS: dict[str, tuple[float, ...]] = {
    "batches": (5, 10, 20, 40, 80, 160),
    "rows": (125, 250, 500, 1000, 2000, 4000),
    "columns": (10, 20, 40, 80, 160),
    "fraction": (0.025, 0.05, 0.1, 0.2, 0.3, 0.4),
    # The share of outliers in the worst batches, and in the others: the latter is lambda(gamma) of Proposition 1.
    "worst": (0.2, 0.4, 0.6, 0.8, 1.0),
    "others": (0.025, 0.05, 0.1, 0.2, 0.3, 0.4),
}
# The share of the worst batches, and the outliers in them and in the others where these do not vary.
GAMMA, WORST, OTHERS = 0.4, 1.0, 0.1
COMPONENTS = 3
# The filter's constant in multiples of the curvature that theory asks for. Theorem 4 allows for smaller ones, since a
# function is convex with any smaller constant too, and not for larger ones.
FILTER_CONSTANTS = {"suited": 1.0, "four times too small": 0.25, "four times too large": 4.0}


class Rate(NamedTuple):
    """The settings of a cell."""

    problem: str
    sweep: str
    size: Size
    seed: int


def rate_cells(context: Context) -> Iterator[Cell]:
    """Return a cell for each problem and each quantity that varies, and one for the filter."""
    size, seed = context.size, context.seed
    for problem in PROBLEMS:
        for sweep in SWEEPS:
            settings = Rate(problem, sweep, size, seed)
            yield Cell(f"theory-{problem}", sweep, run_rates, settings, 1.5 * size.theory_repetitions)
    settings = Rate("filter", "batches", size, seed)
    yield Cell("theory-filter", "batches", run_filter, settings, 1.0 * size.theory_repetitions)


def run_rates(settings: Rate, memory: Memory) -> list[Row]:
    """Measure the error of one batch and of the median of all, along one quantity."""
    rows: list[Row] = []
    for value in SWEEPS[settings.sweep][:: settings.size.sweep_step]:
        for repetition in range(settings.size.theory_repetitions):
            common: Row = {
                "problem": settings.problem,
                "sweep": settings.sweep,
                "value": float(value),
                "repetition": repetition,
            }
            for method, error in _errors(settings, value, repetition).items():
                rows.append({**common, "method": method, "error": error})
    return rows


def _errors(settings: Rate, value: float, repetition: int) -> dict[str, float]:
    counted: dict[str, Any] = {settings.sweep: int(value)} if settings.sweep in ("batches", "rows", "columns") else {}
    setting = DEFAULTS._replace(**counted)
    size = SIZES["tiny"]._replace(**setting._asdict(), components=COMPONENTS)
    problem = PROBLEMS[settings.problem](size, 1000 * settings.seed + repetition)
    shared = Shared(problem)
    contents = _contents(settings, value, setting.batches)
    gathered = Gathering.of(problem, shared.learner(Trimmed(0.0)), shared.estimates(contents, RULES["own"]))
    good = [answer for answer, content in zip(gathered.answers(), contents, strict=True) if content == contents[-1]]
    return {
        "one batch": problem.error(good[0]),
        "radius of the good batches": max(problem.error(answer) for answer in good),
        "geometric median": problem.error(gathered.geometric_median()),
        "online median": problem.error(gathered.online_median(CONSTANT[settings.problem])),
    }


def _contents(settings: Rate, value: float, batches: int) -> list[Content]:
    """Return the same share in all batches, or the worst ones anywhere in the stream; the last one is never bad."""
    if settings.sweep not in ("worst", "others"):
        return [Content(value if settings.sweep == "fraction" else 0.0)] * batches
    # Those that agree on a wrong answer: the printed ones of regression do.
    kind = "stronger" if settings.problem == "pca" else "printed"
    worst = Content(value if settings.sweep == "worst" else WORST, kind)
    others = Content(value if settings.sweep == "others" else OTHERS, kind)
    bad = set(place_batches(round(GAMMA * batches), batches - 1, seed=settings.seed).tolist())
    return [worst if index in bad else others for index in range(batches)]


def run_filter(settings: Rate, memory: Memory) -> list[Row]:
    """Follow the filter towards the geometric median of normal estimates, with constants that suit or do not."""
    dimension = 10
    rows: list[Row] = []
    moments = sorted({round(moment) for moment in np.geomspace(4, settings.size.filter_steps, 25)})
    for repetition in range(settings.size.theory_repetitions):
        rng = np.random.default_rng([settings.seed, 44, repetition])
        points = rng.standard_normal((settings.size.filter_steps, dimension)) + 1.0
        medians = {step: np.asarray(geometric_median(points[:step])) for step in moments}
        # The curvature of the expected distance at the centre of a normal cloud, (1 - 1/p) E 1/R. The printed step has
        # a factor 2 that the gradient of a norm has not: twice the curvature gives the step that theory asks for.
        curvature = (1 - 1 / dimension) * float(np.mean(1 / np.linalg.norm(points - 1.0, axis=1)))
        for name, factor in FILTER_CONSTANTS.items():
            for step, place in _follow(points, 2 * factor * curvature, moments):
                common: Row = {
                    "problem": "filter",
                    "sweep": "batches",
                    "value": float(step),
                    "repetition": repetition,
                }
                to_median, to_truth = np.linalg.norm(place - medians[step]), np.linalg.norm(place - 1.0)
                rows.append({**common, "method": f"to the median, constant {name}", "error": float(to_median)})
                rows.append({**common, "method": f"to the truth, constant {name}", "error": float(to_truth)})
    return rows


def _follow(points: Array, constant: float, moments: list[int]) -> Iterator[tuple[int, Array]]:
    aggregator = OnlineMedian(constant, budget=2)
    state = aggregator.init(Parts((Part("point", Euclidean((points.shape[1],))),)))
    for step, point in enumerate(points, start=1):
        state, _ = aggregator.step(state, Estimate(step, "", 1, (point,)))
        if step in moments:
            assert state.mixture is not None
            yield step, state.mixture
