"""What an experiment is: cells to run, what the paper says, pictures and tables from the stored rows, and claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from robustream.paper.results import Cell, Results
from robustream.paper.sizes import Size

__all__ = ["OURS_LINE", "Cell", "Claim", "Context", "Experiment", "Finding", "Picture", "Table", "Verdict", "verdict"]

# What stands in the place of a line of the paper where a claim is ours.
OURS_LINE = "(ours)"
Verdict = Literal["holds", "holds in part", "does not hold", "cannot be checked"]


class Context(NamedTuple):
    """What a run is told: its size, its seed, and where data sets lie that do not come with the package."""

    size: Size
    seed: int = 0
    data: Path | None = None


class Picture(NamedTuple):
    """A drawing: a name for its file, a caption, and who draws it (a matplotlib figure comes out)."""

    name: str
    caption: str
    draw: Callable[[Results], Any]


class Table(NamedTuple):
    """A table of texts."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


class Finding(NamedTuple):
    """What the stored numbers say about a claim."""

    verdict: Verdict
    text: str


class Claim(NamedTuple):
    """A statement of the paper (or of ours): its line in the source, our words for it, and how it is judged."""

    line: str
    says: str
    judge: Callable[[Results], Finding]

    @property
    def is_ours(self) -> bool:
        """Whether this is a claim about our own defaults, which the paper knows nothing of."""
        return self.line == OURS_LINE


class Experiment(NamedTuple):
    """One figure, table or group of statements of the paper."""

    name: str
    title: str
    line: str
    says: str
    setup: str
    remark: str
    cells: Callable[[Context], Iterator[Cell]]
    pictures: Sequence[Picture]
    tables: Callable[[Results], Sequence[Table]]
    claims: Sequence[Claim]

    @property
    def command(self) -> str:
        """The command that makes it."""
        return f"robustream reproduce {self.name}"


NOTHING = Finding("cannot be checked", "The rows that this needs are not in the store; run the experiment first.")


def judge(claim: Claim, results: Results) -> Finding:
    """Judge a claim by what is stored; rows that are missing make it one that cannot be checked."""
    finding = claim.judge(results) if results else NOTHING
    # A number of rows that are not there is NaN, which is neither within a limit nor beyond it.
    return NOTHING if re.search(r"\bnan\b", finding.text) else finding


def verdict(good: int, total: int) -> Verdict:
    """Turn a count of settings in which a claim holds into a verdict.

    >>> verdict(3, 3), verdict(1, 3), verdict(0, 3)
    ('holds', 'holds in part', 'does not hold')
    """
    if total == 0:
        return "cannot be checked"
    return "holds" if good == total else "holds in part" if good else "does not hold"
