import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.errors import InvalidInputError
from robustream.sources import ArraySource, batch_at, cut

# Slow moments of a busy machine are no failures, and every run tries the same examples.
REPEATABLE = settings(deadline=None, derandomize=True)


@REPEATABLE
@given(st.integers(1, 5_000), st.integers(1, 6_000))
def test_cuts_are_contiguous_complete_and_nearly_equal(n_rows: int, batch_size: int) -> None:
    slices = cut(n_rows, batch_size)
    rows = [row for piece in slices for row in range(piece.start, piece.stop)]
    assert rows == list(range(n_rows))
    sizes = [piece.stop - piece.start for piece in slices]
    assert max(sizes) - min(sizes) <= 1
    if n_rows >= batch_size:
        assert min(sizes) >= 0.75 * batch_size - 1
        assert max(sizes) <= 1.5 * batch_size
    else:
        assert len(slices) == 1


def test_exact_multiples_give_exact_batches() -> None:
    assert {piece.stop - piece.start for piece in cut(1_000_000, 10_000)} == {10_000}


@REPEATABLE
@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 70))
def test_batches_are_views_and_restart_anywhere(n_rows: int, batch_size: int, start: int) -> None:
    X, y = np.arange(2 * n_rows).reshape(n_rows, 2), np.arange(n_rows)
    source = ArraySource(X, y, batch_size=batch_size)
    whole = list(source)
    assert len(whole) == source.count
    assert [batch.index for batch in whole] == list(range(source.count))
    for batch, again in zip(whole[start:], source.batches(start=start), strict=True):
        assert np.shares_memory(batch.X, X)
        assert np.shares_memory(batch.y, y)
        assert batch.label == again.label == f"rows {batch.y[0]}-{batch.y[-1]}"
        np.testing.assert_array_equal(batch.X, again.X)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"X": np.zeros(3), "batch_size": 1}, "X must be"),
        ({"X": np.zeros((0, 3)), "batch_size": 1}, "X must be"),
        ({"X": np.zeros((3, 1)), "y": np.zeros(2), "batch_size": 1}, "y must have"),
        ({"X": np.zeros((3, 1)), "batch_size": 0}, "batch_size must be"),
        ({"X": np.zeros((3, 1)), "batch_size": 1.5}, "batch_size must be"),
        ({"X": np.zeros((3, 1)), "batch_size": True}, "batch_size must be"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        ArraySource(**arguments)


def test_a_batch_that_is_not_there() -> None:
    with pytest.raises(InvalidInputError, match="no batch 7"):
        batch_at(ArraySource(np.zeros((4, 1)), batch_size=2), 7)
