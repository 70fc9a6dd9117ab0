"""Kinds of data from outside: loaded from a folder, run beside the oracle, swept, drawn."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from robustream.bench.accuracy import kinds
from robustream.bench.accuracy.picture import draw_sweep
from robustream.cli import main
from robustream.errors import InvalidInputError

# As others write them: plain modules that import one another by their bare names.
MODULE = """
import numpy as np
from dataclasses import dataclass
from typing import Any, NamedTuple

class Sample(NamedTuple):
    X: Any
    y: Any
    good: Any
    truth: Any
    n_components: Any
    sizes: Any

@dataclass
class Kind:
    name: str
    problem: str
    honest: bool
    make: Any
    sweep: Any = None

def shifted(rng, share=0.2, rows=300):
    X = rng.normal(size=(rows, 3)); y = X @ [1.0, 2.0, 3.0] + 4 + rng.normal(size=rows)
    good = np.arange(rows) >= share * rows
    y[~good] += 30
    return Sample(X, y, good, np.array([1.0, 2.0, 3.0, 4.0]), None, None)

def stream(rng):
    X = rng.normal(size=(600, 5)) * [5, 3, 1, 1, 1]
    return Sample(X, None, np.ones(600, bool), np.eye(5)[:, :2], 2, (200, 300, 100))

KINDS = [Kind("shifted targets", "regression", False, shifted, shifted), Kind("honest stream", "pca", True, stream)]

def plain(X, y, n_components):
    if y is None:
        return {"components": np.linalg.svd(X - X.mean(0), full_matrices=False)[2][:n_components]}
    A = np.column_stack([X, np.ones(len(X))])
    *coef, intercept = np.linalg.lstsq(A, y, rcond=None)[0]
    return {"coef": coef, "intercept": intercept, "weights": np.ones(len(X))}

def broken(X, y, n_components):
    raise ZeroDivisionError("no luck")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkout")
    folder = root / "benchmarks" / "kinds"
    folder.mkdir(parents=True)
    (folder / "kinds_of_the_tests.py").write_text(MODULE)
    return folder


@pytest.fixture
def tasks(folder):
    return kinds.choose_kinds(folder, ["kinds_of_the_tests"])


def test_kinds_are_found_and_chosen(folder, tasks):
    assert kinds.find_folder(folder.parent) == folder
    assert [task.name for task in tasks] == ["shifted targets", "honest stream"]
    assert [task.name for task in kinds.choose_kinds(folder, ["kinds_of_the_tests"], "pca")] == ["honest stream"]
    assert [task.name for task in kinds.choose_kinds(folder, ["kinds_of_the_tests"], "all", "SHIFT")] == [tasks[0].name]


def test_without_a_checkout_a_message_says_where_kinds_are(tmp_path, monkeypatch):
    monkeypatch.setattr(kinds, "__file__", str(tmp_path / "kinds.py"))
    with pytest.raises(InvalidInputError, match="benchmarks/kinds"):
        kinds.find_folder(tmp_path)


def test_ours_is_near_the_oracle_and_tells_good_rows_from_bad(tasks):
    shifted, stream = kinds.run_kinds(tasks, [0, 1])
    assert 0.5 < shifted.ratio < 1.5
    assert shifted.caught == 1.0
    assert shifted.flagged < 0.05
    assert shifted.bad == pytest.approx(0.2)
    assert (stream.rows, stream.columns, stream.caught) == (600, 5, None)
    assert 0.5 < stream.ratio < 1.5
    assert shifted.seconds > 0


def test_processes_give_the_same(tasks):
    alone, together = (list(kinds.run_kinds(tasks, [3], jobs)) for jobs in (1, 2))
    assert [result.error for result in alone] == pytest.approx([result.error for result in together])


def test_a_function_in_place_of_the_estimators(tasks):
    shifted, stream = kinds.run_kinds(tasks, [0], method="kinds_of_the_tests:plain")
    assert shifted.ratio > 10
    assert (shifted.flagged, shifted.caught) == (0.0, 0.0)
    assert stream.ratio == pytest.approx(1.0)
    assert stream.flagged is None


def test_failures_are_results(tasks, monkeypatch):
    monkeypatch.setattr(kinds, "_warm_up", lambda problem, method: None)
    results = list(kinds.run_kinds(tasks, [0], method="kinds_of_the_tests:broken"))
    assert all(result.ratio == math.inf and "no luck" in result.failure for result in results)
    assert results[0].as_data()["ratio"] is None
    assert "0.0% within 2" in kinds.format_summary(results)[-1]


def test_sweeps_are_drawn_with_their_holes(tasks):
    pytest.importorskip("matplotlib")
    swept = kinds.sweep_tasks(tasks, [0.1, 0.4], [200, 300])
    assert [(task.share, task.rows) for task in swept] == [(0.1, 200), (0.1, 300), (0.4, 200), (0.4, 300)]
    results = list(kinds.run_kinds(swept, [0]))
    assert [result.rows for result in results] == [200, 300, 200, 300]
    figure = draw_sweep([results[0]._replace(ratio=math.inf), *results[1:]])
    assert figure.axes[0].get_title() == "shifted targets"
    shades = figure.axes[0].images[0].get_array()
    assert shades[0, 0] == pytest.approx(np.log10(20))


def test_the_command_runs_kinds_and_sweeps(folder, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(folder.parent.parent)
    monkeypatch.setitem(kinds.SETS, "development", ("kinds_of_the_tests",))
    monkeypatch.setattr(kinds.sweep_tasks, "__defaults__", ((0.2,), (200,)))
    command = ["bench", "accuracy", "--set", "development", "--seeds", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert "pca honest honest stream" in result.stdout
    assert "regression, contaminated (1): " in result.stdout
    assert len(json.loads((tmp_path / "kinds-development.json").read_text())["kinds"]) == 2
    swept = CliRunner().invoke(main, [*command, "--sweep"])
    assert swept.exit_code == 0, swept.output
    assert "shifted targets, 20% of 200 rows" in swept.stdout
    assert (tmp_path / "sweep-development.png").exists()
    nothing = CliRunner().invoke(main, [*command, "--cases", "nonsense"])
    assert nothing.exit_code == 2
    assert "nonsense" in nothing.stderr
