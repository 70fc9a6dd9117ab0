"""What a person asks of columns that are not plain numbers, and the encoding that follows from it and the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from robustream.errors import InvalidInputError
from robustream.sources.tables.encoding import Category, Encoding, Factor
from robustream.sources.tables.error_text import some_names
from robustream.sources.tables.expressions import is_column, quoted
from robustream.sources.tables.formula import Asked, Formula, read_formula
from robustream.sources.tables.levels import CountLevels, learned_category, named_category

__all__ = ["CODINGS", "Encoder", "make_encoder"]

# Which levels have a column. Beside an intercept one level of each category follows from the others, and its rows are
# what the others are compared with; without one only from the second category on. A PCA has no such redundancy to fear,
# and its answer must not depend on which level is dropped.
CODINGS = ("reference", "first", "all")


def make_encoder(
    categorical: str | Sequence[str],
    categories: Mapping[str, Sequence[object]] | None,
    dates: str | Sequence[str],
    formula: str | None,
    coding: str,
) -> Encoder:
    """Return what is asked for, after a look at it."""
    named = {"categorical": categorical, "dates": dates}
    lists = {argument: (names,) if isinstance(names, str) else tuple(names) for argument, names in named.items()}
    for argument, names in lists.items():
        if not all(isinstance(name, str) for name in names):
            raise InvalidInputError(f"{argument} must be names of columns, got {named[argument]!r}.", argument)
    if categories is not None and not isinstance(categories, Mapping):
        raise InvalidInputError(
            f"categories must be a dictionary of columns with their levels, got {categories!r}.", "categories"
        )
    return Encoder(lists["categorical"], categories or {}, lists["dates"], formula, coding)


@dataclass(frozen=True)
class Encoder:
    """Categories, dates and formulas, as asked for.

    Parameters
    ----------
    categorical : columns whose levels are to be learned.
    categories : columns with their levels.
    dates : columns of dates that become days since 1970.
    formula : see `robustream.sources.tables.formula`; then the others name nothing that it does not.
    coding : one of CODINGS.
    fixed : an encoding that was decided before.
    """

    categorical: tuple[str, ...] = ()
    categories: Mapping[str, Sequence[object]] = field(default_factory=dict)
    dates: tuple[str, ...] = ()
    formula: str | None = None
    coding: str = "reference"
    fixed: Encoding | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that are named outside of a formula."""
        return tuple(dict.fromkeys((*self.categorical, *self.categories, *self.dates)))

    @property
    def names_all(self) -> bool:
        """Whether no other columns are wanted."""
        return self.formula is not None or self.fixed is not None

    @property
    def argument(self) -> str:
        """The argument by which columns are named."""
        return "formula" if self.formula is not None else "columns" if self.fixed is not None else "categorical"

    def columns_of(self, known: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that are asked for; `known` are those that a dot in a formula stands for."""
        if self.fixed is not None:
            return self.fixed.columns
        return self.named if self.formula is None else read_formula(self.formula, known).columns

    @cached_property
    def target_expressions(self) -> tuple[str, ...]:
        """The targets of the formula, or of the encoding, unless they are plain columns."""
        targets = self.fixed.targets if self.fixed is not None else ()
        if self.formula is not None:
            targets = read_formula(self.formula).targets
        return () if all(map(is_column, targets)) else targets

    def encoding(self, columns: Sequence[str], kinds: Mapping[str, str], count: CountLevels) -> Encoding:
        """Return the encoding of columns of these kinds; `count` counts levels."""
        if self.fixed is not None:
            return self.fixed
        if both := [name for name in self.dates if name in self.categorical or name in self.categories]:
            raise InvalidInputError(f"dates must not name a category, got {some_names(both)} in both.", "dates")
        formula = None if self.formula is None else read_formula(self.formula, columns)
        asked = self._asked(columns, kinds, formula)
        found = self._found(asked, count)
        if formula is None:
            return Encoding(self._terms(columns, found), tuple(found.values()))
        of_factor = {factor: asked.column for factor, asked in formula.categories.items()}
        of_factor |= {quoted(name): name for name in found}
        terms = formula.coded(of_factor, intercept=self.coding == "reference", all_levels=self.coding == "all")
        return Encoding(tuple(terms), tuple(found.values()), self.target_expressions)

    def _asked(self, columns: Sequence[str], kinds: Mapping[str, str], formula: Formula | None) -> list[Asked]:
        """Return the categories: those that are named, and text in a formula."""
        asked = {name: Asked(name) for name in self.categorical}
        asked |= {
            name: Asked(name, tuple(levels)) for name, levels in self.categories.items() if _are_levels(name, levels)
        }
        if formula is not None:
            if idle := [name for name in self.named if name not in columns]:
                raise InvalidInputError(f"the formula does not name {some_names(idle)}.", "formula", "categorical")
            for category in formula.categories.values():
                before = asked.get(category.column)
                if before is not None and category.levels is None:
                    category = category._replace(levels=before.levels)
                asked[category.column] = category
            words = {factor for term in formula.terms for factor in term} - formula.categories.keys()
            for name in columns:
                if quoted(name) in words and kinds[name] == "text":
                    asked.setdefault(name, Asked(name))
        return list(asked.values())

    def _found(self, asked: Sequence[Asked], count: CountLevels) -> dict[str, Category]:
        """Return the category of each column, with levels as named or learned."""
        unknown = [each.column for each in asked if each.levels is None]
        if unknown and count is None:
            raise InvalidInputError(
                f"the levels of {some_names(unknown)} must be named, since these rows can be read only once: "
                f"categories={{{unknown[0]!r}: [...]}}, or C({quoted(unknown[0])}, levels=[...]) in a formula.",
                "categories",
                "formula",
            )
        counts = {} if count is None or not unknown else count(unknown)
        return {
            each.column: learned_category(each.column, counts[each.column], each.reference)
            if each.levels is None
            else named_category(each.column, each.levels, each.reference)
            for each in asked
        }

    def _terms(self, columns: Sequence[str], found: Mapping[str, Category]) -> tuple[tuple[Factor, ...], ...]:
        terms = []
        reduced = self.coding == "reference"
        for name in columns:
            if name in found:
                terms.append((Factor(name, True, reduced),))
                reduced = self.coding != "all"
            else:
                terms.append((Factor(f"days({quoted(name)})" if name in self.dates else quoted(name)),))
        return tuple(terms)


def _are_levels(name: str, levels: object) -> bool:
    if isinstance(levels, str) or not isinstance(levels, Sequence):
        raise InvalidInputError(f"categories must have a list of levels for {name!r}, got {levels!r}.", "categories")
    return True
