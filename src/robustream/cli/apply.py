"""`robustream score`, `predict` and `transform`: a model applied to each row of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from robustream.cli.errors import Command, ExitCode, fail
from robustream.cli.options import (
    FileOrAddress,
    apply_options,
    check_outputs,
    csv_options,
    help_all,
    model_argument,
    names_option,
    option,
    quiet,
    same_place,
    sources_argument,
)

__all__ = ["predict", "score", "transform"]

_MOST_NAMED = 20
_STANDARD_OUTPUT = Path("-")
_ENDINGS = (".parquet", ".csv", ".arrow", ".feather")


def _check_ending(ctx: click.Context, param: click.Parameter, value: Path | str) -> Path | str:
    from robustream.files.addresses import shown

    name = Path(shown(value))
    if value != _STANDARD_OUTPUT and name.suffix.lower() not in _ENDINGS:
        raise click.BadParameter(f"{name.name} does not end in one of {', '.join(_ENDINGS)}.", ctx, param)
    return value


common_options = apply_options(
    [
        model_argument,
        sources_argument,
        option(
            "--out",
            "-o",
            required=True,
            type=FileOrAddress(dir_okay=False, allow_dash=True, path_type=Path),
            callback=_check_ending,
            help="Where to write: .parquet, .csv, .arrow, .feather, or - for CSV.",
        ),
        names_option("--keep", help="Columns to keep beside the answer: id,date."),
        *csv_options,
        quiet,
        help_all,
    ]
)


@click.command(cls=Command, epilog="Example: robustream score model.safetensors new/*.parquet --out scored.parquet")
@names_option("--target", help="Target columns, if the model does not know their names.")
@common_options
def score(**options: Any) -> None:
    """Score each row of files by how far it is from the model, and flag outliers.

    The output has a line for each row: file, row (from 0), score, cutoff and outlier; empty where cells are missing or
    hold no number. A row is an outlier if its score is above the cutoff; reason names the column that makes it one, and
    expected the value that the model has there.
    """
    _apply("score", **options)


@click.command(cls=Command, epilog="Example: robustream predict model.safetensors new/ --out predicted.csv")
@common_options
def predict(**options: Any) -> None:
    """Predict the target for each row of files; the target column need not be there."""
    _apply("predict", **options)


@click.command(cls=Command, epilog="Example: robustream transform model.safetensors new/ --out coordinates.parquet")
@common_options
def transform(**options: Any) -> None:
    """Project each row of files on the components."""
    _apply("transform", **options)


def _apply(
    what: Literal["score", "predict", "transform"],
    *,
    model: Path | str,
    sources: tuple[str, ...],
    out: Path | str,
    quiet: bool,
    keep: list[str] | None,
    **reading: Any,
) -> None:
    from robustream.files.addresses import shown

    to_file = out != _STANDARD_OUTPUT
    if to_file and same_place(out) == same_place(model):
        raise click.UsageError(f"--out must not be the model itself, {shown(model)}")
    check_outputs(sources, [out] if to_file else [])

    from rich.console import Console

    from robustream.applying import apply_to_files

    console = Console(stderr=True, highlight=False)
    progress = not quiet and console.is_terminal
    outcome = apply_to_files(what, model, list(sources), out, keep=keep or (), progress=progress, **reading)
    if not quiet:
        written = f" Written to {shown(out)}." if to_file else ""
        console.print(f"{outcome.say()}{written}", soft_wrap=True, markup=False)
    if outcome.illegible:
        console.print("Cells or lines that could not be read:", style="bold red")
        for place in outcome.illegible[:_MOST_NAMED]:
            console.print(f"  {place}", soft_wrap=True, markup=False)
        if len(outcome.illegible) > _MOST_NAMED:
            console.print(f"  and {len(outcome.illegible) - _MOST_NAMED} more")
    if outcome.failed:
        parts = "".join(f"\n  {label}: {reason}" for label, reason in outcome.failed[:_MOST_NAMED])
        raise fail(f"{len(outcome.failed)} parts of the files could not be read:{parts}", ExitCode.INCOMPLETE)
