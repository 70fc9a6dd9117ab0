"""Why a file or a piece of it could not be used, in words that a person can act on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from robustream.batch import describe_failure
from robustream.errors import RequestError
from robustream.files.addresses import shown

__all__ = ["BombError", "Limits", "UnusableError", "explain", "in_bytes", "some_files", "some_names"]


class Limits(NamedTuple):
    """What reading may cost: the bytes of a batch, as it is read and unpacked, and those of a line of text."""

    max_batch_bytes: int = 1 << 30
    max_line_bytes: int = 1 << 24

    def check_batch(self, size: int, what: str) -> None:
        """Raise if something that must be in memory at once takes too many bytes."""
        if size > self.max_batch_bytes:
            raise UnusableError(
                f"{what} takes {in_bytes(size)}, more than the {in_bytes(self.max_batch_bytes)} of max_batch_bytes"
            )

    def too_long(self, what: str = "a line is longer than") -> UnusableError:
        """Return the error about a line."""
        limit = in_bytes(self.max_line_bytes)
        return UnusableError(f"{what} {limit} (max_line_bytes): this is not a table in text")


class UnusableError(Exception):
    """Rows that cannot be had; the message is the reason that people read. It never leaves the package."""


class BombError(UnusableError):
    """A file that would cost far more than its size suggests; it counts as one batch, whatever it claims."""


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


def in_bytes(size: int) -> str:
    """Write a number of bytes for people.

    >>> in_bytes(900), in_bytes(1 << 24), in_bytes(3 << 30)
    ('900 bytes', '16 MB', '3,072 MB')
    """
    return f"{size >> 20:,} MB" if size >= 1 << 20 else f"{size:,} bytes"


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
    if isinstance(error, (UnusableError, RequestError)):
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
    words = shown(describe_failure(error) if isinstance(error, Exception) else text)
    return f"the {kind} file is damaged: {words}" if isinstance(error, pa.ArrowException) else words


def some_names(names: Sequence[str], most: int = 5) -> str:
    """List names for a message, no more than a few of them.

    >>> some_names(["a", "b"]), some_names(list("abcdefgh"), most=2)
    ("'a', 'b'", "'a', 'b' and 6 more")
    """
    return some_files([repr(name if len(name) <= 60 else name[:57] + "...") for name in names], most)


def some_files(paths: Sequence[str], most: int = 5) -> str:
    """List files for a message, no more than a few of them, but these in full."""
    named = ", ".join(map(shown, paths[:most]))
    return named if len(paths) <= most else f"{named} and {len(paths) - most} more"
