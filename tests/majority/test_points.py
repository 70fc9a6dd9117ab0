"""Tests of `points.majority`: the twin, invariances, limits of size, exactness where nothing is left out."""

import numpy as np
import pytest

from robustream.majority.evidence import DEPTH, WIDTHS, _valleys, second_scales, valley
from robustream.majority.laws import Mixture, posteriors, squared_lengths
from robustream.majority.points import ROWS, majority

RNG = np.random.default_rng


def plain(x, w=None):
    w = np.ones(len(x)) if w is None else w
    c = w @ x / w.sum()
    return c, ((x - c) * w[:, None]).T @ (x - c) / w.sum()


def dirty(n=500, p=6, share=0.3, seed=0):
    rng = RNG(seed)
    x = rng.normal(size=(n, p)) * np.linspace(3, 1, p)
    x[: int(share * n)] += 12 * np.eye(p)[-1]
    return x


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(5))
def test_fast_valley_is_the_plain_one(width, seed):
    rng = RNG(seed)
    view = np.sort(np.r_[rng.normal(size=150), rng.normal(7, 1, 60)].astype(np.float32)).astype(float)
    fast = _valleys(view[None], (width,), DEPTH)[0]
    np.testing.assert_allclose(fast, valley(view, width), rtol=1e-6)


def test_second_scale_is_seen_and_one_law_is_not():
    rng = RNG(0)
    z = rng.normal(size=(1000, 2))
    z[:300] *= 8
    assert second_scales(z.T, [slice(0, 2)])[0][0] > 10
    for law in (
        rng.standard_t(3, (1000, 1)),
        rng.laplace(size=(1000, 1)),
        rng.exponential(size=(1000, 1)),
        np.exp(rng.normal(size=(1000, 1))),
    ):
        assert second_scales(law.T, [slice(0, 1)])[0][0] < 0


@pytest.mark.parametrize(("n", "p"), [(3, 2), (8, 2), (8, 500), (12, 5), (60, 200), (300, 1), (300, 5), (2000, 30)])
def test_clean_points_get_exactly_the_plain_answer(n, p):
    x = RNG(n + p).normal(size=(n, p)) * np.geomspace(3, 1, p) + 5
    found = majority(x)
    assert found.plain
    assert not found.groups
    assert found.cells is None
    np.testing.assert_allclose(found.scatter, plain(x)[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.center, plain(x)[0])


def test_order_of_rows_does_not_matter():
    for x in (
        dirty(),
        dirty(6000),
        RNG(1).standard_t(3, (800, 5)),
        np.r_[RNG(2).poisson(3, (400, 5)) * 1.0, np.full((40, 5), 99.0)],
    ):
        a = majority(x)
        for order in (RNG(3).permutation(len(x)), np.argsort(x[:, 0]), np.argsort(x[:, -1])):
            b = majority(x[order])
            np.testing.assert_allclose(b.scatter, a.scatter, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(b.weights, a.weights[order], atol=1e-4)


@pytest.mark.parametrize(("factor", "shift"), [(1e-6, 0), (1e6, 0), (1, 1e6), (1e3, -1e7)])
def test_units_do_not_matter(factor, shift):
    x = dirty()
    a, b = majority(x), majority(x * factor + shift)
    np.testing.assert_allclose(b.scatter / factor**2, a.scatter, rtol=1e-3, atol=1e-3)
    c = majority(x * np.geomspace(1e-6, 1e6, x.shape[1]))
    assert np.mean((c.weights > 0.5) == (a.weights > 0.5)) > 0.99


def test_group_is_left_out_and_on_record():
    x = dirty()
    found = majority(x)
    good = plain(x[150:])
    np.testing.assert_allclose(found.center, good[0], atol=0.02)
    (group,) = found.groups
    assert 145 <= group.rows <= 155
    assert group.distance > 5
    assert group.members[:150].mean() > 0.97
    assert group.reason
    assert not found.plain


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32])
def test_other_types(dtype):
    x = np.round(dirty() * 100).astype(dtype)
    assert majority(x).groups[0].rows == pytest.approx(150, abs=5)


