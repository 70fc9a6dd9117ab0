"""Batches gathered by the file they came from, and what that says about the file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from robustream.batch import BatchRecord

__all__ = ["FileRecord", "FileVerdict", "files_of", "split_label"]

FileVerdict = Literal["failed", "rejected", "partly", "late", "kept"]

_ORDER: tuple[FileVerdict, ...] = ("failed", "rejected", "partly", "late", "kept")

# What follows the last '#' of a label is a place in the file only if it looks like one: file names may hold '#' too.
_PLACE = re.compile(r"(?:[a-z ]+ )?\d+(?:-| of )\d+")


class FileRecord(NamedTuple):
    """One file: `partly` means that fewer than half of its batches are bad."""

    path: str
    verdict: FileVerdict
    batches: int
    kept: int
    rows: int
    distance: float
    reason: str


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
    """Gather batches by file, the worst files first; empty if no label names a file and a place in it."""
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
    elif 2 * bad < judged:
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
        "" if worst is None else worst.reason,
    )


def _known_distance(record: BatchRecord | FileRecord) -> float:
    """Give the distance, with an unknown one below all others, so that max() passes over it."""
    return -math.inf if math.isnan(record.distance) else record.distance


def _badness(file: FileRecord) -> tuple[int, float, str]:
    return _ORDER.index(file.verdict), -_known_distance(file), file.path
