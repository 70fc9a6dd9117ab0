"""Numbers as people write them: 1,234 and 1.234,5, $ 12, 12 %, (12), 224 mi, yes and no.

A column is decided as a whole, and only where there is one way to read it. All cells must agree on the decimal sign and
on what parts the thousands; a mark of money or a unit counts only if most cells have it and no cell has another one.
12 % is 12, (12) is -12, yes is 1. Where cells contradict each other, only those are numbers that any reader takes for
one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["FALSE_WORDS", "TRUE_WORDS", "are_answers", "read_numbers"]

TRUE_WORDS, FALSE_WORDS = ("true", "yes", "y"), ("false", "no", "n")
_PAIRS = tuple(map(frozenset, zip(TRUE_WORDS, FALSE_WORDS, strict=True)))

_MONEY = r"(?:US|A|C|HK)?\$|[€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|BRL"
_SIGN = r"[+\-\u2212]"
_SPACES = " \u00a0\u202f"
_APOSTROPHES = "'\u2019"
# A unit begins with a letter, a degree or a percent sign and is short; digits make it something else, such as a code.
_CELL = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>{_SIGN})?\s*(?P<before>{_MONEY})?\s*(?P<second>{_SIGN})?\s*"
    rf"(?P<core>[\d.,{_APOSTROPHES}{_SPACES}]*\d)\s*(?P<after>{_MONEY}|[%°‰µ]?[^\W\d_]?[^\d,;()]{{0,11}})\s*(?(open)\))"
)
_PLAIN = r"[+-]?(\d+{point}?\d*|{point}\d+)(e[+-]?\d+)?|[+-]?(inf|infinity|nan)"


def are_answers(cells: Sequence[str]) -> bool:
    """Tell whether cells are words for true and false, all of one pair.

    >>> are_answers(["Yes", "no", "YES"]), are_answers(["yes", "n"]), are_answers(["no", "maybe"])
    (True, False, False)
    """
    words = {cell.strip().lower() for cell in cells}
    return bool(words) and any(words <= pair for pair in _PAIRS)


def read_numbers(cells: Sequence[str], decimal: str = ".", *, known: bool = True) -> list[float | None]:
    """Return the numbers that the cells of a column stand for, None where a cell is none.

    Parameters
    ----------
    cells : the cells that are not missing; the same cell need not come twice.
    decimal : what is before the decimals in the other columns of the file.
    known : whether the file shows that; if not, 1,234 may be a little more than one, or more than a thousand.

    Examples
    --------
    >>> read_numbers(["224", "1,416"]), read_numbers(["1.234,5", "7"]), read_numbers(["($12)", "$ 1,000.50"])
    ([224.0, 1416.0], [1234.5, 7.0], [-12.0, 1000.5])
    >>> read_numbers(["12 %", "3.5 %"]), read_numbers(["3 mi", "5 km"]), read_numbers(["1,5", "2.5", "7"])
    ([12.0, 3.5], [None, None], [None, 2.5, 7.0])
    """
    plain = re.compile(_PLAIN.replace("{point}", re.escape(decimal)), re.IGNORECASE)
    ordinary = [float(cell.replace(decimal, ".")) if plain.fullmatch(cell) else None for cell in cells]
    found = [_CELL.fullmatch(cell.strip()) for cell in cells]
    marks = Counter(_mark(match) for match in found if match is not None)
    marked = marks.total() - marks[""]
    # Several marks, or a mark that few cells have, leave open what the others mean.
    allowed = set(marks) if len(marks.keys() - {""}) == 1 and 2 * marked >= len(cells) else {""}
    used = [match if match is not None and _mark(match) in allowed else None for match in found]
    reading = _reading([match["core"] for match in used if match is not None], decimal, known)
    if reading is None:
        return ordinary
    point, groups = reading
    return [
        usual if match is None else _value(match, point, groups) for usual, match in zip(ordinary, used, strict=True)
    ]


def _mark(match: re.Match[str]) -> str:
    return f"{match['before'] or ''}{match['after'].strip()}"


def _reading(cores: Sequence[str], decimal: str, known: bool) -> tuple[str, str] | None:
    """Return the decimal sign and the signs that part thousands, under which all numbers make sense."""
    for point in (decimal, "." if decimal == "," else ","):
        other = "," if point == "." else "."
        for groups in (other, _APOSTROPHES, _SPACES):
            whole = re.compile(rf"(?:\d*|[1-9]\d{{0,2}}(?:[{groups}]\d{{3}})+)(?:{re.escape(point)}\d+)?")
            if all(whole.fullmatch(core) for core in cores):
                grouped = [core for core in cores if groups == other and other in core]
                certain = any(point in core or core.count(other) > 1 for core in grouped)
                certain |= point == decimal and any(point in core for core in cores)
                # Points are decimals far more often than they part thousands, so that knowing of commas is not enough.
                certain |= point == decimal == "." and known
                return (point, groups) if certain or not grouped else None
    return None


def _value(match: re.Match[str], point: str, groups: str) -> float:
    number = float(re.sub(f"[{groups}]", "", match["core"]).replace(point, "."))
    minus = [match[sign] in ("-", "\u2212") for sign in ("sign", "second")]
    return -number if (match["open"] is not None) != any(minus) else number
