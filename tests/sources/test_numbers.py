"""Numbers as people write them are read by column, where there is one way to read them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.errors import InvalidInputError
from robustream.sources import Tables
from robustream.sources.tables.numbers import are_answers, read_numbers

WRITTEN = {
    "thousands": (["224", "1,416", "12,345,678"], [224, 1416, 12345678]),
    "thousands and decimals": (["1,416.5", "3"], [1416.5, 3]),
    "decimal commas": (["1.234,5", "7", "0,25"], [1234.5, 7, 0.25]),
    "apostrophes": (["1'234.5", "12\u2019345"], [1234.5, 12345]),
    "blanks": (["12 345", "1\u00a0234\u00a0567", "7"], [12345, 1234567, 7]),
    "money": (["$ 12", "$1,000.50", "-$3", "$-4"], [12, 1000.5, -3, -4]),
    "money after": (["12 €", "1000€"], [12, 1000]),
    "codes of money": (["USD 12", "USD 1,000"], [12, 1000]),
    "percent": (["12 %", "3.5%"], [12, 3.5]),
    "books": (["(12)", "12", "(1,000.5)"], [-12, 12, -1000.5]),
    "units": (["224 mi", "1,416 mi", "3mi"], [224, 1416, 3]),
    "degrees": (["20.5 °C", "\u22123 °C"], [20.5, -3]),
    "plain": (["1e5", "-.5", "inf", "+7"], [1e5, -0.5, math.inf, 7]),
}
IN_DOUBT = {
    "two units": (["3 mi", "5 km"], [None, None]),
    "a unit that few have": (["3", "4", "5 km"], [3, 4, None]),
    "both decimal signs": (["1,5", "2.5"], [None, 2.5]),
    "codes": (["N576AA", "10A", "B6", "word 1", "12:30", "31.12.2024", "1.2.3"], [None] * 7),
    "no thousands": (["0,123,456", "12,34,567.5"], [None, None]),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_what_is_a_number(case):
    cells, numbers = WRITTEN[case]
    assert read_numbers(cells) == numbers


@pytest.mark.parametrize("case", IN_DOUBT)
def test_what_is_in_doubt_is_none(case):
    cells, numbers = IN_DOUBT[case]
    assert read_numbers(cells) == numbers


def test_a_thousand_or_a_little_more_than_one():
    assert read_numbers(["1,234"], known=False) == [None]
    assert read_numbers(["1,234", "1,234,567"], known=False) == [1234, 1234567]
    assert read_numbers(["1.234"], ",") == [None]
    assert read_numbers(["1.234", "2,5"], ",") == [1234, 2.5]


def test_answers():
    assert are_answers(["Yes", "no"])
    assert are_answers(["Y", "n"])
    assert not are_answers(["yes", "unknown"])
    assert not are_answers([])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.text("0123456789.,'() -+$€%mikeE", max_size=9), max_size=6), st.sampled_from(".,"), st.booleans())
def test_anything_is_read_or_none(cells, decimal, known):
    numbers = read_numbers(cells, decimal, known=known)
    assert len(numbers) == len(cells)
    assert all(number is None or isinstance(number, float) for number in numbers)


@given(st.lists(st.floats(allow_nan=False).map(repr), min_size=1, max_size=5))
def test_numbers_of_machines_stay_what_they_are(cells):
    assert read_numbers(cells) == [float(cell) for cell in cells]


def test_a_column_of_a_file(tmp_path):
    lines = [f'{k},"{k + 500:,} mi",{k / 8} %,{"Yes" if k % 3 else "No"}' for k in range(1000)]
    (tmp_path / "a.csv").write_text("\n".join(["a,distance,share,late", *lines]))
    tables = Tables(tmp_path / "a.csv")
    X = np.concatenate([batch.X for batch in tables.in_batches(300)])
    rows = np.arange(1000)
    np.testing.assert_array_equal(X, np.column_stack([rows, rows + 500, rows / 8, rows % 3 > 0]))
    assert not any(batch.stats for batch in tables.in_batches(300))
    assert tables.notes == tuple(
        f"numbers out of text in column {name!r} of {tmp_path / 'a.csv'}" for name in ("distance", "share", "late")
    )


def test_thousands_that_the_first_lines_do_not_show(tmp_path):
    """The longest flights of a week: to lose them would be no random loss."""
    lines = [f'{k},"{k:,}"' for k in range(2000)]
    (tmp_path / "a.csv").write_text("\n".join(["a,distance", *lines]))
    (batch,) = Tables(tmp_path / "a.csv").in_batches(2000)
    np.testing.assert_array_equal(batch.X[:, 0], batch.X[:, 1])
    assert len(batch.X) == 2000


def test_classes_stay_words(tmp_path):
    (tmp_path / "a.csv").write_text("a,late\n1,Yes\n2,No\n3,Yes\n")
    (batch,) = Tables(tmp_path / "a.csv", target="late", text_target=True).in_batches(3)
    assert batch.y.tolist() == ["Yes", "No", "Yes"]
    (batch,) = Tables(tmp_path / "a.csv", target="late").in_batches(3)
    assert batch.y.tolist() == [1, 0, 1]


def test_a_column_of_text_is_shown_by_a_cell(tmp_path):
    (tmp_path / "a.csv").write_text("a,carrier\n1,\n2,AA\n3,B6\n")
    with pytest.raises(InvalidInputError, match=r"'carrier' holds text \('AA' in line 3 of .*a\.csv\)"):
        Tables(tmp_path / "a.csv")
    with pytest.raises(InvalidInputError, match=r"'carrier' holds text \('AA' in line 3 of .*a\.csv\)"):
        Tables(tmp_path / "a.csv", target="carrier")
