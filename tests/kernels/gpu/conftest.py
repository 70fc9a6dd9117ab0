"""The tests of this folder that take `cupy` run only where there is a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from robustream.errors import DeviceError
from robustream.kernels.gpu.device import load_cupy


@pytest.fixture(scope="session")
def cupy() -> Any:
    try:
        return load_cupy()
    except DeviceError as error:
        pytest.skip(str(error))
