"""`robustream fit`: files in, a model, a report and the list of garbage out.

Each kind of model is a command of a few lines; the options that all of them have are said once, in `common_options`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robustream.cli.errors import Group, warn
from robustream.cli.options import (
    AGGREGATORS,
    LEARNERS,
    OUTPUT_FILE,
    AutoOrCount,
    CountOrShare,
    Period,
    Range,
    SchedulerAddress,
    apply_options,
    check_outputs,
    csv_options,
    help_all,
    names_option,
    option,
    quiet,
    same_place,
    sources_argument,
)

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["fit"]

_MOST_NAMED = 20

# These are arguments of the estimators; all others are arguments of `robustream.fit`.
_ESTIMATOR_ARGUMENTS = ("learner", "aggregator", "batch_size", "half_life", "random_state", "n_jobs", "keep_groups")


def _not_zero(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 is neither a number of batches at once nor -1 for all cores.", ctx, param)
    return value


common_options = apply_options(
    [
        sources_argument,
        option("--out", "-o", required=True, type=OUTPUT_FILE, help="Write the model there."),
        option("--report", type=OUTPUT_FILE, help="Write a page that shows what happened."),
        names_option("--columns", help="Columns to learn from: a,b,c [all others]."),
        names_option("--exclude", help="Columns to leave out: a,b,c."),
        option("--weight", metavar="COLUMN", help="Column that says how often a row counts."),
        option("--numeric-only", is_flag=True, help="Leave out columns that hold no numbers."),
        names_option("--categorical", help="Columns whose levels become columns: a,b."),
        names_option("--dates", rare=True, help="Columns of dates that become days: a,b."),
        option(
            "--missing",
            rare=True,
            type=click.Choice(["use", "skip", "skip-infinite", "error"]),
            metavar="NAME",
            default="use",
            help="Rows with missing cells: [use], skip, error, ...",
        ),
        option("--join-small-files", rare=True, is_flag=True, help="Let files smaller than a batch share one."),
        *csv_options,
        option(
            "--learner",
            rare=True,
            type=click.Choice(LEARNERS),
            metavar="NAME",
            default="refined",
            help="[refined], trimmed (the paper's), classical.",
        ),
        option(
            "--aggregator",
            rare=True,
            type=click.Choice(AGGREGATORS),
            metavar="NAME",
            default="filtered",
            help="[filtered], geometric-median, mean, ...",
        ),
        option("--batch-size", rare=True, type=AutoOrCount(), default="auto", help="Rows in a batch [auto]."),
        option(
            "--half-life",
            rare=True,
            type=Range(min=0, min_open=True),
            metavar="NUMBER",
            help="Batches after which one counts half.",
        ),
        option("--keep-groups", rare=True, is_flag=True, help="Take groups that stand apart for honest."),
        option(
            "--seed", "random_state", rare=True, type=click.IntRange(min=0), metavar="NUMBER", default=0,
            help="Seed of the random choices [0].",
        ),
        option(
            "--jobs", "-j", "n_jobs", rare=True, type=int, metavar="NUMBER", default=-1, callback=_not_zero,
            help="Batches worked on at once [-1: all cores].",
        ),
        option(
            "--engine",
            type=click.Choice(["local", "dask"]),
            metavar="NAME",
            help="Work in processes (local) or on a cluster (dask).",
        ),
        option("--scheduler", rare=True, type=SchedulerAddress(), help="Dask scheduler, as tcp://host:8786."),
        option(
            "--enough", rare=True, type=Range(0, 1, min_open=True), metavar="SHARE",
            help="Give up stragglers after this share, as 0.8.",
        ),
        option(
            "--deadline", rare=True, type=Range(min=0, min_open=True), metavar="SECONDS",
            help="Give up stragglers after so many seconds.",
        ),
        option(
            "--on-error", rare=True, type=click.Choice(["skip", "stop"]), metavar="NAME", default="skip",
            help="A batch that fails: [skip] or stop.",
        ),
        option(
            "--quorum", rare=True, type=Range(0, 1, max_open=True), metavar="SHARE", default=0.5,
            help="Share of batches that must be usable [0.5].",
        ),
        option(
            "--tolerance", type=Range(0, 1, min_open=True, max_open=True), metavar="SHARE",
            help="Stop at this relative error, as 0.01.",
        ),
        option("--checkpoint", type=OUTPUT_FILE, help="Keep the state there, to go on after a crash."),
        option("--checkpoint-every", rare=True, type=Period(), default="30 s", help="How often [30 s]; '100 batches'."),
        option("--resume", is_flag=True, help="Go on from the checkpoint, if it is there."),
        quiet,
        help_all,
    ]
)  # fmt: skip


@click.group(cls=Group, epilog="Example: robustream fit pca 'data/*.parquet' --components 5 --out model.safetensors")
def fit() -> None:
    """Fit a model to files, some of which may be garbage."""


@fit.command(epilog="Example: robustream fit pca 'data/*.parquet' -k 5 -o model.safetensors")
@option("--components", "-k", "n_components", type=CountOrShare(), default=2, help="How many [2], or a share as 0.95.")
@option("--standardize", is_flag=True, help="Bring columns to unit scale first.")
@common_options
def pca(n_components: float, standardize: bool, **common: Any) -> None:
    """Find the principal components of the clean rows of SOURCES: files, folders, patterns, or - for a pipe."""

    def make(**settings: Any) -> Any:
        from robustream import OutlierRobustPCA

        return OutlierRobustPCA(n_components, standardize=standardize, **settings)

    _fit(make, **common)


@fit.command(epilog="Example: robustream fit covariance 'data/*.parquet' -o model.safetensors")
@common_options
def covariance(**common: Any) -> None:
    """Find mean and covariance of the clean rows of SOURCES: files, folders, patterns, or - for a pipe."""

    def make(**settings: Any) -> Any:
        from robustream import OutlierRobustCovariance

        return OutlierRobustCovariance(**settings)

    _fit(make, **common)


@fit.command(epilog="Example: robustream fit regression data/ --target price -o model.safetensors")
@names_option("--target", help="Column to predict; several: a,b.")
@option("--formula", metavar="TEXT", help="Target and columns: 'y ~ x + C(city)'.")
@option("--intercept/--no-intercept", "fit_intercept", rare=True, default=True, help="Whether to fit one [yes].")
@option("--alpha", rare=True, type=Range(min=0), metavar="NUMBER", default=0.0, help="Ridge penalty [0].")
@common_options
def regression(target: list[str] | None, formula: str | None, fit_intercept: bool, alpha: float, **common: Any) -> None:
    """Fit a linear model to the clean rows of SOURCES: files, folders, patterns, or - for a pipe."""

    def make(**settings: Any) -> Any:
        from robustream import OutlierRobustRegressor

        return OutlierRobustRegressor(fit_intercept=fit_intercept, alpha=alpha, **settings)

    if (target is None) == (formula is None):
        given = "neither" if target is None else "both"
        raise click.UsageError(f"either --target or --formula must name what to predict, got {given}")
    if formula is not None and (common["columns"] or common["exclude"]):
        raise click.UsageError("--formula names the columns: --columns and --exclude must not be given too")
    _fit(make, target=target[0] if target is not None and len(target) == 1 else target, formula=formula, **common)


def _fit(
    make: Callable[..., Any],
    *,
    sources: tuple[str, ...],
    out: Path | str,
    report: Path | str | None,
    quiet: bool,
    engine: str | None,
    scheduler: str | None,
    **arguments: Any,
) -> None:
    """Fit a model, write it and its report, and print what a person should know."""
    _check_together(engine, scheduler, out, report, arguments)
    check_outputs(sources, [out, report, arguments["checkpoint"]])

    from rich.console import Console

    from robustream.errors import RowsLeftOutWarning
    from robustream.files import claim
    from robustream.files.addresses import shown
    from robustream.persistence import save
    from robustream.report import collect, nodes_table, summary_tables, write_report
    from robustream.runs.fit import fit as fit_model
    from robustream.runs.groups import say_left_out

    console, errors = Console(highlight=False), Console(stderr=True, highlight=False)
    estimator = make(**{name: arguments.pop(name) for name in _ESTIMATOR_ARGUMENTS})
    for several in ("exclude", "categorical", "dates"):
        arguments[several] = arguments[several] or ()
    started = time.perf_counter()
    # A second run that would write the same files is refused before any work.
    with claim(out, report), ExitStack() as stack:
        where = engine if scheduler is None else stack.enter_context(_dask(scheduler))
        progress = not quiet and errors.is_terminal
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", RowsLeftOutWarning)  # said below, with the options of the command
        model = fit_model(estimator, list(sources), engine=where, progress=progress, **arguments)
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
        if model.fit_notes_["ended"]:
            total = model.fit_notes_["settings"]["batches in the source"]
            console.print(f"Stopped after {model.n_batches_seen_} of {total} batches: {model.fit_notes_['ended']}.")
        written = f"Model written to {shown(out)}" + (f", report to {shown(report)}" if report is not None else "")
        console.print(f"{written}.", soft_wrap=True, markup=False)
    elif said := say_left_out(model.batch_report_, model.groups_):  # else the headline says it
        warn(f"{said}: --report shows the groups, and --keep-groups takes all for honest")
    _name_failed_batches(errors, model)


def _check_together(
    engine: str | None, scheduler: str | None, out: Path | str, report: Path | str | None, arguments: dict[str, Any]
) -> None:
    """Raise if options contradict each other."""
    if arguments["resume"] and arguments["checkpoint"] is None:
        raise click.UsageError("--resume needs --checkpoint, the file to go on from")
    if scheduler is not None and engine not in (None, "dask"):
        raise click.UsageError("--scheduler is for --engine dask")
    stragglers = arguments["enough"] is not None or arguments["deadline"] is not None
    if engine is None and scheduler is None and stragglers:
        raise click.UsageError("--enough and --deadline need --engine: within one process nobody is late")
    written = [same_place(path) for path in (out, report, arguments["checkpoint"]) if path is not None]
    if len(set(written)) < len(written):
        raise click.UsageError("--out, --report and --checkpoint must be different files")


def _dask(scheduler: str) -> Any:
    from robustream.engines import DaskEngine
    from robustream.errors import EngineError

    try:
        return DaskEngine(scheduler)
    except OSError as error:
        raise EngineError(f"no Dask scheduler answers at {scheduler}: {error}") from error


def _name_failed_batches(console: Console, model: Any) -> None:
    """Say the worst last, and also when all else is quiet: batches that failed are not in the model."""
    failed = [record for record in model.batch_report_ if record.verdict == "failed"]
    if failed:
        console.print(f"{len(failed)} of {model.n_batches_seen_} batches could not be used:", style="bold red")
        for record in failed[:_MOST_NAMED]:
            console.print(f"  {record.label}: {record.reason}", soft_wrap=True, markup=False)
        if len(failed) > _MOST_NAMED:
            console.print(f"  and {len(failed) - _MOST_NAMED} more; the report names all of them")
