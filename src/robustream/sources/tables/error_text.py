"""Why a file or a piece of it could not be used, in words that a person can act on."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from robustream.batch import describe_failure

__all__ = ["UnusableError", "explain", "some_files", "some_names"]


class UnusableError(Exception):
    """Rows that cannot be had; the message is the reason that people read. It never leaves the package."""


# What readers say, and what a person can do with it. The first pattern that is found counts.
_KNOWN: tuple[tuple[str, str], ...] = (
    (
        r"magic bytes not found|file too small|smaller than the minimum",
        "not a whole {format} file: cut off, or not {format} at all",
    ),
    (
        r"Not an Arrow file|Arrow file magic|trailing magic|ORC postscript|Not an ORC file",
        "not a whole {format} file: cut off, or not {format} at all",
    ),
    (r"thrift|Couldn't deserialize", "the {format} file is damaged: its description of itself makes no sense"),
    (
        r"truncated|Unexpected end of stream|unexpected EOF|ended early",
        "the file ends early: it was cut off or is still being written",
    ),
    (r"straddling object", "a line is too long, or a quote that opens is never closed"),
    (r"invalid UTF-?8|codec can't decode", "the text is not UTF-8; convert it, or leave the column out"),
)


def explain(error: BaseException, kind: str = "table") -> str:
    """Say why reading failed.

    Parameters
    ----------
    error : what the reader raised.
    kind : the kind of file, such as "Parquet".

    Examples
    --------
    >>> explain(FileNotFoundError(2, "No such file or directory"))
    'the file is not there any more'
    """
    if isinstance(error, UnusableError):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return "the file is not there any more"
    if isinstance(error, PermissionError):
        return "permission denied: this user may not read the file"
    if isinstance(error, IsADirectoryError):
        return "this is a folder, not a file"
    if isinstance(error, MemoryError):
        return "not enough memory to read it"
    text = str(error)
    for pattern, words in _KNOWN:
        if re.search(pattern, text, re.IGNORECASE):
            return words.format(format=kind)
    words = describe_failure(error) if isinstance(error, Exception) else text
    return f"the {kind} file is damaged: {words}" if isinstance(error, pa.ArrowException) else words


def some_names(names: Sequence[str], most: int = 5) -> str:
    """List names for a message, no more than a few of them.

    >>> some_names(["a", "b"]), some_names(list("abcdefgh"), most=2)
    ("'a', 'b'", "'a', 'b' and 6 more")
    """
    return some_files([repr(name if len(name) <= 60 else name[:57] + "...") for name in names], most)


def some_files(paths: Sequence[str], most: int = 5) -> str:
    """List files for a message, no more than a few of them, but these in full."""
    shown = ", ".join(paths[:most])
    return shown if len(paths) <= most else f"{shown} and {len(paths) - most} more"
