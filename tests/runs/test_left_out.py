"""What a model leaves out is on record: by batch, in its summary, in the notes of a run and in a warning."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import robustream as rs
from robustream.runs.notes import left_out_of


def table(share, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=2000)
    bad = rng.random(2000) < share
    y[bad] += 40
    return X, y, bad


def test_rows_left_out_are_counted_with_their_reason():
    X, y, bad = table(0.1)
    model = rs.OutlierRobustRegressor().fit(X, y)
    (record,) = model.batch_report_
    assert record.verdict == "kept"
    assert record.left_out == bad.sum()
    assert record.left_out_reason.startswith(f"{bad.sum()} rows: ")
    assert f"{bad.sum()} of 2,000 rows were left out" in str(model.summary())


def test_a_row_counts_once_however_many_outputs_speak_against_it():
    X, y, bad = table(0.1)
    (record,) = rs.OutlierRobustRegressor().fit(X, np.column_stack([y, -y])).batch_report_
    assert record.left_out == bad.sum()


@pytest.mark.parametrize(("share", "warned"), [(0.1, False), (0.35, True)])
def test_a_quarter_of_the_rows_is_worth_a_warning(share, warned):
    X, y, _ = table(share)
    with pytest.warns(rs.errors.RowsLeftOutWarning, match="second honest population") if warned else nullcontext():
        rs.OutlierRobustRegressor().fit(X, y)


def test_rejected_batches_count_too():
    X, y, _ = table(0.0)
    y[:600] += 40
    model = rs.OutlierRobustRegressor(batch_size=200).fit(X, y)
    found = left_out_of(model.batch_report_)
    assert found.rows == found.rejected == 600


def test_the_record_survives_saving(tmp_path):
    X, y, bad = table(0.1)
    model = rs.OutlierRobustRegressor().fit(X, y)
    rs.save(model, tmp_path / "model.rs")
    assert rs.load(tmp_path / "model.rs").batch_report_[0].left_out == bad.sum()


def test_single_bad_cells_are_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10))
    y = X.sum(axis=1) + rng.normal(size=2000)
    X[rng.random(X.shape) < 0.04] = 50.0
    model = rs.OutlierRobustRegressor().fit(X, y)
    assert "single cells were taken as missing" in model.batch_report_[0].left_out_reason
    # Least squares on the clean table is off by about sqrt(1 / 2000) in each coefficient.
    assert np.abs(model.coef_ - 1).max() < 0.15
