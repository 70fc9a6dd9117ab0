"""What every source must do; a check takes the source, which must be finite."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np

from robustream.batch import Batch
from robustream.sources import Source

__all__ = ["SOURCE_CHECKS", "check_source"]

SourceCheck = Callable[[Source], None]


def check_source(source: Source) -> None:
    """Run all checks on a finite source."""
    for check in SOURCE_CHECKS:
        check(source)


def check_indices_count_from_zero(source: Source) -> None:
    """Batches are numbered in order, and as many as announced."""
    indices = [batch.index for batch in source]
    assert indices == list(range(len(indices)))
    assert source.count in (None, len(indices))


def check_every_pass_is_the_same(source: Source) -> None:
    """A second pass yields the same batches."""
    for first, second in zip(source, source, strict=True):
        _assert_equal(first, second)


def check_it_starts_at_any_position(source: Source) -> None:
    """Starting at a position yields what a full pass yields from there on."""
    everything = list(source)
    for start in {0, 1, len(everything) // 2, len(everything) - 1, len(everything)}:
        for first, second in zip(source.batches(start), everything[start:], strict=True):
            _assert_equal(first, second)


def check_batches_are_labelled_and_alike(source: Source) -> None:
    """Each batch has rows, a label of its own, and the columns of the others."""
    batches = list(source)
    assert len({batch.label for batch in batches}) == len(batches)
    for batch in batches:
        assert batch.label
        assert batch.rows > 0
        assert batch.X.shape[1] == batches[0].X.shape[1]
        assert (batch.y is None) == (batches[0].y is None)
        assert batch.y is None or len(batch.y) == batch.rows


def check_partitions_are_the_batches(source: Source) -> None:
    """Partitions that were sent elsewhere, read from any of their batches on, yield the batches of the source."""
    partitions = source.partitions()
    if partitions is None:
        return
    everything = list(source)
    place = 0
    for partition in pickle.loads(pickle.dumps(list(partitions))):
        assert partition.first_index == place
        assert partition.label
        for start in {0, partition.count - 1, partition.count}:
            expected = everything[place + start : place + partition.count]
            for first, second in zip(partition.read(start), expected, strict=True):
                _assert_equal(first, second)
        place += partition.count
    assert place == len(everything)


def check_the_fingerprint_stays(source: Source) -> None:
    """A fingerprint, if there is one, is short and does not change by reading."""
    before = source.fingerprint()
    list(source)
    assert source.fingerprint() == before
    assert before is None or 0 < len(before) <= 64


def _assert_equal(first: Batch, second: Batch) -> None:
    assert first[:2] == second[:2]
    np.testing.assert_array_equal(first.X, second.X)
    if first.y is not None:
        np.testing.assert_array_equal(first.y, second.y)


SOURCE_CHECKS: tuple[SourceCheck, ...] = (
    check_indices_count_from_zero,
    check_every_pass_is_the_same,
    check_it_starts_at_any_position,
    check_batches_are_labelled_and_alike,
    check_partitions_are_the_batches,
    check_the_fingerprint_stays,
)
