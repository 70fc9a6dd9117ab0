"""The geometric median: exact cases, a true certificate, invariances, robustness, extremes and errors."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group
from sklearn.exceptions import ConvergenceWarning

from robustream.errors import InvalidInputError
from robustream.kernels.median import MedianInfo, geometric_median

steady = settings(max_examples=60, deadline=None, derandomize=True)


def long_objective(points, median, weights=None):
    """The sum of weighted distances with more digits than the library has."""
    points, median = np.asarray(points, np.longdouble), np.asarray(median, np.longdouble)
    weights = np.ones(len(points)) if weights is None else weights
    distances = np.sqrt(((points - median) ** 2).reshape(len(points), -1).sum(axis=1))
    return np.sum(distances * np.asarray(weights, np.longdouble))


def long_optimum(points, start, weights=None, steps=3000):
    """The lowest objective that another way finds: plain Weiszfeld with more digits, and every point."""
    points = np.asarray(points, np.longdouble)
    weights = np.asarray(np.ones(len(points)) if weights is None else weights, np.longdouble)
    place = np.asarray(start, np.longdouble) + np.longdouble(1e-4) * (points.mean(axis=0) - start)
    for _ in range(steps):
        distances = np.sqrt(((points - place) ** 2).sum(axis=1))
        if (distances == 0.0).any():
            break
        pulls = weights / distances
        place = pulls @ points / pulls.sum()
    return min(long_objective(points, y, weights) for y in [place, *points[weights > 0]])


def cloud_of(kind, count, dimension, rng):
    """A set of points of one of the kinds that make a median hard to find."""
    normal = rng.standard_normal((count, dimension))
    if kind == "colluding":
        normal[: 2 * count // 5] = 10.0 + 1e-3 * normal[: 2 * count // 5]
    elif kind == "copies far off":
        normal[: 2 * count // 5] = 1e6
    elif kind == "heavy tails":
        normal = normal / rng.standard_normal((count, 1)) ** 3
    elif kind == "one wide dimension":
        normal[:, 0] *= 1e4
    elif kind == "clustered":
        normal = 1e-3 * normal + rng.standard_normal((5, dimension))[rng.integers(0, 5, count)]
    elif kind == "nearly collinear":
        normal = 1e-4 * normal + np.outer(rng.standard_normal(count), rng.standard_normal(dimension))
    elif kind == "lattice":
        normal = np.rint(1.5 * normal)
    elif kind == "many scales":
        normal *= 10.0 ** rng.integers(-12, 3, (count, 1))
    elif kind == "far from the origin":
        normal = 1e8 + 1e-2 * normal
    return normal


KINDS = [
    "normal",
    "colluding",
    "copies far off",
    "heavy tails",
    "one wide dimension",
    "clustered",
    "nearly collinear",
]
SMALL_KINDS = [*KINDS, "lattice", "many scales", "far from the origin"]

clouds = st.builds(
    lambda kind, count, dimension, seed: cloud_of(kind, count, dimension, np.random.default_rng(seed)),
    st.sampled_from(SMALL_KINDS),
    st.integers(1, 25),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
)
plain_clouds = st.builds(
    lambda count, dimension, seed: np.random.default_rng(seed).standard_normal((count, dimension)),
    st.integers(3, 25),
    st.integers(2, 6),
    st.integers(0, 2**32 - 1),
)


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


# Invariances


@steady
@given(plain_clouds, st.integers(0, 2**32 - 1))
def test_order_of_points_does_not_matter(points, seed):
    order = np.random.default_rng(seed).permutation(len(points))
    np.testing.assert_allclose(geometric_median(points[order]), geometric_median(points), atol=1e-12)


@steady
@given(plain_clouds, st.integers(0, 2**32 - 1))
def test_moves_with_rigid_motions_and_scale(points, seed):
    rng = np.random.default_rng(seed)
    rotation = ortho_group.rvs(points.shape[1], random_state=rng)
    shift, scale = 10.0 * rng.standard_normal(points.shape[1]), 10.0 ** rng.uniform(-3, 3)
    moved = geometric_median(scale * points @ rotation.T + shift)
    expected = scale * rotation @ geometric_median(points) + shift
    np.testing.assert_allclose(moved, expected, atol=1e-11 * (scale + 10.0))


@steady
@given(clouds, st.integers(0, 2**32 - 1), st.floats(1e-200, 1e200))
def test_only_ratios_of_weights_matter(points, seed, factor):
    weights = np.random.default_rng(seed).integers(1, 5, len(points)).astype(float)
    expected, info = geometric_median(points, weights, return_info=True)
    result = geometric_median(points, factor * weights)
    assert np.linalg.norm(result - expected) <= 1e-6 * np.median(info.distances) + 1e-14 * np.abs(points).max()


@pytest.mark.parametrize("exponent", [-900, -500, -498, 498, 500, 900])
@pytest.mark.parametrize("shape", [(20, 3), (30, 400)])
def test_extreme_scales(exponent, shape):
    """Powers of two about 1e-271, 1e-150, 1e150 and 1e271; only the scale may change."""
    points = np.random.default_rng(10).standard_normal(shape)
    expected, near_one = geometric_median(points, return_info=True)
    median, info = geometric_median(np.ldexp(points, exponent), return_info=True)
    np.testing.assert_allclose(np.ldexp(median, -exponent), expected, rtol=1e-9, atol=1e-12)
    assert info.relative_gap <= 1e-8
    assert math.ldexp(info.objective, -exponent) == pytest.approx(near_one.objective)


@pytest.mark.parametrize("dimension", [2, 10, 400])
def test_tight_cluster_far_from_the_origin(dimension):
    rng = np.random.default_rng(11)
    offsets = np.rint(rng.standard_normal((40, dimension)) * 2**20)  # exact after the shift
    points = 1e8 + np.ldexp(offsets, -26)
    median, info = geometric_median(points, return_info=True)
    assert info.relative_gap <= 1e-8
    np.testing.assert_allclose(median - 1e8, np.ldexp(geometric_median(offsets), -26), rtol=0, atol=2 * np.spacing(1e8))


def test_matrices_count_by_the_frobenius_norm_and_lists_are_taken():
    rng = np.random.default_rng(12)
    matrices = [rng.standard_normal((4, 3)) for _ in range(9)]
    median = geometric_median(matrices)
    assert median.shape == (4, 3)
    np.testing.assert_array_equal(median.ravel(), geometric_median([m.ravel() for m in matrices]))
    backwards = np.asfortranarray(np.array(matrices))[::-1]
    np.testing.assert_allclose(geometric_median(backwards), median, atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_float32_is_computed_in_double_and_rounded_once(offset):
    points = (np.random.default_rng(13).standard_normal((50, 7)) + offset).astype(np.float32)
    median, info = geometric_median(points, return_info=True)
    exact = geometric_median(points.astype(np.float64))
    assert median.dtype == np.float32
    np.testing.assert_array_equal(median, exact.astype(np.float32))
    np.testing.assert_allclose(info.distances, np.linalg.norm(points - median.astype(float), axis=1))
    assert long_objective(points, median) - long_objective(points, exact) <= info.gap


def test_whole_numbers_are_taken_and_the_input_is_left_alone():
    points = np.array([[0, 0], [4, 0], [0, 4], [4, 4]])
    np.testing.assert_allclose(geometric_median(points), [2.0, 2.0], atol=1e-14)
    floats = points.astype(float)
    floats.setflags(write=False)
    assert geometric_median(floats).dtype == np.float64


# Robustness


def robustness_constant(gamma):
    """C_gamma of Lemma 1."""
    return (1.0 - gamma) * math.sqrt(1.0 / (1.0 - 2.0 * gamma))


@steady
@given(
    st.integers(3, 40),
    st.integers(1, 8),
    st.floats(0.05, 0.49),
    st.sampled_from(["random", "together", "opposite", "nearby", "enormous"]),
    st.integers(0, 2**32 - 1),
)
def test_lemma_1(count, dimension, gamma, attack, seed):
    """The median of T points, more than (1 - gamma) T of them within r of a centre, is within C_gamma r."""
    rng = np.random.default_rng(seed)
    good = math.floor((1.0 - gamma) * count) + 1
    radius = 10.0 ** rng.uniform(-3, 3)
    directions = rng.standard_normal((count, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    if attack in ("together", "opposite"):
        directions[good:] = directions[0] if attack == "together" else -directions[:good].mean(axis=0)
    lengths = {"nearby": 2.0, "enormous": 1e200}.get(attack, 1e3)
    centre = rng.standard_normal(dimension)
    points = centre + radius * directions * np.where(np.arange(count) < good, 1.0, lengths)[:, None]
    distance = float(np.linalg.norm(geometric_median(points) - centre))
    assert distance <= robustness_constant(gamma) * radius * (1.0 + 1e-7) + 1e-12


@pytest.mark.parametrize(("good", "bad"), [(6, 4), (6, 2), (4, 3), (10, 9), (50, 49)])
def test_lemma_1_is_attained(good, bad):
    """Good points where lines from the bound's end touch their ball, bad ones beyond: no smaller constant."""
    gamma = bad / (good + bad)
    bound = robustness_constant(gamma)
    angles = 2.0 * np.pi * np.arange(good) / good
    touching = math.sqrt(1.0 - bound**-2)
    points = np.zeros((good + bad, 3))
    points[:good] = np.column_stack([np.full(good, 1.0 / bound), touching * np.cos(angles), touching * np.sin(angles)])
    points[good:, 0] = 1e6 * np.arange(1, bad + 1)
    distance = float(np.linalg.norm(geometric_median(points)))
    assert distance == pytest.approx(bound, rel=1e-6)
    assert distance <= robustness_constant(gamma + 1e-4) * (1.0 + 1e-9)


