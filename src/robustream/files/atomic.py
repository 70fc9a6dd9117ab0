"""Files that are never half written, and never written by two runs at once.

A new file takes the place of the old one in a single step, or not at all: it is written beside it, under a name that
ends in `.part`, and renamed. Meanwhile its writer holds a lock on a file beside it, `.NAME.lock`; a run that will write
a file later holds it from the start (`claim`). The lock belongs to the process and ends with it, however that ends, so
that a crash leaves no lock behind. (An address of another machine has no lock: whoever keeps its objects replaces them
in one step.) What it does leave, a `.lock` that nobody holds and perhaps a `.part`, is removed by
the next writer of the file: whoever has the lock knows that nobody else is at work.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from robustream.errors import RequestError, StorageError
from robustream.files.addresses import as_text, check_reachable, is_address, shown, write_bytes

try:
    import fcntl
except ImportError:  # on Windows there are no such locks
    fcntl = None  # type: ignore[assignment]

__all__ = ["claim", "write_atomically"]

_SUFFIX = ".part"
# How long a writer waits for another one that may be about to end, in seconds.
_PATIENCE = 2.0
# Where a file system has no locks, only age tells that a writer is gone, in seconds.
_ABANDONED_AFTER = 3600.0
# What a file system says that has no locks.
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}

# The locks of this process: whose they are (a forked copy has none of them), and whether a whole run has them.
_held: dict[Path, tuple[int, bool]] = {}
_guard = threading.Lock()


@contextlib.contextmanager
def claim(*paths: str | os.PathLike[str] | None) -> Iterator[None]:
    """Keep files for this run: as long as it lasts no other run can claim or write them.

    Raises StorageError if another run has one of them, or if it cannot be written at all.
    """
    with contextlib.ExitStack() as held:
        for path in paths:
            if path is not None and is_address(path):
                try:
                    check_reachable(as_text(path))
                except RequestError as error:
                    raise StorageError(f"{shown(as_text(path))} cannot be written: {error}") from error
            elif path is not None:
                target = Path(os.path.realpath(as_text(path)))
                try:
                    held.enter_context(_locked(target, whole_run=True))
                except StorageError:
                    raise
                except OSError as error:
                    raise _explain(target, error) from error
        yield


def write_atomically(path: str | os.PathLike[str], pieces: Iterable[bytes | memoryview]) -> None:
    """Write the pieces to a temporary file beside `path`, see it safely on the disk, and rename it.

    Raises StorageError, with the file that was there before untouched, if the disk is full, the folder is read-only
    or does not exist, another run writes the file, or anything else keeps it from being written.
    """
    if is_address(path):
        try:
            write_bytes(as_text(path), pieces)
        except OSError as error:
            raise StorageError(f"{shown(as_text(path))} could not be written: {error}") from error
        return
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(as_text(path)))
    temporary: Path | None = None
    with contextlib.ExitStack() as held:
        try:
            if _held.get(_lock_of(target)) != (os.getpid(), True):
                held.enter_context(_locked(target, whole_run=False))
            descriptor, name = tempfile.mkstemp(prefix=f".{_short(target)}.", suffix=_SUFFIX, dir=target.parent)
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
        except StorageError:
            raise
        except OSError as error:
            raise _explain(target, error) from error
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    temporary.unlink()


@contextlib.contextmanager
def _locked(target: Path, *, whole_run: bool) -> Iterator[None]:
    """Hold the lock of a file, and remove what writers left behind that were killed."""
    lock, owner = _lock_of(target), os.getpid()
    end = time.monotonic() + _PATIENCE
    while (descriptor := _try_lock(lock, whole_run)) is None:
        if time.monotonic() > end:
            raise StorageError(
                f"{target} is being written by another run ({_holder(lock)}): wait until that has ended, or write to "
                "another file"
            )
        time.sleep(0.01)
    try:
        _remove_unfinished(target, certain=descriptor >= 0)
        yield
    finally:
        # A forked copy that leaves this block leaves the lock of the original alone.
        if os.getpid() == owner:
            with _guard:
                del _held[lock]
                if descriptor >= 0:
                    with contextlib.suppress(OSError):
                        lock.unlink()
                    os.close(descriptor)


def _try_lock(lock: Path, whole_run: bool) -> int | None:
    """Return the open file that holds the lock, -1 where there are no locks, or None if somebody else has it."""
    with _guard:
        # Such a lock belongs to the process: opening and closing its file once more would end it.
        if lock in _held and _held[lock][0] == os.getpid():
            return None
        descriptor = -1
        if fcntl is not None:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The one before may have removed the file since it was opened here.
                if not os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                    raise BlockingIOError
                # For people; it may fail. Another user, too, must be able to lock what a crash of this run leaves.
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
                    os.fchmod(descriptor, 0o666)
            except OSError as error:
                os.close(descriptor)
                if error.errno not in _NO_LOCKS:
                    if isinstance(error, BlockingIOError | PermissionError | FileNotFoundError):
                        return None
                    raise
                descriptor = -1
        _held[lock] = os.getpid(), whole_run
        return descriptor


def _holder(lock: Path) -> str:
    with _guard:
        if lock in _held and _held[lock][0] == os.getpid():
            return "in this process"
        with contextlib.suppress(OSError):
            return lock.read_text("utf-8", "replace")[:100] or "process unknown"
    return "process unknown"


def _short(target: Path) -> str:
    """Return the name of a file, with a hash in place of its end where it is too long to be made longer."""
    if len(os.fsencode(target.name)) <= 200:
        return target.name
    return f"{target.name[:40]}~{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}"


def _lock_of(target: Path) -> Path:
    return target.parent / f".{_short(target)}.lock"


def _remove_unfinished(target: Path, *, certain: bool) -> None:
    """Remove temporary files that killed writers of this file left behind."""
    pattern = re.compile(rf"\.{re.escape(_short(target))}\.[a-z0-9_]+{re.escape(_SUFFIX)}")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and (certain or time.time() - entry.stat().st_mtime > _ABANDONED_AFTER):
                os.unlink(entry.path)


def _usual_mode(target: Path) -> int:
    """Return the mode of the file to be replaced, or that of any new file: temporary ones are private by default."""
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
