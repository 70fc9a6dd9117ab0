"""Every example of the documentation is run, page by page, in a folder of its own.

Python sessions (`>>>`) share their names down a page. Lines after `$ ` are commands; what follows is what they print.
A Python block with a title is a file, which is written where the examples run. One without a session is a sketch of
something that needs more than one machine: it must be right as far as its grammar and its names go.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import robustream

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
FLAGS = doctest.ELLIPSIS
WIDTH = "90"


class Block(NamedTuple):
    """What stands between two fences."""

    language: str
    title: str
    text: str
    line: int


class Command(NamedTuple):
    """A line for the shell and what it should print."""

    text: str
    want: str


def blocks_of(page: str) -> list[Block]:
    found = []
    for match in re.finditer(r'^```(\w*)(?: title="([^"]*)")?[^\n]*\n(.*?)^```$', page, re.MULTILINE | re.DOTALL):
        found.append(Block(match[1], match[2] or "", match[3], page.count("\n", 0, match.start(3))))
    return found


def commands_of(text: str) -> list[Command]:
    joined = text.replace("\\\n", " ")
    assert joined.startswith("$ "), f"a console block must begin with a command: {joined[:60]!r}"
    parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]
    return [Command(*part.split("\n", 1)) for part in parts]


def check_sketch(text: str, place: str) -> None:
    """Check names of the package, and of arguments of its functions, in code that is not run."""
    for node in ast.walk(ast.parse(text, place)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("robustream"):
            module = importlib.import_module(node.module or "")
            assert [name.name for name in node.names if not hasattr(module, name.name)] == [], place
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "rs":
            called = inspect.signature(getattr(robustream, node.func.attr))
            named = {word.arg: None for word in node.keywords if word.arg}
            called.bind(*(None for _ in node.args), **named)


class Reader:
    """Somebody who follows a page: one Python session, one folder, one shell."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: dict[str, Any] = {}
        self.status = 0

    def follow(self, block: Block) -> None:
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python" and ">>>" not in block.text:
            check_sketch(block.text, f"{self.name}, line {block.line}")
        elif block.language in ("python", "pycon"):
            self._talk(block)
        elif block.language == "console":
            for command in commands_of(block.text):
                self._check(command, self.run(command.text), block.line)

    def _talk(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(block.text, self.names, self.name, self.name, block.line)
        assert test.examples, f"{self.name}, line {block.line}: there is no example"
        said: list[str] = []
        failed = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=said.append, clear_globs=False)
        self.names = test.globs
        assert not failed.failed, "".join(said)

    def run(self, command: str) -> str:
        """Give what a command prints; our own run within this process, since a start takes seconds."""
        words = shlex.split(command)
        if words[0] == "robustream" and not set("|;&<>$") & set(command):
            from click.testing import CliRunner

            from robustream.cli import main

            result = CliRunner().invoke(main, words[1:])
            assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
            self.status = result.exit_code
            return result.output
        shell = f'robustream() {{ "{sys.executable}" -m robustream "$@"; }}; python() {{ "{sys.executable}" "$@"; }}; '
        done = subprocess.run(
            [shutil.which("bash") or "bash", "-c", f"{shell}(exit {self.status}); {command}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.status = done.returncode
        return done.stdout

    def _check(self, command: Command, got: str, line: int) -> None:
        want, got = _printed(command.want), _printed(got)
        same = doctest.OutputChecker().check_output(want, got, FLAGS)
        assert same, f"{self.name}, block at line {line}\n$ {command.text}\n--- expected\n{want}\n--- printed\n{got}"


def _printed(text: str) -> str:
    """Leave out what nobody sees on a page: blank lines and blanks at the end."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines() if line.strip())


@pytest.fixture(scope="session")
def example_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the files that all pages use, as the page for beginners says."""
    folder = tmp_path_factory.mktemp("examples")
    blocks = blocks_of((ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8"))
    script = next(block.text for block in blocks if block.title == "make_data.py")
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)
    return folder / "data"


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are written for bash")
@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_says(
    page: str, example_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = blocks_of((ROOT / page).read_text(encoding="utf-8"))
    if page != "docs/getting-started.md":
        shutil.copytree(example_files, tmp_path / "data")
    # Scripts that are too long for a page lie beside it.
    for script in (ROOT / "docs").glob("make_*.py"):
        shutil.copy(script, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    # What a child imports is what is tested, whether it is installed or not.
    source = str(ROOT / "src")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")])))
    reader = Reader(page)
    for block in blocks:
        reader.follow(block)
