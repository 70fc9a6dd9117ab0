"""The page in a real browser; its pictures go to the folder named by ROBUSTREAM_ARTIFACTS, if there is one."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from robustream.batch import BatchRecord
from robustream.report.data import ReportData

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
HOSTILE = "</script><img src=x onerror=alert(1)><b>"


@pytest.fixture
def data(request):
    return request.getfixturevalue(f"{request.param}_data")


both = pytest.mark.parametrize("data", ["pca", "regression"], indirect=True)


def first_names(page, table):
    return page.locator(f"#table-{table} tbody tr:not([hidden]) .name").all_inner_texts()


def colour(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@both
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_it_fits_and_draws_every_chart(show, data, viewport, scheme, tmp_path):
    page = show(data, viewport, color_scheme=scheme)
    charts = page.locator(".chart > svg[role=img], .chart > .chart > svg[role=img]")
    assert charts.count() == 3
    assert all(label for label in charts.evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))"))
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    folder = Path(os.environ.get("ROBUSTREAM_ARTIFACTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"report-{len(data.title)}-{viewport['width']}-{scheme}.png"
    page.screenshot(path=path, full_page=True)
    assert path.stat().st_size > 10_000


def test_wide_tables_and_long_names_scroll_by_themselves_on_a_phone(show, pca_data):
    found = pca_data.components
    wide = found._replace(
        components=np.tile(found.components, (3, 1)),
        ratio=np.tile(found.ratio, 3) / 3,
        explained_variance=np.tile(found.explained_variance, 3),
    )
    names = tuple(f"{'a_very_long_name' * 5}{place}" for place in range(len(pca_data.features)))
    batches = tuple(record._replace(label=f"{'folder' * 20}/{record.label}") for record in pca_data.batches)
    page = show(pca_data._replace(components=wide, features=names, batches=batches), {"width": 380, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    scroller = page.locator(".scroller", has=page.locator("#table-loadings"))
    assert scroller.evaluate("(one) => one.scrollWidth > one.clientWidth")


def test_a_click_on_a_header_sorts_the_table(show, pca_data):
    page = show(pca_data)
    before = first_names(page, "files")
    header = page.locator("#table-files thead th", has_text="File and reason")
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert first_names(page, "files") == sorted(before) != before
    header.locator("button").press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    assert first_names(page, "files") == sorted(before, reverse=True)


def test_numbers_sort_as_numbers_with_the_unknown_last(show, pca_data):
    page = show(pca_data)
    button = page.locator("#table-files thead button", has_text="Distance")
    for sign in (-1, 1):
        button.click()
        shown = page.locator("#table-files tbody td:last-child").evaluate_all(
            "all => all.map((td) => td.dataset.value)"
        )
        known = [float(value) for value in shown if value is not None]
        assert known == sorted(known, key=lambda value: sign * value)
        assert shown[-5:] == [None] * 5
    page.locator("#table-loadings thead button", has_text="PC 2").click()
    loadings = page.locator("#table-loadings tbody td:nth-child(3)").evaluate_all(
        "a => a.map((td) => td.dataset.value)"
    )
    sizes = [abs(float(value)) for value in loadings]
    assert sizes == sorted(sizes, reverse=True)


def test_the_search_box_leaves_what_matches(show, pca_data):
    page = show(pca_data)
    box = page.get_by_label("Find a file or reason", exact=True).and_(page.locator("input"))
    box.fill("PERMISSION")
    assert first_names(page, "files") == ["part-20.parquet"]
    box.fill("")
    assert len(first_names(page, "files")) == 40


def marks(page):
    """Give where the rejected and kept marks are, in the window."""
    page.locator(".zoomable").scroll_into_view_if_needed()
    # The page hears of scrolling with the next frame, and then hides its box of details.
    return page.evaluate(
        """async () => {
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          await frame();
          await frame();
          const box = document.querySelector(".zoomable").getBoundingClientRect();
          const starts = (kind) => document.querySelector(`.mark.${kind}`).getAttribute("d").match(/M[^a-z]+/g)
            .map((text) => text.slice(1).split(" ").map(Number));
          const place = ([x, y]) => [box.left + x + 4, box.top + y];
          return { rejected: starts("rejected").map(([x, y]) => place([x, y + 4])), kept: starts("kept").map(place) };
        }"""
    )


def drag(page, start, end):
    """Select a part of the chart, given as shares of its width."""
    box = page.locator(".zoomable").bounding_box()
    page.mouse.move(box["x"] + start * box["width"], box["y"] + 150)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], box["y"] + 160, steps=4)
    page.mouse.up()


def test_hovering_over_a_mark_tells_its_batch(show, pca_data):
    page = show(pca_data)
    page.mouse.move(*marks(page)["rejected"][0])
    tip = page.locator("#tooltip")
    record = next(record for record in pca_data.batches if record.verdict == "rejected")
    assert tip.is_visible()
    assert record.label in tip.inner_text()
    assert record.reason in tip.inner_text()
    page.mouse.move(1, 1)
    assert tip.is_hidden()


def test_a_tap_on_a_phone_tells_the_batch(show, pca_data):
    page = show(pca_data, PHONE, has_touch=True)
    page.touchscreen.tap(*marks(page)["rejected"][0])
    assert "rejected" in page.locator("#tooltip").inner_text()
    page.mouse.wheel(0, 200)
    page.locator("#tooltip").wait_for(state="hidden")


def test_the_keyboard_reaches_every_mark(show, pca_data):
    page = show(pca_data)
    page.locator(".zoomable").focus()
    page.keyboard.press("ArrowRight")
    assert pca_data.batches[0].label in page.locator("#tooltip").inner_text()
    page.keyboard.press("ArrowLeft")
    assert pca_data.batches[-1].label in page.locator("#tooltip").inner_text()


def test_dragging_zooms_and_a_button_shows_all_again(show, pca_data):
    page = show(pca_data)
    before = len(marks(page)["kept"])
    reset = page.get_by_role("button", name="Show all batches")
    assert reset.is_hidden()
    drag(page, 0.4, 0.6)
    assert 0 < len(marks(page)["kept"]) < 0.35 * before
    reset.click()
    assert len(marks(page)["kept"]) == before


def test_a_verdict_can_be_hidden(show, pca_data):
    page = show(pca_data)
    button = page.locator(".controls button", has_text="rejected")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert page.locator(".mark.rejected").count() == 0
    assert page.locator(".mark.kept").count() == 1


def test_coefficients_can_be_shown_in_standard_errors(show, regression_data):
    page = show(regression_data)
    dots = "[...document.querySelectorAll('.dot')].map((dot) => Number(dot.getAttribute('cx')))"
    before = page.evaluate(dots)
    page.get_by_role("button", name="In standard errors").click()
    assert len(page.evaluate(dots)) == len(before) == 12
    assert page.evaluate(dots) != before
    page.locator(".chart .hover").first.hover()
    assert "95% interval" in page.locator("#tooltip").inner_text()


def test_light_and_dark_follow_the_system_and_the_button(show, pca_data):
    pages = {scheme: show(pca_data, color_scheme=scheme) for scheme in ("light", "dark")}
    colours = {scheme: colour(page) for scheme, page in pages.items()}
    assert colours["light"] != colours["dark"]
    for scheme, other in (("light", "dark"), ("dark", "light")):
        pages[scheme].locator(".theme").click()
        assert colour(pages[scheme]) == colours[other]
        pages[scheme].locator(".theme").click()
        assert colour(pages[scheme]) == colours[scheme]


def test_on_paper_it_is_light_and_whole(show, pca_data, tmp_path):
    page = show(pca_data, color_scheme="dark")
    page.get_by_label("Find a file or reason", exact=True).and_(page.locator("input")).fill("nothing like this")
    page.emulate_media(media="print")
    assert colour(page) == "rgb(255, 255, 255)"
    assert page.locator("#table-files tbody tr").last.is_visible()
    assert page.evaluate(
        "[...document.querySelectorAll('.scroller')].every((one) => one.scrollHeight <= one.clientHeight + 1)"
    )
    assert not page.locator("nav, .controls").first.is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_tables_are_readable_without_a_script(show, pca_data, bad_files):
    page = show(pca_data, java_script_enabled=False)
    assert page.locator(".outcome").inner_text() == pca_data.outcome
    assert len(first_names(page, "files")) == 40
    assert not page.locator("figure").first.is_visible()


def test_hostile_names_do_nothing(show, pca_data):
    batches = tuple(
        record._replace(label=f"{HOSTILE}{record.label}", reason=HOSTILE + record.reason) for record in pca_data.batches
    )
    page = show(pca_data._replace(batches=batches, title=HOSTILE, features=(HOSTILE,) * len(pca_data.features)))
    assert page.title() == HOSTILE
    page.mouse.move(*marks(page)["rejected"][0])
    assert page.locator("#tooltip strong").inner_text().startswith(HOSTILE)
    assert page.locator("img").count() == 0


def test_a_hundred_thousand_batches_can_be_hovered_and_zoomed(show):
    batches = tuple(
        BatchRecord(
            index,
            f"data/{index // 100}.csv#{index}-{index + 1}",
            10,
            "kept" if index % 3 else "rejected",
            1.0,
            1.0 if index % 3 else 50.0,
            "mean: far from the others" * (index % 3 == 0),
        )
        for index in range(100_000)
    )
    page = show(ReportData("Many", (), 1_000_000, 100_000, batches))
    places = marks(page)
    assert 500 <= len(places["rejected"]) <= 2_000
    page.mouse.move(*places["rejected"][300])
    assert "rejected" in page.locator("#tooltip").inner_text()
    drag(page, 0.5, 0.52)
    assert 100 < len(marks(page)["rejected"]) <= 33_334 * 0.03
    page.locator(".zoomable").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#tooltip strong").inner_text()
    page.keyboard.press("ArrowRight")
    assert first != page.locator("#tooltip strong").inner_text()


def test_runs_without_files_measures_or_verdicts_are_drawn(show):
    unmeasured = tuple(BatchRecord(k, f"rows {k}0-{k}9", 10, "kept", 1.0, float("nan"), "") for k in range(3))
    page = show(ReportData("Means", (), 30, 3, unmeasured))
    assert page.locator(".mark.kept").count() == 1
    page = show(ReportData("Nothing", (), 0, 0, ()))
    assert page.locator(".mark").count() == 0
