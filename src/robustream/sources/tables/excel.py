"""Workbooks of Excel and others (.xlsx, .xlsm, .xls, .ods): the first sheet with cells, as the text of a CSV file.

So the rules of CSV files hold for them: names in the first row, numbers as people write them, cells that hold none.
They are read by python-calamine (extra `excel`), whole, which the million rows that a sheet can have allow.
"""

from __future__ import annotations

import csv
import io
import zipfile
from functools import lru_cache
from typing import Any

from robustream.sources.tables.error_text import BombError, UnusableError, in_bytes
from robustream.sources.tables.paths import open_file

__all__ = ["text_of_workbook"]

# A workbook is a zip archive of text full of tags, which shrinks to a tenth or a twentieth.
_MOST_UNPACKED = 200
_LEAST_BOMB = 1 << 26


def text_of_workbook(path: str) -> bytes:
    """Return the first sheet that has cells as CSV, in UTF-8."""
    with open_file(path) as file:
        return _text_of_sheet(file.read())


@lru_cache(maxsize=1)
def _text_of_sheet(content: bytes) -> bytes:
    """Return the text; the last one is kept, since a file is looked at before it is read."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise UnusableError("workbooks need python-calamine: pip install 'robustream[excel]'") from error
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > max(_LEAST_BOMB, _MOST_UNPACKED * len(content)):
            raise BombError(f"it unpacks to {in_bytes(unpacked)}, more than {_MOST_UNPACKED} times its size")
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(content))
        sheets = (workbook.get_sheet_by_index(place).to_python() for place in range(len(workbook.sheet_names)))
        rows = next((rows for rows in sheets if rows), None)
    except CalamineError as error:
        raise UnusableError(f"not a whole workbook: {str(error).splitlines()[0]}") from error
    if rows is None:
        raise UnusableError("no sheet of the workbook has any cell")
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
