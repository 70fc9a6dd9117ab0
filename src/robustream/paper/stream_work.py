"""One stream at work: every method on its batches, each as a row of the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from robustream.learners import Classical, Recipe, Refined, Trimmed
from robustream.paper.cells import Row
from robustream.paper.contents import Scenario
from robustream.paper.estimates import Shared, Split
from robustream.paper.methods import Gathering, arrange
from robustream.paper.sizes import Size

__all__ = ["CONSTANT", "SOME_TRIM", "StreamWork", "Streams"]

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
        """Give a row with the settings of the stream; `more` adds to them or takes their place."""
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
        """Give the estimates that one learner makes of the stream, in order of arrival."""
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
