"""Outlier-robust principal components over batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from robustream.aggregators import Aggregator, resolve_aggregator
from robustream.errors import InvalidInputError
from robustream.estimators._device import (
    AnswerMixin,
    count_device_workers,
    fill_gaps,
    given_back,
    lent_rows,
    place_learner,
    take_rows,
    take_weights,
)
from robustream.estimators._few_rows import say_flat_rows, warn_of_few_rows
from robustream.estimators._outlier_labels import RowLabelsMixin
from robustream.estimators._reasons import ReasonsMixin, RowModel
from robustream.estimators._streaming import StreamingMixin, check_half_life, check_seed, keeping_groups
from robustream.estimators._summary import Components, Shown, Summary, check_answer
from robustream.kernels.device_arrays import host_array, is_device_array, library_of
from robustream.learners import PrincipalProblem, Recipe, resolve_recipe
from robustream.learners.classical import BATCHES_FOR_SPREAD
from robustream.learners.cutoffs import normal_cutoffs
from robustream.runs.batching import Rows, check_batch_size
from robustream.runs.run import Layout, Plan, unchanged_on_error
from robustream.spaces import Array
from robustream.spaces.principal import PrincipalAnswer, Spectrum, largest_over_cutoffs, principal_distances

__all__ = ["OutlierRobustPCA", "Principal", "ProjectionMixin", "check_n_components"]

# What is looked at to explain a share of the variance: a batch then stores that many directions.
_MOST_COMPONENTS = 200


class Principal(NamedTuple):
    """A fitted model; the cut-offs are for the orthogonal and the score distance of ordinary rows."""

    components: Array
    mean: Array
    column_scale: Array
    explained_variance: Array
    explained_variance_ratio: Array
    noise_variance: float
    cutoffs: Array

    @classmethod
    def of(cls, answer: PrincipalAnswer, spectrum: Spectrum, cutoffs: Array) -> Principal:
        """Return the model with some of the directions of an answer."""
        total = spectrum.total_variance if spectrum.total_variance > 0 else 1.0
        return cls(
            spectrum.components,
            answer.mean,
            answer.scale,
            spectrum.explained_variance,
            np.asarray(spectrum.explained_variance / total),
            spectrum.noise_variance,
            cutoffs,
        )

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any], columns: int) -> Principal:
        """Return the model from the arrays of a file, or raise DamagedFileError."""
        components = np.shape(answer["components_"])[:1]
        shapes = {
            "components_": (*components, columns),
            **dict.fromkeys(("mean_", "column_scale_"), (columns,)),
            **dict.fromkeys(("explained_variance_", "explained_variance_ratio_"), components),
            **dict.fromkeys(("noise_variance_", "n_components_"), ()),
            "cutoffs_": (2,),
        }
        # NumPy's numbers would turn the results for float32 rows into float64.
        found = check_answer(answer, shapes, numbers=("noise_variance_", "n_components_"))
        del found["n_components_"]  # as many as there are
        return cls(**{name.removesuffix("_"): value for name, value in found.items()})


class ProjectionMixin(RowLabelsMixin, AnswerMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Projection on the components, back, and the likelihood of rows under the model."""

    answer_names: ClassVar[tuple[str, ...]] = (
        "components_",
        "mean_",
        "column_scale_",
        "explained_variance_",
        "explained_variance_ratio_",
        "noise_variance_",
        "cutoffs_",
    )

    @abstractmethod
    def _principal(self) -> Principal:
        """Return the fitted model, as NumPy arrays."""

    @property
    def components_(self) -> Array:
        """The directions, components x columns, by falling variance."""
        return self._placed(self._principal().components)

    @property
    def mean_(self) -> Array:
        """The robust centre of the rows."""
        return self._placed(self._principal().mean)

    @property
    def column_scale_(self) -> Array:
        """The scale that each column is divided by: ones unless columns are brought to unit scale."""
        return self._placed(self._principal().column_scale)

    @property
    def explained_variance_(self) -> Array:
        """The variance along each component."""
        return self._placed(self._principal().explained_variance)

    @property
    def explained_variance_ratio_(self) -> Array:
        """The share of the total variance along each component."""
        return self._placed(self._principal().explained_variance_ratio)

    @property
    def noise_variance_(self) -> float:
        """The mean variance in the directions outside the components."""
        return self._principal().noise_variance

    @property
    def cutoffs_(self) -> Array:
        """The cut-offs for the orthogonal and the score distance, in units of their variances."""
        return self._placed(self._principal().cutoffs)

    @property
    def cutoff_(self) -> float:
        """The score beyond which a row is outlying."""
        return 1.0

    @property
    def n_components_(self) -> int:
        """The number of components."""
        return len(self._principal().components)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the coordinates of rows along the components, rows x components."""
        check_is_fitted(self)
        model = self._principal()
        return given_back(self._standard(X, model) @ model.components.T, X)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Return the rows that have these coordinates along the components."""
        check_is_fitted(self)
        model = self._principal()
        coordinates = X if is_device_array(X) else check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if coordinates.ndim != 2 or coordinates.shape[1] != len(model.components):
            raise InvalidInputError(
                f"X must have as many columns as there are components ({len(model.components)}), "
                f"got shape {tuple(coordinates.shape)}"
            )
        return given_back(lent_rows(coordinates) @ model.components * model.column_scale + model.mean, X)

    def get_covariance(self) -> Array:
        """Return the covariance matrix that the model implies, columns x columns, in the units of the data."""
        check_is_fitted(self)
        return self._placed(_covariance(self._principal()))

    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row under the normal law with the model's mean and covariance."""
        check_is_fitted(self)
        model = self._principal()
        standard = self._standard(X, model).astype(np.float64)
        columns, components = standard.shape[1], len(model.components)
        scores = standard @ model.components.T
        outside = np.maximum(np.square(standard).sum(axis=1) - np.square(scores).sum(axis=1), 0.0)
        tiny = np.finfo(np.float64).tiny
        variance = np.maximum(model.explained_variance.astype(np.float64), tiny)
        noise = max(float(model.noise_variance), tiny)
        result = np.square(scores) @ (1 / variance) + np.log(variance).sum()
        if columns > components:
            result = result + outside / noise + (columns - components) * np.log(noise)
        log_units = 2 * np.log(model.column_scale.astype(np.float64)).sum()
        return given_back(-0.5 * (result + columns * np.log(2 * np.pi) + log_units), X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows; `y` is ignored."""
        return float(self.score_samples(X).mean())

    def outlier_scores(self, X: Any) -> Array:
        """Return how outlying each row is, higher is worse.

        It is the distance to the subspace or the distance within it, each over its cut-off, whichever is larger:
        above 1 the row lies beyond what 99% of ordinary rows reach.
        """
        check_is_fitted(self)
        model = self._principal()
        distances = principal_distances(
            self._standard(X, model), model.components, model.explained_variance, float(model.noise_variance)
        )
        return given_back(largest_over_cutoffs(distances, model.cutoffs), X)

    def is_outlier(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows lie beyond the cut-off; of ordinary rows about 1% do."""
        return self.outlier_scores(X) > self.cutoff_

    def _standard(self, X: Any, model: Principal) -> Any:
        rows = take_rows(self, X, reset=False)
        if getattr(self, "takes_gaps", False):
            rows, _ = fill_gaps(rows, model.mean, _covariance(model))
        return (lent_rows(rows) - model.mean) / model.column_scale

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


class OutlierRobustPCA(ReasonsMixin, StreamingMixin, ProjectionMixin, BaseEstimator):
    """Principal components from batches of which up to almost half may be garbage.

    Each batch gives an estimate (mean, subspace, variances); an aggregator turns the estimates into one. With
    `learner="trimmed"` and `aggregator="online-median"` this is the paper's ORL-PCA.

    Parameters
    ----------
    n_components : int or float, default=2
        The number of components; or, between 0 and 1, the share of the total variance that they are to explain
        (at most 200 components are looked at then).
    standardize : bool, default=False
        Whether to bring the columns to unit scale first.
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
    components_ : array, components x columns
    mean_, column_scale_ : arrays, columns
    explained_variance_, explained_variance_ratio_ : arrays, components
    components_stderr_, explained_variance_stderr_ : arrays like `components_` and `explained_variance_`
        Standard errors; NaN where nothing can be told.
    noise_variance_ : float
    n_samples_seen_, n_batches_seen_ : int
    batch_report_ : list of BatchRecord
    groups_ : list of Group
        Rows and batches that stand apart from the majority.

    Examples
    --------
    >>> import numpy as np, robustream as rs
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(4000, 3)) * [5.0, 1.0, 1.0]
    >>> rows[:1000] = rng.normal(size=(1000, 3)) * [1.0, 1.0, 500.0]   # a quarter is garbage, in one run
    >>> model = rs.OutlierRobustPCA(1, batch_size=200).fit(rows)
    >>> np.abs(model.components_).round(1)
    array([[1., 0., 0.]])
    """

    fewest_rows: ClassVar[int] = 2

    def __init__(
        self,
        n_components: float = 2,
        *,
        standardize: bool = False,
        learner: str | Recipe = "refined",
        aggregator: str | Aggregator = "filtered",
        batch_size: int | str = "auto",
        half_life: float | None = None,
        device: str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        keep_groups: bool = False,
    ) -> None:
        self.n_components = n_components
        self.standardize = standardize
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
        """Return what is said where rows vary in no other directions than those of the components; else nothing."""
        columns = int(self.n_features_in_)
        # Of a share of the variance it is not known how many it takes, but at least one.
        components = 1 if _is_share(self.n_components) else check_n_components(self.n_components, columns)
        return say_flat_rows(
            self.n_samples_seen_, components, f"{components} components of {columns} columns and noise"
        )

    def is_outlier(self, X: Any, false_discovery_rate: float | None = None) -> NDArray[np.bool_]:
        """Return which rows lie beyond the cut-off; of ordinary rows about 1% do.

        With a false-discovery rate, as many rows as keep the share of ordinary ones among them at that rate.
        """
        if false_discovery_rate is not None:
            return self._discovered(false_discovery_rate, X)
        return super().is_outlier(X)

    def outlier_pvalues(self, X: Any, y: Any = None) -> Array:
        """Return the share of believed rows that lie as far out as each row: a p value for rows like those.

        It is calibrated on the rows that were learned from and are believed. Beyond the farthest of them their tail
        goes on as a power of the score.
        """
        if _is_share(self.n_components):
            raise InvalidInputError(
                "p values need a number of components: batches, whose rows they are calibrated on, cannot know how "
                f"many a share of {self.n_components} will need"
            )
        return super().outlier_pvalues(X)

    def _measured_by(self) -> int:
        return self.n_components_

    def _row_model(self) -> RowModel:
        model = self._principal()
        components, variance = model.components.astype(np.float64), model.explained_variance.astype(np.float64)
        columns = components.shape[1]
        # Where all variance lies within the subspace, a little of it outside keeps distances finite.
        least = max(float(variance.max(initial=0.0)) * 1e-9, 1e-150)
        noise = max(float(model.noise_variance), least)
        precision = (np.eye(columns) - components.T @ components) / noise if columns > len(components) else 0.0
        precision = precision + (components.T / np.maximum(variance, least)) @ components
        scale = model.column_scale.astype(np.float64)
        names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(columns)])
        return RowModel(model.mean.astype(np.float64), precision / np.outer(scale, scale), tuple(map(str, names)))

    def plan_for(self, layout: Layout) -> Plan:
        """Return the plan of a run over a table of that shape."""
        if _is_share(self.n_components):
            components = min(layout.columns, _MOST_COMPONENTS)
        else:
            components = check_n_components(self.n_components, layout.columns)
        problem = PrincipalProblem(components, bool(self.standardize))
        chosen = resolve_recipe(self.learner), resolve_aggregator(self.aggregator)
        recipe, aggregator = keeping_groups(*chosen, bool(self.keep_groups))
        return Plan(
            place_learner(recipe.pca(problem), self.device),
            aggregator,
            check_batch_size(self.batch_size),
            check_half_life(self.half_life),
            check_seed(self.random_state),
            count_device_workers(self.n_jobs, self.device),
        )

    def _principal(self) -> Principal:
        answer: PrincipalAnswer = self._held_run().answer
        if not _is_share(self.n_components):
            return Principal.of(answer, answer.spectrum, answer.cutoffs)
        every, spectrum = answer.spectrum, self._spectrum()
        # The batches could not know how many components there would be.
        chosen, missing = len(spectrum.components), every.components.shape[1] - len(every.components)
        outside = np.append(every.explained_variance[chosen:], np.full(missing, every.noise_variance))
        return Principal.of(answer, spectrum, normal_cutoffs(outside, chosen))

    @property
    def components_stderr_(self) -> Array:
        """The standard error of each loading, components x columns.

        It comes from how the believed batches differ where there are at least 8 (with one degree of freedom less than
        batches), else from how their rows do. NaN where no moments are pooled (more than 500 columns, other learners
        than "refined", aggregators that take no mean), for all but the first components of fewer than 8 batches of a
        wide table (10 of 100 columns, 2 of 200), and for components whose variance is so near to another that their
        direction is not known.
        """
        error = self._errors()[:, :-1]
        # No loading is larger than 1: such an error says that the direction may be any.
        return self._placed(np.where((error > 1).any(axis=1, keepdims=True), np.nan, error))

    @property
    def explained_variance_stderr_(self) -> Array:
        """The standard error of the variance along each component; NaN where no moments are pooled."""
        return self._placed(self._errors()[:, -1])

    def _errors(self) -> Array:
        """Return the standard errors of loadings and, last, variances, components x (columns + 1)."""
        # Variances are in units of the largest one until the end, so that their squares are finite.
        run = self._held_run()
        whole, aggregator = run.answer.spectrum, run.plan.aggregator
        variance = np.full((len(whole.components), whole.components.shape[1] + 1), np.nan)
        points, shares, within = run.believed, run.believed_shares, run.value.variance
        if aggregator.averages and within is not None:
            count = 1 / float(np.square(shares).sum()) if points else max(1, aggregator.count(run.complete.state))
            variance[: len(within)] = within / count
        space: Any = run.space
        asked = space.asked(points, run.value, run.answer) if aggregator.averages and len(points) > 1 else None
        if asked is not None:
            deviations = asked - np.tensordot(shares, asked, 1)
            freedom = max(1 - float(np.square(shares).sum()), 1e-9)  # 0 where all but one batch are forgotten
            between = np.tensordot(np.square(shares), np.square(deviations), 1) / freedom
            # Few batches may agree by chance: they do not differ by less than their rows make them.
            variance = between if len(points) >= BATCHES_FOR_SPREAD else np.fmax(variance, between)
        error = np.sqrt(np.maximum(variance, 0.0)[: len(self._spectrum().components)])
        error[:, -1] *= whole.largest
        return error

    def summary(self) -> Summary:
        """Return the components with their variances as a table that prints."""
        spectrum, ratio = self._spectrum(), self._principal().explained_variance_ratio
        error = self._errors()[:, -1]
        cumulative = np.cumsum(ratio)
        rows = tuple(
            (
                f"component {place + 1}",
                float(variance),
                float(error[place]),
                float(ratio[place]),
                float(cumulative[place]),
            )
            for place, variance in enumerate(spectrum.explained_variance)
        )
        notes = (f"noise variance {spectrum.noise_variance:.4g}", self._batch_note())
        columns = ("", "variance", "std err", "share", "cumulative share")
        return Summary("Outlier-robust principal components", columns, rows, notes)

    def shown(self, targets: Any = None) -> Shown:
        """Return what a report shows of the model."""
        found = self.components_, self.explained_variance_, self.explained_variance_ratio_, self.mean_
        return Shown("Outlier-robust principal components", components=Components(*map(host_array, found)))

    def _spectrum(self) -> Spectrum:
        whole: Spectrum = self._held_run().answer.spectrum
        return whole.explaining(float(self.n_components)) if _is_share(self.n_components) else whole


def _covariance(model: Principal) -> Array:
    above = model.explained_variance - model.noise_variance
    covariance = (model.components.T * above) @ model.components
    covariance += model.noise_variance * np.eye(len(covariance), dtype=covariance.dtype)
    return np.asarray(covariance * np.outer(model.column_scale, model.column_scale))


def _is_share(n_components: Any) -> bool:
    return isinstance(n_components, (float, np.floating)) and bool(0 < n_components < 1)


def check_n_components(n_components: Any, n_columns: int) -> int:
    """Return the number of components back, or say what is wrong with it."""
    whole = isinstance(n_components, (int, np.integer)) and not isinstance(n_components, bool)
    if not whole or not 1 <= n_components <= n_columns:
        raise InvalidInputError(
            f"n_components must be a whole number from 1 to the number of columns of X ({n_columns}), or for "
            f"OutlierRobustPCA a share of the variance between 0 and 1, got {n_components!r}",
            "n_components",
        )
    return int(n_components)
