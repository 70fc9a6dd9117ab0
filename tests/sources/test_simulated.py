import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.errors import InvalidInputError
from robustream.sources import (
    SimulatedPCA,
    SimulatedRegression,
    clean_part,
    coefficient_error,
    subspace_error,
)
from robustream.sources.ground_truth import KnownOutliers

# Slow moments of a busy machine are no failures, and every run tries the same examples.
REPEATABLE = settings(deadline=None, derandomize=True)

SMALL = {"batches": 6, "rows": 40, "columns": 5}


def make(kind: str, **arguments: object) -> KnownOutliers:
    settings = {**SMALL, **arguments}
    return SimulatedPCA(components=2, **settings) if kind == "pca" else SimulatedRegression(**settings)


@pytest.mark.parametrize("kind", ["pca", "regression"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@REPEATABLE
@given(start=st.integers(0, 8), seed=st.integers(0, 2**40), outliers=st.floats(0, 1))
def test_restart_at_any_position_gives_the_same_batches(
    kind: str, dtype: type, start: int, seed: int, outliers: float
) -> None:
    source = make(kind, seed=seed, outliers=outliers, dtype=dtype)
    copy = pickle.loads(pickle.dumps(source))
    for batch, again in zip(list(source)[start:], copy.batches(start=start), strict=True):
        assert (batch.index, batch.label) == (again.index, again.label)
        assert batch.X.dtype == dtype
        assert batch.X.shape == (40, 5)
        np.testing.assert_array_equal(batch.X, again.X)
        if kind == "regression":
            assert batch.y.dtype == dtype
            np.testing.assert_array_equal(batch.y, again.y)


@pytest.mark.parametrize("kind", ["pca", "regression"])
@REPEATABLE
@given(fractions=st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_counts_of_outliers_are_exact(kind: str, fractions: list[float]) -> None:
    source = make(kind, outliers=fractions)
    for index, fraction in enumerate(fractions):
        assert source.outlier_rows(index).sum() == round(fraction * 40)


@pytest.mark.parametrize("kind", ["pca", "regression"])
def test_clean_rows_do_not_depend_on_the_outliers_and_places_are_nested(kind: str) -> None:
    few, many = make(kind, outliers=0.2), make(kind, outliers=0.5)
    assert (few.outlier_rows(3) <= many.outlier_rows(3)).all()
    kept = ~many.outlier_rows(3)
    np.testing.assert_array_equal(few.batch(3).X[kept], many.batch(3).X[kept])
    assert not np.array_equal(few.outlier_rows(3), few.outlier_rows(4))
    assert not np.array_equal(few.batch(3).X, make(kind, outliers=0.2, seed=1).batch(3).X)
    assert not np.array_equal(few.batch(3).X, few.batch(4).X)


def test_outliers_are_what_the_paper_says() -> None:
    principal = SimulatedPCA(batches=1, rows=2_000, columns=10, components=2, outliers=1.0)
    X = principal.batch(0).X
    assert np.abs(X).max() <= 10
    # The variance of a uniform distribution on [-10, 10] is 100 / 3.
    np.testing.assert_allclose(X.T @ X / 2_000, np.eye(10) * 100 / 3, atol=5 * 100 / 3 / np.sqrt(2_000))
    linear = SimulatedRegression(batches=1, rows=2_000, columns=10, outliers=1.0, intercept=3.0)
    batch = linear.batch(0)
    assert np.abs(batch.X).max() <= 10
    residuals = batch.y - 3.0 + batch.X @ linear.coef
    assert abs(residuals.std() - 1) < 5 / np.sqrt(2 * 2_000)


def test_plain_pca_of_the_clean_rows_has_the_expected_error() -> None:
    rows, columns, components = 4_000, 20, 2
    source = SimulatedPCA(8, rows, columns, components, outliers=0.5, seed=3)
    squares = []
    for batch in source:
        clean = clean_part(source, batch).X
        vectors = np.linalg.eigh(clean.T @ clean)[1][:, -components:]
        squares.append(subspace_error(vectors, source.basis) ** 2)
    # First-order perturbation: (p - d) d entries of variance a b / (a - b)^2 / n, eigenvalues a = 2 and b = 1.
    expected = 2 * (columns - components) * components * 2 / (rows / 2) / components
    degrees = 8 * (columns - components) * components
    assert np.mean(squares) / expected == pytest.approx(1, abs=5 * np.sqrt(2 / degrees))


@pytest.mark.parametrize("outputs", [None, 1, 3])
def test_least_squares_on_the_clean_rows_has_the_expected_error(outputs: int | None) -> None:
    rows, columns = 1_000, 10
    source = SimulatedRegression(8, rows, columns, outputs, noise=2.0, outliers=0.4, intercept=5.0, seed=4)
    squares = []
    for batch in source:
        clean = clean_part(source, batch)
        assert clean.y.shape == ((600,) if outputs is None else (600, outputs))
        coef = np.linalg.lstsq(clean.X, clean.y - 5.0)[0].T
        squares.append((coefficient_error(coef, source.coef) * np.linalg.norm(source.coef)) ** 2)
    parameters = columns * (outputs or 1)
    expected = 4.0 * parameters / (600 - columns - 1)
    assert np.mean(squares) / expected == pytest.approx(1, abs=5 * np.sqrt(2 / (8 * parameters)))


def test_truth_is_that_of_the_seed_alone() -> None:
    one = SimulatedPCA(columns=7, components=3, seed=5, dtype=np.float32)
    two = SimulatedPCA(batches=3, rows=2, columns=7, components=3, seed=5, outliers=0.4)
    np.testing.assert_array_equal(one.basis, two.basis)
    np.testing.assert_allclose(one.basis.T @ one.basis, np.eye(3), atol=1e-12)
    assert SimulatedRegression(outputs=4, columns=6).coef.shape == (4, 6)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"outliers": 1.5}, "outliers must lie between 0 and 1"),
        ({"outliers": [0.1, 0.2]}, "one number for each of the 6 batches"),
        ({"outliers": "many"}, "outliers must be a number"),
        ({"outliers": float("nan")}, "outliers must lie"),
        ({"components": 6}, "at most the number of columns, 5, got 6"),
        ({"rows": 0}, "rows must be"),
        ({"noise": -1.0}, "noise must be"),
        ({"seed": -1}, "seed must be"),
        ({"dtype": np.int32}, "dtype must be float32 or float64"),
        ({"dtype": "no type"}, "dtype must be float32 or float64"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        SimulatedPCA(**{**SMALL, "components": 2, **arguments})


@pytest.mark.parametrize("index", [-1, 6, "first"])
def test_a_batch_that_is_not_there(index: object) -> None:
    with pytest.raises(InvalidInputError, match="index must be"):
        make("pca").batch(index)
