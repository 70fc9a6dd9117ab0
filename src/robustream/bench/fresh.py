"""Work in a fresh Python process: what an import costs, and memory, cannot be measured in a used one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from robustream.errors import RobustreamError

__all__ = ["FreshProcessError", "run_fresh"]


class FreshProcessError(RobustreamError, RuntimeError):
    """The process of a measurement failed."""


def run_fresh(code: str, *arguments: Any, environment: Mapping[str, str] | None = None) -> Any:
    """Run code in a new interpreter and give the JSON value of the last line that it printed.

    The code finds the arguments in the list `arguments`.

    >>> run_fresh("import json; print(json.dumps(2 * arguments[0]))", 21)
    42
    """
    preamble = "import json, sys; arguments = json.loads(sys.argv[1])\n"
    finished = subprocess.run(
        [sys.executable, "-c", preamble + code, json.dumps(arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    if finished.returncode != 0:
        last = (finished.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise FreshProcessError(f"a measurement in a fresh process ended with {finished.returncode}: {last}")
    return json.loads(finished.stdout.strip().splitlines()[-1])
