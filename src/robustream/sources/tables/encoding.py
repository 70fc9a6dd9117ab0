"""How columns of a table become columns of X: numbers as they are or worked out from several, categories as indicators.

An `Encoding` is decided once, before the first batch, and is the same in every batch, file and worker, and whenever the
model is used again: it is plain data and goes into the model file. X has a column for each term, as in a formula; a
term is a product of factors, each of them an expression over columns of numbers, or a category, which has a column for
each of its levels but the reference:

    size, log(age), city[Paris], city[Rome], city[other], size:city[Paris], ...

A missing category is a missing cell in each of its indicators. A level that the encoding does not have is "other" if
there is such a level, else a missing cell, and is counted either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from robustream.batch import Illegible
from robustream.errors import DamagedFileError, InvalidInputError
from robustream.files import Tree
from robustream.files.registry import Registry
from robustream.sources.tables.error_text import UnusableError
from robustream.sources.tables.expressions import columns_in, evaluate, quoted
from robustream.sources.tables.numbers import read_numbers
from robustream.sources.tables.schema import NUMERIC, kind_of

__all__ = [
    "OTHER",
    "UNSEEN",
    "Category",
    "Encoded",
    "Encoding",
    "Factor",
    "codes_of",
    "different_cells",
    "level_of",
    "unseen_levels",
]

OTHER = "other"
# How a statistic begins that counts cells whose level has no column of its own; the name of the column follows.
UNSEEN = "other level:"

_DAY = 86_400.0
_SHOWN = 40


class Category(NamedTuple):
    """The levels of a column."""

    column: str
    levels: tuple[str, ...]
    reference: str  # the level that is compared with
    other: bool  # whether what is none of them has a column of its own

    @property
    def shown(self) -> tuple[str, ...]:
        """The levels with what stands for all others."""
        return (*self.levels, OTHER) if self.other else self.levels


class Factor(NamedTuple):
    """A number worked out from columns, or the levels of a category."""

    of: str  # an expression, or the name of a column
    category: bool = False
    reduced: bool = False  # whether the reference level has no column


class Encoded(NamedTuple):
    """The columns of X and y of some rows; how many cells are of no known level, by category; what is no date."""

    columns: list[NDArray[Any]]
    targets: list[NDArray[Any]]
    unseen: dict[str, int]
    illegible: list[Illegible]


@dataclass(frozen=True)
class Encoding:
    """How X, and y where a formula has it as an expression, are made of the columns of a table.

    Parameters
    ----------
    terms : the factors of each term.
    categories : the levels of each category.
    targets : expressions that y is made of; none if it is columns as they are.
    spelled : how a file spells the names of columns, if it does so otherwise.

    Examples
    --------
    >>> city = Category("city", ("Paris", "Rome"), "Rome", other=True)
    >>> encoding = Encoding(((Factor("size"),), (Factor("city", category=True, reduced=True),)), (city,))
    >>> encoding.names, encoding.columns
    (('size', 'city[Paris]', 'city[other]'), ('size', 'city'))
    """

    terms: tuple[tuple[Factor, ...], ...]
    categories: tuple[Category, ...] = ()
    targets: tuple[str, ...] = ()
    spelled: tuple[tuple[str, str], ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        return tuple(
            ":".join(name for name, _ in cell) for term in self.terms for cell in product(*map(self._levels, term))
        )

    @cached_property
    def origins(self) -> tuple[str, ...]:
        """The column of the table that each column of X comes from, the first where there are several."""
        return tuple(
            _columns_of(term[0])[0] if _columns_of(term[0]) else self.names[0]
            for term in self.terms
            for _ in product(*map(self._levels, term))
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that X is made of, as the table spells them."""
        return self._spell(name for term in self.terms for factor in term for name in _columns_of(factor))

    @property
    def target_columns(self) -> tuple[str, ...]:
        """The columns of the table that y is made of, where it is made of expressions."""
        return self._spell(name for target in self.targets for name in columns_in(target))

    @cached_property
    def texts(self) -> frozenset[str]:
        """The columns that must be read as text where a format has no types: categories and dates."""
        days = (name for expression in self._expressions() for name in _dates_in(expression))
        return frozenset(self._spell([*(category.column for category in self.categories), *days]))

    @property
    def dates(self) -> frozenset[str]:
        """The columns that are read as dates."""
        return frozenset(name for expression in self._expressions() for name in _dates_in(expression))

    @property
    def number_columns(self) -> frozenset[str]:
        """The columns that are needed as numbers."""
        numbers = {name for expression in self._expressions() for name in columns_in(expression)}
        return frozenset(numbers - self.dates)

    def needs(self, name: str, kind: str) -> str | None:
        """Say what a column would have to hold, if it holds something else."""
        if name in self.number_columns and kind not in NUMERIC and name not in self.texts:
            return "numbers"
        if name in self.dates and kind not in ("date", "text", "null"):
            return "dates"
        return "text or numbers" if kind == "other" else None

    def respelled(self, spelled: Mapping[str, str]) -> Encoding:
        """Return the encoding for a file that spells names otherwise; `spelled` has its spelling of the usual names."""
        return replace(self, spelled=tuple(spelled.items()))

    def encode(
        self, table: pa.RecordBatch, numbers: Callable[[pa.Array, str], NDArray[Any]], *, targets: bool = True
    ) -> Encoded:
        """Return the columns of X of some rows, and of y if there are expressions for it.

        `numbers` returns a column of numbers as an array.
        """
        spelled = dict(self.spelled)

        def cells(name: str) -> pa.Array:
            return table.column(spelled.get(name, name))

        def number(name: str) -> NDArray[Any]:
            column = cells(name)
            return (
                _numbers_in_text(column)
                if kind_of(column.type) == "text" and name not in only_numbers
                else numbers(column, name)
            )

        illegible: dict[str, Illegible] = {}

        def days(name: str) -> NDArray[Any]:
            column = cells(name)
            found = _days(column, name)
            if (no_dates := _no_dates(column, found, name)) is not None:
                illegible[name] = no_dates
            return found

        # A column that is a category as well is read as text.
        only_numbers = self.number_columns - {category.column for category in self.categories}
        unseen: dict[str, int] = {}
        indicators: dict[str, dict[str, NDArray[Any]]] = {}
        for category in self.categories:
            codes = codes_of(cells(category.column), category.levels)
            if strange := int(np.count_nonzero(codes == len(category.levels))):
                unseen[category.column] = strange
            lacking = codes < 0 if category.other else (codes < 0) | (codes == len(category.levels))
            indicators[category.column] = {
                level: np.where(lacking, np.nan, codes == place) for place, level in enumerate(category.shown)
            }
        columns = []
        for term in self.terms:
            parts = [
                [indicators[factor.of][level] for _, level in self._levels(factor)]
                if factor.category
                else [evaluate(factor.of, number, days)]
                for factor in term
            ]
            columns += [_product(cell) for cell in product(*parts)]
        made = [evaluate(target, number, days) for target in self.targets] if targets else []
        rows = table.num_rows
        return Encoded([np.broadcast_to(column, rows) for column in columns], made, unseen, list(illegible.values()))

    def describe(self) -> Iterator[str]:
        """Yield what became of each category, in words."""
        for category in self.categories:
            rest = f"; all others are {category.column}[{OTHER}]" if category.other else ""
            dropped = any(factor.of == category.column and factor.reduced for term in self.terms for factor in term)
            against = f", compared with {category.reference!r}" if dropped else ""
            count = len(category.levels)
            yield f"category {category.column!r} has {count} level{'s' if count > 1 else ''}{against}{rest}"

    def to_tree(self) -> Tree:
        """Return it as plain data."""
        return _REGISTRY.encode(self)

    @classmethod
    def from_tree(cls, tree: Tree, width: int) -> Encoding:
        """Return the encoding that `to_tree` gave, of so many columns of X, or raise DamagedFileError."""
        encoding = _REGISTRY.decode(tree)
        if not isinstance(encoding, Encoding) or not encoding._is_sound(width):
            raise DamagedFileError("its encoding of columns makes no sense")
        return encoding

    def _is_sound(self, width: int) -> bool:
        """Tell whether all parts of an encoding from a file have their types, and expressions are arithmetic."""
        terms: Any = self.terms
        categories: Any = self.categories
        texts = [*_strings(self.targets)]
        if not isinstance(terms, tuple) or not isinstance(categories, tuple) or self.spelled != ():
            return False
        for category in categories:
            if not isinstance(category, Category) or type(category.other) is not bool:
                return False
            texts += [category.column, *_strings(category.levels)]
            if category.reference not in category.shown:
                return False
        known = {category.column for category in categories}
        for factor in [factor for term in terms for factor in (term if isinstance(term, tuple) and term else [None])]:
            if not isinstance(factor, Factor) or not all(type(flag) is bool for flag in factor[1:]):
                return False
            texts.append(factor.of)
            if factor.category and factor.of not in known:
                return False
        if len(known) < len(categories) or not all(type(text) is str for text in texts):
            return False
        try:
            for expression in self._expressions():
                columns_in(expression)
        except InvalidInputError:
            return False
        # Before their names are made: a few categories multiply to any number of columns.
        return sum(prod(len(self._levels(factor)) for factor in term) for term in terms) == width

    def _expressions(self) -> tuple[str, ...]:
        return (*(factor.of for term in self.terms for factor in term if not factor.category), *self.targets)

    def _levels(self, factor: Factor) -> list[tuple[str, str]]:
        """Return the name of each column of a factor, and its level."""
        if not factor.category:
            return [(factor.of.strip("`") if factor.of.count("`") == 2 and factor.of[0] == "`" else factor.of, "")]
        category = self._category(factor.of)
        dropped = category.reference if factor.reduced else None
        return [(f"{factor.of}[{level}]", level) for level in category.shown if level != dropped]

    def _category(self, column: str) -> Category:
        return next(category for category in self.categories if category.column == column)

    def _spell(self, names: Any) -> tuple[str, ...]:
        spelled = dict(self.spelled)
        return tuple(dict.fromkeys(spelled.get(name, name) for name in names))


