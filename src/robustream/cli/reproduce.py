"""`robustream reproduce`: the paper's experiments with our code, each figure and table beside what the paper says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from robustream.cli.errors import Command, require
from robustream.cli.options import OUTPUT_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console
    from rich.progress import Progress, TaskID

    from robustream.paper.experiment import Context, Experiment
    from robustream.paper.page import Page
    from robustream.paper.results import Cell, Store
    from robustream.paper.runner import Remaining

__all__ = ["reproduce"]

# Seconds between two lines about the progress where there is no terminal for a bar.
SAY_EVERY = 60.0
# The share of the work after which its pace on this machine is known.
CALIBRATED_AT = 0.03

# Named here, since the experiments are loaded only when the command runs.
EXPERIMENTS = (
    "figure-1a", "figure-1b", "figure-1c", "figure-1d", "table-1", "table-2", "table-2-scale", "speed", "theory",
    "ours",
)  # fmt: skip
SIZES = ("full", "quick", "tiny")


@click.command(cls=Command, epilog="Example: robustream reproduce all --quick --out results/")
@click.argument("experiment", type=click.Choice(["all", "list", *EXPERIMENTS]), default="all", metavar="[EXPERIMENT]")
@click.option("--out", type=OUTPUT_FOLDER, default="results", show_default=True, help="Folder for the results.")
@click.option("--quick", is_flag=True, help="A tenth of the size, in about four minutes.")
@click.option(
    "--size", type=click.Choice(SIZES), default="full", show_default=True, help="The size of the experiments."
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes; by default as many as cores.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help="Seed of all data.")
@click.option("--data", type=OUTPUT_FOLDER, help="Folder of data sets: delicious, cifar10n_cnn.")
@click.option("--only", type=click.Choice(["ours"]), help="Run our own method again, nothing else.")
@click.option("--draw-only", is_flag=True, help="Draw what is stored and run nothing.")
def reproduce(
    experiment: str,
    out: Path,
    quick: bool,
    size: str,
    jobs: int | None,
    seed: int,
    data: Path | None,
    only: str | None,
    draw_only: bool,
) -> None:
    """Run the paper's experiments and write a page that says which of its claims hold.

    EXPERIMENT is all, list (which says what there is), figure-1a, figure-1b, figure-1c, figure-1d, table-1, table-2,
    table-2-scale, speed, theory, or ours (our own default method on all of these).

    Results are stored piece by piece: a run that was stopped goes on where it was, and drawing again costs nothing.
    """
    if experiment == "list":
        _list()
        return
    require("matplotlib", "report", "the figures are drawn with it")
    import os

    from rich.console import Console

    from robustream.paper import experiments, scenarios
    from robustream.paper.experiment import Context
    from robustream.paper.results import Store

    console = Console(highlight=False)
    chosen = "quick" if quick else size
    context = Context(scenarios.SIZES[chosen], seed, data)
    store = Store(out, chosen, seed)
    wanted = experiments.choose(experiment)
    if not draw_only:
        if only:
            store.forget(cell for one in wanted for cell in one.cells(context) if cell.ours)
        _run(wanted, context, store, jobs or os.cpu_count() or 1, console, only_ours=only is not None)
    # One page for all that is there: an experiment that was run before stays on it.
    shown = [one for one in experiments.EXPERIMENTS.values() if one in wanted or _is_stored(one, context, store)]
    page = _draw(shown, context, store, out, console)
    # Of the verdicts those that were asked for; the page has all.
    _show(page, [one.name for one in wanted], out, console)


def _list() -> None:
    """Say what can be reproduced."""
    from robustream.paper.experiments import EXPERIMENTS

    for experiment in EXPERIMENTS.values():
        click.echo(f"{experiment.name:14} {experiment.title} ({experiment.place})")


def _is_stored(experiment: Experiment, context: Context, store: Store) -> bool:
    return all(store.has(cell) for cell in experiment.cells(context))


def _run(
    experiments: Sequence[Experiment],
    context: Context,
    store: Store,
    jobs: int,
    console: Console,
    *,
    only_ours: bool = False,
) -> None:
    from robustream.paper.runner import Remaining, missing_cells, run_cells

    cells = [cell for one in experiments for cell in one.cells(context) if cell.ours or not only_ours]
    left = missing_cells(cells, store)
    if not left:
        console.print("All of it is in the store already.")
        return
    remaining = Remaining(left, jobs)
    console.print(f"{len(left)} pieces of work; how long they take is told after the first of them.", soft_wrap=True)
    with _progress(console) as progress:
        task = progress.add_task("Running", total=remaining.total)
        run_cells(cells, store, jobs, _advance(progress, task, remaining, console))


def _advance(progress: Progress, task: TaskID, remaining: Remaining, console: Console) -> Callable[[Cell], None]:
    """Move the bar, and say what the first pieces let expect on this machine.

    Where there is no terminal, say every minute how much is done and how long the rest will take.
    """
    from time import monotonic

    from robustream.paper.runner import in_words

    started = said = monotonic()
    calibrated = False

    def advance(cell: Cell) -> None:
        nonlocal said, calibrated
        progress.update(task, advance=remaining.finish(cell), description=f"{cell.group} {cell.name}")
        now = monotonic()
        if not calibrated and remaining.share >= CALIBRATED_AT:
            calibrated = True
            whole = in_words(now - started + remaining.seconds_left(now - started))
            console.print(f"At the pace of the first pieces it will take {whole} in all.", soft_wrap=True)
        if console.is_terminal or (now - said < SAY_EVERY and remaining.share < 1):
            return
        said = now
        elapsed = now - started
        left = in_words(remaining.seconds_left(elapsed))
        console.print(
            f"{remaining.share:4.0%} done after {in_words(elapsed)}, {left} left ({cell.group} {cell.name}).",
            soft_wrap=True,
        )

    return advance


def _draw(experiments: Sequence[Experiment], context: Context, store: Store, out: Path, console: Console) -> Page:
    from robustream.paper.page import make_page, write_page

    out.mkdir(parents=True, exist_ok=True)
    with _progress(console) as progress:
        task = progress.add_task("Drawing", total=len(experiments))
        page = make_page(experiments, context, store, lambda name: progress.advance(task))
    write_page(page, out)
    return page


def _progress(console: Console) -> Progress:
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("time left"),
        # Cells differ: the speed of the last few minutes says more than that of the last few seconds.
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        speed_estimate_period=600.0,
    )


def _show(page: Page, names: Sequence[str], out: Path, console: Console) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, title=page.size_words)
    table.add_column("")
    table.add_column("claim", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for name, claim, verdict in _rows(page, names):
        table.add_row(name, claim, verdict, style="bold" if verdict == "does not hold" else "")
    console.print(table)
    console.print(f"The page: {out / 'index.html'}; as Markdown: {out / 'index.md'}.", soft_wrap=True, markup=False)


def _rows(page: Page, names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for section in page.sections:
        if section.experiment.name in names:
            for place, one in enumerate(section.judged):
                yield section.experiment.name if place == 0 else "", one.claim.says, one.finding.verdict
