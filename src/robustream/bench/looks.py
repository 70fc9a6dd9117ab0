"""A look at the model after every call of a stream, as a multiple of the same stream without looks.

Two models take the same calls in turns; the answer of one of them is read after each. Both are read at the end. So a
busy machine slows both, and what is measured is what looks cost, not what an estimate does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from robustream.bench.measurement import Figure, Step, Target, same_threads
from robustream.estimators import OutlierRobustPCA, OutlierRobustRegressor

__all__ = ["Looks", "looks_grid", "looks_steps", "measure_looks"]

CALL_ROWS = 1_000
BATCHES, QUICK_BATCHES = (100, 1_000, 10_000), (100, 1_000)
COLUMNS = (3, 20)
LEARNERS = ("classical", "refined")
LOOKS_TARGET = Target("<=", 2)
# Blocks of rows that are made; each call has one of them in its own units, so that no two estimates are alike.
_BLOCKS = 50


class Looks(NamedTuple):
    """One measurement: a stream of so many calls."""

    problem: str
    learner: str
    batches: int
    columns: int
    rows: int = CALL_ROWS

    @property
    def title(self) -> str:
        """The measurement in words."""
        calls = f"{self.batches:,} calls of {self.rows:,} x {self.columns}"
        return f"{self.problem}, {self.learner}, {calls}, a look after each"

    def model(self) -> Any:
        """Return the model that learns."""
        if self.problem == "PCA":
            return OutlierRobustPCA(2, learner=self.learner)
        return OutlierRobustRegressor(learner=self.learner)

    def read(self, model: Any) -> Any:
        """Look at what it has learned."""
        return model.components_ if self.problem == "PCA" else model.coef_


def looks_grid(*, quick: bool = False) -> list[Looks]:
    """Return the measurements; quick ones leave the longest streams out."""
    return [
        Looks(problem, learner, batches, columns)
        for problem in ("PCA", "regression")
        for learner in LEARNERS
        for batches in (QUICK_BATCHES if quick else BATCHES)
        for columns in COLUMNS
    ]


def measure_looks(looks: Looks) -> list[Figure]:
    """Return the processor time of a stream with looks over that without, on one thread."""
    rng = np.random.default_rng([looks.batches, looks.columns])
    coef = rng.normal(size=looks.columns)
    blocks = [rng.normal(size=(looks.rows, looks.columns)) for _ in range(_BLOCKS)]
    noise = [rng.normal(size=looks.rows) for _ in range(_BLOCKS)]
    with same_threads(1):
        # Code is compiled and caches are filled before it counts.
        for turn in (min(looks.batches, 2 * _BLOCKS), looks.batches):
            models, seconds = (looks.model(), looks.model()), [0.0, 0.0]
            for k in range(turn):
                # The errors are combined anew by each call, and the widths of the columns differ a little.
                X = blocks[k % _BLOCKS] * rng.normal(1, 0.02, looks.columns) + [1.0, *[0.0] * (looks.columns - 1)]
                y = X @ coef + noise[k // _BLOCKS % _BLOCKS] + 0.1 * X[:, 0] * rng.normal()
                for place in (0, 1) if k % 2 else (1, 0):
                    begun = process_time()
                    models[place].partial_fit(X, y)
                    if place == 1 or k == turn - 1:
                        looks.read(models[place])
                    seconds[place] += process_time() - begun
    each = [1e3 * spent / looks.batches for spent in seconds]
    details = {**looks._asdict(), "milliseconds a call without and with looks": each}
    group = "processor time with a look after every call / without, 1 thread"
    return [Figure(group, looks.title, seconds[1] / seconds[0], "x", LOOKS_TARGET, "both in turns", details)]


def looks_steps(chosen: Sequence[Looks]) -> list[Step]:
    """Return a step for each measurement."""
    return [Step(looks.title, partial(measure_looks, looks)) for looks in chosen]
