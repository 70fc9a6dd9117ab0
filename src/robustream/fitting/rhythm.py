"""How often a checkpoint is written: after so many batches, or so many seconds."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np

from robustream.errors import InvalidInputError

__all__ = ["Rhythm"]

_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0, "minutes": 60.0, "h": 3600.0, "hours": 3600.0}
_BATCHES = ("batch", "batches")


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