def _strings(value: Any) -> tuple[Any, ...]:
    """Return what should be a tuple of strings; its members are looked at by whoever asks."""
    return value if isinstance(value, tuple) else (value,)


_REGISTRY = Registry([Encoding, Category, Factor])


def unseen_levels(counts: Mapping[str, float]) -> dict[str, int]:
    """Return from statistics of batches how many cells of each category have no column for their level."""
    return {name[len(UNSEEN) :]: int(cells) for name, cells in counts.items() if name.startswith(UNSEEN)}


def level_of(value: Any) -> str | None:
    """Return the level that a cell stands for: text without blanks around it, whole numbers without decimals.

    >>> level_of(" Paris "), level_of(3.0), level_of("3.0"), level_of(True), level_of(float("nan")), level_of("  ")
    ('Paris', '3', '3', 'true', None, None)
    """
    if value is None or value != value:
        return None
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    whole, point, decimals = text.partition(".")
    if point and not decimals.strip("0") and whole.lstrip("+-").isdigit():
        text = whole
    return text or None


def different_cells(column: pa.Array) -> tuple[list[str | None], NDArray[Any]]:
    """Return the levels of the different cells of a column, and for each cell which it is, -1 if it is missing."""
    if not pa.types.is_dictionary(column.type):
        if kind_of(column.type) == "other":
            raise UnusableError("a category must hold text or numbers, not nested or binary values")
        column = column.dictionary_encode()
    places = pc.fill_null(column.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return [level_of(value) for value in column.dictionary.to_pylist()], places


def codes_of(column: pa.Array, levels: tuple[str, ...]) -> NDArray[Any]:
    """Return the place of each cell among the levels: their number if it is none of them, -1 if it is missing.

    >>> codes_of(pa.array(["b", None, "a", "c"]), ("a", "b"))
    array([ 1, -1,  0,  2])
    """
    different, places = different_cells(column)
    known = {level: place for place, level in enumerate(levels)}
    codes = [-1 if level is None else known.get(level, len(levels)) for level in different]
    return np.array([*codes, -1], np.int64)[places]


def _columns_of(factor: Factor) -> tuple[str, ...]:
    return (factor.of,) if factor.category else columns_in(factor.of)


def _dates_in(expression: str) -> tuple[str, ...]:
    """Return the columns that an expression takes for dates."""
    return tuple(name for name in columns_in(expression) if f"days({quoted(name)})" in expression)


def _product(parts: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    found = parts[0]
    for part in parts[1:]:
        with np.errstate(over="ignore", invalid="ignore"):
            found = found * part
    return found


def _numbers_in_text(column: pa.Array) -> NDArray[Any]:
    different, places = different_cells(column)
    found = read_numbers([text or "" for text in different])
    return np.array([*(np.nan if number is None else number for number in found), np.nan])[places]


def _days(column: pa.Array, name: str) -> NDArray[Any]:
    """Return dates and times as days since 1970 in UTC, durations as days; text must be as in 2024-01-31T12:30."""
    kind, types = kind_of(column.type), pa.types
    if kind == "text":
        different, places = different_cells(column)
        return np.array([*(_day_of(text) for text in different), np.nan])[places]
    if kind not in ("date", "null"):
        raise UnusableError(f"column {name!r} holds numbers where dates are needed")
    if kind == "null":
        return np.full(len(column), np.nan)
    if types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    # Whole numbers of a unit of time; the type says of which.
    seconds = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[column.type.unit]
    whole = column.cast(pa.int32()).cast(pa.int64()) if types.is_time32(column.type) else column.cast(pa.int64())
    return whole.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) * (seconds / _DAY)


def _no_dates(column: pa.Array, days: NDArray[Any], name: str) -> Illegible | None:
    """Return how many cells of text are no dates, and the first of them."""
    if kind_of(column.type) != "text":
        return None
    bad = np.isnan(days) & (different_cells(column)[1] >= 0)
    if not bad.any():
        return None
    first = int(np.argmax(bad))
    cell = str(column[first].as_py())[:_SHOWN]
    reason = f"column {name!r} holds {cell!r} where a date such as 2024-01-31 or 2024-01-31 12:30 is needed"
    return Illegible(name, int(bad.sum()), first, reason)


def _day_of(text: str | None) -> float:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return float("nan")
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() / _DAY
