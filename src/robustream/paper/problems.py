"""The paper's two problems: how a batch with given bad rows is made, and how far an answer is from the truth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from robustream.batch import Batch
from robustream.learners import Learner, LinearProblem, PrincipalProblem, Recipe, Refined
from robustream.paper.contents import CLEAN, Content
from robustream.paper.sizes import Size
from robustream.sources import (
    CorruptedBatches,
    KnownOutliers,
    SimulatedPCA,
    SimulatedRegression,
    batch_at,
    coefficient_error,
    subspace_error,
)
from robustream.spaces import Array, LinearModels, PrincipalModels

__all__ = ["PROBLEMS", "Moments", "PrincipalComponents", "Problem", "Regression"]

Mask = NDArray[np.bool_]


class Moments(NamedTuple):
    """Sums of products of the rows of a batch (columns, then the target where there is one) and their number."""

    products: Array
    rows: int

    def __add__(self, other: Any) -> Moments:
        """Give the moments of both sets of rows together."""
        return Moments(self.products + other.products, self.rows + other.rows)


class Problem(ABC):
    """One simulated problem with its seed; the batches of all streams of a repetition come from here."""

    name: str
    # Which of the two kinds of garbage the outliers that the paper prints are.
    paper_kind: str

    def __init__(self, size: Size, seed: int) -> None:
        self.size = size
        self.seed = seed
        self._sources: dict[Content, KnownOutliers] = {}

    def source(self, content: Content) -> KnownOutliers:
        """Give the source all of whose batches have this content."""
        if content not in self._sources:
            self._sources[content] = self._make_source(content)
        return self._sources[content]

    def _make_source(self, content: Content) -> KnownOutliers:
        if content.kind in ("paper", self.paper_kind):
            return self._simulated(content.level)
        kind = {"incoherent": "random", "colluding": "colluding"}[content.kind]
        return CorruptedBatches(self.source(CLEAN), 1.0, kind, level=content.level, seed=self.seed)

    def batch(self, index: int, content: Content) -> tuple[Batch, Mask]:
        """Make one batch, and tell its bad rows."""
        source = self.source(content)
        return batch_at(source, index), source.outlier_rows(index)

    def canonical(self, content: Content) -> Content:
        """Give one name to contents that are the same rows."""
        if content.level == 0:
            return CLEAN
        return content._replace(kind="paper") if content.kind == self.paper_kind else content

    def moments(self, batch: Batch, chosen: Mask) -> Moments:
        """Sum the products of some rows."""
        rows = batch.X[chosen] if batch.y is None else np.column_stack([batch.X[chosen], batch.y[chosen]])
        return Moments((rows.T @ rows).astype(np.float64), len(rows))

    @abstractmethod
    def _simulated(self, level: float) -> Any:
        """Give the source with that share of the paper's outliers in every batch."""

    @abstractmethod
    def learner(self, recipe: Recipe) -> Learner:
        """Give the learner: the paper's problem has no intercept; the default learner is left at its defaults."""

    @abstractmethod
    def plain(self, moments: Moments) -> Array:
        """Give the plain method's answer from the moments of all rows it is given."""

    @abstractmethod
    def error(self, answer: Array) -> float:
        """Give the relative distance of an answer from the truth."""

    @abstractmethod
    def read(self, value: tuple[Array | None, ...], *, averaged: bool) -> Array:
        """Read the answer off an aggregate."""


class PrincipalComponents(Problem):
    """Rows U z + e; the paper's outliers are uniform in a box, without any structure."""

    name = "pca"
    paper_kind = "incoherent"

    def _simulated(self, level: float) -> SimulatedPCA:
        size = self.size
        return SimulatedPCA(
            size.batches, size.rows, size.columns, size.components, outliers=level, seed=self.seed, dtype=np.float32
        )

    def learner(self, recipe: Recipe) -> Learner:
        """Give the learner of principal components."""
        return recipe.pca(PrincipalProblem(self.size.components))

    def plain(self, moments: Moments) -> Array:
        """Give the leading eigenvectors."""
        return np.asarray(linalg.eigh(moments.products)[1][:, : -self.size.components - 1 : -1])

    def error(self, answer: Array) -> float:
        """Give the distance of the projectors."""
        return subspace_error(answer, self._truth)

    def read(self, value: tuple[Array | None, ...], *, averaged: bool) -> Array:
        """Give the basis."""
        basis = value[PrincipalModels(self.size.columns, self.size.components).primary]
        assert basis is not None
        return basis

    @cached_property
    def _truth(self) -> Array:
        return self._simulated(0.0).basis


class Regression(Problem):
    """Rows y = theta.x + e; the paper's outliers all agree on -theta, with large x."""

    name = "regression"
    paper_kind = "colluding"

    def _simulated(self, level: float) -> SimulatedRegression:
        size = self.size
        return SimulatedRegression(
            size.batches, size.rows, size.columns, outliers=level, seed=self.seed, dtype=np.float32
        )

    def learner(self, recipe: Recipe) -> Learner:
        """Give the learner of a linear regression."""
        return recipe.regression(LinearProblem(fit_intercept=isinstance(recipe, Refined)))

    def plain(self, moments: Moments) -> Array:
        """Give least squares."""
        columns = self.size.columns
        return np.asarray(np.linalg.solve(moments.products[:columns, :columns], moments.products[:columns, columns]))

    def error(self, answer: Array) -> float:
        """Give the distance of the coefficients."""
        return coefficient_error(answer, self._truth)

    def read(self, value: tuple[Array | None, ...], *, averaged: bool) -> Array:
        """Give the coefficients, from pooled moments where the aggregator averages them."""
        return LinearModels(self.size.columns, 1).solution(value, 0, averaged).coef

    @cached_property
    def _truth(self) -> Array:
        return self._simulated(0.0).coef


PROBLEMS: dict[str, type[Problem]] = {problem.name: problem for problem in (PrincipalComponents, Regression)}
