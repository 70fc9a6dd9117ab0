"""Outlier-robust learning around any scikit-learn estimator whose parameters can be compared between batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import validate_data

from robustream.aggregators import Aggregator, resolve_aggregator
from robustream.errors import BelowQuorumError, InvalidInputError, RobustreamError, UnsupportedEstimatorError
from robustream.estimators._device import encoded, given_back, take_weights
from robustream.estimators._streaming import StreamingMixin, check_half_life, check_seed, without_zeros
from robustream.estimators._summary import Coefficients, Shown, target_names
from robustream.kernels.device_arrays import host_array
from robustream.learners.adapter import Adapter
from robustream.learners.parameters import choose_parameters
from robustream.runs.batching import Rows, check_batch_size, cut_whole, stratified_order
from robustream.runs.run import Layout, Plan, Run, unchanged_on_error
from robustream.runs.workers import count_workers
from robustream.sources.sparse import dense_batch

__all__ = ["OutlierRobust"]


def _inner_has(name: str) -> Any:
    return available_if(lambda wrapper: hasattr(wrapper.estimator, name))


class OutlierRobust(MetaEstimatorMixin, StreamingMixin, BaseEstimator):
    """Fits an estimator to each batch and aggregates its parameters: the paper's ORL around any learner.

    Works for estimators whose fitted attributes mean the same in every batch: linear models and naive Bayes by
    themselves, others by naming the attributes. Trees, clusterings, neural networks and PCA are refused.

    The wrapped estimators work on the host: rows that lie on a GPU are copied from there, and predictions for them are
    copied back.

    Parameters
    ----------
    estimator : scikit-learn regressor or classifier
        It is cloned, never fitted itself.
    parameters : list of str, default=None
        The fitted attributes to aggregate; known for linear models and naive Bayes.
    aggregator : str or Aggregator, default="filtered"
        How the parameters of the batches become one.
    batch_size : int or "auto", default="auto"
        Rows in a batch. A classifier's `fit` gives each batch its share of every class.
    half_life : float, default=None
        Forget the past: a batch counts half after this many further batches.
    random_state : int, RandomState or None, default=None
        Seeds what is random; None is the same as 0.
    n_jobs : int, default=None
        Batches that `fit` works on at once; -1 for all cores.

    Attributes
    ----------
    estimator_ : the estimator with the aggregated parameters
    classes_ : array, for classifiers
    n_samples_seen_, n_batches_seen_ : int
    batch_report_ : list of BatchRecord

    Examples
    --------
    >>> import numpy as np, robustream as rs
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(4000, 2))
    >>> label = (rows[:, 0] > 0).astype(int)
    >>> label[:1200] = 1 - label[:1200]                  # the first batches are labelled the wrong way round
    >>> model = rs.OutlierRobust(LogisticRegression(), batch_size=200).fit(rows, label)
    >>> model.score(rows[1200:], label[1200:]) > 0.98
    True
    """

    targets_as_given: ClassVar[bool] = True

    def __init__(
        self,
        estimator: Any,
        *,
        parameters: Iterable[str] | None = None,
        aggregator: str | Aggregator = "filtered",
        batch_size: int | str = "auto",
        half_life: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.parameters = parameters
        self.aggregator = aggregator
        self.batch_size = batch_size
        self.half_life = half_life
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows, cut into batches; a classifier's batches each get their share of every class.

        `sample_weight` is for estimators that take it: each is given the weights of its batch as they are.
        """
        with unchanged_on_error(self):
            rows, every = self._validate(X, y, reset=True)
            rows, targets, weights = without_zeros(Rows(rows, every, take_weights(sample_weight, len(rows))))
            assert targets is not None
            layout = self._layout_of(rows, targets, None)
            begun = self._begin(layout)
            self.require_weights(begun.plan, weights is not None)
            cuts = cut_whole(len(rows), begun.plan.learner.minimum_rows(rows.shape[1]), begun.plan.batch_size)
            labels = None
            if is_classifier(self.estimator):
                rarest = int(np.unique(targets, return_counts=True)[1].min())
                order, cuts = stratified_order(targets, min(len(cuts), rarest))
                rows, targets = rows[order], targets[order]
                weights = None if weights is None else weights[order]
                labels = [f"stratified batch {number} of {len(cuts)}" for number in range(1, len(cuts) + 1)]
            run = begun.feed_batches(rows, targets, cuts, labels, weights)
            self._refit_alone_if_it_failed(run.ledger.usable, rows, targets, weights)
            run.require_quorum()
            self.run_ = run
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; a classifier needs all `classes` in the first call, as in scikit-learn.

        `sample_weight` is for estimators that take it.
        """
        with unchanged_on_error(self):
            first = not self._has_run()
            rows, targets = self._validate(X, y, reset=first)
            if first:
                if classes is None and is_classifier(self.estimator):
                    raise InvalidInputError(
                        "classes must be passed on the first call to partial_fit: a later call may bring a class that "
                        "this one lacks"
                    )
                layout = self._layout_of(rows, targets, classes)
            else:
                layout = self.run_.layout
                self._check_later_call(layout, targets, classes)
            weights = take_weights(sample_weight, len(rows), only_zeros=True)
            self._feed_rows(layout, Rows(rows, targets, weights))
        return self

    def _validate(self, X: Any, y: Any, *, reset: bool) -> tuple[NDArray[Any], NDArray[Any]]:
        choose_parameters(self.estimator, self.parameters)  # an estimator of no use is refused before all else
        classifier = is_classifier(self.estimator)
        tags = get_tags(self.estimator)
        rows, targets = validate_data(
            self,
            dense_batch(host_array(encoded(self, X, reset=reset))),
            host_array(y),
            dtype=[np.float64, np.float32],
            multi_output=tags.target_tags.multi_output and not classifier,
            y_numeric=not classifier,
            reset=reset,
        )
        if classifier:
            check_classification_targets(targets)
        return rows, targets

    def _layout_of(self, rows: NDArray[Any], targets: NDArray[Any], classes: Any) -> Layout:
        single = targets.ndim == 1
        known = None
        if is_classifier(self.estimator):
            known = unique_labels(targets) if classes is None else unique_labels(np.asarray(classes))
            unknown = np.setdiff1d(targets, known)
            if len(unknown):
                raise InvalidInputError(f"y has classes {unknown.tolist()} that are not in classes={known.tolist()}")
        return Layout(rows.shape[1], 1 if single else targets.shape[1], single, known)

    def plan_for(self, layout: Layout) -> Plan:
        """Return the plan of a run over a table of that shape."""
        chosen = choose_parameters(self.estimator, self.parameters)
        if layout.classes is not None:
            if len(layout.classes) < 2:
                raise InvalidInputError(
                    f"a classifier needs at least 2 classes, got {len(layout.classes)} class; in partial_fit name all "
                    "with classes="
                )
        elif not hasattr(self.estimator, "predict"):
            raise UnsupportedEstimatorError(f"estimator must be a regressor or a classifier, got {self.estimator!r}")
        return Plan(
            Adapter(clone(self.estimator), chosen, layout.classes, layout.single),
            resolve_aggregator(self.aggregator),
            check_batch_size(self.batch_size),
            check_half_life(self.half_life),
            check_seed(self.random_state),
            count_workers(self.n_jobs),
        )

    def _check_later_call(self, layout: Layout, targets: NDArray[Any], classes: Any) -> None:
        known = layout.classes
        if known is None:
            single = targets.ndim == 1
            if single != layout.single or (not single and targets.shape[1] != layout.outputs):
                raise InvalidInputError(f"y has shape {targets.shape}, which differs from that of the first call")
            return
        if classes is not None and not np.array_equal(unique_labels(np.asarray(classes)), known):
            raise InvalidInputError(f"classes={list(classes)} differs from those of the first call, {known.tolist()}")
        unknown = np.setdiff1d(targets, known)
        if len(unknown):
            raise InvalidInputError(f"y has classes {unknown.tolist()} that the first call did not name")

    def _refit_alone_if_it_failed(
        self, usable: int, rows: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any] | None
    ) -> None:
        """Let the wrapped estimator say itself what is wrong when no batch could be used."""
        if usable == 0:
            clone(self.estimator).fit(rows, targets, **({} if weights is None else {"sample_weight": weights}))

    @property
    def estimator_(self) -> Any:
        """The wrapped kind of estimator with the aggregated parameters."""
        run = self._held_run()
        adapter, layout = run.plan.learner, run.layout
        assert isinstance(adapter, Adapter)
        self._require_classes(run)
        fitted = adapter.rebuild(run.value, layout.columns, layout.outputs)
        fitted.n_features_in_ = layout.columns
        return fitted

    def answer(self) -> dict[str, NDArray[Any]]:
        """Return the aggregated attributes as arrays, and the classes."""
        fitted = self.estimator_
        chosen = choose_parameters(self.estimator, self.parameters)
        classes = {} if self.run_.layout.classes is None else {"classes_": self.classes_}
        return {parameter.name: np.asarray(getattr(fitted, parameter.name)) for parameter in chosen} | classes

    def shown(self, targets: Any = None) -> Shown:
        """Return what a report shows: the coefficients of a linear model, without intervals."""
        title = f"Outlier-robust {type(self.estimator).__name__}"
        try:
            inner = self.estimator_
        except RobustreamError:
            return Shown(title)
        coef = np.atleast_2d(getattr(inner, "coef_", np.empty(0)))
        if coef.ndim != 2 or coef.shape[1] != self.n_features_in_:
            return Shown(title)
        classes = getattr(inner, "classes_", None)
        if targets is None and classes is not None:
            targets = [str(name) for name in (classes if len(classes) == len(coef) else classes[1:])]
        unknown = np.full(coef.shape, np.nan)
        intercept = np.array(np.broadcast_to(np.atleast_1d(getattr(inner, "intercept_", 0.0)), len(coef)))
        scale, names = np.full(len(coef), np.nan), target_names(targets, len(coef))
        found = Coefficients(coef, unknown, unknown, unknown, unknown, intercept, scale, names)
        return Shown(title, coefficients=found)

    def _require_classes(self, run: Run) -> None:
        """Raise where a class was seen in too few batches for its parameters to be trusted.

        The parameters of a class come from the batches that had it. If those are not more than half of all, a
        few bad batches could outvote the good ones among them.
        """
        points = run.plan.aggregator.held_points(run.complete.state)
        for place, part in enumerate(run.space.parts):
            seen = sum(run.space.express(place, point) is not None for point in points)
            if run.value[place] is None or (points and seen <= 0.5 * len(points)):
                raise BelowQuorumError(
                    f"{part.name} was estimated in {seen} of {len(points)} batches, more than half are needed: "
                    "give larger batches, so that most have every class"
                )

    @property
    def classes_(self) -> NDArray[Any]:
        """All classes of the wrapped classifier, sorted."""
        classes = self._held_run().layout.classes
        if classes is None:
            raise AttributeError(f"{type(self.estimator).__name__} is no classifier and has no classes_")
        return np.asarray(classes)

    @_inner_has("predict")
    def predict(self, X: Any) -> NDArray[Any]:
        """Return what the estimator with the aggregated parameters predicts."""
        return given_back(self.estimator_.predict(self._rows(X)), X)

    @_inner_has("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each class."""
        return given_back(self.estimator_.predict_proba(self._rows(X)), X)

    @_inner_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Return the logarithm of the probability of each class."""
        return given_back(self.estimator_.predict_log_proba(self._rows(X)), X)

    @_inner_has("decision_function")
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the confidence in each class."""
        return given_back(self.estimator_.decision_function(self._rows(X)), X)

    @_inner_has("score")
    def score(self, X: Any, y: Any) -> float:
        """Return the wrapped estimator's score: accuracy, or the share of variance explained."""
        return float(self.estimator_.score(self._rows(X), host_array(y)))

    def _rows(self, X: Any) -> NDArray[Any]:
        self._held_run()
        return np.asarray(
            validate_data(
                self,
                dense_batch(host_array(encoded(self, X, reset=False))),
                dtype=[np.float64, np.float32],
                reset=False,
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags.positive_only = inner.input_tags.positive_only
        return tags
