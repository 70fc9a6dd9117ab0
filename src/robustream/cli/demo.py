"""`robustream demo`: the main job on a small dirty stream, in a few seconds."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robustream.cli.errors import Command
from robustream.cli.options import OUTPUT_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from robustream.bench.contaminated_stream import Contest, Settings

__all__ = ["demo"]

_LEVELS = " ▁▂▃▄▅▆▇█"
_PLAIN_LEVELS = " .:-=+*#@"
_LABEL_WIDTH = 9


@click.command(cls=Command, epilog="Example: robustream demo --batches 50 --bad 0.3 --json result.json")
@click.option(
    "--batches", type=int, metavar="N", default=100, show_default=True, help="Batches in the stream, at least 10."
)
@click.option(
    "--rows",
    type=int,
    metavar="N",
    default=2000,
    show_default=True,
    help="Rows in a batch, at least 5 for each column.",
)
@click.option("--columns", type=int, metavar="N", default=20, show_default=True, help="Columns, at least 2.")
@click.option(
    "--bad", type=float, metavar="SHARE", default=0.4, show_default=True, help="Share of garbage batches, below 0.5."
)
@click.option("--seed", type=int, metavar="N", default=0, show_default=True, help="Seed of the stream.")
@click.option("--json", "json_file", type=OUTPUT_FILE, help="Write the figures there too.")
def demo(batches: int, rows: int, columns: int, bad: float, seed: int, json_file: Path | None) -> None:
    """Fit a dirty stream robustly and plainly, side by side, in a few seconds.

    Garbage batches come first and agree on a wrong answer; a plain fit on the clean batches is the yardstick.
    """
    from rich.console import Console

    from robustream.bench.contaminated_stream import Settings, check_settings
    from robustream.errors import InvalidInputError

    settings = Settings(batches, rows, columns, bad, seed)
    try:
        check_settings(settings)
    except InvalidInputError as error:
        raise click.UsageError(str(error)) from error
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise click.UsageError(f"the folder of --json {json_file} does not exist")

    console = Console(highlight=False)
    started = time.perf_counter()
    contests = _run(settings, console)
    seconds = time.perf_counter() - started
    _show(contests, settings, seconds, console)
    if json_file is not None:
        json_file.write_text(json.dumps(_as_data(contests, settings, seconds), indent=2) + "\n", encoding="utf-8")
        console.print(f"Figures written to {json_file}.", soft_wrap=True, markup=False)


def _run(settings: Settings, console: Console) -> list[Contest]:
    from rich.progress import Progress

    from robustream.bench.contaminated_stream import contest_pca, contest_regression

    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Fitting", total=2 * settings.batches)

        def advance() -> None:
            progress.advance(task)

        return [contest_pca(settings, advance), contest_regression(settings, advance)]


def _show(contests: Sequence[Contest], settings: Settings, seconds: float, console: Console) -> None:
    from rich import box
    from rich.table import Table

    from robustream.bench.contaminated_stream import ALIKE, say_verdict

    bad = len(contests[0].bad_indices)
    console.print(
        f"{settings.batches} batches of {settings.rows} x {settings.columns}. "
        f"{bad} of them are garbage: they come first and agree on a wrong answer.\n"
    )
    table = Table(box=box.SIMPLE, caption="ratio: the error in multiples of that of clean only")
    table.add_column("", overflow="fold")
    table.add_column("fit", overflow="fold")
    table.add_column("error", justify="right")
    table.add_column("ratio", justify="right")
    for contest in contests:
        errors = contest.errors
        table.add_row(contest.problem, "robust", f"{errors.robust:.4f}", f"{contest.robust_ratio:.1f}", style="bold")
        table.add_row("", contest.plain_method, f"{errors.plain:.4f}", f"{contest.plain_ratio:.1f}")
        table.add_row("", "clean only", f"{errors.clean_only:.4f}", "1.0")
    console.print(table)
    for contest in contests:
        _draw(contest, console)
    for contest in contests:
        console.print(f"[bold]{contest.problem}[/bold]: {say_verdict(contest)}")
        if bad:
            distant = ", ".join(f"{record.index} ({record.distance:.1f}x)" for record in contest.most_distant[:3])
            console.print(
                f"Of the {bad} batches with the largest distance in batch_report_, {contest.found} are garbage. "
                f"Farthest: {distant}, in multiples of the typical distance.\n"
            )
    if any(contest.aggregator == "geometric-median" and contest.robust_ratio > ALIKE for contest in contests):
        console.print("What is left of the error: bad batches that agree still pull the geometric median a little way.")
    console.print(f"Done in {seconds:.1f} s.")


def _draw(contest: Contest, console: Console) -> None:
    """Draw errors against batches seen, on a logarithmic scale, as wide as the terminal allows."""
    from math import log

    values = contest.robust_path + contest.plain_path
    low, high = min(values), max(values)
    width = max(1, min(len(contest.moments), console.width - _LABEL_WIDTH - 1))
    places = [(place * len(contest.moments)) // width for place in range(width)]
    levels = _PLAIN_LEVELS if console.options.ascii_only else _LEVELS
    span = log(high / low) if high > low else 1.0

    def line(path: Sequence[float]) -> str:
        shares = (log(path[place] / low) / span for place in places)
        return "".join(levels[1 + round(share * (len(levels) - 2))] for share in shares)

    bad = set(contest.bad_indices)
    arrivals = "".join("x" if contest.moments[place] - 1 in bad else "." for place in places)
    console.print(f"[bold]{contest.problem}[/bold]: {contest.metric}")
    console.print(f"{'':>{_LABEL_WIDTH}}from {low:.2g} (low) to {high:.2g} (high), log scale")
    for label, style, text in (
        ("robust", "green", line(contest.robust_path)),
        ("plain", "red", line(contest.plain_path)),
        ("batches", "dim", arrivals),
    ):
        console.print(f"{label:>{_LABEL_WIDTH - 1}} [{style}]{text}[/{style}]", no_wrap=True)
    console.print(f"{'':>{_LABEL_WIDTH}}x a garbage batch arrives, . a clean one\n")


def _as_data(contests: Sequence[Contest], settings: Settings, seconds: float) -> dict[str, Any]:
    from robustream import __version__
    from robustream.bench.contaminated_stream import say_verdict

    return {
        "robustream": __version__,
        "settings": settings._asdict(),
        "seconds": seconds,
        "contests": [
            {
                "problem": contest.problem,
                "metric": contest.metric,
                "plain_method": contest.plain_method,
                "errors": contest.errors._asdict(),
                "robust_ratio": contest.robust_ratio,
                "plain_ratio": contest.plain_ratio,
                "verdict": say_verdict(contest),
                "bad_batches": contest.bad_indices,
                "bad_among_most_distant": contest.found,
                "most_distant": [record._asdict() for record in contest.most_distant],
                "batches_seen": contest.moments,
                "robust_path": contest.robust_path,
                "plain_path": contest.plain_path,
            }
            for contest in contests
        ],
    }
