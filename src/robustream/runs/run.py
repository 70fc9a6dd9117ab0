"""A run: all that learning from batches has come to know, as one value that never changes.

    run = Run.begin(plan, Layout(columns=20))
    run = run.step(estimate)             # take in the estimate of one batch
    run = run.feed(X, y)                 # or the rows of one call, cut into batches here
    run.value                            # the settled value of each part of the model
    run.assess()                         # what the aggregator thinks of each estimate
    Run.from_tree(run.to_tree(), plan, layout)

Each step returns a new run and leaves the old one alone, so that a call that fails halfway changes nothing. Estimators
hold a run, `robustream.fit` drives it, model files and checkpoints store it.

A call of `feed` is a border: rows of different calls are joined into one batch only while each call alone is below the
learner's minimum. Otherwise one bad call would spoil the good rows of its neighbours. Joined calls wait until there are
enough rows to tell bad calls among them, as bad rows of one batch; where calls contradict each other so that this is in
doubt, each counts by an estimate of its own. Calls that are batches wait for one another, too, to be searched as one
table; each keeps its estimate (`robustream.runs.calls`).

Rows that wait count in the answer at the pace at which it can change: up to the last multiple of a step of a 16th to a
32nd of all rows seen. So a row at a time can be learned and scored at a cost that does not depend on the past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators import Aggregator, Assessment
from robustream.batch import Batch, BatchRecord, Estimate
from robustream.errors import BelowQuorumError, DamagedFileError, NotEnoughRowsError
from robustream.files import Tree
from robustream.kernels.device_arrays import wide_on_gpu
from robustream.kernels.threads import one_blas_thread
from robustream.learners import Learner
from robustream.runs.batching import (
    BatchSize,
    Rows,
    copy_rows,
    cut_call,
    cut_table,
    cut_whole,
    first_rows,
    name_rows,
    table_bytes,
)
from robustream.runs.calls import FEWEST_TOGETHER, are_enough, estimate_calls, estimate_together, may_wait
from robustream.runs.ledger import Ledger
from robustream.runs.node_report import NodeReport
from robustream.runs.notes import History
from robustream.runs.serialize import (
    damaged_on_error,
    decode_ledger,
    decode_rows,
    decode_state,
    encode_ledger,
    encode_rows,
    encode_state,
    take,
)
from robustream.runs.workers import estimate_in_order
from robustream.spaces import Array, Point, ProductSpace, Quantity
from robustream.weights import batch_claims

__all__ = ["Layout", "Plan", "Run", "Streaming", "unchanged_on_error"]

# Reasons that an error names, and batches for each of them.
_NAMED_AT_MOST, _NAMED_TOGETHER = 20, 5
# Of so many batches without gaps at least one is believed, in any run that has an answer worth the name.
_WHOLE_BATCHES = 3
# Small calls are joined until there are this many times the rows of the smallest batch, for a learner that judges rows:
# of so many it can tell 40% of bad ones (of rows of 40 calls of which 16 are bad, those of the others).
_POOL = 10
# Waiting rows count in steps of this part, or half of it, of the rows seen: a step moves the answer by less than its
# standard error.
_PACE = 16


class Plan(NamedTuple):
    """What is to be done with each batch; fixed when a run begins."""

    learner: Learner
    aggregator: Aggregator
    batch_size: BatchSize = "auto"
    half_life: float | None = None
    seed: int = 0
    workers: int = 1


class Layout(NamedTuple):
    """The shape of a table: with an estimator's parameters it determines the whole plan of a run."""

    columns: int
    outputs: int = 0  # columns of y; 0 where there is none
    single: bool = True  # whether y came as one column, so that answers have no axis for outputs
    classes: NDArray[Any] | None = None  # of a classifier, sorted


class Call(NamedTuple):
    """The rows of a call that is a batch, and the place of its first row in the stream."""

    first: int
    rows: Rows


