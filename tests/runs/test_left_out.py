"""What a model leaves out is on record: by batch, in its summary, in the notes of a run and in a warning."""

from __future__ import annotations

import re
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression

import robustream as rs
from robustream.report.data import files_of
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


@pytest.mark.parametrize(("share", "warned"), [(0.07, False), (0.15, True), (0.35, True)])
def test_a_group_of_a_tenth_of_the_rows_is_worth_a_warning(share, warned):
    X, y, _ = table(share)
    with pytest.warns(rs.errors.RowsLeftOutWarning, match="second honest population") if warned else nullcontext():
        rs.OutlierRobustRegressor().fit(X, y)


def test_groups_are_told():
    X, y, bad = table(0.2)
    names = pd.DataFrame(X, columns=["a", "b", "c"])
    (group,) = rs.OutlierRobustRegressor().fit(names, y).groups_
    assert group.rows == bad.sum()
    assert group.share == bad.mean()
    assert group.distance == pytest.approx(40, rel=0.1)  # the noise has scale 1
    assert next(iter(group.where)) == "y"
    assert group.where["y"] == pytest.approx(40, rel=0.05)
    assert [row for _, row in group.examples] == np.flatnonzero(bad)[:3].tolist()
    assert group.batches == ("rows 0-1999",)
    X[bad] += [0, 60, 0]
    (cloud,) = rs.OutlierRobustPCA(2).fit(X).groups_
    assert next(iter(cloud.where)) == "x1"
    assert cloud.where["x1"] == pytest.approx(60, abs=0.3)
    assert "60" in str(cloud)


def test_groups_of_rejected_batches_and_of_many_batches():
    X, y, bad = table(0.2)
    model = rs.OutlierRobustRegressor(batch_size=200).fit(X, y)
    assert sum(group.rows for group in model.groups_) == bad.sum()
    assert len({label for group in model.groups_ for label in group.batches}) == 10
    y[:600] = -X[:600] @ [1.0, 2.0, 3.0] + 5
    first = rs.OutlierRobustRegressor(batch_size=200).fit(X, y).groups_[0]
    assert first.batches == ("rows 0-199", "rows 200-399", "rows 400-599")
    assert first.rows == 600


@pytest.mark.parametrize("batch_size", ["auto", 200])
def test_all_groups_can_be_taken_for_honest(batch_size, tmp_path):
    X, y, bad = table(0.2)
    X[bad] += [0, 60, 0]
    y[:600] += 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = rs.OutlierRobustRegressor(batch_size=batch_size, keep_groups=True).fit(X, y)
        cloud = rs.OutlierRobustPCA(1, batch_size=batch_size, keep_groups=True).fit(X)
    plain = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_)
    np.testing.assert_allclose(model.intercept_, plain.intercept_)
    np.testing.assert_allclose(np.abs(cloud.components_), np.abs(PCA(1).fit(X).components_), atol=1e-3)
    assert left_out_of(model.batch_report_).rows == 0
    if batch_size == "auto":  # the groups are told all the same
        assert cloud.groups_[0].rows == bad.sum()
        assert not cloud.groups_[0].left_out
    rs.save(cloud, tmp_path / "model.rs")
    assert rs.load(tmp_path / "model.rs").groups_ == cloud.groups_


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


@pytest.mark.parametrize("missing", ["use", "skip"])
def test_rows_of_files_are_on_record_too(tmp_path, missing):
    """The record of a run over files has what its learners left out."""
    X, y, bad = table(0.1)
    for number in range(4):
        part = slice(500 * number, 500 * number + 500)
        cells = np.column_stack([X[part], y[part]]).astype(str)
        if number == 2:
            cells[:60, 0] = "NA"
        lines = "\n".join(",".join(row) for row in cells)
        (tmp_path / f"{number}.csv").write_text(f"a,b,c,y\n{lines}\n")
    model = rs.fit(rs.OutlierRobustRegressor(), str(tmp_path), target="y", missing=missing)
    records = model.batch_report_
    assert [record.left_out for record in records[:2]] == [bad[:500].sum(), bad[500:1000].sum()]
    # A row without its first cell is judged by the others; one that is skipped was never seen.
    assert left_out_of(records).rows == bad.sum() - (bad[1000:1060].sum() if missing == "skip" else 0)
    files = {file.path: file for file in files_of(records)}
    assert files[records[0].label.rpartition("#")[0]].left_out == bad[:500].sum()


@pytest.mark.parametrize("rows_each", [9, 20, 100])
def test_the_counts_of_a_summary_agree_in_a_stream(rows_each):
    rng = np.random.default_rng(0)
    model = rs.OutlierRobustRegressor()
    for _ in range(0, 3000, rows_each):
        X = rng.normal(size=(rows_each, 3))
        y = X @ [1.0, 2.0, 3.0] + rng.normal(size=rows_each)
        y[: rows_each // 5] += 60
        model.partial_fit(X, y)
    said = model.summary().notes[-1]
    rows, batches, kept = map(int, re.match(r"(\d+) rows in (\d+) batches \((\d+) kept\)", said).groups())
    waiting = re.search(r"([\d,]+) rows not counted yet", said)
    uncounted = 0 if waiting is None else int(waiting[1].replace(",", ""))
    counted = re.search(r"of ([\d,]+) rows were left out", said)
    assert rows == model.n_samples_seen_
    assert (batches, kept) == (len(model.batch_report_), len(model.batch_report_))
    assert int(counted[1].replace(",", "")) == rows - uncounted
