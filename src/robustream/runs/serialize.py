"""The parts of a run as plain data, and back, without trust: what is not as it should be is a DamagedFileError.

Many small records are stored as few large columns: ten thousand estimates are a handful of arrays in a file. The space
of the estimates is never stored: it follows from the plan. So do the half-life and the seed, which are stored all the
same and must agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from typing import Any, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators.base import why_unusable
from robustream.aggregators.held import Held
from robustream.aggregators.mean import RunningMean
from robustream.aggregators.online_median import Filter
from robustream.aggregators.paged import Paged
from robustream.batch import BatchRecord, Estimate, RowGroup, Verdict
from robustream.errors import DamagedFileError, InvalidInputError, NewerFormatError, UnsupportedEstimatorError
from robustream.files import Tree
from robustream.files.registry import Registry
from robustream.runs.batching import Rows
from robustream.runs.ledger import Ledger
from robustream.spaces import Array, Point
from robustream.weights import usable_weights

__all__ = [
    "damaged_on_error",
    "decode_estimates",
    "decode_ledger",
    "decode_rows",
    "decode_state",
    "encode_estimates",
    "encode_ledger",
    "encode_rows",
    "encode_state",
    "take",
    "take_optional",
]

Kind = TypeVar("Kind")
PointType: TypeAlias = type[tuple[Any, ...]]

_REGISTRY = Registry([Held, RunningMean, Filter, Rows])


# ---- entries of a tree


@contextmanager
def damaged_on_error(what: str) -> Iterator[None]:
    """Turn any error of rebuilding objects from content into a DamagedFileError.

    The checksum has already said that robustream, or someone who imitates it, wrote the content; whatever the
    constructors and checks of the objects do not accept is then not what it claims to be.
    """
    try:
        yield
    except (DamagedFileError, NewerFormatError, UnsupportedEstimatorError):
        raise
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        AssertionError,
        RecursionError,
    ) as error:
        raise DamagedFileError(f"{what} in it is not as it should be ({type(error).__name__}: {error})") from error


def take(tree: Tree, name: str, kind: type[Kind]) -> Kind:
    """Return an entry of a dictionary, of exactly that type."""
    if not isinstance(tree, dict) or name not in tree:
        raise DamagedFileError(f"the entry {name!r} is missing")
    value = tree[name]
    if type(value) is not kind:
        raise DamagedFileError(f"the entry {name!r} is of type {type(value).__name__}, not {kind.__name__}")
    return value


def take_optional(tree: Tree, name: str, kind: type[Kind]) -> Kind | None:
    """Return an entry that may be None."""
    return None if isinstance(tree, dict) and name in tree and tree[name] is None else take(tree, name, kind)


def take_list(tree: Tree, name: str, kind: type[Kind], length: int | None = None) -> list[Kind]:
    """Return a list of values of one type."""
    values = take(tree, name, list)
    if any(type(value) is not kind for value in values) or (length is not None and len(values) != length):
        raise DamagedFileError(f"the entry {name!r} is no list of {length or 'some'} {kind.__name__}")
    return values


def take_floats(tree: Tree, name: str, length: int) -> NDArray[np.float64]:
    """Return a list of numbers that was stored as an array."""
    values: Any = take(tree, name, np.ndarray)
    if values.dtype != np.float64 or values.shape != (length,):
        raise DamagedFileError(f"the entry {name!r} is no array of {length} numbers")
    return values


# ---- the state of an aggregator, and rows that wait


def encode_state(state: Any) -> Tree:
    """Return the state of an aggregator as plain data."""
    return _REGISTRY.encode(_strip(state))


def decode_state(tree: Tree, fresh: Any) -> Any:
    """Return the state; `fresh` is the one before the first estimate."""
    return _restore(_REGISTRY.decode(tree), fresh)


def encode_rows(rows: Rows) -> Tree:
    """Return rows that wait as plain data."""
    tree: Any = _REGISTRY.encode(rows)
    # Rows without weights are stored as they always were.
    return {name: value for name, value in tree.items() if name != "weights" or value is not None}


def _strip(state: Any) -> Any:
    """Return a state without its space, with its estimates as columns."""
    if isinstance(state, Held):
        estimates: Any = encode_estimates(state.estimates, state.space.point_type)
        return state._replace(space=None, estimates=estimates)  # type: ignore[arg-type]
    if isinstance(state, RunningMean):
        return state._replace(space=None)  # type: ignore[arg-type]
    if isinstance(state, Filter):
        return state._replace(others=_strip(state.others))
    raise InvalidInputError(f"runs with a state of class {type(state).__name__} cannot be stored")


def _restore(stored: Any, fresh: Any) -> Any:
    """Undo `_strip`; `fresh` is the state before the first estimate."""
    if type(stored) is not type(fresh):
        raise DamagedFileError(f"the run has a state of class {type(stored).__name__}, not {type(fresh).__name__}")
    if isinstance(stored, Filter):
        return Filter(_array(stored.mixture), _count(stored.taken), _restore(stored.others, fresh.others))
    if stored.half_life != fresh.half_life:
        raise DamagedFileError(f"the run has the half-life {stored.half_life}, its settings {fresh.half_life}")
    taken, newest = _count(stored.taken), _count(stored.newest, -1)
    if isinstance(stored, RunningMean):
        mixtures, weights = stored.mixtures, stored.weights
        if not len(mixtures) == len(weights) == len(fresh.mixtures) or any(
            type(w) not in (int, float) for w in weights
        ):
            raise DamagedFileError("the run has another number of parts than its settings")
        return RunningMean(fresh.space, fresh.half_life, tuple(map(_array, mixtures)), tuple(weights), taken, newest)
    assert isinstance(stored, Held)
    if stored.seed != fresh.seed:
        raise DamagedFileError(f"the run has the seed {stored.seed}, its settings {fresh.seed}")
    return _restore_held(stored, fresh, taken, newest)


def _restore_held(stored: Held, fresh: Held, taken: int, newest: int) -> Held:
    stored_estimates: Any = stored.estimates  # as columns
    estimates = decode_estimates(stored_estimates, fresh.space.point_type)
    keys = take_floats({"keys": stored.keys}, "keys", len(estimates))
    for estimate in estimates:
        if reason := why_unusable(fresh.space, estimate):
            raise DamagedFileError(f"the estimate of batch {estimate.index} cannot be: {reason}")
    if any(first.index >= second.index for first, second in pairwise(estimates)):
        raise DamagedFileError("the estimates are not in the order of their batches")
    return fresh._replace(estimates=Paged(estimates), keys=keys, taken=taken, newest=newest)


def decode_rows(tree: Tree, columns: int, outputs: int) -> Rows:
    """Return rows that wait, of a table of that shape."""
    rows = _REGISTRY.decode({"weights": None, **tree} if isinstance(tree, dict) else tree)
    if not isinstance(rows, Rows) or not isinstance(rows.X, np.ndarray) or rows.X.dtype.kind != "f":
        raise DamagedFileError("the waiting rows are no rows")
    if rows.X.ndim != 2 or rows.X.shape[1] != columns or (rows.y is None) != (outputs == 0):
        raise DamagedFileError("the waiting rows have another shape than those before them")
    if rows.y is not None and (not isinstance(rows.y, np.ndarray) or len(rows.y) != len(rows.X)):
        raise DamagedFileError("the waiting rows have another number of targets")
    weights = rows.weights
    if weights is not None and (
        not isinstance(weights, np.ndarray)
        or weights.dtype != np.float64
        or weights.shape != (len(rows.X),)
        or not usable_weights(weights).all()
    ):
        raise DamagedFileError("the waiting rows have weights that cannot be")
    return rows


def _array(value: Any) -> Any:
    if value is not None and not (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        raise DamagedFileError("a part of the run is no array of numbers")
    return value


def _count(value: Any, least: int = 0) -> int:
    if type(value) is not int or value < least:
        raise DamagedFileError(f"{str(value)[:40]!r} is no number of estimates")
    return value


# ---- the book of batches


def encode_ledger(ledger: Ledger) -> Tree:
    """Return the book as columns."""
    records = ledger.records
    return {
        "records": _encode_records(records),
        "uncounted": ledger.total - len(records),
        "usable": int(ledger.usable),
        "total": ledger.total,
    }


def decode_ledger(tree: Tree) -> Ledger:
    """Return the book."""
    records = _decode_records(take(tree, "records", dict))
    take(tree, "uncounted", int)
    return Ledger.of(records, take(tree, "usable", int), take(tree, "total", int))


# ---- estimates and records as columns


class _Form(NamedTuple):
    """What the points of a group have in common: their class, and type, shape and order of each part."""

    kind: str
    parts: tuple[tuple[np.dtype[Any], tuple[int, ...], str] | None, ...]


def encode_estimates(estimates: Sequence[Estimate], point_type: PointType) -> Tree:
    """Return estimates that have points as columns; equal parts of points of the same form are stacked."""
    groups: dict[_Form, list[Point]] = {}
    numbers: dict[_Form, int] = {}
    group_of: list[int] = []
    for estimate in estimates:
        if estimate.point is None:
            raise InvalidInputError(f"estimate {estimate.index} has no point to be stored")
        form = _form(estimate.point, point_type)
        groups.setdefault(form, []).append(estimate.point)
        group_of.append(numbers.setdefault(form, len(numbers)))
    return {
        "index": [int(estimate.index) for estimate in estimates],
        "label": [str(estimate.label) for estimate in estimates],
        "rows": [int(estimate.rows) for estimate in estimates],
        "weight": np.array([estimate.weight for estimate in estimates], dtype=np.float64),
        "stats": _encode_stats(estimates),
        "group": group_of,
        "groups": [_encode_group(form, points, point_type) for form, points in groups.items()],
        **_encode_totals(estimates),
    }


def decode_estimates(tree: Tree, point_type: PointType) -> tuple[Estimate, ...]:
    """Return the estimates."""
    indices = take_list(tree, "index", int)
    count = len(indices)
    labels, rows = take_list(tree, "label", str, count), take_list(tree, "rows", int, count)
    weights: list[float] = take_floats(tree, "weight", count).tolist()
    stats = _decode_stats(take(tree, "stats", dict), count)
    points = [_decode_group(group, point_type) for group in take_list(tree, "groups", dict)]
    group_of = take_list(tree, "group", int, count)
    if Counter(group_of) != {number: len(group) for number, group in enumerate(points)}:
        raise DamagedFileError("the groups of estimates have other sizes than their arrays")
    upcoming = [iter(group) for group in points]
    totals = _decode_totals(tree, count)
    return tuple(
        Estimate(index, label, row_count, next(upcoming[number]), None, weight, stat, total)
        for index, label, row_count, weight, stat, total, number in zip(
            indices, labels, rows, weights, stats, totals, group_of, strict=True
        )
    )


def _encode_records(records: Sequence[BatchRecord]) -> Tree:
    return {
        "index": [int(record.index) for record in records],
        "label": [str(record.label) for record in records],
        "rows": [int(record.rows) for record in records],
        "verdict": [str(record.verdict) for record in records],
        "weight": np.array([record.weight for record in records], dtype=np.float64),
        "distance": np.array([record.distance for record in records], dtype=np.float64),
        "reason": [str(record.reason) for record in records],
        "left_out": [int(record.left_out) for record in records],
        "left_out_reason": [str(record.left_out_reason) for record in records],
        "groups": [_encode_groups(record.groups) for record in records],
        **_encode_totals(records),
        **({"capped": [int(record.capped) for record in records]} if any(record.capped for record in records) else {}),
    }


def _encode_totals(records: Sequence[BatchRecord] | Sequence[Estimate]) -> dict[str, Tree]:
    """Return what rows count for together as a column, where any have weights: else files stay as they always were."""
    totals = [record.total_weight for record in records]
    if all(total is None for total in totals):
        return {}
    return {"total_weight": np.array([np.nan if total is None else total for total in totals], dtype=np.float64)}


def _decode_totals(tree: Any, count: int) -> list[float | None]:
    if "total_weight" not in tree:
        return [None] * count
    totals = take_floats(tree, "total_weight", count)
    if not np.all(np.isnan(totals) | (usable_weights(totals) & (totals > 0))):
        raise DamagedFileError("a batch has a weight that cannot be")
    return [None if np.isnan(total) else float(total) for total in totals]


def _decode_records(tree: dict[str, Tree]) -> tuple[BatchRecord, ...]:
    indices = take_list(tree, "index", int)
    count = len(indices)
    verdicts: list[Any] = take_list(tree, "verdict", str, count)
    if not set(verdicts) <= set(get_args(Verdict)):
        raise DamagedFileError("a batch has an unknown verdict")
    columns = (
        indices,
        take_list(tree, "label", str, count),
        take_list(tree, "rows", int, count),
        verdicts,
        take_floats(tree, "weight", count).tolist(),
        take_floats(tree, "distance", count).tolist(),
        take_list(tree, "reason", str, count),
        # Files of 0.1 know of no rows left out.
        take_list(tree, "left_out", int, count) if "left_out" in tree else [0] * count,
        take_list(tree, "left_out_reason", str, count) if "left_out_reason" in tree else [""] * count,
        map(_decode_groups, take_list(tree, "groups", dict, count) if "groups" in tree else [{}] * count),
        _decode_totals(tree, count),
        take_list(tree, "capped", int, count) if "capped" in tree else [0] * count,
    )
    return tuple(map(BatchRecord, *columns))


def _encode_groups(groups: Sequence[RowGroup]) -> Tree:
    return {name: value for group in groups for name, value in group.to_stats().items()}


def _decode_groups(stats: dict[str, Tree]) -> tuple[RowGroup, ...]:
    if any(type(value) is not float for value in stats.values()):
        raise DamagedFileError("a group of rows is described by something other than numbers")
    return RowGroup.all_from(stats)


def _encode_stats(estimates: Sequence[Estimate]) -> Tree:
    """Return all names and all values one after another, with how many each estimate has."""
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


def _form(point: Point, point_type: PointType) -> _Form:
    kind = type(point).__name__
    if type(point) not in (tuple, point_type):
        raise InvalidInputError(f"points of class {kind} cannot be stored")
    return _Form(kind, tuple(None if part is None else (part.dtype, part.shape, _order(part)) for part in point))


def _order(part: Array | np.generic) -> str:
    if isinstance(part, np.generic):
        return "scalar"
    return "columns" if part.flags.f_contiguous and not part.flags.c_contiguous else "rows"


def _names(kind: str, count: int, point_type: Any) -> tuple[str, ...]:
    return tuple(str(place) for place in range(count)) if kind == "tuple" else point_type._fields


def _encode_group(form: _Form, points: list[Point], point_type: PointType) -> Tree:
    return {
        "class": form.kind,
        "parts": {
            name: None if part is None else np.stack([np.asarray(point[place]) for point in points])
            for place, (name, part) in enumerate(
                zip(_names(form.kind, len(form.parts), point_type), form.parts, strict=True)
            )
        },
        "order": ["absent" if part is None else part[2] for part in form.parts],
    }


def _decode_group(tree: Tree, point_type: Any) -> list[Point]:
    kind, parts = take(tree, "class", str), take(tree, "parts", dict)
    orders = take_list(tree, "order", str, len(parts))
    if kind not in ("tuple", point_type.__name__) or tuple(parts) != _names(kind, len(parts), point_type):
        raise DamagedFileError("a group of estimates has other parts than it should have")
    columns = [_split(stack, order) for stack, order in zip(parts.values(), orders, strict=True)]
    counts = {len(column) for column in columns if column is not None}
    if len(counts) != 1:
        raise DamagedFileError("the parts of a group of estimates have different lengths")
    count = counts.pop()
    make = tuple if kind == "tuple" else point_type._make
    return [make(None if column is None else column[k] for column in columns) for k in range(count)]


def _split(stack: Any, order: str) -> list[Array] | None:
    """Return each estimate an array of its own: a view would keep the whole stack in memory for as long as it lives."""
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
