"""The command `robustream bench stream`, with few measurements in place of all."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from robustream.bench.stream import PEER, READ, Race, perform
from robustream.cli import main


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    def steps(folder, rows, columns, *, quick):
        return list(Race(folder, rows, columns, 100, 1, (READ, PEER)).steps())

    # Fresh processes would take long.
    monkeypatch.setattr("robustream.bench.stream.use", perform)
    monkeypatch.setattr("robustream.bench.stream.stream_steps", steps)


def test_figures_are_shown_and_written_and_files_are_kept(tmp_path):
    command = ["bench", "stream", "--rows", "10000", "--columns", "6", "--quick"]
    result = CliRunner().invoke(main, [*command, "--out", str(tmp_path / "out"), "--keep", str(tmp_path / "data")])
    assert result.exit_code == 0, result.output
    assert PEER in result.stdout
    assert "a tenth of the files" in result.stderr
    data = json.loads((tmp_path / "out" / "stream.json").read_text())
    assert data["figures"][0]["group"] == f"wall time / {READ}"
    assert len(list((tmp_path / "data").glob("*.parquet"))) == 100


@pytest.mark.parametrize("options", [["--rows", "9999"], ["--columns", "5"]])
def test_too_small_tables_are_refused(options):
    result = CliRunner().invoke(main, ["bench", "stream", *options])
    assert result.exit_code == 2
    assert "must be at least" in result.stderr.replace("\n", " ")
