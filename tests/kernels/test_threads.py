"""How the kernels use threads."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from robustream.errors import InvalidInputError
from robustream.kernels import threads
from robustream.kernels.threads import get_threads, limit_threads, one_blas_thread, run_tiles


@pytest.fixture(autouse=True)
def _no_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(threads.ENVIRONMENT_VARIABLE, raising=False)


def squares(count: int) -> list[int]:
    found = [0] * count

    def square(number: int) -> None:
        found[number] = number * number

    run_tiles(square, range(count))
    return found


def expected(count: int) -> list[int]:
    return [number * number for number in range(count)]


def test_default_is_the_cores_of_this_process() -> None:
    assert get_threads() == threads._available_cores() >= 1


def test_environment_variable_sets_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threads.ENVIRONMENT_VARIABLE, "7")
    assert get_threads() == 7
    with limit_threads(2):
        assert get_threads() == 2


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_bad_environment_variable(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threads.ENVIRONMENT_VARIABLE, value)
    with pytest.raises(InvalidInputError, match=f"ROBUSTREAM_NUM_THREADS must be .* {value!r}"):
        get_threads()


@pytest.mark.parametrize("value", [0, -3, 1.0, "2", True, None])
def test_bad_limit(value: object) -> None:
    with pytest.raises(InvalidInputError, match="threads must be a whole number"), limit_threads(value):  # type: ignore[arg-type]
        pass


def test_limits_nest_and_end_with_their_block() -> None:
    before = get_threads()
    with limit_threads(3):
        with limit_threads(1):
            assert get_threads() == 1
        assert get_threads() == 3
    assert get_threads() == before


def test_limit_holds_in_its_own_thread_only() -> None:
    with limit_threads(5), ThreadPoolExecutor(1) as pool:
        assert pool.submit(get_threads).result() == threads._available_cores()


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_every_tile_runs_once(count: int) -> None:
    with limit_threads(count):
        assert squares(100) == expected(100)
        assert squares(0) == []


def test_one_thread_or_one_tile_stays_in_the_calling_thread() -> None:
    seen: list[int] = []
    with limit_threads(1):
        run_tiles(lambda _: seen.append(threading.get_ident()), range(5))
    with limit_threads(4):
        run_tiles(lambda _: seen.append(threading.get_ident()), range(1))
    assert set(seen) == {threading.get_ident()}


def test_several_threads_do_work_at_once() -> None:
    # Both tiles wait for the other: in one thread this could not end.
    meeting = threading.Barrier(2, timeout=30)
    with limit_threads(2):
        run_tiles(lambda _: meeting.wait() and None, range(2))


def test_nested_calls() -> None:
    found: dict[int, list[int]] = {}
    with limit_threads(4):
        run_tiles(lambda number: found.update({number: squares(number)}), range(40))
    assert found == {number: expected(number) for number in range(40)}


def test_tiles_within_tiles_stay_in_their_thread() -> None:
    seen: list[int] = []
    with limit_threads(4):
        run_tiles(lambda _: seen.append(get_threads()), range(8))
    assert seen == [1] * 8


def test_calls_from_many_python_threads() -> None:
    with ThreadPoolExecutor(16) as pool:
        assert all(result == expected(50) for result in pool.map(squares, [50] * 64))


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_in_a_tile_is_raised(count: int) -> None:
    def fail(number: int) -> None:
        if number == 11:
            raise KeyError("tile 11")

    with limit_threads(count), pytest.raises(KeyError, match="tile 11"):
        run_tiles(fail, range(40))
    with limit_threads(count):
        assert squares(10) == expected(10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork() -> None:
    with limit_threads(3):
        squares(30)
        process = multiprocessing.get_context("fork").Process(target=_squares_in_a_child)
        process.start()
        process.join(60)
    assert process.exitcode == 0


def _squares_in_a_child() -> None:
    assert squares(30) == expected(30)


def blas_threads() -> int:
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def test_blocks_of_several_threads_leave_no_limit_on_blas_behind() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    before = blas_threads()
    begun, end = threading.Event(), threading.Event()

    def overlap() -> None:
        with one_blas_thread():
            begun.set()
            end.wait()

    with ThreadPoolExecutor(1) as pool:
        with one_blas_thread(), one_blas_thread():
            other = pool.submit(overlap)
            begun.wait()
            assert blas_threads() == 1
        end.set()
        other.result()
    assert blas_threads() == before
