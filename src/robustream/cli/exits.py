"""Exit codes, and errors as messages on standard error: people and scripts both can tell what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

import typer

from robustream.cli.wording import as_options

__all__ = ["ExitCode", "errors_as_exits", "fail", "refuse_overwriting"]


class ExitCode(IntEnum):
    """What a command ended with; 2 is a wrong option and 1 an error nobody thought of."""

    OK = 0
    BAD_INPUT = 3
    BELOW_QUORUM = 4
    STOPPED_AT_FAILURE = 5
    BAD_FILE = 6
    CANNOT_WRITE = 7
    INCOMPLETE = 8
    INTERRUPTED = 130


def fail(message: str, code: ExitCode) -> typer.Exit:
    """Print a message on standard error and give the exit to raise."""
    typer.secho(f"Error: {as_options(message)}", err=True, fg=typer.colors.RED)
    return typer.Exit(int(code))


def refuse_overwriting(sources: Sequence[str], *outputs: Path | None) -> None:
    """Raise if a result would be written over one of the files that are read."""
    from robustream.errors import InvalidInputError
    from robustream.sources.tables.paths import find_files

    read = set() if list(sources) == ["-"] else {Path(path).resolve() for path in find_files(sources)}
    for output in outputs:
        if output is not None and output.resolve() in read:
            raise InvalidInputError(f"{output} is one of the files to read: write the result elsewhere")


def _say_os_error(error: OSError) -> str:
    """Say what is wrong with a file, without the number of the error."""
    if isinstance(error, FileNotFoundError):
        return f"there is no file {error.filename}"
    if isinstance(error, IsADirectoryError):
        return f"{error.filename} is a folder, not a file"
    return f"{error.filename} cannot be read: permission denied"


@contextmanager
def errors_as_exits() -> Iterator[None]:
    """Turn the errors that robustream raises on purpose into a message and an exit code."""
    from robustream import errors

    try:
        yield
    except KeyboardInterrupt:
        raise fail("interrupted", ExitCode.INTERRUPTED) from None
    except errors.BelowQuorumError as error:
        raise fail(str(error), ExitCode.BELOW_QUORUM) from error
    except errors.FailedBatchError as error:
        raise fail(f"stopped at the first batch that failed: {error}", ExitCode.STOPPED_AT_FAILURE) from error
    except (errors.DamagedFileError, errors.NewerFormatError, errors.CheckpointError) as error:
        raise fail(str(error), ExitCode.BAD_FILE) from error
    except errors.StorageError as error:
        raise fail(str(error), ExitCode.CANNOT_WRITE) from error
    except errors.RobustreamError as error:
        raise fail(str(error), ExitCode.BAD_INPUT) from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise fail(_say_os_error(error), ExitCode.BAD_INPUT) from error
