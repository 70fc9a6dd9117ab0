"""A fit from the command line: the model is written, and what happened is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robustream.cli.wording import as_options

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["fit_and_tell"]


def fit_and_tell(
    make: Callable[[], Any], sources: list[str], out: Path, report: Path | None, quiet: bool, options: dict[str, Any]
) -> None:
    """Fit a model, write it and its report, and print what a person should know."""
    import time

    from rich.console import Console

    from robustream.fitting import fit as fit_model
    from robustream.persistence import save
    from robustream.report import collect, nodes_table, summary_tables, write_report

    console, errors = Console(highlight=False), Console(stderr=True, highlight=False)
    started = time.perf_counter()
    model = fit_model(make(), sources, progress=not quiet and errors.is_terminal, **options)
    fitted = time.perf_counter()
    save(model, out, extra=model.fit_notes_)
    timings = {"reading and learning": fitted - started, "total": time.perf_counter() - started}
    data = collect(model, {**model.fit_notes_, "timings": timings})
    if report is not None:
        write_report(data, report)
    if not quiet:
        for table in summary_tables(data):
            console.print(table)
        if model.node_report_ is not None:
            console.print(nodes_table(model))
    if not quiet and model.fit_notes_["ended"]:
        total = model.fit_notes_["settings"]["batches in the source"]
        console.print(f"Stopped after {model.n_batches_seen_} of {total} batches: {model.fit_notes_['ended']}.")
    _say_what_was_written(console, out, report, quiet)
    _say_whom_not_to_trust(errors, model)


def _say_what_was_written(console: Console, out: Path, report: Path | None, quiet: bool) -> None:
    if not quiet:
        shown = f"Model written to {out}" + (f", report to {report}" if report is not None else "")
        console.print(f"{shown}.", soft_wrap=True, markup=False)


def _say_whom_not_to_trust(console: Console, model: Any) -> None:
    """Say the worst last, and also when all else is quiet: batches that failed are not in the model."""
    failed = [record for record in model.batch_report_ if record.verdict == "failed"]
    if failed:
        console.print(f"{len(failed)} of {model.n_batches_seen_} batches could not be used:", style="bold red")
        for record in failed[:20]:
            console.print(f"  {record.label}: {as_options(record.reason)}", soft_wrap=True, markup=False)
        if len(failed) > 20:
            console.print(f"  and {len(failed) - 20} more; the report names all of them")
