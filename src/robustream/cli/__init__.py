"""The command line: `robustream demo` and `robustream bench`.

A command's own work is imported when the command runs, so that help and errors in options come without delay.
"""

from __future__ import annotations

from typing import Annotated

import typer

from robustream.cli.bench import bench
from robustream.cli.demo import demo

__all__ = ["main"]

main = typer.Typer(
    help="Robust PCA and linear regression over streams in which whole batches may be garbage.",
    epilog="Example: robustream demo --bad 0.3",
    no_args_is_help=True,
    add_completion=False,
    # A traceback with the values of all variables would print whole arrays.
    pretty_exceptions_show_locals=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from robustream import __version__

        typer.echo(f"robustream {__version__}")
        raise typer.Exit


@main.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Robust PCA and linear regression over streams in which whole batches may be garbage."""


main.command(epilog="Example: robustream demo --batches 50 --bad 0.3 --json result.json")(demo)
main.add_typer(bench, name="bench")
