"""Which columns to read: decided by the majority of the files, since any one of them may be garbage, the first too.

What a column holds is told in a few words (its kind): numbers of several sorts, text, dates, nothing. `Columns` is what
is known of one table before it is read, `Selection` what is read from all of them.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from robustream.errors import InvalidInputError
from robustream.sources.tables.error_text import Limits, some_names
from robustream.sources.tables.expressions import columns_in

if TYPE_CHECKING:
    from robustream.sources.tables.encoder import Encoder
    from robustream.sources.tables.encoding import Encoding
    from robustream.sources.tables.levels import CountLevels

__all__ = [
    "NUMBERS_IN_TEXT",
    "NUMERIC",
    "Columns",
    "Selected",
    "Selection",
    "TextColumnsError",
    "UnknownColumnsError",
    "choose_columns",
    "columns_of",
    "columns_of_schema",
    "describe_kind",
    "kind_of",
    "kind_of_numpy",
    "numbered",
    "uncommon_columns",
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

# The share of the tables that must have a column for people to be told that it is not read.
_WORTH_A_WORD = 0.25


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


def usual_spellings(tables: Sequence[Columns], asked: Sequence[str] = (), fitted: Sequence[str] = ()) -> dict[str, str]:
    """Return the usual spelling of names that differ from it only in case, blanks, underscores or accents.

    A name that a person asked for is the usual one, else the one that most tables have. Where one table has two such
    names, they are two columns, and stay. The names that a model was fitted to are usual whether a table has them or
    not.

    >>> tables = [columns_of(names, ["text"] * 2) for names in (["Größe", "Dep Time"], ["GRÖSSE", "dep_time"])]
    >>> usual_spellings([*tables, tables[0]])
    {'GRÖSSE': 'Größe', 'dep_time': 'Dep Time'}
    """
    known = Counter(name for table in tables for name in table.kinds)
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys((*known, *fitted)):
        alike.setdefault(_letters(name), []).append(name)
    several = {letters: names for letters, names in alike.items() if letters and len(names) > 1}
    for table in {id(table): table for table in tables}.values() if several else ():
        for letters, times in Counter(map(_letters, table.kinds)).items():
            if times > 1:
                several.pop(letters, None)
    usual: dict[str, str] = {}
    for names in several.values():
        best = max(names, key=lambda name: (name in fitted, name in asked, known[name]))
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
    features, targets : names of the columns of X and y.
    single : whether y has one dimension.
    dtype : type of X, and of a y of numbers.
    target_kind : "number", or what the targets hold where they are classes: "integer", "boolean", "text", "float64".
    missing : "skip", "skip-infinite", "error" or "keep"; see `Tables`.
    keep : names of columns that come along as they are, whatever they hold.
    encoding : how X is made, where its columns are not those of the table.
    left_out : columns that were left out since they hold no numbers.
    limits : what reading a batch may cost.
    weight : name of the column that says how often each row counts.
    """

    features: tuple[str, ...]
    targets: tuple[str, ...]
    single: bool
    dtype: np.dtype[Any]
    target_kind: str
    missing: str
    # Not in the text that a checkpoint keeps of a selection: what comes along does not change a fit.
    keep: tuple[str, ...] = field(default=(), repr=False)
    encoding: Encoding | None = None
    left_out: tuple[str, ...] = field(default=(), repr=False)
    limits: Limits = field(default=Limits(), repr=False)
    # Not in that text either, unless there is one: checkpoints of tables without weights stay valid.
    weight: str | None = field(default=None, repr=False)

    def digest(self) -> str:
        """Return the text that a checkpoint keeps of a selection."""
        return repr(self) if self.weight is None else f"{self!r} weight={self.weight!r}"

    @property
    def learned(self) -> tuple[str, ...]:
        """The columns of the table that X and y are made of."""
        if self.encoding is None:
            return self.features + self.targets
        targets = self.encoding.target_columns if self.encoding.targets and self.targets else self.targets
        return tuple(dict.fromkeys(self.encoding.columns + targets))

    @property
    def origins(self) -> tuple[str, ...]:
        """The column of the table that each column of X comes from."""
        return self.features if self.encoding is None else self.encoding.origins

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, those of X and y first."""
        weight = () if self.weight is None else (self.weight,)
        return tuple(dict.fromkeys(self.learned + weight + self.keep))

    @property
    def text_targets(self) -> frozenset[str]:
        """The targets that hold text."""
        return frozenset(self.targets if self.target_kind == "text" else ())

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are read as text where a format has no types."""
        categories = frozenset() if self.encoding is None else self.encoding.texts
        return self.text_targets | categories | (frozenset(self.keep) - frozenset((*self.learned, self.weight)))

    def notes(self) -> Iterator[str]:
        """Yield what a person should know of the columns."""
        if self.left_out:
            yield f"columns without numbers, left out: {', '.join(map(repr, self.left_out))}"
        if self.encoding is not None:
            yield from self.encoding.describe()

    @property
    def nulls_in_text(self) -> bool:
        """Whether words such as NA stand for missing cells in text, too."""
        return bool(self.text_targets) or self.encoding is not None

    def respelled(self, spelled: Mapping[str, str]) -> Selection:
        """Return the selection for a table that spells names otherwise; `spelled` has its spellings by usual name."""
        features, targets = (
            tuple(spelled.get(name, name) for name in names) for names in (self.features, self.targets)
        )
        weight = None if self.weight is None else spelled.get(self.weight, self.weight)
        if self.encoding is None:
            return replace(self, features=features, targets=targets, weight=weight)
        return replace(self, targets=targets, encoding=self.encoding.respelled(spelled), weight=weight)


