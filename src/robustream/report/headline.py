"""The top of the page: what happened in one sentence, and the key figures."""

from __future__ import annotations

import numpy as np

from robustream.report.data import VERDICTS, ReportData, verdict_counts
from robustream.report.files import FileRecord
from robustream.report.markup import Markup, element, join
from robustream.report.numbers import show_count, show_number, show_seconds, show_share

__all__ = ["headline", "key_figures", "verdict_badge"]

# A shape goes with each verdict, here and in the charts, so that nothing rests on colour alone.
_SIGNS = {"kept": "●", "rejected": "✕", "failed": "■", "late": "◆", "partly": "◐"}


def headline(data: ReportData, bad_files: int) -> Markup:
    """Write the title and the outcome."""
    bad = bad_files or sum(
        count for verdict, count in verdict_counts(data).items() if verdict in ("rejected", "failed")
    )
    return element(
        "header",
        element("p", "robustream report", class_="eyebrow"),
        element("h1", data.title),
        element("p", data.outcome, class_="outcome bad" if bad else "outcome"),
        element("p", str(data.environment["date"]), class_="date") if "date" in data.environment else None,
    )


def key_figures(data: ReportData, files: list[FileRecord]) -> Markup:
    """Write the tiles and the bar of verdicts."""
    counts = verdict_counts(data)
    total = sum(counts.values())
    tiles = [_tile("Rows read", show_count(data.rows_seen), f"{show_count(len(data.features))} columns")]
    if files:
        trusted = sum(file.verdict in ("kept", "partly") for file in files)
        tiles.append(
            _tile("Files trusted", f"{show_count(trusted)} of {show_count(len(files))}", _others(len(files) - trusted))
        )
    tiles.append(
        _tile(
            "Batches kept",
            f"{show_count(counts['kept'])} of {show_count(total)}",
            show_share(counts["kept"] / max(1, total)),
        )
    )
    if data.components is not None:
        number = len(data.components.ratio)
        noun = "component" if number == 1 else "components"
        tiles.append(
            _tile("Variance explained", show_share(float(np.sum(data.components.ratio))), f"by {number} {noun}")
        )
    if data.coefficients is not None and np.isfinite(data.coefficients.scale).all():
        scales = ", ".join(show_number(float(scale)) for scale in data.coefficients.scale[:3])
        more = " …" if len(data.coefficients.scale) > 3 else ""
        tiles.append(_tile("Residual scale", scales + more, "typical error of a good row"))
    if "total" in data.timings:
        seconds = data.timings["total"]
        speed = f"{show_count(round(data.rows_seen / seconds))} rows a second" if seconds > 0 else None
        tiles.append(_tile("Time", show_seconds(seconds), speed))
    bar = [
        element("span", class_=f"part {verdict}", style=f"flex-grow:{counts[verdict]}")
        for verdict in VERDICTS
        if counts[verdict]
    ]
    legend = [
        element("li", verdict_badge(verdict), " ", show_count(counts[verdict]))
        for verdict in VERDICTS
        if counts[verdict]
    ]
    return element(
        "section",
        element("h2", "Key figures", class_="unseen"),
        element("dl", *tiles, class_="tiles"),
        element("div", *bar, class_="verdict-bar", aria_hidden="true"),
        element("ul", *legend, class_="legend", aria_label="Batches by verdict"),
        class_="figures",
    )


def verdict_badge(verdict: str) -> Markup:
    """Write a verdict with its sign."""
    return element(
        "span", element("span", _SIGNS[verdict], class_="sign", aria_hidden="true"), verdict, class_=f"badge {verdict}"
    )


def _others(count: int) -> str:
    return f"{show_count(count)} not to be trusted" if count else "all of them"


def _tile(name: str, value: str, note: str | None) -> Markup:
    content = join(value, element("small", note) if note else None)
    return element("div", element("dt", name), element("dd", content))
