"""The grid of speeds and the run at scale, on small cells."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from robustream.bench.looks import Looks, looks_grid, measure_looks
from robustream.bench.scale import BATCH_ROWS, Scale, ScaledRows, measure_scale
from robustream.bench.speed import DIRT, Cell, draw_grid, grid, make_rows, measure_cell
from robustream.cli import main


def test_the_grid_has_every_dirt_for_tables_and_streams():
    cells = grid()
    assert {cell.dirt for cell in cells if cell.call is not None} == set(DIRT)
    assert {cell.columns for cell in cells} == {2, 5, 20, 100, 500}
    assert len(set(cells)) == len(cells)
    assert set(grid(quick=True, most_rows=10_000)) < set(cells)


@pytest.mark.parametrize("dirt", DIRT)
def test_dirt_is_as_much_as_its_name_says(dirt):
    cell = Cell("regression", 2_000, 5, dirt, 100)
    clean, spoiled = make_rows(cell._replace(dirt="clean")), make_rows(cell)
    changed = np.any(clean[0] != spoiled[0], axis=1)
    share = DIRT[dirt][0]
    if dirt == "bad cells":
        assert np.mean(clean[0] != spoiled[0]) == pytest.approx(0.05, abs=0.01)
    else:
        # Calls are few: 20 of them, so that their share varies by a tenth.
        assert changed.mean() == pytest.approx(share, abs=0.25 if "calls" in dirt else 0.04)


@pytest.mark.parametrize("cell", [Cell("PCA", 300, 3, "10% apart"), Cell("regression", 400, 3, "clean", 100)])
def test_a_cell_is_a_ratio_to_the_plain_method(cell):
    (figure,) = measure_cell(cell, 1, 1, peers=False)
    ours, plain = figure.details["seconds"]["ours"], figure.details["seconds"]["plain"]
    assert figure.value == pytest.approx(ours[0] / plain[0])
    pytest.importorskip("matplotlib")
    assert draw_grid([figure]).axes[0].get_title().startswith(cell.problem)


def test_peers_are_timed_in_the_same_turns():
    figures = measure_cell(Cell("regression", 300, 2, "clean"), 1, 1, peers=True)
    assert "our time / HuberRegressor, 1 thread" in [figure.group for figure in figures]


def test_looks_are_a_ratio_to_the_same_stream_without_them():
    assert len(set(looks_grid())) == len(looks_grid()) > len(looks_grid(quick=True))
    (figure,) = measure_looks(Looks("PCA", "classical", 12, 3, rows=60))
    without, with_looks = figure.details["milliseconds a call without and with looks"]
    assert figure.value == pytest.approx(with_looks / without)
    assert figure.value > 1


def test_unknown_cells_are_refused():
    result = CliRunner().invoke(main, ["bench", "speed", "--cells", "nothing"])
    assert result.exit_code == 2
    assert "no cell is like" in result.stderr


def test_scaled_rows_are_the_same_whenever_they_are_made():
    source = ScaledRows(Scale(2 * BATCH_ROWS + 5, 3))
    batches = list(source.batches(1))
    assert [batch.index for batch in batches] == [1, 2]
    assert [batch.rows for batch in batches] == [BATCH_ROWS, 5]
    np.testing.assert_array_equal(batches[0].X, source.batch(1).X)
    assert len(np.unique(source.batch(0).X, axis=0)) == BATCH_ROWS


def test_a_run_at_scale_goes_on_and_finds_the_coefficients(tmp_path):
    scale = Scale(2 * BATCH_ROWS, 3)
    rate, _, memory, error = measure_scale(scale, tmp_path / "checkpoint")
    assert rate.value > 0
    assert error.value < 3  # of three coefficients; the squared error in units of its mean is a chi square over three
    again = measure_scale(scale, tmp_path / "checkpoint")  # there is nothing left to do
    assert again[0].details["rows of this run"] == 0
    assert memory.title == rate.title.partition(" (")[0]


def test_the_command_writes_figures_and_removes_its_checkpoint(tmp_path):
    checkpoint = tmp_path / "run.checkpoint"
    command = ["bench", "scale", "--rows", "2e3", "--columns", "2", "--checkpoint", str(checkpoint)]
    result = CliRunner().invoke(main, [*command, "--folder", str(tmp_path / "data"), "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "scale.json").read_text())["figures"][0]["unit"] == ""
    assert not checkpoint.exists()
    assert CliRunner().invoke(main, ["bench", "scale", "--rows", "0.5"]).exit_code == 2
