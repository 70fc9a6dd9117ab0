"""Outlier-robust linear regression over batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from robustream.aggregators import Aggregator, resolve_aggregator
from robustream.errors import InvalidInputError
from robustream.estimators._device import (
    AnswerMixin,
    as_numbers,
    count_device_workers,
    encoded,
    fill_gaps,
    given_back,
    lent_rows,
    naming_columns,
    naming_gaps,
    place_learner,
    take_device_targets,
    take_rows,
    take_weights,
    with_gaps,
)
from robustream.estimators._few_rows import say_few_rows, warn_of_few_rows
from robustream.estimators._intervals import IntervalsMixin
from robustream.estimators._outlier_labels import ResidualLabelsMixin
from robustream.estimators._plain import are_plain_targets, is_plain_table
from robustream.estimators._reasons import ReasonsMixin, RowModel
from robustream.estimators._streaming import StreamingMixin, check_half_life, check_seed, keeping_groups
from robustream.estimators._summary import check_answer
from robustream.kernels.device_arrays import host_array, is_device_array, library_of
from robustream.learners import LinearProblem, Recipe, resolve_recipe
from robustream.learners.cutoffs import normal_cutoff
from robustream.runs.batching import Rows, check_batch_size
from robustream.runs.run import Layout, Plan, unchanged_on_error
from robustream.sources.sparse import dense_batch
from robustream.spaces import Array
from robustream.spaces.linear import LinearSolution, LinearValue, invert_moments, residual_distances

__all__ = ["Linear", "LinearMixin", "OutlierRobustRegressor", "check_alpha", "validate_targets"]

# Noise below this part of the targets' own size is rounding.
_ROUNDING = 1e-7


class Linear(NamedTuple):
    """A fitted model in scikit-learn's shapes; the cut-off is for residuals in units of their scale."""

    coef: Array
    intercept: Any
    scale: Any
    cutoff: float
    center: Array | None = None  # of the columns, and their covariance: what gaps are filled by
    covariance: Array | None = None

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any], columns: int) -> Linear:
        """Return the model from the arrays of a file, or raise DamagedFileError."""
        outputs = np.shape(answer["coef_"])[:-1][:1]
        shapes = {"coef_": (*outputs, columns), "intercept_": outputs, "scale_": outputs, "cutoff_": ()}
        # NumPy's numbers would turn the results for float32 rows into float64.
        found = check_answer(answer, shapes, numbers=("cutoff_",))
        return cls(**{name.removesuffix("_"): value for name, value in found.items()})


