"""Types and options that several commands have, each said once.

Options have the names of the library's arguments, so that a command can pass them on as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

__all__ = [
    "AGGREGATORS",
    "INPUT_FILE",
    "LEARNERS",
    "OUTPUT_FILE",
    "OUTPUT_FOLDER",
    "AutoOrCount",
    "Bytes",
    "CountOrShare",
    "FileOrAddress",
    "OneCharacter",
    "Option",
    "Period",
    "Range",
    "SchedulerAddress",
    "apply_options",
    "check_outputs",
    "csv_options",
    "help_all",
    "model_argument",
    "names_option",
    "option",
    "quiet",
    "same_place",
    "sources_argument",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]
if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    # Earlier versions of click have no type parameter here.
    _Type = click.ParamType

# Named here, since the library is loaded only when a command runs.
LEARNERS = ("refined", "trimmed", "classical")
AGGREGATORS = ("filtered", "geometric-median", "online-median", "mean", "coordinate-median", "trimmed-mean")

OUTPUT_FOLDER = click.Path(file_okay=False, path_type=Path)

_SHOW_ALL = "robustream.show_all"


class FileOrAddress(click.Path):
    """A file on this machine, or an address such as s3://bucket/model.safetensors, which stays text."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a Path, or the text of an address."""
        from robustream.files.addresses import as_text, is_address

        if is_address(value):
            return str(value)
        return super().convert(as_text(value), param, ctx)


OUTPUT_FILE = FileOrAddress(dir_okay=False, path_type=Path)
INPUT_FILE = FileOrAddress(path_type=Path)


class Option(click.Option):
    """An option; one that most people never need is `rare`: `--help-all` shows it."""

    def __init__(self, *arguments: Any, rare: bool = False, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.rare = rare

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of the help text, if the option has one."""
        return super().get_help_record(ctx) if not self.rare or ctx.meta.get(_SHOW_ALL) else None


def option(*names: str, **settings: Any) -> Decorator:
    """Return a decorator that adds such an option."""
    return click.option(*names, cls=Option, **settings)


def apply_options(decorators: Sequence[Decorator]) -> Callable[[_Function], _Function]:
    """Return one decorator in place of several, the first of which comes first in the help text."""

    def decorate(function: _Function) -> _Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


class Range(click.FloatRange):
    """A number in a range; NaN and infinity are in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


class CountOrShare(_Type):
    """A whole number from 1 on, or a share between 0 and 1."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return an int or a float."""
        if isinstance(value, int):
            return value
        try:
            number = int(value) if value.strip().isdigit() else float(value)
        except ValueError:
            number = math.nan
        if not (0 < number < 1 or (isinstance(number, int) and number >= 1)):
            self.fail(f"{value!r} is neither a whole number from 1 on nor a share such as 0.95.", param, ctx)
        return number


class AutoOrCount(_Type):
    """The word "auto", or a whole number from 1 on."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return "auto" or an int."""
        if value == "auto":
            return "auto"
        if not (value.strip().isdigit() and int(value) > 0):
            self.fail(f"{value!r} is neither auto nor a number of rows.", param, ctx)
        return int(value)


class Period(_Type):
    """A time such as "5 min", or a number of batches; the library says which are valid."""

    name = "period"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        from robustream.errors import InvalidInputError
        from robustream.runs.checkpoints import Rhythm

        try:
            Rhythm(value)
        except InvalidInputError:
            self.fail(f"{value!r} is neither a time such as '5 min' nor a number such as '100 batches'.", param, ctx)
        return str(value)


class OneCharacter(_Type):
    """A character that can stand between fields; a tab can be written as "tab"."""

    name = "character"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the character."""
        character = "\t" if value in ("tab", "\\t") else str(value)
        if len(character) != 1 or not character.isascii() or character in '"\r\n':
            self.fail(f"{value!r} is neither a single character nor tab.", param, ctx)
        return character


class Bytes(_Type):
    """A number of bytes, as 500000, 512 MB or 2 GB."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        match = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)i?b?\s*", str(value), re.IGNORECASE)
        if match is None or not int(match[1]):
            self.fail(f"{value!r} is not a number of bytes such as 500000, 512 MB or 2 GB.", param, ctx)
        return int(match[1]) << 10 * " kmgt".index(match[2].lower() or " ")


class SchedulerAddress(_Type):
    """The address of a Dask scheduler."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the address."""
        if not re.fullmatch(r"([a-z+]+://)?.+:\d+", value):
            self.fail(f"{value!r} is not an address such as tcp://host:8786.", param, ctx)
        return str(value)


def _split_names(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[str] | None:
    """Take both `--exclude a,b` and `--exclude a --exclude b`; None if nothing was said."""
    if not values:
        return None
    names = [part.strip() for value in values for part in value.split(",") if part.strip()]
    if not names:
        raise click.BadParameter("no column is named; a,b names two.", ctx, param)
    if doubled := [name for name in names if names.count(name) > 1]:
        raise click.BadParameter(f"{doubled[0]!r} is named twice.", ctx, param)
    return names


def names_option(*names: str, **settings: Any) -> Decorator:
    """Return an option whose value is a list of names of columns."""
    return option(*names, multiple=True, metavar="NAMES", callback=_split_names, **settings)


def _show_all(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta[_SHOW_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


help_all = click.option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show all options."
)
sources_argument = click.argument("sources", nargs=-1, required=True, metavar="SOURCES...")
model_argument = click.argument("model", type=INPUT_FILE, metavar="MODEL")
quiet = option("--quiet", "-q", is_flag=True, help="No progress bar, no summary.")

csv_options = (
    option("--header/--no-header", rare=True, default=True, help="Whether CSV files name their columns."),
    option("--separator", rare=True, type=OneCharacter(), help="What is between CSV fields [guessed]; tab for a tab."),
    option(
        "--decimal",
        rare=True,
        type=click.Choice([".", ","]),
        metavar="CHARACTER",
        help="What is before decimals in CSV files [guessed].",
    ),
    option("--max-batch-bytes", rare=True, type=Bytes(), help="Most memory for a batch as it is read [1 GB]."),
    option("--max-line-bytes", rare=True, type=Bytes(), help="Longest line of text [16 MB]."),
)


def same_place(path: Path | str) -> Path | str:
    """Return what two names of one file have in common: its whole path, or its address."""
    return path if isinstance(path, str) else path.resolve()


def check_outputs(sources: Sequence[str], outputs: Sequence[Path | str | None]) -> None:
    """Raise if a result could not be written, or only over one of the files that are read."""
    from robustream.cli.errors import ExitCode, fail
    from robustream.errors import InvalidInputError
    from robustream.files.addresses import is_address, shown
    from robustream.sources.tables.paths import find_files

    written = [output for output in outputs if output is not None]
    for output in written:
        if isinstance(output, Path) and not output.absolute().parent.is_dir():
            raise fail(f"the folder of {output} does not exist", ExitCode.CANNOT_WRITE)
    files = [] if list(sources) == ["-"] else find_files(sources)
    read = {path if is_address(path) else Path(path).resolve() for path in files}
    for output in written:
        if same_place(output) in read:
            raise InvalidInputError(f"{shown(output)} is one of the files to read: write the result elsewhere")
