"""What passes between the local engine and its workers: length-prefixed messages over a socket pair.

The driver reads without ever blocking on one worker, so that a worker that stops in the middle of a message holds up
nobody. Tasks go out by pickle. Replies come back as a fixed header, two texts and raw bytes: nothing in a reply can
run code or fail to load in the driver.
"""

from __future__ import annotations

import socket
import struct

from robustream.engines.base import Reply

__all__ = ["Inbox", "pack_reply", "receive", "send", "unpack_reply"]

_LENGTH = struct.Struct("<Q")
_REPLY = struct.Struct("<dQQ?")
_CHUNK = 1 << 20


def send(channel: socket.socket, *pieces: bytes) -> None:
    """Send one message made of pieces, waiting until it is on its way."""
    header = _LENGTH.pack(sum(len(piece) for piece in pieces))
    small = sum(len(piece) for piece in pieces) < _CHUNK // 16
    # One write for a short message; a long one is not worth a copy.
    for piece in [b"".join((header, *pieces))] if small else (header, *pieces):
        channel.sendall(piece)


def receive(channel: socket.socket) -> bytearray | None:
    """Wait for one message; None at the end of the connection."""
    header = _read(channel, _LENGTH.size)
    return None if header is None else _read(channel, _LENGTH.unpack(header)[0])


def _read(channel: socket.socket, size: int) -> bytearray | None:
    buffer = bytearray(size)
    view, filled = memoryview(buffer), 0
    while filled < size:
        count = channel.recv_into(view[filled:])
        if count == 0:
            return None
        filled += count
    return buffer


class Inbox:
    """Puts one message after another together from whatever has arrived."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._start(_LENGTH.size, header=True)

    def _start(self, size: int, *, header: bool) -> None:
        self._buffer, self._filled, self._header = bytearray(size), 0, header

    def poll(self) -> bytearray | None:
        """Give the next message if it is complete; raises EOFError at the end of the connection."""
        while self._filled < len(self._buffer):
            try:
                with memoryview(self._buffer) as view:
                    count = self._channel.recv_into(view[self._filled :], 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            except ConnectionError as error:
                raise EOFError from error
            if count == 0:
                raise EOFError
            self._filled += count
            if self._header and self._filled == len(self._buffer):
                self._start(_LENGTH.unpack(self._buffer)[0], header=False)
        message = self._buffer
        self._start(_LENGTH.size, header=True)
        return message


def pack_reply(reply: Reply) -> tuple[bytes, ...]:
    """Give a reply as pieces of a message."""
    worker, error = reply.worker.encode(), (reply.error or "").encode("utf-8", "replace")
    header = _REPLY.pack(reply.seconds, len(worker), len(error), reply.payload is not None)
    return header, worker, error, reply.payload or b""


def unpack_reply(message: bytearray) -> Reply:
    """Read a reply."""
    seconds, worker_size, error_size, has_payload = _REPLY.unpack_from(message)
    first = _REPLY.size + worker_size
    last = first + error_size
    worker, error = message[_REPLY.size : first].decode(), message[first:last].decode("utf-8", "replace")
    with memoryview(message) as view:
        payload = bytes(view[last:]) if has_payload else None
    return Reply(payload, None if has_payload else error, worker, seconds)
