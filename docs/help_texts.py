"""Fills the page of the command line with the help texts of the program itself, whenever the site is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from click.testing import CliRunner

from robustream.cli import main

PLACE = "<!-- help of all commands -->"
WIDTH = 88


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the help texts where a page asks for them; MkDocs calls this for each page."""
    return markdown.replace(PLACE, all_help_texts()) if PLACE in markdown else markdown


def all_help_texts() -> str:
    """Return a section for each command."""
    return "\n".join(
        f"## {' '.join(('robustream', *path))}\n\n```text\n{help_text(path)}```\n" for path in command_paths()
    )


def help_text(path: tuple[str, ...]) -> str:
    """Return what `robustream ... --help` prints."""
    # On a terminal two columns stay empty.
    result = CliRunner().invoke(main, [*path, "--help"], prog_name="robustream", terminal_width=WIDTH - 2)
    if result.exit_code != 0:
        raise RuntimeError(f"robustream {' '.join(path)} --help ended with {result.exit_code}: {result.output}")
    return result.output


def command_paths() -> list[tuple[str, ...]]:
    """List all commands, each group before its members."""
    return list(_walk((), main))


def _walk(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
    yield path
    for name, member in getattr(command, "commands", {}).items():
        if not member.hidden:
            yield from _walk((*path, name), member)
