"""The simulations behind Figure 1: every method on every stream, from shared estimates."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import NamedTuple

from robustream.learners import Classical, Recipe, Refined, Trimmed
from robustream.paper.cells import Cell, Memory, Row
from robustream.paper.contents import GARBAGE, Scenario, adversarial, evenly, unevenly
from robustream.paper.estimates import Shared
from robustream.paper.methods import Gathering, arrange
from robustream.paper.problems import PROBLEMS
from robustream.paper.sizes import Size

__all__ = ["CONSTANT", "CONSTANTS", "LEVELS", "ORDERS", "SOME_TRIM", "Streams", "simulation_cells"]

# The filter's constant, which the paper does not give: near the best of the sweep on a clean stream.
CONSTANT = {"pca": 1.0, "regression": 0.3}
CONSTANTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ORDERS = ("random", "first", "last")
LEVELS = (0.6, 1.0)
# A trim that users might set without knowing the share of outliers, other than a half.
SOME_TRIM = 0.2
MOMENTS = (1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100)
# Seconds for a batch of the full size and all methods, for the time left: centralized methods included or not.
EVEN_COST, OTHER_COST = 0.25, 0.08


class Streams(NamedTuple):
    """The settings of a cell: which stream of which repetition."""

    problem: str
    repetition: int
    seed: int
    size: Size
    scenario: Scenario


def simulation_cells(problem: str, size: Size, seed: int, spreads: tuple[str, ...]) -> Iterator[Cell]:
    """Give the cells of a problem for some spreads of the bad rows."""
    for repetition in range(size.repetitions):
        own = 1000 * seed + repetition
        for scenario in _scenarios(size, own, spreads):
            scale = size.total_rows / 10_000 * size.columns / 100
            cost = scale * (EVEN_COST if scenario.spread == "even" else OTHER_COST)
            settings = Streams(problem, repetition, own, size, scenario)
            yield Cell(f"{problem}-{repetition}", scenario.name, run_streams, settings, cost)


def _scenarios(size: Size, seed: int, spreads: tuple[str, ...]) -> Iterator[Scenario]:
    if "even" in spreads:
        yield from (evenly(fraction, size.batches) for fraction in size.fractions)
    if "uneven" in spreads:
        yield from (unevenly(fraction, size.batches, size.rows, seed) for fraction in size.fractions if fraction)
    if "adversarial" in spreads:
        for share in size.bad_shares:
            for level in LEVELS:
                yield from (adversarial(share, level, kind, size.batches, seed) for kind in GARBAGE)


def run_streams(settings: Streams, memory: Memory) -> list[Row]:
    """Run all methods on one stream."""
    shared = memory.setdefault("shared", Shared(PROBLEMS[settings.problem](settings.size, settings.seed)))
    work = _Work(settings, shared)
    recipes = dict(work.recipes())
    rows: list[Row] = []
    if settings.scenario.spread == "even":
        rows.extend(work.centralized(recipes))
    shared.prepare(settings.scenario.contents, [*recipes, Refined()])
    rows.extend(work.yardsticks())
    for recipe, rule in recipes.items():
        rows.extend(work.aggregates(recipe, rule))
    rows.append(work.row("ours", shared.problem.error(work.gather(Refined()).filtered())))
    if settings.scenario.detailed:
        rows.extend(work.details())
    return rows


class _Work:
    """One stream at work."""

    def __init__(self, settings: Streams, shared: Shared) -> None:
        self.settings = settings
        self.shared = shared
        self.problem = shared.problem
        self.scenario = settings.scenario
        self.constant = CONSTANT[settings.problem]
        self.bad = [content.level > 0 for content in self.scenario.contents]

    def row(self, method: str, error: float, **more: str | float) -> Row:
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
        defaults: Row = {"rule": "", "trim": None, "order": "random", "constant": None, "seen": None}
        return {**common, "method": method, **defaults, **more, "error": error}

    def recipes(self) -> Iterator[tuple[Recipe, str]]:
        """Give the paper's learner with the true share trimmed and with half; for a closer look, others too."""
        yield Trimmed(round(self.scenario.fraction, 4)), "true"
        yield Trimmed(0.5), "half" if self.scenario.fraction != 0.5 else "true and half"
        if self.scenario.detailed:
            if self.scenario.fraction != SOME_TRIM:
                yield Trimmed(SOME_TRIM), "0.2"
            yield Classical(), "none"

    def gather(self, recipe: Recipe, order: str = "random") -> Gathering:
        estimates = arrange(self.shared.estimates(self.scenario.contents, recipe), self.bad, order)
        return Gathering.of(self.problem, self.shared.learner(recipe), estimates)

    def yardsticks(self) -> Iterator[Row]:
        """The plain method on all rows, on the clean ones, and on the clean ones of batches that can be repaired."""
        splits = self.shared.splits(self.scenario.contents)
        clean = reduce(add, (split.clean for split in splits))
        bad = reduce(add, (split.bad for split in splits))
        yield self.row("plain", self.problem.error(self.problem.plain(clean + bad)))
        yield self.row("oracle", self.problem.error(self.problem.plain(clean)))
        pairs = zip(splits, self.scenario.contents, strict=True)
        usable = [split.clean for split, content in pairs if not content.beyond_repair]
        if usable:
            yield self.row("oracle of usable batches", self.problem.error(self.problem.plain(reduce(add, usable))))

    def centralized(self, recipes: dict[Recipe, str]) -> Iterator[Row]:
        trimmed = {recipe: rule for recipe, rule in recipes.items() if isinstance(recipe, Trimmed)}
        answers = self.shared.everything(self.scenario.contents, trimmed, [*recipes, Refined()])
        for recipe, rule in trimmed.items():
            yield self.row("centralized", self.problem.error(answers[recipe]), rule=rule, trim=_trim(recipe))

    def aggregates(self, recipe: Recipe, rule: str) -> Iterator[Row]:
        gathered = self.gather(recipe)
        answers = {
            "averaging": gathered.average(),
            "geometric median": gathered.geometric_median(),
            "online median": gathered.online_median(self.constant),
        }
        if self.scenario.spread == "adversarial":
            sound = [estimate for estimate, bad in zip(gathered.estimates, self.bad, strict=True) if not bad]
            alone = gathered._replace(estimates=tuple(sound))
            answers["averaging, bad batches left out"] = alone.average()
            answers["geometric median, bad batches left out"] = alone.geometric_median()
            answers["online median, bad batches left out"] = alone.online_median(self.constant)
        if self.settings.problem == "pca":
            answers["averaging of eigenvectors"] = gathered.average_eigenvectors()
        for method, answer in answers.items():
            constant = {"constant": self.constant} if method.startswith("online median") else {}
            yield self.row(method, self.problem.error(answer), rule=rule, trim=_trim(recipe), **constant)

    def details(self) -> Iterator[Row]:
        """Orders of arrival, the way there, and the filter's constant, with the true share trimmed."""
        error, recipe = self.problem.error, Trimmed(round(self.scenario.fraction, 4))
        for order in ORDERS:
            gathered = self.gather(recipe, order)
            ours = self.gather(Refined(), order)
            seen = [moment for moment in MOMENTS if moment <= self.settings.size.batches]
            names: dict[str, str | float] = {"rule": "true", "trim": recipe.trim, "order": order}
            for moment, answer in zip(seen, gathered.online_path(self.constant, seen), strict=True):
                yield self.row("online median", error(answer), **names, constant=self.constant, seen=moment)
            for constant in CONSTANTS:
                yield self.row("constant", error(gathered.online_median(constant)), **names, constant=constant)
            for moment in seen:
                some = gathered.first(moment)
                yield self.row("averaging", error(some.average()), **names, seen=moment)
                yield self.row("geometric median", error(some.geometric_median()), **names, seen=moment)
                yield self.row("ours", error(ours.first(moment).filtered()), order=order, seen=moment)


def _trim(recipe: Recipe) -> float:
    return recipe.trim if isinstance(recipe, Trimmed) else 0.0
