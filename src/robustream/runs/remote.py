"""The task of a worker: read a partition, estimate each of its batches, and give the reply as bytes."""

from __future__ import annotations

from dataclasses import dataclass

from robustream.batch import Batch
from robustream.learners import Learner
from robustream.runs.outlying import Examined, examine_batch
from robustream.runs.payload import encode_estimates
from robustream.runs.workers import estimate_batch
from robustream.sources.base import Partition

__all__ = ["EstimatePartition", "partition_name"]


@dataclass(frozen=True)
class EstimatePartition:
    """Calls for the estimates of a partition; the result depends on its batches and the seed only.

    `examine` also names the rows of each batch that fit worst.
    """

    learner: Learner
    seed: int
    examine: bool = False

    def __call__(self, partition: Partition) -> bytes:
        """Give the reply."""
        return encode_estimates([self._estimate(batch) for batch in partition.read()])

    def _estimate(self, batch: Batch) -> Examined:
        if self.examine:
            return examine_batch(self.learner, self.seed, batch)
        return Examined(estimate_batch(self.learner, self.seed, batch), ())


def partition_name(partition: Partition) -> str:
    """Name the task of a partition for people: estimate- and the last part of its label."""
    return f"estimate-{partition.label.rstrip('/').rpartition('/')[2]}"
