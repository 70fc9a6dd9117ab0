"""The page: everything in one file, every claim with a verdict, and nothing claimed that was not run."""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from robustream.cli.reproduce import reproduce
from robustream.paper.experiment import Context
from robustream.paper.experiments import EXPERIMENTS
from robustream.paper.page import make_page, render_markdown, render_page, write_page
from robustream.paper.results import Store
from robustream.paper.runner import run_cells
from robustream.paper.scenarios import SIZES

CONTEXT = Context(SIZES["tiny"])
CHOSEN = [EXPERIMENTS[name] for name in ("figure-1d", "theory")]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("page"), "tiny", 0)
    run_cells([cell for experiment in CHOSEN for cell in experiment.cells(CONTEXT)], store)
    return store


@pytest.fixture(scope="module")
def page(store):
    return make_page(CHOSEN, CONTEXT, store)


def test_every_verdict_can_be_worked_out_from_the_numbers_beside_it(page):
    for section in page.sections:
        assert section.complete
        assert len(section.judged) == len(section.experiment.claims)
        for one in section.judged:
            assert one.finding.kind != "unchecked", one.claim.says
            column = one.table.head.index(one.finding.criterion.of)
            shown = [float(row[column].replace(",", "")) for row in one.table.rows]
            # What is shown is rounded to three digits.
            low, high = one.finding.criterion.at_least, one.finding.criterion.at_most
            near = [min(abs(value - low), abs(value - high)) < 0.006 * abs(value) for value in shown]
            held = [low <= value <= high for value in shown]
            said = [row[-1] == "yes" for row in one.table.rows]
            assert all(a == b or close for a, b, close in zip(held, said, near, strict=True)), one.claim.says
            assert one.finding.held == sum(said)
            if 0 < sum(said) < len(said):
                assert one.finding.verdict == f"holds in {sum(said)} of {len(said)}"


def test_no_sentence_on_the_page_has_more_than_three_numbers_of_results(page):
    for section in page.sections:
        for one in section.judged:
            assert len(re.findall(r"[-+]?\d[\d.,]*", one.ours)) <= 3


def test_the_page_needs_nothing_else(page):
    text = render_page(page)
    assert text.count("<img ") == sum(len(experiment.pictures) for experiment in CHOSEN)
    assert all(source.startswith("data:image/png;base64,") for source in re.findall(r'src="([^"]*)"', text))
    assert "<script" not in text
    assert "<link" not in text
    for experiment in CHOSEN:
        assert f"robustream reproduce {experiment.name}" in text


def test_markdown_has_its_pictures_beside_it(page, tmp_path):
    write_page(page, tmp_path)
    text = (tmp_path / "index.md").read_text(encoding="utf-8")
    pictures = re.findall(r"\]\((figures/[^)]*)\)", text)
    assert len(pictures) == sum(len(experiment.pictures) for experiment in CHOSEN)
    for picture in pictures:
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    for section in page.sections:
        for one in section.judged:
            assert f"| {one.claim.says} | {one.claim.place} |" in text
            assert f"{one.mark} {one.finding.verdict} |" in text


def test_the_page_starts_with_few_lines_and_says_what_made_it(page):
    text = render_markdown(page, "figures")
    top = text[: text.index("\n## ")]
    for section, one in page.headlines:
        assert one.claim.headline
        assert f"| {one.claim.says} | {one.claim.printed} | {one.ours} ({one.what}) |" in top
        slug = re.sub(r"[^\w -]", "", section.experiment.title.lower()).replace(" ", "-")
        assert f"(#{slug})" in top
    assert re.search(r"robustream \S+ \(source [0-9a-f]{8}\)", top)
    assert 8 <= sum(claim.headline for one in EXPERIMENTS.values() for claim in one.claims) <= 12


def test_drawing_twice_gives_the_same_pictures(page, store):
    again = make_page(CHOSEN[1:], CONTEXT, store)
    assert [picture.png for picture in again.sections[0].pictures] == [
        picture.png for picture in page.sections[1].pictures
    ]


