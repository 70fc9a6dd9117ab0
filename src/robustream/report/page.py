"""The page: one HTML file that needs nothing else, and that no text in the data can turn against its reader."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from robustream.report.data import ReportData
from robustream.report.distrust import batches_section, files_section, missing_section, rows_section
from robustream.report.files import files_of
from robustream.report.grids import Cell, Column, table
from robustream.report.headline import headline, key_figures
from robustream.report.learned import chart, learned
from robustream.report.markup import Markup, element, embed_json
from robustream.report.numbers import show_count, show_number, show_seconds
from robustream.report.payload import chart_data
from robustream.storage.atomic import write_atomically

__all__ = ["render_html", "write_report"]

_STYLES = ("page.css", "tables.css", "charts.css", "print.css")
_SCRIPTS = (
    "drawing.js", "scales.js", "tooltip.js", "tables.js", "scree.js", "coefficients.js", "marks.js", "batches.js",
    "convergence.js", "main.js",
)  # fmt: skip


def render_html(data: ReportData) -> str:
    """Give the page as text: a pure function of the data."""
    files = files_of(data.batches)
    bad_files = sum(file.verdict in ("rejected", "failed") for file in files)
    sections = [
        learned(data),
        batches_section(data, in_files=bool(files)),
        files_section(files),
        rows_section(data),
        _convergence_section(data),
        missing_section(data),
        _settings_section(data),
    ]
    script = "(() => {\n'use strict';\n" + "\n".join(_static(name) for name in _SCRIPTS) + "\n})();"
    body = element(
        "body",
        element("div", headline(data, bad_files), class_="top"),
        element("main", key_figures(data, files), *sections),
        element("footer", "Made by robustream. This page is complete in itself: nothing is loaded from anywhere."),
        embed_json(chart_data(data), "chart-data"),
        element("script", Markup(script)),
    )
    document = element("html", _head(data.title, script), body, lang="en")
    return f"<!doctype html>\n{document}\n"


def write_report(data: ReportData, path: str | Path) -> None:
    """Write the page to a file, which is there either whole or not at all."""
    # File names may hold bytes that are no text; such a one is shown by its number.
    write_atomically(path, [render_html(data).encode("utf-8", "backslashreplace")])


def _head(title: str, script: str) -> Markup:
    # The policy is a second wall behind the escaping: only the script written here runs, and nothing can be fetched.
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Markup("\n".join(_static(name) for name in _STYLES))),
    )


def _static(name: str) -> str:
    return (package_files("robustream.report") / "static" / name).read_text(encoding="utf-8")


def _convergence_section(data: ReportData) -> Markup | None:
    if not data.convergence:
        return None
    last = data.convergence[-1]
    reached = f"it is {show_number(last.error)}" if math.isfinite(last.error) else "nothing can be said of it"
    return element(
        "section",
        element("h2", "Convergence"),
        element(
            "p",
            "How far off the estimate may be, relative to its size, as batches came in. "
            f"After {show_count(last.batches)} batches {reached}.",
        ),
        chart("convergence", "Relative error by batches seen"),
        id="convergence",
    )


def _settings_section(data: ReportData) -> Markup:
    timings = {name: show_seconds(seconds) for name, seconds in data.timings.items()}
    groups = [("Settings", data.settings), ("Timings", timings), ("Environment", data.environment)]
    tables = [element("div", _facts(title, facts)) for title, facts in groups if facts]
    return element("section", element("h2", "How it was made"), element("div", *tables, class_="facts"), id="settings")


def _facts(title: str, facts: Mapping[str, Any]) -> Markup:
    rows = [[Cell(name), Cell(_plain(value))] for name, value in facts.items()]
    return table(title.lower(), title, [Column("Name"), Column("Value")], rows)


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return show_number(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(item) for item in value) or "none"
    return str(value)
