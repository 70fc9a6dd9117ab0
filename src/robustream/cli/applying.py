"""`robustream score`, `predict` and `transform`: a model applied to each row of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from robustream.cli import options
from robustream.cli.exits import ExitCode, errors_as_exits, fail, refuse_overwriting

__all__ = ["predict", "score", "transform"]

Output = Annotated[
    Path,
    typer.Option("--out", "-o", dir_okay=False, help="Where to write: .parquet, .csv, .arrow or .feather."),
]
Target = Annotated[list[str] | None, typer.Option(help="Target columns, if the model does not know their names.")]


def score(
    model: options.ModelFile,
    sources: options.Sources,
    out: Output,
    target: Target = None,
    header: options.Header = True,
    separator: options.Separator = None,
    quiet: options.Quiet = False,
) -> None:
    """Give each row of files its outlier score and flag.

    The output has a line for each row: file, row (from 0), score and outlier; empty where a row has missing cells.
    """
    _apply("score", model, sources, out, target, header, separator, quiet)


def predict(
    model: options.ModelFile,
    sources: options.Sources,
    out: Output,
    header: options.Header = True,
    separator: options.Separator = None,
    quiet: options.Quiet = False,
) -> None:
    """Predict the target for each row of files; the target column need not be there."""
    _apply("predict", model, sources, out, None, header, separator, quiet)


def transform(
    model: options.ModelFile,
    sources: options.Sources,
    out: Output,
    header: options.Header = True,
    separator: options.Separator = None,
    quiet: options.Quiet = False,
) -> None:
    """Give each row of files its coordinates along the components."""
    _apply("transform", model, sources, out, None, header, separator, quiet)


def _apply(
    what: Any,
    path: Path,
    sources: list[str],
    out: Path,
    target: list[str] | None,
    header: bool,
    separator: str | None,
    quiet: bool,
) -> None:
    with errors_as_exits():
        from rich.console import Console

        from robustream.applying import apply_to_files

        console = Console(stderr=True, highlight=False)
        refuse_overwriting(sources, out)
        outcome = apply_to_files(
            what,
            path,
            sources,
            out,
            target=options.split_names(target),
            header=header,
            separator=separator,
            progress=not quiet and console.is_terminal,
        )
    if not quiet:
        console.print(f"{outcome.say()} Written to {out}.", soft_wrap=True, markup=False)
    if outcome.failed:
        shown = "".join(f"\n  {label}: {reason}" for label, reason in outcome.failed[:20])
        raise fail(f"{len(outcome.failed)} parts of the files could not be read:{shown}", ExitCode.INCOMPLETE)
