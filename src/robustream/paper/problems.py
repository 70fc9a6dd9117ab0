"""The paper's two problems: how a batch is made and estimated, and how far an answer is from the truth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from robustream.batch import Batch, Estimate
from robustream.learners import Learner, LinearProblem, PrincipalProblem, Recipe, Refined
from robustream.paper.scenarios import Content, Size
from robustream.runs.workers import estimate_batch
from robustream.sources import (
    SimulatedPCA,
    SimulatedRegression,
    batch_at,
    coefficient_error,
    subspace_error,
)
from robustream.sources.ground_truth import generator_for
from robustream.spaces import Array, LinearModels, PrincipalModels
from robustream.spaces.principal import PrincipalValue

__all__ = ["PROBLEMS", "Moments", "PrincipalComponents", "Problem", "Regression", "Rule", "Shared", "Split"]

Mask = NDArray[np.bool_]


class Moments(NamedTuple):
    """Sums of products of the rows of a batch (columns, then the target where there is one) and their number."""

    products: Array
    rows: int

    def __add__(self, other: Any) -> Moments:
        """Return the moments of both sets of rows together."""
        return Moments(self.products + other.products, self.rows + other.rows)


class Problem(ABC):
    """One simulated problem with its seed; the batches of all streams of a repetition come from here.

    Outliers are of two kinds: "printed", as the paper says, and "stronger", made from these row by row.
    """

    name: str
    # What stronger outliers are, in words.
    stronger: str

    def __init__(self, size: Size, seed: int) -> None:
        self.size = size
        self.seed = seed
        self._sources: dict[float, Any] = {}

    def batch(self, index: int, content: Content) -> tuple[Batch, Mask]:
        """Make one batch, and tell its outliers."""
        if content.level not in self._sources:
            self._sources[content.level] = self._simulated(content.level)
        source = self._sources[content.level]
        batch, bad = batch_at(source, index), source.outlier_rows(index)
        if content.kind == "stronger" and bad.any():
            batch = self._strengthen(batch, bad)
        return batch, bad

    def moments(self, batch: Batch, chosen: Mask) -> Moments:
        """Sum the products of some rows."""
        rows = batch.X[chosen] if batch.y is None else np.column_stack([batch.X[chosen], batch.y[chosen]])
        return Moments((rows.T @ rows).astype(np.float64), len(rows))

    @abstractmethod
    def _simulated(self, level: float) -> Any:
        """Return the source with that share of the paper's outliers in every batch."""

    @abstractmethod
    def _strengthen(self, batch: Batch, bad: Mask) -> Batch:
        """Put stronger outliers in the place of the printed ones."""

    @abstractmethod
    def learner(self, recipe: Recipe) -> Learner:
        """Return the learner: the paper's problem has no intercept; the default learner is left at its defaults."""

    @abstractmethod
    def plain(self, moments: Moments) -> Array:
        """Return the plain method's answer from the moments of all rows it is given."""

    @abstractmethod
    def error(self, answer: Array) -> float:
        """Return the relative distance of an answer from the truth."""

    @abstractmethod
    def read(self, value: tuple[Array | None, ...], *, averaged: bool) -> Array:
        """Read the answer off an aggregate."""


class PrincipalComponents(Problem):
    """Rows U z + e; the printed outliers are uniform in a box, without any structure."""

    name = "pca"
    stronger = "outliers of the printed length that all lie in one wrong subspace"

    def _simulated(self, level: float) -> SimulatedPCA:
        size = self.size
        return SimulatedPCA(
            size.batches, size.rows, size.columns, size.components, outliers=level, seed=self.seed, dtype=np.float32
        )

    def _strengthen(self, batch: Batch, bad: Mask) -> Batch:
        X = batch.X.copy()
        inside = X[bad] @ self._wrong
        lengths = np.linalg.norm(X[bad], axis=1) / np.linalg.norm(inside, axis=1)
        X[bad] = (inside * lengths[:, None]) @ self._wrong.T
        return batch._replace(X=X)

    @cached_property
    def _wrong(self) -> Array:
        rng = generator_for(self.seed, 0, "wrong subspace")
        return np.linalg.qr(rng.standard_normal((self.size.columns, self.size.components)))[0].astype(np.float32)

    def learner(self, recipe: Recipe) -> Learner:
        """Return the learner of principal components."""
        return recipe.pca(PrincipalProblem(self.size.components))

    def plain(self, moments: Moments) -> Array:
        """Return the leading eigenvectors."""
        return self.leading(moments.products)

    def error(self, answer: Array) -> float:
        """Return the distance of the projectors."""
        return subspace_error(answer, self.truth)

    def read(self, value: tuple[Array | None, ...], *, averaged: bool) -> Array:
        """Return the basis."""
        space = PrincipalModels(self.size.columns, self.size.components)
        if averaged and PrincipalValue(*value).moments is not None:
            return np.asarray(space.answer(value, 0, averaged).spectrum.components.T)
        basis = value[space.primary]
        assert basis is not None
        return basis

    @cached_property
    def truth(self) -> Array:
        """The subspace that rows are made from."""
        return self._simulated(0.0).basis

    def leading(self, matrix: Array) -> Array:
        """Return the leading eigenvectors of a matrix, after proper symmetrization."""
        return np.asarray(linalg.eigh((matrix + matrix.T) / 2)[1][:, : -self.size.components - 1 : -1])


