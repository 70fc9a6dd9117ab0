"""A thread that reads ahead: bounded, in order, and gone when nobody needs it."""

import gc
import threading

import pytest

from robustream.errors import InvalidInputError
from robustream.sources import read_ahead


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "read-ahead"]


@pytest.mark.parametrize("depth", [1, 2, 100])
def test_items_come_in_order(depth):
    assert list(read_ahead(iter(range(50)), depth)) == list(range(50))
    assert not readers()


def test_no_more_than_the_depth_is_read_ahead():
    made = []
    blocked = threading.Event()

    def items():
        for number in range(20):
            made.append(number)
            if number == 4:
                blocked.set()
            yield number

    ahead = read_ahead(items(), 3)
    assert next(ahead) == 0
    # Three wait and one is in the reader's hands: number 4 is made, and 5 is not until 1 has been taken.
    assert blocked.wait(30)
    assert made == [0, 1, 2, 3, 4]
    assert list(ahead) == list(range(1, 20))


def test_errors_come_after_the_items_before_them():
    def items():
        yield 1
        raise KeyError("broken")

    ahead = read_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(KeyError, match="broken"):
        next(ahead)
    assert list(ahead) == []


@pytest.mark.parametrize("how", ["close", "forget"])
def test_giving_up_closes_the_iterator(how):
    closed = threading.Event()

    def items():
        try:
            while True:
                yield object()
        finally:
            closed.set()

    ahead = read_ahead(items(), 2)
    next(ahead)
    if how == "close":
        ahead.close()
    del ahead
    gc.collect()
    assert closed.wait(30)
    assert not readers()


def test_nothing_runs_before_the_first_item_is_asked_for():
    read_ahead(iter([1]))
    assert not readers()


def test_the_depth_is_checked():
    with pytest.raises(InvalidInputError, match="depth must be"):
        read_ahead(iter([]), 0)
