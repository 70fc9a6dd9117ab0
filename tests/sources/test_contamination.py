import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources import (
    ArraySource,
    CorruptedBatches,
    CorruptedCells,
    CorruptedRows,
    SimulatedPCA,
    SimulatedRegression,
    Source,
    coefficient_error,
    place_batches,
    spread_outliers,
    subspace_error,
)
from robustream.sources.contamination import BATCH_KINDS, ORDERS, ROW_KINDS, SPREADS

# Slow moments of a busy machine are no failures, and every run tries the same examples.
REPEATABLE = settings(deadline=None, derandomize=True)


def make(kind: str, dtype: type = np.float64, rows: int = 60) -> Source:
    settings = {"batches": 10, "rows": rows, "columns": 6, "dtype": dtype}
    if kind == "pca":
        return SimulatedPCA(components=2, **settings)
    return SimulatedRegression(outputs=2 if kind == "outputs" else None, **settings)


class Unbounded(Source):
    @property
    def count(self) -> None:
        return None

    def batches(self, start: int = 0) -> Iterator[Batch]:
        rng = np.random.default_rng(0)
        for index in range(start, 10**6):
            yield Batch(index, f"batch {index}", rng.standard_normal((20, 3)))


def same(first: Batch, second: Batch) -> bool:
    if (first.y is None) != (second.y is None):
        return False
    return np.array_equal(first.X, second.X) and (first.y is None or np.array_equal(first.y, second.y))


def check_shape_and_label(batch: Batch, original: Batch) -> None:
    assert (batch.index, batch.label) == (original.index, original.label)
    assert (batch.X.shape, batch.X.dtype) == (original.X.shape, original.X.dtype)
    assert np.isfinite(batch.X).all()
    if original.y is not None:
        assert (batch.y.shape, batch.y.dtype) == (original.y.shape, original.y.dtype)
        assert np.isfinite(batch.y).all()


SOURCES = pytest.mark.parametrize("source_kind", ["pca", "regression", "outputs"])


@SOURCES
@pytest.mark.parametrize("kind", BATCH_KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bad_batches_are_bad_and_the_others_untouched(source_kind: str, kind: str, dtype: type) -> None:
    source = make(source_kind, dtype)
    corrupted = CorruptedBatches(source, 0.4, kind, seed=2)
    assert corrupted.bad_indices.size == 4
    for batch, original in zip(corrupted, source, strict=True):
        check_shape_and_label(batch, original)
        bad = batch.index in corrupted.bad_indices
        assert same(batch, original) != bad
        assert corrupted.outlier_rows(batch.index).all() == bad


@REPEATABLE
@given(
    fraction=st.floats(0, 1),
    start=st.integers(0, 12),
    kind=st.sampled_from(BATCH_KINDS),
    order=st.sampled_from(ORDERS),
    seed=st.integers(0, 3),
)
def test_restart_counts_and_orders(fraction: float, start: int, kind: str, order: str, seed: int) -> None:
    corrupted = CorruptedBatches(make("regression"), fraction, kind, order, seed=seed)
    expected = place_batches(round(fraction * 10), 10, order=order, seed=seed)
    np.testing.assert_array_equal(corrupted.bad_indices, expected)
    copy = pickle.loads(pickle.dumps(corrupted))
    for batch, again in zip(list(corrupted)[start:], copy.batches(start=start), strict=True):
        assert same(batch, again)


def test_the_original_arrays_are_never_written_to() -> None:
    X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40.0)
    X.setflags(write=False)
    y.setflags(write=False)
    source = ArraySource(X, y, batch_size=10)
    for corrupted in (CorruptedBatches(source), CorruptedCells(source), CorruptedRows(source)):
        list(corrupted)


def test_random_batches_differ_from_one_another() -> None:
    corrupted = CorruptedBatches(make("pca"), 0.4, "random", "first")
    first, second = list(corrupted)[:2]
    assert not np.array_equal(first.X, second.X)
    assert 8 < np.abs(first.X).max() < 15


