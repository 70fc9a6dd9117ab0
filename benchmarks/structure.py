"""Figures about the structure of the source: `python benchmarks/structure.py [FOLDER WITH THE PACKAGE]`.

Before the source was put in order (version 0.1, commit 45e2360), and after:

    modules                                                346       213
    lines                                               35,702    35,462
    median lines                                            94       142
    longest                                                300       549
    one importer and under 100 lines                        71        15
    loaded by `import robustream`                          158         2
    loaded by `robustream.fit`                             158       101
    isinstance by kind of problem, outside spaces           30         2
    type: ignore                                            61        55
    underscore names of another's objects                   30         0

The two that are left spoil points of principal components on purpose, in simulated node faults.
"""

from __future__ import annotations

import ast
import os
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "src" / "robustream"
SMALL = 100  # lines
# The classes by which kinds of problem could be told apart.
KINDS = {
    *("PrincipalModels", "LinearModels", "MomentModels", "PrincipalPoint", "LinearPoint", "MomentPoint"),
    *("OutlierRobustPCA", "OutlierRobustRegressor", "OutlierRobust", "TrimmedPCA", "TrimmedRegressor"),
    *("Subspace", "LowRank", "Euclidean"),
}
# Public by documentation: the methods of named tuples, and how a process ends at once.
ALLOWED = {"_replace", "_asdict", "_fields", "_make", "_field_defaults", "_exit"}


def main(folder: Path) -> None:
    files = {name_of(path, folder): path for path in sorted(folder.rglob("*.py"))}
    trees = {name: ast.parse(path.read_text()) for name, path in files.items()}
    lines = {name: len(path.read_text().splitlines()) for name, path in files.items()}
    importers = count_importers(trees)
    rows = {
        "modules": len(files),
        "lines": sum(lines.values()),
        "median lines": statistics.median(lines.values()),
        "longest": max(lines.values()),
        f"one importer and under {SMALL} lines": sum(
            importers[name] == 1 and size < SMALL and not files[name].name.startswith("__")
            for name, size in lines.items()
        ),
        "loaded by `import robustream`": loaded(folder, "import robustream"),
        "loaded by `robustream.fit`": loaded(folder, "import robustream; robustream.fit"),
        "isinstance by kind of problem, outside spaces": sum(
            by_kind(tree) for name, tree in trees.items() if not name.startswith("robustream.spaces")
        ),
        "type: ignore": sum(path.read_text().count("type: ignore") for path in files.values()),
        "underscore names of another's objects": sum(foreign_names(tree) for tree in trees.values()),
    }
    for name, value in rows.items():
        print(f"{name:<48}{value:>10,}")


def name_of(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def count_importers(trees: dict[str, ast.Module]) -> Counter[str]:
    """Count the modules that import each module, wherever in their text."""
    counts: Counter[str] = Counter()
    for name, tree in trees.items():
        found: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= (inner & trees.keys()) or {node.module}
        counts.update(found & (trees.keys() - {name}))
    return counts


def loaded(folder: Path, statement: str) -> int:
    """Count the modules of the package that a fresh process has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(sum(name.split('.')[0] == 'robustream' for name in sys.modules))"
    environment = os.environ | {"PYTHONPATH": str(folder.parent)}
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment).stdout)


def by_kind(tree: ast.Module) -> int:
    """Count the calls of isinstance that name a kind of problem, or a kind of part."""
    return sum(
        any(isinstance(inner, ast.Name) and inner.id in KINDS for inner in ast.walk(node.args[1]))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    )


def foreign_names(tree: ast.Module) -> int:
    """Count the uses of underscore names on objects other than self that the module does not define itself."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    own |= {node.attr for node in attributes if isinstance(node.ctx, ast.Store) and is_self(node.value)}
    return sum(
        node.attr.startswith("_")
        and not node.attr.startswith("__")
        and node.attr not in ALLOWED | own
        and not is_self(node.value)
        for node in attributes
    )


def is_self(node: ast.expr) -> bool:
    return ast.unparse(node) in ("self", "cls", "super()")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
