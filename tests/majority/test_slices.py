"""Batches that are slices of one table are told from batches that contradict each other."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs
from robustream.majority import are_slices, tile
from robustream.spaces import Law

ROWS = 6_000


def laws(table, count):
    return [Law(part.mean(axis=0), np.cov(part.T, bias=True)) for part in np.array_split(table, count)]


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.gamma(2.0, 1.0, (ROWS, 3)) * [1.0, 2.0, 3.0]
    return np.column_stack([X, X @ [1.0, -2.0, 0.5] - 0.1 * X[:, 0] ** 2 + rng.normal(size=ROWS)])


def are(rows, count, targets=1, kept=None):
    return are_slices(laws(rows, count), np.full(count, ROWS / count), np.ones(count, bool), targets)


@pytest.mark.parametrize("count", [5, 12, 40])
@pytest.mark.parametrize("column", range(4))
def test_sorted_rows_come_in_slices(count, column):
    rows = table()
    rows = rows[np.argsort(rows[:, column])]
    assert are(rows, count)
    assert are(rows[:, :3], count, targets=0) or column == 3  # the target may sort no column
    assert tile(laws(rows, count)) or count < 8


def test_shuffled_rows_do_not():
    assert not are(table(), 12)
    assert not tile(laws(table(), 12))


@pytest.mark.parametrize("count", [5, 12])
def test_nor_do_sorted_rows_among_which_batches_are_bad(count):
    rows = table()
    rows = rows[np.argsort(rows[:, 0])]
    bad = np.concatenate(np.array_split(np.arange(ROWS), count)[-1:] + np.array_split(np.arange(ROWS), count)[:1])
    rows[bad, -1] += 60
    assert not are(rows, count)


def test_nor_does_garbage():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(300, 4)) for _ in range(12)]
    parts[3:8] = [part * 10.0**k + 20.0 * 10.0**k for k, part in enumerate(parts[3:8])]
    assert not are(np.concatenate(parts), 12)
    assert not tile(laws(np.concatenate(parts), 12))


@pytest.mark.parametrize("by", ["x", "y"])
@pytest.mark.parametrize("count", [5, 12, 40])
def test_a_sorted_stream_has_the_plain_answer(by, count):
    rows = table()
    rows = rows[np.argsort(rows[:, 0 if by == "x" else -1])]
    regression, principal = rs.OutlierRobustRegressor(), rs.OutlierRobustPCA(1)
    for part in np.array_split(rows, count):
        regression.partial_fit(part[:, :3], part[:, 3])
        principal.partial_fit(part[:, :3])
    plain = np.linalg.lstsq(np.column_stack([rows[:, :3], np.ones(ROWS)]), rows[:, 3], rcond=None)[0]
    np.testing.assert_allclose(regression.coef_, plain[:3], rtol=1e-6)
    assert (
        abs(principal.components_[0] @ np.linalg.eigh(np.cov(rows[:, :3].T))[1][:, -1]) > 1 - 1e-4
    )  # a few rows far from their slice may go
    assert {record.verdict for record in regression.batch_report_} == {"kept"}


def test_a_wrong_unit_in_batches_of_a_drift_is_found():
    rng, model = np.random.default_rng(0), rs.OutlierRobustCovariance()
    bad = rng.permutation(30) < 6
    for k in range(30):
        X = rng.normal([0.7 * k, 0.0, 0.0], 1.0, (500, 3))
        X[:, 1] *= 10.0 if bad[k] else 1.0
        model.partial_fit(X)
    assert [record.verdict == "rejected" for record in model.batch_report_] == bad.tolist()
