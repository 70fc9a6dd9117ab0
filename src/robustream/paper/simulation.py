"""The simulations behind Figure 1: every method on every stream, from shared estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from robustream.learners import Classical, Recipe, Refined, Trimmed
from robustream.paper.drawing import draw_adversarial, draw_constants, draw_convergence, draw_fractions, draw_paths
from robustream.paper.experiment import Context, Finding, Picture, Table, verdict
from robustream.paper.methods import Gathering, arrange, arrival
from robustream.paper.problems import PROBLEMS, Shared, Split
from robustream.paper.results import Cell, Memory, Results, Row, root_mean_square
from robustream.paper.scenarios import GARBAGE, Scenario, adversarial, evenly, unevenly
from robustream.paper.sizes import Size

__all__ = [
    "ALIKE",
    "BROKEN",
    "CONSTANT",
    "CONSTANTS",
    "DISTRIBUTED_SETUP",
    "LEVELS",
    "ONLINE_SETUP",
    "ORDERS",
    "RULES",
    "SOME_TRIM",
    "StreamWork",
    "Streams",
    "cells_of",
    "closer_look",
    "distributed_pictures",
    "near_centralized",
    "online_pictures",
    "run_streams",
    "simulation_cells",
    "tables_of",
    "trim_words",
]

# The filter's constant, which the paper does not give: near the best of the sweep on a clean stream.
CONSTANT = {"pca": 1.0, "regression": 0.3}
# A trim that users might set without knowing the share of outliers, other than a half.
SOME_TRIM = 0.2
# The rules of trimming that the paper speaks of: the true share of outliers, a half, or both where these are the same.
PAPER_RULES = ("true", "half", "true and half")


class Streams(NamedTuple):
    """The settings of a cell: which stream of which repetition."""

    problem: str
    repetition: int
    seed: int
    size: Size
    scenario: Scenario


class StreamWork:
    """Run methods on one stream, from estimates that all streams of a repetition share."""

    def __init__(self, settings: Streams, shared: Shared) -> None:
        self.settings = settings
        self.shared = shared
        self.problem = shared.problem
        self.scenario = settings.scenario
        self.constant = CONSTANT[settings.problem]
        self.bad = [content.level > 0 for content in self.scenario.contents]

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
        defaults: Row = {"rule": "", "trim": None, "order": "random", "constant": None, "seen": None}
        return {**common, "method": method, **defaults, **more, "error": error}

    def recipes(self) -> Iterator[tuple[Recipe, str]]:
        """Return the paper's learner with the true share trimmed and with half; for a closer look, others too."""
        yield Trimmed(round(self.scenario.fraction, 4)), "true"
        yield Trimmed(0.5), "half" if self.scenario.fraction != 0.5 else "true and half"
        if self.scenario.detailed:
            if self.scenario.fraction != SOME_TRIM:
                yield Trimmed(SOME_TRIM), "0.2"
            yield Classical(), "none"

    def gather(self, recipe: Recipe, order: str = "random") -> Gathering:
        """Return the estimates that one learner makes of the stream, in order of arrival."""
        estimates = arrange(self.shared.estimates(self.scenario.contents, recipe), self.bad, order)
        return Gathering.of(self.problem, self.shared.learner(recipe), estimates)

    def centralized(self, recipes: dict[Recipe, str]) -> Iterator[Row]:
        """All rows at once; the estimates of each batch are made on the way."""
        trimmed = {
            recipe: rule for recipe, rule in recipes.items() if isinstance(recipe, Trimmed) and rule in PAPER_RULES
        }
        answers = self.shared.everything(self.scenario.contents, trimmed, [*recipes, Refined()])
        for recipe, rule in trimmed.items():
            yield self.row("centralized", self.problem.error(answers[recipe]), rule=rule, trim=recipe.trim)

    def yardsticks(self) -> Iterator[Row]:
        """Measure what needs no estimates on the whole stream."""
        splits = self.shared.splits(self.scenario.contents)
        usable = [not content.beyond_repair for content in self.scenario.contents]
        for method, error in self.yardstick_errors(splits, usable):
            yield self.row(method, error)

    def yardstick_errors(self, splits: Sequence[Split], usable: Sequence[bool]) -> Iterator[tuple[str, float]]:
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

    def aggregates(self, recipe: Recipe, rule: str) -> Iterator[Row]:
        """One learner under every aggregator."""
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
            trim = recipe.trim if isinstance(recipe, Trimmed) else 0.0
            yield self.row(method, self.problem.error(answer), rule=rule, trim=trim, **constant)


CONSTANTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ORDERS = ("random", "first", "last")
MOMENTS = (1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100)


def closer_look(work: StreamWork, recipes: dict[Recipe, str]) -> Iterator[Row]:
    """Return the rows that only some streams have."""
    adversarial = work.scenario.spread == "adversarial"
    # Where all batches are alike, every order is the same.
    for order in ORDERS if adversarial else ORDERS[:1]:
        yield from _constants(work, order)
        yield from _way(work, order)
        yield from _yardsticks_on_the_way(work, order)
    if adversarial:
        for recipe, rule in recipes.items():
            yield from _batches_alone(work, recipe, rule)


def _true_trim(work: StreamWork) -> Trimmed:
    return Trimmed(round(work.scenario.fraction, 4))


def _moments(work: StreamWork) -> list[int]:
    return [moment for moment in MOMENTS if moment <= work.settings.size.batches]


def _constants(work: StreamWork, order: str) -> Iterator[Row]:
    """The filter's final error for several constants, with the true share trimmed."""
    recipe = _true_trim(work)
    gathered = work.gather(recipe, order)
    for constant in CONSTANTS:
        error = work.problem.error(gathered.online_median(constant))
        yield work.row("constant", error, rule="true", trim=recipe.trim, order=order, constant=constant)


def _way(work: StreamWork, order: str) -> Iterator[Row]:
    """Errors after some numbers of batches, with the true share trimmed."""
    error, recipe, seen = work.problem.error, _true_trim(work), _moments(work)
    gathered, ours = work.gather(recipe, order), work.gather(Refined(), order)
    names: dict[str, str | float] = {"rule": "true", "trim": recipe.trim, "order": order}
    for moment, answer in zip(seen, gathered.online_path(work.constant, seen), strict=True):
        yield work.row("online median", error(answer), **names, constant=work.constant, seen=moment)
    for moment in seen:
        some = gathered.first(moment)
        yield work.row("averaging", error(some.average()), **names, seen=moment)
        yield work.row("geometric median", error(some.geometric_median()), **names, seen=moment)
        yield work.row("ours", error(ours.first(moment).filtered()), order=order, seen=moment)


def _yardsticks_on_the_way(work: StreamWork, order: str) -> Iterator[Row]:
    """The plain method and the oracles on what has arrived, and the share of it that is beyond repair."""
    contents, splits = work.scenario.contents, work.shared.splits(work.scenario.contents)
    order_of_batches = arrival(work.bad, order)
    for moment in _moments(work):
        arrived = order_of_batches[:moment]
        usable = [not contents[index].beyond_repair for index in arrived]
        share = 1 - sum(usable) / moment
        for method, error in work.yardstick_errors([splits[index] for index in arrived], usable):
            yield work.row(method, error, order=order, seen=moment, beyond_repair=share)


def _batches_alone(work: StreamWork, recipe: Recipe, rule: str) -> Iterator[Row]:
    """The error of one batch by itself, as the root mean square over the bad ones and over the good ones."""
    gathered = work.gather(recipe)
    for name, wanted in (("one bad batch", True), ("one good batch", False)):
        errors = [
            work.problem.error(gathered._replace(estimates=(estimate,)).average())
            for estimate, bad in zip(gathered.estimates, work.bad, strict=True)
            if bad == wanted
        ]
        yield work.row(name, root_mean_square(errors), rule=rule)


