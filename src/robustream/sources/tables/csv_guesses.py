"""What stands between the fields of a CSV file, and what before the decimals, guessed from its first lines."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence

__all__ = ["guess_decimal", "guess_separator"]

_SEPARATORS = (",", ";", "\t", "|")
_LINES = 20
_WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
_WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.IGNORECASE)
# A comma before three digits may as well part thousands.
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*")


def guess_separator(text: str) -> str:
    """Choose the separator that cuts most lines as it cuts the first one, into most fields.

    >>> guess_separator("a;b\\n1,5;2\\n"), guess_separator("a\\n1\\n")
    (';', ',')
    """
    lines = text.splitlines()
    lines = lines[:_LINES] if len(lines) < 3 else lines[: min(_LINES, len(lines) - 1)]

    def quality(separator: str) -> tuple[int, int]:
        fields = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        number, times = max(Counter(fields).items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        return (times if number > 1 and number == fields[0] else 0), number

    return max(_SEPARATORS, key=quality)


def guess_decimal(rows: Sequence[Iterable[str]], separator: str) -> str:
    """Choose between the point and the comma: files with semicolons mostly come from where decimals follow a comma.

    >>> guess_decimal([["1,5", "2"]], ";"), guess_decimal([["1.5", "2"]], ";"), guess_decimal([["1,500"]], "|")
    (',', '.', '.')
    """
    if separator == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    points = sum(_WITH_POINT.fullmatch(cell) is not None for cell in cells)
    commas = sum(_WITH_COMMA.fullmatch(cell) is not None for cell in cells)
    if separator == ";":
        return "," if commas >= points else "."
    commas -= sum(_THOUSANDS.fullmatch(cell) is not None for cell in cells)
    return "," if commas > points else "."