def test_what_was_not_run_is_not_judged(tmp_path, store):
    partial = Store(tmp_path, "tiny", 0)
    cells = list(CHOSEN[1].cells(CONTEXT))
    partial.write(cells[0], store.read(cells[:1]), {})
    for some in (partial, Store(tmp_path / "empty", "tiny", 0)):
        (section,) = make_page(CHOSEN[1:], CONTEXT, some).sections
        assert not section.complete
        assert {one.finding.verdict for one in section.judged} == {"cannot be checked"}
        assert "Not all of it has been run" in render_page(make_page(CHOSEN[1:], CONTEXT, some))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["figure-9"], "figure-9"),
        (["theory", "--size", "huge"], "--size"),
        (["theory", "--seed", "-1"], "--seed"),
        (["theory", "--jobs", "0"], "--jobs"),
    ],
)
def test_wrong_options_are_explained(options, message):
    result = CliRunner().invoke(reproduce, options, env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exit_code == 2
    assert message in result.output


def test_the_command_draws_what_is_stored(store):
    folder = store.folder.parent.parent
    result = CliRunner().invoke(
        reproduce, ["theory", "--size", "tiny", "--draw-only", "--out", str(folder)], env={"COLUMNS": "200"}
    )
    assert result.exit_code == 0, result.output
    assert "cannot be checked" not in result.output
    assert (folder / "index.html").exists()
    assert (folder / "index.md").exists()


def test_progress_is_told_where_there_is_no_terminal(tmp_path, monkeypatch):
    # By name, since the package shows the command of this name and not its module.
    monkeypatch.setattr(import_module("robustream.cli.reproduce"), "SAY_EVERY", 0.0)
    options = ["theory", "--size", "tiny", "--jobs", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(reproduce, options, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    pieces = len(list(EXPERIMENTS["theory"].cells(CONTEXT)))
    assert f"{pieces} pieces of work" in result.output
    assert result.output.count("At the pace of the first pieces") == 1
    told = re.findall(r"(\d+)% done after .* left \(theory-", result.output)
    assert len(told) == pieces
    assert told == sorted(told, key=int)
    assert told[-1] == "100"


def test_what_there_is_can_be_listed():
    result = CliRunner().invoke(reproduce, ["list"])
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.output.splitlines()] == list(EXPERIMENTS)


def test_a_figure_asked_for_shows_its_own_verdicts_only(store):
    folder = store.folder.parent.parent
    options = ["theory", "--size", "tiny", "--draw-only", "--out", str(folder)]
    result = CliRunner().invoke(reproduce, options, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "figure-1d" not in result.output
    assert 'id="figure-1d"' in (folder / "index.html").read_text(encoding="utf-8")


def test_our_own_method_alone_can_be_run_again(tmp_path, store):
    copied = Path(shutil.copytree(store.folder.parent.parent, tmp_path / "again"))
    own = {path: path.stat().st_mtime_ns for path in copied.rglob("*.parquet")}
    options = ["figure-1d", "--size", "tiny", "--only", "ours", "--jobs", "1", "--out", str(copied)]
    result = CliRunner().invoke(reproduce, options, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    changed = {path.parent.name for path, before in own.items() if path.stat().st_mtime_ns != before}
    assert changed == {"ours-regression-0"}


def test_no_sentence_has_more_than_three_numbers():
    numbers, names = re.compile(r"(?<![\w.])[-+]?\d[\d,.]*(?:e\d+)?"), r"(Figure|Table|Algorithm|Theorems?|Lemma) \d\w*"
    for experiment in EXPERIMENTS.values():
        claims = [text for claim in experiment.claims for text in (claim.says, claim.reading)]
        for text in (experiment.says, experiment.setup, experiment.remark, *claims):
            for sentence in re.split(r"(?<=[.;])\s", re.sub(names, "", text)):
                assert len(numbers.findall(sentence)) <= 3, sentence
