"""Trees come back as they were, and anyone with safetensors can read them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import load as load_with_safetensors

from robustream import files
from robustream.errors import DamagedFileError, InvalidInputError

NUMBER_TYPES = [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64]
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
arrays = st.sampled_from(NUMBER_TYPES).flatmap(lambda dtype: hnp.arrays(dtype, shapes))
texts = hnp.arrays("U5", shapes) | hnp.arrays(object, shapes, elements=st.text(), fill=st.nothing())
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | arrays
    | texts
    | arrays.map(np.asfortranarray)
    | arrays.filter(lambda array: array.size > 0).map(lambda array: array.reshape(-1)[0])
)
keys = st.text() | st.sampled_from(["$tensor", "$$text", "@", "__metadata__", "a/b", "a_b"])
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


def assert_same(first, second):
    assert type(first) is type(second)
    if isinstance(first, np.ndarray):
        assert first.dtype == second.dtype
        assert first.shape == second.shape
        assert first.tolist() == second.tolist() if first.dtype.kind in "UO" else first.tobytes() == second.tobytes()
        assert first.flags.f_contiguous == second.flags.f_contiguous
        assert second.flags.writeable
    elif isinstance(first, np.generic):
        assert first.tobytes() == second.tobytes() or (np.isnan(first) and np.isnan(second))
    elif isinstance(first, list):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same(one, other)
    elif isinstance(first, dict):
        assert list(first) == list(second)
        for key in first:
            assert_same(first[key], second[key])
    elif isinstance(first, float):
        assert repr(first) == repr(second)
    else:
        assert first == second


@given(trees)
def test_every_tree_comes_back(tree):
    assert_same(tree, files.unpack(files.pack(tree, "example"), "example"))


@given(trees)
def test_safetensors_reads_what_is_packed(tree):
    load_with_safetensors(files.pack(tree, "example"))


@pytest.mark.parametrize(
    "number", [0.1, -0.0, 5e-324, math.pi * 1e300, math.inf, -math.inf, math.nan, 2**63, -(2**64), True, 1]
)
def test_numbers_are_exact(number):
    assert_same({"x": [number, number]}, files.unpack(files.pack({"x": [number, number]}, "example"), "example"))


def test_numbers_of_many_digits_come_back():
    tree = {"large": 10**5000, "list": [-(10**5000), 1]}
    assert files.unpack(files.pack(tree, "example"), "example") == tree


def test_arrays_have_readable_names_and_the_rest_is_json(tmp_path):
    path = tmp_path / "state.safetensors"
    matrix = np.arange(6.0).reshape(2, 3)
    files.write(path, {"answer": {"coef_": matrix}, "list": [np.array(True)], "label": "north"}, "example")
    with safe_open(path, "np") as file:
        assert set(file.keys()) == {"answer/coef_", "list/0"}
        assert np.array_equal(file.get_tensor("answer/coef_"), matrix)
        metadata = file.metadata()
    assert metadata["kind"] == "example"
    assert metadata["format"] == "1"
    assert json.loads(metadata["tree"])["label"] == "north"


def test_big_endian_and_strided_arrays_keep_their_values():
    tree = {"big": np.arange(4, dtype=">f8"), "strided": np.arange(12.0).reshape(3, 4)[:, ::-2]}
    back = files.unpack(files.pack(tree, "example"), "example")
    assert np.array_equal(back["big"], tree["big"])
    assert np.array_equal(back["strided"], tree["strided"])


def test_the_same_tree_gives_the_same_bytes():
    tree = {"b": np.ones(3), "a": np.zeros((2, 2), np.float32), "c": {"z": 1, "y": 2}}
    assert files.pack(tree, "example") == files.pack(tree, "example")


def test_one_long_text_among_many_short_ones_is_stored_thriftily_both_ways():
    texts = np.array(["x" * 3000] + ["y"] * 500)
    packed = files.pack(texts, "example")
    assert len(packed) < 1.1 * texts.nbytes
    assert_same(texts, files.unpack(packed, "example"))


def test_a_text_longer_than_any_header_comes_back(monkeypatch):
    monkeypatch.setattr("robustream.files.format._LONGEST_TEXT", 100)
    tree = {"labels": ["north", "south"] * 20, "numbers": np.arange(3)}
    packed = files.pack(tree, "example")
    assert int.from_bytes(packed[:8], "little") < 400
    assert_same(tree, files.unpack(packed, "example"))


@pytest.mark.parametrize("bad", [object(), {1: 2}, (1, 2), np.array([1j]), np.array([1, "a"], object), b"bytes", {1.5}])
def test_what_cannot_be_stored_is_refused(bad):
    with pytest.raises(InvalidInputError, match="stored"):
        files.pack({"value": bad}, "example")


def test_nesting_without_end_is_refused_when_written():
    tree = []
    for _ in range(100):
        tree = [tree]
    with pytest.raises(InvalidInputError, match="nested"):
        files.pack(tree, "example")


def test_one_kind_is_not_taken_for_another(tmp_path):
    path = tmp_path / "model.safetensors"
    files.write(path, {"a": 1}, "model")
    assert files.read(path, "model") == {"a": 1}
    assert files.read_any(path).kind == "model"
    with pytest.raises(
        DamagedFileError, match=r"model\.safetensors cannot be used: it holds a model, not a checkpoint"
    ):
        files.read(path, "checkpoint")


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.read(tmp_path / "none.safetensors", "model")
