"""The parts of the page on what should not be trusted: batches, files, rows, missing cells."""

from __future__ import annotations

import math

from robustream.report.data import ReportData, verdict_counts
from robustream.report.files import FileRecord, split_label
from robustream.report.grids import Cell, Column, number_cell, table
from robustream.report.headline import verdict_badge
from robustream.report.lacking import lacking_cells, say_unreadable_lines
from robustream.report.learned import chart
from robustream.report.markup import Markup, element, join
from robustream.report.numbers import show_count, show_number, show_share
from robustream.report.payload import thinned

__all__ = ["batches_section", "files_section", "missing_section", "rows_section"]

_TABLE_ROWS = 2_000


def batches_section(data: ReportData, *, in_files: bool) -> Markup:
    """Write the chart of the batches in their order and the table of those that were not kept.

    The table is folded away where files say the same more briefly.
    """
    bad = [record for record in data.batches if record.verdict != "kept"]
    worst = sorted(bad, key=lambda record: (record.verdict != "failed", -_or_least(record.distance)))[:_TABLE_ROWS]
    rows = [
        [
            Cell(_place(record.label, record.reason)),
            Cell(verdict_badge(record.verdict), record.verdict),
            number_cell(record.index, show_count(record.index)),
            number_cell(record.rows, show_count(record.rows)),
            number_cell(record.distance, show_number(record.distance)),
        ]
        for record in worst
    ]
    columns = [
        Column("Batch and reason"),
        Column("Verdict"),
        Column("Number", "number", minor=True),
        Column("Rows", "number", minor=True),
        Column("Distance", "number"),
    ]
    listing = element(
        "details",
        element("summary", f"The {show_count(len(bad))} batches that were not kept"),
        table("batches", "Batches that were not kept", columns, rows, total=len(bad), search="Find a batch or reason"),
        open=not in_files,
    )
    return element(
        "section",
        element("h2", "Batches over time"),
        element("p", "How far each batch's own answer lies from that of the others; 1 is typical. ", _thinning(data)),
        chart("batches", "Distance of each batch, in the order of arrival", height="tall"),
        listing if bad else None,
        id="batches",
    )


def files_section(files: list[FileRecord]) -> Markup | None:
    """Write the table of files, the worst first; None if the batches came from no files."""
    if not files:
        return None
    rows = [
        [
            Cell(_place(file.path, file.reason)),
            Cell(verdict_badge(file.verdict), file.verdict),
            number_cell(file.kept / file.batches, f"{show_count(file.kept)} of {show_count(file.batches)}"),
            number_cell(file.rows, show_count(file.rows)),
            number_cell(file.distance, show_number(file.distance)),
        ]
        for file in files[:_TABLE_ROWS]
    ]
    columns = [
        Column("File and reason"),
        Column("Verdict"),
        Column("Batches kept", "number", minor=True),
        Column("Rows", "number", minor=True),
        Column("Distance", "number"),
    ]
    return element(
        "section",
        element("h2", "Files"),
        element("p", "The files not to trust come first. The distance is that of a file's worst batch; 1 is typical."),
        table("files", "Files by verdict", columns, rows, total=len(files), search="Find a file or reason"),
        id="files",
    )


def rows_section(data: ReportData) -> Markup | None:
    """Write the table of the worst rows; None if none were recorded."""
    if not data.worst_rows:
        return None
    rows = [
        [
            Cell(_place(split_label(row.label)[0], "")),
            number_cell(row.row, show_count(row.row)),
            number_cell(row.score, show_number(row.score)),
        ]
        for row in data.worst_rows[:_TABLE_ROWS]
    ]
    in_files = any(split_label(row.label)[1] for row in data.worst_rows)
    first, second = ("File", "Row in file") if in_files else ("Batch", "Row in batch")
    columns = [Column(first), Column(second, "number"), Column("Outlier score", "number")]
    return element(
        "section",
        element("h2", "Worst rows"),
        element("p", "The rows that lie farthest from the model. The higher the score, the worse. ", _rejected(data)),
        table("rows", "Rows farthest from the model", columns, rows, total=len(data.worst_rows), search="Find a file"),
        id="rows",
    )


def _rejected(data: ReportData) -> Markup | None:
    """Say where the rows of rejected batches are: a batch that is wrong as a whole cannot tell its worst rows."""
    rejected = [record for record in data.batches if record.verdict == "rejected"]
    if not rejected:
        return None
    rows, batches = sum(record.rows for record in rejected), len(rejected)
    named = f"the {show_count(batches)} batches that were rejected" if batches > 1 else "the batch that was rejected"
    return join(
        f"The {show_count(rows)} rows of {named} as a whole are not among them: see the batches above. ",
        element("code", "robustream score"),
        " gives each row of a file its score.",
    )


def missing_section(data: ReportData) -> Markup | None:
    """Write the table of missing and unreadable cells; None if there are none."""
    found, lines = lacking_cells(data), say_unreadable_lines(data)
    if not found and lines is None:
        return None
    rows = [
        [
            Cell(name),
            number_cell(missing, show_count(missing)),
            number_cell(unreadable, show_count(unreadable)),
            number_cell(share := _share_of_rows(missing + unreadable, data), show_share(share)),
        ]
        for name, missing, unreadable in found[:_TABLE_ROWS]
    ]
    columns = [
        Column("Column"),
        Column("Missing", "number"),
        Column("No number", "number"),
        Column("Share of rows", "number"),
    ]
    return element(
        "section",
        element("h2", "Missing cells"),
        element("p", lines) if lines else None,
        table("missing", "Missing and unreadable cells by column", columns, rows, total=len(found)) if found else None,
        id="missing",
    )


def _share_of_rows(cells: int, data: ReportData) -> float:
    return cells / data.rows_seen if data.rows_seen else math.nan


def _place(label: str, reason: str) -> Markup:
    """Write a label with its folder and its row range subdued, and the reason below it."""
    path, place = split_label(label)
    folder, slash, name = path.rpartition("/")
    return join(
        element("span", folder + slash, class_="subdued") if folder + slash else None,
        element("span", name, class_="name"),
        element("span", f"#{place}", class_="subdued") if place else None,
        element("span", reason, class_="reason") if reason else None,
    )


def _thinning(data: ReportData) -> str | None:
    kept = verdict_counts(data)["kept"]
    shown = sum(record.verdict == "kept" for record in thinned(data.batches))
    if shown == kept:
        return None
    return f"Of the {show_count(kept)} kept batches {show_count(shown)} are drawn; all others are."


def _or_least(distance: float) -> float:
    return -math.inf if math.isnan(distance) else distance
