"""Whether a run with a tolerance stops in time, and not too soon: on simulated streams whose truth is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.bench.measurement import Figure, Target
from robustream.estimators import OutlierRobustPCA, OutlierRobustRegressor
from robustream.runs.fit import fit

__all__ = [
    "PROBLEMS",
    "TOLERANCE",
    "Components",
    "Problem",
    "Regression",
    "Stop",
    "batches_needed",
    "measure_tolerance",
    "run_until_stop",
]


class Problem(ABC):
    """A law of batches without end, with an answer that is known."""

    title: str
    rows: int  # of a batch

    @abstractmethod
    def batches(self, seed: int) -> Iterator[Any]:
        """Yield batches as `robustream.fit` takes them, of a truth that depends on the seed."""

    @abstractmethod
    def estimator(self, learner: str) -> Any:
        """Return what is to be fitted."""

    @abstractmethod
    def error_of(self, seed: int, model: Any) -> float:
        """Return the relative error of a fitted model."""

    @abstractmethod
    def plain_errors(self, seed: int, most: int) -> NDArray[Any]:
        """Return the relative error of the plain method on all rows of 1, 2, ... batches."""


@dataclass(frozen=True)
class Regression(Problem):
    """Normal columns and normal noise; coefficients of length 1."""

    columns: int
    rows: int
    noise: float

    @property
    def title(self) -> str:  # type: ignore[override]
        """Name the law."""
        return f"regression with {self.columns} column{'s' if self.columns > 1 else ''}"

    def batches(self, seed: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield pairs (X, y)."""
        coef, rng = self._truth(seed), np.random.default_rng([seed, 1])
        while True:
            X = rng.standard_normal((self.rows, self.columns))
            yield X, X @ coef + 1 + self.noise * rng.standard_normal(self.rows)

    def estimator(self, learner: str) -> OutlierRobustRegressor:
        """Return a regression with that learner."""
        return OutlierRobustRegressor(learner=learner)

    def error_of(self, seed: int, model: Any) -> float:
        """Return the error of the coefficients; their length is 1."""
        return float(np.linalg.norm(model.coef_ - self._truth(seed)))

    def plain_errors(self, seed: int, most: int) -> NDArray[Any]:
        """Return the errors of least squares."""
        coef, errors = self._truth(seed), []
        gram, cross = np.zeros((self.columns + 1,) * 2), np.zeros(self.columns + 1)
        for X, y in islice(self.batches(seed), most):
            with_one = np.column_stack((X, np.ones(len(X))))
            gram, cross = gram + with_one.T @ with_one, cross + with_one.T @ y
            errors.append(np.linalg.norm(np.linalg.solve(gram, cross)[:-1] - coef))
        return np.array(errors)

    def _truth(self, seed: int) -> NDArray[Any]:
        coef = np.random.default_rng([seed, 0]).normal(size=self.columns)
        return coef / np.linalg.norm(coef)


@dataclass(frozen=True)
class Components(Problem):
    """Normal rows with some directions of large variance; the noise has variance 1."""

    columns: int
    rows: int
    variances: tuple[float, ...]

    @property
    def title(self) -> str:  # type: ignore[override]
        """Name the law."""
        return f"{len(self.variances)} principal components of {self.columns} columns"

    def batches(self, seed: int) -> Iterator[NDArray[Any]]:
        """Yield rows."""
        directions = self._truth(seed) * np.sqrt(np.array(self.variances) - 1)
        rng = np.random.default_rng([seed, 1])
        while True:
            scores = rng.standard_normal((self.rows, len(self.variances)))
            yield rng.standard_normal((self.rows, self.columns)) + scores @ directions.T

    def estimator(self, learner: str) -> OutlierRobustPCA:
        """Return principal components with that learner."""
        return OutlierRobustPCA(len(self.variances), learner=learner)

    def error_of(self, seed: int, model: Any) -> float:
        """Return the distance of the subspaces."""
        return self._distance(seed, model.components_.T)

    def plain_errors(self, seed: int, most: int) -> NDArray[Any]:
        """Return the errors of the leading eigenvectors of the covariance."""
        errors = []
        gram, total, seen = np.zeros((self.columns,) * 2), np.zeros(self.columns), 0
        for X in islice(self.batches(seed), most):
            gram, total, seen = gram + X.T @ X, total + X.sum(axis=0), seen + len(X)
            vectors = np.linalg.eigh(gram / seen - np.outer(total, total) / seen**2).eigenvectors
            errors.append(self._distance(seed, vectors[:, -len(self.variances) :]))
        return np.array(errors)

    def _distance(self, seed: int, basis: NDArray[Any]) -> float:
        """Return the distance of the projectors relative to their norm."""
        truth = self._truth(seed)
        outside = basis - truth @ (truth.T @ basis)
        return float(np.sqrt(2) * np.linalg.norm(outside) / np.sqrt(len(self.variances)))

    def _truth(self, seed: int) -> NDArray[Any]:
        gaussian = np.random.default_rng([seed, 0]).normal(size=(self.columns, len(self.variances)))
        return np.linalg.qr(gaussian).Q


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
