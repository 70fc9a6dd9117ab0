"""Batches from iterables of many kinds."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources import IterableSource

ROWS = np.arange(12.0).reshape(6, 2)


def test_arrays_and_pairs():
    (batch,) = IterableSource([ROWS])
    assert batch.X is ROWS
    assert batch.y is None
    (batch,) = IterableSource([(ROWS.astype(np.float32), np.arange(6))])
    assert batch.X.dtype == np.float32
    assert batch.y.tolist() == [0, 1, 2, 3, 4, 5]
    (batch,) = IterableSource([ROWS.astype(int).tolist()])
    assert batch.X.dtype == np.float64


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        lambda columns: pa.table(columns),
        lambda columns: pa.table(columns).to_batches()[0],
    ],
)
def test_tables_are_matched_by_name(make):
    first = make({"a": [1.0, 2.0], "b": [3, 4], "id": ["u", "v"]})
    second = make({"id": ["u", "v"], "b": [7, 8], "a": [5.0, np.nan]})
    batches = list(IterableSource([first, second], target="b", exclude="id"))
    assert [(batch.X.tolist(), batch.y.tolist()) for batch in batches] == [([[1], [2]], [3, 4]), ([[5]], [7])]
    assert batches[1].stats == {"missing:a": 1, "rows dropped": 1}


def test_items_that_do_not_fit_fail_with_a_reason():
    wrong = [ROWS, ROWS[:, :1], (ROWS, np.arange(5)), (ROWS, np.arange(6)), "text", object(), None, ROWS[0], ROWS]
    batches = list(IterableSource(wrong))
    assert [batch.index for batch in batches] == list(range(9))
    assert [batch.failure is None for batch in batches] == [True, *[False] * 7, True]
    assert "1 columns and 0 targets where 2 and 0 are needed" in batches[1].failure
    tables = [pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]}), pd.DataFrame({"a": ["x"]})]
    assert [batch.failure is None for batch in IterableSource(tables)] == [True, False, False]


def test_the_first_usable_item_decides_wherever_the_reading_starts():
    items = [None, ROWS, ROWS[:, :1], ROWS[:, :1]]
    assert [batch.failure is None for batch in IterableSource(items).batches(2)] == [False, False]


def test_batches_pass_and_are_numbered():
    batches = list(IterableSource([Batch(7, "mine", ROWS), Batch(7, "too", ROWS)]))
    assert [(batch.index, batch.label) for batch in batches] == [(0, "mine"), (1, "too")]


def test_missing_cells_follow_the_rule():
    holes = ROWS.copy()
    holes[0, 1], holes[1, 0] = np.nan, np.inf
    (batch,) = IterableSource([holes])
    assert "infinite" in batch.failure
    (batch,) = IterableSource([holes], missing="skip-infinite")
    assert batch.stats == {"missing:f1": 1, "infinite:f0": 1, "rows dropped": 2}
    np.testing.assert_array_equal(batch.X, ROWS[2:])
    (batch,) = IterableSource([holes], missing="error")
    assert batch.failure


def test_what_can_be_read_again():
    source = IterableSource(lambda: iter([ROWS, ROWS]))
    assert source.count is None
    assert len(list(source)) == len(list(source)) == 2
    assert IterableSource([ROWS]).count == 1
    once = IterableSource(iter([ROWS, ROWS, ROWS]))
    assert [batch.index for batch in once.batches(1)] == [1, 2]
    with pytest.raises(InvalidInputError, match="cannot start again"):
        once.batches()


def test_errors_of_the_user():
    with pytest.raises(InvalidInputError, match="items must be an iterable"):
        IterableSource(3)
    with pytest.raises(InvalidInputError, match="target must be names of columns"):
        list(IterableSource([pd.DataFrame({"a": [1.0]})], target="b"))
    with pytest.raises(InvalidInputError, match="name columns of tables"):
        list(IterableSource([ROWS], target="b"))

    def breaks():
        yield ROWS
        raise OSError("the line is dead")

    batches = iter(IterableSource(breaks))
    next(batches)
    with pytest.raises(OSError, match="the line is dead"):
        next(batches)
