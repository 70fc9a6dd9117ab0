"""The book of batches: it never changes in the hands of those who hold it, and does not grow without end."""

from __future__ import annotations

from robustream.batch import Estimate
from robustream.runs import ledger as module
from robustream.runs.ledger import Ledger


def test_longer_books_leave_shorter_ones_alone():
    short = _entered(3, failing=2)
    long, other = (short.enter(Estimate(3, label, 1, None), True, "") for label in "ab")
    assert [record.label for record in short.records] == ["0", "1", "2"]
    assert [record.label for record in long.records] == ["0", "1", "2", "a"]
    assert [record.label for record in other.records] == ["0", "1", "2", "b"]


def test_a_long_book_is_in_pages():
    book = _entered(1234, failing=7)
    assert [record.index for record in book.records] == list(range(1234))
    assert max(map(len, book.listed.pages)) < 1000
    assert Ledger.of(book.records, book.usable, book.total) == book


def test_a_late_batch_can_be_revised():
    book = _entered(3, failing=5).miss(3, "late one", "no reply")
    assert (book.usable, book.total) == (2, 4)
    after = book.revise(Estimate(3, "late one", 10, None), True, "")
    assert (after.usable, after.total) == (3, 4)
    assert after.records[3].verdict == "kept"


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
