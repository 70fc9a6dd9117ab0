"""`robustream bench stream`: files larger than memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from robustream.cli.measuring import Out, Strict, make_folder, measure_and_show

__all__ = ["stream"]


def stream(
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="Rows of all files; 10,000,000, quick 1,000,000.")
    ] = None,
    columns: Annotated[int, typer.Option(metavar="N", help="Columns, float32.")] = 100,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows, turns and runs.")] = False,
    out: Out = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", file_okay=False, help="Keep the files here, and use those that are there."),
    ] = None,
    strict: Strict = False,
) -> None:
    """Measure fits of Parquet files beside reading them and IncrementalPCA, and whether a tolerance is kept.

    Time, memory and busy cores: 100 files are made, 20 of them garbage; 10,000,000 x 100 take 5 GB. Run it on a quiet
    machine. Tolerance: simulated streams, of which the truth is known.
    """
    from robustream.bench.stream.data import COMPONENTS, FILES
    from robustream.bench.stream.suite import stream_steps
    from robustream.kernels.threads import get_threads

    rows = (1_000_000 if quick else 10_000_000) if rows is None else rows
    fewest = 100 * FILES
    if rows < fewest or columns <= COMPONENTS:
        raise typer.BadParameter(
            f"rows must be at least {fewest:,} and columns more than {COMPONENTS}; {rows} and {columns} came."
        )
    make_folder(out)
    make_folder(keep)
    with TemporaryDirectory(prefix="robustream-") as temporary:
        steps = stream_steps(keep or Path(temporary), rows, columns, quick=quick)
        measure_and_show("stream", steps, get_threads(), out, quick=quick, strict=strict)
