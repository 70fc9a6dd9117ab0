"""Help, version and mistakes, as a user meets them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from robustream.cli import main
from robustream.cli.errors import ExitCode

COMMANDS = [
    (),
    ("fit",),
    ("fit", "pca"),
    ("fit", "regression"),
    ("score",),
    ("predict",),
    ("transform",),
    ("inspect",),
    ("report",),
    ("demo",),
    ("reproduce",),
    ("bench",),
    ("bench", "kernels"),
    ("bench", "accuracy"),
    ("bench", "distributed"),
]


def robustream(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "robustream", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **environment},
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command) or "robustream")
def test_help_fits_a_screen_and_has_an_example(command):
    finished = robustream(*command, "--help")
    assert finished.returncode == 0, finished.stderr
    assert "Example: robustream" in finished.stdout
    assert len(finished.stdout.splitlines()) <= 24
    assert "\x1b" not in finished.stdout


def test_all_options_are_shown_when_asked_for():
    short, long = (robustream("fit", "pca", option).stdout for option in ("--help", "--help-all"))
    assert "--aggregator" not in short
    assert "--aggregator" in long
    assert set(short.split()) <= set(long.split())


@pytest.mark.parametrize(("words", "expected"), [("robustream fi", "fit"), ("robustream fit p", "pca")])
def test_the_shell_completes_commands(words, expected):
    count = str(len(words.split()) - 1)
    finished = robustream(_ROBUSTREAM_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count)
    assert f"plain,{expected}" in finished.stdout.split()


def test_version():
    import robustream as package

    finished = robustream("--version")
    assert finished.returncode == 0
    assert finished.stdout.strip() == f"robustream {package.__version__}"


@pytest.mark.parametrize("arguments", [("nonsense",), ("bench", "kernels", "--threads", "0")])
def test_mistakes_exit_with_2_and_a_message(arguments):
    finished = robustream(*arguments)
    assert finished.returncode == 2
    assert arguments[-1] in finished.stderr
    assert "Traceback" not in finished.stderr


def test_help_loads_no_library():
    code = """
import contextlib, io, sys
from robustream.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(["fit", "pca", "--help-all"])
print(*{name.split(".")[0] for name in sys.modules})
print(*(name for name in sys.modules if name.startswith("robustream.") and "cli" not in name))
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages, ours = finished.stdout.splitlines()
    assert not {"numpy", "scipy", "sklearn", "pyarrow", "numba", "pandas", "rich", "jinja2"} & set(packages.split())
    assert ours == "robustream._version"


def test_what_a_command_needs_is_said_before_its_work(tmp_path, monkeypatch):
    monkeypatch.setattr("robustream.cli.errors.find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["reproduce", "theory", "--size", "tiny", "--out", str(tmp_path / "out")])
    assert result.exit_code == ExitCode.BAD_INPUT
    assert "matplotlib is not installed" in result.stderr
    assert "pip install 'robustream[report]'" in result.stderr
    assert not (tmp_path / "out").exists()
