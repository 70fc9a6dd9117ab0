"""`robustream inspect` and `robustream report`: what a model file holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from robustream.cli import options
from robustream.cli.exits import errors_as_exits

__all__ = ["inspect", "report"]


def inspect(
    model: options.ModelFile,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
    all_batches: Annotated[bool, typer.Option("--all", help="List all batches that are not trusted.")] = False,
) -> None:
    """Print what a model or checkpoint is, what it saw, and whom it distrusts."""
    with errors_as_exits():
        from rich.console import Console

        from robustream.cli.facts import facts_tables
        from robustream.persistence import describe

        description = describe(model)
        facts = {**description._asdict(), "distrusted": [record._asdict() for record in description.distrusted]}
        if as_json:
            typer.echo(json.dumps(facts, indent=2, default=str))
            return
        for table in facts_tables(facts, most=None if all_batches else 20):
            Console(highlight=False).print(table)


def report(
    model: options.ModelFile,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", dir_okay=False, help="Where to write; by default beside the model.")
    ] = None,
) -> None:
    """Draw the report of a model again, without its data."""
    with errors_as_exits():
        from robustream.persistence import load_with_extra
        from robustream.report import collect, write_report

        path = model.with_suffix(".html") if out is None else out
        if path.resolve() == model.resolve():
            raise typer.BadParameter(f"--out must not be the model itself, {model}")
        fitted, extra = load_with_extra(model)
        write_report(collect(fitted, extra if isinstance(extra, dict) else None), path)
        typer.echo(f"Report written to {path}.")
