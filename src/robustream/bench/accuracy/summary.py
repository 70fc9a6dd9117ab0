"""Results of the gauntlet in few numbers, in a terminal and on disk.

In how many cases a method is near the oracle, by group; ratios by case and method as a table; JSON with everything,
from which tables and pictures can be made again, and CSV for a glance.
"""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from robustream.bench.accuracy.peers import OURS, Method
from robustream.bench.accuracy.run import CaseResult, Score

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "CSV_NAME",
    "JSON_NAME",
    "NEAR",
    "TABLE_WIDTH",
    "TITLES",
    "TWICE",
    "Share",
    "format_ratio",
    "format_seconds",
    "method_names",
    "read_json",
    "results_as_data",
    "results_from_data",
    "show_results",
    "summarize",
    "write_csv",
    "write_json",
]

NEAR = 1.25
TWICE = 2.0
# Cases are counted by group, and under these tags as well.
COUNTED_TAGS = ("10% bad rows", "20% bad rows", "30% bad rows", "40% bad rows", "p=200")


class Share(NamedTuple):
    """How a method fared in a set of cases.

    A failure counts as a case that is not near; a case that the method was too slow or too narrow for does not count.
    """

    problem: str
    cases: str
    method: str
    number: int
    near: int
    twice: int
    worst: float | None
    seconds: float | None


def method_names(results: Sequence[CaseResult], problem: str) -> list[str]:
    """Return the methods that were run for a problem, in their order."""
    return list(
        dict.fromkeys(score.method for result in results if result.problem == problem for score in result.scores)
    )


def summarize(results: Sequence[CaseResult]) -> list[Share]:
    """Count the cases near the oracle for each problem, set of cases and method; a set without cases is left out."""
    shares = []
    for problem in dict.fromkeys(result.problem for result in results):
        of_problem = [result for result in results if result.problem == problem]
        sets = {"all": of_problem}
        for group in dict.fromkeys(result.group for result in of_problem):
            sets[group] = [result for result in of_problem if result.group == group]
        for tag in COUNTED_TAGS:
            sets[tag] = [result for result in of_problem if tag in result.tags]
        for title, members in sets.items():
            for method in method_names(of_problem, problem) if members else ():
                shares.append(_share(problem, title, method, members))
    return shares


def _share(problem: str, title: str, method: str, results: Sequence[CaseResult]) -> Share:
    ratios = [ratio for result in results if (ratio := result.ratio(method)) is not None]
    times = [time for result in results if (time := result.time(method)) is not None]
    finite = [ratio for ratio in ratios if ratio != float("inf")]
    return Share(
        problem,
        title,
        method,
        len(ratios),
        sum(ratio <= NEAR for ratio in ratios),
        sum(ratio <= TWICE for ratio in ratios),
        max(finite, default=None),
        statistics.fmean(times) if times else None,
    )


# Enough for the longest name and all methods.
TABLE_WIDTH = 170
TITLES = {"regression": "Regression", "pca": "PCA"}


def show_results(results: Sequence[CaseResult], methods: Sequence[Method], console: Console) -> None:
    """Print everything; the words beside the colours are in the numbers themselves."""
    shares = summarize(results)
    for problem in dict.fromkeys(result.problem for result in results):
        names = method_names(results, problem)
        console.print(_ratios([result for result in results if result.problem == problem], names))
        console.print(_shares([share for share in shares if share.problem == problem], names))
    console.print(
        f"Ratios to the oracle, the plain method on the clean rows alone: green up to {NEAR:g}, yellow up to "
        f"{TWICE:g}, red above. ~: on part of the rows; -: left out, too many columns.",
        style="dim",
    )
    for method in methods:
        if method.missing:
            console.print(f"{method.title}: {method.missing}.", style="dim", markup=False)
    for line in _troubles(results):
        console.print(line, style="dim", markup=False)


def format_ratio(ratio: float) -> str:
    """Write a ratio in few characters.

    >>> [format_ratio(ratio) for ratio in (1.034, 12.34, 1234.5, 1.2e6)]
    ['1.03', '12.3', '1234', '1e+06']
    """
    if ratio < 10:
        return f"{ratio:.2f}"
    return f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}" if ratio < 1e4 else f"{ratio:.0e}"


