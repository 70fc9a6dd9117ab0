"""What the commands of `robustream bench` share that take figures: measure, show, judge, write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from robustream.bench.figures import Figure
    from robustream.bench.suite import Step

__all__ = ["Out", "Strict", "make_folder", "measure_and_show"]

Out = Annotated[
    Path | None, typer.Option(metavar="FOLDER", file_okay=False, help="Write the figures as JSON into this folder.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if a target is missed.")]


def measure_and_show(
    name: str, steps: Sequence[Step], threads: int, out: Path | None, *, quick: bool, strict: bool
) -> None:
    """Take measurements, show them beside their targets and write them to a file of that name."""
    from rich.console import Console

    from robustream.bench.environment import describe_environment

    console = Console(highlight=False)
    figures = _measure(steps)
    environment = describe_environment(threads)
    _show(figures, environment, console)
    if out is not None:
        target = out / f"{name}.json"
        data = {"quick": quick, "environment": environment, "figures": [figure.as_data() for figure in figures]}
        target.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        console.print(f"Figures written to {target}.", soft_wrap=True, markup=False)
    if strict and any(figure.met is False for figure in figures):
        raise typer.Exit(1)


def make_folder(out: Path | None) -> None:
    """Make the folder for results before any work is done."""
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise typer.BadParameter(f"the folder --out {out} cannot be made: {error.strerror}") from error


def _measure(steps: Sequence[Step]) -> list[Figure]:
    """Take all measurements, with progress on the error stream so that the results can be piped."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    figures = []
    columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(steps))
        for number, step in enumerate(steps, 1):
            progress.update(task, description=step.title)
            if not console.is_terminal:
                console.print(f"{number} of {len(steps)}: {step.title}", soft_wrap=True)
            figures.extend(step.run())
            progress.advance(task)
    return figures


def _show(figures: Sequence[Figure], environment: dict[str, Any], console: Console) -> None:
    from rich import box
    from rich.table import Table

    from robustream.bench.timing import say_threads

    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("measured", overflow="fold")
    table.add_column("value", justify="right")
    table.add_column("target", justify="right")
    table.add_column("met")
    for place, figure in enumerate(figures):
        if place and figure.group != figures[place - 1].group:
            table.add_section()
        word, style = {True: ("yes", "green"), False: ("NO", "bold red"), None: ("", "")}[figure.met]
        table.add_row(
            figure.title,
            _format(figure),
            "" if figure.target is None else str(figure.target),
            f"[{style}]{word}[/{style}]" if word else "",
        )
    console.print(table)
    packages = environment["packages"]
    blas = ", ".join(f"{library['internal_api']} {library['version']}" for library in environment["blas"])
    console.print(
        f"{environment['cpu']}, {environment['cores']} cores, {say_threads(environment['threads'])}; "
        f"NumPy {packages['numpy']} ({blas}), Numba {packages['numba']}, "
        f"scikit-learn {packages['scikit-learn']}."
    )
    for group in dict.fromkeys(figure.group for figure in figures):
        how = dict.fromkeys(figure.how for figure in figures if figure.group == group and figure.how)
        console.print(f"{group}: {', or '.join(how)}.", style="dim")
    judged = [figure.met for figure in figures if figure.met is not None]
    console.print(f"{sum(judged)} of {len(judged)} targets met.")


def _format(figure: Figure) -> str:
    number = f"{figure.value:.0f}" if figure.unit == "passes" else f"{figure.value:.3g}"
    return f"{number}x" if figure.unit == "x" else f"{number} {figure.unit}"
