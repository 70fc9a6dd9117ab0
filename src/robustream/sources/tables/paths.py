"""From what a person names (a file, a folder, a pattern, a list of these) to a list of files.

A file is named by its path, or by an address if it lies elsewhere (`robustream.files.addresses`).
"""

from __future__ import annotations

import glob
import os
import re
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from robustream.errors import InvalidInputError, RequestError
from robustream.files import addresses
from robustream.files.addresses import as_text, is_address, shown

__all__ = [
    "EXTENSIONS",
    "WORKBOOK",
    "Paths",
    "archive_of",
    "extension_of",
    "find_copies",
    "find_files",
    "open_archive",
    "open_file",
]

_TEXT = {".csv": "csv", ".tsv": "tsv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}

# Stands for a compression: what must be undone before a workbook is text.
WORKBOOK = "workbook"

# What a name ends in, the format, and how it is compressed.
EXTENSIONS: dict[str, tuple[str, str | None]] = {
    ".parquet": ("parquet", None),
    ".pq": ("parquet", None),
    ".arrow": ("arrow", None),
    ".feather": ("arrow", None),
    ".ipc": ("arrow", None),
    ".npy": ("npy", None),
    ".orc": ("orc", None),
    ".zip": ("zip", None),
    **dict.fromkeys((".xlsx", ".xlsm", ".xls", ".ods"), ("workbook", WORKBOOK)),
    **{
        ending + compressed: (format_name, compression)
        for ending, format_name in _TEXT.items()
        for compressed, compression in (("", None), (".gz", "gzip"), (".zst", "zstd"), (".bz2", "bz2"))
    },
}

# Copies are looked for in steps of so many bytes; beyond so many steps (64 MB), at so many places.
_SAMPLE, _PLACES = 1 << 12, 1 << 14

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def extension_of(path: str) -> str | None:
    """Return the known ending of a name.

    >>> extension_of("a/b.2024.CSV.gz"), extension_of("notes.md")
    ('.csv.gz', None)
    """
    name = os.path.basename(shown(path)).lower()
    return max((ending for ending in EXTENSIONS if name.endswith(ending)), key=len, default=None)


def find_files(paths: Paths, others: list[str] | None = None, sizes: dict[str, int] | None = None) -> list[str]:
    """List the files that paths, folders and patterns stand for, each one sorted, none twice.

    Files and folders whose names begin with a dot or an underscore are left out of folders and patterns, and so is what
    no format is known for, which is added to `others`; a file that is named itself is taken whatever its name. A folder
    is searched with the folders in it. What is told of the bytes of objects elsewhere is added to `sizes`.
    """
    others, sizes = [] if others is None else others, {} if sizes is None else sizes
    named = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not named:
        raise InvalidInputError("paths must name a file, a folder or a pattern, got an empty list.")
    found: dict[str, None] = {}
    for path in named:
        text = as_text(path)
        for file in _expand_address(text, others, sizes) if is_address(text) else _expand(text, others):
            found |= dict.fromkeys(_unpack(file, others))
    return list(found)


def open_file(path: str, *, whole: bool = True) -> pa.NativeFile:
    """Open a file, wherever it lies; `whole` says whether all of it will be read, most likely."""
    return addresses.open_address(path, whole=whole) if is_address(path) else pa.OSFile(path)


def open_archive(path: str) -> zipfile.ZipFile:
    """Open a zip archive, wherever it lies."""
    try:
        return zipfile.ZipFile(open_file(path) if is_address(path) else path)
    except pa.ArrowInvalid as error:  # a place before the first byte
        raise zipfile.BadZipFile(str(error)) from error


def archive_of(path: str) -> str | None:
    """Return the zip archive that a file is in: a member is named as if the archive were a folder.

    >>> archive_of("weeks.zip/week-01.csv"), archive_of("weeks.zip")
    ('weeks.zip', None)
    """
    place = path.lower().find(".zip/")
    return None if place < 0 or os.path.lexists(path) else path[: place + 4]


def _unpack(path: str, others: list[str]) -> list[str]:
    """List the tables in a zip archive; what is no archive stays, to be found unusable later."""
    if extension_of(path) != ".zip" or not (is_address(path) or os.path.isfile(path)):
        return [path]
    try:
        with open_archive(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
    except (OSError, zipfile.BadZipFile):
        return [path]
    names = [name for name in names if not any(map(_hidden, name.split("/")))]
    others += [f"{path}/{name}" for name in names if not extension_of(name)]
    return sorted(f"{path}/{name}" for name in names if extension_of(name)) or [path]


def find_copies(paths: Sequence[str]) -> dict[str, str]:
    """Return the files that are the same, byte for byte, as one before them, each with the first of its kind."""
    sizes: dict[int, list[str]] = {}
    for path in paths:
        with suppress(OSError):
            if os.path.isfile(path) and (size := os.path.getsize(path)):
                sizes.setdefault(size, []).append(path)
    copies: dict[str, str] = {}
    for size, alike in sizes.items():
        # Most files of one size differ in their first bytes.
        firsts: dict[bytes, list[str]] = {}
        for path in alike if len(alike) > 1 else ():
            with suppress(OSError):
                same = firsts.setdefault(_sample(path, size), [])
                first = next((first for first in same if _same_bytes(first, path, size)), None)
                if first is None:
                    same.append(path)
                else:
                    copies[path] = first
    return copies


def _sample(path: str, size: int) -> bytes:
    with open(path, "rb") as file:
        first = file.read(_SAMPLE)
        file.seek(max(0, size - _SAMPLE))
        return first + file.read(_SAMPLE)


def _same_bytes(first: str, second: str, size: int) -> bool:
    """Compare two files of one size: whole, or, where that would take long, at many places."""
    step = max(_SAMPLE, size // _PLACES) if size > _PLACES * _SAMPLE else _SAMPLE
    with open(first, "rb") as one, open(second, "rb") as other:
        for place in range(0, size, step):
            one.seek(place)
            other.seek(place)
            if one.read(_SAMPLE) != other.read(_SAMPLE):
                return False
    return True


def _expand(path: str, others: list[str]) -> list[str]:
    if os.path.isdir(path):
        return _some(_in_folder(path, others), path)
    if os.path.lexists(path) or archive_of(path) is not None:
        return [path]
    if not glob.has_magic(path):
        raise InvalidInputError(f"There is no file or folder {path!r}.")
    matches = [match for match in sorted(glob.glob(path, recursive=True)) if not _matched_by_accident(match, path)]
    files = [file for match in matches for file in (_in_folder(match, others) if os.path.isdir(match) else [match])]
    if not files:
        raise InvalidInputError(f"No file matches the pattern {path!r}.")
    return files


def _some(files: list[str], folder: str) -> list[str]:
    if not files:
        endings = " ".join(ending for ending in EXTENSIONS if ending.count(".") == 1)
        raise InvalidInputError(f"The folder {shown(folder)!r} holds no file of a known format ({endings}).")
    return files


def _expand_address(address: str, others: list[str], sizes: dict[str, int]) -> list[str]:
    """List the objects that an address stands for: one, those of a folder, or those that match a pattern."""
    try:
        parts = addresses.parse(address)
        if not glob.has_magic(parts.path):
            found = addresses.find(address)
            if found.kind == "folder":
                return _some(_known_of(address, others, sizes), address)
            sizes[address] = found.size
            if found.kind == "file" or archive_of(address) is not None:
                return [address]
            raise InvalidInputError(f"There is no file or folder {shown(address)!r}.")
        base = re.split(r"[*?\[]", parts.path)[0].rpartition("/")[0]
        if not base:
            raise InvalidInputError(f"{shown(address)!r} must name a bucket or a folder before its pattern.")
        matches = re.compile(_as_regex(parts.path))
        hidden = any(map(_hidden, parts.path.removeprefix(base).split("/")))
        files: list[str] = []
        for found in addresses.list_files(parts.at(base)):
            path = addresses.parse(found.address).path
            match = matches.match(path)
            inside = map(_hidden, path.removeprefix(base).split("/"))
            if match and not (any(inside) and not hidden):
                # What lies in a folder that matches is taken if its format is known.
                sizes[found.address] = found.size
                named = match.end() == len(path) or extension_of(found.address)
                (files if named else others).append(found.address)
    except RequestError as error:
        raise RequestError(f"{shown(address)} cannot be read: {error}") from error
    if not files:
        raise InvalidInputError(f"No file matches the pattern {shown(address)!r}.")
    return files


def _known_of(folder: str, others: list[str], sizes: dict[str, int]) -> list[str]:
    files: list[str] = []
    start = addresses.parse(folder).path
    for found in addresses.list_files(folder):
        if not any(map(_hidden, addresses.parse(found.address).path.removeprefix(start).split("/"))):
            sizes[found.address] = found.size
            (files if extension_of(found.address) else others).append(found.address)
    return files


def _as_regex(pattern: str) -> str:
    """Return a regular expression for a pattern, which a path matches that has it as a whole or as its folder.

    >>> bool(re.match(_as_regex("b/*/x-[0-9]*.csv"), "b/1/x-12.csv")), bool(re.match(_as_regex("b/*.csv"), "b/1/x.csv"))
    (True, False)
    """
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|.", pattern, re.DOTALL)
    one_of = (f"[^{token[2:]}" if token[:2] == "[!" else token for token in tokens)
    return "".join(signs.get(t, t if len(t) > 1 else re.escape(t)) for t in one_of) + r"(?=/|\Z)"


def _in_folder(folder: str, others: list[str]) -> list[str]:
    files: list[str] = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _hidden(name))
        for name in sorted(name for name in names if not _hidden(name)):
            (files if extension_of(name) else others).append(str(Path(where) / name))
    return sorted(files)


def _matched_by_accident(match: str, pattern: str) -> bool:
    """Tell whether a wildcard has found something hidden, in a pattern that names nothing hidden."""
    parts = Path(pattern).parts
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    return any(map(_hidden, Path(match).parts[first:])) and not any(map(_hidden, parts[first:]))


def _hidden(name: str) -> bool:
    return name.startswith((".", "_"))
