"""A target that is an exact sum of columns: said so, and nothing is rejected over rounding."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import robustream as rs
from robustream.cli import main

QUESTION = "does a column contain the target?"


def make_frame(seed: int, rows: int = 400, scale: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    air, taxi = rng.normal(120, 40, rows).round(1), rng.normal(15, 5, rows).round(1)
    frame = pd.DataFrame({"air": air, "taxi": taxi, "distance": rng.normal(800, 300, rows)})
    return frame.assign(total=scale * (air + taxi))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("exact")
    for number in range(12):
        frame = make_frame(number)
        if number == 3:
            frame["total"] = np.random.default_rng(99).normal(135, 40, len(frame))
        frame.to_csv(path / f"{number:02}.csv", index=False)
    return path


@pytest.mark.parametrize("scale", [1.0, 1e9, 1e-9])
@pytest.mark.parametrize("copies", [False, True])
def test_no_batch_is_rejected_over_rounding(scale, copies):
    for seed in range(3):
        frame = pd.concat([make_frame(100 * seed + part, scale=scale) for part in range(20)])
        frame = frame.assign(copy=frame["total"]) if copies else frame
        model = rs.fit(rs.OutlierRobustRegressor(batch_size=400), frame, target="total")
        assert {record.verdict for record in model.batch_report_} == {"kept"}
        assert sum(record.left_out for record in model.batch_report_) == 0
        np.testing.assert_allclose(model.predict(frame[model.feature_names_in_]), frame["total"], rtol=1e-9)
        assert QUESTION in str(model.summary())


def test_standard_errors_are_numbers_and_rounding_is_shown_as_zero(folder):
    model = rs.fit(rs.OutlierRobustRegressor(), folder, target="total")
    assert [record.verdict for record in model.batch_report_].count("rejected") == 1
    assert np.isfinite(model.coef_stderr_).all()
    rows = {row[0]: row[1:] for row in model.summary().rows}
    assert rows["intercept"][0] == rows["distance"][0] == 0
    np.testing.assert_allclose([rows["air"][0], rows["taxi"][0]], 1, rtol=1e-12)
    assert np.isfinite([number for row in rows.values() for number in row]).all()
    assert rows["distance"][3] == 1  # its p value


def test_the_command_line_and_the_report_ask(folder, tmp_path):
    out, report = tmp_path / "m.safetensors", tmp_path / "r.html"
    ended = CliRunner().invoke(
        main, ["fit", "regression", str(folder), "--target", "total", "-o", str(out), "--report", str(report)]
    )
    assert f"Exact fit: {QUESTION}" in ended.output
    (shown,) = [line for line in ended.output.splitlines() if "distance" in line and "e-" in line]
    assert shown.split()[1] == "0"
    assert QUESTION in report.read_text()


def test_ordinary_fits_are_not_asked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    for noise in (1.0, 1e-6):
        model = rs.OutlierRobustRegressor().fit(X, X @ [1.0, 2.0, 3.0] + noise * rng.normal(size=2000))
        assert QUESTION not in str(model.summary())
    # As many rows as coefficients fit exactly, and say nothing.
    few = rs.OutlierRobustRegressor().fit(X[:4], rng.normal(size=4))
    assert QUESTION not in str(few.summary())
    assert np.isnan(few.coef_stderr_).all()


def test_float32_is_exact_by_its_own_rounding():
    X = np.random.default_rng(0).normal(size=(3000, 3)).astype(np.float32)
    model = rs.OutlierRobustRegressor().fit(X, X @ np.array([1, 0, 2], np.float32))
    assert QUESTION in str(model.summary())
    assert model.summary().rows[2][1] == 0
