"""`robustream bench accuracy` at a tiny size, as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from robustream.bench.accuracy.cases import Case, Garbage
from robustream.bench.accuracy.summary import read_json
from robustream.cli import main


@pytest.fixture
def tiny_gauntlet(monkeypatch):
    """Two small cases in place of all."""
    cases = [
        Case("regression", "rows", "identity", 4, 120, contamination="vertical", fraction=0.1),
        Case("pca", "bad batches", "strong", 6, 80, 5, garbage=Garbage("random", "first", 0.2)),
    ]
    monkeypatch.setattr("robustream.bench.accuracy.cases.choose_cases", lambda problem, pattern, *, quick: cases)


def invoke(*arguments):
    return CliRunner().invoke(main, ["bench", "accuracy", *arguments])


def test_help_fits_a_screen_and_has_an_example():
    environment = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "robustream", "bench", "accuracy", "--help"]
    shown = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=environment, check=True
    ).stdout
    assert "Example: robustream bench accuracy" in shown
    assert len(shown.splitlines()) <= 24


@pytest.mark.usefixtures("tiny_gauntlet")
def test_the_command_shows_and_writes_everything(tmp_path):
    pytest.importorskip("matplotlib")
    result = invoke("--no-peers", "--seeds", "2", "--first-seed", "7", "--out", str(tmp_path / "new"))
    assert result.exit_code == 0, result.output
    assert "vertical 10%, identity p=4" in result.stdout
    assert "random first 20%, strong p=6 5x80" in result.stdout
    assert "mean time of a fit" in result.stdout
    assert "2 of 2: pca" in result.stderr
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "accuracy.csv",
        "accuracy.json",
        "accuracy.png",
    ]
    data = json.loads((tmp_path / "new" / "accuracy.json").read_text())
    assert data["seeds"] == [7, 8]
    assert data["environment"]["threads"] == 1
    assert [method["name"] for method in data["methods"]] == ["ours", "ours"]
    assert [case.name for case in read_json(tmp_path / "new" / "accuracy.json")] == [c["name"] for c in data["cases"]]


@pytest.mark.usefixtures("tiny_gauntlet")
def test_peers_stand_beside_ours():
    result = invoke("--quick", "--seeds", "1")
    assert result.exit_code == 0, result.output
    for name in ("ours", "Huber", "RANSAC", "IncPCA", "MCD"):
        assert name in result.stdout
    assert "PcaHubert" not in result.stdout


@pytest.mark.usefixtures("tiny_gauntlet")
def test_without_matplotlib_the_numbers_are_written_and_a_message_says_what_to_install(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("robustream.bench.accuracy.picture.import_module", missing)
    result = invoke("--no-peers", "--seeds", "1", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "pip install 'robustream[report]'" in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["accuracy.csv", "accuracy.json"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--cases", "nonsense"), "nonsense"),
        (("--seeds", "0"), "seeds"),
        (("--problem", "nonsense"), "nonsense"),
    ],
)
def test_mistakes_exit_with_2_and_a_message(arguments, word):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert word in result.stderr
    assert result.stdout == ""


def test_a_folder_that_cannot_be_made_is_noticed_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    result = invoke("--out", str(tmp_path / "file" / "folder"))
    assert result.exit_code == 2
    assert result.stdout == ""
