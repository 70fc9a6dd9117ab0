"""The site is built without a warning, lists everything public, and needs no network."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import robustream

ROOT = Path(__file__).parents[2]
# What a browser loads by itself; links for people to follow are another matter.
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src"}
LOADED_LINKS = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "manifest", "modulepreload"}


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": paths, **more}


@pytest.fixture(scope="module")
def help_texts() -> Any:
    specification = importlib.util.spec_from_file_location("help_texts", ROOT / "docs" / "help_texts.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers.python"):
        pytest.importorskip(name, reason="the site needs `pip install '.[docs]'`")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=environment(NO_MKDOCS_2_WARNING="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


class Loads(HTMLParser):
    """Collects the addresses that a browser asks for when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag in LOADED:
            self.addresses.append(named.get(LOADED[tag]) or "")
        if tag == "link" and LOADED_LINKS & set((named.get("rel") or "").split()):
            self.addresses.append(named.get("href") or "")


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.addresses, page
        assert [address for address in loads.addresses if re.match(r"(https?:)?//", address)] == [], page
    for sheet in site.rglob("*.css"):
        assert re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")) is None, sheet


def test_everything_public_has_a_place_in_the_reference(site: Path) -> None:
    reference = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    modules = {"aggregators", "engines", "errors", "learners", "sources"}
    names = sorted(set(robustream.__all__) - modules)
    assert [name for name in names if re.search(rf'<h\d id="robustream\.([a-z_]+\.)*{name}"', reference) is None] == []


def test_the_page_of_the_command_line_has_every_command(site: Path, help_texts: Any) -> None:
    page = (site / "commands.html").read_text(encoding="utf-8")
    paths = help_texts.command_paths()
    assert ("fit", "pca") in paths
    assert [path for path in paths if f"Usage: {' '.join(('robustream', *path))} [OPTIONS]" not in page] == []


@pytest.mark.parametrize("path", [(), ("fit", "regression")], ids=["robustream", "fit"])
def test_help_texts_are_those_of_the_program(path: tuple[str, ...], help_texts: Any) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "robustream", *path, "--help"],
        env=environment(COLUMNS=str(help_texts.WIDTH)),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert help_texts.help_text(path) == printed.replace("python -m robustream", "robustream")


def test_every_promise_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[^`:]+)::([^`]+)`", page)
    assert len(named) >= page.count("\n| ") - 2 * page.count("| promise |")
    for path, name in named:
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), (path, name)
