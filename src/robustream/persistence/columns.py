"""Many small records as few large columns: ten thousand estimates are a handful of arrays in the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple, get_args

import numpy as np

from robustream.batch import BatchRecord, Estimate, Verdict
from robustream.errors import DamagedFileError, InvalidInputError
from robustream.files import Tree
from robustream.persistence.checking import take, take_floats, take_list
from robustream.spaces import Array, Point
from robustream.spaces.linear import LinearPoint
from robustream.spaces.moments import MomentPoint
from robustream.spaces.principal import PrincipalPoint

__all__ = ["decode_estimates", "decode_records", "encode_estimates", "encode_records"]

_POINTS: dict[str, Any] = {kind.__name__: kind for kind in (PrincipalPoint, LinearPoint, MomentPoint)}


class _Form(NamedTuple):
    """What the points of a group have in common: their class, and type, shape and order of each part."""

    kind: str
    parts: tuple[tuple[np.dtype[Any], tuple[int, ...], str] | None, ...]


def encode_estimates(estimates: Sequence[Estimate]) -> Tree:
    """Give estimates that have points as columns; equal parts of points of the same form are stacked."""
    groups: dict[_Form, list[Point]] = {}
    numbers: dict[_Form, int] = {}
    group_of: list[int] = []
    for estimate in estimates:
        if estimate.point is None:
            raise InvalidInputError(f"estimate {estimate.index} has no point to be stored")
        form = _form(estimate.point)
        groups.setdefault(form, []).append(estimate.point)
        group_of.append(numbers.setdefault(form, len(numbers)))
    return {
        "index": [int(estimate.index) for estimate in estimates],
        "label": [str(estimate.label) for estimate in estimates],
        "rows": [int(estimate.rows) for estimate in estimates],
        "weight": np.array([estimate.weight for estimate in estimates], dtype=np.float64),
        "stats": _encode_stats(estimates),
        "group": group_of,
        "groups": [_encode_group(form, points) for form, points in groups.items()],
    }


def decode_estimates(tree: Tree) -> tuple[Estimate, ...]:
    """Give the estimates back."""
    indices = take_list(tree, "index", int)
    count = len(indices)
    labels, rows = take_list(tree, "label", str, count), take_list(tree, "rows", int, count)
    weights: list[float] = take_floats(tree, "weight", count).tolist()
    stats = _decode_stats(take(tree, "stats", dict), count)
    points = [_decode_group(group) for group in take_list(tree, "groups", dict)]
    group_of = take_list(tree, "group", int, count)
    if Counter(group_of) != {number: len(group) for number, group in enumerate(points)}:
        raise DamagedFileError("the groups of estimates have other sizes than their arrays")
    upcoming = [iter(group) for group in points]
    return tuple(
        Estimate(index, label, row_count, next(upcoming[number]), None, weight, stat)
        for index, label, row_count, weight, stat, number in zip(
            indices, labels, rows, weights, stats, group_of, strict=True
        )
    )


def encode_records(records: Sequence[BatchRecord]) -> Tree:
    """Give records of batches as columns."""
    return {
        "index": [int(record.index) for record in records],
        "label": [str(record.label) for record in records],
        "rows": [int(record.rows) for record in records],
        "verdict": [str(record.verdict) for record in records],
        "weight": np.array([record.weight for record in records], dtype=np.float64),
        "distance": np.array([record.distance for record in records], dtype=np.float64),
        "reason": [str(record.reason) for record in records],
    }


def decode_records(tree: Tree) -> tuple[BatchRecord, ...]:
    """Give the records back."""
    indices = take_list(tree, "index", int)
    count = len(indices)
    verdicts: list[Any] = take_list(tree, "verdict", str, count)
    if not set(verdicts) <= set(get_args(Verdict)):
        raise DamagedFileError("a batch has a verdict that there is not")
    columns = (
        indices,
        take_list(tree, "label", str, count),
        take_list(tree, "rows", int, count),
        verdicts,
        take_floats(tree, "weight", count).tolist(),
        take_floats(tree, "distance", count).tolist(),
        take_list(tree, "reason", str, count),
    )
    return tuple(map(BatchRecord, *columns))


def _encode_stats(estimates: Sequence[Estimate]) -> Tree:
    """Give all names and all values one after another, with how many each estimate has."""
    return {
        "count": [len(estimate.stats) for estimate in estimates],
        "name": [str(name) for estimate in estimates for name in estimate.stats],
        "value": np.array([value for estimate in estimates for value in estimate.stats.values()], dtype=np.float64),
    }


def _decode_stats(tree: Tree, count: int) -> list[dict[str, float]]:
    counts, names = take_list(tree, "count", int, count), take_list(tree, "name", str)
    pairs = zip(names, take_floats(tree, "value", len(names)).tolist(), strict=True)
    if min(counts, default=0) < 0 or sum(counts) != len(names):
        raise DamagedFileError("the notes on the estimates have another number than they should have")
    return [dict(islice(pairs, size)) for size in counts]


def _form(point: Point) -> _Form:
    kind = type(point).__name__
    if type(point) is not tuple and _POINTS.get(kind) is not type(point):
        raise InvalidInputError(f"points of class {kind} cannot be stored")
    return _Form(kind, tuple(None if part is None else (part.dtype, part.shape, _order(part)) for part in point))


def _order(part: Array | np.generic) -> str:
    if isinstance(part, np.generic):
        return "scalar"
    return "columns" if part.flags.f_contiguous and not part.flags.c_contiguous else "rows"


def _names(kind: str, count: int) -> tuple[str, ...]:
    return _POINTS[kind]._fields if kind in _POINTS else tuple(str(place) for place in range(count))


def _encode_group(form: _Form, points: list[Point]) -> Tree:
    return {
        "class": form.kind,
        "parts": {
            name: None if part is None else np.stack([np.asarray(point[place]) for point in points])
            for place, (name, part) in enumerate(zip(_names(form.kind, len(form.parts)), form.parts, strict=True))
        },
        "order": ["absent" if part is None else part[2] for part in form.parts],
    }


def _decode_group(tree: Tree) -> list[Point]:
    kind, parts = take(tree, "class", str), take(tree, "parts", dict)
    orders = take_list(tree, "order", str, len(parts))
    if kind not in ("tuple", *_POINTS) or tuple(parts) != _names(kind, len(parts)):
        raise DamagedFileError("a group of estimates has other parts than it should have")
    columns = [_split(stack, order) for stack, order in zip(parts.values(), orders, strict=True)]
    counts = {len(column) for column in columns if column is not None}
    if len(counts) != 1:
        raise DamagedFileError("the parts of a group of estimates have different lengths")
    count = counts.pop()
    make = _POINTS[kind]._make if kind in _POINTS else tuple
    return [make(None if column is None else column[k] for column in columns) for k in range(count)]


def _split(stack: Any, order: str) -> list[Array] | None:
    """Give each estimate an array of its own: a view would keep the whole stack in memory for as long as it lives."""
    if stack is None and order == "absent":
        return None
    if not isinstance(stack, np.ndarray) or stack.ndim == 0 or stack.dtype.kind != "f":
        raise DamagedFileError("a part of the estimates is no array of numbers")
    if order == "scalar" and stack.ndim == 1:
        return list(stack)
    if order == "columns":
        return [np.array(part, order="F") for part in stack]
    if order != "rows":
        raise DamagedFileError("a part of the estimates lies in no known order")
    return [np.array(part) for part in stack]
