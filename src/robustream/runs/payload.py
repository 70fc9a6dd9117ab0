"""What a worker sends back about its batches, as bytes: estimates, the rows that fit worst, and who worked how long.

The bytes are those of `robustream.files`: checksummed, no pickle. Whatever is wrong with a reply is a
DamagedFileError, and then nothing of it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robustream.batch import Estimate, all_finite
from robustream.errors import DamagedFileError
from robustream.files import Tree, pack, unpack
from robustream.runs.outlying import Examined, OutlyingRow
from robustream.spaces import ProductSpace

__all__ = ["Batches", "decode_estimates", "encode_estimates"]

_KIND = "estimates"
_LONGEST_TEXT = 2_000
# A claim beyond this is a lie or damage; what lies below it is still only a claim, and never a weight.
_MOST_ROWS = 2**40


class Batches(NamedTuple):
    """The indices that a reply must speak of: so many, from the first on."""

    first: int
    count: int  # type: ignore[assignment]


def encode_estimates(examined: Sequence[Examined]) -> bytes:
    """Give what came of some batches as bytes."""
    return pack({"batches": [_describe(one) for one in examined]}, _KIND)


def decode_estimates(payload: bytes, space: ProductSpace, batches: Batches) -> list[Examined]:
    """Read a reply and check it: the batches that were asked for, points of the space, finite numbers."""
    tree = unpack(payload, _KIND)
    try:
        examined = [_read(entry) for entry in tree["batches"]]
        wrong = _what_is_wrong(examined, space, batches)
    except DamagedFileError:
        raise
    # A reply that passed its checksum can still be anything: what is missing or of another type shows itself here.
    except Exception as error:
        raise DamagedFileError(f"the reply is not made as it should be ({type(error).__name__})") from error
    if wrong is not None:
        raise DamagedFileError(wrong)
    return examined


def _describe(examined: Examined) -> Tree:
    estimate = examined.estimate
    return {
        "index": int(estimate.index),
        "label": estimate.label,
        "rows": int(estimate.rows),
        "failure": estimate.failure,
        "stats": {name: float(number) for name, number in estimate.stats.items()},
        "point": None if estimate.point is None else list(estimate.point),
        "outlying": [
            {"row": int(row.row), "score": float(row.score), "x": np.asarray(row.x), "y": _array_or_none(row.y)}
            for row in examined.outlying
        ],
    }


def _read(entry: Any) -> Examined:
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
    estimate = Estimate(index, label, rows, point, failure, stats=stats)
    outlying = tuple(
        OutlyingRow(index, label, int(row["row"]), float(row["score"]), np.asarray(row["x"]), _array_or_none(row["y"]))
        for row in entry["outlying"]
    )
    return Examined(estimate, outlying)


def _part(part: Any) -> Any:
    if part is not None and not (isinstance(part, np.ndarray | np.generic) and part.dtype.kind in "fiu"):
        raise DamagedFileError("a part of an estimate is no array of numbers")
    return part


def _array_or_none(value: Any) -> Any:
    return None if value is None else np.asarray(value)


def _what_is_wrong(examined: Sequence[Examined], space: ProductSpace, batches: Batches) -> str | None:
    indices = [one.estimate.index for one in examined]
    if indices != list(range(batches.first, batches.first + batches.count)):
        return f"the reply is about other batches than batch {batches.first} and the {batches.count - 1} after it"
    for one in examined:
        point = one.estimate.point
        if point is None:
            continue
        if not all_finite(point):
            return f"the estimate of {one.estimate.label} has values that are not finite"
        if (reason := space.why_not(point)) is not None:
            return f"the estimate of {one.estimate.label}: {reason}"
    return None
