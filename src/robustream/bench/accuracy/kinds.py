"""Kinds of data from outside the library: how near to the oracle the answers are, kind by kind.

The gauntlet's cases grew up with the method. Kinds are written by others: a module with a list `KINDS`, of which each
has a name, a problem ("regression" or "pca"), `honest` (no row is bad, however odd the law) and `make(rng)`, which
returns a sample: `X`, `y`, `good` (mask of the rows that are not bad), `truth` (coefficients, then the intercept; or an
orthonormal basis as columns), `n_components` and `sizes` (None for one `fit`; else the rows of successive calls of
`partial_fit`). A kind with `sweep(rng, share, rows)` can be made with any share of bad rows and any number of rows.

*Development* kinds may be looked at while a method is made; *judgement* kinds may not: they are run, and their numbers
are reported. Both lie in the repository's folder `benchmarks/kinds`.

The oracle is the plain method (least squares, PCA) on the good rows, which for an honest kind are all rows. The error
of a regression is the root mean square, over the good rows, of the difference between fitted and true prediction; that
of a PCA is the distance of the projectors. A ratio is the root mean square over the seeds in multiples of the oracle's.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from functools import cache, partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from robustream.bench.accuracy.contamination import leading_subspace
from robustream.bench.accuracy.designs import Array, Mask
from robustream.bench.accuracy.oracle import least_squares
from robustream.bench.accuracy.run import ratio_of_rms
from robustream.bench.measurement import same_threads
from robustream.errors import InvalidInputError
from robustream.estimators import OutlierRobustPCA, OutlierRobustRegressor
from robustream.sources import subspace_error

__all__ = [
    "SETS",
    "SWEEP_ROWS",
    "SWEEP_SHARES",
    "KindResult",
    "KindTask",
    "choose_kinds",
    "find_folder",
    "format_results",
    "format_summary",
    "run_kinds",
    "sweep_tasks",
    "write_kinds",
]

# Judgement kinds that have been looked at are development kinds from then on.
SETS = {
    "development": ("dev_kinds", *(f"judge_{letter}" for letter in "abcdefghijkl")),
    "judgement": ("judge_m", "judge_n"),
}
# Near enough that nobody minds; near; bearable.
BOUNDS = (1.1, 1.25, 2.0)
SWEEP_SHARES = tuple(round(0.05 * step, 2) for step in range(1, 10))
SWEEP_ROWS = (200, 500, 1_000, 2_000, 5_000, 20_000)
# What a glance needs.
QUICK_SHARES, QUICK_ROWS = (0.1, 0.2, 0.3, 0.4, 0.45), (200, 1_000, 5_000)
# An oracle that is exact (rows without noise) is given this error: nobody minds so small an angle between subspaces,
# and in units of the target only rounding is sure not to matter.
SMALLEST = {"pca": 1e-6, "regression": 1e-12}


class KindTask(NamedTuple):
    """A kind to run, by name, since kinds cannot be sent to other processes; share and rows are those of a sweep."""

    folder: str
    module: str
    name: str
    problem: str
    honest: bool
    share: float | None = None
    rows: int | None = None


class SeedResult(NamedTuple):
    """What came of one seed."""

    rows: int
    columns: int
    bad: float
    oracle: float
    error: float
    seconds: float
    flagged: float | None = None
    caught: float | None = None
    failure: str = ""


class KindResult(NamedTuple):
    """What came of a kind: over all seeds, root mean squares of errors and means of the rest.

    `flagged` is the share of good rows, `caught` that of bad rows, which the fitted model calls outliers.
    """

    task: KindTask
    ratio: float
    error: float
    oracle: float
    rows: int
    columns: int
    bad: float
    flagged: float | None
    caught: float | None
    seconds: float
    failure: str

    def as_data(self) -> dict[str, Any]:
        """Return the result as plain data for JSON, which has neither NaN nor infinity."""
        data = {**self.task._asdict(), **self._asdict()}
        del data["task"], data["folder"]
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in data.items()
        }


Answer = tuple[Array, Mask | None]
Fit = Callable[[Any], Answer]


def find_folder(start: Path | None = None) -> Path:
    """Return `benchmarks/kinds` of the checkout that one works in, or that this library was loaded from."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents, *Path(__file__).resolve().parents):
        if (folder / "benchmarks" / "kinds").is_dir():
            return folder / "benchmarks" / "kinds"
    raise InvalidInputError("development and judgement kinds lie in benchmarks/kinds of the repository: run it there.")


