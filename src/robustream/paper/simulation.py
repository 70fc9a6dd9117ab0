"""The simulations behind Figure 1: every method on every stream, from shared estimates.

What is trimmed is a reading of the paper. "own": each batch trims its own share of outliers, at most half, as Eq. 6,
Theorem 5 and Lemma 5 have it. "half": one half, as Algorithm 4 prints for a share that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from robustream.learners import Refined, Trimmed
from robustream.paper.experiment import Case, Context, Table, number
from robustream.paper.methods import Gathering, arrange, arrival
from robustream.paper.problems import PROBLEMS, Rule, Shared, Split
from robustream.paper.results import Cell, Memory, Results, Row, root_mean_square
from robustream.paper.scenarios import KINDS, LEVELS, Content, Scenario, Size, adversarial, evenly, unevenly

__all__ = [
    "CONSTANT",
    "CONSTANTS",
    "ORDERS",
    "RULES",
    "RULE_WORDS",
    "Stream",
    "cells_of",
    "compared",
    "near_centralized",
    "run_ours",
    "run_stream",
    "scenario_words",
    "simulation_cells",
    "stream_tables",
]

RULES: dict[str, Rule] = {"own": lambda content: Trimmed(content.own_trim), "half": lambda content: Trimmed(0.5)}
RULE_WORDS = {"own": "own share trimmed", "half": "half trimmed"}
# The filter's constant, which the paper does not give: of the order of one over the norm of the estimates, which is the
# root of 5 for projectors and about 10 for coefficients.
CONSTANT = {"pca": 0.3, "regression": 0.05}
CONSTANTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
ORDERS = ("random", "first", "last")
MOMENTS = (1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100)
# Seconds for a batch of the full size, for the time left: with all rows at once as well, without, and our own method.
COSTS = {"pca": (0.3, 0.08, 0.06), "regression": (0.08, 0.03, 0.06)}


class Stream(NamedTuple):
    """The settings of a cell: which stream of which repetition."""

    problem: str
    repetition: int
    seed: int
    size: Size
    scenario: Scenario


def cells_of(problem: str, *spreads: str) -> Callable[[Context], Iterator[Cell]]:
    """Return the function that gives the cells of a problem for some spreads of the outliers."""
    return lambda context: simulation_cells(problem, context.size, context.seed, spreads)


def simulation_cells(problem: str, size: Size, seed: int, spreads: tuple[str, ...]) -> Iterator[Cell]:
    """Return two cells for each stream, the paper's methods and ours, which can so be run again by itself."""
    for repetition in range(size.repetitions):
        own = 1000 * seed + repetition
        for scenario in _scenarios(size, own, spreads):
            scale = size.total_rows / 10_000 * size.columns / 100
            settings = Stream(problem, repetition, own, size, scenario)
            central, streamed, ours = (scale * cost for cost in COSTS[problem])
            cost = central if scenario.spread == "even" else streamed
            yield Cell(f"{problem}-{repetition}", scenario.name, run_stream, settings, cost)
            yield Cell(f"ours-{problem}-{repetition}", scenario.name, run_ours, settings, ours, ours=True)


def _scenarios(size: Size, seed: int, spreads: tuple[str, ...]) -> Iterator[Scenario]:
    if "even" in spreads:
        yield evenly(0.0, "printed", size.batches)
    for kind in KINDS:
        for fraction in size.fractions:
            if "even" in spreads:
                yield evenly(fraction, kind, size.batches)
            if "uneven" in spreads:
                yield unevenly(fraction, kind, size.batches, size.rows, seed)
        if "adversarial" in spreads:
            for share in size.bad_shares:
                yield from (adversarial(share, level, kind, size.batches, seed) for level in LEVELS)


def run_stream(settings: Stream, memory: Memory) -> list[Row]:
    """Run the paper's methods on one stream, and those it is compared with."""
    work = _Work(settings, memory)
    rows = [*work.centralized(), *work.yardsticks()]
    for rule in RULES:
        rows.extend(work.aggregates(rule))
    if settings.scenario.detailed:
        for order in work.orders:
            rows.extend([*work.constants(order), *work.way(order), *work.yardsticks_on_the_way(order)])
    work.forget()
    return rows


def run_ours(settings: Stream, memory: Memory) -> list[Row]:
    """Run our own default method on one stream."""
    work = _Work(settings, memory)
    rows = [work.row("ours", work.problem.error(work.gather("ours").filtered()))]
    if settings.scenario.detailed:
        for order in work.orders:
            gathered = work.gather("ours", order)
            for moment in work.moments:
                error = work.problem.error(gathered.first(moment).filtered())
                rows.append(work.row("ours", error, order=order, seen=moment))
    work.forget()
    return rows


