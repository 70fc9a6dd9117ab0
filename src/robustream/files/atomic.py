"""Files that are never half written: the new one takes the place of the old one in a single step, or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from robustream.errors import StorageError

__all__ = ["write_atomically"]

_SUFFIX = ".part"
_ABANDONED_AFTER = 3600.0  # seconds


def write_atomically(path: str | os.PathLike[str], pieces: Iterable[bytes | memoryview]) -> None:
    """Write the pieces to a temporary file beside `path`, see it safely on the disk, and rename it.

    Raises StorageError, with the file that was there before untouched, if the disk is full, the folder is read-only
    or does not exist, or anything else keeps the file from being written.
    """
    target = Path(path)
    temporary: Path | None = None
    try:
        # A link stays a link: what it points to is replaced.
        target = Path(os.path.realpath(target))
        _remove_abandoned(target)
        descriptor, name = tempfile.mkstemp(prefix=_prefix(target), suffix=_SUFFIX, dir=target.parent)
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            temporary.chmod(_usual_mode(target))
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, target)
        temporary = None
        _sync_folder(target.parent)
    except OSError as error:
        raise _explain(target, error) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _prefix(target: Path) -> str:
    return f".{target.name[:100]}."


def _remove_abandoned(target: Path) -> None:
    """Remove temporary files that writers of this file left behind when they were killed, long ago."""
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            ours = entry.name.startswith(_prefix(target)) and entry.name.endswith(_SUFFIX)
            # A living writer has just touched its file.
            if ours and time.time() - entry.stat().st_mtime > _ABANDONED_AFTER:
                os.unlink(entry.path)


def _usual_mode(target: Path) -> int:
    """Give the mode of the file to be replaced, or that of any new file: temporary ones are private by default."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a loss of power; some file systems cannot and need not."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _explain(target: Path, error: OSError) -> StorageError:
    before = "the file that was there before is intact" if target.exists() else "nothing was left there"
    explained = StorageError(f"{target} could not be written ({error.strerror or error}); {before}")
    explained.errno = error.errno
    return explained
