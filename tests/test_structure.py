"""What the layers do not see to: nobody uses an underscore name of another module's objects."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import robustream

FOLDER = Path(robustream.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
# Public by documentation: the methods of named tuples, and how a process ends at once.
ALLOWED = {"_replace", "_asdict", "_fields", "_make", "_field_defaults", "_exit"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in ALLOWED


def defined_in(tree: ast.Module) -> set[str]:
    """Return the names that a module itself gives to attributes, methods and variables."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("self", "cls")
        ):
            names.add(node.attr)
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_underscore_names_stay_in_their_module(path):
    tree = ast.parse(path.read_text())
    own = defined_in(tree)
    foreign = [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and is_private(node.attr)
        and node.attr not in own
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
        and not (isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()")
    ]
    imported = [
        f"line {node.lineno}: from {node.module} import {alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("robustream.")
        for alias in node.names
        if is_private(alias.name)
    ]
    assert foreign + imported == []
