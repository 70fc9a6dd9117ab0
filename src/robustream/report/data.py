"""All that a report shows, as plain values: drawing it needs neither the model nor the data.

Batches are listed as they were judged; `files_of` groups them by the file that they came from and judges the files.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from robustream.batch import BatchRecord, Verdict
from robustream.estimators._summary import Coefficients, Components, Summary

__all__ = [
    "VERDICTS",
    "Coefficients",
    "Components",
    "FileRecord",
    "FileVerdict",
    "RelativeError",
    "ReportData",
    "WorstRow",
    "files_of",
    "missing_cells",
    "split_label",
    "verdict_counts",
]

VERDICTS: tuple[Verdict, ...] = ("kept", "rejected", "failed", "late")


class WorstRow(NamedTuple):
    """A row far from the model: where it is, its outlier score, and the values that make it so, the oddest first."""

    label: str
    row: int
    score: float
    values: Mapping[str, float] = {}
    reason: str = ""  # the cells that make it an outlier, in words


class RelativeError(NamedTuple):
    """The relative error of the estimate after some batches and rows."""

    batches: int
    error: float
    rows: int


class ReportData(NamedTuple):
    """One report."""

    title: str
    features: tuple[str, ...]
    rows_seen: int
    batches_seen: int
    batches: tuple[BatchRecord, ...]
    outcome: str = ""
    components: Components | None = None
    coefficients: Coefficients | None = None
    tables: tuple[Summary, ...] = ()  # of a model that has neither
    worst_rows: tuple[WorstRow, ...] = ()
    convergence: tuple[RelativeError, ...] = ()
    missing: Mapping[str, int] = {}  # cells by column
    unreadable: Mapping[str, int] = {}  # cells by column that hold no number
    unreadable_lines: int = 0  # lines with too few or too many fields
    notes: tuple[str, ...] = ()  # what else a person should know
    settings: Mapping[str, Any] = {}
    timings: Mapping[str, float] = {}
    environment: Mapping[str, Any] = {}


def verdict_counts(data: ReportData) -> dict[Verdict, int]:
    """Count the batches of each verdict; kept ones that a long run no longer lists are counted too."""
    listed = Counter(record.verdict for record in data.batches)
    unlisted = max(0, data.batches_seen - len(data.batches))
    return {verdict: listed[verdict] + (unlisted if verdict == "kept" else 0) for verdict in VERDICTS}


def missing_cells(data: ReportData) -> list[tuple[str, int, int]]:
    """Return each column with its numbers of missing and of unreadable cells, the worst column first."""
    names = {**data.missing, **data.unreadable}
    found = [(name, data.missing.get(name, 0), data.unreadable.get(name, 0)) for name in names]
    return sorted((entry for entry in found if entry[1] + entry[2]), key=lambda entry: -entry[1] - entry[2])


FileVerdict = Literal["failed", "rejected", "partly", "late", "kept"]

_WORST_FIRST: tuple[FileVerdict, ...] = ("failed", "rejected", "partly", "late", "kept")

# What follows the last '#' of a label is a place in the file only if it looks like one: file names may hold '#' too.
_PLACE = re.compile(r"(?:[a-z ]+ )?\d+(?:-| of )\d+")


# Share of a file's batches beyond which what is wrong with them is wrong with the file; up to it, it is bad in part.
_MOSTLY = 0.75


class FileRecord(NamedTuple):
    """One file: `partly` means that some of its batches are bad, but not more than three quarters."""

    path: str
    verdict: FileVerdict
    batches: int
    kept: int
    rows: int
    distance: float
    reason: str
    left_out: int = 0  # rows that the answer does not follow


def split_label(label: str) -> tuple[str, str]:
    """Split a batch's label into the file and the place in it; the place is empty if none is named.

    >>> split_label("data/part-03.parquet#0-9999")
    ('data/part-03.parquet', '0-9999')
    >>> split_label("data/broken.csv#2 of 7")
    ('data/broken.csv', '2 of 7')
    >>> split_label("data/issue#12.csv")
    ('data/issue#12.csv', '')
    """
    path, mark, place = label.rpartition("#")
    return (path, place) if mark and path and _PLACE.fullmatch(place) else (label, "")


def files_of(batches: Iterable[BatchRecord]) -> list[FileRecord]:
    """Group batches by file, the worst files first; empty if no label names a file and a place in it."""
    groups: dict[str, list[BatchRecord]] = {}
    placed = False
    for record in batches:
        path, place = split_label(record.label)
        placed = placed or bool(place)
        groups.setdefault(path, []).append(record)
    if not placed:
        return []
    return sorted((_judge(path, group) for path, group in groups.items()), key=_badness)


def _judge(path: str, group: list[BatchRecord]) -> FileRecord:
    failed = [record for record in group if record.verdict == "failed"]
    rejected = [record for record in group if record.verdict == "rejected"]
    bad, judged = len(failed) + len(rejected), sum(record.verdict != "late" for record in group)
    verdict: FileVerdict
    if judged == 0:
        verdict = "late"
    elif bad == 0:
        verdict = "kept"
    elif bad <= _MOSTLY * judged:
        verdict = "partly"
    else:
        verdict = "failed" if len(failed) > len(rejected) else "rejected"
    blamed = failed if verdict == "failed" else (rejected or failed)
    worst = max(blamed, key=_known_distance, default=None)
    distances = [record.distance for record in group if not math.isnan(record.distance)]
    return FileRecord(
        path,
        verdict,
        len(group),
        sum(record.verdict == "kept" for record in group),
        sum(record.rows for record in group),
        max(distances, default=math.nan),
        _say_left_out(group) if worst is None else worst.reason,
        sum(record.rows if record.verdict == "rejected" else record.left_out for record in group),
    )


def _say_left_out(group: list[BatchRecord]) -> str:
    """Return what was left out of the batch of a file that lost most."""
    return max(group, key=lambda record: (record.left_out, bool(record.left_out_reason))).left_out_reason


def _known_distance(record: BatchRecord | FileRecord) -> float:
    """Return the distance, with an unknown one below all others, so that max() passes over it."""
    return -math.inf if math.isnan(record.distance) else record.distance


def _badness(file: FileRecord) -> tuple[int, float, str]:
    return _WORST_FIRST.index(file.verdict), -_known_distance(file), file.path
