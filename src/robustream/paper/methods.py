"""Ways to make one answer of many batches, as the experiments compare them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from robustream.aggregators import Aggregator, Filtered, GeometricMedian, Mean, OnlineMedian
from robustream.batch import Estimate
from robustream.learners import Learner
from robustream.paper.problems import Problem
from robustream.runs import Layout, Plan, Run
from robustream.sources import place_batches
from robustream.spaces import Array, ProductSpace
from robustream.spaces.factored import leading_directions

__all__ = ["Gathering", "StochasticRegression", "arrange", "arrival"]


class Gathering(NamedTuple):
    """The estimates that one learner made of the batches of a stream, in order of arrival."""

    problem: Problem
    learner: Learner
    space: ProductSpace
    estimates: tuple[Estimate, ...]

    @classmethod
    def of(cls, problem: Problem, learner: Learner, estimates: Sequence[Estimate]) -> Gathering:
        """Gather estimates; those that failed are left out, as every run of the library does."""
        space = learner.space(problem.size.columns, 0 if problem.name == "pca" else 1)
        return cls(problem, learner, space, tuple(estimate for estimate in estimates if estimate.point is not None))

    def first(self, number: int) -> Gathering:
        """Return the estimates of the first batches to arrive."""
        return self._replace(estimates=self.estimates[:number])

    def average(self) -> Array:
        """Average: projectors, then their leading directions; or coefficients."""
        return self._fold(Mean())

    def average_eigenvectors(self) -> Array:
        """Average the matrices of eigenvectors, with signs fixed by their largest entries, entry by entry."""
        stacked = np.stack(self.answers())
        mean = stacked.mean(axis=0)
        return leading_directions(mean, mean.shape[1]) if self.problem.name == "pca" else mean

    def geometric_median(self) -> Array:
        """Take the exact geometric median."""
        part = self.space.parts[self.space.primary].space
        return GeometricMedian().settle(part, self.answers(), np.ones(len(self.estimates))).value

    def online_median(self, constant: float) -> Array:
        """Run the paper's filter, as printed, from 0."""
        return self.online_path(constant, [len(self.estimates)])[0]

    def online_path(self, constant: float, moments: Sequence[int]) -> list[Array]:
        """Run the paper's filter and give its answer after some numbers of batches, in increasing order."""
        part = self.space.parts[self.space.primary].space
        runs = accumulate(self.estimates, Run.step, initial=self._begin(OnlineMedian(constant)))
        return [part.project(run.state.mixture) for run in runs if run.next_index in moments]

    def filtered(self) -> Array:
        """Drop what the majority contradicts and average the rest: the default."""
        return self._fold(Filtered())

    def answers(self) -> list[Array]:
        """Return what each batch says by itself."""
        points = [self.space.express(self.space.primary, estimate.point or ()) for estimate in self.estimates]
        return [point for point in points if point is not None]

    def _fold(self, aggregator: Aggregator) -> Array:
        run = reduce(Run.step, self.estimates, self._begin(aggregator))
        return self.problem.read(run.value, averaged=aggregator.averages)

    def _begin(self, aggregator: Aggregator) -> Run:
        """Return the run before its first batch, as every fit of the library begins."""
        layout = Layout(self.problem.size.columns, 0 if self.problem.name == "pca" else 1)
        return Run.begin(Plan(self.learner, aggregator), layout)


def arrival(bad: Sequence[bool], order: str) -> list[int]:
    """Return the batches in order of arrival: the bad ones first, last, in a burst, or all in their own places.

    >>> arrival([False, True, False, True], "first")
    [1, 3, 0, 2]
    """
    if order == "random":
        return list(range(len(bad)))
    places = set(place_batches(sum(bad), len(bad), order=order).tolist())
    spoiled = iter([index for index, is_bad in enumerate(bad) if is_bad])
    sound = iter([index for index, is_bad in enumerate(bad) if not is_bad])
    return [next(spoiled if place in places else sound) for place in range(len(bad))]


def arrange(estimates: Sequence[Estimate], bad: Sequence[bool], order: str) -> list[Estimate]:
    """Let the same estimates arrive in another order."""
    return [estimates[index]._replace(index=place) for place, index in enumerate(arrival(bad, order))]


class StochasticRegression:
    """Go down the gradient of the squared error, once over the stream, in steps that shrink as 1 / sqrt(t).

    Parameters
    ----------
    features, targets : the first batch; its centre stays, and its spread decides the first step.
    rows : of a step; the more there are the longer it is, and too long where features vary in few directions.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4000, 2))
    >>> model = StochasticRegression(X, X[:, :1])
    >>> model.take(X, X[:, :1])
    >>> model.coef.round(1) + 0.0
    array([[1., 0.]])
    """

    def __init__(self, features: Array, targets: Array, rows: int = 25) -> None:
        self.rows = rows
        self.center = features.mean(axis=0, dtype=np.float64).astype(features.dtype)
        self.level = targets.mean(axis=0, dtype=np.float64).astype(features.dtype)
        # The largest step that the curvature of the first rows allows for.
        self.step = 1.0 / float(np.square(features - self.center).sum(axis=1, dtype=np.float64).mean())
        self.coef = np.zeros((targets.shape[1], features.shape[1]), features.dtype)
        self.taken = 0

    def take(self, features: Array, targets: Array) -> None:
        """Go through the rows of a batch; on rows far larger than the first ones the steps may diverge."""
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(features), self.rows):
                self.taken += 1
                rows = features[start : start + self.rows] - self.center
                left = rows @ self.coef.T + self.level - targets[start : start + self.rows]
                self.coef -= (left.T @ rows) * features.dtype.type(self.step / np.sqrt(self.taken))

    @property
    def intercept(self) -> Array:
        """What a row of zeros is predicted."""
        return np.asarray(self.level - self.coef @ self.center)
