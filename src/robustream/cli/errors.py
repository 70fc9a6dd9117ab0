"""Exit codes, and errors as messages on standard error: people and scripts both can tell what went wrong.

A message of the library names the arguments of Python; the options of the command for them stand below it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from importlib.util import find_spec
from typing import Any

import click

__all__ = ["Command", "ExitCode", "Group", "fail", "require", "warn"]


class ExitCode(IntEnum):
    """How a command ended; 2 is a wrong option and 1 an error nobody thought of."""

    OK = 0
    BAD_INPUT = 3
    BELOW_QUORUM = 4
    STOPPED_AT_FAILURE = 5
    BAD_FILE = 6
    CANNOT_WRITE = 7
    INCOMPLETE = 8
    INTERRUPTED = 130


class Command(click.Command):
    """A command that turns the errors that robustream raises on purpose into a message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _errors_as_exits(self.params), _plain_warnings():
            return super().invoke(ctx)


class Group(click.Group):
    """A group of such commands, in the order in which they were added."""

    command_class = Command
    group_class = type

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order in which a user needs them."""
        return list(self.commands)


def fail(message: str, code: ExitCode) -> click.exceptions.Exit:
    """Print a message on standard error and return the exit to raise."""
    click.secho(f"Error: {message}", err=True, fg="red")
    return click.exceptions.Exit(int(code))


def warn(message: str) -> None:
    """Print a warning on standard error."""
    click.secho(f"Warning: {message}", err=True, fg="yellow")


def require(package: str, extra: str, reason: str) -> None:
    """Raise before any work if an optional package is not there."""
    if find_spec(package) is None:
        raise fail(f"{package} is not installed, and {reason}: pip install 'robustream[{extra}]'", ExitCode.BAD_INPUT)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show our own warnings as messages: where in the library they were raised tells the user of a command nothing."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
            if category.__module__ == "robustream.errors":
                warn(str(message))
            else:
                usual(message, category, *place, **options)

        warnings.showwarning = show
        yield


@contextmanager
def _errors_as_exits(parameters: Sequence[click.Parameter]) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise fail("interrupted", ExitCode.INTERRUPTED) from None
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        raise fail(_say(error) + _hint(error, parameters), code) from error


def _exit_code(error: Exception) -> ExitCode | None:
    # Loaded now: a command that ends well need not wait for it.
    from robustream import errors

    codes: list[tuple[type[Exception] | tuple[type[Exception], ...], ExitCode]] = [
        (errors.BelowQuorumError, ExitCode.BELOW_QUORUM),
        (errors.FailedBatchError, ExitCode.STOPPED_AT_FAILURE),
        ((errors.DamagedFileError, errors.NewerFormatError, errors.CheckpointError), ExitCode.BAD_FILE),
        (errors.StorageError, ExitCode.CANNOT_WRITE),
        ((errors.RobustreamError, FileNotFoundError, IsADirectoryError, PermissionError), ExitCode.BAD_INPUT),
    ]
    return next((code for kinds, code in codes if isinstance(error, kinds)), None)


def _say(error: Exception) -> str:
    """Return the message, without the number that the system gives its errors."""
    from robustream.errors import FailedBatchError, RobustreamError

    if isinstance(error, FailedBatchError):
        return f"stopped at the first batch that failed: {error}"
    if isinstance(error, RobustreamError) or not isinstance(error, OSError):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return f"there is no file {error.filename}"
    if isinstance(error, IsADirectoryError):
        return f"{error.filename} is a folder, not a file"
    return f"{error.filename} cannot be read: permission denied"


def _hint(error: Exception, parameters: Sequence[click.Parameter]) -> str:
    """Name the options of this command for the arguments that the error is about."""
    about = getattr(error, "arguments", ())
    options = ["/".join([*each.opts[:1], *each.secondary_opts[:1]]) for each in parameters if each.name in about]
    if not options:
        return ""
    return f"\n{'Option' if len(options) == 1 else 'Options'}: {', '.join(options)}"
