"""Outlier-robust principal components over batches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from robustream.aggregators import Aggregator, resolve_aggregator
from robustream.estimators._device import count_device_workers, place_learner, take_rows
from robustream.estimators._projection import Principal, ProjectionMixin, check_n_components
from robustream.estimators._streaming import StreamingMixin, check_half_life, check_seed
from robustream.estimators._summary import Summary
from robustream.kernels.device_arrays import library_of
from robustream.learners import PrincipalProblem, Recipe, resolve_recipe
from robustream.learners.cutoffs import normal_cutoffs
from robustream.runs.batching import check_batch_size
from robustream.runs.run import Layout, Plan, unchanged_on_error
from robustream.spaces import Array
from robustream.spaces.principal import Spectrum

__all__ = ["OutlierRobustPCA"]

# What is looked at to explain a share of the variance: a batch then stores that many directions.
_MOST_COMPONENTS = 200


class OutlierRobustPCA(StreamingMixin, ProjectionMixin, BaseEstimator):
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

    Attributes
    ----------
    components_ : array, components x columns
    mean_, column_scale_ : arrays, columns
    explained_variance_, explained_variance_ratio_ : arrays, components
    noise_variance_ : float
    n_samples_seen_, n_batches_seen_ : int
    batch_report_ : list of BatchRecord

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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all rows, cut into batches in their order; `y` is ignored."""
        with unchanged_on_error(self):
            rows = take_rows(self, X, reset=True, minimum=2)
            self._library = library_of(X)
            self._fit_rows(Layout(rows.shape[1]), rows, None)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more rows; `y` is ignored.

        A call with enough rows for an estimate is a batch, or several; smaller calls wait and are joined with
        other small ones. Rows that wait already count when a fitted attribute is read.
        """
        with unchanged_on_error(self):
            rows = take_rows(self, X, reset=not self._has_run())
            self._library = library_of(X)
            self._feed_rows(Layout(rows.shape[1]), rows, None)
        return self

    def plan_for(self, layout: Layout) -> Plan:
        """Return the plan of a run over a table of that shape."""
        if _is_share(self.n_components):
            components = min(layout.columns, _MOST_COMPONENTS)
        else:
            components = check_n_components(self.n_components, layout.columns)
        problem = PrincipalProblem(components, bool(self.standardize))
        return Plan(
            place_learner(resolve_recipe(self.learner).pca(problem), self.device),
            resolve_aggregator(self.aggregator),
            check_batch_size(self.batch_size),
            check_half_life(self.half_life),
            check_seed(self.random_state),
            count_device_workers(self.n_jobs, self.device),
        )

    def _principal(self) -> Principal:
        value, spectrum = self._held_run().value, self._spectrum()
        total = spectrum.total_variance if spectrum.total_variance > 0 else 1.0
        return Principal(
            spectrum.components,
            _present(value[1]),
            np.asarray(np.exp(_present(value[0]))),
            spectrum.explained_variance,
            np.asarray(spectrum.explained_variance / total),
            spectrum.noise_variance,
            self._cutoffs(spectrum),
        )

    def _cutoffs(self, spectrum: Spectrum) -> Array:
        if _is_share(self.n_components):
            # The batches could not know how many components there would be.
            every, chosen = self._whole_spectrum(), len(spectrum.components)
            missing = spectrum.components.shape[1] - len(every.components)
            outside = np.append(every.explained_variance[chosen:], np.full(missing, every.noise_variance))
            return normal_cutoffs(outside, chosen)
        return np.asarray(np.exp(_present(self._held_run().value[5])))

    def summary(self) -> Summary:
        """Give the components with their variances as a table that prints."""
        spectrum, ratio = self._spectrum(), self._principal().explained_variance_ratio
        cumulative = np.cumsum(ratio)
        rows = tuple(
            (f"component {place + 1}", float(variance), float(ratio[place]), float(cumulative[place]))
            for place, variance in enumerate(spectrum.explained_variance)
        )
        notes = (f"noise variance {spectrum.noise_variance:.4g}", self._batch_note())
        columns = ("", "variance", "share", "cumulative share")
        return Summary("Outlier-robust principal components", columns, rows, notes)

    def _spectrum(self) -> Spectrum:
        whole = self._whole_spectrum()
        return whole.explaining(float(self.n_components)) if _is_share(self.n_components) else whole

    def _whole_spectrum(self) -> Spectrum:
        return self._held_run().answer


def _is_share(n_components: Any) -> bool:
    return isinstance(n_components, (float, np.floating)) and bool(0 < n_components < 1)


def _present(part: Array | None) -> Array:
    assert part is not None, "principal components estimate every part"
    return part
