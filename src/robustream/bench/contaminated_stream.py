"""A stream in which many batches are garbage, fitted robustly and plainly beside a fit that saw no garbage.

The bad batches come first and agree with one another on a wrong answer, the hardest kind that a share of them
can be. The yardstick is the plain method given the clean batches alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from robustream.batch import Batch, BatchRecord
from robustream.errors import InvalidInputError
from robustream.estimators import OutlierRobustPCA, OutlierRobustRegressor
from robustream.sources import (
    CorruptedBatches,
    SimulatedPCA,
    SimulatedRegression,
    coefficient_error,
    subspace_error,
)

__all__ = [
    "ALIKE",
    "Contest",
    "Errors",
    "Settings",
    "check_settings",
    "contest_pca",
    "contest_regression",
    "say_verdict",
]

# A picture in a terminal has no room for more.
MOMENTS = 60
# Below this many times the yardstick's error a difference is not worth a word.
ALIKE = 1.5


class Settings(NamedTuple):
    """The stream: how many batches, their shape, the share of bad ones."""

    batches: int = 100
    rows: int = 2000
    columns: int = 20
    bad: float = 0.4
    seed: int = 0

    @property
    def components(self) -> int:
        """The number of true components."""
        return min(3, self.columns - 1)


class Errors(NamedTuple):
    """One number for each way to fit."""

    robust: float
    plain: float
    clean_only: float


class Contest(NamedTuple):
    """How far each fit ended from the truth, and on the way there (`moments` are numbers of batches seen)."""

    problem: str
    metric: str
    plain_method: str
    aggregator: str
    errors: Errors
    moments: list[int]
    robust_path: list[float]
    plain_path: list[float]
    bad_indices: list[int]
    most_distant: list[BatchRecord]

    @property
    def robust_ratio(self) -> float:
        """The robust error in multiples of the yardstick's."""
        return self.errors.robust / self.errors.clean_only

    @property
    def plain_ratio(self) -> float:
        """The plain error in multiples of the yardstick's."""
        return self.errors.plain / self.errors.clean_only

    @property
    def found(self) -> int:
        """How many of the most distant batches are bad; there are as many of these as of bad ones."""
        return len({record.index for record in self.most_distant} & set(self.bad_indices))


def check_settings(settings: Settings) -> None:
    """Raise if the stream cannot be made, would show nothing, or something else than it says."""
    for name, least in (("batches", 10), ("columns", 2), ("seed", 0)):
        value = getattr(settings, name)
        if value < least:
            raise InvalidInputError(f"{name} must be at least {least}, got {value}.")
    needed = max(20, 5 * settings.columns)
    if settings.rows < needed:
        raise InvalidInputError(
            f"rows must be at least {needed} for {settings.columns} columns, so that each batch gives an estimate "
            f"of its own, got {settings.rows}."
        )
    if not 0 <= settings.bad < 0.5 or 2 * round(settings.bad * settings.batches) >= settings.batches:
        raise InvalidInputError(
            f"bad must be a share from 0 to below 0.5, since no method can tell garbage that is the majority, "
            f"got {settings.bad} of {settings.batches} batches."
        )


def contest_pca(settings: Settings, advance: Callable[[], None] = lambda: None) -> Contest:
    """Fit principal components; `advance` is called after each batch."""
    # scikit-learn's own module takes a while to load, and only a contest needs it.
    from sklearn.decomposition import IncrementalPCA

    truth = SimulatedPCA(settings.batches, settings.rows, settings.columns, settings.components, seed=settings.seed)
    robust = OutlierRobustPCA(settings.components)
    plain, clean_only = (IncrementalPCA(settings.components) for _ in range(2))

    def error(model: Any) -> float:
        return subspace_error(model.components_.T, truth.basis)

    return _contest(
        ("PCA", "distance of the subspace from the true one", "IncrementalPCA"),
        _spoil(truth, settings),
        (robust, plain, clean_only),
        lambda model, batch: model.partial_fit(batch.X),
        error,
        advance,
    )


def contest_regression(settings: Settings, advance: Callable[[], None] = lambda: None) -> Contest:
    """Fit linear regressions; `advance` is called after each batch."""
    truth = SimulatedRegression(settings.batches, settings.rows, settings.columns, seed=settings.seed)
    plain, clean_only = (RunningLeastSquares(settings.columns) for _ in range(2))

    def error(model: Any) -> float:
        return coefficient_error(model.coef_, truth.coef)

    return _contest(
        ("regression", "distance of the coefficients from the true ones", "least squares"),
        _spoil(truth, settings),
        (OutlierRobustRegressor(), plain, clean_only),
        lambda model, batch: model.partial_fit(batch.X, batch.y),
        error,
        advance,
    )


def say_verdict(contest: Contest) -> str:
    """Say in plain words what the garbage did, by the measured ratios and no more than they show."""
    robust, plain = contest.robust_ratio, contest.plain_ratio
    figures = (
        f"the robust error is {robust:.1f} times that of a fit on the clean batches alone, "
        f"the plain one {plain:.1f} times"
    )
    if not contest.bad_indices:
        return f"there was no garbage: {figures}."
    if robust <= ALIKE:
        return f"the garbage did not matter: {figures}."
    if robust <= plain / 5:
        return f"the garbage was held in check: {figures}."
    if robust < plain:
        return f"the garbage did harm, though less than to the plain fit: {figures}."
    return f"the garbage won: {figures}."


class RunningLeastSquares:
    """Least squares over all rows so far, from sums that need one pass."""

    def __init__(self, columns: int) -> None:
        self._gram = np.zeros((columns + 1, columns + 1))
        self._moments = np.zeros(columns + 1)

    def partial_fit(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        """Take more rows in."""
        rows = np.column_stack([X, np.ones(len(X))])
        self._gram += rows.T @ rows
        self._moments += rows.T @ y

    @property
    def coef_(self) -> NDArray[Any]:
        """The coefficients, without the intercept."""
        return np.asarray(np.linalg.lstsq(self._gram, self._moments, rcond=None)[0][:-1])


def _spoil(truth: SimulatedPCA | SimulatedRegression, settings: Settings) -> CorruptedBatches:
    return CorruptedBatches(truth, settings.bad, "colluding", "first", seed=settings.seed)


def _contest(
    names: tuple[str, str, str],
    stream: CorruptedBatches,
    models: tuple[Any, Any, Any],
    feed: Callable[[Any, Batch], Any],
    error: Callable[[Any], float],
    advance: Callable[[], None],
) -> Contest:
    robust, plain, clean_only = models
    bad = {int(index) for index in stream.bad_indices}
    count = stream.count or 0
    moments = sorted({round(moment) for moment in np.linspace(1, count, min(count, MOMENTS))})
    robust_path, plain_path = [], []
    # Matrices this small only lose time to threads, a lot of it on a busy machine.
    with threadpool_limits(1):
        for batch in stream:
            for model in (robust, plain) if batch.index in bad else models:
                feed(model, batch)
            if batch.index + 1 in moments:
                robust_path.append(error(robust))
                plain_path.append(error(plain))
            advance()
        errors = Errors(error(robust), error(plain), error(clean_only))
        most_distant = _most_distant(robust.batch_report_, max(len(bad), 1))
    return Contest(
        *names,
        aggregator=str(robust.aggregator),
        errors=errors,
        moments=moments,
        robust_path=robust_path,
        plain_path=plain_path,
        bad_indices=sorted(bad),
        most_distant=most_distant,
    )


def _most_distant(report: Iterable[BatchRecord], number: int) -> list[BatchRecord]:
    return sorted(report, key=lambda record: record.distance, reverse=True)[:number]
