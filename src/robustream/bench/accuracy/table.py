"""The gauntlet in a terminal: ratios by case and method, then the summary and the times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from robustream.bench.accuracy.methods import OURS, Method
from robustream.bench.accuracy.run import CaseResult
from robustream.bench.accuracy.summary import NEAR, TWICE, Share, method_names, summarize

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["TABLE_WIDTH", "TITLES", "format_ratio", "format_seconds", "show_results"]

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