@dataclass(frozen=True, eq=False)
class Run:
    """What was learned so far; what is worked out from it is kept, so that it costs once."""

    plan: Plan
    layout: Layout
    space: ProductSpace  # of the estimates
    state: Any  # of the aggregator
    pending: tuple[Rows, ...] = ()  # rows that are not part of any batch yet
    waiting: tuple[Call, ...] = ()  # batches that are to be searched together
    rows_seen: int = 0
    next_index: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    history: History = field(default_factory=History)  # what is noticed on the way
    notes: Tree = None  # what a finished run has to say besides its model, as plain data
    nodes: NodeReport | None = None  # how the partitions fared, on an engine
    ended: str | None = None  # why it ended before its source did
    on_gpu: bool = False  # whether wide estimates are worked on on a GPU, as the batches were

    @classmethod
    def begin(cls, plan: Plan, layout: Layout, *, names: Iterable[str] | None = None, on_gpu: bool = False) -> Run:
        """Return the run before its first batch; `names` are those of the columns, for people."""
        space = plan.learner.space(layout.columns, layout.outputs).named(names)
        state = plan.aggregator.init(space, half_life=plan.half_life, seed=plan.seed)
        return cls(plan, layout, space, state, on_gpu=on_gpu)

    # ---- rows and estimates in

    def step(self, estimate: Estimate) -> Run:
        """Return the run with one more estimate, and its rows counted."""
        return replace(self._absorb(estimate), rows_seen=self.rows_seen + estimate.rows)

    def feed(self, X: NDArray[Any], y: NDArray[Any] | None, weights: NDArray[Any] | None = None) -> Run:
        """Return the run with the rows of one call: as batches, or waiting for more where they are too few.

        `weights` say how often each row counts.
        """
        learner = self.plan.learner
        minimum = learner.minimum_rows(self.layout.columns)
        if len(X) >= minimum:
            rows = Rows(X, y, weights)
            if self.plan.batch_size != "auto" or self.plan.half_life is not None or not may_wait(learner, rows):
                return self._caught_up().feed_batches(X, y, self._cut(X, cut_call), weights=weights)
            waiting = (*self.waiting, Call(self.rows_seen, copy_rows(*rows)))
            after = self._with_rows(len(X), waiting=waiting)
            return after._caught_up() if are_enough([call.rows for call in waiting]) else after
        pending = (*self.pending, copy_rows(X, y, weights))
        after = self._with_rows(len(X), pending=pending)
        if after.pending_rows < (_POOL * minimum if learner.judges_rows else minimum):
            return after
        label = f"{after.pending_rows} rows of {len(pending)} small calls up to row {after.rows_seen - 1}"
        return replace(after, pending=())._absorb_calls(pending, label)

    def _with_rows(self, rows: int, **waiting: Any) -> Run:
        """Return the run with more rows that wait."""
        after = replace(self, rows_seen=self.rows_seen + rows, **waiting)
        # Not counted anew, call by call.
        after.__dict__["pending_rows"] = self.pending_rows + (rows if "pending" in waiting else 0)
        if "pending" in waiting and after.counted_rows == self.counted_rows:
            # The same rows count: what was worked out for an earlier look serves again.
            for name in ("complete", "value", "answer"):
                if name in self.__dict__:
                    after.__dict__[name] = self.__dict__[name]
        if "ahead" in self.__dict__:  # no batch has come in between
            after.__dict__["ahead"] = self.__dict__["ahead"]
        return after

    def _caught_up(self) -> Run:
        """Return the run with all calls that wait searched as one table."""
        return replace(self, waiting=())._searched(self.waiting) if self.waiting else self

    def _searched(self, calls: Sequence[Call]) -> Run:
        """Return the run with calls taken in that are searched as one table."""
        batches = [
            Batch(index, name_rows(slice(0, len(rows.X)), first), rows.X, rows.y)
            for index, (first, rows) in enumerate(calls, self.next_index)
        ]
        run = self
        plan = self.plan
        for estimate in estimate_together(plan.learner, plan.aggregator, self.space, plan.seed, batches):
            run = run._absorb(estimate)
        return run

    def _looked_ahead(self) -> Run:
        """Return the run with the calls that wait counted, for a look.

        Of their number the largest power of two is searched together first, and so on as long as these are enough. So
        what a look sees follows from the calls alone, not from looks before it; and where each call is followed by a
        look, each look searches one group anew, mostly the last call.
        """
        known: dict[int, Run] = self.__dict__.get("ahead", {})
        run, taken, ahead = replace(self, waiting=()), 0, dict[int, Run]()
        while left := len(self.waiting) - taken:
            size = 1 << (left.bit_length() - 1)
            some = self.waiting[taken : taken + (size if size >= FEWEST_TOGETHER else 1)]
            taken += len(some)
            run = ahead[taken] = known[taken] if taken in known else run._searched(some)
        self.__dict__["ahead"] = ahead
        return replace(run, pending=self.pending, rows_seen=self.rows_seen)

    def _absorb_calls(self, calls: Sequence[Rows], label: str, weight: float = 1.0) -> Run:
        """Return the run with small calls taken in: as one batch, or each by itself."""
        run, plan = self, self.plan
        for estimate in estimate_calls(plan.learner, plan.aggregator, self.space, plan.seed, calls, label):
            run = run._absorb(estimate._replace(index=run.next_index, weight=min(weight, estimate.weight)))
        return run

    def feed_table(self, X: NDArray[Any], y: NDArray[Any] | None, weights: NDArray[Any] | None = None) -> Run:
        """Return the run with all rows of a table, none of them waiting; `weights` say how often each counts."""
        return self.feed_batches(X, y, self._cut(X, cut_whole), weights=weights)

    def _cut(self, X: NDArray[Any], by_order: Callable[[int, int, BatchSize], list[slice]]) -> list[slice]:
        minimum = self.plan.learner.minimum_rows(self.layout.columns)
        if self.plan.learner.judges_rows:
            return cut_table(len(X), minimum, X.shape[1] * X.dtype.itemsize, self.plan.batch_size, table_bytes(X))
        return by_order(len(X), minimum, self.plan.batch_size)

    @one_blas_thread()
    def feed_batches(
        self,
        X: NDArray[Any],
        y: NDArray[Any] | None,
        cuts: Sequence[slice],
        labels: Sequence[str] | None = None,
        weights: NDArray[Any] | None = None,
    ) -> Run:
        """Return the run with rows that are cut into batches as told."""
        first = self.rows_seen
        names = labels or [name_rows(piece, first) for piece in cuts]
        batches = (
            Batch(
                index,
                label,
                X[piece],
                None if y is None else y[piece],
                weights=None if weights is None else weights[piece],
            )
            for index, (label, piece) in enumerate(zip(names, cuts, strict=True), self.next_index)
        )
        run = self
        for estimate in estimate_in_order(self.plan.learner, batches, self.plan.seed, self.plan.workers):
            run = run.step(estimate)
        return run

    def miss(self, batches: Iterable[tuple[int, str, str]], next_index: int) -> Run:
        """Return the run with batches that did not come in time (index, label, reason); their indices stay theirs."""
        ledger = self.ledger
        for index, label, reason in batches:
            ledger = ledger.miss(index, label, reason)
        return replace(self, ledger=ledger, next_index=max(self.next_index, next_index))

    def revise(self, estimate: Estimate) -> Run:
        """Return the run with the estimate of a batch that was late or had failed."""
        state, info = self.plan.aggregator.step(self.state, estimate)
        ledger = self.ledger.revise(estimate, info.accepted, info.reason)
        return replace(self, state=state, ledger=ledger, rows_seen=self.rows_seen + estimate.rows)

    @one_blas_thread()
    def _absorb(self, estimate: Estimate) -> Run:
        # What was noticed goes into the book; the aggregator keeps estimates, and need not keep that too.
        state, info = self.plan.aggregator.step(self.state, estimate._replace(stats={}))
        ledger = self.ledger.enter(estimate, info.accepted, info.reason)
        return replace(self, state=state, next_index=self.next_index + 1, ledger=ledger)

    # ---- what it comes to

    @cached_property
    def pending_rows(self) -> int:
        """The number of rows that are not part of any batch yet."""
        return sum(len(rows.X) for rows in self.pending)

    @property
    def counted_rows(self) -> int:
        """The number of waiting rows that count in the answer already."""
        step = max(1, (1 << max(self.rows_seen.bit_length() - 1, 0)) // _PACE)
        counted = self.pending_rows - self.rows_seen % step
        # Alone they are all there is, however few: the answer must not wait for a step that they do not fill.
        least = self.plan.learner.required_rows(self.layout.columns)
        alone = self.ledger.usable == 0 and not self.waiting
        return counted if counted >= least else self.pending_rows if alone else 0

    @cached_property
    def complete(self) -> Run:
        """The run with waiting calls counted, and waiting rows as a batch of the weight that so few rows deserve."""
        run = self._looked_ahead()
        learner, columns, counted = self.plan.learner, self.layout.columns, self.counted_rows
        if counted < learner.required_rows(columns):
            return run
        weight = min(1.0, counted / learner.minimum_rows(columns))
        return run._absorb_calls(first_rows(self.pending, counted), f"{counted} rows still waiting for more", weight)

    @cached_property
    @one_blas_thread()
    def value(self) -> Any:
        """The settled value of each part of the space, by name where parts have names."""
        if self.complete.ledger.usable == 0:
            self._raise_no_estimate()
        with wide_on_gpu(self.on_gpu):
            return self.space.value(self.plan.aggregator.value(self.complete.state))

    @cached_property
    @one_blas_thread()
    def answer(self) -> Any:
        """The model that the value amounts to; see `ProductSpace.answer`."""
        self.require_columns()
        return self.space.answer(self.value, self.rows_seen, self.plan.aggregator.averages)

    def assess(self) -> list[Assessment]:
        """Return what the aggregator thinks of the estimates that it holds."""
        return self._assessments

    @cached_property
    @one_blas_thread()
    def _assessments(self) -> list[Assessment]:
        with wide_on_gpu(self.on_gpu):
            return self.plan.aggregator.assess(self.complete.state)

    @cached_property
    def believed(self) -> list[Point]:
        """The points of the held estimates that were not rejected."""
        pairs = zip(self.plan.aggregator.held_points(self.complete.state), self.assess(), strict=True)
        return [point for point, assessment in pairs if not assessment.rejected]

    @cached_property
    def believed_shares(self) -> Array:
        """The share that each of the believed estimates has in moments of all their rows; they sum to 1."""
        rows = {record.index: (record.rows, record.total_weight) for record in self.complete.ledger.records}
        kept = [assessment for assessment in self.assess() if not assessment.rejected]
        counts = batch_claims([rows.get(assessment.index, (1, None)) for assessment in kept])
        shares = counts * [max(assessment.weight, 0.0) for assessment in kept]
        return shares / max(float(shares.sum()), 1e-300)

    @property
    def believed_rows(self) -> Array:
        """The number of rows behind each of the believed estimates, without those that it left out."""
        rows = {record.index: record.rows - record.left_out for record in self.complete.ledger.records}
        kept = [assessment for assessment in self.assess() if not assessment.rejected]
        return np.array([max(rows.get(assessment.index, 1), 1) for assessment in kept], dtype=np.float64)

    @cached_property
    def quantities(self) -> list[Quantity]:
        """What the answer tells, with what each of the believed estimates says of it."""
        return self.space.quantities(self.believed, self.value, self.answer)

    @cached_property
    def report(self) -> list[BatchRecord]:
        """The record of every batch, as of now."""
        return self.complete.ledger.report(self.assess())

    @property
    def batches_seen(self) -> int:
        """The number of complete batches, failed ones included."""
        return self.next_index + len(self.waiting)

    def require_quorum(self, share: float = 0.5) -> None:
        """Raise unless more than a share of the batches gave a usable estimate: better no answer than a wrong one."""
        usable, total = self.ledger.usable, self.ledger.total
        if usable > share * total:
            return
        missing = [record for record in self.ledger.records if record.verdict in ("failed", "late")]
        labels: dict[str, list[str]] = {}  # one file of many batches must not hide what is wrong with the others
        for record in missing:
            labels.setdefault(record.reason, []).append(record.label)
        shown = "; ".join(
            f"{', '.join(named[:_NAMED_TOGETHER])}"
            f"{f' and {len(named) - _NAMED_TOGETHER} more' if len(named) > _NAMED_TOGETHER else ''}: {reason}"
            for reason, named in list(labels.items())[:_NAMED_AT_MOST]
        )
        shown += f"; and {len(labels) - _NAMED_AT_MOST} other reasons" if len(labels) > _NAMED_AT_MOST else ""
        raise BelowQuorumError(
            f"only {usable} of {total} batches gave a usable estimate, more than {share:.0%} are needed ({shown})"
        )

    def require_columns(self) -> None:
        """Raise where no believed batch has a single cell of some column: nothing is known of it."""
        columns, parts = self.layout.columns, range(len(self.space.parts))

        def known(part: int, point: Point) -> NDArray[np.bool_] | None:
            mask = self.space.known(part, point)
            return None if mask is None or mask.ndim != 1 or len(mask) < columns else mask[:columns]

        # Verdicts on all batches are dear; a few batches without gaps, of which one is believed, are all it takes; so
        # are all there are.
        held = self.plan.aggregator.held_points(self.complete.state)
        whole = (point for point in held if all(known(part, point) is None for part in parts))
        if len(list(islice(whole, _WHOLE_BATCHES))) == min(_WHOLE_BATCHES, len(held)):
            return
        points = self.believed
        for part in parts:
            masks = [mask for point in points if (mask := known(part, point)) is not None]
            if not masks or len(masks) < len(points):
                continue
            if len(empty := np.flatnonzero(~np.any(masks, axis=0))):
                named = ", ".join(repr(self.space.column_name(int(column))) for column in empty[:_NAMED_AT_MOST])
                more = f" and {len(empty) - _NAMED_AT_MOST} more" if len(empty) > _NAMED_AT_MOST else ""
                raise NotEnoughRowsError(
                    f"nothing is known of {named}{more}: all cells are missing in every batch that is believed. Leave "
                    "such columns out, or give rows that have them",
                    "exclude",
                )

    def _raise_no_estimate(self) -> None:
        failed = [record for record in self.complete.ledger.records if record.verdict == "failed"]
        if failed:
            raise NotEnoughRowsError(
                f"no batch is usable yet: {len(failed)} failed, the last one ({failed[-1].label}) because "
                f"{failed[-1].reason}"
            )
        needed = self.plan.learner.required_rows(self.layout.columns) - self.pending_rows
        raise NotEnoughRowsError(
            f"only {self.rows_seen} rows were seen; {needed} more are needed for a first estimate: call partial_fit "
            "with more rows"
        )

    # ---- plain data

    def to_tree(self) -> Tree:
        """Return what was learned as plain data; the plan and the layout follow from the estimator's settings."""
        # Runs without such calls are stored as they always were.
        waiting = [{"first": int(call.first), "rows": encode_rows(call.rows)} for call in self.waiting]
        return {
            **({"waiting": waiting} if waiting else {}),
            "columns": self.layout.columns,
            "outputs": self.layout.outputs,
            "state": encode_state(self.state),
            "pending": [encode_rows(rows) for rows in self.pending],
            "rows_seen": int(self.rows_seen),
            "next_index": int(self.next_index),
            "ledger": encode_ledger(self.ledger),
        }

    @classmethod
    def from_tree(cls, tree: Tree, plan: Plan, layout: Layout, names: Iterable[str] | None = None) -> Run:
        """Return the run that `to_tree` gave, for the plan that it was made by; else raise DamagedFileError."""
        columns, outputs = layout.columns, layout.outputs
        with damaged_on_error("the run"):
            if (take(tree, "columns", int), take(tree, "outputs", int)) != (columns, outputs):
                raise DamagedFileError("the run has another number of columns or outputs than the settings")
            fresh = cls.begin(plan, layout, names=names)
            return replace(
                fresh,
                state=decode_state(take(tree, "state", dict), fresh.state),
                pending=tuple(decode_rows(rows, columns, outputs) for rows in take(tree, "pending", list)),
                waiting=tuple(
                    Call(take(call, "first", int), decode_rows(take(call, "rows", dict), columns, outputs))
                    for call in (take(tree, "waiting", list) if "waiting" in tree else ())
                ),
                rows_seen=take(tree, "rows_seen", int),
                next_index=take(tree, "next_index", int),
                ledger=decode_ledger(take(tree, "ledger", dict)),
            )


@runtime_checkable
class Streaming(Protocol):
    """An estimator that learns batch by batch: it holds a run in `run_`, and anyone may drive it."""

    run_: Run

    def plan_for(self, layout: Layout) -> Plan:
        """Return the plan of a run over a table of that shape, or raise InvalidInputError for a wrong parameter."""

    def begin_run(self, layout: Layout, names: NDArray[Any] | None = None, encoding: Any = None) -> Run:
        """Forget what was learned and begin; `names` are those of the columns, and `encoding` says how X is made."""

    def run_settings(self) -> Tree:
        """Return, as plain data, all that must be the same for a run to go on."""


@contextmanager
def unchanged_on_error(holder: Any) -> Iterator[None]:
    """Leave an object exactly as it was if the block raises."""
    before = holder.__dict__.copy()
    try:
        yield
    except BaseException:
        holder.__dict__.clear()
        holder.__dict__.update(before)
        raise