def format_seconds(seconds: float | None) -> str:
    """Write seconds in few characters.

    >>> [format_seconds(seconds) for seconds in (None, 0.0123, 1.5)]
    ['', '12 ms', '1.5 s']
    """
    if seconds is None:
        return ""
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _table(problem: str, what: str, names: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(f"{TITLES[problem]}: {what}", overflow="fold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _ratios(results: Sequence[CaseResult], names: Sequence[str]) -> Table:
    table = _table(results[0].problem, "error in multiples of the oracle's", names)
    for place, result in enumerate(results):
        if place and result.group != results[place - 1].group:
            table.add_section()
        table.add_row(result.name, *(_cell(result, name) for name in names))
    return table


def _cell(result: CaseResult, name: str) -> str:
    score, ratio = result.score(name), result.ratio(name)
    if score is None or score.state == "skipped":
        return "-"
    if ratio is None or math.isinf(ratio):
        return f"[bold red]{score.state}[/]"
    style = "green" if ratio <= NEAR else "yellow" if ratio <= TWICE else "red"
    bold = "bold " if name == OURS else ""
    return f"[{bold}{style}]{'~' if score.note else ''}{format_ratio(ratio)}[/]"


def _shares(shares: Sequence[Share], names: Sequence[str]) -> Table:
    table = _table(shares[0].problem, f"% of cases within {NEAR:g} | {TWICE:g}", names)
    titles = list(dict.fromkeys(share.cases for share in shares))
    for title in titles:
        row = {share.method: share for share in shares if share.cases == title}
        most = max(share.number for share in row.values())
        table.add_row(f"{title} ({most})", *(_percent(row[name], most) for name in names))
        if title == "all":
            table.add_row("mean time of a fit", *(format_seconds(row[name].seconds) for name in names))
            table.add_section()
    return table


def _percent(share: Share, most: int) -> str:
    if not share.number:
        return "-"
    fewer = f" of {share.number}" if share.number < most else ""
    return f"{share.near / share.number:.0%}|{share.twice / share.number:.0%}".replace("%", "") + fewer


def _troubles(results: Sequence[CaseResult]) -> list[str]:
    """Return a line for each way in which a method failed or was slow, with its cases, and for each warning of ours."""
    cases: dict[tuple[str, str, str], list[str]] = {}
    for result in results:
        for score in result.scores:
            name = f"{result.problem} {result.name!r}"
            if score.state in ("failed", "slow"):
                cases.setdefault((score.method, score.state, score.note), []).append(name)
            if score.method == OURS and score.warnings:
                cases.setdefault((score.method, "warned", f"{score.warnings} times"), []).append(name)
    return [
        f"{method} {state} in {names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}: {note}"
        for (method, state, note), names in cases.items()
    ]


JSON_NAME = "accuracy.json"
CSV_NAME = "accuracy.csv"


def results_as_data(results: Sequence[CaseResult]) -> list[dict[str, Any]]:
    """Return results as plain data for JSON, with the ratios, which are made from the errors."""
    return [
        {
            **result._asdict(),
            "scores": [{**score._asdict(), "ratio": _finite(result.ratio(score.method))} for score in result.scores],
        }
        for result in results
    ]


def results_from_data(data: Sequence[Mapping[str, Any]]) -> list[CaseResult]:
    """Return the results that `results_as_data` wrote."""
    results = []
    for case in data:
        scores = []
        for entry in case["scores"]:
            fields = {key: value for key, value in entry.items() if key != "ratio"}
            scores.append(Score(**{**fields, "errors": tuple(entry["errors"]), "seconds": tuple(entry["seconds"])}))
        sequences = {"tags": tuple(case["tags"]), "oracle": tuple(case["oracle"]), "scores": tuple(scores)}
        results.append(CaseResult(**{**case, **sequences}))
    return results


def write_json(folder: Path, results: Sequence[CaseResult], facts: Mapping[str, Any]) -> Path:
    """Write results, their summary and the facts of the run (seeds, methods, environment)."""
    target = folder / JSON_NAME
    summary = [share._asdict() for share in summarize(results)]
    data = {**facts, "summary": summary, "cases": results_as_data(results)}
    target.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return target


def read_json(path: Path) -> list[CaseResult]:
    """Read the results of a run."""
    return results_from_data(json.loads(path.read_text(encoding="utf-8"))["cases"])


def write_csv(folder: Path, results: Sequence[CaseResult]) -> Path:
    """Write a line for each case and method."""
    target = folder / CSV_NAME
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "problem",
                "group",
                "case",
                "method",
                "ratio",
                "error",
                "oracle_error",
                "seconds",
                "seeds",
                "state",
                "note",
            ]
        )
        for result in results:
            for score in result.scores:
                ratio, errors = _finite(result.ratio(score.method)), (_rms(score.errors), _rms(result.oracle))
                names = (result.problem, result.group, result.name, score.method)
                outcome = (result.time(score.method), len(score.errors), score.state, score.note)
                writer.writerow((*names, ratio, *errors, *outcome))
    return target


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _rms(values: Sequence[float]) -> float | None:
    return math.hypot(*values) / math.sqrt(len(values)) if values else None
