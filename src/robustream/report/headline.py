"""The headline of a report in plain sentences, and the key figures below it."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from robustream.report.data import FileRecord, ReportData, files_of, verdict_counts
from robustream.report.numbers import show_count, show_number, show_seconds, show_share
from robustream.runs.groups import groups_of, say_large_group
from robustream.runs.notes import left_out_of

__all__ = ["KeyFigure", "key_figures", "say_outcome", "say_unreadable_lines"]


def say_outcome(data: ReportData) -> str:
    """Say how many rows the answer does not follow, and which files are to blame, or batches where there are none."""
    files = files_of(data.batches)
    verdicts: Counter[str] = Counter(file.verdict for file in files) if files else Counter(verdict_counts(data))
    left_out = left_out_of(data.batches)
    sentences = []
    if left_out.rows:
        # Kept batches that a long run no longer lists have rows too.
        seen = max(left_out.seen, data.rows_seen)
        share = show_share(left_out.rows / max(1, seen))
        sentences.append(f"{show_count(left_out.rows)} of {show_count(seen)} rows ({share}) should not be trusted.")
    sentences.append(_say_verdicts("files" if files else "batches", verdicts, bool(left_out.rows)))
    # Whole batches that stand apart are said to contradict the others.
    within = [group for group in groups_of(data.batches, data.features) if not group.whole_batches]
    if large := say_large_group(within):
        sentences.append(large)
    if verdicts["late"]:
        sentences.append(f"{show_count(verdicts['late'])} came too late to count.")
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
        trusted = sum(file.verdict == "kept" for file in files)
        partly = sum(file.verdict == "partly" for file in files)
        others = len(files) - trusted - partly
        notes = [f"{show_count(partly)} in part"] if partly else []
        notes += [f"{show_count(others)} not to be trusted"] if others else []
        note = ", ".join(notes) or "all of them"
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


def _say_verdicts(noun: str, verdicts: Counter[str], some_rows: bool) -> str:
    total = verdicts.total()
    if total == 0:
        return "No batch has been seen yet."
    rejected = verdicts["rejected"]
    causes = [
        (verdicts["failed"], "could not be used"),
        (rejected, "contradicts the others" if rejected == 1 else "contradict the others"),
        (verdicts["partly"], "is bad in part" if verdicts["partly"] == 1 else "are bad in part"),
    ]
    said = [f"{show_count(count)} {words}" for count, words in causes if count]
    if not said:
        whole = " as a whole" if some_rows else ""
        if total == 1:
            return f"The only {'file' if noun == 'files' else 'batch'} was used."
        return f"None of the {show_count(total)} {noun} had to be left out{whole}."
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"Of {show_count(total)} {noun} {listed}."
