"""What happened, in plain sentences."""

from __future__ import annotations

from collections import Counter

from robustream.report.data import ReportData, verdict_counts
from robustream.report.files import files_of
from robustream.report.numbers import show_count

__all__ = ["say_outcome"]


def say_outcome(data: ReportData) -> str:
    """Say how much of what came should not be trusted, and why, by files where there are any."""
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
