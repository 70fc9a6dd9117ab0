"""The measurements of streams at tiny sizes: they run and are honest. How fast things are is no test."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from robustream.bench.measurement import PeakOfTree, Target, processor_seconds, resident_of_tree
from robustream.bench.stream import (
    COMPONENTS,
    DEFAULT,
    FILES,
    PEER,
    READ,
    TASKS,
    TWO,
    Race,
    kind_of_file,
    make_files,
    perform,
    stream_steps,
    use,
)
from robustream.bench.tolerance import (
    PROBLEMS,
    TOLERANCE,
    Components,
    Regression,
    batches_needed,
    measure_tolerance,
    run_until_stop,
)
from robustream.errors import InvalidInputError
from robustream.estimators import OutlierRobustPCA
from robustream.runs.fit import fit


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("files"), 30_000, 8)


def test_files_hold_what_they_should(paths):
    assert len(paths) == FILES
    schemas = set()
    for place, path in enumerate(paths):
        if kind_of_file(place) == "truncated":
            with pytest.raises(pa.ArrowInvalid):
                pq.read_table(path)
        else:
            table = pq.read_table(path)
            assert table.num_rows == 300
            schemas.add(table.schema)
    assert schemas == {pa.schema([(f"x{column}", pa.float32()) for column in range(8)])}


def test_a_fit_names_the_garbage_files(paths):
    model = fit(OutlierRobustPCA(COMPONENTS, batch_size=300), paths)
    verdicts = {record.label.partition("#")[0]: record.verdict for record in model.batch_report_}
    expected = {"good": "kept", "wrong": "rejected", "truncated": "failed"}
    right = sum(verdicts[str(path)] == expected[kind_of_file(place)] for place, path in enumerate(paths))
    assert right >= 95


def test_files_that_are_there_are_not_written_again(paths):
    written = [path.stat().st_mtime_ns for path in paths]
    assert make_files(paths[0].parent, 30_000, 8) == paths
    assert [path.stat().st_mtime_ns for path in paths] == written


def test_files_that_do_not_fit_the_disk_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="ask for fewer rows"):
        make_files(tmp_path, 10**15, 100)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("task", list(TASKS))
def test_every_task_runs(task, paths):
    usage = perform(task, [str(path) for path in paths[:10]], 300)
    assert usage.wall > 0
    assert usage.processor >= 0
    assert usage.peak is None or usage.peak > 0


def test_a_task_in_a_fresh_process(paths):
    usage = use(READ, [str(path) for path in paths[:10]], 300)
    assert usage.wall > 0
    assert usage.peak is None or usage.peak >= usage.imported > 0


def test_memory_of_children_is_seen():
    if resident_of_tree() is None:
        pytest.skip("this system does not tell")
    before = resident_of_tree()
    code = "import sys; held = bytearray(b'1') * 60_000_000; print(flush=True); sys.stdin.read()"
    with PeakOfTree() as memory:
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        child.stdout.readline()
        seen = resident_of_tree()
        child.communicate()
    assert seen - before > 0.8 * 60e6
    assert memory.peak >= before


def test_peaks_of_this_process_are_seen_although_the_memory_was_given_back():
    with PeakOfTree() as memory:
        before = resident_of_tree()
        # So much that memory which other tests have given back is a small part of it.
        np.ones(40_000_000).sum()
    assert memory.peak is None or memory.peak - before > 0.8 * 320e6


def test_processor_time_goes_on():
    before = processor_seconds()
    while processor_seconds() == before:
        sum(range(100_000))
    assert processor_seconds() > before


def test_figures_of_a_race(paths, monkeypatch):
    # A fresh process for each task would take long, and is tested above.
    monkeypatch.setattr("robustream.bench.stream.use", perform)
    race = Race(paths[0].parent, 30_000, 8, 300, 1, (READ, PEER, DEFAULT, TWO))
    figures = [figure for step in race.steps() for figure in step.run()]
    groups = {figure.group.partition(",")[0].partition(" / ")[0] for figure in figures}
    assert {"wall time", "processor time", "peak memory"} <= groups
    assert all(math.isnan(figure.value) or figure.value > 0 for figure in figures)
    json.dumps([figure.as_data() for figure in figures], allow_nan=False)
    judged = [figure.title for figure in figures if figure.group == "wall time / IncrementalPCA" and figure.target]
    assert judged == [DEFAULT, TWO]


def test_what_the_plain_method_needs_is_what_theory_says():
    # The squared error of K batches of n rows is noise^2 chi2(1) / (n K), and 3.84 is exceeded by 5%.
    problem = Regression(columns=1, rows=200, noise=0.2)
    assert batches_needed(problem, range(200), 60) == pytest.approx(3.84 * 0.04 / 200 / TOLERANCE**2, rel=0.25)


@pytest.mark.parametrize("problem", [Regression(2, 100, 0.1), Components(4, 200, (100.0,))], ids=lambda p: p.title)
def test_errors_are_measured_from_the_truth(problem):
    model = problem.estimator("classical")
    fit(model, problem.batches(3), callbacks=[lambda event: event.batches == 20])
    assert problem.error_of(3, model) == pytest.approx(problem.plain_errors(3, 20)[-1], rel=0.2)
    assert problem.error_of(4, model) > 0.1


def test_a_run_stops_and_is_judged():
    problem = Regression(columns=1, rows=200, noise=0.2)
    stop = run_until_stop(problem, 0, "classical")
    assert stop.stopped
    within, late = measure_tolerance(problem, "classical", 3, Target(">=", 93))
    assert within.value == 100
    assert within.met
    assert late.value > 0
    json.dumps(within.as_data(), allow_nan=False)


@pytest.mark.parametrize("quick", [True, False])
def test_the_suite_covers_every_promise(quick, tmp_path):
    titles = " ".join(step.title for step in stream_steps(tmp_path, 30_000, 8, quick=quick))
    for words in (*TASKS, "a tenth of the files", *(problem.title for problem in PROBLEMS)):
        assert words in titles
    assert not list(tmp_path.iterdir())
