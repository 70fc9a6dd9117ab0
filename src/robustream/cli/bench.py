"""`robustream bench`: the library's own measurements."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from robustream.cli.errors import Group
from robustream.cli.options import OUTPUT_FOLDER

if TYPE_CHECKING:
    from rich.console import Console

    from robustream.bench.accuracy.cases import Case
    from robustream.bench.accuracy.peers import Method
    from robustream.bench.accuracy.run import CaseResult
    from robustream.bench.measurement import Figure, Step
    from robustream.bench.soak import Trial

__all__ = ["bench"]

_out = click.option("--out", type=OUTPUT_FOLDER, metavar="FOLDER", help="Write the figures as JSON into this folder.")
_strict = click.option("--strict", is_flag=True, help="Exit with 1 if a target is missed.")


@click.group(cls=Group, epilog="Example: robustream bench kernels --quick")
def bench() -> None:
    """Measure speed, memory, start and accuracy on this machine."""


@bench.command(epilog="Example: robustream bench kernels --quick --threads 2 --out results")
@click.option("--quick", is_flag=True, help="Fewer repeats and shorter streams: about a minute.")
@_out
@click.option(
    "--threads", type=click.IntRange(min=1), metavar="N", help="Threads for both sides; by default all cores."
)
@_strict
def kernels(quick: bool, out: Path | None, threads: int | None, strict: bool) -> None:
    """Measure the kernels beside NumPy and scikit-learn, and say which targets are met.

    The figures are ratios of things timed in turns in one run; other work on the machine still blurs them.
    """
    from robustream.bench.kernels import kernel_steps
    from robustream.kernels.threads import get_threads

    _make_folder(out)
    used = threads or get_threads()
    _measure_and_show("kernels", kernel_steps(used, quick=quick), used, out, quick=quick, strict=strict)


@bench.command(epilog="Example: robustream bench distributed --quick --out results")
@click.option("--quick", is_flag=True, help="Fewer repeats and smaller tables.")
@_out
@_strict
def distributed(quick: bool, out: Path | None, strict: bool) -> None:
    """Measure the engines beside bare process pools and bare Dask, and what gathering takes.

    Run it on a quiet machine: work of others counts twice where two workers are compared with one.
    """
    from robustream.bench.distributed import distributed_steps
    from robustream.kernels.threads import get_threads

    _make_folder(out)
    _measure_and_show("distributed", distributed_steps(quick=quick), get_threads(), out, quick=quick, strict=strict)


@bench.command(epilog="Example: robustream bench soak --minutes 3 --out results")
@click.option(
    "--minutes",
    type=click.FloatRange(0, 240, min_open=True),
    metavar="N",
    default=15.0,
    show_default=True,
    help="How long.",
)
@_out
@_strict
def soak(minutes: float, out: Path | None, strict: bool) -> None:
    """Let workers die, stop and lie for minutes, and count what is lost or left behind.

    All of it on this machine; a Dask cluster listens on the loopback address only. Linux.
    """
    from rich.console import Console

    from robustream.bench.measurement import describe_environment
    from robustream.bench.soak import soak_steps
    from robustream.kernels.threads import get_threads

    _make_folder(out)
    errors, trials = Console(stderr=True, highlight=False), []
    with TemporaryDirectory(prefix="robustream-") as temporary:
        steps = soak_steps(Path(temporary), minutes)
        for number, (title, run) in enumerate(steps, 1):
            errors.print(f"{number} of {len(steps)}: {title}", soft_wrap=True)
            trials.append(run())
    _show_soak(trials)
    if out is not None:
        target = out / "soak.json"
        data = {"minutes": minutes, "environment": describe_environment(get_threads())}
        found = {**data, "trials": [trial._asdict() for trial in trials]}
        target.write_text(json.dumps(found, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        errors.print(f"Figures written to {target}.", soft_wrap=True, markup=False)
    if strict and not all(trial.passed for trial in trials):
        raise click.exceptions.Exit(1)


def _show_soak(trials: Sequence[Trial]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False, title="Left behind after so many rounds", title_justify="left")
    table.add_column("trial", overflow="fold")
    for name in (
        "rounds",
        "faults",
        "seconds",
        "wrong",
        "processes",
        "files",
        "sockets",
        "threads",
        "litter",
        "memory",
    ):
        table.add_column(name, justify="right")
    for trial in trials:
        counts = (trial.processes, trial.files, trial.sockets, trial.threads, trial.litter)
        table.add_row(
            trial.name,
            *map(str, (trial.rounds, trial.faults, round(trial.seconds), len(trial.wrong), *counts)),
            f"{trial.memory / 1e6:.1f} MB",
            style=None if trial.passed else "red",
        )
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=140)
    console.print(table)
    for trial in trials:
        for words in trial.wrong[:5]:
            console.print(f"{trial.name}: {words}", style="red", soft_wrap=True, markup=False)
    passed = sum(trial.passed for trial in trials)
    console.print(f"{passed} of {len(trials)} trials lost nothing and left nothing behind.")


@bench.command(epilog="Example: robustream bench stream --quick --out results")
@click.option("--rows", type=int, metavar="N", help="Rows of all files; 10,000,000, quick 1,000,000.")
@click.option("--columns", type=int, metavar="N", default=100, show_default=True, help="Columns, float32.")
@click.option("--quick", is_flag=True, help="Fewer rows, turns and runs.")
@_out
@click.option("--keep", type=OUTPUT_FOLDER, metavar="FOLDER", help="Keep the files here, and use those that are there.")
@_strict
def stream(rows: int | None, columns: int, quick: bool, out: Path | None, keep: Path | None, strict: bool) -> None:
    """Measure fits of Parquet files beside reading them and IncrementalPCA, and whether a tolerance is kept.

    Time, memory and busy cores: 100 files are made, 20 of them garbage; 10,000,000 x 100 take 5 GB. Run it on a quiet
    machine. Tolerance: simulated streams, of which the truth is known.
    """
    from robustream.bench.stream import COMPONENTS, FILES, stream_steps
    from robustream.kernels.threads import get_threads

    rows = (1_000_000 if quick else 10_000_000) if rows is None else rows
    fewest = 100 * FILES
    if rows < fewest or columns <= COMPONENTS:
        raise click.UsageError(
            f"rows must be at least {fewest:,} and columns more than {COMPONENTS}, got {rows} and {columns}."
        )
    _make_folder(out)
    _make_folder(keep)
    with TemporaryDirectory(prefix="robustream-") as temporary:
        steps = stream_steps(keep or Path(temporary), rows, columns, quick=quick)
        _measure_and_show("stream", steps, get_threads(), out, quick=quick, strict=strict)


@bench.command(epilog="Example: robustream bench speed --quick --no-peers --out results")
@click.option("--quick", is_flag=True, help="A third of the shapes, up to 100,000 rows; one thread.")
@click.option("--cells", metavar="PATTERN", default="", help="Only such cells: 'x 20,', scattered, 'calls of 1,000'.")
@click.option("--peers/--no-peers", default=True, help="Time the other libraries too, where they are installed.")
@_out
@_strict
def speed(quick: bool, cells: str, peers: bool, out: Path | None, strict: bool) -> None:
    """Measure fits and streams beside the plain method and robust peers, over shapes and kinds of dirt.

    One thread, and all threads. The whole grid takes about an hour; with --out a picture of it is drawn too. Last come
    streams with a look at the model after every call, beside the same ones without ('a look after each').
    """
    from robustream.bench.looks import looks_grid, looks_steps
    from robustream.bench.speed import draw_grid, grid, speed_steps
    from robustream.kernels.threads import get_threads

    chosen = [cell for cell in grid(quick=quick, most_rows=100_000 if quick else 1_000_000) if cells in cell.title]
    looks = [looks for looks in looks_grid(quick=quick) if cells in looks.title]
    if not chosen and not looks:
        raise click.UsageError(f"no cell is like --cells {cells!r}; try clean, scattered, 'x 20,' or 'calls of 1,000'.")
    _make_folder(out)
    threads = sorted({1, get_threads()})[: 1 if quick else 2]
    steps = speed_steps(chosen, threads, quick=quick, peers=peers) + looks_steps(looks)
    draw = draw_grid if chosen else None
    _measure_and_show("speed", steps, threads[-1], out, quick=quick, strict=strict, draw=draw)


@bench.command(epilog="Example: robustream bench scale --rows 1e7 --checkpoint scale.ckpt")
@click.option("--rows", type=float, metavar="N", default=1e9, show_default=True, help="Rows in all; 1e7 is a number.")
@click.option("--columns", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="Columns.")
@click.option("--folder", type=OUTPUT_FOLDER, metavar="FOLDER", help="Write Parquet files here first, and read these.")
@click.option("--jobs", type=int, metavar="N", default=1, show_default=True, help="Batches worked on at once.")
@click.option(
    "--checkpoint",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    default=Path("scale.checkpoint"),
    show_default=True,
    help="Where the run goes on if it is started again.",
)
@_out
@_strict
def scale(
    rows: float, columns: int, folder: Path | None, jobs: int, checkpoint: Path, out: Path | None, strict: bool
) -> None:
    """Fit a regression to a billion rows, a tenth of them bad, that are made as they are read.

    The run can be killed at any time; the same command goes on from its checkpoint, which is removed at the end.
    """
    from robustream.bench.measurement import Step
    from robustream.bench.scale import Scale, measure_scale

    if not (rows >= 1000 and rows == int(rows)):
        raise click.UsageError(f"rows must be a whole number, at least 1,000, got {rows:g}.")
    _make_folder(out)
    size = Scale(int(rows), columns)

    def measure() -> list[Figure]:
        return measure_scale(size, checkpoint, folder=folder, n_jobs=jobs, progress=True)

    step = Step(f"{size.rows:,} x {size.columns}", measure)
    _measure_and_show("scale", [step], jobs, out, quick=False, strict=strict)
    checkpoint.unlink(missing_ok=True)


@bench.command(epilog="Example: robustream bench accuracy --quick --cases leverage --out results")
@click.option("--quick", is_flag=True, help="A third of the cases, no slow peers.")
@click.option(
    "--problem", type=click.Choice(["regression", "pca", "all"]), default="all", show_default=True, help="What to fit."
)
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Seeds a case; 5, or 2 if quick.")
@click.option(
    "--first-seed", type=click.IntRange(min=0), metavar="N", default=1000, show_default=True, help="The first of them."
)
@click.option("--cases", metavar="PATTERN", default="", help="Only such cases: 'p=200', cells.")
@click.option("--peers/--no-peers", default=True, help="Fit the other libraries too.")
@click.option("--out", type=OUTPUT_FOLDER, metavar="FOLDER", help="Write JSON, CSV and a picture here.")
@click.option(
    "--set",
    "cases_of",
    type=click.Choice(["gauntlet", "development", "judgement"]),
    metavar="NAME",
    default="gauntlet",
    help="gauntlet, or kinds: development, judgement.",
)
@click.option("--sweep", is_flag=True, help="Kinds by share of bad rows and rows.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", default=1, help="Processes for kinds.")
def accuracy(
    quick: bool,
    problem: str,
    seeds: int | None,
    first_seed: int,
    cases: str,
    peers: bool,
    out: Path | None,
    cases_of: str,
    sweep: bool,
    jobs: int,
) -> None:
    """Fit contaminated data of many kinds, ours and the peers, beside an oracle that saw the clean rows alone.

    All cases with all peers take about an hour; quick ones two minutes.
    """
    if cases_of != "gauntlet" or sweep:
        _run_kinds(
            cases_of, problem, cases, range(first_seed, first_seed + (seeds or 2)), out, jobs, sweep=sweep, quick=quick
        )
        return
    from rich.console import Console

    from robustream.bench.accuracy.cases import choose_cases
    from robustream.bench.accuracy.run import choose_methods
    from robustream.bench.accuracy.summary import TABLE_WIDTH, show_results
    from robustream.bench.measurement import describe_environment

    count = (2 if quick else 5) if seeds is None else seeds
    chosen = choose_cases(problem, cases, quick=quick)
    if not chosen:
        raise click.UsageError(f"no case is like --cases {cases!r}; try leverage, 'bad batches', 40% or p=200.")
    _make_folder(out)
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


def _run_kinds(
    name: str,
    problem: str,
    pattern: str,
    seeds: Sequence[int],
    out: Path | None,
    jobs: int,
    *,
    sweep: bool,
    quick: bool,
) -> None:
    """Run the kinds of a set, or sweep them, print them and write what came of it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from robustream.bench.accuracy import kinds
    from robustream.bench.accuracy.picture import MissingMatplotlibError, draw_sweep
    from robustream.bench.measurement import describe_environment

    name = "development" if name == "gauntlet" else name
    tasks = kinds.choose_kinds(kinds.find_folder(), kinds.SETS[name], problem, pattern)
    tasks = kinds.sweep_tasks(tasks, quick=quick) if sweep else tasks
    if not tasks:
        raise click.UsageError(f"no {name} kind is like --cases {pattern!r}.")
    _make_folder(out)
    console, errors = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False)
    columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    results = []
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("", total=len(tasks))
        for result in kinds.run_kinds(tasks, seeds, jobs):
            results.append(result)
            progress.update(task, advance=1, description=result.task.name)
    for line in (*kinds.format_results(results), "", *kinds.format_summary(results)):
        console.print(line, markup=False)
    if out is not None:
        what = f"{'sweep' if sweep else 'kinds'}-{name}"
        facts = {"set": name, "seeds": list(seeds), "environment": describe_environment(1)}
        written = [kinds.write_kinds(out / f"{what}.json", results, facts)]
        if sweep:
            try:
                draw_sweep(results).savefig(out / f"{what}.png", dpi=110)
                written.append(out / f"{what}.png")
            except MissingMatplotlibError as error:
                console.print(f"No picture: {error}.", style="yellow", markup=False)
        console.print(f"Written: {', '.join(str(path) for path in written)}.", markup=False)