def test_weights_multiply_and_zero_weights_do_not_count():
    x = RNG(0).normal(size=(400, 4))
    w = RNG(1).uniform(0.5, 2, 400)
    np.testing.assert_allclose(majority(x, w).scatter, plain(x, w)[1])
    y = dirty()
    keep = (np.arange(500) >= 150) * 1.0
    found = majority(y, keep)
    assert found.plain
    np.testing.assert_allclose(found.center, plain(y[150:])[0])


def test_copies_constant_columns_and_discrete_columns():
    rng = RNG(0)
    x = rng.normal(size=(400, 5))
    assert majority(np.c_[x, np.full(400, 3.0)]).plain
    assert majority(x[rng.integers(0, 400, 1500)]).plain  # a bootstrap
    assert majority(rng.integers(1, 6, (400, 5))).plain
    assert majority((rng.random((400, 8)) < 0.3) * 1.0).plain
    assert majority(np.ones((50, 3))).plain
    stuck = x.copy()
    stuck[:120] = stuck[0] * 0.5
    found = majority(stuck)
    assert found.groups[0].reason == "copies of one row"
    assert found.weights[:120].max() == 0
    filled = x.copy()
    filled[:120, 2] = 0.7
    assert majority(filled).groups[0].reason == "one value filled into a column"
    coded = rng.poisson(3, (400, 5)).astype(float)
    coded[:40, 2] = 999
    assert majority(coded).groups[0].rows == 40


def test_classes_without_a_majority_are_kept():
    rng = RNG(0)
    x = (6 * np.eye(5)[:3])[rng.integers(0, 3, 600)] + rng.normal(size=(600, 5))
    assert majority(x).plain


@pytest.mark.parametrize(("n", "p"), [(20, 3), (60, 50), (200, 500), (1000, 20)])
def test_colluding_points(n, p):
    for seed in range(5):
        x = RNG(seed).normal(size=(n, p))
        bad = int(0.45 * n)
        x[:bad] += 60 / np.sqrt(p)
        found = majority(x, cells=False)
        assert found.weights[:bad].max() < 0.5 < found.weights[bad:].mean()


def test_one_wild_row_has_no_say():
    x = RNG(0).normal(size=(300, 4))
    for size in (1e2, 1e6, 1e12, 1e100):
        y = x.copy()
        y[7] = size
        found = majority(y)
        assert found.weights[7] == 0
        np.testing.assert_allclose(found.scatter, plain(np.delete(y, 7, axis=0))[1], rtol=1e-6)


def test_bad_cells_all_over():
    rng = RNG(0)
    x = rng.normal(size=(1000, 4)) @ rng.normal(size=(4, 20)) + 0.3 * rng.normal(size=(1000, 20))
    y = np.where(rng.random(x.shape) < 0.05, 1000.0, x)
    found = majority(y)
    assert found.cells is not None
    a, b = np.linalg.eigh(found.scatter)[1][:, -4:], np.linalg.eigh(np.cov(x.T))[1][:, -4:]
    assert np.linalg.norm(a @ a.T - b @ b.T) < 0.1


def test_copies_of_a_row_that_the_search_does_not_see_are_found_all_the_same():
    # The rows that are searched are chosen by a hash of their content: all copies of a row, or none.
    for seed in range(6):
        x = np.random.default_rng(seed).normal(size=(3 * ROWS, 3))
        x[:450] = np.random.default_rng(seed + 100).normal(size=3)
        assert [(group.rows, group.reason) for group in majority(x).groups] == [(450, "copies of one row")]


