"""Batches whose rows lie elsewhere have another line where the truth is bent, and that speaks against none of them."""

from __future__ import annotations

import numpy as np
import pytest

from robustream import OutlierRobustRegressor


def season(rng: np.random.Generator, batch: int, batches: int = 40, rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a part of a year: heating below 15 degrees, cooling above 21."""
    warmth = 10 - 14 * np.cos(2 * np.pi * batch / batches) + 4 * rng.normal(size=rows)
    wind = rng.gamma(2, 2, rows)
    load = 50 + 2 * np.maximum(15 - warmth, 0) + 1.2 * np.maximum(warmth - 21, 0) + 0.6 * wind
    return np.column_stack([warmth, wind]), load + 5 * rng.normal(size=rows)


def verdicts(batches: list[tuple[np.ndarray, np.ndarray]]) -> list[str]:
    model = OutlierRobustRegressor(random_state=0)
    for X, y in batches:
        model.partial_fit(X, y)
    return [record.verdict for record in model.batch_report_]


@pytest.mark.parametrize("seed", range(4))
def test_the_seasons_of_a_bent_truth_are_all_kept(seed):
    rng = np.random.default_rng(seed)
    assert verdicts([season(rng, batch) for batch in range(40)]) == ["kept"] * 40


@pytest.mark.parametrize("elsewhere", [False, True])
def test_bad_batches_are_rejected_wherever_their_rows_lie(elsewhere):
    rng = np.random.default_rng(0)
    batches = [season(rng, 0) for _ in range(24)]
    for _ in range(16):
        X, y = season(rng, 0)
        batches.append((X + np.array([60.0, 0.0]) if elsewhere else X, 150 - y))
    assert verdicts(batches) == ["kept"] * 24 + ["rejected"] * 16


@pytest.mark.parametrize("batches", [12, 42])
def test_a_flag_that_is_the_same_for_a_whole_batch_has_the_effect_that_all_batches_say(batches):
    rng = np.random.default_rng(0)
    model = OutlierRobustRegressor(random_state=0)
    for batch in range(batches):
        X = np.column_stack([rng.normal(size=140), np.full(140, float(batch % 7 > 4))])
        model.partial_fit(X, X @ [2.0, -9.0] + 20 + rng.normal(size=140))
    assert {record.verdict for record in model.batch_report_} == {"kept"}
    # Of 1,680 rows a quarter has the flag: a standard error of 0.06.
    np.testing.assert_allclose(model.coef_, [2.0, -9.0], atol=0.3)