class Selected:
    """What the chosen columns tell of a table that has not been read yet."""

    _selection: Selection

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the table beside what failed."""
        return tuple(self._selection.notes())

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        return self._selection.features

    @property
    def target_names(self) -> tuple[str, ...]:
        """The names of the columns of y."""
        return self._selection.targets

    @property
    def encoding(self) -> Encoding | None:
        """How X is made, where its columns are not those of the table."""
        return self._selection.encoding

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of X: float32 if all columns are float16 or float32, else float64."""
        return self._selection.dtype


class TextColumnsError(InvalidInputError):
    """Columns that are to be learned from hold no numbers; `holding` says which, and what they hold."""

    def __init__(self, holding: str, advice: str, *arguments: str) -> None:
        self.holding = holding
        super().__init__(f"Only columns of numbers can be learned from; {holding}. {advice}", *arguments)


class UnknownColumnsError(InvalidInputError):
    """Columns were asked for that no file has."""

    def __init__(self, argument: str, absent: Sequence[str], known: Sequence[str]) -> None:
        near = list(dict.fromkeys(close for name in absent for close in get_close_matches(name, known, n=3)))
        there = f"Did you mean {some_names(near)}?" if near else f"The columns are {some_names(list(known), most=20)}."
        self.argument = argument
        self.lacking = f"no file has a column {some_names(list(absent))}. {there}{_hint(known)}"
        must = "must name columns that are there" if argument == "formula" else "must be names of columns"
        super().__init__(f"{argument} {must}; {self.lacking}", argument, *_header(known))


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
    numeric_only: bool = False,
    encoder: Encoder | None = None,
    count: CountLevels = None,
    weight: str | None = None,
) -> Selection:
    """Decide what is read from all tables; see `Tables` for the parameters.

    `show` shows a cell of a column; `count` counts the levels of columns.
    """
    targets = _names("target", target)
    left_out = _names("exclude", exclude)
    wanted = None if columns is None else _names("columns", columns)
    beside = _names("keep", keep)
    weights = _names("weight", weight)
    known = Counter(name for table in tables for name in table.kinds)
    common = [name for name in _common(tables, known) if not _NUMBERS_OF_ROWS.fullmatch(name)]
    encoded: tuple[str, ...] = ()
    if encoder is not None:
        if encoder.target_expressions and targets:
            named = (name for expression in encoder.target_expressions for name in columns_in(expression))
            targets = tuple(dict.fromkeys(named))
        usable = [name for name in common if not numeric_only or _usual_kind(name, tables) in NUMERIC]
        encoded = encoder.columns_of([name for name in usable if name not in targets + weights])
    for argument, names in (
        ("target", targets),
        ("exclude", left_out),
        ("columns", wanted or ()),
        ("keep", beside),
        ("weight", weights),
        ("columns" if encoder is None else encoder.argument, encoded),
    ):
        if absent := [name for name in names if name not in known]:
            raise UnknownColumnsError(argument, absent, list(known))
        if both := [name for name in names if argument not in ("target", "keep") and name in targets]:
            raise InvalidInputError(f"{argument} must not name the target, got {some_names(both)} in both.", argument)
    if both := [name for name in (*(wanted or ()), *encoded) if name in weights]:
        raise InvalidInputError(f"weight must not be a column to learn from, got {some_names(both)} in both.", "weight")
    if both := [name for name in encoded if name in left_out]:
        raise InvalidInputError(f"exclude must not name what is asked for, got {some_names(both)} in both.", "exclude")
    if encoder is not None and encoder.names_all:
        features = encoded
    elif wanted is None:
        features = tuple(name for name in common if name not in targets + left_out + weights)
        features += tuple(name for name in encoded if name not in features)
    else:
        features = tuple(dict.fromkeys(name for name in (*wanted, *encoded) if name not in left_out))
    kinds = {name: _usual_kind(name, tables) for name in features + targets + weights}
    if refused := [name for name in weights if kinds[name] not in NUMERIC]:
        holds = f"{describe_kind(kinds[refused[0]])}{_shown(refused[0], show)}"
        raise InvalidInputError(f"weight must be a column of numbers; {some_names(refused)} holds {holds}.", "weight")
    dropped: tuple[str, ...] = ()
    if numeric_only:
        dropped = tuple(name for name in features if kinds[name] not in NUMERIC and name not in encoded)
        features = tuple(name for name in features if name not in dropped)
    if not features:
        raise InvalidInputError(
            f"No column is left to learn from; most files have {some_names(list(known))}.", "columns", "exclude"
        )
    encoding = None if encoder is None else encoder.encoding(features, kinds, count)
    if encoding is None:
        _refuse_text(features, kinds, show)
    else:
        _refuse_unfit(features, kinds, encoding, show)
    numbers = features if encoding is None else tuple(name for name in features if name in encoding.number_columns)
    narrow = bool(numbers) and all(kinds[name] == "float32" for name in numbers)
    return Selection(
        features if encoding is None else encoding.names,
        targets if encoding is None or not encoding.targets or not targets else encoding.targets,
        isinstance(target, str),
        np.dtype(np.float32 if narrow else np.float64),
        _target_kind(targets, kinds, text_target, show),
        missing,
        beside,
        encoding,
        dropped,
        weight=weight,
    )


