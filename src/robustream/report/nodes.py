"""How the workers of an engine fared, as a table for the terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

__all__ = ["nodes_table"]

_MOST_SHOWN = 30


def nodes_table(model: Any) -> Table:
    """Give a table of the workers: what they worked on, how long, and how much of it is trusted."""
    report, batches = model.node_report_, model.batch_report_
    workers = report.workers(batches)
    late = [record for record in report.records if record.outcome == "late"]
    table = Table(box=box.SIMPLE, title="Workers", title_justify="left")
    table.add_column("worker", overflow="fold")
    for column in ("partitions", "seconds", "trusted", "rejected", "failed"):
        table.add_column(column, justify="right")
    for worker in workers[:_MOST_SHOWN]:
        numbers = (worker.partitions, f"{worker.seconds:.1f}", worker.trusted, worker.rejected, worker.failed)
        table.add_row(Text(worker.worker), *(str(number) for number in numbers))
    notes = [f"and {len(workers) - _MOST_SHOWN} more workers"] if len(workers) > _MOST_SHOWN else []
    if late:
        shown = ", ".join(record.label for record in late[:5]) + (", ..." if len(late) > 5 else "")
        notes.append(f"{len(late)} partitions were given up as late: {shown}")
    table.caption = Text("; ".join(notes)) if notes else None
    return table
