"""The theory, measured: lemmas on samples, and how errors fall or rise with T, b, p and the share of outliers."""

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
from robustream.paper.results import Cell, Memory, Row, root_mean_square
from robustream.paper.scenarios import SIZES, Content, Size
from robustream.paper.simulation import CONSTANT, RULES
from robustream.sources import place_batches, subspace_error
from robustream.spaces import Array, Euclidean, Part, Parts

__all__ = ["DEFAULTS", "FILTER_CONSTANTS", "GAMMA", "lemma_cells", "median_constant", "rate_cells"]

COUNT = 40  # estimates in a sample
DIMENSIONS = (2, 10, 50)
SHARES = (0.1, 0.2, 0.3, 0.4, 0.45)


class Lemma(NamedTuple):
    """The settings of a cell."""

    trials: int
    seed: int


def lemma_cells(context: Context) -> Iterator[Cell]:
    """Return a cell for each statement."""
    settings = Lemma(context.size.lemma_trials, context.seed)
    works = {"lemma-1": run_lemma_1, "lemma-4": run_lemma_4, "theorem-3": run_theorem_3, "single": run_single}
    for name, work in works.items():
        yield Cell("theory-lemmas", name, work, settings, 0.01 * context.size.lemma_trials)


def median_constant(share: float) -> float:
    """Return C_gamma of Lemma 1.

    >>> round(median_constant(0.4), 3)
    1.342
    """
    return (1 - share) * float(np.sqrt(1 / (1 - 2 * share)))


def run_lemma_1(settings: Lemma, memory: Memory) -> list[Row]:
    """Put bad points where they pull hardest, and compare the median's error with the bound."""
    rows: list[Row] = []
    for share in SHARES:
        # The lemma needs more than 1 - gamma of the points within the radius: one bad point fewer than gamma T.
        bad = int(np.ceil(share * COUNT)) - 1
        for dimension in DIMENSIONS:
            ratios = []
            for trial in range(settings.trials // len(DIMENSIONS) + 1):
                rng = np.random.default_rng([settings.seed, 1, dimension, round(100 * share), trial])
                points = _in_ball(rng, COUNT, dimension)
                points[:bad] = _pulling(rng, bad, dimension)
                # The good points that lie best for the adversary: on the sphere, on the side of the bad ones.
                if trial % 2:
                    points[bad:] /= np.linalg.norm(points[bad:], axis=1, keepdims=True)
                    points[bad:, 0] = np.abs(points[bad:, 0])
                radius = float(np.linalg.norm(points[bad:], axis=1).max())
                median = np.asarray(geometric_median(points))
                ratios.append(float(np.linalg.norm(median)) / (median_constant(share) * radius))
            rows.append(
                {
                    "statement": "lemma 1",
                    "share": share,
                    "dimension": dimension,
                    "trials": len(ratios),
                    "largest": max(ratios),
                    "mean": float(np.mean(ratios)),
                }
            )
    return rows


def run_lemma_4(settings: Lemma, memory: Memory) -> list[Row]:
    """Compare how often the median is near with the chance that the lemma promises."""
    rows: list[Row] = []
    dimension = 10
    for good in (0.7, 0.8, 0.9):
        for share in (0.35, 0.4, 0.45):
            if share - 1 + good <= 0:
                continue
            near = 0
            for trial in range(settings.trials):
                rng = np.random.default_rng([settings.seed, 4, round(100 * good), round(100 * share), trial])
                points = _in_ball(rng, COUNT, dimension)
                far = rng.random(COUNT) > good
                points[far] = _pulling(rng, int(far.sum()), dimension)
                near += bool(np.linalg.norm(geometric_median(points)) < median_constant(share))
            promised = 1 - float(np.exp(-2 * COUNT * (share - 1 + good) ** 2))
            rows.append(
                {
                    "statement": "lemma 4",
                    "share": share,
                    "good": good,
                    "trials": settings.trials,
                    "observed": near / settings.trials,
                    "promised": promised,
                }
            )
    return rows


def run_theorem_3(settings: Lemma, memory: Memory) -> list[Row]:
    """Find the least curvature of the median's loss over pairs of points in a ball, on a line and off it."""
    rows: list[Row] = []
    for name, flat in (("in space", False), ("on a straight line", True)):
        rng = np.random.default_rng([settings.seed, 3, int(flat)])
        cloud = rng.standard_normal((400, 5))
        if flat:
            cloud[:, 1:] = 0.0
        curvature = []
        for _ in range(settings.trials):
            first, second = 2 * _in_ball(rng, 2, 5)
            if flat:
                # Both beyond the cloud, on its line: there the loss is straight.
                first, second = np.eye(5)[0] * (10 + rng.random()), np.eye(5)[0] * (20 + rng.random())
            difference = second - first
            gain = (_gradient(second, cloud) - _gradient(first, cloud)) @ difference
            curvature.append(float(gain / (difference @ difference)))
        rows.append({"statement": "theorem 3", "cloud": name, "trials": settings.trials, "least": min(curvature)})
    return rows


def run_single(settings: Lemma, memory: Memory) -> list[Row]:
    """Move one estimate away from the others, and turn one projector away from the others."""
    dimension, trials = 10, max(1, settings.trials // 100)
    rows: list[Row] = []
    for distance in (0.0, 1e2, 1e4):
        errors: dict[str, list[float]] = {"averaging": [], "median": [], "projectors": []}
        for trial in range(trials):
            rng = np.random.default_rng([settings.seed, 5, trial])
            points = rng.standard_normal((COUNT, dimension))
            points[0, 0] += distance
            errors["averaging"].append(float(np.linalg.norm(points.mean(axis=0))))
            errors["median"].append(float(np.linalg.norm(geometric_median(points))))
            errors["projectors"].append(_averaged_projectors(rng, dimension, wrong=distance > 0))
        rows.append(
            {
                "statement": "one bad estimate",
                "distance": distance,
                "trials": trials,
                **{name: root_mean_square(values) for name, values in errors.items()},
            }
        )
    return rows


def _averaged_projectors(rng: np.random.Generator, columns: int, *, wrong: bool) -> float:
    """Average projectors near one on the first two axes, one of them on the last two where it is to be wrong."""
    rank = 2
    truth = np.eye(columns)[:, :rank]
    bases = [np.linalg.qr(truth + 0.1 * rng.standard_normal(truth.shape))[0] for _ in range(COUNT)]
    if wrong:
        bases[0] = np.eye(columns)[:, -rank:]
    mean = sum(basis @ basis.T for basis in bases) / COUNT
    leading = np.linalg.eigh(mean)[1][:, -rank:]
    return subspace_error(leading, truth)


def _gradient(place: Array, cloud: Array) -> Array:
    difference = place - cloud
    return np.asarray((difference / np.linalg.norm(difference, axis=1, keepdims=True)).mean(axis=0))


def _in_ball(rng: np.random.Generator, count: int, dimension: int) -> Array:
    points = rng.standard_normal((count, dimension))
    radius = rng.random(count) ** (1 / dimension)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True) * radius[:, None])


def _pulling(rng: np.random.Generator, count: int, dimension: int) -> Array:
    """Return bad points that agree, somewhere between near and very far, along the first axis."""
    points = 0.01 * rng.standard_normal((count, dimension))
    points[:, 0] += 10.0 ** rng.uniform(0, 4)
    return np.asarray(points)


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
