"""The gauntlet in few numbers: in how many cases a method is near the oracle, by group."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from robustream.bench.accuracy.run import CaseResult

__all__ = ["NEAR", "TWICE", "Share", "method_names", "summarize"]

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

    def as_data(self) -> dict[str, Any]:
        """Return the share as plain data."""
        return self._asdict()


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
