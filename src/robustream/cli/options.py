"""Options that several commands have, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from robustream.cli import checks

__all__ = [
    "Aggregator",
    "Alpha",
    "BatchSize",
    "Checkpoint",
    "CheckpointEvery",
    "Columns",
    "Deadline",
    "Decimal",
    "Engine",
    "Enough",
    "Exclude",
    "HalfLife",
    "Header",
    "HelpAll",
    "Jobs",
    "JoinSmallFiles",
    "Learner",
    "Missing",
    "Model",
    "ModelFile",
    "OnError",
    "Quiet",
    "Quorum",
    "Report",
    "Resume",
    "Scheduler",
    "Seed",
    "Separator",
    "Sources",
    "Tolerance",
    "split_names",
]


# Named here, since the library is loaded only when a command runs.
AGGREGATORS = ("filtered", "geometric-median", "online-median", "mean", "coordinate-median", "trimmed-mean")

_ABOVE_ZERO = checks.number("above 0", lambda value: value > 0)


def _option(*names: str, **rest: Any) -> Any:
    # Defaults stand in the help texts, so that an option takes one line.
    return typer.Option(*names, show_default=False, **rest)


def _rare_option(*names: str, **rest: Any) -> Any:
    """Give an option that most people never need: `--help-all` shows it."""
    return _option(*names, hidden=True, **rest)


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        typer.echo(context.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool, typer.Option("--help-all", callback=_show_all, is_eager=True, show_default=False, help="Show all options.")
]

Sources = Annotated[
    list[str],
    typer.Argument(help="Files, folders, patterns, or - for a pipe.", metavar="SOURCES", show_default=False),
]
ModelFile = Annotated[Path, typer.Argument(help="A model that `robustream fit` wrote.", metavar="MODEL")]

Columns = Annotated[
    list[str] | None,
    _option("--columns", metavar="NAMES", callback=checks.names, help="Columns to learn from: a,b,c [all others]."),
]
Exclude = Annotated[
    list[str] | None, _option("--exclude", metavar="NAMES", callback=checks.names, help="Columns to leave out: a,b,c.")
]
Missing = Annotated[
    str,
    _rare_option(
        callback=checks.one_of("skip", "skip-infinite", "error"),
        help="Rows with missing cells: [skip], error; skip-infinite.",
    ),
]
JoinSmallFiles = Annotated[bool, _rare_option("--join-small-files", help="Let files smaller than a batch share one.")]
Header = Annotated[bool, _rare_option("--header/--no-header", help="Whether CSV files name their columns.")]
Separator = Annotated[
    str | None, _rare_option(callback=checks.character, help="What is between CSV fields [guessed]; tab for a tab.")
]
Decimal = Annotated[
    str | None, _rare_option(callback=checks.one_of(".", ","), help="What is before decimals in CSV files [guessed].")
]

Learner = Annotated[
    str,
    _rare_option(
        callback=checks.one_of("refined", "trimmed", "classical"), help="[refined], trimmed (the paper's), classical."
    ),
]
Aggregator = Annotated[
    str, _rare_option(callback=checks.one_of(*AGGREGATORS), help="[filtered], geometric-median, mean, ...")
]
BatchSize = Annotated[str, _rare_option(callback=checks.batch_size, help="Rows in a batch [auto].")]
HalfLife = Annotated[float | None, _rare_option(callback=_ABOVE_ZERO, help="Batches after which one counts half.")]
Alpha = Annotated[
    float, _rare_option(callback=checks.number("at least 0", lambda value: value >= 0), help="Ridge penalty [0].")
]
Seed = Annotated[
    int,
    _rare_option(callback=checks.number("at least 0", lambda value: value >= 0), help="Seed of what is random [0]."),
]

Model = Annotated[Path, _option("--out", "-o", dir_okay=False, help="Write the model there.")]
Report = Annotated[Path | None, _option(dir_okay=False, help="Write a page that shows what happened.")]
Jobs = Annotated[
    int,
    _rare_option("--jobs", "-j", callback=checks.worker_count, help="Batches worked on at once [-1: all cores]."),
]
OnError = Annotated[
    str, _rare_option(callback=checks.one_of("skip", "stop"), help="A batch that fails: [skip] or stop.")
]
Quorum = Annotated[
    float,
    _rare_option(
        callback=checks.number("a share from 0 on and below 1", lambda value: 0 <= value < 1),
        help="Share of batches that must be usable [0.5].",
    ),
]
Tolerance = Annotated[
    float | None,
    _option(
        callback=checks.number("between 0 and 1", lambda value: 0 < value < 1),
        help="Stop at this relative error, as 0.01.",
    ),
]
Checkpoint = Annotated[Path | None, _option(dir_okay=False, help="Keep the state there, to go on after a crash.")]
CheckpointEvery = Annotated[str, _rare_option(callback=checks.rhythm, help="How often [30 s]; also '100 batches'.")]
Resume = Annotated[bool, _option("--resume", help="Go on from the checkpoint, if it is there.")]
Quiet = Annotated[bool, _option("--quiet", "-q", help="No progress bar, no summary.")]


Engine = Annotated[
    str | None,
    _option(
        metavar="NAME",
        callback=checks.one_of("local", "dask"),
        help="Work in processes (local) or on a cluster (dask).",
    ),
]
Scheduler = Annotated[str | None, _rare_option(callback=checks.address, help="Dask scheduler, as tcp://host:8786.")]
Enough = Annotated[
    float | None,
    _rare_option(
        callback=checks.number("above 0 and at most 1", lambda value: 0 < value <= 1),
        help="Give up stragglers after this share, as 0.8.",
    ),
]
Deadline = Annotated[float | None, _rare_option(callback=_ABOVE_ZERO, help="Give up stragglers after so many seconds.")]


def split_names(names: list[str] | None) -> list[str] | None:
    """Take both `--exclude a,b` and `--exclude a --exclude b`; None if nothing was said."""
    if not names:
        return None
    return [part.strip() for name in names for part in name.split(",") if part.strip()]
