"""The page as Markdown, with its pictures as files beside it, for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from robustream.paper.experiment import Table, Verdict
from robustream.paper.sections import Page, Section, environment_words

__all__ = ["render_markdown", "write_markdown"]


def write_markdown(page: Page, folder: Path) -> Path:
    """Write `index.md` and the pictures."""
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    for section in page.sections:
        for picture in section.pictures:
            (pictures / f"{picture.name}.png").write_bytes(picture.png)
    target = folder / "index.md"
    target.write_text(render_markdown(page, "figures"), encoding="utf-8")
    return target


def render_markdown(page: Page, pictures: str) -> str:
    """Give the page as text; `pictures` is the folder of the pictures as seen from it."""
    counts = ", ".join(f"{verdict}: {page.verdicts[verdict]}" for verdict in get_args(Verdict))
    lines = [
        f"# {page.title}",
        "",
        "Feng, Xu and Mannor, “Outlier Robust Online Learning”. `robustream reproduce all --out results/` makes this "
        "page; every verdict is worked out from the stored numbers.",
        "",
        f"This page: {page.size_words}. Claims of the paper: {counts}.",
        "",
    ]
    for section in page.sections:
        lines.extend(_section(section, pictures))
    lines.extend(["## Where it was run", ""])
    lines.extend(f"- {environment_words(environment)}" for environment in page.environments)
    return "\n".join(lines) + "\n"


def _section(section: Section, pictures: str) -> list[str]:
    experiment = section.experiment
    claims = [(claim.line, claim.says, finding.text, finding.verdict) for claim, finding in section.findings]
    lines = [f"## {experiment.title}", "", f"`{section.command}`", ""]
    if not section.complete:
        lines.extend(["Not all of it has been run; what there is is shown.", ""])
    lines.extend([f"**The paper ({experiment.line}):** {experiment.says}", ""])
    lines.extend([*_rows(("line", "claim", "our finding", "verdict"), claims), ""])
    for picture in section.pictures:
        lines.extend([f"![{picture.caption}]({pictures}/{picture.name}.png)", "", f"*{picture.caption}*", ""])
    for table in section.tables:
        lines.extend([*_table(table), ""])
    return [*lines, f"**Set-up:** {experiment.setup}", "", f"**Remark:** {experiment.remark}", ""]


def _table(table: Table) -> list[str]:
    return [table.caption, "", *_rows(table.head, table.rows)]


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(head), "|" + "---|" * len(head), *(line(row) for row in rows)]
