"""Outlier-robust covariance over batches."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from robustream.aggregators import Aggregator, resolve_aggregator
from robustream.errors import InvalidInputError
from robustream.estimators._device import (
    AnswerMixin,
    count_device_workers,
    fill_gaps,
    given_back,
    lent_rows,
    place_learner,
    placed,
    take_rows,
    take_weights,
)
from robustream.estimators._few_rows import say_flat_rows, warn_of_few_rows
from robustream.estimators._outlier_labels import RowLabelsMixin
from robustream.estimators._reasons import ReasonsMixin, RowModel
from robustream.estimators._streaming import StreamingMixin, check_half_life, check_seed, keeping_groups
from robustream.estimators._summary import Shown, Summary
from robustream.kernels.device_arrays import host_array, is_device_array, library_of
from robustream.learners import Recipe, resolve_recipe
from robustream.runs.batching import Rows, check_batch_size
from robustream.runs.run import Layout, Plan, unchanged_on_error
from robustream.spaces import Array
from robustream.spaces.covariance import CovarianceAnswer

__all__ = ["OutlierRobustCovariance"]

_NORMS = ("frobenius", "spectral")
# Deviation of a column, as a part of its value, up to which it never varied; and what is rounding in other rows, as a
# part of that value, or in all where it is zero.
_EQUAL, _ROUNDING, _NEAR_ZERO = 1e-12, 1e-6, 1e-12


class OutlierRobustCovariance(
    ReasonsMixin,
    StreamingMixin,
    RowLabelsMixin,
    AnswerMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Mean and covariance from batches of which up to almost half may be garbage.

    It has the methods of scikit-learn's `MinCovDet` and `EllipticEnvelope`, and learns from streams, files and clusters
    as the other estimators here do. Rows and batches are left out only where there is evidence against them: without,
    the answer is exactly the sample covariance (divisor n - 1).

    Parameters
    ----------
    learner : str or Recipe, default="refined"
        How one batch is learned from: "refined" (bad rows and cells are found and left out) or "classical" (the plain
        method), or an object from `robustream.learners`.
    aggregator : str or Aggregator, default="filtered"
        How estimates become one: "filtered" (batches that the others contradict are dropped), "geometric-median",
        "online-median", "mean", "coordinate-median", "trimmed-mean", or an object from `robustream.aggregators`.
    batch_size : int or "auto", default="auto"
        Rows in a batch. "auto" makes `fit` use one batch or at least 8.
    half_life : float, default=None
        Forget the past: an estimate counts half after this many further batches.
    device : None, "cpu" or "cuda", default=None
        "cuda" sends batches to a GPU. Without it arrays choose: those on a GPU are worked on there, and fitted
        attributes are then arrays of the same library.
    random_state : int, RandomState or None, default=None
        Seeds what is random; None is the same as 0.
    n_jobs : int, default=None
        Batches that `fit` works on at once; -1 for all cores. The result is the same for any number.
    keep_groups : bool, default=False
        Whether groups of rows or batches that stand apart are taken for honest: they are told (`groups_`), nothing is
        left out, and the answer is the plain one of all rows. For the learner "refined" and the aggregator "filtered".

    Attributes
    ----------
    location_ : array, columns
    covariance_, precision_ : arrays, columns x columns
    cutoff_ : float
        The distance that 1% of ordinary rows exceed.
    n_samples_seen_, n_batches_seen_ : int
    batch_report_ : list of BatchRecord
    groups_ : list of Group
        Rows and batches that stand apart from the majority.

    Examples
    --------
    >>> import numpy as np, robustream as rs
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(4000, 2)) @ [[2.0, 0.0], [1.0, 1.0]]
    >>> rows[:1000] = [100.0, -100.0] + rng.normal(size=(1000, 2))   # a quarter is garbage
    >>> model = rs.OutlierRobustCovariance(batch_size=200).fit(rows)
    >>> model.covariance_.round(0)
    array([[5., 1.],
           [1., 1.]])
    >>> model.predict([[1.0, 0.0], [1.0, 9.0]])
    array([ 1, -1])
    """

    fewest_rows: ClassVar[int] = 2
    answer_names: ClassVar[tuple[str, ...]] = ("location_", "covariance_", "precision_", "cutoff_")

    def __init__(
        self,
        *,
        learner: str | Recipe = "refined",
        aggregator: str | Aggregator = "filtered",
        batch_size: int | str = "auto",
        half_life: float | None = None,
        device: str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        keep_groups: bool = False,
    ) -> None:
        self.learner = learner
        self.aggregator = aggregator
        self.batch_size = batch_size
        self.half_life = half_life
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.keep_groups = keep_groups

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows, cut into batches in their order; `y` is ignored.

        `sample_weight` says how often each row counts, never how far it is believed; rows of weight 0 are not there.
        """
        with unchanged_on_error(self):
            rows = take_rows(self, X, reset=True, minimum=2)
            self._library = library_of(X)
            self._fit_rows(Layout(rows.shape[1]), Rows(rows, None, take_weights(sample_weight, len(rows))))
        warn_of_few_rows(self.say_few_rows())
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; `y` is ignored, and `sample_weight` says how often each row counts.

        A call with enough rows for an estimate is a batch, or several; smaller calls wait and are joined with
        other small ones. Rows that wait already count when a fitted attribute is read.
        """
        with unchanged_on_error(self):
            rows = take_rows(self, X, reset=not self._has_run())
            self._library = library_of(X)
            weights = take_weights(sample_weight, len(rows), only_zeros=True)
            self._feed_rows(Layout(rows.shape[1]), Rows(rows, None, weights))
        return self

    def say_few_rows(self) -> str:
        """Return what is said where there are not more rows than columns: directions are left without any variance."""
        columns = int(self.n_features_in_)
        return say_flat_rows(self.n_samples_seen_, columns - 1, f"a covariance of {columns} columns")

    def plan_for(self, layout: Layout) -> Plan:
        """Return the plan of a run over a table of that shape."""
        chosen = resolve_recipe(self.learner), resolve_aggregator(self.aggregator)
        recipe, aggregator = keeping_groups(*chosen, bool(self.keep_groups))
        return Plan(
            place_learner(recipe.covariance(), self.device),
            aggregator,
            check_batch_size(self.batch_size),
            check_half_life(self.half_life),
            check_seed(self.random_state),
            count_device_workers(self.n_jobs, self.device),
        )

    @property
    def location_(self) -> Array:
        """The robust centre of the rows."""
        return self._placed(self._model().location)

    @property
    def covariance_(self) -> Array:
        """The robust covariance matrix, columns x columns."""
        return self._placed(self._model().covariance)

    @property
    def precision_(self) -> Array:
        """The inverse of the covariance matrix, or its pseudo-inverse where there is none."""
        return self._placed(self.get_precision())

    @property
    def cutoff_(self) -> float:
        """The distance beyond which a row is outlying."""
        return self._model().cutoff

    def get_precision(self) -> Array:
        """Return the inverse of the covariance matrix, as a NumPy array."""
        model = self._model()
        return np.asarray(model.white @ model.white.T, dtype=model.covariance.dtype)

    def mahalanobis(self, X: Any) -> Array:
        """Return the squared Mahalanobis distance of each row from the robust centre."""
        return given_back(np.square(self._white(X)).sum(axis=1), X)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return white rows: uncorrelated and of variance 1, along the axes of the correlations, the widest first.

        Directions in which no ordinary row varies are left out.
        """
        return given_back(self._white(X), X)

    def score_samples(self, X: Any) -> Array:
        """Return minus the distance of each row: lower for outliers, as scikit-learn counts."""
        return -self.outlier_scores(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of rows under the normal law with this mean and covariance; `y` is ignored."""
        model, squares = self._model(), host_array(self.mahalanobis(X))
        axes = model.white.shape[1]
        log_determinant = -2 * float(np.log(np.linalg.svd(model.white, compute_uv=False)).sum())
        return float(-0.5 * (squares.mean(dtype=np.float64) + log_determinant + axes * np.log(2 * np.pi)))

    def error_norm(self, comp_cov: Any, norm: str = "frobenius", scaling: bool = True, squared: bool = True) -> float:
        """Return how far the covariance is from another one.

        Parameters
        ----------
        comp_cov : array, columns x columns
        norm : "frobenius" or "spectral", default="frobenius"
            The root of the summed squares of the differences, or the largest singular value of these.
        scaling : bool, default=True
            Whether the squared norm is divided by the number of columns.
        squared : bool, default=True
            Whether to return the squared norm.
        """
        covariance, other = self._model().covariance, np.asarray(host_array(comp_cov))
        if norm not in _NORMS:
            raise InvalidInputError(f"norm must be one of {', '.join(map(repr, _NORMS))}, got {norm!r}")
        if other.shape != covariance.shape:
            raise InvalidInputError(f"comp_cov must have shape {covariance.shape}, got {other.shape}")
        error = float(np.linalg.norm(other - covariance, "fro" if norm == "frobenius" else 2)) ** 2
        error = error / len(covariance) if scaling else error
        return error if squared else float(np.sqrt(error))

    def outlier_scores(self, X: Any) -> Array:
        """Return how outlying each row is: its Mahalanobis distance; higher is worse.

        That of a row with gaps is the one that a whole row with the same chance would have. A column that never varied
        is measured in units of its rounding: rows that differ there are far off.
        """
        white = self._white(X)
        squares = np.square(white).sum(axis=1)
        rows = X if is_device_array(X) else take_rows(self, X, reset=False)
        if not is_device_array(X) and (missing := np.isnan(rows)).any():
            gaps, axes = missing.sum(axis=1), white.shape[1]
            squares = np.where(gaps > 0, _as_whole(squares, np.maximum(axes - gaps, 1), axes), squares)
        flat, unit = self._flat()
        if not len(flat):
            return given_back(np.sqrt(squares), X)
        dtype, center = white.dtype, self._model().location.astype(np.float64)
        squares = np.asarray(host_array(squares), dtype=np.float64)
        for column, rounding in zip(flat, unit, strict=True):
            off = (np.asarray(host_array(rows[:, int(column)]), dtype=np.float64) - center[column]) / rounding
            squares = squares + np.square(np.nan_to_num(off))
        return placed(np.sqrt(squares).astype(dtype), library_of(X))

    def _flat(self) -> tuple[NDArray[np.intp], Array]:
        """Return the columns that never varied, and what is rounding in them."""
        model = self._model()
        size = np.abs(model.location.astype(np.float64))
        flat = np.flatnonzero(np.sqrt(np.maximum(np.diag(model.covariance), 0.0)) <= _EQUAL * size)
        return flat, np.where(size > 0, _ROUNDING * size, _NEAR_ZERO)[flat]

    def is_outlier(self, X: Any, false_discovery_rate: float | None = None) -> NDArray[np.bool_]:
        """Return which rows lie beyond the cut-off; of ordinary rows about 1% do.

        With a false-discovery rate, as many rows as keep the share of ordinary ones among them at that rate.
        """
        if false_discovery_rate is not None:
            return self._discovered(false_discovery_rate, X)
        return self.outlier_scores(X) > self.cutoff_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return a label for each row, -1 for outliers and 1 for others."""
        return np.where(host_array(self.is_outlier(X)), -1, 1)

    def summary(self) -> Summary:
        """Return the columns with their centres, deviations and strongest correlations as a table that prints."""
        model, names = self._model(), self._names()
        deviation = np.sqrt(np.maximum(np.diag(model.covariance), 0.0))
        safe = np.where(deviation > 0, deviation, 1.0)
        correlation = model.covariance / np.outer(safe, safe)
        np.fill_diagonal(correlation, 0.0)
        rows = tuple(
            (
                name,
                float(model.location[place]),
                float(deviation[place]),
                float(correlation[place, other]),
                names[other],
            )
            for place, (name, other) in enumerate(zip(names, np.abs(correlation).argmax(axis=1), strict=True))
        )
        columns = ("", "centre", "deviation", "strongest correlation", "with")
        return Summary("Outlier-robust covariance", columns, rows, (self._batch_note(),))

    def shown(self, targets: Any = None) -> Shown:
        """Return what a report shows of the model."""
        return Shown("Outlier-robust covariance", tables=(self.summary(),))

    def _row_model(self) -> RowModel:
        model = self._model()
        white = model.white.astype(np.float64)
        precision, (flat, unit) = white @ white.T, self._flat()
        precision[flat], precision[:, flat] = 0.0, 0.0
        precision[flat, flat] = 1 / np.square(unit)
        return RowModel(model.location.astype(np.float64), precision, tuple(self._names()))

    def _measured_by(self) -> int:
        return int(self.n_features_in_)

    def _names(self) -> list[str]:
        known = getattr(self, "feature_names_in_", None)
        return [f"x{place}" for place in range(self.n_features_in_)] if known is None else [str(n) for n in known]

    def _model(self) -> CovarianceAnswer:
        return self._held_run().answer

    def _white(self, X: Any) -> Any:
        check_is_fitted(self)
        model = self._model()
        rows, _ = fill_gaps(take_rows(self, X, reset=False), model.location, model.covariance)
        return (lent_rows(rows) - model.location) @ model.white.astype(model.covariance.dtype)

    @property
    def _n_features_out(self) -> int:
        return int(self._model().white.shape[1])


def _as_whole(squares: Array, freedom: NDArray[np.intp], whole: int) -> Array:
    """Return squares of a chi-square law with some degrees of freedom as those of equal chance with all of them.

    By the cube roots, which are nearly normal (Wilson and Hilferty).
    """
    spread, width = 2 / (9 * freedom), 2 / (9 * whole)
    z = (np.cbrt(squares / freedom) - (1 - spread)) / np.sqrt(spread)
    return whole * np.maximum(1 - width + z * np.sqrt(width), 0.0) ** 3
