import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.errors import InvalidInputError
from robustream.sources import place_batches, spread_outliers
from robustream.sources.spread import ORDERS, SPREADS

# Slow moments of a busy machine are no failures, and every run tries the same examples.
REPEATABLE = settings(deadline=None, derandomize=True)


@REPEATABLE
@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from(ORDERS), st.integers(0, 5))
def test_places_are_distinct_sorted_and_as_many_as_asked(spare: int, number: int, order: str, seed: int) -> None:
    places = place_batches(number, number + spare, order=order, seed=seed)
    assert places.size == number
    assert (np.diff(places) > 0).all()
    assert number == 0 or (places[0] >= 0 and places[-1] < number + spare)


def test_orders_place_where_they_say() -> None:
    assert place_batches(3, 10, order="first").tolist() == [0, 1, 2]
    assert place_batches(3, 10, order="last").tolist() == [7, 8, 9]
    assert place_batches(4, 10, order="burst").tolist() == [3, 4, 5, 6]
    assert place_batches(5, 10, order="alternating").tolist() == [0, 2, 4, 6, 8]
    assert place_batches(5, 10, seed=1).tolist() != place_batches(5, 10, seed=2).tolist()


@REPEATABLE
@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 3))
def test_more_random_bad_batches_include_the_fewer(batches: int, number: int, seed: int) -> None:
    number = min(number, batches)
    more = place_batches(batches, batches, seed=seed)
    assert set(place_batches(number, batches, seed=seed)) <= set(more)


@REPEATABLE
@given(
    st.floats(0, 1),
    st.integers(1, 50),
    st.integers(1, 200),
    st.sampled_from(SPREADS),
    st.sampled_from(ORDERS),
    st.integers(0, 3),
)
def test_the_total_is_kept_to_the_row(
    fraction: float, batches: int, rows: int, kind: str, order: str, seed: int
) -> None:
    fractions = spread_outliers(fraction, batches, kind=kind, rows=rows, order=order, seed=seed)
    counts = fractions * rows
    assert fractions.shape == (batches,)
    assert fractions.min() >= 0
    assert fractions.max() <= 1
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
    assert round(counts.sum()) == round(fraction * batches * rows)
    if kind == "even":
        assert counts.max() - counts.min() <= 1 + 1e-9


def test_concentrated_fills_as_few_batches_as_possible() -> None:
    fractions = spread_outliers(0.27, 10, kind="concentrated", level=0.6, order="first", rows=1_000)
    np.testing.assert_allclose(fractions, [0.6, 0.6, 0.6, 0.6, 0.3, 0, 0, 0, 0, 0])


def test_a_limited_share_of_filled_batches_leaves_the_rest_to_the_others() -> None:
    fractions = spread_outliers(0.6, 100, kind="concentrated", share=0.45)
    assert (fractions == 1).sum() == 45
    others = fractions[fractions < 1]
    assert np.ptp(others) <= 1.01e-4
    np.testing.assert_allclose(others.mean(), 0.15 / 0.55)


def test_random_is_uneven() -> None:
    fractions = spread_outliers(0.3, 200, kind="random")
    # A flat Dirichlet has as much standard deviation as mean; the cut at 1 takes some of it.
    assert 0.6 < fractions.std() / fractions.mean() < 1.1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"fraction": 1.1, "batches": 3}, "fraction must be .* 1.1 came"),
        ({"fraction": float("nan"), "batches": 3}, "fraction must be"),
        ({"fraction": "half", "batches": 3}, "fraction must be"),
        ({"fraction": 0.1, "batches": 0}, "batches must be"),
        ({"fraction": 0.1, "batches": 3, "kind": "odd"}, "'even', 'concentrated', 'random'; 'odd' came"),
        ({"fraction": 0.1, "batches": 3, "order": "odd"}, "order must be one of 'random'"),
        ({"fraction": 0.7, "batches": 3, "kind": "concentrated", "level": 0.5}, "level must leave room"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        spread_outliers(**arguments)


def test_more_bad_batches_than_batches() -> None:
    with pytest.raises(InvalidInputError, match="at most the number of batches, 3; 4 came"):
        place_batches(4, 3)
