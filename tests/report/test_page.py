from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from robustream.batch import BatchRecord
from robustream.errors import StorageError
from robustream.report import render_html, write_report
from robustream.report.charts import thinned
from robustream.report.data import VERDICTS, Coefficients, Components, RelativeError, ReportData, WorstRow

HOSTILE = "</script><script>alert('x')</script><img src=x onerror=\"alert(1)\"> & <!-- #0-9"
ODD_NUMBERS = [math.nan, math.inf, -math.inf, 0.0, 1e-300, 1e300]


class Reader(HTMLParser):
    """Reads a page: its elements, their attributes, the text that a person sees, and the data of the charts."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self.data, self.inside = [], [], "", []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tag, attributes = self.inside[-1] if self.inside else ("", {})
        if attributes.get("type") == "application/json":
            self.data += data
        elif tag not in ("script", "style"):
            self.text.append(data)


def hostile_report():
    batches = tuple(
        BatchRecord(index, f"{HOSTILE}{index}#0-9", 10, verdict, 1.0, distance, HOSTILE)
        for index, (verdict, distance) in enumerate(zip(VERDICTS * 3, ODD_NUMBERS * 2, strict=True))
    )
    table = np.array([ODD_NUMBERS])
    return ReportData(
        title=HOSTILE,
        features=(HOSTILE,) * 6,
        rows_seen=120,
        batches_seen=12,
        batches=batches,
        outcome=HOSTILE,
        coefficients=Coefficients(table, table, table, table, table, np.ones(1), np.ones(1), (HOSTILE,)),
        worst_rows=(WorstRow(HOSTILE, 3, math.inf),),
        convergence=tuple(RelativeError(k, error, k) for k, error in enumerate(ODD_NUMBERS)),
        missing={HOSTILE: 3},
        settings={HOSTILE: HOSTILE, "tolerance": HOSTILE},
        timings={HOSTILE: 0.0, "total": 0.0},
        environment={HOSTILE: [HOSTILE]},
    )


def test_hostile_names_stay_text():
    page = render_html(hostile_report())
    reader = Reader(page)
    assert [tag for tag, _ in reader.elements].count("script") == 2
    assert not any(tag in ("img", "iframe", "object") for tag, _ in reader.elements)
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    assert HOSTILE in reader.text
    assert json.loads(reader.data)["coefficients"]["targets"] == [HOSTILE]


def test_nothing_points_outside_the_page(pca_data):
    reader = Reader(render_html(pca_data))
    links = [
        value for _, attributes in reader.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert all(link.startswith(("#", "data:")) for link in links)
    policy = next(a["content"] for t, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_ids_are_unique_and_tables_have_captions(regression_data):
    page = render_html(regression_data)
    ids = [attributes["id"] for _, attributes in Reader(page).elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert page.count("<table") == page.count("<caption>") > 5


def test_the_facts_are_there_without_a_script(pca_data, bad_files):
    text = "\n".join(Reader(render_html(pca_data)).text)
    assert pca_data.outcome in text
    assert all(path.rpartition("/")[2] in text for path in bad_files)
    assert all(name in text for name in pca_data.features)
    assert f"{pca_data.components.components[0, 0]:.3f}".replace("-", "\N{MINUS SIGN}") in text


def test_the_same_data_gives_the_same_page(pca_data):
    assert render_html(pca_data) == render_html(pca_data)


def test_many_batches_are_thinned_but_none_that_was_not_kept():
    batches = [
        BatchRecord(k, f"f{k // 10}.csv#{k}-{k + 1}", 5, "kept" if k % 50 else "rejected", 1.0, 1.0, "")
        for k in range(100_000)
    ]
    shown = thinned(batches)
    assert len(shown) <= 5_001
    assert sum(record.verdict == "rejected" for record in shown) == 2_000
    gaps = np.diff([record.index for record in shown])
    assert gaps.max() <= 50
    data = ReportData("t", (), 500_000, 100_000, tuple(batches))
    assert len(render_html(data)) < 3_000_000


def test_wide_models_are_cut_to_what_can_be_read():
    rng = np.random.default_rng(0)
    components = Components(rng.normal(size=(30, 4000)), np.ones(30), np.full(30, 1 / 40), np.zeros(4000))
    data = ReportData("t", tuple(f"x{k}" for k in range(4000)), 10, 0, (), components=components)
    page = render_html(data)
    assert "3,500 more rows are left out" in page
    assert "The first 12 of 30 components are shown" in page


def test_a_report_is_written_whole_or_not_at_all(tmp_path, pca_data):
    path = tmp_path / "report.html"
    odd_name = pca_data._replace(title="name \udcff")
    write_report(odd_name, path)
    written = path.read_text(encoding="utf-8")
    assert re.search(r"<h1>name \\udcff</h1>", written)
    with pytest.raises(StorageError):
        write_report(pca_data, tmp_path / "missing" / "report.html")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_the_rows_of_rejected_batches_are_accounted_for():
    """They are not among the worst rows, and the page says where they are."""
    kept = BatchRecord(0, "a.csv#0-9", 10, "kept", 1.0, 1.0, "")
    rejected = [BatchRecord(place, f"b.csv#{place}-9", 1500, "rejected", 0.0, 9.0, "mean") for place in (1, 2)]
    worst = (WorstRow("a.csv#0-9", 3, 5.0),)
    data = ReportData("t", ("x",), 3010, 3, (kept, *rejected), worst_rows=worst)
    text = "".join(Reader(render_html(data)).text)
    assert "The 3,000 rows of the 2 batches that were rejected as a whole are not among them" in text
    assert "robustream score" in text
    assert "rejected as a whole" not in "".join(Reader(render_html(data._replace(batches=(kept,)))).text)


def test_worst_rows_show_their_values():
    kept = BatchRecord(0, "a.csv#0-9", 10, "kept", 1.0, 1.0, "")
    worst = (WorstRow("a.csv#0-9", 3, 5.0, {"speed": -412.0, HOSTILE: 0.5}), WorstRow("a.csv#0-9", 4, 4.0))
    data = ReportData("t", ("speed",), 10, 1, (kept,), worst_rows=worst)
    reader = Reader(render_html(data))
    text = "".join(reader.text)
    assert f"speed\N{NO-BREAK SPACE}\N{MINUS SIGN}412, {HOSTILE}\N{NO-BREAK SPACE}0.5" in text
    assert not any(tag == "img" for tag, _ in reader.elements)
    assert "oddest first" not in render_html(data._replace(worst_rows=worst[1:]))


def test_unreadable_cells_and_lines_are_counted():
    data = ReportData("t", ("x", "z"), 100, 1, (), missing={"x": 3}, unreadable={"x": 7, "z": 1}, unreadable_lines=2)
    page = render_html(data)
    section = page[page.index('id="missing"') :]
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", section[: section.index("</section>")])
    assert [re.sub(r"<[^>]*>", "", cell) for cell in cells][4:] == ["x", "3", "7", "10.0%", "z", "0", "1", "1.0%"]
    assert "2 lines have too few or too many fields" in section
