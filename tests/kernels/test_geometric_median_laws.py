"""The geometric median: invariances, extremes, kinds of input, robustness and errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group
from tests.kernels.median_clouds import clouds, long_objective, plain_clouds, steady

from robustream.errors import InvalidInputError
from robustream.kernels.median import geometric_median

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
        ([[1.0, np.nan]], "points must be finite numbers, got NaN or infinity in point 0"),
        ([[1.0, 2.0], [np.inf, 0.0]], "points must be .* in point 1"),
        ([[1.0, 2.0], [-np.inf, 0.0]], "points must be .* in point 1"),
        ([], "points must be a non-empty array"),
        (np.empty((3, 0)), r"points must be a non-empty array .* got shape \(3, 0\)"),
        (3.0, "points must be a non-empty array"),
        ([[1j, 2.0]], "points must be real numbers, got an array of type complex128"),
        ([["a", "b"]], "points must be real numbers"),
        ([[1.0, 2.0], [3.0]], "points must have equal shapes"),
        ([[None, 1.0]], "points must be real numbers, got an array of type object"),
    ],
)
def test_bad_points(points, message):
    with pytest.raises(InvalidInputError, match=message):
        geometric_median(points)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0], "weights must be finite non-negative numbers .* from -1 to 1"),
        ([0.0, 0.0], "weights must be .* at least one is positive"),
        ([1.0, np.nan], "weights must be finite"),
        ([1.0, np.inf], "weights must be finite"),
        ([1.0], r"weights must have one entry for each of the 2 points, shape \(2,\), got shape \(1,\)"),
        ([[1.0, 1.0]], "weights must have one entry for each"),
        ([1.0, 1j], "weights must be real numbers"),
        ("ab", "weights must be real numbers"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        geometric_median([[0.0], [1.0]], weights)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1e-8, np.nan, np.inf, "small", None])
def test_bad_tolerance(tolerance):
    with pytest.raises(InvalidInputError, match="tolerance must be a number between 0 and 1"):
        geometric_median([[0.0], [1.0]], tolerance=tolerance)


@pytest.mark.parametrize("max_passes", [0, -1, 2.5, "many"])
def test_bad_max_passes(max_passes):
    with pytest.raises(InvalidInputError, match="max_passes must be a whole number"):
        geometric_median([[0.0], [1.0]], max_passes=max_passes)
