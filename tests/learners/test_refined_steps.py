"""The steps of the refined learner, each by itself."""

from __future__ import annotations

import numpy as np
import pytest

from robustream.learners.cutoffs import normal_cutoffs
from robustream.learners.refined.columns import typical_columns
from robustream.learners.refined.fewrows import far_group
from robustream.learners.refined.joint import joint_moments
from robustream.learners.refined.polish import looks_normal, plain
from robustream.learners.refined.scatter import foreign_rows
from robustream.learners.refined.separation import N_BINS, strongest_valley, valley
from robustream.learners.refined.solver import Solver, gram_of
from robustream.learners.refined.starts import elemental_start


def slow_density(values):
    """The specification of the smoothed histogram in asinh units, one value at a time."""
    ordered = np.sort(values)
    half = len(ordered) // 2
    first = int(np.argmin(ordered[half:] - ordered[: len(ordered) - half]))
    low, high = ordered[first], ordered[first + half]
    spread = np.arcsinh((values - (low + high) / 2) / ((high - low) / 1.349))
    step = np.ptp(spread) / (N_BINS - 3)
    middles = spread.min() + (np.arange(N_BINS) - 0.5) * step
    place = np.minimum(np.floor((spread - spread.min()) / step).astype(int) + 1, N_BINS - 2)
    return np.array([np.sum(np.exp(-0.5 * ((middles[place] - middle) / 0.15) ** 2)) / np.sqrt(2) for middle in middles])


@pytest.mark.parametrize("kind", ["one group", "two groups", "heavy"])
def test_the_strength_of_a_valley_is_that_of_its_specification(kind):
    rng = np.random.default_rng(0)
    values = rng.standard_t(2, 400) if kind == "heavy" else rng.normal(size=400)
    if kind == "two groups":
        values[:80] += 9
    smooth = slow_density(values)
    hill = np.minimum(np.maximum.accumulate(smooth), np.maximum.accumulate(smooth[::-1])[::-1])
    strength = np.where(smooth <= 0.6 * hill, np.sqrt(2) * (np.sqrt(hill) - np.sqrt(smooth)), 0)
    assert valley(values).strength == pytest.approx(strength.max(), abs=0.05)


def test_the_strongest_valley_is_the_strongest_of_its_columns():
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(500, 6))
    samples[:100, 2] += 8
    samples[:60, 4] += 8
    column, cut = strongest_valley(samples)
    assert column == 2
    assert cut == max((valley(samples[:, j]) for j in range(6)), key=lambda each: each.strength)
    assert 3 < cut.high < 6
    # A valley that would leave too few rows does not count.
    assert strongest_valley(samples, keep=420)[0] == 4


def test_rounded_columns_have_no_groups():
    """Counts with thirty levels or so: between two of them there is a valley that means nothing."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.poisson(20, size=(800, 6)).astype(float)
        assert not foreign_rows(rows, rng).labels.any()


def test_copies_of_a_row_count_once():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(600, 3)), np.tile([5.0, 5.0, 5.0], (400, 1))])
    assert typical_columns(rows).continuous.all()
    assert not typical_columns(np.column_stack([rows, rng.random(1000) < 0.5]))[2][3]


def test_small_shifts_are_found_among_normal_rows():
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(1000, 6))
        rows[:100, 3] += 5
        labels = foreign_rows(rows, rng).labels
        found.append((labels[:100] != 0).mean() - (labels[100:] != 0).mean())
    assert np.median(found) > 0.9


def test_normal_rows_have_no_groups():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert not foreign_rows(rng.normal(size=(800, 6)), rng).labels.any()


@pytest.mark.parametrize(("rows", "columns"), [(20, 2), (30, 3), (40, 3)])
def test_few_rows_show_a_far_group_and_no_other(rows, columns):
    hits, wrong = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table = rng.normal(size=(rows, columns)).astype(np.float32)
        wrong.append(far_group(table, rng).any())
        table[: rows // 5] = 12 + 0.3 * rng.normal(size=(rows // 5, columns))
        hits.append(np.array_equal(np.flatnonzero(far_group(table, rng)), np.arange(rows // 5)))
    assert np.mean(hits) > 0.6
    assert np.mean(wrong) < 0.1


def test_products_with_weights():
    rng = np.random.default_rng(0)
    D, Y, weights = rng.normal(size=(300, 4)), rng.normal(size=(300, 2)), rng.random(300)
    gram = gram_of(D, Y, weights)
    np.testing.assert_allclose(gram.columns, (D * weights[:, None]).T @ D)
    np.testing.assert_allclose(gram.cross, (D * weights[:, None]).T @ Y)
    np.testing.assert_allclose(gram.targets, (Y * weights[:, None]).T @ Y)
    assert gram.rows == pytest.approx(weights.sum())


def test_a_column_without_spread_in_the_rows_in_use_has_no_moments():
    """Even far from the origin, where rounding errors would pass for variance."""
    rng = np.random.default_rng(0)
    D = np.column_stack([rng.normal(size=(500, 2)), np.full(500, 0.1), np.ones(500)]).astype(np.float32)
    D[400:, 2] = 5
    Y = rng.normal(size=(500, 1))
    joint = joint_moments(D, Y, plain(D, Y, np.arange(500) < 400, Solver(np.zeros(4), True)), True)
    assert not joint.covariance[2].any()
    np.testing.assert_allclose(joint.covariance[:2, :2], np.cov(D[:400, :2].T, ddof=0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["shifted", "flipped", "heavy", "wide"])
def test_least_squares_residuals_of_dirty_rows_do_not_look_normal(kind):
    rng = np.random.default_rng(0)
    fitted, noise = rng.normal(size=(1500, 1)) * 3, rng.normal(size=(1500, 1))
    assert looks_normal(noise, fitted)
    bad = np.arange(1500) < 300
    if kind == "shifted":
        noise[bad] += 5
    elif kind == "flipped":
        noise[bad] -= 2 * fitted[bad]
    elif kind == "heavy":
        noise = rng.standard_t(3, size=(1500, 1))
    else:
        noise[bad] *= 5
    assert not looks_normal(noise - noise.mean(), fitted)


@pytest.mark.parametrize("outputs", [1, 2])
def test_exact_fits_to_a_few_rows_find_the_majority(outputs):
    rng = np.random.default_rng(0)
    D, beta = rng.normal(size=(60, 3)), rng.normal(size=(3, outputs))
    Y = D @ beta + 0.01 * rng.normal(size=(60, outputs))
    Y[:25] += 10
    np.testing.assert_allclose(elemental_start(D, Y, rng), beta, atol=0.1)


def test_unequal_variances_outside_need_a_larger_cutoff():
    equal, unequal = normal_cutoffs(np.ones(10), 2), normal_cutoffs(np.array([10.0] + 9 * [0.1]), 2)
    assert unequal[0] > equal[0]
    assert unequal[1] == equal[1]