class LinearMixin(ResidualLabelsMixin, AnswerMixin, RegressorMixin):
    """Prediction and outlying rows."""

    answer_names: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "scale_", "cutoff_")

    @abstractmethod
    def _linear(self) -> Linear:
        """Return the fitted model, as NumPy arrays."""

    @property
    def coef_(self) -> Array:
        """The coefficients, outputs x columns; one row alone if y was one column."""
        return self._placed(self._linear().coef)

    @property
    def intercept_(self) -> Any:
        """The intercept of each output; zero unless `fit_intercept`."""
        return self._placed(self._linear().intercept)

    @property
    def scale_(self) -> Any:
        """The scale of the residuals of each output."""
        return self._placed(self._linear().scale)

    @property
    def cutoff_(self) -> float:
        """The 99% point of |residual| / scale of ordinary rows."""
        return self._linear().cutoff

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the fitted value for each row: one for each output if there are several.

        Missing cells (NaN) are filled by what the row's other cells say of them.
        """
        check_is_fitted(self)
        model = self._linear()
        rows, _ = fill_gaps(take_rows(self, X, reset=False), model.center, model.covariance)
        return given_back(lent_rows(rows) @ model.coef.T + model.intercept, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the variance of y that the predictions explain (R squared), over rows with a target."""
        from sklearn.metrics import r2_score  # as scikit-learn does: the module is slow to import

        predicted, weights, truth = host_array(self.predict(X)), host_array(sample_weight), host_array(y)
        if getattr(self, "takes_gaps", False) and (there := _targets_there(X, y)) is not None:
            predicted, truth = predicted[there], as_numbers(y)[there]
            weights = None if weights is None else np.asarray(weights)[there]
        return float(r2_score(truth, predicted, sample_weight=weights))

    def outlier_scores(self, X: Any, y: Any) -> Array:
        """Return how outlying each row is: |residual| / scale, the largest over the outputs; higher is worse.

        A row far out in X that fits is no outlier. One whose target is missing has no score (NaN), and is none either.
        """
        check_is_fitted(self)
        if getattr(self, "takes_gaps", False) and (there := _targets_there(X, y)) is not None:
            scores = np.full(_num_samples(X), np.nan)
            if len(there):
                scores[there] = self.outlier_scores(_safe_indexing(X, there), as_numbers(y)[there])
            return scores
        model = self._linear()
        rows, targets, _ = validate_targets(self, X, y, reset=False)
        coef = np.atleast_2d(model.coef)
        if targets.shape[1] != len(coef):
            raise InvalidInputError(f"y must have {len(coef)} outputs, got {targets.shape[1]}")
        rows, missing = fill_gaps(rows, model.center, model.covariance)
        residuals = lent_rows(targets) - lent_rows(rows) @ coef.T - model.intercept
        if missing is not None:
            residuals = residuals / self._noise(missing, model)
        return given_back(residual_distances(residuals, np.atleast_1d(model.scale)), X)

    def _noise(self, missing: NDArray[np.bool_], model: Linear) -> Array:
        """Return how many times the residual scale rows with gaps have, rows x outputs."""
        from robustream.majority import open_variance

        assert model.covariance is not None
        spread, scale = model.covariance.astype(np.float64), np.atleast_1d(model.scale).astype(np.float64)
        coef = np.atleast_2d(model.coef).astype(np.float64)
        opened = [open_variance(missing, spread, each) for each in coef]
        return np.sqrt(1 + np.stack(opened, axis=1) / np.maximum(np.square(scale), 1e-300))

    def is_outlier(self, X: Any, y: Any) -> NDArray[np.bool_]:
        """Return which rows have a score beyond the cut-off; of ordinary rows about 1% do."""
        return self.outlier_scores(X, y) > self.cutoff_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


