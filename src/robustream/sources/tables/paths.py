"""From what a person names (a file, a folder, a pattern, a list of these) to a list of files."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from robustream.errors import InvalidInputError

__all__ = ["EXTENSIONS", "Paths", "extension_of", "find_files"]

# What a name ends in, the format, and how it is compressed.
EXTENSIONS: dict[str, tuple[str, str | None]] = {
    ".parquet": ("parquet", None),
    ".pq": ("parquet", None),
    ".arrow": ("arrow", None),
    ".feather": ("arrow", None),
    ".ipc": ("arrow", None),
    ".npy": ("npy", None),
    **{
        ending + compressed: ("tsv" if ending == ".tsv" else "csv", compression)
        for ending in (".csv", ".tsv", ".txt")
        for compressed, compression in (("", None), (".gz", "gzip"), (".zst", "zstd"), (".bz2", "bz2"))
    },
}

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
        found |= dict.fromkeys(_expand(os.fspath(path), others))
    return list(found)


def _expand(path: str, others: list[str]) -> list[str]:
    if os.path.isdir(path):
        files = _in_folder(path, others)
        if not files:
            endings = " ".join(ending for ending in EXTENSIONS if ending.count(".") == 1)
            raise InvalidInputError(f"The folder {path!r} holds no file of a known format ({endings}).")
        return files
    if os.path.lexists(path):
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
