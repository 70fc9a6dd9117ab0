from __future__ import annotations

import math

import pytest

from robustream.batch import BatchRecord
from robustream.report.data import ReportData, files_of, split_label
from robustream.report.headline import say_outcome


def record(label, verdict="kept", distance=1.0, reason="", index=0):
    return BatchRecord(index, label, 100, verdict, 1.0, distance, reason)


def report(*batches):
    return ReportData("Title", (), 100 * len(batches), len(batches), batches)


@pytest.mark.parametrize(
    ("label", "path", "place"),
    [
        ("data/a.parquet#0-999", "data/a.parquet", "0-999"),
        ("a.csv#bytes 0-65535", "a.csv", "bytes 0-65535"),
        ("a.csv#2 of 7", "a.csv", "2 of 7"),
        ("week#3/a.csv#0-9", "week#3/a.csv", "0-9"),
        ("week#3/a.csv", "week#3/a.csv", ""),
        ("data/run#3", "data/run#3", ""),
        ("rows 0-99", "rows 0-99", ""),
        ("#0-99", "#0-99", ""),
    ],
)
def test_a_label_is_split_at_its_place_only(label, path, place):
    assert split_label(label) == (path, place)


def test_batches_of_arrays_are_no_files():
    assert files_of([record("rows 0-99"), record("rows 100-199")]) == []


def test_a_file_is_judged_by_most_of_its_batches():
    batches = [
        *(record(f"mostly#{k}-9", "rejected" if k < 4 else "kept") for k in range(5)),
        *(record(f"good#{k}-9") for k in range(4)),
        *(record(f"half#{k}-9", "rejected" if k < 2 else "kept", 5.0 + k, f"reason {k}") for k in range(4)),
        *(record(f"some#{k}-9", "rejected" if k < 1 else "kept", 3.0, "odd") for k in range(4)),
        record("gone", "failed", math.nan, "no such file"),
        record("slow#0-9", "late", math.nan),
    ]
    files = {file.path: file for file in files_of(batches)}
    assert {path: file.verdict for path, file in files.items()} == {
        "good": "kept",
        "mostly": "rejected",
        "half": "partly",
        "some": "partly",
        "gone": "failed",
        "slow": "late",
    }
    assert files["half"].reason == "reason 1"
    assert files["half"].distance == 8.0
    assert (files["some"].kept, files["some"].batches, files["some"].rows) == (3, 4, 400)
    assert math.isnan(files["gone"].distance)


def test_the_worst_files_come_first():
    batches = [
        record("kept#0-9"),
        record("near#0-9", "rejected", 4.0),
        record("far#0-9", "rejected", 40.0),
        record("gone", "failed", math.nan),
    ]
    assert [file.path for file in files_of(batches)] == ["gone", "far", "near", "kept"]


def test_the_outcome_is_said_in_plain_words():
    good = [record(f"good{k}#0-9") for k in range(3)]
    assert say_outcome(report()) == "No batch has been seen yet."
    assert say_outcome(report(*good)) == "None of the 3 files had to be left out."
    assert say_outcome(report(*good, record("x#0-9", "rejected"))) == (
        "100 of 400 rows (25.0%) should not be trusted. Of 4 files 1 contradicts the others."
    )
    assert say_outcome(report(record("rows 0-9"), record("rows 10-19", "failed"), record("rows 20-29", "late"))) == (
        "Of 3 batches 1 could not be used. 1 came too late to count."
    )
    partly = [record(f"p#{k}-9", "failed" if k == 0 else "kept") for k in range(3)]
    assert say_outcome(report(*good, *partly)) == "Of 4 files 1 is bad in part."
    assert say_outcome(report(*good, *partly, record("x", "failed"), record("y#0-9", "rejected"))) == (
        "100 of 800 rows (12.5%) should not be trusted. Of 6 files 1 could not be used, 1 contradicts the others and "
        "1 is bad in part."
    )
    single = good[0]._replace(left_out=1)
    assert say_outcome(report(single, *good[1:])) == (
        "1 of 300 rows (0.3%) should not be trusted. None of the 3 files had to be left out as a whole."
    )


def test_batches_that_are_no_longer_listed_count_as_kept():
    data = report(record("rows 0-9", "rejected"))._replace(batches_seen=1000, rows_seen=100_000)
    assert say_outcome(data) == (
        "100 of 100,000 rows (0.1%) should not be trusted. Of 1,000 batches 1 contradicts the others."
    )
