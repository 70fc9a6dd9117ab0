"""`robustream bench`: the library's own measurements."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robustream.cli.bench_stream import stream
from robustream.cli.measuring import Out, Strict, make_folder, measure_and_show

if TYPE_CHECKING:
    from rich.console import Console

    from robustream.bench.accuracy.cases import Case
    from robustream.bench.accuracy.methods import Method
    from robustream.bench.accuracy.run import CaseResult

__all__ = ["bench"]

bench = typer.Typer(
    help="Measure speed, memory, start and accuracy on this machine.",
    epilog="Example: robustream bench kernels --quick",
    no_args_is_help=True,
)


@bench.callback()
def _group() -> None:
    """Measure speed, memory, start and accuracy on this machine."""


@bench.command(epilog="Example: robustream bench kernels --quick --threads 2 --out results")
def kernels(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats and shorter streams: about a minute.")] = False,
    out: Out = None,
    threads: Annotated[
        int | None, typer.Option(metavar="N", help="Threads for both sides; by default all cores.")
    ] = None,
    strict: Strict = False,
) -> None:
    """Measure the kernels beside NumPy and scikit-learn, and say which targets are met.

    The figures are ratios of things timed in turns in one run; other work on the machine still blurs them.
    """
    from robustream.bench.suite import kernel_steps
    from robustream.kernels.threads import get_threads

    if threads is not None and threads < 1:
        raise typer.BadParameter(f"threads must be at least 1; {threads} came.")
    make_folder(out)
    used = threads or get_threads()
    measure_and_show("kernels", kernel_steps(used, quick=quick), used, out, quick=quick, strict=strict)


@bench.command(epilog="Example: robustream bench distributed --quick --out results")
def distributed(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats and smaller tables.")] = False,
    out: Out = None,
    strict: Strict = False,
) -> None:
    """Measure the engines beside bare process pools and bare Dask, and what gathering takes.

    Run it on a quiet machine: work of others counts twice where two workers are compared with one.
    """
    from robustream.bench.distributed import distributed_steps
    from robustream.kernels.threads import get_threads

    make_folder(out)
    measure_and_show("distributed", distributed_steps(quick=quick), get_threads(), out, quick=quick, strict=strict)


bench.command(epilog="Example: robustream bench stream --quick --out results")(stream)


class Problem(StrEnum):
    """What to fit."""

    REGRESSION = "regression"
    PCA = "pca"
    ALL = "all"


@bench.command(epilog="Example: robustream bench accuracy --quick --cases leverage --out results")
def accuracy(
    quick: Annotated[bool, typer.Option("--quick", help="A third of the cases, no slow peers.")] = False,
    problem: Annotated[Problem, typer.Option(metavar="NAME", help="regression, pca or all.")] = Problem.ALL,
    seeds: Annotated[int | None, typer.Option(metavar="N", help="Seeds a case; 5, or 2 if quick.")] = None,
    first_seed: Annotated[int, typer.Option(metavar="N", help="The first of them.")] = 1000,
    cases: Annotated[str, typer.Option(metavar="PATTERN", help="Only such cases: 'p=200', cells.")] = "",
    peers: Annotated[bool, typer.Option(help="Fit the other libraries too.")] = True,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", file_okay=False, help="Write JSON, CSV and a picture here."),
    ] = None,
) -> None:
    """Fit dirty data of many kinds, ours and the peers, beside an oracle that saw the clean rows alone.

    All cases with all peers take about an hour; quick ones two minutes.
    """
    from rich.console import Console

    from robustream.bench.accuracy.cases import choose_cases
    from robustream.bench.accuracy.run import choose_methods
    from robustream.bench.accuracy.table import TABLE_WIDTH, show_results
    from robustream.bench.environment import describe_environment

    count = (2 if quick else 5) if seeds is None else seeds
    if count < 1 or first_seed < 0:
        raise typer.BadParameter(f"seeds must be at least 1 and first-seed 0; {count} and {first_seed} came.")
    chosen = choose_cases(problem.value, cases, quick=quick)
    if not chosen:
        raise typer.BadParameter(f"no case is like --cases {cases!r}; try leverage, 'bad batches', 40% or p=200.")
    make_folder(out)
    problems = dict.fromkeys(case.problem for case in chosen)
    methods = [method for each in problems for method in choose_methods(each, peers=peers, quick=quick)]
    used = list(range(first_seed, first_seed + count))
    results = _run_gauntlet(chosen, methods, used)
    console = Console(highlight=False)
    # In a file or a pipe nothing is gained by folding lines.
    console = console if console.is_terminal else Console(highlight=False, width=TABLE_WIDTH)
    show_results(results, methods, console)
    if out is not None:
        facts = {
            "quick": quick,
            "seeds": used,
            "environment": describe_environment(1),
            "methods": [
                {"problem": method.problem, "name": method.name, "title": method.title, "missing": method.missing}
                for method in methods
            ],
        }
        _write_gauntlet(out, results, facts, console)


def _run_gauntlet(cases: Sequence[Case], methods: Sequence[Method], seeds: Sequence[int]) -> list[CaseResult]:
    """Run all cases, with progress on the error stream."""
    from time import perf_counter

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from robustream.bench.accuracy.run import run_cases

    console = Console(stderr=True, highlight=False)
    words = TextColumn("{task.fields[words]}")
    columns = (BarColumn(20), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), words)
    done, started = 0.0, perf_counter()
    total = sum(case.cost for case in cases)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total * len(seeds), words="")

        def before(case: Case) -> None:
            nonlocal done
            progress.update(task, words=f"{case.problem}: {case.name}")
            if not console.is_terminal:
                spent = perf_counter() - started
                left = f", {spent / done * (total - done):.0f} s left" if done else ""
                place = cases.index(case) + 1
                line = f"{place} of {len(cases)}: {case.problem} {case.name} ({spent:.0f} s{left})"
                console.print(line, soft_wrap=True, markup=False)
            done += case.cost

        return run_cases(cases, methods, seeds, before, lambda case: progress.advance(task, case.cost))


def _write_gauntlet(out: Path, results: Sequence[CaseResult], facts: dict[str, Any], console: Console) -> None:
    from robustream.bench.accuracy.picture import MissingMatplotlibError, write_picture
    from robustream.bench.accuracy.store import write_csv, write_json

    written = [write_json(out, results, facts), write_csv(out, results)]
    try:
        written.append(write_picture(out, results))
    except MissingMatplotlibError as error:
        console.print(f"No picture: {error}.", style="yellow", soft_wrap=True, markup=False)
    console.print(f"Written: {', '.join(str(path) for path in written)}.", soft_wrap=True, markup=False)
