"""The page: one HTML file that needs nothing else."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from robustream.paper.drawing.style import as_data_address
from robustream.paper.experiment import Table
from robustream.paper.sections import Page, Section, environment_words
from robustream.report.markup import Markup, element, join

__all__ = ["render_page", "write_page"]

_MARKS = {"holds": "✓", "holds in part": "◐", "does not hold": "✗", "cannot be checked": "?"}


def write_page(page: Page, folder: Path) -> Path:
    """Write `index.html`."""
    target = folder / "index.html"
    target.write_text(render_page(page), encoding="utf-8")
    return target


def render_page(page: Page) -> str:
    """Give the page as text."""
    style = (files("robustream.paper") / "page.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", page.title),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element("header", element("h1", page.title), element("p", page.size_words), _summary(page)),
        element("main", *(_section(section) for section in page.sections), _environments(page)),
    )
    return "<!doctype html>\n" + element("html", head, body, lang="en")


def _summary(page: Page) -> Markup:
    counts = ", ".join(f"{_MARKS[verdict]} {verdict}: {page.verdicts[verdict]}" for verdict in _MARKS)
    links = [
        element("li", element("a", section.experiment.title, href=f"#{section.experiment.name}"), " ", _marks(section))
        for section in page.sections
    ]
    return join(
        element("p", "Feng, Xu and Mannor, “Outlier Robust Online Learning”. Claims of the paper: ", counts, "."),
        element("nav", element("ul", *links)),
    )


def _marks(section: Section) -> Markup:
    """Show the verdicts on the paper's claims, then those on ours, as marks with their claims as hints."""
    marks: dict[bool, list[Markup]] = {True: [], False: []}
    for claim, finding in section.findings:
        hint = f"{claim.says} {finding.verdict}"
        marks[claim.is_ours].append(
            element("span", _MARKS[finding.verdict], class_=_class(finding.verdict), title=hint)
        )
    ours = join(" · ours: ", *marks[True]) if marks[True] else ""
    return join(*marks[False], ours)


def _class(verdict: str) -> str:
    return "verdict " + verdict.replace(" ", "-")


def _section(section: Section) -> Markup:
    experiment = section.experiment
    incomplete = None
    if not section.complete:
        incomplete = element(
            "p", "Not all of it has been run: pictures and tables show what there is.", class_="warning"
        )
    return element(
        "section",
        element("h2", experiment.title),
        element("p", element("code", section.command), class_="command"),
        incomplete,
        element("p", element("strong", f"The paper ({experiment.line}): "), experiment.says),
        _findings(section),
        *(
            element(
                "figure",
                element("img", src=as_data_address(picture.png), alt=picture.caption),
                element("figcaption", picture.caption),
            )
            for picture in section.pictures
        ),
        *(_table(table) for table in section.tables),
        element("p", element("strong", "Set-up: "), experiment.setup),
        element("p", element("strong", "Remark: "), experiment.remark),
        id=experiment.name,
    )


def _findings(section: Section) -> Markup:
    rows = [
        element(
            "tr",
            element("td", claim.line),
            element("td", claim.says),
            element("td", finding.text),
            element("td", f"{_MARKS[finding.verdict]} {finding.verdict}", class_=_class(finding.verdict)),
        )
        for claim, finding in section.findings
    ]
    head = element("tr", *(element("th", name) for name in ("line", "claim", "our finding", "verdict")))
    return element(
        "div", element("table", element("thead", head), element("tbody", *rows), class_="claims"), class_="wide"
    )


def _table(table: Table) -> Markup:
    head = element("tr", *(element("th", name) for name in table.head))
    rows = [element("tr", *(element("td", cell) for cell in row)) for row in table.rows]
    caption = element("caption", table.caption)
    return element("div", element("table", caption, element("thead", head), element("tbody", *rows)), class_="wide")


def _environments(page: Page) -> Markup:
    lines = [element("li", environment_words(environment)) for environment in page.environments]
    return element("section", element("h2", "Where it was run"), element("ul", *lines, class_="environment"))
