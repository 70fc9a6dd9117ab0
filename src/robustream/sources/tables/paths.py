"""From what a person names (a file, a folder, a pattern, a list of these) to a list of files."""

from __future__ import annotations

import glob
import os
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from robustream.errors import InvalidInputError

__all__ = ["EXTENSIONS", "Paths", "archive_of", "extension_of", "find_copies", "find_files"]

_TEXT = {".csv": "csv", ".tsv": "tsv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}

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
    name = os.path.basename(path).lower()
    return max((ending for ending in EXTENSIONS if name.endswith(ending)), key=len, default=None)


def find_files(paths: Paths, others: list[str] | None = None) -> list[str]:
    """List the files that paths, folders and patterns stand for, each one sorted, none twice.

    Files and folders whose names begin with a dot or an underscore are left out of folders and patterns, and so is what
    no format is known for, which is added to `others`; a file that is named itself is taken whatever its name. A folder
    is searched with the folders in it.
    """
    others = [] if others is None else others
    named = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not named:
        raise InvalidInputError("paths must name a file, a folder or a pattern, got an empty list.")
    found: dict[str, None] = {}
    for path in named:
        for file in _expand(os.fspath(path), others):
            found |= dict.fromkeys(_unpack(file, others))
    return list(found)


def archive_of(path: str) -> str | None:
    """Return the zip archive that a file is in: a member is named as if the archive were a folder.

    >>> archive_of("weeks.zip/week-01.csv"), archive_of("weeks.zip")
    ('weeks.zip', None)
    """
    place = path.lower().find(".zip/")
    return None if place < 0 or os.path.lexists(path) else path[: place + 4]


def _unpack(path: str, others: list[str]) -> list[str]:
    """List the tables in a zip archive; what is no archive stays, to be found unusable later."""
    if extension_of(path) != ".zip" or not os.path.isfile(path):
        return [path]
    try:
        with zipfile.ZipFile(path) as archive:
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
        files = _in_folder(path, others)
        if not files:
            endings = " ".join(ending for ending in EXTENSIONS if ending.count(".") == 1)
            raise InvalidInputError(f"The folder {path!r} holds no file of a known format ({endings}).")
        return files
    if os.path.lexists(path) or archive_of(path) is not None:
        return [path]
    if not glob.has_magic(path):
        raise InvalidInputError(f"There is no file or folder {path!r}.")
    matches = [match for match in sorted(glob.glob(path, recursive=True)) if not _matched_by_accident(match, path)]
    files = [file for match in matches for file in (_in_folder(match, others) if os.path.isdir(match) else [match])]
    if not files:
        raise InvalidInputError(f"No file matches the pattern {path!r}.")
    return files


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
