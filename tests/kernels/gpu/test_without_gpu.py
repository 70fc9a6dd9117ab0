"""What must hold on machines without a GPU: clear messages, nothing imported, and plans that leave no pair out."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

import robustream as rs
from robustream.errors import DeviceError, InvalidInputError
from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.gpu.digits import digit_places
from robustream.kernels.gpu.plan import SIDE, THREADS, _tiles, plan_of

without_cupy = pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")


@without_cupy
@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(1, device="cuda"), rs.OutlierRobustRegressor(device="cuda")])
def test_the_message_says_what_to_install(model):
    rows = np.random.default_rng(0).normal(size=(300, 3))
    with pytest.raises(DeviceError, match=r"robustream\[gpu\]"):
        model.fit(rows, rows[:, 0])
    assert "cupy" not in sys.modules


def test_an_unknown_device_is_refused():
    with pytest.raises(InvalidInputError, match="'tpu'"):
        rs.OutlierRobustPCA(1, device="tpu").fit(np.eye(3))


@pytest.mark.parametrize("values", [np.ones(3), [1.0], 2, None, "text"])
def test_host_values_are_not_taken_for_device_arrays(values):
    assert not is_device_array(values)


@pytest.mark.parametrize(("bits", "digit"), [(31, 11), (63, 11), (32, 8), (64, 8)])
def test_digits_cover_every_bit_once(bits, digit):
    covered = [bit for shift, width in digit_places(bits, digit) for bit in range(shift, shift + width)]
    assert sorted(covered) == list(range(bits))


@pytest.mark.parametrize("columns", [1, 3, 4, 99, 100, 104, 105, 130, 1000])
def test_every_pair_of_columns_has_a_thread(columns):
    plan = plan_of(10_000, columns, columns, True)
    tiles = _tiles(plan.left_width, plan.right_width, plan.same)
    assert len(tiles) <= THREADS
    groups = {(tile >> 16, tile & 0xFFFF) for tile in tiles}
    sides = plan.left_width // SIDE, plan.right_width // SIDE
    needed = {(i, j) for i in range(sides[0]) for j in range(sides[1]) if not plan.same or i <= j}
    assert groups == needed
    assert plan.left_width == plan.right_width
    assert not plan.same or plan.left_width >= columns
