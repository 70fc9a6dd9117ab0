"""The book of batches: it never changes in the hands of those who hold it, and does not grow without end."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import pytest

from robustream.batch import Estimate
from robustream.runs import ledger as module
from robustream.runs.growing import Growing
from robustream.runs.ledger import Ledger


def test_longer_sequences_leave_shorter_ones_alone():
    short = Growing("ab")
    long, other = short.with_item("c"), short.with_item("d")
    longer = long.with_item("e")
    assert list(short) == ["a", "b"]
    assert list(other) == ["a", "b", "d"]
    assert longer[:] == ("a", "b", "c", "e")
    assert (len(short), len(long), len(longer)) == (2, 3, 4)


def test_a_growing_sequence_is_like_a_tuple():
    short = Growing([1, 2, 3])
    longer = short.with_item(4)
    assert longer != short
    assert short == (1, 2, 3)
    assert hash(short) == hash(Growing((1, 2, 3)))
    assert repr(short) == "(1, 2, 3)"
    assert short[-1] == 3
    assert short[1:] == (2, 3)
    assert 4 not in short
    with pytest.raises(IndexError):
        short[3]


def test_copies_hold_their_own_items_only():
    short = Growing([1])
    longer = short.with_item(2)
    for copied in (pickle.loads(pickle.dumps(short)), deepcopy(short)):
        assert copied == (1,)
        assert copied.with_item(3) == (1, 3)
    assert longer == (1, 2)


def test_growing_from_several_threads():
    base = Growing(range(100))
    with ThreadPoolExecutor(8) as pool:
        grown = list(pool.map(base.with_item, range(1000, 3000)))
    assert [sequence[-1] for sequence in grown] == list(range(1000, 3000))
    assert all(len(sequence) == 101 for sequence in grown)


def _entered(count: int, failing: int) -> Ledger:
    """Enter batches of which every so manieth fails."""
    book = Ledger()
    for index in range(count):
        accepted = index % failing != 0
        book = book.enter(Estimate(index, str(index), 1, None), accepted, "")
    return book


def test_beyond_a_limit_the_oldest_kept_ones_are_only_counted(monkeypatch):
    monkeypatch.setattr(module, "_MOST_RECORDS", 100)
    monkeypatch.setattr(module, "_SURPLUS", 10)
    book = _entered(1000, failing=20)
    assert book.total == 1000
    assert book.usable == 950
    assert 100 <= len(book.records) < 110
    assert book.uncounted == 1000 - len(book.records)
    failed = [record.index for record in book.records if record.verdict == "failed"]
    assert failed == list(range(0, 1000, 20))
    indices = [record.index for record in book.records]
    assert indices == sorted(indices)
    assert indices[-1] == 999


def test_a_book_of_failures_alone_is_bounded_too(monkeypatch):
    monkeypatch.setattr(module, "_MOST_RECORDS", 100)
    monkeypatch.setattr(module, "_SURPLUS", 10)
    book = _entered(500, failing=1)
    assert len(book.records) < 110
    assert book.records[-1].index == 499
