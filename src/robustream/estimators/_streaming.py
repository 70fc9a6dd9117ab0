"""What the outlier-robust estimators share: how rows come in, and how fitted attributes are read off the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from robustream.aggregators import Aggregator, Filtered
from robustream.batch import BatchRecord
from robustream.errors import InvalidInputError, NotEnoughRowsError
from robustream.estimators._device import require_device
from robustream.estimators._inference import Certificate, make_certificate
from robustream.estimators._settings import settings_of
from robustream.estimators._summary import target_names
from robustream.files import Tree
from robustream.kernels.device_arrays import host_array
from robustream.learners import RECIPES, Recipe, Refined
from robustream.runs.batching import Rows
from robustream.runs.groups import Group, groups_of, warn_of_groups
from robustream.runs.node_report import NodeReport
from robustream.runs.notes import left_out_of
from robustream.runs.run import Layout, Plan, Run

__all__ = ["StreamingMixin", "check_half_life", "check_seed", "keeping_groups", "without_zeros"]


class StreamingMixin(ABC):
    """Fitted attributes that any run has; the estimator keeps its run in `run_`.

    The parameters and the layout determine the plan, and the plan and what was learned are the run: that is all a model
    file or a checkpoint has to hold.
    """

    fewest_rows: ClassVar[int] = 1  # that a fit takes, whatever the learner
    targets_as_given: ClassVar[bool] = False  # whether a y of one dimension stays so, or becomes rows x 1
    device: str | None = None  # a parameter of the estimators that can work on a GPU
    run_: Run
    _library: str | None = None  # that the rows were from, if they lay on a GPU

    @property
    def takes_gaps(self) -> bool:
        """Whether rows with missing cells (NaN) are used: the learner must know how to."""
        learner: Any = getattr(self, "learner", None)
        recipe = RECIPES.get(learner) if isinstance(learner, str) else learner
        return bool(getattr(recipe, "uses_gaps", False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = self.takes_gaps
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def plan_for(self, layout: Layout) -> Plan:
        """Return the plan of a run over a table of that shape, or raise InvalidInputError for a wrong parameter."""

    def begin_run(self, layout: Layout, names: NDArray[Any] | None = None, encoding: Any = None) -> Run:
        """Forget what was learned and begin a run that whoever calls will drive.

        `names` are those of the columns of X; `encoding` says how these are made, if not of columns as they are.
        """
        self.n_features_in_ = layout.columns
        for earlier in ("feature_names_in_", "encoding_", "_library"):
            self.__dict__.pop(earlier, None)
        if names is not None:
            self.feature_names_in_ = names
        if encoding is not None:
            self.encoding_ = encoding
        self.run_ = self._begin(layout)
        return self.run_

    def run_settings(self) -> Tree:
        """Return, as plain data, all that must be the same for a run to go on."""
        return settings_of(self, self._held_run())

    def _begin(self, layout: Layout) -> Run:
        require_device(self.device)
        names = getattr(self, "feature_names_in_", None)
        return Run.begin(self.plan_for(layout), layout, names=names, on_gpu=self._is_on_gpu())

    def _is_on_gpu(self) -> bool:
        return self.device == "cuda" or self._library is not None

    def __sklearn_is_fitted__(self) -> bool:
        return self._has_run()

    def _has_run(self) -> bool:
        return "run_" in self.__dict__

    def _held_run(self) -> Run:
        if not self._has_run():
            raise NotEnoughRowsError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' first."
            )
        return self.run_

    def _fit_rows(self, layout: Layout, rows: Rows) -> None:
        """Learn from all rows at once, cut in their order, and leave nothing waiting."""
        begun = self._begin(layout)
        plan = begun.plan
        self.require_weights(plan, rows.weights is not None)
        X, y, weights = without_zeros(rows)
        self.require_rows(plan, X.shape[1], len(X))
        required = plan.learner.required_rows(X.shape[1])
        if plan.batch_size != "auto" and plan.batch_size < required:
            raise InvalidInputError(f"batch_size must be at least {required} here, got {plan.batch_size}")
        run = begun.feed_table(X, y, weights)
        run.require_quorum()
        run.require_columns()
        self.run_ = run
        warn_of_groups(run.report, self.groups_)

    def _feed_rows(self, layout: Layout, rows: Rows) -> None:
        """Learn from the rows of one call; the first call begins the run and fixes its layout."""
        run = self.run_ if self._has_run() else self._begin(layout)
        self.require_weights(run.plan, rows.weights is not None)
        if run.on_gpu != self._is_on_gpu():
            run = replace(run, on_gpu=self._is_on_gpu())
        there = without_zeros(rows)
        self.run_ = run.feed(*there) if len(there.X) else run

    def require_rows(self, plan: Plan, columns: int, rows: int) -> None:
        """Raise InvalidInputError where a fit to so many rows could tell nothing."""
        required = max(plan.learner.required_rows(columns), self.fewest_rows)
        if rows < required:
            raise InvalidInputError(f"{type(self).__name__} needs at least {required} rows of X, got {rows}")

    def say_few_rows(self) -> str:
        """Return what a person should know where rows were fewer than what there is to learn; else nothing."""
        return ""

    def require_weights(self, plan: Plan, given: bool) -> None:
        """Raise InvalidInputError where rows have weights that the learner of a plan does not take."""
        if not given or plan.learner.takes_weights:
            return
        inner: Any = getattr(self, "estimator", None)
        who = f"learner={getattr(self, 'learner', None)!r}" if inner is None else f"{type(inner).__name__}.fit"
        raise InvalidInputError(
            f"{who} takes no sample_weight: leave out the weights of rows", "sample_weight", "weight"
        )

    @property
    def n_samples_seen_(self) -> int:
        """The number of rows that came in, those still waiting included."""
        return self._held_run().rows_seen

    @property
    def n_batches_seen_(self) -> int:
        """The number of complete batches, failed ones included."""
        return self._held_run().batches_seen

    def certificate(self, bad_fraction: float = 0.3) -> Certificate:
        """Return how far the primary estimate may be from the truth if that share of the batches is bad (Lemma 4)."""
        return make_certificate(self._held_run(), bad_fraction)

    def _batch_note(self) -> str:
        """Say in a line how many batches there were and what became of them.

        Rows that wait are counted as far as the answer does.
        """
        run, report = self._held_run(), self._held_run().report
        batches = run.complete.batches_seen
        verdicts = Counter(record.verdict for record in report)
        verdicts["kept"] += max(0, batches - len(report))  # that a long run no longer lists
        verdicts += Counter()  # without those that there are none of
        made = batches - run.batches_seen
        left = run.pending_rows - run.counted_rows if made else run.pending_rows
        waiting = f", {made} of them of rows that wait for more" if made else ""
        waiting += f", {left:,} rows not counted yet" if left else ""
        shown = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        capped = sum(record.capped for record in report)
        said = [
            left_out_of(report).sentence(),
            f"{capped:,} weights were capped" if capped > 1 else "1 weight was capped" * capped,
        ]
        return "; ".join([f"{self.n_samples_seen_} rows in {batches} batches ({shown}){waiting}", *filter(None, said)])

    def _target_names(self) -> tuple[str, ...]:
        """Return the names of the targets, as far as `robustream.fit` was told them."""
        run = self._held_run()
        known: Any = run.notes
        return target_names(None if known is None else known.get("targets"), run.layout.outputs)

    @property
    def batch_report_(self) -> list[BatchRecord]:
        """What became of each batch, as of now."""
        return list(self._held_run().report)

    @property
    def groups_(self) -> list[Group]:
        """Rows, or batches, that stand apart from the majority: size, where and how far, a few rows; largest first."""
        run = self._held_run()
        columns = range(run.layout.columns)
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{place}" for place in columns])]
        return groups_of(run.report, [*names, *self._target_names()])

    @property
    def fit_notes_(self) -> Any:
        """What `robustream.fit` noticed: missing cells by column, the worst rows, how the answer settled."""
        notes = self._held_run().notes
        if notes is None:
            raise AttributeError("fit_notes_ comes with robustream.fit: 'fit' and 'partial_fit' take none")
        return notes

    @property
    def node_report_(self) -> NodeReport | None:
        """How each partition and worker fared, where `robustream.fit` worked on an engine."""
        return self._held_run().nodes


def without_zeros(rows: Rows) -> Rows:
    """Return rows without those of weight 0, which are not there; rows with weights are on the host."""
    X, y, weights = rows
    if weights is None:
        return rows
    X, y = host_array(X), None if y is None else host_array(y)
    if (there := weights > 0).all():
        return Rows(X, y, weights)
    return Rows(X[there], None if y is None else y[there], weights[there])


def keeping_groups(recipe: Recipe, aggregator: Aggregator, wanted: bool) -> tuple[Recipe, Aggregator]:
    """Return a learner's recipe and an aggregator that take all groups for honest, if that is wanted."""
    if wanted and isinstance(recipe, Refined):
        recipe = replace(recipe, keep_groups=True)
    if wanted and isinstance(aggregator, Filtered):
        aggregator = Filtered(aggregator.budget, keep_groups=True)
    return recipe, aggregator


def check_half_life(half_life: Any) -> float | None:
    """Return the half-life, or raise InvalidInputError."""
    if half_life is None:
        return None
    if isinstance(half_life, (int, float, np.number)) and np.isfinite(half_life) and half_life > 0:
        return float(half_life)
    raise InvalidInputError(f"half_life must be None or a positive number of batches, got {half_life!r}")


def check_seed(random_state: Any) -> int:
    """Turn `random_state` into a seed; None gives 0, since a robust fit should not change from run to run."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise InvalidInputError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