def uncommon_columns(tables: Sequence[Columns], selection: Selection) -> dict[str, list[int]]:
    """Return the columns that are not read since too few tables have them, with the places of those that do not.

    Those of a few tables among many are left to these.

    >>> tables = [columns_of(names, ["integer"] * len(names)) for names in (["a", "b"], ["a"])]
    >>> selection = Selection(("a",), (), True, np.dtype(float), "number", "use")
    >>> uncommon_columns(tables, selection)
    {'b': [1]}
    """
    known = Counter(name for table in tables for name in table.kinds)
    read = {*selection.names, *selection.left_out}
    return {
        name: [place for place, table in enumerate(tables) if name not in table.kinds]
        for name, times in known.items()
        if _WORTH_A_WORD * len(tables) <= times < len(tables)
        and name not in read
        and not _NUMBERS_OF_ROWS.fullmatch(name)
    }


def why_unfit(table: Columns, selection: Selection) -> str | None:
    """Say why a table cannot give the selected columns, if that is known already."""
    if absent := [name for name in selection.names if name not in table.kinds]:
        return f"it has no column {some_names(absent)} (its columns are {some_names(list(table.kinds))})"
    if doubled := [name for name in selection.names if name in table.doubled]:
        return f"it has more than one column named {some_names(doubled)}"
    if table.certain:
        for name in (*selection.learned, *([] if selection.weight is None else [selection.weight])):
            kind, encoding = table.kinds[name], selection.encoding
            if encoding is not None and name not in selection.targets and name != selection.weight:
                needed = encoding.needs(name, kind)
            else:
                fits = kind in NUMERIC or (kind == "text" and name in selection.text_targets)
                needed = None if fits else "numbers"
            if needed is not None:
                return f"column {name!r} holds {describe_kind(kind)} where {needed} are needed"
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
        raise TextColumnsError(
            f"{some_names(refused, most=20)} {verb} {holds}",
            f"exclude=[...] leaves columns out, numeric_only=True all such, and {_becomes(refused, kinds)}."
            f"{_hint(list(kinds))}",
            "exclude",
            "numeric_only",
            "dates" if _are_dates(refused, kinds) else "categorical",
            *_header(list(kinds)),
        )


def _are_dates(refused: Sequence[str], kinds: dict[str, str]) -> bool:
    return all(kinds[name] == "date" for name in refused)


def _becomes(refused: Sequence[str], kinds: dict[str, str]) -> str:
    if _are_dates(refused, kinds):
        return "dates=[...] makes days of dates"
    return "categorical=[...] makes indicators of text"


def _refuse_unfit(
    features: Sequence[str], kinds: dict[str, str], encoding: Encoding, show: Callable[[str], str | None]
) -> None:
    """Refuse what an encoding cannot take."""
    if not encoding.names:
        raise InvalidInputError("No column is left to learn from: each category has a single level.", "categorical")
    for name in features:
        if name in encoding.number_columns and name not in encoding.texts:
            _refuse_text([name], kinds, show)
        elif needed := encoding.needs(name, kinds[name]):
            holds = describe_kind(kinds[name])
            raise InvalidInputError(f"column {name!r} must hold {needed}, and holds {holds}.", "dates", "categorical")


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
