"""The other experiments, piece by piece, at sizes that take seconds."""

from __future__ import annotations

import pytest

from robustream.paper.lemmas import Lemma, median_constant, run_lemma_1, run_lemma_4, run_single, run_theorem_3
from robustream.paper.rates import Rate, run_filter, run_rates
from robustream.paper.results import Results
from robustream.paper.scenarios import evenly
from robustream.paper.simulation import Streams, run_streams
from robustream.paper.sizes import SIZES
from robustream.paper.speed import Speed, run_speed
from robustream.paper.table_1 import FAULTS, Faulty, run_table_1
from robustream.paper.table_2_scale import PAPER_ROWS, SCALE_METHODS, Scale, run_scale

SIZE = SIZES["tiny"]


def test_without_a_fault_table_1_is_figure_1c():
    memory = {}
    table = Results(run_table_1(Faulty(0, 0, SIZE), memory))
    figure = Results(run_streams(Streams("pca", 0, 0, SIZE, evenly(0.4, SIZE.batches)), memory))
    assert set(table.different("fault")) == set(FAULTS)
    for method in ("averaging", "geometric median", "averaging of eigenvectors"):
        for rule in ("true", "half"):
            assert table.values(fault="none", method=method, rule=rule) == figure.values(method=method, rule=rule)
    assert table.values(fault="none", method="ours") == figure.values(method="ours")
    assert table.rms(method="oracle") == pytest.approx(figure.rms(method="oracle"))


def test_faults_change_the_answers():
    table = Results(run_table_1(Faulty(0, 0, SIZE), {}))
    for fault in FAULTS:
        if fault != "none":
            assert table.values(fault=fault, method="averaging") != table.values(fault="none", method="averaging")


def test_the_lemmas_hold_on_samples():
    first = Results(run_lemma_1(Lemma(30, 0), {}))
    assert max(first.values("largest")) <= 1 + 1e-6
    # The adversary really pulls: the bound is not met for want of trying.
    assert max(first.values("largest")) > 0.8
    fourth = Results(run_lemma_4(Lemma(50, 0), {}))
    assert min(a - b for a, b in zip(fourth.values("observed"), fourth.values("promised"), strict=True)) >= -1e-4
    third = Results(run_theorem_3(Lemma(50, 0), {}))
    assert third.mean("least", cloud="in space") > 0.1
    assert third.mean("least", cloud="on a straight line") == pytest.approx(0, abs=1e-9)
    assert median_constant(0.0) == 1


def test_errors_fall_with_rows():
    rows = Results(run_rates(Rate("regression", "rows", SIZE, 0), {}))
    errors = [rows.rms(value=value, method="geometric median") for value in rows.different("value")]
    assert errors == sorted(errors, reverse=True)


def test_the_filter_nears_the_median_with_a_constant_that_suits():
    rows = Results(run_filter(Rate("filter", "batches", SIZE, 0), {}))
    last = max(rows.different("value"))
    assert last == SIZE.filter_steps
    suited = rows.rms(value=last, method="to the median, constant suited")
    for other in ("small", "large"):
        assert suited < 0.1 * rows.rms(value=last, method=f"to the median, constant four times too {other}")


def test_one_bad_estimate_ruins_the_average_of_vectors_only():
    rows = Results(run_single(Lemma(100, 0), {}))
    near, far = (rows.where(distance=distance) for distance in (0.0, 1e4))
    assert far.mean("averaging") > 100 * near.mean("averaging")
    assert far.mean("median") < 1.2 * near.mean("median")
    assert far.mean("projectors") < 1.2 * near.mean("projectors")


@pytest.mark.parametrize("method", SCALE_METHODS)
def test_the_wide_run_counts_its_rows(method):
    (row,) = run_scale(Scale(method, 128, 300, 0.01, 0), {})
    assert row["rows"] == 300 * row["batches"]
    assert row["batches"] >= 5
    assert row["rows_per_second"] == pytest.approx(row["rows"] / row["seconds"])
    assert row["hours_for_paper"] == pytest.approx((PAPER_ROWS / row["rows_per_second"] + row["answer_seconds"]) / 3600)
    if method == "ours":
        # One of five batches was spoiled.
        assert row["agreement"] > 0.65


@pytest.mark.parametrize("method", ["ORL-PCA", "DRL", "batch RoTR", "DRL for regression"])
def test_time_and_memory_are_measured(method):
    (row,) = run_speed(Speed(method, 3, 500, 10, 2), {})
    assert row["seconds"] > 0
    assert row["data_bytes"] == 3 * 500 * 10 * 4
    sent = {"DRL": 3 * 10 * 2 * 4, "DRL for regression": 3 * 10 * 4}
    assert row.get("sent_bytes") == sent.get(method)
