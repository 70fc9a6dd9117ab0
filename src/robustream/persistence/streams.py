"""A run as plain data, and back: what the aggregator holds, the rows that wait, the book of batches.

The space of the estimates is never stored: it follows from the plan. So do the half-life and the seed, which are stored
all the same and must agree.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from robustream.aggregators.base import why_unusable
from robustream.aggregators.held import Held
from robustream.aggregators.mean import RunningMean
from robustream.aggregators.online_median import Filter
from robustream.errors import DamagedFileError, InvalidInputError
from robustream.files import Tree
from robustream.files.registry import Registry
from robustream.persistence.checking import damaged_on_error, take, take_floats
from robustream.persistence.columns import decode_estimates, decode_records, encode_estimates, encode_records
from robustream.runs.growing import Growing
from robustream.runs.ledger import Ledger
from robustream.runs.online import Plan, Rows, Stream, begin

__all__ = ["decode_stream", "encode_stream"]

_REGISTRY = Registry([Held, RunningMean, Filter, Rows])


def encode_stream(stream: Stream) -> Tree:
    """Give a run as a tree."""
    return {
        "columns": stream.columns,
        "outputs": stream.outputs,
        "state": _REGISTRY.encode(_strip(stream.state)),
        "pending": [_REGISTRY.encode(rows) for rows in stream.pending],
        "rows_seen": int(stream.rows_seen),
        "next_index": int(stream.next_index),
        "ledger": {
            "records": encode_records(stream.ledger.records),
            "uncounted": stream.ledger.uncounted,
            "usable": int(stream.ledger.usable),
            "total": stream.ledger.total,
        },
    }


def decode_stream(tree: Tree, plan: Plan, columns: int, outputs: int) -> Stream:
    """Give the run back, for the plan that it was made by and a table of that shape."""
    with damaged_on_error("the run"):
        if (take(tree, "columns", int), take(tree, "outputs", int)) != (columns, outputs):
            raise DamagedFileError("the run has another number of columns or outputs than the settings")
        fresh = begin(plan, columns, outputs)
        ledger = take(tree, "ledger", dict)
        return Stream(
            columns,
            outputs,
            _restore(_REGISTRY.decode(take(tree, "state", dict)), fresh.state),
            tuple(_waiting(rows, columns, outputs) for rows in take(tree, "pending", list)),
            take(tree, "rows_seen", int),
            take(tree, "next_index", int),
            Ledger(
                Growing(decode_records(take(ledger, "records", dict))),
                take(ledger, "uncounted", int),
                take(ledger, "usable", int),
                take(ledger, "total", int),
            ),
        )


def _strip(state: Any) -> Any:
    """Give a state without its space, with its estimates as columns."""
    if isinstance(state, Held):
        keys: Any = np.array(state.keys, dtype=np.float64)
        estimates: Any = encode_estimates(state.estimates)
        return state._replace(space=None, estimates=estimates, keys=keys)  # type: ignore[arg-type]
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
    estimates = decode_estimates(stored.estimates)
    keys = take_floats({"keys": stored.keys}, "keys", len(estimates))
    for estimate in estimates:
        if reason := why_unusable(fresh.space, estimate):
            raise DamagedFileError(f"the estimate of batch {estimate.index} cannot be: {reason}")
    if any(first.index >= second.index for first, second in pairwise(estimates)):
        raise DamagedFileError("the estimates are not in the order of their batches")
    return fresh._replace(estimates=estimates, keys=tuple(keys.tolist()), taken=taken, newest=newest)


def _waiting(tree: Tree, columns: int, outputs: int) -> Rows:
    rows = _REGISTRY.decode(tree)
    if not isinstance(rows, Rows) or not isinstance(rows.X, np.ndarray) or rows.X.dtype.kind != "f":
        raise DamagedFileError("the waiting rows are no rows")
    if rows.X.ndim != 2 or rows.X.shape[1] != columns or (rows.y is None) != (outputs == 0):
        raise DamagedFileError("the waiting rows have another shape than those before them")
    if rows.y is not None and (not isinstance(rows.y, np.ndarray) or len(rows.y) != len(rows.X)):
        raise DamagedFileError("the waiting rows have another number of targets")
    return rows


def _array(value: Any) -> Any:
    if value is not None and not (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        raise DamagedFileError("a part of the run is no array of numbers")
    return value


def _count(value: Any, least: int = 0) -> int:
    if type(value) is not int or value < least:
        raise DamagedFileError(f"{str(value)[:40]!r} is no number of estimates")
    return value