class _Work:
    """One stream at work, on estimates that all streams of a repetition share."""

    def __init__(self, settings: Stream, memory: Memory) -> None:
        self.settings = settings
        self.shared: Shared = memory.setdefault(
            "shared", Shared(PROBLEMS[settings.problem](settings.size, settings.seed))
        )
        self.problem = self.shared.problem
        self.scenario = settings.scenario
        self.constant = CONSTANT[settings.problem]
        self.bad = [content.level > 0 for content in self.scenario.contents]
        # Where all batches are alike, every order is the same.
        self.orders = ORDERS if self.scenario.spread == "adversarial" else ORDERS[:1]
        self.moments = [moment for moment in MOMENTS if moment <= settings.size.batches]

    def row(self, method: str, error: float, **more: str | float) -> Row:
        """Return a row with the settings of the stream; `more` adds to them or takes their place."""
        scenario = self.scenario
        common: Row = {
            "problem": self.settings.problem,
            "repetition": self.settings.repetition,
            "scenario": scenario.name,
            "spread": scenario.spread,
            "kind": scenario.kind,
            "fraction": scenario.fraction,
            "share": scenario.share,
            "level": scenario.level,
            "beyond_repair": scenario.beyond_repair,
        }
        defaults: Row = {"rule": "", "order": "random", "constant": None, "seen": None}
        return {**common, "method": method, **defaults, **more, "error": error}

    def gather(self, rule: str, order: str = "random") -> Gathering:
        """Return the estimates of the stream's batches, in order of arrival."""
        chosen: Rule = RULES.get(rule, lambda content: Refined())
        estimates = arrange(self.shared.estimates(self.scenario.contents, chosen), self.bad, order)
        return Gathering.of(self.problem, self.shared.learner(chosen(Content(0.0))), estimates)

    def forget(self) -> None:
        """Drop what only this stream has: bad and clean batches of the adversarial streams are met again."""
        self.shared.forget(content for content in self.scenario.contents if content.level not in (0.0, *LEVELS))

    def centralized(self) -> Iterator[Row]:
        """Trim all rows at once; where batches differ, the rows are those of the even spread."""
        if self.scenario.spread != "even":
            return
        chosen = {rule: RULES[rule](Content(self.scenario.fraction)) for rule in RULES}
        answers = self.shared.everything(self.scenario.contents, chosen.values(), list(RULES.values()))
        for rule, recipe in chosen.items():
            yield self.row("centralized", self.problem.error(answers[recipe]), rule=rule)

    def yardsticks(self) -> Iterator[Row]:
        """Measure the plain method on the whole stream, and the oracles."""
        self.shared.prepare(self.scenario.contents, list(RULES.values()))
        splits = self.shared.splits(self.scenario.contents)
        usable = [not content.beyond_repair for content in self.scenario.contents]
        for method, error in self._plain_errors(splits, usable):
            yield self.row(method, error)

    def _plain_errors(self, splits: Sequence[Split], usable: Sequence[bool]) -> Iterator[tuple[str, float]]:
        """The plain method on all rows, on the clean ones, and on the clean ones of batches that can be repaired."""
        clean = reduce(add, (split.clean for split in splits))
        chosen = {"plain": clean + reduce(add, (split.bad for split in splits)), "oracle": clean}
        repairable = [split.clean for split, good in zip(splits, usable, strict=True) if good]
        if repairable:
            chosen["oracle of usable batches"] = reduce(add, repairable)
        for method, moments in chosen.items():
            # Fewer rows than columns leave the plain method without an answer.
            if moments.rows > self.settings.size.columns:
                yield method, self.problem.error(self.problem.plain(moments))

    def aggregates(self, rule: str) -> Iterator[Row]:
        """One way of trimming under every aggregator, and batches by themselves."""
        gathered = self.gather(rule)
        answers = {
            "averaging": gathered.average(),
            "geometric median": gathered.geometric_median(),
            "online median": gathered.online_median(self.constant),
        }
        if self.settings.problem == "pca":
            answers["averaging of eigenvectors"] = gathered.average_eigenvectors()
        for method, answer in answers.items():
            constant = {"constant": self.constant} if method == "online median" else {}
            yield self.row(method, self.problem.error(answer), rule=rule, **constant)
        if self.scenario.spread == "adversarial":
            errors = [self.problem.error(answer) for answer in gathered.answers()]
            good = [error for error, bad in zip(errors, self.bad, strict=True) if not bad]
            yield self.row("radius of the good batches", max(good), rule=rule)
            yield self.row("one good batch", root_mean_square(good), rule=rule)
            bad = [error for error, is_bad in zip(errors, self.bad, strict=True) if is_bad]
            yield self.row("one bad batch", root_mean_square(bad), rule=rule)

    def constants(self, order: str) -> Iterator[Row]:
        """The filter's final error for several constants."""
        gathered = self.gather("own", order)
        for constant in CONSTANTS:
            error = self.problem.error(gathered.online_median(constant))
            yield self.row("constant", error, rule="own", order=order, constant=constant)

    def way(self, order: str) -> Iterator[Row]:
        """Errors after some numbers of batches."""
        error, gathered = self.problem.error, self.gather("own", order)
        for moment, answer in zip(self.moments, gathered.online_path(self.constant, self.moments), strict=True):
            yield self.row("online median", error(answer), rule="own", order=order, seen=moment)
        for moment in self.moments:
            some = gathered.first(moment)
            yield self.row("averaging", error(some.average()), rule="own", order=order, seen=moment)
            yield self.row("geometric median", error(some.geometric_median()), rule="own", order=order, seen=moment)

    def yardsticks_on_the_way(self, order: str) -> Iterator[Row]:
        """The plain method and the oracles on what has arrived, and the share of it that is beyond repair."""
        contents, splits = self.scenario.contents, self.shared.splits(self.scenario.contents)
        order_of_batches = arrival(self.bad, order)
        for moment in self.moments:
            arrived = order_of_batches[:moment]
            usable = [not contents[index].beyond_repair for index in arrived]
            share = 1 - sum(usable) / moment
            for method, error in self._plain_errors([splits[index] for index in arrived], usable):
                yield self.row(method, error, order=order, seen=moment, beyond_repair=share)