def test_colluding_batches_agree_on_the_wrong_subspace() -> None:
    source = make("pca", rows=2_000)
    corrupted = CorruptedBatches(source, 0.3, "colluding", "first")
    for batch in list(corrupted)[:3]:
        centered = batch.X - batch.X.mean(axis=0)
        vectors = np.linalg.eigh(centered.T @ centered)[1][:, ::-1]
        for components in (1, 2, 3):
            assert subspace_error(vectors[:, :components], corrupted.wrong_basis[:, :components]) < 0.1
        assert subspace_error(vectors[:, :2], source.basis) > 0.5
        # Large variance: the attack must weigh more than the clean rows if the two are pooled.
        assert centered.var() > 10 * source.batch(5).X.var()


@pytest.mark.parametrize("source_kind", ["regression", "outputs"])
def test_colluding_batches_agree_on_the_wrong_coefficients(source_kind: str) -> None:
    source = make(source_kind, rows=2_000)
    corrupted = CorruptedBatches(source, 0.3, "colluding", "first")
    assert corrupted.wrong_coef.shape == source.coef.shape
    for batch in list(corrupted)[:3]:
        design = np.column_stack([batch.X, np.ones(batch.rows)])
        coef = np.linalg.lstsq(design, batch.y)[0][:-1].T
        assert coefficient_error(coef, corrupted.wrong_coef) < 0.01
        assert coefficient_error(coef, source.coef) > 0.5


def test_constant_and_stale_batches() -> None:
    source = make("regression")
    constant = CorruptedBatches(source, 0.4, "constant", "last")
    rows = np.concatenate([np.column_stack([batch.X, batch.y]) for batch in constant.batches(start=6)])
    assert (rows == rows[0]).all()
    stale = list(CorruptedBatches(source, 0.4, "stale", "first"))
    for batch in stale[:4]:
        assert same(batch, source.batch(4)._replace(index=batch.index))
    assert same(list(CorruptedBatches(source, 1.0, "stale"))[7], source.batch(0))


def test_stale_batches_keep_their_own_number_of_rows() -> None:
    X = np.arange(22.0).reshape(11, 2)
    source = ArraySource(X, batch_size=4)
    sizes = [batch.rows for batch in source]
    assert len(set(sizes)) == 2
    assert [batch.rows for batch in CorruptedBatches(source, 0.67, "stale", "last")] == sizes


def test_a_level_spoils_some_rows_of_a_bad_batch_only() -> None:
    source = make("regression")
    corrupted = CorruptedBatches(source, 0.5, "random", "first", level=0.6)
    batch, bad = next(iter(corrupted)), corrupted.outlier_rows(0)
    assert bad.sum() == 36
    np.testing.assert_array_equal((batch.X != source.batch(0).X).any(axis=1), bad)
    assert not corrupted.outlier_rows(9).any()


def test_known_outliers_of_the_wrapped_source_are_counted_in() -> None:
    source = SimulatedPCA(batches=2, rows=50, columns=4, components=1, outliers=0.2)
    corrupted = CorruptedRows(source, 0.2)
    mask = corrupted.outlier_rows(1)
    assert (source.outlier_rows(1) <= mask).all()
    assert 10 < mask.sum() <= 20


@SOURCES
@pytest.mark.parametrize("kind", ROW_KINDS)
def test_row_outliers(source_kind: str, kind: str) -> None:
    source = make(source_kind, np.float32)
    corrupted = CorruptedRows(source, 0.25, kind, seed=1)
    for batch, original in zip(corrupted, source, strict=True):
        check_shape_and_label(batch, original)
        bad = corrupted.outlier_rows(batch.index)
        assert bad.sum() == 15
        changed = (batch.X != original.X).any(axis=1)
        if original.y is not None:
            changed |= (batch.y != original.y).reshape(60, -1).any(axis=1)
        assert not changed[~bad].any()
        assert changed[bad].all()
    assert same(next(corrupted.batches(start=3)), list(corrupted)[3])


def test_leverage_reverses_the_relation() -> None:
    source = SimulatedRegression(batches=1, rows=2_000, columns=3, noise=0.0)
    corrupted = CorruptedRows(source, 0.5, "leverage")
    batch, bad = next(iter(corrupted)), corrupted.outlier_rows(0)
    design = np.column_stack([batch.X[bad], np.ones(bad.sum())])
    assert coefficient_error(np.linalg.lstsq(design, batch.y[bad])[0][:-1], -source.coef) < 1e-9