class Regression(Problem):
    """Rows y = theta.x + e; the printed outliers all agree on -theta, with large x."""

    name = "regression"
    stronger = "outliers that agree on -theta as well, with x no larger than that of clean rows"

    def _simulated(self, level: float) -> SimulatedRegression:
        size = self.size
        return SimulatedRegression(
            size.batches, size.rows, size.columns, outliers=level, seed=self.seed, dtype=np.float32
        )

    def _strengthen(self, batch: Batch, bad: Mask) -> Batch:
        assert batch.y is not None
        X, y = batch.X.copy(), batch.y.copy()
        # The variance of a number that is uniform in [-10, 10].
        shrink = np.float32(np.sqrt(3) / 10)
        X[bad] *= shrink
        y[bad] *= shrink
        return batch._replace(X=X, y=y)

    def learner(self, recipe: Recipe) -> Learner:
        """Return the learner of a linear regression."""
        return recipe.regression(LinearProblem(fit_intercept=isinstance(recipe, Refined)))

    def plain(self, moments: Moments) -> Array:
        """Return least squares."""
        columns = self.size.columns
        return np.asarray(np.linalg.solve(moments.products[:columns, :columns], moments.products[:columns, columns]))

    def error(self, answer: Array) -> float:
        """Return the distance of the coefficients."""
        return coefficient_error(answer, self.truth)

    def read(self, value: tuple[Array | None, ...], *, averaged: bool) -> Array:
        """Return the coefficients, from pooled moments where the aggregator averages them."""
        return LinearModels(self.size.columns, 1).answer(value, 0, averaged).coef

    @cached_property
    def truth(self) -> Array:
        """The coefficients that rows are made from."""
        return self._simulated(0.0).coef


PROBLEMS: dict[str, type[Problem]] = {problem.name: problem for problem in (PrincipalComponents, Regression)}


# Where the estimator that `robustream` gives to users starts its generators, so that "ours" here is what users get.
ESTIMATOR_SEED = 0


# How the learner of a batch follows from what the batch holds, for instance the share that it trims.
Rule: TypeAlias = Callable[[Content], Recipe]


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
        """Return the learner of a recipe."""
        if recipe not in self._learners:
            self._learners[recipe] = self.problem.learner(recipe)
        return self._learners[recipe]

    def prepare(self, contents: Sequence[Content], rules: Iterable[Rule]) -> None:
        """Work out what is missing, each batch being made once for all rules."""
        for index, content in enumerate(contents):
            recipes = [rule(content) for rule in rules]
            known = all((index, content, recipe) in self._estimates for recipe in recipes)
            if not known or (index, content) not in self._splits:
                self._prepare(index, content, recipes)

    def estimates(self, contents: Sequence[Content], rule: Rule) -> list[Estimate]:
        """Return the estimates of a stream's batches."""
        self.prepare(contents, [rule])
        return [self._estimates[index, content, rule(content)] for index, content in enumerate(contents)]

    def splits(self, contents: Sequence[Content]) -> list[Split]:
        """Return the moments of a stream's batches."""
        self.prepare(contents, [])
        return [self._splits[index, content] for index, content in enumerate(contents)]

    def everything(
        self, contents: Sequence[Content], recipes: Iterable[Recipe], for_batches: Sequence[Rule]
    ) -> dict[Recipe, Array]:
        """Return the answers of learners that see all rows of a stream at once.

        The estimates of each batch are made on the way, since its rows are at hand.
        """
        batches = [
            self._prepare(index, content, [rule(content) for rule in for_batches])
            for index, content in enumerate(contents)
        ]
        targets = [batch.y for batch in batches if batch.y is not None]
        rows = np.concatenate([batch.X for batch in batches])
        whole = Batch(0, "all rows", rows, np.concatenate(targets) if targets else None)
        answers = {}
        for recipe in dict.fromkeys(recipes):
            learner = self.learner(recipe)
            point = learner.estimate(whole, np.random.default_rng(ESTIMATOR_SEED)).point
            assert point is not None
            space = learner.space(self.problem.size.columns, len(targets[:1]))
            answer = space.express(space.primary, point)
            assert answer is not None
            answers[recipe] = answer
        return answers

    def forget(self, contents: Iterable[Content]) -> None:
        """Drop what no other stream needs: the moments of a thousand batches take hundreds of megabytes."""
        gone = set(contents)
        self._estimates = {key: value for key, value in self._estimates.items() if key[1] not in gone}
        self._splits = {key: value for key, value in self._splits.items() if key[1] not in gone}

    def _prepare(self, index: int, content: Content, recipes: Iterable[Recipe]) -> Batch:
        """Make a batch and work out what is not known of it yet."""
        batch, bad = self.problem.batch(index, content)
        if (index, content) not in self._splits:
            moments = self.problem.moments
            self._splits[index, content] = Split(moments(batch, ~bad), moments(batch, bad))
        for recipe in recipes:
            if (index, content, recipe) not in self._estimates:
                self._estimates[index, content, recipe] = estimate_batch(self.learner(recipe), ESTIMATOR_SEED, batch)
        return batch
