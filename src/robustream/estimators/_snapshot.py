"""A run at one moment, and what can be read off it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from robustream.aggregators import Assessment
from robustream.batch import BatchRecord
from robustream.errors import NotEnoughRowsError
from robustream.kernels.device_arrays import wide_on_gpu
from robustream.runs.online import Plan, Stream, settle, with_pending
from robustream.spaces import Array, Point

__all__ = ["Snapshot"]


class Snapshot:
    """A run at one moment; what is read off it is worked out once, when it is first asked for.

    Wide estimates are worked on where the batches were: `on_gpu` tells whether that was a GPU.
    """

    def __init__(self, plan: Plan, stream: Stream, owner: str, on_gpu: bool = False) -> None:
        self.plan = plan
        self.stream = stream
        self.owner = owner
        self.on_gpu = on_gpu
        # What the estimator makes of the value, kept so that reading several attributes costs it once.
        self.reading: Any = None

    @cached_property
    def complete(self) -> Stream:
        """The run with its waiting rows counted as a batch."""
        return with_pending(self.plan, self.stream)

    @cached_property
    def value(self) -> tuple[Array | None, ...]:
        """The settled value of each part."""
        if self.complete.ledger.usable == 0:
            self._raise_no_estimate()
        with wide_on_gpu(self.on_gpu):
            return settle(self.plan, self.complete)

    def _raise_no_estimate(self) -> None:
        stream = self.stream
        failed = [record for record in self.complete.ledger.records if record.verdict == "failed"]
        if failed:
            last = failed[-1]
            raise NotEnoughRowsError(
                f"{self.owner} has no usable batch yet: {len(failed)} failed, the last one ({last.label}) because "
                f"{last.reason}"
            )
        required = self.plan.learner.required_rows(stream.columns)
        raise NotEnoughRowsError(
            f"{self.owner} has seen {stream.rows_seen} rows; {required - stream.pending_rows} more are needed for a "
            "first estimate: call partial_fit with more rows"
        )

    @cached_property
    def assessments(self) -> list[Assessment]:
        """What the aggregator thinks of the held estimates."""
        with wide_on_gpu(self.on_gpu):
            return self.plan.aggregator.assess(self.complete.state)

    @cached_property
    def believed(self) -> list[Point]:
        """The points of the held estimates that were not rejected."""
        pairs = zip(self.plan.aggregator.held_points(self.complete.state), self.assessments, strict=True)
        return [point for point, assessment in pairs if not assessment.rejected]

    @cached_property
    def report(self) -> list[BatchRecord]:
        """The record of every batch, as of now."""
        return self.complete.ledger.report(self.assessments)