LEVELS = (0.6, 1.0)
# Seconds for a batch of the full size and all methods, for the time left: with all rows at once as well, or without.
COSTS = {"pca": (0.22, 0.04), "regression": (0.08, 0.03)}


def simulation_cells(problem: str, size: Size, seed: int, spreads: tuple[str, ...]) -> Iterator[Cell]:
    """Return the cells of a problem for some spreads of the bad rows."""
    for repetition in range(size.repetitions):
        own = 1000 * seed + repetition
        for scenario in _scenarios(size, own, spreads):
            scale = size.total_rows / 10_000 * size.columns / 100
            cost = scale * COSTS[problem][0 if _has_centralized(scenario) else 1]
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


def _has_centralized(scenario: Scenario) -> bool:
    """Whether all rows are put together as well: an uneven spread has the rows of an even one."""
    return scenario.spread == "even" or scenario.detailed


def run_streams(settings: Streams, memory: Memory) -> list[Row]:
    """Run all methods on one stream."""
    shared = memory.setdefault("shared", Shared(PROBLEMS[settings.problem](settings.size, settings.seed)))
    work = StreamWork(settings, shared)
    recipes = dict(work.recipes())
    rows: list[Row] = []
    if _has_centralized(settings.scenario):
        rows.extend(work.centralized(recipes))
    shared.prepare(settings.scenario.contents, [*recipes, Refined()])
    rows.extend(work.yardsticks())
    for recipe, rule in recipes.items():
        rows.extend(work.aggregates(recipe, rule))
    rows.append(work.row("ours", shared.problem.error(work.gather(Refined()).filtered())))
    if settings.scenario.detailed:
        rows.extend(closer_look(work, recipes))
    return rows


_METHODS = ("plain", "centralized", "averaging", "geometric median", "online median", "ours", "oracle")
_EIGENVECTORS = ("averaging of eigenvectors",)

ONLINE_SETUP = (
    "p = 100, N = 1e6 rows in T = 100 batches, noise 1, outliers of magnitude 10; a tenth of the rows in a quick run. "
    "Streams: outliers spread evenly over the batches; 45% of the batches filled with outliers first and the rest "
    "spread evenly (at a share of 0.6 the other batches hold 27%); and an adversarial choice of 10 to 45% bad "
    "batches, the others clean, with 60% or 100% bad rows in a bad batch, without structure or in agreement on one "
    "wrong answer. The learner trims the true share of bad rows in the whole stream, or one half. The filter's "
    "constant, which the paper does not give, is 1 for PCA and 0.3 for regression, near the best of the sweep. Bands "
    "are the span of all repetitions, lines their root mean square."
)
DISTRIBUTED_SETUP = (
    "p = 100, N = 1e6 rows on k = 100 nodes, noise 1, outliers of magnitude 10; a tenth of the rows in a quick run. "
    "The paper does not say how outliers are spread over nodes. Even: every node has the same share. Uneven: 45% of "
    "the nodes are filled with outliers first, the rest is spread evenly, so that at 0.6 the other nodes hold 27% and "
    "a majority of the nodes is below its breakdown point. Trimmed: the true share of outliers, or one half."
)


def cells_of(problem: str, *spreads: str) -> Callable[[Context], Iterator[Cell]]:
    """Return the cells of some spreads."""
    return lambda context: simulation_cells(problem, context.size, context.seed, spreads)


def _methods(problem: str) -> tuple[str, ...]:
    return (*_METHODS[:2], *_EIGENVECTORS, *_METHODS[2:]) if problem == "pca" else _METHODS


