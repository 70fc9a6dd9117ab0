"""The report as tables for the terminal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from robustream.estimators._summary import Summary
from robustream.report.charts import strongest
from robustream.report.data import (
    VERDICTS,
    Coefficients,
    Components,
    ReportData,
    files_of,
    missing_cells,
    verdict_counts,
)
from robustream.report.headline import say_unreadable_lines
from robustream.report.numbers import show_count, show_number, show_share

__all__ = ["nodes_table", "summary_tables"]

_MOST_ROWS = 16
_MOST_COMPONENTS = 5
_MOST_WORKERS = 30
_STYLES = {"kept": "green", "rejected": "red", "failed": "magenta", "late": "yellow", "partly": "yellow"}


def summary_tables(data: ReportData, most_rows: int = _MOST_ROWS) -> list[RenderableType]:
    """Return what `rich` prints: the outcome, verdict counts, worst files, strongest coefficients or loadings."""
    tables: list[RenderableType] = [Text(data.title, style="bold"), Text(data.outcome), _verdicts(data)]
    tables.extend(table for table in (_distrusted(data, most_rows), _missing(data, most_rows)) if table is not None)
    tables.extend(Text(note) for note in data.notes[:most_rows])
    if data.components is not None:
        tables.append(_loadings(data.components, data.features, most_rows))
    if data.coefficients is not None:
        tables.append(_coefficients(data.coefficients, data.features, most_rows))
    tables.extend(_summary(summary, most_rows) for summary in data.tables)
    return tables


def nodes_table(model: Any) -> Table:
    """Return a table of the workers: what they worked on, how long, and how much of it is trusted."""
    report, batches = model.node_report_, model.batch_report_
    workers = report.workers(batches)
    late = [record for record in report.records if record.outcome == "late"]
    table = Table(box=box.SIMPLE, title="Workers", title_justify="left")
    table.add_column("worker", overflow="fold")
    for column in ("partitions", "seconds", "trusted", "rejected", "failed"):
        table.add_column(column, justify="right")
    for worker in workers[:_MOST_WORKERS]:
        numbers = (worker.partitions, f"{worker.seconds:.1f}", worker.trusted, worker.rejected, worker.failed)
        table.add_row(Text(worker.worker), *(str(number) for number in numbers))
    notes = [f"and {len(workers) - _MOST_WORKERS} more workers"] if len(workers) > _MOST_WORKERS else []
    if late:
        shown = ", ".join(record.label for record in late[:5]) + (", ..." if len(late) > 5 else "")
        notes.append(f"{len(late)} partitions were given up as late: {shown}")
    table.caption = Text("; ".join(notes)) if notes else None
    return table


def _table(title: str, names: list[str], numbers: list[str], *, caption: str | None = None) -> Table:
    # Text, not str: in a str, rich would take "[red]" in a file name for markup.
    table = Table(
        title=Text(title), caption=None if caption is None else Text(caption), box=box.SIMPLE, title_justify="left"
    )
    for name in names:
        table.add_column(Text(name), overflow="fold")
    for name in numbers:
        table.add_column(Text(name), justify="right")
    return table


def _verdicts(data: ReportData) -> Table:
    table = _table("Batches", ["verdict"], ["batches", "share"])
    counts = verdict_counts(data)
    total = max(1, sum(counts.values()))
    for verdict in VERDICTS:
        if counts[verdict]:
            label = Text(verdict, style=_STYLES[verdict])
            table.add_row(label, show_count(counts[verdict]), show_share(counts[verdict] / total))
    return table


def _distrusted(data: ReportData, most_rows: int) -> Table | None:
    """Return the worst files or, where there are none, the worst batches."""
    files = files_of(data.batches)
    if files:
        title = "Files not to trust"
        found: list[tuple[str, str, str, float]] = [
            (file.path, file.verdict, file.reason, file.distance) for file in files if file.verdict != "kept"
        ]
    else:
        title = "Batches not to trust"
        bad = [record for record in data.batches if record.verdict != "kept"]
        bad.sort(key=lambda record: math.inf if math.isnan(record.distance) else record.distance, reverse=True)
        found = [(record.label, record.verdict, record.reason, record.distance) for record in bad]
    if not found:
        return None
    left = len(found) - most_rows
    table = _table(
        title, ["file" if files else "batch", "verdict", "reason"], ["distance"],
        caption=f"and {show_count(left)} more" if left > 0 else None,
    )  # fmt: skip
    for name, verdict, reason, distance in found[:most_rows]:
        table.add_row(Text(name), Text(verdict, style=_STYLES[verdict]), Text(reason), show_number(distance))
    return table


def _missing(data: ReportData, most_rows: int) -> Table | None:
    found = missing_cells(data)
    lines = say_unreadable_lines(data)
    if not found and lines is None:
        return None
    table = _table("Missing cells", ["column"], ["missing", "no number"], caption=lines)
    for name, missing, unreadable in found[:most_rows]:
        table.add_row(Text(name), show_count(missing), show_count(unreadable))
    return table


def _loadings(found: Components, features: tuple[str, ...], most_rows: int) -> Table:
    shown = found.components[:_MOST_COMPONENTS]
    table = _table("Strongest loadings", ["column"], [f"PC {place + 1}" for place in range(len(shown))])
    for column in np.argsort(-np.abs(shown).max(axis=0), kind="stable")[:most_rows]:
        table.add_row(Text(features[column]), *(f"{value:.3f}" for value in shown[:, column]))
    table.add_section()
    table.add_row("share of variance", *(show_share(float(share)) for share in found.ratio[: len(shown)]), style="dim")
    return table


def _summary(summary: Summary, most_rows: int) -> Table:
    table = _table(summary.title, [summary.columns[0]], list(summary.columns[1:]))
    for name, *numbers in summary.rows[:most_rows]:
        table.add_row(Text(name), *(Text(show_number(number)) for number in numbers))
    return table


def _coefficients(found: Coefficients, features: tuple[str, ...], most_rows: int) -> Table:
    several = len(found.targets) > 1
    table = _table(
        "Strongest coefficients", ["column", *(["output"] if several else [])], ["coefficient", "95% from", "to"]
    )
    for place in strongest(found, most_rows):
        output, column = place
        names = [Text(features[column]), *([Text(found.targets[output])] if several else [])]
        table.add_row(*names, *(show_number(float(part[place])) for part in (found.coef, found.low, found.high)))
    return table
