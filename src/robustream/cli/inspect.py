"""`robustream inspect` and `robustream report`: what a model file holds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robustream.cli.errors import Command
from robustream.cli.options import OUTPUT_FILE, model_argument, same_place

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["inspect", "report"]

_MOST_NAMED = 20


@click.command(cls=Command, epilog="Example: robustream inspect model.safetensors")
@model_argument
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
@click.option("--all", "all_batches", is_flag=True, help="List all batches that are not trusted.")
def inspect(model: Path | str, as_json: bool, all_batches: bool) -> None:
    """Print what a model or checkpoint is, what it saw, and which batches it does not trust."""
    from rich.console import Console

    from robustream.persistence import describe

    description = describe(model)
    facts = {**description._asdict(), "distrusted": [record._asdict() for record in description.distrusted]}
    if as_json:
        click.echo(json.dumps(_plain(facts), indent=2, allow_nan=False, default=str))
        return
    for table in _tables(facts, most=None if all_batches else _MOST_NAMED):
        Console(highlight=False).print(table)


@click.command(cls=Command, epilog="Example: robustream report model.safetensors --out report.html")
@model_argument
@click.option("--out", "-o", type=OUTPUT_FILE, help="Where to write; by default beside the model.")
def report(model: Path | str, out: Path | str | None) -> None:
    """Draw the report of a model again, without its data."""
    from robustream.files.addresses import shown

    if out is None and isinstance(model, str):
        raise click.UsageError("--out must say where to write the report of a model that lies elsewhere")
    path = model.with_suffix(".html") if out is None and isinstance(model, Path) else out
    assert path is not None
    if same_place(path) == same_place(model):
        raise click.UsageError(f"--out must not be the model itself, {shown(model)}")

    from robustream.persistence import load_with_extra
    from robustream.report import collect, write_report

    fitted, extra = load_with_extra(model)
    write_report(collect(fitted, extra if isinstance(extra, dict) else None), path)
    click.echo(f"Report written to {shown(path)}.")


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: null for NaN and infinity, which JSON has no words for."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _tables(facts: dict[str, Any], most: int | None) -> Iterator[Table]:
    """Yield a table of what the file is, and one of the batches that are not trusted, no more than `most` of them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = f"{facts['estimator']} ({facts['kind']})"
    main = Table(box=box.SIMPLE, show_header=False, title=Text(title), title_justify="left")
    main.add_column(style="bold")
    main.add_column(overflow="fold")
    for name, value in _lines(facts):
        main.add_row(name, Text(value))
    yield main
    distrusted = facts["distrusted"]
    if not distrusted:
        return
    table = Table(box=box.SIMPLE, title=f"{len(distrusted)} batches that are not trusted", title_justify="left")
    for column in ("batch", "verdict", "reason"):
        table.add_column(column, overflow="fold")
    for record in distrusted[:most]:
        table.add_row(*(Text(record[column]) for column in ("label", "verdict", "reason")))
    if most is not None and len(distrusted) > most:
        table.caption = f"and {len(distrusted) - most} more: --all lists them"
    yield table


def _lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "file", f"{facts['path']} ({facts['size']:,} bytes, written {facts['written']})"
    names = facts["column_names"]
    shown = "" if names is None else ": " + ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    yield "columns", f"{facts['columns']}{shown}"
    if facts.get("targets"):
        yield "target", ", ".join(facts["targets"])
    if facts["classes"]:
        yield "classes", ", ".join(map(str, facts["classes"]))
    if facts["rows_seen"] is not None:
        waiting = f", {facts['rows_waiting']:,} still waiting for more" if facts["rows_waiting"] else ""
        yield "rows seen", f"{facts['rows_seen']:,}{waiting}"
        verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(facts["verdicts"].items()))
        yield "batches seen", f"{facts['batches_seen']:,} ({verdicts})"
    yield "parameters", ", ".join(f"{name}={value!r}" for name, value in facts["parameters"].items())
    shapes = {name: " x ".join(map(str, shape)) or "a number" for name, shape in facts["answer"].items()}
    yield "answer", ", ".join(f"{name} ({shape})" for name, shape in shapes.items())
    yield "versions", ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
