"""`robustream fit`: files in, a model, a report and the list of garbage out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from robustream.cli import checks, options
from robustream.cli.exits import ExitCode, errors_as_exits, fail, refuse_overwriting
from robustream.cli.telling import fit_and_tell

__all__ = ["fit"]

fit = typer.Typer(
    help="Fit a model to files, some of which may be garbage.",
    epilog="Example: robustream fit pca 'data/*.parquet' --components 5 --out model.safetensors",
    no_args_is_help=True,
)


@fit.command(epilog="Example: robustream fit pca 'data/*.parquet' -k 5 -o model.safetensors")
def pca(
    sources: options.Sources,
    out: options.Model,
    components: Annotated[
        str,
        typer.Option(
            "--components",
            "-k",
            metavar="NUMBER",
            callback=checks.components,
            show_default=False,
            help="How many [2], or a share as 0.95.",
        ),
    ] = "2",
    standardize: Annotated[bool, typer.Option("--standardize", help="Bring columns to unit scale first.")] = False,
    report: options.Report = None,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    missing: options.Missing = "skip",
    join_small_files: options.JoinSmallFiles = False,
    header: options.Header = True,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    learner: options.Learner = "refined",
    aggregator: options.Aggregator = "filtered",
    batch_size: options.BatchSize = "auto",
    half_life: options.HalfLife = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    engine: options.Engine = None,
    scheduler: options.Scheduler = None,
    enough: options.Enough = None,
    deadline: options.Deadline = None,
    on_error: options.OnError = "skip",
    quorum: options.Quorum = 0.5,
    tolerance: options.Tolerance = None,
    checkpoint: options.Checkpoint = None,
    checkpoint_every: options.CheckpointEvery = "30 s",
    resume: options.Resume = False,
    quiet: options.Quiet = False,
    help_all: options.HelpAll = False,
) -> None:
    """Find the principal components of the clean rows."""

    def make() -> Any:
        from robustream import OutlierRobustPCA

        return OutlierRobustPCA(
            _read_components(components),
            standardize=standardize,
            learner=learner,
            aggregator=aggregator,
            batch_size=_read_batch_size(batch_size),
            half_life=half_life,
            random_state=seed,
            n_jobs=jobs,
        )

    reading = _reading(columns, exclude, missing, join_small_files, header, separator, decimal)
    running = _running(on_error, quorum, tolerance, checkpoint, checkpoint_every, resume)
    where = _Where(engine, scheduler, enough, deadline)
    _fit(make, sources, out, report, quiet, where, {**reading, **running})


@fit.command(epilog="Example: robustream fit regression data/ --target price -o model.safetensors")
def regression(
    sources: options.Sources,
    out: options.Model,
    target: Annotated[
        list[str], typer.Option(metavar="NAMES", callback=checks.names, help="Column to predict; several: a,b.")
    ],
    intercept: Annotated[
        bool,
        typer.Option("--intercept/--no-intercept", hidden=True, show_default=False, help="Whether to fit one [yes]."),
    ] = True,
    alpha: options.Alpha = 0.0,
    report: options.Report = None,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    missing: options.Missing = "skip",
    join_small_files: options.JoinSmallFiles = False,
    header: options.Header = True,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    learner: options.Learner = "refined",
    aggregator: options.Aggregator = "filtered",
    batch_size: options.BatchSize = "auto",
    half_life: options.HalfLife = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    engine: options.Engine = None,
    scheduler: options.Scheduler = None,
    enough: options.Enough = None,
    deadline: options.Deadline = None,
    on_error: options.OnError = "skip",
    quorum: options.Quorum = 0.5,
    tolerance: options.Tolerance = None,
    checkpoint: options.Checkpoint = None,
    checkpoint_every: options.CheckpointEvery = "30 s",
    resume: options.Resume = False,
    quiet: options.Quiet = False,
    help_all: options.HelpAll = False,
) -> None:
    """Fit a linear model to the clean rows."""

    def make() -> Any:
        from robustream import OutlierRobustRegressor

        return OutlierRobustRegressor(
            fit_intercept=intercept,
            alpha=alpha,
            learner=learner,
            aggregator=aggregator,
            batch_size=_read_batch_size(batch_size),
            half_life=half_life,
            random_state=seed,
            n_jobs=jobs,
        )

    names = options.split_names(target) or []
    reading = _reading(columns, exclude, missing, join_small_files, header, separator, decimal)
    running = _running(on_error, quorum, tolerance, checkpoint, checkpoint_every, resume)
    where = _Where(engine, scheduler, enough, deadline)
    target_option = {"target": names if len(names) > 1 else names[0]}
    _fit(make, sources, out, report, quiet, where, {**target_option, **reading, **running})


class _Where(NamedTuple):
    """Where the work is done, and when stragglers are given up."""

    engine: str | None
    scheduler: str | None
    enough: float | None
    deadline: float | None

    def open(self, stack: ExitStack) -> dict[str, Any]:
        """Give the arguments of `robustream.fit`; an engine that is started for them ends with the stack."""
        engine: Any = self.engine
        if engine is None and self.scheduler is None and (self.enough is not None or self.deadline is not None):
            raise typer.BadParameter("--enough and --deadline need --engine: within one process nobody is late")
        if self.scheduler is not None:
            from robustream.engines import DaskEngine
            from robustream.errors import EngineError

            if self.engine not in (None, "dask"):
                raise typer.BadParameter("--scheduler is for --engine dask")
            try:
                engine = stack.enter_context(DaskEngine(self.scheduler))
            except OSError as error:
                raise EngineError(f"no Dask scheduler answers at {self.scheduler}: {error}") from error
        return {"engine": engine, "enough": self.enough, "deadline": self.deadline}


def _reading(
    columns: list[str] | None,
    exclude: list[str] | None,
    missing: str,
    join_small_files: bool,
    header: bool,
    separator: str | None,
    decimal: str | None,
) -> dict[str, Any]:
    return {
        "columns": options.split_names(columns),
        "exclude": options.split_names(exclude) or (),
        "missing": missing,
        "join_small_files": join_small_files,
        "header": header,
        "separator": separator,
        "decimal": decimal,
    }


def _running(
    on_error: str, quorum: float, tolerance: float | None, checkpoint: Path | None, every: str, resume: bool
) -> dict[str, Any]:
    return {
        "on_error": on_error,
        "quorum": quorum,
        "tolerance": tolerance,
        "checkpoint": checkpoint,
        "checkpoint_every": every,
        "resume": resume,
    }


def _fit(
    make: Callable[[], Any],
    sources: list[str],
    out: Path,
    report: Path | None,
    quiet: bool,
    where: _Where,
    options: dict[str, Any],
) -> None:
    if options["resume"] and options["checkpoint"] is None:
        raise typer.BadParameter("--resume needs --checkpoint, the file to go on from")
    written = [path.resolve() for path in (out, report, options["checkpoint"]) if path is not None]
    if len(set(written)) < len(written):
        raise typer.BadParameter("--out, --report and --checkpoint must be different files")
    for path in (out, report, options["checkpoint"]):
        if path is not None and not path.absolute().parent.is_dir():
            raise fail(f"the folder of {path} does not exist", ExitCode.CANNOT_WRITE)
    with errors_as_exits(), ExitStack() as stack:
        refuse_overwriting(sources, out, report, options["checkpoint"])
        fit_and_tell(make, sources, out, report, quiet, {**options, **where.open(stack)})


def _read_components(text: str) -> float:
    return int(text) if text.strip().isdigit() else float(text)


def _read_batch_size(text: str) -> int | str:
    return int(text) if text.strip().isdigit() else text
