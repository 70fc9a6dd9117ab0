"""The command line.

A command's own work is imported when the command runs, so that help and errors in options come without delay.
"""

from __future__ import annotations

from typing import Annotated

import typer

from robustream.cli.applying import predict, score, transform
from robustream.cli.bench import bench
from robustream.cli.demo import demo
from robustream.cli.fit import fit
from robustream.cli.looking import inspect, report
from robustream.cli.reproduce import reproduce

__all__ = ["main"]

main = typer.Typer(
    help="Robust PCA and linear regression over streams in which whole batches may be garbage.",
    epilog="Example: robustream fit pca 'data/*.parquet' -k 5 --out model.safetensors",
    no_args_is_help=True,
    # A traceback with the values of all variables would print whole arrays.
    pretty_exceptions_show_locals=False,
    # Plain help is half as long as boxed help: each page fits a screen.
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
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


main.add_typer(fit, name="fit")
main.command(epilog="Example: robustream score model.safetensors new/*.parquet --out scored.parquet")(score)
main.command(epilog="Example: robustream predict model.safetensors new/ --out predicted.csv")(predict)
main.command(epilog="Example: robustream transform model.safetensors new/ --out coordinates.parquet")(transform)
main.command(epilog="Example: robustream inspect model.safetensors")(inspect)
main.command(epilog="Example: robustream report model.safetensors --out report.html")(report)
main.command(epilog="Example: robustream demo --batches 50 --bad 0.3 --json result.json")(demo)
main.command(epilog="Example: robustream reproduce all --quick --out results/")(reproduce)
main.add_typer(bench, name="bench")
