"""The simulations behind Figure 1: every method on every stream, from shared estimates."""

from __future__ import annotations

from collections.abc import Iterator

from robustream.learners import Refined
from robustream.paper.cells import Cell, Memory, Row
from robustream.paper.closer_look import closer_look
from robustream.paper.contents import GARBAGE, Scenario, adversarial, evenly, unevenly
from robustream.paper.estimates import Shared
from robustream.paper.problems import PROBLEMS
from robustream.paper.sizes import Size
from robustream.paper.stream_work import Streams, StreamWork

__all__ = ["LEVELS", "Streams", "run_streams", "simulation_cells"]

LEVELS = (0.6, 1.0)
# Seconds for a batch of the full size and all methods, for the time left: with all rows at once as well, or without.
COSTS = {"pca": (0.22, 0.04), "regression": (0.08, 0.03)}


def simulation_cells(problem: str, size: Size, seed: int, spreads: tuple[str, ...]) -> Iterator[Cell]:
    """Give the cells of a problem for some spreads of the bad rows."""
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
