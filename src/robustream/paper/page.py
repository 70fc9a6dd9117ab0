"""The page: ten lines on top, then for each experiment its findings, pictures and tables, as HTML and as Markdown."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from robustream.paper.drawing import as_png
from robustream.paper.experiment import Claim, Context, Experiment, Finding, Table, judge, number
from robustream.paper.results import Results, Store

__all__ = [
    "Judged",
    "Page",
    "Section",
    "environment_words",
    "make_page",
    "render_markdown",
    "render_page",
    "write_page",
]

MARKS = {"holds": "✓", "partly": "◐", "fails": "✗", "unchecked": "?"}


class Drawn(NamedTuple):
    """A picture as PNG."""

    name: str
    caption: str
    png: bytes

    @property
    def address(self) -> str:
        """The picture as an address that holds it."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode()


class Judged(NamedTuple):
    """A claim and what the stored numbers say about it, as it is shown."""

    claim: Claim
    finding: Finding

    @property
    def mark(self) -> str:
        """The verdict as a sign."""
        return MARKS[self.finding.kind]

    @property
    def ours(self) -> str:
        """Our finding in short."""
        return self.finding.summary(self.claim.column)

    @property
    def what(self) -> str:
        """What the numbers of our finding are."""
        return " / ".join((self.claim.column or self.finding.criterion.of).split("|"))

    @property
    def table(self) -> Table:
        """The cases with their numbers and whether each meets the criterion: what the verdict is worked out from."""
        finding = self.finding
        columns = list(dict.fromkeys(name for case in finding.cases for name in case.numbers))
        rows = [
            [
                case.setting,
                *(number(case.numbers[name]) if name in case.numbers else "" for name in columns),
                "yes" if finding.criterion.met(case) else "no",
            ]
            for case in finding.cases
        ]
        return Table(f"Holds where {finding.criterion.words}.", ("setting", *columns, "holds"), rows)


class Section(NamedTuple):
    """One experiment as it is shown."""

    experiment: Experiment
    command: str
    pictures: Sequence[Drawn]
    tables: Sequence[Table]
    judged: Sequence[Judged]
    complete: bool


class Page(NamedTuple):
    """All that a page shows."""

    context: Context
    sections: Sequence[Section]
    environments: Sequence[dict[str, Any]]

    @property
    def title(self) -> str:
        """The heading."""
        return "Outlier Robust Online Learning, reproduced"

    @property
    def size_words(self) -> str:
        """The size in words."""
        size = self.context.size
        return (
            f"{size.name} size, seed {self.context.seed}: {size.total_rows:,} rows of {size.columns} columns in "
            f"{size.batches} batches, {size.repetitions} repetition{'s' if size.repetitions > 1 else ''}"
        )

    @property
    def size_warning(self) -> str:
        """What to think of numbers at another size than the paper's."""
        return "" if self.context.size.name == "full" else " The paper's numbers are those of its own size, full."

    @property
    def headlines(self) -> list[tuple[Section, Judged]]:
        """The lines on top."""
        return [(section, one) for section in self.sections for one in section.judged if one.claim.headline]

    @property
    def counts(self) -> Counter[str]:
        """How many claims of the paper got which kind of verdict; ours are not counted."""
        paper = [section for section in self.sections if section.experiment.name != "ours"]
        return Counter(one.finding.kind for section in paper for one in section.judged)

    @property
    def versions(self) -> list[str]:
        """The versions of the package with which the cells were worked out."""
        found = (f"{one.get('robustream', '?')} (source {one.get('source', '?')})" for one in self.environments)
        return list(dict.fromkeys(found))


def environment_words(environment: dict[str, Any]) -> str:
    """Return in one line where cells were worked out.

    >>> environment_words({"cpu": "some", "cores": 2, "packages": {"numpy": "2.4", "numba": None}})
    'cpu: some; cores: 2; packages: numpy 2.4'
    """
    words = {name: value for name, value in environment.items() if name not in ("packages", "blas")}
    if "packages" in environment:
        packages = environment["packages"].items()
        words["packages"] = ", ".join(f"{name} {version}" for name, version in packages if version)
    if "blas" in environment:
        libraries = {f"{library['internal_api']} {library['version']}" for library in environment["blas"]}
        words["linear algebra"] = ", ".join(sorted(libraries))
    return "; ".join(f"{name}: {value}" for name, value in words.items())


def make_page(
    experiments: Sequence[Experiment],
    context: Context,
    store: Store,
    advance: Callable[[str], None] = lambda name: None,
) -> Page:
    """Draw and judge what is in the store; `advance` is called after each experiment."""
    sections, cells = [], []
    for experiment in experiments:
        own = list(experiment.cells(context))
        cells.extend(own)
        results = Results(store.read(own))
        complete = all(store.has(cell) for cell in own)
        pictures = [
            Drawn(picture.name, picture.caption, as_png(picture.draw(results)))
            for picture in experiment.pictures
            if results
        ]
        tables = experiment.tables(results) if results else ()
        judged = [Judged(claim, judge(claim, results if complete else Results([]))) for claim in experiment.claims]
        without_data = list(experiment.cells(context._replace(data=None)))
        data = " --data FOLDER" if len(own) > len(without_data) else ""
        command = f"{experiment.command}{data}{_options(context)}"
        sections.append(Section(experiment, command, pictures, tables, judged, complete))
        advance(experiment.name)
    return Page(context, sections, store.environments(cells))


def _options(context: Context) -> str:
    size = {"full": "", "quick": " --quick"}.get(context.size.name, f" --size {context.size.name}")
    return f"{size}{f' --seed {context.seed}' if context.seed else ''}"


def write_page(page: Page, folder: Path) -> None:
    """Write `index.html`, which needs nothing else, and `index.md` with its pictures in `figures/` beside it."""
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    for section in page.sections:
        for picture in section.pictures:
            (pictures / f"{picture.name}.png").write_bytes(picture.png)
    (folder / "index.html").write_text(render_page(page), encoding="utf-8")
    (folder / "index.md").write_text(render_markdown(page, "figures"), encoding="utf-8")


def render_page(page: Page) -> str:
    """Return the page as HTML."""
    style = (files("robustream.paper") / "page.css").read_text(encoding="utf-8")
    return _render("page.html.j2", page, style=style)


def render_markdown(page: Page, pictures: str) -> str:
    """Return the page as Markdown; `pictures` is the folder of the pictures as seen from it."""
    return _render("page.md.j2", page, pictures=pictures)


def _render(template: str, page: Page, **more: Any) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("robustream.paper", "."),
        autoescape=template.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # As GitHub and MkDocs name headings.
    environment.filters["slug"] = lambda title: re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    environment.filters["cell"] = lambda text: str(text).replace("|", "\\|")
    return environment.get_template(template).render(page=page, marks=MARKS, words=environment_words, **more)