def test_the_compiled_posteriors_are_the_plain_ones():
    rng = RNG(0)
    points = np.vstack([rng.normal(size=(500, 3)), rng.normal(6, 2, size=(200, 3))])
    mixture = Mixture(points, np.stack([np.arange(700) < 500, np.arange(700) >= 500]).astype(float))
    posterior, likeliest = mixture.weigh(points)
    plain = posteriors(mixture.laws, [squared_lengths(law.white(points)) for law in mixture.laws])
    np.testing.assert_allclose(posterior, plain[0], rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(likeliest, plain.argmax(axis=0))


def test_points_without_coordinates_are_all_alike():
    found = majority(np.zeros((12, 0)))
    assert found.plain
    assert not found.groups
    np.testing.assert_array_equal(found.weights, np.ones(12))


def test_a_single_number_far_off_is_left_out():
    """In one dimension, as the level of a batch is: a law of its own on either side must not explain it for nothing."""
    found = 0
    for seed in range(20):
        points = np.random.default_rng(seed).normal(size=(60, 1))
        points[7] = 300
        found += [group.rows for group in majority(points, cells=False).groups] == [1]
    assert found >= 14  # 18 of 20; 8 without SKEW


@pytest.mark.parametrize("flag", [0.3, 0.5])
@pytest.mark.parametrize("wide", [10.0, 30.0])
def test_classes_hide_nothing_that_is_far_from_all_of_them(flag, wide):
    rng = RNG(0)
    x = rng.normal(size=(1000, 4))
    x[:, 0] = rng.random(1000) < flag
    clean = np.diag(np.cov(x[200:].T))
    x[:200] = wide * rng.normal(size=(200, 4))
    # Rows of the garbage that lie among the good ones stay: a few, and near.
    assert np.all(np.diag(majority(x).scatter) < 1.2 * clean + 0.01 * wide**2)


def test_classes_of_which_none_has_the_majority_are_kept():
    rng = RNG(1)
    x = np.concatenate([rng.normal(size=(300, 3)) + 12 * np.eye(3)[k] for k in range(3)])
    assert majority(x).plain


@pytest.mark.parametrize(("code", "columns"), [(-999.0, 1), (99.0, 1), (9.0, 2), (-9.0, 3)])
def test_codes_in_columns_of_few_values(code, columns):
    rng = RNG(0)
    x = rng.normal(size=(1000, 5))
    x[:, 2:] = rng.random((1000, 3)) < 0.3
    x[:50, 2 : 2 + columns] = code
    found = majority(x)
    assert [(group.rows, group.reason) for group in found.groups] == [(50, "one value filled into a column")]


def test_a_level_is_no_code():
    rng = RNG(0)
    x = rng.normal(size=(1000, 4))
    x[:, 2] = rng.choice([0.0, 1.0, 2.0, 5.0], 1000)
    x[:, 3] = rng.choice([0.0, 0.5, 1.0], 1000, p=[0.6, 0.3, 0.1])
    assert majority(x).plain


def test_copies_of_one_row_of_a_discrete_table():
    rng = RNG(0)
    x = rng.integers(0, 17, (1500, 40)).astype(float)
    x[:300] = x[0]
    assert [(group.rows, group.reason) for group in majority(x).groups] == [(300, "copies of one row")]
    empty = (rng.random((1500, 40)) < 0.02) * rng.integers(1, 5, (1500, 40)).astype(float)
    assert majority(empty).plain  # rows of zeros are those of nothing
    flags = (rng.random((1500, 5)) < 0.2).astype(float)
    assert majority(flags).plain  # chance makes rows equal


@pytest.mark.parametrize("wide", [False, True])
def test_a_constant_column_is_no_filled_value(wide):
    rng = RNG(0)
    x = np.column_stack([rng.normal(size=(1000, 3)), np.full(1000, 5.0)])
    x[:50] = 30 * rng.normal(size=(50, 4)) if wide else 20 + rng.normal(size=(50, 4))
    found = majority(x)
    assert [group.rows for group in found.groups] == [50]
    np.testing.assert_allclose(found.center, x[50:].mean(axis=0), atol=1e-3)  # wide rows may lie among the others