def online_pictures(problem: str, name: str) -> Sequence[Picture]:
    """Return the pictures of an online experiment."""
    methods = _methods(problem)
    # All rows at once are the same rows whatever the batches they came in; there is nothing to show by bad batches.
    streamed = tuple(method for method in methods if method != "centralized")
    return (
        Picture(f"{name}-fractions", "Error against the share of outliers.", draw_fractions(problem, methods)),
        Picture(
            f"{name}-bad-batches-true-trim",
            "Error against the share of bad batches; the true share of bad rows is trimmed.",
            draw_adversarial(problem, "true", streamed),
        ),
        Picture(
            f"{name}-bad-batches-half-trim",
            "Error against the share of bad batches; one half is trimmed, as Algorithm 4 prints.",
            draw_adversarial(problem, "half", streamed),
        ),
        Picture(f"{name}-convergence", "Error against batches seen, all batches alike.", draw_convergence(problem)),
        Picture(
            f"{name}-batches-seen",
            "Error against batches seen; 40% of the batches are all outliers, the true share is trimmed. Where they "
            "come anywhere, in some repetitions they are the majority of the first batches.",
            draw_paths(problem),
        ),
        Picture(
            f"{name}-constant",
            "Error at the end against the filter's constant, the true share trimmed.",
            draw_constants(problem),
        ),
    )


def distributed_pictures(problem: str, name: str) -> Sequence[Picture]:
    """Return the picture of a distributed experiment."""
    methods = tuple(method for method in _methods(problem) if method != "online median")
    return (Picture(f"{name}-fractions", "Error against the share of outliers.", draw_fractions(problem, methods)),)


def tables_of(problem: str, *spreads: str) -> Callable[[Results], Sequence[Table]]:
    """Return errors as numbers: one line for each stream, with the true share trimmed."""
    columns = [method for method in _methods(problem) if method != "oracle"]

    def tables(results: Results) -> Sequence[Table]:
        lines = []
        for scenario in results.where(problem=problem, spread=spreads).different("scenario"):
            some = results.where(problem=problem, scenario=scenario, seen=None, order="random")
            errors = [some.rms(method=method, rule=("", "true", "true and half")) for method in columns]
            ours, oracle, usable = (some.rms(method=name) for name in ("ours", "oracle", "oracle of usable batches"))
            ratios = [_number(ours / yardstick, ".2f") for yardstick in (oracle, usable)]
            lines.append([scenario, *(_number(error) for error in (*errors, oracle)), *ratios])
        head = ["stream", *columns, "oracle", "ours / oracle", "ours / oracle of usable batches"]
        caption = (
            "Root mean square of the relative error over repetitions, the true share trimmed. Names say the share of "
            "outliers, or the share of bad batches, then that of outliers in them and their kind. The oracle is the "
            "plain method on all clean rows; that of usable batches has those of batches with fewer than half outliers."
        )
        return (Table(caption, head, lines),)

    return tables


def _number(value: float, form: str = ".3g") -> str:
    return "-" if value != value else format(value, form)


# Within this factor two errors count as comparable; beyond the other one a method counts as broken by bad rows.
ALIKE = 1.25
BROKEN = 3.0
RULES = {"true": ("true", "true and half"), "half": ("half", "true and half")}


def trim_words(rule: str) -> str:
    """Say how much is trimmed."""
    return {"true": "the true share trimmed", "half": "a half trimmed", "none": "nothing trimmed"}.get(
        rule, f"{rule} trimmed"
    )


def near_centralized(results: Results, method: str) -> Finding:
    """Compare a method with the centralized one where all batches have the same share of outliers, up to one half."""
    ratios = {
        (fraction, rule): results.rms(spread="even", fraction=fraction, method=method, rule=RULES[rule], seen=None)
        / results.rms(spread="even", fraction=fraction, method="centralized", rule=RULES[rule])
        for fraction in results.different("fraction", spread="even")
        if fraction <= 0.5
        for rule in RULES
    }
    near = {key: ratio for key, ratio in ratios.items() if ratio <= ALIKE}
    worst = max(ratios, key=lambda key: ratios[key])
    text = (
        f"Outliers spread evenly, up to one half: its error is {min(ratios.values()):.2f} to "
        f"{max(ratios.values()):.2f} times that of the centralized method; within {ALIKE} times in {len(near)} of "
        f"{len(ratios)} settings (worst at a share of {worst[0]:g}, {trim_words(worst[1])})."
    )
    return Finding(verdict(len(near), len(ratios)), text)
