"""Replies that wait for one before them: in memory up to a limit, beyond it in a temporary file."""

from __future__ import annotations

import tempfile
from types import TracebackType
from typing import BinaryIO, NamedTuple

__all__ = ["WaitingRoom"]


class _Place(NamedTuple):
    offset: int
    size: int


class WaitingRoom:
    """Keeps payloads by number; a straggler at the front cannot fill the driver's memory with those behind it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: dict[int, bytes] = {}
        self._spilled: dict[int, _Place] = {}
        self.held_bytes = 0
        self._file: BinaryIO | None = None

    def __enter__(self) -> WaitingRoom:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def __contains__(self, number: int) -> bool:
        return number in self._held or number in self._spilled

    def put(self, number: int, payload: bytes) -> None:
        """Keep a payload."""
        if self.held_bytes + len(payload) <= self._limit:
            self._held[number] = payload
            self.held_bytes += len(payload)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="robustream-")  # noqa: SIM115 (closed with the room)
        self._spilled[number] = _Place(self._file.seek(0, 2), len(payload))
        self._file.write(payload)

    def take(self, number: int) -> bytes:
        """Give a payload and forget it."""
        if number in self._held:
            payload = self._held.pop(number)
            self.held_bytes -= len(payload)
            return payload
        place = self._spilled.pop(number)
        assert self._file is not None
        self._file.seek(place.offset)
        return self._file.read(place.size)
