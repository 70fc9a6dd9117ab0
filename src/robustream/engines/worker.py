"""The worker's side of the local engine: take a task, do it, reply, until the driver is gone."""

from __future__ import annotations

import os
import select
import signal
import socket
import threading

from robustream.engines.remote_call import call_pickled
from robustream.engines.wire import pack_reply, receive, send

__all__ = ["FUNCTION", "READY", "TASK", "serve"]

# The first byte of each message from the driver says what follows; the worker's first message says that it is there.
FUNCTION = b"F"
TASK = b"T"
READY = b"R"


def serve(channel: socket.socket) -> None:
    """Work until the driver closes its end."""
    # Ctrl-C reaches the whole group of processes; it is for the driver to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_driver, args=(channel.fileno(),), daemon=True).start()
    function = b""
    try:
        send(channel, READY)
        while (message := receive(channel)) is not None:
            kind, body = bytes(message[:1]), bytes(message[1:])
            if kind == FUNCTION:
                function = body
            else:
                send(channel, *pack_reply(call_pickled(function, body)))
    except ConnectionError:
        pass


def _leave_with_driver(descriptor: int) -> None:
    """End this process, in the middle of a task too, once the driver has hung up or died."""
    watch = select.poll()
    # Asking for nothing leaves what is always reported: that the other end is closed.
    watch.register(descriptor, 0)
    watch.poll()
    os._exit(0)