def compared(results: Results, method: str, other: str, names: tuple[str, str], **rules: str) -> dict[str, float]:
    """Return the errors of two methods under their names, and the factor between them."""
    errors = [results.rms(method=one, rule=("", rules.get("rule", "own"))) for one in (method, other)]
    return {names[0]: errors[0], names[1]: errors[1], "factor": errors[0] / errors[1]}


def near_centralized(results: Results, method: str, name: str, kind: str) -> list[Case]:
    """Compare a method with the centralized one for shares up to one half, the same in every batch."""
    found = []
    for fraction in results.different("fraction", spread="even"):
        if fraction > 0.5 or (fraction == 0 and kind == "stronger"):
            continue
        some = results.where(spread="even", fraction=fraction, seen=None, kind=kind)
        for rule, words in RULE_WORDS.items():
            numbers = compared(some, method, "centralized", (name, "centralized"), rule=rule)
            found.append(Case(f"share {fraction:g}, {words}", numbers))
    return found


def stream_tables(problem: str, *spreads: str) -> Callable[[Results], Sequence[Table]]:
    """Return the function that tabulates the errors: one line for each stream, each batch trimming its own share."""
    columns = {
        "plain": "plain",
        "centralized": "centralized",
        "averaging": "averaging",
        **({"averaging of eigenvectors": "averaging of eigenvectors"} if problem == "pca" else {}),
        "geometric median": "DRL",
        "online median": "ORL",
        "oracle": "oracle",
    }

    def tables(results: Results) -> Sequence[Table]:
        lines = []
        some = results.where(problem=problem, spread=spreads, seen=None, order="random", rule=("", "own"))
        for scenario in some.different("scenario"):
            here = some.where(scenario=scenario)
            lines.append([scenario_words(here), *(number(here.rms(method=method)) for method in columns)])
        caption = (
            "Root mean square of the relative error over repetitions; each batch trims its own share, at most half. "
            "The oracle is the plain method on all clean rows."
        )
        return (Table(caption, ("outliers", *columns.values()), lines),)

    return tables


def scenario_words(results: Results) -> str:
    """Return what a stream is, from any of its rows."""
    row = results.rows[0]
    kind = f"{row['kind']}, " if row["fraction"] else ""
    if row["spread"] == "adversarial":
        return f"{kind}{row['share']:.0%} of the batches bad, {row['level']:.0%} in these"
    return f"{kind}{row['fraction']:.0%}, {row['spread']}" if row["fraction"] else "none"
