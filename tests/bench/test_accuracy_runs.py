"""Running the gauntlet: choosing cases, scores, peers, results on disk and the picture."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from robustream.bench.accuracy.cases import PROBLEMS, Case, Garbage
from robustream.bench.accuracy.oracle import regression_error
from robustream.bench.accuracy.peers import OURS, Fit, Method
from robustream.bench.accuracy.picture import MissingMatplotlibError, draw_picture, write_picture
from robustream.bench.accuracy.run import CaseResult, Score, choose_methods, ratio_of_rms, run_case, run_cases
from robustream.bench.accuracy.summary import (
    read_json,
    results_as_data,
    results_from_data,
    summarize,
    write_csv,
    write_json,
)

TINY = (
    Case("regression", "rows", "identity", 4, 120, contamination="vertical", fraction=0.1),
    Case("pca", "bad batches", "strong", 6, 80, 5, garbage=Garbage("random", "first", 0.2)),
)


def test_ratio_of_root_mean_squares():
    assert ratio_of_rms([3.0, 4.0], [1.0, 1.0]) == pytest.approx(math.sqrt(12.5))
    assert ratio_of_rms([1.0, 7.0], [1.0, 7.0]) == pytest.approx(1.0)
    assert ratio_of_rms([1e200, 0.0], [1.0, 1.0]) == pytest.approx(1e200 / math.sqrt(2))
    with pytest.raises(ValueError, match="same seeds"):
        ratio_of_rms([1.0], [1.0, 2.0])


def test_the_runner_fits_ours_on_tables_and_streams():
    seen = []
    methods = [method for problem in PROBLEMS for method in choose_methods(problem, peers=False)]
    results = run_cases(TINY, methods, [1, 2], advance=lambda case: seen.append(case.problem))
    assert [result.name for result in results] == [case.name for case in TINY]
    assert seen == ["regression"] * 2 + ["pca"] * 2
    for result in results:
        (score,) = result.scores
        assert score.state == "ok", score.note
        assert len(score.errors) == len(score.seconds) == len(result.oracle) == 2
        assert 0.2 < result.ratio(OURS) < 50
        assert result.time(OURS) > 0


def give(value):
    return lambda sample: Fit(np.asarray(value(sample)), 0.5)


def fail(sample):
    raise ZeroDivisionError("by zero\nand more")


def dawdle(sample):
    raise TimeoutError("took over a year")


def test_whatever_a_method_does_is_a_result():
    case = TINY[0]
    result = run_case(
        case,
        [
            Method("truth", "", "regression", give(lambda sample: sample.truth)),
            Method("fails", "", "regression", fail),
            Method("slow", "", "regression", dawdle),
            Method("nan", "", "regression", give(lambda sample: sample.truth * np.nan)),
            Method("narrow", "", "regression", fail, most_columns=3),
            Method("part", "", "regression", give(lambda sample: sample.truth + len(sample.X)), most_rows=40),
            Method("patient", "", "regression", lambda sample: Fit(sample.truth, 1e6)),
        ],
        [1, 2, 3],
    )
    assert [score.state for score in result.scores] == ["ok", "failed", "slow", "failed", "skipped", "ok", "slow"]
    assert result.ratio("truth") == 0.0
    assert result.time("truth") == 0.5
    assert result.ratio("fails") == math.inf
    assert result.score("fails").note == "ZeroDivisionError: by zero"
    assert result.ratio("slow") is None
    assert "over 3 columns" in result.score("narrow").note
    assert "40 of 120 rows" in result.score("part").note
    assert len(result.score("part").errors) == 3
    np.testing.assert_allclose(
        result.score("part").errors[0], regression_error(case.generate(1), 40 + case.generate(1).truth)
    )
    assert result.ratio("unknown") is None


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_peer_that_is_installed_finds_clean_data_easy(problem):
    design = "identity" if problem == "regression" else "strong"
    methods = [method for method in choose_methods(problem) if not method.missing]
    result = run_case(Case(problem, "clean", design, 6, 500), methods, [1])
    for score in result.scores:
        assert score.state == "ok", score
        # One pass with small steps does not take river all the way.
        assert result.ratio(score.method) < (40 if score.method == "river" else 8), score


@pytest.mark.parametrize("problem", PROBLEMS)
def test_peers_take_streams_and_scaled_columns(problem):
    methods = [m for m in choose_methods(problem, quick=True) if m.name in ("LS", "Huber", "SGD", "PCA", "IncPCA")]
    result = run_case(Case(problem, "clean", "scaled", 6, 100, 5), methods, [1])
    assert {score.state for score in result.scores} == {"ok"}
    limit = {"LS": 1.001, "Huber": 1.5, "PCA": 1.001, "IncPCA": 10.0, "SGD": 50.0}
    for score in result.scores:
        assert result.ratio(score.method) < limit[score.method]


def made_up_results():
    def result(name, group, tags, *scores):
        return CaseResult("regression", group, name, tags, 100, 5, 1, (1.0, 1.0), scores)

    return [
        result(
            "one", "rows", ("10% bad rows",), Score(OURS, errors=(1.1, 1.1), seconds=(0.1, 0.3)), Score("LS", "failed")
        ),
        result("two", "rows", (), Score(OURS, errors=(1.5, 1.9), seconds=(0.1, 0.1)), Score("LS", "skipped")),
        result("three", "clean", (), Score(OURS, errors=(9.0, 9.0)), Score("LS", errors=(1.0, 1.0), note="part")),
    ]


def test_failures_count_and_omissions_do_not():
    shares = {(share.cases, share.method): share for share in summarize(made_up_results())}
    ours, peer = shares["all", OURS], shares["all", "LS"]
    assert (ours.number, ours.near, ours.twice, ours.worst) == (3, 1, 2, 9.0)
    assert (peer.number, peer.near, peer.twice) == (2, 1, 1)
    assert shares["10% bad rows", OURS].near == 1
    assert shares["rows", OURS].seconds == pytest.approx(0.15)
    assert ("p=200", OURS) not in shares


def test_results_survive_json_and_csv(tmp_path):
    results = made_up_results()
    data = results_as_data(results)
    assert results_from_data(json.loads(json.dumps(data))) == results
    path = write_json(tmp_path, results, {"seeds": [1, 2]})
    assert read_json(path) == results
    assert json.loads(path.read_text())["seeds"] == [1, 2]
    lines = write_csv(tmp_path, results).read_text().splitlines()
    assert len(lines) == 1 + 6
    assert lines[1].startswith("regression,rows,one,ours,1.1")


def test_the_picture_is_drawn_from_results(tmp_path):
    pytest.importorskip("matplotlib")
    results = made_up_results()
    figure = draw_picture(results)
    words = {text.get_text() for text in figure.axes[0].texts}
    assert {"1.10", "failed", "-", "9.00"} <= words
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["one", "two", "three"]
    assert write_picture(tmp_path, results).stat().st_size > 1000


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("robustream.bench.accuracy.picture.import_module", missing)
    with pytest.raises(MissingMatplotlibError, match=r"robustream\[report\]"):
        draw_picture(made_up_results())
