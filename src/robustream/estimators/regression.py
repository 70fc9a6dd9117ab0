"""Outlier-robust linear regression over batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from robustream.aggregators import Aggregator, resolve_aggregator
from robustream.errors import InvalidInputError
from robustream.estimators._device import (
    AnswerMixin,
    count_device_workers,
    given_back,
    lent_rows,
    place_learner,
    take_device_targets,
    take_rows,
)
from robustream.estimators._inference import spread_error
from robustream.estimators._outlier_labels import ResidualLabelsMixin
from robustream.estimators._streaming import StreamingMixin, check_half_life, check_seed
from robustream.estimators._summary import Coefficients, Shown, Summary, check_answer, target_names
from robustream.kernels.device_arrays import host_array, is_device_array, library_of
from robustream.learners import LinearProblem, Recipe, resolve_recipe
from robustream.learners.classical import BATCHES_FOR_SPREAD
from robustream.learners.cutoffs import normal_cutoff
from robustream.runs.batching import check_batch_size
from robustream.runs.run import Layout, Plan, unchanged_on_error
from robustream.spaces import Array
from robustream.spaces.linear import LinearSolution, residual_distances

__all__ = ["Linear", "LinearMixin", "OutlierRobustRegressor", "check_alpha", "validate_targets"]

# Standard errors below it, relative to the coefficient, are rounding errors.
_ROUNDING = 1e-12


class Linear(NamedTuple):
    """A fitted model in scikit-learn's shapes; the cut-off is for residuals in units of their scale."""

    coef: Array
    intercept: Any
    scale: Any
    cutoff: float

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
        """Return the fitted value for each row: one for each output if there are several."""
        check_is_fitted(self)
        model = self._linear()
        return given_back(lent_rows(take_rows(self, X, reset=False)) @ model.coef.T + model.intercept, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the variance of y that the predictions explain (R squared)."""
        from sklearn.metrics import r2_score  # as scikit-learn does: the module is slow to import

        predicted, weights = host_array(self.predict(X)), host_array(sample_weight)
        return float(r2_score(host_array(y), predicted, sample_weight=weights))

    def outlier_scores(self, X: Any, y: Any) -> Array:
        """Return how outlying each row is: |residual| / scale, the largest over the outputs; higher is worse.

        A row far out in X that fits is no outlier.
        """
        check_is_fitted(self)
        model = self._linear()
        rows, targets, _ = validate_targets(self, X, y, reset=False)
        coef = np.atleast_2d(model.coef)
        if targets.shape[1] != len(coef):
            raise InvalidInputError(f"y must have {len(coef)} outputs, got {targets.shape[1]}")
        residuals = lent_rows(targets) - lent_rows(rows) @ coef.T - model.intercept
        return given_back(residual_distances(residuals, np.atleast_1d(model.scale)), X)

    def is_outlier(self, X: Any, y: Any) -> NDArray[np.bool_]:
        """Return which rows have a score beyond the cut-off; of ordinary rows about 1% do."""
        return self.outlier_scores(X, y) > self.cutoff_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


class OutlierRobustRegressor(StreamingMixin, LinearMixin, BaseEstimator):
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

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, cut into batches in their order."""
        with unchanged_on_error(self):
            rows, targets, single = validate_targets(self, X, y, reset=True, minimum=2)
            self._library = library_of(X)
            self._fit_rows(Layout(rows.shape[1], targets.shape[1], single), rows, targets)
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from more rows.

        A call with enough rows for an estimate is a batch, or several; smaller calls wait and are joined with
        other small ones. Rows that wait already count when a fitted attribute is read.
        """
        with unchanged_on_error(self):
            first = not self._has_run()
            rows, targets, single = validate_targets(self, X, y, reset=first)
            self._library = library_of(X)
            if not first and targets.shape[1] != self.run_.layout.outputs:
                raise InvalidInputError(
                    f"y has {targets.shape[1]} outputs, but {type(self).__name__} was first given "
                    f"{self.run_.layout.outputs}"
                )
            self._feed_rows(Layout(rows.shape[1], targets.shape[1], single), rows, targets)
        return self

    def plan_for(self, layout: Layout) -> Plan:
        """Return the plan of a run over a table of that shape."""
        problem = LinearProblem(bool(self.fit_intercept), check_alpha(self.alpha))
        return Plan(
            place_learner(resolve_recipe(self.learner).regression(problem), self.device),
            resolve_aggregator(self.aggregator),
            check_batch_size(self.batch_size),
            check_half_life(self.half_life),
            check_seed(self.random_state),
            count_device_workers(self.n_jobs, self.device),
        )

    def _linear(self) -> Linear:
        solution = self._solution()
        level = solution.level if self.fit_intercept else np.zeros_like(solution.level)
        cutoff = normal_cutoff(len(solution.coef)) if solution.cutoff is None else solution.cutoff
        return Linear(self._shaped(solution.coef), self._shaped(level), self._shaped(solution.scale), cutoff)

    @property
    def coef_stderr_(self) -> Array:
        """The standard error of each coefficient; NaN where the learner or aggregator cannot tell."""
        return self._placed(self._coef_errors())

    def _coef_errors(self) -> Array:
        run, solution = self._held_run(), self._solution()
        plan, points = run.plan, run.believed
        if len(points) >= BATCHES_FOR_SPREAD:
            error = spread_error(np.stack(run.quantities[0].points), plan.aggregator)
        elif solution.coef_variance is not None:
            count = max(1, plan.aggregator.count(run.complete.state))
            factor = plan.aggregator.variance_factor(solution.coef.size)
            error = np.sqrt(solution.coef_variance * factor / count)
        else:
            error = np.full_like(solution.coef, np.nan)
        # No error at all means no degrees of freedom, or a column that never changes: nothing is known, not everything.
        return self._shaped(np.where(error > _ROUNDING * np.abs(solution.coef), error, np.nan))

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Return the interval that holds each coefficient with chance 1 - alpha; the last axis is low, high."""
        return self._placed(self._intervals(_check_level(alpha)))

    def _intervals(self, alpha: float) -> Array:
        coef, half = self._linear().coef, -stdtrit(self._degrees_of_freedom(), alpha / 2) * self._coef_errors()
        return np.stack([coef - half, coef + half], axis=-1)

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return the coefficients with standard errors, t values, p values and intervals as a table that prints."""
        model = self._linear()
        coef, error = np.atleast_2d(model.coef), np.atleast_2d(self._coef_errors())
        interval = self._intervals(_check_level(alpha)).reshape(*coef.shape, 2)
        names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(coef.shape[1])])
        with np.errstate(divide="ignore", invalid="ignore"):
            t_value = coef / error
        p_value = 2 * stdtr(self._degrees_of_freedom(), -np.abs(t_value))
        several = len(coef) > 1
        rows = tuple(
            (
                f"y{output}: {name}" if several else str(name),
                *(float(table[output, place]) for table in (coef, error, t_value, p_value)),
                *(float(end) for end in interval[output, place]),
            )
            for output in range(len(coef))
            for place, name in enumerate(names)
        )
        columns = ("", "coef", "std err", "t", "P>|t|", f"[{alpha / 2:g}", f"{1 - alpha / 2:g}]")
        levels = ", ".join(f"{level:.4g}" for level in np.atleast_1d(model.intercept))
        scales = ", ".join(f"{scale:.4g}" for scale in np.atleast_1d(model.scale))
        notes = (f"intercept {levels}; residual scale {scales}", self._batch_note())
        return Summary("Outlier-robust linear regression", columns, rows, notes)

    def shown(self, targets: Any = None) -> Shown:
        """Return what a report shows of the model; `targets` are the names of the outputs."""
        coef, stderr = np.atleast_2d(host_array(self.coef_)), np.atleast_2d(host_array(self.coef_stderr_))
        interval = host_array(self.conf_int()).reshape(*coef.shape, 2)
        p_value = np.array([row[4] for row in self.summary().rows]).reshape(coef.shape)
        intercept, scale = np.atleast_1d(host_array(self.intercept_)), np.atleast_1d(host_array(self.scale_))
        names = target_names(targets, len(coef))
        found = Coefficients(coef, stderr, interval[..., 0], interval[..., 1], p_value, intercept, scale, names)
        return Shown("Outlier-robust linear regression", coefficients=found)

    def _degrees_of_freedom(self) -> float:
        """Return those of the spread of the batches, or of the rows within them if there are few batches."""
        run = self._held_run()
        batches = len(run.believed)
        if batches >= BATCHES_FOR_SPREAD:
            return float(batches - 1)
        return float(max(1, run.rows_seen - run.layout.columns - 1))

    def _solution(self) -> LinearSolution:
        return self._held_run().answer

    def _shaped(self, value: Array) -> Any:
        return value[0] if self.run_.layout.single else value


def _check_level(alpha: float) -> float:
    if not 0 < alpha < 1:
        raise InvalidInputError(f"alpha must lie between 0 and 1, got {alpha!r}")
    return alpha


def validate_targets(
    estimator: Any, X: Any, y: Any, *, reset: bool, minimum: int = 1
) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """Check rows and targets; give them with y as rows x outputs, and whether it came as one column."""
    if is_device_array(X):
        return take_device_targets(estimator, X, y, reset=reset, minimum=minimum)
    rows, targets = validate_data(
        estimator,
        X,
        host_array(y),
        dtype=[np.float64, np.float32],
        multi_output=True,
        y_numeric=True,
        reset=reset,
        ensure_min_samples=minimum,
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


def check_alpha(alpha: Any) -> float:
    """Return the penalty back, or say what is wrong with it."""
    if isinstance(alpha, (int, float, np.number)) and not isinstance(alpha, bool) and 0 <= alpha < np.inf:
        return float(alpha)
    raise InvalidInputError(f"alpha must be a number >= 0, got {alpha!r}")
