"""The facts about a model file, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["facts_tables"]


def facts_tables(facts: dict[str, Any], most: int | None) -> Iterator[Table]:
    """Yield a table of what the file is, and one of the batches that are not trusted, no more than `most` of them."""
    from rich import box
    from rich.table import Table

    title = f"{facts['estimator']} ({facts['kind']})"
    main = Table(box=box.SIMPLE, show_header=False, title=title, title_justify="left")
    main.add_column(style="bold")
    main.add_column(overflow="fold")
    for name, value in _lines(facts):
        main.add_row(name, value)
    yield main
    distrusted = facts["distrusted"]
    if not distrusted:
        return
    table = Table(box=box.SIMPLE, title=f"{len(distrusted)} batches that are not trusted", title_justify="left")
    for column in ("batch", "verdict", "reason"):
        table.add_column(column, overflow="fold")
    for record in distrusted[:most]:
        table.add_row(record["label"], record["verdict"], record["reason"])
    if most is not None and len(distrusted) > most:
        table.caption = f"and {len(distrusted) - most} more: --all lists them"
    yield table


def _lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "file", f"{facts['path']} ({facts['size']:,} bytes, written {facts['written']})"
    names = facts["column_names"]
    shown = "" if names is None else ": " + ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    yield "columns", f"{facts['columns']}{shown}"
    if facts.get("targets"):
        yield "target", ", ".join(facts["targets"])
    if facts["classes"]:
        yield "classes", ", ".join(map(str, facts["classes"]))
    if facts["rows_seen"] is not None:
        waiting = f", {facts['rows_waiting']:,} still waiting for more" if facts["rows_waiting"] else ""
        yield "rows seen", f"{facts['rows_seen']:,}{waiting}"
        verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(facts["verdicts"].items()))
        yield "batches seen", f"{facts['batches_seen']:,} ({verdicts})"
    yield "parameters", ", ".join(f"{name}={value!r}" for name, value in facts["parameters"].items())
    shapes = {name: " x ".join(map(str, shape)) or "a number" for name, shape in facts["answer"].items()}
    yield "answer", ", ".join(f"{name} ({shape})" for name, shape in shapes.items())
    yield "versions", ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
