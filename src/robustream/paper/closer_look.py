"""A closer look at some streams: orders of arrival, the way there, the filter's constant, and batches by themselves."""

from __future__ import annotations

from collections.abc import Iterator

from robustream.learners import Recipe, Refined, Trimmed
from robustream.paper.cells import Row
from robustream.paper.methods import arrival
from robustream.paper.results import root_mean_square
from robustream.paper.stream_work import StreamWork

__all__ = ["CONSTANTS", "ORDERS", "closer_look"]

CONSTANTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ORDERS = ("random", "first", "last")
MOMENTS = (1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100)


def closer_look(work: StreamWork, recipes: dict[Recipe, str]) -> Iterator[Row]:
    """Give the rows that only some streams have."""
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
