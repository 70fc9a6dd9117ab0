"""Which levels a category has, learned in a quick pass over its column before the first batch.

Any file may be garbage, and garbage must not add hundreds of levels. A level has a column of its own if

- it holds one row in a hundred, or
- it holds thirty rows and is in more than one file: in two, and in one of twenty where there are many. Of a single
  table thirty rows are enough. Where most files hold mostly the same levels, those that do not have no say in this.

All other levels are "other" together. Words that a bad file made up are in no other file, and one file among many
holds few rows; files in which another column took this place are not like most; a file for each city passes by its
share of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from robustream.errors import InvalidInputError
from robustream.sources.tables.encoding import OTHER, Category, different_cells, level_of

__all__ = [
    "MOST_LEVELS",
    "CountLevels",
    "LevelCounts",
    "join_counts",
    "learned_category",
    "levels_in",
    "named_category",
]

# Each level is a column of X. With more of them no batch has rows enough to tell their coefficients.
MOST_LEVELS = 200
# Fewer rows say little about a level's coefficient: its standard error would be a fifth of the noise.
_LEAST_ROWS = 30
_LEAST_SHARE = 0.01
_LEAST_FILES, _LEAST_SHARE_OF_FILES = 2, 0.05
# Different values of a file that are counted: more of them than can be levels, and so few that thousands of files fit.
_MOST_DIFFERENT = 2_000


@dataclass
class LevelCounts:
    """How many rows, and how many files that are like most, hold each level of a column.

    `different` is the least number of different values that there are, `complete` whether all rows were looked at.
    """

    rows: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    rows_seen: int = 0
    files_seen: int = 0
    different: int = 0
    complete: bool = True


# Returns the counts of some columns; None where rows can be read only once.
CountLevels = Callable[[Sequence[str]], Mapping[str, LevelCounts]] | None


def levels_in(tables: Iterable[pa.Table], columns: Sequence[str]) -> dict[str, Counter[str]]:
    """Return how many rows of the tables that a file is made of hold each level of some columns.

    >>> levels_in([pa.table({"city": ["Rome", "Paris"]}), pa.table({"city": ["Rome", None]})], ["city"])
    {'city': Counter({'Rome': 2, 'Paris': 1})}
    """
    found: dict[str, Counter[str]] = {name: Counter() for name in columns}
    for table in tables:
        for name in columns:
            for chunk in table.column(name).chunks:
                levels, places = different_cells(chunk)
                often = np.bincount(places[places >= 0], minlength=len(levels))
                for level, times in zip(levels, often.tolist(), strict=True):
                    if level is not None and times:
                        found[name][level] += times
    return found


def join_counts(
    files: Iterable[Mapping[str, Counter[str]]], columns: Sequence[str], *, complete: bool
) -> dict[str, LevelCounts]:
    """Put the counts of files together."""
    kept: dict[str, list[dict[str, int]]] = {name: [] for name in columns}
    counts = {name: LevelCounts(complete=complete) for name in columns}
    for of_file in files:
        for name, found in of_file.items():
            total = counts[name]
            total.rows_seen += found.total()
            total.different = max(total.different, len(found))
            kept[name].append(dict(found.most_common(_MOST_DIFFERENT)))
    for name, total in counts.items():
        of_files = [found for found in kept[name] if found]
        total.files_seen = len(of_files)
        for levels in of_files:
            total.rows.update(levels)
        for levels in _in_line(of_files):
            total.files.update(levels.keys())
        total.different = max(total.different, len(total.rows))
    return counts


def _in_line(files: Sequence[dict[str, int]]) -> list[dict[str, int]]:
    """Return the files that hold what most files hold.

    That is told only where most do: where each file is of another city, there is nothing to be in line with.
    """
    in_files = Counter(level for found in files for level in found)
    usual = {level for level, times in in_files.items() if 2 * times > len(files)}
    shares = [sum(found.get(level, 0) for level in usual) / sum(found.values()) for found in files]
    ordinary = [found for found, share in zip(files, shares, strict=True) if 2 * share > 1]
    return ordinary if 2 * len(ordinary) > len(files) else list(files)


def learned_category(column: str, counts: LevelCounts, reference: str | None = None) -> Category:
    """Return the category that the counts amount to, by the rule above, or raise InvalidInputError."""
    several = counts.files_seen > 1
    least_files = max(_LEAST_FILES, _LEAST_SHARE_OF_FILES * counts.files_seen) if several else 1
    usual = [
        level
        for level, rows in counts.rows.items()
        if rows >= _LEAST_SHARE * counts.rows_seen or (rows >= _LEAST_ROWS and counts.files[level] >= least_files)
    ]
    if not usual:
        found = f"{counts.different:,} different values, none of them in many rows" if counts.rows else "no values"
        raise InvalidInputError(
            f"column {column!r} cannot be a category: it has {found}. Leave it out, or name the levels that matter: "
            f"categories={{{column!r}: [...]}}.",
            "categorical",
            "exclude",
        )
    if len(usual) > MOST_LEVELS:
        raise InvalidInputError(
            f"column {column!r} has {len(usual):,} levels that are common enough to have a column each; at most "
            f"{MOST_LEVELS} can be used. Leave it out, or name those that matter: categories={{{column!r}: [...]}}.",
            "categorical",
            "exclude",
        )
    if reference is not None and reference not in usual:
        raise InvalidInputError(
            f"the reference {reference!r} must be a level of {column!r}, got {sorted(usual)}.", "formula"
        )
    levels = tuple(sorted((level for level in usual if level != OTHER), key=_in_order))
    often = reference or max(levels or [OTHER], key=lambda level: counts.rows[level])
    # Where not all rows were looked at, what was not seen needs a place.
    other = len(usual) < counts.different or OTHER in usual or not counts.complete
    return Category(column, levels, often, other)


def named_category(column: str, levels: Sequence[object], reference: str | None = None) -> Category:
    """Return the category of levels that a person named; the first is the reference unless another is."""
    named = [] if isinstance(levels, str) else [level_of(level) for level in levels]
    names = [level for level in named if level is not None]
    if not names or len(names) < len(named) or len(set(names)) < len(names):
        raise InvalidInputError(
            f"categories must name the levels of {column!r}, each once, as a list; got {levels!r}.", "categories"
        )
    if len(names) > MOST_LEVELS:
        raise InvalidInputError(
            f"categories must name at most {MOST_LEVELS} levels of {column!r}, got {len(names)}.", "categories"
        )
    if reference is not None and reference not in names:
        raise InvalidInputError(f"the reference {reference!r} must be a level of {column!r}, got {names}.", "formula")
    kept = tuple(level for level in names if level != OTHER)
    return Category(column, kept, reference or names[0], True)


def _in_order(level: str) -> tuple[int, float, str]:
    """Order levels that are numbers as numbers, the others after them as text."""
    try:
        return 0, float(level), level
    except ValueError:
        return 1, 0.0, level
