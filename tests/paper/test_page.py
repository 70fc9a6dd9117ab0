"""The page: everything in one file, every claim with a verdict, and nothing claimed that was not run."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from click.testing import CliRunner

from robustream.cli.reproduce import reproduce
from robustream.paper.experiment import Context, judge
from robustream.paper.experiments import EXPERIMENTS
from robustream.paper.page import make_page, render_page, write_page
from robustream.paper.results import Results, Store
from robustream.paper.runner import run_cells
from robustream.paper.sizes import SIZES

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


def test_every_claim_has_a_finding_with_numbers(page):
    for section in page.sections:
        assert section.complete
        assert len(section.findings) == len(section.experiment.claims)
        for _, finding in section.findings:
            assert re.search(r"\d", finding.text)
            assert "nan" not in finding.text
            assert finding.verdict != "cannot be checked"


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
        for claim, finding in section.findings:
            assert f"| {claim.line} | {claim.says} |" in text
            assert f"| {finding.verdict} |" in text


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
        assert {finding.verdict for _, finding in section.findings} == {"cannot be checked"}
        assert "Not all of it has been run" in render_page(make_page(CHOSEN[1:], CONTEXT, some))


@pytest.mark.parametrize(("dirty", "verdict"), [(0.5, "holds"), (0.06, "does not hold")])
def test_verdicts_come_from_the_numbers(dirty, verdict):
    claim = next(claim for claim in EXPERIMENTS["figure-1c"].claims if claim.says.startswith("Plain breaks down"))
    fields = {"spread": "even", "method": "plain", "seen": None}
    results = Results([{**fields, "fraction": 0.0, "error": 0.05}, {**fields, "fraction": 0.1, "error": dirty}])
    assert claim.judge(results).verdict == verdict


def test_rows_that_are_missing_give_no_verdict():
    claim = next(claim for claim in EXPERIMENTS["figure-1c"].claims if claim.says.startswith("Plain breaks down"))
    results = Results([{"spread": "even", "method": "plain", "fraction": 0.0, "error": 0.05}])
    assert judge(claim, results).verdict == "cannot be checked"


@pytest.mark.parametrize(("largest", "verdict"), [(0.99, "holds"), (1.2, "does not hold")])
def test_a_broken_bound_is_shown_as_broken(largest, verdict):
    claim = next(claim for claim in EXPERIMENTS["theory"].claims if "Lemma 1" in claim.line)
    results = Results([{"statement": "lemma 1", "largest": value, "trials": 9} for value in (0.5, largest)])
    assert claim.judge(results).verdict == verdict


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
    told = re.findall(r"(\d+)% done after .* left \(theory-", result.output)
    assert len(told) == pieces
    assert told == sorted(told, key=int)
    assert told[-1] == "100"