class OutlierRobustRegressor(ReasonsMixin, IntervalsMixin, StreamingMixin, LinearMixin, BaseEstimator):
    """Linear regression from batches of which up to almost half may be garbage.

    Each batch gives an estimate of the coefficients; an aggregator turns the estimates into one. With
    `learner="trimmed"` and `aggregator="online-median"` this is the paper's ORL-LR.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to estimate an intercept.
    alpha : float, default=0.0
        Ridge penalty on the mean squared error: scikit-learn's `Ridge` has `alpha` times the rows of a batch.
    learner : str or Recipe, default="refined"
        How one batch is learned from: "refined" (bad rows and cells are found and left out), "classical" (the plain
        method), "trimmed" (the paper's), or an object from `robustream.learners`.
    aggregator : str or Aggregator, default="filtered"
        How estimates become one: "filtered" (batches that the others contradict are dropped), "geometric-median",
        "online-median" (the paper's), "mean", "coordinate-median", "trimmed-mean", or an object from
        `robustream.aggregators`.
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
    coef_ : array, columns, or outputs x columns
    intercept_ : float, or array of outputs
    coef_stderr_ : array like `coef_`
        Standard errors: from the spread of the batches, or from within them if there are fewer than 8.
    scale_ : float, or array of outputs
        The scale of the residuals.
    n_samples_seen_, n_batches_seen_ : int
    batch_report_ : list of BatchRecord
    groups_ : list of Group
        Rows and batches that stand apart from the majority.

    Examples
    --------
    >>> import numpy as np, robustream as rs
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(4000, 2))
    >>> target = rows @ [1.0, 2.0] + 3 + rng.normal(size=4000)
    >>> target[:1000] = rows[:1000] @ [-50.0, 0.0]      # a quarter is garbage, in one run
    >>> model = rs.OutlierRobustRegressor(batch_size=100).fit(rows, target)
    >>> model.coef_.round(1), round(float(model.intercept_), 1)
    (array([1., 2.]), 3.0)
    """

    fewest_rows: ClassVar[int] = 2
    answer_names: ClassVar[tuple[str, ...]] = (*LinearMixin.answer_names, "coef_stderr_")

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        alpha: float = 0.0,
        learner: str | Recipe = "refined",
        aggregator: str | Aggregator = "filtered",
        batch_size: int | str = "auto",
        half_life: float | None = None,
        device: str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        keep_groups: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.alpha = alpha
        self.learner = learner
        self.aggregator = aggregator
        self.batch_size = batch_size
        self.half_life = half_life
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.keep_groups = keep_groups

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows, cut into batches in their order.

        `sample_weight` says how often each row counts, never how far it is believed; rows of weight 0 are not there.
        """
        with unchanged_on_error(self):
            rows, targets, single = validate_targets(self, X, y, reset=True, minimum=2)
            self._library = library_of(X)
            weights = self._weights_of(sample_weight, y, len(rows))
            self._fit_rows(Layout(rows.shape[1], targets.shape[1], single), Rows(rows, targets, weights))
        warn_of_few_rows(self.say_few_rows())
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows; `sample_weight` says how often each counts.

        A call with enough rows for an estimate is a batch, or several; smaller calls wait and are joined with
        other small ones. Rows that wait already count when a fitted attribute is read. Rows whose target is missing
        are left out, also where all of a call are.
        """
        with unchanged_on_error(self):
            first = not self._has_run()
            rows, targets, single = validate_targets(self, X, y, reset=first, minimum=0)
            self._library = library_of(X)
            if not first and targets.shape[1] != self.run_.layout.outputs:
                raise InvalidInputError(
                    f"y has {targets.shape[1]} outputs, but {type(self).__name__} was first given "
                    f"{self.run_.layout.outputs}"
                )
            weights = self._weights_of(sample_weight, y, len(rows), only_zeros=True)
            self._feed_rows(Layout(rows.shape[1], targets.shape[1], single), Rows(rows, targets, weights))
        return self

    def say_few_rows(self) -> str:
        """Return what is said where rows are fewer than coefficients and there is no penalty; else nothing."""
        unknowns = int(self.n_features_in_) + bool(self.fit_intercept)
        return "" if self.alpha else say_few_rows(self.n_samples_seen_, unknowns)

    def _weights_of(self, sample_weight: Any, y: Any, rows: int, *, only_zeros: bool = False) -> NDArray[Any] | None:
        """Return the weights of so many rows: those of rows whose target is missing are left out as these are."""
        if sample_weight is None:
            return None
        targets = host_array(y)
        there = _targets_there(targets, targets) if self.takes_gaps else None
        weights = take_weights(sample_weight, rows if there is None else _num_samples(targets), only_zeros=only_zeros)
        if there is None or weights is None:
            return weights
        return take_weights(weights[there], rows, only_zeros=only_zeros)

    def is_outlier(self, X: Any, y: Any, false_discovery_rate: float | None = None) -> NDArray[np.bool_]:
        """Return which rows have a score beyond the cut-off; of ordinary rows about 1% do.

        With a false-discovery rate, as many rows as keep the share of ordinary ones among them at that rate.
        """
        if false_discovery_rate is not None:
            return self._discovered(false_discovery_rate, X, y)
        return super().is_outlier(X, y)

    def _measured_by(self) -> int:
        return int(self.n_features_in_) + bool(self.fit_intercept)

    def _row_model(self) -> RowModel:
        value: LinearValue = self._held_run().value
        model = self._linear()
        coef, level = np.atleast_2d(model.coef).astype(np.float64), np.atleast_1d(model.intercept)
        columns, scale = coef.shape[1], np.atleast_1d(model.scale).astype(np.float64)
        moments, center = getattr(value, "moments", None), getattr(value, "center", None)
        # Targets that fit exactly leave nothing but rounding, which is no unit.
        size = np.abs(level) if moments is None else np.sqrt(np.diag(moments)[columns:].astype(np.float64))
        scale = np.maximum(scale, np.maximum(_ROUNDING * size, 1e-100))
        # The targets given the columns are scattered around the line by their noise.
        design = np.concatenate([-coef, np.eye(len(coef))], axis=1) / scale[:, None]
        precision = design.T @ design
        middle = np.zeros(columns) if center is None else center[:columns].astype(np.float64)
        if moments is not None:
            precision[:columns, :columns] += invert_moments(moments, columns, 0.0)
        given = columns if moments is None else 0
        names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(columns)])
        told = *map(str, names), *self._target_names()
        return RowModel(np.append(middle, coef @ middle + level), precision, told, given, len(coef))

    def plan_for(self, layout: Layout) -> Plan:
        """Return the plan of a run over a table of that shape."""
        problem = LinearProblem(bool(self.fit_intercept), check_alpha(self.alpha))
        chosen = resolve_recipe(self.learner), resolve_aggregator(self.aggregator)
        recipe, aggregator = keeping_groups(*chosen, bool(self.keep_groups))
        return Plan(
            place_learner(recipe.regression(problem), self.device),
            aggregator,
            check_batch_size(self.batch_size),
            check_half_life(self.half_life),
            check_seed(self.random_state),
            count_device_workers(self.n_jobs, self.device),
        )

    def _linear(self) -> Linear:
        solution: LinearSolution = self._held_run().answer
        cutoff = normal_cutoff(len(solution.coef)) if solution.cutoff is None else solution.cutoff
        level = solution.level if self.fit_intercept else np.zeros_like(solution.level)
        found = Linear(solution.coef, level, solution.scale, cutoff, solution.center, solution.covariance)
        if not self.run_.layout.single:
            return found
        return found._replace(coef=solution.coef[0], intercept=level[0], scale=solution.scale[0])


