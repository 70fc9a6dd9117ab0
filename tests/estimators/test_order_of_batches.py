"""The order of the batches has no say in the model, and neither has how often one of them comes."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs


def batches(columns: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Batches of which two in five are garbage, with a sixth of bad rows in the others."""
    rng = np.random.default_rng(columns)
    coef = rng.normal(size=columns)
    made = []
    for index in range(20):
        X = rng.normal(size=(500, columns)) * np.linspace(3, 1, columns) + 3
        y = X @ coef + rng.normal(size=500)
        bad = rng.random(500) < 0.15
        X[bad], y[bad] = 2 * X[bad], -3 * y[bad]
        made.append((X, -5 * y if index % 5 < 2 else y))
    return made


# Calls that wait are searched with those that came next to them, so that a row that hardly matters may be believed in
# one order and not in another. A quarter of a standard error of a coefficient is 0.0035: of 5,000 rows, spread 1. That
# of the level, where no column is 0, is six times as large (the columns' means are 3), and that of a loading eight
# times: variances of 9 and 7.9 are hard to tell apart.
A_QUARTER, OF_THE_LEVEL, OF_A_LOADING = 3.5e-3, 6.0, 8.0


@pytest.mark.parametrize(("columns", "batch_size", "near"), [(3, 500, 1e-6), (12, 500, 1e-6), (12, "auto", A_QUARTER)])
def test_any_order_gives_the_same_model(columns, batch_size, near):
    made = batches(columns)
    models = []
    for order in (range(20), reversed(range(20)), np.random.default_rng(0).permutation(20)):
        regression = rs.OutlierRobustRegressor(batch_size=batch_size)
        principal = rs.OutlierRobustPCA(1, batch_size=batch_size)
        for index in order:
            regression.partial_fit(*made[index])
            principal.partial_fit(made[index][0])
        models.append((regression.coef_, regression.intercept_, principal.components_, principal.mean_))
    for other in models[1:]:
        for value, same, times in zip(other, models[0], (1.0, OF_THE_LEVEL, OF_A_LOADING, 1.0), strict=True):
            # Rows are judged in single precision.
            np.testing.assert_allclose(value, same, atol=times * near)


@pytest.mark.parametrize(("batch_size", "near"), [(500, 1e-6), ("auto", A_QUARTER)])
def test_a_batch_that_comes_again_and_again_counts_once(batch_size, near):
    made = batches(12)
    once, often = (rs.OutlierRobustRegressor(batch_size=batch_size) for _ in range(2))
    for model, copies in ((once, 1), (often, 9)):
        for X, y in [*made[2:5] * 1, *made[7:10], *made[12:15], *[made[17]] * copies]:
            model.partial_fit(X, y)
    np.testing.assert_allclose(often.coef_, once.coef_, atol=near)


@pytest.mark.parametrize("half_life", [3, 5, 8])
def test_a_lasting_change_is_believed_after_a_half_life_and_whole(half_life):
    rng, model, told = np.random.default_rng(0), rs.OutlierRobustRegressor(half_life=half_life), []
    for k in range(45):
        X = rng.normal(size=(200, 6))
        model.partial_fit(X, (1 if k < 20 else -1) * X @ np.arange(1.0, 7.0) + rng.normal(size=200))
        told.append(model.coef_[-1])
    # What was learned before and after is not mixed: five standard errors of two batches.
    near = np.abs(np.abs(told) - 6.0) < 5 / np.sqrt(200)
    assert near.all()
    # As soon as the new batches have half of the weight, the 20 old ones having not quite 1 / (1 - 2^(-1 / half_life)).
    assert half_life - 2 <= int(np.argmax(np.array(told) < 0)) - 20 <= half_life
