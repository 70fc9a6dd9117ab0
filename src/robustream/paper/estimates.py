"""Estimates that are worked out once and shared by all streams, orders and aggregators of a repetition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from robustream.batch import Batch, Estimate
from robustream.learners import Learner, Recipe
from robustream.paper.contents import Content
from robustream.paper.problems import Moments, Problem
from robustream.runs.workers import estimate_batch
from robustream.spaces import Array

__all__ = ["Shared", "Split"]

# Where the estimator that `robustream` gives to users starts its generators, so that "ours" here is what users get.
ESTIMATOR_SEED = 0


class Split(NamedTuple):
    """The moments of the clean and of the bad rows of a batch."""

    clean: Moments
    bad: Moments


class Shared:
    """The batches of one repetition, and what was made of them so far."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._estimates: dict[tuple[int, Content, Recipe], Estimate] = {}
        self._splits: dict[tuple[int, Content], Split] = {}
        self._learners: dict[Recipe, Learner] = {}

    def learner(self, recipe: Recipe) -> Learner:
        """Give the learner of a recipe."""
        if recipe not in self._learners:
            self._learners[recipe] = self.problem.learner(recipe)
        return self._learners[recipe]

    def prepare(self, contents: Sequence[Content], recipes: Iterable[Recipe]) -> None:
        """Work out what is missing, each batch being made once for all recipes."""
        wanted = tuple(recipes)
        for index, content in enumerate(contents):
            rows = self.problem.canonical(content)
            if not self._is_ready(index, rows, wanted):
                self._prepare(index, rows, wanted)

    def estimates(self, contents: Sequence[Content], recipe: Recipe) -> list[Estimate]:
        """Give the estimates of a stream's batches."""
        self.prepare(contents, [recipe])
        canonical = self.problem.canonical
        return [self._estimates[index, canonical(content), recipe] for index, content in enumerate(contents)]

    def splits(self, contents: Sequence[Content]) -> list[Split]:
        """Give the moments of a stream's batches."""
        self.prepare(contents, [])
        return [self._splits[index, self.problem.canonical(content)] for index, content in enumerate(contents)]

    def everything(
        self, contents: Sequence[Content], recipes: Iterable[Recipe], for_batches: Iterable[Recipe]
    ) -> dict[Recipe, Array]:
        """Give the answers of learners that see all rows of a stream at once.

        The estimates of each batch are made on the way, since its rows are at hand.
        """
        wanted = tuple(for_batches)
        batches = [
            self._prepare(index, self.problem.canonical(content), wanted) for index, content in enumerate(contents)
        ]
        targets = [batch.y for batch in batches if batch.y is not None]
        rows = np.concatenate([batch.X for batch in batches])
        whole = Batch(0, "all rows", rows, np.concatenate(targets) if targets else None)
        answers = {}
        for recipe in recipes:
            learner = self.learner(recipe)
            point = learner.estimate(whole, np.random.default_rng(ESTIMATOR_SEED)).point
            assert point is not None
            space = learner.space(self.problem.size.columns, len(targets[:1]))
            answer = space.express(space.primary, point)
            assert answer is not None
            answers[recipe] = answer
        return answers

    def _is_ready(self, index: int, content: Content, recipes: tuple[Recipe, ...]) -> bool:
        known = all((index, content, recipe) in self._estimates for recipe in recipes)
        return known and (index, content) in self._splits

    def _prepare(self, index: int, content: Content, recipes: tuple[Recipe, ...]) -> Batch:
        """Make a batch and work out what is not known of it yet."""
        batch, bad = self.problem.batch(index, content)
        if (index, content) not in self._splits:
            moments = self.problem.moments
            self._splits[index, content] = Split(moments(batch, ~bad), moments(batch, bad))
        for recipe in recipes:
            if (index, content, recipe) not in self._estimates:
                self._estimates[index, content, recipe] = estimate_batch(self.learner(recipe), ESTIMATOR_SEED, batch)
        return batch
