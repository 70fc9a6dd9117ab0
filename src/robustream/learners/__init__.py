"""How one batch becomes an estimate."""

from __future__ import annotations

from robustream.errors import InvalidInputError
from robustream.learners.base import Learner, LinearProblem, PrincipalProblem, Recipe, Solved
from robustream.learners.classical import Classical
from robustream.learners.refined import Refined
from robustream.learners.trimmed import Trimmed

__all__ = [
    "RECIPES",
    "Classical",
    "Learner",
    "LinearProblem",
    "PrincipalProblem",
    "Recipe",
    "Refined",
    "Solved",
    "Trimmed",
    "resolve_recipe",
]

RECIPES: dict[str, type[Recipe]] = {recipe.name: recipe for recipe in (Refined, Classical, Trimmed)}


def resolve_recipe(learner: str | Recipe) -> Recipe:
    """Give the recipe of that name with its default settings, or the object itself."""
    if isinstance(learner, Recipe):
        return learner
    if isinstance(learner, str) and learner in RECIPES:
        return RECIPES[learner]()
    raise InvalidInputError(
        f"learner must be one of {sorted(RECIPES)} or an object from robustream.learners, got {learner!r}"
    )
