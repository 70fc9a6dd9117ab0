"""Factored spaces agree with their dense twin: the same matrices as plain p x p arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.kernels.median import geometric_median
from robustream.spaces import Euclidean, LowRank, Subspace
from robustream.spaces.factored import leading_directions


def bases(seed, count, columns, rank, spread=1.0):
    rng = np.random.default_rng(seed)
    center = np.linalg.qr(rng.normal(size=(columns, rank)))[0]
    return [np.linalg.qr(center + spread * rng.normal(size=(columns, rank)))[0] for _ in range(count)]


def dense(factors):
    return [factor @ factor.T for factor in factors]


sizes = st.tuples(st.integers(0, 10**6), st.integers(2, 7), st.integers(2, 8), st.integers(1, 2))


@given(sizes, st.sampled_from([Subspace, LowRank]))
@settings(max_examples=60, deadline=None)
def test_distances_and_coordinates_equal_those_of_the_dense_matrices(size, kind):
    seed, count, columns, rank = size
    points = bases(seed, count, columns, rank)
    if kind is LowRank:
        points = [point * np.linspace(3, 1, rank) for point in points]
    space, twin = kind(columns, rank), Euclidean((columns, columns))
    matrices = dense(points)
    for point, matrix in zip(points, matrices, strict=True):
        np.testing.assert_allclose(space.distances(point, points), twin.distances(matrix, matrices), atol=1e-7)
    coordinates = space.coordinates(points)
    gaps = np.linalg.norm(coordinates[:, None] - coordinates[None], axis=2)
    np.testing.assert_allclose(gaps, [twin.distances(m, matrices) for m in matrices], atol=1e-6)


@given(sizes)
@settings(max_examples=40, deadline=None)
def test_mixing_and_projecting_equal_the_dense_way(size):
    seed, count, columns, rank = size
    points = bases(seed, count, columns, rank)
    space = Subspace(columns, rank)
    weights = np.random.default_rng(seed).dirichlet(np.ones(count))
    mixture = space.mix(points, weights)
    average = np.tensordot(weights, np.stack(dense(points)), axes=1)
    np.testing.assert_allclose(mixture @ mixture.T, average, atol=1e-12)
    values, vectors = np.linalg.eigh(average)
    if rank == columns or values[-rank] - values[-rank - 1] > 1e-3:
        leading = vectors[:, -rank:]
        found = space.project(mixture)
        np.testing.assert_allclose(found @ found.T, leading @ leading.T, atol=1e-8)
    np.testing.assert_allclose(
        space.distances(mixture, points), np.linalg.norm(average - np.stack(dense(points)), axis=(1, 2)), atol=1e-7
    )


def test_the_median_of_subspaces_is_that_of_the_projectors():
    points = bases(3, 9, 6, 2, spread=0.3)
    space = Subspace(6, 2)
    _, info = geometric_median(space.coordinates(points), return_info=True)
    mixture = space.mix(points, np.asarray(info.coefficients))
    np.testing.assert_allclose(mixture @ mixture.T, geometric_median(np.stack(dense(points))), atol=1e-6)


def test_close_subspaces_keep_their_distance_in_single_precision():
    # 2d - 2 ||U'V||^2 gives 0 or noise here: the distance is below the square root of float32's precision.
    first = bases(0, 1, 50, 3)[0]
    second = np.linalg.qr(first + 1e-5 * bases(1, 1, 50, 3)[0])[0]
    exact = np.linalg.norm(first @ first.T - second @ second.T)
    single = Subspace(50, 3).distances(first.astype(np.float32), [second.astype(np.float32)])[0]
    assert single == pytest.approx(exact, rel=0.05)


def test_many_blends_stay_exact_and_bounded_in_size():
    points = bases(5, 40, 6, 2)
    space = Subspace(6, 2)
    mixture, matrix = points[0], points[0] @ points[0].T
    for point in points[1:]:
        mixture = space.blend(mixture, point, 0.2)
        matrix = 0.8 * matrix + 0.2 * point @ point.T
    assert mixture.shape[1] <= 6
    np.testing.assert_allclose(mixture @ mixture.T, matrix, atol=1e-12)


def test_leading_directions_complete_a_thin_factor():
    basis = leading_directions(np.array([[3.0], [0.0], [0.0]]), 2)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(np.abs(basis[:, 0]), [1, 0, 0], atol=1e-12)


def test_identical_subspaces_have_coordinates_without_spread():
    point = bases(0, 1, 5, 2)[0]
    np.testing.assert_allclose(np.ptp(Subspace(5, 2).coordinates([point] * 4), axis=0), 0, atol=1e-7)


def test_huge_and_tiny_euclidean_distances_neither_overflow_nor_vanish():
    for scale in (1e-200, 1.0, 1e200):
        distance = Euclidean((2,)).distances(np.zeros(2), [scale * np.array([3.0, 4.0])])[0]
        assert distance == pytest.approx(5 * scale, rel=1e-12)
