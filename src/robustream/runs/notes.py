"""What a run notices on its way besides the answer, and what it has to say of that when it is finished.

Nothing here depends on the clock or on the number of workers, so that a run that was stopped and resumed leaves the
same notes as one that was not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from robustream.batch import BLANKED, BLANKED_DIFFER, CAPPED, GROUP, LEFT_OUT, LOST, LOST_DIFFER, BatchRecord
from robustream.files import Tree
from robustream.runs.worst_rows import BatchResult, OutlyingRow

__all__ = ["History", "LeftOut", "Look", "left_out_of", "make_notes", "say_lost"]

# What the rows that may turn out the worst may take in memory, and how many there are at most.
_MOST_BYTES = 16_000_000
_MOST_ROWS = 5_000
# How many of them the notes of a finished run name.
_WORST_SHOWN = 50
# A file that loses more than this share of its rows is named, and so many files at most.
_MANY_LOST = 0.1
_MOST_LOSSY = 200
_VALUES_SHOWN = 6
# How the statistics begin that tell of files and their rows.
_OF_FILES = (LOST, LOST_DIFFER, BLANKED, BLANKED_DIFFER)


class LeftOut(NamedTuple):
    """Rows that the answer does not follow: in batches that were rejected, and left out of batches that were kept."""

    rows: int
    rejected: int  # those of rejected batches
    seen: int

    def sentence(self) -> str:
        """Return what was left out, in words; nothing if all rows were used."""
        if not self.rows:
            return ""
        inside = self.rows - self.rejected
        parts = [f"{self.rejected:,} in rejected batches"] if self.rejected else []
        parts += [f"{inside:,} in batches that were kept"] if inside and self.rejected else []
        detail = f" ({', '.join(parts)})" if parts else ""
        return f"{self.rows:,} of {self.seen:,} rows were left out{detail}"


def left_out_of(records: Sequence[BatchRecord]) -> LeftOut:
    """Return how many rows the answer does not follow, of those in batches that could be read."""
    rejected = sum(record.rows for record in records if record.verdict == "rejected")
    inside = sum(record.left_out for record in records if record.verdict == "kept")
    seen = sum(record.rows for record in records if record.verdict in ("kept", "rejected"))
    return LeftOut(rejected + inside, rejected, seen)


class Look(NamedTuple):
    """How far the answer was known after some batches."""

    batches: int
    rows: int
    error_bound: float  # of the relative error, with 95% confidence; infinite while nothing can be said


class History(NamedTuple):
    """Rows dropped and cells missing, rows that fit badly to their own batch, and how the answer settled."""

    counts: Mapping[str, float] = {}
    outlying: tuple[OutlyingRow, ...] = ()
    looks: tuple[Look, ...] = ()

    def note(self, result: BatchResult) -> History:
        """Return the history with one more batch."""
        counts = dict(self.counts)
        for name, number in result.estimate.stats.items():
            if name.startswith(_OF_FILES):
                _note_lost(counts, name, float(number))
                continue
            if name.startswith(GROUP):  # these are no counts; the book of batches has them
                continue
            counts[name] = counts.get(name, 0.0) + float(number)
        return self._replace(counts=counts, outlying=_worst((*self.outlying, *result.outlying)))

    def look(self, look: Look) -> History:
        """Return the history with one more look at the answer."""
        return self._replace(looks=(*self.looks, look))


def _note_lost(counts: dict[str, float], name: str, number: float) -> None:
    """Add to what is told of a file, under the example that came first; beyond some files nothing is kept of others."""
    start = f"{name.partition(chr(10))[0]}{chr(10)}"
    told = [known for known in counts if known.startswith(_OF_FILES)]
    known = next((known for known in told if known.startswith(start)), None)
    if known is not None:
        counts[known] += number if name.startswith((LOST, BLANKED)) else 0.0
    elif len(told) < _MOST_LOSSY:
        counts[name] = number


def say_lost(counts: Mapping[str, float], records: Sequence[BatchRecord]) -> list[str]:
    """Say of which files many rows lost cells that are no numbers, or were dropped for their cells.

    So is it said of fewer rows, if these differ from the others.
    """
    kept: dict[str, int] = {}
    for record in records:
        file = record.label.rpartition("#")[0]
        kept[file] = kept.get(file, 0) + record.rows
    dropped, blanked = _by_file(counts, LOST), _by_file(counts, BLANKED)
    said = []
    for file, (lost, example) in dropped.items():
        total = lost + kept.get(file, 0)
        words = f"file {file} lost {lost:,} of its {total:,} rows ({lost / total:.0%}); {example}"
        said += _say_if_many(words, lost / total, _by_file(counts, LOST_DIFFER).get(file))
    for file, (lost, example) in blanked.items():
        total = max(kept.get(file, 0), lost)
        words = f"file {file} lost cells in {lost:,} of its {total:,} rows ({lost / total:.0%}); {example}"
        said += _say_if_many(words, lost / total, _by_file(counts, BLANKED_DIFFER).get(file))
    return said


def _by_file(counts: Mapping[str, float], kind: str) -> dict[str, tuple[int, str]]:
    """Return the number of one kind that is told of each file, and the words that go with it."""
    found = {}
    for name, number in counts.items():
        if name.startswith(kind):
            file, words = name[len(kind) :].split("\n", 1)
            found[file] = (int(number), words)
    return found


def _say_if_many(words: str, share: float, differs: tuple[int, str] | None) -> list[str]:
    if differs is not None:
        return [f"{words}. These are no random rows: {differs[1]}"]
    return [words] if share > _MANY_LOST else []


def _worst(rows: tuple[OutlyingRow, ...]) -> tuple[OutlyingRow, ...]:
    size = rows[0].x.nbytes + 200 if rows else 1
    most = max(3, min(_MOST_ROWS, _MOST_BYTES // size))
    # Pruned only when a fifth too many have gathered: sorting for each batch would cost more than the batch.
    if len(rows) <= most + most // 5 + 3:
        return rows
    best = sorted(rows, key=lambda row: (-row.score, row.index, row.row))[:most]
    return tuple(sorted(best, key=lambda row: (row.index, row.row)))


def make_notes(
    model: Any, targets: tuple[str, ...], settings: dict[str, Tree], unseen: Mapping[str, int]
) -> dict[str, Tree]:
    """Return the notes on the run that a model holds, as plain data for the report and the model file.

    `unseen` are cells of categories without a level of their own that were counted before the run.
    """
    history, ended = model.run_.history, model.run_.ended
    other_levels = {**unseen, **_other_levels(history.counts)}
    return {
        "targets": list(targets),
        "history": [[look.batches, look.error_bound, look.rows] for look in history.looks],
        "worst_rows": _worst_rows(model, history.outlying, targets),
        "missing": _cells_by_column(history.counts, ("missing", "infinite")),
        "unreadable": _cells_by_column(history.counts, ("unreadable",)),
        "unreadable_lines": int(history.counts.get("unreadable lines", 0)),
        "rows_dropped": int(history.counts.get("rows dropped", 0.0)),
        "left_out": _rows_left_out(history.counts),
        "ended": ended,
        "settings": settings,
        **_notes_on_weights(history.counts, "weights of rows" in settings),
        # Tables without categories leave the notes that they always left.
        **({"other_levels": other_levels} if other_levels else {}),
    }


def _notes_on_weights(counts: Mapping[str, float], weighted: bool) -> dict[str, Tree]:
    """Return how many weights were capped, and how many rows were left out for theirs, where rows have weights."""
    capped = int(counts.get(CAPPED, 0))
    unusable = sum(int(number) for name, number in counts.items() if name.startswith("weight:"))
    return {"weights": {"capped": capped, "unusable": unusable}} if weighted or capped or unusable else {}


def _other_levels(counts: Mapping[str, float]) -> dict[str, int]:
    """Return the cells of each category whose level has no column of its own."""
    if not any(name.startswith("other") for name in counts):
        return {}
    from robustream.sources.tables.encoding import unseen_levels  # pyarrow comes with the first files

    return unseen_levels(counts)


def _rows_left_out(counts: Mapping[str, float]) -> dict[str, Tree]:
    """Return how many rows learners left out, by reason."""
    return {name[len(LEFT_OUT) :]: int(rows) for name, rows in counts.items() if name.startswith(LEFT_OUT)}


def _cells_by_column(counts: Mapping[str, float], what: Iterable[str]) -> dict[str, int]:
    """Return the cells of each column that were counted as one of these kinds."""
    cells: dict[str, int] = {}
    for name, number in counts.items():
        kind, _, column = name.partition(":")
        if column and kind in what:
            cells[column] = cells.get(column, 0) + int(number)
    return cells


def _worst_rows(model: Any, outlying: tuple[OutlyingRow, ...], target_names: tuple[str, ...]) -> list[Tree]:
    """Measure the rows that batches named by the final model, but for those of batches that are not believed.

    A batch names the rows that fit worst to its own answer: in one that is garbage, these may well be its good ones.
    """
    believed = {record.index for record in model.batch_report_ if record.verdict == "kept"}
    rows = [row for row in outlying if row.index in believed]
    if not rows or not hasattr(model, "outlier_scores"):
        return []
    from robustream.sources.tables.frames import frame_of_rows  # pyarrow comes with the first files

    names = getattr(model, "feature_names_in_", None)
    X = frame_of_rows(np.stack([row.x for row in rows]), names)
    targets = [row.y for row in rows if row.y is not None]
    scores = model.outlier_scores(X, np.stack(targets)) if targets else model.outlier_scores(X)
    order = np.argsort(-scores, kind="stable")[:_WORST_SHOWN]
    values = _odd_values(rows, [rows[place] for place in order], names, target_names)
    reasons = _reasons(model, [rows[place] for place in order], target_names)
    return [
        [rows[place].label, _row_in_file(rows[place]), float(scores[place]), shown, reasons.get(number, "")]
        for number, (place, shown) in enumerate(zip(order, values, strict=True))
    ]


def _reasons(model: Any, rows: list[OutlyingRow], target_names: tuple[str, ...]) -> dict[int, str]:
    """Return in words why rows are outliers, by their places, where the model can tell."""
    if not hasattr(model, "explain"):
        return {}
    from robustream.sources.tables.frames import frame_of_rows

    X = frame_of_rows(np.stack([row.x for row in rows]), getattr(model, "feature_names_in_", None))
    targets = [row.y for row in rows if row.y is not None]
    reasons = model.find_reasons(X, np.stack(targets) if targets else None, targets=target_names)
    return dict(reasons.in_words())


def _odd_values(
    rows: list[OutlyingRow], shown: list[OutlyingRow], names: Any, targets: tuple[str, ...]
) -> list[dict[str, Tree]]:
    """Return a few values of each shown row by column: its targets, and those that are oddest among all rows."""
    table = np.stack([row.x for row in rows]).astype(np.float64)
    # Gaps stand at the median of the others, where nothing is odd about them.
    table[:, np.isnan(table).all(axis=0)] = 0.0
    table = np.where(np.isnan(table), np.nanmedian(table, axis=0), table)
    middle = np.median(table, axis=0)
    # A column that is the same in most rows is odd wherever it differs.
    spread = np.maximum(np.median(np.abs(table - middle), axis=0), np.finfo(np.float64).tiny)
    found = []
    for row in shown:
        x = np.asarray(row.x, np.float64)
        y = np.empty(0) if row.y is None else np.ravel(row.y)
        known = (
            targets if len(targets) == len(y) else tuple(f"y{place}" if len(y) > 1 else "y" for place in range(len(y)))
        )
        values: dict[str, Tree] = {name: float(value) for name, value in zip(known, y, strict=True)}
        with np.errstate(over="ignore"):
            order = np.argsort(-np.abs(x - middle) / spread, kind="stable")
        there = order[np.isfinite(x[order])]
        for column in there[: max(1, _VALUES_SHOWN - len(values))]:
            values[f"x{column}" if names is None else str(names[column])] = float(x[column])
        found.append(values)
    return found


def _row_in_file(row: OutlyingRow) -> int:
    """Return the number of a row in its file if the label says where the batch begins, else in its batch."""
    first = row.label.rpartition("#")[2].partition("-")[0]
    return row.row + (int(first) if first.isdigit() else 0)
