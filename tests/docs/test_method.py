"""The page about the method has every constant of the code, with its value."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from robustream import majority

PAGE = (Path(__file__).parents[2] / "docs" / "method.md").read_text(encoding="utf-8")
FILES = [path.stem for path in sorted(Path(majority.__file__ or "").parent.glob("[!_]*.py"))]
MODULES = {
    **{name: f"robustream.majority.{name}" for name in FILES},
    "refined": "robustream.learners.refined",
    "filtered": "robustream.aggregators.filtered",
    "verdicts": "robustream.aggregators.verdicts",
}


def test_constants_have_the_values_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)\.(\w+)` \| ([^|]+) \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert len(rows) > 30
    for module, name, shown in rows:
        value = getattr(importlib.import_module(MODULES[module]), name)
        said = [float(number) for number in shown.split(",")]
        assert said == pytest.approx(np.atleast_1d(value).tolist(), rel=1e-3), f"{module}.{name} is {value} now"


@pytest.mark.parametrize("module", FILES)
def test_no_constant_is_missing(module: str) -> None:
    source = Path(importlib.import_module(MODULES[module]).__file__ or "").read_text(encoding="utf-8")
    lines = re.findall(r"^([A-Z][A-Z0-9_, ]*) = ", source, re.MULTILINE)
    names = {name for line in lines for name in line.split(", ")}
    assert names
    assert names <= set(re.findall(rf"`{module}\.(\w+)`", PAGE))
