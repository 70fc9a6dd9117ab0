"""Checkpoints: a run at one moment, with the data and settings that it belongs to, written from time to time.

A run that goes on from a checkpoint ends with the same bits as one that was never interrupted. That holds only for the
same data and settings: `why_not` says what differs.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from robustream import files
from robustream.errors import CheckpointError, DamagedFileError, InvalidInputError
from robustream.files import Tree
from robustream.files.addresses import shown
from robustream.files.registry import Registry
from robustream.runs.notes import History, Look
from robustream.runs.run import Layout, Plan, Run
from robustream.runs.serialize import take, take_optional
from robustream.runs.worst_rows import OutlyingRow

__all__ = [
    "KIND",
    "Checkpoint",
    "CheckpointWriter",
    "Rhythm",
    "checkpoint_from_tree",
    "read_checkpoint",
    "resume_from",
    "why_not",
    "write_checkpoint",
]

KIND = "checkpoint"
_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0, "minutes": 60.0, "h": 3600.0, "hours": 3600.0}
_BATCHES = ("batch", "batches")

_HISTORY = Registry([History, Look, OutlyingRow])

# What changes how fast a run goes, not where it goes.
_IRRELEVANT = {("parameters", "n_jobs")}

_OTHER_DATA = (
    "the checkpoint is of other data (files were added, removed or changed since): run over the same files, or start "
    "again"
)


class Checkpoint(NamedTuple):
    """What a checkpoint file holds, as plain data."""

    stream: Tree  # what `Run.to_tree` gave
    settings: Tree  # what the estimator's `run_settings` gave; further entries are compared as well
    fingerprint: str | None  # of the data; None if they have none
    position: int  # the index of the next batch
    history: Tree = None  # what the run noticed on its way

    def run(self, plan: Plan, layout: Layout, names: Iterable[str] | None = None) -> Run:
        """Return the run, for the plan that it was made by."""
        run = Run.from_tree(self.stream, plan, layout, names)
        history = History() if self.history is None else _HISTORY.decode(self.history)
        if not isinstance(history, History) or self.position != run.next_index:
            raise DamagedFileError("it contradicts itself")
        return replace(run, history=history)


def write_checkpoint(path: str | os.PathLike[str], run: Run, settings: Tree, fingerprint: str | None) -> None:
    """Write a checkpoint; if that fails, the one before is still there."""
    checkpoint = Checkpoint(run.to_tree(), settings, fingerprint, run.next_index, _HISTORY.encode(run.history))
    files.write(path, checkpoint._asdict(), KIND)


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint, or raise DamagedFileError or NewerFormatError."""
    tree = files.read(path, KIND)
    with files.naming(path):
        return checkpoint_from_tree(tree)


def checkpoint_from_tree(tree: Tree) -> Checkpoint:
    """Return the checkpoint that the content of a file describes."""
    settings, stream = take(tree, "settings", dict), take(tree, "stream", dict)
    position, fingerprint = take(tree, "position", int), take_optional(tree, "fingerprint", str)
    if tree.keys() != set(Checkpoint._fields) or position < 0:
        raise DamagedFileError("it has other entries than a checkpoint has")
    return Checkpoint(stream, settings, fingerprint, position, tree["history"])


def resume_from(path: str | os.PathLike[str], begun: Run, settings: Tree, fingerprint: str | None) -> Run | None:
    """Return the run that a checkpoint holds, or None if there is no such file yet; `begun` has its plan."""
    if not files.exists(path):
        return None
    checkpoint = read_checkpoint(path)
    reason = why_not(checkpoint, settings, fingerprint)
    if reason is not None:
        raise CheckpointError(f"{shown(path)} cannot be resumed: {reason}")
    with files.naming(path):
        return replace(checkpoint.run(begun.plan, begun.layout, begun.space.names or None), on_gpu=begun.on_gpu)


class CheckpointWriter:
    """Writes a checkpoint whenever it is due, and when told to."""

    def __init__(self, path: str | os.PathLike[str], every: str | int, settings: Tree, fingerprint: str | None) -> None:
        self._path = path
        self._rhythm = Rhythm(every)
        self._settings = settings
        self._fingerprint = fingerprint

    def __call__(self, run: Run) -> None:
        """Write if it is time."""
        if self._rhythm.is_due():
            self.write(run)

    def write(self, run: Run) -> None:
        """Write now."""
        write_checkpoint(self._path, run, self._settings, self._fingerprint)


class Rhythm:
    """Tells when something is due.

    Parameters
    ----------
    every : str or int
        Seconds, minutes or hours ("30 s", "5 min"), or batches (100, "100 batches").

    Examples
    --------
    >>> rhythm = Rhythm(2)
    >>> [rhythm.is_due() for _ in range(5)]
    [False, True, False, True, False]
    """

    def __init__(self, every: str | int) -> None:
        self.every = every
        self._batches, self._seconds = _parse(every)
        self._since = 0
        self._last = time.monotonic()

    def is_due(self) -> bool:
        """Count one batch, and tell whether it is time."""
        self._since += 1
        if self._batches is not None:
            due = self._since >= self._batches
        else:
            assert self._seconds is not None
            due = time.monotonic() - self._last >= self._seconds
        if due:
            self._since = 0
            self._last = time.monotonic()
        return due


def _parse(every: Any) -> tuple[int | None, float | None]:
    if isinstance(every, (int, np.integer)) and not isinstance(every, bool) and every >= 1:
        return int(every), None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", every.lower()) if isinstance(every, str) else None
    if match is not None:
        number, unit = float(match[1]), match[2]
        if unit in _SECONDS:
            return None, number * _SECONDS[unit]
        if unit in ("", *_BATCHES) and number >= 1 and number == int(number):
            return int(number), None
    raise InvalidInputError(
        f"checkpoint_every must be a time such as '30 s' or '5 min', or a number of batches, got {every!r}"
    )


def why_not(checkpoint: Checkpoint, settings: Tree, fingerprint: str | None) -> str | None:
    """Return the reason why a run with these settings over these data cannot go on from a checkpoint, or None."""
    before, now = _entries(checkpoint.settings), _entries(settings)
    differing = [place for place in before | now if not _same(before.get(place), now.get(place))]
    if not differing:
        return _OTHER_DATA if checkpoint.fingerprint != fingerprint else None
    shown = [
        f"{place[-1]} was {_shown(before.get(place))} and is now {_shown(now.get(place))}" for place in differing[:3]
    ]
    more = f"; and {len(differing) - 3} more" if len(differing) > 3 else ""
    return (
        f"the checkpoint was made with other settings: {'; '.join(shown)}{more}. Use the same settings, or start again"
    )


def _entries(settings: Tree) -> dict[tuple[str, ...], Tree]:
    """Return what is compared one by one: the entries, and those of entries that are groups, such as the parameters."""
    entries: dict[tuple[str, ...], Tree] = {}
    for name, value in settings.items():
        entries |= (
            {(name, inner): item for inner, item in value.items()} if isinstance(value, dict) else {(name,): value}
        )
    return {place: value for place, value in entries.items() if place not in _IRRELEVANT}


def _same(first: Tree, second: Tree) -> bool:
    """Compare by the stored form, in which every difference shows and NaN is like NaN."""
    return files.pack([first], KIND) == files.pack([second], KIND)


def _shown(value: Tree) -> str:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
