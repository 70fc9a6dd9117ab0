"""Workbooks: the first sheet with cells, by the rules of CSV files."""

import datetime
import sys

import numpy as np
import openpyxl
import pytest

import robustream as rs
from robustream.errors import InvalidInputError
from robustream.sources import Tables


def write(path, rows, before=()):
    book = openpyxl.Workbook()
    for name in before:
        book.create_sheet(name, 0)
    for row in rows:
        book.worksheets[-1].append(row)
    book.save(path)


def test_a_workbook_has_the_rows_of_the_same_csv_file(tmp_path):
    rows = np.random.default_rng(0).normal(size=(700, 3)).round(3)
    write(tmp_path / "a.xlsx", [["x", "y", "z"], *rows.tolist()], before=["empty"])
    (tmp_path / "a.csv").write_text("\n".join(["x,y,z", *(",".join(map(str, row)) for row in rows.tolist())]))
    pages, lines = (list(Tables(tmp_path / name).in_batches(200)) for name in ("a.xlsx", "a.csv"))
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in pages]), rows)
    assert [batch.label.replace("xlsx", "csv") for batch in pages] == [batch.label for batch in lines]


def test_cells_as_people_leave_them(tmp_path):
    rows = [[place * 1.5, "yes" if place % 3 else "no", f"{place} mi"] for place in range(1, 60)]
    rows[4][0], rows[7][0] = "broken", None
    write(tmp_path / "a.xlsx", [["x", "seen", "far"], *rows])
    (batch,) = Tables(tmp_path / "a.xlsx").in_batches(100)
    assert batch.rows == 57
    assert batch.stats == {"unreadable:x": 1, "missing:x": 1, "rows dropped": 2}
    np.testing.assert_array_equal(batch.X[0], [1.5, 1.0, 1.0])
    write(tmp_path / "b.xlsx", [["x", "day"], *[[1.0, datetime.date(2024, 1, day)] for day in range(1, 20)]])
    with pytest.raises(InvalidInputError, match=r"'day' holds dates or times"):
        Tables(tmp_path / "b.xlsx")


def test_workbooks_that_are_none(tmp_path):
    write(tmp_path / "a.xlsx", [["x", "y"], *np.eye(30)[:, :2].tolist()])
    (tmp_path / "broken.xlsx").write_bytes(b"PK" + bytes(500))
    openpyxl.Workbook().save(tmp_path / "empty.xlsx")
    problems = Tables(tmp_path).problems
    assert problems[f"{tmp_path}/broken.xlsx"].startswith("not a whole workbook")
    assert problems[f"{tmp_path}/empty.xlsx"] == "no sheet of the workbook has any cell"
    assert rs.fit(rs.OutlierRobustPCA(1), tmp_path / "a.xlsx").n_samples_seen_ == 30


def test_without_the_extra_the_message_says_what_to_install(tmp_path, monkeypatch):
    write(tmp_path / "a.xlsx", [["x", "y"], [2.5, 7.5]])
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(InvalidInputError, match=r"workbooks need python-calamine: pip install 'robustream\[excel\]'"):
        Tables(tmp_path / "a.xlsx")
