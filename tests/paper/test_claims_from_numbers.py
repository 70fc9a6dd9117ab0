"""Verdicts come from the numbers beside them, and from nothing else."""

from __future__ import annotations

import math

import pytest

from robustream.paper.experiment import Case, Criterion, Finding, judge
from robustream.paper.experiments import EXPERIMENTS
from robustream.paper.online import edge_words
from robustream.paper.ours import losses, near_oracle, on_the_way, streams
from robustream.paper.results import Results
from robustream.paper.table_2 import best_constant


def finding(*values, **limits):
    return Finding([Case(str(value), {"x": value}) for value in values], Criterion("x", **limits))


@pytest.mark.parametrize(
    ("values", "verdict", "kind"),
    [
        ((1.0, 2.0), "holds", "holds"),
        ((1.0, 3.0, 4.0), "holds in 1 of 3", "partly"),
        ((3.0,), "does not hold", "fails"),
        ((), "cannot be checked", "unchecked"),
        ((1.0, math.nan), "cannot be checked", "unchecked"),
    ],
)
def test_a_verdict_counts_the_cases_that_meet_the_limit(values, verdict, kind):
    found = finding(*values, at_most=2.0)
    assert (found.verdict, found.kind) == (verdict, kind)


def test_a_limit_is_met_from_both_sides():
    assert finding(0.9, 1.0, 1.5, 1.6, at_least=1.0, at_most=1.5).verdict == "holds in 2 of 4"


def test_a_summary_shows_few_numbers_and_the_span_of_many():
    assert finding(0.263, 0.428, at_most=1).summary() == "0.263 / 0.428"
    assert finding(0.1, 0.2, 0.3, 0.4, at_most=1).summary() == "0.1 to 0.4"
    several = Finding([Case("a", {"x": 1.0, "y": 2.0})], Criterion("x", at_most=1))
    assert several.summary("y|x") == "2 / 1"


def claim(experiment, start):
    return next(one for one in EXPERIMENTS[experiment].claims if one.says.startswith(start))


@pytest.mark.parametrize(("dirty", "verdict"), [(0.5, "holds"), (0.06, "does not hold")])
def test_plain_breaks_or_does_not(dirty, verdict):
    fields = {"spread": "even", "method": "plain", "seen": None}
    results = Results([{**fields, "fraction": 0.0, "error": 0.05}, {**fields, "fraction": 0.1, "error": dirty}])
    assert judge(claim("figure-1c", "Plain breaks down"), results).verdict == verdict
    assert judge(claim("figure-1c", "Plain breaks down"), Results(results.rows[:1])).verdict == "cannot be checked"


@pytest.mark.parametrize(("error", "verdict"), [(0.13, "holds"), (0.14, "does not hold")])
def test_survival_is_what_lemma_1_promises(error, verdict):
    """With 40% bad batches C_gamma is 1.34: good batches within 0.1 allow for an error of 0.134."""
    common = {"spread": "adversarial", "share": 0.4, "kind": "printed", "seen": None, "order": "random"}
    rows = [
        {**common, "level": level, "rule": rule, "method": method, "error": value}
        for level in (0.6, 1.0)
        for rule in ("own", "half")
        for method, value in (("online median", error), ("radius of the good batches", 0.1))
    ]
    assert (
        judge(claim("figure-1b", "ORL-LR survives 40% corrupted batches: the paper's"), Results(rows)).verdict
        == verdict
    )


@pytest.mark.parametrize(("largest", "verdict"), [(0.99, "holds"), (1.2, "holds in 1 of 2")])
def test_a_broken_bound_is_shown_as_broken(largest, verdict):
    rows = [{"statement": "lemma 1", "largest": value, "share": share} for share, value in ((0.1, 0.5), (0.2, largest))]
    assert judge(claim("theory", "The median's error is at most"), Results(rows)).verdict == verdict


@pytest.mark.parametrize(("averaging", "verdict"), [(0.43, "holds"), (0.45, "holds in 1 of 2")])
def test_latency_is_compared_number_by_number(averaging, verdict):
    rows = [
        {"fault": "3% of the rows", "method": method, "matrix_error": value}
        for method, value in (("DRL", 0.263), ("averaging", averaging))
    ]
    assert judge(claim("table-1", "Late machines: DRL"), Results(rows)).verdict == verdict


