"""The headline of a report in plain sentences, and the key figures below it."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from robustream.report.data import FileRecord, ReportData, files_of, verdict_counts
from robustream.report.numbers import show_count, show_number, show_seconds, show_share
from robustream.runs.notes import left_out_of

__all__ = ["KeyFigure", "key_figures", "say_outcome", "say_unreadable_lines"]


def say_outcome(data: ReportData) -> str:
    """Say how much of the data should not be trusted, and why, by files where there are any."""
    files = files_of(data.batches)
    verdicts: Counter[str] = Counter(file.verdict for file in files) if files else Counter(verdict_counts(data))
    noun = "files" if files else "batches"
    total = verdicts.total()
    failed, rejected, partly, late = (verdicts[name] for name in ("failed", "rejected", "partly", "late"))
    if partly and failed + rejected == 0:
        sentences = [f"{show_count(partly)} of {show_count(total)} files {_have(partly)} some bad batches."]
    else:
        sentences = [_main_sentence(noun, total, failed, rejected)]
        if partly:
            more = "file" if partly == 1 else "files"
            sentences.append(f"{show_count(partly)} more {more} {_have(partly)} some bad batches.")
    if late:
        sentences.append(f"{show_count(late)} came too late to count.")
    return " ".join(sentences)


def say_unreadable_lines(data: ReportData) -> str | None:
    """Say how many lines of CSV files were left out; None if there are none."""
    if not data.unreadable_lines:
        return None
    lines = "1 line has" if data.unreadable_lines == 1 else f"{show_count(data.unreadable_lines)} lines have"
    return f"{lines} too few or too many fields."


class KeyFigure(NamedTuple):
    """A number with its name, and perhaps a note."""

    name: str
    value: str
    note: str | None = None


def key_figures(data: ReportData, files: list[FileRecord]) -> list[KeyFigure]:
    """Return the figures that a reader wants to see first."""
    counts = verdict_counts(data)
    kept, total = counts["kept"], sum(counts.values())
    figures = [KeyFigure("Rows read", show_count(data.rows_seen), f"{show_count(len(data.features))} columns")]
    if files:
        trusted = sum(file.verdict in ("kept", "partly") for file in files)
        others = len(files) - trusted
        note = f"{show_count(others)} not to be trusted" if others else "all of them"
        figures.append(KeyFigure("Files trusted", f"{show_count(trusted)} of {show_count(len(files))}", note))
    left_out = left_out_of(data.batches)
    if left_out.rows:
        note = (
            f"{show_count(left_out.rejected)} in rejected batches" if left_out.rejected else "in batches that were kept"
        )
        share = show_share(left_out.rows / max(1, left_out.seen))
        figures.append(KeyFigure("Rows left out", f"{show_count(left_out.rows)} ({share})", note))
    share = show_share(kept / max(1, total))
    figures.append(KeyFigure("Batches kept", f"{show_count(kept)} of {show_count(total)}", share))
    if data.components is not None:
        ratio = data.components.ratio
        noun = "component" if len(ratio) == 1 else "components"
        figures.append(KeyFigure("Variance explained", show_share(float(np.sum(ratio))), f"by {len(ratio)} {noun}"))
    if data.coefficients is not None and np.isfinite(data.coefficients.scale).all():
        scales = ", ".join(show_number(float(scale)) for scale in data.coefficients.scale[:3])
        more = " …" if len(data.coefficients.scale) > 3 else ""
        figures.append(KeyFigure("Residual scale", scales + more, "typical error of a good row"))
    if "total" in data.timings:
        seconds = data.timings["total"]
        speed = f"{show_count(round(data.rows_seen / seconds))} rows a second" if seconds > 0 else None
        figures.append(KeyFigure("Time", show_seconds(seconds), speed))
    return figures


def _main_sentence(noun: str, total: int, failed: int, rejected: int) -> str:
    bad = failed + rejected
    if total == 0:
        return "No batch has been seen yet."
    if bad == 0 and total == 1:
        return "The only file was used." if noun == "files" else "The only batch was used."
    if bad == 0:
        return f"None of the {show_count(total)} {noun} had to be left out."
    causes = []
    if failed:
        causes.append(f"{show_count(failed)} could not be used")
    if rejected:
        causes.append(f"{show_count(rejected)} {'contradicts' if rejected == 1 else 'contradict'} the others")
    return f"{show_count(bad)} of {show_count(total)} {noun} should not be trusted: {' and '.join(causes)}."


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