def choose_kinds(folder: Path, modules: Iterable[str], problem: str = "all", pattern: str = "") -> list[KindTask]:
    """Return the kinds of modules in a folder; of one problem, and with a pattern in their name, if that is asked."""
    return [
        KindTask(str(folder), module, kind.name, kind.problem, kind.honest)
        for module in modules
        for kind in _kinds(str(folder), module).values()
        if problem in ("all", kind.problem) and fnmatch(kind.name.lower(), f"*{pattern.lower()}*")
    ]


def sweep_tasks(
    tasks: Iterable[KindTask],
    shares: Sequence[float] = SWEEP_SHARES,
    rows: Sequence[int] = SWEEP_ROWS,
    *,
    quick: bool = False,
) -> list[KindTask]:
    """Return every kind that can be swept with every share of bad rows and number of rows; quick: with few of them."""
    shares, rows = (QUICK_SHARES, QUICK_ROWS) if quick else (shares, rows)
    return [
        task._replace(share=share, rows=count)
        for task in tasks
        if getattr(_kinds(task.folder, task.module)[task.name], "sweep", None) is not None
        for share in shares
        for count in rows
    ]


def run_kinds(tasks: Sequence[KindTask], seeds: Sequence[int], jobs: int = 1, method: str = "") -> Iterator[KindResult]:
    """Fit every kind with every seed, in several processes at once if asked, and yield results in order.

    Parameters
    ----------
    tasks : from `choose_kinds` or `sweep_tasks`.
    seeds : of the samples; a kind has others than the next for the same number.
    jobs : processes; with 1 all is done in this one.
    method : "module:function" in place of the estimators. The function gets X, y (None for PCA) and the number of
        components, all rows of a stream at once, and returns a mapping with `coef` and `intercept`, or `components`
        (as rows); and `weights` of the rows if it has them: below 0.5 is an outlier.
    """
    run = partial(_run_task, seeds=tuple(seeds), method=method)
    if jobs == 1:
        yield from map(run, tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run, tasks)


def _run_task(task: KindTask, seeds: Sequence[int], method: str) -> KindResult:
    kind = _kinds(task.folder, task.module)[task.name]
    fit = partial(_call_function, method) if method else _fit_estimator
    with same_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _warm_up(task.problem, method)
        runs = [_run_seed(kind, task, seed, fit) for seed in seeds]
    errors, oracles = [run.error for run in runs], [max(run.oracle, SMALLEST[task.problem]) for run in runs]
    return KindResult(
        task,
        ratio_of_rms(errors, oracles) if np.isfinite(errors).all() else math.inf,
        math.inf if not np.isfinite(errors).all() else math.sqrt(statistics.fmean(error**2 for error in errors)),
        math.sqrt(statistics.fmean(error**2 for error in oracles)),
        runs[0].rows,
        runs[0].columns,
        statistics.fmean(run.bad for run in runs),
        _mean([run.flagged for run in runs]),
        _mean([run.caught for run in runs]),
        statistics.fmean(run.seconds for run in runs),
        next((run.failure for run in runs if run.failure), ""),
    )


def _run_seed(kind: Any, task: KindTask, seed: int, fit: Fit) -> SeedResult:
    rng = np.random.default_rng([crc32(task.name.encode()), seed])
    sample = kind.make(rng) if task.share is None else kind.sweep(rng, task.share, task.rows)
    good = sample.good if not task.honest else np.ones(len(sample.X), dtype=bool)
    oracle = _error(sample, good, _plain(sample, good))
    rows, columns = sample.X.shape
    run = SeedResult(rows, columns, float(1 - good.mean()), oracle, math.inf, 0.0)
    started = perf_counter()
    try:
        value, flags = fit(sample)
        run = run._replace(seconds=perf_counter() - started, error=_error(sample, good, value))
    # Whatever a method raises is a result of the kind, and no reason to lose the others.
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        return run._replace(seconds=perf_counter() - started, failure=f"{type(error).__name__}: {first}"[:160])
    if flags is None:
        return run
    return run._replace(flagged=_share(flags[good]), caught=_share(flags[~good]))


def _plain(sample: Any, good: Mask) -> Array:
    X = sample.X[good]
    if sample.y is None:
        return leading_subspace(np.cov(X.T), sample.n_components)
    y = sample.y[good]
    coef = least_squares(X, y)
    return np.append(coef, y.mean() - X.mean(axis=0) @ coef)