def _write_gauntlet(out: Path, results: Sequence[CaseResult], facts: dict[str, Any], console: Console) -> None:
    from robustream.bench.accuracy.picture import MissingMatplotlibError, write_picture
    from robustream.bench.accuracy.summary import write_csv, write_json

    written = [write_json(out, results, facts), write_csv(out, results)]
    try:
        written.append(write_picture(out, results))
    except MissingMatplotlibError as error:
        console.print(f"No picture: {error}.", style="yellow", soft_wrap=True, markup=False)
    console.print(f"Written: {', '.join(str(path) for path in written)}.", soft_wrap=True, markup=False)


def _measure_and_show(
    name: str,
    steps: Sequence[Step],
    threads: int,
    out: Path | None,
    *,
    quick: bool,
    strict: bool,
    draw: Callable[[Sequence[Figure]], Any] | None = None,
) -> None:
    """Take measurements, show them beside their targets and write them to a file of that name, with a picture."""
    from rich.console import Console

    from robustream.bench.measurement import describe_environment

    console = Console(highlight=False)
    figures = _measure(steps)
    environment = describe_environment(threads)
    _show(figures, environment, console)
    if out is not None:
        target = out / f"{name}.json"
        data = {"quick": quick, "environment": environment, "figures": [figure.as_data() for figure in figures]}
        target.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        console.print(f"Figures written to {target}.", soft_wrap=True, markup=False)
        if draw is not None:
            try:
                draw(figures).savefig(out / f"{name}.png", dpi=110)
            except ImportError:
                console.print("No picture: matplotlib is not installed.", style="yellow", markup=False)
    if strict and any(figure.met is False for figure in figures):
        raise click.exceptions.Exit(1)


def _make_folder(out: Path | None) -> None:
    """Make the folder for results before any work is done."""
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.UsageError(f"the folder --out {out} cannot be made: {error.strerror}") from error


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

    from robustream.bench.measurement import say_threads

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
