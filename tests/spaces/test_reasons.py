"""A rejected batch says in words what is wrong with it, and names the column."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs
from robustream.sources.tables.frames import frame_of_rows
from robustream.spaces import LinearModels, say_differences

NAMES = np.array(["TaxiIn", "TaxiOut", "Distance", "Day"], dtype=object)
ROWS, BATCHES, BAD = 300, 30, 7


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS * BATCHES, 4)) * [3.0, 2.0, 500.0, 1.0] + [6.0, 12.0, 800.0, 3.0]
    return X, X @ [1.1, 0.5, 0.13, 0.0] + rng.normal(size=len(X)) * 4


BATCH = slice(BAD * ROWS, (BAD + 1) * ROWS)


def why(model, X, y=None):
    """Return the reason for which the one bad batch was rejected, after a round through a file."""
    for first in range(0, len(X), ROWS):
        part = slice(first, first + ROWS)
        model.partial_fit(frame_of_rows(X[part], NAMES), *([] if y is None else [y[part]]))
    (record,) = [record for record in model.batch_report_ if record.verdict == "rejected"]
    assert record.index == BAD
    # The distance shown is that of the part which is blamed.
    assert record.distance > max(record.distance for record in model.batch_report_ if record.verdict == "kept")
    return record.reason


def slope(X, y):
    y[BATCH] += -3 * X[BATCH, 0]


def level(X, y):
    y[BATCH] += 60


def noise(X, y):
    y[BATCH] += np.random.default_rng(1).normal(size=ROWS) * 80


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (slope, "its slope of TaxiIn is "),
        (level, "its level of the target is "),
        (noise, "its noise is "),
    ],
)
def test_regression(damage, words):
    X, y = table()
    damage(X, y)
    reason = why(rs.OutlierRobustRegressor(batch_size=ROWS), X, y)
    assert reason.startswith(words)
    assert ("times as large as the others'" if damage is noise else "standard errors from the others'") in reason


def test_the_standard_errors_are_those_of_a_batch():
    """A slope that is off by so much has this many standard errors, those of least squares in a batch."""
    X, y = table()
    slope(X, y)
    reason = why(rs.OutlierRobustRegressor(batch_size=ROWS), X, y)
    said = float(reason.partition("its slope of TaxiIn is ")[2].split()[0])
    expected = 3 / (4 / (3 * np.sqrt(ROWS)))
    # The spread of 29 slopes is known to a seventh or so (the median deviation has 37% efficiency), three of these.
    assert abs(said / expected - 1) < 0.65


def test_a_column_that_hardly_varies_in_the_batch_is_not_blamed():
    X, y = table()
    X[BATCH, 3] = 3 + np.random.default_rng(1).normal(size=ROWS) * 1e-4  # its slope may be anything there
    y[BATCH] += -3 * X[BATCH, 0]
    assert "TaxiIn" in why(rs.OutlierRobustRegressor(batch_size=ROWS), X, y)


def test_components():
    X, _ = table()
    X[BATCH, 1] += 30
    assert why(rs.OutlierRobustPCA(1, batch_size=ROWS), X).startswith("its mean of TaxiOut is ")
    X, _ = table()
    X[BATCH, 1] = 12 + (X[BATCH, 1] - 12) * 400
    X[BATCH, 2] = 800 + (X[BATCH, 2] - 800) / 400
    reason = why(rs.OutlierRobustPCA(1, batch_size=ROWS), X)
    assert "its components are turned by " in reason
    assert "towards TaxiOut" in reason


def test_names_come_back_from_a_file(tmp_path):
    X, y = table()
    slope(X, y)
    model = rs.OutlierRobustRegressor(batch_size=ROWS)
    reason = why(model, X, y)
    rs.save(model, tmp_path / "model")
    assert [record.reason for record in rs.load(tmp_path / "model").batch_report_ if record.reason] == [reason]


def test_many_small_differences_are_said_as_such():
    """Off by a little in every slope, always in the same direction: no slope alone explains the verdict."""
    slopes = np.random.default_rng(3).normal(size=(200, 1, 40)) * 0.1
    slopes[BAD] = 0.2
    points = [(slope, np.zeros(40), np.zeros(1), np.zeros(1), None, np.zeros(()), None) for slope in slopes]
    (said,) = say_differences(LinearModels(40, 1), 0, points, [None] * 7, np.arange(200) != BAD, [BAD])
    assert said.startswith("its coefficients are together ")
