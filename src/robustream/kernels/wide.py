"""Where many wide estimates are worked on: on the host, or on the GPU that a run has used for its batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from robustream.errors import DeviceError

__all__ = ["place_wide", "wide_on_gpu"]

_wanted: ContextVar[bool] = ContextVar("robustream_wide_on_gpu", default=False)
# Numbers in all estimates from which on the passes over them take longer than the copy; equal at half of it on an H200.
_WIDE = 1 << 23
# Of more estimates than this what there is one of for each would stay there too, where the small steps are slow.
_MOST = 1 << 13


@contextmanager
def wide_on_gpu(wanted: bool) -> Iterator[None]:
    """Work on wide estimates on the GPU within the block, if that is wanted."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def place_wide(stack: Any) -> Any:
    """Give estimates side by side where they are to be worked on: as they are unless the GPU is wanted and pays."""
    if not (_wanted.get() and isinstance(stack, np.ndarray) and stack.size >= _WIDE and len(stack) <= _MOST):
        return stack
    from robustream.kernels.gpu.lending import lend_stack

    try:
        return lend_stack(stack)
    except DeviceError:
        # A model that was fitted on a GPU can be read where there is none.
        return stack
