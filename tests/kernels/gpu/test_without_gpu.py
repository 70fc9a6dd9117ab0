"""What must hold on machines without a GPU: clear messages, nothing imported, and plans that leave no pair out."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

import robustream as rs
from robustream import files
from robustream.errors import DeviceError, InvalidInputError
from robustream.kernels.device_arrays import is_device_array, place_wide, wide_on_gpu
from robustream.kernels.gpu.selection import digit_places
from robustream.kernels.gpu.trimmed_pairs import SIDE, THREADS, _tiles, plan_of
from robustream.persistence.model import model_from_tree

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


def test_a_model_fitted_on_a_gpu_can_be_read_without_one(tmp_path):
    rows = np.random.default_rng(1).normal(size=(400, 3))
    model = rs.OutlierRobustPCA(1).fit(rows)
    rs.save(model, tmp_path / "model.safetensors")
    tree = files.read(tmp_path / "model.safetensors", "model")
    tree["settings"]["parameters"]["device"] = "cuda"
    loaded = model_from_tree(tree)
    assert loaded.device == "cuda"
    np.testing.assert_array_equal(loaded.transform(rows), model.transform(rows))
    assert model_from_tree(tree).batch_report_ == model.batch_report_


@without_cupy
def test_wide_estimates_stay_where_there_is_no_gpu():
    stack = np.zeros((8, 1 << 20), np.float32)
    with wide_on_gpu(True):
        assert place_wide(stack) is stack


@pytest.mark.parametrize("name", ["jax.numpy", "torch"])
def test_host_arrays_of_other_libraries_are_taken_as_numpy_arrays(name):
    library = pytest.importorskip(name)
    rows = np.random.default_rng(2).normal(size=(400, 3)).astype(np.float32)
    taken = library.asarray(rows) if name == "jax.numpy" else library.from_numpy(rows)
    if is_device_array(taken):
        pytest.skip("this library puts its arrays on a GPU")
    model = rs.OutlierRobustPCA(1).fit(taken)
    assert isinstance(model.components_, np.ndarray)
    np.testing.assert_array_equal(model.transform(taken), model.transform(rows))
