"""Passes in blocks: the plain sums, exact for constant columns, and the same bits on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from robustream.kernels.rows import TILE_CELLS, over_rows, row_blocks, weighted_moments
from robustream.kernels.threads import limit_threads

ROWS = TILE_CELLS // 2  # several tiles


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_the_plain_ones(dtype, weighted):
    rng = np.random.default_rng(0)
    x, y = rng.normal(5, 2, size=(3001, 4)).astype(dtype), rng.normal(size=(3001, 1)).astype(dtype)
    w = rng.random(3001) if weighted else None
    total, mean, covariance = weighted_moments([x, y], w, np.append(x[0], y[0]).astype(float))
    both = np.hstack([x, y]).astype(float)
    assert total == pytest.approx(3001 if w is None else w.sum(), rel=1e-12)
    np.testing.assert_allclose(mean, np.average(both, axis=0, weights=w), rtol=1e-10)
    np.testing.assert_allclose(covariance, np.cov(both.T, aweights=w, ddof=0), rtol=1e-9, atol=1e-12)


def test_moments_in_single_precision_are_the_plain_ones_but_for_its_digits():
    rng = np.random.default_rng(0)
    x, w = rng.normal(1e3, [1, 1e-3, 1e5, 1], size=(3001, 4)).astype(np.float32), rng.random(3001)
    exact, single = (weighted_moments([x], w, x[0].astype(float), single=single) for single in (False, True))
    sizes = np.sqrt(exact[2].diagonal())
    assert single[0] == pytest.approx(exact[0], rel=1e-6)
    np.testing.assert_allclose((single[1] - exact[1]) / sizes, 0, atol=2e-6)
    np.testing.assert_allclose((single[2] - exact[2]) / np.outer(sizes, sizes), 0, atol=5e-6)


def test_a_column_that_never_changes_has_no_variance():
    x = np.column_stack([np.full(5000, 1e9 + 0.1), np.arange(5000.0)])
    _, mean, covariance = weighted_moments([x], None, x[0])
    assert mean[0] == x[0, 0]
    assert covariance[0].tolist() == [0.0, 0.0]


def test_threads_do_not_change_a_bit():
    x = np.random.default_rng(0).normal(size=(ROWS, 5))
    with limit_threads(1):
        alone = weighted_moments([x], None, x[0])
    with limit_threads(4):
        several = weighted_moments([x], None, x[0])
    for first, second in zip(alone, several, strict=True):
        np.testing.assert_array_equal(first, second)


def test_blocks_and_tiles_have_every_row_once():
    seen = np.zeros(ROWS, int)

    def mark(tile):
        for block in row_blocks(tile, 3):
            seen[block] += 1

    over_rows(mark, ROWS, 3)
    assert set(seen) == {1}
