"""What is asked of a worker about a partition, and its reply as bytes: estimates, and the rows that fit worst.

The bytes are those of `robustream.files`: checksummed, no pickle. Whatever is wrong with a reply is a
DamagedFileError, and then nothing of it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustream.batch import Estimate, all_finite
from robustream.errors import DamagedFileError
from robustream.files import Tree, pack, unpack
from robustream.learners import Learner
from robustream.runs.worst_rows import BatchResult, OutlyingRow, examine_batch
from robustream.sources.base import Partition
from robustream.spaces import ProductSpace

__all__ = ["EstimatePartition", "decode_reply", "encode_reply", "partition_name"]

_KIND = "estimates"
_LONGEST_TEXT = 2_000
# A claim beyond this is a lie or damage; what lies below it is still only a claim, and never a weight.
_MOST_ROWS = 2**40


@dataclass(frozen=True)
class EstimatePartition:
    """The task of a worker: read a partition and estimate its batches; these and the seed decide the reply."""

    learner: Learner
    seed: int
    space: ProductSpace

    def __call__(self, partition: Partition) -> bytes:
        """Return the reply."""
        return encode_reply([examine_batch(self.learner, self.seed, self.space, batch) for batch in partition.read()])


def partition_name(partition: Partition) -> str:
    """Return a name of the task for people: estimate- and the last part of the partition's label."""
    return f"estimate-{partition.label.rstrip('/').rpartition('/')[2]}"


def encode_reply(results: Sequence[BatchResult]) -> bytes:
    """Return what came of some batches as bytes."""
    return pack({"batches": [_describe(one) for one in results]}, _KIND)


def decode_reply(
    payload: bytes, space: ProductSpace, partition: Partition, most_rows: int | None = None
) -> list[BatchResult]:
    """Read a reply and check it: the batches that were asked for, points of the space, finite numbers.

    A number of rows is a claim, and is cut to the most that a batch can have where that is known.
    """
    tree = unpack(payload, _KIND)
    try:
        results = [_read(entry, _MOST_ROWS if most_rows is None else most_rows) for entry in tree["batches"]]
        wrong = _what_is_wrong(results, space, partition)
    except DamagedFileError:
        raise
    # A reply that passed its checksum can still be anything: what is missing or of another type shows itself here.
    except Exception as error:
        raise DamagedFileError(f"the reply is not made as it should be ({type(error).__name__})") from error
    if wrong is not None:
        raise DamagedFileError(wrong)
    return results


def _describe(result: BatchResult) -> Tree:
    estimate = result.estimate
    return {
        "index": int(estimate.index),
        "label": estimate.label,
        "rows": int(estimate.rows),
        "failure": estimate.failure,
        "stats": {name: float(number) for name, number in estimate.stats.items()},
        "point": None if estimate.point is None else list(estimate.point),
        "total_weight": estimate.total_weight,
        "outlying": [
            {"row": int(row.row), "score": float(row.score), "x": np.asarray(row.x), "y": _array_or_none(row.y)}
            for row in result.outlying
        ],
    }


def _read(entry: Any, most_rows: int) -> BatchResult:
    index, label, rows, failure = entry["index"], entry["label"], entry["rows"], entry["failure"]
    if type(index) is not int or type(rows) is not int or not 0 <= rows <= _MOST_ROWS:
        raise DamagedFileError("a reply has a number of rows or an index that cannot be")
    if not isinstance(label, str) or not (failure is None or isinstance(failure, str)):
        raise DamagedFileError("a reply has no label")
    point = None if entry["point"] is None else tuple(_part(part) for part in entry["point"])
    if (point is None) == (failure is None):
        raise DamagedFileError("a reply has neither an estimate nor a reason, or both")
    stats = {str(name): float(number) for name, number in entry["stats"].items()}
    label, failure = label[:_LONGEST_TEXT], None if failure is None else failure[:_LONGEST_TEXT]
    total = entry.get("total_weight")
    if total is not None and not (type(total) is float and 0 < total < np.inf):
        raise DamagedFileError("a reply has a weight that cannot be")
    estimate = Estimate(index, label, min(rows, most_rows), point, failure, stats=stats, total_weight=total)
    outlying = tuple(
        OutlyingRow(index, label, int(row["row"]), float(row["score"]), np.asarray(row["x"]), _array_or_none(row["y"]))
        for row in entry["outlying"]
    )
    return BatchResult(estimate, outlying)


def _part(part: Any) -> Any:
    if part is not None and not (isinstance(part, np.ndarray | np.generic) and part.dtype.kind in "fiu"):
        raise DamagedFileError("a part of an estimate is no array of numbers")
    return part


def _array_or_none(value: Any) -> Any:
    return None if value is None else np.asarray(value)


def _what_is_wrong(results: Sequence[BatchResult], space: ProductSpace, partition: Partition) -> str | None:
    indices = [one.estimate.index for one in results]
    first, count = partition.first_index, partition.count
    if indices != list(range(first, first + count)):
        return f"the reply is about other batches than batch {first} and the {count - 1} after it"
    for one in results:
        point = one.estimate.point
        if point is None:
            continue
        if not all_finite(point):
            return f"the estimate of {one.estimate.label} has values that are not finite"
        if (reason := space.why_not(point)) is not None:
            return f"the estimate of {one.estimate.label}: {reason}"
    return None
