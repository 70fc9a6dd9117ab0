"""Large arrays reach local workers through shared memory, memory-mapped ones by their path."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from robustream.engines import LocalEngine
from robustream.engines.shared_memory import Segments, dump


@pytest.fixture(scope="module")
def engine():
    with LocalEngine(n_jobs=1) as engine:
        yield engine


def open_files():
    return set(os.listdir("/proc/self/fd"))


ARRAYS = {
    "rows": np.arange(30_000.0).reshape(300, 100),
    "columns": np.asfortranarray(np.arange(30_000.0).reshape(300, 100)),
    "every second": np.arange(60_000, dtype=np.int32).reshape(200, 300)[::2, 1:],
    "text": np.array([f"word {number}" for number in range(20_000)]),
    "float32": np.linspace(0, 1, 100_000, dtype=np.float32)[::-1],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_arrives_as_it_was_but_not_through_the_pipe(name):
    array = ARRAYS[name]
    segments = Segments()
    message = dump({"nested": [array]}, segments)
    assert len(message) < 1000
    arrived = pickle.loads(message)["nested"][0]
    segments.clear()
    np.testing.assert_array_equal(arrived, array)
    assert arrived.dtype == array.dtype
    assert arrived.flags.f_contiguous == array.flags.f_contiguous or not array.flags.forc
    arrived[...] = arrived[::-1].copy()


@pytest.mark.parametrize("view", [np.s_[:], np.s_[1000:2000], np.s_[5::3, 2:9]])
def test_a_memory_mapped_array_is_opened_by_its_path(tmp_path, view):
    path = tmp_path / "rows.npy"
    np.save(path, np.arange(90_000.0).reshape(9_000, 10))
    array = np.load(path, mmap_mode="r")[view]
    before = open_files()
    message = dump(np.asarray(array), Segments())
    assert open_files() == before
    assert len(message) < 1000
    assert str(path).encode() in message or array.nbytes < 65536
    np.testing.assert_array_equal(pickle.loads(message), array)


def test_small_arrays_and_objects_are_pickled_as_ever():
    segments = Segments()
    before = open_files()
    objects = np.array([{}] * 10_000, dtype=object)
    assert pickle.loads(dump([np.arange(5), objects], segments))[1].shape == (10_000,)
    assert open_files() == before


def test_segments_are_freed_after_results_errors_and_deaths(engine):
    def total(task):
        kind, array = task
        if kind == "raise":
            raise ValueError("as planned")
        if kind == "die":
            os.kill(os.getpid(), 9)
        return str(int(array.sum())).encode()

    array = np.ones(100_000)
    list(engine.imap(total, [("sum", array)]))
    before = open_files()
    tasks = [(kind, array[first:]) for first, kind in enumerate(["sum", "raise", "die", "sum"])]
    results = {result.index: result for result in engine.imap(total, tasks, retries=0)}
    assert [results[index].payload for index in (0, 3)] == [b"100000", b"99997"]
    assert "ValueError" in results[1].error
    assert "died" in results[2].error
    cut = engine.imap(total, [("sum", array)] * 4, window=3)
    next(cut)
    cut.close()
    list(engine.imap(total, [("sum", array)]))
    assert len(open_files()) == len(before)
