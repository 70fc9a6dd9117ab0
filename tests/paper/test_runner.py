"""The runner: what was done is not done again, a killed run goes on, and a seed decides all numbers."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from robustream.errors import InvalidInputError
from robustream.paper.experiment import Context
from robustream.paper.experiments import EXPERIMENTS, choose
from robustream.paper.results import Cell, Store
from robustream.paper.runner import missing_cells, run_cells
from robustream.paper.scenarios import SIZES

# Runs the cells of a figure and kills itself, as the power going off would, after some of them.
KILLED = """
import os, signal, sys
from pathlib import Path
from robustream.paper.experiment import Context
from robustream.paper.experiments import EXPERIMENTS
from robustream.paper.runner import run_cells
from robustream.paper.scenarios import SIZES
from robustream.paper.results import Store

done = []
def advance(cell):
    done.append(cell)
    if len(done) == 3:
        os.kill(os.getpid(), signal.SIGKILL)

cells = EXPERIMENTS["figure-1d"].cells(Context(SIZES["tiny"]))
run_cells(cells, Store(Path(sys.argv[1]), "tiny", 0), 1, advance)
"""


def figure(seed=0):
    return list(EXPERIMENTS["figure-1d"].cells(Context(SIZES["tiny"], seed)))


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("complete"), "tiny", 0)
    run_cells(figure(), store)
    return store


def test_a_killed_run_goes_on_and_ends_with_the_same_numbers(tmp_path, complete):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    store = Store(tmp_path, "tiny", 0)
    left = missing_cells(figure(), store)
    assert len(left) == len(figure()) - 3
    before = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*.parquet")}
    ran = []
    run_cells(figure(), store, advance=ran.append)
    assert {(cell.group, cell.name) for cell in ran} == {(cell.group, cell.name) for cell in left}
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert store.read(figure()) == complete.read(figure())


def test_the_same_seed_gives_the_same_numbers_and_another_gives_others(tmp_path, complete):
    again, other = Store(tmp_path, "tiny", 0), Store(tmp_path, "tiny", 1)
    run_cells(figure()[:2], again)
    run_cells(figure(1)[:2], other)
    assert again.read(figure()[:2]) == complete.read(figure()[:2])
    errors = [[row["error"] for row in store.read(cells)] for store, cells in ((again, figure()), (other, figure(1)))]
    assert errors[0] != errors[1]


def remember(settings, memory):
    memory["calls"] = memory.get("calls", 0) + 1
    return [{"calls": memory["calls"], "settings": settings}]


def test_workers_keep_memory_within_a_group_only(tmp_path):
    store = Store(tmp_path, "tiny", 0)
    cells = [Cell(f"group-{group}", f"cell-{number}", remember, number) for group in range(2) for number in range(2)]
    cells.append(Cell("alone", "cell", remember, 9, alone=True))
    ran = []
    run_cells(cells, store, jobs=2, advance=ran.append)
    assert sorted((cell.group, cell.name) for cell in ran) == sorted((cell.group, cell.name) for cell in cells)
    assert [row["calls"] for row in store.read(cells)] == [1, 2, 1, 2, 1]
    # What measures time comes when nothing else runs any more.
    assert ran[-1].group == "alone"


def fail(settings, memory):
    raise ValueError("this cell cannot be worked out")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_cell_is_seen_and_the_other_cells_stay(tmp_path, jobs):
    store = Store(tmp_path, "tiny", 0)
    cells = [Cell("good", "one", remember, 0, cost=9), Cell("bad", "one", fail, 0), Cell("more", "one", remember, 0)]
    with pytest.raises(ValueError, match="cannot be worked out"):
        run_cells(cells, store, jobs)
    assert store.has(cells[0])
    assert not store.has(cells[1])


def test_experiments_are_chosen_by_name():
    assert [experiment.name for experiment in choose("table-1")] == ["table-1"]
    assert len(choose("all")) == len(EXPERIMENTS)
    with pytest.raises(InvalidInputError, match="figure-9"):
        choose("figure-9")


def test_all_cells_of_all_experiments_have_places_of_their_own(tmp_path):
    store = Store(tmp_path, "full", 0)
    places = {}
    for experiment in EXPERIMENTS.values():
        for cell in experiment.cells(Context(SIZES["full"])):
            # Experiments may share cells; then these are the same work.
            assert places.setdefault(store.path(cell), (cell.work, cell.settings)) == (cell.work, cell.settings)
