"""Checkpoints: a run at one moment, with the data and settings that it belongs to.

A run that goes on from a checkpoint ends with the same bits as one that was never interrupted. That holds only for the
same data and settings: `why_not` says what differs.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from robustream import files
from robustream.errors import DamagedFileError
from robustream.files import Tree
from robustream.persistence.checking import take, take_optional
from robustream.persistence.models import numbers_in
from robustream.persistence.settings import build
from robustream.persistence.streams import decode_stream, encode_stream
from robustream.runs.online import Stream

__all__ = ["KIND", "Checkpoint", "checkpoint_from_tree", "read_checkpoint", "why_not", "write_checkpoint"]

KIND = "checkpoint"

# What changes how fast a run goes, not where it goes.
_IRRELEVANT = {("parameters", "n_jobs")}

_OTHER_DATA = (
    "the checkpoint is of other data (files were added, removed or changed since): run over the same files, or start "
    "again"
)


class Checkpoint(NamedTuple):
    """A run at one moment."""

    stream: Stream
    settings: Tree  # what `settings_of` gives; further entries are compared as well
    fingerprint: str | None  # of the data; None if they have none
    position: int  # the index of the next batch
    history: Tree = None  # what the report will show


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint; if that fails, the one before is still there."""
    tree = checkpoint._asdict() | {"stream": encode_stream(checkpoint.stream)}
    files.write(path, tree, KIND)


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint, or raise DamagedFileError or NewerFormatError."""
    tree = files.read(path, KIND)
    with files.naming(path):
        return checkpoint_from_tree(tree)


def checkpoint_from_tree(tree: Tree) -> Checkpoint:
    """Give the checkpoint that the content of a file describes."""
    settings = take(tree, "settings", dict)
    model, plan = build(settings, numbers_in(tree))
    position = take(tree, "position", int)
    if tree.keys() != set(Checkpoint._fields) or position < 0:
        raise DamagedFileError("it has other entries than a checkpoint has")
    return Checkpoint(
        decode_stream(take(tree, "stream", dict), plan, model._layout.columns, model._layout.outputs),
        settings,
        take_optional(tree, "fingerprint", str),
        position,
        tree["history"],
    )


def why_not(checkpoint: Checkpoint, settings: Tree, fingerprint: str | None) -> str | None:
    """Give the reason why a run with these settings over these data cannot go on from a checkpoint, or None."""
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
    """Give what is compared one by one: the entries, and those of entries that are groups, such as the parameters."""
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
