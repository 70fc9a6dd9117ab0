"""The speed claims."""

from __future__ import annotations

from collections.abc import Sequence

from robustream.paper.claims.speed import SPEED_CLAIMS
from robustream.paper.experiment import Experiment, Table
from robustream.paper.results import Results
from robustream.paper.timing import speed_cells

__all__ = ["EXPERIMENT"]

_PAPER = {"ORL-PCA": ("212 s", "8 MB"), "batch RC-PCA": ("about 27 hours; 60 s", "8,000 MB"), "DRL": ("0.6 s", "")}


def _tables(results: Results) -> Sequence[Table]:
    lines = [
        [
            str(row["method"]),
            f"{row['seconds']:.2f}",
            "-" if row["peak_bytes"] is None else f"{float(row['peak_bytes']) / 1e6:,.0f}",
            *_PAPER.get(str(row["method"]), ("", "")),
        ]
        for row in results.rows
    ]
    size = [f"{row['batches'] * row['rows']:,} x {row['columns']}" for row in results.rows[:1]]  # type: ignore[operator]
    cores = [f"{row['threads']}" for row in results.rows[:1]]
    caption = f"{''.join(size)} rows in float32 on {''.join(cores)} thread; the making of data is not counted."
    return (Table(caption, ("method", "seconds", "peak MB", "paper: time", "paper: memory"), lines),)


EXPERIMENT = Experiment(
    name="speed",
    title="Time and memory",
    line="l.303, l.307-308",
    says=(
        "On 1e6 x 100: ORL-PCA 212 s and 8 MB, batch RC-PCA about 27 hours and 8,000 MB; distributed 0.6 s, "
        "centralized 60 s; communication is negligible."
    ),
    setup=(
        "Each method alone in a fresh process. Memory is the peak above the start, rows that must be held included. "
        "For the distributed method the nodes are timed one by one; the slowest and the median of the answers count. "
        "10% outliers, one half trimmed."
    ),
    remark="27 hours and 60 seconds are both given for the centralized method on the same data.",
    cells=lambda context: speed_cells(context.size),
    pictures=(),
    tables=_tables,
    claims=SPEED_CLAIMS,
)
