"""The geometric median: exact cases, a true certificate, many points and dimensions."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from tests.kernels.median_clouds import KINDS, SMALL_KINDS, cloud_of, clouds, long_objective, long_optimum, steady

from robustream.kernels.median import MedianInfo, geometric_median

# Exact cases


def test_one_point_is_its_own_median():
    median, info = geometric_median([[3.0, -4.0]], return_info=True)
    np.testing.assert_array_equal(median, [3.0, -4.0])
    assert isinstance(info, MedianInfo)
    assert (info.objective, info.gap, info.relative_gap) == (0.0, 0.0, 0.0)
    np.testing.assert_array_equal(info.coefficients, [1.0])


@pytest.mark.parametrize(("weights", "expected"), [(None, 1.0), ([1, 1], 1.0), ([2, 1], 0.0), ([1, 1.001], 2.0)])
def test_two_points_give_the_middle_or_the_heavier(weights, expected):
    median = geometric_median([[0.0, 0.0, 0.0], [2.0, 2.0, -2.0]], weights)
    np.testing.assert_array_equal(median, [expected, expected, -expected])


def test_all_points_alike():
    median, info = geometric_median(np.full((7, 2, 2), 0.1), return_info=True)
    np.testing.assert_array_equal(median, np.full((2, 2), 0.1))
    assert info.objective == info.relative_gap == 0.0


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("height", [0.3, 0.9, 5.0])
def test_fermat_point_of_a_triangle(dimension, height):
    """An isosceles triangle's median sees each side at 120 degrees, or is the vertex with a wider angle."""
    triangle = np.zeros((3, dimension + 1))
    triangle[:, :2] = [[-1.0, 0.0], [1.0, 0.0], [0.0, height]]
    expected = np.zeros(dimension + 1)
    expected[1] = min(height, 1.0 / math.sqrt(3.0))
    np.testing.assert_allclose(geometric_median(triangle), expected, atol=1e-13)


def test_a_median_that_is_a_point_is_found_exactly():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((9, 4))
    points[4] = np.pi * 1e-3
    for weights in ([1, 1, 1, 1, 8, 1, 1, 1, 1], [0.5] * 4 + [3.9] + [0.5] * 4):
        median, info = geometric_median(points, weights, return_info=True)
        np.testing.assert_array_equal(median, points[4])
        np.testing.assert_array_equal(info.coefficients, np.eye(9)[4])
        assert info.distances[4] == 0.0
        assert info.relative_gap <= 1e-8


def test_copies_share_the_coefficients_and_act_as_weights():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((6, 3))
    repeats = [1, 4, 2, 1, 3, 1]
    np.testing.assert_allclose(
        geometric_median(np.repeat(points, repeats, axis=0)), geometric_median(points, repeats), atol=1e-12
    )
    heavy = np.repeat(points, [1, 9, 1, 1, 1, 1], axis=0)
    median, info = geometric_median(heavy, return_info=True)
    np.testing.assert_array_equal(median, points[1])
    np.testing.assert_allclose(info.coefficients[1:10], 1.0 / 9.0)


