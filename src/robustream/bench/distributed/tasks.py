"""The tasks that engines are timed with; in a file of their own, so that workers load nothing else."""

from __future__ import annotations

import time

__all__ = ["SECONDS", "nothing", "slow_megabyte"]

SECONDS = 0.1


def nothing(_: int) -> bytes:
    """Take no time."""
    return b""


def slow_megabyte(_: int) -> bytes:
    """Take a tenth of a second without using the processor, and give a megabyte back."""
    time.sleep(SECONDS)
    return bytes(1_000_000)