def _error(sample: Any, good: Mask, value: Array) -> float:
    if sample.y is None:
        return subspace_error(value, sample.truth)
    off = np.asarray(value) - sample.truth
    error = float(np.sqrt(np.mean(np.square(sample.X[good] @ off[:-1] + off[-1]))))
    return error if math.isfinite(error) else math.inf


def _fit_estimator(sample: Any) -> Answer:
    """Fit ours with default settings."""
    regression = sample.y is not None
    model: Any = OutlierRobustRegressor() if regression else OutlierRobustPCA(sample.n_components)
    rows = (sample.X, sample.y) if regression else (sample.X,)
    if sample.sizes is None:
        model.fit(*rows)
    else:
        ends = np.cumsum(sample.sizes)
        for size, end in zip(sample.sizes, ends, strict=True):
            model.partial_fit(*(part[end - size : end] for part in rows))
    value = np.append(model.coef_, model.intercept_) if regression else np.asarray(model.components_).T
    return value, np.asarray(model.is_outlier(*rows))


def _call_function(name: str, sample: Any) -> Answer:
    module, _, function = name.partition(":")
    y = None if sample.y is None else sample.y.copy()
    answer = getattr(import_module(module), function)(sample.X.copy(), y, sample.n_components)
    weights = answer.get("weights")
    flags = None if weights is None else np.asarray(weights) < 0.5
    if sample.y is None:
        return np.asarray(answer["components"]).T, flags
    return np.append(np.ravel(answer["coef"]), np.ravel(answer["intercept"])), flags


class _Sample(NamedTuple):
    X: Array
    y: Array | None
    n_components: int | None = 2
    sizes: tuple[int, ...] | None = None


@cache
def _warm_up(problem: str, method: str) -> None:
    """Fit once in each process, so that what is loaded or compiled then is not timed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)) * [5.0, 3.0, 1.0, 1.0, 1.0]
    X[:60] += 10
    y = X.sum(axis=1) + rng.standard_normal(300) if problem == "regression" else None
    (_fit_estimator if not method else partial(_call_function, method))(_Sample(X, y))


@cache
def _kinds(folder: str, module: str) -> dict[str, Any]:
    # The modules of the folder import one another by their bare names.
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return {kind.name: kind for kind in import_module(module).KINDS}


def _share(flags: Mask) -> float | None:
    return float(flags.mean()) if flags.size else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def format_results(results: Iterable[KindResult]) -> list[str]:
    """Return a line for each kind, the best ones first."""
    lines = ["  ratio      error     oracle  flagged %  caught %  bad %  seconds   rows x columns  kind"]
    for result in sorted(results, key=lambda result: result.ratio):
        task = result.task
        share = "" if task.share is None else f", {task.share:.0%} of {task.rows:,} rows"
        lines.append(
            f"{result.ratio:7.2f} {result.error:10.4g} {result.oracle:10.4g} {_percent(result.flagged):>10} "
            f"{_percent(result.caught):>9} {_percent(result.bad):>6} {result.seconds:8.2f} {result.rows:>7} x "
            f"{result.columns:<7} {task.problem} {'honest ' if task.honest else ''}{task.name}{share} {result.failure}"
        )
    return lines


def format_summary(results: Sequence[KindResult]) -> list[str]:
    """Return a line for honest and one for contaminated kinds of each problem, and one for all."""
    sets = {
        f"{problem}, {'honest' if honest else 'contaminated'}": [
            result for result in results if (result.task.problem, result.task.honest) == (problem, honest)
        ]
        for problem in ("regression", "pca")
        for honest in (False, True)
    }
    lines = []
    for title, members in {**sets, "all": list(results)}.items():
        if members:
            ratios = np.array([result.ratio for result in members])
            near = ", ".join(f"{np.mean(ratios <= bound):.1%} within {bound:g}" for bound in BOUNDS)
            lines.append(
                f"{title} ({len(members)}): {near}; median {np.median(ratios):.3f}, worst {ratios.max():.3g}; "
                f"{_percent(_mean([result.flagged for result in members]))} % of good rows flagged; "
                f"{statistics.fmean(result.seconds for result in members):.2f} s a fit"
            )
    return lines


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def write_kinds(path: Path, results: Sequence[KindResult], facts: dict[str, Any]) -> Path:
    """Write results and the facts of the run (seeds, environment) as JSON."""
    data = {**facts, "summary": format_summary(results), "kinds": [result.as_data() for result in results]}
    path.write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path
