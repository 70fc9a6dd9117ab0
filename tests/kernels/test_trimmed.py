"""The compiled trimmed products against their specification in NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robustream.errors import InvalidInputError
from robustream.kernels import reference, trimmed
from robustream.kernels.threads import limit_threads
from robustream.kernels.trimmed import trimmed_covariance, trimmed_cross, trimmed_inner

Floats = NDArray[np.floating]
TRIMS = [0.0, 0.001, 0.2, 0.5, 0.9, 0.9999]
# Below, at and above the sizes where sampling, passes, groups and vectors begin.
SIZES = [1, 2, 31, 64, 65, 1023, 1024, 1025, 3000, 12_345]


def assert_as_specified(X: Floats, Y: Floats, trim: float, found: Floats) -> None:
    """Allow rounding only, relative to the sum of the magnitudes kept."""
    specified = reference.trimmed_cross(X, Y, trim)
    scale = reference.trimmed_cross(np.abs(X), np.abs(Y), trim)
    assert found.dtype == specified.dtype
    assert found.shape == specified.shape
    finite = np.isfinite(specified)
    np.testing.assert_array_equal(found[~finite], specified[~finite])
    tolerance = 1e-6 if found.dtype == np.float32 else 1e-13
    smallest = float(np.finfo(found.dtype).smallest_subnormal)
    error = np.abs(found[finite].astype(np.float64) - specified[finite])
    assert (error <= tolerance * scale.astype(np.float64)[finite] + smallest).all()


def sinusoids(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return np.sin(np.arange(shape[0])[:, None] * 2 * np.pi / generator.integers(2, 60, shape[1]))


KINDS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda generator, shape: generator.standard_normal(shape),
    "sorted": lambda generator, shape: np.sort(generator.standard_normal(shape), axis=0),
    "periodic": sinusoids,
    "heavy-tailed": lambda generator, shape: generator.standard_cauchy(shape),
    "very heavy-tailed": lambda generator, shape: np.exp(8 * generator.standard_normal(shape)),
    "zero-inflated": lambda generator, shape: generator.standard_normal(shape) * (generator.random(shape) < 0.4),
    "few values": lambda generator, shape: generator.integers(-3, 6, shape).astype(float),
    "rounded": lambda generator, shape: np.round(generator.standard_normal(shape), 1),
    "constant": lambda generator, shape: np.ones(shape) * generator.standard_normal(shape[1]),
    "correlated": lambda generator, shape: (
        generator.standard_normal((shape[0], 1)) + 0.01 * generator.standard_normal(shape)
    ),
    "of many scales": lambda generator, shape: (
        generator.standard_normal(shape) * 10.0 ** generator.integers(-9, 9, shape[1])
    ),
    "subnormal": lambda generator, shape: generator.standard_normal(shape) * 1e-22,
    "zero": lambda generator, shape: np.zeros(shape) * np.sign(generator.standard_normal(shape)),
    "first rows alike": lambda generator, shape: np.where(
        np.arange(shape[0])[:, None] < shape[0] // 2, 1.0, generator.standard_normal(shape)
    ),
}


def draw(kind: str, seed: int, shape: tuple[int, int], dtype: str) -> Floats:
    return KINDS[kind](np.random.default_rng(seed), shape).astype(dtype)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    kinds=st.tuples(*[st.sampled_from(sorted(KINDS))] * 2),
    n=st.sampled_from(SIZES),
    p=st.integers(1, 20),
    m=st.integers(1, 4),
    dtype=st.sampled_from(["float32", "float64"]),
    trim=st.sampled_from(TRIMS) | st.floats(0.0, 0.999),
    seed=st.integers(0, 2**16),
)
def test_as_specified(kinds: tuple[str, str], n: int, p: int, m: int, dtype: str, trim: float, seed: int) -> None:
    X, Y = draw(kinds[0], seed, (n, p), dtype), draw(kinds[1], seed + 1, (n, m), dtype)
    assert_as_specified(X, Y, trim, trimmed_cross(X, Y, trim))
    covariance = trimmed_covariance(X, trim)
    assert_as_specified(X, X, trim, covariance)
    np.testing.assert_array_equal(covariance, covariance.T)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    values=st.lists(st.tuples(*[st.floats(-(2.0**60), 2.0**60, width=32)] * 2), min_size=1, max_size=80),
    trim=st.floats(0, 0.99),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_inner_as_specified(values: list[tuple[float, float]], trim: float, dtype: str) -> None:
    x, y = np.array(values, dtype).T
    found = trimmed_inner(x, y, trim)
    assert type(found) is float
    kept = reference.kept_count(len(x), trim)
    scale = reference.kept_sum(np.abs(x), np.abs(y), kept)
    assert found == pytest.approx(reference.trimmed_inner(x, y, trim), rel=0, abs=scale * 1e-6 + 1e-300)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("trim", [0.2, 0.5])
def test_more_columns_than_one_tile_holds(kind: str, trim: float) -> None:
    X = draw(kind, 3, (2500, 70), "float32")
    columns = [0, 15, 16, 33, 63, 64, 69]
    found = trimmed_covariance(X, trim)
    assert_as_specified(X[:, columns], X, trim, found[columns])
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_narrow_tiles(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # As with very many rows, where only a few pairs at a time may collect.
    monkeypatch.setattr(trimmed, "STORE_BYTES", 1)
    X, Y = draw("normal", 5, (3000, 37), dtype), draw("heavy-tailed", 6, (3000, 21), dtype)
    assert_as_specified(X, X, 0.2, trimmed_covariance(X, 0.2))
    assert_as_specified(X, Y, 0.2, trimmed_cross(X, Y, 0.2))


@pytest.mark.parametrize("spread", [1e-9, 0.02, 1e9])
def test_brackets_that_miss_or_hold_too_much(spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trimmed, "DEVIATIONS", spread)
    for kind in KINDS:
        X = draw(kind, 7, (4000, 5), "float64")
        assert_as_specified(X, X, 0.3, trimmed_covariance(X, 0.3))


def test_a_sample_that_misleads_altogether(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = trimmed._plan(5000, 4000).sample_rows
    X = draw("normal", 8, (5000, 6), "float32")
    X[rows] *= 1e6
    assert_as_specified(X, X, 0.2, trimmed_covariance(X, 0.2))
    X[rows] *= 1e-12
    assert_as_specified(X, X, 0.2, trimmed_covariance(X, 0.2))


def test_ties_share_the_places_left() -> None:
    # Magnitudes 1, 2, 2, 2, 5; three are kept: 1 whole and two thirds of each 2.
    assert trimmed_inner([1.0, 2.0, -2.0, 2.0, 5.0], np.ones(5), 0.4) == pytest.approx(1 + 2 / 3 * 2)
    assert trimmed_inner(np.full(10, 3.0), np.ones(10), 0.55) == pytest.approx(15.0)


@pytest.mark.parametrize("kind", ["normal", "few values", "zero-inflated"])
@pytest.mark.parametrize("n", [500, 6000])
def test_order_of_the_rows_does_not_matter(kind: str, n: int) -> None:
    X = draw(kind, 9, (n, 6), "float64")
    found = trimmed_covariance(X, 0.3)
    scale = trimmed_covariance(np.abs(X), 0.3)
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(X)
        assert (np.abs(trimmed_covariance(shuffled, 0.3) - found) <= 1e-13 * scale + 1e-300).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_same_bits_for_any_number_of_threads(dtype: str) -> None:
    X, Y = draw("normal", 10, (5000, 70), dtype), draw("few values", 11, (5000, 3), dtype)
    signs = np.where(Y > 1, 1, -1).astype(dtype)
    results = []
    for threads in (1, 2, 3):
        with limit_threads(threads):
            results.append([trimmed_covariance(X, 0.2), trimmed_cross(X, Y, 0.2), trimmed_cross(X, signs, 0.2)])
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(first, second)


def test_calls_from_many_python_threads() -> None:
    matrices = [draw("normal", seed, (2000, 40), "float32") for seed in range(8)]
    alone = [trimmed_covariance(X, 0.2) for X in matrices]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda X: trimmed_covariance(X, 0.2), matrices * 3))
    for first, second in zip(alone * 3, together, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("trim", TRIMS)
@pytest.mark.parametrize("kind", ["normal", "few values", "zero", "heavy-tailed"])
def test_targets_of_plus_and_minus_one(kind: str, trim: float, dtype: str) -> None:
    X = draw(kind, 12, (3000, 7), dtype)
    signs = np.where(draw("normal", 13, (3000, 5), dtype) > 0, 1, -1).astype(dtype)
    assert_as_specified(X, signs, trim, trimmed_cross(X, signs, trim))
    assert_as_specified(X, signs[:, 0], trim, trimmed_cross(X, signs[:, 0], trim))


def test_signs_take_the_matrix_product(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the pairs were computed one by one")

    X = draw("normal", 14, (2000, 3), "float64")
    signs = np.where(draw("normal", 15, (2000, 2), "float64") > 0, 1.0, -1.0)
    monkeypatch.setattr(trimmed, "_tiled_sums", refuse)
    trimmed_cross(X, signs, 0.5)
    trimmed_covariance(X, 0.0)
    with pytest.raises(AssertionError):
        trimmed_cross(X, np.where(signs > 0, 1.0, 0.0), 0.5)


@pytest.mark.parametrize("n", [300, 3000])
def test_layouts(n: int) -> None:
    X = draw("normal", 16, (n, 20), "float32")
    found = trimmed_covariance(X, 0.2)
    strided = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    backwards = np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    for same in (np.asfortranarray(X), strided, backwards):
        same.flags.writeable = False
        np.testing.assert_array_equal(trimmed_covariance(same, 0.2), found)


def test_dtypes() -> None:
    integers = np.arange(12).reshape(6, 2) % 5
    floats = integers.astype(float)
    for same in (integers, integers.tolist(), integers.astype(np.uint8), floats.astype(">f8")):
        found = trimmed_covariance(same, 0.2)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, trimmed_covariance(floats, 0.2))
    assert trimmed_covariance(integers > 2, 0.2).dtype == np.float64
    assert trimmed_covariance(floats.astype(np.float16), 0.2).dtype == np.float32
    assert trimmed_cross(floats.astype(np.float32), floats[:, 0], 0.2).dtype == np.float64
    assert trimmed_cross(floats.astype(np.float32), floats[:, 0].astype(np.float32), 0.2).shape == (2,)


@pytest.mark.parametrize(("dtype", "large"), [("float32", 1e25), ("float64", 1e180)])
@pytest.mark.parametrize("n", [100, 4000])
def test_products_that_overflow(dtype: str, large: float, n: int) -> None:
    X = draw("normal", 17, (n, 6), dtype)
    X[:: n // 20] *= large
    for trim in (0.0, 0.01, 0.5):
        with np.errstate(over="ignore"):
            assert_as_specified(X, X, trim, trimmed_covariance(X, trim))
    assert np.isfinite(trimmed_covariance(X, 0.5)).all()


def test_sums_too_large_for_float32_have_a_mean_that_is_not() -> None:
    X = np.full((2000, 2), 1.5e19, np.float32)
    np.testing.assert_allclose(trimmed_covariance(X, 0.2), np.float32(2.25e38), rtol=1e-6)


def test_memory_is_a_few_columns() -> None:
    X = draw("normal", 18, (200_000, 40), "float32")
    trimmed_covariance(X[:2000], 0.2)
    with limit_threads(1):
        tracemalloc.start()
        trimmed_covariance(X, 0.2)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < X.nbytes / 3
    assert peak < 16 * 2**20


def test_processors_without_special_instructions() -> None:
    code = (
        "import numpy as np\n"
        "from robustream.kernels import reference, trimmed\n"
        "X = np.random.default_rng(0).standard_normal((3000, 18)).astype(np.float32)\n"
        "found, specified = trimmed.trimmed_covariance(X, 0.2), reference.trimmed_covariance(X, 0.2)\n"
        "assert np.abs(found - specified).max() < 1e-6\n"
    )
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=300)


GOOD = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("trim", [-0.1, 1.0, 2, np.nan, np.inf, "0.2", None, [0.2, 0.3]])
def test_bad_trim(trim: object) -> None:
    for call in (
        lambda: trimmed_inner(GOOD[:, 0], GOOD[:, 1], trim),  # type: ignore[arg-type]
        lambda: trimmed_covariance(GOOD, trim),  # type: ignore[arg-type]
        lambda: trimmed_cross(GOOD, GOOD, trim),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInputError, match=r"trim must be a number in \[0, 1\)"):
            call()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[1.0, np.nan]], "X must be finite, got NaN or infinity"),
        ([[1.0, -np.inf]], "X must be finite"),
        (np.empty((0, 2)), r"X must have at least one row and one column, got shape \(0, 2\)"),
        (np.empty((3, 0)), r"X must have at least one row and one column, got shape \(3, 0\)"),
        (GOOD + 1j, "X must hold real numbers, got dtype complex128"),
        ([["a", "b"]], "X must hold real numbers, got dtype <U1"),
        (GOOD.astype(object), "X must hold real numbers, got dtype object"),
        ([[1.0], [1.0, 2.0]], "X must be an array of numbers, got rows of unequal lengths"),
        (scipy.sparse.csr_matrix(GOOD), "X must be a dense array, got the sparse csr_matrix"),
        (GOOD[:, 0], r"X must be 2-dimensional, got shape \(3,\)"),
        (GOOD[None], r"X must be 2-dimensional, got shape \(1, 3, 2\)"),
        (5.0, r"X must be 2-dimensional, got shape \(\)"),
    ],
)
def test_bad_matrix(bad: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        trimmed_covariance(bad, 0.2)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=message):
        trimmed_cross(bad, np.ones(1), 0.2)  # type: ignore[arg-type]


def test_bad_second_argument() -> None:
    with pytest.raises(InvalidInputError, match=r"Y must be 1-dimensional or 2-dimensional, got shape \(1, 3, 2\)"):
        trimmed_cross(GOOD, GOOD[None], 0.2)
    with pytest.raises(InvalidInputError, match="X and Y must have the same number of rows, got 3 and 2"):
        trimmed_cross(GOOD, GOOD[:2], 0.2)
    with pytest.raises(InvalidInputError, match="x and y must have the same number of rows, got 3 and 2"):
        trimmed_inner(GOOD[:, 0], GOOD[:2, 0], 0.2)
    with pytest.raises(InvalidInputError, match="y must be finite"):
        trimmed_inner(GOOD[:, 0], [1.0, np.nan, 1.0], 0.2)
    with pytest.raises(InvalidInputError, match="x must be 1-dimensional"):
        trimmed_inner(GOOD, GOOD, 0.2)