@pytest.mark.parametrize(("averaging", "verdict"), [(0.28, "holds"), (0.35, "does not hold")])
def test_tags_are_compared_with_the_better_of_the_baselines(averaging, verdict):
    common = {"data": "clip art", "bad": 0.2, "trim": 0.2}
    rows = [
        *({**common, "method": "ORL of RoTR", "multiple": place, "precision": value}
          for place, value in ((0.1, 0.3), (1.0, 0.42), (10.0, 0.2))),
        {**common, "method": "averaged RoTR", "precision": averaging},
        {**common, "method": "stochastic LR", "trim": None, "precision": 0.2},
    ]  # fmt: skip
    found = judge(claim("table-2", "ORL-LR predicts"), Results(rows))
    assert found.verdict == verdict
    assert "edge" not in found.cases[0].setting


def test_a_best_constant_on_the_edge_of_its_grid_is_told():
    rows = [{"method": "ORL of RoTR", "multiple": place, "precision": -place} for place in (0.1, 1.0)]
    assert "edge" in best_constant(Results(rows)).edge
    assert edge_words(1.0, [0.1, 1.0, 10.0]) == ""


def stream(name, ours, usable, oracle, beyond=0.4, seen=None, repetition=0, order="random", paper=None):
    common = {
        "problem": "pca", "spread": "adversarial", "kind": "printed", "fraction": 0.4, "share": 0.4, "level": 1.0,
        "scenario": name, "order": order, "seen": seen, "beyond_repair": beyond, "repetition": repetition,
    }  # fmt: skip
    errors = {"ours": ours, "oracle of usable batches": usable, "oracle": oracle}
    rows = [{**common, "rule": "", "method": method, "error": error} for method, error in errors.items()]
    if paper is not None:
        rows.append({**common, "rule": "own", "method": "geometric median", "error": paper})
    return rows


@pytest.mark.parametrize(("ours", "usable", "all_rows"), [(1.1, 1.0, 1.1), (1.2, 1.2 / 1.1, 1.2)])
def test_both_oracles_are_told_apart(ours, usable, all_rows):
    results = Results(stream("a", ours, usable=1.1, oracle=1.0))
    for oracle, expected in (("usable", usable), ("oracle", all_rows)):
        (case,) = near_oracle(results, oracle)
        assert case.numbers["largest ours / oracle"] == pytest.approx(expected)


def test_streams_beyond_repair_do_not_count_against_ours_and_are_shown_as_lost():
    results = Results([*stream("a", 1.0, 1.0, 1.0, paper=2.0), *stream("b", 9.0, 1.0, 1.0, beyond=0.5, paper=3.0)])
    (case,) = near_oracle(results, "usable")
    assert case.numbers["streams"] == 1
    (lost,) = losses(results)
    assert lost.numbers["where the paper's is better"] == 1
    assert lost.numbers["largest ours / paper's best"] == 3.0
    assert [one.best_method for one in streams(results)] == ["geometric median, own"] * 2


def test_repetitions_count_by_their_root_mean_square():
    rows = [*stream("a", 1.25, 1.0, 1.0), *stream("a", 1.0, 1.0, 1.0, repetition=1)]
    (case,) = near_oracle(Results(rows), "usable")
    assert case.numbers["largest ours / oracle"] == pytest.approx(1.132, abs=1e-3)


def test_on_the_way_only_moments_with_a_good_majority_count():
    rows = [
        *stream("a", 1.0, 1.0, 1.0, beyond=0.2, seen=5),
        # In this repetition most of what has arrived is bad: it is left out.
        *stream("a", 9.0, 1.0, 1.0, beyond=0.6, seen=5, repetition=1),
        *stream("a", 3.0, 1.0, 1.0, beyond=0.4, seen=10),
    ]
    (case,) = on_the_way(Results(rows))
    assert case.numbers == {"moments": 2, "largest ours / oracle": 3.0}
