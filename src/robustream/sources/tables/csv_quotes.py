"""Line breaks within quotes: where the records of a CSV file end, if lines are not records.

Outside of quotes the number of quotes before a place is even: a quote within quotes is written twice.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["borders_at_records", "has_breaks_in_quotes", "join_records", "record_ends"]

_QUOTE, _LINE_BREAK = 34, 10
_STEP = 1 << 20


def has_breaks_in_quotes(data: bytes, separator: str) -> bool:
    """Tell whether some record of the first lines of a file, as long as its first one, goes over several lines.

    >>> has_breaks_in_quotes(b'a,b\\n1,"x\\ny"\\n2,z\\n', ","), has_breaks_in_quotes(b'a,b\\n1,5"\\n2,7"\\n', ",")
    (True, False)
    """
    # A stray quote leaves an odd number of them in its line too: then only the fields can tell.
    if not any(line.count(b'"') % 2 for line in data.split(b"\n")):
        return False
    reader = csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline=""), delimiter=separator)
    fields, line = 0, 0
    try:
        for record in reader:
            fields = fields or len(record)
            if reader.line_num > line + 1 and len(record) == fields and fields > 1:
                return True
            line = reader.line_num
    except csv.Error:
        # Reading will say what is wrong with the line, and where.
        pass
    return False


def record_ends(data: bytes) -> list[int]:
    """Give the place after each record that is not empty; what is left behind the last line break is one, too.

    >>> record_ends(b'1,"a\\nb"\\n\\n2,c')
    [8, 12]
    """
    ends = [*(_ends_in(data, 0)[0] + 1).tolist(), len(data)]
    return [end for start, end in pairwise([0, *ends]) if data[start:end].strip(b"\r\n")]


def borders_at_records(file: pa.NativeFile, borders: Sequence[int]) -> tuple[int, ...]:
    """Give borders moved to where the next record begins; the first and the last stay.

    Parameters
    ----------
    file : opened at its beginning; it is read to its end.
    borders : bytes in rising order.
    """
    wanted, moved = list(borders[1:-1]), [borders[0]]
    position = quotes = 0
    while wanted and (chunk := file.read(_STEP)):
        ends, quotes = _ends_in(chunk, quotes)
        starts = ends + position + 1
        while wanted and len(starts) and wanted[0] <= starts[-1]:
            moved.append(int(starts[np.searchsorted(starts, wanted.pop(0))]))
        position += len(chunk)
    return (*moved, *([borders[-1]] * len(wanted)), borders[-1])


def join_records(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Put lines together that are one record.

    >>> list(join_records(iter([b'1,"a', b'b"', b"2,c"])))
    [b'1,"a\\nb"', b'2,c']
    """
    held: list[bytes] = []
    quotes = 0
    for line in lines:
        held.append(line)
        quotes += line.count(b'"')
        if quotes % 2 == 0:
            yield b"\n".join(held)
            held, quotes = [], 0
    if held:
        yield b"\n".join(held)


def _ends_in(data: bytes, quotes: int) -> tuple[NDArray[np.int64], int]:
    """Give the line breaks that end a record, and the number of quotes up to the end, `quotes` came before."""
    characters = np.frombuffer(data, dtype=np.uint8)
    before = quotes + np.cumsum(characters == _QUOTE)
    ends = np.flatnonzero((characters == _LINE_BREAK) & (before % 2 == 0))
    return ends, int(before[-1]) if len(before) else quotes
