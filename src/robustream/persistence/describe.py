"""Plain facts about a model or checkpoint file, for people."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime
from typing import Any, NamedTuple

from robustream import files
from robustream.batch import BatchRecord
from robustream.errors import DamagedFileError
from robustream.files.addresses import as_text, find, is_address, shown
from robustream.persistence import model as model_file
from robustream.runs import checkpoints
from robustream.runs.run import Run
from robustream.runs.serialize import damaged_on_error, take

__all__ = ["Description", "describe"]


class Description(NamedTuple):
    """What a file is, what it saw, whom it distrusts."""

    path: str
    kind: str  # "model" or "checkpoint"
    estimator: str
    parameters: dict[str, Any]
    columns: int
    column_names: list[str] | None
    targets: list[str]  # names of the outputs, where they are known
    outputs: int
    classes: list[Any] | None
    rows_seen: int | None  # None for estimators that learn from one table at once
    batches_seen: int | None
    rows_waiting: int
    verdicts: dict[str, int]
    distrusted: list[BatchRecord]
    answer: dict[str, tuple[int, ...]]  # the arrays of the answer with their shapes
    written: str  # when, as far as the file system knows
    versions: dict[str, str]
    size: int  # bytes


def describe(path: str | os.PathLike[str]) -> Description:
    """Return plain facts about a model or checkpoint file."""
    content = files.read_any(path)
    with files.naming(path), damaged_on_error("the content"):
        if content.kind not in (model_file.KIND, checkpoints.KIND):
            raise DamagedFileError(f"it holds a {content.kind[:40]}, not a model or checkpoint")
        model = _model_of(content)
        facts = _of_file(content) | (_of_run(model.run_) if hasattr(model, "run_") else _WITHOUT_RUN)
    names = getattr(model, "feature_names_in_", None)
    size, written = _size_and_time(as_text(path))
    return Description(
        path=shown(path),
        estimator=type(model).__name__,
        parameters=model.get_params(deep=False),
        columns=model.n_features_in_,
        column_names=None if names is None else [str(name) for name in names],
        size=size,
        written="" if written is None else written.isoformat(timespec="seconds"),
        **facts,
    )


def _size_and_time(path: str) -> tuple[int, datetime | None]:
    if is_address(path):
        found = find(path)
        return found.size, found.written
    status = os.stat(path)
    return status.st_size, datetime.fromtimestamp(status.st_mtime, UTC)


def _of_file(content: files.Content) -> dict[str, Any]:
    made = content.tree["made"] if content.kind == model_file.KIND else {"versions": {}}
    answer = content.tree["answer"] if content.kind == model_file.KIND else {}
    extra = content.tree.get("extra")
    targets = extra.get("targets") if isinstance(extra, dict) else None
    return {
        "kind": content.kind,
        "answer": {name: value.shape for name, value in answer.items()},
        "targets": [str(name) for name in targets] if isinstance(targets, list) else [],
        "versions": {"robustream": content.library, **take(made, "versions", dict)},
    }


_WITHOUT_RUN: dict[str, Any] = {
    "outputs": 0,
    "classes": None,
    "rows_seen": None,
    "batches_seen": None,
    "rows_waiting": 0,
    "verdicts": {},
    "distrusted": [],
}


def _model_of(content: files.Content) -> Any:
    if content.kind == model_file.KIND:
        return model_file.model_from_tree(content.tree)
    model, plan, layout = model_file.build_model(content.tree)
    model.run_ = checkpoints.checkpoint_from_tree(content.tree).run(
        plan, layout, getattr(model, "feature_names_in_", None)
    )
    return model


def _of_run(run: Run) -> dict[str, Any]:
    classes = run.layout.classes
    return {
        "outputs": run.layout.outputs,
        "classes": None if classes is None else classes.tolist(),
        "rows_seen": run.rows_seen,
        "batches_seen": run.batches_seen,
        "rows_waiting": run.pending_rows,
        "verdicts": dict(Counter(record.verdict for record in run.report)),
        "distrusted": [record for record in run.report if record.verdict != "kept"],
    }
