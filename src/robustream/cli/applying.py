"""`robustream score`, `predict` and `transform`: a model applied to each row of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from robustream.cli import checks, options
from robustream.cli.exits import ExitCode, errors_as_exits, fail, refuse_overwriting

__all__ = ["predict", "score", "transform"]

_MOST_NAMED = 20

Output = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        dir_okay=False,
        callback=checks.ending((".parquet", ".csv", ".arrow", ".feather")),
        help="Where to write: .parquet, .csv, .arrow or .feather.",
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES", callback=checks.names, help="Target columns, if the model does not know their names."
    ),
]


def score(
    model: options.ModelFile,
    sources: options.Sources,
    out: Output,
    target: Target = None,
    header: options.Header = True,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    quiet: options.Quiet = False,
) -> None:
    """Give each row of files its outlier score and flag.

    The output has a line for each row: file, row (from 0), score and outlier; empty where cells lack or hold no number.
    """
    _apply("score", model, sources, out, target, header, separator, decimal, quiet)


def predict(
    model: options.ModelFile,
    sources: options.Sources,
    out: Output,
    header: options.Header = True,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    quiet: options.Quiet = False,
) -> None:
    """Predict the target for each row of files; the target column need not be there."""
    _apply("predict", model, sources, out, None, header, separator, decimal, quiet)


def transform(
    model: options.ModelFile,
    sources: options.Sources,
    out: Output,
    header: options.Header = True,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    quiet: options.Quiet = False,
) -> None:
    """Give each row of files its coordinates along the components."""
    _apply("transform", model, sources, out, None, header, separator, decimal, quiet)


def _apply(
    what: Any,
    path: Path,
    sources: list[str],
    out: Path,
    target: list[str] | None,
    header: bool,
    separator: str | None,
    decimal: str | None,
    quiet: bool,
) -> None:
    with errors_as_exits():
        from rich.console import Console

        from robustream.applying import apply_to_files

        console = Console(stderr=True, highlight=False)
        if out.resolve() == path.resolve():
            raise typer.BadParameter(f"--out must not be the model itself, {path}")
        refuse_overwriting(sources, out)
        outcome = apply_to_files(
            what,
            path,
            sources,
            out,
            target=options.split_names(target),
            header=header,
            separator=separator,
            decimal=decimal,
            progress=not quiet and console.is_terminal,
        )
    if not quiet:
        console.print(f"{outcome.say()} Written to {out}.", soft_wrap=True, markup=False)
    if outcome.illegible:
        console.print("Cells or lines that could not be read:", style="bold red")
        for place in outcome.illegible[:_MOST_NAMED]:
            console.print(f"  {place}", soft_wrap=True, markup=False)
        if len(outcome.illegible) > _MOST_NAMED:
            console.print(f"  and {len(outcome.illegible) - _MOST_NAMED} more")
    if outcome.failed:
        shown = "".join(f"\n  {label}: {reason}" for label, reason in outcome.failed[:_MOST_NAMED])
        raise fail(f"{len(outcome.failed)} parts of the files could not be read:{shown}", ExitCode.INCOMPLETE)
