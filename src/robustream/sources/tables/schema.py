"""Which columns to read: decided by the majority of the files, since any one of them may be garbage, the first too.

What a column holds is told in a few words (its kind): numbers of several sorts, text, dates, nothing. `Columns` is what
is known of one table before it is read, `Selection` what is read from all of them.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from robustream.errors import InvalidInputError
from robustream.sources.tables.error_text import some_names

__all__ = [
    "NUMBERS_IN_TEXT",
    "NUMERIC",
    "Columns",
    "Selected",
    "Selection",
    "UnknownColumnsError",
    "choose_columns",
    "columns_of",
    "columns_of_schema",
    "describe_kind",
    "kind_of",
    "kind_of_numpy",
    "numbered",
    "usual_spellings",
    "why_unfit",
]

NUMERIC = frozenset({"float32", "float64", "integer", "boolean", "decimal", "null", "written", "yes/no"})
# Text that stands for numbers: 224 mi, 1,234, yes. Where text is wanted, it is text.
NUMBERS_IN_TEXT = frozenset({"written", "yes/no"})


_WORDS = {"text": "text", "date": "dates or times", "other": "nested or binary values"}
# Columns without a name, and what pandas makes of its index: they number rows, or are empty.
_NUMBERS_OF_ROWS = re.compile(r"\s*|Unnamed: \d+|__index_level_\d+__")
# Numbers with decimals, and dates. Whole numbers are names that pandas gives, or years.
_LIKE_A_CELL = re.compile(r"[+-]?\d*[.,]\d+(e[+-]?\d+)?|-\d+|\d{4}-\d\d-\d\d.*", re.IGNORECASE)


@lru_cache(maxsize=256)
def kind_of(arrow_type: pa.DataType) -> str:
    """Return what a column of an Arrow type holds.

    >>> kind_of(pa.int8()), kind_of(pa.float16()), kind_of(pa.large_string()), kind_of(pa.null())
    ('integer', 'float32', 'text', 'null')
    """
    types = pa.types
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    tests: tuple[tuple[str, Any], ...] = (
        ("float64", types.is_float64),
        ("float32", types.is_floating),
        ("integer", types.is_integer),
        ("boolean", types.is_boolean),
        ("decimal", types.is_decimal),
        ("null", types.is_null),
        ("date", types.is_temporal),
        ("text", lambda kind: types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view()),
    )
    return next((name for name, test in tests if test(arrow_type)), "other")


def kind_of_numpy(dtype: np.dtype[Any]) -> str:
    """Return what an array of a NumPy type holds.

    >>> kind_of_numpy(np.dtype(np.float16)), kind_of_numpy(np.dtype("U5"))
    ('float32', 'text')
    """
    if dtype.kind == "f":
        return "float32" if dtype.itemsize <= 4 else "float64"
    kinds = {"i": "integer", "u": "integer", "b": "boolean", "U": "text", "M": "date", "m": "date"}
    return kinds.get(dtype.kind, "other")


def describe_kind(kind: str) -> str:
    """Say in words what a column holds."""
    return _WORDS.get(kind, "numbers")


@dataclass(frozen=True)
class Columns:
    """The columns of a table: their kinds by name, in the order of the table.

    `doubled` are the names that more than one column has; `certain` says whether the kinds hold for all rows, or only
    for the first ones.
    """

    kinds: Mapping[str, str]
    doubled: frozenset[str]
    certain: bool


def columns_of(names: Sequence[str], kinds: Sequence[str], *, certain: bool = True) -> Columns:
    """Return the columns of these names and kinds; thousands of files alike share one answer.

    >>> columns_of(["a", "b", "a"], ["text", "text", "text"]).doubled
    frozenset({'a'})
    """
    return _columns(tuple(map(sys.intern, names)), tuple(kinds), certain)


@lru_cache(maxsize=8)
def _columns(names: tuple[str, ...], kinds: tuple[str, ...], certain: bool) -> Columns:
    doubled = frozenset(name for name, times in Counter(names).items() if times > 1)
    return Columns(dict(zip(names, kinds, strict=True)), doubled, certain)


def columns_of_schema(schema: pa.Schema) -> Columns:
    """Return the columns of an Arrow schema."""
    return columns_of(schema.names, [kind_of(arrow_type) for arrow_type in schema.types])


def usual_spellings(tables: Sequence[Columns], asked: Sequence[str] = ()) -> dict[str, str]:
    """Return the usual spelling of names that differ from it only in case, blanks, underscores or accents.

    A name that a person asked for is the usual one, else the one that most tables have. Where one table has two such
    names, they are two columns, and stay.

    >>> tables = [columns_of(names, ["text"] * 2) for names in (["Größe", "Dep Time"], ["GRÖSSE", "dep_time"])]
    >>> usual_spellings([*tables, tables[0]])
    {'GRÖSSE': 'Größe', 'dep_time': 'Dep Time'}
    """
    known = Counter(name for table in tables for name in table.kinds)
    alike: dict[str, list[str]] = {}
    for name in known:
        alike.setdefault(_letters(name), []).append(name)
    several = {letters: names for letters, names in alike.items() if letters and len(names) > 1}
    for table in {id(table): table for table in tables}.values() if several else ():
        for letters, times in Counter(map(_letters, table.kinds)).items():
            if times > 1:
                several.pop(letters, None)
    usual: dict[str, str] = {}
    for names in several.values():
        best = max(names, key=lambda name: (name in asked, known[name]))
        usual |= {name: best for name in names if name != best}
    return usual


@lru_cache(maxsize=4096)
def _letters(name: str) -> str:
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
    return re.sub(r"[\s_]+", "", plain).casefold()


def numbered(columns: int) -> list[str]:
    """Name columns that have no names.

    >>> numbered(3)
    ['f0', 'f1', 'f2']
    """
    return [f"f{place}" for place in range(columns)]


@dataclass(frozen=True)
class Selection:
    """Which columns are read, and what becomes of them.

    Parameters
    ----------
    features, targets : names of columns.
    single : whether y has one dimension.
    dtype : type of X, and of a y of numbers.
    target_kind : "number", or what the targets hold where they are classes: "integer", "boolean", "text", "float64".
    missing : "skip", "skip-infinite", "error" or "keep"; see `Tables`.
    keep : names of columns that come along as they are, whatever they hold.
    """

    features: tuple[str, ...]
    targets: tuple[str, ...]
    single: bool
    dtype: np.dtype[Any]
    target_kind: str
    missing: str
    # Not in the text that a checkpoint keeps of a selection: what comes along does not change a fit.
    keep: tuple[str, ...] = field(default=(), repr=False)

    @property
    def learned(self) -> tuple[str, ...]:
        """The columns that X and y are made of."""
        return self.features + self.targets

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, those of X and y first."""
        return tuple(dict.fromkeys(self.learned + self.keep))

    @property
    def text_targets(self) -> frozenset[str]:
        """The targets that hold text."""
        return frozenset(self.targets if self.target_kind == "text" else ())

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are read as text where a format has no types."""
        return self.text_targets | (frozenset(self.keep) - frozenset(self.learned))


class Selected:
    """What the chosen columns tell of a table that has not been read yet."""

    _selection: Selection

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the table beside what failed."""
        return ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        return self._selection.features

    @property
    def target_names(self) -> tuple[str, ...]:
        """The names of the columns of y."""
        return self._selection.targets

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of X: float32 if all columns are float16 or float32, else float64."""
        return self._selection.dtype


class UnknownColumnsError(InvalidInputError):
    """Columns were asked for that no file has."""

    def __init__(self, argument: str, absent: Sequence[str], known: Sequence[str]) -> None:
        near = list(dict.fromkeys(close for name in absent for close in get_close_matches(name, known, n=3)))
        there = f"Did you mean {some_names(near)}?" if near else f"The columns are {some_names(list(known), most=20)}."
        self.argument = argument
        self.lacking = f"no file has a column {some_names(list(absent))}. {there}{_hint(known)}"
        super().__init__(f"{argument} must be names of columns; {self.lacking}", argument, *_header(known))


def choose_columns(
    tables: Sequence[Columns],
    *,
    target: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    exclude: str | Sequence[str],
    missing: str,
    text_target: bool,
    show: Callable[[str], str | None] = lambda name: None,
    keep: Sequence[str] = (),
) -> Selection:
    """Decide what is read from all tables; see `Tables` for the parameters. `show` shows a cell of a column."""
    targets = _names("target", target)
    left_out = _names("exclude", exclude)
    wanted = None if columns is None else _names("columns", columns)
    beside = _names("keep", keep)
    known = Counter(name for table in tables for name in table.kinds)
    for argument, names in ("target", targets), ("exclude", left_out), ("columns", wanted or ()), ("keep", beside):
        if absent := [name for name in names if name not in known]:
            raise UnknownColumnsError(argument, absent, list(known))
        if both := [name for name in names if argument in ("exclude", "columns") and name in targets]:
            raise InvalidInputError(f"{argument} must not name the target, got {some_names(both)} in both.", argument)
    if wanted is None:
        common = [name for name in _common(tables, known) if not _NUMBERS_OF_ROWS.fullmatch(name)]
        features = tuple(name for name in common if name not in targets and name not in left_out)
    else:
        features = tuple(name for name in wanted if name not in left_out)
    if not features:
        raise InvalidInputError(
            f"No column is left to learn from; most files have {some_names(list(known))}.", "columns", "exclude"
        )
    kinds = {name: _usual_kind(name, tables) for name in features + targets}
    _refuse_text(features, kinds, show)
    return Selection(
        features,
        targets,
        isinstance(target, str),
        np.dtype(np.float32 if all(kinds[name] == "float32" for name in features) else np.float64),
        _target_kind(targets, kinds, text_target, show),
        missing,
        beside,
    )


def why_unfit(table: Columns, selection: Selection) -> str | None:
    """Say why a table cannot give the selected columns, if that is known already."""
    if absent := [name for name in selection.names if name not in table.kinds]:
        return f"it has no column {some_names(absent)} (its columns are {some_names(list(table.kinds))})"
    if doubled := [name for name in selection.names if name in table.doubled]:
        return f"it has more than one column named {some_names(doubled)}"
    if table.certain:
        for name in selection.learned:
            kind = table.kinds[name]
            if kind not in NUMERIC and not (kind == "text" and name in selection.text_targets):
                return f"column {name!r} holds {describe_kind(kind)} where numbers are needed"
    return None


def _names(argument: str, names: str | Iterable[str] | None) -> tuple[str, ...]:
    listed = () if names is None else (names,) if isinstance(names, str) else tuple(names)
    if not all(isinstance(name, str) for name in listed):
        raise InvalidInputError(f"{argument} must be names of columns, got {names!r}.", argument)
    if doubled := [name for name, times in Counter(listed).items() if times > 1]:
        raise InvalidInputError(f"{argument} must name each column once, got {some_names(doubled)} again.", argument)
    return listed


def _header(names: Sequence[str]) -> tuple[str, ...]:
    """Return the argument to think of if names seem to be cells: those of a first line that is a row already."""
    return ("header",) if any(_LIKE_A_CELL.fullmatch(name) for name in names) else ()


def _hint(names: Sequence[str]) -> str:
    return " If the first line of the files is a row already, header=False says so." if _header(names) else ""


def _common(tables: Sequence[Columns], known: Counter[str]) -> list[str]:
    """Return the columns that most tables have, in the order in which most of the tables that have them all do."""
    common = {name for name, times in known.items() if 2 * times > len(tables)}
    if not common:
        # No column is in most files: the layout that more files have than any other is the best guess left.
        return list(Counter(tuple(table.kinds) for table in tables).most_common(1)[0][0])
    orders = Counter(
        tuple(name for name in table.kinds if name in common) for table in tables if common <= table.kinds.keys()
    )
    if orders:
        return list(orders.most_common(1)[0][0])
    return [name for name in known if name in common]


def _usual_kind(name: str, tables: Sequence[Columns]) -> str:
    kinds = Counter(table.kinds[name] for table in tables if name in table.kinds)
    del kinds["null"]
    if not kinds:
        return "null"
    # Numbers of several sorts together outvote text.
    numbers = Counter({kind: times for kind, times in kinds.items() if kind in NUMERIC})
    if 2 * numbers.total() >= kinds.total():
        narrow = numbers.pop("float32", 0)
        return "float32" if narrow > numbers.total() else _most(numbers)
    return _most(kinds)


def _most(kinds: Counter[str]) -> str:
    return max(kinds, key=lambda kind: kinds[kind])


def _refuse_text(features: Sequence[str], kinds: dict[str, str], show: Callable[[str], str | None]) -> None:
    refused = [name for name in features if kinds[name] not in NUMERIC]
    if refused:
        holds = " and ".join(dict.fromkeys(describe_kind(kinds[name]) for name in refused)) + _shown(refused[0], show)
        verb = "holds" if len(refused) == 1 else "hold"
        raise InvalidInputError(
            f"Only columns of numbers can be learned from; {some_names(refused, most=20)} {verb} {holds}. "
            f"exclude=[...] leaves columns out.{_hint(list(kinds))}",
            "exclude",
            *_header(list(kinds)),
        )


def _shown(name: str, show: Callable[[str], str | None]) -> str:
    cell = show(name)
    return "" if cell is None else f" ({cell})"


def _target_kind(
    targets: Sequence[str], kinds: dict[str, str], text_target: bool, show: Callable[[str], str | None]
) -> str:
    if text_target and targets:
        different = {"text" if kinds[name] in NUMBERS_IN_TEXT else kinds[name] for name in targets}
        if different <= {"integer"} or different <= {"boolean"} or different <= {"text"}:
            return different.pop()
        return "text" if "text" in different else "float64"
    if refused := [name for name in targets if kinds[name] not in NUMERIC]:
        raise InvalidInputError(
            f"target must be a column of numbers; {some_names(refused)} holds {describe_kind(kinds[refused[0]])}"
            f"{_shown(refused[0], show)}.",
            "target",
        )
    return "number"
