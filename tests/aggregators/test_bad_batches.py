"""Just below half of the batches are bad: each in its own way, all in one way, or all copies of one."""

from __future__ import annotations

import numpy as np
import pytest

from robustream import OutlierRobustPCA, OutlierRobustRegressor

TRUTH = np.array([1.5, 3.0, 1.5, -4.0])


def verdicts(model, batches):
    for batch in batches:
        model = model.partial_fit(*batch)
    return [record.verdict == "rejected" for record in model.batch_report_]


@pytest.mark.parametrize("seed", range(5))
def test_batches_that_are_wrong_by_more_and_more_go(seed):
    """No leap by a factor of ten parts them, but the others differ by no more than the chance of their rows."""
    rng = np.random.default_rng(seed)
    bad = rng.permutation(np.arange(20) < 9)
    # In standard errors of a coefficient, 2 / sqrt(400).
    off = np.zeros(20)
    off[bad] = rng.permutation(np.geomspace(25, 400, 9))
    batches = []
    for far in off:
        X, way = rng.normal(size=(400, 4)), rng.normal(size=4)
        coef = TRUTH + 0.1 * far * way / np.linalg.norm(way)
        batches.append((X, X @ coef + 2 * rng.normal(size=400)))
    assert verdicts(OutlierRobustRegressor(), batches) == bad.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_batches_with_their_axes_in_reverse_go(seed):
    rng = np.random.default_rng(seed)
    bad = rng.permutation(np.arange(20) < 9)
    spreads = np.array([6.0, 4.0, 2.0, 1.0, 1.0, 0.5])
    batches = [(rng.normal(size=(300, 6)) * (spreads[::-1] if wrong else spreads),) for wrong in bad]
    assert verdicts(OutlierRobustPCA(2), batches) == bad.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_copies_of_a_bad_batch_do_not_explain_one_another(seed):
    """Their rows lie at the same place, and nothing but that place is theirs alone."""
    rng = np.random.default_rng(seed)
    bad = rng.permutation(np.arange(30) < 12)
    stuck = rng.normal(size=(250, 4)) + 0.3
    wrong = stuck @ [-4.0, -20.0, -15.0, -20.0] + rng.normal(size=250)
    batches = []
    for copied in bad:
        X = rng.normal(size=(250, 4))
        batches.append((stuck, wrong) if copied else (X, X @ TRUTH + rng.normal(size=250)))
    assert verdicts(OutlierRobustRegressor(), batches) == bad.tolist()