@pytest.mark.parametrize("length", [1e3, 1e12, 1e100, 1e300])
@pytest.mark.parametrize("shape", [(15, 4), (30, 400)])
def test_one_point_has_bounded_influence(length, shape):
    rng = np.random.default_rng(14)
    points = rng.standard_normal(shape)
    before = geometric_median(points)
    reach = np.linalg.norm(points - before, axis=1).max()
    points[3] = length * rng.standard_normal(shape[1])
    after = geometric_median(points)
    assert np.linalg.norm(after - before) <= 0.5 * reach
    # Beyond some length only the direction of the pull is left, and the result no longer moves.
    points[3] *= 64.0
    np.testing.assert_allclose(geometric_median(points), after, atol=1e-2 if length < 1e4 else 1e-6)


# Bad input


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[1.0, np.nan]], "points: needed finite numbers, got NaN or infinity in point 0"),
        ([[1.0, 2.0], [np.inf, 0.0]], "points: .* in point 1"),
        ([[1.0, 2.0], [-np.inf, 0.0]], "points: .* in point 1"),
        ([], "points: needed a non-empty array"),
        (np.empty((3, 0)), r"points: needed a non-empty array .* got shape \(3, 0\)"),
        (3.0, "points: needed a non-empty array"),
        ([[1j, 2.0]], "points: needed real numbers, got an array of type complex128"),
        ([["a", "b"]], "points: needed real numbers"),
        ([[1.0, 2.0], [3.0]], "points: needed equal shapes"),
        ([[None, 1.0]], "points: needed real numbers, got an array of type object"),
    ],
)
def test_bad_points(points, message):
    with pytest.raises(InvalidInputError, match=message):
        geometric_median(points)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0], "weights: needed finite non-negative numbers .* from -1 to 1"),
        ([0.0, 0.0], "weights: .* at least one is positive"),
        ([1.0, np.nan], "weights: needed finite"),
        ([1.0, np.inf], "weights: needed finite"),
        ([1.0], r"weights: needed one for each of the 2 points, shape \(2,\), got shape \(1,\)"),
        ([[1.0, 1.0]], "weights: needed one for each"),
        ([1.0, 1j], "weights: needed real numbers"),
        ("ab", "weights: needed real numbers"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        geometric_median([[0.0], [1.0]], weights)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1e-8, np.nan, np.inf, "small", None])
def test_bad_tolerance(tolerance):
    with pytest.raises(InvalidInputError, match="tolerance: needed a number between 0 and 1"):
        geometric_median([[0.0], [1.0]], tolerance=tolerance)


@pytest.mark.parametrize("max_passes", [0, -1, 2.5, "many"])
def test_bad_max_passes(max_passes):
    with pytest.raises(InvalidInputError, match="max_passes: needed a whole number"):
        geometric_median([[0.0], [1.0]], max_passes=max_passes)
