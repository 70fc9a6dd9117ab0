"""Options that several commands have, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Aggregator",
    "Alpha",
    "BatchSize",
    "Checkpoint",
    "CheckpointEvery",
    "Columns",
    "Deadline",
    "Engine",
    "Enough",
    "Exclude",
    "HalfLife",
    "Header",
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


def _option(*names: str, **rest: Any) -> Any:
    # Defaults stand in the help texts, so that an option takes one line.
    return typer.Option(*names, show_default=False, **rest)


Sources = Annotated[list[str], typer.Argument(help="Files, folders or patterns; - for standard input.")]
ModelFile = Annotated[Path, typer.Argument(help="A model that `robustream fit` wrote.", metavar="MODEL")]

Columns = Annotated[list[str] | None, _option("--columns", help="Columns to learn from: a,b,c [all others].")]
Exclude = Annotated[list[str] | None, _option("--exclude", help="Columns to leave out: a,b,c.")]
Missing = Annotated[str, _option(help="Rows with missing cells: [skip] or error.")]
JoinSmallFiles = Annotated[bool, _option("--join-small-files", help="Let files smaller than a batch share one.")]
Header = Annotated[bool, _option("--header/--no-header", help="Whether CSV files name their columns.")]
Separator = Annotated[str | None, _option(help="What is between CSV fields [guessed].")]

Learner = Annotated[str, _option(help="[refined], trimmed (the paper's), classical.")]
Aggregator = Annotated[str, _option(help="[filtered], geometric-median, mean, ...")]
BatchSize = Annotated[str, _option(help="Rows in a batch [auto].")]
HalfLife = Annotated[float | None, _option(help="Batches after which one counts half.")]
Alpha = Annotated[float, _option(help="Ridge penalty [0].")]
Seed = Annotated[int, _option(help="Seed of what is random [0].")]

Model = Annotated[Path, _option("--out", "-o", dir_okay=False, help="Write the model there.")]
Report = Annotated[Path | None, _option(dir_okay=False, help="Write a page that shows what happened.")]
Jobs = Annotated[int, _option("--jobs", "-j", help="Batches worked on at once [-1: all cores].")]
OnError = Annotated[str, _option(help="A batch that fails: [skip] or stop.")]
Quorum = Annotated[float, _option(help="Share of batches that must be usable [0.5].")]
Tolerance = Annotated[float | None, _option(help="Stop at this relative error, as 0.01.")]
Checkpoint = Annotated[Path | None, _option(dir_okay=False, help="Keep the state there, to go on after a crash.")]
CheckpointEvery = Annotated[str, _option(help="How often [30 s]; also '100 batches'.")]
Resume = Annotated[bool, _option("--resume", help="Go on from the checkpoint, if it is there.")]
Quiet = Annotated[bool, _option("--quiet", "-q", help="No progress bar, no summary.")]


Engine = Annotated[str | None, _option(help="Work in processes (local) or on a cluster (dask).")]
Scheduler = Annotated[str | None, _option(help="Dask scheduler, as tcp://host:8786.")]
Enough = Annotated[float | None, _option(help="Give up stragglers after this share, as 0.8.")]
Deadline = Annotated[float | None, _option(help="Give up stragglers after so many seconds.")]


def split_names(names: list[str] | None) -> list[str] | None:
    """Take both `--exclude a,b` and `--exclude a --exclude b`; None if nothing was said."""
    if not names:
        return None
    return [part.strip() for name in names for part in name.split(",") if part.strip()]
