"""What an experiment is: cells to run, what the paper says, pictures and tables from the stored rows, and claims.

A claim is judged case by case. A `Case` is one setting with the numbers measured in it, and a `Criterion` is a limit on
one of these numbers; the verdict counts the cases that meet it. The page shows both, so that every verdict can be
worked out again from the numbers beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from robustream.paper.results import Cell, Results
from robustream.paper.scenarios import Size

__all__ = ["Case", "Claim", "Context", "Criterion", "Experiment", "Finding", "Picture", "Table", "judge", "number"]


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


class Case(NamedTuple):
    """One setting in which a claim is judged, and what was measured there, by name."""

    setting: str
    numbers: Mapping[str, float]


class Criterion(NamedTuple):
    """A limit, from above or from below, on one of the numbers of a case.

    >>> Criterion("factor", at_least=2).words
    'factor at least 2'
    >>> Criterion("factor", at_least=2).met(Case("40% bad", {"factor": 1.5}))
    False
    """

    of: str
    at_most: float = math.inf
    at_least: float = -math.inf

    @property
    def words(self) -> str:
        """The limit in words."""
        bounds = [
            f"{name} {limit:g}"
            for name, limit in (("at least", self.at_least), ("at most", self.at_most))
            if math.isfinite(limit)
        ]
        return f"{self.of} {' and '.join(bounds)}"

    def met(self, case: Case) -> bool:
        """Return whether a case is within the limit."""
        return self.at_least <= case.numbers[self.of] <= self.at_most


class Finding(NamedTuple):
    """What the stored numbers say about a claim."""

    cases: Sequence[Case]
    criterion: Criterion

    @property
    def checked(self) -> bool:
        """Whether there are numbers: one that is missing is NaN, which is neither within a limit nor beyond it."""
        return bool(self.cases) and not any(math.isnan(case.numbers[self.criterion.of]) for case in self.cases)

    @property
    def held(self) -> int:
        """The number of cases that meet the criterion."""
        return sum(self.criterion.met(case) for case in self.cases)

    @property
    def verdict(self) -> str:
        """The verdict in words, with the share of the cases where it is neither all nor none.

        >>> Finding([Case("a", {"x": 1.0}), Case("b", {"x": 3.0})], Criterion("x", at_most=2)).verdict
        'holds in 1 of 2'
        """
        if not self.checked:
            return "cannot be checked"
        held, total = self.held, len(self.cases)
        return "holds" if held == total else "does not hold" if held == 0 else f"holds in {held} of {total}"

    @property
    def kind(self) -> str:
        """The verdict as one word: "holds", "partly", "fails" or "unchecked"."""
        if not self.checked:
            return "unchecked"
        return "holds" if self.held == len(self.cases) else "partly" if self.held else "fails"

    def summary(self, column: str = "") -> str:
        """Return one column of the cases in short: all numbers of a few cases, the span of more.

        Several columns, with "|" between their names, are those of the first case.
        """
        if "|" in column and self.cases:
            return " / ".join(number(self.cases[0].numbers[name]) for name in column.split("|"))
        name = column or self.criterion.of
        values = [case.numbers[name] for case in self.cases if not math.isnan(case.numbers[name])]
        if not values:
            return "-"
        if len(values) <= 3:
            return " / ".join(number(value) for value in values)
        return f"{number(min(values))} to {number(max(values))}"


class Claim(NamedTuple):
    """A statement of the paper, or of ours: where it stands, our words for it, and how it is judged.

    Parameters
    ----------
    place : section, theorem or table of the paper.
    says : the statement.
    cases : gives the cases, from the rows of the experiment.
    criterion : what has to be true of a case.
    printed : the number that the paper gives, if it does.
    reading : what was decided where the paper leaves it open.
    column : the numbers that stand for our finding in short; by default those that the criterion is about.
    headline : whether it is one of the few lines on top of the page.
    """

    place: str
    says: str
    cases: Callable[[Results], Sequence[Case]]
    criterion: Criterion
    printed: str = ""
    reading: str = ""
    column: str = ""
    headline: bool = False


class Experiment(NamedTuple):
    """One figure, table or group of statements of the paper."""

    name: str
    title: str
    place: str
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


def judge(claim: Claim, results: Results) -> Finding:
    """Judge a claim by what is stored; nothing stored makes it one that cannot be checked."""
    return Finding(claim.cases(results) if results else (), claim.criterion)


def number(value: float) -> str:
    """Return a number as pages show it.

    >>> number(0.2634), number(14.68), number(1234.5), number(float("nan"))
    ('0.263', '14.7', '1,234', '-')
    """
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
