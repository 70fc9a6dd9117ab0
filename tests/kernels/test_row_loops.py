"""The compiled loops over rows do what their twins in NumPy do."""

from __future__ import annotations

import numpy as np
import pytest

from robustream.kernels import row_loops, rows
from robustream.learners import uncertainty
from robustream.spaces.principal import principal_distances


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.normal(2, 3, size=(500, 4)), rng.normal(size=(500, 2)), rng.random(500)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_deviations(table, dtype, weighted):
    X, Y, w = table
    parts, roots = [X.astype(dtype), Y.astype(dtype)], np.sqrt(w) if weighted else None
    plain, compiled = np.empty((2, len(X), 7))
    rows._fill_plainly(plain, parts, roots, np.arange(6.0))
    rows._fill(compiled, parts, roots, np.arange(6.0))
    np.testing.assert_allclose(compiled, plain, rtol=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0])
@pytest.mark.parametrize("collinear", [False, True])
def test_scores_of_rows(table, level, collinear):
    X, Y, w = table
    if collinear:
        X = np.column_stack([X, X[:, 0]])
    center, coef = np.append(X.mean(axis=0), [0.1, 0.2]), np.ones((2, X.shape[1]))
    inverse = np.linalg.pinv(np.cov(X.T))
    root, triangular = uncertainty._root(inverse)
    assert triangular or collinear
    np.testing.assert_allclose(root @ root.T, inverse, atol=1e-9)
    found = uncertainty._Scores(triangular)(X, Y, w, center, coef, root, w.sum(), level, True)
    plain = uncertainty.score_plainly(X, Y, w, center, coef, root, w.sum(), level, True)
    for one, two in zip(found, plain, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-12)
    centered = X - center[: X.shape[1]]
    own = np.clip(w * (np.einsum("ij,jk,ik->i", centered, inverse, centered) + level) / w.sum(), 0, 0.99)
    np.testing.assert_allclose(found[1], own, rtol=1e-7)


def test_units_and_distances(table):
    X, Y, _ = table
    center, unit, b = np.arange(4.0), np.array([1.0, 2.0, 0.5, 3.0]), np.array([1.0, -1.0, 2.0, 0.5, 0.3])
    A = np.empty((len(X), 6))
    row_loops.in_units(X, Y[:, 0], center, unit, 0.7, 1.3, A)
    plain = np.column_stack([(X - center) / unit, np.ones(len(X)), (Y[:, 0] - 0.7) / 1.3])
    np.testing.assert_array_equal(A, plain)
    off, size = np.empty((2, len(X)))
    row_loops.line_distances(X, Y[:, 0], center, 1 / unit, b, 0.7, 1.3, off, size)
    np.testing.assert_allclose(off, np.abs(plain[:, -1] - plain[:, :-1] @ b), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(size, np.linalg.norm(plain[:, :4], axis=1), rtol=1e-12)


def test_slopes():
    rng = np.random.default_rng(1)
    values, places, slopes = rng.normal(0, 2, 300), np.sort(rng.normal(size=9)), rng.normal(size=9)
    found = np.empty(300)
    row_loops.slopes_at(values, places, slopes, found)
    np.testing.assert_allclose(found, np.interp(values, places, slopes), rtol=1e-12, atol=1e-12)


def test_means_of_bins():
    rng = np.random.default_rng(2)
    values, weights, edges = rng.normal(size=400), rng.random(400), np.array([-1.0, 0.1, 0.7])
    place = np.searchsorted(edges, values)
    mean, pull = row_loops.bin_means(values, weights, edges)
    for k in range(4):
        np.testing.assert_allclose(mean[k], values[place == k].mean())
        np.testing.assert_allclose(pull[k], (values * weights)[place == k].mean())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_from_a_subspace(dtype):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(200, 12)).astype(dtype)
    components = np.linalg.qr(rng.normal(size=(12, 3)))[0].T.astype(dtype)
    compiled = principal_distances(rows, components, np.array([3.0, 2.0, 1.0]), 0.5)
    plain = principal_distances(np.asfortranarray(rows), components, np.array([3.0, 2.0, 1.0]), 0.5)
    np.testing.assert_allclose(compiled, plain, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("columns", [2, 6, 22])
def test_products_of_columns_are_the_plain_ones(columns):
    rng = np.random.default_rng(0)
    S, T = rng.normal(size=(2, columns, 101))
    out = np.ones((columns, columns))
    row_loops.column_products(S, T, 3, 97, out)
    np.testing.assert_allclose(np.tril(out), np.tril(1 + S[:, :97] @ T[:, 3:100].T), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_cells(dtype):
    rows = np.ones((50, 3), dtype)
    rows[7, 1] = np.inf
    assert not row_loops.any_missing(rows)
    rows[49, 2] = np.nan
    assert row_loops.any_missing(rows)


def test_rows_in_a_subspace_have_no_distance_from_it():
    rng = np.random.default_rng(4)
    components = np.linalg.qr(rng.normal(size=(12, 3)))[0].T
    left, score = np.empty(50), np.empty(50)
    row_loops.subspace_squares(1e6 * rng.normal(size=(50, 3)) @ components, components, np.ones(3), score, left)
    assert left.max() < 1e-15
