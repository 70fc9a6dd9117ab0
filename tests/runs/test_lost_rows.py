"""Rows that a file loses for their cells: many of them, or others than the rest, are said, with a cell."""

import numpy as np
import pytest
from click.testing import CliRunner

import robustream as rs
from robustream.cli import main


def write(folder, spell, files=6, rows=600):
    """Write weeks of flights; `spell` writes a distance, given the number of its file."""
    rng = np.random.default_rng(0)
    for place in range(files):
        distance = rng.gamma(2, 400, rows)
        time = distance / 8 + rng.normal(size=rows) * 5
        lines = [f"{spell(place, value)},{minutes:.1f}" for value, minutes in zip(distance, time, strict=True)]
        (folder / f"week-{place}.csv").write_text("\n".join(["Distance,AirTime", *lines]))


def notes_of(folder, **options):
    model = rs.fit(rs.OutlierRobustRegressor(), folder, target="AirTime", **options)
    return [note for note in model.fit_notes_.get("files", []) if " lost " in note]


@pytest.mark.parametrize("engine", [None, "local"])
def test_the_longest_flights_are_lost(tmp_path, engine):
    write(tmp_path, lambda place, value: f"{value:.0f} km" if place == 3 and value > 1000 else f"{value:.1f}")
    lost = sum(" km" in line for line in (tmp_path / "week-3.csv").read_text().splitlines())
    assert notes_of(tmp_path, engine=engine) == [
        f"file {tmp_path}/week-3.csv lost {lost} of its 600 rows ({lost / 600:.0%}); row 1: column 'Distance' holds "
        f"'1490 km' where a number is needed (the first of {lost}). These are no random rows: 'AirTime' is larger "
        "in them"
    ]


@pytest.mark.parametrize("engine", [None, "local"])
def test_the_cells_of_the_longest_flights_are_lost_where_rows_have_other_cells(tmp_path, engine):
    """Rows with missing cells are used; that a file has lost some for how they were written is said all the same."""
    rng = np.random.default_rng(0)
    for place in range(6):
        distance, wind = rng.gamma(2, 400, 600), rng.normal(size=600)
        time = distance / 8 + wind + rng.normal(size=600) * 5
        written = [f"{value:.0f} km" if place == 3 and value > 1000 else f"{value:.1f}" for value in distance]
        written = ["far" for _ in written] if place == 4 else written
        lines = [f"{d},{w:.2f},{t:.1f}" for d, w, t in zip(written, wind, time, strict=True)]
        (tmp_path / f"week-{place}.csv").write_text("\n".join(["Distance,Wind,AirTime", *lines]))
    lost = (tmp_path / "week-3.csv").read_text().count(" km")
    weeks = notes_of(tmp_path, engine=engine)
    assert len(weeks) == 2
    assert f"week-3.csv lost cells in {lost} of its 600 rows ({lost / 600:.0%})" in weeks[0]
    assert "column 'Distance' holds '" in weeks[0]
    assert " km' where a number is needed" in weeks[0]
    assert weeks[0].endswith("These are no random rows: 'AirTime' is larger in them")
    assert "week-4.csv lost cells in 600 of its 600 rows (100%); row 0: column 'Distance' holds 'far'" in weeks[1]


def test_few_rows_that_differ_are_said_and_few_that_do_not_are_not(tmp_path):
    write(tmp_path, lambda place, value: "?" if place == 2 and value > 2200 else f"{value:.1f}", rows=3000)
    (said,) = notes_of(tmp_path)
    assert "week-2.csv lost" in said
    assert "'AirTime' is larger in them" in said
    write(tmp_path, lambda place, value: "" if f"{value:.3f}".endswith("71") else f"{value:.1f}", rows=3000)
    assert notes_of(tmp_path) == []


def test_a_fifth_that_is_missing_at_random_is_said_for_its_number(tmp_path):
    write(tmp_path, lambda place, value: "" if place == 1 and f"{value:.2f}"[-1] in "37" else f"{value:.1f}")
    (said,) = notes_of(tmp_path)
    assert "week-1.csv lost" in said
    assert "column 'Distance' is missing in" in said
    assert "no random rows" not in said


def test_the_report_says_it(tmp_path):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", lambda place, value: f"{value:.0f} km" if place == 3 and value > 1000 else f"{value:.1f}")
    report = tmp_path / "r.html"
    command = ["fit", "regression", str(tmp_path / "in"), "--target", "AirTime", "-q", "--report", str(report)]
    done = CliRunner().invoke(main, [*command, "-o", str(tmp_path / "m")])
    assert done.exit_code == 0, done.output
    assert "week-3.csv lost" in report.read_text()
    assert "1490 km" in report.read_text()
