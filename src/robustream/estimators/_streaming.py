"""What the outlier-robust estimators share: how rows come in, and how fitted attributes are read off the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from robustream.aggregators import Aggregator
from robustream.batch import BatchRecord
from robustream.errors import InvalidInputError, NotEnoughRowsError
from robustream.estimators._certificate import Certificate, make_certificate
from robustream.estimators._device import require_device
from robustream.estimators._layout import Layout
from robustream.estimators._snapshot import Snapshot
from robustream.runs.cutting import cut_whole
from robustream.runs.online import Plan, Stream, begin, feed, fold_cuts, require_quorum
from robustream.spaces import Array

__all__ = ["Snapshot", "StreamingMixin", "check_half_life", "check_seed", "unchanged_on_error"]


class StreamingMixin(ABC):
    """Fitted attributes that any run has; the estimator keeps its run in `_snapshot`.

    The parameters and the layout determine the plan, and the plan and the stream are the run: that is all a model file
    or a checkpoint has to hold.
    """

    device: str | None = None  # a parameter of the estimators that can work on a GPU
    _library: str | None = None  # that the rows were from, if they lay on a GPU
    _snapshot: Snapshot
    _layout: Layout

    @abstractmethod
    def _plan_for(self, layout: Layout) -> Plan:
        """Give the plan of a run over a table of that shape, or say which parameter is wrong."""

    def _plan_here(self, layout: Layout) -> Plan:
        """Give the plan of a run that is to begin on this machine."""
        require_device(self.device)
        return self._plan_for(layout)

    def _begin(self, layout: Layout, names: NDArray[Any] | None = None, plan: Plan | None = None) -> None:
        """Start a run that whoever calls will drive batch by batch; `names` are those of the columns."""
        self._layout = layout
        self.n_features_in_ = layout.columns
        for earlier in ("feature_names_in_", "_library"):
            self.__dict__.pop(earlier, None)
        if names is not None:
            self.feature_names_in_ = names
        plan = self._plan_here(layout) if plan is None else plan
        self._take(plan, begin(plan, layout.columns, layout.outputs))

    def _take(self, plan: Plan, stream: Stream) -> None:
        """Make a run at one moment the one that fitted attributes are read from."""
        on_gpu = self.device == "cuda" or self._library is not None
        self._snapshot = Snapshot(plan, stream, type(self).__name__, on_gpu)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_snapshot")

    def _run(self) -> Snapshot:
        snapshot = self.__dict__.get("_snapshot")
        if snapshot is None:
            raise NotEnoughRowsError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' first."
            )
        return snapshot

    def _fit_rows(self, layout: Layout, X: NDArray[Any], y: NDArray[Any] | None) -> None:
        """Learn from all rows at once, cut in their order, and leave nothing waiting."""
        self.__dict__.pop("fit_notes_", None)  # what another run noted
        plan = self._plan_here(layout)
        required = plan.learner.required_rows(X.shape[1])
        if len(X) < required:
            raise InvalidInputError(f"{type(self).__name__} needs at least {required} rows of X, got {len(X)}")
        if plan.batch_size != "auto" and plan.batch_size < required:
            raise InvalidInputError(f"batch_size must be at least {required} here, got {plan.batch_size}")
        cuts = cut_whole(len(X), plan.learner.minimum_rows(X.shape[1]), plan.batch_size)
        stream = fold_cuts(plan, begin(plan, layout.columns, layout.outputs), X, y, cuts)
        require_quorum(stream)
        self._layout = layout
        self._take(plan, stream)

    def _feed_rows(self, layout: Layout, X: NDArray[Any], y: NDArray[Any] | None) -> None:
        """Learn from the rows of one call; the first call begins the run and fixes its layout."""
        before = self.__dict__.get("_snapshot")
        if before is None:
            self._layout = layout
            plan = self._plan_here(layout)
            stream = begin(plan, layout.columns, layout.outputs)
        else:
            plan, stream = before.plan, before.stream
        self._take(plan, feed(plan, stream, X, y))

    @property
    def n_samples_seen_(self) -> int:
        """The number of rows that came in, those still waiting included."""
        return self._run().stream.rows_seen

    @property
    def n_batches_seen_(self) -> int:
        """The number of complete batches, failed ones included."""
        return self._run().stream.next_index

    def certificate(self, bad_fraction: float = 0.3) -> Certificate:
        """Say how far the primary estimate may be from the truth if that share of the batches is bad (Lemma 4)."""
        return make_certificate(self._run(), bad_fraction)

    def _batch_note(self) -> str:
        """Say in a line how many batches there were and what became of them."""
        verdicts = Counter(record.verdict for record in self._run().report)
        shown = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        return f"{self.n_samples_seen_} rows in {self.n_batches_seen_} batches ({shown})"

    @property
    def batch_report_(self) -> list[BatchRecord]:
        """What became of each batch, as of now."""
        return list(self._run().report)


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave the estimator exactly as it was if the block raises."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def check_half_life(half_life: Any) -> float | None:
    """Give the half-life back, or say what is wrong with it."""
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


def spread_error(points: NDArray[Any], aggregator: Aggregator) -> Array:
    """Give the standard error of an aggregate from the spread of the estimates (first axis) it was made of.

    The spread of each coordinate is its MAD, so that bad batches do not count as noise, and the aggregator's own
    loss against the mean is counted in, for as many dimensions as the spread effectively has.
    """
    flat = points.reshape(len(points), -1)
    deviation = np.median(np.abs(flat - np.median(flat, axis=0)), axis=0) * 1.482602218505602
    variance = np.square(deviation)
    total = float(variance.sum())
    dimension = total**2 / float(np.square(variance).sum()) if total > 0 else 1.0
    error = deviation * np.sqrt(aggregator.variance_factor(dimension) / len(points))
    return np.asarray(error.reshape(points.shape[1:]))
