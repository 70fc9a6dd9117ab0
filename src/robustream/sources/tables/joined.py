"""Small files joined into one batch, for those who ask for it: their rows then stand or fall together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from robustream.sources.tables.base import Outcome, Pieces, UnreadablePieces
from robustream.sources.tables.conversion import Rows, Selection
from robustream.sources.tables.reasons import UnusableError, explain

__all__ = ["JoinedPieces", "join_small"]


@dataclass(frozen=True)
class JoinedPieces(Pieces):
    """Files of one piece each as one batch."""

    members: tuple[Pieces, ...]
    count: int = 1

    @property
    def path(self) -> str:  # type: ignore[override]
        """Name the first and the last file."""
        return f"{self.members[0].path} to {self.members[-1].path} ({len(self.members)} files)"

    def label(self, place: int) -> str:
        return self.path

    def read(self, start: int, stop: int, selection: Selection) -> Iterator[Outcome]:
        parts: list[Rows] = []
        for member in self.members:
            try:
                outcome = next(member.read(0, 1, selection))
            except Exception as error:
                outcome = UnusableError(explain(error, member.format))
            if isinstance(outcome, UnusableError):
                yield UnusableError(f"{member.path}: {outcome}")
                return
            parts.append(outcome)
        yield _together(parts)

    def fingerprint(self) -> str:
        return "\n".join(member.fingerprint() for member in self.members)


def join_small(files: Sequence[tuple[Pieces, int]], rows_per_batch: int) -> list[Pieces]:
    """Join neighbouring files of fewer rows than a batch until they make one.

    Parameters
    ----------
    files : the pieces of each file with the number of its rows. Files that are known to be unusable stay alone.
    rows_per_batch : the rows wanted in a batch.
    """
    joined: list[Pieces] = []
    waiting: list[Pieces] = []
    rows_waiting = 0
    for pieces, rows in files:
        small = pieces.count == 1 and rows < rows_per_batch and not isinstance(pieces, UnreadablePieces)
        if small:
            waiting.append(pieces)
            rows_waiting += rows
        if waiting and (not small or rows_waiting >= rows_per_batch):
            joined.append(_join(waiting))
            waiting, rows_waiting = [], 0
        if not small:
            joined.append(pieces)
    return [*joined, _join(waiting)] if waiting else joined


def _join(pieces: list[Pieces]) -> Pieces:
    return pieces[0] if len(pieces) == 1 else JoinedPieces(tuple(pieces))


def _together(parts: Sequence[Rows]) -> Rows:
    targets = [part.y for part in parts if part.y is not None]
    firsts = [0, *accumulate(len(part.X) for part in parts)]
    illegible = [
        cells._replace(row=first + cells.row)
        for part, first in zip(parts, firsts, strict=False)
        for cells in part.illegible
    ]
    X = np.concatenate([part.X for part in parts])
    return Rows(X, np.concatenate(targets) if targets else None, tuple(illegible))
