"""Checkpoints of a run: written from time to time, and read when it goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from robustream.errors import CheckpointError, DamagedFileError
from robustream.files import Tree
from robustream.files.registry import Registry
from robustream.fitting.driving import Moment
from robustream.fitting.history import History, Look
from robustream.fitting.rhythm import Rhythm
from robustream.persistence import Checkpoint, read_checkpoint, settings_of, why_not, write_checkpoint
from robustream.runs.outlying import OutlyingRow
from robustream.sources.base import Source

__all__ = ["HISTORY", "Keeper", "resume_from"]

HISTORY = Registry([History, Look, OutlyingRow])


class Keeper:
    """Writes a checkpoint whenever it is due, and when told to."""

    def __init__(self, path: str | os.PathLike[str], every: str | int, settings: Tree, fingerprint: str | None) -> None:
        self._path = path
        self._rhythm = Rhythm(every)
        self._settings = settings
        self._fingerprint = fingerprint

    def __call__(self, moment: Moment) -> None:
        """Write if it is time."""
        if self._rhythm.is_due():
            self.write(moment)

    def write(self, moment: Moment) -> None:
        """Write now."""
        write_checkpoint(
            self._path,
            Checkpoint(
                moment.stream,
                self._settings,
                self._fingerprint,
                moment.stream.next_index,
                HISTORY.encode(moment.history),
            ),
        )


def run_settings(model: Any, reading: Tree) -> Tree:
    """Give all that must be the same for a run to go on: the estimator with its parameters, and how data are read."""
    return {**settings_of(model), "reading": reading}


def resume_from(path: str | os.PathLike[str], settings: Tree, source: Source) -> Moment | None:
    """Give the run that a checkpoint holds, or None if there is no such file yet."""
    if not Path(path).exists():
        return None
    checkpoint = read_checkpoint(path)
    reason = why_not(checkpoint, settings, source.fingerprint())
    if reason is not None:
        raise CheckpointError(f"{os.fspath(path)} cannot be resumed: {reason}")
    history = HISTORY.decode(checkpoint.history)
    if not isinstance(history, History) or checkpoint.position != checkpoint.stream.next_index:
        raise DamagedFileError(f"{os.fspath(path)} cannot be resumed: it contradicts itself. Start again without it.")
    return Moment(checkpoint.stream, history)
