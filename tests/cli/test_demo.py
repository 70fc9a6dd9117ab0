"""The demo, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from robustream.bench.contaminated_stream import (
    Settings,
    check_settings,
    contest_pca,
    contest_regression,
    say_verdict,
)
from robustream.cli import main
from robustream.errors import InvalidInputError

SMALL = ("--batches", "30", "--rows", "400", "--columns", "8")


def demo(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "robustream", "demo", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **environment},
        check=False,
    )


def test_the_garbage_matters_far_less_to_the_robust_fits(tmp_path):
    file = tmp_path / "result.json"
    finished = demo("--json", str(file))
    assert finished.returncode == 0, finished.stderr
    # Neither colour nor a progress bar when no one watches.
    assert "\x1b" not in finished.stdout
    assert finished.stderr == ""
    contests = json.loads(file.read_text())["contests"]
    assert [contest["problem"] for contest in contests] == ["PCA", "regression"]
    for contest in contests:
        assert contest["robust_ratio"] < contest["plain_ratio"] / 5
        assert contest["errors"]["plain"] > 1
        assert contest["bad_among_most_distant"] >= 0.9 * len(contest["bad_batches"])
        # The lines of the screen are wrapped, so only the beginning of the verdict is looked for.
        assert contest["verdict"][:25] in finished.stdout


@pytest.mark.parametrize("contest", [contest_pca, contest_regression])
@pytest.mark.parametrize("seed", range(3))
def test_the_contrast_does_not_depend_on_the_seed(contest, seed):
    result = contest(Settings(batches=40, rows=500, columns=10, seed=seed))
    assert result.robust_ratio < result.plain_ratio / 4
    assert result.bad_indices == list(range(16))
    assert result.found >= 15
    assert len(result.robust_path) == len(result.plain_path) == len(result.moments)
    assert result.moments[-1] == 40


def test_without_garbage_both_fits_are_good_and_the_verdict_says_so():
    for contest in (contest_pca, contest_regression):
        result = contest(Settings(batches=20, rows=500, columns=10, bad=0.0))
        assert result.robust_ratio < 1.5
        assert result.plain_ratio == pytest.approx(1)
        assert say_verdict(result).startswith("there was no garbage")


@pytest.mark.parametrize(
    ("errors", "beginning"),
    [
        ((1.2, 30.0), "the garbage did not matter"),
        ((3.0, 30.0), "the garbage was held in check"),
        ((20.0, 30.0), "the garbage did harm, though less"),
        ((30.0, 30.0), "the garbage won"),
    ],
)
def test_the_verdict_follows_the_figures(errors, beginning):
    result = contest_regression(Settings(batches=10, rows=50, columns=2, bad=0.3))
    robust, plain = errors
    verdict = say_verdict(result._replace(errors=result.errors._replace(robust=robust, plain=plain, clean_only=1.0)))
    assert verdict.startswith(beginning)
    assert f"{robust:.1f} times" in verdict
    assert f"{plain:.1f} times" in verdict


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--bad", "0.7"), ("bad must be", "0.7")),
        (("--rows", "0"), ("rows must be at least 100", "got 0")),
    ],
)
def test_bad_options_are_refused_before_any_work(arguments, words):
    finished = demo(*arguments)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert "Traceback" not in finished.stderr
    # The message stands in a frame and may be wrapped anywhere.
    message = " ".join(finished.stderr.replace("│", " ").split())
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bad": float("nan")}, "bad must be"),
        ({"bad": -0.1}, "bad must be"),
        ({"batches": 10, "bad": 0.49}, "bad must be"),
        ({"batches": 3}, "batches must be at least 10, got 3"),
        ({"columns": 1}, "columns must be at least 2"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_streams_that_would_show_nothing_are_refused(changes, words):
    with pytest.raises(InvalidInputError, match=words):
        check_settings(Settings()._replace(**changes))


def test_a_missing_folder_is_noticed_before_any_work(tmp_path):
    result = CliRunner().invoke(main, ["demo", "--json", str(tmp_path / "missing" / "result.json")])
    assert result.exit_code == 2
    assert result.stdout == ""


def test_it_keeps_to_a_narrow_terminal():
    finished = demo(*SMALL, COLUMNS="40", NO_COLOR="1")
    assert finished.returncode == 0, finished.stderr
    assert max(len(line) for line in finished.stdout.splitlines()) <= 40


def test_it_writes_plain_letters_where_there_are_no_others():
    finished = demo(*SMALL, PYTHONIOENCODING="ascii")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.isascii()
