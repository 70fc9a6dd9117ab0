"""Rows with missing cells: used or dropped, counted by column, or the reason why a batch cannot be used.

`batch_of_rows` makes a batch of rows that were read; `ScreenedSource` does the same for batches from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.batch import BLANKED, BLANKED_DIFFER, LOST, LOST_DIFFER, Batch, Illegible
from robustream.sources.base import Partition, Source
from robustream.sources.tables.rows import Rows
from robustream.sources.tables.schema import Selection
from robustream.weights import usable_weights

__all__ = ["MISSING", "ScreenedSource", "batch_of_rows"]

MISSING = ("use", "skip", "skip-infinite", "error", "keep")

_CLASS_TYPES = {"integer": np.int64, "boolean": np.bool_}

_LACKING, _INFINITE, _UNREADABLE = "missing", "infinite", "unreadable"
_LINES = "unreadable lines"
_WEIGHTS, _DROPPED = "weight", "rows dropped"
# What weights are called that come without a name.
WEIGHT = "sample_weight"
# So many standard errors are chance once in 500 million, so that thousands of columns and batches may be asked; and
# fewer rows than that show nothing.
_SURELY, _FEWEST_LOST = 6.0, 5


def batch_of_rows(index: int, label: str, rows: Rows, selection: Selection) -> Batch:
    """Make the batch of some rows, by the rule for missing cells.

    With "use" cells that are missing (null or NaN) stay so, and rows without a target or without any cell are left out;
    with "skip" all rows in which a cell is missing are. `stats` counts them: "rows dropped", and "missing:name"
    for each column; "unreadable:name" where cells hold no number, and "unreadable lines". A batch that loses more than
    half of its rows is unreadable, and so is one with an infinite cell: whoever wrote it divided by zero or overflowed.
    With `missing="skip-infinite"` such rows are left out and counted too, with "error" one missing cell is enough to
    fail, and with "keep" all stay as they are.

    Rows whose weight is missing, negative or infinite are left out and counted as "weight:name", unless "error" fails
    the batch; rows of weight 0 are not there.
    """
    if rows.weights is not None:
        return _weighted_batch(index, label, rows, selection)
    X, y, illegible, columns, noticed, _ = rows
    if not len(X):
        return Batch.unreadable(index, label, "no row begins here: the rows of this file differ much in length")
    if selection.missing == "keep" or (_all_finite(X) and (y is None or _all_finite(y))):
        return Batch(index, label, X, _classes(y, selection), stats=noticed, illegible=illegible, columns=columns)
    bad, stats = _count_bad(X, y, selection)
    _tell_apart(stats, illegible)
    if selection.missing == "use":
        bad = np.isinf(X).any(axis=1) | np.isnan(X).all(axis=1)
        if y is not None:
            bad |= (_missing(y) | _infinite(y)).reshape(len(y), -1).any(axis=1)
    dropped = int(bad.sum())
    stats["rows dropped"] = dropped
    stats |= noticed
    infinite = {name: count for name, count in stats.items() if name.startswith(_INFINITE)}
    reason = None
    if infinite and selection.missing != "skip-infinite":
        reason = f"{_worst(infinite, ())}; missing='skip-infinite' leaves such rows out"
    elif selection.missing == "error":
        reason = f"{_worst(stats, illegible)}; missing='skip' leaves such rows out"
    elif 2 * dropped > len(X):
        reason = f"{dropped} of {len(X)} rows cannot be used: {_worst(stats, illegible)}"
    if reason is not None:
        return Batch.unreadable(index, label, reason, stats)
    kept = ~bad
    cells = _cells_by_name(X, y, selection)
    lost = _describe_lost(label, cells, bad, _worst(stats, illegible), illegible)
    unread = {cells.column for cells in illegible if cells.column is not None}
    blanked = np.zeros_like(bad)
    for name, column in zip(selection.origins, X.T, strict=True):
        if name in unread:
            blanked |= np.isnan(column) & kept
    if blanked.any():  # rows that are used count as lost with these cells, as far as people are told
        words = {name: count for name, count in stats.items() if name.startswith(f"{_UNREADABLE}:")}
        first = _worst(words, illegible)
        lost |= _describe_lost(label, cells, blanked, first, illegible, (BLANKED, BLANKED_DIFFER))
    y = None if y is None else _classes(y[kept], selection)
    columns = None if columns is None else columns.filter(kept)
    return Batch(index, label, X[kept], y, None, stats, kept, illegible, columns, lost)


def _weighted_batch(index: int, label: str, rows: Rows, selection: Selection) -> Batch:
    """Make the batch of the rows whose weights can be used, with these."""
    weights = rows.weights
    assert weights is not None
    name = WEIGHT if selection.weight is None else selection.weight
    usable = usable_weights(weights)
    there, dropped = usable & (weights > 0), int(np.count_nonzero(~usable))
    lines = sum(cells.number for cells in rows.illegible if cells.column is None)  # these have no weight either
    unusable = max(dropped - lines, 0)
    counts = {f"{_WEIGHTS}:{name}": unusable, _LINES: lines, _DROPPED: dropped}
    stats = {**rows.stats, **{what: float(count) for what, count in counts.items() if count}}
    reason = None
    if unusable and selection.missing == "error":
        reason = f"the weight in column {name!r} is missing, negative or infinite in {unusable} rows"
    elif 2 * dropped > len(weights):
        reason = (
            f"{dropped} of {len(weights)} rows cannot be used: their weight {name!r} is missing, negative or infinite"
        )
    elif not there.any():
        reason = f"no row has a weight {name!r} above zero"
    if reason is not None:
        return Batch.unreadable(index, label, reason, stats)
    y, columns = None if rows.y is None else rows.y[there], None if rows.columns is None else rows.columns.filter(there)
    illegible = tuple(cells for cells in rows.illegible if cells.column not in (None, selection.weight))
    batch = batch_of_rows(index, label, Rows(rows.X[there], y, illegible, columns), selection)
    kept = _both(None if there.all() else there, batch.kept)
    stats |= {**batch.stats, _DROPPED: dropped + batch.stats.get(_DROPPED, 0.0)}
    if batch.failure is not None:
        return batch._replace(stats=stats)
    return batch._replace(stats=stats, kept=kept, weights=weights if kept is None else weights[kept])


def _describe_lost(
    label: str,
    columns: dict[str, NDArray[Any]],
    bad: NDArray[np.bool_],
    example: str,
    illegible: Sequence[Illegible],
    kinds: tuple[str, str] = (LOST, LOST_DIFFER),
) -> dict[str, float]:
    """Tell how many rows of a file were dropped, with an example, and whether they differ from the others."""
    file, place, span = label.rpartition("#")
    if not place or not bad.any():
        return {}
    first = next((cells for cells in illegible if example.startswith(cells.reason)), None)
    if first is not None:
        begin = span.partition("-")[0]
        where = (
            f"row {int(begin) + first.row}" if begin.isdigit() else f"row {first.row} from {span.partition('-')[0]} on"
        )
        example = f"{where}: {example}"
    told = {f"{kinds[0]}{file}\n{example}": float(bad.sum())}
    scores = {name: _difference(column[bad], column[~bad]) for name, column in columns.items()}
    name, score = max(scores.items(), key=lambda item: abs(item[1]))
    if abs(score) > _SURELY:
        told[f"{kinds[1]}{file}\n{name!r} is {'larger' if score > 0 else 'smaller'} in them"] = abs(score)
    return told


def _cells_by_name(X: NDArray[Any], y: NDArray[Any] | None, selection: Selection) -> dict[str, NDArray[Any]]:
    columns = dict(zip(selection.features, X.T, strict=False))
    if y is not None and y.dtype != object:
        columns |= dict(zip(selection.targets, y.reshape(len(y), -1).T, strict=False))
    return columns


def _difference(lost: NDArray[Any], kept: NDArray[Any]) -> float:
    """Return how far apart the ranks of two samples are, in standard errors (the test of Mann and Whitney)."""
    lost, kept = lost[np.isfinite(lost)], kept[np.isfinite(kept)]
    if min(len(lost), len(kept)) < _FEWEST_LOST:
        return 0.0
    ordered, n, m = np.sort(kept), len(kept), len(lost)
    below, up_to = (np.searchsorted(ordered, lost, side) for side in ("left", "right"))
    wins = 0.5 * float((below + up_to).sum())
    return (wins - 0.5 * n * m) / float(np.sqrt(n * m * (n + m + 1.0) / 12.0))


def _all_finite(values: NDArray[Any]) -> bool:
    if values.dtype == object:
        return all(cell is not None for cell in values.flat)
    # A sum is far quicker than a test of each cell; if finite cells overflow it, the cells are tested after all.
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())


def _count_bad(X: NDArray[Any], y: NDArray[Any] | None, selection: Selection) -> tuple[NDArray[Any], dict[str, float]]:
    bad = np.zeros(len(X), dtype=bool)
    stats: dict[str, float] = {}
    parts = [(selection.origins, X)]
    if y is not None:
        parts.append((selection.targets, y.reshape(len(y), -1)))
    for names, values in parts:
        for what, cells in (_LACKING, _missing(values)), (_INFINITE, _infinite(values)):
            bad |= cells.any(axis=1)
            counts = cells.sum(axis=0)
            for place in np.flatnonzero(counts):
                # Several columns of X may come from one column of the table.
                key = f"{what}:{names[place]}"
                stats[key] = max(stats.get(key, 0.0), float(counts[place]))
    return bad, stats


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    return values == None if values.dtype == object else np.isnan(values)  # noqa: E711


def _infinite(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.zeros(values.shape, dtype=bool) if values.dtype == object else np.isinf(values)


def _tell_apart(stats: dict[str, float], illegible: Sequence[Illegible]) -> None:
    """Count cells that hold no number, and lines that are no row, by themselves; they came as missing ones."""
    lines = sum(cells.number for cells in illegible if cells.column is None)
    if lines:
        for key in [key for key in stats if key.startswith(f"{_LACKING}:")]:
            _move(stats, key, None, lines)
        stats[_LINES] = float(lines)
    for cells in illegible:
        if cells.column is not None:
            _move(stats, f"{_LACKING}:{cells.column}", f"{_UNREADABLE}:{cells.column}", cells.number)


def _move(stats: dict[str, float], source: str, target: str | None, count: int) -> None:
    left = stats.pop(source, 0.0) - count
    if left > 0:
        stats[source] = left
    if target is not None:
        stats[target] = stats.get(target, 0.0) + count


def _worst(stats: dict[str, float], illegible: Sequence[Illegible]) -> str:
    """Say what most rows cannot be used for."""
    kinds = (_LACKING, _INFINITE, _UNREADABLE, _LINES)
    key = max((key for key in stats if key.partition(":")[0] in kinds), key=lambda key: stats[key])
    what, _, name = key.partition(":")
    count = int(stats[key])
    if what in (_UNREADABLE, _LINES):
        reason = next(cells.reason for cells in illegible if cells.column == (None if key == _LINES else name))
        return f"{reason} (the first of {count})" if count > 1 else reason
    words = "infinite" if what == _INFINITE else "missing"
    return f"column {name!r} is {words} in {count} rows"


def _classes(y: NDArray[Any] | None, selection: Selection) -> NDArray[Any] | None:
    """Return classes their own type back, now that no cell is missing."""
    if y is None or selection.missing == "keep" or selection.target_kind not in _CLASS_TYPES:
        return y
    return y.astype(_CLASS_TYPES[selection.target_kind])


class ScreenedSource(Source):
    """The batches of a source, without rows that have missing or infinite cells; what cannot be used is a failed batch.

    Parameters
    ----------
    source : where the batches come from.
    selection : their columns, the type of X, the shape of y and the rule for missing cells; see `Tables`.
    """

    def __init__(self, source: Source, selection: Selection) -> None:
        self._source = source
        self._selection = selection

    @property
    def count(self) -> int | None:
        """Return the number of batches, if it is known."""
        return self._source.count

    def batches(self, start: int = 0) -> Iterator[Batch]:
        return (_screen(batch, self._selection) for batch in self._source.batches(start))

    @property
    def own_thread(self) -> bool:
        """Whether the thread that drives the run must read."""
        return self._source.own_thread

    @property
    def read_once(self) -> bool:
        """Whether the source can be read only once."""
        return self._source.read_once

    def partitions(self) -> Sequence[Partition] | None:
        """Return the partitions of the source; whoever reads them screens them."""
        partitions = self._source.partitions()
        if partitions is None:
            return None
        return [_ScreenedPartition(partition, self._selection) for partition in partitions]

    def fingerprint(self) -> str | None:
        """Return a digest of the source and the columns."""
        inner = self._source.fingerprint()
        return None if inner is None else f"{inner} {self._selection.digest()}"


@dataclass(frozen=True)
class _ScreenedPartition(Partition):
    partition: Partition
    selection: Selection

    @property
    def first_index(self) -> int:  # type: ignore[override]
        return self.partition.first_index

    @property
    def count(self) -> int:  # type: ignore[override]
        return self.partition.count

    @property
    def label(self) -> str:  # type: ignore[override]
        return self.partition.label

    def read(self, start: int = 0) -> Iterator[Batch]:
        return (_screen(batch, self.selection) for batch in self.partition.read(start))


def _screen(batch: Batch, selection: Selection) -> Batch:
    if batch.failure is not None:
        return batch
    reason = _why_unfit(batch, selection)
    if reason is not None:
        return Batch.unreadable(batch.index, batch.label, reason, batch.stats)
    X, y = batch.X.astype(selection.dtype, copy=False), batch.y
    if y is not None and selection.targets:
        y = y.reshape(len(X)) if selection.single else y.reshape(len(X), len(selection.targets))
        if selection.target_kind == "number":
            with np.errstate(over="ignore"):  # what the type cannot hold becomes infinite, and is counted below
                y = y.astype(selection.dtype, copy=False)
    # Rows that were dropped already, for whatever reason, are not to be counted again.
    illegible = batch.illegible if batch.kept is None else ()
    weights = None if batch.weights is None else np.asarray(batch.weights, dtype=np.float64)
    rows = Rows(X, y if selection.targets else None, illegible, weights=weights)
    screened = batch_of_rows(batch.index, batch.label, rows, selection)
    return screened._replace(stats={**batch.stats, **screened.stats}, kept=_both(batch.kept, screened.kept))


def _both(first: NDArray[np.bool_] | None, second: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return which of the rows are kept that two screens were shown, one after the other."""
    if first is None or second is None:
        return second if first is None else first
    kept = first.copy()
    kept[first] = second
    return kept


def _why_unfit(batch: Batch, selection: Selection) -> str | None:
    if batch.X.ndim != 2 or batch.X.shape[1] != len(selection.features):
        columns = batch.X.shape[1] if batch.X.ndim == 2 else "no"
        return f"it has {columns} columns where {len(selection.features)} are needed"
    if batch.X.dtype.kind not in "fiub":
        return f"its cells are of type {batch.X.dtype}, not numbers"
    if batch.weights is not None and np.shape(batch.weights) != (len(batch.X),):
        return f"its weights have the shape {np.shape(batch.weights)} where X has {len(batch.X)} rows"
    if not selection.targets:
        return None
    if batch.y is None:
        return "it has no target"
    if len(batch.y) != len(batch.X):
        return f"its target has {len(batch.y)} rows where X has {len(batch.X)}"
    if batch.y.size != len(batch.X) * len(selection.targets):
        return (
            f"its target has {batch.y.size // max(1, len(batch.X))} columns where {len(selection.targets)} are needed"
        )
    if selection.target_kind == "number" and batch.y.dtype.kind not in "fiub":
        return f"its target is of type {batch.y.dtype}, not numbers"
    return None
