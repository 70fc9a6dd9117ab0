"""The command line.

A command's own work is imported when the command runs, so that help and errors in options come without delay.
"""

from __future__ import annotations

import click

from robustream._version import __version__
from robustream.cli.apply import predict, score, transform
from robustream.cli.bench import bench
from robustream.cli.demo import demo
from robustream.cli.errors import Group
from robustream.cli.fit import fit
from robustream.cli.inspect import inspect, report
from robustream.cli.reproduce import reproduce

__all__ = ["main"]


@click.group(
    cls=Group,
    epilog="Example: robustream fit pca 'data/*.parquet' -k 5 --out model.safetensors",
    context_settings={"max_content_width": 100},
)
@click.version_option(__version__, message="robustream %(version)s", help="Show the version.")
def main() -> None:
    """Robust PCA and linear regression over streams in which whole batches may be garbage."""


for _command in (fit, score, predict, transform, inspect, report, demo, reproduce, bench):
    main.add_command(_command)
