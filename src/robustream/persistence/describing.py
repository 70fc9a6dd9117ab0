"""Plain facts about a model or checkpoint file, for people."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from robustream.batch import BatchRecord
from robustream.errors import DamagedFileError
from robustream.persistence import checkpoint, models
from robustream.persistence.settings import STREAMING, build
from robustream.storage import Tree, container

__all__ = ["Description", "describe"]


class Description(NamedTuple):
    """What a file is, what it saw, whom it distrusts."""

    path: str
    kind: str  # "model" or "checkpoint"
    estimator: str
    parameters: dict[str, Any]
    columns: int
    column_names: list[str] | None
    outputs: int
    classes: list[Any] | None
    rows_seen: int | None  # None for estimators that learn from one table at once
    batches_seen: int | None
    rows_waiting: int
    verdicts: dict[str, int]
    distrusted: list[BatchRecord]
    answer: dict[str, tuple[int, ...]]  # the arrays of the answer with their shapes
    made: str | None
    versions: dict[str, str]
    size: int  # bytes


def describe(path: str | os.PathLike[str]) -> Description:
    """Give plain facts about a model or checkpoint file."""
    content = container.read_any(path)
    if content.kind not in (models.KIND, checkpoint.KIND):
        raise DamagedFileError(f"{os.fspath(path)} holds a {content.kind[:40]}, not a model or checkpoint")
    try:
        model = _model_of(content)
    except DamagedFileError as error:
        raise DamagedFileError(f"{os.fspath(path)} cannot be used: {error}") from error
    made = content.tree.get("made") or {}
    answer = content.tree.get("answer") or {}
    names = getattr(model, "feature_names_in_", None)
    facts: dict[str, Any] = {
        "path": os.fspath(path),
        "kind": content.kind,
        "estimator": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "columns": model.n_features_in_,
        "column_names": None if names is None else [str(name) for name in names],
        "answer": {name: getattr(value, "shape", ()) for name, value in answer.items()},
        "made": made.get("time"),
        "versions": {"robustream": content.library, **made.get("versions", {})},
        "size": Path(path).stat().st_size,
    }
    return Description(**facts, **(_of_run(model) if type(model).__name__ in STREAMING else _WITHOUT_RUN))


_WITHOUT_RUN: dict[str, Any] = {
    "outputs": 0,
    "classes": None,
    "rows_seen": None,
    "batches_seen": None,
    "rows_waiting": 0,
    "verdicts": {},
    "distrusted": [],
}


def _model_of(content: container.Content) -> Any:
    if content.kind == models.KIND:
        return models.model_from_tree(content.tree)
    tree: Tree = content.tree
    stream = checkpoint.checkpoint_from_tree(tree).stream
    model, plan = build(tree["settings"], models.numbers_in(tree))
    model._take(plan, stream)
    return model


def _of_run(model: Any) -> dict[str, Any]:
    snapshot, layout = model._run(), model._layout
    report = snapshot.report
    return {
        "outputs": layout.outputs,
        "classes": None if layout.classes is None else layout.classes.tolist(),
        "rows_seen": snapshot.stream.rows_seen,
        "batches_seen": snapshot.stream.next_index,
        "rows_waiting": snapshot.stream.pending_rows,
        "verdicts": dict(Counter(record.verdict for record in report)),
        "distrusted": [record for record in report if record.verdict != "kept"],
    }
