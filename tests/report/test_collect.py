from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import robustream as rs
from robustream.errors import InvalidInputError
from robustream.report import collect, render_html, summary_tables
from robustream.report.data import files_of


def printed(data):
    console = Console(file=io.StringIO(), width=120)
    for table in summary_tables(data):
        console.print(table)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    return X, np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.4, 0.4])]


def test_the_report_names_every_bad_file_and_no_other(pca_data, regression_data, bad_files):
    for data in (pca_data, regression_data):
        files = files_of(data.batches)
        assert len(files) == 40
        assert {file.path for file in files if file.verdict != "kept"} == bad_files
        assert data.outcome.endswith("Of 40 files 5 could not be used and 11 contradict the others.")


def test_a_regression_is_read_as_its_summary_says():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    Y = X @ [[1.0, 3.0], [2.0, -1.0]] + rng.normal(size=(800, 2))
    model = rs.OutlierRobustRegressor(batch_size=50).fit(X, Y)
    found = collect(model, {"targets": ["sales", "returns"]}).coefficients
    assert found.targets == ("sales", "returns")
    rows = np.array([row[1:] for row in model.summary().rows if "intercept" not in row[0]], dtype=float)
    for column, table in enumerate((found.coef, found.stderr, None, found.p_value, found.low, found.high)):
        if table is not None:
            np.testing.assert_allclose(rows[:, column], table.ravel())
    assert "returns" in printed(collect(model, {"targets": ["sales", "returns"]}))


def test_a_wrapped_linear_model_shows_its_coefficients(labelled):
    model = rs.OutlierRobust(LogisticRegression()).fit(*labelled)
    data = collect(model)
    assert data.title == "Outlier-robust LogisticRegression"
    assert data.coefficients.targets == ("high", "low", "mid")
    np.testing.assert_array_equal(data.coefficients.coef, model.estimator_.coef_)
    assert "What was learned" in render_html(data)


def test_other_wrapped_models_are_reported_without_coefficients(labelled):
    data = collect(rs.OutlierRobust(GaussianNB()).fit(*labelled))
    assert data.coefficients is None
    assert "What was learned" not in render_html(data)
    assert "kept" in printed(data)


def test_other_objects_are_refused():
    with pytest.raises(InvalidInputError, match="got LogisticRegression"):
        collect(LogisticRegression())


def test_terminal_and_page_say_the_same(pca_data, bad_files):
    shown = printed(pca_data)
    assert pca_data.outcome in shown
    assert all(path in shown for path in bad_files)
    assert "humidity" in shown


def test_markup_of_the_terminal_in_names_is_only_text(pca_data):
    record = pca_data.batches[0]._replace(label="[red]a[/red].csv#0-9", verdict="failed", reason="[bold]no[/nothing]")
    shown = printed(pca_data._replace(batches=(record,), title="[blink]x[/y]"))
    assert "[red]a[/red].csv" in shown
    assert "[bold]no[/nothing]" in shown
    assert "[blink]x[/y]" in shown
