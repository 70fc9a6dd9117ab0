"""A learner turns one batch of rows into one estimate: a point of a product space.

`estimate(batch, rng)` never raises for what is wrong with the rows: a batch that cannot be used gives an estimate
without a point and with the reason. All randomness comes from the generator it is given.

A `Recipe` (`Classical()`, `Trimmed(trim=0.2)`) makes the learner for a problem; a new recipe is one file and one
line in `robustream.learners`, and the checks in `robustream.testing` then find it by themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np

from robustream.batch import BAD_CELLS, CAPPED, LEFT_OUT, Batch, Estimate, RowGroup, all_finite, describe_failure
from robustream.errors import InvalidInputError
from robustream.spaces import CovarianceModels, Point, PrincipalModels, ProductSpace
from robustream.weights import as_frequencies, cap_weights

__all__ = [
    "CovarianceLearner",
    "Learner",
    "LinearProblem",
    "PrincipalLearner",
    "PrincipalProblem",
    "Recipe",
    "Solved",
    "Together",
]


class PrincipalProblem(NamedTuple):
    """Principal components: how many, and whether the columns are brought to unit scale first."""

    n_components: int
    standardize: bool = False


class LinearProblem(NamedTuple):
    """Linear regression, with a ridge penalty `alpha` on the mean squared error."""

    fit_intercept: bool = True
    alpha: float = 0.0


class Solved(NamedTuple):
    """What the rows of a batch gave: a point, and how many rows were left out of it for which reasons."""

    point: Point
    left_out: Mapping[str, float] = {}
    cells: int = 0  # single bad cells that were taken as missing
    groups: tuple[RowGroup, ...] = ()  # rows that stand apart, whether they were left out or not


class Together(NamedTuple):
    """What came of a search of the rows of several batches as one table."""

    solve: tuple[Callable[[], Solved], ...] | None = None  # of each batch; None where they must not be searched as one
    whole: Callable[[], Solved] | None = None  # of all of them as one batch
    odd: tuple[bool, ...] | None = None  # which of them are unlike the others, where some are


class Learner(ABC):
    """Turns a batch into an estimate.

    One that `judges_rows` finds bad rows by itself: a table that is there as a whole is one batch for it. For the
    others a table is cut into batches that stand or fall as one.

    One that `takes_weights` has the weights of the rows, all above 0, in `batch.weights`: as they came if it
    `takes_any_weights`, else with a mean of at least 1, and capped if it `caps_weights`. One that `searches_together`
    may be asked to search the rows of several batches as one table.
    """

    judges_rows: bool = False
    takes_weights: bool = False
    takes_any_weights: bool = False
    caps_weights: bool = False
    searches_together: bool = False

    @abstractmethod
    def space(self, n_columns: int, n_outputs: int) -> ProductSpace:
        """Give the space of the estimates."""

    @abstractmethod
    def required_rows(self, n_columns: int) -> int:
        """Give the number of rows below which there is no estimate at all."""

    @abstractmethod
    def minimum_rows(self, n_columns: int) -> int:
        """Give the number of rows that make a batch worth an estimate of its own."""

    @abstractmethod
    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        """Return the point; may raise ValueError or LinAlgError if the rows allow none."""

    def search_together(self, batches: Sequence[Batch]) -> Together:
        """Search the rows of several batches, without weights, as one table, at the cost of one search.

        Each batch keeps an estimate of its own.
        """
        return Together()

    @final
    def estimate(
        self, batch: Batch, rng: np.random.Generator, searched: Callable[[], Solved] | None = None
    ) -> Estimate:
        """Give the estimate, or the reason why there is none; `searched` solves a batch that was searched before."""
        total = None
        if batch.weights is not None and batch.failure is None:
            batch, total = self._weighed(batch.counted())
        if batch.failure is not None:
            return Estimate(batch.index, batch.label, batch.rows, None, batch.failure, stats=batch.stats)
        try:
            # Overflow in a garbage batch is no news to the user: the result is judged below. (Warnings are not
            # caught: that would change the filters of the whole process, and learners run in threads.)
            with np.errstate(all="ignore"):
                point, left_out, cells, groups = self.solve(batch, rng) if searched is None else searched()
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return Estimate(batch.index, batch.label, batch.rows, None, describe_failure(error), stats=batch.stats)
        if not all_finite(point):
            return Estimate(batch.index, batch.label, batch.rows, None, "the estimate is not finite", stats=batch.stats)
        reasons = {LEFT_OUT + reason: rows for reason, rows in left_out.items() if rows}
        if cells:
            reasons[BAD_CELLS] = float(cells)
        for group in groups:
            reasons |= group.to_stats()
        stats = {**batch.stats, **reasons}
        return Estimate(batch.index, batch.label, batch.rows, point, stats=stats, total_weight=total)

    def _weighed(self, batch: Batch) -> tuple[Batch, float | None]:
        """Return a batch with weights as the learner takes them, and what its rows count for together."""
        weights = batch.weights
        assert weights is not None
        reason = None if batch.rows else "no row has a weight above zero"
        reason = reason if self.takes_weights else "the learner takes no weights of rows"
        if reason is not None:
            return batch._replace(failure=reason), None
        capped = 0
        if self.caps_weights:
            weights, capped = cap_weights(weights)
        total = float(weights.sum())
        stats = {**batch.stats, CAPPED: float(capped)} if capped else batch.stats
        return batch._replace(
            weights=weights if self.takes_any_weights else as_frequencies(weights), stats=stats
        ), total


@dataclass(frozen=True)
class PrincipalLearner(Learner):
    """A learner for principal components, by itself in need of one row more than components."""

    problem: PrincipalProblem

    def space(self, n_columns: int, n_outputs: int) -> PrincipalModels:
        return PrincipalModels(n_columns, self.problem.n_components, self.problem.standardize)

    def required_rows(self, n_columns: int) -> int:
        # Centring costs one row; a square full-rank case needs only as many rows as columns.
        return max(2, min(self.problem.n_components + 1, n_columns))


class CovarianceLearner(Learner):
    """A learner for a covariance matrix."""

    def space(self, n_columns: int, n_outputs: int) -> CovarianceModels:
        return CovarianceModels(n_columns)

    def required_rows(self, n_columns: int) -> int:
        return 2


class Recipe(ABC):
    """Makes the learner for a problem."""

    name: ClassVar[str]
    uses_gaps: ClassVar[bool] = False  # whether its learners use rows of which some cells are missing (NaN)

    @abstractmethod
    def pca(self, problem: PrincipalProblem) -> Learner:
        """Give the learner for principal components."""

    @abstractmethod
    def regression(self, problem: LinearProblem) -> Learner:
        """Give the learner for linear regression."""

    def covariance(self) -> Learner:
        """Give the learner for a covariance matrix; not every recipe has one."""
        raise InvalidInputError(f"learner={self.name!r} has no covariance: use 'refined' or 'classical'", "learner")
