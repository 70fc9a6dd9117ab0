"""`robustream fit`: files in, a model, a report and the list of garbage out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from robustream.cli import options
from robustream.cli.exits import ExitCode, errors_as_exits, fail, refuse_overwriting

if TYPE_CHECKING:
    from rich.console import Console

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
        typer.Option("--components", "-k", show_default=False, help="How many [2], or a share as 0.95."),
    ] = "2",
    standardize: Annotated[bool, typer.Option("--standardize", help="Bring columns to unit scale first.")] = False,
    report: options.Report = None,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    missing: options.Missing = "skip",
    join_small_files: options.JoinSmallFiles = False,
    header: options.Header = True,
    separator: options.Separator = None,
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

    reading = _reading(columns, exclude, missing, join_small_files, header, separator)
    running = _running(on_error, quorum, tolerance, checkpoint, checkpoint_every, resume)
    where = _Where(engine, scheduler, enough, deadline)
    _fit(make, sources, out, report, quiet, where, {**reading, **running})


@fit.command(epilog="Example: robustream fit regression data/ --target price -o model.safetensors")
def regression(
    sources: options.Sources,
    out: options.Model,
    target: Annotated[list[str], typer.Option(help="Column to predict; several: a,b.")],
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
    reading = _reading(columns, exclude, missing, join_small_files, header, separator)
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
        if self.scheduler is not None:
            from robustream.engines import DaskEngine

            if self.engine not in (None, "dask"):
                raise typer.BadParameter("--scheduler is for --engine dask")
            engine = stack.enter_context(DaskEngine(self.scheduler))
        return {"engine": engine, "enough": self.enough, "deadline": self.deadline}


def _reading(
    columns: list[str] | None,
    exclude: list[str] | None,
    missing: str,
    join_small_files: bool,
    header: bool,
    separator: str | None,
) -> dict[str, Any]:
    return {
        "columns": options.split_names(columns),
        "exclude": options.split_names(exclude) or (),
        "missing": missing,
        "join_small_files": join_small_files,
        "header": header,
        "separator": {"\\t": "\t", "tab": "\t"}.get(separator or "", separator),
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
    for path in (out, report, options["checkpoint"]):
        if path is not None and not path.absolute().parent.is_dir():
            raise fail(f"the folder of {path} does not exist", ExitCode.CANNOT_WRITE)
    with errors_as_exits(), ExitStack() as stack:
        refuse_overwriting(sources, out, report, options["checkpoint"])
        _fit_and_tell(make, sources, out, report, quiet, {**options, **where.open(stack)})


def _fit_and_tell(
    make: Callable[[], Any], sources: list[str], out: Path, report: Path | None, quiet: bool, options: dict[str, Any]
) -> None:
    import time

    from rich.console import Console

    from robustream.fitting import fit as fit_model
    from robustream.persistence import save
    from robustream.report import collect, summary_tables, write_report
    from robustream.report.nodes import nodes_table

    console, errors = Console(highlight=False), Console(stderr=True, highlight=False)
    started = time.perf_counter()
    model = fit_model(make(), sources, progress=not quiet and errors.is_terminal, **options)
    fitted = time.perf_counter()
    save(model, out, extra=model.fit_notes_)
    timings = {"reading and learning": fitted - started, "total": time.perf_counter() - started}
    data = collect(model, {**model.fit_notes_, "timings": timings})
    if report is not None:
        write_report(data, report)
    if not quiet:
        for table in summary_tables(data):
            console.print(table)
        if model.node_report_ is not None:
            console.print(nodes_table(model))
    if not quiet and model.fit_notes_["ended"]:
        total = model.fit_notes_["settings"]["batches in the source"]
        console.print(f"Stopped after {model.n_batches_seen_} of {total} batches: {model.fit_notes_['ended']}.")
    _say_what_was_written(console, out, report, quiet)
    _say_whom_not_to_trust(errors, model)


def _say_what_was_written(console: Console, out: Path, report: Path | None, quiet: bool) -> None:
    if not quiet:
        shown = f"Model written to {out}" + (f", report to {report}" if report is not None else "")
        console.print(f"{shown}.", soft_wrap=True, markup=False)


def _say_whom_not_to_trust(console: Console, model: Any) -> None:
    """Say the worst last, and also when all else is quiet: batches that failed are not in the model."""
    failed = [record for record in model.batch_report_ if record.verdict == "failed"]
    if failed:
        console.print(f"{len(failed)} of {model.n_batches_seen_} batches could not be used:", style="bold red")
        for record in failed[:20]:
            console.print(f"  {record.label}: {record.reason}", soft_wrap=True, markup=False)
        if len(failed) > 20:
            console.print(f"  and {len(failed) - 20} more; the report names all of them")


def _read_components(text: str) -> float:
    try:
        return int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        raise typer.BadParameter(
            f"--components must be a whole number or a share such as 0.95; {text!r} came"
        ) from None


def _read_batch_size(text: str) -> int | str:
    return int(text) if text.strip().isdigit() else text
