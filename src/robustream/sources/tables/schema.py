"""Which columns to read: decided by the majority of the files, since any one of them may be garbage, the first too."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np

from robustream.errors import InvalidInputError
from robustream.sources.tables.conversion import Selection
from robustream.sources.tables.described import Described
from robustream.sources.tables.kinds import NUMERIC, describe_kind
from robustream.sources.tables.reasons import some_names

__all__ = ["UnknownColumnsError", "choose_columns", "why_unfit"]

# Columns without a name, and what pandas makes of its index: they number rows, or are empty.
_NUMBERS_OF_ROWS = re.compile(r"\s*|Unnamed: \d+|__index_level_\d+__")
# Numbers with decimals, and dates. Whole numbers are names that pandas gives, or years.
_LIKE_A_CELL = re.compile(r"[+-]?\d*[.,]\d+(e[+-]?\d+)?|-\d+|\d{4}-\d\d-\d\d.*", re.IGNORECASE)


class UnknownColumnsError(InvalidInputError):
    """Columns were asked for that no file has."""

    def __init__(self, argument: str, absent: Sequence[str], known: Sequence[str]) -> None:
        near = list(dict.fromkeys(close for name in absent for close in get_close_matches(name, known, n=3)))
        there = f"Did you mean {some_names(near)}?" if near else f"The columns are {some_names(list(known), most=20)}."
        self.argument = argument
        self.lacking = f"no file has a column {some_names(list(absent))}. {there}{_hint(known)}"
        super().__init__(f"{argument} must be names of columns; {self.lacking}")


def choose_columns(
    files: Sequence[Described],
    *,
    target: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    exclude: str | Sequence[str],
    missing: str,
    text_target: bool,
) -> Selection:
    """Decide what is read from all files; see `Tables` for the parameters."""
    targets = _names("target", target)
    left_out = _names("exclude", exclude)
    wanted = None if columns is None else _names("columns", columns)
    known = Counter(name for file in files for name in file.columns)
    for argument, names in ("target", targets), ("exclude", left_out), ("columns", wanted or ()):
        _check_known(argument, names, known)
        if both := [name for name in names if argument != "target" and name in targets]:
            raise InvalidInputError(f"{argument} must not name the target; {some_names(both)} came in both.")
    if wanted is None:
        common = [name for name in _common(files, known) if not _NUMBERS_OF_ROWS.fullmatch(name)]
        features = tuple(name for name in common if name not in targets and name not in left_out)
    else:
        features = tuple(name for name in wanted if name not in left_out)
    if not features:
        raise InvalidInputError(f"No column is left to learn from; most files have {some_names(list(known))}.")
    kinds = {name: _usual_kind(name, files) for name in features + targets}
    _refuse_text(features, kinds)
    return Selection(
        features,
        targets,
        isinstance(target, str),
        np.dtype(np.float32 if all(kinds[name] == "float32" for name in features) else np.float64),
        _target_kind(targets, kinds, text_target),
        missing,
    )


def why_unfit(file: Described, selection: Selection) -> str | None:
    """Say why a file cannot give the selected columns, if that is known already."""
    absent = [name for name in selection.names if name not in file.columns]
    if absent:
        return f"it has no column {some_names(absent)} (its columns are {some_names(list(file.columns))})"
    if doubled := [name for name in selection.names if name in file.doubled]:
        return f"it has more than one column named {some_names(doubled)}"
    if file.certain:
        for name in selection.names:
            kind = file.columns[name]
            if kind not in NUMERIC and not (kind == "text" and name in selection.text_targets):
                return f"column {name!r} holds {describe_kind(kind)} where numbers are needed"
    return None


def _names(argument: str, names: str | Iterable[str] | None) -> tuple[str, ...]:
    listed = () if names is None else (names,) if isinstance(names, str) else tuple(names)
    if not all(isinstance(name, str) for name in listed):
        raise InvalidInputError(f"{argument} must be names of columns; {names!r} came.")
    if doubled := [name for name, times in Counter(listed).items() if times > 1]:
        raise InvalidInputError(f"{argument} must name each column once; {some_names(doubled)} came again.")
    return listed


def _check_known(argument: str, names: Sequence[str], known: Counter[str]) -> None:
    absent = [name for name in names if name not in known]
    if absent:
        raise UnknownColumnsError(argument, absent, list(known))


def _hint(names: Sequence[str]) -> str:
    """Say what to do about names that seem to be cells: those of a first line that is a row already."""
    if not any(_LIKE_A_CELL.fullmatch(name) for name in names):
        return ""
    return " If the first line of the files is a row already, say --no-header, or in Python header=False."


def _common(files: Sequence[Described], known: Counter[str]) -> list[str]:
    """Give the columns that most files have, in the order in which most of the files that have them all have them."""
    common = {name for name, times in known.items() if 2 * times > len(files)}
    if not common:
        # No column is in most files: the layout that more files have than any other is the best guess left.
        return list(Counter(tuple(file.columns) for file in files).most_common(1)[0][0])
    orders = Counter(
        tuple(name for name in file.columns if name in common) for file in files if common <= file.columns.keys()
    )
    if orders:
        return list(orders.most_common(1)[0][0])
    return [name for name in known if name in common]


def _usual_kind(name: str, files: Sequence[Described]) -> str:
    kinds = Counter(file.columns[name] for file in files if name in file.columns)
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


def _refuse_text(features: Sequence[str], kinds: dict[str, str]) -> None:
    refused = [name for name in features if kinds[name] not in NUMERIC]
    if refused:
        holds = " and ".join(dict.fromkeys(describe_kind(kinds[name]) for name in refused))
        verb = "holds" if len(refused) == 1 else "hold"
        raise InvalidInputError(
            f"Only columns of numbers can be learned from; {some_names(refused, most=20)} {verb} {holds}. "
            f"exclude=[...] (--exclude NAME) leaves columns out.{_hint(list(kinds))}"
        )


def _target_kind(targets: Sequence[str], kinds: dict[str, str], text_target: bool) -> str:
    if text_target and targets:
        different = {kinds[name] for name in targets}
        if different <= {"integer"} or different <= {"boolean"} or different <= {"text"}:
            return different.pop()
        if "text" in different:
            return "text"
        return "float64"
    refused = [name for name in targets if kinds[name] not in NUMERIC]
    if refused:
        raise InvalidInputError(
            f"target must be a column of numbers; {some_names(refused)} holds {describe_kind(kinds[refused[0]])}."
        )
    return "number"