@SOURCES
@REPEATABLE
@given(fraction=st.floats(0, 1), seed=st.integers(0, 3))
def test_cells(source_kind: str, fraction: float, seed: int) -> None:
    source = make(source_kind)
    corrupted = CorruptedCells(source, fraction, seed=seed)
    batch, original = next(corrupted.batches(start=4)), source.batch(4)
    bad = corrupted.bad_cells(4)
    assert bad.sum() == round(fraction * bad.size)
    check_shape_and_label(batch, original)
    np.testing.assert_array_equal(batch.X != original.X, bad)
    assert (np.abs(batch.X[bad]) > 5).all()
    np.testing.assert_array_equal(corrupted.outlier_rows(4), bad.any(axis=1))
    assert batch.y is original.y or np.array_equal(batch.y, original.y)


@pytest.mark.parametrize("labels", [np.array([0, 1, 2]), np.array(["cat", "dog"]), np.array([True, False])])
def test_labels_stay_labels_and_integers_stay_integers(labels: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (200, 3)).astype(np.uint8)
    source = ArraySource(X, rng.choice(labels, 200), batch_size=20)
    spoiled = [CorruptedBatches(source, 0.5, kind, "first") for kind in BATCH_KINDS]
    spoiled += [CorruptedRows(source, 0.5, kind) for kind in ROW_KINDS]
    for corrupted in spoiled:
        batch = next(iter(corrupted))
        assert batch.X.dtype == np.uint8
        assert batch.y.dtype == source.y.dtype
        assert set(batch.y.tolist()) <= set(labels.tolist())
    assert set(next(iter(spoiled[0])).y.tolist()) == set(labels.tolist())


def test_columns_without_spread_or_numbers() -> None:
    X = np.random.default_rng(0).standard_normal((40, 4))
    X[:, 1], X[:, 2], X[:35, 3] = 7.0, np.nan, 0.0
    for batch in CorruptedBatches(ArraySource(X, batch_size=10), 1.0):
        assert np.isfinite(batch.X).all()


def test_unbounded_sources() -> None:
    with pytest.raises(InvalidInputError, match="known number of batches"):
        CorruptedBatches(Unbounded())
    assert CorruptedRows(Unbounded()).count is None
    assert next(iter(CorruptedCells(Unbounded()))).rows == 20


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"fraction": -0.1}, "fraction must be .* got -0.1"),
        ({"kind": "odd"}, "'random', 'colluding', 'constant', 'stale', got 'odd'"),
        ({"order": "odd"}, "order must be one of"),
        ({"level": 2}, "level must be"),
        ({"magnitude": 0}, "magnitude must be"),
        ({"seed": None}, "seed must be"),
        ({"source": np.zeros((3, 3))}, "source must be a Source"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        CorruptedBatches(**{"source": make("pca"), **arguments})


def test_wrong_coefficients_need_y() -> None:
    with pytest.raises(InvalidInputError, match="wrong_coef needs"):
        _ = CorruptedBatches(make("pca"), kind="colluding").wrong_coef
    with pytest.raises(InvalidInputError, match="'leverage', 'cluster'"):
        CorruptedRows(make("pca"), kind="odd")


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
        ({"fraction": 1.1, "batches": 3}, "fraction must be .* got 1.1"),
        ({"fraction": float("nan"), "batches": 3}, "fraction must be"),
        ({"fraction": "half", "batches": 3}, "fraction must be"),
        ({"fraction": 0.1, "batches": 0}, "batches must be"),
        ({"fraction": 0.1, "batches": 3, "kind": "odd"}, "'even', 'concentrated', 'random', got 'odd'"),
        ({"fraction": 0.1, "batches": 3, "order": "odd"}, "order must be one of 'random'"),
        ({"fraction": 0.7, "batches": 3, "kind": "concentrated", "level": 0.5}, "level must leave room"),
    ],
)
def test_bad_arguments_of_spreads_are_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        spread_outliers(**arguments)


def test_more_bad_batches_than_batches() -> None:
    with pytest.raises(InvalidInputError, match="at most the number of batches, 3, got 4"):
        place_batches(4, 3)