def test_weight_on_the_border_of_holding_the_median():
    """A point that exactly balances the pull of the others is the median, though the function is flat there."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [-0.5, math.sqrt(0.75)], [0.0, 0.0]])
    pull = float(np.linalg.norm(points[1] + points[2]))
    for factor in (1.0, 1.0 + 1e-12, 1.0 - 1e-12):
        median, info = geometric_median(points[:3], [factor * pull, 1.0, 1.0], return_info=True)
        assert info.relative_gap <= 1e-8
        np.testing.assert_allclose(median, 0.0, atol=1e-7)


@steady
@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=30),
    st.data(),
)
def test_one_dimension_is_the_weighted_median(values, data):
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values)))
    spread_out = np.sort(np.repeat(values, weights))
    expected = 0.5 * (spread_out[(len(spread_out) - 1) // 2] + spread_out[len(spread_out) // 2])
    result = geometric_median(values, np.asarray(weights) * 0.1)
    assert result.shape == ()
    assert result == expected


@pytest.mark.parametrize("count", [3, 4, 10, 11])
def test_collinear_points(count):
    rng = np.random.default_rng(count)
    base, direction = rng.standard_normal((2, 5))
    positions = rng.standard_normal(count)
    points = base + positions[:, None] * direction
    median, info = geometric_median(points, return_info=True)
    np.testing.assert_allclose(median, base + np.median(positions) * direction, rtol=0, atol=1e-14)
    assert info.relative_gap <= 1e-8
    permuted = geometric_median(points[rng.permutation(count)])
    np.testing.assert_allclose(permuted, median, rtol=0, atol=1e-15)


def test_zero_weight_points_are_ignored_even_when_enormous():
    rng = np.random.default_rng(2)
    points = rng.standard_normal((12, 3))
    weights = np.ones(12)
    weights[[0, 5]] = 0.0
    points[[0, 5]] = 1e200
    median, info = geometric_median(points, weights, return_info=True)
    np.testing.assert_array_equal(median, geometric_median(points[weights > 0]))
    assert info.coefficients[0] == info.coefficients[5] == 0.0
    assert info.distances[0] == pytest.approx(math.sqrt(3.0) * 1e200)


# The certificate


@steady
@given(clouds, st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1e-3, 1e-8]), st.booleans())
def test_certificate_is_true(points, seed, tolerance, weighted):
    rng = np.random.default_rng(seed)
    weights = rng.random(len(points)) + 1e-3 if weighted else None
    median, info = geometric_median(points, weights, tolerance=tolerance, return_info=True)
    objective = long_objective(points, median, weights)
    assert info.objective == pytest.approx(float(objective), rel=1e-12)
    assert objective - long_optimum(points, median, weights, steps=300) <= info.gap
    assert info.relative_gap <= tolerance or points.max() > 1e7
    assert info.relative_gap == pytest.approx(info.gap / info.objective if info.objective else 0.0)


@pytest.mark.parametrize("kind", ["normal", "colluding", "clustered"])
def test_optimum_agrees_with_a_slow_search(kind):
    points = cloud_of(kind, 20, 3, np.random.default_rng(3))
    median = geometric_median(points)
    optimum = long_optimum(points, median)
    assert abs(long_objective(points, median) - optimum) <= 1e-14 * optimum


@steady
@given(clouds)
def test_coefficients_are_convex_and_make_up_the_median(points):
    median, info = geometric_median(points, return_info=True)
    assert (info.coefficients >= 0.0).all()
    assert info.coefficients.sum() == pytest.approx(1.0, rel=1e-12)
    made = points[0] + info.coefficients @ (points - points[0])
    mean_distance = info.objective / len(points)
    assert np.linalg.norm(made - median) <= 1e-8 * mean_distance + 1e-15 * np.abs(points).max()
    np.testing.assert_allclose(info.distances, np.linalg.norm(points - median, axis=1), rtol=1e-12)


def test_too_few_passes_warn_with_the_gap_reached():
    points = cloud_of("heavy tails", 40, 300, np.random.default_rng(4))
    with pytest.warns(ConvergenceWarning, match=r"relative gap is \d.*max_passes=4"):
        median, info = geometric_median(points, max_passes=4, return_info=True)
    assert info.passes <= 8
    assert info.relative_gap > 1e-8
    assert long_objective(points, median) - long_objective(points, geometric_median(points)) <= info.gap


def test_unreachable_tolerance_ends_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="above tolerance=1e-300"):
        geometric_median(np.random.default_rng(5).standard_normal((10, 3)), tolerance=1e-300)


# Passes and memory


@pytest.mark.parametrize("kind", KINDS)
def test_thousand_points_in_ten_thousand_dimensions_take_at_most_60_passes(kind):
    points = cloud_of(kind, 1000, 10_000, np.random.default_rng(6))
    _, info = geometric_median(points, return_info=True)
    assert info.relative_gap <= 1e-8
    assert info.passes <= 60


@pytest.mark.parametrize("kind", KINDS)
def test_hundred_thousand_points(kind):
    points = cloud_of(kind, 100_000, 10, np.random.default_rng(7))
    median, info = geometric_median(points, return_info=True)
    assert info.relative_gap <= 1e-8
    assert info.passes <= 60
    assert np.linalg.norm(info.coefficients @ points - median) <= 1e-7 * info.objective / len(points)


def test_million_coordinates_need_no_second_copy():
    points = np.random.default_rng(8).standard_normal((50, 1_000_000), dtype=np.float32)
    tracemalloc.start()
    median, info = geometric_median(points, return_info=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert median.shape == (1_000_000,)
    assert info.relative_gap <= 1e-8
    assert peak < points.nbytes


@pytest.mark.parametrize("kind", SMALL_KINDS)
def test_with_and_without_the_hessian_agree(kind, monkeypatch):
    points = cloud_of(kind, 80, 12, np.random.default_rng(9))
    median = geometric_median(points)
    monkeypatch.setattr("robustream.kernels.median._HESSIAN_DIMENSION", 0)
    other, info = geometric_median(points, return_info=True)
    assert info.relative_gap <= 1e-8
    scale = np.median(info.distances)
    assert np.linalg.norm(median - other) <= 1e-5 * scale
