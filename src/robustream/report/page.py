"""The page: one HTML file that needs nothing else, and that no text in the data can turn against its reader.

Jinja escapes all text; behind that stands a content security policy: only the script written here runs, and nothing can
be loaded. What a reader sees is in `templates/`, what makes it alive in `static/`.
"""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from robustream.batch import BatchRecord
from robustream.files.atomic import write_atomically
from robustream.report.charts import chart_data, strongest, thinned
from robustream.report.data import (
    Coefficients,
    Components,
    ReportData,
    files_of,
    missing_cells,
    split_label,
    verdict_counts,
)
from robustream.report.headline import key_figures, say_unreadable_lines
from robustream.report.numbers import show_count, show_number, show_seconds, show_share

__all__ = ["render_html", "write_report"]

_STYLES = ("page.css", "tables.css", "charts.css", "print.css")
_SCRIPTS = (
    "drawing.js", "scales.js", "tooltip.js", "tables.js", "scree.js", "coefficients.js", "marks.js", "batches.js",
    "convergence.js", "main.js",
)  # fmt: skip

# A shape goes with each verdict, here and in the charts, so that nothing rests on colour alone.
_SIGNS = {"kept": "●", "rejected": "✕", "failed": "■", "late": "◆", "partly": "◐"}

# Beyond these a table is no longer read, and a page no longer small.
_TABLE_ROWS = 2_000
_LOADING_ROWS = 500
_LOADING_COMPONENTS = 12
_COEFFICIENT_ROWS = 1_000
_LEVELS = 20


def render_html(data: ReportData) -> str:
    """Return the page as text: a pure function of the data."""
    files = files_of(data.batches)
    verdicts = verdict_counts(data)
    bad_files = sum(file.verdict in ("rejected", "failed") for file in files)
    script = "(() => {\n'use strict';\n" + _static(_SCRIPTS) + "\n})();"
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return _environment().get_template("report.html").render(
        data=data,
        policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:",
        styles=Markup(_static(_STYLES)),
        script=Markup(script),
        charts=chart_data(data),
        distrusted=bad_files or verdicts["rejected"] + verdicts["failed"],
        figures=key_figures(data, files),
        verdicts=verdicts,
        components=None if data.components is None else _components(data.components, data.features),
        coefficients=None if data.coefficients is None else _coefficients(data.coefficients, data.features),
        batches=_batches(data),
        files=files,
        rejected=_rejected(data),
        missing={"cells": _missing(data), "lines": say_unreadable_lines(data)},
        settings=_settings(data),
        most_rows=_TABLE_ROWS,
    )  # fmt: skip


def write_report(data: ReportData, path: str | Path) -> None:
    """Write the page to a file, which is there either whole or not at all."""
    # File names may hold bytes that are no text; such a one is shown by its number.
    write_atomically(path, [render_html(data).encode("utf-8", "backslashreplace")])


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("robustream.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "count": show_count,
        "number": show_number,
        "number_column": lambda title: (title, "number"),
        "share": show_share,
        "split_label": split_label,
        "typographic": lambda shown: shown.replace("-", "\N{MINUS SIGN}").replace("inf", "∞"),
    }
    environment.tests |= {"nan": math.isnan, "finite": math.isfinite}
    environment.globals["signs"] = _SIGNS
    # No NaN: browsers read JSON by the letter.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return environment


@cache
def _static(names: tuple[str, ...]) -> str:
    folder = package_files("robustream.report") / "static"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _components(found: Components, features: tuple[str, ...]) -> dict[str, Any]:
    shown = found.components[:_LOADING_COMPONENTS]
    strength = np.abs(shown).max(axis=0)
    order = np.argsort(-strength, kind="stable")[:_LOADING_ROWS]
    numbers = range(1, 1 + len(found.ratio))
    return {
        "variance_columns": [(title, "number") for title in ("Component", "Variance", "Share", "Cumulative")],
        "variances": list(zip(numbers, found.explained_variance, found.ratio, np.cumsum(found.ratio), strict=True)),
        "shown": len(shown),
        "total": len(found.components),
        "largest": float(strength.max(initial=np.finfo(float).tiny)),
        "columns": [
            ("Column", "text"),
            *((f"PC {place + 1}", "size") for place in range(len(shown))),
            ("Centre", "number", "minor"),
        ],
        "rows": [(features[column], shown[:, column].tolist(), float(found.mean[column])) for column in order],
    }


def _coefficients(found: Coefficients, features: tuple[str, ...]) -> dict[str, Any]:
    several = len(found.targets) > 1
    levels = list(zip(found.targets, found.intercept.tolist(), found.scale.tolist(), strict=True))
    return {
        "several": several,
        "intervals": bool(np.isfinite(found.stderr).any()),
        "total": found.coef.size,
        "columns": [
            ("Column", "text"),
            *([("Output", "text")] if several else []),
            ("Coefficient", "number"),
            ("Std. error", "number", "minor"),
            ("95% from", "number"),
            ("to", "number"),
            ("p", "number", "minor"),
        ],
        "rows": [
            {
                "column": features[column],
                "output": found.targets[output],
                **{
                    name: float(getattr(found, name)[output, column])
                    for name in ("coef", "stderr", "low", "high", "p_value")
                },
            }
            for output, column in strongest(found, _COEFFICIENT_ROWS)
        ],
        "levels": [dict(zip(("target", "intercept", "scale"), level, strict=True)) for level in levels[:_LEVELS]],
        "levels_left": max(0, len(levels) - _LEVELS),
    }


def _batches(data: ReportData) -> dict[str, Any]:
    bad = [record for record in data.batches if record.verdict != "kept"]
    return {
        "drawn": sum(record.verdict == "kept" for record in thinned(data.batches)),
        "total": len(bad),
        "rows": sorted(bad, key=_worst_first)[:_TABLE_ROWS],
    }


def _worst_first(record: BatchRecord) -> tuple[bool, float]:
    return record.verdict != "failed", math.inf if math.isnan(record.distance) else -record.distance


def _rejected(data: ReportData) -> dict[str, int]:
    """Count rejected batches and their rows: a batch that is wrong as a whole cannot tell its worst rows."""
    rejected = [record.rows for record in data.batches if record.verdict == "rejected"]
    return {"batches": len(rejected), "rows": sum(rejected)}


def _missing(data: ReportData) -> list[tuple[str, int, int, float]]:
    return [
        (name, missing, unreadable, (missing + unreadable) / data.rows_seen if data.rows_seen else math.nan)
        for name, missing, unreadable in missing_cells(data)
    ]


def _settings(data: ReportData) -> dict[str, dict[str, str]]:
    groups = {"Settings": data.settings, "Environment": data.environment}
    shown = {title: {name: _plain(value) for name, value in facts.items()} for title, facts in groups.items()}
    timings = {name: show_seconds(seconds) for name, seconds in data.timings.items()}
    return {"Settings": shown["Settings"], "Timings": timings, "Environment": shown["Environment"]}


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
