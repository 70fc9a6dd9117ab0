"""The list of measurements of `robustream bench stream`, with their targets."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from robustream.bench.figures import Target
from robustream.bench.stream.race import Race
from robustream.bench.stream.tolerance import PROBLEMS, measure_tolerance
from robustream.bench.suite import Step

__all__ = ["BATCH_ROWS", "stream_steps"]

BATCH_ROWS = 10_000
TOLERANCE_TARGET = Target(">=", 93)


def stream_steps(folder: Path, rows: int, columns: int, *, quick: bool = False) -> list[Step]:
    """Return all measurements; quick ones with fewer turns and runs, and the same targets."""
    race = Race(folder, rows, columns, BATCH_ROWS, 1 if quick else 3)
    steps = list(race.steps())
    for learner, runs in (("classical", 25 if quick else 100), ("refined", 5 if quick else 25)):
        for problem in PROBLEMS:
            target = TOLERANCE_TARGET if runs >= 100 else None
            call = partial(measure_tolerance, problem, learner, runs, target)
            steps.append(Step(f"tolerance: {problem.title}, {learner}", call))
    return steps
