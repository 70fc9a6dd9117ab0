"""What every source must do; a check takes the source, which must be finite."""

from __future__ import annotations

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
)
