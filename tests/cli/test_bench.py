"""The measurements at tiny sizes: they run, are finite and survive JSON. How fast things are is no test."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

from robustream.bench.kernels import (
    MODELS,
    PAPER,
    Step,
    kernel_steps,
    measure_against_partition,
    measure_against_product,
    measure_first_fit,
    measure_import,
    measure_median,
    measure_stream,
    measure_stream_memory,
    measure_trimmed_memory,
    partition_covariance,
    peak_above,
)
from robustream.bench.measurement import (
    Comparison,
    Figure,
    FreshProcessError,
    Target,
    compare,
    describe_environment,
    run_fresh,
)
from robustream.cli import main
from robustream.kernels.trimmed import trimmed_covariance


def check(figure):
    assert math.isfinite(figure.value)
    assert figure.value > 0
    assert figure.title
    data = figure.as_data()
    assert json.loads(json.dumps(data, allow_nan=False)) == data


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_against_numpy(threads):
    check(measure_against_product(300, 4, 0.2, threads, 2, Target("<=", 20)))
    check(measure_against_partition(300, 4, 0.2, threads, 2, Target(">=", 20)))


@pytest.mark.parametrize("trim", [0.0, 0.2, 0.5])
def test_the_peer_does_the_same_work(trim):
    rows = np.random.default_rng(0).standard_normal((500, 6))
    np.testing.assert_allclose(partition_covariance(rows, trim), trimmed_covariance(rows, trim), atol=1e-12)


def test_passes_of_the_median():
    figure = measure_median(20, 30, 1e-8, Target("<=", 60))
    check(figure)
    assert figure.details["relative_gap"] <= 1e-8


def test_streams():
    figures = measure_stream(2, 100, 8, 1, {PAPER: Target("<", 1)})
    assert len(figures) == len(MODELS) - 1
    assert [figure.target is not None for figure in figures] == [True, False]
    for figure in figures:
        check(figure)


def test_memory():
    for figure in (measure_trimmed_memory(2000, 5, 0.2, 1), measure_stream_memory(PAPER, 2, 200, 8, 1)):
        # NaN where the system does not tell; a peak below the unit of a page counts as none.
        assert math.isnan(figure.value) or figure.value >= 0


def test_peaks_are_seen_although_the_memory_was_given_back():
    # Beyond 32 MB, so that the memory comes from the system and not from what earlier tests gave back. What they give
    # back meanwhile counts against the 64 MB.
    peak = peak_above(lambda: np.ones(8_000_000).sum())
    assert peak is None or peak > 0.5 * 64e6


def test_start():
    check(measure_import(1, Target("<", 2)))
    figures = measure_first_fit("TrimmedPCA", 100, 4, 1)
    assert len(figures) == 2
    for figure in figures:
        check(figure)


def test_a_failing_process_is_reported():
    with pytest.raises(FreshProcessError, match="no luck"):
        run_fresh("raise SystemExit('no luck')")


def test_comparisons_are_interleaved_and_their_ratio_is_a_median():
    order = []
    times = compare(lambda: order.append("ours"), lambda: order.append("theirs"), 3)
    assert len(times.ours) == len(times.theirs) == 3
    # Runs of the same side: two for each side to begin with, then turns.
    changes = sum(first != second for first, second in pairwise(order))
    assert changes == 1 + 2 * 3
    assert Comparison([1.0, 4.0, 30.0], [1.0, 2.0, 3.0]).ratio == 2.0


@pytest.mark.parametrize(
    ("target", "value", "met"),
    [
        (Target("<=", 20), 20.0, True),
        (Target("<", 20), 20.0, False),
        (Target(">=", 20), 20.0, True),
        (Target("<=", 60), math.inf, False),
        (Target("<=", 60), math.nan, None),
        (None, 1.0, None),
    ],
)
def test_targets(target, value, met):
    figure = Figure("group", "title", value, "x", target)
    assert figure.met is met
    json.dumps(figure.as_data(), allow_nan=False)


def test_the_environment_names_what_a_reader_needs():
    environment = describe_environment(2)
    assert {"cpu", "threads", "packages", "blas", "date", "python"} <= set(environment)
    assert environment["packages"]["numpy"] == np.__version__
    json.dumps(environment, allow_nan=False)


@pytest.mark.parametrize("quick", [True, False])
def test_the_suite_covers_every_promise(quick):
    titles = " ".join(step.title for step in kernel_steps(2, quick=quick))
    for word in ("X.T @ X", "np.partition", "memory", "IncrementalPCA", "geometric_median", "import", "first fit"):
        assert word in titles
    one_thread = kernel_steps(1, quick=quick)
    assert len(one_thread) < len(kernel_steps(2, quick=quick))


@pytest.fixture
def tiny_suite(monkeypatch):
    """Two figures, of which one misses its target, in place of the whole suite."""
    figures = [
        Figure("first", "a title", 3.14159, "x", Target("<=", 4), "counted"),
        Figure("second", "another title", 9.0, "passes", Target("<=", 4), "counted"),
    ]
    steps = [Step(figure.title, lambda figure=figure: figure) for figure in figures]
    monkeypatch.setattr("robustream.bench.kernels.kernel_steps", lambda threads, *, quick: steps)


@pytest.mark.usefixtures("tiny_suite")
def test_the_command_shows_and_writes_all_figures(tmp_path):
    result = CliRunner().invoke(main, ["bench", "kernels", "--threads", "1", "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    assert "3.14x" in result.stdout
    assert "9 passes" in result.stdout
    assert "1 of 2 targets met." in result.stdout
    assert "2 of 2: another title" in result.stderr
    data = json.loads((tmp_path / "new" / "kernels.json").read_text())
    assert [figure["met"] for figure in data["figures"]] == [True, False]
    assert data["environment"]["threads"] == 1


@pytest.mark.usefixtures("tiny_suite")
def test_only_a_strict_run_fails_on_a_missed_target():
    assert CliRunner().invoke(main, ["bench", "kernels"]).exit_code == 0
    assert CliRunner().invoke(main, ["bench", "kernels", "--strict"]).exit_code == 1


def test_a_folder_that_cannot_be_made_is_noticed_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(main, ["bench", "kernels", "--out", str(tmp_path / "file" / "folder")])
    assert result.exit_code == 2
    assert result.stdout == ""


def test_batches_and_aggregation():
    from robustream.bench.kernels import measure_aggregation, measure_batches

    figures = [*measure_batches(300, 5, 1), measure_aggregation(20, 5, 5, 1)]
    assert len(figures) == 5
    assert all(np.isfinite(figure.value) and figure.value > 0 for figure in figures)
