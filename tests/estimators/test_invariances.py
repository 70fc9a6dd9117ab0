"""What must not change, or must change in step, when the data are moved, turned, stretched or reordered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robustream as rs
from robustream.sources import subspace_error

ROTATION_INVARIANT = ["geometric-median", "mean", "online-median"]
seeds = st.integers(0, 10**6)


def rows_of(seed, count=240, columns=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, columns)) * [6, 4, 1, 1] @ np.linalg.qr(rng.normal(size=(columns, columns)))[0]


def pca(rows, aggregator="geometric-median", **options):
    return rs.OutlierRobustPCA(2, aggregator=aggregator, batch_size=40, **options).fit(rows)


def regression(rows, target, **options):
    return rs.OutlierRobustRegressor(batch_size=40, **options).fit(rows, target)


@pytest.mark.parametrize("aggregator", sorted(rs.aggregators.AGGREGATORS))
@given(seeds, st.floats(-1e4, 1e4))
@settings(max_examples=10)
def test_pca_ignores_where_the_data_are(aggregator, seed, shift):
    rows = rows_of(seed)
    plain, moved = pca(rows, aggregator), pca(rows + shift, aggregator)
    assert subspace_error(plain.components_.T, moved.components_.T) < 1e-6
    np.testing.assert_allclose(moved.mean_, plain.mean_ + shift, atol=1e-6 * (1 + abs(shift)))


@pytest.mark.parametrize("aggregator", ROTATION_INVARIANT)
@given(seeds)
@settings(max_examples=10)
def test_pca_turns_with_the_data(aggregator, seed):
    rows = rows_of(seed)
    turn = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(4, 4)))[0]
    plain, turned = pca(rows, aggregator), pca(rows @ turn, aggregator)
    assert subspace_error((plain.components_ @ turn).T, turned.components_.T) < 1e-6
    np.testing.assert_allclose(turned.explained_variance_, plain.explained_variance_, rtol=1e-6)


@given(seeds, st.floats(1e-6, 1e6))
@settings(max_examples=15)
def test_pca_stretches_with_the_data(seed, factor):
    rows = rows_of(seed)
    plain, stretched = pca(rows), pca(rows * factor)
    assert subspace_error(plain.components_.T, stretched.components_.T) < 1e-6
    np.testing.assert_allclose(stretched.explained_variance_, plain.explained_variance_ * factor**2, rtol=1e-6)


@given(seeds)
@settings(max_examples=15)
def test_pca_ignores_the_order_of_rows_within_a_batch(seed):
    rows = rows_of(seed)
    rng = np.random.default_rng(seed)
    shuffled = np.concatenate([rng.permutation(piece) for piece in np.split(rows, 6)])
    assert subspace_error(pca(rows).components_.T, pca(shuffled).components_.T) < 1e-6


@given(seeds, st.floats(-100, 100), st.floats(0.01, 100))
@settings(max_examples=20)
def test_regression_moves_and_stretches_with_the_target(seed, shift, factor):
    rows = rows_of(seed)
    target = rows @ [1.0, 2.0, 0.0, -1.0] + np.random.default_rng(seed).normal(size=240)
    plain, changed = regression(rows, target), regression(rows, factor * target + shift)
    np.testing.assert_allclose(changed.coef_, factor * plain.coef_, atol=1e-6 * factor)
    np.testing.assert_allclose(changed.intercept_, factor * plain.intercept_ + shift, atol=1e-5 * (factor + abs(shift)))
    np.testing.assert_allclose(changed.scale_, factor * plain.scale_, rtol=1e-6)


@given(seeds)
@settings(max_examples=15)
def test_regression_ignores_where_the_columns_are(seed):
    rows = rows_of(seed)
    target = rows @ [1.0, 2.0, 0.0, -1.0] + np.random.default_rng(seed).normal(size=240)
    shift = np.array([100, -50, 3, 0])
    plain, moved = regression(rows, target), regression(rows + shift, target)
    np.testing.assert_allclose(moved.coef_, plain.coef_, atol=1e-7)
    np.testing.assert_allclose(moved.predict(rows + shift), plain.predict(rows), atol=1e-5)


@pytest.mark.parametrize("size", [10.0, 1e4, 1e8])
def test_one_bad_row_in_the_trimmed_learner_moves_little(size):
    """RC-PCA bounds a row's products by those of the others."""
    rows = rows_of(0, count=400)
    plain = rs.TrimmedPCA(2, trim=0.1).fit(rows)
    rows[7] = size
    assert subspace_error(rs.TrimmedPCA(2, trim=0.1).fit(rows).components_.T, plain.components_.T) < 0.05


@pytest.mark.parametrize("size", [10.0, 1e4, 1e8])
def test_one_bad_batch_moves_the_median_little_and_the_mean_far(size):
    rows = rows_of(1, count=400)
    clean = pca(rows)
    rows[:40] = np.random.default_rng(0).normal(size=(40, 4)) * [1, 1, 1, size] + size
    robust = pca(rows)
    assert subspace_error(robust.components_.T, clean.components_.T) < 0.2
    assert np.linalg.norm(robust.mean_ - clean.mean_) < 2
    if size > 10:
        assert np.linalg.norm(pca(rows, "mean").mean_ - clean.mean_) > 10
