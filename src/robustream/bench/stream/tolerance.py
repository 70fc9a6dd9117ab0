"""Whether a run with a tolerance stops in time, and not too soon: on streams whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robustream.bench.figures import Figure, Target
from robustream.bench.stream.problems import Components, Problem, Regression
from robustream.fitting import fit

__all__ = ["PROBLEMS", "TOLERANCE", "Stop", "batches_needed", "measure_tolerance", "run_until_stop"]

TOLERANCE = 0.01
CONFIDENCE = 0.95
# With the noise below, about 40 batches are needed. A run that has not stopped after so many does not stop.
MOST_BATCHES = 400
HOW = f"runs to a tolerance of {TOLERANCE:g}, each of other rows and another truth"

PROBLEMS: Sequence[Problem] = (
    Regression(columns=1, rows=200, noise=0.45),
    Regression(columns=8, rows=400, noise=0.32),
    Regression(columns=100, rows=1_500, noise=0.22),
    Components(columns=20, rows=400, variances=(40.0, 25.0)),
)


class Stop(NamedTuple):
    """Where a run stopped, if it did, and how far its answer was off."""

    stopped: bool
    batches: int
    error: float


def run_until_stop(problem: Problem, seed: int, learner: str) -> Stop:
    """Fit one stream with the tolerance."""
    model = fit(
        problem.estimator(learner),
        problem.batches(seed),
        tolerance=TOLERANCE,
        callbacks=[lambda event: event.batches >= MOST_BATCHES],
    )
    return Stop("below" in model.fit_notes_["ended"], model.n_batches_seen_, problem.error_of(seed, model))


def batches_needed(problem: Problem, seeds: Sequence[int], most: int = 80) -> float:
    """Return with how many batches the plain method is within the tolerance with the same confidence.

    The rows have no outliers: nobody does with fewer. The squared error falls as the batches grow in number; so its
    multiple by that number is alike for all, and a few runs tell its quantile.
    """
    errors = np.array([problem.plain_errors(seed, most) for seed in seeds])
    steady = np.square(errors[:, most // 4 :]) * np.arange(1 + most // 4, most + 1)
    return float(np.quantile(steady, CONFIDENCE)) / TOLERANCE**2


def measure_tolerance(problem: Problem, learner: str, runs: int, target: Target | None = None) -> list[Figure]:
    """Return the share of runs that end within the tolerance, and the rows that they read relative to those needed."""
    seeds = range(runs)
    stops = [run_until_stop(problem, seed, learner) for seed in seeds]
    needed = batches_needed(problem, seeds)
    within = 100 * sum(stop.stopped and stop.error <= TOLERANCE for stop in stops) / runs
    read = float(np.median([stop.batches for stop in stops]))
    details = {
        "runs": runs,
        "stopped": sum(stop.stopped for stop in stops),
        "batches": [stop.batches for stop in stops],
        "errors": [stop.error for stop in stops],
        "batches_needed": needed,
    }
    name = f"{problem.title}, {learner}, {runs} runs"
    return [
        Figure("tolerance", f"{name}: true error below {TOLERANCE:.0%} at the stop", within, "%", target, HOW, details),
        Figure("tolerance", f"{name}: median of rows read / rows needed", read / needed, "x", None, HOW),
    ]