def validate_targets(
    estimator: Any, X: Any, y: Any, *, reset: bool, minimum: int = 1
) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """Check rows and targets; give them with y as rows x outputs, and whether it came as one column.

    With a minimum of 0 all targets may be missing, though there must be rows: none is left then.
    """
    least = max(minimum, 1)
    if is_device_array(X):
        return take_device_targets(estimator, X, y, reset=reset, minimum=least)
    rows, targets = encoded(estimator, X, reset=reset), y
    if not (are_plain_targets(targets, rows) and is_plain_table(estimator, rows, reset=reset, minimum=least)):
        takes_gaps, y = getattr(estimator, "takes_gaps", False), host_array(y)
        there = _targets_there(rows, y) if takes_gaps else None
        if there is not None and not len(there):
            if minimum:
                raise InvalidInputError("y must have targets to learn from, and all are NaN or otherwise missing")
            rows, shape = take_rows(estimator, X, reset=reset), np.shape(y)
            return rows[:0], np.zeros((0, *(shape[1:2] or (1,))), rows.dtype), len(shape) == 1
        with naming_columns(X), naming_gaps(estimator):
            rows, targets = validate_data(
                estimator,
                *_with_targets(with_gaps(dense_batch(rows)), y, there),
                dtype=[np.float64, np.float32],
                multi_output=True,
                y_numeric=True,
                reset=reset,
                ensure_min_samples=least,
                ensure_all_finite="allow-nan" if takes_gaps else True,
            )
    single = targets.ndim == 1
    if targets.ndim > 2:
        raise InvalidInputError(f"y must have one or two dimensions, got {targets.ndim}")
    # Targets that float32 cannot hold would turn into infinity without a word.
    with np.errstate(over="ignore"):
        converted = targets.astype(rows.dtype, copy=False)
    if not np.isfinite(converted).all():
        raise InvalidInputError(f"y has values too large for the type of X ({rows.dtype})")
    return rows, converted[:, None] if single else converted, single


def _with_targets(X: Any, y: Any, there: NDArray[np.intp] | None) -> tuple[Any, Any]:
    """Return rows and targets of the places where all targets are there: nothing can be learned from the others."""
    return (X, y) if there is None else (_safe_indexing(X, there), as_numbers(y)[there])


def _targets_there(X: Any, y: Any) -> NDArray[np.intp] | None:
    """Return the places of the rows that have all their targets; None if all have, or y does not go with X."""
    y = as_numbers(y)
    if not isinstance(y, np.ndarray) or y.dtype.kind != "f" or y.ndim not in (1, 2):
        return None
    missing = np.isnan(y[:, None] if y.ndim == 1 else y).any(axis=1)
    return np.flatnonzero(~missing) if missing.any() and len(y) == _num_samples(X) else None


def check_alpha(alpha: Any) -> float:
    """Return the penalty back, or say what is wrong with it."""
    if isinstance(alpha, (int, float, np.number)) and not isinstance(alpha, bool) and 0 <= alpha < np.inf:
        return float(alpha)
    raise InvalidInputError(f"alpha must be a number >= 0, got {alpha!r}")
